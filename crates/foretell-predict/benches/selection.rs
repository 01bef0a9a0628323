//! Measurements for the choice of an engine, and what the choice is worth. Run by `bench/selection`.
//!
//! `measure` asks the order engine, the explicit engine and choice graphs the same queries, those that the filters leave,
//! and prints a line for each: its kind, its features, and the processor time of each engine in microseconds (of the explicit engine
//! and of choice graphs together with the order engine's where they left the query to it).
//! `compare` predicts everything in other traces of the same kinds with each fixed engine and with the choice; a query may
//! take ten seconds, and the explicit engine has its budget of states.

use std::ops::Range;
use std::time::{Duration, Instant};

use foretell_generate::programs::{self, Benchmark, Shape};
use foretell_generate::{Family, Params, generate};
use foretell_model::Structure;
use foretell_predict::analyses::{Analysis, candidates};
use foretell_predict::driver::{Options, predict};
use foretell_predict::engine::Engine;
use foretell_predict::engines::auto::features::{Feature, Kind, Survey};
use foretell_predict::engines::auto::rule::DPOR_NODES;
use foretell_predict::engines::dpor::{DporEngine, DporOptions};
use foretell_predict::engines::graph::GraphEngine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::engines::{EngineKind, EngineOptions};
use foretell_predict::filters::Filters;
use foretell_predict::query::{Limit, Verdict};
use foretell_trace::{Model, Trace};

/// The first part of the benchmark set that is not for fitting.
const COMPARED: u64 = 3;
/// How long one query may take.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Queries of one analysis of one trace that are measured, at even distances; a tenth of it where they are about blocks.
const QUERIES: usize = 120;

/// Processor time of this thread.
fn cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = cpu();
    let result = work();
    (result, cpu() - start)
}

/// The benchmark set: traces of every family in some sizes and the papers' programs. The first parts are for
/// fitting; parts differ in seeds and sizes.
fn traces(part: u64) -> Vec<(String, Trace)> {
    let mut traces = Vec::new();
    for &family in Family::ALL {
        let fitting: &[(usize, usize)] = &[(80, 3), (120, 5), (160, 4), (250, 5)];
        for &(events, threads) in if part == 0 { fitting } else { &[(100, 3), (200, 5)] } {
            let seed = 1_000 * (part + 1) + events as u64;
            let params = Params { seed, events, threads, variables: 6, ..Params::of(family) };
            traces.push((format!("{family} {events}"), generate(family, &params)));
        }
    }
    for &benchmark in Benchmark::ALL {
        let part = part as usize;
        let shape = Shape {
            threads: 5 + 3 * part,
            events: Some(500 + 100 * part),
            lock_events: Some(120 + 20 * part),
            variables: Some(40),
            blocks: Some(30),
            races: 4,
            violations: 3,
            guarded: 3,
            ..Shape::default()
        };
        traces.push((benchmark.name().to_owned(), programs::trace(benchmark, &shape)));
    }
    traces
}

fn limit() -> Limit<'static> {
    Limit { deadline: Some(Instant::now() + TIME_LIMIT), stop: None }
}

fn measure(parts: Range<u64>) {
    let features: Vec<String> = Feature::ALL.iter().map(|f| format!("{f:?}")).collect();
    println!("trace\tkind\t{}\torder\tdpor\tgraph", features.join("\t"));
    for (name, trace) in parts.flat_map(traces) {
        let structure = Structure::new(&trace, Model::Value);
        let survey = Survey::new(&structure);
        for analysis in Analysis::ALL {
            // As in a run, where a chunk of queries of one kind has an engine of its own.
            let mut order = OrderEngine::new(&structure);
            let options = DporOptions { nodes: DPOR_NODES, ..DporOptions::default() };
            let mut dpor = DporEngine::new(&structure, options);
            let mut graph = GraphEngine::quick(&structure);
            let filters = Filters::default();
            let mut left = candidates(&structure, analysis);
            left.retain(|c| filters.drop(&structure, c).is_none());
            let blocks = matches!(analysis, Analysis::Serializability | Analysis::Transactions);
            let wanted = if blocks { QUERIES / 10 } else { QUERIES };
            for candidate in left.iter().step_by(left.len().div_ceil(wanted).max(1)) {
                let query = candidate.query();
                let (exact, by_order) = timed(|| order.decide(&query, &limit()));
                let (found, mut by_dpor) = timed(|| dpor.decide(&query, &limit()));
                let (refuted, mut by_graph) = timed(|| graph.refutes(&query, &limit()));
                match (&exact, &found) {
                    (_, Verdict::Undecided(_)) => by_dpor += by_order,
                    (Verdict::Witness(_), Verdict::Impossible)
                    | (Verdict::Impossible, Verdict::Witness(_)) => {
                        panic!("{name}: {candidate:?}: order and dpor differ")
                    }
                    _ => {}
                }
                if !refuted {
                    by_graph += by_order;
                }
                let values: Vec<String> =
                    Feature::ALL.iter().map(|&f| survey.measure(&query, f).to_string()).collect();
                let times = [by_order, by_dpor, by_graph].map(|t| t.as_micros().to_string());
                let kind = Kind::of(&query);
                println!("{name}\t{kind:?}\t{}\t{}", values.join("\t"), times.join("\t"));
            }
        }
    }
}

fn compare(part: u64) {
    let engines = [EngineKind::Auto, EngineKind::Order, EngineKind::Dpor, EngineKind::Graph];
    let mut totals = [(Duration::ZERO, 0); 4];
    println!("| trace | auto (s) | order (s) | dpor (s) | graph (s) |");
    println!("|---|---:|---:|---:|---:|");
    for (name, trace) in traces(part) {
        let mut cells = Vec::new();
        for (engine, total) in engines.iter().zip(&mut totals) {
            let dpor = DporOptions { nodes: 20_000, ..DporOptions::default() };
            let options = Options {
                engine: *engine,
                engine_options: EngineOptions { dpor, ..EngineOptions::default() },
                analyses: Analysis::ALL.into(),
                all: true,
                jobs: 1,
                timeout: Some(10 * TIME_LIMIT),
                ..Options::default()
            };
            let (prediction, time) = timed(|| predict(&trace, Model::Value, &options));
            let prediction = prediction.expect("no witness is refused");
            let undecided = prediction.undecided.len();
            total.0 += time;
            total.1 += undecided;
            let open = if undecided > 0 { format!(" ({undecided} open)") } else { String::new() };
            cells.push(format!("{:.3}{open}", time.as_secs_f64()));
        }
        println!("| {name} | {} |", cells.join(" | "));
    }
    let cells = totals.map(|(time, open)| format!("{:.2} ({open} open)", time.as_secs_f64()));
    println!("| **total** | {} |", cells.join(" | "));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["measure"] => measure(0..COMPARED),
        ["compare"] => compare(COMPARED),
        ["compare", part] => compare(part.parse().unwrap_or(COMPARED)),
        _ => eprintln!("usage: selection measure | compare [PART]"),
    }
}
