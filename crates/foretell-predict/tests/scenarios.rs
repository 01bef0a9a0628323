//! Small traces with all that can be said about them: one for each rule of the semantics that is
//! easy to get wrong, and for what published tools miss or report by mistake.
//!
//! The place of an event is its name here, and findings are written with these names, in the order
//! of the trace where order does not matter. Every scenario states the complete set of findings;
//! brute force must agree with it.

mod common;

use std::collections::BTreeSet;

use foretell_brute::Findings;
use foretell_predict::driver::{Options, Prediction, predict};
use foretell_trace::{EventId, Model, Trace};

/// A trace and what was predicted of it.
struct Scenario {
    trace: Trace,
    prediction: Prediction,
}

/// Predicts everything in both models and compares with what is expected.
#[track_caller]
fn expect(text: &str, expected: &[&str]) -> Scenario {
    expect_in(Model::Value, text, expected);
    expect_in(Model::View, text, expected)
}

#[track_caller]
fn expect_in(model: Model, text: &str, expected: &[&str]) -> Scenario {
    let trace = common::trace(text);
    let options = Options { all: true, jobs: 1, ..Options::default() };
    let prediction = predict(&trace, model, &options).expect("no witness is refused");
    let expected: BTreeSet<String> = expected.iter().map(|&f| f.to_owned()).collect();
    let found = names(&trace, &common::as_brute(&prediction.findings));
    assert_eq!(found, expected, "predicted (left), model {model}");
    let brute = names(&trace, &foretell_brute::findings(&trace, model));
    assert_eq!(brute, expected, "brute force (left), model {model}");
    Scenario { trace, prediction }
}

/// The name of an event: its place, or thread and index.
fn name(trace: &Trace, e: EventId) -> String {
    match trace.site(e) {
        Some(site) => trace.location(site).to_owned(),
        None => format!("{}#{}", trace.thread_name(trace.thread(e)), e.0),
    }
}

fn names(trace: &Trace, findings: &Findings) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut add = |kind: &str, events: &[EventId]| {
        let events: Vec<_> = events.iter().map(|&e| name(trace, e)).collect();
        names.insert(format!("{kind} {}", events.join(" ")));
    };
    findings.races.iter().for_each(|r| add("race", r));
    findings.atomicity.iter().for_each(|a| add("atomicity", a));
    findings.serializability.iter().for_each(|b| add("serializability", &[*b]));
    findings.transactions.iter().for_each(|b| add("transactions", &[*b]));
    findings.nondeterministic_reads.iter().for_each(|r| add("nondeterministic", &[*r]));
    findings.deadlocks.iter().for_each(|d| add("deadlock", d));
    for &x in &findings.final_values {
        names.insert(format!("final {}", trace.variable_name(x)));
    }
    names
}

impl Scenario {
    /// The witness of a finding, as the names of its events.
    #[track_caller]
    fn witness(&self, finding: &str) -> Vec<String> {
        let is = |f: &&foretell_predict::finding::Finding| {
            let only = common::as_brute(std::slice::from_ref(*f));
            names(&self.trace, &only).contains(finding)
        };
        let found = self.prediction.findings.iter().find(is).expect("the finding");
        found.schedule.iter().map(|&e| name(&self.trace, e)).collect()
    }
}

// Races

/// The order of the two sections hides the race from detectors that go by happens-before. To show
/// it, T2's section is all that has to run.
#[test]
fn lucky_race() {
    let scenario = expect(
        "T1|w(x)|a
         T1|acq(l)|acq1
         T1|rel(l)|rel1
         T2|acq(l)|acq2
         T2|rel(l)|rel2
         T2|w(x)|b",
        &["race a b", "final x"],
    );
    assert_eq!(scenario.witness("race a b"), ["acq2", "rel2", "a", "b"]);
}

#[test]
fn common_lock() {
    expect(
        "T1|acq(l)
         T1|w(x)|a
         T1|rel(l)
         T2|acq(l)
         T2|w(x)|b
         T2|rel(l)",
        &["final x"],
    );
}

/// The inner release does not free the lock.
#[test]
fn reentrant_lock() {
    expect(
        "T1|acq(l)
         T1|acq(l)
         T1|rel(l)
         T1|w(x)|a
         T1|rel(l)
         T2|acq(l)
         T2|w(x)|b
         T2|rel(l)",
        &["final x"],
    );
}

/// T2's section can come first, but then its read sees something else, and it is not known whether the
/// section ever ends: nothing behind it is predicted.
#[test]
fn section_with_a_wrong_read_never_ends() {
    let scenario = expect(
        "T1|acq(l)
         T1|w(x)|wx
         T1|w(y)|a
         T1|rel(l)
         T2|acq(l)|acq2
         T2|r(x)|rx
         T2|rel(l)
         T2|w(y)|b",
        &["nondeterministic rx"],
    );
    assert_eq!(scenario.witness("nondeterministic rx"), ["acq2", "rx"]);
}

/// The read of T2 sees the initial value in the trace. After `c` it is broken, and T2 keeps the
/// lock: T3 never gets to `c2`, and `rx` is between `c` and `c2` in no interleaving.
#[test]
fn cut_thread_keeps_its_lock() {
    expect(
        "T2|acq(l)
         T2|r(x)|rx
         T2|rel(l)
         T3|begin|block
         T3|w(x)|c
         T3|acq(l)
         T3|w(x)|c2
         T3|rel(l)
         T3|end",
        &["nondeterministic rx", "race rx c"],
    );
}

/// The figure without the lock around the second write.
#[test]
fn cut_thread_without_a_lock_is_in_nobodys_way() {
    expect(
        "T2|acq(l)
         T2|r(x)|rx
         T2|rel(l)
         T3|begin|block
         T3|w(x)|c
         T3|w(x)|c2
         T3|end",
        &[
            "nondeterministic rx",
            "race rx c",
            "race rx c2",
            "atomicity c rx c2",
            "serializability block",
            "transactions block",
        ],
    );
}

/// A reader-writer lock keeps readers from writers and not from each other.
#[test]
fn readers_run_together() {
    expect(
        "T1|racq(l)
         T1|w(x)|a
         T1|rrel(l)
         T2|racq(l)
         T2|w(x)|b
         T2|rrel(l)",
        &["race a b", "final x"],
    );
    expect(
        "T1|racq(l)
         T1|w(x)|a
         T1|rrel(l)
         T2|acq(l)
         T2|w(x)|b
         T2|rel(l)",
        &["final x"],
    );
}

#[test]
fn atomic_accesses_do_not_race() {
    expect("T1|aw(x)|a\nT2|aw(x)|b", &["final x"]);
    expect("T1|aw(x)|a\nT2|w(x)|b", &["race a b", "final x"]);
}

#[test]
fn fork_and_join_order() {
    expect(
        "T0|w(x)|a
         T0|fork(T1)
         T1|w(x)|b
         T0|join(T1)
         T0|w(x)|c",
        &[],
    );
    // Between fork and join there is no order.
    let scenario = expect(
        "T0|fork(T1)|fork
         T0|w(x)|a
         T1|w(x)|b
         T0|join(T1)|join",
        &["race a b", "final x"],
    );
    assert_eq!(scenario.witness("race a b"), ["fork", "a", "b"]);
}

// Deadlocks

#[test]
fn two_locks_the_wrong_way_round() {
    let scenario = expect(
        "T1|acq(a)|a1
         T1|acq(b)|p
         T1|rel(b)
         T1|rel(a)
         T2|acq(b)|b2
         T2|acq(a)|q
         T2|rel(a)
         T2|rel(b)",
        &["deadlock p q"],
    );
    assert_eq!(scenario.witness("deadlock p q"), ["a1", "b2"]);
}

#[test]
fn gate_lock_keeps_the_two_apart() {
    expect(
        "T1|acq(gate)
         T1|acq(a)
         T1|acq(b)|p
         T1|rel(b)
         T1|rel(a)
         T1|rel(gate)
         T2|acq(gate)
         T2|acq(b)
         T2|acq(a)|q
         T2|rel(a)
         T2|rel(b)
         T2|rel(gate)",
        &[],
    );
    // A gate that is left before the locks are taken keeps no threads apart.
    expect(
        "T1|acq(gate)
         T1|rel(gate)
         T1|acq(a)
         T1|acq(b)|p
         T1|rel(b)
         T1|rel(a)
         T2|acq(gate)
         T2|acq(b)
         T2|rel(gate)
         T2|acq(a)|q
         T2|rel(a)
         T2|rel(b)",
        &["deadlock p q"],
    );
}

#[test]
fn fork_and_join_keep_the_two_apart() {
    expect(
        "T0|acq(a)
         T0|acq(b)|p
         T0|rel(b)
         T0|rel(a)
         T0|fork(T1)
         T1|acq(b)
         T1|acq(a)|q
         T1|rel(a)
         T1|rel(b)",
        &[],
    );
    expect(
        "T0|fork(T1)
         T1|acq(b)
         T1|acq(a)|q
         T1|rel(a)
         T1|rel(b)
         T0|join(T1)
         T0|acq(a)
         T0|acq(b)|p
         T0|rel(b)
         T0|rel(a)",
        &[],
    );
    expect(
        "T0|fork(T1)
         T1|acq(b)
         T1|acq(a)|q
         T1|rel(a)
         T1|rel(b)
         T0|acq(a)
         T0|acq(b)|p
         T0|rel(b)
         T0|rel(a)",
        &["deadlock q p"],
    );
}

/// T2 gets to `p` only if it reads what T3 wrote after both its sections. If it reads anything
/// else, it is cut, and a thread that is cut blocks no thread in a circle.
#[test]
fn data_keeps_the_two_apart() {
    expect(
        "T3|acq(m)
         T3|acq(l)|q
         T3|rel(l)
         T3|rel(m)
         T3|w(x)|wx
         T2|acq(l)
         T2|r(x)|rx
         T2|acq(m)|p
         T2|rel(m)
         T2|rel(l)",
        &["nondeterministic rx", "race wx rx"],
    );
}

#[test]
fn three_threads_in_a_circle() {
    let scenario = expect(
        "T1|acq(a)|a1
         T1|acq(b)|p
         T1|rel(b)
         T1|rel(a)
         T2|acq(b)|b2
         T2|acq(c)|q
         T2|rel(c)
         T2|rel(b)
         T3|acq(c)|c3
         T3|acq(a)|r
         T3|rel(a)
         T3|rel(c)",
        &["deadlock p q r"],
    );
    assert_eq!(scenario.witness("deadlock p q r"), ["a1", "b2", "c3"]);
}

/// A writer waits for a reader; readers do not wait for each other.
#[test]
fn reader_and_writer_in_a_circle() {
    expect(
        "T1|racq(l)
         T1|acq(m)|p
         T1|rel(m)
         T1|rrel(l)
         T2|acq(m)
         T2|acq(l)|q
         T2|rel(l)
         T2|rel(m)",
        &["deadlock p q"],
    );
    expect(
        "T1|racq(l)
         T1|acq(m)|p
         T1|rel(m)
         T1|rrel(l)
         T2|acq(m)
         T2|racq(l)|q
         T2|rrel(l)
         T2|rel(m)",
        &[],
    );
}

/// T1 can be stuck at its `woken` for want of l, with m in hand. But a `woken` is no acquire.
#[test]
fn woken_is_not_an_acquire() {
    expect(
        "T1|acq(l)
         T1|acq(m)
         T1|wait(c,l)
         T2|notify(c)
         T1|woken(c,l)
         T1|rel(l)
         T1|rel(m)
         T2|acq(l)
         T2|acq(m)
         T2|rel(m)
         T2|rel(l)",
        &[],
    );
}

// Waits, semaphores, barriers, try-locks, threads

/// T1 was woken by the first notify. It could have been T2, which then runs against `d`.
#[test]
fn notify_wakes_any_waiter() {
    let scenario = expect(
        "T1|acq(l)|acq1
         T1|wait(c,l)|wait1
         T2|acq(l)|acq2
         T2|wait(c,l)|wait2
         T3|notify(c)|n1
         T1|woken(c,l)|woken1
         T1|rel(l)|rel1
         T1|w(x)|a
         T3|w(x)|d
         T3|notify(c)|n2
         T2|woken(c,l)|woken2
         T2|rel(l)|rel2
         T2|w(x)|b",
        &["race a d", "race a b", "race d b", "final x"],
    );
    assert_eq!(scenario.witness("race d b"), ["acq2", "wait2", "n1", "woken2", "rel2", "d", "b"]);
}

/// The second notify comes after `a`: until then only one of the two gets on.
#[test]
fn notify_wakes_one_waiter() {
    let notify = "T1|acq(l)
         T1|wait(c,l)
         T2|acq(l)
         T2|wait(c,l)
         T3|notify(c)
         T1|woken(c,l)
         T1|rel(l)
         T1|w(x)|a
         T1|notify(c)
         T2|woken(c,l)
         T2|rel(l)
         T2|w(x)|b";
    expect(notify, &[]);
    let notify_all = notify.replace("T3|notify(", "T3|notifyall(");
    expect(&notify_all, &["race a b", "final x"]);
}

/// `woken` needs a notify that came after the `wait`.
#[test]
fn notify_before_the_wait_is_lost() {
    expect(
        "T1|acq(l)
         T1|wait(c,l)
         T2|w(x)|a
         T2|notify(c)
         T1|woken(c,l)
         T1|rel(l)
         T1|w(x)|b",
        &[],
    );
}

/// T2's section comes after T1's first one. If it comes while T1 waits, its notify must wake T1,
/// which then cannot time out; so it comes after T1's second section, and `a` is over.
#[test]
fn notify_must_wake_who_waits() {
    expect(
        "T1|acq(l)
         T1|w(y)|wy
         T1|wait(c,l)
         T1|timedout(c,l)
         T1|w(x)|a
         T1|rel(l)
         T2|acq(l)
         T2|r(y)|ry
         T2|notify(c)
         T2|rel(l)
         T2|w(x)|b",
        &["nondeterministic ry"],
    );
    // Now it can wake T3 instead, and T1 times out after it.
    expect(
        "T3|acq(l)
         T3|wait(c,l)
         T1|acq(l)
         T1|w(y)|wy
         T1|wait(c,l)
         T1|timedout(c,l)
         T1|w(x)|a
         T1|rel(l)
         T2|acq(l)
         T2|r(y)|ry
         T2|notify(c)
         T2|rel(l)
         T2|w(x)|b",
        &["nondeterministic ry", "race a b", "final x"],
    );
    // A notify-all wakes T1 whichever other threads wait.
    expect(
        "T3|acq(l)
         T3|wait(c,l)
         T1|acq(l)
         T1|w(y)|wy
         T1|wait(c,l)
         T1|timedout(c,l)
         T1|w(x)|a
         T1|rel(l)
         T2|acq(l)
         T2|r(y)|ry
         T2|notifyall(c)
         T2|rel(l)
         T2|w(x)|b",
        &["nondeterministic ry"],
    );
}

#[test]
fn down_needs_a_post() {
    expect(
        "T1|w(x)|a
         T1|post(s)
         T2|down(s)
         T2|w(x)|b",
        &[],
    );
    expect(
        "#! sem s=1
         T1|w(x)|a
         T1|post(s)
         T2|down(s)
         T2|w(x)|b",
        &["race a b", "final x"],
    );
    // Two downs take the one that was there and the one of T1.
    expect(
        "#! sem s=1
         T1|w(x)|a
         T1|post(s)
         T2|down(s)
         T2|down(s)
         T2|w(x)|b",
        &[],
    );
    // A post of another thread does as well.
    expect(
        "T1|w(x)|a
         T1|post(s)
         T3|post(s)
         T2|down(s)
         T2|w(x)|b",
        &["race a b", "final x"],
    );
}

#[test]
fn barrier_needs_everybody() {
    expect(
        "#! barrier b=2
         T1|w(x)|a
         T1|arrive(b)
         T2|arrive(b)
         T1|leave(b)
         T2|leave(b)
         T2|w(x)|b",
        &[],
    );
    expect(
        "#! barrier b=2
         T1|w(x)|a
         T1|arrive(b)
         T2|w(x)|b
         T2|arrive(b)
         T1|leave(b)
         T2|leave(b)",
        &["race a b", "final x"],
    );
    // The generations are open: T2 and T4 may be the first.
    expect(
        "#! barrier b=2
         T1|w(x)|a
         T1|arrive(b)
         T2|arrive(b)
         T3|arrive(b)
         T4|arrive(b)
         T4|leave(b)
         T4|w(x)|b",
        &["race a b", "final x"],
    );
}

/// T2 goes on only if its try-lock fails, that is, while T1 holds the lock.
#[test]
fn try_lock_must_fail_again() {
    expect(
        "T1|w(x)|a
         T1|acq(l)
         T2|tryfail(l)
         T2|w(x)|b
         T1|rel(l)",
        &[],
    );
    expect(
        "T1|acq(l)
         T2|tryfail(l)
         T1|w(x)|a
         T1|rel(l)
         T2|w(x)|b",
        &["race a b", "final x"],
    );
}

/// A join asks that every event of the thread has run, no more: here the last one may be broken.
#[test]
fn thread_that_was_cut_at_its_end_can_be_joined() {
    let scenario = expect(
        "T1|w(y)|b
         T1|w(x)|wx
         T2|r(x)|rx
         T0|join(T2)|join
         T0|w(y)|a",
        &["race b a", "race wx rx", "nondeterministic rx"],
    );
    assert_eq!(scenario.witness("race b a"), ["rx", "join", "b", "a"]);
    // Cut before its end it cannot.
    expect(
        "T1|w(y)|b
         T1|w(x)|wx
         T2|r(x)|rx
         T2|begin|begin
         T0|join(T2)
         T0|w(y)|a",
        &["race wx rx", "nondeterministic rx"],
    );
}

// Views and values

/// The accesses of an opaque variable keep their order, so with all events T2 is last; with some
/// of them it need not be.
#[test]
fn opaque_variables_keep_their_order() {
    let opaque = "#! opaque o
         T1|w(y)|a
         T1|w(o)|o1
         T2|w(o)|o2
         T2|w(y)|b";
    expect(opaque, &["race a b"]);
    let plain = opaque.replace("#! opaque o", "");
    expect(&plain, &["race a b", "race o1 o2", "final o", "final y"]);
}

/// T1 and T2 write the same value: by value the read may as well see T1's, and T3 gets on without
/// T2.
#[test]
fn equal_values_preserve_a_read_by_value_only() {
    let text = "T1|w(x=1)|a
         T2|w(z=5)|d
         T2|w(x=1)|b
         T3|r(x=1)|rx
         T3|w(z=6)|e";
    let both = ["race a b", "race a rx", "race b rx", "final x", "nondeterministic rx"];
    expect_in(Model::View, text, &both);
    let by_value = [&both[..], &["race d e", "final z"]].concat();
    expect_in(Model::Value, text, &by_value);
}

/// By value a read is nondeterministic only if it can see another value.
#[test]
fn the_same_value_from_somebody_else_is_no_news() {
    let text = "#! init x=7
         T1|w(x=7)|a
         T2|r(x=7)|rx";
    expect_in(Model::View, text, &["race a rx", "nondeterministic rx"]);
    expect_in(Model::Value, text, &["race a rx"]);
}

/// Without T1's write the update is broken, and every read from it is, too: T3 gets to `p` only
/// after `q`.
#[test]
fn broken_update_breaks_its_readers() {
    expect(
        "T1|w(y=1)|q
         T1|aw(x=5)|a
         T2|au(x=5>6)|u
         T3|ar(x=6)|r
         T3|w(y=2)|p",
        &["nondeterministic u", "nondeterministic r"],
    );
}

/// An update that follows another one sees what that one wrote, or is broken.
#[test]
fn lost_update_breaks_the_later_thread() {
    expect(
        "T1|r(x)|r1
         T1|w(x)|w1
         T2|r(x)|r2
         T2|w(x)|w2",
        &["race w1 r2", "nondeterministic r2"],
    );
}

#[test]
fn final_values() {
    expect("T1|w(x)|a\nT1|w(x)|b\nT2|r(x)|r", &["race a r", "race b r", "nondeterministic r"]);
    // The same value, but another event.
    expect("T1|w(x=1)|a\nT2|w(x=1)|b", &["race a b", "final x"]);
    // The last write is fixed by what its thread has read.
    expect(
        "T1|aw(x)|a
         T1|aw(f)|set
         T2|ar(f)|get
         T2|aw(x)|b",
        &["nondeterministic get"],
    );
}

// Atomicity, serializability, transactions

/// The five patterns that no serial order explains, and the three that one does.
#[test]
fn patterns_of_three_accesses() {
    for (pattern, found) in [
        (["r", "w", "r"], true),
        (["w", "w", "r"], true),
        (["w", "r", "w"], true),
        (["r", "w", "w"], true),
        (["w", "w", "w"], true),
        (["r", "r", "r"], false),
        (["r", "r", "w"], false),
        (["w", "r", "r"], false),
    ] {
        let [c, r, c2] = pattern;
        let text = format!("T1|begin|b\nT1|{c}(x)|c\nT1|{c2}(x)|c2\nT1|end\nT2|{r}(x)|r");
        let trace = common::trace(&text);
        let options = Options { all: true, ..Options::default() };
        let prediction = predict(&trace, Model::View, &options).expect("no refusal");
        let named = names(&trace, &common::as_brute(&prediction.findings));
        assert_eq!(named.contains("atomicity c r c2"), found, "{pattern:?}");
        assert_eq!(named.contains("serializability b"), found, "{pattern:?}");
        assert_eq!(named.contains("transactions b"), found, "{pattern:?}");
    }
}

/// A lock around each access does not make two of them atomic, one around both does.
#[test]
fn check_then_act() {
    let scenario = expect(
        "T1|begin|block
         T1|acq(l)|acq1
         T1|r(x)|check
         T1|rel(l)|rel1
         T1|acq(l)|acq1b
         T1|w(x)|act
         T1|rel(l)|rel1b
         T1|end|end
         T2|acq(l)|acq2
         T2|w(x)|other
         T2|rel(l)|rel2",
        &[
            "atomicity check other act",
            "serializability block",
            "transactions block",
            "nondeterministic check",
            "final x",
        ],
    );
    assert_eq!(
        scenario.witness("atomicity check other act"),
        ["block", "acq1", "check", "rel1", "acq2", "other", "rel2", "acq1b", "act"]
    );
    expect(
        "T1|begin|block
         T1|acq(l)
         T1|r(x)|check
         T1|w(x)|act
         T1|rel(l)
         T1|end
         T2|acq(l)
         T2|w(x)|other
         T2|rel(l)",
        &["nondeterministic check"],
    );
}

/// Each block by itself looks serializable: no path leaves it and comes back. Together they are
/// not.
#[test]
fn found_by_transactions_only() {
    let scenario = expect(
        "T1|begin|A
         T1|r(x)|r1
         T2|begin|B
         T2|r(y)|r2
         T1|w(y)|w1
         T1|end
         T2|w(x)|w2
         T2|end",
        &[
            "transactions A",
            "transactions B",
            "race r1 w2",
            "race r2 w1",
            "nondeterministic r1",
            "nondeterministic r2",
        ],
    );
    assert_eq!(scenario.witness("transactions A").len(), 6);
}

/// The path leaves the block with x, goes on with z from T2 to T3, and comes back with y.
#[test]
fn path_over_three_threads() {
    let scenario = expect(
        "T1|begin|A
         T1|w(x)|s
         T1|r(y)|t
         T1|end|end
         T2|r(x)|u1
         T2|w(z)|u2
         T3|r(z)|u3
         T3|w(y)|u4",
        &[
            "serializability A",
            "transactions A",
            "race s u1",
            "race u2 u3",
            "race t u4",
            "nondeterministic t",
            "nondeterministic u1",
            "nondeterministic u3",
        ],
    );
    assert_eq!(scenario.witness("serializability A"), ["A", "s", "u1", "u2", "u3", "u4", "t"]);
}

/// Three threads, two variables: T2 passes x on in y, T3 answers in x.
#[test]
fn path_over_two_variables() {
    expect(
        "T1|begin|A
         T1|aw(x)|s
         T2|ar(x)|u1
         T2|aw(y)|u2
         T3|ar(y)|u3
         T3|aw(x)|u4
         T1|aw(x)|t
         T1|end",
        &[
            "nondeterministic u1",
            "nondeterministic u3",
            "atomicity s u1 t",
            "atomicity s u4 t",
            "serializability A",
            "transactions A",
            "final x",
        ],
    );
    // If T2 saw the second write, it is after the block whenever it goes on.
    expect(
        "T1|begin|A
         T1|aw(x)|s
         T1|aw(x)|t
         T1|end
         T2|ar(x)|u1
         T2|aw(y)|u2
         T3|ar(y)|u3
         T3|aw(x)|u4",
        &[
            "nondeterministic u1",
            "nondeterministic u3",
            "atomicity s u1 t",
            "serializability A",
            "transactions A",
        ],
    );
}

/// Every block is asked about for serializability, the outermost for transactions; a block that is
/// open at the end is a block.
#[test]
fn nested_and_open_blocks() {
    expect(
        "T1|begin|A
         T1|w(x)|c
         T1|begin|B
         T1|w(x)|d
         T1|w(x)|e
         T1|end
         T2|w(x)|r",
        &[
            "atomicity c r d",
            "atomicity c r e",
            "atomicity d r e",
            "serializability A",
            "serializability B",
            "transactions A",
            "race c r",
            "race d r",
            "race e r",
            "final x",
        ],
    );
}

/// A block without accesses is on no cycle, and the block's own later accesses are not inside it.
#[test]
fn blocks_end_where_they_end() {
    expect(
        "T1|begin|A
         T1|end
         T1|begin|B
         T1|aw(x)|c
         T1|end
         T1|aw(x)|d
         T2|aw(x)|r",
        &["final x"],
    );
}
