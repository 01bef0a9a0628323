//! Which steps depend on each other: those whose order somebody can tell.
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

use super::act::{Access, Act, Thread};
use super::state::State;

/// A kind of step on one object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Class {
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
    Try(usize),
    Wait(usize),
    Notify(usize),
    TimedOut(usize),
    Post(usize),
    Down(usize),
    Arrive(usize),
}

/// The classes that a step belongs to.
fn classes_of(act: &Act) -> Vec<Class> {
    match *act {
        Act::Access(Access { var, reads, writes, opaque, part }) => {
            let kinds = [
                (reads, Class::Read(var)),
                (writes, Class::Write(var)),
                (opaque, Class::Opaque(var)),
                (part.is_some(), Class::Part(var)),
                (part.is_some() && writes, Class::PartWrite(var)),
            ];
            kinds.into_iter().filter(|k| k.0).map(|k| k.1).collect()
        }
        Act::Enter { lock, shared: true } => vec![Class::EnterShared(lock)],
        Act::Enter { lock, shared: false } => vec![Class::Enter(lock)],
        Act::Exit { lock, shared: false } => vec![Class::Exit(lock)],
        Act::TryFailed { lock } => vec![Class::Try(lock)],
        Act::Wait { cond, lock } => vec![Class::Wait(cond), Class::Exit(lock)],
        Act::Woken { lock, .. } => vec![Class::Enter(lock)],
        Act::TimedOut { cond, lock } => vec![Class::TimedOut(cond), Class::Enter(lock)],
        Act::Notify { cond, .. } => vec![Class::Notify(cond)],
        Act::Post { sem } => vec![Class::Post(sem)],
        Act::Down { sem } => vec![Class::Down(sem)],
        Act::Arrive { barrier, .. } => vec![Class::Arrive(barrier)],
        Act::Exit { shared: true, .. }
        | Act::Leave { .. }
        | Act::Join { .. }
        | Act::Local
        | Act::Never => Vec::new(),
    }
}

/// The classes that a step is in conflict with; two writes are dealt with apart.
fn conflicts_of(act: &Act) -> Vec<Class> {
    let entering = |lock| vec![Class::Enter(lock), Class::EnterShared(lock), Class::Try(lock)];
    match *act {
        Act::Access(Access { var, reads, writes, opaque, part }) => {
            let kinds = [
                (reads, Class::Write(var)),
                (writes, Class::Read(var)),
                (opaque, Class::Opaque(var)),
                (part.is_some() && writes, Class::Part(var)),
                (part.is_some() && !writes, Class::PartWrite(var)),
            ];
            kinds.into_iter().filter(|k| k.0).map(|k| k.1).collect()
        }
        Act::Enter { lock, shared: true } => vec![Class::Enter(lock)],
        Act::Enter { lock, shared: false } | Act::Woken { lock, .. } => entering(lock),
        Act::Exit { lock, shared: false } => vec![Class::Try(lock)],
        Act::TryFailed { lock } => vec![Class::Enter(lock), Class::Exit(lock)],
        Act::Wait { cond, lock } => vec![Class::Notify(cond), Class::Try(lock)],
        Act::TimedOut { cond, lock } => {
            let mut classes = entering(lock);
            classes.push(Class::Notify(cond));
            classes
        }
        Act::Notify { cond, .. } => {
            vec![Class::Notify(cond), Class::Wait(cond), Class::TimedOut(cond)]
        }
        Act::Down { sem } => vec![Class::Down(sem)],
        Act::Arrive { barrier, .. } => vec![Class::Arrive(barrier)],
        Act::Exit { shared: true, .. }
        | Act::Post { .. }
        | Act::Leave { .. }
        | Act::Join { .. }
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

/// The classes of a program: who is in them, and which steps they concern.
#[derive(Debug, Default)]
pub(super) struct Classes {
    numbers: FxHashMap<Class, Number>,
    /// By class: each thread that has steps in it, with the position of the last one.
    last: Vec<Vec<(usize, u32)>>,
    /// By thread and position.
    footprints: Vec<Vec<Footprint>>,
}

impl Classes {
    pub(super) fn new(threads: &[Thread]) -> Self {
        let mut this = Self::default();
        for (t, thread) in threads.iter().enumerate() {
            for (position, step) in thread.steps.iter().enumerate() {
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
        let number = |class: &Class| self.numbers.get(class).copied();
        let write = match *act {
            Act::Access(Access { var, writes: true, .. }) => {
                number(&Class::Write(var)).map(|w| (w, number(&Class::Read(var))))
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
        state: &'a State,
        class: Number,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let members = self.last[class as usize].iter();
        members.filter(|(t, last)| state.goes_beyond(*t, *last)).map(|(t, _)| *t)
    }

    /// The threads that can still run a step of a class, by its name.
    pub(super) fn threads_with<'a>(
        &'a self,
        state: &'a State,
        class: Class,
    ) -> impl Iterator<Item = usize> + use<'a> {
        self.numbers.get(&class).into_iter().flat_map(|&n| self.members(state, n))
    }

    /// Whether some thread can still run a step of a class.
    pub(super) fn is_alive(&self, state: &State, class: Class) -> bool {
        self.threads_with(state, class).next().is_some()
    }

    fn observed(&self, state: &State, reads: Option<Number>, always: bool) -> bool {
        always || reads.is_some_and(|reads| self.members(state, reads).next().is_some())
    }

    /// Calls `found` with every thread that can still run a step in conflict with the next one of
    /// `thread`. `always`: the order of writes counts even if nobody reads.
    pub(super) fn in_conflict(
        &self,
        state: &State,
        thread: usize,
        always: bool,
        mut found: impl FnMut(usize),
    ) {
        let footprint = &self.footprints[thread][state.position(thread) as usize];
        for &class in &footprint.conflicts {
            self.members(state, class).for_each(&mut found);
        }
        if let Some((writes, reads)) = footprint.write
            && self.observed(state, reads, always)
        {
            self.members(state, writes).for_each(&mut found);
        }
    }

    /// Whether the next steps of two threads are in conflict.
    pub(super) fn conflict(&self, state: &State, a: usize, b: usize, always: bool) -> bool {
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
