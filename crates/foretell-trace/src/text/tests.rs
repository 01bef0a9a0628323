//! Events that lines are read as, and messages about lines that are not events.

use super::*;
use crate::{Event, EventId, EventKind, Op, Value};

fn read(text: &str) -> Parsed {
    parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn written(trace: &Trace) -> String {
    let mut out = Vec::new();
    write(trace, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The error of a text, as `line: message`.
fn error(text: &str) -> String {
    parse(text.as_bytes()).expect_err(text).to_string()
}

fn event(trace: &Trace, i: u32) -> Event {
    trace.event(EventId(i))
}

#[test]
fn every_operation_is_read_and_written_alike() {
    let text = "\
#! meta ended=exit 0
#! name T1=worker 1 (main)
#! ended T1
#! sem s=2
#! barrier b=3
#! init x=7
#! opaque y
#! part x blk
#! part l blk
T1|r(x)
T1|w(x)
T1|r(x=5)|a.c:1
T1|w(x=-5)|a.c:1
T1|ar(x=5)
T1|aw(x=#x0f)
T1|au(x=5>6)
T1|au(x=5)
T1|au(x=>6)
T1|au(x)
T1|acq(l)
T1|rel(l)
T1|racq(l)
T1|rrel(l)
T1|tryfail(l)
T1|rtryfail(l)
T1|tryacq(l)
T1|rtryacq(l)
T1|wait(c,l)
T1|woken(c,l)
T1|timedout(c,l)
T1|notify(c)
T1|notifyall(c)
T1|post(s)
T1|down(s)
T1|arrive(b)
T1|leave(b)
T1|fork(T2)
T1|join(T2)
T1|begin
T1|end
T1|begin(label)
T1|end(label)
T1|r(x=0)->%1
T1|w(x=1)<-(+ %1 1)
T1|guard((> %1 0))
T1|ar(x=0)->%1
T1|aw(x=1)<-(+ %1 1)
T1|ar.rlx(x=0)
T1|aw.rel(x=1)
T1|au.acqrel(x=5>6)
T1|fence
T1|fence.acq
T1|alloc(blk)
T1|free(blk)
T1|au(x=5>6)->%2<-(+ %2 1)|a.c:7|b.c:3 < main.c:1
";
    let parsed = read(text);
    assert_eq!(written(&parsed.trace), text);
    assert!(parsed.notes.is_empty());
    let ops: std::collections::HashSet<_> =
        parsed.trace.ids().map(|e| parsed.trace.op(e)).collect();
    assert_eq!(ops.len(), Op::ALL.len());
    assert_eq!(parsed.lines.line(EventId(0)), 10);
    assert_eq!(parsed.trace.meta()["ended"], "exit 0");
    let trace = parsed.trace;
    let y = trace.find_variable("y").unwrap();
    assert!(trace.is_opaque(y));
    let last = event(&trace, trace.len() as u32 - 1).site.unwrap();
    assert_eq!(trace.location(last), "a.c:7");
    let caller = trace.site_node(last).caller.unwrap();
    assert_eq!(trace.location(caller), "b.c:3");
    let outermost = trace.site_node(caller).caller.unwrap();
    assert_eq!(trace.location(outermost), "main.c:1");
    assert_eq!(trace.site_node(outermost).caller, None);
}

#[test]
fn white_space_line_ends_and_marks_do_not_matter() {
    let plain = read("T1|wait(c,l)|a.c:1\nT1|r(x=1)->%1\nT1|w(x=2)<-(+ %1 1)|7");
    let odd = read(
        "\u{feff}\r\n# note\r\n  T1 |\twait( c , l ) | a.c:1 \r\n\n \
         T1 | r ( x = 1 ) -> %1 \r\nT1|w(x=2) <- (+ %1  1)|7|\r\n   \r\n",
    );
    assert_eq!(written(&plain.trace), written(&odd.trace));
    assert_eq!(odd.lines.line(EventId(0)), 3);
    assert_eq!(odd.lines.line(EventId(1)), 5);
    assert_eq!(odd.lines.line(EventId(2)), 6);
}

#[test]
fn nothing_is_a_trace_too() {
    for text in ["", "\n", "\u{feff}", "# only\n#notes", "\r\n\r\n"] {
        assert!(read(text).trace.is_empty());
    }
}

#[test]
fn values_and_locations_in_their_forms() {
    let trace = read("T1|r(x=0xff)|-1\nT1|r(x=18446744073709551615)|\nT1|r(x=#b1)|12").trace;
    let values: Vec<_> =
        trace.ids().map(|e| trace.values().get(trace.read_value(e).unwrap()).unwrap()).collect();
    assert_eq!(values, [Value::Int(255), Value::Int(-1), Value::Bits { width: 1, bits: 1 }]);
    assert_eq!(event(&trace, 0).site, None);
    assert_eq!(event(&trace, 1).site, None);
    assert_eq!(trace.location(event(&trace, 2).site.unwrap()), "12");
}

#[test]
fn names_are_any_text() {
    let trace = read("nit T–ü|acq(Bank.lock[0]@7f)|a b\nnit T–ü|rel(%41)|x (y, z=3)\n").trace;
    assert_eq!(trace.thread_name(crate::ThreadId(0)), "nit T–ü");
    assert!(trace.find_lock("Bank.lock[0]@7f").is_some() && trace.find_lock("%41").is_some());
    assert_eq!(trace.location(event(&trace, 1).site.unwrap()), "x (y, z=3)");
}

#[test]
fn blocks_have_ids_in_some_dialects() {
    let trace = read("T1|begin(12)|1\nT1|begin()|1\nT1|end|1\nT1|end(12)|1\n").trace;
    let twelve = trace.find_label("12");
    assert!(twelve.is_some());
    assert_eq!(event(&trace, 0).kind, EventKind::Begin { label: twelve });
    assert_eq!(event(&trace, 1).kind, EventKind::Begin { label: None });
    assert_eq!(event(&trace, 3).kind, EventKind::End { label: twelve });
}

#[test]
fn errors_name_line_and_cause() {
    let cases = [
        ("\n\nT1|foo(x)", "3: unknown operation `foo`"),
        ("T1|r", "1: `r` needs a variable in parentheses"),
        ("T1|r()", "1: `r` needs a variable in parentheses"),
        ("T1|r(=5)", "1: `r` needs a variable in parentheses"),
        ("T1|acq|3", "1: `acq` needs a lock in parentheses"),
        ("T1|fork()", "1: `fork` needs a thread in parentheses"),
        ("T1|r(x=abc)", "1: value `abc` is no integer"),
        ("T1|r(x=)", "1: value `` is no integer"),
        ("T1|w(x=1>2)", "1: value `1>2` is no integer"),
        ("T1|au(x=1>)", "1: value `` is no integer"),
        ("T1|r(x", "1: `r(x` has no closing parenthesis"),
        ("T1|r(x)y", "1: `y` after `r(…)` means nothing"),
        ("T1|acq(l)->%1", "1: `->%1` after `acq(…)` means nothing"),
        ("T1|r(x(y))", "1: `x(y` cannot be the name of a variable: it holds `(`"),
        ("T1|acq(a,b)", "1: `a,b` cannot be the name of a lock: it holds `,`"),
        ("T1|acq(a=b)", "1: `a=b` cannot be the name of a lock: it holds `=`"),
        ("T=1|acq(a)", "1: `T=1` cannot be the name of a thread: it holds `=`"),
        ("T1)|acq(a)", "1: `T1)` cannot be the name of a thread: it holds `)`"),
        ("|acq(a)", "1: the thread's field is empty"),
        ("T1||4", "1: the operation's field is empty"),
        ("hello", "1: `hello` is no event (thread|operation|location)"),
        ("T1|r(x)|a|b|c", "1: more than four fields (thread|operation|location|callers)"),
        ("T1|r(x)||b", "1: a call stack (the fourth field) needs a location (the third)"),
        ("T1|r(x)|a|b <  < c", "1: the call stack (the fourth field) has an empty frame"),
        ("T1|woken(c)", "1: `woken` needs a condition and its lock: `woken(c,l)`"),
        ("T1|wait()", "1: `wait` needs a condition and its lock: `wait(c,l)`"),
        ("T1|wait(c,)", "1: `wait` needs a lock in parentheses"),
        ("T1|w(x)->%1", "1: `w` reads nothing that could go to `%1`"),
        ("T1|r(x)<-1", "1: `r` writes nothing that `1` could give"),
        ("T1|r(x)->1", "1: `1` is no register (like `%1`)"),
        ("T1|r(x)->%", "1: `%` is no register (like `%1`)"),
        ("T1|guard()", "1: `guard` needs a condition, like `guard((> %1 0))`, in parentheses"),
        ("T1|guard", "1: `guard` needs a condition, like `guard((> %1 0))`, in parentheses"),
        ("#! sem s", "1: `#! sem` is written like `#! sem s=2`"),
        ("#! sem s=-1", "1: count `-1` is no number that fits"),
        ("#! barrier b=0", "1: barrier `b` needs at least one party"),
        ("#! barrier b=4294967296", "1: number of parties `4294967296` is no number that fits"),
        ("#! init x=y", "1: value `y` is no integer"),
        ("#! init x=1\n#! init x=2", "2: variable `x` was declared before, as `1`"),
        ("#! sem s=1\n#! sem s=2", "2: semaphore `s` was declared before, as `1`"),
        ("#! barrier s=1\n#! barrier s=2", "2: barrier `s` was declared before, as `1`"),
        ("#! name T=a\n#! name T=b", "2: thread `T` was declared before, as `a`"),
        ("#! opaque", "1: `opaque` needs a variable in parentheses"),
        ("T1|r(x)\n#! escaped", "2: `#! escaped` must come before events and declarations"),
        (
            "#! frob x",
            "1: unknown declaration `frob` (sem, barrier, init, opaque, order-only, part, name, ended, meta, escaped)",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error(text), message);
    }
    for text in ["T1|guard((> %1 0)", "T1|guard(> %1 0)", "T1|guard((+ %1 0))", "T1|w(x)<-("] {
        assert!(error(text).starts_with("1: "));
    }
}

#[test]
fn a_message_stays_one_short_line() {
    let message = error(&format!("T1|a\u{1}b{}(x)", "z".repeat(5000)));
    assert!(message.len() < 200 && !message.contains('\u{1}'), "{message}");
}

#[test]
fn an_error_gives_what_came_before_it() {
    let error = parse(b"T0|fork(1)\nT1|r(x)\n\nT1|foo(x)\nT1|r(x)\n").unwrap_err();
    assert_eq!((error.line, error.before.trace.len()), (4, 2));
    assert_eq!(error.before.lines.line(EventId(1)), 2);
    assert_eq!(error.before.notes, ["read thread `1` as `T1`"]);
}

#[test]
fn text_that_is_not_utf8_is_found_where_it_is() {
    let text = b"T1|r(x)|1\nT1|r(x)|\xe9\nT1|r(x)|1\n";
    let error = parse(text).unwrap_err();
    assert_eq!(error.to_string(), "2: the line is not UTF-8 text");
    assert_eq!(error.before.trace.len(), 1);
    assert_eq!(parse(b"\xff\xfeT\x001\x00").unwrap_err().line, 1);
    // An earlier line that does not parse comes first.
    assert_eq!(parse(b"T1|foo(x)\nT1|r(x)|\xe9\n").unwrap_err().line, 1);
    let parsed = parse_lenient(text);
    assert_eq!(parsed.trace.len(), 2);
    assert_eq!(parsed.lines.line(EventId(1)), 3);
    let note = "dropped 1 line with text that is not UTF-8; the first is line 2: the line is not \
                UTF-8 text";
    assert_eq!(parsed.notes, [note]);
}

#[test]
fn lenient_reading_drops_and_counts() {
    let text = "T1|foo(x)\nT1|r(x)\nT1|bar(x)\n#! frob\nT1|r(x=z)\nT2|req(l)\nT2|w(x)";
    let parsed = parse_lenient(text.as_bytes());
    assert_eq!(written(&parsed.trace), "T1|r(x)|-1\nT2|w(x)|-1\n");
    assert_eq!(
        parsed.notes,
        [
            "skipped 1 `req` line",
            "dropped 2 lines with an unknown operation; the first is line 1: unknown operation `foo`",
            "dropped 1 line with a declaration that does not parse; the first is line 4: unknown \
             declaration `frob` (sem, barrier, init, opaque, order-only, part, name, ended, meta, escaped)",
            "dropped 1 line with a value that is none; the first is line 5: value `z` is no integer",
        ]
    );
}

#[test]
fn traces_that_rapid_knows_are_written_for_rapid() {
    let rapid = "T1|acq(l)\nT1|r(x)|5\nT1|begin(3)\nT1|fork(T2)\n";
    let text = written(&read(rapid).trace);
    assert_eq!(text, "T1|acq(l)|-1\nT1|r(x)|5\nT1|begin(3)|-1\nT1|fork(T2)|-1\n");
    assert_eq!(written(&read(&text).trace), text);
    for more in ["T1|r(x=1)\n", "T1|ar(x)\n", "T1|r(x)|a.c:1\n", "#! opaque x\n", "T1|post(s)\n"] {
        assert!(!written(&read(&format!("{rapid}{more}")).trace).contains("|-1"));
    }
}

#[test]
fn odd_names_are_escaped() {
    let mut b = Trace::default().into_builder();
    let t = b.thread("#main|x");
    let (one, whole) = (b.thread("1"), b.thread("T1"));
    let lock = b.lock("operator=(int, int)");
    let outer = b.site("a < b", None);
    let site = Some(b.site("-1", Some(outer)));
    let var = b.variable("");
    b.push(t, EventKind::Acquire { lock }, site);
    b.push(whole, EventKind::Read { var, atomic: false, value: None, register: None }, None);
    b.push(t, EventKind::Fork { thread: one }, None);
    let trace = b.build();
    let text = written(&trace);
    assert_eq!(
        text,
        "#! escaped\n%23main%7cx|acq(operator%3d%28int%2c int%29)|%2d1|a %3c b\nT1|r(%-)\n\
         %23main%7cx|fork(1)\n"
    );
    assert_eq!(written(&read(&text).trace), text);
}

#[test]
fn traces_that_text_cannot_hold_are_refused() {
    let refused = |build: &dyn Fn(&mut crate::TraceBuilder)| {
        let mut b = Trace::default().into_builder();
        build(&mut b);
        let mut out = Vec::new();
        let error = write(&b.build(), &mut out).unwrap_err();
        assert!(out.is_empty());
        error.to_string()
    };
    let read = |b: &mut crate::TraceBuilder, thread: &str, register: &str| {
        let (t, var) = (b.thread("T1"), b.variable("x"));
        let thread = b.thread(thread);
        let register = Some(b.register(thread, register));
        b.push(t, EventKind::Read { var, atomic: false, value: None, register }, None);
    };
    let message = refused(&|b| read(b, "T1", "a b"));
    assert_eq!(message, "register \"a b\" has a name that text cannot hold");
    let message = refused(&|b| read(b, "T2", "1"));
    assert_eq!(message, "register %1 belongs to another thread");
    let message = refused(&|b| {
        let (t, u) = (b.thread("T1"), b.thread("T2"));
        let expr = crate::expr::parse_guard("(> %1 0)", u, b).unwrap();
        b.push(t, EventKind::Guard { expr }, None);
    });
    assert_eq!(message, "an expression of T1 uses registers of another thread");
    let message = refused(&|b| {
        let t = b.thread("T1");
        let mut e = crate::expr::parse("%1", t, b).unwrap();
        for _ in 0..70 {
            let twice = crate::expr::Expr::App(crate::expr::ExprOp::Add, [e, e].into());
            e = b.exprs().intern(twice);
        }
        let var = b.variable("x");
        let kind = EventKind::Write { var, atomic: false, value: None, expr: Some(e) };
        b.push(t, kind, None);
    });
    assert!(message.starts_with("an expression is too large"), "{message}");
}

#[test]
fn the_literature_reads_and_comes_back() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/literature");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "std") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let parsed = parse(&bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(written(&parsed.trace).trim_end(), text.trim_end(), "{path:?}");
        seen += 1;
    }
    assert_eq!(seen, 33);
}
