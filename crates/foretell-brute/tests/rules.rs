//! Which sequences are feasible: one small trace for each rule of semantics sections 1, 2 and 6.

mod common;

use common::trace;
use foretell_brute::maximal_interleavings;
use foretell_trace::{EventId, Model, Trace};

/// Whether the sequence is feasible: feasible sequences are the beginnings of the maximal ones.
fn feasible(trace: &Trace, model: Model, sequence: &[u32]) -> bool {
    let sequence: Vec<EventId> = sequence.iter().map(|&e| EventId(e)).collect();
    maximal_interleavings(trace, model).iter().any(|m| m.starts_with(&sequence))
}

/// Asserts for each sequence whether it is feasible in `view`.
fn check(text: &str, yes: &[&[u32]], no: &[&[u32]]) {
    check_in(Model::View, text, yes, no);
}

fn check_in(model: Model, text: &str, yes: &[&[u32]], no: &[&[u32]]) {
    let trace = trace(text);
    let observed: Vec<u32> = (0..trace.len() as u32).collect();
    assert!(feasible(&trace, model, &observed), "the trace itself is feasible");
    for sequence in yes {
        assert!(feasible(&trace, model, sequence), "{sequence:?} is feasible in {model}");
    }
    for sequence in no {
        assert!(!feasible(&trace, model, sequence), "{sequence:?} is not feasible in {model}");
    }
}

#[test]
fn a_thread_runs_its_events_in_order() {
    check("T1|w(x)\n T1|w(y)\n T2|w(x)", &[&[0, 2, 1], &[2, 0, 1], &[2]], &[&[1], &[0, 0]]);
}

#[test]
fn a_mutex_excludes_other_threads() {
    let text = "T1|acq(l)\n T1|rel(l)\n T2|acq(l)\n T2|rel(l)";
    check(text, &[&[2, 3, 0, 1], &[2]], &[&[0, 2], &[2, 0]]);
}

#[test]
fn a_mutex_is_reentrant_and_free_at_depth_zero() {
    let text = "T1|acq(l)\n T1|acq(l)\n T1|rel(l)\n T1|rel(l)\n T2|acq(l)";
    check(text, &[&[4], &[0, 1, 2, 3, 4]], &[&[0, 1, 2, 4], &[4, 0]]);
}

#[test]
fn readers_share_a_lock_and_exclude_a_writer() {
    let text = "T1|racq(l)\n T2|racq(l)\n T2|rrel(l)\n T1|rrel(l)\n T3|acq(l)\n T3|rel(l)";
    let yes: &[&[u32]] = &[&[1, 0], &[1, 2, 4], &[4, 5, 0, 1]];
    check(text, yes, &[&[0, 4], &[4, 0], &[0, 1, 2, 4], &[4, 1]]);
}

#[test]
fn shared_holds_nest() {
    let text = "T1|racq(l)\n T1|racq(l)\n T1|rrel(l)\n T1|rrel(l)\n T2|acq(l)\n T2|rel(l)";
    check(text, &[&[4, 5, 0, 1]], &[&[0, 1, 2, 4]]);
}

#[test]
fn a_failed_try_lock_needs_another_owner_or_its_thread_stops() {
    let text = "T1|acq(l)\n T2|tryfail(l)\n T2|w(x)\n T1|rel(l)";
    check(text, &[&[1], &[1, 0, 3], &[0, 1, 3, 2], &[0, 3, 1]], &[&[1, 2], &[0, 3, 1, 2]]);
}

#[test]
fn a_failed_try_lock_wants_a_holder_in_any_mode() {
    let text = "T3|acq(l)\n T2|tryfail(l)\n T2|w(x)\n T3|rel(l)\n T1|racq(l)";
    check(text, &[&[0, 1, 2], &[4, 1, 2]], &[&[1, 2], &[0, 3, 1, 2]]);
    // Not the thread itself.
    let trace = trace("T1|racq(l)\n T1|tryfail(l)\n T1|w(x)");
    assert!(!feasible(&trace, Model::View, &[0, 1, 2]));
}

#[test]
fn a_failed_try_for_the_reader_side_wants_a_writer() {
    let text = "T3|acq(l)\n T2|rtryfail(l)\n T2|w(x)\n T3|rel(l)\n T1|racq(l)";
    check(text, &[&[0, 1, 2], &[4, 1]], &[&[4, 1, 2], &[1, 2], &[0, 3, 1, 2]]);
}

#[test]
fn a_writer_may_take_the_reader_side() {
    let text = "T1|acq(l)\n T1|racq(l)\n T1|rel(l)\n T1|rrel(l)\n T2|racq(l)\n T2|rrel(l)
                T3|acq(l)\n T3|rel(l)";
    let yes: &[&[u32]] = &[&[0, 1, 2, 4, 3, 5, 6], &[4, 5, 0], &[6, 7, 0, 1, 2, 4]];
    check(text, yes, &[&[0, 1, 4], &[0, 1, 2, 6], &[4, 0], &[0, 1, 2, 3, 4, 6]]);
    let inside = "T1|acq(l)\n T1|racq(l)\n T1|rrel(l)\n T1|rel(l)\n T2|racq(l)";
    check(inside, &[&[0, 1, 2, 3, 4], &[4]], &[&[0, 1, 2, 4]]);
}

#[test]
fn failed_try_lock_is_legal_on_a_free_lock() {
    let trace = trace("T1|tryfail(l)\n T1|w(x)\n T2|acq(l)\n T2|tryfail(l)");
    // Its view is not preserved there, not even in the trace itself.
    assert!(!feasible(&trace, Model::View, &[0, 1]));
    assert!(feasible(&trace, Model::View, &[2, 0, 1]));
    assert!(feasible(&trace, Model::View, &[2, 3]));
}

#[test]
fn a_wait_releases_its_lock_fully_and_gets_it_back() {
    let text = "T1|acq(l)\n T1|acq(l)\n T1|wait(c,l)\n T2|acq(l)\n T2|notify(c)\n T2|rel(l)
                T1|woken(c,l)\n T1|rel(l)\n T2|acq(l)\n T1|rel(l)";
    let trace = common::any_trace(text);
    // As written the last acquire of T2 comes while T1 still holds the lock once.
    assert!(!feasible(&trace, Model::View, &[0, 1, 2, 3, 4, 5, 6, 7, 8]));
    assert!(feasible(&trace, Model::View, &[0, 1, 2, 3, 4, 5, 6, 7, 9, 8]));
    assert!(feasible(&trace, Model::View, &[0, 1, 2, 3, 4, 5, 8]));
    assert!(!feasible(&trace, Model::View, &[0, 1, 2, 3, 4, 6]));
}

#[test]
fn woken_needs_a_notify_after_the_wait() {
    let text = "T1|acq(l)\n T1|wait(c,l)\n T2|notify(c)\n T1|woken(c,l)\n T1|rel(l)";
    check(text, &[&[2, 0, 1], &[0, 2, 1]], &[&[2, 0, 1, 3], &[0, 2, 1, 3], &[0, 1, 3]]);
}

#[test]
fn a_notify_wakes_one_waiter_whichever() {
    let text = "T1|acq(l)\n T1|wait(c,l)\n T2|acq(l)\n T2|wait(c,l)\n T3|notify(c)
                T1|woken(c,l)\n T1|rel(l)\n T3|notify(c)\n T2|woken(c,l)\n T2|rel(l)";
    let both = [0, 1, 2, 3, 4];
    let then = |more: &[u32]| [&both[..], more].concat();
    check(
        text,
        &[&then(&[5, 6]), &then(&[8, 9]), &then(&[7, 8, 9, 5])],
        &[&then(&[5, 6, 8]), &then(&[8, 9, 5])],
    );
}

#[test]
fn a_notify_must_wake_a_waiter_if_there_is_one() {
    // After the wait it cannot leave T1 alone, so T1 can no longer time out.
    let text = "T1|acq(l)\n T1|wait(c,l)\n T1|timedout(c,l)\n T1|rel(l)\n T2|notify(c)";
    check(text, &[&[0, 1, 4], &[4, 0, 1, 2]], &[&[0, 1, 4, 2]]);
}

#[test]
fn notify_all_wakes_every_waiter() {
    let text = "T1|acq(l)\n T1|wait(c,l)\n T2|acq(l)\n T2|wait(c,l)\n T3|notifyall(c)
                T1|woken(c,l)\n T1|rel(l)\n T2|woken(c,l)\n T2|rel(l)";
    let yes: &[&[u32]] = &[&[0, 1, 2, 3, 4, 7, 8, 5, 6], &[0, 1, 4, 5, 6]];
    check(text, yes, &[&[0, 1, 4, 2, 3, 7], &[0, 1, 2, 3, 4, 7, 5]]);
}

#[test]
fn conditions_have_wait_sets_of_their_own() {
    let text = "T1|acq(l)\n T1|wait(c,l)\n T2|notify(d)\n T2|notify(c)\n T1|woken(c,l)";
    check(text, &[&[0, 2, 1, 3, 4]], &[&[0, 1, 2, 4]]);
}

#[test]
fn a_semaphore_counts() {
    let text = "#! sem s=1\n T1|down(s)\n T2|post(s)\n T2|down(s)\n T3|post(s)";
    check(text, &[&[0, 3, 1, 2], &[1, 2, 0], &[3, 0, 1]], &[&[1, 2, 0, 0], &[2], &[0, 0]]);
    check("T1|post(s)\n T2|down(s)", &[], &[&[1]]);
}

#[test]
fn a_barrier_opens_when_its_generation_is_full() {
    let text = "#! barrier b=2\n T1|arrive(b)\n T2|arrive(b)\n T1|leave(b)\n T2|leave(b)
                T1|arrive(b)\n T2|arrive(b)\n T2|leave(b)\n T1|leave(b)";
    let yes: &[&[u32]] = &[&[1, 0, 3, 2], &[0, 1, 2, 4, 3, 5, 7, 6]];
    check(text, yes, &[&[0, 2], &[0, 1, 2, 4, 7], &[0, 1, 2, 4, 3, 6]]);
}

#[test]
fn arrivals_belong_to_generations_in_the_order_of_the_sequence() {
    // T3 can take the place of T2 in the first generation; T2 then has to wait for T4.
    let text = "#! barrier b=2\n T1|arrive(b)\n T2|arrive(b)\n T1|leave(b)\n T2|leave(b)
                T3|arrive(b)\n T4|arrive(b)\n T3|leave(b)";
    check(text, &[&[0, 4, 2, 6, 1, 5, 3]], &[&[0, 4, 1, 3], &[0, 4, 2, 1, 3]]);
}

#[test]
fn a_forked_thread_starts_after_its_fork() {
    check("T1|w(x)\n T1|fork(T2)\n T2|w(y)\n T3|w(z)", &[&[3, 0, 1, 2]], &[&[2], &[0, 2]]);
}

#[test]
fn a_join_waits_for_every_event() {
    check("T2|w(x)\n T2|w(y)\n T1|join(T2)\n T1|w(x)", &[&[0, 1, 2, 3]], &[&[0, 2], &[2]]);
}

#[test]
fn a_join_waits_for_the_fork_of_a_thread_without_events() {
    check("T1|fork(T3)\n T2|join(T3)", &[&[0, 1]], &[&[1]]);
    check("T1|w(x)\n T2|join(T3)", &[&[1]], &[]);
}

#[test]
fn a_thread_with_a_broken_event_cannot_be_joined() {
    let text = "T3|w(x)\n T2|r(x)\n T1|join(T2)\n T1|w(y)";
    check(text, &[&[0, 1, 2, 3], &[1]], &[&[1, 2]]);
    check(&format!("{text}\n T3|w(x)"), &[&[0, 1, 4, 2, 3]], &[&[0, 4, 1, 2]]);
    check("T3|acq(l)\n T2|tryfail(l)\n T1|join(T2)", &[&[0, 1, 2]], &[&[1, 2]]);
    // Nor one that is cut earlier.
    check("T3|w(x)\n T2|r(x)\n T2|w(y)\n T1|join(T2)", &[&[1, 0]], &[&[1, 2], &[1, 3]]);
}

#[test]
fn a_read_of_another_write_is_broken_and_ends_its_thread() {
    let text = "T1|w(x)\n T2|r(x)\n T2|w(y)\n T1|w(x)";
    check(text, &[&[1], &[0, 3, 1], &[0, 1, 2, 3], &[1, 0, 3]], &[&[1, 2], &[0, 3, 1, 2]]);
}

#[test]
fn a_read_of_the_initial_value_is_broken_by_any_write() {
    check("T1|r(x)\n T1|w(y)\n T2|w(x)", &[&[2, 0], &[0, 2, 1]], &[&[2, 0, 1]]);
}

#[test]
fn a_cut_thread_keeps_its_locks() {
    let text = "T1|w(x)\n T2|acq(l)\n T2|r(x)\n T2|rel(l)\n T3|acq(l)\n T3|rel(l)";
    check(text, &[&[1, 2, 0], &[0, 1, 2, 3, 4]], &[&[1, 2, 3], &[1, 2, 4], &[1, 2, 0, 4]]);
}

#[test]
fn a_broken_update_poisons_its_readers() {
    let text = "T1|w(x)\n T2|au(x)\n T3|r(x)\n T3|w(y)";
    // T3 reads the very same event as observed, but what it wrote is unknown.
    check(text, &[&[1, 2], &[1, 0, 2]], &[&[1, 2, 3]]);
    check_in(
        Model::Value,
        "#! init x=0\n T1|w(x=5)\n T2|au(x=5>6)\n T3|r(x=6)\n T3|w(y=1)",
        &[&[1, 2]],
        &[&[1, 2, 3]],
    );
}

#[test]
fn a_write_over_a_poisoned_value_heals_it() {
    let text = "T1|w(x)\n T2|au(x)\n T3|w(x)\n T4|r(x)\n T4|w(y)";
    check(text, &[&[1, 2, 3, 4]], &[&[2, 1, 3, 4]]);
}

#[test]
fn equal_values_preserve_the_view_in_value_only() {
    let text = "T1|w(x=1)\n T2|w(x=1)\n T3|r(x=1)\n T3|w(y=1)";
    let swapped: &[u32] = &[1, 0, 2, 3];
    check_in(Model::Value, text, &[swapped, &[0, 2, 3], &[2]], &[&[2, 3]]);
    check_in(Model::View, text, &[], &[swapped]);
}

#[test]
fn the_declared_initial_value_preserves_the_view() {
    let text = "#! init x=7\n T1|w(x=7)\n T2|r(x=7)\n T2|w(y=1)";
    check_in(Model::Value, text, &[&[1, 2]], &[]);
    check_in(Model::View, text, &[&[1]], &[&[1, 2]]);
}

#[test]
fn the_first_known_read_before_every_write_gives_the_initial_value() {
    let text = "T3|r(x)\n T3|r(x=7)\n T1|w(x=7)\n T2|r(x=7)\n T2|w(y=1)";
    check_in(Model::Value, text, &[&[3, 4], &[2, 0]], &[&[2, 0, 1]]);
    // A read after a write says nothing of the initial value.
    check_in(Model::Value, "T1|w(x=7)\n T2|r(x=7)\n T2|w(y=1)", &[&[1]], &[&[1, 2]]);
}

#[test]
fn the_old_value_of_an_update_gives_the_initial_value() {
    let text = "T3|au(x=7>8)\n T1|w(x=7)\n T2|r(x=7)\n T2|w(y=1)";
    check_in(Model::Value, text, &[&[2, 3], &[1, 0, 2]], &[&[0, 2, 3]]);
}

#[test]
fn a_read_without_a_value_falls_back_to_view() {
    let text = "T1|w(x=1)\n T2|w(x=1)\n T3|r(x)\n T3|w(y=1)";
    check_in(Model::Value, text, &[&[0, 1, 2, 3]], &[&[1, 0, 2, 3], &[0, 2, 3]]);
}

#[test]
fn a_read_is_preserved_by_its_own_write_without_a_value() {
    let text = "T1|w(x)\n T2|r(x=1)\n T2|w(y=1)\n T1|w(x)";
    check_in(Model::Value, text, &[&[0, 1, 2]], &[&[1, 2], &[0, 3, 1, 2]]);
}

#[test]
fn opaque_accesses_keep_their_order() {
    let text = "#! opaque x\n T1|w(x)\n T2|r(x)\n T2|w(y)\n T3|r(x)\n T3|w(z)";
    // Those that are left out are left out: T3's read may come without T2's.
    check(text, &[&[0, 3, 4], &[0, 1, 3, 2], &[3], &[1]], &[&[3, 0], &[0, 3, 1], &[1, 2]]);
}

#[test]
fn uses_of_hidden_state_keep_their_order_and_none_is_skipped() {
    let numbered = "#! opaque h\n T1|au(h=0>1)\n T1|w(x)\n T2|au(h=1>2)\n T2|w(x)
                    T3|au(h=2>3)\n T3|w(x)";
    // The values are no excuse where they coincide.
    let equal = "#! opaque h\n T1|au(h=0>0)\n T1|w(x)\n T2|au(h=0>0)\n T2|w(x)
                 T3|au(h=0>0)\n T3|w(x)";
    for model in [Model::View, Model::Value, Model::Symbolic] {
        for text in [numbered, equal] {
            let no: &[&[u32]] = &[&[2, 3], &[0, 4, 5], &[2, 0], &[2, 4, 5]];
            check_in(model, text, &[&[0, 2, 4, 5, 3, 1], &[2, 4], &[4]], no);
        }
    }
}

#[test]
fn guards_are_always_enabled_outside_symbolic() {
    let text = "T1|w(x=1)\n T2|r(x=1)->%1\n T2|guard((= %1 1))\n T1|w(x=2)";
    check(text, &[&[0, 1, 3, 2]], &[&[0, 3, 1, 2]]);
}

#[test]
fn a_symbolic_read_may_see_any_value_and_its_guards_decide() {
    let text = "#! init x=5\n T1|w(x=1)\n T2|r(x=1)->%1\n T2|guard((> %1 0))\n T2|w(y=2)<-(+ %1 1)
                T1|w(x=0)";
    check_in(Model::Symbolic, text, &[&[1, 2, 3], &[0, 1, 2, 3], &[0, 1, 4, 2]], &[&[0, 4, 1, 2]]);
}

#[test]
fn a_symbolic_write_computes_its_value() {
    let text = "#! init x=0\n T1|r(x=0)->%1\n T1|w(y=1)<-(+ %1 1)\n T2|r(y=1)->%1
                T2|guard((= %1 1))\n T3|w(x=4)";
    check_in(Model::Symbolic, text, &[&[4, 0, 1, 2]], &[&[4, 0, 1, 2, 3]]);
}

#[test]
fn a_symbolic_update_computes_from_what_it_sees() {
    let text = "#! init x=0\n T1|au(x=0>5)\n T2|r(x=5)->%1\n T2|guard((= %1 5))\n T3|w(x=4)";
    // Without an expression it is known what it writes only for the value it saw in the trace.
    check_in(Model::Symbolic, text, &[&[0, 1, 2], &[3, 0, 1]], &[&[3, 0, 1, 2]]);
}

#[test]
fn an_unknown_guard_is_not_enabled() {
    let text = "T1|w(x)\n T2|w(x=1)\n T3|r(x=1)->%1\n T3|guard((= %1 1))";
    check_in(Model::Symbolic, text, &[&[1, 2, 3]], &[&[0, 2, 3], &[2, 3], &[1, 0, 2, 3]]);
}

#[test]
fn a_failed_try_lock_is_broken_in_symbolic_too() {
    let text = "T1|acq(l)\n T2|tryfail(l)\n T2|w(x)\n T1|rel(l)";
    check_in(Model::Symbolic, text, &[&[0, 1, 2], &[1]], &[&[1, 2]]);
}
