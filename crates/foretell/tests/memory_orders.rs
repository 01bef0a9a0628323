//! Random C programs with atomics of every order, fences and locks, recorded by the real command:
//! whatever a vector-clock detector reports for the recorded run is predicted, as a race of one form
//! or the other.
//!
//! More programs: `FORETELL_RANDOM_PROGRAMS=N`.

#[path = "../../foretell-predict/tests/common/fasttrack.rs"]
mod fasttrack;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use foretell_generate::Rng;
use foretell_predict::driver::{Options, predict};
use foretell_trace::io::ReadOptions;
use foretell_trace::{EventId, FindingKind, Model, Trace};
use foretell_verify::Pattern;

const LOADS: [&str; 3] = ["relaxed", "acquire", "seq_cst"];
const STORES: [&str; 3] = ["relaxed", "release", "seq_cst"];
const UPDATES: [&str; 5] = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"];

fn statement(rng: &mut Rng) -> String {
    let (flag, data) = (rng.below(2), rng.below(2));
    let order = |rng: &mut Rng, orders: &[&str]| orders[rng.below(orders.len())].to_owned();
    match rng.below(9) {
        0 | 1 => format!("data{data}++;"),
        2 => {
            let order = order(rng, &STORES);
            format!("data{data} = 7; atomic_store_explicit(&flag{flag}, 1, memory_order_{order});")
        }
        3..=5 => {
            let order = order(rng, &LOADS);
            let fence = rng.chance(30);
            let fence = if fence { "atomic_thread_fence(memory_order_acquire); " } else { "" };
            format!(
                "if (atomic_load_explicit(&flag{flag}, memory_order_{order})) \
                 {{ {fence}sum += data{data}; }}"
            )
        }
        6 => {
            let order = order(rng, &UPDATES);
            format!("atomic_fetch_add_explicit(&flag{flag}, 1, memory_order_{order});")
        }
        7 => format!("atomic_thread_fence(memory_order_{});", order(rng, &UPDATES[1..])),
        _ => format!("pthread_mutex_lock(&lock); data{data} += 2; pthread_mutex_unlock(&lock);"),
    }
}

fn program(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let mut text = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n\
        static atomic_int flag0, flag1;\nstatic int data0, data1;\n\
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n"
        .to_owned();
    let threads = rng.between(2, 3);
    for t in 0..threads {
        let _ = writeln!(text, "static void *run{t}(void *a) {{\n  int sum = 0;");
        for _ in 0..rng.between(3, 7) {
            let _ = writeln!(text, "  {}", statement(&mut rng));
        }
        let _ = writeln!(text, "  return sum < 0 ? a : NULL;\n}}");
    }
    let _ = writeln!(text, "int main(void) {{\n  pthread_t t[{threads}];");
    for t in 0..threads {
        let _ = writeln!(text, "  pthread_create(&t[{t}], NULL, run{t}, NULL);");
    }
    for t in 0..threads {
        let _ = writeln!(text, "  pthread_join(t[{t}], NULL);");
    }
    text + "  return 0;\n}\n"
}

fn recorded(dir: &Path, seed: u64, compiler: &str) -> Trace {
    let foretell = || Command::new(env!("CARGO_BIN_EXE_foretell"));
    let (source, binary, trace) = (dir.join("p.c"), dir.join("p"), dir.join("p.ft"));
    std::fs::write(&source, program(seed)).expect("a source file");
    let mut build = foretell();
    build.env("FORETELL_CC", compiler).args(["cc", "-g", "-O0", "-w", "-o"]);
    let built = build.arg(&binary).arg(&source).output().expect("foretell runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let seed = (seed % 5).to_string();
    let mut record = foretell();
    record.args(["record", "--seed", &seed, "-o"]).arg(&trace).arg("--").arg(&binary);
    let output = record.output().expect("foretell runs");
    assert!(trace.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    foretell_trace::io::load(&trace, &ReadOptions::default()).expect("a trace").trace
}

#[test]
fn whatever_a_detector_reports_in_a_recorded_run_is_predicted() {
    let more = std::env::var("FORETELL_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok());
    let dir = tempfile::tempdir().expect("a directory");
    let (mut reports, mut weak) = (0, 0);
    for seed in 0..more.unwrap_or(12) {
        let trace = recorded(dir.path(), seed, if seed % 2 == 0 { "gcc" } else { "clang" });
        weak += trace.ids().filter(|&e| trace.order(e) != Default::default()).count();
        let analyses = [FindingKind::Race].into_iter().collect();
        let options = Options { analyses, all: true, jobs: 1, ..Options::default() };
        let found = predict(&trace, Model::View, &options).expect("a prediction");
        let pair = |pattern: &Pattern| match *pattern {
            Pattern::Race { a, b } | Pattern::Unordered { a, b } => [a.min(b), a.max(b)],
            ref pattern => panic!("{pattern:?}"),
        };
        let found: BTreeSet<[EventId; 2]> =
            found.findings.iter().map(|f| pair(&f.pattern)).collect();
        let reported = fasttrack::races(&trace, true);
        let missing: Vec<_> = reported.difference(&found).collect();
        assert!(missing.is_empty(), "program {seed}: {missing:?}\n{}", program(seed));
        reports += reported.len();
    }
    assert!(reports > 10, "only {reports} reports");
    assert!(weak > 30, "only {weak} atomics and fences with an order of their own");
}
