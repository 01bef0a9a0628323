//! Provenance: the threads that may know an object.
//!
//! A thread can use an object only after it got a reference to it. These explain a use:
//! - the thread created the object, or a class initialiser did;
//! - a recorded access of the thread read a reference that a recorded access of another thread
//!   wrote: to the object, or to one whose final fields or captured variables, which have no
//!   events, may lead to it. So the thread knows what the writer knew;
//! - a thread that knew the object came before: by fork and join, by a task or its completion, by
//!   an operation on a collection, by a call of code that is not recorded;
//! - the thread came back from a wait that is not modelled.
//!
//! A first use that nothing explains comes after everything that the other threads have done.
//! Objects that code which is not recorded has created are exempt: their first user may be any
//! thread.

use rustc_hash::FxHashMap;

use super::hidden::HiddenSurvey;
use super::log::Entry;
use super::record::{Effect, Record};

/// Time of each thread that a thread, or a carrier of references, knows about.
type Clock = Vec<u32>;

/// Carrier of references from thread to thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Carrier {
    Semaphore(u32),
    Object(u32),
    /// Static state of code that is not recorded.
    Static,
}

/// Threads that know an object, each with its time when it got to know it.
#[derive(Clone, Default)]
enum Knowers {
    /// Exempt: any thread may know it.
    #[default]
    All,
    Some(Vec<(u32, u32)>),
}

/// Most numbers of objects between two that are told of one after the other.
const LARGEST_GAP: usize = 1 << 16;

/// Knowledge of threads so far.
#[derive(Default)]
pub(super) struct Provenance {
    clocks: Vec<Clock>,
    objects: Vec<Knowers>,
    carriers: FxHashMap<Carrier, Clock>,
    /// Thread and object of the last use.
    recent: (u32, u32),
}

impl Provenance {
    /// Takes a record. Returns whether it is a use of an object that nothing explains. Objects that
    /// share hidden state carry references together.
    pub(super) fn take(&mut self, hidden: &mut HiddenSurvey, entry: &Entry<'_>) -> bool {
        let thread = entry.thread;
        match &entry.record {
            Record::Made { id, for_all: false, .. } => self.made(thread, *id),
            Record::Made { id, for_all: true, .. } => {
                self.has_room(*id);
            }
            Record::Fork { thread: child, .. } => {
                let clock = self.clock(thread).clone();
                join(self.clock(*child), &clock);
            }
            Record::Join { thread: ended, .. } => {
                let clock = self.clock(*ended).clone();
                join(self.clock(thread), &clock);
            }
            Record::AfterOthers => self.knows_all(thread),
            Record::Order { post, down, semaphore, .. } => {
                if *down {
                    self.receive(thread, Carrier::Semaphore(*semaphore));
                }
                if *post {
                    self.send(thread, Carrier::Semaphore(*semaphore));
                }
            }
            Record::Operation { object, effect, .. } => {
                let carrier = Carrier::Object(hidden.group(*object));
                if !matches!(effect, Effect::Write(_)) {
                    self.receive(thread, carrier);
                }
                if matches!(effect, Effect::Write(_) | Effect::Update(..)) {
                    self.send(thread, carrier);
                }
            }
            Record::State { object, change, .. } => {
                let carrier = Carrier::Object(hidden.group(*object));
                self.receive(thread, carrier);
                if *change {
                    self.send(thread, carrier);
                }
            }
            Record::Hidden { uses, .. } => {
                let groups = uses.iter().map(|used| Carrier::Object(hidden.group(used.object)));
                for carrier in groups.chain([Carrier::Static]) {
                    self.receive(thread, carrier);
                    self.send(thread, carrier);
                }
            }
            Record::HiddenJoin { object, objects } => {
                // The group may have another representative now.
                let group = Carrier::Object(hidden.group(*object));
                for other in objects.iter().chain([object]) {
                    if let Some(clock) = self.carriers.get(&Carrier::Object(*other)).cloned() {
                        join(self.carriers.entry(group).or_default(), &clock);
                    }
                }
            }
            Record::Access { object, .. }
            | Record::Handled { object, .. }
            | Record::HandledPlain { object, .. } => {
                return self.uses(thread, *object);
            }
            Record::Element { array, .. }
            | Record::AtomicElement { array, .. }
            | Record::Range { array, .. } => {
                return self.uses(thread, *array);
            }
            Record::Atomic { object, .. } => return self.uses(thread, *object),
            _ => {}
        }
        false
    }

    /// Returns the time of a thread: the number of objects that it has got to know.
    pub(super) fn time(&self, thread: u32) -> u32 {
        let clock = self.clocks.get(thread as usize);
        clock.and_then(|clock| clock.get(thread as usize)).copied().unwrap_or(0)
    }

    /// A thread has read a reference that another thread has written at this time.
    pub(super) fn reads(&mut self, thread: u32, object: i64, (writer, time): (u32, u32)) {
        if writer == thread {
            return;
        }
        set(self.clock(thread), writer, time);
        // The writer may know the object from a third thread.
        let object = u32::try_from(object).unwrap_or(0);
        if !self.knows(thread, object) {
            self.learn(thread, object);
        }
    }

    /// A thread has written a reference into an object that code which is not recorded may read.
    pub(super) fn stores(&mut self, hidden: &mut HiddenSurvey, thread: u32, object: u32) {
        let (carrier, time) = (Carrier::Object(hidden.group(object)), self.time(thread));
        set(self.carriers.entry(carrier).or_default(), thread, time);
    }

    /// Whether a thread has created an object.
    pub(super) fn has_made(&self, thread: u32, object: u32) -> bool {
        match self.objects.get(object as usize) {
            Some(Knowers::Some(knowers)) => knowers.first().is_some_and(|k| k.0 == thread),
            _ => false,
        }
    }

    /// A thread knows whatever the other threads know.
    pub(super) fn knows_all(&mut self, thread: u32) {
        for other in 0..self.clocks.len() as u32 {
            let time = self.time(other);
            set(self.clock(thread), other, time);
        }
    }

    fn clock(&mut self, thread: u32) -> &mut Clock {
        let at = thread as usize;
        if self.clocks.len() <= at {
            self.clocks.resize(at + 1, Clock::new());
        }
        &mut self.clocks[at]
    }

    fn send(&mut self, thread: u32, carrier: Carrier) {
        let clock = self.clock(thread).clone();
        join(self.carriers.entry(carrier).or_default(), &clock);
    }

    fn receive(&mut self, thread: u32, carrier: Carrier) {
        if let Some(clock) = self.carriers.get(&carrier).cloned() {
            join(self.clock(thread), &clock);
        }
    }

    fn made(&mut self, thread: u32, object: u32) {
        if self.has_room(object) {
            self.objects[object as usize] = Knowers::Some(Vec::new());
            self.learn(thread, object);
        }
    }

    /// Makes room for an object. Their numbers are consecutive, but for those of a damaged log.
    fn has_room(&mut self, object: u32) -> bool {
        let at = object as usize;
        if self.objects.len() <= at && at < self.objects.len() + LARGEST_GAP {
            self.objects.resize(at + 1, Knowers::All);
        }
        at < self.objects.len()
    }

    fn learn(&mut self, thread: u32, object: u32) {
        let time = self.time(thread) + 1;
        if let Some(Knowers::Some(knowers)) = self.objects.get_mut(object as usize) {
            knowers.push((thread, time));
            set(self.clock(thread), thread, time);
        }
    }

    fn knows(&self, thread: u32, object: u32) -> bool {
        let Some(Knowers::Some(knowers)) = self.objects.get(object as usize) else { return true };
        let clock = self.clocks.get(thread as usize).map_or(&[][..], Vec::as_slice);
        let seen = |other: u32| clock.get(other as usize).copied().unwrap_or(0);
        knowers.iter().any(|&(knower, time)| knower == thread || seen(knower) >= time)
    }

    /// A thread uses an object. Returns whether nothing explains that it knows the object.
    fn uses(&mut self, thread: u32, object: u32) -> bool {
        if self.recent == (thread, object) {
            return false;
        }
        self.recent = (thread, object);
        let known = self.knows(thread, object);
        if !known {
            self.knows_all(thread);
        }
        if !is_knower(self.objects.get(object as usize), thread) {
            self.learn(thread, object);
        }
        !known
    }
}

/// Whether a thread is among the knowers of an object, or needs not be.
fn is_knower(knowers: Option<&Knowers>, thread: u32) -> bool {
    match knowers {
        Some(Knowers::Some(knowers)) => knowers.iter().any(|&(knower, _)| knower == thread),
        _ => true,
    }
}

fn set(clock: &mut Clock, thread: u32, time: u32) {
    let at = thread as usize;
    if clock.len() <= at {
        clock.resize(at + 1, 0);
    }
    clock[at] = clock[at].max(time);
}

fn join(clock: &mut Clock, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
