//! Lock-like instances: chains with critical sections and reads, from a simulated execution.
//!
//! `cargo bench -p foretell-order --bench order -- [FAMILY] [SIZE] [lazy|eager]` prints one line
//! for each family and size: twenty queries "could these two critical sections come the other way
//! round?", all on one solver under assumptions, with the clauses made lazily (those that the last
//! order violates) and eagerly (all before the first query). Both must give the same answers. The
//! family `random` is another thing: small formulas of random clauses near the threshold of
//! satisfiability, where all time goes into conflicts.

use foretell_generate::Rng;
use foretell_order::{Answer, Limit, Lit, Node, Solver};
use std::time::{Duration, Instant};

const QUERIES: usize = 20;
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, PartialEq, Debug)]
enum Op {
    Acquire(usize),
    Release(usize),
    Read(usize),
    Write(usize),
}

/// A way to make executions.
struct Family {
    name: &'static str,
    chains: usize,
    locks: usize,
    /// Events for each variable.
    sharing: usize,
    /// Percentage of steps that are about a lock.
    locking: usize,
}

const FAMILIES: [Family; 4] = [
    Family { name: "few-locks", chains: 4, locks: 8, sharing: 12, locking: 50 },
    Family { name: "lock-heavy", chains: 4, locks: 3, sharing: 20, locking: 80 },
    Family { name: "many-chains", chains: 16, locks: 8, sharing: 12, locking: 70 },
    Family { name: "very-many-chains", chains: 256, locks: 32, sharing: 12, locking: 70 },
];

/// An execution: each event with its chain, in the observed order.
struct Execution {
    events: Vec<(usize, Op)>,
    /// By event: for reads, the write that was read.
    source: Vec<Option<usize>>,
    /// By lock: chain, acquire and release of each critical section.
    sections: Vec<Vec<(usize, usize, usize)>>,
    chains: usize,
    variables: usize,
}

impl Execution {
    fn simulate(family: &Family, size: usize, random: &mut Rng) -> Self {
        let variables = size / family.sharing;
        let mut events = Vec::new();
        let mut source = Vec::new();
        let mut held: Vec<Option<usize>> = vec![None; family.locks];
        let mut stacks: Vec<Vec<usize>> = vec![Vec::new(); family.chains];
        let mut opened = vec![0; family.locks];
        let mut sections = vec![Vec::new(); family.locks];
        let mut last_write: Vec<Option<usize>> = vec![None; variables];
        while events.len() < size || stacks.iter().any(|stack| !stack.is_empty()) {
            let chain = random.below(family.chains);
            let stack = &mut stacks[chain];
            let now = events.len();
            let locking = now >= size || random.below(100) < family.locking;
            if locking && (now >= size || stack.len() == 2 || random.below(2) == 0) {
                let Some(lock) = stack.pop() else { continue };
                held[lock] = None;
                sections[lock].push((chain, opened[lock], now));
                events.push((chain, Op::Release(lock)));
                source.push(None);
            } else if locking {
                let lock = random.below(family.locks);
                if held[lock].is_some() {
                    continue;
                }
                held[lock] = Some(chain);
                stack.push(lock);
                opened[lock] = now;
                events.push((chain, Op::Acquire(lock)));
                source.push(None);
            } else {
                let variable = random.below(variables);
                if random.below(3) == 0 {
                    last_write[variable] = Some(now);
                    events.push((chain, Op::Write(variable)));
                    source.push(None);
                } else {
                    events.push((chain, Op::Read(variable)));
                    source.push(last_write[variable]);
                }
            }
        }
        Execution { events, source, sections, chains: family.chains, variables }
    }

    /// Pairs of a release and an earlier acquire of the same lock in another chain: the later
    /// section is to come first.
    fn queries(&self, random: &mut Rng) -> Vec<(usize, usize)> {
        let mut queries = Vec::new();
        while queries.len() < QUERIES {
            let sections = &self.sections[random.below(self.sections.len())];
            let at = random.below(sections.len());
            let near = &sections[at..sections.len().min(at + 12)];
            let (first, second) = (near[0], near[random.below(near.len())]);
            if first.0 != second.0 {
                queries.push((second.2, first.1));
            }
        }
        queries
    }
}

/// An execution in a solver.
struct Instance<'a> {
    execution: &'a Execution,
    solver: Solver,
    nodes: Vec<Node>,
    event_of: Vec<usize>,
    /// By lock: the section an acquire or release belongs to, by event.
    section_of: Vec<usize>,
    clauses: usize,
    rounds: usize,
}

impl<'a> Instance<'a> {
    fn new(execution: &'a Execution) -> Self {
        let mut solver = Solver::new();
        let chains: Vec<_> = (0..execution.chains).map(|_| solver.add_chain()).collect();
        let mut nodes = Vec::new();
        let mut event_of = Vec::new();
        for (event, &(chain, _)) in execution.events.iter().enumerate() {
            nodes.push(solver.node(chains[chain], event as u32, event as u64));
            event_of.push(event);
        }
        let mut section_of = vec![0; execution.events.len()];
        for sections in &execution.sections {
            for (k, &(_, acquire, release)) in sections.iter().enumerate() {
                section_of[acquire] = k;
                section_of[release] = k;
            }
        }
        let mut instance =
            Instance { execution, solver, nodes, event_of, section_of, clauses: 0, rounds: 0 };
        for (read, source) in execution.source.iter().enumerate() {
            if let Some(write) = *source {
                let lit = instance.less(write, read);
                instance.add(&[lit]);
            }
        }
        instance
    }

    fn less(&mut self, x: usize, y: usize) -> Lit {
        self.solver.less(self.nodes[x], self.nodes[y])
    }

    fn add(&mut self, lits: &[Lit]) {
        self.clauses += 1;
        self.solver.add_clause(lits);
    }

    /// The sections `i` and `j` of a lock do not overlap.
    fn exclude(&mut self, lock: usize, i: usize, j: usize) {
        let sections = &self.execution.sections[lock];
        let ((chain, acquire, release), other) = (sections[i], sections[j]);
        if chain != other.0 {
            let lits = [self.less(release, other.1), self.less(other.2, acquire)];
            self.add(&lits);
        }
    }

    /// `read` does not see `write`, which is not its source.
    fn hide(&mut self, read: usize, write: usize) {
        let mut lits = vec![self.less(read, write)];
        if let Some(source) = self.execution.source[read] {
            lits.push(self.less(write, source));
        }
        self.add(&lits);
    }

    fn add_everything(&mut self) {
        for lock in 0..self.execution.sections.len() {
            for j in 0..self.execution.sections[lock].len() {
                for i in 0..j {
                    self.exclude(lock, i, j);
                }
            }
        }
        let mut writes = vec![Vec::new(); self.execution.variables];
        for (event, &(_, op)) in self.execution.events.iter().enumerate() {
            if let Op::Write(variable) = op {
                writes[variable].push(event);
            }
        }
        for (read, &(_, op)) in self.execution.events.iter().enumerate() {
            if let Op::Read(variable) = op {
                for &write in &writes[variable] {
                    if self.execution.source[read] != Some(write) {
                        self.hide(read, write);
                    }
                }
            }
        }
    }

    /// Adds the clauses that the last order violates; false if there are none.
    fn refine(&mut self) -> bool {
        let before = self.clauses;
        let order = self.solver.linear_order();
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); self.execution.sections.len()];
        let mut last_write = vec![None; self.execution.variables];
        for node in order {
            let event = self.event_of[node.index()];
            match self.execution.events[event].1 {
                Op::Acquire(lock) => {
                    for other in open[lock].clone() {
                        self.exclude(lock, other, self.section_of[event]);
                    }
                    open[lock].push(self.section_of[event]);
                }
                Op::Release(lock) => open[lock].retain(|&k| k != self.section_of[event]),
                Op::Write(variable) => last_write[variable] = Some(event),
                Op::Read(variable) => {
                    if let Some(write) = last_write[variable]
                        && self.execution.source[event] != Some(write)
                    {
                        self.hide(event, write);
                    }
                }
            }
        }
        self.clauses > before
    }

    fn ask(&mut self, (release, acquire): (usize, usize), deadline: Instant) -> Answer {
        let assumption = self.less(release, acquire);
        let limit = Limit { deadline: Some(deadline), ..Limit::none() };
        loop {
            self.rounds += 1;
            let answer = self.solver.solve(&[assumption], &limit);
            if answer != Answer::Sat || !self.refine() {
                return answer;
            }
        }
    }
}

fn run(execution: &Execution, queries: &[(usize, usize)], eager: bool) -> Vec<Answer> {
    let start = Instant::now();
    let mut instance = Instance::new(execution);
    if eager {
        instance.add_everything();
    }
    let built = start.elapsed();
    let answers: Vec<_> =
        queries.iter().map(|&query| instance.ask(query, start + PATIENCE)).collect();
    let total = start.elapsed();
    let count = |answer| answers.iter().filter(|&&a| a == answer).count();
    println!(
        "  {:5} {:8.3} s (built {:.3})  sat {} unsat {} unknown {}  rounds {} clauses {}",
        if eager { "eager" } else { "lazy" },
        total.as_secs_f64(),
        built.as_secs_f64(),
        count(Answer::Sat),
        count(Answer::Unsat),
        count(Answer::Unknown),
        instance.rounds,
        instance.clauses,
    );
    println!("        {:?}", instance.solver.stats());
    answers
}

/// Clauses of three random atoms, more and more, until they are unsatisfiable.
fn run_random(nodes: usize) {
    let start = Instant::now();
    let (mut conflicts, mut clauses) = (0, 0);
    for seed in 0..5 {
        let mut random = Rng::new(seed);
        let mut solver = Solver::new();
        let chains: Vec<_> = (0..nodes / 3).map(|_| solver.add_chain()).collect();
        let nodes: Vec<_> =
            (0..nodes).map(|k| solver.node(chains[k % chains.len()], k as u32, k as u64)).collect();
        let limit = Limit { deadline: Some(start + PATIENCE), ..Limit::none() };
        while solver.solve(&[], &limit) == Answer::Sat {
            for _ in 0..4 {
                let mut atom = || {
                    let (x, y) = (random.below(nodes.len()), random.below(nodes.len()));
                    solver.less(nodes[x], nodes[y])
                };
                let lits = [atom(), atom(), atom()];
                solver.add_clause(&lits);
                clauses += 1;
            }
        }
        conflicts += solver.stats().conflicts;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("random {nodes}\n  {seconds:14.3} s  clauses {clauses} conflicts {conflicts}");
}

fn main() {
    // Cargo passes `--bench`; what is left selects.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let mode = |name: &str| {
        !wanted.iter().any(|w| w == "lazy" || w == "eager") || wanted.iter().any(|w| w == name)
    };
    if wanted.is_empty() || wanted.iter().any(|w| w == "random") {
        run_random(40);
        run_random(50);
    }
    for family in &FAMILIES {
        let families = || FAMILIES.iter().map(|f| f.name).chain(["random"]);
        if wanted.iter().any(|w| families().any(|f| f == w))
            && !wanted.iter().any(|w| w == family.name)
        {
            continue;
        }
        for size in [1_000, 5_000, 20_000] {
            let sizes = wanted.iter().any(|w| w.parse::<usize>().is_ok());
            if sizes && !wanted.contains(&size.to_string()) {
                continue;
            }
            let mut random = Rng::new(size as u64);
            let execution = Execution::simulate(family, size, &mut random);
            let queries = execution.queries(&mut random);
            println!("{} {size}", family.name);
            let lazy = mode("lazy").then(|| run(&execution, &queries, false));
            let eager = mode("eager").then(|| run(&execution, &queries, true));
            for (a, b) in lazy.iter().flatten().zip(eager.iter().flatten()) {
                assert!(a == b || [a, b].contains(&&Answer::Unknown), "the answers differ");
            }
        }
    }
}
