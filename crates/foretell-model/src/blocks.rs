//! Atomic blocks: the stretches of a thread that ought to happen as if at once.

use foretell_trace::{EventId, EventKind, Op, ThreadId, Trace};

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
    /// The outermost block of each event, or `NONE`.
    outermost: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Blocks {
    /// Finds the blocks of a legal trace.
    pub fn new(trace: &Trace, chains: &Chains) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        let mut outermost = vec![NONE; trace.len()];
        let mut open: Vec<Vec<BlockId>> = vec![Vec::new(); chains.thread_count()];
        for e in trace.ids() {
            let thread = trace.thread(e);
            let stack = &mut open[thread.index()];
            if trace.op(e) == Op::Begin {
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
            if let EventKind::End { .. } = trace.event(e).kind
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

    /// How many blocks there are.
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
        let b = self.outermost[e.index()];
        (b != NONE).then_some(BlockId(b))
    }

    /// The events of a block.
    pub fn events<'c>(&self, chains: &'c Chains, b: BlockId) -> &'c [EventId] {
        let block = self.get(b);
        &chains.events(block.thread)[block.first as usize..=block.last as usize]
    }
}
