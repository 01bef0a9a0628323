//! Traces for tests: a reader for the little of trace text that they use, and random legal ones.
#![allow(dead_code)] // Each test binary uses its part.

pub(crate) mod random;

use foretell_trace::expr;
use foretell_trace::{EventId, EventKind, ThreadId, Trace, TraceBuilder, Value, ValueId, legality};

/// The trace written as text, which must be legal. Events may be indented.
pub(crate) fn trace(text: &str) -> Trace {
    let trace = any_trace(text);
    legality::check(&trace).expect("a legal trace");
    trace
}

/// The trace written as text, legal or not.
pub(crate) fn any_trace(text: &str) -> Trace {
    let mut b = TraceBuilder::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        match line.strip_prefix("#! ") {
            Some(declaration) => declare(&mut b, declaration),
            None => event(&mut b, line),
        }
    }
    b.build()
}

fn declare(b: &mut TraceBuilder, declaration: &str) {
    let (word, rest) = declaration.split_once(' ').expect("a declaration");
    let (name, value) = rest.split_once('=').unwrap_or((rest, "0"));
    match word {
        "sem" => {
            let s = b.semaphore(name);
            b.set_initial_count(s, value.parse().expect("a count"));
        }
        "barrier" => {
            let barrier = b.barrier(name);
            b.set_parties(barrier, value.parse().expect("a number of parties"));
        }
        "init" => {
            let (x, value) = (b.variable(name), number(b, value));
            b.set_initial_value(x, value);
        }
        "opaque" => {
            let x = b.variable(name);
            b.set_opaque(x);
        }
        _ => panic!("no declaration {declaration}"),
    }
}

fn event(b: &mut TraceBuilder, line: &str) {
    let mut parts = line.split('|');
    let thread = b.thread(parts.next().expect("a thread"));
    let written = parts.next().expect("an operation");
    let kind = match written.split_once('(') {
        None if written == "begin" => EventKind::Begin { label: None },
        None if written == "end" => EventKind::End { label: None },
        None => panic!("no operation {written}"),
        Some((word, operand)) => operation(b, thread, word, operand),
    };
    b.push(thread, kind, None);
}

fn operation(b: &mut TraceBuilder, thread: ThreadId, word: &str, operand: &str) -> EventKind {
    let (operand, symbolic) = match operand.find(")->").or(operand.find(")<-")) {
        Some(i) => (&operand[..i], &operand[i + 3..]),
        None => (&operand[..operand.len() - 1], ""),
    };
    let (first, second) = operand.split_once(',').unwrap_or((operand, ""));
    match word {
        "r" | "ar" | "w" | "aw" | "au" => access(b, thread, word, operand, symbolic),
        "acq" => EventKind::Acquire { lock: b.lock(first) },
        "rel" => EventKind::Release { lock: b.lock(first) },
        "racq" => EventKind::AcquireShared { lock: b.lock(first) },
        "rrel" => EventKind::ReleaseShared { lock: b.lock(first) },
        "tryfail" => EventKind::TryFailed { lock: b.lock(first) },
        "wait" => EventKind::Wait { cond: b.condition(first), lock: b.lock(second) },
        "woken" => EventKind::Woken { cond: b.condition(first), lock: b.lock(second) },
        "timedout" => EventKind::TimedOut { cond: b.condition(first), lock: b.lock(second) },
        "notify" => EventKind::Notify { cond: b.condition(first) },
        "notifyall" => EventKind::NotifyAll { cond: b.condition(first) },
        "post" => EventKind::Post { sem: b.semaphore(first) },
        "down" => EventKind::Down { sem: b.semaphore(first) },
        "arrive" => EventKind::Arrive { barrier: b.barrier(first) },
        "leave" => EventKind::Leave { barrier: b.barrier(first) },
        "fork" => EventKind::Fork { thread: b.thread(first) },
        "join" => EventKind::Join { thread: b.thread(first) },
        "guard" => EventKind::Guard { expr: expr::parse(operand, thread, b).expect("a condition") },
        _ => panic!("no operation {word}"),
    }
}

fn access(
    b: &mut TraceBuilder,
    thread: ThreadId,
    word: &str,
    operand: &str,
    symbolic: &str,
) -> EventKind {
    let (name, value) = operand.split_once('=').unwrap_or((operand, ""));
    let (old, new) = value.split_once('>').unwrap_or((value, ""));
    let var = b.variable(name);
    let atomic = word.starts_with('a');
    let value = (!old.is_empty()).then(|| number(b, old));
    let new = (!new.is_empty()).then(|| number(b, new));
    let register = symbolic.strip_prefix('%').map(|name| b.register(thread, name));
    let expr = (!symbolic.is_empty() && register.is_none())
        .then(|| expr::parse(symbolic, thread, b).expect("an expression"));
    match word {
        "r" | "ar" => EventKind::Read { var, atomic, value, register },
        "w" | "aw" => EventKind::Write { var, atomic, value, expr },
        _ => EventKind::Update { var, old: value, new, register, expr },
    }
}

fn number(b: &mut TraceBuilder, text: &str) -> ValueId {
    b.values().intern(Value::Int(text.parse().expect("a number")))
}

/// Event identifiers from numbers.
pub(crate) fn ids<const N: usize>(numbers: [u32; N]) -> [EventId; N] {
    numbers.map(EventId)
}
