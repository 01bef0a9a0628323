//! The machine that runs the steps of a [`Program`]: the rules of semantics sections 1 and 2, from
//! one [`SearchState`] to the next.

use super::act::{Access, Act, ProgramThread};
use super::goal;
use super::program::{Aim, Program, SPOILT, cell_of};
use super::state::{CUT, SearchState, WAITS};

/// Whether a thread can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Status {
    /// It is cut, or at its end.
    Done,
    Ready,
    /// Not before this.
    Blocked(Need),
}

/// Something without which a blocked thread stays blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// A step of this thread.
    Thread(usize),
    /// A notification of this condition.
    Notify(usize),
    /// A post of this semaphore.
    Post(usize),
    /// An arrival at this barrier.
    Arrival(usize),
    /// Nothing helps.
    Nothing,
}

/// Runs the steps of a program.
pub(super) struct Machine<'p, 's> {
    pub(super) program: &'p Program<'s>,
    /// Where the parts of the core start.
    memory: usize,
    slots: usize,
    goal: usize,
    /// Words of a set of threads.
    words: usize,
    /// Where the parts of the rest start.
    readers: usize,
    counts: usize,
    arrived: usize,
    opaque: usize,
    start: SearchState,
}

impl<'p, 's> Machine<'p, 's> {
    pub(super) fn new(program: &'p Program<'s>) -> Self {
        let words = program.threads.len().div_ceil(32);
        let memory = program.threads.len();
        let slots = memory + program.memories.len();
        let goal = slots + program.slots;
        let readers = program.locks;
        let counts = readers + program.locks * words;
        let arrived = counts + program.semaphores.len();
        let opaque = arrived + program.barriers.len();
        let core = vec![0; goal + goal::size(program)];
        let mut derived = vec![0; opaque + program.memories.len()];
        derived[counts..arrived].copy_from_slice(&program.semaphores);
        let start = SearchState { core, derived };
        let mut machine =
            Self { program, memory, slots, goal, words, readers, counts, arrived, opaque, start };
        let mut start = machine.start.clone();
        machine.forget(&mut start);
        machine.start = start;
        machine
    }

    /// The state of the empty interleaving.
    pub(super) fn start(&self) -> SearchState {
        self.start.clone()
    }

    /// Whether a thread can run its next step, and what it is waiting for if not.
    pub(super) fn status(&self, state: &SearchState, t: usize) -> Status {
        let thread = &self.program.threads[t];
        let position = state.position(t);
        if state.is_cut(t) || position as usize >= thread.steps.len() {
            return Status::Done;
        }
        if let Some((forker, at)) = thread.fork
            && state.position(forker) <= at
        {
            return Status::Blocked(Need::Thread(forker));
        }
        match self.need(state, t, &thread.steps[position as usize].act) {
            None => Status::Ready,
            Some(need) => Status::Blocked(need),
        }
    }

    /// Returns the need of a step that cannot run yet.
    fn need(&self, state: &SearchState, t: usize, act: &Act) -> Option<Need> {
        match *act {
            Act::Access(Access { after: Some((thread, position)), .. })
                if state.position(thread) <= position =>
            {
                Some(Need::Thread(thread))
            }
            Act::Access(Access { var, opaque: true, .. }) => {
                let event = self.program.step(t, state.position(t)).event;
                (state.derived[self.opaque + var] > event.0).then_some(Need::Nothing)
            }
            Act::Enter { lock, shared } => self.holder(state, lock, shared),
            Act::Woken { cond, .. } if state.waits(t) => Some(Need::Notify(cond)),
            Act::TimedOut { .. } if !state.waits(t) => Some(Need::Nothing),
            Act::Woken { lock, .. } | Act::TimedOut { lock, .. } => self.holder(state, lock, false),
            Act::Down { sem } => (state.derived[self.counts + sem] == 0).then_some(Need::Post(sem)),
            Act::Leave { barrier, slot } => {
                // Stored + 1, so this is the number of arrivals that fills the generation.
                let generation = state.core[self.slots + slot];
                let needed = generation * self.program.barriers[barrier];
                (state.derived[self.arrived + barrier] < needed).then_some(Need::Arrival(barrier))
            }
            Act::Join { thread, .. } if state.is_cut(thread) => Some(Need::Nothing),
            Act::Join { thread, count } | Act::Forked { thread, count } => {
                (state.position(thread) < count).then_some(Need::Thread(thread))
            }
            Act::Never => Some(Need::Nothing),
            _ => None,
        }
    }

    /// A thread that has to give a lock back first.
    fn holder(&self, state: &SearchState, lock: usize, shared: bool) -> Option<Need> {
        if let Some(owner) = state.derived[lock].checked_sub(1) {
            return Some(Need::Thread(owner as usize));
        }
        let readers = &state.derived[self.readers + lock * self.words..][..self.words];
        let reader = readers.iter().position(|&w| w != 0)?;
        let thread = reader * 32 + readers[reader].trailing_zeros() as usize;
        (!shared).then_some(Need::Thread(thread))
    }

    /// Whether a thread other than `t` holds the reader side of a lock.
    fn is_read_besides(&self, state: &SearchState, lock: usize, t: usize) -> bool {
        let readers = &state.derived[self.readers + lock * self.words..][..self.words];
        let own = |word: usize| if word == t / 32 { 1 << (t % 32) } else { 0 };
        readers.iter().enumerate().any(|(word, &bits)| bits & !own(word) != 0)
    }

    /// Whether the next step of a thread, run now, would see something else than in the trace.
    pub(super) fn would_break(&self, state: &SearchState, t: usize) -> bool {
        let step = self.program.step(t, state.position(t));
        match step.act {
            Act::Access(Access { var, reads: true, .. }) => {
                let cell = state.core[self.memory + var];
                let writer = cell.checked_sub(1).map(foretell_trace::EventId);
                let trace_model = self.program.trace_model;
                cell == SPOILT
                    || !trace_model.reads_from.preserves(trace_model.trace, step.event, writer)
            }
            Act::TryFailed { lock, readers } => {
                let owner = state.derived[lock];
                let owned = owner != 0 && owner != t as u32 + 1;
                !(owned || readers && self.is_read_besides(state, lock, t))
            }
            _ => false,
        }
    }

    /// Runs the next step of a thread, which is ready. Adds the states it can lead to: more than
    /// one where a notify can choose, none where what is asked for cannot come any more.
    pub(super) fn run(&self, state: &SearchState, t: usize, after: &mut Vec<SearchState>) {
        let position = state.position(t);
        let step = self.program.step(t, position);
        if step.after.iter().any(|&(a, at)| state.position(a) <= at) {
            return;
        }
        let broken = self.would_break(state, t);
        let thread = &self.program.threads[t];
        if broken && position < thread.intact {
            return;
        }
        let mut next = state.clone();
        next.core[t] += 1 << 2;
        if broken {
            next.core[t] |= CUT;
        }
        if let Aim::Broken { thread, position: at } = self.program.aim
            && (thread, at) == (t, position)
        {
            if !broken {
                return;
            }
            next.core[self.goal] = 1;
        }
        match step.act {
            Act::Access(access) => {
                if !self.access(&mut next, t, position, access, broken) {
                    return;
                }
            }
            Act::Notify { cond, all } => return self.notify(next, cond, all, after),
            act => self.take_effect(&mut next, t, act),
        }
        self.add(next, after);
    }

    fn add(&self, mut next: SearchState, after: &mut Vec<SearchState>) {
        if !self.is_hopeless(&next) {
            self.forget(&mut next);
            after.push(next);
        }
    }

    /// The effect of an access; whether what is asked for can still come.
    fn access(
        &self,
        next: &mut SearchState,
        t: usize,
        position: u32,
        a: Access,
        broken: bool,
    ) -> bool {
        let event = self.program.step(t, position).event;
        if a.opaque {
            next.derived[self.opaque + a.var] = event.0 + 1;
        }
        let memory = &self.program.memories[a.var];
        let watched = matches!(self.program.aim, Aim::Overwritten { var, .. } if var == a.var);
        if a.writes && (watched || !memory.readers.is_empty()) {
            let cell = &mut next.core[self.memory + a.var];
            let hidden =
                std::mem::replace(cell, if broken { SPOILT } else { cell_of(Some(event)) });
            let owed = memory.owed.get(&hidden).map_or(&[][..], Vec::as_slice);
            if owed.iter().any(|&(reader, at)| next.position(reader) <= at) {
                return false;
            }
        }
        if let Some(part) = a.part {
            goal::access(self.program, next, self.goal, t, (a.var, a.writes), part);
        }
        true
    }

    fn take_effect(&self, next: &mut SearchState, t: usize, act: Act) {
        let me = t as u32 + 1;
        // In where a reader comes, out where it goes.
        let toggle_reader = |next: &mut SearchState, lock: usize| {
            next.derived[self.readers + lock * self.words + t / 32] ^= 1 << (t % 32);
        };
        match act {
            Act::Enter { lock, shared: false } => next.derived[lock] = me,
            Act::Exit { lock, shared: false } => next.derived[lock] = 0,
            Act::Enter { lock, shared: true } | Act::Exit { lock, shared: true } => {
                toggle_reader(next, lock);
            }
            Act::Downgrade { lock } => {
                next.derived[lock] = 0;
                toggle_reader(next, lock);
            }
            Act::Wait { lock, shared, .. } => {
                next.core[t] |= WAITS;
                next.derived[lock] = 0;
                if shared {
                    toggle_reader(next, lock);
                }
            }
            Act::Woken { lock, .. } | Act::TimedOut { lock, .. } => {
                next.core[t] &= !WAITS;
                next.derived[lock] = me;
            }
            Act::Post { sem } => next.derived[self.counts + sem] += 1,
            Act::Down { sem } => next.derived[self.counts + sem] -= 1,
            Act::Arrive { barrier, slot } => {
                let arrived = &mut next.derived[self.arrived + barrier];
                let generation = *arrived / self.program.barriers[barrier];
                *arrived += 1;
                next.core[self.slots + slot] = generation + 1;
            }
            Act::Leave { slot, .. } => next.core[self.slots + slot] = 0,
            _ => {}
        }
    }

    fn notify(&self, next: SearchState, cond: usize, all: bool, after: &mut Vec<SearchState>) {
        let waiters = (0..self.program.threads.len()).filter(|&t| self.waits_for(&next, t, cond));
        let waiters: Vec<usize> = waiters.collect();
        if all || waiters.is_empty() {
            let mut next = next;
            waiters.into_iter().for_each(|w| next.core[w] &= !WAITS);
            return self.add(next, after);
        }
        for waiter in waiters {
            let mut chosen = next.clone();
            chosen.core[waiter] &= !WAITS;
            self.add(chosen, after);
        }
    }

    /// Whether a thread is in the wait set of a condition. Its last step is the wait.
    fn waits_for(&self, state: &SearchState, t: usize, cond: usize) -> bool {
        let last = || self.program.step(t, state.position(t) - 1).act;
        state.waits(t) && matches!(last(), Act::Wait { cond: c, .. } if c == cond)
    }

    /// Whether nothing that is asked for can come any more.
    fn is_hopeless(&self, state: &SearchState) -> bool {
        let cut_early = |(t, thread): (usize, &ProgramThread)| {
            state.is_cut(t) && (state.position(t) < thread.least || thread.stop.is_some())
        };
        if self.program.threads.iter().enumerate().any(cut_early) {
            return true;
        }
        match self.program.aim {
            // No path comes back to a block that has come to its end: the paper's backtrack tag.
            Aim::Path { thread, end } => {
                state.core[self.goal] == 0
                    && (state.is_cut(thread) || state.position(thread) >= end)
            }
            _ => false,
        }
    }

    /// Whether a state is what is asked for.
    pub(super) fn is_found(&self, state: &SearchState) -> bool {
        let in_place = |(t, thread): (usize, &ProgramThread)| {
            let position = state.position(t);
            let started = thread.fork.is_none_or(|(forker, at)| state.position(forker) > at);
            let stopped = thread.stop.is_none_or(|stop| stop == position && started);
            position >= thread.least && stopped
        };
        self.program.threads.iter().enumerate().all(in_place)
            && match self.program.aim {
                Aim::Reach => true,
                Aim::Overwritten { var, cell } => {
                    let last = state.core[self.memory + var];
                    last != cell && !self.program.equal.contains(&last)
                }
                Aim::Broken { .. } | Aim::Path { .. } | Aim::Cycle { .. } => {
                    state.core[self.goal] != 0
                }
            }
    }

    /// Forgets what no step to come can tell, so that more states are the same.
    fn forget(&self, state: &mut SearchState) {
        let watched = match self.program.aim {
            Aim::Overwritten { var, .. } => Some(var),
            _ => None,
        };
        for (x, memory) in self.program.memories.iter().enumerate() {
            let cell = state.core[self.memory + x];
            if cell == SPOILT || Some(x) == watched {
                continue;
            }
            let readers = memory.readers.get(&cell).map_or(&[][..], Vec::as_slice);
            if !readers.iter().any(|&(t, last)| state.goes_beyond(t, last)) {
                state.core[self.memory + x] = SPOILT;
            }
        }
        goal::forget(self.program, state, self.goal);
    }
}
