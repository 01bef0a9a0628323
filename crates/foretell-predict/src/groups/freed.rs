//! Atomicity violations by a `free` between accesses to two variables of its block.
//!
//! A `free` writes every variable in its block, so it conflicts with accesses to different ones.
//! Every other event has one variable, and its triples are grouped by variable.

use std::collections::BTreeMap;

use foretell_model::{BlockId, TraceModel};
use foretell_trace::{EventId, Op, ThreadId, conflict, visible_variables};

use super::{GroupLocation, locations};
use crate::analyses::Candidate;

/// The triples (c, r, c') in which r is a `free` and c and c' have different variables, by
/// location.
pub(super) fn triples(
    trace_model: &TraceModel<'_>,
) -> BTreeMap<Vec<GroupLocation>, Vec<Candidate>> {
    let mut groups: BTreeMap<Vec<GroupLocation>, Vec<Candidate>> = BTreeMap::new();
    let trace = trace_model.trace;
    for r in trace.ids().filter(|&e| trace.op(e) == Op::Free) {
        foretell_limit::check();
        for accesses in accesses_in_blocks(trace_model, r).values() {
            for (i, &c) in accesses.iter().enumerate() {
                for &c2 in &accesses[i + 1..] {
                    foretell_limit::check();
                    let same = trace.variable(c) == trace.variable(c2);
                    if !same && conflict(trace, c, r) && conflict(trace, r, c2) {
                        let candidate = Candidate::Atomicity(c, r, c2);
                        groups
                            .entry(locations(trace_model, &candidate))
                            .or_default()
                            .push(candidate);
                    }
                }
            }
        }
    }
    groups
}

/// The accesses of other threads in atomic blocks that conflict with a `free`, by outermost block.
fn accesses_in_blocks(
    trace_model: &TraceModel<'_>,
    free: EventId,
) -> BTreeMap<(ThreadId, BlockId), Vec<EventId>> {
    let trace = trace_model.trace;
    let mut by_block: BTreeMap<(ThreadId, BlockId), Vec<EventId>> = BTreeMap::new();
    for x in visible_variables(trace, free) {
        for (thread, list) in trace_model.reads_from.accesses_by_thread(x) {
            if *thread == trace.thread(free) {
                continue;
            }
            for &e in list {
                foretell_limit::check();
                if let Some(block) = trace_model.blocks.outermost(e) {
                    by_block.entry((*thread, block)).or_default().push(e);
                }
            }
        }
    }
    for list in by_block.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    by_block
}
