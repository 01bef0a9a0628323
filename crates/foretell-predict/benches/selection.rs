//! Measurements for the choice of an engine, and what the choice is worth. Run by
//! `bench/selection`.
//!
//! `measure` asks the order engine, the explicit engine and choice graphs the same queries, those
//! that the filters leave, and prints a line for each: its kind, its features, and the processor
//! time of each engine in microseconds (of the explicit engine and of choice graphs together with
//! the order engine's where they left the query to it). `compare` asks the choice, and then each
//! fixed engine, all queries about other traces of the same kinds that the filters leave. A query
//! that is open after the time limit counts with the time that it took, and so does a fixed engine
//! that is given up on a trace because it has already taken far more than the choice did: its total
//! is then a lower bound, and marked as one.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foretell_generate::programs::{self, Benchmark, Shape};
use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::{Candidate, candidates};
use foretell_predict::engine::Engine;
use foretell_predict::engines::auto::features::{Feature, QueryShape, Survey};
use foretell_predict::engines::auto::rule::DPOR_NODES;
use foretell_predict::engines::dpor::{DporEngine, DporOptions};
use foretell_predict::engines::graph::GraphEngine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::engines::{EngineKind, EngineOptions};
use foretell_predict::filters::Filters;
use foretell_predict::query::{Limit, Query, Verdict};
use foretell_trace::{FindingKind, Model, Trace};

/// The first part of the benchmark set that is not for fitting.
const COMPARED: u64 = 3;
/// Time limit of one query.
const TIME_LIMIT: Duration = Duration::from_secs(1);
/// Queries of one analysis of one trace that are measured, at even distances; a tenth of it where
/// they are about blocks.
const QUERIES: usize = 120;
/// A fixed engine is given up on a trace when it has taken so many times what the choice took, and
/// so much more.
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

/// The benchmark set: traces of every family in some sizes and the papers' programs. The first
/// parts are for fitting; parts differ in seeds and sizes.
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
        let trace_model = TraceModel::new(&trace, Model::Value);
        let survey = Survey::new(&trace_model);
        for analysis in FindingKind::ALL {
            // As in a run, where a chunk of queries of one kind has an engine of its own.
            let mut order = OrderEngine::new(&trace_model);
            let options = DporOptions { nodes: DPOR_NODES, ..DporOptions::default() };
            let mut dpor = DporEngine::new(&trace_model, options);
            let mut graph = GraphEngine::quick(&trace_model);
            let filters = Filters::default();
            let mut left = candidates(&trace_model, analysis);
            left.retain(|c| filters.drop(&trace_model, c).is_none());
            let blocks =
                matches!(analysis, FindingKind::Serializability | FindingKind::Transactions);
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
                let kind = QueryShape::of(&query);
                println!("{name}\t{kind:?}\t{}\t{}", values.join("\t"), times.join("\t"));
            }
        }
    }
}

/// Cost of one engine for one trace, or for several.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// Processor time, in a trace that was given up until then.
    time: Duration,
    /// Queries that the engine left open, in traces that were not given up.
    open: usize,
    /// Traces that were given up: the time is a lower bound of what the engine would have taken.
    given_up: usize,
}

impl Cost {
    fn add(&mut self, other: &Cost) {
        self.time += other.time;
        self.open += other.open;
        self.given_up += other.given_up;
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bound = if self.given_up > 0 { "> " } else { "" };
        write!(f, "{bound}{:.3}", self.time.as_secs_f64())?;
        if self.open > 0 { write!(f, " ({} open)", self.open) } else { Ok(()) }
    }
}

/// Sets a flag when a thread has taken some processor time. (A limit of real time would give an
/// engine less where the machine has other things to do.)
struct Watch {
    clock: libc::clockid_t,
    /// Where the thread's clock may be.
    until: Mutex<Duration>,
    stop: AtomicBool,
    done: AtomicBool,
}

impl Watch {
    /// A watch on the calling thread.
    fn new() -> Watch {
        let mut clock = 0;
        // SAFETY: the thread is this one, and the pointer is to a clock id of ours.
        let refused = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        assert_eq!(refused, 0, "threads have clocks here");
        let until = Mutex::new(Duration::MAX);
        Watch { clock, until, stop: AtomicBool::new(false), done: AtomicBool::new(false) }
    }

    fn set(&self, to: Duration) {
        let mut until = self.until.lock().expect("no panic while it is locked");
        *until = to;
        self.stop.store(false, Ordering::Relaxed);
    }

    fn look(&self) {
        while !self.done.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
            let until = self.until.lock().expect("no panic while it is locked");
            self.stop.store(read(self.clock) > *until, Ordering::Relaxed);
        }
    }
}

/// Ends a watch, also when something panics.
struct Done<'w>(&'w AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The queries about a trace that the filters leave, in chunks as a run has them, each with an
/// engine of its own.
fn chunks(trace_model: &TraceModel<'_>) -> Vec<Vec<Query>> {
    let filters = Filters::default();
    let all = FindingKind::ALL.into_iter().flat_map(|a| candidates(trace_model, a));
    let all: Vec<Candidate> = all.collect();
    let size = all.len().div_ceil(64).clamp(1, 256);
    let left = |chunk: &[Candidate]| -> Vec<Query> {
        let left = chunk.iter().filter(|c| filters.drop(trace_model, c).is_none());
        left.map(Candidate::query).collect()
    };
    all.chunks(size).map(left).collect()
}

/// Answers all queries about a trace, and gives up after so much processor time. `answers` has
/// those of an engine before, and gets the missing ones: all have to agree.
fn cost(
    trace_model: &TraceModel<'_>,
    chunks: &[Vec<Query>],
    kind: EngineKind,
    patience: Duration,
    answers: &mut [Option<bool>],
) -> Cost {
    let watch = Watch::new();
    let start = cpu();
    let mut open = 0;
    let mut answers = answers.iter_mut();
    std::thread::scope(|scope| {
        scope.spawn(|| watch.look());
        let _done = Done(&watch.done);
        'trace: for chunk in chunks {
            let mut engine = kind.engine(trace_model, &EngineOptions::default());
            for (query, known) in chunk.iter().zip(&mut answers) {
                let used = cpu() - start;
                if used > patience {
                    break 'trace;
                }
                watch.set(start + used + TIME_LIMIT.min(patience - used));
                let limit = Limit { deadline: None, stop: Some(&watch.stop) };
                let answer = match engine.decide(query, &limit) {
                    Verdict::Witness(_) => true,
                    Verdict::Impossible => false,
                    Verdict::Undecided(_) => {
                        open += 1;
                        continue;
                    }
                };
                let known = *known.get_or_insert(answer);
                assert_eq!(known, answer, "{kind:?} has another answer: {query:?}");
            }
        }
    });
    match cpu() - start {
        time if time > patience => Cost { time: patience, open: 0, given_up: 1 },
        time => Cost { time, open, given_up: 0 },
    }
}

fn compare(part: u64) {
    let fixed = [EngineKind::Order, EngineKind::Dpor, EngineKind::Graph];
    let (mut totals, mut settled) = ([Cost::default(); 4], [Cost::default(); 4]);
    let row = |name: &str, costs: &[Cost]| {
        let cells: Vec<String> = costs.iter().map(Cost::to_string).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    println!("| trace | queries | auto (s) | order (s) | dpor (s) | graph (s) |");
    println!("|---|---:|---:|---:|---:|---:|");
    let (mut queries, mut settled_queries) = (0, 0);
    for (name, trace) in traces(part) {
        let trace_model = TraceModel::new(&trace, Model::Value);
        let chunks = chunks(&trace_model);
        let count = chunks.iter().map(Vec::len).sum();
        let mut answers = vec![None; count];
        let mut cost = |kind, patience| cost(&trace_model, &chunks, kind, patience, &mut answers);
        let auto = cost(EngineKind::Auto, Duration::MAX);
        let patience = PATIENCE * auto.time + MORE_PATIENCE;
        let [order, dpor, graph] = fixed.map(|kind| cost(kind, patience));
        let costs = [auto, order, dpor, graph];
        row(&format!("{name} | {count}"), &costs);
        queries += count;
        totals.iter_mut().zip(&costs).for_each(|(total, cost)| total.add(cost));
        if [auto, order, graph].iter().all(|c| c.open + c.given_up == 0) {
            settled_queries += count;
            settled.iter_mut().zip(&costs).for_each(|(total, cost)| total.add(cost));
        }
    }
    row(&format!("**total** | {queries}"), &totals);
    let given_up = totals.map(|t| t.given_up.to_string());
    println!("| traces given up | | {} |", given_up.join(" | "));
    row(
        &format!("total where auto, order and graph leave nothing open | {settled_queries}"),
        &settled,
    );
    println!(
        "\n`> t`: the engine was stopped there, at {PATIENCE} times what auto took for the trace and {} s more, and was \
         not done. Its time counts up to there, so a total with `>` is less than what the engine takes. *open*: \
         undecided after {} s of processor time, which counts as well, or after the explicit engine's budget of states; traces \
         that were given up are not in it. Auto is never stopped.",
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
