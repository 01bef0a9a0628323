//! Traces in a few words, and small helpers.

#![allow(dead_code)] // Each test file uses its part.

use foretell_trace::expr::parse;
use foretell_trace::{
    EventId, EventKind, Model, RegId, ThreadId, Trace, TraceBuilder, Value, ValueId, legality, text,
};
use foretell_verify::{Checker, Pattern, Rule};

/// A trace from words like `1:w(x=1)`, one event each, separated by white space; thread 1 is called
/// T1. Declarations come first: `init(x=7)`, `sem(s=2)`, `barrier(b=3)`, `opaque(x)`. Symbolic:
/// `1:r(x=0)->a` and `1:w(x=1)<-[(+ %a 1)]` and `1:guard[(> %a 0)]` with `~` for spaces inside
/// expressions.
pub(crate) fn trace(text: &str) -> Trace {
    let mut b = TraceBuilder::new();
    for word in text.split_whitespace() {
        match word.split_once(':') {
            Some((thread, event)) => {
                let t = b.thread(&format!("T{thread}"));
                let kind = kind(event, t, &mut b);
                b.push(t, kind, None);
            }
            None => declare(word, &mut b),
        }
    }
    b.build()
}

/// A legal trace from words of the text format: `1:w(x)` is an event of T1, others are lines of
/// the header, with `~` for a space.
pub(crate) fn legal_trace(words: &str) -> Trace {
    let line = |word: &str| match word.split_once(':') {
        Some((thread, event)) => format!("T{thread}|{event}"),
        None => word.replace('~', " "),
    };
    let lines: Vec<String> = words.split_whitespace().map(line).collect();
    let trace = text::parse(lines.join("\n").as_bytes()).expect("trace text").trace;
    legality::check(&trace).expect("a legal trace");
    trace
}

fn inside(word: &str) -> (&str, &str, &str) {
    let (head, rest) = word.split_once('(').unwrap_or((word, ")"));
    let (args, tail) = rest.split_once(')').unwrap();
    (head, args, tail)
}

fn declare(word: &str, b: &mut TraceBuilder) {
    let (head, args, _) = inside(word);
    let (name, number) = args.split_once('=').unwrap_or((args, "0"));
    match head {
        "init" => {
            let (x, v) = (b.variable(name), value(number, b));
            b.set_initial_value(x, v);
        }
        "sem" => {
            let s = b.semaphore(name);
            b.set_initial_count(s, number.parse().unwrap());
        }
        "barrier" => {
            let barrier = b.barrier(name);
            b.set_parties(barrier, number.parse().unwrap());
        }
        "opaque" => {
            let x = b.variable(name);
            b.set_opaque(x);
        }
        _ => panic!("{word}"),
    }
}

fn value(number: &str, b: &mut TraceBuilder) -> ValueId {
    b.values().intern(Value::Int(number.parse().unwrap()))
}

fn kind(word: &str, t: ThreadId, b: &mut TraceBuilder) -> EventKind {
    if let Some(expr) = word.strip_prefix("guard") {
        let text = expr.trim_matches(['[', ']']).replace('~', " ");
        return EventKind::Guard { expr: parse(&text, t, b).unwrap() };
    }
    let (head, args, tail) = inside(word);
    let expr =
        tail.split_once("<-").map(|(_, text)| text.trim_matches(['[', ']']).replace('~', " "));
    let register: Option<RegId> = tail.strip_prefix("->").map(|r| {
        let name = r.split_once("<-").map_or(r, |(name, _)| name);
        b.register(t, name)
    });
    let expr = expr.map(|text| parse(&text, t, b).unwrap());
    let (name, number) = args.split_once('=').map_or((args, None), |(x, v)| (x, Some(v)));
    let second = |b: &mut TraceBuilder| {
        let (c, l) = args.split_once(',').unwrap();
        (b.condition(c), b.lock(l))
    };
    match head {
        "r" | "ar" => EventKind::Read {
            var: b.variable(name),
            atomic: head == "ar",
            value: number.map(|n| value(n, b)),
            register,
        },
        "w" | "aw" => EventKind::Write {
            var: b.variable(name),
            atomic: head == "aw",
            value: number.map(|n| value(n, b)),
            expr,
        },
        "au" => {
            let both = number.and_then(|n| n.split_once('>'));
            let old = both.map(|(old, _)| value(old, b));
            let new = both.map(|(_, new)| value(new, b));
            EventKind::Update { var: b.variable(name), old, new, register, expr }
        }
        "acq" => EventKind::Acquire { lock: b.lock(name) },
        "rel" => EventKind::Release { lock: b.lock(name) },
        "racq" => EventKind::AcquireShared { lock: b.lock(name) },
        "tryacq" => EventKind::TryAcquire { lock: b.lock(name) },
        "rtryacq" => EventKind::TryAcquireShared { lock: b.lock(name) },
        "rrel" => EventKind::ReleaseShared { lock: b.lock(name) },
        "tryfail" => EventKind::TryFailed { lock: b.lock(name) },
        "rtryfail" => EventKind::TryFailedShared { lock: b.lock(name) },
        "wait" => {
            let (cond, lock) = second(b);
            EventKind::Wait { cond, lock }
        }
        "woken" => {
            let (cond, lock) = second(b);
            EventKind::Woken { cond, lock }
        }
        "timedout" => {
            let (cond, lock) = second(b);
            EventKind::TimedOut { cond, lock }
        }
        "notify" => EventKind::Notify { cond: b.condition(name) },
        "notifyall" => EventKind::NotifyAll { cond: b.condition(name) },
        "post" => EventKind::Post { sem: b.semaphore(name) },
        "down" => EventKind::Down { sem: b.semaphore(name) },
        "arrive" => EventKind::Arrive { barrier: b.barrier(name) },
        "leave" => EventKind::Leave { barrier: b.barrier(name) },
        "fork" => EventKind::Fork { thread: b.thread(&format!("T{name}")) },
        "join" => EventKind::Join { thread: b.thread(&format!("T{name}")) },
        "begin" => EventKind::Begin { label: None },
        "end" => EventKind::End { label: None },
        _ => panic!("{word}"),
    }
}

pub(crate) fn ids(indices: &[u32]) -> Vec<EventId> {
    indices.iter().map(|&i| EventId(i)).collect()
}

/// The rule that makes a schedule infeasible, with its position; `None` if it is feasible.
pub(crate) fn broken_rule(trace: &Trace, model: Model, schedule: &[u32]) -> Option<(Rule, usize)> {
    let refusal = Checker::new(trace, model).feasible(&ids(schedule)).err()?;
    Some((refusal.rule, refusal.step.expect("a step")))
}

pub(crate) fn verdict(
    trace: &Trace,
    model: Model,
    pattern: &Pattern,
    schedule: &[u32],
) -> Option<Rule> {
    foretell_verify::verify(trace, model, pattern, &ids(schedule)).err().map(|r| r.rule)
}

/// Every feasible schedule, by trying every event after every feasible one.
pub(crate) fn all_feasible(trace: &Trace, model: Model) -> Vec<Vec<u32>> {
    feasible_within(trace, model, usize::MAX).expect("no limit")
}

/// All interleavings, or `None` if there are more than `most`.
pub(crate) fn feasible_within(trace: &Trace, model: Model, most: usize) -> Option<Vec<Vec<u32>>> {
    let checker = Checker::new(trace, model);
    let mut all = vec![Vec::new()];
    let mut done = 0;
    while done < all.len() {
        for e in 0..trace.len() as u32 {
            let longer: Vec<u32> = all[done].iter().copied().chain([e]).collect();
            if checker.feasible(&ids(&longer)).is_ok() {
                all.push(longer);
            }
        }
        done += 1;
        if all.len() > most {
            return None;
        }
    }
    Some(all)
}

/// Those that are no prefix of a longer one.
pub(crate) fn maximal(all: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let extended = |s: &Vec<u32>| all.iter().any(|l| l.len() == s.len() + 1 && l.starts_with(s));
    let mut maximal: Vec<_> = all.iter().filter(|s| !extended(s)).cloned().collect();
    maximal.sort();
    maximal
}
