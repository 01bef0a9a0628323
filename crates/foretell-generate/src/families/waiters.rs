//! Several threads wait on one condition while another thread notifies, now one of them, now all:
//! the choice of the woken thread and of its notify is open.

use super::{empty, threads};
use crate::Params;
use crate::program::{Coder, Do, Program, Rhs};
use crate::rng::Rng;

const LOCK: usize = 0;
const CONDITION: usize = 0;

/// Variant of a program's waits.
struct Waiters {
    variables: usize,
    /// Percentage of waits that may time out.
    timed: usize,
    /// Percentage of notifications that wake everybody.
    all: usize,
}

impl Waiters {
    /// One notification; how many events it makes.
    fn notify(&self, rng: &mut Rng, coder: &mut Coder) -> usize {
        let cost = 1 + self.sometimes_access(rng, coder, 40);
        let all = rng.chance(self.all);
        let cond = CONDITION.into();
        coder.add(if all { Do::NotifyAll(cond) } else { Do::Notify(cond) });
        cost
    }

    /// One wait; how many events it makes.
    fn wait(&self, rng: &mut Rng, coder: &mut Coder) -> usize {
        coder.add(Do::Acquire(LOCK.into()));
        let before = self.sometimes_access(rng, coder, 15);
        let timed = rng.chance(self.timed);
        coder.add(Do::Wait { cond: CONDITION.into(), lock: LOCK.into(), timed });
        let after = self.sometimes_access(rng, coder, 25);
        coder.add(Do::Release(LOCK.into()));
        4 + before + after + self.sometimes_access(rng, coder, 70)
    }

    fn sometimes_access(&self, rng: &mut Rng, coder: &mut Coder, percent: usize) -> usize {
        if !rng.chance(percent) {
            return 0;
        }
        let var = rng.below(self.variables).into();
        coder.add(if rng.chance(70) {
            Do::Write { var, atomic: false, value: Rhs::Fresh }
        } else {
            Do::Read { var, atomic: false, into: 0 }
        });
        1
    }
}

pub(super) fn program(params: &Params, rng: &mut Rng) -> Program {
    let params = &Params { threads: params.threads.max(3), ..params.clone() };
    let mut program = empty(params);
    let waiters = Waiters {
        variables: params.variables,
        timed: [0, 0, 50][rng.below(3)],
        all: [0, 20, 50][rng.below(3)],
    };
    program.threads = threads(params, rng, |rng, coder, t, budget| {
        let mut left = budget;
        while left > 0 {
            // The first thread, which may fork the others, never waits.
            let cost = if t == 0 { waiters.notify(rng, coder) } else { waiters.wait(rng, coder) };
            left = left.saturating_sub(cost);
        }
    });
    program
}
