//! Semaphores and barriers: phases with a barrier between them, a semaphore as a lock, and one that
//! hands work over. Sometimes a thread looks at its neighbour's cell before the barrier.

use super::{empty, threads};
use crate::Params;
use crate::program::{Coder, Do, Program, Rhs};
use crate::rng::Rng;

/// Semaphore 0 serves as a lock, 1 hands over.
const MUTEX: usize = 0;
const HANDOVER: usize = 1;

/// One step of what every thread of a program does, each in its role.
#[derive(Clone, Copy)]
pub(super) enum Step {
    Phase { early: bool },
    Mutex,
    Handover,
}

impl Step {
    pub(super) fn draw(rng: &mut Rng) -> Step {
        match rng.below(5) {
            0 | 1 => Step::Phase { early: rng.chance(30) },
            2 => Step::Mutex,
            _ => Step::Handover,
        }
    }

    /// The code of thread `t` for this step; how many events it makes.
    pub(super) fn code(self, rng: &mut Rng, coder: &mut Coder, params: &Params, t: usize) -> usize {
        let own = (t % params.variables).into();
        let neighbour = ((t + 1) % params.variables).into();
        let write = |var| Do::Write { var, atomic: false, value: Rhs::Fresh };
        let read = |var| Do::Read { var, atomic: false, into: 0 };
        match self {
            Step::Phase { early } => {
                coder.add(write(own));
                if early && rng.chance(50) {
                    coder.add(read(neighbour));
                }
                coder.add(Do::Arrive(0.into())).add(Do::Leave(0.into())).add(read(neighbour));
                4
            }
            Step::Mutex => {
                coder.add(Do::Down(MUTEX.into()));
                coder.add(if rng.chance(50) { write(own) } else { read(neighbour) });
                coder.add(Do::Post(MUTEX.into()));
                3
            }
            Step::Handover if t.is_multiple_of(2) => {
                coder.add(write(own)).add(Do::Post(HANDOVER.into()));
                if rng.chance(30) {
                    coder.add(write(own));
                }
                2
            }
            Step::Handover => {
                coder
                    .add(Do::Down(HANDOVER.into()))
                    .add(read((t.saturating_sub(1) % params.variables).into()));
                2
            }
        }
    }
}

pub(super) fn program(params: &Params, rng: &mut Rng) -> Program {
    let mut program = empty(params);
    program.semaphores = vec![if rng.chance(80) { 1 } else { 2 }, rng.below(2) as u64];
    program.parties = vec![params.threads as u32];
    let steps: Vec<_> = (0..8).map(|_| Step::draw(rng)).collect();
    program.threads = threads(params, rng, |rng, coder, t, budget| {
        let mut left = budget;
        for step in steps.iter().cycle() {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(step.code(rng, coder, params, t));
        }
    });
    program
}
