//! Grouping: candidates that a reader would call the same bug, because they are at the same
//! locations in the source.
//!
//! Without `--all` one witness for each group is enough. Races and atomicity violations of a large
//! trace have more candidates than fit in memory, so they are never listed: accesses of a variable
//! that agree in thread, location, kind and locks held are one *class*, and a group is a list of
//! pairs of classes. Its candidates are tried nearest first, those that were close to happening in
//! the observed run.

use std::collections::BTreeMap;
use std::ops::Range;

use foretell_model::{SectionId, TraceModel};
use foretell_trace::{EventId, FindingKind, Op, ThreadId, VarId, conflict};
use rustc_hash::FxHashMap;

use crate::analyses::{Candidate, candidates};

/// Candidates of which one witness is wanted.
pub(crate) struct Group {
    pub(crate) kind: FindingKind,
    /// Number of candidates.
    pub(crate) size: u64,
    members: Members,
}

/// Candidates of a group.
pub(crate) enum Batch {
    /// A candidate to decide.
    One(Candidate),
    /// Number of candidates that must-happen-before proves impossible.
    Ordered(u64),
}

enum Members {
    /// As they are.
    List(Vec<Candidate>),
    /// Pairs of classes of a variable: racing accesses, or (c, c') and r.
    Pairs(Vec<(Class, Class)>),
}

/// Accesses, or pairs of accesses of one block, that differ only in when they happened.
type Class = std::sync::Arc<Vec<Member>>;

/// An access, or two of one block.
type Member = (EventId, Option<EventId>);

/// A source location; where it is unknown, thread, operation and variable stand for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum GroupLocation {
    Known(u32),
    Unknown(ThreadId, Op, u32),
}

fn location(trace_model: &TraceModel<'_>, e: EventId) -> GroupLocation {
    let trace = trace_model.trace;
    match trace.site(e) {
        Some(site) => GroupLocation::Known(trace.location_index(site)),
        None => {
            let object = trace.variable(e).map_or(u32::MAX, |x| x.0);
            GroupLocation::Unknown(trace.thread(e), trace.op(e), object)
        }
    }
}

/// All groups of an analysis; with `all`, every candidate is a group of its own.
pub(crate) fn groups(trace_model: &TraceModel<'_>, kind: FindingKind, all: bool) -> Vec<Group> {
    let single = |members: Vec<Candidate>| Group {
        kind,
        size: members.len() as u64,
        members: Members::List(members),
    };
    if all {
        return candidates(trace_model, kind).into_iter().map(|c| single(vec![c])).collect();
    }
    match kind {
        FindingKind::Race => class_groups(trace_model, kind, races),
        FindingKind::Atomicity => class_groups(trace_model, kind, triples),
        _ => {
            let mut groups: BTreeMap<Vec<GroupLocation>, Vec<Candidate>> = BTreeMap::new();
            for candidate in candidates(trace_model, kind) {
                groups.entry(locations(trace_model, &candidate)).or_default().push(candidate);
            }
            groups.into_values().map(single).collect()
        }
    }
}

fn locations(trace_model: &TraceModel<'_>, candidate: &Candidate) -> Vec<GroupLocation> {
    let of = |e: EventId| location(trace_model, e);
    match candidate {
        Candidate::Race(a, b) => vec![of(*a).min(of(*b)), of(*a).max(of(*b))],
        Candidate::Atomicity(c, r, c2) => vec![of(*c), of(*r), of(*c2)],
        Candidate::Serializability(b) | Candidate::Transactions(b) => {
            vec![of(trace_model.blocks.get(*b).begin)]
        }
        Candidate::NondeterministicRead(e) => vec![of(*e)],
        // Apart from the reads: a final value has two entries.
        Candidate::FinalValue(e) => vec![of(*e), of(*e)],
        Candidate::Deadlock(acquires) => {
            let mut locations: Vec<_> = acquires.iter().map(|&e| of(e)).collect();
            locations.sort_unstable();
            locations
        }
    }
}

type ByLocations = BTreeMap<Vec<GroupLocation>, Vec<(Class, Class)>>;

fn class_groups(
    trace_model: &TraceModel<'_>,
    kind: FindingKind,
    pairs: fn(&TraceModel<'_>, VarId, &mut ByLocations),
) -> Vec<Group> {
    let mut groups = ByLocations::new();
    for x in (0..trace_model.trace.variable_count()).map(VarId::from_index) {
        if !trace_model.trace.is_opaque(x) && trace_model.reads_from.accesses_by_thread(x).len() > 1
        {
            pairs(trace_model, x, &mut groups);
        }
    }
    let group = |pairs: Vec<(Class, Class)>| Group {
        kind,
        size: pairs.iter().map(|(a, b)| a.len() as u64 * b.len() as u64).sum(),
        members: Members::Pairs(pairs),
    };
    groups.into_values().map(group).collect()
}

/// The common properties of the accesses of a class. The locks are those held, sorted.
type Key = (ThreadId, GroupLocation, Op, Vec<(u32, bool)>);

/// The classes of accesses of a variable, in the order they first occur.
fn classes(trace_model: &TraceModel<'_>, x: VarId) -> Vec<(Key, Class)> {
    let trace = trace_model.trace;
    // The sets of locks held are few, and the same for all accesses until something is taken or
    // freed.
    let mut locksets: FxHashMap<Vec<(u32, bool)>, u32> = FxHashMap::default();
    let mut last_of_thread: FxHashMap<ThreadId, (u32, u32)> = FxHashMap::default();
    let mut index: FxHashMap<(ThreadId, GroupLocation, Op, u32), usize> = FxHashMap::default();
    let mut classes: Vec<(Key, Vec<Member>)> = Vec::new();
    for &e in trace_model.reads_from.accesses(x) {
        let thread = trace.thread(e);
        let held = trace_model.locks.held_set_index(e);
        let lockset = match last_of_thread.get(&thread) {
            Some(&(last, lockset)) if last == held => lockset,
            _ => {
                let locks = locks_of(trace_model, trace_model.locks.held_before(e));
                let new = locksets.len() as u32;
                let lockset = *locksets.entry(locks).or_insert(new);
                last_of_thread.insert(thread, (held, lockset));
                lockset
            }
        };
        let (location, op) = (location(trace_model, e), trace.op(e));
        let i = *index.entry((thread, location, op, lockset)).or_insert_with(|| {
            let locks = locks_of(trace_model, trace_model.locks.held_before(e));
            classes.push(((thread, location, op, locks), Vec::new()));
            classes.len() - 1
        });
        classes[i].1.push((e, None));
    }
    classes.into_iter().map(|(key, members)| (key, Class::new(members))).collect()
}

fn locks_of(trace_model: &TraceModel<'_>, sections: &[SectionId]) -> Vec<(u32, bool)> {
    let mut held: Vec<_> =
        sections.iter().map(|&s| trace_model.locks.get(s)).map(|s| (s.lock.0, s.shared)).collect();
    held.sort_unstable();
    held
}

/// Pairs of classes that may race.
fn races(trace_model: &TraceModel<'_>, x: VarId, groups: &mut ByLocations) {
    let classes = classes(trace_model, x);
    for (i, (key_a, a)) in classes.iter().enumerate() {
        for (key_b, b) in &classes[i + 1..] {
            let both_atomic = key_a.2.is_atomic() && key_b.2.is_atomic();
            if !both_atomic && conflict(trace_model.trace, a[0].0, b[0].0) {
                let locations = vec![key_a.1.min(key_b.1), key_a.1.max(key_b.1)];
                groups.entry(locations).or_default().push((a.clone(), b.clone()));
            }
        }
    }
}

/// Classes of (c, c') with classes of r.
fn triples(trace_model: &TraceModel<'_>, x: VarId, groups: &mut ByLocations) {
    let trace = trace_model.trace;
    let others = classes(trace_model, x);
    let mut index: BTreeMap<(Key, GroupLocation, Op), Vec<Member>> = BTreeMap::new();
    for (thread, list) in trace_model.reads_from.accesses_by_thread(x) {
        for (i, &c) in list.iter().enumerate() {
            let Some(block) = trace_model.blocks.outermost(c) else { continue };
            for &c2 in &list[i + 1..] {
                if trace_model.blocks.outermost(c2) != Some(block) {
                    break;
                }
                let at_c2 = trace_model.locks.held_before(c2);
                let both: Vec<_> = trace_model.locks.held_before(c).to_vec();
                let both: Vec<_> = both.into_iter().filter(|s| at_c2.contains(s)).collect();
                let spans = locks_of(trace_model, &both);
                let key = (*thread, location(trace_model, c), trace.op(c), spans);
                let key = (key, location(trace_model, c2), trace.op(c2));
                index.entry(key).or_default().push((c, Some(c2)));
            }
        }
    }
    for ((key, location2, _), members) in index {
        let inside = Class::new(members);
        let (c, c2) = (inside[0].0, inside[0].1.unwrap_or(inside[0].0));
        for (other, r) in &others {
            if conflict(trace, c, r[0].0) && conflict(trace, r[0].0, c2) {
                let locations = vec![key.1, other.1, location2];
                groups.entry(locations).or_default().push((inside.clone(), r.clone()));
            }
        }
    }
}

impl Group {
    /// The candidates, nearest first where they are pairs. `keep` says of two classes, given one
    /// member of each, whether any of their pairs can be a finding. With `order` pairs that
    /// must-happen-before proves impossible are counted, not listed, but for the nearest.
    pub(crate) fn candidates<'g>(
        &'g self,
        keep: impl Fn(&Candidate) -> bool + 'g,
        order: Option<&'g TraceModel<'g>>,
    ) -> Box<dyn Iterator<Item = Batch> + 'g> {
        let kind = self.kind;
        match &self.members {
            Members::List(list) => Box::new(list.iter().cloned().map(Batch::One)),
            Members::Pairs(pairs) => {
                let kept = pairs.iter().filter(move |(a, b)| keep(&candidate(kind, a[0], b[0])));
                let kept: Vec<_> = kept.collect();
                let near = kept.clone().into_iter().flat_map(|(a, b)| neighbours(a, b));
                let near = near.map(move |(a, b)| Batch::One(candidate(kind, a, b)));
                let far = kept.into_iter().flat_map(move |(a, b)| strangers(kind, order, a, b));
                Box::new(near.chain(far))
            }
        }
    }
}

fn candidate(kind: FindingKind, a: Member, b: Member) -> Candidate {
    match a.1 {
        Some(c2) => Candidate::Atomicity(a.0, b.0, c2),
        None => {
            debug_assert_eq!(kind, FindingKind::Race);
            Candidate::Race(a.0.min(b.0), a.0.max(b.0))
        }
    }
}

/// For each member of `a`, the last one of `b` before it and the first one after it.
fn neighbours<'c>(a: &'c Class, b: &'c Class) -> impl Iterator<Item = (Member, Member)> + 'c {
    a.iter().flat_map(move |&m| {
        let i = b.partition_point(|n| n.0 < m.0);
        let near = [i.checked_sub(1), Some(i)];
        near.into_iter().flatten().filter_map(|i| b.get(i)).map(move |&n| (m, n))
    })
}

/// All other pairs.
fn strangers<'c>(
    kind: FindingKind,
    order: Option<&'c TraceModel<'c>>,
    a: &'c Class,
    b: &'c Class,
) -> impl Iterator<Item = Batch> + 'c {
    a.iter().flat_map(move |&m| {
        let i = b.partition_point(|n| n.0 < m.0);
        let open = order.map_or(0..b.len(), |trace_model| unordered(trace_model, m, b));
        let near = i.saturating_sub(1)..(i + 1).min(b.len());
        let near_open = near.clone().filter(|j| open.contains(j)).count();
        let ordered = (b.len() - near.len()) - (open.len() - near_open);
        let ordered = (ordered > 0).then_some(Batch::Ordered(ordered as u64));
        let far = open.filter(move |j| !near.contains(j));
        ordered.into_iter().chain(far.map(move |j| Batch::One(candidate(kind, m, b[j]))))
    })
}

/// The members of a class that must-happen-before does not order with a member of another one. They
/// are neighbours, because the events of a class are of one thread.
fn unordered(trace_model: &TraceModel<'_>, m: Member, class: &Class) -> Range<usize> {
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    let Some(&(first, _)) = class.first() else { return 0..0 };
    let thread = trace.thread(first);
    let positions = match m.1 {
        None => must_happen_before.next_together(chains, trace, m.0, thread),
        Some(c2) => {
            let to = must_happen_before.first_after(chains, trace, c2, thread);
            must_happen_before.needs(chains, trace, m.0, thread)..to.unwrap_or(u32::MAX)
        }
    };
    let start = class.partition_point(|n| chains.position(n.0) < positions.start);
    let end = class.partition_point(|n| chains.position(n.0) < positions.end);
    start..end.max(start)
}
