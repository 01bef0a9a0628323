//! The order engine and external SMT solvers on the same queries of the same traces.
//!
//! ```text
//! bench/solvers [--sizes 1000,5000,20000] [--families A,B,C,D,E] [--time-limit SECONDS]
//!               [--queries N] [--solvers z3,yices]
//! ```
//!
//! Prints a table in Markdown: seconds of processor time, ours and that of the processes we start,
//! for all queries of a trace. The queries are races that the filters do not settle, drawn at
//! random. Each solver has the time limit for all of them together; one that runs into it is not
//! tried on larger traces of the family. *Incremental* is one process that learns the whole trace
//! and answers one query after the other; *fresh* is a process for each query that gets the query's
//! cone only. All that answer must give the same answer.

mod support;

use std::time::Duration;

use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::Candidate;
use foretell_predict::engine::Engine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::engines::smt::{SmtEngine, SmtOptions, SmtSolver};
use foretell_predict::filters::Filters;
use foretell_trace::{EventKind, Model, Trace, TraceBuilder, VarId, conflict};
use support::run;

/// A kind of trace. A to C: threads that take and free locks, at most three at a time, and access
/// shared variables in between, all at random. D and E: runs of programs of the generator's family
/// `locks`, with nested sections and try-locks.
struct Kind {
    name: &'static str,
    what: &'static str,
    threads: usize,
    locks: usize,
    /// Events for each variable.
    sharing: usize,
    /// Percentage of events that are about locks; `None` for a program of the generator.
    locking: Option<usize>,
}

const fn kind(
    (name, what): (&'static str, &'static str),
    (threads, locks): (usize, usize),
    sharing: usize,
    locking: Option<usize>,
) -> Kind {
    Kind { name, what, threads, locks, sharing, locking }
}

const KINDS: [Kind; 5] = [
    kind(("A", "few locks"), (4, 8), 12, Some(50)),
    kind(("B", "lock-heavy"), (4, 3), 20, Some(80)),
    kind(("C", "more threads"), (16, 8), 12, Some(70)),
    kind(("D", "nested, programs"), (4, 4), 25, None),
    kind(("E", "nested, programs, more threads"), (12, 6), 25, None),
];

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// A legal execution of a kind.
fn trace(kind: &Kind, events: usize) -> Trace {
    let variables = (events / kind.sharing).max(4);
    let (threads, locks) = (kind.threads, kind.locks);
    match kind.locking {
        Some(locking) => at_random(kind, events, variables, locking),
        None => {
            let base = Params::of(Family::Locks);
            let params = Params { seed: 11, threads, events, variables, locks, ..base };
            generate(Family::Locks, &params)
        }
    }
}

fn at_random(kind: &Kind, events: usize, variables: usize, locking: usize) -> Trace {
    const MOST_HELD: usize = 3;
    let mut random = Random(7);
    let mut builder = TraceBuilder::new();
    let threads: Vec<_> = (0..kind.threads).map(|t| builder.thread(&format!("T{t}"))).collect();
    let locks: Vec<_> = (0..kind.locks).map(|l| builder.lock(&format!("l{l}"))).collect();
    let variables: Vec<_> = (0..variables).map(|x| builder.variable(&format!("x{x}"))).collect();
    let mut held: Vec<Vec<usize>> = vec![Vec::new(); kind.threads];
    let mut free = vec![true; kind.locks];
    for _ in 0..events {
        let t = random.below(kind.threads);
        let event = if random.below(100) < locking {
            let lock = random.below(kind.locks);
            if free[lock] && held[t].len() < MOST_HELD && random.below(2) == 0 {
                free[lock] = false;
                held[t].push(lock);
                Some(EventKind::Acquire { lock: locks[lock] })
            } else {
                held[t].pop().map(|lock| {
                    free[lock] = true;
                    EventKind::Release { lock: locks[lock] }
                })
            }
        } else {
            None
        };
        let var = variables[random.below(variables.len())];
        let event = event.unwrap_or(if random.below(2) == 0 {
            EventKind::Read { var, atomic: false, value: None, register: None }
        } else {
            EventKind::Write { var, atomic: false, value: None, expr: None }
        });
        builder.push(threads[t], event, None);
    }
    builder.build()
}

/// The columns after the order engine.
const COLUMNS: [(SmtSolver, bool); 4] = [
    (SmtSolver::Z3, false),
    (SmtSolver::Z3, true),
    (SmtSolver::Yices, false),
    (SmtSolver::Yices, true),
];

struct Arguments {
    sizes: Vec<usize>,
    kinds: Vec<&'static Kind>,
    time_limit: Duration,
    queries: usize,
    solvers: Vec<String>,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        sizes: vec![1_000, 5_000, 20_000],
        kinds: KINDS.iter().collect(),
        time_limit: Duration::from_secs(120),
        queries: 20,
        solvers: vec!["z3".to_owned(), "yices".to_owned()],
    };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = |v: &str| v.parse::<usize>().map_err(|_| format!("{v} is no number"));
        match word.as_str() {
            "--sizes" => {
                arguments.sizes = value.split(',').map(number).collect::<Result<_, _>>()?
            }
            "--families" => {
                arguments.kinds = KINDS.iter().filter(|k| value.contains(k.name)).collect();
            }
            "--time-limit" => arguments.time_limit = Duration::from_secs(number(&value)? as u64),
            "--solvers" => arguments.solvers = value.split(',').map(str::to_owned).collect(),
            "--queries" => arguments.queries = number(&value)?,
            _ => return Err(format!("no option is called {word}")),
        }
    }
    Ok(arguments)
}

/// Races that the filters leave open.
fn candidates(trace_model: &TraceModel<'_>, wanted: usize) -> Vec<Candidate> {
    const MOST_TRIES: usize = 2_000_000;
    let (trace, filters) = (trace_model.trace, Filters::default());
    let mut random = Random(1);
    let mut below = |n: usize| random.below(n);
    let mut found: Vec<Candidate> = Vec::new();
    for _ in 0..MOST_TRIES {
        if found.len() == wanted {
            break;
        }
        let accesses =
            trace_model.reads_from.accesses(VarId::from_index(below(trace.variable_count())));
        if accesses.len() < 2 {
            continue;
        }
        let (a, b) = (accesses[below(accesses.len())], accesses[below(accesses.len())]);
        let candidate = Candidate::Race(a.min(b), a.max(b));
        if conflict(trace, a, b)
            && !(trace.op(a).is_atomic() && trace.op(b).is_atomic())
            && !found.contains(&candidate)
            && filters.drop(trace_model, &candidate).is_none()
        {
            found.push(candidate);
        }
    }
    found
}

/// One row of the table. `given_up` are the columns that are not tried any more.
fn row(kind: &Kind, events: usize, arguments: &Arguments, given_up: &mut [bool]) {
    let trace = trace(kind, events);
    let trace_model = TraceModel::new(&trace, Model::View);
    let queries = candidates(&trace_model, arguments.queries);
    if queries.is_empty() {
        // The filters settle everything.
        return;
    }
    let sections = trace_model.locks.all().len();
    let order = || -> Box<dyn Engine + '_> { Box::new(OrderEngine::new(&trace_model)) };
    let (expected, seconds) = run(order, &queries, arguments.time_limit);
    let races = expected.iter().filter(|a| **a == Some(true)).count();
    let open = expected.iter().filter(|a| a.is_none()).count();
    let own = if open == 0 { format!("{seconds:.4}") } else { format!("TO ({open} open)") };
    print!(
        "| {} {}, {} | {sections} | {races} of {} | {own} |",
        kind.name,
        kind.what,
        trace.len(),
        queries.len()
    );
    let mut best: Option<f64> = None;
    let mut at_least = f64::INFINITY;
    for (&(solver, fresh), given_up) in COLUMNS.iter().zip(given_up) {
        if *given_up || !arguments.solvers.iter().any(|name| name == solver.name()) {
            print!(" – |");
            continue;
        }
        let options = SmtOptions { fresh, ..SmtOptions::default() };
        let engine =
            || -> Box<dyn Engine + '_> { Box::new(SmtEngine::new(&trace_model, solver, options)) };
        let (answers, time) = run(engine, &queries, arguments.time_limit);
        for ((query, theirs), ours) in queries.iter().zip(&answers).zip(&expected) {
            if let (Some(theirs), Some(ours)) = (theirs, ours) {
                assert_eq!(theirs, ours, "{query:?}: {} says otherwise", solver.name());
            }
        }
        let open = answers.iter().filter(|a| a.is_none()).count();
        if open == 0 {
            best = Some(best.map_or(time, |b: f64| b.min(time)));
            print!(" {time:.2} |");
        } else {
            *given_up = true;
            at_least = at_least.min(time);
            print!(" TO ({open} open) |");
        }
    }
    match best {
        Some(best) => println!(" {:.0} |", best / seconds),
        None if at_least.is_finite() => println!(" > {:.0} |", at_least / seconds),
        None => println!(" – |"),
    }
}

fn main() {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("solvers: {problem}");
            std::process::exit(2);
        }
    };
    for (solver, _) in COLUMNS {
        if let Err(problem) = solver.find() {
            eprintln!("solvers: {problem}");
            std::process::exit(2);
        }
    }
    println!(
        "| family, events | sections | races | order | Z3 incremental | Z3 fresh | \
         Yices incremental | Yices fresh | best solver / order |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for kind in &arguments.kinds {
        let mut given_up = [false; COLUMNS.len()];
        for &events in &arguments.sizes {
            row(kind, events, &arguments, &mut given_up);
        }
    }
}
