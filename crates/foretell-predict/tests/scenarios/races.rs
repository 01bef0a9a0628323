//! Races.

use super::expect;

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

/// T2's section can come first, but then its read sees something else, and it is not known whether
/// the section ever ends: nothing behind it is predicted.
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
fn cut_thread_without_a_lock_blocks_no_thread() {
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
