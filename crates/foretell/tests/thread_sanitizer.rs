//! Random C programs under gcc's ThreadSanitizer and under the real command: whatever the sanitizer
//! reports, Foretell predicts.
//!
//! The threads of a program pass a turn, a relaxed atomic: every run has the same order of
//! statements, and nothing but the statements themselves synchronises. A program has several
//! scenarios with variables of their own, one after the other. A plain read that races with the
//! write it sees orders what follows it in Foretell (semantics section 3b), and not in the
//! sanitizer: in programs with plain reads a pair may be missing if the checker, which computes
//! happens-before by itself, says that the recorded run orders it. There are no fences: the
//! sanitizer does not know them.
//!
//! More programs: `FORETELL_RANDOM_PROGRAMS=N`.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use foretell_generate::Rng;
use foretell_predict::driver::{Options, predict};
use foretell_trace::io::ReadOptions;
use foretell_trace::{EventId, FindingKind, Model, Trace};
use foretell_verify::{Checker, Pattern};

/// Two lines of a program.
type Lines = BTreeSet<[u32; 2]>;

const SCENARIOS: usize = 6;
const LOADS: [&str; 3] = ["relaxed", "acquire", "seq_cst"];
const STORES: [&str; 3] = ["relaxed", "release", "seq_cst"];
const UPDATES: [&str; 5] = ["relaxed", "acquire", "release", "acq_rel", "seq_cst"];

/// Returns a statement of scenario `s` on one line.
fn statement(rng: &mut Rng, s: usize, reads: bool) -> String {
    let (flag, data, lock) = (rng.below(2), rng.below(2), rng.below(2));
    let order = |rng: &mut Rng, orders: &[&str]| orders[rng.below(orders.len())].to_owned();
    let access = match (reads, rng.below(3)) {
        (true, 0) => format!("sum += d{s}_{data};"),
        (true, 1) => format!("d{s}_{data}++;"),
        _ => format!("d{s}_{data} = {};", rng.below(50)),
    };
    match rng.below(12) {
        0..=3 => access,
        4 | 5 => {
            format!("pthread_mutex_lock(&m{lock}); {access} pthread_mutex_unlock(&m{lock});")
        }
        6 => {
            let side = if rng.chance(50) { "wr" } else { "rd" };
            format!("pthread_rwlock_{side}lock(&rw); {access} pthread_rwlock_unlock(&rw);")
        }
        7 => {
            let order = order(rng, &STORES);
            format!("atomic_store_explicit(&f{s}_{flag}, 1, memory_order_{order});")
        }
        8 => {
            let order = order(rng, &LOADS);
            format!("sum += atomic_load_explicit(&f{s}_{flag}, memory_order_{order});")
        }
        9 | 10 => {
            // Fails mostly: no flag has a negative value.
            let (expected, order) = (rng.below(4) as i64 - 2, order(rng, &LOADS));
            format!(
                "{{ int e = {expected}; sum += atomic_compare_exchange_strong_explicit(\
                 &f{s}_{flag}, &e, 7, memory_order_{order}, memory_order_{order}); }}"
            )
        }
        _ => {
            let order = order(rng, &UPDATES);
            format!("atomic_fetch_add_explicit(&f{s}_{flag}, 1, memory_order_{order});")
        }
    }
}

fn program(seed: u64, reads: bool) -> String {
    let mut rng = Rng::new(seed);
    let mut text = "#include <pthread.h>\n#include <sched.h>\n#include <stdatomic.h>\n\
        static pthread_mutex_t m0 = PTHREAD_MUTEX_INITIALIZER, m1 = PTHREAD_MUTEX_INITIALIZER;\n\
        static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;\n\
        static void await(atomic_int *turn, int n) {\n\
        \x20 while (atomic_load_explicit(turn, memory_order_relaxed) != n) sched_yield();\n}\n\
        static void pass(atomic_int *turn, int n) {\n\
        \x20 atomic_store_explicit(turn, n, memory_order_relaxed);\n}\n"
        .to_owned();
    let mut calls = String::new();
    for s in 0..SCENARIOS {
        let _ = writeln!(text, "static atomic_int f{s}_0, f{s}_1, turn{s};");
        let _ = writeln!(text, "static int d{s}_0, d{s}_1;");
        let threads = rng.between(2, 3);
        let turns: Vec<usize> = (0..rng.between(6, 12)).map(|_| rng.below(threads)).collect();
        for t in 0..threads {
            let _ = writeln!(text, "static void *run{s}_{t}(void *a) {{\n  int sum = 0;");
            for (n, _) in turns.iter().enumerate().filter(|&(_, &of)| of == t) {
                let _ = writeln!(text, "  await(&turn{s}, {n});");
                let _ = writeln!(text, "  {}", statement(&mut rng, s, reads));
                let _ = writeln!(text, "  pass(&turn{s}, {});", n + 1);
            }
            let _ = writeln!(text, "  return sum < 0 ? a : NULL;\n}}");
            let _ = writeln!(calls, "  pthread_create(&t[{t}], NULL, run{s}_{t}, NULL);");
        }
        (0..threads).for_each(|t| {
            let _ = writeln!(calls, "  pthread_join(t[{t}], NULL);");
        });
    }
    let _ = write!(text, "int main(void) {{\n  pthread_t t[3];\n{calls}  return 0;\n}}\n");
    text
}

/// Returns the pairs of lines that ThreadSanitizer reports.
fn sanitized(source: &Path) -> Lines {
    let binary = source.with_extension("tsan");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "-w", "-fsanitize=thread", "-o"]).arg(&binary).arg(source);
    let built = gcc.output().expect("gcc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let options = "exitcode=0 history_size=7 suppress_equal_stacks=0 suppress_equal_addresses=0";
    // Kernels that place memory at random addresses of more bits confuse older sanitizers.
    let mut run = Command::new("setarch");
    run.args(["x86_64", "-R"]).arg(&binary).env("TSAN_OPTIONS", options);
    let output = run.output().expect("setarch runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let works = output.status.success() && !text.contains("FATAL: ThreadSanitizer");
    assert!(works, "{text}");
    let mut found = Lines::new();
    for report in text.split("WARNING: ThreadSanitizer: data race").skip(1) {
        let mut lines = Vec::new();
        let mut rest = report.lines();
        while let Some(line) = rest.next() {
            let access = ["  Write of", "  Read of", "  Previous write of", "  Previous read of"];
            if access.iter().any(|start| line.starts_with(start)) {
                lines.extend(rest.next().and_then(line_number));
            }
        }
        if let [a, b] = lines[..] {
            found.insert([a.min(b), a.max(b)]);
        }
    }
    found
}

/// Returns the number after `p.c:`.
fn line_number(frame: &str) -> Option<u32> {
    let (_, rest) = frame.split_once("p.c:")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn recorded(source: &Path) -> Trace {
    let foretell = || Command::new(env!("CARGO_BIN_EXE_foretell"));
    let (binary, trace) = (source.with_extension("ft-bin"), source.with_extension("ft"));
    let mut build = foretell();
    build.env("FORETELL_CC", "gcc").args(["cc", "-g", "-O0", "-w", "-o"]);
    let built = build.arg(&binary).arg(source).output().expect("foretell runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut record = foretell();
    let output = record.arg("record").arg("-o").arg(&trace).arg("--").arg(&binary).output();
    let output = output.expect("foretell runs");
    assert!(trace.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    foretell_trace::io::load(&trace, &ReadOptions::default()).expect("a trace").trace
}

fn lines(trace: &Trace, pairs: impl IntoIterator<Item = [EventId; 2]>) -> Lines {
    let line = |e: EventId| line_number(trace.location(trace.site(e)?));
    let pairs = pairs.into_iter().filter_map(|[a, b]| Some([line(a)?, line(b)?]));
    pairs.map(|[a, b]| [a.min(b), a.max(b)]).collect()
}

fn predicted(trace: &Trace) -> Lines {
    let analyses = [FindingKind::Race].into_iter().collect();
    let options = Options { analyses, all: true, jobs: 1, ..Options::default() };
    let found = predict(trace, Model::View, &options).expect("a prediction");
    let pairs = found.findings.iter().map(|finding| match finding.pattern {
        Pattern::Race { a, b } | Pattern::Unordered { a, b } => [a, b],
        ref pattern => panic!("{pattern:?}"),
    });
    lines(trace, pairs)
}

/// Whether the checker accepts the recorded run as a witness for two accesses of these lines that
/// happens-before leaves unordered.
fn is_unordered(trace: &Trace, lines: [u32; 2]) -> bool {
    let checker = Checker::new(trace, Model::View);
    let at = |line: u32| {
        let is_there = move |&e: &EventId| {
            trace.site(e).and_then(|site| line_number(trace.location(site))) == Some(line)
        };
        trace.ids().filter(is_there)
    };
    let mut pairs = at(lines[0]).flat_map(|a| at(lines[1]).map(move |b| [a.min(b), a.max(b)]));
    pairs.any(|[a, b]| {
        let schedule: Vec<EventId> = trace.ids().take_while(|&e| e <= b).collect();
        checker.verify(&Pattern::Unordered { a, b }, &schedule).is_ok()
    })
}

#[test]
fn whatever_thread_sanitizer_reports_is_predicted() {
    let more = std::env::var("FORETELL_RANDOM_PROGRAMS").ok().and_then(|n| n.parse().ok());
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("p.c");
    let mut reports = 0;
    for seed in 0..more.unwrap_or(4) {
        let reads = seed % 2 == 1;
        let text = program(seed, reads);
        std::fs::write(&source, &text).expect("a source file");
        let reported = sanitized(&source);
        let trace = recorded(&source);
        let found = predicted(&trace);
        let context = || {
            let numbered = (1..).zip(text.lines()).map(|(n, line)| format!("{n:4} {line}"));
            format!("program {seed}\n{}", numbered.collect::<Vec<_>>().join("\n"))
        };
        let missing: Vec<_> = reported
            .iter()
            .filter(|pair| !found.contains(*pair) && (!reads || is_unordered(&trace, **pair)))
            .collect();
        assert!(missing.is_empty(), "missing: {missing:?}\n{}", context());
        reports += reported.len();
    }
    assert!(reports > 20, "only {reports} reports");
}
