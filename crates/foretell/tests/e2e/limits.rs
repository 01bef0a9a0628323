//! Limits: `--budget`, `--memory`, signals, and the exit status of a command that was cut short.
//!
//! Nothing here asserts a time. A run that does not obey its limit is ended after a minute, and
//! that is a failure.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{EventKind, TraceBuilder, Value};

use super::*;

/// Waits for a command; one that takes longer than a minute has ignored its limit.
fn finish(child: Child) -> Ran {
    let id = child.id().to_string();
    let (sender, receiver) = channel();
    // Its output is read meanwhile: a full pipe would stop it.
    thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(Duration::from_secs(60)) {
        Ok(output) => output.expect("a child").into(),
        Err(_) => {
            let _ = Command::new("kill").args(["-KILL", &id]).status();
            panic!("the limit was ignored");
        }
    }
}

fn start<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Child {
    let mut command = command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

fn limited<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    finish(start(arguments))
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill").success());
}

/// Locks taken in all orders by several threads, before a race: the circles of the lock graph are
/// more than can be listed.
fn circles() -> String {
    const LOCKS: usize = 6;
    let mut text = String::new();
    for thread in 0..8 {
        for a in 0..LOCKS {
            for b in (0..LOCKS).filter(|&b| b != a) {
                for operation in ["acq", "rel"] {
                    let (first, second) = if operation == "acq" { (a, b) } else { (b, a) };
                    for lock in [first, second] {
                        text += &format!("T{thread}|{operation}(l{lock})|locks.c:{}\n", 10 * a + b);
                    }
                }
            }
        }
    }
    text + "T0|w(x)|race.c:1\nT1|w(x)|race.c:2\n"
}

/// The only finding is a read that may see either value.
const NONDETERMINISTIC: &str = "T1|ar(x=0)|a.c:1\nT2|aw(x=1)|a.c:2\n";

#[test]
fn budget_holds_while_candidates_are_listed() {
    let files = Files::new();
    let (trace, json) = (files.add("circles.std", circles()), files.path("found.json"));
    let (html, sarif) = (files.path("found.html"), files.path("found.sarif"));
    let predict = ["predict", text(&trace), "--budget", "1", "--analyses", "deadlock"];
    let outputs = ["--json", text(&json), "--html", text(&html), "--sarif", text(&sarif)];
    let ran = limited(predict.into_iter().chain(outputs));
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.stderr.contains("out of time"), "{ran:?}");
    let row = ran.stdout.lines().find(|line| line.starts_with("deadlock ")).expect("a row");
    assert!(row.contains('?') && row.ends_with("cut short"), "{row}");
    assert!(ran.stdout.contains("undecided: deadlock: not everything was looked at: time limit"));
    let written = read(&json);
    assert!(written.contains(r#""complete":false"#) && written.contains(r#""kind":"deadlock""#));
    assert!(read(&html).contains(r#""complete":false"#));
    assert!(read(&sarif).contains(r#""executionSuccessful": false"#));
    // The file says so to all who read it.
    for reader in ["report", "merge"] {
        assert_eq!(foretell([reader, text(&json)]).status, 3, "{reader}");
    }
}

#[test]
fn cheap_analyses_come_first() {
    let files = Files::new();
    let trace = files.add("circles.std", circles());
    let ran = limited(["predict", text(&trace), "--budget", "5", "--analyses", "race,deadlock"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stdout.contains("race.c:1") && ran.stdout.contains("cut short"), "{ran:?}");
}

#[test]
fn spent_budget_decides_nothing() {
    let files = Files::new();
    let (trace, json) = (files.add("race.std", "T1|w(x)\nT2|w(x)\n"), files.path("found.json"));
    let ran = limited(["predict", text(&trace), "--budget", "0", "--json", text(&json)]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(!ran.stdout.contains("race "), "{ran:?}");
    assert!(read(&json).contains(r#""complete":false"#));
}

#[test]
fn signals_end_an_analysis_with_its_findings_so_far() {
    for name in ["-INT", "-TERM"] {
        let files = Files::new();
        let (trace, json) = (files.add("circles.std", circles()), files.path("found.json"));
        let child = start(["predict", text(&trace), "--json", text(&json)]);
        thread::sleep(Duration::from_secs(2));
        signal(&child, name);
        let ran = finish(child);
        let written = read(&json);
        assert!(written.contains(r#""complete":false"#), "{written}");
        let found = written.contains(r#""id":"race-1""#);
        assert_eq!(ran.status, if found { 1 } else { 3 }, "{ran:?}");
        assert!(ran.stderr.contains("interrupted"), "{ran:?}");
    }
}

/// Nothing comes from the pipe, so no loop sees the signal.
#[test]
fn signals_end_a_command_that_waits_for_its_input() {
    for arguments in [["stats", "-"], ["predict", "-"]] {
        let mut child = command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let input = child.stdin.as_mut().expect("a pipe");
        input.write_all(b"T1|w(x)\nT2|w(x)\n").expect("a pipe with a reader");
        thread::sleep(Duration::from_millis(500));
        signal(&child, "-TERM");
        let input = child.stdin.take();
        let ran = finish(child);
        drop(input);
        assert_eq!(ran.status, 3, "{ran:?}");
        assert!(ran.stderr.contains("interrupted"), "{ran:?}");
    }
}

#[test]
fn memory_ends_in_undecided() {
    let files = Files::new();
    let mut nested = String::new();
    for thread in ["T1", "T2"] {
        (0..5_000).for_each(|lock| nested += &format!("{thread}|acq(l{lock})\n"));
        nested += &format!("{thread}|w(x)\n");
        (0..5_000).rev().for_each(|lock| nested += &format!("{thread}|rel(l{lock})\n"));
    }
    let trace = files.add("nested.std", nested);
    let ran = limited(["predict", text(&trace), "--memory", "60M", "--budget", "40"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.stderr.contains("memory"), "{ran:?}");
    let line = foretell(["predict", text(&trace), "--memory", "lots"]).refused();
    assert!(line.contains("`lots` is not a size"), "{line}");
}

#[test]
fn deep_nesting_and_many_threads_are_answered() {
    let files = Files::new();
    let mut blocks = String::new();
    for thread in ["T1", "T2"] {
        blocks += &format!("{thread}|begin\n").repeat(20_000);
        blocks += &format!("{thread}|w(x)\n{thread}|r(x)\n");
        blocks += &format!("{thread}|end\n").repeat(20_000);
    }
    let mut threads = String::new();
    (0..1_000).for_each(|t| threads += &format!("M|fork(T{t})\n"));
    (0..1_000).for_each(|t| threads += &format!("T{t}|w(x)|w.c:1\n"));
    (0..1_000).for_each(|t| threads += &format!("M|join(T{t})\n"));
    let nested =
        format!("T1|r(x=1)->%1\nT1|guard({}%1{})\n", "(+ 1 ".repeat(9_000), ")".repeat(9_000));
    for (name, content) in [("blocks.std", blocks), ("threads.std", threads)] {
        let trace = files.add(name, content);
        let ran = limited(["predict", text(&trace), "--budget", "30", "--memory", "1G"]);
        assert!([1, 3].contains(&ran.status), "{name}: {ran:?}");
    }
    let trace = files.add("nested.std", nested);
    assert!(foretell(["predict", text(&trace)]).refused().contains("nested more than"));
}

/// Forty sums, each of the one before with itself: a tree of them has 2⁴⁰ leaves.
#[test]
fn shared_parts_of_expressions_are_not_spelled_out() {
    let mut b = TraceBuilder::new();
    let (writer, reader, x) = (b.thread("T1"), b.thread("T2"), b.variable("x"));
    let one = b.values().intern(Value::Int(1));
    let register = b.register(reader, "1");
    b.push(
        reader,
        EventKind::Read { var: x, atomic: false, value: Some(one), register: Some(register) },
        None,
    );
    let mut sum = b.exprs().intern(Expr::Reg(register));
    for _ in 0..40 {
        sum = b.exprs().intern(Expr::App(ExprOp::Add, [sum, sum].into()));
    }
    let zero = b.exprs().intern(Expr::Const(Value::Int(0)));
    let expr = b.exprs().intern(Expr::App(ExprOp::Distinct, [sum, zero].into()));
    b.push(reader, EventKind::Guard { expr }, None);
    b.push(reader, EventKind::Write { var: x, atomic: false, value: Some(one), expr: None }, None);
    b.push(writer, EventKind::Write { var: x, atomic: false, value: Some(one), expr: None }, None);
    let files = Files::new();
    let (trace, json) = (files.path("sums.ft"), files.path("found.json"));
    foretell_trace::io::save(&b.build(), &trace).expect("a trace");
    let limits = ["--budget", "40", "--memory", "1G"];
    let predict = ["predict", text(&trace), "--model", "symbolic", "--json", text(&json)];
    let ran = limited(predict.into_iter().chain(limits));
    assert!([1, 3].contains(&ran.status), "{ran:?}");
    assert!(ran.stdout.len() < 1 << 20, "{}", ran.stdout.len());
    let ran = limited(["verify", text(&trace), text(&json)]);
    assert!([0, 3].contains(&ran.status), "{ran:?}");
    assert!([1, 3].contains(&limited(["report", text(&trace), text(&json)]).status));
    let line = limited(["convert", text(&trace), text(&files.path("sums.std"))]).refused();
    assert!(line.contains("too large to be written as text"), "{line}");
}

#[test]
fn nondeterminism_alone_does_not_count() {
    let files = Files::new();
    let (trace, json) = (files.add("read.std", NONDETERMINISTIC), files.path("found.json"));
    let out = foretell(["predict", text(&trace), "--json", text(&json)]).quietly(0);
    assert!(out.contains("nondeterminism-1"), "{out}");
    let commands =
        [vec!["predict", text(&trace)], vec!["report", text(&json)], vec!["merge", text(&json)]];
    for command in commands {
        assert_eq!(foretell(&command).status, 0, "{command:?}");
        let asked = command.iter().chain(&["--fail-on", "nondeterminism"]);
        assert_eq!(foretell(asked).status, 1, "{command:?}");
    }
}

/// The race is decided at once; the circles of the lock graph are more than can be listed.
#[test]
fn findings_are_printed_as_they_are_decided() {
    let files = Files::new();
    let trace = files.add("circles.std", circles());
    let mut child = start(["predict", text(&trace), "--analyses", "race,deadlock"]);
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.starts_with("race-1") {
        line.clear();
        assert!(out.read_line(&mut line).expect("text") > 0, "it ended without the race");
    }
    assert!(child.try_wait().expect("a child").is_none(), "it has not ended yet");
    signal(&child, "-TERM");
    let ran = finish(child);
    assert_eq!(ran.status, 1, "{ran:?}");
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    assert!(rest.contains("race.c:2") && rest.contains("cut short"), "{rest}");
}

/// Decided queries are reported also if code that looks at no limit needs the memory: tables with a
/// row for each of 10,000 threads are such a case.
#[test]
fn findings_before_the_memory_was_used_up_are_kept() {
    let files = Files::new();
    let (json, html) = (files.path("found.json"), files.path("found.html"));
    let race = files.add("race.std", "T1|w(x)|race.c:1\nT2|w(x)|race.c:2\n");
    let mut threads = String::new();
    (0..10_000).for_each(|t| threads += &format!("M|fork(T{t})\n"));
    (0..10_000).for_each(|t| threads += &format!("T{t}|w(x)|w.c:{}\n", t % 7));
    (0..10_000).for_each(|t| threads += &format!("M|join(T{t})\n"));
    let many = files.add("threads.std", threads);
    let outputs = ["--json", text(&json), "--html", text(&html)];
    for memory in ["30M", "40M", "60M"] {
        let predict = ["predict", text(&race), text(&many), "--memory", memory];
        let ran = limited(predict.iter().chain(&outputs));
        assert_eq!(ran.status, 1, "{memory}: {ran:?}");
        assert!(ran.stderr.contains("out of memory"), "{memory}: {ran:?}");
        assert!(ran.stdout.contains("race-1"), "{memory}: {ran:?}");
        let written = read(&json);
        assert!(written.contains(r#""id":"race-1""#), "{memory}: {written}");
        assert!(written.contains(r#""complete":false"#), "{memory}: {written}");
        assert!(read(&html).contains("race.c:2"), "{memory}");
    }
}

#[test]
fn junk_is_refused_at_its_first_byte() {
    let files = Files::new();
    let (race, json) = (files.add("race.std", "T1|w(x)\nT2|w(x)\n"), files.path("found.json"));
    foretell(["predict", text(&race), "--json", text(&json)]);
    let out = files.path("out.ft");
    for command in [
        &["predict", "/dev/zero"][..],
        &["stats", "/dev/zero"],
        &["verify", "/dev/zero", text(&json)],
        &["report", "/dev/zero", text(&json)],
        &["convert", "/dev/zero", text(&out)],
    ] {
        let line = limited(command).refused();
        assert!(line.starts_with("/dev/zero:1: the line has a NUL byte"), "{line}");
    }
    let junk = files.add("junk.std", b"T1|w(x)\nT2|w(x)\nT1|w(\0x)\n");
    let line = limited(["predict", text(&junk)]).refused();
    assert!(line.contains("junk.std:3: the line has a NUL byte"), "{line}");
}

/// A line without end, and bytes without end, from a pipe whose writer goes on until it is closed.
#[test]
fn endless_pipes_are_refused() {
    let endless: [(&[u8], &str); 2] = [
        (b"T1|w(x)\n\0", "<stdin>:2: the line has a NUL byte"),
        (b"T1|w(x)\nT", "<stdin>:2: the line has more than"),
    ];
    for (bytes, expected) in endless {
        let mut child = command(["predict", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut input = child.stdin.take().expect("a pipe");
        let last = *bytes.last().expect("bytes");
        input.write_all(bytes).expect("a pipe with a reader");
        thread::spawn(move || while input.write_all(&[last; 4096]).is_ok() {});
        let line = finish(child).refused();
        assert!(line.starts_with(expected), "{line}");
    }
}
