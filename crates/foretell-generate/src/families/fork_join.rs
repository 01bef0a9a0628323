//! Trees of threads: each thread works, forks its children, works on, joins most of them and
//! looks at what they did. The root works until the trace is long enough.

use super::{FOREVER, OUTER, empty, is_short};
use crate::Params;
use crate::grammar::{Grammar, Style, Weights};
use crate::program::{Coder, Do, Program};
use crate::rng::Rng;

pub(super) fn program(params: &Params, rng: &mut Rng) -> Program {
    let mut program = empty(params);
    let weights =
        Weights { access: 10, atomic: 1, update: 1, section: 3, block: 1, ..Weights::default() };
    let open = if is_short(params) { 10 } else { 0 };
    let style = Style { open, ..Style::new(weights, params.variables, params.locks) };
    let n = params.threads;
    // Children come after their parents.
    let mut children = vec![Vec::new(); n];
    for t in 1..n {
        let parent = if rng.chance(50) { t - 1 } else { rng.below(t) };
        children[parent].push(t);
    }
    let share = (params.events / n).max(2);
    let mut line = 1;
    for (t, children) in children.iter().enumerate() {
        let mut coder = Coder::at(line);
        let links = 2 * children.len();
        let work = if is_short(params) { share.saturating_sub(links).max(1) } else { 12 };
        let rounds = if is_short(params) { 0 } else { (share / work) as u32 };
        labour(rng, &style, &mut coder, work / 3, 0);
        for &child in children {
            coder.add(Do::Fork(child));
        }
        labour(rng, &style, &mut coder, work - work / 3, rounds);
        for &child in children {
            if rng.chance(75) {
                coder.add(Do::Join(child));
            }
        }
        labour(
            rng,
            &style,
            &mut coder,
            (work / 4).max(1),
            if t == 0 { endless(params) } else { 0 },
        );
        line = coder.line();
        program.threads.push(coder.finish());
    }
    program
}

fn endless(params: &Params) -> u32 {
    if is_short(params) { 0 } else { FOREVER }
}

/// Work worth `budget` events, repeated `rounds` times more.
fn labour(rng: &mut Rng, style: &Style, coder: &mut Coder, budget: usize, rounds: u32) {
    let back = coder.here();
    Grammar::new(rng, style, coder).statements(budget);
    if rounds > 0 {
        coder.add(Do::Repeat { times: rounds, slot: OUTER, back });
    }
}
