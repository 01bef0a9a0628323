//! Phase counters of a prediction: the columns of the papers' tables.
//!
//! Each analysis has counters of its phases, its verdicts and its work. The summary of a findings
//! document has those that add up over the shards of an analysis; times and averages do not.

use foretell_predict::driver::{Counts, Prediction, Work};
use foretell_trace::FindingKind;

/// A counter with its name in findings documents.
pub type Column = (&'static str, u64);

/// Returns how many candidates each phase before the search settled.
pub fn phases(analysis: FindingKind, counts: &Counts) -> Vec<Column> {
    let mut columns = vec![
        ("groups", counts.groups),
        ("examined", counts.examined),
        ("dropped_by_locksets", counts.locksets),
        ("dropped_by_histories", counts.histories),
        ("dropped_by_must", counts.must_happen_before),
        ("dropped_by_static_check", counts.static_check),
        ("dropped_by_reachability", counts.reachability),
        ("solved", counts.solved),
    ];
    match analysis {
        FindingKind::Race => {
            columns.extend([("lsa", counts.after_locks()), ("mhb", counts.after_must())]);
        }
        FindingKind::Serializability => columns.push(("segment_events", counts.segment_events)),
        _ => {}
    }
    columns
}

/// Verdicts of the search, and its size.
fn search(counts: &Counts, work: &Work) -> Vec<Column> {
    vec![
        ("no_violation", counts.impossible),
        ("time_outs", counts.time_outs),
        ("memory_outs", counts.memory_outs),
        ("bounded", counts.bounded),
        ("interleavings", work.interleavings),
        ("states", work.nodes),
        ("constraints", work.constraints),
    ]
}

/// Symbolic model: size of the values of all queries, before and after simplification.
fn values(work: &Work) -> Vec<Column> {
    let slices = &work.slices;
    if slices.events == 0 {
        return Vec::new();
    }
    vec![
        ("value_events", slices.events),
        ("value_events_left", slices.kept_events),
        ("expression_nodes", slices.nodes),
        ("expression_nodes_left", slices.kept_nodes),
    ]
}

/// Returns all counters of an analysis that add up over shards.
pub fn columns(prediction: &Prediction, analysis: FindingKind) -> Vec<Column> {
    let Some(counts) = prediction.counts.get(&analysis) else { return Vec::new() };
    let work = prediction.work.get(&analysis).copied().unwrap_or_default();
    let mut columns = phases(analysis, counts);
    columns.extend(search(counts, &work));
    columns.extend(values(&work));
    let graphs = &prediction.effort.graphs;
    if analysis == FindingKind::Nondeterminism && graphs.witnesses > 0 {
        columns.extend(graphs.columns());
    }
    columns
}
