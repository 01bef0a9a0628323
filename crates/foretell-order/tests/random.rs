//! Thousands of random formulas, each step compared with an exhaustive enumeration of all orders
//! and assignments, while the solver checks its own proofs.

use foretell_generate::Rng;
use foretell_order::{Answer, Chain, Limit, Lit, Node, Solver};

/// A literal in the words of the test: nodes and booleans by number.
#[derive(Clone, Copy, Debug)]
enum Term {
    Less(usize, usize),
    Bool(usize, bool),
}

/// The formula as the test knows it, beside the solver that is tested.
struct Pair {
    solver: Solver,
    chains: Vec<Chain>,
    /// Chain, position and node.
    nodes: Vec<(usize, u32, Node)>,
    bools: Vec<Lit>,
    clauses: Vec<Vec<Term>>,
}

impl Pair {
    fn new(chains: usize, bools: usize, checked: bool) -> Self {
        let mut solver = if checked { Solver::with_proofs_checked() } else { Solver::new() };
        let chains = (0..chains).map(|_| solver.add_chain()).collect();
        let bools = (0..bools).map(|_| solver.new_var()).collect();
        Pair { solver, chains, nodes: Vec::new(), bools, clauses: Vec::new() }
    }

    fn add_node(&mut self, random: &mut Rng) {
        let (chain, position) = (random.below(self.chains.len()), random.below(12) as u32);
        let known = self.nodes.iter().find(|n| (n.0, n.1) == (chain, position)).map(|n| n.2);
        let node = self.solver.node(self.chains[chain], position, random.next() % 16);
        match known {
            Some(known) => assert_eq!(known, node),
            None => self.nodes.push((chain, position, node)),
        }
    }

    fn random_term(&self, random: &mut Rng) -> Term {
        if !self.bools.is_empty() && random.below(4) == 0 {
            Term::Bool(random.below(self.bools.len()), random.below(2) == 0)
        } else {
            Term::Less(random.below(self.nodes.len()), random.below(self.nodes.len()))
        }
    }

    fn random_terms(&self, random: &mut Rng, most: usize) -> Vec<Term> {
        let count = 1 + random.below(most);
        (0..count).map(|_| self.random_term(random)).collect()
    }

    fn lit(&mut self, term: Term) -> Lit {
        match term {
            Term::Less(x, y) => self.solver.less(self.nodes[x].2, self.nodes[y].2),
            Term::Bool(b, positive) if positive => self.bools[b],
            Term::Bool(b, _) => !self.bools[b],
        }
    }

    fn lits(&mut self, terms: &[Term]) -> Vec<Lit> {
        terms.iter().map(|&term| self.lit(term)).collect()
    }

    fn add_clause(&mut self, terms: Vec<Term>) {
        let lits = self.lits(&terms);
        self.clauses.push(terms);
        if !self.solver.add_clause(&lits) {
            assert!(!self.satisfiable(&[]), "add_clause said unsatisfiable");
        }
    }

    /// Is there an order that respects the chains and an assignment that makes all clauses and
    /// assumptions true?
    fn satisfiable(&self, assumptions: &[Term]) -> bool {
        let mut by_chain = vec![Vec::new(); self.chains.len()];
        for (k, node) in self.nodes.iter().enumerate() {
            by_chain[node.0].push(k);
        }
        for chain in &mut by_chain {
            chain.sort_by_key(|&k| self.nodes[k].1);
        }
        let mut rank = vec![0; self.nodes.len()];
        self.some_order(&by_chain, &mut vec![0; by_chain.len()], 0, &mut rank, assumptions)
    }

    fn some_order(
        &self,
        by_chain: &[Vec<usize>],
        taken: &mut Vec<usize>,
        depth: usize,
        rank: &mut Vec<usize>,
        assumptions: &[Term],
    ) -> bool {
        if depth == self.nodes.len() {
            return (0..1usize << self.bools.len()).any(|bools| {
                let holds = |term: &Term| match *term {
                    Term::Less(x, y) => rank[x] < rank[y],
                    Term::Bool(b, positive) => (bools >> b & 1 == 1) == positive,
                };
                assumptions.iter().all(holds)
                    && self.clauses.iter().all(|clause| clause.iter().any(holds))
            });
        }
        (0..by_chain.len()).any(|c| {
            let Some(&node) = by_chain[c].get(taken[c]) else {
                return false;
            };
            rank[node] = depth;
            taken[c] += 1;
            let found = self.some_order(by_chain, taken, depth + 1, rank, assumptions);
            taken[c] -= 1;
            found
        })
    }

    /// Solves and compares.
    fn solve(&mut self, assumptions: &[Term]) -> Answer {
        let lits = self.lits(assumptions);
        let answer = self.solver.solve(&lits, &Limit::none());
        match answer {
            Answer::Sat => self.check_model(assumptions),
            Answer::Unsat => {
                let core = self.solver.core().to_vec();
                let blamed: Vec<Term> = (0..lits.len())
                    .filter(|&k| core.contains(&lits[k]))
                    .map(|k| assumptions[k])
                    .collect();
                assert!(core.iter().all(|lit| lits.contains(lit)), "core has foreign literals");
                assert!(!self.satisfiable(&blamed), "the core {blamed:?} is satisfiable");
            }
            Answer::Unknown => panic!("no limit was set"),
        }
        answer
    }

    fn check_model(&mut self, assumptions: &[Term]) {
        let order = self.solver.linear_order();
        assert_eq!(order.len(), self.nodes.len());
        let mut rank = vec![usize::MAX; self.nodes.len()];
        for (place, node) in order.iter().enumerate() {
            let k = self.nodes.iter().position(|n| n.2 == *node).expect("a known node");
            assert_eq!(rank[k], usize::MAX, "a node twice");
            rank[k] = place;
        }
        for (x, a) in self.nodes.clone().into_iter().enumerate() {
            for (y, b) in self.nodes.clone().into_iter().enumerate() {
                if a.0 == b.0 {
                    assert_eq!(rank[x] < rank[y], a.1 < b.1, "against the chain");
                }
                match self.solver.before(a.2, b.2) {
                    Some(before) => assert_eq!(before, rank[x] < rank[y]),
                    None => assert_ne!(a.0, b.0),
                }
            }
        }
        let clauses = self.clauses.clone();
        let assumed = assumptions.iter().map(|&term| vec![term]);
        for clause in clauses.into_iter().chain(assumed) {
            let mut holds = false;
            for &term in &clause {
                let lit = self.lit(term);
                let value = self.solver.value(lit);
                holds |= value;
                if let Term::Less(x, y) = term {
                    assert_eq!(value, rank[x] < rank[y], "the order is not that of the atoms");
                }
            }
            assert!(holds, "the model violates {clause:?}");
        }
    }
}

/// Size of a random sequence of calls.
struct Size {
    chains: usize,
    nodes: usize,
    steps: usize,
}

/// Counts over the sequences of a test.
#[derive(Default, Debug)]
struct Seen {
    sat: usize,
    unsat: usize,
    conflicts: u64,
    restarts: u64,
    deleted: u64,
    explanations: u64,
}

impl Seen {
    fn count(&mut self, solver: &Solver) {
        let stats = solver.stats();
        self.conflicts += stats.conflicts;
        self.restarts += stats.restarts;
        self.deleted += stats.deleted;
        self.explanations += stats.explanations;
    }
}

/// One incremental story: nodes, clauses and queries in random order.
fn story(seed: u64, size: &Size, seen: &mut Seen) {
    let mut random = Rng::new(seed);
    let checked = !seed.is_multiple_of(4);
    let mut pair = Pair::new(2 + random.below(size.chains - 1), random.below(4), checked);
    for _ in 0..2 + random.below(size.nodes - 2) {
        pair.add_node(&mut random);
    }
    let width = 2 + random.below(3);
    for _ in 0..size.steps + random.below(size.steps) {
        match random.below(8) {
            0 if pair.nodes.len() < size.nodes => pair.add_node(&mut random),
            0..=4 => {
                // Mostly real disjunctions: units decide everything too soon.
                let mut terms = pair.random_terms(&mut random, width);
                if terms.len() == 1 && random.below(3) > 0 {
                    terms.push(pair.random_term(&mut random));
                }
                pair.add_clause(terms);
            }
            _ => {
                let assumptions = match random.below(3) {
                    0 => Vec::new(),
                    _ => pair.random_terms(&mut random, 4),
                };
                let expected = pair.satisfiable(&assumptions);
                let answer = pair.solve(&assumptions);
                assert_eq!(answer == Answer::Sat, expected, "seed {seed}");
                seen.sat += usize::from(expected);
                seen.unsat += usize::from(!expected);
            }
        }
    }
    seen.count(&pair.solver);
}

#[test]
fn small_formulas_agree_with_enumeration() {
    let mut seen = Seen::default();
    for seed in 0..4000 {
        story(seed, &Size { chains: 4, nodes: 7, steps: 12 }, &mut seen);
    }
    assert!(seen.sat > 6000 && seen.unsat > 6000, "{seen:?}");
}

/// Too large to enumerate: models are checked, and every clause that refutes is checked by the
/// solver's own proof.
#[test]
fn hard_formulas_are_proved() {
    let mut seen = Seen::default();
    for seed in 0..8 {
        let mut random = Rng::new(seed);
        let mut pair = Pair::new(20, 20, true);
        while pair.nodes.len() < 40 {
            pair.add_node(&mut random);
        }
        for round in 0..12 {
            for _ in 0..40 {
                let terms: Vec<Term> = (0..3).map(|_| pair.random_term(&mut random)).collect();
                let lits = pair.lits(&terms);
                pair.clauses.push(terms);
                pair.solver.add_clause(&lits);
            }
            let assumptions =
                if round % 3 > 0 { Vec::new() } else { pair.random_terms(&mut random, 2) };
            let lits = pair.lits(&assumptions);
            match pair.solver.solve(&lits, &Limit::none()) {
                Answer::Sat => {
                    seen.sat += 1;
                    pair.check_model(&assumptions);
                }
                Answer::Unsat => seen.unsat += 1,
                Answer::Unknown => panic!("no limit was set"),
            }
        }
        seen.count(&pair.solver);
    }
    // Everything that is rare must have happened.
    assert!(seen.sat > 40 && seen.unsat > 20 && seen.conflicts > 2000, "{seen:?}");
    assert!(seen.restarts > 100 && seen.deleted > 1000 && seen.explanations > 1000, "{seen:?}");
}
