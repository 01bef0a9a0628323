//! The rules of semantics sections 1 and 2: which events can come next after a feasible sequence,
//! and what state each of them leaves.
//!
//! Everything that decides how a feasible sequence can go on is in its [`State`], so two sequences
//! that end in equal states have the same continuations. Nothing is derived that can be simulated:
//! the code follows the table of section 1 line by line.

use foretell_trace::{
    BarrierId, CondId, Event, EventId, EventKind, LockId, Model, Op, ThreadId, Trace, Value,
    ValueId, VarId,
};

use crate::eval;

/// "None" in a cell that otherwise holds an index + 1.
const NOTHING: u32 = 0;
/// The last write of a variable was a broken update: the value is unknown.
const POISONED: u32 = u32::MAX;

/// State after a feasible sequence, without the order of its events.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    /// All counters and owners; [`Layout`] says what is where.
    cells: Box<[u32]>,
    /// `symbolic`: the value of each variable, `None` where unknown. Empty in the other models.
    memory: Box<[Option<Value>]>,
    /// `symbolic`: the value of each register. Empty in the other models.
    registers: Box<[Option<Value>]>,
}

/// Where each part of a state starts in its cells.
#[derive(Clone, Copy, Default, Debug)]
struct Layout {
    threads: usize,
    /// By thread: how many of its events have run.
    ran: usize,
    /// By thread: 1 if its last event was broken.
    cut: usize,
    /// By thread: 1 if its fork has run.
    forked: usize,
    /// By thread: the condition whose wait set it is in, + 1.
    waits_for: usize,
    /// By thread: the depth it held the lock of its wait with.
    former_depth: usize,
    /// By variable: the last write, + 1, or `POISONED`.
    last_write: usize,
    /// By opaque variable: the last access, + 1.
    last_opaque: usize,
    /// By lock: the thread that owns it as a writer, + 1.
    owner: usize,
    /// By lock: how often the owner has taken it.
    depth: usize,
    /// By lock and thread: how often the thread holds it shared.
    shared: usize,
    /// By semaphore: its count.
    count: usize,
    /// By barrier: how many have arrived.
    arrived: usize,
    /// By barrier and thread: the generation of its last arrival, + 1, until it leaves.
    generation: usize,
    size: usize,
}

impl Layout {
    fn of(trace: &Trace) -> Layout {
        let threads = trace.thread_count();
        let mut layout = Layout { threads, ..Layout::default() };
        let mut place = |cells: usize| {
            let start = layout.size;
            layout.size += cells;
            start
        };
        let ran = place(threads);
        let cut = place(threads);
        let forked = place(threads);
        let waits_for = place(threads);
        let former_depth = place(threads);
        let last_write = place(trace.variable_count());
        let last_opaque = place(trace.variable_count());
        let owner = place(trace.lock_count());
        let depth = place(trace.lock_count());
        let shared = place(trace.lock_count() * threads);
        let count = place(trace.semaphore_count());
        let arrived = place(trace.barrier_count());
        let generation = place(trace.barrier_count() * threads);
        Layout {
            ran,
            cut,
            forked,
            waits_for,
            former_depth,
            last_write,
            last_opaque,
            owner,
            depth,
            shared,
            count,
            arrived,
            generation,
            ..layout
        }
    }
}

/// A trace under a model, ready to be run in other orders.
pub(crate) struct Rules<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) model: Model,
    layout: Layout,
    pub(crate) events: Vec<Event>,
    /// By thread: its events in order.
    pub(crate) threads: Vec<Vec<EventId>>,
    /// By event: how many events of its thread come before it.
    place: Vec<u32>,
    /// By thread: whether ρ has its fork.
    forked_in_trace: Vec<bool>,
    /// By event: the last write of its variable before it in ρ, for accesses.
    write_before: Vec<Option<EventId>>,
    /// By variable: the last write in ρ.
    last_write: Vec<Option<EventId>>,
    /// By variable: the initial value, if known.
    initial: Vec<Option<ValueId>>,
}

impl<'a> Rules<'a> {
    pub(crate) fn new(trace: &'a Trace, model: Model) -> Rules<'a> {
        let events: Vec<Event> = trace.events().collect();
        let mut threads = vec![Vec::new(); trace.thread_count()];
        let mut place = Vec::with_capacity(events.len());
        let mut forked_in_trace = vec![false; trace.thread_count()];
        let mut write_before = vec![None; events.len()];
        let mut last_write = vec![None; trace.variable_count()];
        let mut initial: Vec<Option<ValueId>> = (0..trace.variable_count())
            .map(|x| trace.declared_initial_value(VarId::from_index(x)))
            .collect();
        for event in &events {
            let thread: &mut Vec<EventId> = &mut threads[event.thread.index()];
            place.push(thread.len() as u32);
            thread.push(event.id);
            if let EventKind::Fork { thread } = event.kind {
                forked_in_trace[thread.index()] = true;
            }
            if let EventKind::Free { block } = event.kind {
                for x in trace.variables_in(block) {
                    last_write[x.index()] = Some(event.id);
                }
            }
            let Some(x) = trace.variable(event.id).map(VarId::index) else { continue };
            write_before[event.id.index()] = last_write[x];
            if last_write[x].is_none() && initial[x].is_none() {
                initial[x] = trace.read_value(event.id);
            }
            if event.kind.op().writes() {
                last_write[x] = Some(event.id);
            }
        }
        Rules {
            trace,
            model,
            layout: Layout::of(trace),
            events,
            threads,
            place,
            forked_in_trace,
            write_before,
            last_write,
            initial,
        }
    }

    /// The state of the empty sequence.
    pub(crate) fn start(&self) -> State {
        let mut cells = vec![NOTHING; self.layout.size].into_boxed_slice();
        for s in 0..self.trace.semaphore_count() {
            let count = self.trace.initial_count(foretell_trace::SemId::from_index(s));
            // More than there are events is as good as any number.
            cells[self.layout.count + s] = count.min(self.events.len() as u64) as u32;
        }
        let (mut memory, mut registers) = (Vec::new(), Vec::new());
        if self.model == Model::Symbolic {
            memory = self.initial.iter().map(|v| v.and_then(|v| self.value(v))).collect();
            registers = vec![None; self.trace.register_count()];
        }
        State { cells, memory: memory.into(), registers: registers.into() }
    }

    /// Every event that can come next, with every state it can leave: more than one where a notify
    /// can choose.
    pub(crate) fn steps(&self, state: &State) -> Vec<(EventId, State)> {
        let mut steps = Vec::new();
        for t in 0..self.threads.len() {
            if let Some(e) = self.next(state, ThreadId::from_index(t)) {
                self.run(state, e, &mut steps);
            }
        }
        steps
    }

    /// The next event of a thread that is started and not cut.
    pub(crate) fn next(&self, state: &State, t: ThreadId) -> Option<EventId> {
        let forked = state.cells[self.layout.forked + t.index()] != NOTHING;
        let started = !self.forked_in_trace[t.index()] || forked;
        let cut = state.cells[self.layout.cut + t.index()] != NOTHING;
        if !started || cut {
            return None;
        }
        self.threads[t.index()].get(state.cells[self.layout.ran + t.index()] as usize).copied()
    }

    /// Whether the last event of a thread was broken.
    pub(crate) fn is_cut(&self, state: &State, t: ThreadId) -> bool {
        state.cells[self.layout.cut + t.index()] != NOTHING
    }

    /// Whether `e` has run, broken or not.
    pub(crate) fn has_run(&self, state: &State, e: EventId) -> bool {
        let t = self.trace.thread(e).index();
        self.place[e.index()] < state.cells[self.layout.ran + t]
    }

    /// Whether all events have run and none of them was broken.
    pub(crate) fn complete(&self, state: &State) -> bool {
        (0..self.threads.len()).all(|t| {
            state.cells[self.layout.ran + t] as usize == self.threads[t].len()
                && state.cells[self.layout.cut + t] == NOTHING
        })
    }

    /// Whether the last write of `x` in a complete sequence is another event than in ρ and, in
    /// `value` and `symbolic`, the two values are not known to be equal.
    pub(crate) fn ends_with_another_write(&self, state: &State, x: VarId) -> bool {
        let last = self.last_write_of(state, x);
        if last == as_cell(self.last_write[x.index()]) {
            return false;
        }
        let recorded = |w| self.trace.written_value(w).and_then(|v| self.value(v));
        let in_trace = self.last_write[x.index()].and_then(recorded);
        let here = match self.model {
            Model::View => None,
            Model::Value => last.checked_sub(1).and_then(|w| recorded(EventId(w))),
            Model::Symbolic => state.memory[x.index()],
        };
        in_trace.is_none() || here != in_trace
    }

    /// Whether `e`, run next, is a read that makes a nondeterministic read: broken, or in
    /// `symbolic` one that sees a value other than in ρ. A read whose value was not recorded is
    /// judged by the write it sees, as in `view`.
    pub(crate) fn sees_otherwise(&self, state: &State, e: EventId) -> bool {
        let Some(x) = self.trace.variable(e).filter(|_| self.trace.op(e).reads()) else {
            return false;
        };
        match (self.model, self.trace.read_value(e)) {
            (Model::Symbolic, Some(seen_in_trace)) => {
                state.memory[x.index()].is_none()
                    || state.memory[x.index()] != self.value(seen_in_trace)
            }
            (Model::Symbolic, None) => !self.same_write(state, e, x),
            _ => !self.view_preserved(state, e, x),
        }
    }

    /// The value of a variable in `symbolic`, `None` where unknown (and in the other models).
    pub(crate) fn memory(&self, state: &State, x: VarId) -> Option<Value> {
        state.memory.get(x.index()).copied().flatten()
    }

    /// The threads other than its own that keep `e`, an acquire or a join, from being enabled. A
    /// joined thread that has ended, or is cut, has no next event: no cycle goes through it.
    pub(crate) fn blockers(&self, state: &State, e: EventId) -> Vec<ThreadId> {
        let me = self.trace.thread(e);
        let (lock, any_mode) = match self.events[e.index()].kind {
            EventKind::Acquire { lock } => (lock, true),
            EventKind::AcquireShared { lock } => (lock, false),
            EventKind::Join { thread } => return vec![thread],
            _ => return Vec::new(),
        };
        (0..self.threads.len())
            .map(ThreadId::from_index)
            .filter(|&t| t != me)
            .filter(|&t| {
                self.owns(state, t, lock) || any_mode && self.shared_holds(state, t, lock) > 0
            })
            .collect()
    }

    /// Runs `e`, the next event of its thread, in every way it can; in none if it is not enabled.
    fn run(&self, state: &State, e: EventId, steps: &mut Vec<(EventId, State)>) {
        let t = self.trace.thread(e);
        if !self.enabled(state, e) {
            return;
        }
        let mut after = state.clone();
        after.cells[self.layout.ran + t.index()] += 1;
        if self.broken(state, e) {
            after.cells[self.layout.cut + t.index()] = 1;
        }
        self.take_effect(state, &mut after, e);
        let EventKind::Notify { cond } = self.events[e.index()].kind else {
            steps.push((e, after));
            return;
        };
        let waiters: Vec<usize> = self.wait_set(state, cond).collect();
        if waiters.is_empty() {
            steps.push((e, after));
            return;
        }
        for waiter in waiters {
            let mut chosen = after.clone();
            chosen.cells[self.layout.waits_for + waiter] = NOTHING;
            steps.push((e, chosen));
        }
    }

    /// The column "enabled when" of section 1.
    pub(crate) fn enabled(&self, state: &State, e: EventId) -> bool {
        let t = self.trace.thread(e);
        match self.events[e.index()].kind {
            EventKind::Read { var, .. }
            | EventKind::Write { var, .. }
            | EventKind::Update { var, .. } => {
                // Opaque accesses keep the order of ρ.
                let last = state.cells[self.layout.last_opaque + var.index()];
                !self.trace.is_opaque(var) || last <= e.0
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.owns(state, t, lock) || self.is_free(state, lock)
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                !self.owned_by_another(state, t, lock)
            }
            EventKind::Release { lock } | EventKind::Wait { lock, .. } => self.owns(state, t, lock),
            EventKind::ReleaseShared { lock } => self.shared_holds(state, t, lock) > 0,
            EventKind::Woken { cond, lock } => {
                !self.in_wait_set(state, t, cond) && self.is_free(state, lock)
            }
            EventKind::TimedOut { cond, lock } => {
                self.in_wait_set(state, t, cond) && self.is_free(state, lock)
            }
            EventKind::Down { sem } => state.cells[self.layout.count + sem.index()] > 0,
            EventKind::Leave { barrier } => {
                let b = barrier.index();
                let slot = self.layout.generation + b * self.layout.threads + t.index();
                let generation = state.cells[slot];
                // Stored + 1, so this is the number of arrivals that fills the generation.
                let needed = generation * self.trace.parties(barrier).unwrap_or(1);
                generation != NOTHING && state.cells[self.layout.arrived + b] >= needed
            }
            EventKind::Fork { thread } => {
                state.cells[self.layout.forked + thread.index()] == NOTHING
            }
            EventKind::Join { thread } => {
                let u = thread.index();
                let forked = state.cells[self.layout.forked + u] != NOTHING;
                let ran = state.cells[self.layout.ran + u] as usize;
                (!self.forked_in_trace[u] || forked)
                    && ran == self.threads[u].len()
                    && state.cells[self.layout.cut + u] == NOTHING
            }
            EventKind::Guard { expr } => {
                self.model != Model::Symbolic
                    || eval::is_true(self.trace.exprs(), expr, &state.registers)
            }
            EventKind::TryFailed { .. }
            | EventKind::TryFailedShared { .. }
            | EventKind::Notify { .. }
            | EventKind::NotifyAll { .. }
            | EventKind::Post { .. }
            | EventKind::Arrive { .. }
            | EventKind::Begin { .. }
            | EventKind::End { .. }
            | EventKind::Fence
            | EventKind::Alloc { .. } => true,
            EventKind::Free { block } => self.trace.variables_in(block).iter().all(|&x| {
                let last = state.cells[self.layout.last_opaque + x.index()];
                !self.trace.is_opaque(x) || last <= e.0
            }),
        }
    }

    /// Whether `e`, run next, observes something else than in ρ (section 2, rule 3).
    fn broken(&self, state: &State, e: EventId) -> bool {
        match self.events[e.index()].kind {
            EventKind::Read { var, .. } | EventKind::Update { var, .. } => {
                !self.view_preserved(state, e, var)
            }
            EventKind::TryFailed { lock } => {
                let t = self.trace.thread(e);
                !self.owned_by_another(state, t, lock) && !self.shared_by_another(state, t, lock)
            }
            EventKind::TryFailedShared { lock } => {
                !self.owned_by_another(state, self.trace.thread(e), lock)
            }
            _ => false,
        }
    }

    /// The table of models in section 2. An update of an opaque variable is a use of hidden state:
    /// in every model it needs the write before it to be the one of ρ. What a broken update wrote
    /// breaks whoever reads it.
    fn view_preserved(&self, state: &State, r: EventId, x: VarId) -> bool {
        if self.trace.is_opaque(x) && self.op(r).writes() {
            return self.same_write(state, r, x);
        }
        if self.last_write_of(state, x) == POISONED {
            return false;
        }
        match self.model {
            Model::View => self.same_write(state, r, x),
            Model::Value => self.same_write(state, r, x) || self.same_value(state, r, x),
            Model::Symbolic => true,
        }
    }

    /// Whether the last write is the event that `r` read from in ρ, or none in both.
    fn same_write(&self, state: &State, r: EventId, x: VarId) -> bool {
        self.last_write_of(state, x) == as_cell(self.write_before[r.index()])
    }

    /// Whether the recorded value of the last write is known to be what `r` observed in ρ.
    fn same_value(&self, state: &State, r: EventId, x: VarId) -> bool {
        let there = match self.last_write_of(state, x) {
            NOTHING => self.initial[x.index()],
            POISONED => None,
            write => self.trace.written_value(EventId(write - 1)),
        };
        there.is_some() && there == self.trace.read_value(r)
    }

    /// The column "effect" of section 1, but for the choice of a notify.
    fn take_effect(&self, before: &State, after: &mut State, e: EventId) {
        let t = self.trace.thread(e);
        let cells = &mut after.cells;
        match self.events[e.index()].kind {
            EventKind::Read { .. } | EventKind::Write { .. } | EventKind::Update { .. } => {
                self.access(before, after, e);
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.own(after, t, lock, 1)
            }
            EventKind::Release { lock } => {
                let depth = &mut cells[self.layout.depth + lock.index()];
                *depth -= 1;
                if *depth == 0 {
                    cells[self.layout.owner + lock.index()] = NOTHING;
                }
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                cells[self.shared_cell(t, lock)] += 1
            }
            EventKind::ReleaseShared { lock } => cells[self.shared_cell(t, lock)] -= 1,
            EventKind::Wait { cond, lock } => {
                cells[self.layout.waits_for + t.index()] = cond.0 + 1;
                let depth = std::mem::take(&mut cells[self.layout.depth + lock.index()]);
                cells[self.layout.former_depth + t.index()] = depth;
                cells[self.layout.owner + lock.index()] = NOTHING;
            }
            EventKind::Woken { lock, .. } | EventKind::TimedOut { lock, .. } => {
                cells[self.layout.waits_for + t.index()] = NOTHING;
                let depth = std::mem::take(&mut cells[self.layout.former_depth + t.index()]);
                self.own(after, t, lock, depth.max(1));
            }
            EventKind::NotifyAll { cond } => {
                for waiter in self.wait_set(before, cond) {
                    cells[self.layout.waits_for + waiter] = NOTHING;
                }
            }
            EventKind::Post { sem } => cells[self.layout.count + sem.index()] += 1,
            EventKind::Down { sem } => cells[self.layout.count + sem.index()] -= 1,
            EventKind::Arrive { barrier } => {
                let b = barrier.index();
                let arrived = &mut cells[self.layout.arrived + b];
                let generation = *arrived / self.trace.parties(barrier).unwrap_or(1).max(1);
                *arrived += 1;
                let slot = self.layout.generation + b * self.layout.threads + t.index();
                cells[slot] = generation + 1;
            }
            EventKind::Leave { barrier } => {
                let row = self.layout.generation + barrier.index() * self.layout.threads;
                cells[row + t.index()] = NOTHING;
            }
            EventKind::Fork { thread } => cells[self.layout.forked + thread.index()] = 1,
            EventKind::TryFailed { .. }
            | EventKind::TryFailedShared { .. }
            | EventKind::Notify { .. }
            | EventKind::Join { .. }
            | EventKind::Begin { .. }
            | EventKind::End { .. }
            | EventKind::Guard { .. }
            | EventKind::Fence
            | EventKind::Alloc { .. } => {}
            EventKind::Free { block } => {
                for &x in self.trace.variables_in(block) {
                    cells[self.layout.last_write + x.index()] = e.0 + 1;
                    if self.trace.is_opaque(x) {
                        cells[self.layout.last_opaque + x.index()] = e.0 + 1;
                    }
                    if self.model == Model::Symbolic {
                        after.memory[x.index()] = None;
                    }
                }
            }
        }
    }

    /// The effect of an access: the last write, and in `symbolic` memory and registers.
    fn access(&self, before: &State, after: &mut State, e: EventId) {
        let Some(var) = self.trace.variable(e) else { return };
        let x = var.index();
        if self.trace.is_opaque(var) {
            after.cells[self.layout.last_opaque + x] = e.0 + 1;
        }
        if self.trace.op(e).writes() {
            let poisoned = self.broken(before, e);
            after.cells[self.layout.last_write + x] = if poisoned { POISONED } else { e.0 + 1 };
        }
        if self.model != Model::Symbolic {
            return;
        }
        let seen = before.memory[x];
        match self.events[e.index()].kind {
            EventKind::Read { register: Some(r), .. } => after.registers[r.index()] = seen,
            EventKind::Write { value, expr, .. } => {
                after.memory[x] = match expr {
                    Some(expr) => eval::value(self.trace.exprs(), expr, &before.registers),
                    None => value.and_then(|v| self.value(v)),
                };
            }
            EventKind::Update { old, new, register, expr, .. } => {
                if let Some(r) = register {
                    after.registers[r.index()] = seen;
                }
                let as_in_trace = match old {
                    Some(old) => seen.is_some() && seen == self.value(old),
                    None => self.same_write(before, e, var),
                };
                after.memory[x] = match expr {
                    Some(expr) => eval::value(self.trace.exprs(), expr, &after.registers),
                    None if as_in_trace => new.and_then(|v| self.value(v)),
                    None => None,
                };
            }
            _ => {}
        }
    }

    fn own(&self, after: &mut State, t: ThreadId, lock: LockId, times: u32) {
        after.cells[self.layout.owner + lock.index()] = t.0 + 1;
        after.cells[self.layout.depth + lock.index()] += times;
    }

    /// Whether a thread holds a lock, as a writer or shared.
    pub(crate) fn holds(&self, state: &State, t: ThreadId, lock: LockId, shared: bool) -> bool {
        if shared { self.shared_holds(state, t, lock) > 0 } else { self.owns(state, t, lock) }
    }

    /// A number for the generation of the last arrival of a thread, until it leaves.
    pub(crate) fn generation(&self, state: &State, t: ThreadId, barrier: BarrierId) -> u32 {
        let row = self.layout.generation + barrier.index() * self.layout.threads;
        state.cells[row + t.index()]
    }

    fn owns(&self, state: &State, t: ThreadId, lock: LockId) -> bool {
        state.cells[self.layout.owner + lock.index()] == t.0 + 1
    }

    /// Whether a thread other than `t` owns the lock as a writer.
    fn owned_by_another(&self, state: &State, t: ThreadId, lock: LockId) -> bool {
        let owner = state.cells[self.layout.owner + lock.index()];
        owner != NOTHING && owner != t.0 + 1
    }

    /// Whether a thread other than `t` holds the lock shared.
    fn shared_by_another(&self, state: &State, t: ThreadId, lock: LockId) -> bool {
        let threads = (0..self.threads.len()).map(ThreadId::from_index);
        threads.filter(|&u| u != t).any(|u| self.shared_holds(state, u, lock) > 0)
    }

    fn shared_cell(&self, t: ThreadId, lock: LockId) -> usize {
        self.layout.shared + lock.index() * self.layout.threads + t.index()
    }

    fn shared_holds(&self, state: &State, t: ThreadId, lock: LockId) -> u32 {
        state.cells[self.shared_cell(t, lock)]
    }

    /// Whether no thread holds the lock in any mode.
    fn is_free(&self, state: &State, lock: LockId) -> bool {
        let first = self.shared_cell(ThreadId(0), lock);
        state.cells[self.layout.owner + lock.index()] == NOTHING
            && state.cells[first..first + self.layout.threads].iter().all(|&holds| holds == 0)
    }

    fn in_wait_set(&self, state: &State, t: ThreadId, cond: CondId) -> bool {
        state.cells[self.layout.waits_for + t.index()] == cond.0 + 1
    }

    /// The threads in the wait set of a condition.
    fn wait_set<'s>(&'s self, state: &'s State, cond: CondId) -> impl Iterator<Item = usize> + 's {
        (0..self.threads.len())
            .filter(move |&t| self.in_wait_set(state, ThreadId::from_index(t), cond))
    }

    fn last_write_of(&self, state: &State, x: VarId) -> u32 {
        state.cells[self.layout.last_write + x.index()]
    }

    fn value(&self, id: ValueId) -> Option<Value> {
        self.trace.values().get(id)
    }

    /// Whether `a` and `b` conflict (section 3). Accesses to opaque variables take part in no
    /// finding, so they conflict with nothing here.
    pub(crate) fn conflict(&self, a: EventId, b: EventId) -> bool {
        let (xs, ys) = (self.touched(a), self.touched(b));
        self.trace.thread(a) != self.trace.thread(b)
            && (self.trace.op(a).writes() || self.trace.op(b).writes())
            && xs.iter().any(|x| ys.contains(x))
    }

    /// The variables that an event accesses and that are not opaque; a `free` writes all those in
    /// its block.
    fn touched(&self, e: EventId) -> Vec<VarId> {
        let mut all = match self.events[e.index()].kind {
            EventKind::Free { block } => self.trace.variables_in(block).to_vec(),
            _ => self.trace.variable(e).into_iter().collect(),
        };
        // A free of an opaque variable keeps its place, and is in no finding.
        if all.iter().any(|&x| self.trace.is_opaque(x)) {
            all.clear();
        }
        all
    }

    /// Whether `e` is an access that can be part of a finding.
    pub(crate) fn is_access(&self, e: EventId) -> bool {
        !self.touched(e).is_empty()
    }

    /// The operation of an event.
    pub(crate) fn op(&self, e: EventId) -> Op {
        self.trace.op(e)
    }
}

/// Returns the cell of `last_write` for a write, or for none.
fn as_cell(write: Option<EventId>) -> u32 {
    write.map_or(NOTHING, |w| w.0 + 1)
}
