//! The cone of a query as a small program: threads of steps over numbered objects, with everything
//! left out that no remaining event and no goal can tell from nothing.
//!
//! Only what the query's cone may run is here. A variable that no step of the cone observes has no
//! memory, a lock has only its outermost sections, and a read at the end of what its thread may run
//! is no read: whether it is broken makes no difference. What is left decides which steps depend on
//! each other (`dependence`), so the less there is, the fewer interleavings have to be told apart.

use foretell_model::TraceModel;
use foretell_trace::{EventId, EventKind, Model, Op, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::act::{Access, Act, ProgramStep, ProgramThread};
use super::dependence::Classes;
use super::parts::{Part, parts, steps_of, with_what_a_goal_runs};
use crate::engines::bounds::Bounds;
use crate::engines::writers::FinalWrites;
use crate::query::{Goal, Query};

/// A variable that some step observes.
#[derive(Clone, Default, Debug)]
pub(super) struct Memory {
    /// For each last write (as in a state's cell): which threads have reads that it preserves, with
    /// the position of the last one.
    pub(super) readers: FxHashMap<u32, Vec<(usize, u32)>>,
    /// For each last write: reads that must be intact and that only it preserves.
    pub(super) owed: FxHashMap<u32, Vec<(usize, u32)>>,
}

/// Condition of the query beyond positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aim {
    Reach,
    /// This step is broken.
    Broken {
        thread: usize,
        position: u32,
    },
    /// All have run, and this is not the last write of the variable, nor one that counts like it.
    Overwritten {
        var: usize,
        cell: u32,
    },
    /// A path out of the block and back; the thread of the block, and the position after its last
    /// part.
    Path {
        thread: usize,
        end: u32,
    },
    /// A cycle of transactions; the thread of the block.
    Cycle {
        thread: usize,
    },
}

/// The cone of a query.
pub(super) struct Program<'s> {
    pub(super) trace_model: &'s TraceModel<'s>,
    pub(super) threads: Vec<ProgramThread>,
    pub(super) memories: Vec<Memory>,
    pub(super) locks: usize,
    pub(super) semaphores: Vec<u32>,
    /// By barrier: the number of parties.
    pub(super) barriers: Vec<u32>,
    /// Pairs of barrier and thread.
    pub(super) slots: usize,
    /// Variables with parts in the goal are the first ones.
    pub(super) goal_variables: usize,
    pub(super) aim: Aim,
    /// Cells that count like the one of [`Aim::Overwritten`]: their writes leave an equal value.
    pub(super) equal: Vec<u32>,
    pub(super) classes: Classes,
    /// By variable of the goal: the first position of a part inside the block, and of one that
    /// writes.
    pub(super) inside: Vec<(u32, u32)>,
    /// Number of accesses outside the block that are part of the goal.
    pub(super) outside: usize,
}

/// Returns the cell of a state that stands for a last write.
pub(super) fn cell_of(write: Option<EventId>) -> u32 {
    write.map_or(0, |w| w.0 + 1)
}

/// The cell of a variable whose value no remaining read can be intact with: a broken update wrote
/// it, or all reads that could use it are gone.
pub(super) const SPOILT: u32 = u32::MAX;

impl<'s> Program<'s> {
    /// The program of a query; `None` if no interleaving can be what it asks for. Of a path or a
    /// cycle only this many accesses outside the block are looked at, those closest to it in the
    /// trace.
    pub(super) fn new(
        trace_model: &'s TraceModel<'s>,
        query: &Query,
        accesses: usize,
    ) -> Option<Self> {
        let query = with_what_a_goal_runs(trace_model, query)?;
        let parts = parts(trace_model, query.goal, accesses);
        let steps = steps_of(trace_model, query.goal, &parts);
        let bounds = Bounds::of_steps(trace_model, &query, &steps)?;
        Some(Builder::new(trace_model, &query, &bounds, parts).build())
    }

    pub(super) fn step(&self, thread: usize, position: u32) -> &ProgramStep {
        &self.threads[thread].steps[position as usize]
    }
}

/// Numbers objects as they come.
#[derive(Default)]
struct Numbers(FxHashMap<u32, usize>);

impl Numbers {
    fn of(&mut self, object: u32) -> usize {
        let next = self.0.len();
        *self.0.entry(object).or_insert(next)
    }
}

struct Builder<'s, 'q> {
    trace_model: &'s TraceModel<'s>,
    query: &'q Query,
    most: &'q [u32],
    least: Vec<u32>,
    parts: FxHashMap<EventId, Part>,
    /// Events whose view must be preserved whatever comes after them.
    relied_on: FxHashSet<EventId>,
    /// By thread of the trace: its number here.
    threads: Vec<Option<usize>>,
    ids: Vec<ThreadId>,
    variables: Numbers,
    locks: Numbers,
    conditions: Numbers,
    semaphores: Numbers,
    barriers: Numbers,
    slots: FxHashMap<(usize, usize), usize>,
}

impl<'s, 'q> Builder<'s, 'q> {
    fn new(
        trace_model: &'s TraceModel<'s>,
        query: &'q Query,
        bounds: &'q Bounds,
        parts: FxHashMap<EventId, Part>,
    ) -> Self {
        let mut this = Self {
            trace_model,
            query,
            most: &bounds.most,
            least: bounds.least.clone(),
            parts,
            relied_on: relied_on(trace_model, query),
            threads: vec![None; trace_model.chains.thread_count()],
            ids: Vec::new(),
            variables: Numbers::default(),
            locks: Numbers::default(),
            conditions: Numbers::default(),
            semaphores: Numbers::default(),
            barriers: Numbers::default(),
            slots: FxHashMap::default(),
        };
        // A thread that runs nothing is here only if something asks for it to be where it is.
        let named: FxHashSet<ThreadId> =
            query.next.iter().map(|&e| trace_model.trace.thread(e)).collect();
        for t in (0..bounds.most.len()).map(ThreadId::from_index) {
            foretell_limit::check();
            if bounds.most[t.index()] > 0 || named.contains(&t) {
                this.threads[t.index()] = Some(this.ids.len());
                this.ids.push(t);
            }
        }
        // Variables of the goal come first.
        let mut goal: Vec<EventId> = this.parts.keys().copied().collect();
        goal.sort_unstable();
        for e in goal {
            foretell_limit::check();
            if let Some(x) = trace_model.trace.variable(e) {
                this.variables.of(x.0);
            }
        }
        this
    }

    fn place(&self, e: EventId) -> Option<(usize, u32)> {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let thread = self.threads[trace.thread(e).index()]?;
        Some((thread, chains.position(e)))
    }

    fn build(mut self) -> Program<'s> {
        let goal_variables = self.variables.0.len();
        let ids = self.ids.clone();
        let mut threads: Vec<ProgramThread> = ids.iter().map(|&t| self.thread(t)).collect();
        self.orders(&mut threads);
        let aim = self.aim();
        let equal = match self.query.goal {
            Goal::Overwritten(write, x) => FinalWrites::besides(self.trace_model, write, x).equal,
            _ => Vec::new(),
        };
        let equal = equal.into_iter().map(|w| cell_of(Some(w))).collect();
        let memories = self.memories(&threads);
        let counts = self.semaphores.0.iter().map(|(&s, &i)| {
            let count = self.trace_model.trace.initial_count(foretell_trace::SemId(s));
            // More than there are events is as good as any number.
            (i, count.min(u64::from(u32::MAX / 4)) as u32)
        });
        let semaphores = ordered(counts.collect());
        let parties = self.barriers.0.iter().map(|(&b, &i)| {
            (i, self.trace_model.trace.parties(foretell_trace::BarrierId(b)).unwrap_or(1).max(1))
        });
        let barriers = ordered(parties.collect());
        let classes = Classes::new(&threads);
        let inside = inside(&threads, goal_variables);
        let outside = self.parts.values().filter(|p| !p.inside).count();
        Program {
            trace_model: self.trace_model,
            threads,
            memories,
            locks: self.locks.0.len(),
            semaphores,
            barriers,
            slots: self.slots.len(),
            goal_variables,
            aim,
            equal,
            classes,
            inside,
            outside,
        }
    }

    fn thread(&mut self, t: ThreadId) -> ProgramThread {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let most = self.most[t.index()];
        let events = &chains.events(t)[..most as usize];
        let steps = events.iter().map(|&event| {
            let act = self.act(event, chains.position(event) + 1 == most);
            ProgramStep { event, act, after: Vec::new(), before: Vec::new() }
        });
        let steps: Vec<ProgramStep> = steps.collect();
        let least = self.least[t.index()];
        let relied = least > 0 && self.relied_on.contains(&chains.events(t)[least as usize - 1]);
        let stop = self.query.next.iter().find(|&&e| trace.thread(e) == t);
        ProgramThread {
            steps,
            fork: chains.fork(t).and_then(|f| self.place(f)),
            least,
            intact: if relied { least } else { least.saturating_sub(1) },
            stop: stop.map(|&e| chains.position(e)),
        }
    }

    /// The effect of an event that other events or the goal can observe. `end`: its thread runs no
    /// further.
    fn act(&mut self, e: EventId, end: bool) -> Act {
        let trace_model = self.trace_model;
        let op = trace_model.trace.op(e);
        if op.is_access() {
            return self.access(e, op, end);
        }
        let entered = trace_model.locks.entered_at(e).map(|s| trace_model.locks.get(s));
        match trace_model.trace.event(e).kind {
            EventKind::Acquire { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock } => entered.map_or(Act::Local, |section| {
                Act::Enter { lock: self.locks.of(lock.0), shared: section.shared }
            }),
            EventKind::Release { lock } | EventKind::ReleaseShared { lock } => {
                let held =
                    trace_model.locks.held_before(e).iter().map(|&s| trace_model.locks.get(s));
                match held.into_iter().find(|s| s.lock == lock && s.exit == Some(e)) {
                    Some(_) if entered.is_some() => Act::Downgrade { lock: self.locks.of(lock.0) },
                    Some(section) => {
                        Act::Exit { lock: self.locks.of(lock.0), shared: section.shared }
                    }
                    None => Act::Local,
                }
            }
            EventKind::TryFailed { lock } | EventKind::TryFailedShared { lock } => {
                if end && !self.relied_on.contains(&e) && !self.is_joined(e) {
                    return Act::Local;
                }
                let readers = op == Op::TryFailed;
                Act::TryFailed { lock: self.locks.of(lock.0), readers }
            }
            EventKind::Wait { cond, lock } => {
                let (cond, lock) = (self.conditions.of(cond.0), self.locks.of(lock.0));
                Act::Wait { cond, lock, shared: entered.is_some() }
            }
            EventKind::Woken { cond, lock } => {
                Act::Woken { cond: self.conditions.of(cond.0), lock: self.locks.of(lock.0) }
            }
            EventKind::TimedOut { cond, lock } => {
                Act::TimedOut { cond: self.conditions.of(cond.0), lock: self.locks.of(lock.0) }
            }
            EventKind::Notify { cond } => {
                Act::Notify { cond: self.conditions.of(cond.0), all: false }
            }
            EventKind::NotifyAll { cond } => {
                Act::Notify { cond: self.conditions.of(cond.0), all: true }
            }
            EventKind::Post { sem } => Act::Post { sem: self.semaphores.of(sem.0) },
            EventKind::Down { sem } => Act::Down { sem: self.semaphores.of(sem.0) },
            EventKind::Arrive { barrier } => {
                let (barrier, slot) = self.slot(e, barrier.0);
                Act::Arrive { barrier, slot }
            }
            EventKind::Leave { barrier } => {
                let (barrier, slot) = self.slot(e, barrier.0);
                Act::Leave { barrier, slot }
            }
            EventKind::Join { thread } => self.join(thread),
            _ => Act::Local,
        }
    }

    /// Whether an event is the last one of a thread that is joined in the cone: then it matters
    /// whether it is broken.
    fn is_joined(&self, e: EventId) -> bool {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let thread = trace.thread(e);
        let runs = |j: &EventId| chains.position(*j) < self.most[trace.thread(*j).index()];
        chains.events(thread).last() == Some(&e) && chains.joins(thread).iter().any(runs)
    }

    fn join(&self, thread: ThreadId) -> Act {
        let chains = &self.trace_model.chains;
        let count = chains.events(thread).len() as u32;
        match self.threads[thread.index()] {
            // After the fork of a thread that runs nothing.
            _ if count == 0 => match chains.fork(thread).map(|fork| self.place(fork)) {
                Some(Some((thread, position))) => Act::Forked { thread, count: position + 1 },
                Some(None) => Act::Never,
                None => Act::Local,
            },
            Some(i) if self.most[thread.index()] == count => Act::Join { thread: i, count },
            _ => Act::Never,
        }
    }

    fn slot(&mut self, e: EventId, barrier: u32) -> (usize, usize) {
        let barrier = self.barriers.of(barrier);
        let thread = self.threads[self.trace_model.trace.thread(e).index()].unwrap_or(0);
        let next = self.slots.len();
        (barrier, *self.slots.entry((barrier, thread)).or_insert(next))
    }

    fn access(&mut self, e: EventId, op: Op, end: bool) -> Act {
        let trace = self.trace_model.trace;
        let Some(x) = trace.variable(e) else { return Act::Local };
        if self.trace_model.uses_hidden_state(e) {
            return self.hidden_use(e, x);
        }
        let matters = !end
            || op.writes()
            || self.relied_on.contains(&e)
            || self.query.goal == Goal::Broken(e)
            || self.is_joined(e);
        let part = self.parts.get(&e).copied();
        let (reads, writes) = (op.reads() && matters, op.writes());
        let opaque = trace.is_opaque(x);
        if !reads && !writes && !opaque && part.is_none() {
            return Act::Local;
        }
        let var = self.variables.of(x.0);
        Act::Access(Access { var, reads, writes, opaque, after: None, part })
    }

    /// A use of hidden state runs after the write before it. It is never broken then, since the
    /// accesses of its variable keep their order; and where all of them are uses, that order is
    /// all there is to them.
    fn hidden_use(&mut self, e: EventId, x: VarId) -> Act {
        let reads_from = &self.trace_model.reads_from;
        let after = match reads_from.observed(e).map(|w| self.place(w)) {
            Some(None) => return Act::Never,
            Some(place) => place,
            None => None,
        };
        let mixed = !reads_from.has_only_updates(x);
        if after.is_none() && !mixed {
            return Act::Local;
        }
        let var = self.variables.of(x.0);
        Act::Access(Access { var, reads: false, writes: mixed, opaque: mixed, after, part: None })
    }

    fn orders(&self, threads: &mut [ProgramThread]) {
        for &(a, b) in &self.query.order {
            let (Some(first), Some(second)) = (self.place(a), self.place(b)) else { continue };
            if let Some(step) = threads[second.0].steps.get_mut(second.1 as usize) {
                step.after.push(first);
            }
            if let Some(step) = threads[first.0].steps.get_mut(first.1 as usize) {
                step.before.push(second);
            }
        }
    }

    fn aim(&mut self) -> Aim {
        let trace = self.trace_model.trace;
        let own = |this: &Self, block| {
            let thread = this.trace_model.blocks.get(block).thread;
            this.threads[thread.index()].unwrap_or(0)
        };
        match self.query.goal {
            // Happens-before is not a matter of states: the engine turns such queries down.
            Goal::Reach | Goal::Unordered(..) | Goal::Stuck(_) => Aim::Reach,
            Goal::Broken(read) => {
                let (thread, position) = self.place(read).unwrap_or((0, u32::MAX));
                Aim::Broken { thread, position }
            }
            Goal::Overwritten(write, _) => {
                let x = trace.variable(write).map_or(u32::MAX, |x| x.0);
                Aim::Overwritten { var: self.variables.of(x), cell: cell_of(Some(write)) }
            }
            Goal::Path(block) => {
                let last = self.parts.iter().filter(|(_, p)| p.inside).map(|(&e, _)| e).max();
                let end = last.map_or(0, |e| self.trace_model.chains.position(e) + 1);
                Aim::Path { thread: own(self, block), end }
            }
            Goal::Cycle(block) => Aim::Cycle { thread: own(self, block) },
        }
    }

    /// Fills in the readers of each variable.
    fn memories(&self, threads: &[ProgramThread]) -> Vec<Memory> {
        let TraceModel { trace, reads_from, model, .. } = self.trace_model;
        let by_value = *model != Model::View;
        let mut memories = vec![Memory::default(); self.variables.0.len()];
        let mut writes: Vec<Vec<EventId>> = vec![Vec::new(); memories.len()];
        let mut reads: Vec<Vec<(usize, u32, EventId)>> = vec![Vec::new(); memories.len()];
        for (t, thread) in threads.iter().enumerate() {
            for (position, step) in thread.steps.iter().enumerate() {
                foretell_limit::check();
                let Act::Access(access) = step.act else { continue };
                if access.writes {
                    writes[access.var].push(step.event);
                }
                if access.reads {
                    reads[access.var].push((t, position as u32, step.event));
                }
            }
        }
        for (x, memory) in memories.iter_mut().enumerate() {
            // By value: the cells that hold it.
            let mut holders: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
            if by_value {
                for &w in &writes[x] {
                    foretell_limit::check();
                    if let Some(value) = trace.written_value(w) {
                        holders.entry(value.0).or_default().push(cell_of(Some(w)));
                    }
                }
                let initial = reads[x].first().and_then(|r| trace.variable(r.2));
                if let Some(value) = initial.and_then(|x| reads_from.initial(x)) {
                    holders.entry(value.0).or_default().push(cell_of(None));
                }
            }
            for &(t, position, read) in &reads[x] {
                foretell_limit::check();
                let observed = cell_of(reads_from.observed(read));
                let mut cells = vec![observed];
                if let Some(value) = trace.read_value(read).filter(|_| by_value) {
                    cells.extend(holders.get(&value.0).into_iter().flatten());
                }
                cells.sort_unstable();
                cells.dedup();
                if position < threads[t].intact && cells.len() == 1 {
                    memory.owed.entry(observed).or_default().push((t, position));
                }
                for cell in cells {
                    let readers = memory.readers.entry(cell).or_default();
                    match readers.iter_mut().find(|(thread, _)| *thread == t) {
                        Some((_, last)) => *last = position.max(*last),
                        None => readers.push((t, position)),
                    }
                }
            }
        }
        memories
    }
}

/// The events whose view a query relies on whatever happens after them.
fn relied_on(trace_model: &TraceModel<'_>, query: &Query) -> FxHashSet<EventId> {
    let TraceModel { trace, chains, .. } = trace_model;
    let mut events: FxHashSet<EventId> =
        query.next.iter().filter_map(|&e| chains.previous(trace, e)).collect();
    if let Goal::Overwritten(..) = query.goal {
        let threads = (0..chains.thread_count()).map(ThreadId::from_index);
        events.extend(threads.filter_map(|t| chains.events(t).last()));
    }
    events
}

/// Values in the order of their numbers.
fn ordered(mut numbered: Vec<(usize, u32)>) -> Vec<u32> {
    numbered.sort_unstable();
    numbered.into_iter().map(|(_, value)| value).collect()
}

/// By variable of the goal, where the block first accesses and first writes it.
fn inside(threads: &[ProgramThread], variables: usize) -> Vec<(u32, u32)> {
    let mut first = vec![(u32::MAX, u32::MAX); variables];
    for (position, step) in threads.iter().flat_map(|t| t.steps.iter().enumerate()) {
        foretell_limit::check();
        let Act::Access(access) = step.act else { continue };
        if access.part.is_some_and(|p| p.inside) {
            let position = position as u32;
            let (any, write) = &mut first[access.var];
            *any = position.min(*any);
            if access.writes {
                *write = position.min(*write);
            }
        }
    }
    first
}
