//! The pairs of accesses that may race, as far as locks and must-happen-before tell.
//!
//! Most pairs of conflicting accesses of a trace are ordered, and there are too many pairs to look
//! at each. The accesses of a variable are sorted into *strands*: those of one column of threads
//! (see [`Chains::column`]) that are of one kind and made under the same locks. Whether two strands
//! conflict, and whether a common lock keeps them apart, is asked once. What must-happen-before
//! leaves open for an access is a range of another strand, and both ends of the range only move
//! forward from one access of a strand to the next: a pair of strands takes time linear in their
//! lengths, and so does the proof that nothing is open.
//!
//! [`Chains::column`]: foretell_model::Chains::column

use std::ops::Range;

use foretell_model::TraceModel;
use foretell_trace::{EventId, LockId, Op, Trace, VarId, is_visible_access};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Locks, locks_of};
use crate::filters::Filters;

/// Pairs of accesses that conflict and are not both atomic, counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct OpenPairs {
    /// Those that locks and must-happen-before leave open.
    pub(super) open: u64,
    /// Those with a common lock.
    pub(super) locksets: u64,
    /// Those of which one has run whenever the other one is next.
    pub(super) must_happen_before: u64,
}

impl OpenPairs {
    pub(super) fn add(&mut self, other: OpenPairs) {
        self.open += other.open;
        self.locksets += other.locksets;
        self.must_happen_before += other.must_happen_before;
    }
}

/// Reasons that keep two accesses apart.
#[derive(Clone, Copy)]
pub(super) struct Apart<'a> {
    /// The places in a column of the events that an order leaves open for an event.
    pub(super) together: &'a dyn Fn(EventId, usize) -> Range<u32>,
    /// Whether a common order-only lock does.
    pub(super) order_only: bool,
}

/// The places that must-happen-before leaves open: of events that can be next together.
pub(super) fn next_together<'a>(
    trace_model: &'a TraceModel<'_>,
) -> impl Fn(EventId, usize) -> Range<u32> + 'a {
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    |e, column| must_happen_before.next_together(chains, trace, e, column)
}

/// An access and the accesses of another strand that may race with it.
struct Open<'s> {
    /// Numbers of the two strands.
    strands: (usize, usize),
    access: EventId,
    others: &'s [EventId],
    range: Range<usize>,
}

/// Accesses of a variable by the threads of one column, of one kind, under the same locks.
struct Strand {
    column: usize,
    writes: bool,
    atomic: bool,
    locks: Locks,
    /// In the order of the trace, which is that of the column.
    accesses: Vec<EventId>,
}

impl Strand {
    fn conflicts(&self, other: &Strand) -> bool {
        (self.writes || other.writes) && !(self.atomic && other.atomic)
    }

    fn shares_a_lock(&self, other: &Strand, trace: &Trace, apart: Apart<'_>) -> bool {
        let counts = |lock: u32| apart.order_only || !trace.is_order_only(LockId(lock));
        let excludes = |&(lock, shared): &(u32, bool)| {
            other.locks.iter().any(|&(l, s)| l == lock && !(s && shared)) && counts(lock)
        };
        self.locks.iter().any(excludes)
    }
}

/// The locks held at the accesses of a variable. Few sets are different, and the set stays the same
/// until the thread takes or frees something.
#[derive(Default)]
pub(super) struct LockSets {
    index: FxHashMap<Locks, u32>,
    /// By thread, the last held set that was looked at and its number here.
    last: FxHashMap<u32, (u32, u32)>,
}

impl LockSets {
    /// The number of the set of locks that are held at an access.
    pub(super) fn at(&mut self, trace_model: &TraceModel<'_>, e: EventId) -> u32 {
        let thread = trace_model.trace.thread(e).0;
        let held = trace_model.locks.held_set_index(e);
        match self.last.get(&thread) {
            Some(&(last, set)) if last == held => set,
            _ => {
                let locks = locks_of(trace_model, trace_model.locks.held_before(e));
                let new = self.index.len() as u32;
                let set = *self.index.entry(locks).or_insert(new);
                self.last.insert(thread, (held, set));
                set
            }
        }
    }
}

fn strands(trace_model: &TraceModel<'_>, x: VarId, filters: &Filters) -> Vec<Strand> {
    let TraceModel { trace, chains, .. } = trace_model;
    let mut sets = LockSets::default();
    let mut index: FxHashMap<(usize, bool, bool, u32), usize> = FxHashMap::default();
    let mut strands: Vec<Strand> = Vec::new();
    for &e in trace_model.reads_from.accesses(x) {
        foretell_limit::check();
        let op: Op = trace.op(e);
        if op == Op::Free && !is_visible_access(trace, e) {
            continue;
        }
        let (column, writes, atomic) =
            (chains.column(trace.thread(e)), op.writes(), op.is_atomic());
        let set = if filters.locksets { sets.at(trace_model, e) } else { 0 };
        let i = *index.entry((column, writes, atomic, set)).or_insert_with(|| {
            let held = trace_model.locks.held_before(e);
            let locks = if filters.locksets { locks_of(trace_model, held) } else { Locks::new() };
            strands.push(Strand { column, writes, atomic, locks, accesses: Vec::new() });
            strands.len() - 1
        });
        strands[i].accesses.push(e);
    }
    strands
}

/// Calls `open` for each access of a variable and each other strand of which something is open for
/// it, and each pair of accesses once.
fn open_pairs(
    trace_model: &TraceModel<'_>,
    x: VarId,
    filters: &Filters,
    apart: Apart<'_>,
    mut open: impl FnMut(Open<'_>),
) -> OpenPairs {
    let strands = strands(trace_model, x, filters);
    let mut counts = OpenPairs::default();
    for (i, a) in strands.iter().enumerate() {
        if a.writes && !a.atomic {
            counts.must_happen_before += pairs_of_threads(trace_model, a, a);
        }
        for (j, b) in strands.iter().enumerate().skip(i + 1) {
            foretell_limit::check();
            if !a.conflicts(b) {
                continue;
            }
            if a.column == b.column {
                counts.must_happen_before += pairs_of_threads(trace_model, a, b);
                continue;
            }
            let pairs = a.accesses.len() as u64 * b.accesses.len() as u64;
            if a.shares_a_lock(b, trace_model.trace, apart) {
                counts.locksets += pairs;
                continue;
            }
            // The shorter one is gone through.
            let (i, j, a, b) =
                if a.accesses.len() <= b.accesses.len() { (i, j, a, b) } else { (j, i, b, a) };
            let mut found = 0;
            ranges(trace_model, filters, apart, a, b, |access, range| {
                found += range.len() as u64;
                open(Open { strands: (i, j), access, others: &b.accesses, range });
            });
            counts.open += found;
            counts.must_happen_before += pairs - found;
        }
    }
    counts
}

/// The number of pairs of accesses of different threads, in strands of one column.
fn pairs_of_threads(trace_model: &TraceModel<'_>, a: &Strand, b: &Strand) -> u64 {
    let trace = trace_model.trace;
    let same = std::ptr::eq(a, b);
    let pairs = |a: u64, b: u64| if same { a * a.saturating_sub(1) / 2 } else { a * b };
    let mut of_thread: FxHashMap<u32, (u64, u64)> = FxHashMap::default();
    for &e in &a.accesses {
        of_thread.entry(trace.thread(e).0).or_default().0 += 1;
    }
    for &e in &b.accesses {
        of_thread.entry(trace.thread(e).0).or_default().1 += 1;
    }
    let within: u64 = of_thread.values().map(|&(a, b)| pairs(a, b)).sum();
    pairs(a.accesses.len() as u64, b.accesses.len() as u64) - within
}

/// Calls `open` for each access of `a` that is not ordered with all of `b`.
fn ranges(
    trace_model: &TraceModel<'_>,
    filters: &Filters,
    apart: Apart<'_>,
    a: &Strand,
    b: &Strand,
    mut open: impl FnMut(EventId, Range<usize>),
) {
    let TraceModel { trace, chains, .. } = trace_model;
    let place = |e: EventId| chains.column_position(trace, e);
    let (mut from, mut to) = (0, 0);
    for &e in &a.accesses {
        foretell_limit::check();
        if filters.must_happen_before {
            let places = (apart.together)(e, b.column);
            from = partition_from(&b.accesses, from, |&f| place(f) < places.start);
            to = partition_from(&b.accesses, to.max(from), |&f| place(f) < places.end);
        } else {
            to = b.accesses.len();
        }
        if from < to {
            open(e, from..to);
        }
    }
}

/// `list.partition_point(before)`, which is at `from` or after it, mostly near.
fn partition_from<T>(list: &[T], from: usize, before: impl Fn(&T) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while low < list.len() && before(&list[(low + step).min(list.len()) - 1]) {
        low = (low + step).min(list.len());
        step *= 2;
    }
    let high = (low + step).min(list.len());
    low + list[low..high].partition_point(before)
}

/// The pairs of classes that have an open pair of accesses, the smaller number first, ascending.
pub(super) fn open_class_pairs(
    trace_model: &TraceModel<'_>,
    x: VarId,
    filters: &Filters,
    apart: Apart<'_>,
    class_of: impl Fn(EventId) -> u32,
) -> (Vec<(u32, u32)>, OpenPairs) {
    let mut found: FxHashSet<(u32, u32)> = FxHashSet::default();
    // By class of the one strand, how far the other one was looked at. Ranges only move forward.
    let mut looked_at: FxHashMap<u32, usize> = FxHashMap::default();
    let mut strands = (0, 0);
    let pairs = open_pairs(trace_model, x, filters, apart, |open| {
        if strands != open.strands {
            strands = open.strands;
            looked_at.clear();
        }
        let class = class_of(open.access);
        let until = looked_at.entry(class).or_insert(0);
        for &f in &open.others[open.range.start.max(*until)..open.range.end.max(*until)] {
            foretell_limit::check();
            let other = class_of(f);
            found.insert((class.min(other), class.max(other)));
        }
        *until = open.range.end.max(*until);
    });
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_unstable();
    (found, pairs)
}

/// All open pairs of a variable.
pub(super) fn open_event_pairs(
    trace_model: &TraceModel<'_>,
    x: VarId,
    filters: &Filters,
    apart: Apart<'_>,
    found: &mut Vec<(EventId, EventId)>,
) -> OpenPairs {
    open_pairs(trace_model, x, filters, apart, |open| {
        for &f in &open.others[open.range.clone()] {
            foretell_limit::check();
            found.push((open.access.min(f), open.access.max(f)));
        }
    })
}

#[cfg(test)]
mod tests {
    use foretell_generate::{Family, Params, generate};
    use foretell_trace::{Model, conflict};

    use super::*;

    /// The pairs that are found by looking at each pair.
    fn by_pairs(trace_model: &TraceModel<'_>, x: VarId) -> (Vec<(EventId, EventId)>, OpenPairs) {
        let TraceModel { trace, chains, locks, must_happen_before: order, .. } = trace_model;
        let accesses = trace_model.reads_from.accesses(x);
        let (mut open, mut counts) = (Vec::new(), OpenPairs::default());
        for (i, &a) in accesses.iter().enumerate() {
            for &b in &accesses[i + 1..] {
                if !conflict(trace, a, b) || trace.op(a).is_atomic() && trace.op(b).is_atomic() {
                    continue;
                }
                let is_ordered = order.run_before_next(chains, trace, a, b)
                    || order.run_before_next(chains, trace, b, a);
                if chains.column(trace.thread(a)) == chains.column(trace.thread(b)) {
                    assert!(is_ordered, "{a:?} {b:?}");
                    counts.must_happen_before += 1;
                } else if locks.held_before(a).iter().any(|&s| locks.excludes(s, b)) {
                    counts.locksets += 1;
                } else if is_ordered {
                    counts.must_happen_before += 1;
                } else {
                    open.push((a, b));
                }
            }
        }
        counts.open = open.len() as u64;
        open.sort_unstable();
        (open, counts)
    }

    /// The ranges hold the pairs that are neither ordered nor under a common lock, and no others.
    #[test]
    fn ranges_hold_what_each_pair_says() {
        let mut totals = OpenPairs::default();
        for &family in Family::ALL {
            for seed in 0..20 {
                let params = Params { seed, events: 150, threads: 5, ..Params::of(family) };
                let trace = generate(family, &params);
                let trace_model = TraceModel::new(&trace, Model::Value);
                for x in (0..trace.variable_count()).map(VarId::from_index) {
                    if trace.is_opaque(x) {
                        continue;
                    }
                    let (expected, counts) = by_pairs(&trace_model, x);
                    let mut found = Vec::new();
                    let together = next_together(&trace_model);
                    let next = Apart { together: &together, order_only: true };
                    let filters = Filters::default();
                    let found_counts =
                        open_event_pairs(&trace_model, x, &filters, next, &mut found);
                    found.sort_unstable();
                    assert_eq!(found, expected, "{family} {seed}");
                    assert_eq!(found_counts, counts, "{family} {seed}");
                    // Every event a class of its own: the same pairs.
                    let (classes, _) = open_class_pairs(&trace_model, x, &filters, next, |e| e.0);
                    let expected: Vec<_> = expected.iter().map(|&(a, b)| (a.0, b.0)).collect();
                    assert_eq!(classes, expected, "{family} {seed}");
                    totals.add(counts);
                }
            }
        }
        assert!(totals.open > 1000 && totals.locksets > 1000 && totals.must_happen_before > 1000);
    }

    /// Workers of many phases share columns, so that their accesses are few strands.
    #[test]
    fn phases_of_workers_are_few_strands() {
        let phase = |p: u32| {
            format!(
                "M|fork(A{p})\nM|fork(B{p})\nA{p}|w(x)\nB{p}|w(y)\nM|join(A{p})\nM|join(B{p})\n"
            )
        };
        let text: String = (0..50).map(phase).collect();
        let trace = foretell_trace::text::parse(text.as_bytes()).expect("trace text").trace;
        let trace_model = TraceModel::new(&trace, Model::View);
        let x = trace.find_variable("x").expect("a variable");
        assert!(strands(&trace_model, x, &Filters::default()).len() <= 2);
        let mut found = Vec::new();
        let together = next_together(&trace_model);
        let next = Apart { together: &together, order_only: true };
        let counts = open_event_pairs(&trace_model, x, &Filters::default(), next, &mut found);
        assert_eq!(counts, OpenPairs { must_happen_before: 50 * 49 / 2, ..OpenPairs::default() });
    }
}
