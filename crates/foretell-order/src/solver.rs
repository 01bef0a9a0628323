//! The solver as its clients see it.

use crate::cdcl::Core;
use crate::chains::{Chain, Node};
use crate::limit::{Answer, Limit, Stats};
use crate::linearize::linearize;
use crate::lit::{Lit, Var};
use crate::order_theory::OrderTheory;

/// Decides clauses over booleans and atoms `x < y` of a strict total order. See the [crate]
/// documentation.
pub struct Solver {
    core: Core<OrderTheory>,
    /// By node: where it stands in the preferred order.
    priorities: Vec<u64>,
    model: Model,
}

/// The last assignment found. It is a copy, because clauses and nodes may be added while it is
/// being read.
#[derive(Default)]
struct Model {
    values: Vec<bool>,
    /// The edges that generate its order.
    edges: Vec<(Node, Node)>,
    /// Nothing has changed since: the closure of the theory is that of the model.
    live: bool,
}

impl Default for Solver {
    fn default() -> Self {
        Self::new()
    }
}

impl Solver {
    /// A solver without chains and clauses.
    pub fn new() -> Self {
        Solver {
            core: Core::new(OrderTheory::new()),
            priorities: Vec::new(),
            model: Model::default(),
        }
    }

    /// A solver that checks each of its steps and panics if one is not justified. Slow; for tests.
    /// Every lemma of the order must be a cycle, every learnt clause and every core must follow by
    /// unit propagation from what came before.
    pub fn with_proofs_checked() -> Self {
        let mut solver = Self::new();
        solver.core.check_proofs();
        solver
    }

    /// A new chain, without nodes.
    pub fn add_chain(&mut self) -> Chain {
        self.core.theory.chains.add_chain()
    }

    /// The node at `position` of `chain`: the one that is there, or a new one, ordered between its
    /// neighbours.
    ///
    /// `priority` is where the node stands in the preferred order: atoms are tried as the
    /// priorities say first, and [`linear_order`](Self::linear_order) prefers small ones. It counts
    /// when the node is new.
    ///
    /// # Panics
    /// If `position` is `u32::MAX`, which means "never" inside.
    pub fn node(&mut self, chain: Chain, position: u32, priority: u64) -> Node {
        assert!(position < u32::MAX, "the last position of a chain is u32::MAX - 1");
        let (node, new) = self.core.theory.node(chain, position);
        if new {
            self.priorities.push(priority);
        }
        node
    }

    /// The literal `x < y`. `less(y, x)` is its negation. For two nodes of one chain it is a
    /// constant, as is `x < x`.
    pub fn less(&mut self, x: Node, y: Node) -> Lit {
        let (a, b) = (self.core.theory.chains.place(x), self.core.theory.chains.place(y));
        if a.chain == b.chain {
            return if a.position < b.position { self.true_lit() } else { !self.true_lit() };
        }
        if let Some(lit) = self.core.theory.find(x, y) {
            return lit;
        }
        let (a, b) = ((self.priorities[x.index()], x), (self.priorities[y.index()], y));
        // In the preferred order, and for each node the nearest one before it first: that decides
        // most of the others, and an edge from the past into the present changes few rows.
        let rank = (a.max(b).0, u64::MAX - a.min(b).0);
        let var = self.core.new_var(true, rank);
        let lit = self.core.theory.add_atom(var, x, y);
        self.core.set_phase(if a < b { lit } else { !lit });
        self.core.settle(var);
        lit
    }

    /// A new boolean variable; it is tried as false first, and after the atoms.
    pub fn new_var(&mut self) -> Lit {
        Lit::new(self.core.new_var(false, (u64::MAX, u64::MAX)), true)
    }

    /// A new boolean variable; it is tried as true first, and before the atoms.
    pub fn new_choice(&mut self) -> Lit {
        Lit::new(self.core.new_var(true, (0, 0)), true)
    }

    /// The literal that is always true.
    pub fn true_lit(&self) -> Lit {
        Lit::new(Var(0), true)
    }

    /// Requires one of the literals. False if the clauses are now known to be unsatisfiable,
    /// whatever is assumed.
    pub fn add_clause(&mut self, lits: &[Lit]) -> bool {
        self.model.live = false;
        self.core.add_clause(lits)
    }

    /// Tries `lit` as true first, the next time its variable is decided freely.
    pub fn set_phase(&mut self, lit: Lit) {
        self.core.set_phase(lit);
    }

    /// Is there an order and an assignment that make all clauses and the assumptions true?
    pub fn solve(&mut self, assumptions: &[Lit], limit: &Limit<'_>) -> Answer {
        self.model.live = false;
        let answer = self.core.solve(assumptions, limit);
        if answer == Answer::Sat {
            let edges = self.core.theory.chains.edges();
            self.model.values.clear();
            self.model.values.extend(self.core.model());
            self.model.edges.clear();
            self.model.edges.extend(edges.iter().map(|edge| (edge.from, edge.to)));
            self.model.live = true;
        }
        answer
    }

    /// The value of `lit` in the last model. A variable that is newer than the model counts as
    /// false.
    pub fn value(&self, lit: Lit) -> bool {
        let value = self.model.values.get(lit.var().index()).copied().unwrap_or(false);
        value == lit.is_positive()
    }

    /// Does the partial order of the last model (chains, and the atoms that were true) put `x`
    /// before `y`, or `y` before `x`, or neither? Fast until the next clause is added; after that
    /// the order is searched.
    pub fn before(&self, x: Node, y: Node) -> Option<bool> {
        if x == y {
            return Some(false);
        }
        if self.model_reaches(x, y) {
            return Some(true);
        }
        self.model_reaches(y, x).then_some(false)
    }

    fn model_reaches(&self, x: Node, y: Node) -> bool {
        let chains = &self.core.theory.chains;
        if self.model.live {
            return chains.reaches(x, y);
        }
        let mut first = vec![u32::MAX; chains.chain_count()];
        let start = chains.place(x);
        first[start.chain.index()] = start.position;
        loop {
            let mut changed = false;
            for &(from, to) in &self.model.edges {
                let (from, to) = (chains.place(from), chains.place(to));
                let reached = first[from.chain.index()] <= from.position;
                if reached && to.position < first[to.chain.index()] {
                    first[to.chain.index()] = to.position;
                    changed = true;
                }
            }
            if !changed {
                let goal = chains.place(y);
                return first[goal.chain.index()] <= goal.position;
            }
        }
    }

    /// All nodes in one order that agrees with the last model and, where that leaves a choice,
    /// takes the node with the smallest priority. Nodes that are newer than the model stand where
    /// their chain wants them.
    pub fn linear_order(&self) -> Vec<Node> {
        linearize(self.core.theory.chains.members(), &self.model.edges, &self.priorities)
    }

    /// After `Unsat`: assumptions that cannot all be true together with the clauses. Empty if the
    /// clauses alone are unsatisfiable.
    pub fn core(&self) -> &[Lit] {
        self.core.core()
    }

    /// Counters since the solver was created.
    pub fn stats(&self) -> Stats {
        let theory = &self.core.theory;
        Stats { edges: theory.edges_inserted, rows: theory.chains.rows_changed, ..self.core.stats }
    }
}
