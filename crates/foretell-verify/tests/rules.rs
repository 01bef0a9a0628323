//! Every rule of feasibility: a schedule that breaks exactly that rule, and its neighbour that does
//! not.

mod common;

use common::{broken_rule, ids, trace};
use foretell_trace::{EventKind, LockId, Model, Trace, TraceBuilder, VarId};
use foretell_verify::{Rule, feasible};

#[track_caller]
fn refused(text: &str, model: Model, schedule: &[u32], rule: Rule) {
    let trace = trace(text);
    let expected = Some((rule, schedule.len() - 1));
    assert_eq!(broken_rule(&trace, model, schedule), expected, "{text} {schedule:?}");
    // Feasible sequences are closed under prefixes: it is the last event that breaks the rule.
    assert_eq!(broken_rule(&trace, model, &schedule[..schedule.len() - 1]), None);
}

#[track_caller]
fn accepted(text: &str, model: Model, schedule: &[u32]) {
    assert_eq!(broken_rule(&trace(text), model, schedule), None, "{text} {schedule:?}");
}

use Model::{Symbolic, Value, View};

#[test]
fn each_event_once_in_the_order_of_its_thread() {
    let text = "1:w(x) 1:w(y) 2:w(x)";
    accepted(text, View, &[0, 2, 1]);
    refused(text, View, &[3], Rule::NoSuchEvent);
    refused(text, View, &[u32::MAX], Rule::NoSuchEvent);
    refused(text, View, &[0, 0], Rule::Twice);
    refused(text, View, &[0, 2, 0], Rule::Twice);
    refused(text, View, &[1], Rule::ProgramOrder);
    refused(text, View, &[2, 1], Rule::ProgramOrder);
}

#[test]
fn fork_before_start_and_all_before_join() {
    let text = "1:fork(2) 2:w(x) 2:w(x) 1:join(2)";
    accepted(text, View, &[0, 1, 2, 3]);
    refused(text, View, &[1], Rule::NotStarted);
    refused(text, View, &[0, 1, 3], Rule::NotFinished);
    refused("1:fork(2) 1:fork(2) 2:w(x)", View, &[0, 1], Rule::ForkedTwice);
    refused("2:w(x) 1:fork(2)", View, &[0], Rule::NotStarted);
    refused("1:fork(1)", View, &[0], Rule::NotStarted);
    // No event of a joined thread is broken.
    refused("1:fork(2) 2:r(x) 1:w(x) 1:join(2)", View, &[0, 2, 1, 3], Rule::NotFinished);
    refused("1:tryfail(m) 2:join(1)", View, &[0, 1], Rule::NotFinished);
    // A thread without events is joined at any time, after its fork if it has one.
    accepted("1:join(2) 1:fork(3) 1:join(3)", View, &[0, 1, 2]);
    refused("1:fork(3) 2:join(3)", View, &[1], Rule::NotFinished);
    accepted("1:fork(3) 2:join(3)", View, &[0, 1]);
}

#[test]
fn locks_are_exclusive_and_re_entrant() {
    let text = "1:acq(m) 1:acq(m) 1:rel(m) 1:rel(m) 2:acq(m)";
    accepted(text, View, &[0, 1, 2, 3, 4]);
    refused(text, View, &[0, 1, 2, 4], Rule::LockHeld);
    refused("1:acq(m) 2:rel(m)", View, &[0, 1], Rule::NotOwner);
    refused("1:rel(m)", View, &[0], Rule::NotOwner);
}

#[test]
fn reader_writer_locks() {
    let text = "1:racq(m) 1:racq(m) 1:rrel(m) 1:rrel(m) 2:racq(m) 2:rrel(m) 3:acq(m) 3:rel(m)";
    accepted(text, View, &[0, 4, 1, 2, 3, 5, 6, 7]);
    refused(text, View, &[0, 4, 1, 2, 3, 6], Rule::LockHeld);
    refused(text, View, &[0, 1, 2, 6], Rule::LockHeld);
    refused(text, View, &[6, 0], Rule::LockHeld);
    refused("1:racq(m) 1:acq(m)", View, &[0, 1], Rule::LockHeld);
    refused("1:racq(m) 2:rrel(m)", View, &[0, 1], Rule::NotShared);
    refused("1:acq(m) 1:rrel(m)", View, &[0, 1], Rule::NotShared);
    refused("1:racq(m) 1:rel(m)", View, &[0, 1], Rule::NotOwner);
    // Another lock with a smaller and a larger index does not matter.
    accepted("1:racq(a) 1:racq(z) 2:acq(m)", View, &[0, 1, 2]);
}

#[test]
fn a_writer_may_take_the_reader_side() {
    let text = "1:acq(m) 1:racq(m) 1:rel(m) 1:rrel(m) 2:racq(m) 2:rrel(m) 3:acq(m)";
    accepted(text, View, &[0, 1, 2, 4, 3, 5, 6]);
    refused(text, View, &[0, 1, 4], Rule::LockHeld);
    refused(text, View, &[0, 1, 2, 6], Rule::LockHeld);
    // The two sides are given back in any order, and the owner may take the lock again.
    let text = "1:acq(m) 1:racq(m) 1:acq(m) 1:rel(m) 1:rrel(m) 1:rel(m) 2:acq(m)";
    accepted(text, View, &[0, 1, 2, 3, 4, 5, 6]);
    refused(text, View, &[0, 1, 2, 3, 4, 6], Rule::LockHeld);
    // With the reader side alone it may not.
    refused("1:acq(m) 1:racq(m) 1:rel(m) 1:acq(m)", View, &[0, 1, 2, 3], Rule::LockHeld);
}

#[test]
fn a_failed_try_for_the_reader_side_observes_a_writer() {
    let text = "1:acq(m) 2:rtryfail(m) 2:w(x) 1:rel(m)";
    accepted(text, View, &[0, 1, 2, 3]);
    for model in [View, Value, Symbolic] {
        refused(text, model, &[1, 2], Rule::AfterBroken);
        refused(text, model, &[0, 3, 1, 2], Rule::AfterBroken);
        refused("1:acq(m) 1:rtryfail(m) 1:w(x)", model, &[0, 1, 2], Rule::AfterBroken);
        // A reader is no reason to fail, not even one that was a writer.
        refused("1:racq(m) 2:rtryfail(m) 2:w(x)", model, &[0, 1, 2], Rule::AfterBroken);
        let text = "1:acq(m) 1:racq(m) 1:rel(m) 2:rtryfail(m) 2:w(x)";
        accepted(text, model, &[0, 1, 3, 4]);
        refused(text, model, &[0, 1, 2, 3, 4], Rule::AfterBroken);
    }
}

#[test]
fn uses_of_hidden_state_keep_their_order_and_none_is_skipped() {
    let text = "opaque(h) 1:au(h=0>1) 1:w(x=1) 2:au(h=1>2) 2:w(x=2) 3:au(h=2>3) 3:w(x=3)";
    // The values are no excuse where they coincide.
    let equal = "opaque(h) 1:au(h=0>0) 1:w(x=1) 2:au(h=0>0) 2:w(x=2) 3:au(h=0>0) 3:w(x=3)";
    for (text, model) in [text, equal].iter().flat_map(|t| [View, Value, Symbolic].map(|m| (t, m)))
    {
        accepted(text, model, &[0, 2, 4, 5, 3, 1]);
        // The use runs, and cuts its thread.
        refused(text, model, &[2, 3], Rule::AfterBroken);
        refused(text, model, &[0, 4, 5], Rule::AfterBroken);
        refused(text, model, &[2, 0], Rule::OpaqueOrder);
        // The one that follows sees what a broken use left.
        refused(text, model, &[2, 4, 5], Rule::AfterBroken);
    }
}

#[test]
fn a_failed_try_lock_observes_the_owner() {
    let text = "1:acq(m) 2:tryfail(m) 2:w(x) 1:rel(m)";
    accepted(text, View, &[0, 1, 2, 3]);
    accepted(text, View, &[1, 0]);
    for model in [View, Value, Symbolic] {
        refused(text, model, &[1, 2], Rule::AfterBroken);
        refused(text, model, &[0, 3, 1, 2], Rule::AfterBroken);
        refused("1:acq(m) 1:tryfail(m) 1:w(x)", model, &[0, 1, 2], Rule::AfterBroken);
        // A reader is enough.
        accepted("1:racq(m) 2:tryfail(m) 2:w(x)", model, &[0, 1, 2]);
        refused("1:racq(m) 2:tryfail(m) 2:w(x)", model, &[1, 2], Rule::AfterBroken);
        refused("1:racq(m) 1:tryfail(m) 1:w(x)", model, &[0, 1, 2], Rule::AfterBroken);
    }
}

#[test]
fn waits_give_up_the_lock_and_need_a_notify() {
    let text = "1:acq(m) 1:acq(m) 1:wait(c,m) 2:acq(m) 2:notify(c) 2:rel(m) 1:woken(c,m) 1:rel(m) 1:rel(m) 2:acq(m)";
    accepted(text, View, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    accepted(text, View, &[3, 4, 5, 0, 1, 2]);
    refused(text, View, &[0, 1, 2, 6], Rule::NotNotified);
    // The notify came before the wait.
    refused(text, View, &[3, 4, 5, 0, 1, 2, 6], Rule::NotNotified);
    refused(text, View, &[0, 1, 2, 3, 4, 6], Rule::LockHeld);
    // It has the former depth again.
    refused(text, View, &[0, 1, 2, 3, 4, 5, 6, 7, 9], Rule::LockHeld);
    refused("1:acq(m) 2:wait(c,m)", View, &[0, 1], Rule::NotOwner);
    refused("1:woken(c,m)", View, &[0], Rule::NotWaiting);
    refused("1:timedout(c,m)", View, &[0], Rule::NotWaiting);
    refused("1:acq(m) 1:wait(c,m) 2:notify(d) 1:woken(d,m)", View, &[0, 1, 2, 3], Rule::NotWaiting);
    refused("1:acq(m) 1:wait(c,m) 1:w(x)", View, &[0, 1, 2], Rule::Waiting);
}

#[test]
fn timed_waits_leave_by_themselves() {
    let text = "1:acq(m) 1:wait(c,m) 2:notify(c) 1:timedout(c,m) 1:rel(m) 3:acq(m)";
    accepted(text, View, &[0, 1, 3, 4, 2]);
    accepted(text, View, &[2, 0, 1, 3]);
    refused(text, View, &[0, 1, 2, 3], Rule::Notified);
    refused(text, View, &[0, 1, 5, 3], Rule::LockHeld);
    // Not coming back in the schedule, it may be woken.
    accepted(text, View, &[0, 1, 2, 5]);
    let text = "1:acq(m) 1:wait(c,m) 2:notifyall(c) 1:timedout(c,m)";
    refused(text, View, &[0, 1, 2, 3], Rule::Notified);
}

#[test]
fn semaphores_count() {
    let text = "sem(s=1) 1:down(s) 1:down(s) 2:post(s)";
    accepted(text, View, &[0, 2, 1]);
    refused(text, View, &[0, 1], Rule::NoCount);
    refused("1:down(s)", View, &[0], Rule::NoCount);
}

#[test]
fn barriers_have_generations() {
    let text = "barrier(b=2) 1:arrive(b) 2:arrive(b) 1:leave(b) 2:leave(b) 1:arrive(b) 2:arrive(b) 1:leave(b)";
    accepted(text, View, &[0, 1, 2, 4, 3, 5, 6]);
    refused(text, View, &[0, 2], Rule::PartiesMissing);
    refused(text, View, &[0, 1, 2, 4, 3, 6], Rule::PartiesMissing);
    let text = "barrier(b=1) 1:arrive(b) 1:leave(b) 1:leave(b)";
    refused(text, View, &[0, 1, 2], Rule::NotArrived);
    refused("barrier(b=1) 1:leave(b)", View, &[0], Rule::NotArrived);
    refused("1:arrive(b) 1:leave(b)", View, &[0, 1], Rule::PartiesMissing);
    refused("barrier(b=0) 1:arrive(b) 1:leave(b)", View, &[0, 1], Rule::PartiesMissing);
    // Arrivals, not threads, make a generation.
    let text = "barrier(b=2) 1:arrive(b) 2:arrive(b) 3:arrive(b) 3:leave(b) 4:arrive(b)";
    refused(text, View, &[0, 1, 2, 3], Rule::PartiesMissing);
    accepted(text, View, &[0, 2, 3, 1]);
}

#[test]
fn opaque_variables_keep_their_order() {
    let text = "opaque(x) 1:w(x) 2:w(x) 3:r(x) 3:w(y)";
    accepted(text, View, &[0, 1, 2, 3]);
    accepted(text, View, &[1]);
    refused(text, View, &[1, 0], Rule::OpaqueOrder);
    refused(text, View, &[2, 1], Rule::OpaqueOrder);
    // A read of one is preserved or broken like any other.
    refused(text, View, &[0, 2, 3], Rule::AfterBroken);
}

#[test]
fn in_view_a_read_must_see_the_same_write() {
    let text = "1:w(x=5) 2:r(x=5) 2:w(y) 3:w(x=5)";
    accepted(text, View, &[0, 1, 2, 3]);
    accepted(text, View, &[3, 0, 1, 2]);
    accepted(text, View, &[1, 0, 3]);
    refused(text, View, &[1, 2], Rule::AfterBroken);
    refused(text, View, &[0, 3, 1, 2], Rule::AfterBroken);
    let initial = "1:r(x) 1:w(y) 2:w(x)";
    accepted(initial, View, &[0, 1, 2]);
    refused(initial, View, &[2, 0, 1], Rule::AfterBroken);
}

#[test]
fn in_value_a_read_must_see_the_same_value() {
    let text = "1:w(x=5) 2:r(x=5) 2:w(y) 3:w(x=5) 3:w(x=6) 4:w(x)";
    accepted(text, Value, &[0, 3, 1, 2]);
    accepted(text, Value, &[3, 1, 2]);
    refused(text, Value, &[1, 2], Rule::AfterBroken);
    refused(text, Value, &[3, 4, 1, 2], Rule::AfterBroken);
    refused(text, Value, &[0, 5, 1, 2], Rule::AfterBroken);
    // Without a recorded value: as in `view`.
    let text = "1:w(x=5) 2:r(x) 2:w(y) 3:w(x=5)";
    refused(text, Value, &[3, 1, 2], Rule::AfterBroken);
    accepted(text, Value, &[0, 1, 2]);
    // Its own writer needs no value.
    accepted("1:w(x) 2:r(x=5) 2:w(y)", Value, &[0, 1, 2]);
}

#[test]
fn the_initial_value_is_declared_or_first_seen() {
    accepted("init(x=5) 1:w(x=5) 2:r(x=5) 2:w(y)", Value, &[1, 2]);
    refused("1:w(x=5) 2:r(x=5) 2:w(y)", Value, &[1, 2], Rule::AfterBroken);
    // The first read with a known value before every write gives it, an update's old value too.
    accepted("3:r(x) 3:r(x=5) 1:w(x=5) 2:r(x=5) 2:w(y)", Value, &[3, 4]);
    accepted("3:au(x=5>6) 1:w(x=5) 2:r(x=5) 2:w(y)", Value, &[2, 3]);
    refused("3:au(x=4>5) 3:r(x=5) 2:r(x=5) 2:w(y)", Value, &[2, 3], Rule::AfterBroken);
}

#[test]
fn broken_update_breaks_its_readers() {
    let text = "1:w(x=1) 2:au(x=1>2) 3:r(x=2) 3:w(y)";
    for model in [View, Value] {
        accepted(text, model, &[0, 1, 2, 3]);
        // The update is broken, so the read from its own writer is too.
        accepted(text, model, &[1, 2]);
        refused(text, model, &[1, 2, 3], Rule::AfterBroken);
    }
    // Written over, it is forgotten.
    let text = "1:w(x=1) 2:au(x=1>2) 4:w(x=2) 3:r(x=2) 3:w(y)";
    accepted(text, Value, &[1, 2, 3, 4]);
    // A broken event is the last of its thread.
    refused("1:w(x=1) 2:au(x=1>2) 2:w(y)", View, &[1, 2], Rule::AfterBroken);
}

#[test]
fn a_cut_thread_keeps_its_locks() {
    let text = "1:w(x) 2:acq(m) 2:r(x) 2:rel(m) 1:acq(m)";
    refused(text, View, &[1, 2, 0, 4], Rule::LockHeld);
    accepted(text, View, &[0, 1, 2, 3, 4]);
}

#[test]
fn symbolic_guards_decide() {
    let text = "init(x=0) 1:w(x=1) 2:r(x=1)->a 2:guard[(>~%a~0)] 2:w(y=2)<-[(+~%a~1)] 3:r(y=2)->b 3:guard[(=~%b~2)]";
    accepted(text, Symbolic, &[0, 1, 2, 3, 4, 5]);
    refused(text, Symbolic, &[1, 0, 2], Rule::GuardNotTrue);
    refused(text, Symbolic, &[4, 5], Rule::GuardNotTrue);
    // Other models take no notice of guards.
    accepted(text, View, &[0, 1, 2, 3, 4, 5]);
    // The value written follows from the value read.
    let text = "init(x=0) 1:w(x=5) 2:r(x=5)->a 2:w(y=6)<-[(+~%a~1)] 3:r(y=6)->b 3:guard[(<~%b~6)]";
    refused(text, Symbolic, &[0, 1, 2, 3, 4], Rule::GuardNotTrue);
    accepted(text, Symbolic, &[1, 2, 3, 4]);
}

#[test]
fn symbolic_unknown_values_enable_no_guard() {
    refused("1:w(x) 2:r(x)->a 2:guard[(=~%a~%a)]", Symbolic, &[0, 1, 2], Rule::GuardNotTrue);
    refused("2:r(x)->a 2:guard[(=~%a~%a)]", Symbolic, &[0, 1], Rule::GuardNotTrue);
    refused("1:guard[(=~%a~%a)]", Symbolic, &[0], Rule::GuardNotTrue);
    // An update without an expression that sees another value than the recorded one writes an
    // unknown one.
    let text = "init(x=0) 1:w(x=1) 2:au(x=1>7) 3:r(x=7)->a 3:guard[(=~%a~7)]";
    accepted(text, Symbolic, &[0, 1, 2, 3]);
    refused(text, Symbolic, &[1, 2, 3], Rule::GuardNotTrue);
    // With one, it computes.
    let text = "init(x=0) 1:w(x=1) 2:au(x=1>7)->b<-[(+~%b~6)] 3:r(x=7)->a 3:guard[(>=~%a~6)]";
    accepted(text, Symbolic, &[0, 1, 2, 3]);
    accepted(text, Symbolic, &[1, 2, 3]);
}

#[test]
fn a_trace_that_names_what_it_does_not_declare_is_refused() {
    let undeclared = |kind: EventKind| -> Trace {
        let mut b = TraceBuilder::new();
        let t = b.thread("T1");
        b.push(t, kind, None);
        b.build()
    };
    let lock = EventKind::Acquire { lock: LockId(u32::MAX) };
    let read = EventKind::Read { var: VarId(0), atomic: false, value: None, register: None };
    for kind in [lock, read] {
        let refusal = feasible(&undeclared(kind), View, &[]).unwrap_err();
        assert_eq!(refusal.rule, Rule::Malformed);
    }
}

#[test]
fn a_refusal_is_one_clear_line() {
    let trace = trace("1:acq(m) 2:acq(m) 1:rel(m)");
    let refusal = feasible(&trace, View, &ids(&[0, 1])).unwrap_err();
    assert_eq!(refusal.to_string(), "event 1 (T2 acq(m)) at step 1: lock m is owned by T1");
    assert_eq!((refusal.event, refusal.step), (Some(ids(&[1])[0]), Some(1)));
}

#[test]
fn state_after_a_run() {
    let trace = trace("1:acq(m) 1:w(x) 2:racq(n) 2:r(x) 2:w(y) 3:w(x)");
    let run = feasible(&trace, View, &ids(&[0, 2, 3, 5])).unwrap();
    let thread = |name| trace.find_thread(name).unwrap();
    let (m, n) = (trace.find_lock("m").unwrap(), trace.find_lock("n").unwrap());
    assert_eq!(run.len(), 4);
    assert_eq!(run.position(ids(&[5])[0]), Some(3));
    assert_eq!(run.position(ids(&[1])[0]), None);
    assert_eq!(run.pending(thread("T1")), Some(ids(&[1])[0]));
    assert_eq!(run.pending(thread("T2")), None);
    assert_eq!(run.cut_by(thread("T2")), Some(ids(&[3])[0]));
    assert_eq!(run.broken().collect::<Vec<_>>(), ids(&[3]));
    assert_eq!(run.last_write(trace.find_variable("x").unwrap()), Some(ids(&[5])[0]));
    assert_eq!((run.owner(m), run.owner(n)), (Some(thread("T1")), None));
    assert!(run.shares(n, thread("T2")) && !run.shares(m, thread("T1")));
}
