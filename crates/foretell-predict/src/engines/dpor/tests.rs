//! The assumptions of the reductions, checked state by state on random traces: independent steps
//! commute, and that nothing outside a persistent set gets in the way of it.

use foretell_generate::{Family, Params, generate};
use foretell_trace::{FindingKind, Model, Trace, text};

use super::machine::Status;
use super::persistent::{Persistent, dependent};
use super::state::SearchState;
use super::*;
use crate::analyses::candidates;

/// Calls `check` with the machine of some queries about small traces of every family, and some
/// states that it can be in.
fn for_machines(
    seeds: u64,
    mut check: impl FnMut(&Machine<'_, '_>, &[SearchState], &dyn Fn() -> String),
) {
    for &family in Family::ALL.iter().filter(|&&f| f != Family::Scalable) {
        for seed in 0..seeds {
            let trace = generate(family, &Params::small(family, 3_000_000 + seed));
            let model = if seed % 2 == 0 { Model::View } else { Model::Value };
            let trace_model = TraceModel::new(&trace, model);
            for analysis in FindingKind::ALL {
                let all = candidates(&trace_model, analysis);
                for candidate in all.iter().step_by(all.len() / 3 + 1) {
                    let Some(program) = Program::new(&trace_model, &candidate.query(), usize::MAX)
                    else {
                        continue;
                    };
                    let machine = Machine::new(&program);
                    let shown =
                        || format!("{family} seed {seed} {model} {candidate:?}\n{}", show(&trace));
                    check(&machine, &states(&machine, 150), &shown);
                }
            }
        }
    }
}

fn show(trace: &Trace) -> String {
    let mut out = Vec::new();
    text::write(trace, &mut out).expect("a generated trace can be written");
    String::from_utf8_lossy(&out).into_owned()
}

/// States that interleavings reach, up to some number, without any reduction.
fn states(machine: &Machine<'_, '_>, most: usize) -> Vec<SearchState> {
    let mut known = vec![machine.start()];
    let mut next = 0;
    while next < known.len() && known.len() < most {
        for t in ready(machine, &known[next]) {
            let mut after = Vec::new();
            machine.run(&known[next], t, &mut after);
            after.retain(|s| !known.contains(s));
            known.extend(after);
        }
        next += 1;
    }
    known
}

fn ready(machine: &Machine<'_, '_>, state: &SearchState) -> Vec<usize> {
    let threads = 0..machine.program.threads.len();
    threads.filter(|&t| machine.status(state, t) == Status::Ready).collect()
}

/// Returns the states after two steps; both have to be ready when it is their turn.
fn both(
    machine: &Machine<'_, '_>,
    state: &SearchState,
    first: usize,
    second: usize,
) -> Vec<SearchState> {
    let (mut between, mut after) = (Vec::new(), Vec::new());
    machine.run(state, first, &mut between);
    for state in &between {
        assert_eq!(machine.status(state, second), Status::Ready, "it has been disabled");
        machine.run(state, second, &mut after);
    }
    after
}

#[test]
fn independent_steps_commute() {
    let mut pairs = 0;
    for_machines(100, |machine, states, shown| {
        for state in states {
            let ready = ready(machine, state);
            for (i, &t) in ready.iter().enumerate() {
                for &u in &ready[i + 1..] {
                    let depends = dependent(machine, state, t, u);
                    assert_eq!(depends, dependent(machine, state, u, t), "{}", shown());
                    if depends {
                        continue;
                    }
                    pairs += 1;
                    let one = both(machine, state, t, u);
                    let other = both(machine, state, u, t);
                    let same = one.len() == other.len() && one.iter().all(|s| other.contains(s));
                    assert!(same, "{t} and {u} in {state:?}, {}", shown());
                }
            }
        }
    });
    assert!(pairs > 100_000, "{pairs} pairs");
}

/// Whatever the other threads do, their steps are independent of the next ones of the set.
#[test]
fn nothing_outside_a_persistent_set_depends_on_it() {
    let (mut smaller, mut checked) = (0, 0);
    for_machines(30, |machine, states, shown| {
        let mut persistent = Persistent::default();
        for state in states {
            let all = ready(machine, state);
            let members = persistent.of(machine, state);
            assert!(!members.is_empty() || all.is_empty(), "{}", shown());
            if members.len() == all.len() {
                continue;
            }
            smaller += 1;
            let mut work = vec![state.clone()];
            let mut visits = 0;
            while let Some(from) = work.pop() {
                visits += 1;
                if visits > 60 {
                    break;
                }
                for t in ready(machine, &from).into_iter().filter(|t| !members.contains(t)) {
                    for &m in &members {
                        assert_eq!(machine.status(&from, m), Status::Ready, "{}", shown());
                        assert!(!dependent(machine, &from, t, m), "{t} and {m}, {}", shown());
                        checked += 1;
                    }
                    machine.run(&from, t, &mut work);
                }
            }
        }
    });
    assert!(smaller > 5_000 && checked > 50_000, "{smaller} smaller sets, {checked} pairs");
}
