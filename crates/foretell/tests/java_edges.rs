//! Edges between the threads of Java programs: the end of threads and tasks, interrupts, barriers,
//! subclasses of locks, classes of named modules, virtual threads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FORETELL: &str = env!("CARGO_BIN_EXE_foretell");

fn run(directory: &Path, program: &str, arguments: &[&str]) -> Output {
    Command::new(program).current_dir(directory).args(arguments).output().expect("it runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn compile(directory: &Path, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java").join(name);
    let path = path.to_str().expect("a name");
    let output = run(directory, "javac", &["-g", "-d", ".", path]);
    assert!(output.status.success(), "{}", said(&output));
}

/// Records a command and compares its output with that of the command alone.
fn record(directory: &Path, java: &str, command: &[&str]) -> String {
    let plain = run(directory, java, command);
    let arguments = [&["record", "-o", "run.std", "--", java][..], command].concat();
    let recorded = run(directory, FORETELL, &arguments);
    assert_eq!(recorded.status.code(), plain.status.code(), "{}", said(&recorded));
    assert_eq!(recorded.stdout, plain.stdout, "{}", said(&recorded));
    assert!(!said(&recorded).contains("dropped"), "{}", said(&recorded));
    fs::read_to_string(directory.join("run.std")).expect("a trace")
}

/// Returns the findings of the trace that was recorded last, one headline a line.
fn findings(directory: &Path, analyses: &str) -> Vec<String> {
    let output = run(directory, FORETELL, &["predict", "--analyses", analyses, "run.std"]);
    let text = said(&output);
    let kinds: Vec<&str> = analyses.split(',').collect();
    text.lines()
        .filter(|l| kinds.iter().any(|k| l.starts_with(&format!("{k}-"))))
        .map(str::to_owned)
        .collect()
}

#[test]
fn edges_are_seen_and_their_absence_is_a_race() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    compile(dir, "Edges.java");
    record(dir, "java", &["Edges"]);
    let found = findings(dir, "race,atomicity,serializability,deadlock");
    assert!(found.is_empty(), "{found:?}");
    record(dir, "java", &["Edges", "late"]);
    let found = findings(dir, "race").join("\n");
    let cases = [
        "$IsAlive.x",
        "$State.x",
        "$Interrupt.x",
        "$Interrupted.x",
        "$Await.x",
        "$Single.x",
        "int[]@",
        "$Done.x",
        "$Completion.x",
        "$Fork.x",
        "$Barrier.sum",
        "$Counting@",
        "$Gate@",
        "$Views.x",
    ];
    for case in cases {
        assert!(found.contains(case), "{case}: {found}");
    }
}

#[test]
fn monitor_of_a_lock_is_another_lock() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    fs::write(
        dir.join("Both.java"),
        "import java.util.concurrent.locks.ReentrantLock;\npublic class Both {\n static int x;\n\
         public static void main(String[] a) throws Exception {\n\
         ReentrantLock l = new ReentrantLock();\n\
         Thread p = new Thread(() -> { l.lock(); x++; l.unlock(); });\n\
         Thread c = new Thread(() -> { synchronized (l) { x++; } });\n\
         p.start(); c.start(); p.join(); c.join();\n }\n}\n",
    )
    .expect("it can be written");
    let checked = run(dir, FORETELL, &["check", "Both.java"]);
    assert_eq!(checked.status.code(), Some(1), "{}", said(&checked));
    assert!(said(&checked).contains("race-1: "), "{}", said(&checked));
}

#[test]
fn default_value_is_the_initial_value() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    fs::write(
        dir.join("Zero.java"),
        "public class Zero {\n volatile int v;\n static volatile int s;\n static volatile int t = 3;\n\
         static synchronized void f(Zero z, int[] e) { z.v = 0; s = 0; t = 3; e[0] = 0; }\n\
         static synchronized int g(Zero z, int[] e) { return z.v + s + t + e[0]; }\n\
         public static void main(String[] a) throws Exception {\n\
         Zero z = new Zero();\n int[][] e = new int[2][1];\n\
         Thread w = new Thread(() -> f(z, e[1]));\n w.start(); w.join(0);\n\
         Thread p = new Thread(() -> f(z, e[1])), r = new Thread(() -> g(z, e[1]));\n\
         p.start(); r.start(); p.join(); r.join();\n }\n}\n",
    )
    .expect("it can be written");
    let compiled = run(dir, "javac", &["-g", "Zero.java"]);
    assert!(compiled.status.success(), "{}", said(&compiled));
    let trace = record(dir, "java", &["Zero"]);
    for initial in ["#! init Zero.s=0\n", "#! init Zero.t=3\n", ".v=0\n", "[0]=0\n"] {
        assert!(trace.contains(initial), "{initial}: {trace}");
    }
    assert!(!trace.contains("opaque"), "{trace}");
    assert!(findings(dir, "nondeterminism").is_empty());
}

#[test]
fn class_of_a_named_module_is_recorded() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    fs::create_dir_all(dir.join("src/p")).expect("a directory");
    fs::write(dir.join("src/module-info.java"), "module m { }\n").expect("it can be written");
    fs::write(
        dir.join("src/p/Main.java"),
        "package p;\npublic class Main {\n static int x;\n\
         public static void main(String[] a) throws Exception {\n\
         Thread t = new Thread(() -> x++);\n t.start();\n if (a.length == 0) t.join();\n x++;\n\
         t.join();\n System.out.println(x);\n }\n}\n",
    )
    .expect("it can be written");
    let sources = ["-g", "-d", "m", "src/module-info.java", "src/p/Main.java"];
    let compiled = run(dir, "javac", &sources);
    assert!(compiled.status.success(), "{}", said(&compiled));
    let command = ["-p", "m", "-m", "m/p.Main"];
    let trace = record(dir, "java", &command);
    assert!(trace.contains("T1|w(Main.x=1)|Main.java:5|"), "{trace}");
    assert!(findings(dir, "race").is_empty());
    record(dir, "java", &[&command[..], &["x"]].concat());
    assert!(!findings(dir, "race").is_empty());
}

/// Returns the `java` of a runtime with virtual threads: of `FORETELL_JDK21`, or of any runtime
/// under `/usr/lib/jvm` or `target/jdk` that has them.
fn java_with_virtual_threads() -> String {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/jdk");
    let mut homes: Vec<PathBuf> =
        std::env::var_os("FORETELL_JDK21").map(PathBuf::from).into_iter().collect();
    for directory in [Path::new("/usr/lib/jvm"), &target] {
        homes.extend(fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path()));
    }
    let java = homes.iter().map(|home| home.join("bin/java")).find(|java| {
        let probe = Command::new(java).args(["--version"]).output();
        probe.is_ok_and(|output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = text.split_whitespace().nth(1).unwrap_or_default();
            let major = version.split('.').next().unwrap_or_default();
            major.parse::<u32>().is_ok_and(|major| major >= 21)
        })
    });
    let java = java.expect("a Java runtime of version 21 or later (FORETELL_JDK21, scripts/test)");
    java.to_str().expect("a name").to_owned()
}

#[test]
fn virtual_threads_are_recorded() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    let java = java_with_virtual_threads();
    compile(dir, "Virtual.java");
    for case in ["threads", "executor", "waits"] {
        let trace = record(dir, &java, &["Virtual", case]);
        let threads = trace.matches("|fork(").count();
        assert!(threads >= if case == "waits" { 1 } else { 4 }, "{trace}");
        let found = findings(dir, "race,deadlock");
        assert!(found.is_empty(), "{case}: {found:?}\n{trace}");
    }
    for case in ["threads", "executor"] {
        let arguments = ["record", "-o", "run.ft", "--", &java, "Virtual", case, "racy"];
        assert_eq!(run(dir, FORETELL, &arguments).status.code(), Some(0));
        let replayed = run(dir, FORETELL, &["predict", "--json", "f.json", "run.ft"]);
        assert!(said(&replayed).contains("race-1: "), "{}", said(&replayed));
        let arguments = ["replay", "run.ft", "race-1", "--", &java, "Virtual", case, "racy"];
        let replayed = run(dir, FORETELL, &arguments);
        assert!(!said(&replayed).contains("left the schedule"), "{}", said(&replayed));
    }
    let trace = record(dir, &java, &["Virtual", "many"]);
    assert_eq!(trace.matches("|fork(").count(), 1000);
}

#[test]
fn try_lock_that_succeeds_is_in_no_deadlock() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    fs::write(
        dir.join("Tries.java"),
        "import java.util.concurrent.locks.ReentrantLock;\npublic class Tries {\n\
         public static void main(String[] x) throws Exception {\n\
         ReentrantLock a = new ReentrantLock(), b = new ReentrantLock();\n\
         Thread p = new Thread(() -> { a.lock(); if (b.tryLock()) b.unlock(); a.unlock(); });\n\
         Thread q = new Thread(() -> { b.lock(); if (x.length > 0) a.lock(); else a.tryLock();\n\
         if (a.isHeldByCurrentThread()) a.unlock(); b.unlock(); });\n\
         p.start(); p.join(); q.start(); q.join();\n\
         Thread r = new Thread(() -> { a.lock(); b.lock(); b.unlock(); a.unlock(); });\n\
         Thread s = new Thread(() -> { b.lock(); a.tryLock(); b.unlock(); });\n\
         r.start(); r.join(); s.start(); s.join();\n }\n}\n",
    )
    .expect("it can be written");
    let compiled = run(dir, "javac", &["-g", "Tries.java"]);
    assert!(compiled.status.success(), "{}", said(&compiled));
    let trace = record(dir, "java", &["Tries"]);
    assert!(trace.contains("|tryacq(ReentrantLock@"), "{trace}");
    let found = findings(dir, "deadlock");
    assert!(found.is_empty(), "{found:?}\n{trace}");
}
