//! Every rule with a trace that keeps it and one that breaks it, the choice of waiters against
//! trying all choices, and repair on arbitrary sequences.

use proptest::prelude::*;

use super::*;
use crate::{Event, EventId, EventKind, Op, ThreadId, TraceBuilder, Value, ValueId, expr};

/// One event a line, `thread op object…`; `!sem s 2`, `!barrier b 2`, `!init x 1`, `!opaque x`.
fn trace(text: &str) -> Trace {
    let mut b = TraceBuilder::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let words: Vec<_> = line.split_whitespace().collect();
        if let Some(declaration) = line.strip_prefix('!') {
            declare(&mut b, &declaration.split_whitespace().collect::<Vec<_>>());
        } else {
            let t = b.thread(words[0]);
            let kind = kind(&mut b, t, words[1], &words[2..].join(" "));
            b.push(t, kind, None);
        }
    }
    b.build()
}

fn number(b: &mut TraceBuilder, word: &str) -> ValueId {
    b.values().intern(Value::Int(word.parse().unwrap()))
}

fn declare(b: &mut TraceBuilder, words: &[&str]) {
    match words[0] {
        "sem" => {
            let s = b.semaphore(words[1]);
            b.set_initial_count(s, words[2].parse().unwrap());
        }
        "barrier" => {
            let x = b.barrier(words[1]);
            b.set_parties(x, words[2].parse().unwrap());
        }
        "init" => {
            let (x, v) = (b.variable(words[1]), number(b, words[2]));
            b.set_initial_value(x, v);
        }
        "opaque" => {
            let x = b.variable(words[1]);
            b.set_opaque(x);
        }
        other => panic!("{other}"),
    }
}

fn kind(b: &mut TraceBuilder, t: ThreadId, op: &str, text: &str) -> EventKind {
    let args: Vec<_> = text.split_whitespace().collect();
    let a = args.first().copied().unwrap_or("");
    let value = args.get(1).and_then(|w| w.parse().ok()).map(|v| b.values().intern(Value::Int(v)));
    let new = args.get(2).and_then(|w| w.parse().ok()).map(|v| b.values().intern(Value::Int(v)));
    let register = args.get(2).and_then(|w| w.strip_prefix('%')).map(|r| b.register(t, r));
    let expr = text.split_once("<-").map(|(_, e)| expr::parse_value(e.trim(), t, b).unwrap());
    match op {
        "r" => EventKind::Read { var: b.variable(a), atomic: false, value, register },
        "w" => EventKind::Write { var: b.variable(a), atomic: false, value, expr },
        "guard" => EventKind::Guard { expr: expr::parse_guard(text, t, b).unwrap() },
        "au" => {
            let register = args.get(3).and_then(|w| w.strip_prefix('%')).map(|r| b.register(t, r));
            EventKind::Update { var: b.variable(a), old: value, new, register, expr }
        }
        "acq" => EventKind::Acquire { lock: b.lock(a) },
        "rel" => EventKind::Release { lock: b.lock(a) },
        "racq" => EventKind::AcquireShared { lock: b.lock(a) },
        "tryacq" => EventKind::TryAcquire { lock: b.lock(a) },
        "rtryacq" => EventKind::TryAcquireShared { lock: b.lock(a) },
        "rrel" => EventKind::ReleaseShared { lock: b.lock(a) },
        "tryfail" => EventKind::TryFailed { lock: b.lock(a) },
        "rtryfail" => EventKind::TryFailedShared { lock: b.lock(a) },
        "wait" => EventKind::Wait { cond: b.condition(a), lock: b.lock(args[1]) },
        "woken" => EventKind::Woken { cond: b.condition(a), lock: b.lock(args[1]) },
        "timedout" => EventKind::TimedOut { cond: b.condition(a), lock: b.lock(args[1]) },
        "notify" => EventKind::Notify { cond: b.condition(a) },
        "notifyall" => EventKind::NotifyAll { cond: b.condition(a) },
        "post" => EventKind::Post { sem: b.semaphore(a) },
        "down" => EventKind::Down { sem: b.semaphore(a) },
        "arrive" => EventKind::Arrive { barrier: b.barrier(a) },
        "leave" => EventKind::Leave { barrier: b.barrier(a) },
        "fork" => EventKind::Fork { thread: b.thread(a) },
        "join" => EventKind::Join { thread: b.thread(a) },
        "begin" => EventKind::Begin { label: None },
        "end" => EventKind::End { label: None },
        other => panic!("{other}"),
    }
}

#[track_caller]
fn legal(text: &str) {
    let trace = trace(text);
    assert_eq!(check(&trace), Ok(()));
    let (same, log) = repair(&trace);
    assert_eq!(log, []);
    assert!(same.events().eq(trace.events()));
    assert!(watched(&trace), "while it is made");
}

/// Illegal at `event`, with this message; repaired in one line that starts with `mend`.
#[track_caller]
fn illegal(text: &str, event: u32, message: &str, mend: &str) {
    let trace = trace(text);
    let illegal = check(&trace).unwrap_err();
    assert_eq!((illegal.event, illegal.message.as_str()), (EventId(event), message));
    let (mended, log) = repair(&trace);
    assert_eq!(check(&mended), Ok(()));
    assert_eq!(log.iter().map(ToString::to_string).collect::<Vec<_>>(), [mend]);
}

#[test]
fn mutexes() {
    legal("A acq m \n A acq m \n A rel m \n A rel m \n B acq m \n A tryfail m");
    legal("A tryfail m \n A rtryfail m \n B racq m \n A rtryfail m");
    illegal(
        "A acq m \n B acq m \n B w x 1 \n B rel m \n A rel m",
        1,
        "lock m is owned by A, which took it at event 0: B cannot take it",
        "dropped 1 acquire of a lock that was held, with its release, at event 1",
    );
    illegal(
        "A acq m \n A rel m \n A rel m \n B rel m",
        2,
        "A releases lock m, which it does not own",
        "dropped 2 releases of locks that were not held, the first at event 2",
    );
    illegal(
        "A acq m \n B rel m",
        1,
        "B releases lock m, which is owned by A, which took it at event 0",
        "dropped 1 release of a lock that was not held, at event 1",
    );
    // Depth counts.
    illegal(
        "A acq m \n A acq m \n A rel m \n B acq m",
        3,
        "lock m is owned by A, which took it at event 0: B cannot take it",
        "dropped 1 acquire of a lock that was held, with its release, at event 3",
    );
}

#[test]
fn reader_writer_locks() {
    legal("A racq m \n B racq m \n A racq m \n A rrel m \n A rrel m \n B rrel m \n A acq m");
    illegal(
        "A racq m \n B acq m",
        1,
        "lock m is held shared by A, which took it at event 0: B cannot take it",
        "dropped 1 acquire of a lock that was held, with its release, at event 1",
    );
    // Not even by the only reader itself.
    illegal(
        "A racq m \n A acq m",
        1,
        "lock m is held shared by A, which took it at event 0: A cannot take it",
        "dropped 1 acquire of a lock that was held, with its release, at event 1",
    );
    illegal(
        "A racq m \n B rrel m",
        1,
        "B releases the reader side of lock m, which it does not hold",
        "dropped 1 release of a lock that was not held, at event 1",
    );
}

/// The writer may take the reader side too, and releases the two in any order.
#[test]
fn lock_downgrading() {
    legal("A acq m \n A racq m \n A rel m \n B racq m \n A rrel m \n B rrel m \n B acq m");
    legal("A acq m \n A racq m \n A acq m \n A rrel m \n A rel m \n A rel m \n B acq m");
    illegal(
        "A acq m \n A racq m \n B racq m \n B rrel m",
        2,
        "lock m is owned by A, which took it at event 0: B cannot take it",
        "dropped 1 acquire of a lock that was held, with its release, at event 2",
    );
    illegal(
        "A acq m \n A racq m \n A rel m \n B acq m",
        3,
        "lock m is held shared by A, which took it at event 1: B cannot take it",
        "dropped 1 acquire of a lock that was held, with its release, at event 3",
    );
    illegal(
        "A acq m \n A racq m \n A rel m \n A acq m",
        3,
        "lock m is held shared by A, which took it at event 1: A cannot take it",
        "dropped 1 acquire of a lock that was held, with its release, at event 3",
    );
    // A wait gives only the writer side back, so the thread cannot own the lock again.
    let stuck = trace("A acq m \n A racq m \n A wait c m \n B notify c \n A woken c m");
    assert_eq!(check(&stuck).map_err(|illegal| illegal.event), Err(EventId(4)));
}

#[test]
fn waits() {
    legal(
        "A acq m \n A acq m \n A wait c m \n B acq m \n B notify c \n B rel m \n A woken c m \n
         A rel m \n A rel m",
    );
    legal("A acq m \n A wait c m \n B acq m \n B rel m \n A timedout c m");
    legal("A acq m \n A wait c m \n B notify c");
    illegal(
        "B notify c \n A acq m \n A wait c m \n A woken c m \n A rel m",
        3,
        "A is woken from c, but no notify came after its wait (event 2)",
        "took 1 wake-up that nothing notified as a time-out, at event 3",
    );
    illegal(
        "A acq m \n A wait c m \n B notify c \n A timedout c m",
        3,
        "A's wait for c (event 1) times out, but the notify at event 2 must have woken it",
        "took 1 time-out of a notified waiter as a wake-up, at event 3",
    );
    illegal(
        "A wait c m",
        0,
        "A waits with lock m, which it does not own",
        "dropped 1 wait with a lock that was not owned, at event 0",
    );
    illegal(
        "A acq m \n A woken c m",
        1,
        "A is woken from c, but it is not waiting",
        "dropped 1 end of a wait that was not in progress, at event 1",
    );
    illegal(
        "A acq m \n A wait c m \n A w x 1",
        2,
        "A waits for c since event 1: its next event must be woken(c,m) or timedout(c,m)",
        "dropped 1 wait that did not end as a wait does, at event 1",
    );
    let held = trace(
        "A acq m \n A wait c m \n B acq m \n B notify c \n A woken c m \n A rel m \n B rel m",
    );
    let found = check(&held).unwrap_err();
    assert_eq!(
        found.message,
        "lock m is owned by B, which took it at event 2: A cannot take it again after its wait"
    );
    assert_eq!(check(&repair(&held).0), Ok(()));
}

#[test]
fn a_notify_may_wake_any_thread_that_makes_the_trace_legal() {
    // The second to wait is woken first; the third times out though it was there first.
    legal(
        "T acq m \n T wait c m \n A acq m \n A wait c m \n B acq m \n B wait c m \n
         N notify c \n B woken c m \n B rel m \n N notify c \n A woken c m \n A rel m \n
         T timedout c m",
    );
    illegal(
        "A acq m \n A wait c m \n B acq m \n B wait c m \n N notify c \n A woken c m \n A rel m \n
         B woken c m",
        7,
        "B is woken from c, but every notify after its wait (event 3) woke another thread",
        "took 1 wake-up that nothing notified as a time-out, at event 7",
    );
}

#[test]
fn semaphores_and_barriers() {
    legal("!sem s 1 \n A down s \n A post s \n B down s");
    illegal(
        "A post s \n A down s \n B down s",
        2,
        "semaphore s has count 0: B cannot take it",
        "dropped 1 decrement of a semaphore with count 0, at event 2",
    );
    legal("!barrier b 2 \n A arrive b \n B arrive b \n A leave b \n A arrive b \n B leave b");
    illegal(
        "!barrier b 2 \n A arrive b \n B arrive b \n A leave b \n A arrive b \n A leave b",
        4,
        "A leaves barrier b, but only 1 of 2 parties have arrived",
        "dropped 1 leave of a barrier that was not complete, at event 4",
    );
    illegal(
        "!barrier b 1 \n A arrive b \n A leave b \n A leave b",
        2,
        "A leaves barrier b, but has not arrived there since it last left",
        "dropped 1 leave of a barrier that was not complete, at event 2",
    );
    illegal(
        "A arrive b \n A leave b",
        0,
        "barrier b has no declared number of parties: declare it (`#! barrier b=N`)",
        "dropped 2 events of barriers without a declared number of parties, the first at event 0",
    );
    illegal(
        "!barrier b 0 \n A arrive b",
        0,
        "barrier b is declared with 0 parties",
        "dropped 1 event of a barrier without a declared number of parties, at event 0",
    );
}

#[test]
fn forks_and_joins() {
    legal("A fork B \n B w x 1 \n A join B \n A join C \n A fork D");
    illegal(
        "B w x 1 \n A fork B",
        0,
        "B starts before it is forked at event 1",
        "dropped 1 fork of a thread that had started or was forked before, at event 1",
    );
    illegal(
        "A fork B \n B w x 1 \n A fork B",
        2,
        "B is forked again: it was forked at event 0",
        "dropped 1 fork of a thread that had started or was forked before, at event 2",
    );
    illegal(
        "A join B \n A fork B",
        1,
        "B is forked here, but has already started or was joined",
        "dropped 1 fork of a thread that had started or was forked before, at event 1",
    );
    illegal(
        "A fork A",
        0,
        "A forks itself",
        "dropped 1 fork of a thread that had started or was forked before, at event 0",
    );
    illegal(
        "A fork B \n A join B \n B w x 1",
        1,
        "A joins B, but B runs on until event 2",
        "dropped 1 join of a thread that runs on, at event 1",
    );
    illegal("A join A", 0, "A joins itself", "dropped 1 join of a thread that runs on, at event 0");
}

#[test]
fn blocks() {
    legal("A begin \n A begin \n A end \n B begin");
    illegal(
        "B begin \n A end",
        1,
        "A ends an atomic block, but none is open",
        "dropped 1 end of a block that did not begin, at event 1",
    );
}

#[test]
fn values() {
    legal("!init x 7 \n A r x 7 \n A w x 8 \n B au x 8 9 \n A r x 9 \n A r x \n A w x \n A r x 3");
    legal("!opaque x \n A w x 8 \n B r x 9");
    illegal(
        "A r y \n A w x 4 \n B r x 5",
        2,
        "read of x sees 5, but the last write (event 1) wrote 4: code that was not recorded must \
         have written; declare x opaque (`#! opaque x`)",
        "declared 1 variable opaque because of a read that no recorded write explains, at event 2",
    );
    // The first known read before every write tells the initial value.
    illegal(
        "A r x \n A r x 4 \n B r x 5",
        2,
        "read of x sees 5, but no write came before it and the initial value is 4: code that was \
         not recorded must have written; declare x opaque (`#! opaque x`)",
        "declared 1 variable opaque because of a read that no recorded write explains, at event 2",
    );
    illegal(
        "!init x 1 \n A au x 2 3",
        0,
        "read of x sees 2, but no write came before it and the initial value is 1: code that was \
         not recorded must have written; declare x opaque (`#! opaque x`)",
        "declared 1 variable opaque because of a read that no recorded write explains, at event 0",
    );
}

#[test]
fn guards_and_expressions() {
    legal(
        "A r x 4 %a \n A guard (> %a 3) \n A w x 5 <- (+ %a 1) \n A au x 5 10 %a <- (* %a 2) \n
         A r y ? %b \n A guard (= %b 1) \n A w y 3 <- (+ %b %a) \n A w y <- (+ %a 1) \n
         B guard (= %a 1)",
    );
    illegal(
        "A r x 4 %a \n A guard (> %a 4) \n A w x 5",
        1,
        "the guard is false for the values that A read before it",
        "dropped 1 guard that is false for the recorded values, at event 1",
    );
    illegal(
        "A r x 4 %a \n A w x 6 <- (+ %a 1) \n A r x 6",
        1,
        "A writes 6, but the expression comes to 5 for the values that it read",
        "dropped 1 expression that gives another value than was written, at event 1",
    );
    // The expression of an update sees what the update read.
    illegal(
        "A r x 4 %a \n B w x 7 \n A au x 7 5 %a <- (+ %a 1)",
        2,
        "A writes 5, but the expression comes to 8 for the values that it read",
        "dropped 1 expression that gives another value than was written, at event 2",
    );
}

/// Legality of a trace of nothing but waits, their ends and notifies of one condition, each thread
/// with a lock of its own, by trying every choice of waiter.
fn some_choice_works(events: &[Event], waiting: &[(u32, bool)]) -> bool {
    let Some((event, rest)) = events.split_first() else { return true };
    let t = event.thread.0;
    let without = || {
        let others = waiting.iter().copied().filter(|w| w.0 != t);
        some_choice_works(rest, &others.collect::<Vec<_>>())
    };
    match event.kind {
        EventKind::Wait { .. } => some_choice_works(rest, &[waiting, &[(t, false)]].concat()),
        EventKind::NotifyAll { .. } => {
            let awake = waiting.iter().map(|w| (w.0, true));
            some_choice_works(rest, &awake.collect::<Vec<_>>())
        }
        EventKind::Notify { .. } => {
            let asleep: Vec<_> = (0..waiting.len()).filter(|&i| !waiting[i].1).collect();
            if asleep.is_empty() {
                return some_choice_works(rest, waiting);
            }
            asleep.into_iter().any(|i| {
                let mut waiting = waiting.to_vec();
                waiting[i].1 = true;
                some_choice_works(rest, &waiting)
            })
        }
        EventKind::Woken { .. } => waiting.contains(&(t, true)) && without(),
        EventKind::TimedOut { .. } => waiting.contains(&(t, false)) && without(),
        _ => some_choice_works(rest, waiting),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_choice_of_waiters_is_exact(
        steps in proptest::collection::vec((0u32..4, any::<bool>(), 0u32..8), 0..24),
    ) {
        let mut b = TraceBuilder::new();
        let c = b.condition("c");
        let threads: Vec<_> = (0..4).map(|t| b.thread(&format!("T{t}"))).collect();
        let locks: Vec<_> = (0..4).map(|t| b.lock(&format!("m{t}"))).collect();
        let n = b.thread("N");
        for t in 0..4 {
            b.push(threads[t], EventKind::Acquire { lock: locks[t] }, None);
        }
        let mut waits = [false; 4];
        for (t, woken, what) in steps {
            let (i, lock) = (t as usize, locks[t as usize]);
            match what {
                0 => b.push(n, EventKind::NotifyAll { cond: c }, None),
                1..=3 => b.push(n, EventKind::Notify { cond: c }, None),
                _ => {
                    waits[i] = !waits[i];
                    let kind = match (waits[i], woken) {
                        (true, _) => EventKind::Wait { cond: c, lock },
                        (false, true) => EventKind::Woken { cond: c, lock },
                        (false, false) => EventKind::TimedOut { cond: c, lock },
                    };
                    b.push(threads[i], kind, None)
                }
            };
        }
        let trace = b.build();
        let events: Vec<_> = trace.events().collect();
        prop_assert_eq!(check(&trace).is_ok(), some_choice_works(&events, &[]));
        prop_assert!(check(&trace).is_ok() || !watched(&trace));
    }

    #[test]
    fn repaired_traces_are_legal_and_legal_traces_stay(
        steps in proptest::collection::vec(
            (0u32..3, 0usize..23, 0u32..2, proptest::option::of(0i64..3), 0i64..3), 0..60),
        parties in proptest::option::of(0u32..4),
    ) {
        let trace = arbitrary(&steps, parties);
        let (mended, log) = repair(&trace);
        prop_assert_eq!(check(&mended), Ok(()));
        prop_assert_eq!(log.is_empty(), check(&trace).is_ok());
        prop_assert!(!log.is_empty() || mended.events().eq(trace.events()));
        let (again, log) = repair(&mended);
        prop_assert!(log.is_empty());
        prop_assert!(again.events().eq(mended.events()));
        for trace in [without_values(&trace), mended] {
            let (legal, waits) = (check(&trace).is_ok(), trace.ids().any(|e| trace.op(e) == Op::Wait));
            prop_assert!(legal || !watched(&trace));
            prop_assert!(!legal || waits || watched(&trace));
        }
    }
}

/// Whether the trace is found legal while it is made.
fn watched(trace: &Trace) -> bool {
    let mut watch = Watch::default();
    let mut names = trace.builder_with_names();
    for event in trace.events() {
        let id = names.push(event.thread, event.kind, None);
        watch.push(names.trace(), id, event.thread, event.kind);
    }
    watch.is_legal()
}

fn without_values(trace: &Trace) -> Trace {
    let mut b = trace.builder_with_names();
    for event in trace.events() {
        let kind = match event.kind {
            EventKind::Read { var, atomic, register, .. } => {
                EventKind::Read { var, atomic, value: None, register }
            }
            EventKind::Write { var, atomic, expr, .. } => {
                EventKind::Write { var, atomic, value: None, expr }
            }
            EventKind::Update { var, register, expr, .. } => {
                EventKind::Update { var, old: None, new: None, register, expr }
            }
            kind => kind,
        };
        b.push(event.thread, kind, event.site);
    }
    b.build()
}

const WORDS: [&str; 25] = [
    "r",
    "w",
    "au",
    "acq",
    "rel",
    "acq",
    "rel",
    "racq",
    "rrel",
    "tryfail",
    "rtryfail",
    "tryacq",
    "rtryacq",
    "wait",
    "woken",
    "timedout",
    "notify",
    "notifyall",
    "post",
    "down",
    "arrive",
    "leave",
    "fork",
    "join",
    "end",
];

/// A trace of whatever comes, mostly illegal.
fn arbitrary(steps: &[(u32, usize, u32, Option<i64>, i64)], parties: Option<u32>) -> Trace {
    let mut b = TraceBuilder::new();
    if let Some(n) = parties {
        let barrier = b.barrier("o0");
        b.set_parties(barrier, n);
    }
    for &(t, op, object, value, new) in steps {
        let thread = b.thread(&format!("o{t}"));
        let (object, value) =
            (format!("o{object}"), value.map_or("?".to_owned(), |v| v.to_string()));
        let word = WORDS[op];
        let second = if matches!(word, "wait" | "woken" | "timedout") { "o0" } else { &value };
        let kind = kind(&mut b, thread, word, &format!("{object} {second} {new}"));
        b.push(thread, kind, None);
    }
    b.build()
}
