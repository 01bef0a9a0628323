//! The programs of each family.

mod fork_join;
mod inversion;
mod mixed;
mod permits;
mod queue;
mod random;
mod scalable;
mod sync;
mod waiters;

use crate::program::{Coder, Detail, Do, Instr, Program};
use crate::rng::Rng;
use crate::{Family, Params, SHORT};

/// The program of a family with these parameters.
pub(crate) fn program(family: Family, params: &Params, rng: &mut Rng) -> Program {
    let params = &Params {
        threads: params.threads.clamp(1, 1 << 16),
        variables: params.variables.clamp(1, 1 << 28),
        locks: params.locks.clamp(1, 1 << 20),
        switch: if family == Family::Lucky { 0 } else { params.switch },
        ..params.clone()
    };
    let mut program = match family {
        Family::Inversion => inversion::program(params, rng),
        Family::Queue => queue::program(params, rng),
        Family::ForkJoin => fork_join::program(params, rng),
        Family::Sync => sync::program(params, rng),
        Family::Mixed => mixed::program(params, rng),
        Family::Scalable => scalable::program(params),
        Family::Permits => permits::program(params, rng),
        Family::Waiters => waiters::program(params, rng),
        _ => random::program(family, params, rng),
    };
    program.switch = params.switch;
    program
}

/// A program without threads yet, that records values if they are wanted.
fn empty(params: &Params) -> Program {
    Program::new(if params.values { Detail::Values } else { Detail::Bare })
}

/// Whether the trace is so short that a program's ending may be part of it.
fn is_short(params: &Params) -> bool {
    params.events <= SHORT
}

/// "For ever": longer than any trace.
const FOREVER: u32 = u32::MAX;
/// The slot that counts the rounds of a thread's outermost loop.
const OUTER: u8 = 7;

/// Code for every thread from a function that writes about `budget` events of the code of one. Long
/// traces loop over it; in some programs the first thread forks and joins the others, in some
/// several threads run the same function.
fn threads(
    params: &Params,
    rng: &mut Rng,
    mut body: impl FnMut(&mut Rng, &mut Coder, usize, usize),
) -> Vec<Vec<Instr>> {
    let n = params.threads;
    let share = (params.events / n).max(2);
    let forks: Vec<bool> = {
        let any = n > 1 && rng.chance(if is_short(params) { 35 } else { 60 });
        (0..n).map(|t| any && t > 0 && (!is_short(params) || rng.chance(70))).collect()
    };
    let (budget, rounds) = if !is_short(params) {
        let budget = rng.between(10, 30);
        // A schedule that never switches needs threads that come to an end.
        let ending = (share / budget) as u32;
        (budget, if params.switch == 0 { ending } else { FOREVER })
    } else if share >= 6 && rng.chance(25) {
        (share / 2, 1)
    } else {
        (share, 0)
    };
    let same_function = n > 2 && rng.chance(30);
    let mut line = 1;
    let mut codes: Vec<Vec<Instr>> = Vec::new();
    for t in 0..n {
        if same_function && t > 1 && forks[t] == forks[1] {
            codes.push(codes[1].clone());
            continue;
        }
        let mut coder = Coder::at(line);
        let children: Vec<_> = if t == 0 { (1..n).filter(|&u| forks[u]).collect() } else { vec![] };
        for &u in &children {
            coder.add(Do::Fork(u));
        }
        let back = coder.here();
        body(rng, &mut coder, t, budget.saturating_sub(children.len()).max(1));
        if rounds > 0 {
            coder.add(Do::Repeat { times: rounds, slot: OUTER, back });
        }
        let mut joined = false;
        for &u in &children {
            if rng.chance(60) {
                coder.add(Do::Join(u));
                joined = true;
            }
        }
        if joined && rng.chance(60) {
            let var = rng.below(params.variables).into();
            coder.add(Do::Read { var, atomic: false, into: 0 });
        }
        line = coder.line();
        codes.push(coder.finish());
    }
    codes
}
