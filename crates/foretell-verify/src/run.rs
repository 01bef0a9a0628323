//! One schedule, event by event: is each enabled where it stands, and does each read see what it
//! saw?
//!
//! This is the table of semantics section 1 with sections 2 and 6, written down once. The state
//! after every step is the obvious one (owners, counts, last writes, …); the only rule that needs
//! to look ahead is which waiter a notify wakes, see `waits.rs`.

use std::collections::BTreeMap;

use foretell_trace::expr::Evaluator;
use foretell_trace::{
    BarrierId, CondId, EventId, EventKind, LockId, Model, RegId, SemId, ThreadId, Trace, Value,
    VarId,
};

use crate::observed::Observed;
use crate::refusal::{Refusal, Rule, describe};
use crate::waits::{Future, WaitSet};

/// State after a feasible schedule.
#[derive(Debug)]
pub struct Run {
    /// For each event of the trace, its position in the schedule plus one; 0 if it is not there.
    positions: Vec<u32>,
    threads: Vec<ThreadState>,
    locks: Vec<LockState>,
    /// Number of times that each thread holds each lock shared, where it does.
    shared: BTreeMap<(LockId, ThreadId), u32>,
    /// For each variable, the last write.
    last_writes: Vec<Option<EventId>>,
    /// `symbolic`: for each step, the value of its variable before and after it. Empty in the other
    /// models.
    changes: Vec<Change>,
    /// `symbolic`: the values of variables, `None` where unknown. Empty in the other models.
    memory: Vec<Option<Value>>,
    length: usize,
}

#[derive(Clone, Debug)]
struct ThreadState {
    started: bool,
    next: Option<EventId>,
    ran: u32,
    /// The last event, if it is broken.
    broken: Option<EventId>,
    /// The wait it is in: condition, lock, depth to come back to, what is to become of it.
    wait: Option<(CondId, LockId, u32, Future)>,
}

#[derive(Clone, Copy, Default, Debug)]
struct LockState {
    owner: Option<ThreadId>,
    depth: u32,
}

/// The value of a variable before and after an access to it; `None` is unknown.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Change {
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

impl Run {
    /// Runs the schedule.
    pub(crate) fn of(
        trace: &Trace,
        model: Model,
        observed: &Observed,
        schedule: &[EventId],
    ) -> Result<Run, Refusal> {
        Machine::after(trace, model, observed, schedule, &[]).map(|machine| machine.run)
    }

    /// Runs a schedule once more, and says for each of `next`, next events after it, which rule
    /// keeps it from running; `None` if none does that could change by what other threads do. No
    /// waiter of `staying`, `woken` events of `next`, is notified, if some choice allows that.
    pub(crate) fn blocked(
        trace: &Trace,
        (model, observed): (Model, &Observed),
        schedule: &[EventId],
        (next, staying): (&[EventId], &[EventId]),
    ) -> Result<Vec<Option<Rule>>, Refusal> {
        let machine = Machine::after(trace, model, observed, schedule, staying)?;
        Ok(next.iter().map(|&e| machine.blocked(e)).collect())
    }

    /// Returns the number of events of the schedule.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The position of an event in the schedule.
    pub fn position(&self, e: EventId) -> Option<usize> {
        self.positions.get(e.index()).and_then(|&p| p.checked_sub(1)).map(|p| p as usize)
    }

    /// The next event of a thread that is started and not cut.
    pub fn pending(&self, t: ThreadId) -> Option<EventId> {
        let thread = self.threads.get(t.index())?;
        if thread.started && thread.broken.is_none() { thread.next } else { None }
    }

    /// The broken event that cuts a thread, if one does.
    pub fn cut_by(&self, t: ThreadId) -> Option<EventId> {
        self.threads.get(t.index()).and_then(|t| t.broken)
    }

    /// The broken events, by thread.
    pub fn broken(&self) -> impl Iterator<Item = EventId> + '_ {
        self.threads.iter().filter_map(|t| t.broken)
    }

    /// The last write of a variable in the schedule; `None` if it still has its initial value.
    pub fn last_write(&self, x: VarId) -> Option<EventId> {
        self.last_writes.get(x.index()).copied().flatten()
    }

    /// The thread that owns a lock as a writer.
    pub fn owner(&self, l: LockId) -> Option<ThreadId> {
        self.locks.get(l.index()).and_then(|l| l.owner)
    }

    /// Whether a thread holds a lock shared.
    pub fn shares(&self, l: LockId, t: ThreadId) -> bool {
        self.shared.contains_key(&(l, t))
    }

    /// Whether no thread holds a lock.
    pub(crate) fn is_free(&self, l: LockId) -> bool {
        self.owner(l).is_none() && self.readers(l).next().is_none()
    }

    /// The threads that hold a lock shared.
    fn readers(&self, l: LockId) -> impl Iterator<Item = ThreadId> {
        self.shared
            .range((l, ThreadId(0))..)
            .take_while(move |hold| hold.0.0 == l)
            .map(|hold| hold.0.1)
    }

    /// `symbolic`: the value of a variable after the schedule, if it is known.
    pub(crate) fn value(&self, x: VarId) -> Option<Value> {
        self.memory.get(x.index()).copied().flatten()
    }

    /// Returns the change that the access at a position of the schedule made to its variable
    /// (`symbolic` only).
    pub(crate) fn change(&self, step: usize) -> Change {
        self.changes.get(step).copied().unwrap_or_default()
    }
}

/// A step that is refused, without its place in the schedule.
type StepResult = Result<(), (Rule, String)>;

fn refuse(rule: Rule, message: impl Into<String>) -> StepResult {
    Err((rule, message.into()))
}

/// The state while a schedule runs: what [`Run`] keeps, and what only the steps need.
struct Machine<'a> {
    trace: &'a Trace,
    model: Model,
    observed: &'a Observed,
    run: Run,
    waits: Vec<WaitSet>,
    counts: Vec<u64>,
    arrivals: Vec<u64>,
    /// The generation of the last arrival of a thread at a barrier, until it leaves.
    arrived: BTreeMap<(ThreadId, BarrierId), u64>,
    /// For each opaque variable, its last access.
    opaque: BTreeMap<VarId, EventId>,
    /// `symbolic`: the values of registers, `None` where unknown.
    registers: Vec<Option<Value>>,
    evaluator: Evaluator,
    /// The `woken` events after the schedule whose waiters must not be notified.
    staying: &'a [EventId],
}

impl<'a> Machine<'a> {
    /// The state after a feasible schedule.
    fn after(
        trace: &'a Trace,
        model: Model,
        observed: &'a Observed,
        schedule: &[EventId],
        staying: &'a [EventId],
    ) -> Result<Self, Refusal> {
        let mut machine = Machine::new(trace, model, observed, schedule);
        machine.staying = staying;
        for (step, &e) in schedule.iter().enumerate() {
            foretell_limit::check();
            machine
                .step(step, e)
                .map_err(|(rule, message)| Refusal::at(trace, rule, e, Some(step), message))?;
        }
        Ok(machine)
    }

    /// The rule by which the next event of a thread waits for another thread, if it does.
    fn blocked(&self, e: EventId) -> Option<Rule> {
        let t = self.trace.thread(e);
        let held = |lock| self.must_be_free(lock).err();
        let refused = match self.trace.event(e).kind {
            EventKind::Acquire { lock } if self.run.owner(lock) != Some(t) => held(lock),
            EventKind::AcquireShared { lock } => {
                let owned = self.run.owner(lock).is_some_and(|owner| owner != t);
                held(lock).filter(|_| owned)
            }
            EventKind::Woken { cond, lock } => match self.run.threads[t.index()].wait {
                Some((.., future)) if self.waits[cond.index()].holds(t, future) => {
                    return Some(Rule::NotNotified);
                }
                _ => held(lock),
            },
            EventKind::Down { sem } if self.counts[sem.index()] == 0 => return Some(Rule::NoCount),
            EventKind::Leave { barrier } => {
                let generation = *self.arrived.get(&(t, barrier))?;
                let parties = u64::from(self.trace.parties(barrier)?);
                let is_short = self.arrivals[barrier.index()] < (generation + 1) * parties;
                return is_short.then_some(Rule::PartiesMissing);
            }
            EventKind::Join { thread } => self.join(thread).err(),
            _ => None,
        };
        refused.map(|(rule, _)| rule)
    }

    fn new(trace: &'a Trace, model: Model, observed: &'a Observed, schedule: &[EventId]) -> Self {
        let mut positions = vec![0; trace.len()];
        for (step, e) in schedule.iter().enumerate() {
            foretell_limit::check();
            // No such event, or a second time: refused at its step.
            if let Some(p @ 0) = positions.get_mut(e.index()) {
                *p = step as u32 + 1;
            }
        }
        let thread = |t| ThreadState {
            started: !observed.is_forked(t),
            next: observed.first(t),
            ran: 0,
            broken: None,
            wait: None,
        };
        let threads = (0..trace.thread_count()).map(|t| thread(ThreadId::from_index(t))).collect();
        let initial = |x| observed.initial(x).and_then(|v| trace.values().get(v));
        let (memory, registers) = match model {
            Model::Symbolic => (
                (0..trace.variable_count()).map(|x| initial(VarId::from_index(x))).collect(),
                vec![None; trace.register_count()],
            ),
            Model::View | Model::Value => (Vec::new(), Vec::new()),
        };
        let counts =
            (0..trace.semaphore_count()).map(|s| trace.initial_count(SemId::from_index(s)));
        Machine {
            trace,
            model,
            observed,
            run: Run {
                positions,
                threads,
                locks: vec![LockState::default(); trace.lock_count()],
                shared: BTreeMap::new(),
                last_writes: vec![None; trace.variable_count()],
                changes: Vec::new(),
                memory,
                length: schedule.len(),
            },
            waits: vec![WaitSet::default(); trace.condition_count()],
            counts: counts.collect(),
            arrivals: vec![0; trace.barrier_count()],
            arrived: BTreeMap::new(),
            opaque: BTreeMap::new(),
            registers,
            evaluator: Evaluator::default(),
            staying: &[],
        }
    }

    /// Runs one event, or says which rule forbids it here.
    fn step(&mut self, step: usize, e: EventId) -> StepResult {
        let t = self.turn(step, e)?;
        let broken = !self.view_preserved(t, e);
        if self.model == Model::Symbolic {
            self.run.changes.push(Change::default());
        }
        match self.trace.event(e).kind {
            EventKind::Read { var, .. }
            | EventKind::Write { var, .. }
            | EventKind::Update { var, .. } => {
                self.access(e, var)?;
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.acquire(t, lock)?
            }
            EventKind::Release { lock } => self.release(t, lock)?,
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.acquire_shared(t, lock)?
            }
            EventKind::ReleaseShared { lock } => self.release_shared(t, lock)?,
            EventKind::Wait { cond, lock } => self.wait(t, e, cond, lock)?,
            EventKind::Woken { cond, lock } => self.woken(t, cond, lock)?,
            EventKind::TimedOut { cond, lock } => self.timed_out(t, cond, lock)?,
            EventKind::Notify { cond } => self.waits[cond.index()].notify(),
            EventKind::NotifyAll { cond } => self.waits[cond.index()].notify_all(),
            EventKind::Post { sem } => {
                self.counts[sem.index()] = self.counts[sem.index()].saturating_add(1);
            }
            EventKind::Down { sem } => self.down(sem)?,
            EventKind::Arrive { barrier } => self.arrive(t, barrier),
            EventKind::Leave { barrier } => self.leave(t, barrier)?,
            EventKind::Fork { thread } => self.fork(thread)?,
            EventKind::Join { thread } => self.join(thread)?,
            EventKind::Guard { expr } => self.guard(expr)?,
            EventKind::Free { block } => {
                for &x in self.trace.variables_in(block) {
                    self.access(e, x)?;
                }
            }
            EventKind::TryFailed { .. }
            | EventKind::TryFailedShared { .. }
            | EventKind::Begin { .. }
            | EventKind::End { .. }
            | EventKind::Fence
            | EventKind::Alloc { .. } => {}
        }
        let thread = &mut self.run.threads[t.index()];
        thread.next = self.observed.next(e);
        thread.ran += 1;
        thread.broken = broken.then_some(e);
        Ok(())
    }

    /// Whether it is the event's turn in its thread.
    fn turn(&self, step: usize, e: EventId) -> Result<ThreadId, (Rule, String)> {
        if e.index() >= self.trace.len() {
            return Err((Rule::NoSuchEvent, format!("the trace has {} events", self.trace.len())));
        }
        if let Some(first) = self.run.position(e).filter(|&p| p != step) {
            return Err((Rule::Twice, format!("has already run at step {first}")));
        }
        let t = self.trace.thread(e);
        let name = self.trace.thread_name(t);
        let thread = &self.run.threads[t.index()];
        if !thread.started {
            return Err((Rule::NotStarted, format!("the fork of {name} has not run")));
        }
        if let Some(b) = thread.broken {
            let b = describe(self.trace, b);
            return Err((Rule::AfterBroken, format!("{name} is cut, {b} before it is broken")));
        }
        match thread.next {
            Some(next) if next == e => {}
            Some(next) => {
                let next = describe(self.trace, next);
                return Err((Rule::ProgramOrder, format!("the next event of {name} is {next}")));
            }
            None => return Err((Rule::ProgramOrder, format!("{name} has no more events"))),
        }
        let leaves = matches!(
            self.trace.event(e).kind,
            EventKind::Woken { .. } | EventKind::TimedOut { .. }
        );
        match thread.wait {
            Some((c, ..)) if !leaves => {
                let c = self.trace.condition_name(c);
                Err((Rule::Waiting, format!("{name} waits for {c} and has not come back")))
            }
            _ => Ok(t),
        }
    }

    /// Section 2: whether an event that observes state sees what it saw in the trace.
    fn view_preserved(&self, t: ThreadId, e: EventId) -> bool {
        let owned = |lock| self.run.owner(lock).is_some_and(|owner| owner != t);
        match self.trace.event(e).kind {
            EventKind::TryFailed { lock } => {
                return owned(lock) || self.run.readers(lock).any(|reader| reader != t);
            }
            EventKind::TryFailedShared { lock } => return owned(lock),
            _ => {}
        }
        let Some(x) = self.trace.variable(e).filter(|_| self.trace.op(e).reads()) else {
            return true;
        };
        let last = self.run.last_write(x);
        // A broken update writes an unknown value: every read from it is broken.
        if last.is_some_and(|w| self.run.cut_by(self.trace.thread(w)) == Some(w)) {
            return false;
        }
        if last == self.observed.writer(e) {
            return true;
        }
        // A use of hidden state: no other state will do, whatever the values are.
        if self.trace.op(e).writes() && self.trace.is_opaque(x) {
            return false;
        }
        if self.model == Model::Symbolic {
            return true;
        }
        let found = match last {
            Some(w) => self.trace.written_value(w),
            None => self.observed.initial(x),
        };
        self.model == Model::Value && found.is_some() && found == self.trace.read_value(e)
    }

    fn access(&mut self, e: EventId, x: VarId) -> StepResult {
        if self.trace.is_opaque(x) {
            match self.opaque.insert(x, e) {
                Some(last) if last > e => {
                    let last = describe(self.trace, last);
                    return refuse(
                        Rule::OpaqueOrder,
                        format!("{last} has run, and is later in the trace"),
                    );
                }
                _ => {}
            }
        }
        if self.model == Model::Symbolic {
            self.compute(e, x);
        }
        if self.trace.op(e).writes() {
            self.run.last_writes[x.index()] = Some(e);
        }
        Ok(())
    }

    /// `symbolic`: what the access reads, and the value it leaves.
    fn compute(&mut self, e: EventId, x: VarId) {
        let before = self.run.memory[x.index()];
        let known = |v| self.trace.values().get(v);
        let after = match self.trace.event(e).kind {
            EventKind::Read { register, .. } => {
                self.set_register(register, before);
                before
            }
            EventKind::Write { expr: Some(expr), .. } => self.evaluate(expr).value(),
            EventKind::Write { value, .. } => value.and_then(known),
            EventKind::Update { old, new, register, expr, .. } => {
                // A trace without the old value falls back to `view`: the same writer.
                let as_in_trace = match old {
                    Some(old) => before.is_some() && before == known(old),
                    None => self.run.last_write(x) == self.observed.writer(e),
                };
                let recorded = new.filter(|_| as_in_trace).and_then(known);
                self.set_register(register, before);
                expr.map_or(recorded, |expr| self.evaluate(expr).value())
            }
            EventKind::Free { .. } => None,
            _ => before,
        };
        self.run.memory[x.index()] = after;
        if let Some(change) = self.run.changes.last_mut() {
            *change = Change { before, after };
        }
    }

    fn set_register(&mut self, register: Option<RegId>, value: Option<Value>) {
        if let Some(cell) = register.and_then(|r| self.registers.get_mut(r.index())) {
            *cell = value;
        }
    }

    fn evaluate(&mut self, expr: foretell_trace::ExprId) -> foretell_trace::expr::Answer {
        let registers = &self.registers;
        self.evaluator
            .eval(self.trace.exprs(), expr, |r| registers.get(r.index()).copied().flatten())
    }

    fn guard(&mut self, expr: foretell_trace::ExprId) -> StepResult {
        if self.model != Model::Symbolic {
            return Ok(());
        }
        match self.evaluate(expr).truth() {
            Some(true) => Ok(()),
            Some(false) => refuse(Rule::GuardNotTrue, "the guard is false"),
            None => refuse(Rule::GuardNotTrue, "the guard depends on an unknown value"),
        }
    }

    /// Refuses a lock that some thread holds in any mode.
    fn must_be_free(&self, l: LockId) -> StepResult {
        let lock = self.run.locks[l.index()];
        let name = self.trace.lock_name(l);
        if let Some(owner) = lock.owner {
            let owner = self.trace.thread_name(owner);
            return refuse(Rule::LockHeld, format!("lock {name} is owned by {owner}"));
        }
        match self.run.readers(l).next() {
            Some(t) => {
                let t = self.trace.thread_name(t);
                refuse(Rule::LockHeld, format!("lock {name} is held shared by {t}"))
            }
            None => Ok(()),
        }
    }

    fn acquire(&mut self, t: ThreadId, l: LockId) -> StepResult {
        if self.run.owner(l) != Some(t) {
            self.must_be_free(l)?;
        }
        let lock = &mut self.run.locks[l.index()];
        lock.owner = Some(t);
        lock.depth += 1;
        Ok(())
    }

    fn must_own(&self, t: ThreadId, l: LockId) -> StepResult {
        if self.run.owner(l) == Some(t) {
            return Ok(());
        }
        let (t, l) = (self.trace.thread_name(t), self.trace.lock_name(l));
        refuse(Rule::NotOwner, format!("{t} does not own lock {l}"))
    }

    fn release(&mut self, t: ThreadId, l: LockId) -> StepResult {
        self.must_own(t, l)?;
        let lock = &mut self.run.locks[l.index()];
        lock.depth -= 1;
        if lock.depth == 0 {
            lock.owner = None;
        }
        Ok(())
    }

    fn acquire_shared(&mut self, t: ThreadId, l: LockId) -> StepResult {
        if self.run.owner(l).is_some_and(|owner| owner != t) {
            return self.must_be_free(l);
        }
        *self.run.shared.entry((l, t)).or_insert(0) += 1;
        Ok(())
    }

    fn release_shared(&mut self, t: ThreadId, l: LockId) -> StepResult {
        match self.run.shared.get_mut(&(l, t)) {
            Some(holds) if *holds > 1 => *holds -= 1,
            Some(_) => {
                self.run.shared.remove(&(l, t));
            }
            None => {
                let (t, l) = (self.trace.thread_name(t), self.trace.lock_name(l));
                return refuse(Rule::NotShared, format!("{t} does not hold lock {l} shared"));
            }
        }
        Ok(())
    }

    fn wait(&mut self, t: ThreadId, e: EventId, c: CondId, l: LockId) -> StepResult {
        self.must_own(t, l)?;
        let next = self.observed.next(e);
        let future = match next.and_then(|next| self.run.position(next)) {
            None if next.is_some_and(|next| self.staying.contains(&next)) => Future::Stays,
            None => Future::Free,
            Some(position) => match next.map(|next| self.trace.event(next).kind) {
                Some(EventKind::TimedOut { .. }) => Future::TimesOut,
                _ => Future::Wanted(position),
            },
        };
        let lock = std::mem::take(&mut self.run.locks[l.index()]);
        self.run.threads[t.index()].wait = Some((c, l, lock.depth, future));
        self.waits[c.index()].enter(t, future);
        Ok(())
    }

    /// The wait that a `woken` or `timed-out` ends.
    fn waiting(&self, t: ThreadId, c: CondId, l: LockId) -> Result<(u32, Future), (Rule, String)> {
        match self.run.threads[t.index()].wait {
            Some((cond, lock, depth, future)) if (cond, lock) == (c, l) => Ok((depth, future)),
            _ => {
                let (t, c) = (self.trace.thread_name(t), self.trace.condition_name(c));
                Err((Rule::NotWaiting, format!("{t} is not in a wait for {c} with this lock")))
            }
        }
    }

    fn woken(&mut self, t: ThreadId, c: CondId, l: LockId) -> StepResult {
        let (depth, future) = self.waiting(t, c, l)?;
        if self.waits[c.index()].holds(t, future) {
            let (t, c) = (self.trace.thread_name(t), self.trace.condition_name(c));
            return refuse(Rule::NotNotified, format!("no notify of {c} can have woken {t}"));
        }
        self.own_again(t, l, depth)
    }

    fn timed_out(&mut self, t: ThreadId, c: CondId, l: LockId) -> StepResult {
        let (depth, future) = self.waiting(t, c, l)?;
        if !self.waits[c.index()].leave(t, future) {
            let (t, c) = (self.trace.thread_name(t), self.trace.condition_name(c));
            return refuse(Rule::Notified, format!("a notify of {c} must have woken {t}"));
        }
        self.own_again(t, l, depth)
    }

    fn own_again(&mut self, t: ThreadId, l: LockId, depth: u32) -> StepResult {
        self.must_be_free(l)?;
        self.run.locks[l.index()] = LockState { owner: Some(t), depth };
        self.run.threads[t.index()].wait = None;
        Ok(())
    }

    fn down(&mut self, s: SemId) -> StepResult {
        match self.counts[s.index()].checked_sub(1) {
            Some(count) => self.counts[s.index()] = count,
            None => {
                let s = self.trace.semaphore_name(s);
                return refuse(Rule::NoCount, format!("the count of semaphore {s} is 0"));
            }
        }
        Ok(())
    }

    fn arrive(&mut self, t: ThreadId, b: BarrierId) {
        let parties = u64::from(self.trace.parties(b).unwrap_or(0)).max(1);
        self.arrived.insert((t, b), self.arrivals[b.index()] / parties);
        self.arrivals[b.index()] += 1;
    }

    fn leave(&mut self, t: ThreadId, b: BarrierId) -> StepResult {
        let name = self.trace.barrier_name(b);
        let Some(&generation) = self.arrived.get(&(t, b)) else {
            let t = self.trace.thread_name(t);
            return refuse(
                Rule::NotArrived,
                format!("{t} has no arrival at barrier {name} to leave"),
            );
        };
        let Some(parties) = self.trace.parties(b).filter(|&n| n > 0) else {
            return refuse(Rule::PartiesMissing, format!("barrier {name} has no declared parties"));
        };
        let needed = (generation + 1) * u64::from(parties);
        if self.arrivals[b.index()] < needed {
            let missing = needed - self.arrivals[b.index()];
            return refuse(
                Rule::PartiesMissing,
                format!("barrier {name} lacks {missing} arrivals"),
            );
        }
        self.arrived.remove(&(t, b));
        Ok(())
    }

    fn fork(&mut self, u: ThreadId) -> StepResult {
        let thread = &mut self.run.threads[u.index()];
        if thread.started {
            let u = self.trace.thread_name(u);
            return refuse(Rule::ForkedTwice, format!("{u} was forked before"));
        }
        thread.started = true;
        Ok(())
    }

    fn join(&self, u: ThreadId) -> StepResult {
        let thread = &self.run.threads[u.index()];
        let name = self.trace.thread_name(u);
        if !thread.started {
            return refuse(Rule::NotFinished, format!("the fork of {name} has not run"));
        }
        let missing = self.observed.length(u) - thread.ran;
        if missing > 0 {
            return refuse(Rule::NotFinished, format!("{missing} events of {name} have not run"));
        }
        match thread.broken {
            Some(broken) => {
                let broken = describe(self.trace, broken);
                refuse(Rule::NotFinished, format!("{name} is cut, {broken} is broken"))
            }
            None => Ok(()),
        }
    }
}
