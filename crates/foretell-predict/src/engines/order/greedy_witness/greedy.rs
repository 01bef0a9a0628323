//! Runs a set of events greedily: of all threads that can go on, the one whose next event comes
//! first in the trace does.
//!
//! A read that is relied on waits for the write it saw, or is to see. A write waits until all reads
//! that rely on the last write have read it, so that no choice takes a view away. A section that is
//! never left waits until all others of its lock are over; so does one that is left for a shared
//! section which is not. A release waits for the try-locks that failed because of its section.
//! Events of conditions, semaphores, barriers and opaque variables
//! keep their observed order. A thread that cannot go on waits at the variable, lock or thread in
//! question.
//!
//! If no thread can go on, threads wait for each other in circles, or for one that will not move
//! any more. The rules of feasibility on these ways ([`Greedy::stuck`]) are what a search has to
//! take into account: as long as it decides nothing about them, the same thing happens again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_model::{Section, SectionId, TraceModel};
use foretell_trace::{EventId, EventKind, LockId, ObjectKind, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::engines::order::simulate::Demands;

/// The events to run, and the constraints on their order.
pub(super) struct Plan<'a, D> {
    pub(super) trace_model: &'a TraceModel<'a>,
    /// The first runs before the second; sorted by the second.
    pub(super) order: &'a [(EventId, EventId)],
    /// Which views count at the end of a thread.
    pub(super) demands: &'a D,
    /// Number of events of each thread.
    pub(super) counts: &'a [u32],
    /// The first events of the trace, this many, run as they were observed.
    pub(super) prefix: u32,
}

impl<D: Demands> Plan<'_, D> {
    pub(super) fn has(&self, e: EventId) -> bool {
        let TraceModel { trace, chains, .. } = self.trace_model;
        chains.position(e) < self.counts[trace.thread(e).index()]
    }

    /// Whether the view of `e` is relied on.
    pub(super) fn must_be_preserved(&self, e: EventId) -> bool {
        self.trace_model.is_relied_on(e, self.counts) || self.demands.must_be_preserved(e)
    }

    /// The events that have to run before `e`.
    pub(super) fn before(&self, e: EventId) -> impl Iterator<Item = EventId> {
        let from = self.order.partition_point(|&(_, y)| y < e);
        self.order[from..].iter().take_while(move |&&(_, y)| y == e).map(|&(x, _)| x)
    }

    /// The write that a read is to see; `None` is the initial value.
    pub(super) fn source(&self, read: EventId) -> Option<EventId> {
        let chosen = self.demands.source(read);
        chosen.unwrap_or_else(|| self.trace_model.reads_from.observed(read))
    }

    /// Whether what the read is to see will be there.
    pub(super) fn has_source(&self, read: EventId) -> bool {
        self.source(read).is_none_or(|w| self.has(w))
    }

    pub(super) fn leaves(&self, section: &Section) -> bool {
        section.exit.is_some_and(|exit| self.has(exit))
    }

    /// Whether a section is left for a shared one that is not left.
    pub(super) fn stays_as_reader(&self, section: &Section) -> bool {
        let locks = &self.trace_model.locks;
        let reader = section.exit.and_then(|exit| locks.entered_at(exit));
        self.leaves(section) && reader.is_some_and(|s| !self.leaves(locks.get(s)))
    }
}

/// Nothing, in tables of numbers.
const NONE: u32 = u32::MAX;

/// A variable on the way. Tables are stamped with the run they belong to.
#[derive(Clone, Copy)]
struct Variable {
    run: u32,
    /// The last write, or `NONE`.
    last: u32,
    /// Reads to come that rely on it.
    readers: u32,
    /// The first thread that waits for a change.
    waiting: u32,
}

/// A lock on the way.
#[derive(Clone, Default)]
struct Lock {
    run: u32,
    holders: Vec<SectionId>,
    /// Sections to be left yet, exclusive and shared ones.
    to_leave: [u32; 2],
    /// Failed try-locks to come, and the sections they ran into.
    tries: Vec<(SectionId, EventId)>,
    waiting: u32,
}

/// Why a thread cannot go on.
enum Blocked {
    Variable(VarId),
    Lock(LockId),
    Thread(ThreadId),
    /// Events of an object that keeps the observed order: taking turns wakes the thread.
    Turn,
}

/// Marks of an event in the tail: it is the first, or the second, of a pair of the plan's order.
const FIRST: u8 = 1;
const SECOND: u8 = 2;

/// The events of one object in observed order, and how many have run. The thread whose turn it is
/// is the only one that a turn can wake.
type Turns = FxHashMap<(ObjectKind, u32), (Vec<EventId>, usize)>;

/// Tables that are kept between runs.
pub(super) struct Greedy {
    run: u32,
    variables: Vec<Variable>,
    locks: Vec<Lock>,
    /// By place in the tail, thread by thread: the reads that rely on a write.
    readers: Vec<u32>,
    /// The marks that were set, to reset them.
    marks: Vec<u8>,
    /// By thread: where its events begin in `readers`, less the events of the prefix.
    base: Vec<i64>,
    /// By thread: how many events have run.
    done: Vec<u32>,
    /// By thread: the next one that waits at the same place.
    next_waiting: Vec<u32>,
    /// By thread: the first one that waits for it.
    waiting_for: Vec<u32>,
    /// By thread: whether it waits for its turn.
    waits_for_turn: Vec<bool>,
    turns: Turns,
    ready: BinaryHeap<Reverse<EventId>>,
}

impl Greedy {
    pub(super) fn new(trace_model: &TraceModel<'_>) -> Self {
        let threads = trace_model.chains.thread_count();
        let variable = Variable { run: 0, last: NONE, readers: 0, waiting: NONE };
        Self {
            run: 0,
            variables: vec![variable; trace_model.trace.variable_count()],
            locks: vec![Lock::default(); trace_model.locks.lock_count()],
            readers: Vec::new(),
            marks: Vec::new(),
            base: vec![0; threads],
            done: vec![0; threads],
            next_waiting: vec![NONE; threads],
            waiting_for: vec![NONE; threads],
            waits_for_turn: vec![false; threads],
            turns: Turns::default(),
            ready: BinaryHeap::new(),
        }
    }

    /// Runs everything after the prefix; `None` if the run gets stuck.
    pub(super) fn run(&mut self, plan: &Plan<'_, impl Demands>) -> Option<Vec<EventId>> {
        let total = self.prepare(plan);
        let TraceModel { trace, chains, .. } = plan.trace_model;
        let mut tail = Vec::with_capacity(total);
        while let Some(Reverse(mut e)) = self.ready.pop() {
            foretell_limit::check();
            // A thread goes on without passing through the heap while it is first anyway.
            loop {
                foretell_limit::check();
                let thread = trace.thread(e);
                if let Err(blocked) = self.blocked(plan, e) {
                    self.wait(plan, thread, blocked);
                    break;
                }
                self.step(plan, e);
                tail.push(e);
                let done = &mut self.done[thread.index()];
                *done += 1;
                if *done == plan.counts[thread.index()] {
                    self.wake_followers(plan, thread);
                    break;
                }
                let next = chains.events(thread)[*done as usize];
                if self.ready.peek().is_some_and(|Reverse(first)| *first < next) {
                    self.ready.push(Reverse(next));
                    break;
                }
                e = next;
            }
        }
        (tail.len() == total).then_some(tail)
    }

    /// Fills the tables for what comes after the prefix; how many events that is.
    fn prepare(&mut self, plan: &Plan<'_, impl Demands>) -> usize {
        self.run += 1;
        self.waits_for_turn.fill(false);
        self.turns.clear();
        self.ready.clear();
        let chains = &plan.trace_model.chains;
        let mut total = 0;
        for (t, &count) in plan.counts.iter().enumerate() {
            let events = chains.events(ThreadId::from_index(t));
            let start = events.partition_point(|e| e.0 < plan.prefix) as u32;
            self.done[t] = start;
            self.base[t] = total as i64 - i64::from(start);
            total += (count - start) as usize;
            if start < count {
                self.ready.push(Reverse(events[start as usize]));
            }
        }
        self.waiting_for.fill(NONE);
        self.readers.clear();
        self.readers.resize(total, 0);
        self.marks.clear();
        self.marks.resize(total, 0);
        for &(x, y) in plan.order {
            for (e, mark) in [(x, FIRST), (y, SECOND)] {
                if e.0 >= plan.prefix && plan.has(e) {
                    let place = self.place(plan, e);
                    self.marks[place] |= mark;
                }
            }
        }
        for (t, &count) in plan.counts.iter().enumerate() {
            let start = self.done[t] as usize;
            for &e in &chains.events(ThreadId::from_index(t))[start..count as usize] {
                foretell_limit::check();
                self.expect(plan, e);
            }
        }
        for (list, _) in self.turns.values_mut() {
            list.sort_unstable();
        }
        total
    }

    /// Notes what others have to wait for until `e` has run.
    fn expect(&mut self, plan: &Plan<'_, impl Demands>, e: EventId) {
        let trace_model = plan.trace_model;
        let op = trace_model.trace.op(e);
        if let Some(x) = trace_model.trace.variable(e) {
            if op.reads() && plan.must_be_preserved(e) {
                match plan.source(e) {
                    Some(w) if w.0 >= plan.prefix => {
                        if plan.has(w) {
                            let place = self.place(plan, w);
                            self.readers[place] += 1;
                        }
                    }
                    before => {
                        let variable = self.variable(plan, x);
                        if variable.last == before.map_or(NONE, |w| w.0) {
                            variable.readers += 1;
                        }
                    }
                }
            }
            if trace_model.trace.is_opaque(x) {
                self.turns.entry((ObjectKind::Variable, x.0)).or_default().0.push(e);
            }
            return;
        }
        for x in trace_model.trace.accessed_variables(e) {
            if trace_model.trace.is_opaque(x) {
                self.turns.entry((ObjectKind::Variable, x.0)).or_default().0.push(e);
            }
        }
        if let Some(s) = trace_model.locks.entered_at(e) {
            let section = trace_model.locks.get(s);
            if plan.leaves(section) {
                self.lock(plan, section.lock).to_leave[usize::from(section.shared)] += 1;
            }
        }
        if let Some(object) = turn_taking(trace_model, trace_model.trace.event(e).kind) {
            self.turns.entry(object).or_default().0.push(e);
        }
        if op.is_failed_try()
            && plan.must_be_preserved(e)
            && !plan.demands.has_owner(e)
            && let Some(s) = owner_met(trace_model, e)
        {
            self.lock(plan, trace_model.locks.get(s).lock).tries.push((s, e));
        }
    }

    /// The place of an event of the tail in `readers`.
    fn place(&self, plan: &Plan<'_, impl Demands>, e: EventId) -> usize {
        let TraceModel { trace, chains, .. } = plan.trace_model;
        (self.base[trace.thread(e).index()] + i64::from(chains.position(e))) as usize
    }

    fn variable(&mut self, plan: &Plan<'_, impl Demands>, x: VarId) -> &mut Variable {
        let variable = &mut self.variables[x.index()];
        if variable.run != self.run {
            let writes = plan.trace_model.reads_from.writes(x);
            let before = writes.partition_point(|w| w.0 < plan.prefix);
            let last = before.checked_sub(1).map_or(NONE, |i| writes[i].0);
            *variable = Variable { run: self.run, last, readers: 0, waiting: NONE };
        }
        variable
    }

    fn lock(&mut self, plan: &Plan<'_, impl Demands>, l: LockId) -> &mut Lock {
        let lock = &mut self.locks[l.index()];
        if lock.run != self.run {
            lock.run = self.run;
            lock.holders = plan.trace_model.locks.open_at(l, plan.prefix);
            lock.to_leave = [0; 2];
            lock.tries.clear();
            lock.waiting = NONE;
            for &s in &lock.holders {
                let section = plan.trace_model.locks.get(s);
                if plan.leaves(section) {
                    lock.to_leave[usize::from(section.shared)] += 1;
                }
            }
        }
        lock
    }

    /// The next event of thread `t`, if it is to go on.
    pub(super) fn next_of(&self, plan: &Plan<'_, impl Demands>, t: usize) -> Option<EventId> {
        let events = plan.trace_model.chains.events(ThreadId::from_index(t));
        (self.done[t] < plan.counts[t]).then(|| events[self.done[t] as usize])
    }

    /// Returns the number of events of a thread that have run.
    pub(super) fn done(&self, thread: ThreadId) -> u32 {
        self.done[thread.index()]
    }

    pub(super) fn last_write(
        &mut self,
        plan: &Plan<'_, impl Demands>,
        x: VarId,
    ) -> Option<EventId> {
        let last = self.variable(plan, x).last;
        (last != NONE).then_some(EventId(last))
    }

    /// The sections of a lock that a thread is in.
    pub(super) fn held(
        &mut self,
        plan: &Plan<'_, impl Demands>,
        l: LockId,
    ) -> impl Iterator<Item = SectionId> {
        self.lock(plan, l).holders.iter().copied()
    }

    /// Failed try-locks to come, and the sections they ran into.
    pub(super) fn tries(
        &mut self,
        plan: &Plan<'_, impl Demands>,
        l: LockId,
    ) -> impl Iterator<Item = (SectionId, EventId)> {
        self.lock(plan, l).tries.iter().copied()
    }

    /// The event that has to run before `e` because their object keeps the observed order.
    pub(super) fn whose_turn(&self, plan: &Plan<'_, impl Demands>, e: EventId) -> Option<EventId> {
        let trace = plan.trace_model.trace;
        let mut opaque = trace.accessed_variables(e).filter(|&x| trace.is_opaque(x));
        let waiting = |x: &VarId| !self.is_its_turn((ObjectKind::Variable, x.0), e);
        let object = match trace.variable(e).or_else(|| opaque.find(waiting)) {
            Some(x) => (ObjectKind::Variable, x.0),
            None => turn_taking(plan.trace_model, trace.event(e).kind)?,
        };
        let (list, next) = self.turns.get(&object)?;
        list.get(*next).copied().filter(|&first| first != e)
    }

    pub(super) fn has_run(&self, plan: &Plan<'_, impl Demands>, e: EventId) -> bool {
        let TraceModel { trace, chains, .. } = plan.trace_model;
        chains.position(e) < self.done[trace.thread(e).index()]
    }

    /// Whether the next event of its thread has to wait.
    fn blocked(&mut self, plan: &Plan<'_, impl Demands>, e: EventId) -> Result<(), Blocked> {
        let TraceModel { trace, chains, .. } = plan.trace_model;
        let thread = trace.thread(e);
        if chains.position(e) == 0
            && let Some(fork) = chains.fork(thread)
            && !self.has_run(plan, fork)
        {
            return Err(Blocked::Thread(trace.thread(fork)));
        }
        if self.marks[self.place(plan, e)] & SECOND != 0
            && let Some(x) = plan.before(e).find(|&x| !self.has_run(plan, x))
        {
            return Err(Blocked::Thread(trace.thread(x)));
        }
        if let Some(x) = trace.variable(e) {
            return self.access_blocked(plan, e, x);
        }
        for x in trace.accessed_variables(e) {
            self.access_blocked(plan, e, x)?;
        }
        let kind = trace.event(e).kind;
        if turn_taking(plan.trace_model, kind).is_some_and(|object| !self.is_its_turn(object, e)) {
            return Err(Blocked::Turn);
        }
        match kind {
            EventKind::Acquire { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock }
            | EventKind::Woken { lock, .. }
            | EventKind::TimedOut { lock, .. } => self.enter_blocked(plan, e, lock),
            EventKind::Down { sem } => match plan.trace_model.locks.of_semaphore(sem) {
                Some(lock) => self.enter_blocked(plan, e, lock),
                None => Ok(()),
            },
            EventKind::Release { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::Wait { lock, .. } => self.leave_blocked(plan, e, lock),
            EventKind::TryFailed { lock } | EventKind::TryFailedShared { lock }
                if plan.must_be_preserved(e) =>
            {
                let locks = &plan.trace_model.locks;
                let mut holders = self.lock(plan, lock).holders.iter();
                let fails = holders.any(|&s| locks.makes_fail(trace, s, e));
                if fails { Ok(()) } else { Err(Blocked::Lock(lock)) }
            }
            EventKind::Join { thread: child } => {
                let fork = chains.fork(child).filter(|&fork| !self.has_run(plan, fork));
                let over = self.done[child.index()] as usize == chains.events(child).len();
                match fork {
                    Some(fork) => Err(Blocked::Thread(trace.thread(fork))),
                    None if over => Ok(()),
                    None => Err(Blocked::Thread(child)),
                }
            }
            _ => Ok(()),
        }
    }

    fn access_blocked(
        &mut self,
        plan: &Plan<'_, impl Demands>,
        e: EventId,
        x: VarId,
    ) -> Result<(), Blocked> {
        let TraceModel { trace, reads_from, .. } = plan.trace_model;
        let op = trace.op(e);
        if trace.is_opaque(x) && !self.is_its_turn((ObjectKind::Variable, x.0), e) {
            return Err(Blocked::Turn);
        }
        let Variable { last, readers, .. } = *self.variable(plan, x);
        let mut own = 0;
        if op.reads() && plan.must_be_preserved(e) {
            if plan.has_source(e) {
                if plan.source(e).map_or(NONE, |w| w.0) != last {
                    return Err(Blocked::Variable(x));
                }
                own = 1;
            } else if !reads_from.preserves(trace, e, (last != NONE).then_some(EventId(last))) {
                return Err(Blocked::Variable(x));
            }
        }
        if op.writes() && readers > own { Err(Blocked::Variable(x)) } else { Ok(()) }
    }

    fn enter_blocked(
        &mut self,
        plan: &Plan<'_, impl Demands>,
        e: EventId,
        l: LockId,
    ) -> Result<(), Blocked> {
        let locks = &plan.trace_model.locks;
        let Some(s) = locks.entered_at(e) else { return Ok(()) };
        let section = locks.get(s);
        let lock = self.lock(plan, l);
        let held = lock.holders.iter().any(|&s| !(section.shared && locks.get(s).shared));
        let [exclusive, shared] = lock.to_leave;
        let too_early = if plan.stays_as_reader(section) {
            // The section itself is one of those to be left.
            exclusive > 1
        } else {
            !plan.leaves(section) && (exclusive > 0 || !section.shared && shared > 0)
        };
        if held || too_early { Err(Blocked::Lock(l)) } else { Ok(()) }
    }

    fn leave_blocked(
        &mut self,
        plan: &Plan<'_, impl Demands>,
        e: EventId,
        l: LockId,
    ) -> Result<(), Blocked> {
        let locks = &plan.trace_model.locks;
        let tried = |(s, _): &(SectionId, EventId)| locks.get(*s).exit == Some(e);
        if self.lock(plan, l).tries.iter().any(tried) { Err(Blocked::Lock(l)) } else { Ok(()) }
    }

    fn is_its_turn(&self, object: (ObjectKind, u32), e: EventId) -> bool {
        self.turns.get(&object).is_none_or(|(list, next)| list.get(*next) == Some(&e))
    }

    /// Runs an event that need not wait.
    fn step(&mut self, plan: &Plan<'_, impl Demands>, e: EventId) {
        let trace = plan.trace_model.trace;
        if self.marks[self.place(plan, e)] & FIRST != 0 {
            // A thread that waits for it is woken when this step is over.
            self.wake_followers(plan, trace.thread(e));
        }
        if let Some(x) = trace.variable(e) {
            return self.access(plan, e, x);
        }
        for x in trace.accessed_variables(e) {
            self.access(plan, e, x);
        }
        let kind = trace.event(e).kind;
        if let Some(object) = turn_taking(plan.trace_model, kind) {
            self.take_turn(plan, object);
        }
        match kind {
            EventKind::Acquire { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock }
            | EventKind::Woken { lock, .. }
            | EventKind::TimedOut { lock, .. } => self.enter(plan, e, lock),
            EventKind::Release { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::Wait { lock, .. } => {
                self.leave(plan, e, lock);
                self.enter(plan, e, lock);
            }
            EventKind::TryFailed { lock } | EventKind::TryFailedShared { lock }
                if plan.must_be_preserved(e) =>
            {
                let lock = self.lock(plan, lock);
                lock.tries.retain(|(_, other)| *other != e);
                let waiting = std::mem::replace(&mut lock.waiting, NONE);
                self.wake(plan, waiting);
            }
            EventKind::Down { sem } => {
                if let Some(lock) = plan.trace_model.locks.of_semaphore(sem) {
                    self.enter(plan, e, lock);
                }
            }
            EventKind::Post { sem } => {
                if let Some(lock) = plan.trace_model.locks.of_semaphore(sem) {
                    self.leave(plan, e, lock);
                }
            }
            EventKind::Fork { .. } => self.wake_followers(plan, trace.thread(e)),
            _ => {}
        }
    }

    fn access(&mut self, plan: &Plan<'_, impl Demands>, e: EventId, x: VarId) {
        let trace = plan.trace_model.trace;
        let op = trace.op(e);
        let relies = op.reads() && plan.must_be_preserved(e) && plan.has_source(e);
        let readers = if op.writes() { self.readers[self.place(plan, e)] } else { 0 };
        let variable = self.variable(plan, x);
        if relies {
            variable.readers -= 1;
        }
        if op.writes() {
            variable.last = e.0;
            variable.readers = readers;
        }
        if op.writes() || variable.readers == 0 {
            let waiting = std::mem::replace(&mut variable.waiting, NONE);
            self.wake(plan, waiting);
        }
        if trace.is_opaque(x) {
            self.take_turn(plan, (ObjectKind::Variable, x.0));
        }
    }

    /// Takes the lock, if `e` starts a section.
    fn enter(&mut self, plan: &Plan<'_, impl Demands>, e: EventId, l: LockId) {
        let Some(s) = plan.trace_model.locks.entered_at(e) else { return };
        let lock = self.lock(plan, l);
        lock.holders.push(s);
        if !lock.tries.is_empty() {
            // A try-lock may fail now.
            let waiting = std::mem::replace(&mut lock.waiting, NONE);
            self.wake(plan, waiting);
        }
    }

    fn leave(&mut self, plan: &Plan<'_, impl Demands>, e: EventId, l: LockId) {
        let locks = &plan.trace_model.locks;
        let lock = self.lock(plan, l);
        let Some(at) = lock.holders.iter().position(|&s| locks.get(s).exit == Some(e)) else {
            return; // Taken more than once.
        };
        let section = locks.get(lock.holders.remove(at));
        lock.to_leave[usize::from(section.shared)] -= 1;
        let waiting = std::mem::replace(&mut lock.waiting, NONE);
        self.wake(plan, waiting);
    }

    fn take_turn(&mut self, plan: &Plan<'_, impl Demands>, object: (ObjectKind, u32)) {
        let Some((list, next)) = self.turns.get_mut(&object) else { return };
        *next += 1;
        let Some(&e) = list.get(*next) else { return };
        let thread = plan.trace_model.trace.thread(e).index();
        let is_next = self.done[thread] == plan.trace_model.chains.position(e);
        if is_next && std::mem::replace(&mut self.waits_for_turn[thread], false) {
            self.ready.push(Reverse(e));
        }
    }

    /// Puts a thread into the list of what it waits for.
    fn wait(&mut self, plan: &Plan<'_, impl Demands>, thread: ThreadId, blocked: Blocked) {
        let first = match blocked {
            Blocked::Variable(x) => &mut self.variable(plan, x).waiting,
            Blocked::Lock(l) => &mut self.lock(plan, l).waiting,
            Blocked::Thread(t) => &mut self.waiting_for[t.index()],
            Blocked::Turn => {
                self.waits_for_turn[thread.index()] = true;
                return;
            }
        };
        let next = std::mem::replace(first, thread.0);
        self.next_waiting[thread.index()] = next;
    }

    /// Lets the threads of a list try again.
    fn wake(&mut self, plan: &Plan<'_, impl Demands>, mut waiting: u32) {
        while waiting != NONE {
            foretell_limit::check();
            let t = waiting as usize;
            let events = plan.trace_model.chains.events(ThreadId::from_index(t));
            self.ready.push(Reverse(events[self.done[t] as usize]));
            waiting = self.next_waiting[t];
        }
    }

    /// Lets the threads that wait for a thread try again.
    fn wake_followers(&mut self, plan: &Plan<'_, impl Demands>, thread: ThreadId) {
        let waiting = std::mem::replace(&mut self.waiting_for[thread.index()], NONE);
        self.wake(plan, waiting);
    }
}

/// The object whose events keep their observed order, if the event is of such a one.
fn turn_taking(trace_model: &TraceModel<'_>, kind: EventKind) -> Option<(ObjectKind, u32)> {
    match kind {
        EventKind::Wait { cond, .. }
        | EventKind::Woken { cond, .. }
        | EventKind::TimedOut { cond, .. }
        | EventKind::Notify { cond }
        | EventKind::NotifyAll { cond } => Some((ObjectKind::Condition, cond.0)),
        EventKind::Post { sem } | EventKind::Down { sem } => {
            // Where a semaphore is a lock, its sections may come in any order.
            let is_lock = trace_model.locks.of_semaphore(sem).is_some();
            (!is_lock).then_some((ObjectKind::Semaphore, sem.0))
        }
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => {
            Some((ObjectKind::Barrier, barrier.0))
        }
        _ => None,
    }
}

/// The section that a failed try-lock ran into.
pub(super) fn owner_met(trace_model: &TraceModel<'_>, e: EventId) -> Option<SectionId> {
    let TraceModel { trace, locks, .. } = trace_model;
    let (lock, _) = trace.event(e).kind.failed_try()?;
    locks.open_at(lock, e.0).into_iter().find(|&s| locks.makes_fail(trace, s, e))
}
