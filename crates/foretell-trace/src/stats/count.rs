//! The pass over the events.

use rustc_hash::FxHashMap;

use super::{Blocks, Held, KeptOrder, ReadsFromCounts, Stats, Waiting};
use crate::trace::NONE;
use crate::{CondId, LockId, MemBlockId, Model, Op, ThreadId, Trace, VarId};

/// Accesses of one thread to one variable.
#[derive(Clone, Copy, Default)]
struct Accesses {
    reads: u32,
    writes: u32,
    atomic_reads: u32,
    /// Updates too: they write.
    atomic_writes: u32,
}

impl Accesses {
    fn count(&mut self, op: Op) {
        match op {
            Op::Read => self.reads += 1,
            Op::Write | Op::Free => self.writes += 1,
            Op::AtomicRead => self.atomic_reads += 1,
            _ => self.atomic_writes += 1,
        }
    }

    fn reads(self) -> u64 {
        u64::from(self.reads) + u64::from(self.atomic_reads)
    }

    fn atomics(self) -> u64 {
        u64::from(self.atomic_reads) + u64::from(self.atomic_writes)
    }

    fn all(self) -> u64 {
        u64::from(self.reads) + u64::from(self.writes) + self.atomics()
    }
}

/// Counts of a variable. Most variables have one thread: accesses of further ones are elsewhere.
#[derive(Clone, Copy)]
struct Variable {
    /// The thread that accessed it first, or `NONE`.
    thread: u32,
    accesses: Accesses,
    /// The thread of the last write, or `NONE`.
    writer: u32,
}

/// Users and owner of a lock.
#[derive(Clone, Copy)]
struct Lock {
    /// The thread that took it, `NONE`, or `MANY`.
    user: u32,
    owner: u32,
    depth: u32,
    /// Number of threads that hold the reader side.
    readers: u32,
}

const MANY: u32 = NONE - 1;

/// Counts of a thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Thread {
    pub(super) events: bool,
    pub(super) forked: bool,
    pub(super) joined: bool,
    depth: u64,
    waits_for: Option<CondId>,
    /// Number of times that it owned the lock of its wait.
    owned: u32,
}

/// Everything that is counted.
pub(super) struct Counts {
    by_op: [u64; Op::ALL.len()],
    variables: Vec<Variable>,
    others: FxHashMap<(u32, u32), Accesses>,
    locks: Vec<Lock>,
    shared_holds: FxHashMap<(u32, u32), u32>,
    waiters: Vec<u64>,
    pub(super) threads: Vec<Thread>,
    blocks: Blocks,
    couples: ReadsFromCounts,
    known: u64,
    pub(super) needless_try_fails: u64,
    pub(super) lost_notifies: u64,
    model: Model,
}

impl Counts {
    pub(super) fn of(trace: &Trace) -> Counts {
        let variable = Variable { thread: NONE, accesses: Accesses::default(), writer: NONE };
        let lock = Lock { user: NONE, owner: NONE, depth: 0, readers: 0 };
        let symbolic = !trace.symbolic_updates.is_empty();
        let mut counts = Counts {
            by_op: [0; Op::ALL.len()],
            variables: vec![variable; trace.variable_count()],
            others: FxHashMap::default(),
            locks: vec![lock; trace.lock_count()],
            shared_holds: FxHashMap::default(),
            waiters: vec![0; trace.condition_count()],
            threads: vec![Thread::default(); trace.thread_count()],
            blocks: Blocks::default(),
            couples: ReadsFromCounts::default(),
            known: 0,
            needless_try_fails: 0,
            lost_notifies: 0,
            model: if symbolic { Model::Symbolic } else { Model::View },
        };
        for i in 0..trace.len() {
            foretell_limit::check();
            let (op, thread, object) = (trace.ops[i], trace.threads[i], trace.objects[i]);
            counts.by_op[op as usize] += 1;
            counts.threads[thread.index()].events = true;
            if op.is_access() {
                counts.access(op, thread, object);
                counts.operands(op, trace.values[i], trace.extras[i]);
            } else if op == Op::Free {
                for x in trace.variables_in(MemBlockId(object)) {
                    counts.access(op, thread, x.0);
                }
            } else {
                counts.synchronise(op, thread, object, trace.extras[i]);
            }
        }
        counts
    }

    fn access(&mut self, op: Op, thread: ThreadId, object: u32) {
        let variable = &mut self.variables[object as usize];
        if op.reads() {
            match variable.writer {
                NONE => self.couples.initial += 1,
                writer if writer == thread.0 => self.couples.intra += 1,
                _ => self.couples.inter += 1,
            }
        }
        if op.writes() {
            variable.writer = thread.0;
        }
        if variable.thread == NONE {
            variable.thread = thread.0;
        }
        if variable.thread == thread.0 {
            variable.accesses.count(op);
        } else {
            self.others.entry((object, thread.0)).or_default().count(op);
        }
    }

    /// Values and expressions of an access.
    fn operands(&mut self, op: Op, value: u32, extra: u32) {
        let is_update = op == Op::AtomicUpdate;
        let (some, all) = if is_update {
            (value != NONE || extra != NONE, value != NONE && extra != NONE)
        } else {
            (value != NONE, value != NONE)
        };
        self.known += u64::from(all);
        if some {
            self.model = self.model.max(Model::Value);
        }
        if !is_update && extra != NONE {
            self.model = Model::Symbolic;
        }
    }

    fn synchronise(&mut self, op: Op, thread: ThreadId, object: u32, extra: u32) {
        let state = &mut self.threads[thread.index()];
        match op {
            Op::Acquire | Op::AcquireShared | Op::TryAcquire | Op::TryAcquireShared => {
                self.acquire(op, thread, object)
            }
            Op::Release => {
                let lock = &mut self.locks[object as usize];
                lock.depth = lock.depth.saturating_sub(1);
                if lock.depth == 0 {
                    lock.owner = NONE;
                }
            }
            Op::ReleaseShared => {
                let holds = self.shared_holds.entry((object, thread.0)).or_default();
                let last = *holds == 1;
                *holds = holds.saturating_sub(1);
                self.locks[object as usize].readers -= u32::from(last);
            }
            Op::TryFailed | Op::TryFailedShared => {
                let lock = &self.locks[object as usize];
                let own = self.shared_holds.get(&(object, thread.0)).is_some_and(|&n| n > 0);
                let readers = lock.readers - u32::from(own);
                let owned = lock.owner != NONE && lock.owner != thread.0;
                let held = owned || op == Op::TryFailed && readers > 0;
                self.needless_try_fails += u64::from(!held);
            }
            Op::Wait => {
                let lock = &mut self.locks[extra as usize];
                state.owned = std::mem::take(&mut lock.depth);
                lock.owner = NONE;
                state.waits_for = Some(CondId(object));
                self.waiters[object as usize] += 1;
            }
            Op::Woken | Op::TimedOut => {
                state.waits_for = None;
                let lock = &mut self.locks[extra as usize];
                (lock.owner, lock.depth) = (thread.0, state.owned);
                if op == Op::TimedOut {
                    let waiters = &mut self.waiters[object as usize];
                    *waiters = waiters.saturating_sub(1);
                }
            }
            Op::Notify | Op::NotifyAll => {
                let waiters = &mut self.waiters[object as usize];
                self.lost_notifies += u64::from(*waiters == 0);
                *waiters = if op == Op::Notify { waiters.saturating_sub(1) } else { 0 };
            }
            Op::Fork => self.threads[object as usize].forked = true,
            Op::Join => self.threads[object as usize].joined = true,
            Op::Begin => {
                self.blocks.total += 1;
                self.blocks.outermost += u64::from(state.depth == 0);
                state.depth += 1;
                self.blocks.deepest = self.blocks.deepest.max(state.depth);
            }
            Op::End => state.depth = state.depth.saturating_sub(1),
            Op::Guard => self.model = Model::Symbolic,
            _ => {}
        }
    }

    fn acquire(&mut self, op: Op, thread: ThreadId, object: u32) {
        let lock = &mut self.locks[object as usize];
        lock.user = match lock.user {
            NONE => thread.0,
            user if user == thread.0 => user,
            _ => MANY,
        };
        if matches!(op, Op::Acquire | Op::TryAcquire) {
            lock.owner = thread.0;
            lock.depth += 1;
        } else {
            let holds = self.shared_holds.entry((object, thread.0)).or_default();
            lock.readers += u32::from(*holds == 0);
            *holds += 1;
        }
    }

    /// Locks that one thread alone takes.
    pub(super) fn private_locks(&self) -> impl Iterator<Item = LockId> + '_ {
        let is_private = |l: &Lock| l.user < MANY;
        let private = self.locks.iter().enumerate().filter(move |(_, l)| is_private(l));
        private.map(|(i, _)| LockId::from_index(i))
    }

    /// Variables that are read and never written.
    pub(super) fn never_written(&self) -> impl Iterator<Item = VarId> + '_ {
        let is_read = |v: &Variable| v.thread != NONE && v.writer == NONE;
        let read = self.variables.iter().enumerate().filter(move |(_, v)| is_read(v));
        read.map(|(i, _)| VarId::from_index(i))
    }

    pub(super) fn accesses(&self) -> u64 {
        self.by_op.iter().zip(Op::ALL).filter(|(_, op)| op.is_access()).map(|(n, _)| n).sum()
    }

    pub(super) fn stats(&self, trace: &Trace) -> Stats {
        let count = |op: Op| self.by_op[op as usize];
        let events = trace.len();
        let accessed = self.variables.iter().filter(|v| v.thread != NONE).count();
        let pairs = self.pairs();
        let edges = self.couples.inter + count(Op::Fork) + count(Op::Join) + count(Op::Woken);
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        let occurring = Op::ALL.into_iter().filter(|&op| count(op) > 0);
        Stats {
            threads: trace.thread_count(),
            events,
            events_by_kind: occurring.map(|op| (op.keyword(), count(op))).collect(),
            variables: accessed,
            shared_variables: pairs.shared,
            local_variables: accessed - pairs.shared,
            locks: trace.lock_count(),
            conditions: trace.condition_count(),
            semaphores: trace.semaphore_count(),
            barriers: trace.barrier_count(),
            memory_blocks: trace.mem_block_count(),
            ended_threads: trace.tables.ended.len(),
            blocks: Blocks { open: self.threads.iter().map(|t| t.depth).sum(), ..self.blocks },
            conflicting_pairs: pairs.conflicting,
            atomic_conflicting_pairs: pairs.atomic,
            couples: self.couples,
            inter_thread_edges: edges,
            coupling: share(edges, events as u64),
            locks_held: self.held(trace),
            waiting: self.waiting(trace),
            values_known_percent: 100.0 * share(self.known, self.accesses()),
            model: self.model,
            ended: trace.meta().get("ended").cloned(),
            order_kept: KeptOrder::of(trace),
            unusual: Vec::new(),
        }
    }

    fn held(&self, trace: &Trace) -> Vec<Held> {
        let entry = |lock: u32, thread: u32, shared| Held {
            lock: trace.lock_name(LockId(lock)).to_owned(),
            thread: trace.display_name(ThreadId(thread)).to_owned(),
            shared,
        };
        let owned = self.locks.iter().enumerate().filter(|(_, lock)| lock.owner != NONE);
        let mut held: Vec<_> = owned.map(|(i, l)| entry(i as u32, l.owner, false)).collect();
        let mut shared: Vec<_> = self
            .shared_holds
            .iter()
            .filter(|(_, holds)| **holds > 0)
            .map(|(&key, _)| key)
            .collect();
        shared.sort_unstable();
        held.extend(shared.into_iter().map(|(lock, thread)| entry(lock, thread, true)));
        held
    }

    fn waiting(&self, trace: &Trace) -> Vec<Waiting> {
        let states = self.threads.iter().enumerate();
        let waiting = states.filter_map(|(i, t)| Some((ThreadId::from_index(i), t.waits_for?)));
        waiting
            .map(|(thread, condition)| Waiting {
                thread: trace.display_name(thread).to_owned(),
                condition: trace.condition_name(condition).to_owned(),
            })
            .collect()
    }

    fn pairs(&self) -> Pairs {
        let mut others: Vec<_> = self.others.iter().map(|(&(v, _), &a)| (v, a)).collect();
        others.sort_unstable_by_key(|&(variable, _)| variable);
        let mut pairs = Pairs::default();
        for group in others.chunk_by(|a, b| a.0 == b.0) {
            let first = self.variables[group[0].0 as usize].accesses;
            pairs.add(std::iter::once(first).chain(group.iter().map(|&(_, a)| a)));
        }
        pairs
    }
}

/// Pairs of accesses by different threads. A trace of fewer than 2³² events has fewer
/// than 2⁶³, so the sums fit.
#[derive(Default)]
struct Pairs {
    shared: usize,
    conflicting: u64,
    atomic: u64,
}

impl Pairs {
    /// Adds the pairs of one variable, given the accesses of each thread.
    fn add(&mut self, threads: impl Iterator<Item = Accesses> + Clone) {
        // Of all pairs in different threads, those that only read do not conflict.
        let all = across(threads.clone().map(Accesses::all));
        let reading = across(threads.clone().map(Accesses::reads));
        let atomic = across(threads.clone().map(Accesses::atomics));
        let atomic_reading = across(threads.map(|a| u64::from(a.atomic_reads)));
        self.shared += 1;
        self.conflicting = self.conflicting.saturating_add(all - reading);
        self.atomic = self.atomic.saturating_add(atomic - atomic_reading);
    }
}

/// Pairs of different threads' things, given how many each thread has: for each thread, its own
/// times all those before.
fn across(counts: impl Iterator<Item = u64>) -> u64 {
    let (pairs, _) = counts.fold((0u64, 0u64), |(pairs, before), count| {
        (pairs.saturating_add(count.saturating_mul(before)), before + count)
    });
    pairs
}
