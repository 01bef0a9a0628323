//! State of an execution: owners of locks, waiting threads, last writes.

use super::outlook::{Ending, Outlook};
use super::registers::Registers;
use super::rule::Rule;
use crate::{
    BarrierId, CondId, Event, EventId, EventKind, LockId, SemId, ThreadId, Trace, ValueId, VarId,
};

/// The state after some events. [`State::step`] either takes an event that is enabled, or says
/// which rule forbids it and stays where it was (what an update has read may be in its register
/// already: taking the update again, mended, loads the same).
pub(super) struct State<'t> {
    threads: Vec<Thread>,
    locks: Vec<Lock>,
    variables: Vec<Variable>,
    conditions: Vec<Condition>,
    semaphores: Vec<u64>,
    barriers: Vec<Barrier>,
    registers: Registers<'t>,
    /// Where the contents of memory blocks are; none: values are not checked.
    trace: Option<&'t Trace>,
}

#[derive(Clone, Default)]
struct Thread {
    started: bool,
    joined: bool,
    /// Open atomic blocks.
    blocks: u32,
    fork: Option<EventId>,
    waiting: Option<Waiting>,
}

/// The wait that a thread is in.
#[derive(Clone, Copy)]
struct Waiting {
    cond: CondId,
    lock: LockId,
    /// Number of times that the lock was owned.
    depth: u32,
    wait: EventId,
    /// The notify that woke it, if one did.
    notify: Option<EventId>,
}

#[derive(Clone, Default)]
struct Lock {
    /// The writer, and the event at which it took the free lock.
    owner: Option<(ThreadId, EventId)>,
    /// Number of times that the owner holds it.
    depth: u32,
    /// The readers, each with how often it holds the lock and since when.
    readers: Vec<(ThreadId, u32, EventId)>,
}

#[derive(Clone, Copy)]
struct Variable {
    opaque: bool,
    /// The value of the last write, or the initial value, if known.
    value: Option<ValueId>,
    writer: Option<EventId>,
}

#[derive(Clone, Default)]
struct Condition {
    /// The wait set: its threads, with how each one's wait will end.
    waiters: Vec<(ThreadId, Ending)>,
    last_notify: Option<EventId>,
}

#[derive(Clone, Default)]
struct Barrier {
    parties: Option<u32>,
    arrivals: u64,
    /// For each thread (grown on demand) the number of the arrival that it has not yet left.
    arrived: Vec<Option<u64>>,
}

impl<'t> State<'t> {
    pub(super) fn new(trace: &'t Trace) -> State<'t> {
        let variable = |i| {
            let v = VarId::from_index(i);
            Variable {
                opaque: trace.is_opaque(v),
                value: trace.declared_initial_value(v),
                writer: None,
            }
        };
        let barrier =
            |i| Barrier { parties: trace.parties(BarrierId::from_index(i)), ..Barrier::default() };
        State {
            threads: vec![Thread::default(); trace.thread_count()],
            locks: vec![Lock::default(); trace.lock_count()],
            variables: (0..trace.variable_count()).map(variable).collect(),
            conditions: vec![Condition::default(); trace.condition_count()],
            semaphores: (0..trace.semaphore_count())
                .map(|i| trace.initial_count(SemId::from_index(i)))
                .collect(),
            barriers: (0..trace.barrier_count()).map(barrier).collect(),
            registers: Registers::new(trace),
            trace: Some(trace),
        }
    }

    /// The state before the first event of a trace that is still being made; see [`State::grow`].
    pub(super) fn empty() -> State<'t> {
        State {
            threads: Vec::new(),
            locks: Vec::new(),
            variables: Vec::new(),
            conditions: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
            registers: Registers::unknown(),
            trace: None,
        }
    }

    /// Makes room for what was named since, but for variables.
    pub(super) fn grow(&mut self, names: &Trace) {
        fn more<T: Clone + Default>(of: &mut Vec<T>, count: usize) {
            if of.len() < count {
                of.resize(count, T::default());
            }
        }
        let State { threads, locks, conditions, semaphores, barriers, .. } = self;
        more(threads, names.thread_count());
        more(locks, names.lock_count());
        more(conditions, names.condition_count());
        for i in semaphores.len()..names.semaphore_count() {
            semaphores.push(names.initial_count(SemId::from_index(i)));
        }
        for i in barriers.len()..names.barrier_count() {
            let parties = names.parties(BarrierId::from_index(i));
            barriers.push(Barrier { parties, ..Barrier::default() });
        }
    }

    /// An event of a thread that changes nothing else here. False if the thread is in a wait.
    pub(super) fn start(&mut self, t: ThreadId) -> bool {
        let thread = &mut self.threads[t.index()];
        thread.started = true;
        thread.waiting.is_none()
    }

    #[inline]
    pub(super) fn has_started(&self, t: ThreadId) -> bool {
        self.threads[t.index()].started
    }

    /// Runs one event, if it is enabled.
    #[inline]
    pub(super) fn step(&mut self, event: &Event, outlook: &Outlook) -> Result<(), Rule> {
        let (e, t) = (event.id, event.thread);
        if let Some(w) = self.threads[t.index()].waiting {
            self.end_wait(event, w)?;
            return Ok(());
        }
        match event.kind {
            EventKind::Read { var, value, register, .. } => {
                self.read(var, value)?;
                self.registers.load(register, value);
            }
            EventKind::Write { var, value, expr, .. } => {
                self.registers.write(expr, value)?;
                self.write(e, var, value);
            }
            EventKind::Update { var, old, new, register, expr } => {
                self.read(var, old)?;
                self.registers.load(register, old);
                self.registers.write(expr, new)?;
                self.write(e, var, new);
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.acquire(e, t, lock)?
            }
            EventKind::Release { lock } => self.release(t, lock)?,
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.acquire_shared(e, t, lock)?
            }
            EventKind::ReleaseShared { lock } => self.release_shared(t, lock)?,
            EventKind::Wait { cond, lock } => self.wait(e, t, cond, lock, outlook.ending_of(e))?,
            EventKind::Woken { cond, .. } | EventKind::TimedOut { cond, .. } => {
                return Err(Rule::NotWaiting { cond });
            }
            EventKind::Notify { cond } => self.notify(e, cond),
            EventKind::NotifyAll { cond } => self.notify_all(e, cond),
            EventKind::Post { sem } => {
                let count = &mut self.semaphores[sem.index()];
                *count = count.saturating_add(1);
            }
            EventKind::Down { sem } => {
                let count = &mut self.semaphores[sem.index()];
                *count = count.checked_sub(1).ok_or(Rule::SemaphoreEmpty)?;
            }
            EventKind::Arrive { barrier } => self.arrive(t, barrier)?,
            EventKind::Leave { barrier } => self.leave(t, barrier)?,
            EventKind::Fork { thread } => self.fork(e, t, thread)?,
            EventKind::Join { thread } => self.join(event, thread, outlook)?,
            EventKind::Begin { .. } => self.threads[t.index()].blocks += 1,
            EventKind::End { .. } => {
                let blocks = &mut self.threads[t.index()].blocks;
                *blocks = blocks.checked_sub(1).ok_or(Rule::EndWithoutBegin)?;
            }
            EventKind::Guard { expr } => self.registers.guard(expr)?,
            EventKind::Free { block } => {
                let freed = self.trace.map_or(&[][..], |trace| trace.variables_in(block));
                freed.iter().for_each(|&x| self.write(e, x, None));
            }
            EventKind::TryFailed { .. }
            | EventKind::TryFailedShared { .. }
            | EventKind::Fence
            | EventKind::Alloc { .. } => {}
        }
        self.threads[t.index()].started = true;
        Ok(())
    }

    #[inline]
    fn read(&mut self, var: VarId, seen: Option<ValueId>) -> Result<(), Rule> {
        let Some(seen) = seen else { return Ok(()) };
        let x = &mut self.variables[var.index()];
        match x.value {
            _ if x.opaque => Ok(()),
            Some(expected) if expected != seen => {
                Err(Rule::WrongValue { var, seen, expected, writer: x.writer })
            }
            // The first known read before every write tells the initial value.
            None if x.writer.is_none() => {
                x.value = Some(seen);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn write(&mut self, e: EventId, var: VarId, value: Option<ValueId>) {
        let x = &mut self.variables[var.index()];
        x.value = value;
        x.writer = Some(e);
    }

    /// From here on nothing is expected of the values of `var`.
    pub(super) fn make_opaque(&mut self, var: VarId) {
        self.variables[var.index()].opaque = true;
    }

    /// The holder that keeps `t` from taking `lock` as a writer, if there is one.
    #[inline]
    fn free_for(&self, t: ThreadId, lock: LockId) -> Result<(), Rule> {
        let l = &self.locks[lock.index()];
        if let Some((by, since)) = l.owner
            && by != t
        {
            return Err(Rule::LockHeld { lock, by, since, shared: false });
        }
        // The owner may hold the reader side too.
        if l.owner.is_some() {
            return Ok(());
        }
        // Another reader if there is one: it makes for a better message than the thread itself.
        match l.readers.iter().find(|r| r.0 != t).or(l.readers.first()) {
            Some(&(by, _, since)) => Err(Rule::LockHeld { lock, by, since, shared: true }),
            None => Ok(()),
        }
    }

    #[inline]
    fn acquire(&mut self, e: EventId, t: ThreadId, lock: LockId) -> Result<(), Rule> {
        self.free_for(t, lock)?;
        let l = &mut self.locks[lock.index()];
        if l.owner.is_none() {
            l.owner = Some((t, e));
        }
        l.depth += 1;
        Ok(())
    }

    #[inline]
    fn owned_by(&mut self, t: ThreadId, lock: LockId) -> Result<&mut Lock, Rule> {
        let l = &mut self.locks[lock.index()];
        match l.owner {
            Some((owner, _)) if owner == t => Ok(l),
            owner => Err(Rule::NotOwner { lock, owner }),
        }
    }

    #[inline]
    fn release(&mut self, t: ThreadId, lock: LockId) -> Result<(), Rule> {
        let l = self.owned_by(t, lock)?;
        l.depth -= 1;
        if l.depth == 0 {
            l.owner = None;
        }
        Ok(())
    }

    fn acquire_shared(&mut self, e: EventId, t: ThreadId, lock: LockId) -> Result<(), Rule> {
        let l = &mut self.locks[lock.index()];
        if let Some((by, since)) = l.owner
            && by != t
        {
            return Err(Rule::LockHeld { lock, by, since, shared: false });
        }
        match l.readers.iter_mut().find(|r| r.0 == t) {
            Some(reader) => reader.1 += 1,
            None => l.readers.push((t, 1, e)),
        }
        Ok(())
    }

    fn release_shared(&mut self, t: ThreadId, lock: LockId) -> Result<(), Rule> {
        let readers = &mut self.locks[lock.index()].readers;
        let position = readers.iter().position(|r| r.0 == t).ok_or(Rule::NotShared { lock })?;
        readers[position].1 -= 1;
        if readers[position].1 == 0 {
            readers.swap_remove(position);
        }
        Ok(())
    }

    fn wait(
        &mut self,
        e: EventId,
        t: ThreadId,
        cond: CondId,
        lock: LockId,
        ending: Ending,
    ) -> Result<(), Rule> {
        let l = self.owned_by(t, lock)?;
        let waiting = Waiting { cond, lock, depth: l.depth, wait: e, notify: None };
        l.owner = None;
        l.depth = 0;
        self.conditions[cond.index()].waiters.push((t, ending));
        self.threads[t.index()].waiting = Some(waiting);
        Ok(())
    }

    /// The event of a thread that is in the wait `w`: it must be the end of that wait.
    fn end_wait(&mut self, event: &Event, w: Waiting) -> Result<(), Rule> {
        let (cond, wait) = (w.cond, w.wait);
        match event.kind {
            EventKind::Woken { cond: c, lock: l } if (c, l) == (cond, w.lock) => {
                if w.notify.is_none() {
                    let passed_over = self.conditions[cond.index()].last_notify > Some(wait);
                    return Err(Rule::NotNotified { cond, wait, passed_over });
                }
            }
            EventKind::TimedOut { cond: c, lock: l } if (c, l) == (cond, w.lock) => {
                if let Some(notify) = w.notify {
                    return Err(Rule::Notified { cond, wait, notify });
                }
            }
            _ => return Err(Rule::InsideWait { cond, lock: w.lock, wait }),
        }
        self.free_for(event.thread, w.lock)?;
        self.abandon_wait(event.thread);
        let l = &mut self.locks[w.lock.index()];
        l.owner = Some((event.thread, event.id));
        l.depth = w.depth;
        Ok(())
    }

    /// Takes `t` out of its wait without giving its lock back.
    pub(super) fn abandon_wait(&mut self, t: ThreadId) {
        if let Some(w) = self.threads[t.index()].waiting.take() {
            self.conditions[w.cond.index()].waiters.retain(|&(u, _)| u != t);
        }
    }

    /// The wait that `t` is in, if it is in one.
    pub(super) fn wait_of(&self, t: ThreadId) -> Option<EventId> {
        self.threads[t.index()].waiting.map(|w| w.wait)
    }

    /// Wakes the waiter whose `woken` comes first; see the module's documentation.
    fn notify(&mut self, e: EventId, cond: CondId) {
        let c = &mut self.conditions[cond.index()];
        c.last_notify = Some(e);
        let urgency = |&(_, &(_, ending)): &(usize, &(ThreadId, Ending))| match ending {
            Ending::Woken(end) => (0, end.0),
            Ending::Never | Ending::Wrong => (1, 0),
            // None of these may be woken. If one must, the latest goes wrong last.
            Ending::TimedOut(end) => (2, u32::MAX - end.0),
        };
        if let Some((position, _)) = c.waiters.iter().enumerate().min_by_key(urgency) {
            let (t, _) = c.waiters.swap_remove(position);
            self.wake(e, t);
        }
    }

    fn notify_all(&mut self, e: EventId, cond: CondId) {
        let c = &mut self.conditions[cond.index()];
        c.last_notify = Some(e);
        for (t, _) in std::mem::take(&mut c.waiters) {
            self.wake(e, t);
        }
    }

    fn wake(&mut self, notify: EventId, t: ThreadId) {
        self.give(t, Some(notify));
    }

    /// Ends a wait, and changes the choice of its notify if that did not fit: two threads that
    /// waited when a notify came can be exchanged, as long as neither has continued.
    pub(super) fn settle(&mut self, t: ThreadId, woken: bool) {
        let Some(w) = self.threads[t.index()].waiting else { return };
        let waiters = &mut self.conditions[w.cond.index()].waiters;
        match (woken, w.notify) {
            (true, None) => {
                let others = self.threads.iter().enumerate().filter_map(|(u, thread)| {
                    let other = thread.waiting.filter(|other| other.cond == w.cond)?;
                    other.notify.filter(|&n| n > w.wait).map(|n| (n, u))
                });
                let Some((notify, u)) = others.min() else { return };
                waiters.push((ThreadId::from_index(u), Ending::Never));
                waiters.retain(|&(waiter, _)| waiter != t);
                self.give(ThreadId::from_index(u), None);
                self.give(t, Some(notify));
            }
            (false, Some(notify)) => {
                let threads = &self.threads;
                let waits_before = |&(u, _): &(ThreadId, Ending)| {
                    threads[u.index()].waiting.is_some_and(|other| other.wait < notify)
                };
                let Some(position) = waiters.iter().position(waits_before) else { return };
                let (u, _) = waiters.swap_remove(position);
                waiters.push((t, Ending::Never));
                self.give(u, Some(notify));
                self.give(t, None);
            }
            _ => {}
        }
    }

    fn give(&mut self, t: ThreadId, notify: Option<EventId>) {
        if let Some(w) = &mut self.threads[t.index()].waiting {
            w.notify = notify;
        }
    }

    fn arrive(&mut self, t: ThreadId, barrier: BarrierId) -> Result<(), Rule> {
        let b = &mut self.barriers[barrier.index()];
        b.parties()?;
        if b.arrived.len() <= t.index() {
            b.arrived.resize(t.index() + 1, None);
        }
        b.arrived[t.index()] = Some(b.arrivals);
        b.arrivals += 1;
        Ok(())
    }

    fn leave(&mut self, t: ThreadId, barrier: BarrierId) -> Result<(), Rule> {
        let b = &mut self.barriers[barrier.index()];
        let parties = b.parties()?;
        let arrival = b.arrived.get_mut(t.index()).ok_or(Rule::NotArrived)?;
        let start = match *arrival {
            Some(k) => k - k % u64::from(parties),
            None => return Err(Rule::NotArrived),
        };
        let of_generation = b.arrivals - start;
        if of_generation < u64::from(parties) {
            return Err(Rule::BarrierNotFull { arrived: of_generation, parties });
        }
        *arrival = None;
        Ok(())
    }

    fn fork(&mut self, e: EventId, t: ThreadId, child: ThreadId) -> Result<(), Rule> {
        let u = &mut self.threads[child.index()];
        if child == t {
            return Err(Rule::ForksItself);
        }
        if let Some(fork) = u.fork {
            return Err(Rule::ForkedTwice { fork });
        }
        if u.started || u.joined {
            return Err(Rule::ForkedLate);
        }
        u.fork = Some(e);
        Ok(())
    }

    fn join(&mut self, event: &Event, child: ThreadId, outlook: &Outlook) -> Result<(), Rule> {
        match outlook.last_of(child) {
            _ if child == event.thread => Err(Rule::JoinsItself),
            Some(last) if last > event.id => Err(Rule::RunsOn { last }),
            _ => {
                self.threads[child.index()].joined = true;
                Ok(())
            }
        }
    }
}

impl Barrier {
    fn parties(&self) -> Result<u32, Rule> {
        match self.parties {
            Some(0) => Err(Rule::NoParties { declared: true }),
            Some(n) => Ok(n),
            None => Err(Rule::NoParties { declared: false }),
        }
    }
}
