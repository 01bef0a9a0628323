//! Producers and consumers around a bounded queue: a counter, slots, one lock, and two conditions
//! (0: not empty, 1: not full). Some programs have the classical mistakes: `if` instead of `while`
//! around the wait, one `notify` where all must wake, the slot touched outside the lock.

use super::{empty, threads};
use crate::Params;
use crate::program::{Coder, Do, Program, Rhs, Test};
use crate::rng::Rng;

/// Variant of a program's queue.
pub(super) struct Queue {
    capacity: i64,
    slots: usize,
    notify_all: bool,
    timed: bool,
    wait_loop: bool,
    notify_outside: bool,
    slot_outside: bool,
    bounded: bool,
}

const COUNT: usize = 0;
const LOCK: usize = 0;
const NOT_EMPTY: usize = 0;
const NOT_FULL: usize = 1;

impl Queue {
    pub(super) fn new(params: &Params, rng: &mut Rng) -> Queue {
        Queue {
            capacity: rng.between(1, 3) as i64,
            slots: params.variables.saturating_sub(1),
            notify_all: rng.chance(35),
            timed: rng.chance(40),
            wait_loop: rng.chance(70),
            notify_outside: rng.chance(30),
            slot_outside: rng.chance(25),
            bounded: rng.chance(50),
        }
    }

    /// One item put in; about how many events it makes.
    pub(super) fn produce(&self, rng: &mut Rng, coder: &mut Coder) -> usize {
        let slot = |coder: &mut Coder, rng: &mut Rng| {
            if self.slots > 0 {
                let var = (1 + rng.below(self.slots)).into();
                coder.add(Do::Write { var, atomic: false, value: Rhs::Fresh });
            }
        };
        if self.slot_outside {
            slot(coder, rng);
        }
        coder.add(Do::Acquire(LOCK.into()));
        coder.add(Do::Read { var: COUNT.into(), atomic: false, into: 0 });
        if self.bounded {
            self.wait(coder, Test::Ge(0, self.capacity), NOT_FULL);
        }
        if !self.slot_outside {
            slot(coder, rng);
        }
        coder.add(Do::Write { var: COUNT.into(), atomic: false, value: Rhs::Plus(0, 1) });
        self.notify_and_release(coder, NOT_EMPTY);
        6
    }

    /// One item taken out; about how many events it makes.
    pub(super) fn consume(&self, rng: &mut Rng, coder: &mut Coder) -> usize {
        coder.add(Do::Acquire(LOCK.into()));
        coder.add(Do::Read { var: COUNT.into(), atomic: false, into: 0 });
        self.wait(coder, Test::Lt(0, 1), NOT_EMPTY);
        coder.add(Do::Write { var: COUNT.into(), atomic: false, value: Rhs::Plus(0, -1) });
        let slot = (1 + rng.below(self.slots)).into();
        let read = Do::Read { var: slot, atomic: false, into: 1 };
        if self.slots > 0 && !self.slot_outside {
            coder.add(read);
        }
        if self.bounded {
            self.notify_and_release(coder, NOT_FULL);
        } else {
            coder.add(Do::Release(LOCK.into()));
        }
        if self.slots > 0 && self.slot_outside {
            coder.add(read);
        }
        6
    }

    /// Waits while (or if) the test holds for the count.
    fn wait(&self, coder: &mut Coder, test: Test, cond: usize) {
        let again = coder.here();
        let branch = coder.leap(Do::Branch { test, otherwise: 0 });
        coder.add(Do::Wait { cond: cond.into(), lock: LOCK.into(), timed: self.timed });
        coder.add(Do::Read { var: COUNT.into(), atomic: false, into: 0 });
        if self.wait_loop {
            coder.add(Do::Jump(again));
        }
        coder.land(branch);
    }

    fn notify_and_release(&self, coder: &mut Coder, cond: usize) {
        let cond = cond.into();
        let notify = if self.notify_all { Do::NotifyAll(cond) } else { Do::Notify(cond) };
        let release = Do::Release(LOCK.into());
        let (first, second) =
            if self.notify_outside { (release, notify) } else { (notify, release) };
        coder.add(first).add(second);
    }
}

pub(super) fn program(params: &Params, rng: &mut Rng) -> Program {
    let mut program = empty(params);
    let queue = Queue::new(params, rng);
    program.threads = threads(params, rng, |rng, coder, t, budget| {
        let mut left = budget;
        while left > 0 {
            let cost = if t.is_multiple_of(2) {
                queue.consume(rng, coder)
            } else {
                queue.produce(rng, coder)
            };
            left = left.saturating_sub(cost);
        }
    });
    program
}
