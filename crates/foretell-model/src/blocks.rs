//! Atomic blocks: the stretches of a thread that ought to happen as if at once.

use foretell_trace::{EventId, Op, ThreadId, Trace};

use crate::Chains;

/// Index of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

/// One atomic block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// The thread.
    pub thread: ThreadId,
    /// Its first event, the marker.
    pub begin: EventId,
    /// Its last event, the marker; `None` where it is still open at the end of the trace.
    pub end: Option<EventId>,
    /// The outermost block it is in; itself for an outermost one.
    pub outermost: BlockId,
    /// Position of `begin` in the thread.
    pub first: u32,
    /// Position in the thread of the last event of the block.
    pub last: u32,
}

/// The blocks of a trace, in the order they begin.
#[derive(Debug)]
pub struct Blocks {
    blocks: Vec<Block>,
    /// The outermost block of each event, or `NONE`. Empty if there are no blocks.
    outermost: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Blocks {
    /// Returns the blocks of a trace, numbered as in its model.
    pub fn of_trace(trace: &Trace) -> Self {
        Blocks::new(trace, &Chains::new(trace))
    }

    /// Finds the blocks of a legal trace.
    pub(crate) fn new(trace: &Trace, chains: &Chains) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        let mut outermost = Vec::new();
        let mut open: Vec<Vec<BlockId>> = vec![Vec::new(); chains.thread_count()];
        for e in trace.ids() {
            foretell_limit::check();
            let thread = trace.thread(e);
            let stack = &mut open[thread.index()];
            if trace.op(e) == Op::Begin {
                outermost.resize(trace.len(), NONE);
                let id = BlockId(blocks.len() as u32);
                let first = chains.position(e);
                blocks.push(Block {
                    thread,
                    begin: e,
                    end: None,
                    outermost: stack.first().copied().unwrap_or(id),
                    first,
                    last: chains.events(thread).len() as u32 - 1,
                });
                stack.push(id);
            }
            if let Some(b) = stack.first() {
                outermost[e.index()] = b.0;
            }
            if trace.op(e) == Op::End
                && let Some(b) = stack.pop()
            {
                let block = &mut blocks[b.0 as usize];
                block.end = Some(e);
                block.last = chains.position(e);
            }
        }
        Self { blocks, outermost }
    }

    /// A block.
    #[inline]
    pub fn get(&self, b: BlockId) -> &Block {
        &self.blocks[b.0 as usize]
    }

    /// All blocks, in the order they begin.
    pub fn iter(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        self.blocks.iter().enumerate().map(|(i, b)| (BlockId(i as u32), b))
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The outermost block that an event is in.
    #[inline]
    pub fn outermost(&self, e: EventId) -> Option<BlockId> {
        let b = self.outermost.get(e.index()).copied().unwrap_or(NONE);
        (b != NONE).then_some(BlockId(b))
    }

    /// The events of a block.
    pub fn events<'c>(&self, chains: &'c Chains, b: BlockId) -> &'c [EventId] {
        let block = self.get(b);
        &chains.events(block.thread)[block.first as usize..=block.last as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ids, trace};

    #[test]
    fn nested_and_open_blocks() {
        let trace = trace(
            "T1|w(x)
             T1|begin
             T2|begin
             T1|begin
             T1|w(x)
             T1|end
             T1|w(x)
             T1|end
             T1|w(x)
             T2|w(x)",
        );
        let chains = Chains::new(&trace);
        let blocks = Blocks::new(&trace, &chains);
        let limits: Vec<_> = blocks.iter().map(|(_, b)| (b.begin.0, b.end.map(|e| e.0))).collect();
        assert_eq!(limits, [(1, Some(7)), (2, None), (3, Some(5))]);
        assert_eq!(blocks.len(), 3);
        assert!(!blocks.is_empty());
        let [outer, open, inner] = [0, 1, 2].map(BlockId);
        assert_eq!(blocks.get(outer).outermost, outer);
        assert_eq!(blocks.get(inner).outermost, outer);
        assert_eq!(blocks.get(open).outermost, open);
        assert_eq!(blocks.events(&chains, outer), ids([1, 3, 4, 5, 6, 7]));
        assert_eq!(blocks.events(&chains, inner), ids([3, 4, 5]));
        assert_eq!(blocks.events(&chains, open), ids([2, 9]), "to the end of the thread");
        let outermost = |e| blocks.outermost(EventId(e));
        assert_eq!(ids([0, 8]).map(|e| blocks.outermost(e)), [None; 2]);
        assert_eq!([1, 3, 4, 5, 6, 7].map(outermost), [Some(outer); 6]);
        assert_eq!([2, 9].map(outermost), [Some(open); 2]);
    }
}
