//! Deadlocks through joins: prediction and brute force agree on random programs whose threads join
//! each other with locks held.

mod common;

use foretell_predict::driver::{Options, predict};
use foretell_trace::{Model, Trace};

/// A small generator of numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Sections of two locks, nested at most twice, with joins of `children` somewhere among them.
fn thread(dice: &mut Dice, name: &str, children: &[&str], lines: &mut Vec<String>) {
    let mut held: Vec<(u64, bool)> = Vec::new();
    let mut left = children.to_vec();
    for _ in 0..2 + dice.roll(3) {
        match dice.roll(3) {
            0 if !left.is_empty() => lines.push(format!("{name}|join({})", left.remove(0))),
            1 if !held.is_empty() => {
                let (lock, shared) = held.remove(held.len() - 1);
                lines.push(format!("{name}|{}(l{lock})", if shared { "rrel" } else { "rel" }));
            }
            _ => {
                let lock = dice.roll(2);
                let shared = dice.roll(4) == 0;
                if !held.iter().any(|&(l, _)| l == lock) {
                    held.push((lock, shared));
                    let op = if shared { "racq" } else { "acq" };
                    lines.push(format!("{name}|{op}(l{lock})"));
                }
            }
        }
    }
    lines.extend(left.iter().filter(|_| dice.roll(2) == 0).map(|u| format!("{name}|join({u})")));
    for (lock, shared) in held.into_iter().rev() {
        lines.push(format!("{name}|{}(l{lock})", if shared { "rrel" } else { "rel" }));
    }
}

/// One thread after the other: each joins only threads that came before it.
fn program(seed: u64) -> Trace {
    let mut dice = Dice(seed);
    let mut lines = vec!["M|fork(A)".to_owned(), "M|fork(B)".to_owned()];
    thread(&mut dice, "A", &[], &mut lines);
    let of_b: &[&str] = if dice.roll(2) == 0 { &["A"] } else { &[] };
    thread(&mut dice, "B", of_b, &mut lines);
    let of_main: &[&str] = if of_b.is_empty() { &["A", "B"] } else { &["B"] };
    thread(&mut dice, "M", of_main, &mut lines);
    common::trace(&lines.join("\n"))
}

#[test]
fn joins_in_deadlocks_agree_with_brute_force() {
    let mut with_join = 0;
    for seed in 0..1500 {
        let trace = program(seed);
        let expected = foretell_brute::findings(&trace, Model::View);
        for search_only in [false, true] {
            let options =
                Options { all: true, unordered: false, jobs: 1, search_only, ..Options::default() };
            let prediction = predict(&trace, Model::View, &options)
                .unwrap_or_else(|d| panic!("{seed} {d:?}\n{}", common::show(&trace)));
            let found = common::as_brute(&prediction.findings);
            assert_eq!(found, expected, "seed {seed}\n{}", common::show(&trace));
        }
        let joins = |set: &Vec<_>| set.iter().any(|&e| trace.op(e) == foretell_trace::Op::Join);
        with_join += expected.deadlocks.iter().filter(|set| joins(set)).count();
    }
    assert!(with_join > 100, "{with_join} deadlocks with a join");
}

/// A thread joins with the lock held that the joined thread needs.
#[test]
fn join_under_the_lock_of_the_joined_thread() {
    let trace = common::trace(
        "M|fork(W)
         W|acq(l)
         W|rel(l)
         M|acq(l)
         M|join(W)
         M|rel(l)",
    );
    let prediction = predict(&trace, Model::View, &Options::default()).expect("no defects");
    let found = common::as_brute(&prediction.findings);
    let events: Vec<Vec<u32>> =
        found.deadlocks.iter().map(|set| set.iter().map(|e| e.0).collect()).collect();
    assert_eq!(events, [[1, 4]]);
}
