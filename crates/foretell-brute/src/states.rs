//! The findings that one state shows, whatever the order of the events that led to it: races,
//! deadlocks, hangs, lifetime violations, nondeterministic reads and final values.

use std::collections::BTreeSet;

use foretell_trace::{EventId, ThreadId, VarId};

use crate::Findings;
use crate::hangs::hangs;
use crate::lifetimes::lifetimes;
use crate::rules::{Rules, State};

/// Adds all findings that `state` shows.
pub(crate) fn observe(rules: &Rules, state: &State, findings: &mut Findings) {
    let next: Vec<Option<EventId>> =
        (0..rules.threads.len()).map(|t| rules.next(state, ThreadId::from_index(t))).collect();
    races(rules, &next, &mut findings.races);
    deadlocks(rules, state, &next, &mut findings.deadlocks);
    hangs(rules, state, &next, &mut findings.hangs);
    lifetimes(rules, state, &mut findings.lifetimes);
    for &e in next.iter().flatten() {
        // Reads are always enabled but for the order of opaque ones, which are in no finding.
        if rules.is_access(e) && rules.sees_otherwise(state, e) {
            findings.nondeterministic_reads.insert(e);
        }
    }
    if rules.complete(state) {
        let variables = (0..rules.trace.variable_count()).map(VarId::from_index);
        findings.final_values.extend(
            variables
                .filter(|&x| !rules.trace.is_opaque(x) && rules.ends_with_another_write(state, x)),
        );
    }
}

/// The pairs of next events that race.
pub(crate) fn races(rules: &Rules, next: &[Option<EventId>], races: &mut BTreeSet<[EventId; 2]>) {
    for (t, &a) in next.iter().enumerate() {
        for &b in &next[t + 1..] {
            let (Some(a), Some(b)) = (a, b) else { continue };
            let both_atomic = rules.op(a).is_atomic() && rules.op(b).is_atomic();
            if rules.conflict(a, b) && !both_atomic {
                races.insert([a.min(b), a.max(b)]);
            }
        }
    }
}

/// The cycles of threads whose next event is an acquire that the next thread of the cycle blocks.
pub(crate) fn deadlocks(
    rules: &Rules,
    state: &State,
    next: &[Option<EventId>],
    deadlocks: &mut BTreeSet<Vec<EventId>>,
) {
    let waits_for: Vec<Vec<usize>> = next
        .iter()
        .map(|e| e.map_or(Vec::new(), |e| rules.blockers(state, e)))
        .map(|blockers| blockers.into_iter().map(ThreadId::index).collect())
        .collect();
    for t in 0..next.len() {
        follow(&waits_for, &mut vec![t], &mut |cycle| {
            let mut acquires: Vec<EventId> = cycle.iter().filter_map(|&t| next[t]).collect();
            acquires.sort_unstable();
            deadlocks.insert(acquires);
        });
    }
}

/// Every simple cycle that goes on from `path` and whose smallest thread is the first of it.
fn follow(waits_for: &[Vec<usize>], path: &mut Vec<usize>, found: &mut impl FnMut(&[usize])) {
    for &t in &waits_for[path[path.len() - 1]] {
        if t == path[0] {
            found(path);
        } else if t > path[0] && !path.contains(&t) {
            path.push(t);
            follow(waits_for, path, found);
            path.pop();
        }
    }
}
