//! Which steps depend on each other: those whose order can be observed.
//!
//! A step belongs to *classes* (a read of x, an acquire of l, …) and is in conflict with classes.
//! Two steps of different threads that are both enabled are independent unless one is in a class
//! that the other is in conflict with: either order then leads to the same state, with the same
//! reads broken and the same paths and cycles. What only *enables* the other (a post and a down, a
//! release and an acquire) is no conflict: the order in which it is needed is the only one there
//! is.
//!
//! Two writes of a variable that no remaining step observes are independent as well, unless the
//! goal asks for their order: this is the one conflict that goes away on the way.

use rustc_hash::FxHashMap;

use super::act::{Access, Act, ProgramThread};
use super::state::SearchState;

/// A kind of step on one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum StepClass {
    Read(usize),
    Write(usize),
    /// An access that may be part of the goal, and one that writes.
    Part(usize),
    PartWrite(usize),
    /// Any access to an opaque variable.
    Opaque(usize),
    Enter(usize),
    EnterShared(usize),
    /// The end of a writer's section.
    Exit(usize),
    /// The end of a reader's section.
    ExitShared(usize),
    /// A failed try, and one for the reader side.
    Try(usize),
    TryShared(usize),
    Wait(usize),
    Notify(usize),
    TimedOut(usize),
    Post(usize),
    Down(usize),
    Arrive(usize),
}

/// The classes that a step belongs to.
fn classes_of(act: &Act) -> Vec<StepClass> {
    match *act {
        Act::Access(Access { var, reads, writes, opaque, part, .. }) => {
            let kinds = [
                (reads, StepClass::Read(var)),
                (writes, StepClass::Write(var)),
                (opaque, StepClass::Opaque(var)),
                (part.is_some(), StepClass::Part(var)),
                (part.is_some() && writes, StepClass::PartWrite(var)),
            ];
            kinds.into_iter().filter(|k| k.0).map(|k| k.1).collect()
        }
        Act::Enter { lock, shared: true } => vec![StepClass::EnterShared(lock)],
        Act::Enter { lock, shared: false } => vec![StepClass::Enter(lock)],
        Act::Exit { lock, shared: false } | Act::Downgrade { lock } => vec![StepClass::Exit(lock)],
        Act::Exit { lock, shared: true } => vec![StepClass::ExitShared(lock)],
        Act::TryFailed { lock, readers: true } => vec![StepClass::Try(lock)],
        Act::TryFailed { lock, readers: false } => vec![StepClass::TryShared(lock)],
        Act::Wait { cond, lock, .. } => vec![StepClass::Wait(cond), StepClass::Exit(lock)],
        Act::Woken { lock, .. } => vec![StepClass::Enter(lock)],
        Act::TimedOut { cond, lock } => vec![StepClass::TimedOut(cond), StepClass::Enter(lock)],
        Act::Notify { cond, .. } => vec![StepClass::Notify(cond)],
        Act::Post { sem } => vec![StepClass::Post(sem)],
        Act::Down { sem } => vec![StepClass::Down(sem)],
        Act::Arrive { barrier, .. } => vec![StepClass::Arrive(barrier)],
        Act::Leave { .. } | Act::Join { .. } | Act::Forked { .. } | Act::Local | Act::Never => {
            Vec::new()
        }
    }
}

/// The classes that a step is in conflict with; two writes are dealt with apart.
fn conflicts_of(act: &Act) -> Vec<StepClass> {
    let tries = |lock| [StepClass::Try(lock), StepClass::TryShared(lock)];
    let entering = |lock| {
        let mut classes = vec![StepClass::Enter(lock), StepClass::EnterShared(lock)];
        classes.extend(tries(lock));
        classes
    };
    match *act {
        Act::Access(Access { var, reads, writes, opaque, part, .. }) => {
            let kinds = [
                (reads, StepClass::Write(var)),
                (writes, StepClass::Read(var)),
                (opaque, StepClass::Opaque(var)),
                (part.is_some() && writes, StepClass::Part(var)),
                (part.is_some() && !writes, StepClass::PartWrite(var)),
            ];
            kinds.into_iter().filter(|k| k.0).map(|k| k.1).collect()
        }
        Act::Enter { lock, shared: true } => {
            vec![StepClass::Enter(lock), StepClass::Try(lock)]
        }
        Act::Enter { lock, shared: false } | Act::Woken { lock, .. } => entering(lock),
        Act::Exit { lock, shared: false } | Act::Downgrade { lock } => tries(lock).to_vec(),
        Act::Exit { lock, shared: true } => vec![StepClass::Try(lock)],
        Act::TryFailed { lock, readers } => {
            let mut classes = vec![StepClass::Enter(lock), StepClass::Exit(lock)];
            if readers {
                classes.extend([StepClass::EnterShared(lock), StepClass::ExitShared(lock)]);
            }
            classes
        }
        Act::Wait { cond, lock, .. } => {
            let mut classes = vec![StepClass::Notify(cond)];
            classes.extend(tries(lock));
            classes
        }
        Act::TimedOut { cond, lock } => {
            let mut classes = entering(lock);
            classes.push(StepClass::Notify(cond));
            classes
        }
        Act::Notify { cond, .. } => {
            vec![StepClass::Notify(cond), StepClass::Wait(cond), StepClass::TimedOut(cond)]
        }
        Act::Down { sem } => vec![StepClass::Down(sem)],
        Act::Arrive { barrier, .. } => vec![StepClass::Arrive(barrier)],
        Act::Post { .. }
        | Act::Leave { .. }
        | Act::Join { .. }
        | Act::Forked { .. }
        | Act::Local
        | Act::Never => Vec::new(),
    }
}

/// A class by its number.
type Number = u32;

/// A step's classes and conflicts.
#[derive(Clone, Debug, Default)]
struct Footprint {
    classes: Vec<Number>,
    conflicts: Vec<Number>,
    /// For a write: the class of writes and of reads of its variable.
    write: Option<(Number, Option<Number>)>,
}

/// The classes of a program: their members, and the steps that they concern.
#[derive(Debug, Default)]
pub(super) struct Classes {
    numbers: FxHashMap<StepClass, Number>,
    /// By class: each thread that has steps in it, with the position of the last one.
    last: Vec<Vec<(usize, u32)>>,
    /// By thread and position.
    footprints: Vec<Vec<Footprint>>,
}

impl Classes {
    pub(super) fn new(threads: &[ProgramThread]) -> Self {
        let mut this = Self::default();
        for (t, thread) in threads.iter().enumerate() {
            for (position, step) in thread.steps.iter().enumerate() {
                foretell_limit::check();
                for class in classes_of(&step.act) {
                    let next = this.last.len() as Number;
                    let number = *this.numbers.entry(class).or_insert(next);
                    if number == next {
                        this.last.push(Vec::new());
                    }
                    let members = &mut this.last[number as usize];
                    match members.last_mut() {
                        Some((thread, last)) if *thread == t => *last = position as u32,
                        _ => members.push((t, position as u32)),
                    }
                }
            }
        }
        let footprints =
            threads.iter().map(|t| t.steps.iter().map(|s| this.footprint(&s.act)).collect());
        this.footprints = footprints.collect();
        this
    }

    fn footprint(&self, act: &Act) -> Footprint {
        let number = |class: &StepClass| self.numbers.get(class).copied();
        let write = match *act {
            Act::Access(Access { var, writes: true, .. }) => {
                number(&StepClass::Write(var)).map(|w| (w, number(&StepClass::Read(var))))
            }
            _ => None,
        };
        Footprint {
            classes: classes_of(act).iter().filter_map(number).collect(),
            // A class without members is no conflict.
            conflicts: conflicts_of(act).iter().filter_map(number).collect(),
            write,
        }
    }

    /// The threads that can still run a step of a class.
    fn members<'a>(
        &'a self,
        state: &'a SearchState,
        class: Number,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let members = self.last[class as usize].iter();
        members.filter(|(t, last)| state.goes_beyond(*t, *last)).map(|(t, _)| *t)
    }

    /// The threads that can still run a step of a class, by its name.
    pub(super) fn threads_with<'a>(
        &'a self,
        state: &'a SearchState,
        class: StepClass,
    ) -> impl Iterator<Item = usize> + use<'a> {
        self.numbers.get(&class).into_iter().flat_map(|&n| self.members(state, n))
    }

    /// Whether some thread can still run a step of a class.
    pub(super) fn is_alive(&self, state: &SearchState, class: StepClass) -> bool {
        self.threads_with(state, class).next().is_some()
    }

    fn observed(&self, state: &SearchState, reads: Option<Number>, always: bool) -> bool {
        always || reads.is_some_and(|reads| self.members(state, reads).next().is_some())
    }

    /// Calls `found` with every thread that can still run a step in conflict with the next one of
    /// `thread`. `always`: the order of writes counts even if no step reads.
    pub(super) fn in_conflict(
        &self,
        state: &SearchState,
        thread: usize,
        always: bool,
        mut found: impl FnMut(usize),
    ) {
        let footprint = &self.footprints[thread][state.position(thread) as usize];
        for &class in &footprint.conflicts {
            foretell_limit::check();
            self.members(state, class).for_each(&mut found);
        }
        if let Some((writes, reads)) = footprint.write
            && self.observed(state, reads, always)
        {
            self.members(state, writes).for_each(&mut found);
        }
    }

    /// Whether the next steps of two threads are in conflict.
    pub(super) fn conflict(&self, state: &SearchState, a: usize, b: usize, always: bool) -> bool {
        let footprint = |t: usize| &self.footprints[t][state.position(t) as usize];
        let (a, b) = (footprint(a), footprint(b));
        if a.conflicts.iter().any(|c| b.classes.contains(c)) {
            return true;
        }
        match (a.write, b.write) {
            (Some((x, reads)), Some((y, _))) => x == y && self.observed(state, reads, always),
            _ => false,
        }
    }
}
