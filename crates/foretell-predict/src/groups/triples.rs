//! Classes of atomicity violations: two accesses of a block, and the accesses between them.
//!
//! A long block has as many pairs of accesses as the square of its length, so the pairs of a
//! class are counted, and named only as long as somebody asks for more ([`BlockPairs::members`]).
//! They are counted by c': a section that is held there is held at c, too, if it was entered
//! before c. So the sections held at both only change at the enters of the sections held at c', and
//! between two of these the accesses of each kind are a range.

use std::collections::BTreeMap;
use std::sync::Arc;

use foretell_model::{SectionId, TraceModel};
use foretell_trace::{EventId, Op, ThreadId, VarId, conflict};
use rustc_hash::FxHashMap;

use super::{Class, ClassPairs, GroupLocation, Key, Locks, Member, classes, location, locks_of};

/// The pairs of accesses (c, c') of one thread, each in one block, at two places, of two kinds,
/// with the same locks held from c to c'.
pub(super) struct BlockPairs {
    /// Accesses of the kind of c and of the kind of c', ascending.
    first: Arc<Vec<EventId>>,
    second: Arc<Vec<EventId>>,
    spans: Locks,
    /// One of the pairs.
    example: (EventId, EventId),
    count: u64,
}

impl BlockPairs {
    pub(super) fn example(&self) -> Member {
        (self.example.0, Some(self.example.1))
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The pairs, ascending.
    pub(super) fn members<'c>(
        &'c self,
        trace_model: &'c TraceModel<'c>,
    ) -> impl Iterator<Item = Member> + 'c {
        let blocks = &trace_model.blocks;
        self.first.iter().flat_map(move |&c| {
            let block = blocks.outermost(c);
            let start = self.second.partition_point(|&c2| c2 <= c);
            let same_block = self.second[start..].iter().take_while(move |&&c2| {
                foretell_limit::check();
                blocks.outermost(c2) == block
            });
            let of_class = same_block.filter(move |&&c2| {
                locks_of(trace_model, &held_at_both(trace_model, c, c2)) == self.spans
            });
            of_class.map(move |&c2| (c, Some(c2)))
        })
    }
}

/// The sections that a thread is inside at `c` and still at `c2`.
fn held_at_both(trace_model: &TraceModel<'_>, c: EventId, c2: EventId) -> Vec<SectionId> {
    let locks = &trace_model.locks;
    let held = locks.held_before(c2).iter().copied();
    held.filter(|&s| locks.get(s).enter < c).collect()
}

/// Accesses of a thread to a variable inside blocks, at one place and of one kind.
struct Kind {
    location: GroupLocation,
    op: Op,
    accesses: Arc<Vec<EventId>>,
}

fn kinds(trace_model: &TraceModel<'_>, accesses: &[EventId]) -> Vec<Kind> {
    let trace = trace_model.trace;
    let mut index: FxHashMap<(GroupLocation, Op), usize> = FxHashMap::default();
    let mut kinds: Vec<(GroupLocation, Op, Vec<EventId>)> = Vec::new();
    for &e in accesses {
        foretell_limit::check();
        if trace_model.blocks.outermost(e).is_none() {
            continue;
        }
        let (location, op) = (location(trace_model, e), trace.op(e));
        let i = *index.entry((location, op)).or_insert_with(|| {
            kinds.push((location, op, Vec::new()));
            kinds.len() - 1
        });
        kinds[i].2.push(e);
    }
    let kind = |(location, op, accesses)| Kind { location, op, accesses: Arc::new(accesses) };
    kinds.into_iter().map(kind).collect()
}

/// Calls `pairs` with the ranges of `first` that make pairs with each access of `second`: the locks
/// that are held at both, the range, and the access.
fn ranges(
    trace_model: &TraceModel<'_>,
    first: &[EventId],
    second: &[EventId],
    mut pairs: impl FnMut(&[SectionId], &[EventId], EventId),
) {
    let (locks, blocks) = (&trace_model.locks, &trace_model.blocks);
    let mut held: Vec<SectionId> = Vec::new();
    for &c2 in second {
        foretell_limit::check();
        let Some(block) = blocks.outermost(c2) else { continue };
        let begin = blocks.get(block).begin;
        let start = first.partition_point(|&c| c < begin);
        let end = start + first[start..].partition_point(|&c| c < c2);
        held.clear();
        held.extend(locks.held_before(c2));
        held.sort_unstable_by_key(|&s| locks.get(s).enter);
        let mut from = start;
        for spans in 0..=held.len() {
            let to = match held.get(spans) {
                Some(&next) => first[..end].partition_point(|&c| c <= locks.get(next).enter),
                None => end,
            };
            if from < to {
                pairs(&held[..spans], &first[from..to], c2);
                from = to;
            }
        }
    }
}

/// Adds classes of (c, c') with classes of r.
pub(super) fn triples(trace_model: &TraceModel<'_>, x: VarId, groups: &mut ClassPairs) {
    let trace = trace_model.trace;
    let reads_from = &trace_model.reads_from;
    if reads_from.writes(x).is_empty() {
        return;
    }
    let mut index: BTreeMap<(Key, GroupLocation, Op), BlockPairs> = BTreeMap::new();
    for (thread, list) in reads_from.accesses_by_thread(x) {
        let kinds = kinds(trace_model, list);
        for one in &kinds {
            for other in &kinds {
                if has_conflict(trace_model, x, *thread, one.op, other.op) {
                    add_pairs(trace_model, *thread, one, other, &mut index);
                }
            }
        }
    }
    if index.is_empty() {
        return;
    }
    let (others, classes): (Vec<Key>, Vec<Vec<EventId>>) =
        classes(trace_model, x).into_iter().unzip();
    let firsts: Vec<EventId> = classes.iter().map(|class| class[0]).collect();
    let start = groups.add(classes.into_iter().map(Class::Accesses));
    for ((key, location2, _), pairs) in index {
        let (c, c2) = pairs.example;
        let inside = groups.add([Class::Pairs(pairs)]);
        for (i, other) in others.iter().enumerate() {
            foretell_limit::check();
            if conflict(trace, c, firsts[i]) && conflict(trace, firsts[i], c2) {
                let locations = vec![key.1, other.1, location2];
                groups.pair(locations, inside, start + i as u32);
            }
        }
    }
}

/// Whether another thread has accesses that conflict with two accesses of these kinds.
fn has_conflict(trace_model: &TraceModel<'_>, x: VarId, thread: ThreadId, a: Op, b: Op) -> bool {
    let reads_from = &trace_model.reads_from;
    let both_write = a.writes() && b.writes();
    let lists =
        if both_write { reads_from.accesses_by_thread(x) } else { reads_from.writes_by_thread(x) };
    lists.iter().any(|(t, _)| *t != thread)
}

fn add_pairs(
    trace_model: &TraceModel<'_>,
    thread: ThreadId,
    one: &Kind,
    other: &Kind,
    index: &mut BTreeMap<(Key, GroupLocation, Op), BlockPairs>,
) {
    // Neighbours mostly have the same locks.
    let mut counts: FxHashMap<Locks, ((EventId, EventId), u64)> = FxHashMap::default();
    ranges(trace_model, &one.accesses, &other.accesses, |held, range, c2| {
        let entry = counts.entry(locks_of(trace_model, held)).or_insert(((range[0], c2), 0));
        entry.1 += range.len() as u64;
    });
    for (spans, (example, count)) in counts {
        let key = (thread, one.location, one.op, spans.clone());
        let (first, second) = (one.accesses.clone(), other.accesses.clone());
        let pairs = BlockPairs { first, second, spans, example, count };
        index.insert((key, other.location, other.op), pairs);
    }
}

#[cfg(test)]
mod tests {
    use foretell_generate::{Family, Params, generate};
    use foretell_trace::Model;

    use super::*;

    /// The classes hold the pairs that are found by looking at each pair, in the same order.
    #[test]
    fn classes_hold_what_each_pair_says() {
        let mut total = 0;
        for family in [Family::Blocks, Family::Mixed, Family::Locks, Family::ReadersWriters] {
            for seed in 0..20 {
                let params = Params { seed, events: 150, threads: 3, ..Params::of(family) };
                let trace = generate(family, &params);
                let trace_model = TraceModel::new(&trace, Model::Value);
                for x in (0..trace.variable_count()).map(VarId::from_index) {
                    for (_, list) in trace_model.reads_from.accesses_by_thread(x) {
                        total += compare(&trace_model, list);
                    }
                }
            }
        }
        assert!(total > 100, "{total}");
    }

    /// Compares the classes of the accesses of a thread; the number of pairs.
    fn compare(trace_model: &TraceModel<'_>, list: &[EventId]) -> u64 {
        type Kind = (GroupLocation, Op);
        let kind = |e: EventId| -> Kind { (location(trace_model, e), trace_model.trace.op(e)) };
        let mut expected: BTreeMap<(Kind, Kind, Locks), Vec<Member>> = BTreeMap::new();
        for (i, &c) in list.iter().enumerate() {
            let Some(block) = trace_model.blocks.outermost(c) else { continue };
            for &c2 in &list[i + 1..] {
                if trace_model.blocks.outermost(c2) != Some(block) {
                    break;
                }
                let mut both = trace_model.locks.held_before(c).to_vec();
                both.retain(|s| trace_model.locks.held_before(c2).contains(s));
                let key = (kind(c), kind(c2), locks_of(trace_model, &both));
                expected.entry(key).or_default().push((c, Some(c2)));
            }
        }
        let mut found = BTreeMap::new();
        let kinds = kinds(trace_model, list);
        for one in &kinds {
            for other in &kinds {
                add_pairs(trace_model, ThreadId(0), one, other, &mut found);
            }
        }
        let found: BTreeMap<_, Vec<Member>> = found
            .into_iter()
            .map(|(((_, location, op, spans), location2, op2), pairs)| {
                let members: Vec<Member> = pairs.members(trace_model).collect();
                assert_eq!(members.len() as u64, pairs.count());
                assert!(members.contains(&pairs.example()));
                (((location, op), (location2, op2), spans), members)
            })
            .collect();
        assert!(found == expected);
        expected.values().map(|pairs| pairs.len() as u64).sum()
    }
}
