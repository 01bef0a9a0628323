//! Happens-before of one schedule (semantics section 3b): is an access ordered before a later one?
//!
//! One pass over the schedule follows what comes *after* the access `a`: each thread, lock,
//! semaphore, variable, … has a flag that says whether `a` happens before whatever synchronises
//! with it next. An event comes after `a` if its thread already does, or if a rule of section 3b
//! leads to it from an event that does. The rules stand in the order of the section.
//!
//! The release sequence of a store is, as in C++20, the store and the updates that directly follow
//! it; an update therefore passes on what the store before it released, and any other store starts
//! anew.
//!
//! Locks that the trace declares order-only synchronise nothing.
//!
//! That a plain read sees a plain write orders everything else after the write, but not the two
//! themselves: if nothing else orders them, they are the race.

use std::collections::BTreeMap;

use foretell_trace::{BarrierId, EventId, EventKind, LockId, ThreadId, Trace, VarId};

/// Whether `a` happens before `b`, a later event of the feasible `schedule`.
pub(crate) fn happens_before(trace: &Trace, schedule: &[EventId], a: EventId, b: EventId) -> bool {
    let mut pass = Pass::new(trace, a, b);
    for &e in schedule {
        foretell_limit::check();
        let after = pass.step(e);
        if e == b {
            return after;
        }
    }
    false
}

/// Last write of a variable, as far as happens-before looks at it.
#[derive(Clone, Copy, Default)]
struct LastWrite {
    atomic: bool,
    /// Plain write: it comes after `a`, or is `a`.
    after: bool,
    /// It is `a`.
    is_a: bool,
    /// Atomic write: the head of a release sequence that it belongs to comes after `a`.
    released: bool,
}

impl LastWrite {
    fn atomic(released: bool) -> Self {
        LastWrite { atomic: true, after: false, is_a: false, released }
    }
}

/// One thread's hold of a lock, in one mode.
#[derive(Clone, Copy, Default)]
struct Hold {
    depth: u32,
    /// The acquire that started it comes after `a`.
    after: bool,
}

/// Flags of a lock: whether a release of the writer side, and of the reader side, comes after `a`.
#[derive(Clone, Copy, Default)]
struct Released {
    writer: bool,
    reader: bool,
}

#[derive(Clone, Copy, Default)]
struct ThreadFlags {
    /// `a`, or an event that it happens before, has run in this thread.
    after: bool,
    /// The last release fence comes after `a`.
    release_fence: bool,
    /// A read has seen what a store released after `a`, and waits for an acquire fence.
    seen: bool,
    /// The depth of the hold that the current wait gave up.
    waiting: u32,
}

struct Pass<'t> {
    trace: &'t Trace,
    a: EventId,
    b: EventId,
    threads: Vec<ThreadFlags>,
    released: Vec<Released>,
    /// By lock, thread, and whether it is the reader side.
    holds: BTreeMap<(LockId, ThreadId, bool), Hold>,
    posted: Vec<bool>,
    notified: Vec<bool>,
    /// By barrier: how many have arrived.
    arrivals: Vec<u64>,
    /// The generation of the last arrival of a thread.
    generation: BTreeMap<(ThreadId, BarrierId), u64>,
    /// The generations in which an arrival comes after `a`.
    arrived: BTreeMap<(BarrierId, u64), bool>,
    writes: Vec<LastWrite>,
    /// By opaque variable: the last update comes after `a`.
    updated: BTreeMap<VarId, bool>,
}

impl<'t> Pass<'t> {
    fn new(trace: &'t Trace, a: EventId, b: EventId) -> Self {
        Pass {
            trace,
            a,
            b,
            threads: vec![ThreadFlags::default(); trace.thread_count()],
            released: vec![Released::default(); trace.lock_count()],
            holds: BTreeMap::new(),
            posted: vec![false; trace.semaphore_count()],
            notified: vec![false; trace.condition_count()],
            arrivals: vec![0; trace.barrier_count()],
            generation: BTreeMap::new(),
            arrived: BTreeMap::new(),
            writes: vec![LastWrite::default(); trace.variable_count()],
            updated: BTreeMap::new(),
        }
    }

    /// Runs an event; says whether `a` happens before it.
    fn step(&mut self, e: EventId) -> bool {
        let t = self.trace.thread(e);
        let before = self.threads[t.index()].after;
        let after = before || self.incoming(t, e);
        // What `a` itself releases comes after it.
        self.threads[t.index()].after = after || e == self.a;
        self.outgoing(t, e);
        after
    }

    /// Whether a rule leads to `e` from an event of another thread that comes after `a`.
    fn incoming(&mut self, t: ThreadId, e: EventId) -> bool {
        match self.trace.event(e).kind {
            EventKind::Join { thread } => self.threads[thread.index()].after,
            EventKind::Acquire { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TimedOut { lock, .. } => self.acquired(lock, false),
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.acquired(lock, true)
            }
            EventKind::Woken { cond, lock } => {
                self.acquired(lock, false) || self.notified[cond.index()]
            }
            EventKind::Down { sem } => self.posted[sem.index()],
            EventKind::Leave { barrier } => {
                let generation = self.generation.get(&(t, barrier)).copied().unwrap_or(0);
                self.arrived.get(&(barrier, generation)).copied().unwrap_or(false)
            }
            EventKind::TryFailed { lock } => self.owned_after(lock, t, true),
            EventKind::TryFailedShared { lock } => self.owned_after(lock, t, false),
            EventKind::Fence => self.trace.order(e).acquires() && self.threads[t.index()].seen,
            EventKind::Read { var, atomic: false, .. } => {
                let last = self.writes[var.index()];
                !last.atomic && last.after && !(last.is_a && e == self.b)
            }
            EventKind::Read { var, atomic: true, .. } => self.load(t, e, var),
            EventKind::Update { var, .. } => {
                let chain =
                    self.trace.is_opaque(var) && self.updated.get(&var).copied().unwrap_or(false);
                self.load(t, e, var) || chain
            }
            _ => false,
        }
    }

    /// An atomic read: it synchronises now, or at the next acquire fence of its thread.
    fn load(&mut self, t: ThreadId, e: EventId, x: VarId) -> bool {
        let last = self.writes[x.index()];
        let released = last.atomic && last.released;
        self.threads[t.index()].seen |= released;
        released && self.trace.order(e).acquires()
    }

    /// Whether a release that an acquire of this side comes after comes after `a`.
    fn acquired(&self, l: LockId, shared: bool) -> bool {
        let released = self.released[l.index()];
        !self.trace.is_order_only(l) && (released.writer || released.reader && !shared)
    }

    /// Whether another thread that makes a try fail took the lock after `a`.
    fn owned_after(&self, l: LockId, t: ThreadId, readers_count: bool) -> bool {
        if self.trace.is_order_only(l) {
            return false;
        }
        self.holds.range((l, ThreadId(0), false)..).take_while(|((lock, ..), _)| *lock == l).any(
            |(&(_, owner, shared), hold)| owner != t && hold.after && (!shared || readers_count),
        )
    }

    /// Notes what later events come after, now that `e` has run.
    fn outgoing(&mut self, t: ThreadId, e: EventId) {
        let after = self.threads[t.index()].after;
        match self.trace.event(e).kind {
            EventKind::Fork { thread } => self.threads[thread.index()].after |= after,
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.hold(lock, t, false, 1);
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.hold(lock, t, true, 1);
            }
            EventKind::Woken { lock, .. } | EventKind::TimedOut { lock, .. } => {
                let depth = self.threads[t.index()].waiting.max(1);
                self.hold(lock, t, false, depth);
            }
            EventKind::Release { lock } => {
                self.give_back(lock, t, false);
                self.released[lock.index()].writer |= after;
            }
            EventKind::ReleaseShared { lock } => {
                self.give_back(lock, t, true);
                self.released[lock.index()].reader |= after;
            }
            EventKind::Wait { lock, .. } => {
                let hold = self.holds.remove(&(lock, t, false)).unwrap_or_default();
                self.threads[t.index()].waiting = hold.depth;
                self.released[lock.index()].writer |= after;
            }
            EventKind::Post { sem } => self.posted[sem.index()] |= after,
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                self.notified[cond.index()] |= after;
            }
            EventKind::Arrive { barrier } => self.arrive(t, barrier),
            EventKind::Fence if self.trace.order(e).releases() => {
                self.threads[t.index()].release_fence = after;
            }
            EventKind::Write { var, atomic: true, .. } => {
                let released = self.releases(t, e);
                self.writes[var.index()] = LastWrite::atomic(released);
            }
            EventKind::Update { var, .. } => {
                let last = self.writes[var.index()];
                let released = self.releases(t, e) || last.atomic && last.released;
                self.writes[var.index()] = LastWrite::atomic(released);
                if self.trace.is_opaque(var) {
                    self.updated.insert(var, after);
                }
            }
            EventKind::Write { .. } | EventKind::Free { .. } => {
                for x in self.trace.accessed_variables(e) {
                    let is_a = e == self.a;
                    self.writes[x.index()] =
                        LastWrite { atomic: false, after, is_a, released: false };
                }
            }
            _ => {}
        }
    }

    /// Whether the atomic write `e`, or the last release fence before it, comes after `a`.
    fn releases(&self, t: ThreadId, e: EventId) -> bool {
        let thread = &self.threads[t.index()];
        thread.release_fence || self.trace.order(e).releases() && thread.after
    }

    fn hold(&mut self, l: LockId, t: ThreadId, shared: bool, depth: u32) {
        let after = self.threads[t.index()].after;
        let hold = self.holds.entry((l, t, shared)).or_insert(Hold { depth: 0, after });
        hold.depth += depth;
    }

    fn give_back(&mut self, l: LockId, t: ThreadId, shared: bool) {
        if let Some(hold) = self.holds.get_mut(&(l, t, shared)) {
            hold.depth -= 1;
            if hold.depth == 0 {
                self.holds.remove(&(l, t, shared));
            }
        }
    }

    fn arrive(&mut self, t: ThreadId, b: BarrierId) {
        let parties = u64::from(self.trace.parties(b).unwrap_or(1)).max(1);
        let generation = self.arrivals[b.index()] / parties;
        self.arrivals[b.index()] += 1;
        self.generation.insert((t, b), generation);
        *self.arrived.entry((b, generation)).or_default() |= self.threads[t.index()].after;
    }
}
