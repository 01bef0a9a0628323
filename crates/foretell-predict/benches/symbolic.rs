//! The symbolic model: the order engine against an external solver, growth with the length of a
//! trace, and what the three models settle.
//!
//! ```text
//! bench/symbolic [--sizes 60,120,250,500,1000] [--queries N] [--time-limit SECONDS]
//!                [--seeds N] [--solver z3]
//! ```
//!
//! Prints three tables in Markdown. Traces are runs of programs of the generator's family
//! `symbolic` (four threads, four variables that all of them use, computed writes and guards), and
//! `wide`: the same with a variable for every twenty events. Queries are the candidates of all
//! analyses but transactions that the filters leave, every analysis with the same share, drawn
//! evenly; all that answer must give the same answer. Times are processor time, ours and that of
//! the processes we start, with everything that making the engine takes. A solver that runs into
//! the time limit is not tried on longer traces; where it left queries open, the ratio counts the
//! time that it had.

mod support;

use std::time::Duration;

use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::{Candidate, candidates};
use foretell_predict::driver::{Options, predict};
use foretell_predict::engine::Engine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::engines::smt::{SmtEngine, SmtOptions, SmtSolver};
use foretell_predict::filters::Filters;
use foretell_trace::{FindingKind, Model, Trace};
use support::run;

struct Arguments {
    sizes: Vec<usize>,
    queries: usize,
    time_limit: Duration,
    seeds: u64,
    solver: SmtSolver,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        sizes: vec![60, 120, 250, 500, 1_000],
        queries: 60,
        time_limit: Duration::from_secs(120),
        seeds: 20,
        solver: SmtSolver::Z3,
    };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = |v: &str| v.parse::<usize>().map_err(|_| format!("{v} is no number"));
        match word.as_str() {
            "--sizes" => {
                arguments.sizes = value.split(',').map(number).collect::<Result<_, _>>()?;
            }
            "--queries" => arguments.queries = number(&value)?,
            "--time-limit" => arguments.time_limit = Duration::from_secs(number(&value)? as u64),
            "--seeds" => arguments.seeds = number(&value)? as u64,
            "--solver" => {
                let named = SmtSolver::ALL.into_iter().find(|s| s.name() == value);
                arguments.solver = named.ok_or_else(|| format!("no solver is called {value}"))?;
            }
            _ => return Err(format!("no option is called {word}")),
        }
    }
    Ok(arguments)
}

/// Kinds of traces: the name, and for how many events there is a variable (0: four in all).
const KINDS: [(&str, usize); 2] = [("symbolic", 0), ("wide", 20)];

fn trace(sharing: usize, events: usize, seed: u64) -> Trace {
    let base = Params::of(Family::Symbolic);
    let variables = events.checked_div(sharing).unwrap_or(4).max(4);
    generate(Family::Symbolic, &Params { seed, events, variables, ..base })
}

/// Queries that the filters leave open: of each analysis the same number, as far as it has them.
fn queries(trace_model: &TraceModel<'_>, wanted: usize) -> Vec<Candidate> {
    let filters = Filters::default();
    let analyses = FindingKind::ALL.into_iter().filter(|&a| a != FindingKind::Transactions);
    let of_each = wanted.div_ceil(analyses.clone().count());
    let mut all = Vec::new();
    for analysis in analyses {
        let open: Vec<Candidate> = candidates(trace_model, analysis)
            .into_iter()
            .filter(|candidate| filters.drop(trace_model, candidate).is_none())
            .collect();
        let step = open.len().div_ceil(of_each).max(1);
        all.extend(open.into_iter().step_by(step));
    }
    all
}

fn open(answers: &[Option<bool>]) -> usize {
    answers.iter().filter(|a| a.is_none()).count()
}

fn seconds(answers: &[Option<bool>], time: f64) -> String {
    match open(answers) {
        0 => format!("{time:.3}"),
        open => format!("TO ({open} open)"),
    }
}

/// The order engine and the solver on traces of each size.
fn engines(arguments: &Arguments) {
    let solver = arguments.solver;
    println!(
        "| trace, events | guards | queries | feasible | order | {0} | {0} / order |",
        solver.name()
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let (mut ours, mut theirs) = (0.0, 0.0);
    for (name, sharing) in KINDS {
        let mut given_up = false;
        for &events in &arguments.sizes {
            let trace = trace(sharing, events, 3);
            let trace_model = TraceModel::new(&trace, Model::Symbolic);
            let value_model = TraceModel::new(&trace, Model::Value);
            let queries = queries(&trace_model, arguments.queries);
            let guards = trace.ids().filter(|&e| trace.op(e) == foretell_trace::Op::Guard).count();
            let order = || -> Box<dyn Engine + '_> {
                Box::new(OrderEngine::new(&trace_model).with_value_engine(&value_model))
            };
            let (expected, time) = run(order, &queries, arguments.time_limit);
            let feasible = expected.iter().filter(|a| **a == Some(true)).count();
            print!(
                "| {name}, {} | {guards} | {} | {feasible} | {} |",
                trace.len(),
                queries.len(),
                seconds(&expected, time)
            );
            if given_up {
                println!(" – | – |");
                continue;
            }
            let engine = || -> Box<dyn Engine + '_> {
                Box::new(SmtEngine::new(&trace_model, solver, SmtOptions::default()))
            };
            let (answers, solver_time) = run(engine, &queries, arguments.time_limit);
            for ((query, theirs), ours) in queries.iter().zip(&answers).zip(&expected) {
                if let (Some(theirs), Some(ours)) = (theirs, ours) {
                    assert_eq!(theirs, ours, "{query:?}: {} says otherwise", solver.name());
                }
            }
            given_up = open(&answers) > 0;
            let more = if given_up { "> " } else { "" };
            println!(" {} | {more}{:.0} |", seconds(&answers, solver_time), solver_time / time);
            (ours, theirs) = (ours + time, theirs + solver_time);
        }
    }
    let ratio = theirs / ours;
    println!(
        "\nWhere both were tried: order {ours:.2} s, {} {theirs:.2} s, {ratio:.0} times as much.",
        solver.name()
    );
}

/// Table of the candidates that each model settles, by analysis: feasible / infeasible.
fn models(arguments: &Arguments) {
    println!(
        "\n| analysis | candidates | view | value | symbolic | feasible in value, not in symbolic |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    let traces: Vec<Trace> = (0..arguments.seeds).map(|seed| trace(0, 80, 100 + seed)).collect();
    for analysis in FindingKind::ALL {
        let (mut feasible, mut undecided) = ([0; 3], [0; 3]);
        let (mut all, mut lost) = (0, 0);
        for trace in &traces {
            let mut found: Vec<Vec<Candidate>> = Vec::new();
            for (i, model) in [Model::View, Model::Value, Model::Symbolic].into_iter().enumerate() {
                let options = Options {
                    analyses: [analysis].into(),
                    all: true,
                    timeout: Some(arguments.time_limit),
                    ..Options::default()
                };
                let prediction = match predict(trace, model, &options) {
                    Ok(prediction) => prediction,
                    Err(defects) => panic!("{defects:?}"),
                };
                undecided[i] += prediction.undecided.len();
                if i == 2 {
                    all += prediction.counts.values().map(|c| c.candidates).sum::<u64>();
                }
                feasible[i] += prediction.findings.len();
                found.push(prediction.findings.into_iter().map(|f| f.candidate).collect());
            }
            lost += found[1].iter().filter(|c| !found[2].contains(c)).count();
        }
        print!("| {analysis} | {all} |");
        for (yes, open) in feasible.into_iter().zip(undecided) {
            print!(" {yes} / {}", all - (yes + open) as u64);
            if open > 0 {
                print!(", {open} undecided");
            }
            print!(" |");
        }
        println!(" {lost} |");
    }
}

fn main() {
    let arguments = match arguments().and_then(|a| a.solver.find().map(|_| a)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("symbolic: {problem}");
            std::process::exit(2);
        }
    };
    engines(&arguments);
    models(&arguments);
}
