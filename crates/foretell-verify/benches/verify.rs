//! Time of the checker for a schedule of a million events: `cargo bench -p foretell-verify`.

use std::time::Instant;

use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{EventId, EventKind, Model, Trace, TraceBuilder, Value};
use foretell_verify::{Checker, Pattern};

const EVENTS: usize = 1_000_000;
const THREADS: usize = 16;
const LOCKS: usize = 64;
const VARIABLES: usize = 1024;

/// Threads in turn add one to variables under locks; now and then one waits for the next to notify
/// it.
fn trace() -> Trace {
    let mut b = TraceBuilder::new();
    b.reserve(EVENTS);
    let threads: Vec<_> = (0..THREADS).map(|t| b.thread(&format!("T{t}"))).collect();
    let locks: Vec<_> = (0..LOCKS).map(|l| b.lock(&format!("l{l}"))).collect();
    let variables: Vec<_> = (0..VARIABLES).map(|x| b.variable(&format!("x{x}"))).collect();
    let (condition, unprotected) = (b.condition("c"), b.variable("unprotected"));
    let registers: Vec<_> = threads.iter().map(|&t| b.register(t, "1")).collect();
    let one = b.exprs().intern(Expr::Const(Value::Int(1)));
    let mut counts = vec![0; VARIABLES];
    let mut round = 0;
    while b.trace().len() < EVENTS - 32 {
        let t = round % THREADS;
        let (lock, var) = (locks[round * 7 % LOCKS], variables[round * 13 % VARIABLES]);
        let count = &mut counts[round * 13 % VARIABLES];
        let (old, new) = (Value::Int(*count), Value::Int(*count + 1));
        let (old, new) = (Some(b.values().intern(old)), Some(b.values().intern(new)));
        *count += 1;
        let register = b.exprs().intern(Expr::Reg(registers[t]));
        let sum = b.exprs().intern(Expr::App(ExprOp::Add, [register, one].into()));
        let guard = b.exprs().intern(Expr::App(ExprOp::Gt, [sum, register].into()));
        b.push(threads[t], EventKind::Acquire { lock }, None);
        let kind = EventKind::Read { var, atomic: false, value: old, register: Some(registers[t]) };
        b.push(threads[t], kind, None);
        b.push(threads[t], EventKind::Guard { expr: guard }, None);
        let kind = EventKind::Write { var, atomic: false, value: new, expr: Some(sum) };
        b.push(threads[t], kind, None);
        if round.is_multiple_of(10) {
            let other = threads[(t + 1) % THREADS];
            b.push(threads[t], EventKind::Wait { cond: condition, lock }, None);
            b.push(other, EventKind::Notify { cond: condition }, None);
            b.push(threads[t], EventKind::Woken { cond: condition, lock }, None);
        }
        b.push(threads[t], EventKind::Release { lock }, None);
        round += 1;
    }
    for &t in &threads[..2] {
        let kind = EventKind::Write { var: unprotected, atomic: false, value: None, expr: None };
        b.push(t, kind, None);
    }
    b.build()
}

fn main() {
    let trace = trace();
    let schedule: Vec<EventId> = trace.ids().collect();
    let last = trace.len() as u32 - 1;
    let race = Pattern::Race { a: EventId(last - 1), b: EventId(last) };
    for model in [Model::View, Model::Value, Model::Symbolic] {
        let start = Instant::now();
        let checker = Checker::new(&trace, model);
        let read = start.elapsed();
        match checker.verify(&race, &schedule) {
            Ok(()) => println!(
                "{model}: {} events verified in {:.0?} (of it reading the trace {read:.0?})",
                schedule.len(),
                start.elapsed()
            ),
            Err(refusal) => println!("{model}: refused: {refusal}"),
        }
    }
}
