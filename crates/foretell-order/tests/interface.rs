//! Tests of the promises that the documentation of the interface makes.

use foretell_order::{Answer, Limit, Node, Solver};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// `count` chains with an acquire and a release each, in this order, and no two of these sections
/// overlap.
fn sections(solver: &mut Solver, count: u32) -> Vec<(Node, Node)> {
    let mut sections: Vec<(Node, Node)> = Vec::new();
    for k in 0..count {
        let chain = solver.add_chain();
        let at = u64::from(k) * 100;
        let section = (solver.node(chain, 10, at + 10), solver.node(chain, 90, at + 90));
        for &other in &sections {
            let lits = [solver.less(section.1, other.0), solver.less(other.1, section.0)];
            assert!(solver.add_clause(&lits));
        }
        sections.push(section);
    }
    sections
}

#[test]
fn atoms_of_one_chain_are_constants() {
    let mut solver = Solver::new();
    let chain = solver.add_chain();
    let (later, earlier) = (solver.node(chain, 7, 0), solver.node(chain, 3, 1));
    assert_eq!(solver.less(earlier, later), solver.true_lit());
    assert_eq!(solver.less(later, earlier), !solver.true_lit());
    assert_eq!(solver.less(later, later), !solver.true_lit());
    assert_eq!(solver.node(chain, 3, 99), earlier);
}

#[test]
fn the_two_directions_are_one_atom() {
    let mut solver = Solver::new();
    let (a, b) = (solver.add_chain(), solver.add_chain());
    let (x, y) = (solver.node(a, 0, 0), solver.node(b, 0, 1));
    assert_eq!(solver.less(x, y), !solver.less(y, x));
}

#[test]
fn the_preferred_order_is_kept_where_it_may_be() {
    let mut solver = Solver::new();
    let sections = sections(&mut solver, 6);
    assert_eq!(solver.solve(&[], &Limit::none()), Answer::Sat);
    let preferred: Vec<Node> = sections.iter().flat_map(|&(a, r)| [a, r]).collect();
    assert_eq!(solver.linear_order(), preferred);
    // The last one first: nothing else moves.
    let first = solver.less(sections[5].1, sections[0].0);
    assert_eq!(solver.solve(&[first], &Limit::none()), Answer::Sat);
    let order = solver.linear_order();
    assert_eq!(order[..2], preferred[10..]);
    assert_eq!(order[2..], preferred[..10]);
}

#[test]
fn a_model_can_be_read_while_clauses_are_added() {
    let mut solver = Solver::new();
    let sections = sections(&mut solver, 4);
    let (x, y) = (sections[0].0, sections[3].1);
    let atom = solver.less(x, y);
    assert_eq!(solver.solve(&[], &Limit::none()), Answer::Sat);
    let order = solver.linear_order();
    assert_eq!((solver.before(x, y), solver.before(y, x)), (Some(true), Some(false)));
    assert!(solver.add_clause(&[!atom]));
    let between = sections[1].0;
    assert_eq!(solver.before(x, between), Some(true));
    assert_eq!((solver.before(x, y), solver.before(y, x)), (Some(true), Some(false)));
    assert!(solver.value(atom));
    assert_eq!(solver.linear_order(), order);
    assert_eq!(solver.solve(&[], &Limit::none()), Answer::Sat);
    assert!(!solver.value(atom));
    assert_eq!(solver.before(x, y), Some(false));
}

#[test]
fn an_order_that_is_not_asked_for_is_open() {
    let mut solver = Solver::new();
    let (a, b) = (solver.add_chain(), solver.add_chain());
    let (x, y) = (solver.node(a, 0, 0), solver.node(b, 0, 1));
    assert_eq!(solver.solve(&[], &Limit::none()), Answer::Sat);
    assert_eq!(solver.before(x, y), None);
    assert_eq!(solver.before(x, x), Some(false));
    assert_eq!(solver.linear_order(), [x, y]);
}

#[test]
fn phases_are_tried_first() {
    for other_way in [false, true] {
        let mut solver = Solver::new();
        let flag = solver.new_var();
        let sections = sections(&mut solver, 2);
        let kept = solver.less(sections[0].1, sections[1].0);
        let swapped = solver.less(sections[1].1, sections[0].0);
        if other_way {
            [flag, swapped, !kept].into_iter().for_each(|lit| solver.set_phase(lit));
        }
        assert_eq!(solver.solve(&[], &Limit::none()), Answer::Sat);
        assert_eq!([flag, swapped, !kept].map(|lit| solver.value(lit)), [other_way; 3]);
    }
}

#[test]
fn limits_stop_and_the_solver_goes_on_afterwards() {
    let mut solver = Solver::new();
    sections(&mut solver, 8);
    let stop = AtomicBool::new(true);
    let past = Instant::now().checked_sub(Duration::from_secs(1));
    for limit in [
        Limit { conflicts: Some(0), ..Limit::none() },
        Limit { stop: Some(&stop), ..Limit::none() },
        Limit { deadline: past.or(Some(Instant::now())), ..Limit::none() },
    ] {
        assert_eq!(solver.solve(&[], &limit), Answer::Unknown);
    }
    stop.store(false, Ordering::Relaxed);
    let limit = Limit { stop: Some(&stop), conflicts: Some(1_000_000), ..Limit::none() };
    assert_eq!(solver.solve(&[], &limit), Answer::Sat);
}

#[test]
fn a_contradiction_is_final() {
    let mut solver = Solver::new();
    let (a, b) = (solver.add_chain(), solver.add_chain());
    let (x, y) = (solver.node(a, 0, 0), solver.node(b, 0, 1));
    let atom = solver.less(x, y);
    assert!(solver.add_clause(&[atom]));
    assert!(!solver.add_clause(&[!atom]));
    assert_eq!(solver.solve(&[atom], &Limit::none()), Answer::Unsat);
    assert!(solver.core().is_empty());
    assert!(!solver.add_clause(&[atom]));
}
