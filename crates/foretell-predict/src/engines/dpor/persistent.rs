//! Persistent sets: which threads are enough to go on with.
//!
//! A set of threads is persistent in a state if nothing that the other threads can do from there on
//! depends on the next steps of those in the set. Of any interleaving that shows what is asked for,
//! either the first step that belongs to the set can be moved to the front, or none does, and then
//! any of them can be put in front: it changes nothing for the others, and what is asked for only
//! ever asks for more to have run.
//!
//! DPOR finds such sets by running into conflicts and adding threads to the backtrack sets of
//! earlier states, because it does not know what a thread will do. The events of a trace are known,
//! so the set is computed on the spot (the closure of stubborn sets): from one thread that can go
//! on, add every thread that can still run a step in conflict with the next one of a member, and
//! for a member that is blocked those without which it stays so. That depends on the state alone,
//! which makes it safe to remember states.

use super::act::Act;
use super::dependence::StepClass;
use super::machine::{Machine, Need, Status};
use super::program::Aim;
use super::state::SearchState;

/// Finds persistent sets. Keeps its lists between states.
#[derive(Default)]
pub(super) struct Persistent {
    statuses: Vec<Status>,
    member: Vec<bool>,
    work: Vec<usize>,
}

impl Persistent {
    /// The ready threads of a small persistent set, the one to try first last.
    pub(super) fn of(&mut self, machine: &Machine<'_, '_>, state: &SearchState) -> Vec<usize> {
        let program = machine.program;
        let threads = 0..program.threads.len();
        self.statuses.clear();
        self.statuses.extend(threads.clone().map(|t| machine.status(state, t)));
        let mut ready: Vec<usize> =
            threads.filter(|&t| self.statuses[t] == Status::Ready).collect();
        // First the threads that have to run, then in the order of the trace.
        let rank = |t: usize| {
            let position = state.position(t);
            (position >= program.threads[t].least, program.step(t, position).event)
        };
        ready.sort_unstable_by_key(|&t| std::cmp::Reverse(rank(t)));
        let mut best = ready.clone();
        for &start in ready.iter().rev() {
            foretell_limit::check();
            if best.len() <= 1 {
                break;
            }
            if let Some(size) = self.close(machine, state, start, best.len()) {
                best = ready.iter().copied().filter(|&t| self.member[t]).collect();
                debug_assert_eq!(best.len(), size);
            }
        }
        best
    }

    /// The closure of one thread, in `member`, with the number of ready threads in it; `None` if
    /// there would be `limit` of them or more.
    fn close(
        &mut self,
        machine: &Machine<'_, '_>,
        state: &SearchState,
        start: usize,
        limit: usize,
    ) -> Option<usize> {
        self.member.clear();
        self.member.resize(self.statuses.len(), false);
        self.member[start] = true;
        self.work.clear();
        self.work.push(start);
        let mut ready = 0;
        while let Some(t) = self.work.pop() {
            foretell_limit::check();
            let (member, work) = (&mut self.member, &mut self.work);
            let mut add = |other: usize| {
                if !std::mem::replace(&mut member[other], true) {
                    work.push(other);
                }
            };
            match self.statuses[t] {
                Status::Done => {}
                Status::Ready => {
                    ready += 1;
                    if ready >= limit {
                        return None;
                    }
                    each_dependent(machine, state, t, &mut add);
                }
                Status::Blocked(need) => each_helper(machine, state, need, &mut add),
            }
        }
        Some(ready)
    }
}

/// Whether the order of a step's write counts even if no step reads it.
fn is_watched(machine: &Machine<'_, '_>, act: &Act) -> bool {
    match (machine.program.aim, act) {
        (Aim::Overwritten { var, .. }, Act::Access(access)) => access.var == var,
        _ => false,
    }
}

/// The threads that can still run a step which depends on the next one of `t`.
fn each_dependent(
    machine: &Machine<'_, '_>,
    state: &SearchState,
    t: usize,
    add: &mut impl FnMut(usize),
) {
    let program = machine.program;
    let step = program.step(t, state.position(t));
    let watched = is_watched(machine, &step.act);
    program.classes.in_conflict(state, t, watched, &mut *add);
    for &(other, at) in step.after.iter().chain(&step.before) {
        if state.goes_beyond(other, at) {
            add(other);
        }
    }
}

/// The threads one of which has to go on before a need is met.
fn each_helper(
    machine: &Machine<'_, '_>,
    state: &SearchState,
    need: Need,
    add: &mut impl FnMut(usize),
) {
    let classes = &machine.program.classes;
    match need {
        Need::Thread(t) => add(t),
        Need::Notify(cond) => classes.threads_with(state, StepClass::Notify(cond)).for_each(add),
        Need::Post(sem) => classes.threads_with(state, StepClass::Post(sem)).for_each(add),
        Need::Arrival(barrier) => {
            classes.threads_with(state, StepClass::Arrive(barrier)).for_each(add);
        }
        Need::Nothing => {}
    }
}

/// Whether the next steps of two ready threads depend on each other.
pub(super) fn dependent(
    machine: &Machine<'_, '_>,
    state: &SearchState,
    a: usize,
    b: usize,
) -> bool {
    let program = machine.program;
    let step = program.step(a, state.position(a));
    let other = (b, state.position(b));
    program.classes.conflict(state, a, b, is_watched(machine, &step.act))
        || step.after.contains(&other)
        || step.before.contains(&other)
}
