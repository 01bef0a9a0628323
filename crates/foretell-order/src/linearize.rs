//! From the partial order of a model to one total order: list scheduling.
//!
//! Of all nodes whose predecessors are placed, the one that stands first in the preferred order
//! comes next. So the result departs from the preferred order only where the model asks for it.

use crate::chains::Node;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Orders the nodes of `chains` (each given in chain order) under additional edges, smallest
/// `priority` first. The edges and chains must have no cycle.
pub(crate) fn linearize(
    chains: &[Vec<Node>],
    edges: &[(Node, Node)],
    priorities: &[u64],
) -> Vec<Node> {
    let count = priorities.len();
    let mut open = vec![0u32; count];
    let mut after: Vec<Option<Node>> = vec![None; count];
    for pair in chains.iter().flat_map(|chain| chain.windows(2)) {
        open[pair[1].index()] += 1;
        after[pair[0].index()] = Some(pair[1]);
    }
    let mut targets: Vec<Vec<Node>> = vec![Vec::new(); count];
    for &(from, to) in edges {
        open[to.index()] += 1;
        targets[from.index()].push(to);
    }
    let heads = chains.iter().filter_map(|chain| chain.first()).copied();
    let mut ready: BinaryHeap<Reverse<(u64, Node)>> = heads
        .filter(|node| open[node.index()] == 0)
        .map(|node| Reverse((priorities[node.index()], node)))
        .collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse((_, node))) = ready.pop() {
        foretell_limit::check();
        order.push(node);
        for &to in after[node.index()].iter().chain(&targets[node.index()]) {
            open[to.index()] -= 1;
            if open[to.index()] == 0 {
                ready.push(Reverse((priorities[to.index()], to)));
            }
        }
    }
    debug_assert_eq!(order.len(), count);
    order
}
