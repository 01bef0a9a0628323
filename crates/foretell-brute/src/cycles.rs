//! Transaction cycles: the blocks on a cycle of the conflict graph of some feasible sequence.
//!
//! A cycle enters a transaction at one access and may leave it at an earlier one, so it is no chain
//! along the sequence. Each state of the [`Graph`] therefore has the *reach relations* of the
//! sequences that lead to it: which transaction reaches which over edges so far. Two things keep
//! them few without losing a cycle. A relation that is contained in another one of the same state
//! is dropped: whatever closes a cycle in it closes one in the other. And a relation forgets what
//! no later step can ask for, see [`Cycles::remember`].

use std::collections::BTreeSet;

use foretell_trace::EventId;

use crate::blocks::{Transaction, transactions};
use crate::graph::Graph;
use crate::rules::{Rules, State};

/// A set of transactions, or with one row after the other a relation.
type Words = Box<[u64]>;

/// The begins of all outermost blocks on a transaction cycle; `None` if the states have more than
/// `max_relations` relations together.
pub(crate) fn cycles(
    rules: &Rules,
    graph: &Graph,
    max_relations: usize,
) -> Option<BTreeSet<EventId>> {
    let mut search = Cycles::new(rules);
    let mut at: Vec<Vec<Words>> = vec![Vec::new(); graph.states.len()];
    let width = search.words();
    at[0].push(vec![0; search.transactions.len() * width].into());
    let mut relations = 1;
    for from in 0..graph.states.len() {
        let here = std::mem::take(&mut at[from]);
        if search.all_found() {
            break;
        }
        for &(e, to) in &graph.steps[from] {
            let step = search.step(&graph.states[from], &graph.states[to], e);
            for relation in &here {
                let after = search.take(relation, &step);
                relations += usize::from(add(&mut at[to], after));
            }
        }
        if relations > max_relations {
            return None;
        }
    }
    Some(search.found)
}

/// Adds a relation to those of a state, unless one of them contains it.
fn add(known: &mut Vec<Words>, new: Words) -> bool {
    let contains = |big: &Words, small: &Words| small.iter().zip(big).all(|(s, b)| s & !b == 0);
    if known.iter().any(|k| contains(k, &new)) {
        return false;
    }
    known.retain(|k| !contains(&new, k));
    known.push(new);
    true
}

/// The edges that an event adds to every relation, from `sources` to `target`. Then rows and
/// columns that are not needed any more are forgotten.
struct Step {
    target: Option<usize>,
    sources: Words,
    rows: Words,
    columns: Words,
}

struct Cycles<'a> {
    rules: &'a Rules<'a>,
    transactions: Vec<Transaction>,
    /// By event: the transaction it is an access of.
    of: Vec<Option<usize>>,
    /// By transaction: the one before it in its thread.
    previous: Vec<Option<usize>>,
    /// By event: the accesses it conflicts with.
    conflicts: Vec<Vec<EventId>>,
    found: BTreeSet<EventId>,
}

impl<'a> Cycles<'a> {
    fn new(rules: &'a Rules<'a>) -> Cycles<'a> {
        let (transactions, of) = transactions(rules);
        let mut previous = vec![None; transactions.len()];
        for events in &rules.threads {
            let mut last = None;
            for i in events.iter().filter_map(|e| of[e.index()]) {
                if last != Some(i) {
                    previous[i] = last;
                    last = Some(i);
                }
            }
        }
        let conflicts = rules
            .trace
            .ids()
            .map(|e| rules.trace.ids().filter(|&a| rules.conflict(a, e)).collect())
            .collect();
        Cycles { rules, transactions, of, previous, conflicts, found: BTreeSet::new() }
    }

    fn words(&self) -> usize {
        self.transactions.len().div_ceil(64)
    }

    fn all_found(&self) -> bool {
        (0..self.transactions.len()).all(|i| !self.asks(i))
    }

    /// Whether transaction `i` is a block that no cycle has been found for yet.
    fn asks(&self, i: usize) -> bool {
        self.transactions[i].begin.is_some_and(|begin| !self.found.contains(&begin))
    }

    fn step(&self, from: &State, to: &State, e: EventId) -> Step {
        let mut sources: Words = vec![0; self.words()].into();
        let target = self.of[e.index()];
        if let Some(target) = target {
            for a in self.conflicts[e.index()].iter().filter(|&&a| self.rules.has_run(from, a)) {
                // Accesses of one transaction are of one thread and do not conflict.
                self.of[a.index()].iter().for_each(|&i| insert(&mut sources, i));
            }
            self.previous[target].iter().for_each(|&i| insert(&mut sources, i));
        }
        let (rows, columns) = self.remember(to);
        Step { target, sources, rows, columns }
    }

    /// The rows and columns that relations of this state must keep. Later edges lead into
    /// transactions that have accesses left, so only what these reach is asked for, and what the
    /// blocks reach whose cycle is sought. Later edges leave a transaction with a conflict that is
    /// still to come, or one with a successor in its thread.
    fn remember(&self, state: &State) -> (Words, Words) {
        let (mut rows, mut columns) = (vec![0; self.words()], vec![0; self.words()]);
        for (i, transaction) in self.transactions.iter().enumerate() {
            let left = |a: &EventId| !self.rules.has_run(state, *a);
            let open = transaction.accesses.iter().any(left);
            let thread = self.rules.trace.thread(transaction.accesses[0]);
            let succeeded = self.rules.threads[thread.index()]
                .iter()
                .any(|a| self.of[a.index()].is_some() && left(a));
            let emits = |a: &EventId| self.conflicts[a.index()].iter().any(left);
            if open || self.asks(i) {
                insert(&mut rows, i);
            }
            if open || succeeded || self.asks(i) || transaction.accesses.iter().any(emits) {
                insert(&mut columns, i);
            }
        }
        (rows.into(), columns.into())
    }

    /// The relation after a step, with the cycles that the step closes noted.
    fn take(&mut self, relation: &Words, step: &Step) -> Words {
        let width = self.words();
        let mut after = relation.clone();
        if let Some(target) = step.target {
            let mut reached: Words = relation[target * width..(target + 1) * width].into();
            insert(&mut reached, target);
            for i in 0..self.transactions.len() {
                let row = &mut after[i * width..(i + 1) * width];
                let reaches_source = row.iter().zip(&step.sources).any(|(r, s)| r & s != 0);
                if reaches_source || contains(&step.sources, i) {
                    row.iter_mut().zip(&reached).for_each(|(r, t)| *r |= t);
                    if contains(row, i) {
                        self.found.extend(self.transactions[i].begin);
                    }
                }
            }
        }
        for i in 0..self.transactions.len() {
            let keep = contains(&step.rows, i);
            let row = &mut after[i * width..(i + 1) * width];
            row.iter_mut().zip(&step.columns).for_each(|(r, c)| *r = if keep { *r & c } else { 0 });
        }
        after
    }
}

fn insert(set: &mut [u64], i: usize) {
    set[i / 64] |= 1 << (i % 64);
}

fn contains(set: &[u64], i: usize) -> bool {
    set[i / 64] >> (i % 64) & 1 == 1
}
