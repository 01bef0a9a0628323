//! Families drawn from the grammar, each with weights of its own.

use super::{empty, is_short, threads};
use crate::grammar::{Grammar, Style, Weights, Writes};
use crate::program::{Detail, Program, Sort};
use crate::rng::Rng;
use crate::{Family, Params};

pub(super) fn program(family: Family, params: &Params, rng: &mut Rng) -> Program {
    let mut program = empty(params);
    let style = style(family, params, rng);
    program.declare_initial = !is_short(params) || rng.chance(50);
    match family {
        Family::Uniform => {
            if params.variables > 1 && rng.chance(20) {
                program.opaque = 1;
            }
            program.semaphores = vec![rng.below(2) as u64, 0];
            program.parties = vec![2.min(params.threads as u32), params.threads as u32];
        }
        Family::Values => program.detail = Detail::Values,
        Family::Orders => {
            program.orders = true;
            program.semaphores = vec![rng.below(2) as u64, 0];
            program.parties = vec![2.min(params.threads as u32), params.threads as u32];
            if params.variables > 1 && rng.chance(10) {
                program.opaque = 1;
            }
        }
        Family::Hidden => {
            program.hidden = params.variables as u32;
            if params.values && rng.chance(40) {
                program.detail = Detail::Symbolic { fresh: rng.chance(75) };
            }
            if params.variables > 1 && rng.chance(15) {
                program.opaque = 1;
            }
        }
        Family::Symbolic => {
            program.detail = Detail::Symbolic { fresh: rng.chance(75) };
            program.declare_initial = rng.chance(80);
            if rng.chance(25) {
                program.sort = Sort::Byte;
            }
        }
        _ => {}
    }
    program.threads = threads(params, rng, |rng, coder, _, budget| {
        Grammar::new(rng, &style, coder).statements(budget);
    });
    program
}

pub(super) fn style(family: Family, params: &Params, rng: &mut Rng) -> Style {
    let base = Weights { access: 10, ..Weights::default() };
    let weights = match family {
        Family::Locks => Weights { access: 3, section: 10, attempt: 1, ..base },
        Family::Blocks => Weights { access: 6, atomic: 1, section: 2, block: 5, ..base },
        Family::ReadersWriters => {
            Weights { access: 5, section: 3, shared: 6, attempt: 3, block: 1, ..base }
        }
        Family::Values => Weights { atomic: 1, update: 2, section: 3, block: 2, ..base },
        Family::Symbolic => Weights { update: 1, section: 3, block: 2, ..base },
        Family::Hidden => hidden(rng),
        Family::Orders => orders(rng),
        Family::Lucky => Weights { section: 4, update: 1, block: 2, notify: 0, ..base },
        _ => uniform(rng),
    };
    let style = Style::new(weights, params.variables, params.locks);
    let style = if is_short(params) { style } else { Style { open: 0, ..style } };
    match family {
        Family::Locks => Style { nesting: 80, ..style },
        Family::Blocks => Style { open: style.open * 6, ..style },
        Family::ReadersWriters => Style { writing: 40, nesting: 25, ..style },
        Family::Values => Style { writes: Writes::Few, branching: 0, ..style },
        Family::Symbolic => Style { writes: Writes::Computed, branching: 60, ..style },
        Family::Orders => {
            let writes = if rng.chance(40) { Writes::Few } else { Writes::Distinct };
            Style { flags: 1 + rng.below(2), writes, branching: 0, ..style }
        }
        Family::Hidden if rng.chance(40) => Style { writes: Writes::Computed, ..style },
        Family::Hidden if rng.chance(50) => Style { writes: Writes::Few, ..style },
        _ => style,
    }
}

/// Uses of hidden state, and of the locks that hidden code has most; in each program some kinds of
/// statements are left out.
fn hidden(rng: &mut Rng) -> Weights {
    let mut some = |weight| if rng.chance(60) { weight } else { 0 };
    Weights {
        access: 8,
        update: some(1),
        section: some(3),
        shared: some(2),
        attempt: some(2),
        attempt_shared: some(3),
        downgrade: some(4),
        hidden: some(6),
        block: some(2),
        ..Weights::default()
    }
}

/// Atomic flags and fences, with some of the other ways to synchronise.
fn orders(rng: &mut Rng) -> Weights {
    let mut some = |weight, percent| if rng.chance(percent) { weight } else { 0 };
    Weights {
        access: 9,
        atomic: 9,
        update: some(4, 60),
        fence: some(3, 50),
        section: some(3, 40),
        shared: some(2, 15),
        attempt: some(2, 15),
        wait: some(2, 15),
        notify: some(2, 15),
        semaphore: some(2, 20),
        barrier: some(2, 15),
        ..Weights::default()
    }
}

/// Every kind of statement; in each program some kinds are left out so that the others meet.
fn uniform(rng: &mut Rng) -> Weights {
    let mut some = |weight| if rng.chance(60) { weight } else { 0 };
    Weights {
        access: 8,
        atomic: some(2),
        update: some(2),
        section: some(4),
        shared: some(2),
        attempt: some(2),
        block: some(3),
        wait: some(3),
        notify: some(3),
        semaphore: some(3),
        barrier: some(2),
        ..Weights::default()
    }
}
