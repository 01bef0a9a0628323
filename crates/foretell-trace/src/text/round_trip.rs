//! Written text reads back as an equal trace, and no input makes the reader panic.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{parse, parse_lenient, write};
use crate::{
    EventKind, LockId, MemoryOrder, SiteId, ThreadId, Trace, TraceBuilder, Value, ValueId, VarId,
    expr,
};

/// All that a trace says, spelled out with names instead of identifiers (which depend on the
/// order in which names came up).
fn spelled_out(trace: &Trace) -> Vec<String> {
    let value = |v: Option<ValueId>| v.and_then(|v| trace.values().get(v));
    let frames = |site: Option<SiteId>| {
        let mut frames = Vec::new();
        let mut next = site;
        while let Some(site) = next {
            frames.push(trace.location(site));
            next = trace.site_node(site).caller;
        }
        frames
    };
    let register = |r: Option<crate::RegId>| {
        r.map(|r| (trace.thread_name(trace.register(r).thread), trace.register_name(r)))
    };
    let expression = |e: Option<crate::ExprId>| e.map(|e| expr::print(trace, e));
    let mut all = declarations(trace);
    for event in trace.events() {
        let operands = match event.kind {
            EventKind::Read { var, value: v, register: r, .. } => {
                format!("{:?} {:?} {:?}", trace.variable_name(var), value(v), register(r))
            }
            EventKind::Write { var, value: v, expr, .. } => {
                format!("{:?} {:?} {:?}", trace.variable_name(var), value(v), expression(expr))
            }
            EventKind::Update { var, old, new, register: r, expr } => format!(
                "{:?} {:?} {:?} {:?} {:?}",
                trace.variable_name(var),
                value(old),
                value(new),
                register(r),
                expression(expr)
            ),
            EventKind::Acquire { lock }
            | EventKind::Release { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::TryFailed { lock }
            | EventKind::TryFailedShared { lock } => format!("{:?}", trace.lock_name(lock)),
            EventKind::Wait { cond, lock }
            | EventKind::Woken { cond, lock }
            | EventKind::TimedOut { cond, lock } => {
                format!("{:?} {:?}", trace.condition_name(cond), trace.lock_name(lock))
            }
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                format!("{:?}", trace.condition_name(cond))
            }
            EventKind::Post { sem } | EventKind::Down { sem } => {
                format!("{:?} {}", trace.semaphore_name(sem), trace.initial_count(sem))
            }
            EventKind::Arrive { barrier } | EventKind::Leave { barrier } => {
                format!("{:?} {:?}", trace.barrier_name(barrier), trace.parties(barrier))
            }
            EventKind::Fork { thread } | EventKind::Join { thread } => {
                format!("{:?}", trace.thread_name(thread))
            }
            EventKind::Begin { label } | EventKind::End { label } => {
                format!("{:?}", label.map(|l| trace.label_name(l)))
            }
            EventKind::Guard { expr } => format!("{:?}", expression(Some(expr))),
            EventKind::Fence => String::new(),
            EventKind::Alloc { block } | EventKind::Free { block } => {
                format!("{:?}", trace.mem_block_name(block))
            }
        };
        let thread = trace.thread_name(event.thread);
        let (op, order, frames) = (event.kind.op(), event.order, frames(event.site));
        all.push(format!("{thread:?} {op:?} {order:?} {operands} {frames:?}"));
    }
    all
}

fn declarations(trace: &Trace) -> Vec<String> {
    let threads = (0..trace.thread_count() as u32).map(ThreadId).filter_map(|t| {
        let display = trace.declared_display_name(t)?;
        Some(format!("name {:?} {display:?}", trace.thread_name(t)))
    });
    let variables = (0..trace.variable_count() as u32).map(VarId).filter_map(|v| {
        let initial = trace.declared_initial_value(v).and_then(|v| trace.values().get(v));
        let told = initial.is_some() || trace.is_opaque(v);
        let opaque = trace.is_opaque(v);
        told.then(|| format!("var {:?} {initial:?} {opaque}", trace.variable_name(v)))
    });
    let ended = (0..trace.thread_count() as u32).map(ThreadId).filter(|&t| trace.has_ended(t));
    let ended = ended.map(|t| format!("ended {:?}", trace.thread_name(t)));
    let order_only = (0..trace.lock_count() as u32).map(LockId).filter(|&l| trace.is_order_only(l));
    let order_only = order_only.map(|l| format!("order-only {:?}", trace.lock_name(l)));
    let parts = parts(trace);
    let meta = trace.meta().iter().map(|(key, value)| format!("meta {key:?} {value:?}"));
    let mut all: Vec<_> = threads.chain(variables).chain(meta).chain(ended).collect();
    all.extend(order_only.chain(parts));
    all.sort();
    all
}

/// The parts of memory blocks, of objects that some event uses.
fn parts(trace: &Trace) -> Vec<String> {
    let mut parts = Vec::new();
    for event in trace.events() {
        let lock = |l| (trace.lock_name(l), trace.block_of_lock(l));
        let (name, block) = match event.kind {
            EventKind::Read { var, .. } => (trace.variable_name(var), trace.block_of_variable(var)),
            EventKind::Release { lock: l } => lock(l),
            EventKind::Notify { cond } => {
                (trace.condition_name(cond), trace.block_of_condition(cond))
            }
            _ => continue,
        };
        let op = event.kind.op();
        let block = block.map(|b| trace.mem_block_name(b));
        parts.push(format!("part {op:?} {name:?} {block:?}"));
    }
    parts
}

/// One event of a random trace: which thread, operation, object, values, frames and expression.
type Recipe = (u8, u8, u8, Option<Value>, Option<Value>, Vec<u8>, u8);

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3i64..4).prop_map(Value::Int),
        any::<i64>().prop_map(Value::Int),
        (1u8..=64, any::<u64>()).prop_map(|(width, bits)| Value::Bits {
            width,
            bits: bits & (u64::MAX >> (64 - width)),
        }),
    ]
}

fn recipes() -> impl Strategy<Value = Vec<Recipe>> {
    let value = || prop::option::of(value());
    let frames = prop::collection::vec(0u8..6, 0..4);
    prop::collection::vec((0u8..5, 0u8..28, 0u8..3, value(), value(), frames, 0u8..8), 0..40)
}

/// Names for everything: mostly plain ones, in the second case anything at all.
fn names() -> impl Strategy<Value = Vec<String>> {
    let plain = prop::sample::select(vec!["x", "y", "T1", "1", "T2", "2", "a.c:12", "é", "%41"]);
    let odd = prop_oneof![
        any::<String>(),
        "[|(),= \t\r\n#%<a-]{0,5}",
        Just("-1".to_owned()),
        Just("\u{feff}x".to_owned()),
    ];
    prop_oneof![
        3 => prop::collection::vec(plain.prop_map(str::to_owned), 6..=6),
        1 => prop::collection::vec(odd, 6..=6),
    ]
}

fn build(recipes: &[Recipe], names: &[String], declare: u8) -> Trace {
    let mut b = TraceBuilder::new();
    for recipe in recipes {
        push(&mut b, recipe, names);
    }
    if declare & 1 != 0 {
        let v = b.variable(&names[0]);
        b.set_opaque(v);
        let (v, value) = (b.variable(&names[1]), b.values().intern(Value::Int(9)));
        b.set_initial_value(v, value);
    }
    if declare & 2 != 0 {
        let t = b.thread(&names[1]);
        b.set_display_name(t, &names[0]);
        b.set_meta(&names[2], &names[0]);
    }
    if declare & 4 != 0 {
        let (s, p) = (b.semaphore(&names[0]), b.barrier(&names[2]));
        b.set_initial_count(s, u64::from(declare));
        b.set_parties(p, 1 + u32::from(declare));
    }
    if declare & 8 != 0 {
        let (t, lock) = (b.thread(&names[0]), b.lock(&names[2]));
        b.set_ended(t);
        b.set_order_only(lock);
        // All objects of the first name in one block, those of the second in different ones.
        let (block, other) = (b.mem_block(&names[3]), b.mem_block(&names[4]));
        let (var, lock, cond) = (b.variable(&names[0]), b.lock(&names[0]), b.condition(&names[0]));
        b.set_variable_part(var, block);
        b.set_lock_part(lock, block);
        b.set_condition_part(cond, block);
        let (var, lock) = (b.variable(&names[1]), b.lock(&names[1]));
        b.set_variable_part(var, block);
        b.set_lock_part(lock, other);
    }
    b.build()
}

fn push(b: &mut TraceBuilder, recipe: &Recipe, names: &[String]) {
    let &(thread, op, object, value, new, ref frames, symbolic) = recipe;
    let thread = b.thread(&names[usize::from(thread)]);
    let name = names[usize::from(object)].as_str();
    let site = frames.iter().fold(None, |caller, &f| Some(b.site(&names[usize::from(f)], caller)));
    let value = value.map(|v| b.values().intern(v));
    let new = new.map(|v| b.values().intern(v));
    let (var, lock, cond) = (b.variable(name), b.lock(name), b.condition(&names[0]));
    let (sem, barrier, label) = (b.semaphore(name), b.barrier(name), b.label(name));
    let register = (symbolic & 1 != 0).then(|| b.register(thread, "r1"));
    // Expressions use a register of their own that is never filled, hence an integer.
    let written = (symbolic & 2 != 0).then(|| expr::parse("(+ %free -1)", thread, b).unwrap());
    let target = b.thread(names[usize::from(object)].as_str());
    let label = (symbolic & 1 != 0).then_some(label);
    let atomic = symbolic & 4 != 0;
    let kind = match op {
        0..5 => EventKind::Read { var, atomic, value, register },
        5..8 => EventKind::Write { var, atomic, value, expr: written },
        8 => EventKind::Update { var, old: value, new, register, expr: written },
        9 if atomic => EventKind::TryAcquire { lock },
        9 => EventKind::Acquire { lock },
        10 => EventKind::Release { lock },
        11 if atomic => EventKind::TryAcquireShared { lock },
        11 => EventKind::AcquireShared { lock },
        12 => EventKind::ReleaseShared { lock },
        13 => EventKind::TryFailed { lock },
        14 => EventKind::Wait { cond, lock },
        15 => EventKind::Woken { cond, lock },
        16 => EventKind::TimedOut { cond, lock },
        17 if atomic => EventKind::Notify { cond },
        17 => EventKind::NotifyAll { cond },
        18 if atomic => EventKind::Post { sem },
        18 => EventKind::Down { sem },
        19 if atomic => EventKind::Arrive { barrier },
        19 => EventKind::Leave { barrier },
        20 => EventKind::Fork { thread: target },
        21 => EventKind::Join { thread: target },
        22 if atomic => EventKind::Begin { label },
        22 => EventKind::End { label },
        23 => EventKind::TryFailedShared { lock },
        24 => EventKind::Fence,
        25 => EventKind::Alloc { block: b.mem_block(name) },
        26 => EventKind::Free { block: b.mem_block(name) },
        _ => EventKind::Guard { expr: expr::parse_guard("(< %free 3)", thread, b).unwrap() },
    };
    let order = MemoryOrder::ALL[usize::from(symbolic) % MemoryOrder::ALL.len()];
    b.push_ordered(thread, kind, order, site);
}

fn written(trace: &Trace) -> Vec<u8> {
    let mut out = Vec::new();
    write(trace, &mut out).unwrap();
    out
}

fn text_of(trace: &Trace) -> impl std::fmt::Debug {
    String::from_utf8_lossy(&written(trace)).into_owned()
}

/// Pieces of which lines are made, to break lines with.
const PIECES: [&str; 24] = [
    "|",
    "(",
    ")",
    "=",
    ",",
    ">",
    "<-",
    "->",
    "%1",
    "#!",
    "#! escaped",
    "\n",
    "\r\n",
    " ",
    "T1",
    "guard",
    "wait(c)",
    "rel(l)",
    "acq(l)",
    "fork(1)",
    "0x",
    "#x",
    " < ",
    "\u{feff}",
];

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_251),
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn written_then_read_is_the_same_trace(
        recipes in recipes(), names in names(), declare in 0u8..16,
    ) {
        let trace = build(&recipes, &names, declare);
        let text = written(&trace);
        let back = parse(&text);
        prop_assert!(back.is_ok(), "{:?} in {:?}", back.err(), text_of(&trace));
        let back = back.unwrap();
        prop_assert_eq!(spelled_out(&back.trace), spelled_out(&trace), "{:?}", text_of(&trace));
        prop_assert!(back.notes.is_empty());
        let again = parse(&written(&back.trace)).unwrap().trace;
        prop_assert_eq!(spelled_out(&again), spelled_out(&trace));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let lenient = parse_lenient(&bytes);
        match parse(&bytes) {
            Ok(parsed) => prop_assert_eq!(spelled_out(&parsed.trace), spelled_out(&lenient.trace)),
            Err(e) => prop_assert!(e.line >= 1 && e.before.trace.len() <= lenient.trace.len()),
        }
    }

    #[test]
    fn no_damage_to_a_text_makes_the_reader_panic(
        recipes in recipes(),
        names in names(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..PIECES.len(), 0usize..4), 1..8),
    ) {
        let mut text = written(&build(&recipes, &names, 15));
        for (at, piece, cut) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + cut).min(text.len());
            text.splice(at..end, PIECES[piece].bytes());
        }
        let lenient = parse_lenient(&text);
        // The remaining trace, whatever it is, can be written and read again.
        let again = parse(&written(&lenient.trace)).unwrap();
        prop_assert_eq!(spelled_out(&again.trace), spelled_out(&lenient.trace));
        if let Ok(parsed) = parse(&text) {
            prop_assert_eq!(spelled_out(&parsed.trace), spelled_out(&lenient.trace));
        }
    }
}
