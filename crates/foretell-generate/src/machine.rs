//! Runs a [`Program`] under a random schedule and writes down what happens: an interpreter of the
//! table of semantics section 1. Every trace it writes is legal, and its values are real.
//!
//! A run is cut off at the wanted number of events. Where every thread is blocked, the machine lets
//! a waiter time out; if there is none, it skips a semaphore, barrier or join that cannot go on; if
//! there is none of these either, the run ends there, deadlocked. The same happens to a thread that
//! waits very long while others go on, so that long runs do not lose their threads one by one.

mod recorder;

use foretell_trace::{EventKind, LockId, MemoryOrder, Op, ThreadId, Trace};

use crate::program::{Do, Instr, LOCALS, Object, Program};
use crate::rng::Rng;
use recorder::Recorder;

/// Instructions without events that a thread may run in a row before others get a chance.
const PATIENCE: usize = 64;

/// Number of times, for each thread there is, that a thread may be turned away before it gives up
/// on a semaphore, a barrier or a wait.
const PERSISTENCE: usize = 20;

/// Runs the program for at most `events` events.
pub(crate) fn run(program: &Program, events: usize, rng: Rng) -> Trace {
    let mut machine = Machine::new(program, rng);
    machine.recorder.builder.reserve(events.min(1 << 26));
    machine.schedule(events);
    machine.declare_order_only();
    machine.recorder.builder.build()
}

struct Machine<'p> {
    program: &'p Program,
    rng: Rng,
    threads: Vec<Thread>,
    variables: Vec<i64>,
    locks: Vec<Lock>,
    /// The wait sets.
    conditions: Vec<Vec<usize>>,
    semaphores: Vec<u64>,
    barriers: Vec<Barrier>,
    /// The thread between `Lucky` and `Unlucky`, and how deep.
    lucky: Option<(usize, u32)>,
    recorder: Recorder<'p>,
}

/// A thread's own state.
pub(crate) struct Thread {
    pc: usize,
    pub(crate) id: ThreadId,
    started: bool,
    wait: Option<Wait>,
    /// Number of times that it was turned away since its last event.
    denied: usize,
    pub(crate) locals: [i64; LOCALS],
    picks: [u32; LOCALS],
    rounds: [u32; LOCALS],
    arrivals: Vec<(u32, u64)>,
}

#[derive(Clone, Copy)]
struct Wait {
    cond: u32,
    lock: u32,
    depth: u32,
    timed: bool,
    notified: bool,
}

#[derive(Clone, Default)]
struct Lock {
    owner: Option<usize>,
    depth: u32,
    readers: Vec<(usize, u32)>,
}

#[derive(Clone, Default)]
struct Barrier {
    arrivals: u64,
}

/// Result of a thread's turn.
#[derive(PartialEq, Eq)]
enum Turn {
    /// It ran one event.
    Ran,
    /// It cannot go on now, or never again.
    Blocked,
}

fn grown<T: Clone + Default>(table: &mut Vec<T>, index: u32) -> &mut T {
    let i = index as usize;
    if table.len() <= i {
        table.resize(i + 1, T::default());
    }
    &mut table[i]
}

impl<'p> Machine<'p> {
    fn new(program: &'p Program, rng: Rng) -> Machine<'p> {
        let mut recorder = Recorder::new(program);
        let mut threads: Vec<_> = (0..program.threads.len())
            .map(|t| Thread {
                pc: 0,
                id: recorder.builder.thread(&format!("T{}", t + 1)),
                started: true,
                wait: None,
                denied: 0,
                locals: [0; LOCALS],
                picks: [0; LOCALS],
                rounds: [0; LOCALS],
                arrivals: Vec::new(),
            })
            .collect();
        for instr in program.threads.iter().flatten() {
            if let Do::Fork(child) = instr.what {
                threads[child].started = false;
            }
        }
        Machine {
            program,
            rng,
            threads,
            variables: Vec::new(),
            locks: Vec::new(),
            conditions: Vec::new(),
            semaphores: program.semaphores.clone(),
            barriers: Vec::new(),
            lucky: None,
            recorder,
        }
    }

    /// Declares some locks order-only, where memory orders matter.
    fn declare_order_only(&mut self) {
        if self.program.orders && self.rng.chance(25) {
            let locks = self.recorder.builder.trace().lock_count();
            for lock in (0..locks).map(LockId::from_index) {
                if self.rng.chance(50) {
                    self.recorder.builder.set_order_only(lock);
                }
            }
        }
    }

    fn schedule(&mut self, events: usize) {
        let n = self.threads.len();
        let mut current = self.rng.below(n);
        while self.recorder.builder.trace().len() < events {
            if self.rng.chance(self.program.switch) {
                current = self.rng.below(n);
            }
            if self.turn(current) == Turn::Ran {
                continue;
            }
            let start = self.rng.below(n);
            let next = (0..n).map(|k| (start + k) % n).find(|&t| self.turn(t) == Turn::Ran);
            match next.or_else(|| self.unblock()) {
                Some(t) => current = t,
                None => break,
            }
        }
    }

    /// Gives thread `t` the chance to run one event.
    fn turn(&mut self, t: usize) -> Turn {
        if !self.threads[t].started {
            return Turn::Blocked;
        }
        let desperate = self.threads[t].denied > PERSISTENCE * self.threads.len();
        self.threads[t].denied += 1;
        if let Some(wait) = self.threads[t].wait {
            let ends = wait.notified || desperate || wait.timed && self.rng.chance(25);
            return if ends { self.end_wait(t, wait) } else { Turn::Blocked };
        }
        let program = self.program;
        for _ in 0..PATIENCE {
            let Some(&instr) = program.threads[t].get(self.threads[t].pc) else {
                return Turn::Blocked;
            };
            match self.execute(t, instr) {
                Effect::Event(kind) => {
                    self.threads[t].pc += 1;
                    self.record(t, kind, instr);
                    return Turn::Ran;
                }
                Effect::EventThen(kind, pc) => {
                    self.threads[t].pc = pc;
                    self.record(t, kind, instr);
                    return Turn::Ran;
                }
                Effect::Silent(pc) => self.threads[t].pc = pc,
                Effect::Blocked if desperate && gives_up(instr) => self.threads[t].pc += 1,
                Effect::Blocked => return Turn::Blocked,
            }
        }
        Turn::Blocked
    }

    fn record(&mut self, t: usize, kind: EventKind, instr: Instr) {
        self.threads[t].denied = 0;
        // Luck is given back at once, or the same thread would have it for ever.
        while let Some(Instr { what: Do::Unlucky, .. }) =
            self.program.threads[t].get(self.threads[t].pc)
        {
            self.control(t, Do::Unlucky, 0);
            self.threads[t].pc += 1;
        }
        let site = self.recorder.site(instr.line);
        let order = self.order(kind);
        self.recorder.builder.push_ordered(self.threads[t].id, kind, order, Some(site));
    }

    /// A memory order that the event may have.
    fn order(&mut self, kind: EventKind) -> MemoryOrder {
        use MemoryOrder::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        let orders: &[MemoryOrder] = match kind.op() {
            _ if !self.program.orders => return SeqCst,
            Op::AtomicRead => &[Relaxed, Relaxed, Acquire, Acquire, SeqCst],
            Op::AtomicWrite => &[Relaxed, Relaxed, Release, Release, SeqCst],
            Op::AtomicUpdate => &[Relaxed, Relaxed, Acquire, Release, AcqRel, SeqCst],
            Op::Fence => &[Acquire, Release, AcqRel, SeqCst],
            _ => return SeqCst,
        };
        orders[self.rng.below(orders.len())]
    }

    fn object(&self, t: usize, object: Object) -> u32 {
        object.base + object.stride * self.threads[t].picks[usize::from(object.slot)]
    }

    /// The effect of an instruction; nothing changes if it is blocked.
    fn execute(&mut self, t: usize, instr: Instr) -> Effect {
        let next = self.threads[t].pc + 1;
        match instr.what {
            Do::Read { .. } | Do::Write { .. } | Do::Update { .. } | Do::Hidden(_) => {
                self.access(t, instr.what)
            }
            Do::Acquire(_)
            | Do::Release(_)
            | Do::AcquireShared(_)
            | Do::ReleaseShared(_)
            | Do::Try { .. }
            | Do::TryShared { .. } => self.lock(t, instr.what),
            Do::Wait { cond, lock, timed } => self.wait(t, cond, lock, timed),
            Do::Notify(cond) | Do::NotifyAll(cond) => {
                let all = matches!(instr.what, Do::NotifyAll(_));
                self.notify(self.object(t, cond), all)
            }
            Do::Post(s) | Do::Down(s) => {
                let s = self.object(t, s);
                let sem = self.recorder.semaphore(s);
                let count = grown(&mut self.semaphores, s);
                match instr.what {
                    Do::Post(_) => *count += 1,
                    _ if *count == 0 => return Effect::Blocked,
                    _ => *count -= 1,
                }
                Effect::Event(match instr.what {
                    Do::Post(_) => EventKind::Post { sem },
                    _ => EventKind::Down { sem },
                })
            }
            Do::Arrive(b) => self.arrive(t, self.object(t, b)),
            Do::Leave(b) => self.leave(t, self.object(t, b)),
            Do::Fork(child) if self.threads[child].started => Effect::Silent(next),
            Do::Fork(child) => {
                self.threads[child].started = true;
                Effect::Event(EventKind::Fork { thread: self.threads[child].id })
            }
            Do::Join(child) if self.has_finished(child) => {
                Effect::Event(EventKind::Join { thread: self.threads[child].id })
            }
            Do::Join(_) => Effect::Blocked,
            Do::Begin => Effect::Event(EventKind::Begin { label: self.recorder.label(instr.line) }),
            Do::End => Effect::Event(EventKind::End { label: None }),
            Do::Fence => Effect::Event(EventKind::Fence),
            _ => self.control(t, instr.what, next),
        }
    }

    fn has_finished(&self, t: usize) -> bool {
        let thread = &self.threads[t];
        let at_end = thread.pc >= self.program.threads[t].len();
        thread.started && at_end && thread.wait.is_none()
    }

    /// Instructions that steer the thread.
    fn control(&mut self, t: usize, what: Do, next: usize) -> Effect {
        match what {
            Do::Branch { test, otherwise } => {
                let holds = self.recorder.holds(&self.threads[t], test);
                let target = if holds { next } else { otherwise };
                match self.recorder.guard(t, &self.threads[t], test) {
                    Some(expr) => Effect::EventThen(EventKind::Guard { expr }, target),
                    None => Effect::Silent(target),
                }
            }
            Do::Pick { slot, bound } => {
                self.threads[t].picks[usize::from(slot)] = self.rng.below(bound as usize) as u32;
                Effect::Silent(next)
            }
            Do::PickWithin { slot, of, stride, bound } => {
                let multiple = self.rng.below(bound as usize) as u32;
                let picks = &mut self.threads[t].picks;
                picks[usize::from(slot)] = picks[usize::from(of)] + stride * multiple;
                Effect::Silent(next)
            }
            Do::Jump(target) => Effect::Silent(target),
            Do::Repeat { times, slot, back } => {
                let rounds = &mut self.threads[t].rounds[usize::from(slot)];
                if *rounds < times {
                    *rounds += 1;
                    Effect::Silent(back)
                } else {
                    *rounds = 0;
                    Effect::Silent(next)
                }
            }
            Do::Sometimes { percent, otherwise } => {
                Effect::Silent(if self.rng.chance(percent.into()) { next } else { otherwise })
            }
            Do::Lucky => match &mut self.lucky {
                Some((owner, depth)) if *owner == t => {
                    *depth += 1;
                    Effect::Silent(next)
                }
                Some(_) => Effect::Blocked,
                free => {
                    *free = Some((t, 1));
                    Effect::Silent(next)
                }
            },
            Do::Unlucky => {
                self.lucky = match self.lucky {
                    Some((owner, depth)) if owner == t && depth > 1 => Some((t, depth - 1)),
                    Some((owner, _)) if owner == t => None,
                    other => other,
                };
                Effect::Silent(next)
            }
            _ => Effect::Silent(next),
        }
    }

    fn access(&mut self, t: usize, what: Do) -> Effect {
        match what {
            Do::Read { var, atomic, into } => {
                let x = self.object(t, var);
                let id = self.recorder.variable(x);
                let value = self.load(x);
                self.threads[t].locals[usize::from(into)] = value;
                let register = self.recorder.load(t, &self.threads[t], into);
                let value = self.recorder.value(value);
                Effect::Event(EventKind::Read { var: id, atomic, value, register })
            }
            Do::Write { var, atomic, value } => {
                let x = self.object(t, var);
                let id = self.recorder.variable(x);
                let expr = self.recorder.expression(t, &self.threads[t], value);
                let value = self.recorder.evaluate(&self.threads[t], value, &mut self.rng);
                *grown(&mut self.variables, x) = value;
                let value = self.recorder.value(value);
                Effect::Event(EventKind::Write { var: id, atomic, value, expr })
            }
            Do::Update { var, into, value } => {
                let x = self.object(t, var);
                let id = self.recorder.variable(x);
                let old = self.load(x);
                self.threads[t].locals[usize::from(into)] = old;
                let register = self.recorder.load(t, &self.threads[t], into);
                let expr = self.recorder.expression(t, &self.threads[t], value);
                let new = self.recorder.evaluate(&self.threads[t], value, &mut self.rng);
                *grown(&mut self.variables, x) = new;
                let (old, new) = (self.recorder.value(old), self.recorder.value(new));
                Effect::Event(EventKind::Update { var: id, old, new, register, expr })
            }
            Do::Hidden(var) => {
                let x = self.object(t, var);
                let id = self.recorder.variable(x);
                let state = grown(&mut self.variables, x);
                let old = *state;
                // The recorder numbers the states; other tools may leave one value there.
                *state = if x.is_multiple_of(2) { old + 1 } else { 1 };
                let new = *state;
                let (old, new) = (self.recorder.value(old), self.recorder.value(new));
                Effect::Event(EventKind::Update { var: id, old, new, register: None, expr: None })
            }
            _ => Effect::Blocked,
        }
    }

    /// The value of a variable; an opaque one may be written by unrecorded code first.
    fn load(&mut self, x: u32) -> i64 {
        if x < self.program.opaque && self.rng.chance(30) {
            *grown(&mut self.variables, x) = self.rng.below(4) as i64;
        }
        *grown(&mut self.variables, x)
    }

    fn lock(&mut self, t: usize, what: Do) -> Effect {
        let (Do::Acquire(object)
        | Do::Release(object)
        | Do::AcquireShared(object)
        | Do::ReleaseShared(object)
        | Do::Try { lock: object, .. }
        | Do::TryShared { lock: object, .. }) = what
        else {
            return Effect::Blocked;
        };
        let l = self.object(t, object);
        let id = self.recorder.lock(l);
        let lock = grown(&mut self.locks, l);
        match what {
            Do::Acquire(_) if lock.take(t) => Effect::Event(EventKind::Acquire { lock: id }),
            Do::Release(_) if lock.give_back(t) => Effect::Event(EventKind::Release { lock: id }),
            Do::AcquireShared(_) if lock.take_shared(t) => {
                Effect::Event(EventKind::AcquireShared { lock: id })
            }
            Do::ReleaseShared(_) if lock.give_back_shared(t) => {
                Effect::Event(EventKind::ReleaseShared { lock: id })
            }
            Do::Try { .. } if lock.take(t) => Effect::Event(EventKind::TryAcquire { lock: id }),
            Do::Try { otherwise, .. } if lock.is_held_besides(t) => {
                Effect::EventThen(EventKind::TryFailed { lock: id }, otherwise)
            }
            Do::TryShared { .. } if lock.take_shared(t) => {
                Effect::Event(EventKind::TryAcquireShared { lock: id })
            }
            Do::TryShared { otherwise, .. } => {
                Effect::EventThen(EventKind::TryFailedShared { lock: id }, otherwise)
            }
            _ => Effect::Blocked,
        }
    }

    fn wait(&mut self, t: usize, cond: Object, lock: Object, timed: bool) -> Effect {
        let (c, l) = (self.object(t, cond), self.object(t, lock));
        let state = grown(&mut self.locks, l);
        if state.owner != Some(t) {
            return Effect::Blocked;
        }
        let wait = Wait { cond: c, lock: l, depth: state.depth, timed, notified: false };
        (state.owner, state.depth) = (None, 0);
        self.threads[t].wait = Some(wait);
        grown(&mut self.conditions, c).push(t);
        let (cond, lock) = (self.recorder.condition(c), self.recorder.lock(l));
        Effect::Event(EventKind::Wait { cond, lock })
    }

    /// Ends a wait, notified or timed out, if the lock is free.
    fn end_wait(&mut self, t: usize, wait: Wait) -> Turn {
        let lock = grown(&mut self.locks, wait.lock);
        if !lock.take(t) {
            return Turn::Blocked;
        }
        lock.depth = wait.depth;
        self.threads[t].wait = None;
        grown(&mut self.conditions, wait.cond).retain(|&u| u != t);
        let (cond, lock) = (self.recorder.condition(wait.cond), self.recorder.lock(wait.lock));
        let kind = if wait.notified {
            EventKind::Woken { cond, lock }
        } else {
            EventKind::TimedOut { cond, lock }
        };
        // The wait is the instruction before the one to come.
        let instr = self.program.threads[t][self.threads[t].pc - 1];
        self.record(t, kind, instr);
        Turn::Ran
    }

    fn notify(&mut self, c: u32, all: bool) -> Effect {
        let cond = self.recorder.condition(c);
        let waiters = grown(&mut self.conditions, c);
        let woken = if all {
            std::mem::take(waiters)
        } else if waiters.is_empty() {
            Vec::new()
        } else {
            let chosen = self.rng.below(waiters.len());
            vec![waiters.swap_remove(chosen)]
        };
        for t in woken {
            if let Some(wait) = &mut self.threads[t].wait {
                wait.notified = true;
            }
        }
        Effect::Event(if all { EventKind::NotifyAll { cond } } else { EventKind::Notify { cond } })
    }

    fn arrive(&mut self, t: usize, b: u32) -> Effect {
        let barrier = self.recorder.barrier(b);
        let state = grown(&mut self.barriers, b);
        let arrivals = &mut self.threads[t].arrivals;
        arrivals.retain(|a| a.0 != b);
        arrivals.push((b, state.arrivals));
        state.arrivals += 1;
        Effect::Event(EventKind::Arrive { barrier })
    }

    fn leave(&mut self, t: usize, b: u32) -> Effect {
        let parties = u64::from(self.recorder.parties(b));
        let arrivals = &mut self.threads[t].arrivals;
        let Some(place) = arrivals.iter().position(|a| a.0 == b) else { return Effect::Blocked };
        let generation = arrivals[place].1 / parties;
        if grown(&mut self.barriers, b).arrivals < (generation + 1) * parties {
            return Effect::Blocked;
        }
        arrivals.swap_remove(place);
        Effect::Event(EventKind::Leave { barrier: self.recorder.barrier(b) })
    }

    /// Where no thread can run: time out a waiter, else skip what blocks some thread for good. The
    /// thread that goes on, if any.
    fn unblock(&mut self) -> Option<usize> {
        let n = self.threads.len();
        let start = self.rng.below(n);
        let order = move || (0..n).map(move |k| (start + k) % n);
        let ended = order()
            .find(|&t| self.threads[t].wait.is_some_and(|w| self.end_wait(t, w) == Turn::Ran));
        if ended.is_some() {
            return ended;
        }
        let stuck = order().find(|&t| {
            let thread = &self.threads[t];
            let next = self.program.threads[t].get(thread.pc);
            thread.started
                && thread.wait.is_none()
                && next.is_some_and(|i| matches!(i.what, Do::Down(_) | Do::Leave(_) | Do::Join(_)))
        })?;
        self.threads[stuck].pc += 1;
        Some(stuck)
    }
}

/// Whether a thread may skip this instruction rather than be blocked for ever.
fn gives_up(instr: Instr) -> bool {
    matches!(instr.what, Do::Down(_) | Do::Leave(_))
}

/// Effect of an instruction outside its thread.
enum Effect {
    /// An event; the thread goes on with the next instruction.
    Event(EventKind),
    /// An event; the thread goes on elsewhere.
    EventThen(EventKind, usize),
    /// No event; the thread goes on there.
    Silent(usize),
    /// Nothing: it is not enabled.
    Blocked,
}

impl Lock {
    /// Takes the lock for `t`, if it can.
    fn take(&mut self, t: usize) -> bool {
        let free = match self.owner {
            Some(owner) => owner == t,
            None => self.readers.is_empty(),
        };
        if free {
            self.owner = Some(t);
            self.depth += 1;
        }
        free
    }

    /// Whether a thread other than `t` holds it.
    fn is_held_besides(&self, t: usize) -> bool {
        self.owner.is_some_and(|owner| owner != t) || self.readers.iter().any(|r| r.0 != t)
    }

    fn give_back(&mut self, t: usize) -> bool {
        let owned = self.owner == Some(t);
        if owned {
            self.depth -= 1;
            self.owner = (self.depth > 0).then_some(t);
        }
        owned
    }

    fn take_shared(&mut self, t: usize) -> bool {
        if self.owner.is_some_and(|owner| owner != t) {
            return false;
        }
        match self.readers.iter_mut().find(|r| r.0 == t) {
            Some(reader) => reader.1 += 1,
            None => self.readers.push((t, 1)),
        }
        true
    }

    fn give_back_shared(&mut self, t: usize) -> bool {
        let Some(place) = self.readers.iter().position(|r| r.0 == t) else { return false };
        self.readers[place].1 -= 1;
        if self.readers[place].1 == 0 {
            self.readers.swap_remove(place);
        }
        true
    }
}
