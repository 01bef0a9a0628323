//! Parts of all other families, over the same variables and locks.

use super::inversion::Circle;
use super::queue::Queue;
use super::sync::Step;
use super::{empty, random, threads};
use crate::grammar::Grammar;
use crate::program::Program;
use crate::rng::Rng;
use crate::{Family, Params};

pub(super) fn program(params: &Params, rng: &mut Rng) -> Program {
    let mut program = empty(params);
    program.semaphores = vec![1, 1];
    program.parties = vec![params.threads as u32, 2];
    let drawn = [Family::Uniform, Family::Locks, Family::Blocks, Family::ReadersWriters];
    let styles: Vec<_> = drawn.iter().map(|&f| random::style(f, params, rng)).collect();
    let (circle, queue) = (Circle::new(params, rng), Queue::new(params, rng));
    program.threads = threads(params, rng, |rng, coder, t, budget| {
        let mut left = budget;
        while left > 0 {
            let cost = match rng.below(9) {
                0 | 8 if left >= 4 => circle.pair(rng, coder, t),
                1 if left >= 4 && t.is_multiple_of(2) => queue.consume(rng, coder),
                1 if left >= 4 => queue.produce(rng, coder),
                2 => Step::draw(rng).code(rng, coder, params, t),
                _ => {
                    let style = &styles[rng.below(styles.len())];
                    let part = rng.between(1, left.min(8));
                    Grammar::new(rng, style, coder).statements(part);
                    part
                }
            };
            left = left.saturating_sub(cost);
        }
    });
    program
}
