//! Atomicity and serializability violations: chains of conflicting accesses that leave an atomic
//! block and come back to it.
//!
//! Both ask whether *some* feasible sequence holds *some* chain. So a chain that is under way is
//! followed like a token: each state of the [`Graph`] has the set of tokens that some sequence
//! leading to it can carry, the sets of all ways into a state are united, and a step may take a
//! token further or leave it where it is. That is exact, since a token at a state means one
//! sequence with one chain in it.

use std::collections::BTreeSet;

use foretell_trace::{EventId, Model, Value};
use rustc_hash::FxHashMap;

use crate::blocks::{Block, blocks};
use crate::graph::Graph;
use crate::rules::{Rules, State};

/// The change of an access to its variable, for the real conflicts of `symbolic`: the value just
/// before it and the value just after it. In the other models both are `None`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Change {
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

impl Change {
    /// The change that the step of access `e` from one state to the other makes.
    pub(crate) fn of(rules: &Rules, e: EventId, from: &State, to: &State) -> Change {
        let value = |state| rules.trace.variable(e).and_then(|x| rules.memory(state, x));
        Change { before: value(from), after: value(to) }
    }
}

/// Whether the conflict of `a` and the later `b` counts for an atomicity violation: always, but in
/// `symbolic` only if it is real (section 6). An unknown value differs from everything.
pub(crate) fn real(rules: &Rules, a: EventId, changed: Change, b: EventId, then: Change) -> bool {
    if !rules.conflict(a, b) {
        return false;
    }
    if rules.model != Model::Symbolic {
        return true;
    }
    let differ = |v: Option<Value>, w: Option<Value>| v.is_none() || v != w;
    let (first, second) = (rules.op(a), rules.op(b));
    (first.writes() && second.writes() && differ(changed.after, then.after))
        || (first.reads() && second.writes() && differ(changed.before, then.after))
        || (first.writes() && second.reads() && differ(changed.before, changed.after))
}

/// A set of numbers.
#[derive(Clone, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn insert(&mut self, i: usize) {
        if self.0.len() <= i / 64 {
            self.0.resize(i / 64 + 1, 0);
        }
        self.0[i / 64] |= 1 << (i % 64);
    }

    fn unite(&mut self, other: &Bits) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let ones = |(i, &word): (usize, &u64)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| i * 64 + bit)
        };
        self.0.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(ones)
    }
}

/// Moves tokens along every sequence. `advance` gets a step (the event, its two states) and the
/// tokens before it, and gives the tokens that are new after it.
fn follow<T: Copy + Eq + std::hash::Hash>(
    graph: &Graph,
    mut advance: impl FnMut(EventId, [&State; 2], &mut dyn Iterator<Item = T>, &mut Vec<T>),
) {
    let mut tokens: Vec<T> = Vec::new();
    let mut numbers: FxHashMap<T, usize> = FxHashMap::default();
    let mut at = vec![Bits::default(); graph.states.len()];
    let mut new = Vec::new();
    for from in 0..graph.states.len() {
        let here = std::mem::take(&mut at[from]);
        for &(e, to) in &graph.steps[from] {
            at[to].unite(&here);
            let ends = [&graph.states[from], &graph.states[to]];
            advance(e, ends, &mut here.iter().map(|i| tokens[i]), &mut new);
            for token in new.drain(..) {
                let number = *numbers.entry(token).or_insert_with(|| {
                    tokens.push(token);
                    tokens.len() - 1
                });
                at[to].insert(number);
            }
        }
    }
}

/// A part of a triple (c, r, c'), with what its accesses did.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Triple {
    Opened(EventId, Change),
    Interrupted(EventId, EventId, Change),
}

/// All atomicity violations (c, r, c').
pub(crate) fn atomicity(rules: &Rules, graph: &Graph) -> BTreeSet<[EventId; 3]> {
    let mut found = BTreeSet::new();
    let outermost: Vec<Block> = blocks(rules).into_iter().filter(|b| b.outermost).collect();
    let block_of = |e| outermost.iter().position(|b| b.accesses.contains(&e));
    let of: Vec<Option<usize>> = rules.trace.ids().map(block_of).collect();
    if outermost.is_empty() {
        return found;
    }
    follow(graph, |e, [from, to], tokens, new| {
        if !rules.is_access(e) {
            return;
        }
        let change = Change::of(rules, e, from, to);
        for token in tokens {
            match token {
                Triple::Opened(c, changed) if real(rules, c, changed, e, change) => {
                    new.push(Triple::Interrupted(c, e, change));
                }
                Triple::Interrupted(c, r, changed)
                    if of[e.index()] == of[c.index()] && real(rules, r, changed, e, change) =>
                {
                    found.insert([c, r, e]);
                }
                _ => {}
            }
        }
        if of[e.index()].is_some() {
            new.push(Triple::Opened(e, change));
        }
    });
    found
}

/// All blocks with a serializability violation.
pub(crate) fn serializability(rules: &Rules, graph: &Graph) -> BTreeSet<EventId> {
    let mut found = BTreeSet::new();
    for block in blocks(rules) {
        if violated(rules, graph, &block) {
            found.insert(block.begin);
        }
    }
    found
}

/// Whether some sequence has a path out of the block and back. The token is the last access of the
/// path so far.
fn violated(rules: &Rules, graph: &Graph, block: &Block) -> bool {
    let mut found = false;
    let thread = |e| rules.trace.thread(e);
    follow(graph, |e, _, tokens, new| {
        if found || !rules.is_access(e) {
            return;
        }
        let inside = block.accesses.contains(&e);
        for u in tokens {
            let goes_on = rules.conflict(u, e) || thread(u) == thread(e);
            if thread(e) != block.thread && goes_on {
                new.push(e);
            } else if inside && rules.conflict(u, e) {
                // Not from the block itself: nothing conflicts with its own thread.
                found = true;
            }
        }
        if inside {
            new.push(e);
        }
    });
    found
}
