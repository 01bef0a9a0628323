//! The theory of strict total order: a set of literals `x < y` is consistent iff its graph,
//! together with the chains, has no cycle.
//!
//! The closure (see [`Chains`]) makes each question one comparison, so the theory is complete and
//! eager: an asserted literal whose opposite is implied is a conflict at once, one that is implied
//! itself inserts nothing, and every atom that an insertion decides is implied at once. Atoms wait
//! at both their nodes, by the chain and position of the other node: when a row changes in one
//! cell, those that became decided are a range.
//!
//! Explanations are made on demand: a path over edges that were there at the time, with as few
//! edges as possible that can be taken back (0-1 breadth-first search; chain steps and edges of
//! level 0 cost nothing).

use crate::cdcl::{Stamp, Theory, TheoryConflict};
use crate::chains::{Chain, Chains, EdgeId, Node};
use crate::lit::{Lit, Var};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// An atom waiting at a node `x` for `x < y` to be decided.
#[derive(Clone, Copy)]
struct Waiting {
    /// The position of `y`.
    position: u32,
    /// The literal `x < y`.
    lit: Lit,
}

pub(crate) struct OrderTheory {
    pub(crate) chains: Chains<Lit>,
    /// By variable: the nodes of its atom, `x < y` when true.
    atoms: Vec<Option<(Node, Node)>>,
    by_nodes: FxHashMap<(Node, Node), Var>,
    /// By node, and by the chain of the other node, sorted by position.
    waiting: Vec<Vec<(Chain, Vec<Waiting>)>>,
    search: Search,
    pub(crate) edges_inserted: u64,
}

/// The state of a path search, kept to be used again.
#[derive(Default)]
struct Search {
    /// By chain: the first position seen; behind it everything is.
    seen: Vec<u32>,
    steps: Vec<PathStep>,
    queue: VecDeque<u32>,
}

/// A node a path search came to, by which edge, from which step.
struct PathStep {
    node: Node,
    edge: EdgeId,
    from: u32,
}

const NO_STEP: u32 = u32::MAX;

impl OrderTheory {
    pub(crate) fn new() -> Self {
        OrderTheory {
            chains: Chains::new(),
            atoms: Vec::new(),
            by_nodes: FxHashMap::default(),
            waiting: Vec::new(),
            search: Search::default(),
            edges_inserted: 0,
        }
    }

    pub(crate) fn node(&mut self, chain: Chain, position: u32) -> (Node, bool) {
        let (node, new) = self.chains.node(chain, position);
        if new {
            self.waiting.push(Vec::new());
        }
        (node, new)
    }

    /// The literal `x < y`, if there is an atom for these nodes.
    pub(crate) fn find(&self, x: Node, y: Node) -> Option<Lit> {
        let var = *self.by_nodes.get(&(x.min(y), x.max(y)))?;
        Some(Lit::new(var, x < y))
    }

    /// Makes `var`, which is new and unassigned, the atom of two nodes of different chains; gives
    /// `x < y`. If it is decided for good already, it need not wait.
    pub(crate) fn add_atom(&mut self, var: Var, x: Node, y: Node) -> Lit {
        let (first, second) = (x.min(y), x.max(y));
        self.by_nodes.insert((first, second), var);
        self.atoms.resize(var.index() + 1, None);
        self.atoms[var.index()] = Some((first, second));
        if !self.chains.at_level_0() || self.implied(var).is_none() {
            self.wait(first, second, Lit::new(var, true));
            self.wait(second, first, Lit::new(var, false));
        }
        Lit::new(var, x < y)
    }

    fn wait(&mut self, x: Node, y: Node, lit: Lit) {
        let place = self.chains.place(y);
        let lists = &mut self.waiting[x.index()];
        let at = lists.partition_point(|&(chain, _)| chain < place.chain);
        if lists.get(at).is_none_or(|&(chain, _)| chain != place.chain) {
            lists.insert(at, (place.chain, Vec::new()));
        }
        let list = &mut lists[at].1;
        let at = list.partition_point(|other| other.position < place.position);
        list.insert(at, Waiting { position: place.position, lit });
    }

    /// The nodes of an atom, in the order the literal says.
    fn nodes(&self, lit: Lit) -> Option<(Node, Node)> {
        let (x, y) = (*self.atoms.get(lit.var().index())?)?;
        Some(if lit.is_positive() { (x, y) } else { (y, x) })
    }

    /// Pushes the negated labels of the edges of a path from `a` to `b`, using only edges older
    /// than `stamp`.
    fn push_path(&mut self, a: Node, b: Node, stamp: Stamp, clause: &mut Vec<Lit>) {
        let mut search = std::mem::take(&mut self.search);
        let mut at = search.run(&self.chains, a, b, stamp);
        while at != NO_STEP {
            let step = &search.steps[at as usize];
            if step.from != NO_STEP {
                clause.push(!self.chains.edges()[step.edge as usize].label);
            }
            at = step.from;
        }
        self.search = search;
    }
}

impl Search {
    /// The last step of a path from `a` to `b`, which must exist.
    fn run(&mut self, chains: &Chains<Lit>, a: Node, b: Node, stamp: Stamp) -> u32 {
        self.seen.clear();
        self.seen.resize(chains.chain_count(), u32::MAX);
        self.steps.clear();
        self.queue.clear();
        self.push(PathStep { node: a, edge: 0, from: NO_STEP }, true);
        let goal = chains.place(b);
        while let Some(at) = self.queue.pop_front() {
            foretell_limit::check();
            let node = self.steps[at as usize].node;
            let place = chains.place(node);
            if place.chain == goal.chain && place.position <= goal.position {
                return at;
            }
            let seen = self.seen[place.chain.index()];
            self.seen[place.chain.index()] = seen.min(place.position);
            self.expand(chains, node, at, seen, b, stamp);
        }
        NO_STEP
    }

    /// Follows the edges that leave the chain between `node` and the position `seen`, as far as
    /// `goal` can still be reached.
    fn expand(
        &mut self,
        chains: &Chains<Lit>,
        node: Node,
        at: u32,
        seen: u32,
        goal: Node,
        stamp: Stamp,
    ) {
        let mut next = Some(node);
        while let Some(node) = next {
            foretell_limit::check();
            let place = chains.place(node);
            if place.position >= seen || !chains.reaches(node, goal) {
                break;
            }
            for &edge in chains.outgoing(node) {
                if edge >= stamp {
                    break; // oldest first
                }
                let to = chains.edges()[edge as usize].to;
                let target = chains.place(to);
                if target.position < self.seen[target.chain.index()] && chains.reaches(to, goal) {
                    let free = (edge as usize) < chains.lasting_edges();
                    self.push(PathStep { node: to, edge, from: at }, free);
                }
            }
            next = place.next;
        }
    }

    fn push(&mut self, step: PathStep, free: bool) {
        let at = self.steps.len() as u32;
        self.steps.push(step);
        if free {
            self.queue.push_front(at);
        } else {
            self.queue.push_back(at);
        }
    }
}

impl Theory for OrderTheory {
    fn assert(
        &mut self,
        lit: Lit,
        implied: &mut Vec<Lit>,
        conflict: &mut Vec<Lit>,
    ) -> Result<(), TheoryConflict> {
        let Some((x, y)) = self.nodes(lit) else {
            return Ok(());
        };
        if self.chains.reaches(x, y) {
            return Ok(());
        }
        if self.chains.reaches(y, x) {
            conflict.push(!lit);
            self.push_path(y, x, self.stamp(), conflict);
            return Err(TheoryConflict);
        }
        self.edges_inserted += 1;
        let waiting = &self.waiting;
        self.chains.insert(x, y, lit, |node, chain, new, old| {
            let lists = &waiting[node.index()];
            let Ok(at) = lists.binary_search_by_key(&chain, |&(chain, _)| chain) else {
                return;
            };
            let list = &lists[at].1;
            let at = list.partition_point(|other| other.position < new);
            let decided = list[at..].iter().take_while(|other| other.position < old);
            implied.extend(decided.map(|other| other.lit));
        });
        Ok(())
    }

    fn stamp(&self) -> Stamp {
        self.chains.edges().len() as Stamp
    }

    fn explain(&mut self, lit: Lit, stamp: Stamp, clause: &mut Vec<Lit>) {
        clause.push(lit);
        if let Some((x, y)) = self.nodes(lit) {
            self.push_path(x, y, stamp, clause);
        }
    }

    fn implied(&self, var: Var) -> Option<Lit> {
        let (x, y) = self.nodes(Lit::new(var, true))?;
        if self.chains.reaches(x, y) {
            return Some(Lit::new(var, true));
        }
        self.chains.reaches(y, x).then_some(Lit::new(var, false))
    }

    fn new_level(&mut self) {
        self.chains.new_level();
    }

    fn backtrack(&mut self, level: usize) {
        self.chains.backtrack(level);
    }

    /// The clause is valid iff its negation, a set of edges, has a cycle with the chains: looked
    /// for with positions alone.
    fn is_valid(&self, clause: &[Lit]) -> bool {
        let edges: Vec<_> = clause.iter().filter_map(|&lit| self.nodes(!lit)).collect();
        let leads_to = |(_, y): (Node, Node), (x, _): (Node, Node)| {
            let (y, x) = (self.chains.place(y), self.chains.place(x));
            y.chain == x.chain && y.position <= x.position
        };
        edges.iter().any(|&start| {
            let mut reached = vec![start];
            let mut at = 0;
            while at < reached.len() {
                foretell_limit::check();
                if leads_to(reached[at], start) {
                    return true;
                }
                for &edge in &edges {
                    if leads_to(reached[at], edge) && !reached.contains(&edge) {
                        reached.push(edge);
                    }
                }
                at += 1;
            }
            false
        })
    }
}
