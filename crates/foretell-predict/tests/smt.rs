//! The engines on external SMT solvers against brute force: the same findings on random traces of
//! every family, none missing, none extra, with every candidate put to the solver. Every witness is
//! put to the checker. Z3, cvc5 and Yices have to be installed.
//!
//! `FORETELL_SEEDS=2000 cargo test --release -p foretell-predict --test smt` is the long soak.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use foretell_brute::Findings;
use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::{Candidate, candidates};
use foretell_predict::driver::{Options, predict};
use foretell_predict::engine::Engine;
use foretell_predict::engines::smt::{SmtEngine, SmtOptions, SmtSolver};
use foretell_predict::engines::{EngineKind, EngineOptions};
use foretell_predict::finding::Finding;
use foretell_predict::query::{Limit, Verdict};
use foretell_trace::{FindingKind, Model, Trace, text};
use foretell_verify::Checker;

/// Every finding that the engine predicts.
fn predicted(trace: &Trace, model: Model, kind: EngineKind, options: &EngineOptions) -> Findings {
    let trace_model = TraceModel::new(trace, model);
    let checker = Checker::new(trace, model);
    let mut engine = kind.engine(&trace_model, options);
    let mut findings = Findings::default();
    for candidate in FindingKind::ALL.into_iter().flat_map(|a| candidates(&trace_model, a)) {
        match engine.decide(&candidate.query(), &Limit::default()) {
            Verdict::Impossible => {}
            Verdict::Undecided(reason) => panic!("{candidate:?} is undecided: {reason}"),
            Verdict::Witness(schedule) => {
                let name = engine.name();
                if let Err(defect) =
                    Finding::new(&trace_model, &checker, &candidate, &schedule, name)
                {
                    panic!("{defect:?}");
                }
                insert(&mut findings, &trace_model, candidate);
            }
        }
    }
    findings
}

fn insert(findings: &mut Findings, trace_model: &TraceModel<'_>, candidate: Candidate) {
    let begin = |b| trace_model.blocks.get(b).begin;
    match candidate {
        Candidate::Race(a, b) => drop(findings.races.insert([a, b])),
        Candidate::Unordered(a, b) => drop(findings.unordered_races.insert([a, b])),
        Candidate::Atomicity(c, r, c2) => drop(findings.atomicity.insert([c, r, c2])),
        Candidate::Serializability(b) => drop(findings.serializability.insert(begin(b))),
        Candidate::Transactions(b) => drop(findings.transactions.insert(begin(b))),
        Candidate::NondeterministicRead(r) => drop(findings.nondeterministic_reads.insert(r)),
        Candidate::FinalValue(_, x) => {
            findings.final_values.insert(x);
        }
        // No solver decides these.
        Candidate::Hang(..) => {}
        Candidate::Lifetime(f, a) => drop(findings.lifetimes.insert([f, a])),
        Candidate::Deadlock(acquires) => drop(findings.deadlocks.insert(acquires)),
    }
}

/// Solvers and settings, all of them in turn.
fn variant(seed: u64) -> (EngineKind, EngineOptions) {
    let kind = [EngineKind::Z3, EngineKind::Cvc5, EngineKind::Yices][(seed % 3) as usize];
    let bit_blast = seed / 3 % 2 == 1;
    let fresh = seed / 6 % 4 == 3;
    let smt = SmtOptions { bit_blast, fresh, ..SmtOptions::default() };
    (kind, EngineOptions { smt, simplify: seed / 6 % 4 != 2, ..EngineOptions::default() })
}

fn seeds() -> u64 {
    std::env::var("FORETELL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(48)
}

fn agree(family: Family) {
    agree_in(&[Model::View, Model::Value], family, 0..seeds());
}

fn agree_in(models: &[Model], family: Family, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let trace = generate(family, &Params::small(family, 7_000_000 + seed));
        for &model in models {
            let Some(expected) = foretell_brute::findings_within(&trace, model, 200_000) else {
                continue;
            };
            let (kind, options) = variant(seed);
            let actual = predicted(&trace, model, kind, &options);
            let what = format!("{family} seed {seed} {model} {kind} {options:?}");
            assert_eq!(actual, expected, "{what}\n{}", show(&trace));
        }
    }
}

fn show(trace: &Trace) -> String {
    let mut out = Vec::new();
    text::write(trace, &mut out).expect("a generated trace can be written");
    String::from_utf8_lossy(&out).into_owned()
}

macro_rules! families {
    ($($test:ident $family:ident;)*) => {$(
        #[test]
        fn $test() {
            agree(Family::$family);
        }
    )*};
}

families! {
    uniform Uniform;
    locks Locks;
    inversion Inversion;
    queue Queue;
    fork_join ForkJoin;
    blocks Blocks;
    lucky Lucky;
    mixed Mixed;
    readers_writers ReadersWriters;
    sync Sync;
    values Values;
    symbolic_without_symbols Symbolic;
}

/// The symbolic model on traces with registers, expressions and guards, simplified and not.
#[test]
fn symbolic_model() {
    agree_in(&[Model::Symbolic], Family::Symbolic, 100..100 + seeds());
}

/// Where nothing depends on a value, no read of the symbolic model is ever broken.
#[test]
fn symbolic_model_without_symbols() {
    for (i, &family) in Family::ALL.iter().filter(|&&f| f != Family::Scalable).enumerate() {
        let first = 10_000 + 7 * i as u64;
        agree_in(&[Model::Symbolic], family, first..first + seeds().div_ceil(12));
    }
}

/// Two threads, two writes of x, a lock that orders nothing.
const RACE: &str = "T1|w(x)\nT1|acq(l)\nT1|rel(l)\nT2|acq(l)\nT2|rel(l)\nT2|w(x)";

fn race() -> Trace {
    text::parse(RACE.as_bytes()).expect("the trace is well-formed").trace
}

#[test]
fn the_driver_names_the_engine_and_counts_its_effort() {
    let trace = race();
    for engine in [EngineKind::Z3, EngineKind::Cvc5, EngineKind::Yices] {
        assert_eq!(engine.available(), Ok(()));
        let analyses = BTreeSet::from([FindingKind::Race]);
        let options = Options { engine, analyses, unordered: false, ..Options::default() };
        let prediction = predict(&trace, Model::View, &options).expect("no defect");
        let engines: Vec<_> = prediction.findings.iter().map(|f| f.engine).collect();
        assert_eq!(engines, [engine.name()]);
        assert!(prediction.effort.constraints > 0);
        assert_eq!((prediction.effort.time_outs, prediction.effort.memory_outs), (0, 0));
    }
}

#[test]
fn dumped_instances_are_complete() {
    let trace = race();
    let dir = std::env::temp_dir().join(format!("foretell-smt-dump-{}", std::process::id()));
    for fresh in [false, true] {
        for bit_blast in [false, true] {
            let dump = dir.join(format!("{fresh}-{bit_blast}"));
            let file = dump.join("reach-next-0-5.smt2");
            let options =
                SmtOptions { dump: Some(dump), fresh, bit_blast, ..SmtOptions::default() };
            predicted(
                &trace,
                Model::View,
                EngineKind::Z3,
                &EngineOptions { smt: options, ..EngineOptions::default() },
            );
            for solver in SmtSolver::ALL {
                let out = std::process::Command::new(solver.program()).arg(&file).output();
                let out = out.expect("the solver runs").stdout;
                assert_eq!(String::from_utf8_lossy(&out).trim(), "sat", "{solver:?} {file:?}");
            }
        }
    }
    std::fs::remove_dir_all(&dir).expect("the directory can be removed");
}

/// Many sections of few locks: more than any solver does in no time at all.
fn large() -> Trace {
    let mut params = Params::small(Family::Scalable, 1);
    params.events = 3_000;
    generate(Family::Scalable, &params)
}

fn undecided(solver: SmtSolver, options: SmtOptions, limit: &Limit<'_>) -> (String, (u64, u64)) {
    let trace = large();
    let trace_model = TraceModel::new(&trace, Model::View);
    let mut engine = SmtEngine::new(&trace_model, solver, options);
    for candidate in candidates(&trace_model, FindingKind::Race) {
        if let Verdict::Undecided(reason) = engine.decide(&candidate.query(), limit) {
            let effort = engine.effort();
            return (reason, (effort.time_outs, effort.memory_outs));
        }
    }
    panic!("{solver:?} decided everything");
}

#[test]
fn time_limits_end_the_search() {
    for solver in SmtSolver::ALL {
        let deadline = Some(Instant::now() + Duration::from_millis(1));
        let limit = Limit { deadline, stop: None };
        let (reason, effort) = undecided(solver, SmtOptions::default(), &limit);
        assert_eq!((reason.as_str(), effort), ("time limit", (1, 0)), "{solver:?}");
    }
}

#[test]
fn memory_limits_end_the_search() {
    // More or less what the program itself needs.
    for (solver, mib) in [(SmtSolver::Z3, 48), (SmtSolver::Cvc5, 56), (SmtSolver::Yices, 10)] {
        let options = SmtOptions { memory_mib: Some(mib), ..SmtOptions::default() };
        let (reason, effort) = undecided(solver, options, &Limit::default());
        assert_eq!((reason.as_str(), effort), ("memory limit", (0, 1)), "{solver:?}");
    }
}
