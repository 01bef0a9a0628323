//! Locks taken in unlucky orders: thread t takes lock t and then the next one, round a circle. A
//! gate lock around every such pair makes them harmless; one around only some does not.

use super::{empty, is_short, threads};
use crate::Params;
use crate::program::{Coder, Do, Program, Rhs};
use crate::rng::Rng;

/// Which threads pass a gate, and how long the circle is.
pub(super) struct Circle {
    length: usize,
    gated: Vec<bool>,
    variables: usize,
    /// Percentage of pairs that take their locks the right way round.
    polite: usize,
    /// Percentage of pairs that no other pair gets in the way of.
    lucky: usize,
}

impl Circle {
    pub(super) fn new(params: &Params, rng: &mut Rng) -> Circle {
        let length = params.locks.min(params.threads).max(2);
        let gates = rng.below(3);
        let gated = (0..params.threads)
            .map(|_| match gates {
                0 => false,
                1 => true,
                _ => rng.chance(50),
            })
            .collect();
        let (polite, lucky) = if is_short(params) { (10, 70) } else { (60, 100) };
        Circle { length, gated, variables: params.variables, polite, lucky }
    }

    /// One pair of nested sections of thread `t`; how many events it makes.
    pub(super) fn pair(&self, rng: &mut Rng, coder: &mut Coder, t: usize) -> usize {
        let (mut first, mut second) = (t % self.length, (t + 1) % self.length);
        if rng.chance(self.polite) && first > second {
            (first, second) = (second, first);
        }
        let gate = self.gated[t].then_some(self.length);
        let mut cost = 4;
        let lucky = rng.chance(self.lucky);
        if lucky {
            coder.add(Do::Lucky);
        }
        let path = gate.into_iter().chain([first, second]);
        for lock in path.clone() {
            coder.add(Do::Acquire(lock.into()));
            if rng.chance(30) {
                cost += self.access(rng, coder);
            }
        }
        cost += self.access(rng, coder);
        // The gate may be left early: then it guards nothing that comes later.
        let mut order: Vec<_> = path.rev().collect();
        if rng.chance(20) {
            order.reverse();
        }
        for lock in order {
            coder.add(Do::Release(lock.into()));
        }
        if lucky {
            coder.add(Do::Unlucky);
        }
        cost + 2 * usize::from(gate.is_some())
    }

    fn access(&self, rng: &mut Rng, coder: &mut Coder) -> usize {
        let var = rng.below(self.variables).into();
        coder.add(if rng.chance(50) {
            Do::Write { var, atomic: false, value: Rhs::Fresh }
        } else {
            Do::Read { var, atomic: false, into: 0 }
        });
        1
    }
}

pub(super) fn program(params: &Params, rng: &mut Rng) -> Program {
    let mut program = empty(params);
    let circle = Circle::new(params, rng);
    program.threads = threads(params, rng, |rng, coder, t, budget| {
        let mut left = budget;
        while left > 0 {
            let cost = if left > 4 || rng.chance(50) {
                circle.pair(rng, coder, t)
            } else {
                circle.access(rng, coder)
            };
            left = left.saturating_sub(cost);
        }
    });
    program
}
