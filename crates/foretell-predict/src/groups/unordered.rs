//! The pairs of accesses that happens-before may leave unordered (semantics section 3b), as far as
//! locks and the part of happens-before tell that every interleaving has.
//!
//! They are enumerated like the pairs that may be next together (`races`), with another order. A
//! trace whose synchronisation is strong has none, and this costs nothing.

use std::ops::Range;

use foretell_model::{HappensBefore, TraceModel};
use foretell_trace::{EventId, VarId};

use super::races::{Apart, open_class_pairs, open_event_pairs as open_pairs_of};
use super::{Batch, Class, ClassPairs, Key, classes, shared_variables};
use crate::analyses::Candidate;
use crate::filters::Filters;

fn together<'a>(trace_model: &'a TraceModel<'_>) -> impl Fn(EventId, usize) -> Range<u32> + 'a {
    let TraceModel { trace, chains, .. } = trace_model;
    |e, column| trace_model.common_order().unordered_with(chains, trace, e, column)
}

/// The variables that several threads access, if happens-before can leave something open.
fn variables(trace_model: &TraceModel<'_>) -> Vec<VarId> {
    match trace_model.may_leave_open() {
        true => shared_variables(trace_model).collect(),
        false => Vec::new(),
    }
}

/// All open pairs, ascending.
pub(super) fn open_event_pairs(
    trace_model: &TraceModel<'_>,
    filters: &Filters,
) -> Vec<(EventId, EventId)> {
    let mut pairs = Vec::new();
    let together = together(trace_model);
    let apart = Apart { together: &together, order_only: false };
    for x in variables(trace_model) {
        open_pairs_of(trace_model, x, filters, apart, &mut pairs);
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Adds the pairs of classes with an open pair of members. `class_of` is scratch memory, by event.
pub(super) fn add_class_pairs(
    trace_model: &TraceModel<'_>,
    filters: &Filters,
    class_of: &mut [u32],
    pairs: &mut ClassPairs,
) {
    let together = together(trace_model);
    let apart = Apart { together: &together, order_only: false };
    for x in variables(trace_model) {
        let (keys, classes): (Vec<Key>, Vec<Vec<EventId>>) =
            classes(trace_model, x).into_iter().unzip();
        for (i, class) in classes.iter().enumerate() {
            for e in class {
                class_of[e.index()] = i as u32;
            }
        }
        let (open, _) = open_class_pairs(trace_model, x, filters, apart, |e| class_of[e.index()]);
        if open.is_empty() {
            continue;
        }
        let start = pairs.add(classes.into_iter().map(Class::Accesses));
        for (i, j) in open {
            let (a, b) = (keys[i as usize].1, keys[j as usize].1);
            let locations = vec![a.min(b), a.max(b)];
            let entry = pairs.by_locations.entry(locations).or_default();
            entry.unordered.push((start + i, start + j));
        }
    }
}

/// The accesses of a class that an order leaves open for an event, as a range.
fn open_members(
    trace_model: &TraceModel<'_>,
    order: &HappensBefore,
    event: EventId,
    class: &[EventId],
) -> Range<usize> {
    let TraceModel { trace, chains, .. } = trace_model;
    let Some(&first) = class.first() else { return 0..0 };
    let column = chains.column(trace.thread(first));
    if column == chains.column(trace.thread(event)) {
        return 0..0;
    }
    let places = order.unordered_with(chains, trace, event, column);
    let place = |&e: &EventId| chains.column_position(trace, e);
    let start = class.partition_point(|e| place(e) < places.start);
    let end = class.partition_point(|e| place(e) < places.end);
    start..end.max(start)
}

/// The candidates of pairs of classes: first, for each access, the nearest one that happens-before
/// of the recorded run leaves open, then all that are open in some interleaving, nearest first.
pub(super) fn candidates<'g>(
    trace_model: &'g TraceModel<'g>,
    pairs: Vec<(&'g Class, &'g Class)>,
    with_order: bool,
) -> impl Iterator<Item = Batch> + 'g {
    let pairs: Vec<_> = pairs.into_iter().map(|(a, b)| (a.accesses(), b.accesses())).collect();
    let candidate = |a: EventId, b: EventId| Batch::One(Candidate::Unordered(a.min(b), a.max(b)));
    let observed = pairs.clone().into_iter().flat_map(move |(a, b)| {
        a.iter().filter_map(move |&e| {
            let open = open_members(trace_model, trace_model.observed_order(), e, b);
            let at = b.partition_point(|&other| other < e);
            let nearest = at.clamp(open.start, open.end.max(open.start + 1) - 1);
            open.contains(&nearest).then(|| candidate(e, b[nearest]))
        })
    });
    let open = move |e: EventId, b: &[EventId]| match with_order {
        true => open_members(trace_model, trace_model.common_order(), e, b),
        false => 0..b.len(),
    };
    // The last access of the other class before an event and the first one after it.
    let near_to = |e: EventId, b: &[EventId]| {
        let i = b.partition_point(|&other| other < e);
        i.saturating_sub(1)..(i + 1).min(b.len())
    };
    let near = pairs.clone().into_iter().flat_map(move |(a, b)| {
        a.iter().flat_map(move |&e| {
            let open = open(e, b);
            near_to(e, b).filter(move |j| open.contains(j)).map(move |j| (e, b[j]))
        })
    });
    let far = pairs.into_iter().flat_map(move |(a, b)| {
        a.iter().flat_map(move |&e| {
            let near = near_to(e, b);
            open(e, b).filter(move |j| !near.contains(j)).map(move |j| (e, b[j]))
        })
    });
    observed.chain(near.chain(far).map(move |(a, b)| candidate(a, b)))
}
