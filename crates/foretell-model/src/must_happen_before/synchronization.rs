//! Happens-before (semantics section 3b): of the recorded run, and of every interleaving.
//!
//! [`HappensBefore::observed`] is hb(ρ), computed with vector clocks as in FastTrack (Flanagan and
//! Freund, PLDI 2009) and with release sequences and fences as in C++20. It departs from FastTrack
//! in that clocks count by column of threads and are kept only where they change, so that any two
//! events can be compared afterwards.
//!
//! [`HappensBefore::always`] is a lower bound of hb(τ) for every feasible τ that holds both events:
//!
//! - a read synchronises with the only write that preserves it, from the next event of its thread
//!   on (a read at the end of its thread may see anything);
//! - of a lock, semaphore or condition, the releases that must-happen-before puts before an
//!   acquire;
//! - a barrier that the same threads pass again and again has the same generations in every τ.
//!
//! Locks that the trace declares order-only have no part in it.
//!
//! A clock is joined by its *heads*: the events whose clocks it holds. A store that releases is its
//! own head, a relaxed store has the last release fence before it, and an update adds its own to
//! those of the store that it continues.

use std::ops::Range;

use foretell_trace::{BarrierId, EventId, EventKind, LockId, Model, Op, ThreadId, Trace, VarId};
use rustc_hash::FxHashMap;

use super::{MustHappenBefore, Row};
use crate::{Chains, TraceModel};

/// A happens-before order between events that have both run.
///
/// That a plain read sees a plain write orders the read's thread from its next event on: the two
/// themselves are a race if nothing else orders them.
#[derive(Debug)]
pub struct HappensBefore {
    order: MustHappenBefore,
    /// Whether reads see the writes of the recorded run.
    is_observed: bool,
}

impl HappensBefore {
    /// Returns happens-before of the recorded run.
    pub fn observed(trace_model: &TraceModel<'_>) -> Self {
        Pass::new(trace_model, false).run()
    }

    /// Returns a part of happens-before that every feasible interleaving has.
    pub fn always(trace_model: &TraceModel<'_>) -> Self {
        Pass::new(trace_model, true).run()
    }

    /// Whether `a` happens before `b`, other than by being the plain write that `b` sees.
    pub fn ordered(&self, trace_model: &TraceModel<'_>, a: EventId, b: EventId) -> bool {
        let TraceModel { trace, chains, reads_from, .. } = trace_model;
        let before = |a, b| self.order.ordered_before(chains, trace, a, b);
        let seen = (trace.op(b) == Op::Read).then(|| reads_from.observed(b)).flatten();
        let seen = seen.filter(|&w| w != a && !trace.op(w).is_atomic() && self.is_observed);
        before(a, b) || seen.is_some_and(|w| before(a, w))
    }

    /// Returns the places in another column of the events that are not ordered with `e`, and
    /// perhaps of some that are, because a plain read sees a write between the two.
    pub fn unordered_with(
        &self,
        chains: &Chains,
        trace: &Trace,
        e: EventId,
        column: usize,
    ) -> Range<u32> {
        let order = &self.order;
        let (thread, position) = (trace.thread(e), chains.position(e));
        let from = order.row(thread, 2 * position + 1)[column];
        let own = order.columns.of(thread);
        let place = order.column_position(chains, trace, e);
        // Clocks only grow along the threads of a column.
        let threads = order.columns.threads(column);
        let last = |t: &ThreadId| {
            let rows = &order.timelines[t.index()].rows;
            rows[rows.len() - order.columns.count() + own]
        };
        let until = threads.partition_point(|t| last(t) <= place);
        let to = threads.get(until).and_then(|&t| {
            let time = order.first_time_after(chains, trace, e, t)?;
            Some(order.columns.position(t, time / 2))
        });
        from..to.unwrap_or(u32::MAX).max(from)
    }
}

/// Whether happens-before can leave open what feasibility orders: an atomic access is weaker than
/// its kind allows, plain and atomic accesses of one variable meet, a barrier is passed by threads
/// that change, or a lock is order-only. Without these every race is one that leaves both accesses
/// next.
pub(crate) fn may_leave_open(trace_model: &TraceModel<'_>) -> bool {
    let trace = trace_model.trace;
    let is_weak = |e: EventId| {
        let (op, order) = (trace.op(e), trace.order(e));
        op.is_atomic() && (op.reads() && !order.acquires() || op.writes() && !order.releases())
    };
    let is_mixed = |x: VarId| {
        let accesses = trace_model.reads_from.accesses(x);
        trace_model.reads_from.accesses_by_thread(x).len() > 1
            && accesses.iter().any(|&e| trace.op(e).is_atomic())
            && accesses.iter().any(|&e| !trace.op(e).is_atomic())
    };
    let barriers = (0..trace.barrier_count()).map(BarrierId::from_index);
    let mut locks = (0..trace.lock_count()).map(LockId::from_index);
    locks.any(|l| trace.is_order_only(l))
        || trace.ids().any(is_weak)
        || (0..trace.variable_count()).map(VarId::from_index).any(is_mixed)
        || barriers.into_iter().any(|b| !has_fixed_generations(trace_model, b))
}

/// Whether as many threads as the barrier has parties pass it, each leaving before it arrives
/// again: then the k-th arrival of each thread is in generation k of every interleaving.
fn has_fixed_generations(trace_model: &TraceModel<'_>, b: BarrierId) -> bool {
    let trace = trace_model.trace;
    let mut last: FxHashMap<ThreadId, Op> = FxHashMap::default();
    for e in trace.ids() {
        let (op, arrives) = match trace.event(e).kind {
            EventKind::Arrive { barrier } if barrier == b => (Op::Arrive, true),
            EventKind::Leave { barrier } if barrier == b => (Op::Leave, false),
            _ => continue,
        };
        let before = last.insert(trace.thread(e), op);
        if arrives == (before == Some(Op::Arrive)) {
            return false;
        }
    }
    trace.parties(b).is_some_and(|parties| parties as usize == last.len())
}

/// Releases of one lock in the recorded run.
#[derive(Default)]
struct LockReleases {
    writer: Option<EventId>,
    /// The last release of each reader since a writer took the lock.
    readers: Vec<EventId>,
}

/// Events of one kind on one object, by column, ascending.
type ByColumn = Vec<(usize, Vec<EventId>)>;

#[derive(Default)]
struct ThreadClocks {
    /// Heads that reads without acquire have seen, for the next acquire fence.
    seen: Vec<EventId>,
    release_fence: Option<EventId>,
    /// Depth of the hold that the current wait gave up.
    waiting: u32,
}

struct Pass<'a, 't> {
    trace_model: &'a TraceModel<'t>,
    /// Only what every interleaving has.
    always: bool,
    order: MustHappenBefore,
    threads: Vec<ThreadClocks>,
    locks: Vec<LockReleases>,
    /// Posts by semaphore, notifications by condition, arrivals by barrier.
    posts: Vec<ByColumn>,
    notifies: Vec<ByColumn>,
    /// By barrier, the arrivals of each thread.
    arrivals: Vec<FxHashMap<ThreadId, Vec<EventId>>>,
    fixed: Vec<bool>,
    /// Heads of stores that are not just themselves.
    heads: FxHashMap<EventId, Vec<EventId>>,
    /// By lock and thread: acquire that started the hold, and depth. Only where tries fail.
    holds: FxHashMap<(LockId, ThreadId, bool), (EventId, u32)>,
    has_failed_tries: bool,
}

impl<'a, 't> Pass<'a, 't> {
    fn new(trace_model: &'a TraceModel<'t>, always: bool) -> Self {
        let trace = trace_model.trace;
        let barriers = (0..trace.barrier_count()).map(BarrierId::from_index);
        Self {
            trace_model,
            always,
            order: MustHappenBefore::empty(trace_model.chains.columns()),
            threads: (0..trace.thread_count()).map(|_| ThreadClocks::default()).collect(),
            locks: (0..trace.lock_count()).map(|_| LockReleases::default()).collect(),
            posts: vec![Vec::new(); trace.semaphore_count()],
            notifies: vec![Vec::new(); trace.condition_count()],
            arrivals: vec![FxHashMap::default(); trace.barrier_count()],
            fixed: barriers.map(|b| has_fixed_generations(trace_model, b)).collect(),
            heads: FxHashMap::default(),
            holds: FxHashMap::default(),
            has_failed_tries: !always && trace.ids().any(|e| trace.op(e).is_failed_try()),
        }
    }

    fn run(mut self) -> HappensBefore {
        for e in self.trace_model.trace.ids() {
            foretell_limit::check();
            self.step(e);
        }
        HappensBefore { order: self.order, is_observed: !self.always }
    }

    fn step(&mut self, e: EventId) {
        let trace = self.trace_model.trace;
        let op = trace.op(e);
        if op.is_access() {
            if op.reads() {
                self.read(e, op);
            }
            if op.writes() && op.is_atomic() {
                self.store(e, op);
            }
            return;
        }
        let thread = trace.thread(e);
        match trace.event(e).kind {
            EventKind::Fork { thread: child } if child != thread => {
                let count = self.trace_model.chains.position(e) + 1;
                let row = self.order.whole_row(thread, 2 * count, count);
                self.order.timelines[child.index()].rows[..row.len()].copy_from_slice(&row);
            }
            EventKind::Join { thread: child } if child != thread => {
                let count = self.trace_model.chains.events(child).len() as u32;
                let mut row = self.row(e);
                if self.order.include_row(&mut row, child, count) {
                    self.record(e, &row);
                }
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.acquire(e, lock, false, 1);
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.acquire(e, lock, true, 1);
            }
            EventKind::TimedOut { lock, .. } => {
                let depth = self.threads[thread.index()].waiting.max(1);
                self.acquire(e, lock, false, depth);
            }
            EventKind::Woken { cond, lock } => {
                let notifies = std::mem::take(&mut self.notifies[cond.index()]);
                self.join_counted(e, &notifies);
                self.notifies[cond.index()] = notifies;
                let depth = self.threads[thread.index()].waiting.max(1);
                self.acquire(e, lock, false, depth);
            }
            EventKind::Release { lock } => self.release(e, lock, false),
            EventKind::ReleaseShared { lock } => self.release(e, lock, true),
            EventKind::Wait { lock, .. } => {
                let hold = self.holds.remove(&(lock, thread, false));
                self.threads[thread.index()].waiting = hold.map_or(1, |(_, depth)| depth);
                self.locks[lock.index()].writer = Some(e);
            }
            EventKind::TryFailed { lock } => self.try_failed(e, lock, true),
            EventKind::TryFailedShared { lock } => self.try_failed(e, lock, false),
            EventKind::Post { sem } => {
                let column = self.trace_model.chains.column(thread);
                push(&mut self.posts[sem.index()], column, e);
            }
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                let column = self.trace_model.chains.column(thread);
                push(&mut self.notifies[cond.index()], column, e);
            }
            EventKind::Down { sem } => {
                let posts = std::mem::take(&mut self.posts[sem.index()]);
                self.join_counted(e, &posts);
                self.posts[sem.index()] = posts;
            }
            EventKind::Arrive { barrier } => {
                self.arrivals[barrier.index()].entry(thread).or_default().push(e);
            }
            EventKind::Leave { barrier } => self.leave(e, barrier),
            EventKind::Fence => self.fence(e),
            _ => {}
        }
    }

    /// The clock of the event, without what it joins itself.
    fn row(&self, e: EventId) -> Row {
        let chains = &self.trace_model.chains;
        let position = chains.position(e);
        self.order.whole_row(self.trace_model.trace.thread(e), 2 * position + 1, position)
    }

    fn record(&mut self, e: EventId, row: &[u32]) {
        let time = 2 * self.trace_model.chains.position(e) + 1;
        self.record_at(self.trace_model.trace.thread(e), time, row);
    }

    fn record_at(&mut self, thread: ThreadId, time: u32, row: &[u32]) {
        let timeline = &mut self.order.timelines[thread.index()];
        if timeline.times.last() == Some(&time) {
            let start = timeline.rows.len() - row.len();
            timeline.rows[start..].copy_from_slice(row);
        } else {
            timeline.times.push(time);
            timeline.rows.extend_from_slice(row);
        }
    }

    /// Joins a clock with that of an event.
    fn join(&self, row: &mut Row, head: EventId) -> bool {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let thread = trace.thread(head);
        if row[chains.column(thread)] > chains.column_position(trace, head) {
            return false;
        }
        if trace.op(head).reads() {
            // An update that is read has been read with what it joined.
            return self.order.include_row(row, thread, chains.position(head) + 1);
        }
        self.order.include_run_row(row, thread, chains.position(head))
    }

    fn join_all(&mut self, e: EventId, heads: impl IntoIterator<Item = EventId>) {
        let mut row = self.row(e);
        let mut grew = false;
        for head in heads {
            grew |= self.join(&mut row, head);
        }
        if grew {
            self.record(e, &row);
        }
    }

    /// How many events of a column come before `e` in every interleaving.
    fn needed(&self, e: EventId, column: usize) -> u32 {
        let TraceModel { trace, chains, must_happen_before, .. } = self.trace_model;
        must_happen_before.row(trace.thread(e), 2 * chains.position(e) + 1)[column]
    }

    /// Joins the last event of each other column.
    fn join_counted(&mut self, e: EventId, events: &ByColumn) {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let own = chains.column(trace.thread(e));
        let mut last = Vec::new();
        for (column, list) in events.iter().filter(|(column, _)| *column != own) {
            let count = if self.always {
                let needed = self.needed(e, *column);
                list.partition_point(|&f| chains.column_position(trace, f) < needed)
            } else {
                list.len()
            };
            last.extend(list[..count].last());
        }
        self.join_all(e, last);
    }

    fn acquire(&mut self, e: EventId, lock: LockId, shared: bool, depth: u32) {
        let TraceModel { trace, .. } = self.trace_model;
        if trace.is_order_only(lock) {
            return;
        }
        if self.always {
            let exits = self.needed_exits(e, lock, shared);
            return self.join_all(e, exits);
        }
        let releases = &mut self.locks[lock.index()];
        let mut heads: Vec<EventId> = releases.writer.into_iter().collect();
        if !shared {
            heads.append(&mut releases.readers);
        }
        self.join_all(e, heads);
        if self.has_failed_tries {
            let key = (lock, trace.thread(e), shared);
            self.holds.entry(key).or_insert((e, 0)).1 += depth;
        }
    }

    /// The ends of the sections that an acquire excludes and that always come before it.
    fn needed_exits(&self, e: EventId, lock: LockId, shared: bool) -> Vec<EventId> {
        let TraceModel { trace, chains, locks, .. } = self.trace_model;
        let own = chains.column(trace.thread(e));
        let mut exits = Vec::new();
        for (column, list) in locks.of_lock_by_column(lock).iter().filter(|(c, _)| *c != own) {
            let needed = self.needed(e, *column);
            let place = |f: EventId| chains.column_position(trace, f);
            let left = list
                .partition_point(|&s| locks.get(s).exit.is_some_and(|exit| place(exit) < needed));
            let sections = list[..left].iter().rev().map(|&s| locks.get(s));
            let last = sections.into_iter().find(|s| !(s.shared && shared));
            exits.extend(last.and_then(|s| s.exit));
        }
        exits
    }

    fn release(&mut self, e: EventId, lock: LockId, shared: bool) {
        let releases = &mut self.locks[lock.index()];
        if shared {
            let thread = self.trace_model.trace.thread(e);
            let trace = self.trace_model.trace;
            releases.readers.retain(|&f| trace.thread(f) != thread);
            releases.readers.push(e);
        } else {
            releases.writer = Some(e);
        }
        let key = (lock, self.trace_model.trace.thread(e), shared);
        if let Some((_, depth)) = self.holds.get_mut(&key) {
            *depth -= 1;
            if *depth == 0 {
                self.holds.remove(&key);
            }
        }
    }

    fn try_failed(&mut self, e: EventId, lock: LockId, readers_count: bool) {
        if self.trace_model.trace.is_order_only(lock) {
            return;
        }
        let me = self.trace_model.trace.thread(e);
        let makes_fail = |&(l, t, shared): &(LockId, ThreadId, bool)| {
            l == lock && t != me && (!shared || readers_count)
        };
        let holds = self.holds.iter().filter(|(key, _)| makes_fail(key));
        let acquires: Vec<EventId> = holds.map(|(_, &(acquire, _))| acquire).collect();
        self.join_all(e, acquires);
    }

    fn leave(&mut self, e: EventId, barrier: BarrierId) {
        let trace = self.trace_model.trace;
        let arrivals = &self.arrivals[barrier.index()];
        let own = arrivals.get(&trace.thread(e)).map_or(&[][..], Vec::as_slice);
        let heads: Vec<EventId> = if self.fixed[barrier.index()] {
            let generation = own.len().saturating_sub(1);
            arrivals.values().filter_map(|list| list.get(generation)).copied().collect()
        } else if self.always {
            Vec::new()
        } else {
            let all = self.trace_model.counters.arrivals(barrier);
            let parties = trace.parties(barrier).unwrap_or(1).max(1) as usize;
            let place = own.last().map_or(0, |a| all.partition_point(|x| x < a));
            let first = place / parties * parties;
            all[first..(first + parties).min(all.len())].to_vec()
        };
        self.join_all(e, heads);
    }

    fn fence(&mut self, e: EventId) {
        let trace = self.trace_model.trace;
        let (order, thread) = (trace.order(e), trace.thread(e));
        if order.acquires() {
            let seen = std::mem::take(&mut self.threads[thread.index()].seen);
            self.join_all(e, seen);
        }
        if order.releases() {
            self.threads[thread.index()].release_fence = Some(e);
        }
    }

    /// The write whose clock a read joins: in every interleaving, the only one that preserves it.
    fn writer(&self, read: EventId) -> Option<EventId> {
        let TraceModel { trace, reads_from, model, .. } = self.trace_model;
        let observed = reads_from.observed(read)?;
        if !self.always || self.trace_model.uses_hidden_state(read) {
            return Some(observed);
        }
        let value = match model {
            Model::View => None,
            Model::Value => trace.read_value(read),
            Model::Symbolic => return None,
        };
        let Some(value) = value else { return Some(observed) };
        let x = trace.variable(read)?;
        let is_only = !reads_from.preserves(trace, read, None)
            && reads_from.writes_of_value(trace, x, value).iter().all(|&w| w == observed);
        is_only.then_some(observed)
    }

    fn read(&mut self, e: EventId, op: Op) {
        let trace = self.trace_model.trace;
        if self.always && self.trace_model.uses_hidden_state(e) {
            // The uses of hidden state are a chain.
            let before = self.trace_model.reads_from.observed(e);
            self.join_all(e, before.filter(|&w| trace.op(w) == Op::AtomicUpdate));
            return;
        }
        let Some(w) = self.writer(e) else { return };
        let chain = op.writes() && self.trace_model.uses_hidden_state(e);
        if trace.op(w).is_atomic() != op.is_atomic() {
            return;
        }
        let heads = match self.heads.get(&w) {
            _ if chain => vec![w],
            Some(heads) => heads.clone(),
            None => vec![w],
        };
        if op.is_atomic() && !chain && !trace.order(e).acquires() {
            let seen = &mut self.threads[trace.thread(e).index()].seen;
            for head in heads {
                if !seen.contains(&head) {
                    // Of one thread, the last one has the clocks of all.
                    seen.retain(|&h| trace.thread(h) != trace.thread(head) || h > head);
                    seen.push(head);
                }
            }
            return;
        }
        if !self.always && op.is_atomic() {
            return self.join_all(e, heads);
        }
        // The view of the last event of a thread may be another one, and a plain read may race
        // with the write that it sees.
        let chains = &self.trace_model.chains;
        let (thread, count) = (trace.thread(e), chains.position(e) + 1);
        let mut row = self.order.whole_row(thread, 2 * count, count);
        let mut grew = false;
        for head in heads {
            grew |= self.join(&mut row, head);
        }
        if grew {
            self.record_at(thread, 2 * count, &row);
        }
    }

    /// Notes the heads of an atomic store, where it is not its own only head.
    fn store(&mut self, e: EventId, op: Op) {
        let trace = self.trace_model.trace;
        let order = trace.order(e);
        if order.releases() && (order.acquires() || !op.reads()) {
            return;
        }
        let mut heads = Vec::new();
        if order.releases() {
            heads.push(e);
        } else {
            heads.extend(self.threads[trace.thread(e).index()].release_fence);
        }
        if op.reads()
            && let Some(w) = self.writer(e).filter(|&w| trace.op(w).is_atomic())
        {
            let continued = self.heads.get(&w).cloned().unwrap_or_else(|| vec![w]);
            for head in continued {
                let newer = |h: &EventId| trace.thread(*h) == trace.thread(head) && *h >= head;
                if !heads.iter().any(newer) {
                    heads.retain(|&h| trace.thread(h) != trace.thread(head));
                    heads.push(head);
                }
            }
        }
        self.heads.insert(e, heads);
    }
}

fn push(lists: &mut ByColumn, column: usize, e: EventId) {
    match lists.iter_mut().find(|(c, _)| *c == column) {
        Some((_, list)) => list.push(e),
        None => lists.push((column, vec![e])),
    }
}
