//! A vector-clock race detector for the recorded run, after FastTrack (Flanagan and Freund, PLDI
//! 2009) with the release sequences and fences of C++20, as ThreadSanitizer has them.
//!
//! It knows nothing of the model and the engines. For each access it reports the last write and the
//! last read of each other thread that are not ordered before it. With `plain_reads` a plain read
//! that has been checked comes after the plain write that it saw (semantics section 3b); a detector
//! proper has no such rule and reports what follows from one race once more.

use std::collections::{BTreeMap, BTreeSet};

use foretell_trace::{EventId, EventKind, LockId, ThreadId, Trace};

/// How many events of each thread are known.
type Clock = Vec<u32>;

fn join(mine: &mut Clock, theirs: &Clock) {
    mine.resize(mine.len().max(theirs.len()), 0);
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

#[derive(Default)]
struct Thread {
    clock: Clock,
    release_fence: Clock,
    seen: Clock,
    waiting: u32,
}

#[derive(Default)]
struct Variable {
    last_write: Option<(EventId, u32)>,
    last_reads: BTreeMap<usize, (EventId, u32)>,
    /// Clock of the last write if it was plain, of its release sequence if it was atomic.
    plain: Option<Clock>,
    released: Clock,
    chain: Clock,
}

#[derive(Default)]
struct Lock {
    writer: Clock,
    readers: Clock,
    /// Clock of the acquire and depth of each hold, by thread and side.
    holds: BTreeMap<(ThreadId, bool), (Clock, u32)>,
}

struct Detector<'t> {
    trace: &'t Trace,
    threads: Vec<Thread>,
    variables: Vec<Variable>,
    locks: Vec<Lock>,
    posts: Vec<Clock>,
    notifies: Vec<Clock>,
    arrivals: Vec<Vec<Clock>>,
    own_arrival: BTreeMap<(ThreadId, usize), usize>,
    reported: BTreeSet<[EventId; 2]>,
}

/// The reports for the recorded run.
pub(crate) fn races(trace: &Trace, plain_reads: bool) -> BTreeSet<[EventId; 2]> {
    fn of<T: Default>(count: usize) -> Vec<T> {
        (0..count).map(|_| T::default()).collect()
    }
    let mut detector = Detector {
        trace,
        threads: of(trace.thread_count()),
        variables: of(trace.variable_count()),
        locks: of(trace.lock_count()),
        posts: of(trace.semaphore_count()),
        notifies: of(trace.condition_count()),
        arrivals: of(trace.barrier_count()),
        own_arrival: BTreeMap::new(),
        reported: BTreeSet::new(),
    };
    for thread in &mut detector.threads {
        thread.clock = vec![0; trace.thread_count()];
    }
    for e in trace.ids() {
        detector.step(e, plain_reads);
    }
    detector.reported
}

impl Detector<'_> {
    fn step(&mut self, e: EventId, plain_reads: bool) {
        let t = self.trace.thread(e);
        let event = self.trace.event(e);
        // Every event is a time of its own.
        self.threads[t.index()].clock[t.index()] += 1;
        let parties =
            |b: foretell_trace::BarrierId| self.trace.parties(b).unwrap_or(1).max(1) as usize;
        match event.kind {
            EventKind::Fork { thread } => {
                let clock = self.clock(t);
                join(&mut self.threads[thread.index()].clock, &clock);
            }
            EventKind::Join { thread } => {
                let clock = self.clock(thread);
                self.learn(t, &clock);
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.acquire(t, lock, false, 1);
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.acquire(t, lock, true, 1);
            }
            EventKind::Release { lock } => self.release(t, lock, false, false),
            EventKind::ReleaseShared { lock } => self.release(t, lock, true, false),
            EventKind::Wait { lock, .. } => self.release(t, lock, false, true),
            EventKind::TimedOut { lock, .. } => {
                self.acquire(t, lock, false, self.threads[t.index()].waiting.max(1));
            }
            EventKind::Woken { cond, lock } => {
                let clock = self.notifies[cond.index()].clone();
                self.learn(t, &clock);
                self.acquire(t, lock, false, self.threads[t.index()].waiting.max(1));
            }
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                let clock = self.clock(t);
                join(&mut self.notifies[cond.index()], &clock);
            }
            EventKind::Post { sem } => {
                let clock = self.clock(t);
                join(&mut self.posts[sem.index()], &clock);
            }
            EventKind::Down { sem } => {
                let clock = self.posts[sem.index()].clone();
                self.learn(t, &clock);
            }
            EventKind::Arrive { barrier } => {
                let (clock, arrivals) = (self.clock(t), &mut self.arrivals[barrier.index()]);
                self.own_arrival.insert((t, barrier.index()), arrivals.len());
                arrivals.push(clock);
            }
            EventKind::Leave { barrier } => {
                let own = self.own_arrival.get(&(t, barrier.index())).copied().unwrap_or(0);
                let first = own / parties(barrier) * parties(barrier);
                let generation = self.arrivals[barrier.index()].iter().skip(first);
                let clocks: Vec<Clock> = generation.take(parties(barrier)).cloned().collect();
                clocks.iter().for_each(|clock| self.learn(t, clock));
            }
            EventKind::TryFailed { lock } => self.try_failed(t, lock, true),
            EventKind::TryFailedShared { lock } => self.try_failed(t, lock, false),
            EventKind::Fence => {
                if event.order.acquires() {
                    let seen = self.threads[t.index()].seen.clone();
                    self.learn(t, &seen);
                }
                if event.order.releases() {
                    self.threads[t.index()].release_fence = self.clock(t);
                }
            }
            EventKind::Read { .. } | EventKind::Write { .. } | EventKind::Update { .. } => {
                self.access(e, t, plain_reads);
            }
            _ => {}
        }
    }

    fn clock(&self, t: ThreadId) -> Clock {
        self.threads[t.index()].clock.clone()
    }

    fn learn(&mut self, t: ThreadId, clock: &Clock) {
        join(&mut self.threads[t.index()].clock, clock);
    }

    fn acquire(&mut self, t: ThreadId, lock: LockId, shared: bool, depth: u32) {
        let state = &self.locks[lock.index()];
        let (writer, readers) = (state.writer.clone(), state.readers.clone());
        let synchronizes = !self.trace.is_order_only(lock);
        if synchronizes {
            self.learn(t, &writer);
        }
        if synchronizes && !shared {
            self.learn(t, &readers);
        }
        let clock = self.clock(t);
        let holds = &mut self.locks[lock.index()].holds;
        holds.entry((t, shared)).or_insert((clock, 0)).1 += depth;
    }

    fn release(&mut self, t: ThreadId, lock: LockId, shared: bool, fully: bool) {
        let clock = self.clock(t);
        let state = &mut self.locks[lock.index()];
        join(if shared { &mut state.readers } else { &mut state.writer }, &clock);
        let Some((_, depth)) = state.holds.get_mut(&(t, shared)) else { return };
        if fully {
            self.threads[t.index()].waiting = *depth;
            *depth = 1;
        }
        *depth -= 1;
        if *depth == 0 {
            state.holds.remove(&(t, shared));
        }
    }

    fn try_failed(&mut self, t: ThreadId, lock: LockId, readers_count: bool) {
        if self.trace.is_order_only(lock) {
            return;
        }
        let holds = self.locks[lock.index()].holds.iter();
        let others = holds.filter(|((u, shared), _)| *u != t && (!shared || readers_count));
        let clocks: Vec<Clock> = others.map(|(_, (clock, _))| clock.clone()).collect();
        clocks.iter().for_each(|clock| self.learn(t, clock));
    }

    fn access(&mut self, e: EventId, t: ThreadId, plain_reads: bool) {
        let Some(x) = self.trace.variable(e).map(|x| x.index()) else { return };
        let (op, order) = (self.trace.op(e), self.trace.order(e));
        let opaque = self.trace.variable(e).is_some_and(|x| self.trace.is_opaque(x));
        if op.is_atomic() && op.reads() && self.variables[x].plain.is_none() {
            let released = self.variables[x].released.clone();
            join(&mut self.threads[t.index()].seen, &released);
            if order.acquires() {
                self.learn(t, &released);
            }
        }
        if op.is_atomic() && op.reads() && op.writes() && opaque {
            let chain = self.variables[x].chain.clone();
            self.learn(t, &chain);
        }
        if !opaque {
            self.check(e, t, x);
        }
        let clock = self.clock(t);
        let time = clock[t.index()];
        if op.reads() && !op.writes() {
            self.variables[x].last_reads.insert(t.index(), (e, time));
        }
        if plain_reads
            && !op.is_atomic()
            && op.reads()
            && let Some(seen) = self.variables[x].plain.clone()
        {
            self.learn(t, &seen);
        }
        if !op.writes() {
            return;
        }
        let fence = self.threads[t.index()].release_fence.clone();
        let variable = &mut self.variables[x];
        variable.last_write = Some((e, time));
        if !op.is_atomic() {
            variable.plain = Some(clock);
            variable.released.clear();
            return;
        }
        let continues = op.reads() && variable.plain.is_none();
        variable.plain = None;
        if !continues {
            variable.released.clear();
        }
        join(&mut variable.released, if order.releases() { &clock } else { &fence });
        if op.reads() && opaque {
            join(&mut variable.chain, &clock);
        }
    }

    fn check(&mut self, e: EventId, t: ThreadId, x: usize) {
        let op = self.trace.op(e);
        let variable = &self.variables[x];
        let clock = &self.threads[t.index()].clock;
        let mut others: Vec<(EventId, u32)> = variable.last_write.into_iter().collect();
        if op.writes() {
            others.extend(variable.last_reads.values());
        }
        // A plain read that saw a write comes after what that one comes after.
        let seen = (op == foretell_trace::Op::Read).then_some(variable.plain.as_ref()).flatten();
        for (other, time) in others {
            let u = self.trace.thread(other);
            let both_atomic = op.is_atomic() && self.trace.op(other).is_atomic();
            let is_seen = variable.last_write.is_some_and(|(w, _)| w == other);
            let through = seen.is_some_and(|seen| !is_seen && seen[u.index()] >= time);
            if u != t && !both_atomic && clock[u.index()] < time && !through {
                self.reported.insert([other.min(e), other.max(e)]);
            }
        }
    }
}
