//! Happens-before (semantics section 3b): for each rule a schedule in which it orders two accesses,
//! so that the checker refuses the race, and one without it, which the checker accepts.

use foretell_trace::{EventId, Model, Trace};
use foretell_verify::{Checker, Pattern, Rule};

/// A trace from words like `1:aw.rlx(f)`; `#…` words are declarations, with `~` for spaces.
fn trace(text: &str) -> Trace {
    let line = |word: &str| match word.split_once(':') {
        Some((thread, event)) => format!("T{thread}|{event}\n"),
        None => format!("{}\n", word.replace('~', " ")),
    };
    let text: String = text.split_whitespace().map(line).collect();
    foretell_trace::text::parse(text.as_bytes()).expect("a trace").trace
}

/// Checks the recorded order itself as a witness of the race of the first and the last event on
/// `d`, which is in the last place.
#[track_caller]
fn verdict(text: &str) -> Option<Rule> {
    let trace = trace(text);
    let d = trace.find_variable("d").expect("a variable");
    let on_d = |e: &EventId| trace.variable(*e) == Some(d);
    let (a, b) = (trace.ids().find(on_d), trace.ids().rfind(on_d));
    let (Some(a), Some(b)) = (a, b) else { panic!("two accesses of d") };
    let schedule: Vec<EventId> = trace.ids().take(b.index() + 1).collect();
    let checker = Checker::new(&trace, Model::View);
    checker.feasible(&schedule).expect("a feasible schedule");
    checker.verify(&Pattern::Unordered { a, b }, &schedule).err().map(|refusal| refusal.rule)
}

#[track_caller]
fn ordered(text: &str) {
    assert_eq!(verdict(text), Some(Rule::Ordered), "{text}");
}

#[track_caller]
fn unordered(text: &str) {
    assert_eq!(verdict(text), None, "{text}");
}

#[test]
fn a_flag_orders_if_it_is_released_and_acquired() {
    for store in ["aw", "aw.rel"] {
        for load in ["ar", "ar.acq"] {
            ordered(&format!("1:w(d) 1:{store}(f) 2:{load}(f) 2:r(d)"));
        }
        unordered(&format!("1:w(d) 1:{store}(f) 2:ar.rlx(f) 2:r(d)"));
    }
    for load in ["ar", "ar.acq", "ar.rlx"] {
        unordered(&format!("1:w(d) 1:aw.rlx(f) 2:{load}(f) 2:r(d)"));
    }
    // The store comes before the write; the read sees another store.
    unordered("1:aw.rel(f) 1:w(d) 2:ar.acq(f) 2:r(d)");
    unordered("1:w(d) 1:aw.rel(f) 3:aw.rel(f) 2:ar.acq(f) 2:r(d)");
    unordered("2:ar.acq(f) 1:w(d) 1:aw.rel(f) 2:r(d)");
}

#[test]
fn order_only_locks_synchronize_nothing() {
    let sections = "1:acq(l) 1:w(d) 1:rel(l) 2:acq(l) 2:w(d) 2:rel(l)";
    ordered(sections);
    unordered(&format!("#!~order-only~l {sections}"));
    ordered(&format!("#!~order-only~m {sections} 2:acq(m) 2:rel(m)"));
    let tried = "1:w(d) 1:acq(l) 2:tryfail(l) 2:w(d)";
    ordered(tried);
    unordered(&format!("#!~order-only~l {tried}"));
}

#[test]
fn updates_continue_a_release_sequence() {
    ordered("1:w(d) 1:aw.rel(f) 3:au.rlx(f) 2:ar.acq(f) 2:r(d)");
    ordered("1:w(d) 1:aw.rel(f) 3:au.rlx(f) 4:au.rlx(f) 2:au.acq(f) 2:r(d)");
    ordered("1:w(d) 1:au.rel(f) 3:au.rel(f) 2:ar.acq(f) 2:r(d)");
    // A store starts anew, also one of the same thread (C++20).
    unordered("1:w(d) 1:aw.rel(f) 1:aw.rlx(f) 2:ar.acq(f) 2:r(d)");
    unordered("1:w(d) 1:aw.rel(f) 3:aw.rlx(f) 4:au.rlx(f) 2:ar.acq(f) 2:r(d)");
    unordered("1:w(d) 1:au.acq(f) 2:ar.acq(f) 2:r(d)");
    unordered("1:w(d) 1:aw.rel(f) 2:au.rel(f) 2:r(d)");
    // A plain store is in no release sequence.
    unordered("1:w(d) 1:aw.rel(f) 3:w(f) 4:au.rlx(f) 2:ar.acq(f) 2:r(d)");
}

#[test]
fn fences_on_either_side() {
    ordered("1:w(d) 1:fence.rel 1:aw.rlx(f) 2:ar.acq(f) 2:r(d)");
    ordered("1:w(d) 1:aw.rel(f) 2:ar.rlx(f) 2:fence.acq 2:r(d)");
    ordered("1:w(d) 1:fence.rel 1:aw.rlx(f) 2:ar.rlx(f) 2:fence.acq 2:r(d)");
    ordered("1:w(d) 1:fence 1:aw.rlx(f) 2:ar.rlx(f) 2:fence.acqrel 2:r(d)");
    ordered("1:w(d) 1:fence.rel 1:aw.rlx(f) 3:au.rlx(f) 2:ar.rlx(f) 2:fence.acq 2:r(d)");
    ordered("1:w(d) 1:fence.rel 1:r(q) 1:aw.rlx(f) 2:ar.rlx(f) 2:r(q) 2:fence.acq 2:r(d)");
    // On the wrong side of the access, or of the wrong kind.
    unordered("1:w(d) 1:aw.rlx(f) 1:fence.rel 2:ar.acq(f) 2:r(d)");
    unordered("1:fence.rel 1:w(d) 1:aw.rlx(f) 2:ar.acq(f) 2:r(d)");
    unordered("1:w(d) 1:fence.acq 1:aw.rlx(f) 2:ar.acq(f) 2:r(d)");
    unordered("1:w(d) 1:aw.rel(f) 2:fence.acq 2:ar.rlx(f) 2:r(d)");
    unordered("1:w(d) 1:aw.rel(f) 2:ar.rlx(f) 2:fence.rel 2:r(d)");
    unordered("1:w(d) 1:fence.rel 1:aw.rlx(f) 2:ar.rlx(f) 2:r(d)");
}

#[test]
fn plain_and_atomic_accesses_of_one_variable() {
    ordered("1:w(d) 1:w(f) 2:r(f) 2:r(d)");
    unordered("1:w(d) 1:aw(f) 2:r(f) 2:r(d)");
    unordered("1:w(d) 1:w(f) 2:ar(f) 2:r(d)");
    unordered("1:w(d) 1:w(f) 3:w(f) 2:r(f) 2:r(d)");
    // The read that sees the write races with it; what comes after the read does not.
    unordered("1:w(d) 2:r(d)");
    ordered("1:w(d) 2:r(d) 2:r(d)");
    ordered("1:w(d) 1:w(d) 2:r(d)");
    unordered("1:w(d) 3:w(d) 2:r(d)");
    unordered("1:w(d) 2:w(d)");
}

#[test]
fn locks_order_whole_sections() {
    ordered("1:w(d) 1:acq(l) 1:rel(l) 2:acq(l) 2:rel(l) 2:r(d)");
    ordered("1:acq(l) 1:w(d) 1:rel(l) 3:acq(l) 3:rel(l) 2:tryacq(l) 2:r(d)");
    unordered("1:w(d) 1:acq(l) 1:rel(l) 2:acq(m) 2:rel(m) 2:r(d)");
    unordered("2:acq(l) 2:rel(l) 1:w(d) 1:acq(l) 1:rel(l) 2:r(d)");
    // Of a reader-writer lock, two readers do not order each other.
    ordered("1:w(d) 1:racq(l) 1:rrel(l) 2:acq(l) 2:rel(l) 2:r(d)");
    ordered("1:w(d) 1:acq(l) 1:rel(l) 2:racq(l) 2:rrel(l) 2:r(d)");
    unordered("1:w(d) 1:racq(l) 1:rrel(l) 2:racq(l) 2:rrel(l) 2:r(d)");
}

#[test]
fn a_failed_try_comes_after_the_acquire_of_the_owner() {
    ordered("1:w(d) 1:acq(l) 2:tryfail(l) 2:r(d)");
    ordered("1:w(d) 1:acq(l) 2:rtryfail(l) 2:r(d)");
    ordered("1:w(d) 1:racq(l) 2:tryfail(l) 2:r(d)");
    unordered("1:acq(l) 1:w(d) 2:tryfail(l) 2:r(d)");
    // The acquire that made it the owner counts, not one that only went deeper.
    unordered("1:acq(l) 1:w(d) 1:acq(l) 2:tryfail(l) 2:r(d)");
}

#[test]
fn waits_and_notifications() {
    ordered("1:acq(l) 2:w(d) 1:wait(c,l) 2:notify(c) 1:woken(c,l) 1:r(d)");
    ordered("1:acq(l) 2:w(d) 1:wait(c,l) 2:notifyall(c) 1:woken(c,l) 1:r(d)");
    unordered("1:acq(l) 1:wait(c,l) 2:notify(c) 2:w(d) 1:woken(c,l) 1:r(d)");
    // `wait` releases, `timed-out` acquires; a time-out comes after no notification.
    ordered("1:acq(l) 1:w(d) 1:wait(c,l) 2:acq(l) 2:rel(l) 2:r(d)");
    ordered("1:acq(l) 1:wait(c,l) 2:w(d) 2:acq(l) 2:rel(l) 1:timedout(c,l) 1:r(d)");
    unordered("2:w(d) 2:notify(c) 1:acq(l) 1:wait(c,l) 1:timedout(c,l) 1:r(d)");
}

#[test]
fn semaphores_and_barriers() {
    ordered("1:w(d) 1:post(s) 2:down(s) 2:r(d)");
    ordered("#!~sem~s=1 1:w(d) 1:post(s) 2:down(s) 2:r(d)");
    unordered("#!~sem~s=1 2:down(s) 1:w(d) 1:post(s) 2:r(d)");
    unordered("1:post(s) 1:w(d) 2:down(s) 2:r(d)");
    ordered("#!~barrier~b=2 1:w(d) 1:arrive(b) 2:arrive(b) 2:leave(b) 2:r(d)");
    unordered("#!~barrier~b=2 1:arrive(b) 1:w(d) 2:arrive(b) 2:leave(b) 2:r(d)");
    unordered("#!~barrier~b=1 1:w(d) 1:arrive(b) 2:arrive(b) 2:leave(b) 2:r(d)");
}

#[test]
fn threads_and_hidden_state() {
    ordered("1:w(d) 1:fork(T2) 2:r(d)");
    ordered("1:w(d) 2:join(T1) 2:r(d)");
    unordered("1:fork(T2) 1:w(d) 2:r(y) 2:r(d)");
    ordered("#!~opaque~o 1:w(d) 1:au.rlx(o) 2:au.rlx(o) 2:r(d)");
    unordered("1:w(d) 1:au.rlx(o) 2:au.rlx(o) 2:r(d)");
}

#[test]
fn freed_memory_is_written() {
    let parts = "#!~part~d~b #!~part~e~b ";
    let trace = trace(&format!("{parts} 1:r(d) 1:aw.rlx(f) 2:ar.acq(f) 2:free(b)"));
    let schedule: Vec<EventId> = trace.ids().collect();
    let race = Pattern::Unordered { a: EventId(0), b: EventId(3) };
    assert!(Checker::new(&trace, Model::View).verify(&race, &schedule).is_ok());
}

#[test]
fn the_claim_itself() {
    let t = trace("1:w(d) 1:aw.rlx(f) 2:ar.rlx(f) 2:r(d) 2:r(e) 2:aw(g) 1:ar(g)");
    let checker = Checker::new(&t, Model::View);
    let ids = |list: &[u32]| list.iter().copied().map(EventId).collect::<Vec<_>>();
    let rule = |a, b, schedule: &[u32]| {
        let pattern = Pattern::Unordered { a: EventId(a), b: EventId(b) };
        checker.verify(&pattern, &ids(schedule)).err().map(|refusal| refusal.rule)
    };
    assert_eq!(rule(0, 3, &[0, 1, 2, 3]), None);
    assert_eq!(rule(3, 0, &[0, 1, 2, 3]), None);
    assert_eq!(rule(0, 3, &[0, 1, 2, 3, 4]), Some(Rule::NotLast));
    assert_eq!(rule(0, 3, &[0, 1, 2]), Some(Rule::NotRun));
    assert_eq!(rule(0, 4, &[0, 1, 2, 3, 4]), Some(Rule::NoConflict));
    assert_eq!(rule(5, 6, &[0, 1, 2, 3, 4, 5, 6]), Some(Rule::BothAtomic));
    assert_eq!(rule(0, 3, &[0, 2, 1, 3]), Some(Rule::AfterBroken));
    assert_eq!(rule(0, 70, &[0, 1]), Some(Rule::NoSuchEvent));
}
