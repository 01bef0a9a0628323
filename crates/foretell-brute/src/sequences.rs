//! Feasible sequences one by one: the definitions of section 3 read literally, with no sharing of
//! any kind. Good for about ten events; the faster search is tested against it.

use std::collections::BTreeSet;

use foretell_trace::{EventId, Model, Trace};

use crate::Findings;
use crate::blocks::{Block, blocks, transactions};
use crate::chains::{Change, real};
use crate::rules::{Rules, State};
use crate::{states, unordered};

/// The findings of [`findings`](crate::findings), by looking at every feasible sequence.
pub fn findings_by_sequences(trace: &Trace, model: Model) -> Findings {
    let rules = Rules::new(trace, model);
    let mut findings = Findings::default();
    let blocks = blocks(&rules);
    extend(&rules, &rules.start(), &mut Vec::new(), &mut |sequence, state| {
        states::observe(&rules, state, &mut findings);
        for block in &blocks {
            atomicity(&rules, sequence, block, &mut findings.atomicity);
            if not_serializable(&rules, sequence, block) {
                findings.serializability.insert(block.begin);
            }
        }
        cycles(&rules, sequence, &mut findings.transactions);
    });
    findings
}

/// The pairs that some feasible sequence leaves without an order (section 3b), adjacent races among
/// them, by looking at every sequence.
pub fn unordered_by_sequences(trace: &Trace, model: Model) -> BTreeSet<[EventId; 2]> {
    let rules = Rules::new(trace, model);
    let mut found = BTreeSet::new();
    extend(&rules, &rules.start(), &mut Vec::new(), &mut |sequence, _| {
        let events: Vec<EventId> = sequence.iter().map(|&(e, _)| e).collect();
        unordered::of_sequence(&rules, &events, &mut found);
    });
    found
}

/// The feasible sequences that no event can be added to.
pub fn maximal_interleavings(trace: &Trace, model: Model) -> BTreeSet<Vec<EventId>> {
    let rules = Rules::new(trace, model);
    let (mut all, mut extended) = (BTreeSet::new(), BTreeSet::new());
    extend(&rules, &rules.start(), &mut Vec::new(), &mut |sequence, _| {
        let sequence: Vec<EventId> = sequence.iter().map(|&(e, _)| e).collect();
        if let Some((_, shorter)) = sequence.split_last() {
            extended.insert(shorter.to_vec());
        }
        all.insert(sequence);
    });
    all.difference(&extended).cloned().collect()
}

/// Events with what they did, in order.
type Sequence = Vec<(EventId, Change)>;

/// Shows every feasible sequence that starts with `sequence`, which ends in `state`.
fn extend(
    rules: &Rules,
    state: &State,
    sequence: &mut Sequence,
    show: &mut impl FnMut(&Sequence, &State),
) {
    show(sequence, state);
    for (e, after) in rules.steps(state) {
        sequence.push((e, Change::of(rules, e, state, &after)));
        extend(rules, &after, sequence, show);
        sequence.pop();
    }
}

/// The triples of the sequence whose last access is the last event: shorter sequences have shown
/// the others.
fn atomicity(
    rules: &Rules,
    sequence: &Sequence,
    block: &Block,
    found: &mut BTreeSet<[EventId; 3]>,
) {
    let Some((&(last, then), before)) = sequence.split_last() else { return };
    for (j, &(r, change)) in before.iter().enumerate() {
        for &(c, changed) in &before[..j] {
            if block.accesses.contains(&c)
                && block.accesses.contains(&last)
                && real(rules, c, changed, r, change)
                && real(rules, r, change, last, then)
            {
                found.insert([c, r, last]);
            }
        }
    }
}

/// Whether the sequence has a path from the block to itself through other threads.
fn not_serializable(rules: &Rules, sequence: &Sequence, block: &Block) -> bool {
    let thread = |e| rules.trace.thread(e);
    let mut on_path = vec![false; sequence.len()];
    for (j, &(b, _)) in sequence.iter().enumerate() {
        if !rules.is_access(b) {
            continue;
        }
        for (i, &(a, _)) in sequence[..j].iter().enumerate() {
            let from_block = block.accesses.contains(&a) && rules.conflict(a, b);
            let from_path = on_path[i] && (rules.conflict(a, b) || thread(a) == thread(b));
            if thread(b) != block.thread && (from_block || from_path) {
                on_path[j] = true;
            }
            if block.accesses.contains(&b) && on_path[i] && rules.conflict(a, b) {
                return true;
            }
        }
    }
    false
}

/// The blocks on a cycle of the sequence's graph of transactions.
fn cycles(rules: &Rules, sequence: &Sequence, found: &mut BTreeSet<EventId>) {
    let (transactions, of) = transactions(rules);
    let n = transactions.len();
    let mut reaches = vec![vec![false; n]; n];
    for (j, &(b, _)) in sequence.iter().enumerate() {
        for &(a, _) in &sequence[..j] {
            let (Some(from), Some(to)) = (of[a.index()], of[b.index()]) else { continue };
            let program_order = rules.trace.thread(a) == rules.trace.thread(b);
            if from != to && (program_order || rules.conflict(a, b)) {
                reaches[from][to] = true;
            }
        }
    }
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                reaches[i][j] |= reaches[i][k] && reaches[k][j];
            }
        }
    }
    found.extend((0..n).filter(|&i| reaches[i][i]).filter_map(|i| transactions[i].begin));
}
