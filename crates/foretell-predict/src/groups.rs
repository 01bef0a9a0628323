//! Grouping: candidates that a reader would call the same bug, because they are at the same
//! locations in the source.
//!
//! Without `--all` one witness for each group is enough. Races and atomicity violations of a large
//! trace have more candidates than fit in memory, so they are never listed: accesses of a variable
//! that agree in thread, location, kind and locks held are one *class*, and a group is a list of
//! pairs of classes. Its candidates are tried nearest first, those that were close to happening in
//! the observed run. Pairs of classes of which locks and must-happen-before leave no race open are
//! in no group; they are only counted (`races`).

mod freed;
mod races;
mod triples;
mod unordered;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;
use std::sync::Arc;

use foretell_model::{SectionId, TraceModel};
use foretell_trace::{EventId, FindingKind, Op, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::analyses::{Candidate, Circles, candidates};
use crate::filters::{Dropped, Filters};
use crate::stuck::Stops;
use races::{Apart, LockSets, OpenPairs};
use triples::{BlockPairs, triples};

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
    /// Number of candidates that a filter proves impossible.
    Dropped(Dropped, u64),
}

enum Members {
    /// As they are.
    List(Vec<Candidate>),
    /// Pairs of classes of a variable: racing accesses, or (c, c') and r. With thousands of threads
    /// there are millions of pairs: they are indices into the classes of all groups.
    Pairs(Arc<Vec<Class>>, LocationPairs),
    /// Circles of requests, by number.
    Circles(Arc<Circles>, Vec<usize>),
    /// Candidates that filters dropped before there were groups.
    Dropped([(Dropped, u64); 2]),
}

/// The pairs of classes at one pair of locations.
#[derive(Default)]
struct LocationPairs {
    /// Of which members may be next together, or (c, c') and r.
    next: Vec<(u32, u32)>,
    /// Of which members may be unordered by happens-before.
    unordered: Vec<(u32, u32)>,
}

/// Accesses, or pairs of accesses of one block, that differ only in when they happened.
enum Class {
    /// Accesses, ascending.
    Accesses(Vec<EventId>),
    Pairs(BlockPairs),
}

impl Class {
    /// Number of members.
    fn len(&self) -> u64 {
        match self {
            Class::Accesses(list) => list.len() as u64,
            Class::Pairs(pairs) => pairs.count(),
        }
    }

    /// One of the members.
    fn example(&self) -> Member {
        match self {
            Class::Accesses(list) => (list[0], None),
            Class::Pairs(pairs) => pairs.example(),
        }
    }

    /// The accesses of a class of these.
    fn accesses(&self) -> &[EventId] {
        match self {
            Class::Accesses(list) => list,
            Class::Pairs(_) => &[],
        }
    }

    /// The members, ascending.
    fn members<'c>(
        &'c self,
        trace_model: &'c TraceModel<'c>,
    ) -> Box<dyn Iterator<Item = Member> + 'c> {
        match self {
            Class::Accesses(list) => Box::new(list.iter().map(|&e| (e, None))),
            Class::Pairs(pairs) => Box::new(pairs.members(trace_model)),
        }
    }
}

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

/// All groups of an analysis; with `all`, every candidate is a group of its own. `with_unordered`
/// adds races that memory orders leave open.
pub(crate) fn groups(
    trace_model: &TraceModel<'_>,
    kind: FindingKind,
    (all, with_unordered): (bool, bool),
    filters: &Filters,
) -> Vec<Group> {
    let single = |members: Vec<Candidate>| Group {
        kind,
        size: members.len() as u64,
        members: Members::List(members),
    };
    if all && kind == FindingKind::Race {
        let mut counts = OpenPairs::default();
        let mut pairs = Vec::new();
        let together = races::next_together(trace_model);
        let next = Apart { together: &together, order_only: true };
        for x in shared_variables(trace_model) {
            counts.add(races::open_event_pairs(trace_model, x, filters, next, &mut pairs));
        }
        let mut candidates: BTreeMap<(EventId, EventId), Vec<Candidate>> = BTreeMap::new();
        pairs.sort_unstable();
        // Two frees of one block conflict on each of its variables.
        pairs.dedup();
        for (a, b) in pairs {
            candidates.entry((a, b)).or_default().push(Candidate::Race(a, b));
        }
        let unordered = with_unordered.then(|| unordered::open_event_pairs(trace_model, filters));
        for (a, b) in unordered.into_iter().flatten() {
            candidates.entry((a, b)).or_default().push(Candidate::Unordered(a, b));
        }
        let groups = candidates.into_values().map(single);
        return groups.chain(dropped(kind, &counts, counts.open)).collect();
    }
    if kind == FindingKind::Deadlock {
        return deadlocks(trace_model, all, filters);
    }
    if kind == FindingKind::Hang {
        return hangs(trace_model, all, filters);
    }
    if all {
        return candidates(trace_model, kind).into_iter().map(|c| single(vec![c])).collect();
    }
    match kind {
        FindingKind::Race => {
            let mut pairs = ClassPairs::default();
            let mut counts = OpenPairs::default();
            let mut class_of = vec![0; trace_model.trace.len()];
            for x in shared_variables(trace_model) {
                counts.add(race_pairs(trace_model, x, filters, &mut class_of, &mut pairs));
            }
            let size = pairs.size();
            if with_unordered {
                unordered::add_class_pairs(trace_model, filters, &mut class_of, &mut pairs);
            }
            let mut groups = pairs.groups(kind);
            groups.extend(dropped(kind, &counts, size));
            groups
        }
        FindingKind::Atomicity => {
            let mut pairs = ClassPairs::default();
            for x in shared_variables(trace_model) {
                triples(trace_model, x, &mut pairs);
            }
            let freed = freed::triples(trace_model).into_values().map(single);
            pairs.groups(kind).into_iter().chain(freed).collect()
        }
        _ => {
            let mut groups: BTreeMap<Vec<GroupLocation>, Vec<Candidate>> = BTreeMap::new();
            for candidate in candidates(trace_model, kind) {
                foretell_limit::check();
                groups.entry(locations(trace_model, &candidate)).or_default().push(candidate);
            }
            groups.into_values().map(single).collect()
        }
    }
}

fn locations(trace_model: &TraceModel<'_>, candidate: &Candidate) -> Vec<GroupLocation> {
    let of = |e: EventId| location(trace_model, e);
    match candidate {
        Candidate::Race(a, b) | Candidate::Unordered(a, b) => {
            vec![of(*a).min(of(*b)), of(*a).max(of(*b))]
        }
        Candidate::Atomicity(c, r, c2) => vec![of(*c), of(*r), of(*c2)],
        Candidate::Serializability(b) | Candidate::Transactions(b) => {
            vec![of(trace_model.blocks.get(*b).begin)]
        }
        Candidate::NondeterministicRead(e) => vec![of(*e)],
        // Apart from the reads: a final value has two entries.
        Candidate::FinalValue(e, _) => vec![of(*e), of(*e)],
        Candidate::Deadlock(acquires) => {
            let mut locations: Vec<_> = acquires.iter().map(|&e| of(e)).collect();
            locations.sort_unstable();
            locations
        }
        Candidate::Hang(root, _) => vec![of(*root)],
        Candidate::Lifetime(free, used) => vec![of(*free), of(*used)],
    }
}

/// Classes, and pairs of them by location.
#[derive(Default)]
struct ClassPairs {
    classes: Vec<Class>,
    by_locations: BTreeMap<Vec<GroupLocation>, LocationPairs>,
}

impl ClassPairs {
    /// Adds classes; returns the index of the first.
    fn add(&mut self, classes: impl IntoIterator<Item = Class>) -> u32 {
        let first = self.classes.len() as u32;
        self.classes.extend(classes);
        first
    }

    fn pair(&mut self, locations: Vec<GroupLocation>, a: u32, b: u32) {
        self.by_locations.entry(locations).or_default().next.push((a, b));
    }

    /// Returns the number of candidates so far.
    fn size(&self) -> u64 {
        let len = |class: u32| self.classes[class as usize].len();
        let pairs = self.by_locations.values().flat_map(|pairs| &pairs.next);
        pairs.map(|&(a, b)| len(a) * len(b)).sum()
    }

    fn groups(self, kind: FindingKind) -> Vec<Group> {
        let classes = Arc::new(self.classes);
        let len = |class: u32| classes[class as usize].len();
        let group = |pairs: LocationPairs| Group {
            kind,
            size: pairs.next.iter().chain(&pairs.unordered).map(|&(a, b)| len(a) * len(b)).sum(),
            members: Members::Pairs(classes.clone(), pairs),
        };
        self.by_locations.into_values().map(group).collect()
    }
}

/// The variables that several threads access, but for opaque ones.
fn shared_variables<'a>(trace_model: &'a TraceModel<'_>) -> impl Iterator<Item = VarId> + 'a {
    let variables = (0..trace_model.trace.variable_count()).map(VarId::from_index);
    variables.filter(|&x| {
        foretell_limit::check();
        !trace_model.trace.is_opaque(x) && trace_model.reads_from.accesses_by_thread(x).len() > 1
    })
}

/// Candidates that are dropped already and not among the `grouped` ones, as a group of their own.
fn dropped(kind: FindingKind, counts: &OpenPairs, grouped: u64) -> Option<Group> {
    let dropped = counts.locksets + counts.must_happen_before;
    let size = dropped + counts.open - grouped;
    let members = Members::Dropped([
        (Dropped::Lockset, counts.locksets),
        (Dropped::Must, counts.must_happen_before),
    ]);
    (dropped > 0).then_some(Group { kind, size, members })
}

/// The groups of circles of acquires.
fn deadlocks(trace_model: &TraceModel<'_>, all: bool, filters: &Filters) -> Vec<Group> {
    let kind = FindingKind::Deadlock;
    let circles = Arc::new(Circles::new(trace_model, filters));
    let sets = 0..circles.sets.len();
    if all {
        let of_set = |set| circles.acquires(trace_model, set, filters.must_happen_before);
        let mut found: Vec<Vec<EventId>> = sets.clone().flat_map(of_set).collect();
        found.sort_unstable();
        let total: u64 = sets.map(|set| circles.size(set)).sum();
        let ordered = total - found.len() as u64;
        let single = |acquires: Vec<EventId>| {
            let members = Members::List(vec![Candidate::Deadlock(acquires)]);
            Group { kind, size: 1, members }
        };
        let members = Members::Dropped([(Dropped::Lockset, 0), (Dropped::Must, ordered)]);
        let dropped = (ordered > 0).then_some(Group { kind, size: ordered, members });
        return found.into_iter().map(single).chain(dropped).collect();
    }
    let mut groups: BTreeMap<Vec<GroupLocation>, Vec<usize>> = BTreeMap::new();
    for set in sets {
        foretell_limit::check();
        let mut locations: Vec<_> =
            circles.examples(set).map(|e| location(trace_model, e)).collect();
        locations.sort_unstable();
        groups.entry(locations).or_default().push(set);
    }
    let group = |sets: Vec<usize>| Group {
        kind,
        size: sets.iter().map(|&set| circles.size(set)).fold(0, u64::saturating_add),
        members: Members::Circles(circles.clone(), sets),
    };
    groups.into_values().map(group).collect()
}

/// The groups of events that may wait for ever.
fn hangs(trace_model: &TraceModel<'_>, all: bool, filters: &Filters) -> Vec<Group> {
    let kind = FindingKind::Hang;
    let mut roots = candidates(trace_model, kind);
    let listed = roots.len();
    if filters.must_happen_before && !roots.is_empty() {
        let stops = Stops::new(trace_model);
        roots.retain(|candidate| match candidate {
            Candidate::Hang(root, _) => stops.frontier(trace_model, *root).is_some(),
            _ => true,
        });
    }
    let ordered = (listed - roots.len()) as u64;
    let mut groups: BTreeMap<Vec<GroupLocation>, Vec<Candidate>> = BTreeMap::new();
    let mut single = Vec::new();
    // The last ones first: what is left to run in another order is short there.
    for root in roots.into_iter().rev() {
        foretell_limit::check();
        match all {
            true => single.push(vec![root]),
            false => groups.entry(locations(trace_model, &root)).or_default().push(root),
        }
    }
    let group = |members: Vec<Candidate>| Group {
        kind,
        size: members.len() as u64,
        members: Members::List(members),
    };
    let members = Members::Dropped([(Dropped::Lockset, 0), (Dropped::Must, ordered)]);
    let dropped = (ordered > 0).then_some(Group { kind, size: ordered, members });
    groups.into_values().chain(single).map(group).chain(dropped).collect()
}

/// The sets of acquires of several circles of requests, in order.
fn acquires<'g>(
    circles: &'g Circles,
    sets: &'g [usize],
    trace_model: &'g TraceModel<'g>,
    with_order: bool,
) -> impl Iterator<Item = Batch> + 'g {
    let mut iterators: Vec<_> =
        sets.iter().map(|&set| circles.acquires(trace_model, set, with_order)).collect();
    let firsts = iterators.iter_mut().enumerate();
    let firsts = firsts.filter_map(|(i, sets)| Some(Reverse((sets.next()?, i))));
    let mut next: BinaryHeap<_> = firsts.collect();
    std::iter::from_fn(move || {
        let Reverse((acquires, i)) = next.pop()?;
        next.extend(iterators[i].next().map(|acquires| Reverse((acquires, i))));
        Some(Batch::One(Candidate::Deadlock(acquires)))
    })
}

/// A set of locks: number, and whether it is the reader side. Sorted.
type Locks = Vec<(u32, bool)>;

/// The common properties of the accesses of a class. The locks are those held.
type Key = (ThreadId, GroupLocation, Op, Locks);

/// The classes of accesses of a variable, in the order they first occur.
fn classes(trace_model: &TraceModel<'_>, x: VarId) -> Vec<(Key, Vec<EventId>)> {
    let trace = trace_model.trace;
    let mut locksets = LockSets::default();
    let mut index: FxHashMap<(ThreadId, GroupLocation, Op, u32), usize> = FxHashMap::default();
    let mut classes: Vec<(Key, Vec<EventId>)> = Vec::new();
    for &e in trace_model.reads_from.accesses(x) {
        foretell_limit::check();
        let thread = trace.thread(e);
        let lockset = locksets.at(trace_model, e);
        let (location, op) = (location(trace_model, e), trace.op(e));
        let i = *index.entry((thread, location, op, lockset)).or_insert_with(|| {
            let locks = locks_of(trace_model, trace_model.locks.held_before(e));
            classes.push(((thread, location, op, locks), Vec::new()));
            classes.len() - 1
        });
        classes[i].1.push(e);
    }
    classes
}

fn locks_of(trace_model: &TraceModel<'_>, sections: &[SectionId]) -> Locks {
    let mut held: Vec<_> =
        sections.iter().map(|&s| trace_model.locks.get(s)).map(|s| (s.lock.0, s.shared)).collect();
    held.sort_unstable();
    held
}

/// Adds the pairs of classes of a variable that may race. `class_of` is scratch memory, by event.
fn race_pairs(
    trace_model: &TraceModel<'_>,
    x: VarId,
    filters: &Filters,
    class_of: &mut [u32],
    pairs: &mut ClassPairs,
) -> OpenPairs {
    let (keys, classes): (Vec<Key>, Vec<Vec<EventId>>) =
        classes(trace_model, x).into_iter().unzip();
    for (i, class) in classes.iter().enumerate() {
        for e in class {
            class_of[e.index()] = i as u32;
        }
    }
    let together = races::next_together(trace_model);
    let next = Apart { together: &together, order_only: true };
    let (open, counts) =
        races::open_class_pairs(trace_model, x, filters, next, |e| class_of[e.index()]);
    if !open.is_empty() {
        let start = pairs.add(classes.into_iter().map(Class::Accesses));
        for (i, j) in open {
            let (a, b) = (keys[i as usize].1, keys[j as usize].1);
            pairs.pair(vec![a.min(b), a.max(b)], start + i, start + j);
        }
    }
    counts
}

impl Group {
    /// Whether filters have dropped all its candidates already.
    pub(crate) fn is_dropped(&self) -> bool {
        matches!(self.members, Members::Dropped(_))
    }

    /// The candidates, nearest first where they are pairs. `keep` says of two classes, given one
    /// member of each, whether any of their pairs can be a finding. With `with_order` pairs that
    /// must-happen-before proves impossible are counted, not listed, but for the nearest.
    pub(crate) fn candidates<'g>(
        &'g self,
        keep: impl Fn(&Candidate) -> bool + 'g,
        trace_model: &'g TraceModel<'g>,
        with_order: bool,
    ) -> Box<dyn Iterator<Item = Batch> + 'g> {
        let (kind, order) = (self.kind, with_order.then_some(trace_model));
        match &self.members {
            Members::List(list) => Box::new(list.iter().cloned().map(Batch::One)),
            Members::Circles(circles, sets) => {
                Box::new(acquires(circles, sets, trace_model, order.is_some()))
            }
            Members::Dropped(counts) => {
                Box::new(counts.iter().map(|&(by, count)| Batch::Dropped(by, count)))
            }
            Members::Pairs(classes, pairs) => {
                let class = |i: u32| &classes[i as usize];
                let unordered = pairs.unordered.iter().map(move |&(a, b)| (class(a), class(b)));
                let unordered = unordered::candidates(trace_model, unordered.collect(), with_order);
                let pairs = pairs.next.iter().map(move |&(a, b)| (class(a), class(b)));
                let kept =
                    pairs.filter(move |(a, b)| keep(&candidate(kind, a.example(), b.example())));
                let kept: Vec<_> = kept.collect();
                let near = kept.clone().into_iter().flat_map(move |(a, b)| {
                    let near = neighbours(trace_model, a, b.accesses());
                    near.filter(move |&(m, n)| is_open(kind, order, m, n))
                });
                let near = near.map(move |(a, b)| Batch::One(candidate(kind, a, b)));
                let far = kept.into_iter().flat_map(move |(a, b)| {
                    strangers(kind, trace_model, with_order, a, b.accesses())
                });
                Box::new(near.chain(far).chain(unordered))
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
fn neighbours<'c>(
    trace_model: &'c TraceModel<'c>,
    a: &'c Class,
    b: &'c [EventId],
) -> impl Iterator<Item = (Member, Member)> + 'c {
    a.members(trace_model).flat_map(move |m| {
        let i = b.partition_point(|&n| n < m.0);
        let near = [i.checked_sub(1), Some(i)];
        near.into_iter().flatten().filter_map(|i| b.get(i)).map(move |&n| (m, (n, None)))
    })
}

/// All other pairs.
fn strangers<'c>(
    kind: FindingKind,
    trace_model: &'c TraceModel<'c>,
    with_order: bool,
    a: &'c Class,
    b: &'c [EventId],
) -> impl Iterator<Item = Batch> + 'c {
    a.members(trace_model).flat_map(move |m| {
        let i = b.partition_point(|&n| n < m.0);
        let open = if with_order { not_ordered(trace_model, m, b) } else { 0..b.len() };
        let near = i.saturating_sub(1)..(i + 1).min(b.len());
        let near_open = near.clone().filter(|j| open.contains(j)).count();
        let ordered = (b.len() - near.len()) - (open.len() - near_open);
        // Races that are ordered were counted before there were groups.
        let uncounted = ordered > 0 && kind != FindingKind::Race;
        let ordered = uncounted.then_some(Batch::Dropped(Dropped::Must, ordered as u64));
        let far = open.filter(move |j| !near.contains(j));
        ordered.into_iter().chain(far.map(move |j| Batch::One(candidate(kind, m, (b[j], None)))))
    })
}

/// Whether must-happen-before leaves a race open. Of other kinds every pair is.
fn is_open(
    kind: FindingKind,
    order: Option<&TraceModel<'_>>,
    (a, _): Member,
    (b, _): Member,
) -> bool {
    let Some(TraceModel { trace, chains, must_happen_before, .. }) = order else { return true };
    kind != FindingKind::Race
        || !must_happen_before.run_before_next(chains, trace, a, b)
            && !must_happen_before.run_before_next(chains, trace, b, a)
}

/// The accesses of a class that must-happen-before does not order with a member of another one.
/// They are neighbours, because the events of a class are of one thread.
fn not_ordered(trace_model: &TraceModel<'_>, m: Member, class: &[EventId]) -> Range<usize> {
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    let Some(&first) = class.first() else { return 0..0 };
    let thread = trace.thread(first);
    let column = chains.column(thread);
    let offset = chains.column_position(trace, first) - chains.position(first);
    let positions = match m.1 {
        None if column == chains.column(trace.thread(m.0)) => 0..0,
        None => must_happen_before.next_together(chains, trace, m.0, column),
        Some(c2) => {
            let to = must_happen_before.first_after(chains, trace, c2, thread);
            let from = must_happen_before.needs(chains, trace, m.0, thread);
            from + offset..to.map_or(u32::MAX, |to| to + offset)
        }
    };
    let start = class.partition_point(|&n| chains.position(n) + offset < positions.start);
    let end = class.partition_point(|&n| chains.position(n) + offset < positions.end);
    start..end.max(start)
}
