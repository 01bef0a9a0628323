//! Every kind of finding, and every way in which a feasible schedule fails to show it.

mod common;

use common::{ids, trace, verdict};
use foretell_trace::{EventId, Model, NondeterminismForm, Trace, VarId};
use foretell_verify::{Pattern, Rule};

use Model::{Symbolic, Value, View};

fn race(a: u32, b: u32) -> Pattern {
    Pattern::Race { a: EventId(a), b: EventId(b) }
}

fn atomicity(c: u32, r: u32, c2: u32) -> Pattern {
    Pattern::Atomicity { c: EventId(c), r: EventId(r), c2: EventId(c2) }
}

fn path(begin: u32, end: Option<u32>, path: &[u32]) -> Pattern {
    Pattern::Serializability { begin: EventId(begin), end: end.map(EventId), path: ids(path) }
}

fn cycle(begin: u32, end: Option<u32>, cycle: &[u32]) -> Pattern {
    Pattern::Transactions { begin: EventId(begin), end: end.map(EventId), cycle: ids(cycle) }
}

fn read(
    read: u32,
    writer: Option<u32>,
    challenger: Option<u32>,
    form: NondeterminismForm,
) -> Pattern {
    let (writer, challenger) = (writer.map(EventId), challenger.map(EventId));
    Pattern::NondeterministicRead { read: EventId(read), writer, challenger, form }
}

fn deadlock(acquires: &[u32]) -> Pattern {
    Pattern::Deadlock { acquires: ids(acquires) }
}

#[track_caller]
fn check(t: &Trace, model: Model, pattern: &Pattern, schedule: &[u32], expected: Option<Rule>) {
    assert_eq!(verdict(t, model, pattern, schedule), expected, "{pattern:?} {schedule:?}");
}

#[test]
fn races() {
    let t = trace("opaque(o) 1:w(x) 2:r(x) 2:r(y) 1:r(y) 1:aw(z) 2:ar(z) 1:w(o) 2:w(o) 3:r(z)");
    check(&t, View, &race(0, 1), &[1, 0], None);
    check(&t, View, &race(1, 0), &[0, 1], None);
    check(&t, View, &race(0, 1), &[0, 8, 1], Some(Rule::NotLast));
    check(&t, View, &race(0, 1), &[0], Some(Rule::NotLast));
    check(&t, View, &race(0, 1), &[], Some(Rule::NotLast));
    check(&t, View, &race(3, 2), &[0, 1, 2, 3], Some(Rule::NoConflict));
    check(&t, View, &race(0, 3), &[0, 3], Some(Rule::NoConflict));
    check(&t, View, &race(0, 0), &[0], Some(Rule::NoConflict));
    check(&t, View, &race(4, 5), &[0, 1, 2, 3, 4, 5], Some(Rule::BothAtomic));
    check(&t, View, &race(4, 8), &[0, 3, 8, 4], None);
    check(&t, View, &race(6, 7), &[0, 1, 2, 3, 4, 5, 6, 7], Some(Rule::Opaque));
    // The schedule must be feasible, of course.
    check(&t, View, &race(2, 3), &[1, 0, 2, 3], Some(Rule::AfterBroken));
    let locks = trace("1:acq(m) 2:acq(n)");
    check(&locks, View, &race(0, 1), &[0, 1], Some(Rule::NotAccess));
    // After a broken read the thread claims no more.
    let cut = trace("1:w(x) 2:r(x) 2:w(y) 1:w(y)");
    check(&cut, View, &race(2, 3), &[0, 1, 3, 2], None);
    check(&cut, View, &race(2, 3), &[1, 0, 3, 2], Some(Rule::AfterBroken));
}

#[test]
fn atomicity_violations() {
    let t = trace(
        "1:begin 1:r(x) 1:begin 1:w(x) 1:end 1:w(x) 1:end 2:w(x) 1:w(x) 2:r(x) 3:r(y) 1:r(y)",
    );
    check(&t, View, &atomicity(1, 7, 3), &[0, 1, 2, 7, 3], None);
    check(&t, View, &atomicity(3, 7, 5), &[0, 1, 2, 3, 4, 7, 5], None);
    check(&t, View, &atomicity(1, 7, 5), &[0, 1, 2, 3, 4, 7, 5], None);
    check(&t, View, &atomicity(1, 7, 5), &[0, 1, 2, 3, 4, 7, 5, 6], Some(Rule::NotLast));
    check(&t, View, &atomicity(1, 7, 5), &[0, 1, 2, 3, 4, 5, 7], Some(Rule::Order));
    check(&t, View, &atomicity(5, 7, 1), &[0, 1, 2, 3, 4, 7, 5], Some(Rule::Order));
    check(&t, View, &atomicity(1, 7, 5), &[0, 1, 2, 3, 4, 5], Some(Rule::NotRun));
    check(&t, View, &atomicity(1, 7, 99), &[0, 1, 2, 7], Some(Rule::NoSuchEvent));
    // The last is after the block, and so is no part of it.
    check(&t, View, &atomicity(5, 7, 8), &[0, 1, 2, 3, 4, 5, 6, 7, 8], Some(Rule::OutsideBlock));
    let late = [0, 1, 2, 3, 4, 5, 6, 8, 10, 11];
    check(&t, View, &atomicity(5, 10, 11), &late, Some(Rule::NoConflict));
    check(&t, View, &atomicity(5, 8, 11), &late, Some(Rule::NoConflict));
    check(&t, View, &atomicity(0, 1, 3), &[0, 1, 2, 3], Some(Rule::NotAccess));
    // Neither of two single events is in a block.
    let bare = trace("1:r(x) 2:w(x) 1:r(x)");
    check(&bare, View, &atomicity(0, 1, 2), &[0, 1, 2], Some(Rule::OutsideBlock));
    let two = trace("1:begin 1:r(x) 1:end 1:begin 1:r(x) 1:end 2:w(x)");
    check(&two, View, &atomicity(1, 6, 4), &[0, 1, 2, 3, 6, 4], Some(Rule::OutsideBlock));
    let opaque = trace("opaque(x) 1:begin 1:r(x) 2:w(x) 1:r(x)");
    check(&opaque, View, &atomicity(1, 2, 3), &[0, 1, 2, 3], Some(Rule::Opaque));
}

#[test]
fn symbolic_conflicts_must_be_real() {
    // The write in between does not change what is read.
    let t = trace("init(x=1) 1:begin 1:r(x=1) 2:w(x=1) 1:r(x=1) 1:end");
    check(&t, Value, &atomicity(1, 2, 3), &[0, 1, 2, 3], None);
    check(&t, Symbolic, &atomicity(1, 2, 3), &[0, 1, 2, 3], Some(Rule::Commute));
    let t = trace("init(x=1) 1:begin 1:r(x=1) 2:w(x=2) 1:r(x=2) 1:end");
    check(&t, Symbolic, &atomicity(1, 2, 3), &[0, 1, 2, 3], None);
    // Equal writes commute, and so do a write and a read of what was there already.
    let t = trace("init(x=1) 1:begin 1:w(x=2) 2:w(x=2) 1:w(x=3)");
    check(&t, Symbolic, &atomicity(1, 2, 3), &[0, 1, 2, 3], Some(Rule::Commute));
    let t = trace("init(x=1) 1:begin 1:w(x=1) 2:r(x=1) 1:w(x=3)");
    check(&t, Symbolic, &atomicity(1, 2, 3), &[0, 1, 2, 3], Some(Rule::Commute));
    let t = trace("init(x=1) 1:begin 1:w(x=2) 2:r(x=2) 1:w(x=2)");
    check(&t, Symbolic, &atomicity(1, 2, 3), &[0, 1, 2, 3], Some(Rule::Commute));
    let t = trace("init(x=1) 1:begin 1:w(x=2) 2:r(x=2) 1:w(x=3)");
    check(&t, Symbolic, &atomicity(1, 2, 3), &[0, 1, 2, 3], None);
    // An unknown value differs from every value.
    let t = trace("1:begin 1:w(x) 2:w(x) 1:w(x)");
    check(&t, Symbolic, &atomicity(1, 2, 3), &[0, 1, 2, 3], None);
}

#[test]
fn serializability_violations() {
    //               0       1      2      3      4      5      6     7       8     9      10     11
    let t = trace(
        "1:begin 1:w(x) 2:r(x) 2:w(y) 3:r(y) 3:w(z) 1:r(z) 1:end 4:r(q) 1:w(x) 3:w(q) 2:w(z)",
    );
    let good = [0, 1, 2, 3, 4, 5, 6];
    let whole = &[1, 2, 3, 4, 5, 6];
    check(&t, View, &path(0, Some(7), whole), &good, None);
    check(&t, View, &path(0, None, whole), &good, Some(Rule::NotBlock));
    check(&t, View, &path(0, Some(6), whole), &good, Some(Rule::NotBlock));
    check(&t, View, &path(1, Some(7), whole), &good, Some(Rule::NotBlock));
    check(&t, View, &path(77, Some(7), whole), &good, Some(Rule::NotBlock));
    check(&t, View, &path(0, Some(7), &[1, 6]), &good, Some(Rule::PathTooShort));
    check(&t, View, &path(0, Some(7), &[1]), &good, Some(Rule::PathTooShort));
    check(&t, View, &path(0, Some(7), &[]), &good, Some(Rule::PathTooShort));
    check(&t, View, &path(0, Some(7), &[1, 2, 5, 6]), &good, Some(Rule::NoStep));
    check(&t, View, &path(0, Some(7), &[1, 3, 4, 5, 6]), &good, Some(Rule::NoStep));
    check(&t, View, &path(0, Some(7), &[1, 3, 2, 4, 5, 6]), &good, Some(Rule::NoStep));
    check(&t, View, &path(0, Some(7), &[1, 2, 3, 4, 11, 6]), &good, Some(Rule::NotRun));
    check(&t, View, &path(0, Some(7), &[1, 2, 3, 4, 7, 6]), &good, Some(Rule::NotAccess));
    check(&t, View, &path(0, Some(7), &[2, 2, 3, 4, 5, 6]), &good, Some(Rule::OutsideBlock));
    check(&t, View, &path(0, Some(7), &[1, 2, 9]), &good, Some(Rule::OutsideBlock));
    check(&t, View, &path(0, Some(7), &[1, 9, 6]), &good, Some(Rule::InsideThread));
    check(&t, View, &path(0, Some(7), whole), &[0, 1, 2, 3, 4, 5, 6, 8], Some(Rule::NotLast));
    check(&t, View, &path(0, Some(7), whole), &[0, 2, 1, 8, 6], Some(Rule::Order));
    let opaque = trace("opaque(x) 1:begin 1:w(x) 2:w(x) 1:w(x)");
    check(&opaque, View, &path(0, None, &[1, 2, 3]), &[0, 1, 2, 3], Some(Rule::Opaque));
    // An open block, and a nested one.
    let open = trace("1:begin 1:begin 1:w(x) 2:w(x) 1:w(x)");
    check(&open, View, &path(0, None, &[2, 3, 4]), &[0, 1, 2, 3, 4], None);
    check(&open, View, &path(1, None, &[2, 3, 4]), &[0, 1, 2, 3, 4], None);
}

#[test]
fn transaction_cycles() {
    //               0       1      2      3       4      5      6      7      8
    let t = trace("1:begin 1:w(x) 1:w(y) 1:end 2:begin 2:w(y) 2:w(x) 2:end 3:r(q)");
    let good = [0, 1, 4, 5, 2, 6];
    check(&t, View, &cycle(0, Some(3), &[1, 6, 5, 2]), &good, None);
    check(&t, View, &cycle(4, Some(7), &[1, 6, 5, 2]), &good, None);
    check(&t, View, &cycle(4, Some(7), &[6, 5, 2, 1]), &good, None);
    check(&t, View, &cycle(0, Some(7), &[1, 6, 5, 2]), &good, Some(Rule::NotBlock));
    check(&t, View, &cycle(0, Some(3), &[1, 6, 5, 2]), &[0, 1, 2, 4, 5, 6], Some(Rule::NoStep));
    check(&t, View, &cycle(0, Some(3), &[2, 5, 6, 1]), &good, Some(Rule::NoStep));
    check(&t, View, &cycle(0, Some(3), &[1, 2]), &good, Some(Rule::OneTransaction));
    check(&t, View, &cycle(0, Some(3), &[5, 6]), &good, Some(Rule::OutsideBlock));
    check(&t, View, &cycle(0, Some(3), &[]), &good, Some(Rule::OutsideBlock));
    check(&t, View, &cycle(0, Some(3), &[1, 6, 5, 2]), &[0, 1, 4, 5, 2, 6, 8], Some(Rule::NotLast));
    check(&t, View, &cycle(0, Some(3), &[1, 6, 5, 2]), &[0, 1, 4, 5, 2], Some(Rule::NotRun));
    check(&t, View, &cycle(0, Some(3), &[0, 6, 5, 2]), &good, Some(Rule::NotAccess));
    let nested = trace("1:begin 1:begin 1:w(x) 1:w(y) 1:end 1:end 2:begin 2:w(y) 2:w(x) 2:end");
    let inner = cycle(1, Some(4), &[2, 8, 7, 3]);
    check(&nested, View, &inner, &[0, 1, 2, 6, 7, 3, 8], Some(Rule::NotOutermost));
    // r1(x) r2(y) w1(y) w2(x), which no path of a single block shows.
    let skew = trace("1:begin 1:r(x) 2:begin 2:r(y) 1:w(y) 2:w(x)");
    check(&skew, View, &cycle(0, None, &[1, 5, 3, 4]), &[0, 1, 2, 3, 4, 5], None);
    check(&skew, View, &cycle(2, None, &[1, 5, 3, 4]), &[0, 1, 2, 3, 4, 5], None);
    // Program order between the transactions of a thread, forward only.
    let order = trace("1:begin 1:w(x) 1:w(y) 1:end 2:w(y) 2:w(x)");
    check(&order, View, &cycle(0, Some(3), &[2, 4, 5, 1]), &[0, 4, 1, 2, 5], Some(Rule::NoStep));
    let order = trace("1:begin 1:w(x) 1:w(y) 1:end 2:r(x) 2:w(y)");
    check(&order, View, &cycle(0, Some(3), &[1, 4, 5, 2]), &[0, 1, 4, 5, 2], None);
    check(&order, View, &cycle(0, Some(3), &[1, 5, 4, 2]), &[0, 1, 4, 5, 2], Some(Rule::NoStep));
    let opaque = trace("opaque(y) 1:begin 1:w(x) 2:r(x) 2:w(y) 1:w(y) 1:end");
    check(&opaque, View, &cycle(0, Some(5), &[1, 2, 3, 4]), &[0, 1, 2, 3, 4], Some(Rule::Opaque));
}

#[test]
fn nondeterministic_reads() {
    use NondeterminismForm::*;
    let t = trace("1:w(x) 2:r(x) 3:w(x) 2:w(y) 1:acq(m)");
    check(&t, View, &read(1, Some(0), Some(2), AfterWriter), &[0, 2, 1], None);
    check(&t, View, &read(1, Some(0), Some(2), BeforeWriter), &[2, 1], None);
    check(&t, View, &read(1, Some(0), Some(2), WriterAbsent), &[2, 1], None);
    check(&t, View, &read(1, Some(0), None, BeforeWriter), &[1], None);
    check(&t, View, &read(1, Some(0), Some(2), AfterWriter), &[2, 1], Some(Rule::WrongForm));
    check(&t, View, &read(1, Some(0), Some(2), WriterAbsent), &[0, 2, 1], Some(Rule::WrongForm));
    check(&t, View, &read(1, Some(0), Some(2), BeforeWriter), &[0, 2, 1], Some(Rule::WrongForm));
    check(&t, View, &read(1, Some(0), None, AfterWriter), &[1], Some(Rule::WrongForm));
    check(&t, View, &read(1, Some(0), Some(0), AfterWriter), &[0, 1], Some(Rule::NotBroken));
    check(&t, View, &read(1, Some(2), Some(0), AfterWriter), &[0, 1], Some(Rule::WrongWriter));
    check(&t, View, &read(1, None, Some(0), AfterWriter), &[0, 1], Some(Rule::WrongWriter));
    check(&t, View, &read(1, Some(0), None, BeforeWriter), &[2, 1], Some(Rule::WrongChallenger));
    check(&t, View, &read(1, Some(0), Some(2), AfterWriter), &[0, 2, 1, 4], Some(Rule::NotLast));
    check(&t, View, &read(2, Some(0), None, AfterWriter), &[2], Some(Rule::NotRead));
    check(&t, View, &read(4, None, None, AfterWriter), &[0, 4], Some(Rule::NotAccess));
    let opaque = trace("opaque(x) 1:w(x) 2:r(x)");
    check(&opaque, View, &read(1, Some(0), None, BeforeWriter), &[1], Some(Rule::Opaque));
    // The initial value against a write.
    let initial = trace("2:r(x) 1:w(x)");
    check(&initial, View, &read(0, None, Some(1), AfterWriter), &[1, 0], None);
    check(&initial, View, &read(0, None, Some(1), WriterAbsent), &[1, 0], Some(Rule::WrongForm));
    // A writer whose thread is cut is not to come.
    let cut = trace("3:w(z) 1:r(z) 1:w(x) 2:r(x)");
    check(&cut, View, &read(3, Some(2), None, WriterAbsent), &[1, 0, 3], None);
    check(&cut, View, &read(3, Some(2), None, BeforeWriter), &[1, 0, 3], Some(Rule::WrongForm));
    check(&cut, View, &read(3, Some(2), None, BeforeWriter), &[0, 3], None);
}

#[test]
fn nondeterministic_reads_of_values() {
    use NondeterminismForm::*;
    let t = trace("1:w(x=1) 2:r(x=1) 3:w(x=1) 4:w(x=2)");
    check(&t, Value, &read(1, Some(0), Some(2), AfterWriter), &[0, 2, 1], Some(Rule::NotBroken));
    check(&t, Value, &read(1, Some(0), Some(3), AfterWriter), &[0, 3, 1], None);
    check(&t, Symbolic, &read(1, Some(0), Some(2), AfterWriter), &[0, 2, 1], Some(Rule::NotBroken));
    check(&t, Symbolic, &read(1, Some(0), Some(3), AfterWriter), &[0, 3, 1], None);
    // An update sees the write before it, not its own.
    let update = trace("1:w(x=1) 2:au(x=1>2) 3:w(x=3)");
    for model in [View, Value, Symbolic] {
        check(&update, model, &read(1, Some(0), Some(2), AfterWriter), &[0, 2, 1], None);
        check(
            &update,
            model,
            &read(1, Some(0), Some(1), AfterWriter),
            &[0, 2, 1],
            Some(Rule::WrongChallenger),
        );
        check(
            &update,
            model,
            &read(1, Some(0), Some(0), AfterWriter),
            &[2, 0, 1],
            Some(Rule::NotBroken),
        );
    }
    // A read from its own writer is broken when that is a broken update.
    let poisoned = trace("1:w(x=1) 2:au(x=1>2) 3:r(x=2)");
    let own = read(2, Some(1), Some(1), AfterWriter);
    for model in [View, Value] {
        check(&poisoned, model, &own, &[1, 2], None);
        check(&poisoned, model, &own, &[0, 1, 2], Some(Rule::NotBroken));
    }
    // `symbolic`: the writer itself may write another value.
    let same = trace("init(y=0) 1:w(y=5) 2:r(y=5)->a 2:w(x=5)<-[%a] 3:r(x=5)");
    check(
        &same,
        Symbolic,
        &read(3, Some(2), Some(2), AfterWriter),
        &[0, 1, 2, 3],
        Some(Rule::NotBroken),
    );
    check(&same, Symbolic, &read(3, Some(2), Some(2), AfterWriter), &[1, 2, 3], None);
    // Where its value was not recorded, a read is judged by the write it sees.
    let bare = trace("init(x=0) 1:w(x=1) 2:r(x)->a");
    check(&bare, Symbolic, &read(1, Some(0), None, BeforeWriter), &[1], None);
    check(&bare, Symbolic, &read(1, Some(0), Some(0), AfterWriter), &[0, 1], Some(Rule::NotBroken));
}

#[test]
fn final_values() {
    let t = trace("1:w(x) 2:w(x) 3:r(y) 4:w(y)");
    let last = |var, writer, challenger| Pattern::FinalValue {
        var: VarId(var),
        writer: EventId(writer),
        challenger: EventId(challenger),
    };
    check(&t, View, &last(0, 1, 0), &[1, 0, 2, 3], None);
    check(&t, View, &last(0, 1, 0), &[1, 0, 2], Some(Rule::Incomplete));
    check(&t, View, &last(0, 1, 0), &[1, 0, 3, 2], Some(Rule::Broken));
    check(&t, View, &last(0, 1, 1), &[0, 1, 2, 3], Some(Rule::WrongChallenger));
    check(&t, View, &last(0, 1, 0), &[0, 1, 2, 3], Some(Rule::WrongChallenger));
    check(&t, View, &last(0, 0, 1), &[0, 1, 2, 3], Some(Rule::WrongWriter));
    check(&t, View, &last(9, 0, 1), &[0, 1, 2, 3], Some(Rule::NoSuchEvent));
    // Equal values are no other final value, unless values do not count.
    for (text, expected) in [
        ("1:w(x=1) 2:w(x=1)", Some(Rule::SameValue)),
        ("1:w(x=1) 2:w(x=2)", None),
        ("1:w(x) 2:w(x=1)", None),
        ("1:w(x=1) 2:w(x)", None),
    ] {
        check(&trace(text), View, &last(0, 1, 0), &[1, 0], None);
        check(&trace(text), Value, &last(0, 1, 0), &[1, 0], expected);
        check(&trace(text), Symbolic, &last(0, 1, 0), &[1, 0], expected);
    }
    // In the symbolic model the schedule's value is what the write computes there.
    let t = trace("init(y=1) 1:r(y=1)->a 1:w(x=1)<-[%a] 2:w(x=2) 2:w(y=2)");
    check(&t, Value, &last(1, 2, 1), &[0, 2, 1, 3], None);
    let t = trace("init(y=1) 1:r(y=1)->a 1:w(x=1)<-[%a] 2:w(y=2) 2:w(x=2)");
    check(&t, Symbolic, &last(1, 3, 1), &[0, 2, 3, 1], None);
    check(&t, Symbolic, &last(1, 3, 1), &[2, 0, 3, 1], Some(Rule::SameValue));
    let opaque = trace("opaque(x) 1:w(x) 2:w(x)");
    check(&opaque, View, &last(0, 1, 0), &[0, 1], Some(Rule::Opaque));
}

#[test]
fn deadlocks() {
    //               0        1        2        3        4        5        6        7
    let t = trace("1:acq(a) 1:acq(b) 1:rel(b) 1:rel(a) 2:acq(b) 2:acq(a) 3:acq(c) 3:acq(a)");
    check(&t, View, &deadlock(&[1, 5]), &[0, 4], None);
    check(&t, View, &deadlock(&[5, 1]), &[0, 4], None);
    check(&t, View, &deadlock(&[1, 5]), &[0], Some(Rule::NotPending));
    check(&t, View, &deadlock(&[1, 5]), &[4], Some(Rule::NotPending));
    check(&t, View, &deadlock(&[1, 5]), &[0, 1], Some(Rule::NotPending));
    check(&t, View, &deadlock(&[1, 7]), &[0, 6], Some(Rule::NoCycle));
    check(&t, View, &deadlock(&[1, 5, 7]), &[0, 4, 6], Some(Rule::NoCycle));
    check(&t, View, &deadlock(&[1]), &[0, 4], Some(Rule::TooFew));
    check(&t, View, &deadlock(&[]), &[0, 4], Some(Rule::TooFew));
    check(&t, View, &deadlock(&[1, 1]), &[0, 4], Some(Rule::TooFew));
    check(&t, View, &deadlock(&[2, 5]), &[0, 4], Some(Rule::NotAcquire));
    check(&t, View, &deadlock(&[1, 99]), &[0, 4], Some(Rule::NoSuchEvent));
    // Not started, and cut.
    let fork = trace("1:acq(a) 1:fork(2) 1:acq(b) 3:acq(b) 3:acq(a) 2:acq(a)");
    check(&fork, View, &deadlock(&[4, 5]), &[0, 3], Some(Rule::NotPending));
    let cut = trace("3:w(x) 1:acq(a) 1:r(x) 1:acq(b) 2:acq(b) 2:acq(a)");
    check(&cut, View, &deadlock(&[3, 5]), &[0, 1, 2, 4], None);
    check(&cut, View, &deadlock(&[3, 5]), &[1, 2, 4], Some(Rule::NotPending));
}

#[test]
fn a_try_waits_for_no_thread() {
    for word in ["tryacq", "rtryacq"] {
        let t = trace(&format!("1:acq(a) 1:{word}(b) 2:acq(b) 2:acq(a)"));
        check(&t, View, &deadlock(&[1, 3]), &[0, 2], Some(Rule::NotAcquire));
        // It may hold the lock that a thread waits for.
        let t = trace(&format!("1:{word}(a) 1:acq(b) 2:acq(b) 2:acq(a)"));
        check(&t, View, &deadlock(&[1, 3]), &[0, 2], None);
    }
}

/// A join waits for the thread of the next event of the cycle.
#[test]
fn deadlocks_through_joins() {
    let t = trace("1:fork(2) 2:acq(l) 2:rel(l) 1:acq(l) 1:join(2) 1:rel(l) 3:w(x)");
    check(&t, View, &deadlock(&[1, 4]), &[0, 3], None);
    check(&t, View, &deadlock(&[4, 1]), &[0, 3], None);
    check(&t, View, &deadlock(&[1, 4]), &[0], Some(Rule::NotPending));
    check(&t, View, &deadlock(&[1, 4]), &[0, 1, 2, 3], Some(Rule::NotPending));
    check(&t, View, &deadlock(&[4]), &[0, 3], Some(Rule::TooFew));
    check(&t, View, &deadlock(&[4, 6]), &[0, 3], Some(Rule::NotAcquire));
    let released = trace("1:fork(2) 2:acq(l) 2:rel(l) 1:acq(l) 1:rel(l) 1:join(2)");
    check(&released, View, &deadlock(&[1, 5]), &[0, 3, 4], Some(Rule::NoCycle));
}

#[test]
fn deadlocks_with_readers() {
    let t = trace("1:racq(a) 1:acq(b) 2:racq(b) 2:acq(a)");
    check(&t, View, &deadlock(&[1, 3]), &[0, 2], None);
    // Readers do not keep readers out; a writer does.
    let t = trace("1:racq(a) 1:racq(b) 2:racq(b) 2:acq(a)");
    check(&t, View, &deadlock(&[1, 3]), &[0, 2], Some(Rule::NoCycle));
    let t = trace("1:racq(a) 1:racq(b) 2:acq(b) 2:acq(a)");
    check(&t, View, &deadlock(&[1, 3]), &[0, 2], None);
    // Four threads share s; thread 4 waits for thread 1, which waits for no thread.
    let stuck =
        trace("1:racq(s) 2:racq(s) 3:racq(s) 4:racq(s) 1:acq(p) 2:acq(s) 3:acq(s) 4:acq(p)");
    check(&stuck, View, &deadlock(&[5, 6, 7]), &[0, 1, 2, 3, 4], Some(Rule::NoCycle));
    check(&stuck, View, &deadlock(&[5, 6]), &[0, 1, 2, 3, 4], None);
    // Eight readers that all want to write: every order is a cycle.
    let readers: String = (1..=8).map(|i| format!("{i}:racq(s) ")).collect();
    let writers: String = (1..=8).map(|i| format!("{i}:acq(s) ")).collect();
    let t = trace(&(readers + &writers));
    let first: Vec<u32> = (0..8).collect();
    check(&t, View, &deadlock(&[15, 8, 11, 9, 14, 10, 13, 12]), &first, None);
}
