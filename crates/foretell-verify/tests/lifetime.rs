//! Lifetime violations: what shows one, and every way in which a schedule does not.

mod common;

use common::legal_trace as trace;
use foretell_trace::{EventId, Model, Trace};
use foretell_verify::{Checker, Pattern, Rule};

#[track_caller]
fn check(t: &Trace, pattern: &Pattern, schedule: &[u32], expected: Option<Rule>) {
    let schedule: Vec<EventId> = schedule.iter().map(|&e| EventId(e)).collect();
    let verdict = Checker::new(t, Model::View).verify(pattern, &schedule);
    assert_eq!(verdict.err().map(|refusal| refusal.rule), expected, "{pattern:?} {schedule:?}");
}

fn lifetime(free: u32, used: u32) -> Pattern {
    Pattern::Lifetime { free: EventId(free), used: EventId(used) }
}

#[test]
fn lifetime_violations() {
    let parts = "#!~part~x~b #!~part~m~b #!~part~c~b";
    let t = trace(&format!(
        "{parts} 1:w(x) 1:acq(m) 1:notify(c) 1:rel(m) 1:r(y) 2:free(b) 1:w(x) 3:free(b) 2:r(x)"
    ));
    check(&t, &lifetime(5, 0), &[5, 0], None);
    check(&t, &lifetime(5, 1), &[0, 5, 1], None);
    check(&t, &lifetime(5, 2), &[5, 0, 1, 2], None);
    check(&t, &lifetime(5, 3), &[0, 1, 2, 5, 3], None);
    check(&t, &lifetime(5, 6), &[0, 1, 2, 3, 4, 5, 6], None);
    check(&t, &lifetime(5, 7), &[5, 7], None);
    check(&t, &lifetime(7, 5), &[7, 5], None);
    // A broken read is a use.
    check(&t, &lifetime(7, 8), &[5, 7, 8], None);
    check(&t, &lifetime(5, 0), &[0, 5], Some(Rule::Order));
    check(&t, &lifetime(5, 0), &[5, 0, 7], Some(Rule::NotLast));
    check(&t, &lifetime(5, 0), &[0], Some(Rule::NotRun));
    check(&t, &lifetime(5, 5), &[5], Some(Rule::Order));
    check(&t, &lifetime(5, 99), &[5], Some(Rule::NoSuchEvent));
    check(&t, &lifetime(5, 4), &[0, 1, 2, 3, 5, 4], Some(Rule::NotUse));
    check(&t, &lifetime(5, 8), &[5, 8], Some(Rule::NotUse));
    check(&t, &lifetime(0, 5), &[0, 5], Some(Rule::NotFree));
    let other = trace("#!~part~x~b #!~part~y~a 1:free(b) 2:w(y) 2:w(x)");
    check(&other, &lifetime(0, 1), &[0, 1], Some(Rule::NotUse));
    let opaque = trace("#!~opaque~o #!~part~o~b #!~part~m~b 1:free(b) 2:acq(m)");
    check(&opaque, &lifetime(0, 1), &[0, 1], Some(Rule::Opaque));
}
