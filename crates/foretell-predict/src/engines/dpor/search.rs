//! The search: depth first over states, with persistent sets, sleep sets and a memory of states.
//!
//! *Sleep sets.* When a thread has been tried in a state, it sleeps in what the other threads lead
//! to from there, until one of them runs a step that its own depends on: until then its step could
//! as well come first, and that has been tried.
//!
//! *States.* A state that was visited is not visited again, whichever threads slept then. A state
//! that the search has left has no continuation that shows what is asked for. For take one, τ. Its
//! first step that belongs to the state's persistent set can be moved to the front (or one of the
//! set can be put there, if τ has none). If that thread did not sleep, the state after it was
//! visited and left before, and the rest of τ is a continuation of it. If it slept, it was tried in
//! an earlier state of the way here, and what it led to was left; the steps from there to here are
//! independent of it, so they, and then the rest of τ, are a continuation of that one. Either way
//! it is a state that was left earlier. And a known state has always been left: every step adds an
//! event, so no way comes back to a state that it has been in.
//!
//! *Context bound.* Switches that are not significant are counted (the SMT-versus-DPOR paper's
//! section 3.3): a switch is free if the thread before cannot go on, or its next read would see
//! something else than in the trace. The count is then part of the state. What the bound cuts off
//! makes a "no" a "bounded".

use foretell_trace::EventId;
use rustc_hash::FxHashSet;

use super::machine::{Machine, Status};
use super::persistent::{Persistent, dependent};
use super::state::SearchState;
use crate::query::{Limit, Verdict};

/// A set of threads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Threads(Vec<u64>);

impl Threads {
    fn contains(&self, t: usize) -> bool {
        self.0.get(t / 64).is_some_and(|w| w >> (t % 64) & 1 != 0)
    }

    fn insert(&mut self, t: usize) {
        if self.0.len() <= t / 64 {
            self.0.resize(t / 64 + 1, 0);
        }
        self.0[t / 64] |= 1 << (t % 64);
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate();
        words.flat_map(|(i, w)| (0..64).filter(move |b| w >> b & 1 != 0).map(move |b| i * 64 + b))
    }
}

/// A state on the way to the current one.
struct Frame {
    state: SearchState,
    sleep: Threads,
    /// Threads to try, the next one last.
    todo: Vec<usize>,
    /// The thread that is being tried.
    current: Option<usize>,
    /// States that its step can lead to and that have not been visited.
    choices: Vec<SearchState>,
    /// Whether anything has come of it.
    went_on: bool,
    /// The thread that ran last, and the switches so far that were not significant.
    last: Option<usize>,
    switches: u32,
}

/// Effort of a search.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Explored {
    pub(super) nodes: u64,
    pub(super) interleavings: u64,
}

/// Cut short because of the number of states.
pub(super) const NODE_BUDGET: &str = "node budget";
/// Cut short by the context bound.
pub(super) const BOUNDED: &str = "bounded";

pub(super) struct Search<'m, 'p, 's> {
    machine: &'m Machine<'p, 's>,
    bound: Option<u32>,
    nodes: u64,
    persistent: Persistent,
    /// Cores, with a context bound also last thread and switches.
    known: FxHashSet<Box<[u32]>>,
    stack: Vec<Frame>,
    schedule: Vec<EventId>,
    bounded: bool,
    pub(super) explored: Explored,
}

impl<'m, 'p, 's> Search<'m, 'p, 's> {
    pub(super) fn new(machine: &'m Machine<'p, 's>, bound: Option<u32>, nodes: u64) -> Self {
        Self {
            machine,
            bound,
            nodes,
            persistent: Persistent::default(),
            known: FxHashSet::default(),
            stack: Vec::new(),
            schedule: Vec::new(),
            bounded: false,
            explored: Explored::default(),
        }
    }

    /// Looks for a state that is what is asked for.
    pub(super) fn run(&mut self, limit: &Limit<'_>) -> Verdict {
        let start = self.machine.start();
        if self.machine.is_found(&start) {
            return Verdict::Witness(Vec::new());
        }
        self.visit(start, Threads::default(), None, 0);
        while !self.stack.is_empty() {
            foretell_limit::check();
            if self.explored.nodes.is_multiple_of(256)
                && let Some(reason) = limit.reached()
            {
                return Verdict::Undecided(reason.to_owned());
            }
            if self.explored.nodes > self.nodes {
                return Verdict::Undecided(NODE_BUDGET.to_owned());
            }
            if self.advance() {
                return Verdict::Witness(std::mem::take(&mut self.schedule));
            }
        }
        if self.bounded { Verdict::Undecided(BOUNDED.to_owned()) } else { Verdict::Impossible }
    }

    /// Takes the next step of the search; whether it has found what is asked for.
    fn advance(&mut self) -> bool {
        let Some(frame) = self.stack.last_mut() else { return false };
        if let (Some(t), Some(next)) = (frame.current, frame.choices.pop()) {
            frame.went_on = true;
            let switches = frame.switches + switch_cost(self.machine, frame, t);
            if self.bound.is_some_and(|bound| switches > bound) {
                self.bounded = true;
                return false;
            }
            let position = frame.state.position(t);
            let event = self.machine.program.step(t, position).event;
            let state = &frame.state;
            let mut sleep = Threads::default();
            let asleep = frame.sleep.iter().filter(|&u| u != t);
            asleep.filter(|&u| !dependent(self.machine, state, t, u)).for_each(|u| sleep.insert(u));
            self.schedule.push(event);
            if self.machine.is_found(&next) {
                return true;
            }
            if !self.visit(next, sleep, Some(t), switches) {
                self.schedule.pop();
            }
            return false;
        }
        if let Some(tried) = frame.current.take() {
            frame.sleep.insert(tried);
        }
        if let Some(t) = frame.todo.pop() {
            self.machine.run(&frame.state, t, &mut frame.choices);
            frame.current = Some(t);
            return false;
        }
        self.explored.interleavings += u64::from(!frame.went_on);
        self.stack.pop();
        self.schedule.pop();
        false
    }

    /// Enters a state, unless that is no use; whether it did.
    fn visit(
        &mut self,
        state: SearchState,
        sleep: Threads,
        last: Option<usize>,
        switches: u32,
    ) -> bool {
        self.explored.nodes += 1;
        let mut key = state.core.clone();
        if self.bound.is_some() {
            key.extend([last.map_or(0, |t| t as u32 + 1), switches]);
        }
        if !self.known.insert(key.into_boxed_slice()) {
            self.explored.interleavings += 1;
            return false;
        }
        let mut todo = self.persistent.of(self.machine, &state);
        todo.retain(|&t| !sleep.contains(t));
        self.stack.push(Frame {
            state,
            sleep,
            todo,
            current: None,
            choices: Vec::new(),
            went_on: false,
            last,
            switches,
        });
        true
    }
}

/// 1 if going on with `t` is a context switch that is not significant.
fn switch_cost(machine: &Machine<'_, '_>, frame: &Frame, t: usize) -> u32 {
    let Some(last) = frame.last.filter(|&last| last != t) else { return 0 };
    let inevitable = machine.status(&frame.state, last) != Status::Ready;
    u32::from(!inevitable && !machine.would_break(&frame.state, last))
}
