//! Semaphores around accesses: as locks with one permit, with several permits of which some threads
//! take all, handed out by the first thread, and some that are not given back or given back by a
//! thread that took none.

use super::{empty, is_short, threads};
use crate::Params;
use crate::program::{Coder, Do, Program, Rhs};
use crate::rng::Rng;

/// Number of semaphores.
const SEMAPHORES: usize = 2;

fn access(rng: &mut Rng, coder: &mut Coder, params: &Params) {
    let var = rng.below(params.variables).into();
    coder.add(match rng.chance(50) {
        true => Do::Write { var, atomic: false, value: Rhs::Fresh },
        false => Do::Read { var, atomic: false, into: 0 },
    });
}

/// A section of one semaphore, perhaps with one of another inside; how many events it makes.
fn section(rng: &mut Rng, coder: &mut Coder, params: &Params, permits: &[u64]) -> usize {
    let short = is_short(params);
    let sem = rng.below(SEMAPHORES);
    let all = permits[sem].max(1) as usize;
    // Threads that take all permits one by one may wait for each other for ever.
    let taken = if short && rng.chance(25) { all } else { 1 };
    for _ in 0..taken {
        coder.add(Do::Down(sem.into()));
    }
    access(rng, coder, params);
    let mut events = 2 * taken + 1;
    if sem + 1 < SEMAPHORES && rng.chance(20) {
        coder.add(Do::Down((sem + 1).into()));
        access(rng, coder, params);
        coder.add(Do::Post((sem + 1).into()));
        events += 3;
    }
    let kept = usize::from(short && rng.chance(8));
    for _ in kept..taken {
        coder.add(Do::Post(sem.into()));
    }
    events - kept
}

pub(super) fn program(params: &Params, rng: &mut Rng) -> Program {
    let mut program = empty(params);
    let permits: Vec<u64> = (0..SEMAPHORES).map(|_| [1, 1, 1, 2, 3][rng.below(5)]).collect();
    // Some are empty at the start, and the first thread fills them.
    let handed_out: Vec<bool> =
        (0..SEMAPHORES).map(|_| is_short(params) && rng.chance(20)).collect();
    let counts = permits.iter().zip(&handed_out);
    program.semaphores = counts.map(|(&count, &later)| if later { 0 } else { count }).collect();
    program.threads = threads(params, rng, |rng, coder, t, budget| {
        let mut left = budget;
        if t == 0 {
            for sem in (0..SEMAPHORES).filter(|&sem| handed_out[sem]) {
                access(rng, coder, params);
                for _ in 0..permits[sem] {
                    coder.add(Do::Post(sem.into()));
                }
                left = left.saturating_sub(1 + permits[sem] as usize);
            }
        }
        while left > 0 {
            let events = match rng.below(10) {
                0 => {
                    access(rng, coder, params);
                    1
                }
                1 if is_short(params) && rng.chance(30) => {
                    coder.add(Do::Post(rng.below(SEMAPHORES).into()));
                    1
                }
                _ => section(rng, coder, params, &permits),
            };
            left = left.saturating_sub(events);
        }
    });
    program
}
