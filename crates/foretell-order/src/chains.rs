//! Chains, the nodes on them, and reachability between nodes.
//!
//! A chain is a totally ordered line of positions. Nodes stand on it sparsely: only positions that
//! the client asked for. For every node and every chain the closure keeps the first position of
//! that chain the node reaches, by chain order and inserted edges. Since a chain is ordered,
//! everything behind that position is reached as well, so
//!
//! - `a` reaches `b` is one comparison;
//! - rows hold positions, not indices of nodes, so that a node put into the middle of a chain
//!   changes no row but its own, which is a copy of that of the next node of its chain;
//! - an edge `x → y` changes the rows of those that reach `x` and did not reach `y`. They are found
//!   backwards from `x`, along chains and edges, stopping at the first node of each way that
//!   reaches `y`: its predecessors do, too.
//!
//! Old values go to a trail, except at level 0, which is never undone. A node that is born at a
//! higher level has no history to go back to: after backtracking, its row is copied from its next
//! node again.
//!
//! Most cells say that nothing is reached, the more chains the more so. Rows are made of blocks of
//! sixteen cells, a cache line, and each node has a bit for each of its blocks that is not empty,
//! so that an update looks only at what its target reaches. What is new to the start of an edge is
//! all that can be new to the nodes before it: only these blocks are looked at there.
//!
//! Ordering theories inside SAT solvers for concurrent programs (Zord, Deagle) keep the graph of
//! events and look for cycles in it. This keeps the vector clocks of happens-before analyses
//! instead, turned round: not what was seen, but what will be. Memory is 4 bytes for each node and
//! chain.

/// A totally ordered line of positions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Chain(pub(crate) u32);

/// A point of the order: a position of a chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(pub(crate) u32);

impl Chain {
    /// Chains are numbered from 0 in the order of their creation.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Node {
    /// Nodes are numbered from 0 in the order of their creation.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// In a row: no position of that chain is reached.
const NEVER: u32 = u32::MAX;
/// Cells of a block.
const BLOCK: usize = 16;

/// Where a node stands, and its neighbours on the chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChainPosition {
    pub(crate) chain: Chain,
    pub(crate) position: u32,
    pub(crate) next: Option<Node>,
    pub(crate) previous: Option<Node>,
}

/// A number of an edge: edges are numbered in the order they were inserted.
pub(crate) type EdgeId = u32;

/// An inserted edge and what it stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge<L> {
    pub(crate) from: Node,
    pub(crate) to: Node,
    pub(crate) label: L,
}

/// A cell of a row that changed: the old value.
struct Undo {
    node: Node,
    chain: Chain,
    old: u32,
}

/// State at the beginning of a decision level.
struct Level {
    undo: usize,
    edges: usize,
}

/// The chains and their closure under the inserted edges. `L` labels edges.
pub(crate) struct Chains<L> {
    places: Vec<ChainPosition>,
    /// The nodes of each chain by position.
    members: Vec<Vec<Node>>,
    /// Row-major: the first position of each chain that a node reaches. Its own position for its
    /// own chain.
    rows: Vec<u32>,
    /// Cells of a row: whole blocks, at least the number of chains.
    stride: usize,
    /// Row-major: a bit for each block of a row with a cell that is not `NEVER`.
    filled: Vec<u64>,
    edges: Vec<Edge<L>>,
    /// By node: the edges that leave it and that enter it, oldest first.
    outgoing: Vec<Vec<EdgeId>>,
    incoming: Vec<Vec<EdgeId>>,
    undo: Vec<Undo>,
    levels: Vec<Level>,
    /// Nodes without a history, with the level above which they have one.
    newborn: Vec<(Node, usize)>,
    work: Vec<Node>,
    /// Blocks that an edge brings to its start, with the cells of its end.
    gained: Vec<(u32, [u32; BLOCK])>,
    /// Number of rows that edges have changed so far.
    pub(crate) rows_changed: u64,
}

impl<L: Copy> Chains<L> {
    pub(crate) fn new() -> Self {
        Chains {
            places: Vec::new(),
            members: Vec::new(),
            rows: Vec::new(),
            stride: BLOCK,
            filled: Vec::new(),
            edges: Vec::new(),
            outgoing: Vec::new(),
            incoming: Vec::new(),
            undo: Vec::new(),
            levels: Vec::new(),
            newborn: Vec::new(),
            work: Vec::new(),
            gained: Vec::new(),
            rows_changed: 0,
        }
    }

    pub(crate) fn add_chain(&mut self) -> Chain {
        let chain = Chain(self.members.len() as u32);
        self.members.push(Vec::new());
        if self.members.len() > self.stride {
            self.widen();
        }
        chain
    }

    /// Doubles the length of all rows.
    fn widen(&mut self) {
        let old = self.stride;
        self.stride *= 2;
        let mut rows = vec![NEVER; self.places.len() * self.stride];
        for (to, from) in rows.chunks_exact_mut(self.stride).zip(self.rows.chunks_exact(old)) {
            to[..old].copy_from_slice(from);
        }
        self.rows = rows;
        let (from, to) = (words_for(old), self.words());
        let mut filled = vec![0; self.places.len() * to];
        for (to, from) in filled.chunks_exact_mut(to).zip(self.filled.chunks_exact(from)) {
            to[..from.len()].copy_from_slice(from);
        }
        self.filled = filled;
    }

    /// Words of bits for the blocks of a row.
    fn words(&self) -> usize {
        words_for(self.stride)
    }

    /// The node at that position, and whether it is new.
    pub(crate) fn node(&mut self, chain: Chain, position: u32) -> (Node, bool) {
        let members = &self.members[chain.index()];
        let found = members.binary_search_by_key(&position, |&n| self.places[n.index()].position);
        let at = match found {
            Ok(at) => return (members[at], false),
            Err(at) => at,
        };
        let node = Node(self.places.len() as u32);
        let next = members.get(at).copied();
        let previous = at.checked_sub(1).map(|at| members[at]);
        self.members[chain.index()].insert(at, node);
        self.places.push(ChainPosition { chain, position, next, previous });
        if let Some(next) = next {
            self.places[next.index()].previous = Some(node);
        }
        if let Some(previous) = previous {
            self.places[previous.index()].next = Some(node);
        }
        self.outgoing.push(Vec::new());
        self.incoming.push(Vec::new());
        self.rows.resize(self.rows.len() + self.stride, NEVER);
        self.filled.resize(self.filled.len() + self.words(), 0);
        self.copy_row_of_next(node);
        if !self.levels.is_empty() {
            self.newborn.push((node, self.levels.len()));
        }
        (node, true)
    }

    fn copy_row_of_next(&mut self, node: Node) {
        let (start, bits) = (node.index() * self.stride, node.index() * self.words());
        let (row_end, bits_end) = (start + self.stride, bits + self.words());
        let place = self.places[node.index()];
        if let Some(next) = place.next {
            let from = next.index() * self.stride;
            self.rows.copy_within(from..from + self.stride, start);
            let words = self.words();
            let from = next.index() * words;
            self.filled.copy_within(from..from + words, bits);
        } else {
            self.rows[start..row_end].fill(NEVER);
            self.filled[bits..bits_end].fill(0);
        }
        self.rows[start + place.chain.index()] = place.position;
        let block = place.chain.index() / BLOCK;
        self.filled[bits + block / 64] |= 1 << (block % 64);
    }

    pub(crate) fn place(&self, node: Node) -> ChainPosition {
        self.places[node.index()]
    }

    pub(crate) fn chain_count(&self) -> usize {
        self.members.len()
    }

    /// The nodes of each chain by position.
    pub(crate) fn members(&self) -> &[Vec<Node>] {
        &self.members
    }

    pub(crate) fn edges(&self) -> &[Edge<L>] {
        &self.edges
    }

    pub(crate) fn outgoing(&self, node: Node) -> &[EdgeId] {
        &self.outgoing[node.index()]
    }

    /// Is everything that was inserted there for good?
    pub(crate) fn at_level_0(&self) -> bool {
        self.levels.is_empty()
    }

    /// The number of edges that are never taken back.
    pub(crate) fn lasting_edges(&self) -> usize {
        self.levels.first().map_or(self.edges.len(), |level| level.edges)
    }

    /// Is there a way from `a` to `b`? Every node reaches itself.
    pub(crate) fn reaches(&self, a: Node, b: Node) -> bool {
        let to = self.places[b.index()];
        self.rows[a.index() * self.stride + to.chain.index()] <= to.position
    }

    /// Inserts an edge; `to` must not reach `from`. Tells `reached` of each node and chain whose
    /// first reached position changed, with the new and the old one.
    pub(crate) fn insert(
        &mut self,
        from: Node,
        to: Node,
        label: L,
        mut reached: impl FnMut(Node, Chain, u32, u32),
    ) {
        let id = self.edges.len() as EdgeId;
        self.edges.push(Edge { from, to, label });
        self.outgoing[from.index()].push(id);
        self.incoming[to.index()].push(id);
        if self.reaches(from, to) {
            return;
        }
        let mut gained = std::mem::take(&mut self.gained);
        gained.clear();
        self.lower_row(from, to, &mut gained, &mut reached);
        let mut work = std::mem::take(&mut self.work);
        self.push_predecessors(from, &mut work);
        while let Some(node) = work.pop() {
            foretell_limit::check();
            if self.reaches(node, to) {
                continue;
            }
            self.rows_changed += 1;
            for &(block, new) in &gained {
                self.mark_filled(node, block as usize);
                self.lower_block(node, block as usize, &new, &mut reached);
            }
            self.push_predecessors(node, &mut work);
        }
        (self.work, self.gained) = (work, gained);
    }

    /// Adds the nodes from which a step leads to `node`.
    fn push_predecessors(&self, node: Node, work: &mut Vec<Node>) {
        work.extend(self.places[node.index()].previous);
        work.extend(self.incoming[node.index()].iter().map(|&e| self.edges[e as usize].from));
    }

    /// `node` reaches all that `to` reaches. Adds the blocks in which that is new, with the cells
    /// of `to`. What reaches `node` has reached all of the rest already.
    fn lower_row(
        &mut self,
        node: Node,
        to: Node,
        gained: &mut Vec<(u32, [u32; BLOCK])>,
        reached: &mut impl FnMut(Node, Chain, u32, u32),
    ) {
        self.rows_changed += 1;
        let words = self.words();
        for word in 0..words {
            let mut bits = self.filled[to.index() * words + word];
            self.filled[node.index() * words + word] |= bits;
            while bits != 0 {
                let block = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let new = *self.block(to, block);
                if self.lower_block(node, block, &new, reached) {
                    gained.push((block as u32, new));
                }
            }
        }
    }

    fn mark_filled(&mut self, node: Node, block: usize) {
        let words = self.words();
        self.filled[node.index() * words + block / 64] |= 1 << (block % 64);
    }

    /// Lowers the cells of a block to `new` where that is lower; whether it is anywhere.
    fn lower_block(
        &mut self,
        node: Node,
        block: usize,
        new: &[u32; BLOCK],
        reached: &mut impl FnMut(Node, Chain, u32, u32),
    ) -> bool {
        let old = *self.block(node, block);
        let mut lower = 0u32;
        for (k, (new, old)) in new.iter().zip(&old).enumerate() {
            lower |= u32::from(new < old) << k;
        }
        let any = lower != 0;
        while lower != 0 {
            let k = lower.trailing_zeros() as usize;
            lower &= lower - 1;
            let chain = Chain((block * BLOCK + k) as u32);
            if !self.levels.is_empty() {
                self.undo.push(Undo { node, chain, old: old[k] });
            }
            self.rows[node.index() * self.stride + chain.index()] = new[k];
            reached(node, chain, new[k], old[k]);
        }
        any
    }

    fn block(&self, node: Node, block: usize) -> &[u32; BLOCK] {
        let start = node.index() * self.stride;
        &self.rows[start..start + self.stride].as_chunks::<BLOCK>().0[block]
    }

    /// Puts an old value back into a row.
    fn restore(&mut self, node: Node, chain: Chain, old: u32) {
        self.rows[node.index() * self.stride + chain.index()] = old;
        let block = chain.index() / BLOCK;
        if old == NEVER && self.block(node, block).iter().fold(true, |all, &c| all & (c == NEVER)) {
            let words = self.words();
            self.filled[node.index() * words + block / 64] &= !(1 << (block % 64));
        }
    }

    pub(crate) fn new_level(&mut self) {
        self.levels.push(Level { undo: self.undo.len(), edges: self.edges.len() });
    }

    /// Takes back all but the first `level` levels.
    pub(crate) fn backtrack(&mut self, level: usize) {
        if level >= self.levels.len() {
            return;
        }
        let Level { undo, edges } = self.levels[level];
        for at in (undo..self.undo.len()).rev() {
            let Undo { node, chain, old } = self.undo[at];
            self.restore(node, chain, old);
        }
        self.undo.truncate(undo);
        for edge in self.edges.drain(edges..).rev() {
            self.outgoing[edge.from.index()].pop();
            self.incoming[edge.to.index()].pop();
        }
        self.levels.truncate(level);
        self.recopy_newborn(level);
    }

    /// Nodes born above this level get the row they would have, had they been born here.
    fn recopy_newborn(&mut self, level: usize) {
        let old = self.newborn.partition_point(|&(_, born)| born <= level);
        let mut again: Vec<Node> = self.newborn.drain(old..).map(|(node, _)| node).collect();
        // Each row is copied from that of the next node: last positions first.
        again.sort_unstable_by_key(|&node| std::cmp::Reverse(self.places[node.index()].position));
        for &node in &again {
            self.copy_row_of_next(node);
        }
        if level > 0 {
            self.newborn.extend(again.into_iter().map(|node| (node, level)));
        }
    }
}

/// Words of bits for the blocks of a row of that many cells.
fn words_for(stride: usize) -> usize {
    (stride / BLOCK).div_ceil(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reachability from first principles: the first position of each chain, edge by edge.
    fn reaches(chains: &Chains<()>, a: Node, b: Node) -> bool {
        let mut first = vec![NEVER; chains.chain_count()];
        first[chains.place(a).chain.index()] = chains.place(a).position;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for edge in chains.edges() {
                let (from, to) = (chains.place(edge.from), chains.place(edge.to));
                if first[from.chain.index()] <= from.position
                    && to.position < first[to.chain.index()]
                {
                    first[to.chain.index()] = to.position;
                    changed = true;
                }
            }
        }
        first[chains.place(b).chain.index()] <= chains.place(b).position
    }

    /// Edges, levels, backtracking, nodes and chains in random order, on chains that are far apart
    /// in the rows.
    fn closure_is_exact(apart: usize, seed: u64) {
        let mut state = seed;
        let mut below = |n: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut chains: Chains<()> = Chains::new();
        let mut used = vec![chains.add_chain(), chains.add_chain()];
        let mut nodes = vec![chains.node(used[0], 5).0, chains.node(used[1], 5).0];
        for _ in 0..120 {
            match below(10) {
                0 if used.len() < 5 => {
                    used.extend((0..apart).map(|_| chains.add_chain()).last());
                }
                1 | 2 if nodes.len() < 14 => {
                    let (node, new) = chains.node(used[below(used.len())], below(12) as u32);
                    assert_eq!(new, !nodes.contains(&node));
                    nodes.extend(new.then_some(node));
                }
                3 => chains.new_level(),
                4 => chains.backtrack(below(chains.levels.len() + 1)),
                _ => {
                    let (x, y) = (nodes[below(nodes.len())], nodes[below(nodes.len())]);
                    if !chains.reaches(y, x) && !chains.reaches(x, y) {
                        chains.insert(x, y, (), |_, _, new, old| assert!(new < old));
                    }
                }
            }
            for &a in &nodes {
                for &b in &nodes {
                    assert_eq!(chains.reaches(a, b), reaches(&chains, a, b), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn closure_is_exact_on_few_chains() {
        (0..60).for_each(|seed| closure_is_exact(1, seed));
    }

    #[test]
    fn closure_is_exact_on_more_chains_than_a_word_has_blocks() {
        (0..3).for_each(|seed| closure_is_exact(BLOCK * 64 / 2, seed));
    }
}
