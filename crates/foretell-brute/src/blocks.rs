//! Atomic blocks and transactions of a trace.

use foretell_trace::{EventId, Op, ThreadId};

use crate::rules::Rules;

/// An atomic block: the events between a begin and its end, or the end of the thread's events.
pub(crate) struct Block {
    pub(crate) begin: EventId,
    pub(crate) thread: ThreadId,
    pub(crate) outermost: bool,
    /// Its accesses that can take part in a finding, in order, those of nested blocks too.
    pub(crate) accesses: Vec<EventId>,
}

/// All blocks, nested ones too, by their begin.
pub(crate) fn blocks(rules: &Rules) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (t, events) in rules.threads.iter().enumerate() {
        let mut open: Vec<usize> = Vec::new();
        for &e in events {
            match rules.op(e) {
                Op::Begin => {
                    let (thread, outermost) = (ThreadId::from_index(t), open.is_empty());
                    open.push(blocks.len());
                    blocks.push(Block { begin: e, thread, outermost, accesses: Vec::new() });
                }
                Op::End => {
                    open.pop();
                }
                _ if rules.is_access(e) => {
                    open.iter().for_each(|&b| blocks[b].accesses.push(e));
                }
                _ => {}
            }
        }
    }
    blocks.sort_by_key(|b| b.begin);
    blocks
}

/// A transaction: an outermost block, or a single event outside every block. Only those with
/// accesses are here; the others have no conflicts, and program order reaches past them.
pub(crate) struct Transaction {
    /// The begin of the block, if it is one.
    pub(crate) begin: Option<EventId>,
    pub(crate) accesses: Vec<EventId>,
}

/// The transactions, and for each event the transaction it is an access of.
pub(crate) fn transactions(rules: &Rules) -> (Vec<Transaction>, Vec<Option<usize>>) {
    let mut transactions: Vec<Transaction> = blocks(rules)
        .into_iter()
        .filter(|b| b.outermost && !b.accesses.is_empty())
        .map(|b| Transaction { begin: Some(b.begin), accesses: b.accesses })
        .collect();
    let mut of = vec![None; rules.events.len()];
    for (i, transaction) in transactions.iter().enumerate() {
        transaction.accesses.iter().for_each(|a| of[a.index()] = Some(i));
    }
    for e in rules.trace.ids().filter(|&e| rules.is_access(e)) {
        if of[e.index()].is_none() {
            of[e.index()] = Some(transactions.len());
            transactions.push(Transaction { begin: None, accesses: vec![e] });
        }
    }
    (transactions, of)
}
