//! Measurements for the choice of an engine, and what the choice is worth. Run by `bench/selection`.
//!
//! `measure` asks the order engine, the explicit engine and choice graphs the same queries, those that the filters leave,
//! and prints a line for each: its kind, its features, and the processor time of each engine in microseconds (of the explicit engine
//! and of choice graphs together with the order engine's where they left the query to it).
//! `compare` predicts everything in other traces of the same kinds with the choice and then with each fixed engine. A query that is
//! open after the time limit counts with the time that it took, and so does a fixed engine that is given up on a trace
//! because it has already taken far more than the choice did: its total is then a lower bound, and marked as one.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foretell_generate::programs::{self, Benchmark, Shape};
use foretell_generate::{Family, Params, generate};
use foretell_model::Structure;
use foretell_predict::analyses::{Analysis, candidates};
use foretell_predict::driver::{Options, predict};
use foretell_predict::engine::Engine;
use foretell_predict::engines::EngineKind;
use foretell_predict::engines::auto::features::{Feature, Kind, Survey};
use foretell_predict::engines::auto::rule::DPOR_NODES;
use foretell_predict::engines::dpor::{DporEngine, DporOptions};
use foretell_predict::engines::graph::GraphEngine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::filters::Filters;
use foretell_predict::query::{Limit, Verdict};
use foretell_trace::{Model, Trace};

/// The first part of the benchmark set that is not for fitting.
const COMPARED: u64 = 3;
/// How long one query may take.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Queries of one analysis of one trace that are measured, at even distances; a tenth of it where they are about blocks.
const QUERIES: usize = 120;
/// A fixed engine is given up on a trace when it has taken so many times what the choice took, and so much more.
const PATIENCE: u32 = 3;
const MORE_PATIENCE: Duration = Duration::from_secs(2);

fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time of this thread.
fn cpu() -> Duration {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
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

/// What one engine took for one trace, or for all.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// Processor time, in a trace that was given up up to there.
    time: Duration,
    /// Queries that were open after the time limit, in traces that were not given up.
    open: usize,
    /// Traces that were given up: the time is a lower bound of what the engine would have taken.
    given_up: usize,
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bound = if self.given_up > 0 { "> " } else { "" };
        write!(f, "{bound}{:.3}", self.time.as_secs_f64())?;
        if self.open > 0 { write!(f, " ({} open)", self.open) } else { Ok(()) }
    }
}

/// Predicts everything in a trace, and gives up after so much processor time.
fn cost(trace: &Trace, engine: EngineKind, patience: Option<Duration>) -> Cost {
    let stop = AtomicBool::new(false);
    let options = Options {
        engine,
        analyses: Analysis::ALL.into(),
        all: true,
        jobs: 1,
        timeout: Some(TIME_LIMIT),
        stop: Some(&stop),
        ..Options::default()
    };
    let (prediction, time) = match patience {
        Some(patience) => watched(patience, &stop, || predict(trace, Model::Value, &options)),
        None => timed(|| predict(trace, Model::Value, &options)),
    };
    let prediction = prediction.expect("no witness is refused");
    match patience {
        // What it took to notice does not count.
        Some(patience) if stop.into_inner() => {
            Cost { time: time.min(patience), open: 0, given_up: 1 }
        }
        _ => Cost { time, open: prediction.undecided.len(), given_up: 0 },
    }
}

/// Does work on this thread, and sets `stop` when it has taken so much processor time.
fn watched<T>(patience: Duration, stop: &AtomicBool, work: impl FnOnce() -> T) -> (T, Duration) {
    let mut clock = 0;
    // SAFETY: the thread is this one, and the pointer is to a clock id of ours.
    let refused = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    assert_eq!(refused, 0, "threads have clocks here");
    let (start, done) = (read(clock), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(2));
                if read(clock) - start > patience {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        let result = timed(work);
        done.store(true, Ordering::Relaxed);
        result
    })
}

fn compare(part: u64) {
    let fixed = [EngineKind::Order, EngineKind::Dpor, EngineKind::Graph];
    let mut totals = [Cost::default(); 4];
    let row = |name: &str, costs: &[Cost]| {
        let cells: Vec<String> = costs.iter().map(Cost::to_string).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    println!("| trace | auto (s) | order (s) | dpor (s) | graph (s) |");
    println!("|---|---:|---:|---:|---:|");
    for (name, trace) in traces(part) {
        let auto = cost(&trace, EngineKind::Auto, None);
        let patience = PATIENCE * auto.time + MORE_PATIENCE;
        let mut costs = vec![auto];
        costs.extend(fixed.map(|engine| cost(&trace, engine, Some(patience))));
        row(&name, &costs);
        for (total, cost) in totals.iter_mut().zip(&costs) {
            total.time += cost.time;
            total.open += cost.open;
            total.given_up += cost.given_up;
        }
    }
    row("**total**", &totals);
    println!("| traces given up | {} |", totals.map(|t| t.given_up.to_string()).join(" | "));
    println!(
        "\n`> t`: the engine was stopped there, at {PATIENCE} times what auto took for the trace and {} s more, and \
         was not done. The time counts as far as it went: the engine's total is a lower bound of what it takes. *open*: \
         undecided after {} s, in traces that were not given up. Auto is never stopped.",
        MORE_PATIENCE.as_secs(),
        TIME_LIMIT.as_secs(),
    );
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
