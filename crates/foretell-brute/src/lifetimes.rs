//! Lifetime violations: an event that can run after a `free` of what it uses.

use std::collections::BTreeSet;

use foretell_trace::{EventId, EventKind, MemBlockId, ThreadId};

use crate::rules::{Rules, State};

/// The pairs of a `free` that has run and an event of another thread that can run now and uses the
/// block.
pub(crate) fn lifetimes(rules: &Rules, state: &State, found: &mut BTreeSet<[EventId; 2]>) {
    let mut freed = Vec::new();
    for thread in (0..rules.threads.len()).map(ThreadId::from_index) {
        for &f in rules.threads[thread.index()].iter().filter(|&&f| rules.has_run(state, f)) {
            if let EventKind::Free { block } = rules.events[f.index()].kind
                && !rules.trace.variables_in(block).iter().any(|&x| rules.trace.is_opaque(x))
            {
                freed.push((f, thread, block));
            }
        }
    }
    if freed.is_empty() {
        return;
    }
    for (e, _) in rules.steps(state) {
        let used = used_blocks(rules, e);
        for &(f, thread, block) in &freed {
            if thread != rules.trace.thread(e) && used.contains(&Some(block)) {
                found.insert([f, e]);
            }
        }
    }
}

/// The blocks that an event uses.
fn used_blocks(rules: &Rules, e: EventId) -> [Option<MemBlockId>; 2] {
    let trace = rules.trace;
    match rules.events[e.index()].kind {
        EventKind::Free { block } => [Some(block), None],
        EventKind::Read { var, .. }
        | EventKind::Write { var, .. }
        | EventKind::Update { var, .. } => [trace.block_of_variable(var), None],
        EventKind::Wait { cond, lock }
        | EventKind::Woken { cond, lock }
        | EventKind::TimedOut { cond, lock } => {
            [trace.block_of_condition(cond), trace.block_of_lock(lock)]
        }
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
            [trace.block_of_condition(cond), None]
        }
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock }
        | EventKind::TryFailed { lock }
        | EventKind::TryFailedShared { lock } => [trace.block_of_lock(lock), None],
        _ => [None, None],
    }
}
