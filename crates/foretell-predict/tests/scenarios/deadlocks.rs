//! Deadlocks.

use super::expect;

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
