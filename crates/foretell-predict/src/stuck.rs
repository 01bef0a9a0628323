//! Stuck states: every thread waits for ever or has ended, and none is cut.
//!
//! A state is known by the next events of its threads. All other threads have run to their end, or
//! were never started, so these events say what has run; locks held, counts and joins follow. Only
//! the views of reads, the choice of notified waiters and the generations of barriers depend on the
//! order of what has run.
//!
//! [`Stops`] are the events at which a thread may be stuck, by cheap necessary conditions that hold
//! for all stuck states. From a root (an event that waits for a notification, a semaphore or a
//! barrier, and is next) they bound what has run: every thread that has started goes on at least to
//! its next stop, and past it where must-happen-before and counts show that it cannot wait there
//! for ever (sums over several semaphores: `permit_sums`; barriers where the same threads meet over
//! and over: `meetings`). If that runs the root, or shows that it cannot wait either, there is no
//! hang with this root.

mod meetings;
mod permit_sums;

use foretell_model::{Frontier, TraceModel};
use foretell_trace::{BarrierId, CondId, EventId, EventKind, LockId, Op, SemId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use self::meetings::Meetings;
use self::permit_sums::PermitSums;

/// Stops that the search for a bound passes for one root.
const MOST_STEPS: usize = 2_000;

/// Whether an operation waits for a notification, a semaphore or a barrier.
pub(crate) fn is_root(op: Op) -> bool {
    matches!(op, Op::Woken | Op::Down | Op::Leave)
}

/// The next events of all threads that have started and not run to their end, ascending.
pub(crate) fn next_events(trace_model: &TraceModel<'_>, schedule: &[EventId]) -> Vec<EventId> {
    let mut counts = vec![0; trace_model.chains.thread_count()];
    for &e in schedule {
        counts[trace_model.trace.thread(e).index()] += 1;
    }
    let threads = (0..counts.len()).map(ThreadId::from_index);
    let started = threads.filter(|&t| has_started(trace_model, &counts, t));
    let next = |t: ThreadId| trace_model.chains.events(t).get(counts[t.index()] as usize).copied();
    let mut events: Vec<EventId> = started.filter_map(next).collect();
    events.sort_unstable();
    events
}

/// The schedule with the last party of each meeting at a barrier leaving at once: it does not wait,
/// so a program cannot be stopped between its arrival and its `leave`.
pub(crate) fn leaving_at_once(trace_model: &TraceModel<'_>, schedule: &[EventId]) -> Vec<EventId> {
    let TraceModel { trace, chains, .. } = trace_model;
    let mut arrived: FxHashMap<BarrierId, u32> = FxHashMap::default();
    let mut moved: FxHashSet<EventId> = FxHashSet::default();
    let ran: FxHashSet<EventId> = schedule.iter().copied().collect();
    let mut reordered = Vec::with_capacity(schedule.len());
    for &e in schedule {
        if !moved.contains(&e) {
            reordered.push(e);
        }
        let EventKind::Arrive { barrier } = trace.event(e).kind else { continue };
        let count = arrived.entry(barrier).or_default();
        *count += 1;
        let leave = chains.next(trace, e).filter(|next| trace.op(*next) == Op::Leave);
        let is_full = count.is_multiple_of(trace.parties(barrier).unwrap_or(1).max(1));
        if let Some(leave) = leave.filter(|leave| is_full && ran.contains(leave)) {
            moved.insert(leave);
            reordered.push(leave);
        }
    }
    reordered
}

/// Whether the fork of a thread is among the first `counts` events of each thread, or not in the
/// trace.
pub(crate) fn has_started(trace_model: &TraceModel<'_>, counts: &[u32], t: ThreadId) -> bool {
    let TraceModel { trace, chains, .. } = trace_model;
    chains.fork(t).is_none_or(|f| chains.position(f) < counts[trace.thread(f).index()])
}

/// Events of one object, by thread: their positions, ascending.
type ByThread = Vec<(ThreadId, Vec<u32>)>;

/// A thread that may be stuck while it holds a lock.
#[derive(Clone, Copy, Debug)]
struct Holder {
    thread: ThreadId,
    shared: bool,
    /// Position of its last stop inside a section of the lock.
    last: u32,
}

/// The events at which threads may be stuck.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    /// By thread: positions, ascending.
    by_thread: Vec<Vec<u32>>,
    /// By lock.
    holders: Vec<Vec<Holder>>,
    posts: Vec<ByThread>,
    downs: Vec<ByThread>,
    arrivals: Vec<ByThread>,
    notifies: Vec<ByThread>,
    notify_alls: Vec<ByThread>,
    /// By condition: the positions where waits end, `u32::MAX` for one that does not.
    exits: Vec<ByThread>,
    sums: PermitSums,
}

impl Stops {
    /// Finds the stops of a trace.
    pub(crate) fn new(trace_model: &TraceModel<'_>) -> Self {
        let TraceModel { trace, chains, waits, counters, .. } = trace_model;
        let list = |events: &[EventId]| {
            by_thread(events.iter().map(|&e| (trace.thread(e), chains.position(e))))
        };
        let conditions = || (0..trace.condition_count() as u32).map(CondId);
        let semaphores = || (0..trace.semaphore_count() as u32).map(SemId);
        let barriers = (0..trace.barrier_count() as u32).map(BarrierId);
        let exits = |c| {
            let waits = waits.of_cond(c).iter().map(|&w| waits.get(w));
            let exit = |e: Option<EventId>| e.map_or(u32::MAX, |e| chains.position(e));
            by_thread(waits.map(|w| (trace.thread(w.enter), exit(w.exit))))
        };
        let threads = (0..chains.thread_count()).map(ThreadId::from_index);
        let mut stops = Self {
            by_thread: threads.map(|t| may_wait(trace_model, t)).collect(),
            holders: Vec::new(),
            posts: semaphores().map(|s| list(counters.posts(s))).collect(),
            downs: semaphores().map(|s| list(counters.downs(s))).collect(),
            arrivals: barriers.map(|b| list(counters.arrivals(b))).collect(),
            notifies: conditions().map(|c| list(waits.notifies(c))).collect(),
            notify_alls: conditions().map(|c| list(waits.notify_alls(c))).collect(),
            exits: conditions().map(exits).collect(),
            sums: PermitSums::default(),
        };
        let meetings = Meetings::new(trace_model);
        while stops.prune(trace_model, &meetings) {}
        stops.sums = PermitSums::new(trace_model, &stops.by_thread);
        stops
    }

    /// Drops acquires of locks that no other thread can hold for ever, joins of threads that cannot
    /// be stuck, and leaves of meetings that nobody misses; whether there were any.
    fn prune(&mut self, trace_model: &TraceModel<'_>, meetings: &Meetings) -> bool {
        let TraceModel { trace, chains, .. } = trace_model;
        self.holders = self.find_holders(trace_model);
        let left = meetings.left(trace_model, &self.by_thread);
        let mut dropped = false;
        for t in (0..self.by_thread.len()).map(ThreadId::from_index) {
            let events = chains.events(t);
            let mut list = std::mem::take(&mut self.by_thread[t.index()]);
            let before = list.len();
            list.retain(|&position| {
                foretell_limit::check();
                match trace.event(events[position as usize]).kind {
                    EventKind::Acquire { lock } => self.may_be_held(lock, t, false, None),
                    EventKind::AcquireShared { lock } => self.may_be_held(lock, t, true, None),
                    EventKind::Join { thread } => {
                        let forked_here = chains.fork(thread).is_none_or(|f| trace.thread(f) == t);
                        !self.by_thread[thread.index()].is_empty() || !forked_here
                    }
                    EventKind::Leave { .. } => !left.contains(&events[position as usize]),
                    _ => true,
                }
            });
            dropped |= list.len() < before;
            self.by_thread[t.index()] = list;
        }
        dropped
    }

    /// The threads that may be stuck, or end, with each lock.
    fn find_holders(&self, trace_model: &TraceModel<'_>) -> Vec<Vec<Holder>> {
        let TraceModel { trace, chains, locks, .. } = trace_model;
        let mut holders: Vec<Vec<Holder>> = vec![Vec::new(); locks.lock_count()];
        let mut add = |lock: LockId, new: Holder| {
            let list = &mut holders[lock.index()];
            match list.iter_mut().find(|h| (h.thread, h.shared) == (new.thread, new.shared)) {
                Some(old) => old.last = old.last.max(new.last),
                None => list.push(new),
            }
        };
        for (t, list) in self.by_thread.iter().enumerate() {
            let thread = ThreadId::from_index(t);
            for &last in list {
                foretell_limit::check();
                let e = chains.events(thread)[last as usize];
                for section in locks.held_before(e).iter().map(|&s| locks.get(s)) {
                    add(section.lock, Holder { thread, shared: section.shared, last });
                }
            }
        }
        for section in locks.all().iter().filter(|s| s.exit.is_none()) {
            let (thread, shared) = (section.thread, section.shared);
            if trace.has_ended(thread) {
                let last = chains.events(thread).len() as u32;
                add(section.lock, Holder { thread, shared, last });
            }
        }
        holders
    }

    /// Whether a thread other than `t` may be stuck with a lock, so that its reader side, or all of
    /// it, cannot be had; `at_least` is what has run.
    fn may_be_held(&self, l: LockId, t: ThreadId, reader: bool, at_least: Option<&[u32]>) -> bool {
        self.holders[l.index()].iter().any(|holder| {
            holder.thread != t
                && !(reader && holder.shared)
                && at_least.is_none_or(|counts| counts[holder.thread.index()] <= holder.last)
        })
    }

    /// The stops of a thread, positions in ascending order, from `position` on.
    pub(crate) fn from(&self, t: ThreadId, position: u32) -> &[u32] {
        let list = &self.by_thread[t.index()];
        &list[list.partition_point(|&p| p < position)..]
    }

    /// Returns the events that have run in every stuck state in which `root` is next; `None` if
    /// there is no such state.
    pub(crate) fn frontier(&self, trace_model: &TraceModel<'_>, root: EventId) -> Option<Frontier> {
        let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
        let own = trace.thread(root);
        self.by_thread[own.index()].binary_search(&chains.position(root)).ok()?;
        let mut counts = trace_model.frontier_of_next(&[root])?;
        let mut steps = 0;
        loop {
            let mut grew = false;
            for t in (0..counts.len()).map(ThreadId::from_index).filter(|&t| t != own) {
                while has_started(trace_model, &counts, t) {
                    foretell_limit::check();
                    let length = chains.events(t).len() as u32;
                    let next = self.from(t, counts[t.index()]).first().copied();
                    let mut to = next.unwrap_or(length);
                    if let Some(stop) = next {
                        let e = chains.events(t)[stop as usize];
                        to += u32::from(!self.may_block(trace_model, e, root, &counts));
                    }
                    if to > counts[t.index()] {
                        must_happen_before.include(&mut counts, t, to);
                        grew = true;
                        steps += 1;
                    }
                    if to == length && !trace.has_ended(t) {
                        return None;
                    }
                    if Some(to) == next || to == length || steps > MOST_STEPS {
                        break;
                    }
                }
            }
            let passed = counts[own.index()] > chains.position(root);
            if passed || !self.may_block(trace_model, root, root, &counts) {
                return None;
            }
            if !grew || steps > MOST_STEPS {
                let may_be_empty = self.sums.may_be_empty(trace_model, root, &counts);
                return may_be_empty.then_some(counts);
            }
        }
    }

    /// Whether `e` may be blocked in a stuck state in which it and `root` are next and at least
    /// `counts` events of each thread have run.
    fn may_block(
        &self,
        trace_model: &TraceModel<'_>,
        e: EventId,
        root: EventId,
        counts: &[u32],
    ) -> bool {
        let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
        let (t, position) = (trace.thread(e), chains.position(e));
        let length = |u: ThreadId| chains.events(u).len() as u32;
        // The first event of a thread that has not run as long as this one has not.
        let after = |e: EventId, u: ThreadId| {
            must_happen_before.first_after(chains, trace, e, u).unwrap_or(length(u))
        };
        match trace.event(e).kind {
            EventKind::Acquire { lock } => self.may_be_held(lock, t, false, Some(counts)),
            EventKind::AcquireShared { lock } => self.may_be_held(lock, t, true, Some(counts)),
            EventKind::Join { thread: u } => match length(u) {
                0 => !has_started(trace_model, counts, u),
                length => counts[u.index()] < length,
            },
            EventKind::Down { sem } => {
                let posts = count(&self.posts[sem.index()], |u| counts[u.index()]);
                let downs = count(&self.downs[sem.index()], |u| match u == t {
                    true => position,
                    false => after(root, u),
                });
                trace.initial_count(sem).saturating_add(posts) <= downs
            }
            EventKind::Leave { barrier } => {
                let Some(arrival) = trace_model.counters.arrival_of(e) else { return true };
                let parties = u64::from(trace.parties(barrier).unwrap_or(1).max(1));
                let arrivals = &self.arrivals[barrier.index()];
                let arrived = count(arrivals, |u| match u == t {
                    true => position,
                    false => counts[u.index()],
                });
                let earlier = count(arrivals, |u| after(arrival, u));
                arrived < (earlier / parties + 1) * parties
            }
            EventKind::Woken { lock, .. } => {
                self.may_be_held(lock, t, false, Some(counts))
                    || self.may_miss(trace_model, e, counts)
            }
            _ => false,
        }
    }

    /// Whether a waiter may be left out by every notification.
    ///
    /// A notify that comes after its wait began must pick another waiter, one that had not left
    /// before, and each of those only once.
    fn may_miss(&self, trace_model: &TraceModel<'_>, woken: EventId, counts: &[u32]) -> bool {
        let TraceModel { trace, chains, must_happen_before, waits, .. } = trace_model;
        let Some(wait) = waits.at(woken).map(|w| waits.get(w)) else { return true };
        let (t, enter, cond) = (trace.thread(woken), wait.enter, wait.cond.index());
        let after = |list: &ByThread| {
            let ran = |(u, list): &(ThreadId, Vec<u32>)| {
                let from = must_happen_before.first_after(chains, trace, enter, *u);
                let from = list.partition_point(|&p| p < from.unwrap_or(u32::MAX));
                let to = list.partition_point(|&p| p < counts[u.index()]);
                to.saturating_sub(from)
            };
            list.iter().filter(|(u, _)| *u != t).map(ran).sum::<usize>()
        };
        if after(&self.notify_alls[cond]) > 0 {
            return false;
        }
        let others = self.exits[cond].iter().filter(|(u, _)| *u != t).map(|(u, exits)| {
            let left = must_happen_before.needs(chains, trace, enter, *u);
            exits.len() - exits.partition_point(|&exit| exit < left)
        });
        after(&self.notifies[cond]) <= others.sum()
    }
}

/// The positions of events that a thread may be stuck at, as far as their operations tell.
fn may_wait(trace_model: &TraceModel<'_>, t: ThreadId) -> Vec<u32> {
    let TraceModel { trace, chains, locks, .. } = trace_model;
    let waits = |e: EventId| match trace.op(e) {
        // One that starts no section is re-entrant.
        Op::Acquire | Op::AcquireShared => locks.entered_at(e).is_some(),
        op => op == Op::Join || is_root(op),
    };
    let events = chains.events(t).iter().enumerate();
    events
        .filter(|&(_, &e)| {
            foretell_limit::check();
            waits(e)
        })
        .map(|(position, _)| position as u32)
        .collect()
}

fn by_thread(events: impl Iterator<Item = (ThreadId, u32)>) -> ByThread {
    let mut lists = ByThread::new();
    let mut index: FxHashMap<ThreadId, usize> = FxHashMap::default();
    for (t, position) in events {
        foretell_limit::check();
        let i = *index.entry(t).or_insert_with(|| {
            lists.push((t, Vec::new()));
            lists.len() - 1
        });
        lists[i].1.push(position);
    }
    lists
}

/// Number of events before a bound in each thread.
fn count(lists: &ByThread, bound: impl Fn(ThreadId) -> u32) -> u64 {
    let below = |(t, list): &(ThreadId, Vec<u32>)| {
        let bound = bound(*t);
        list.partition_point(|&p| p < bound) as u64
    };
    lists.iter().map(below).sum()
}
