//! Waits, semaphores, barriers, try-locks and threads.

use super::expect;

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
fn notify_must_wake_a_waiter() {
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
fn barrier_needs_all_parties() {
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

/// A join asks that every event of the thread has run and none is broken: T0 gets on only after
/// T1's write.
#[test]
fn thread_with_a_broken_event_cannot_be_joined() {
    expect(
        "T1|w(y)|b
         T1|w(x)|wx
         T2|r(x)|rx
         T0|join(T2)|join
         T0|w(y)|a",
        &["race wx rx", "nondeterministic rx"],
    );
    // Nor one that is cut before its end.
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
