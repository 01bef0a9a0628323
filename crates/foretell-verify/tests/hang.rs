//! Hangs: what shows one, and every way in which a schedule does not.

mod common;

use common::legal_trace as trace;
use foretell_trace::{EventId, Model, Trace};
use foretell_verify::{Checker, Pattern, Rule};

#[track_caller]
fn check(t: &Trace, blocked: &[u32], schedule: &[u32], expected: Option<Rule>) {
    let ids = |list: &[u32]| list.iter().map(|&e| EventId(e)).collect::<Vec<_>>();
    let pattern = Pattern::Hang { blocked: ids(blocked) };
    let verdict = Checker::new(t, Model::View).verify(&pattern, &ids(schedule));
    assert_eq!(verdict.err().map(|refusal| refusal.rule), expected, "{blocked:?} {schedule:?}");
}

#[test]
fn lost_wake_up() {
    let events = "1:acq(m) 1:wait(c,m) 2:notify(c) 1:woken(c,m) 1:rel(m)";
    let t = trace(&format!("#!~ended~T2 {events}"));
    check(&t, &[3], &[2, 0, 1], None);
    check(&t, &[3], &[0, 2, 1], None);
    // The notification comes in time.
    check(&t, &[3], &[0, 1, 2], Some(Rule::NotBlocked));
    check(&t, &[3], &[0, 1], Some(Rule::Incomplete));
    check(&t, &[3, 2], &[0, 1], Some(Rule::NotBlocked));
    check(&t, &[1], &[2, 0], Some(Rule::NotBlocked));
    check(&t, &[0], &[2, 0, 1], Some(Rule::NotPending));
    check(&t, &[3, 3], &[2, 0, 1], Some(Rule::Twice));
    check(&t, &[9], &[2, 0, 1], Some(Rule::NoSuchEvent));
    check(&t, &[], &[0, 1, 2, 3, 4], Some(Rule::NotEnded));
    check(&trace(events), &[3], &[2, 0, 1], Some(Rule::NotEnded));
    check(&trace(&format!("#!~ended~T1 {events}")), &[3], &[2, 0, 1], Some(Rule::NotEnded));
}

#[test]
fn threads_that_are_cut_or_not_started() {
    let t = trace("#!~ended~T2 1:w(x) 2:r(x) 2:post(s) 1:down(s)");
    check(&t, &[3], &[1, 0], Some(Rule::Broken));
    let late = "1:down(s) 1:fork(T2) 2:post(s) 3:down(s)";
    let t = trace(&format!("#!~sem~s=1 #!~ended~T2 #!~ended~T3 {late}"));
    check(&t, &[0], &[3], None);
    check(&t, &[3], &[0, 1], Some(Rule::Incomplete));
    let t = trace(&format!("#!~sem~s=1 #!~ended~T3 {late}"));
    check(&t, &[0], &[3], Some(Rule::NotEnded));
}

#[test]
fn semaphores_barriers_and_those_who_wait_for_them() {
    let t = trace(
        "#!~ended~T2 #!~sem~s=2 1:fork(T2) 2:acq(m) 2:down(s) 2:down(s) 2:post(s) 2:post(s) \
         2:rel(m) 1:down(s) 1:acq(m) 1:rel(m) 1:post(s) 1:join(T2)",
    );
    // T2 waits for a permit and holds the lock that T1 asks for.
    check(&t, &[3, 8], &[0, 1, 2, 7], None);
    check(&t, &[3, 8], &[0, 7, 1, 2], None);
    check(&t, &[8, 3], &[0, 7, 1, 2], None);
    check(&t, &[2, 8], &[0, 7, 1], Some(Rule::NotBlocked));
    let two = trace("#!~ended~T2 #!~barrier~b=2 1:arrive(b) 2:arrive(b) 1:leave(b) 2:leave(b)");
    check(&two, &[2, 3], &[0, 1], Some(Rule::NotBlocked));
    check(&two, &[2], &[0], Some(Rule::Incomplete));
    let short = trace(
        "#!~ended~T1 #!~ended~T2 #!~ended~T3 #!~barrier~b=2 1:arrive(b) 2:arrive(b) 1:leave(b) \
         2:leave(b) 3:arrive(b) 2:arrive(b) 3:leave(b) 2:leave(b)",
    );
    // T1 and T3 meet, T2 meets nobody the second time.
    check(&short, &[7], &[0, 4, 2, 6, 1], Some(Rule::NotPending));
    check(&short, &[3], &[0, 4, 2, 6, 1], None);
    check(&short, &[2], &[1, 4, 3, 6, 5, 7], Some(Rule::PartiesMissing));
}

#[test]
fn locks_alone_are_a_deadlock() {
    let t = trace(
        "#!~ended~T3 1:acq(l) 1:acq(m) 1:rel(m) 1:rel(l) 2:acq(m) 2:acq(l) 2:rel(l) 2:rel(m) 3:w(x)",
    );
    check(&t, &[1, 5], &[0, 4, 8], Some(Rule::NoRoot));
}

#[test]
fn order_of_the_trace_blocks_no_thread() {
    let t = trace("#!~opaque~o #!~ended~T2 1:r(o) 2:w(o) 2:post(s) 1:down(s)");
    check(&t, &[0], &[1, 2], Some(Rule::NotBlocked));
}

#[test]
fn time_outs_wait_for_nothing() {
    let t = trace("#!~ended~T2 1:acq(m) 1:wait(c,m) 2:w(x) 1:timedout(c,m)");
    check(&t, &[3], &[0, 1, 2], Some(Rule::NotBlocked));
}

/// A waiter that must stay is not picked as long as another one will do; where the only waiter of a
/// notify is one that must stay, it cannot.
#[test]
fn choice_of_the_notified_waiter() {
    let t = trace(
        "#!~ended~T3 1:acq(m) 1:wait(c,m) 2:acq(m) 2:wait(c,m) 3:notify(c) 3:notify(c) 1:woken(c,m) \
         1:rel(m) 2:woken(c,m) 2:rel(m)",
    );
    let ended = trace(
        "#!~ended~T3 #!~ended~T1 1:acq(m) 1:wait(c,m) 2:acq(m) 2:wait(c,m) 3:notify(c) 3:notify(c) \
         1:woken(c,m) 1:rel(m) 2:woken(c,m) 2:rel(m)",
    );
    check(&t, &[8], &[4, 0, 1, 2, 3, 5, 6, 7], Some(Rule::NotEnded));
    check(&ended, &[8], &[4, 0, 1, 2, 3, 5, 6, 7], None);
    check(&ended, &[8], &[0, 1, 2, 3, 4, 5, 6, 7], Some(Rule::NotBlocked));
    check(&ended, &[6, 8], &[4, 5, 0, 1, 2, 3], None);
}
