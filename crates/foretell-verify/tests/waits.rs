//! Which waiter a notify wakes: the checker's rule against trying every choice.

mod common;

use std::collections::BTreeSet;

use common::{ids, trace};
use foretell_trace::{EventKind, Model, ThreadId, Trace};
use foretell_verify::Checker;

/// The wait sets that some choice of waiters leaves; empty if no choice makes every event enabled.
type Choices = BTreeSet<BTreeSet<ThreadId>>;

fn step(trace: &Trace, choices: &Choices, e: u32) -> Choices {
    let event = trace.event(ids(&[e])[0]);
    let t = event.thread;
    let mut after = Choices::new();
    for set in choices {
        let mut changed = set.clone();
        match event.kind {
            EventKind::Wait { .. } => {
                changed.insert(t);
            }
            EventKind::Woken { .. } if set.contains(&t) => continue,
            EventKind::TimedOut { .. } if !changed.remove(&t) => continue,
            EventKind::NotifyAll { .. } => changed.clear(),
            EventKind::Notify { .. } if !set.is_empty() => {
                for chosen in set {
                    let mut rest = set.clone();
                    rest.remove(chosen);
                    after.insert(rest);
                }
                continue;
            }
            _ => {}
        }
        after.insert(changed);
    }
    after
}

fn acquires(trace: &Trace, e: u32) -> bool {
    matches!(trace.event(ids(&[e])[0]).kind, EventKind::Acquire { .. })
}

/// Every interleaving that some choice allows, and every first step beyond: the checker must agree
/// on all.
fn compare(text: &str) -> (usize, usize) {
    let trace = trace(text);
    let checker = Checker::new(&trace, Model::View);
    let mut threads: Vec<Vec<u32>> = vec![Vec::new(); trace.thread_count()];
    for e in trace.ids() {
        threads[trace.thread(e).index()].push(e.0);
    }
    let (mut feasible, mut refused) = (0, 0);
    // The acquires come first: nothing depends on where they stand.
    let acquires: Vec<u32> =
        threads.iter().map(|t| t[0]).filter(|&e| acquires(&trace, e)).collect();
    let ran = threads.iter().map(|t| usize::from(acquires.contains(&t[0]))).collect();
    let mut todo: Vec<(Vec<u32>, Vec<usize>, Choices)> =
        vec![(acquires, ran, Choices::from([BTreeSet::new()]))];
    while let Some((schedule, ran, choices)) = todo.pop() {
        for (t, events) in threads.iter().enumerate() {
            let Some(&e) = events.get(ran[t]) else { continue };
            let mut longer: Vec<u32> = schedule.clone();
            longer.push(e);
            let left = step(&trace, &choices, e);
            let verdict = checker.feasible(&ids(&longer));
            assert_eq!(verdict.is_ok(), !left.is_empty(), "{text} {longer:?} {verdict:?}");
            if left.is_empty() {
                refused += 1;
                continue;
            }
            feasible += 1;
            let mut further = ran.clone();
            further[t] += 1;
            todo.push((longer, further, left));
        }
    }
    (feasible, refused)
}

/// Three waiters with locks of their own, so that nothing but the wait set matters, in every
/// combination of being woken and timing out, against several notifiers.
#[test]
fn the_rule_agrees_with_trying_every_choice() {
    let (mut feasible, mut refused) = (0, 0);
    for outcomes in 0..8u32 {
        for notifies in ["nn", "an", "na", "nnn"] {
            let mut text = String::new();
            for waiter in 1..=3 {
                let back = if outcomes >> (waiter - 1) & 1 == 0 { "woken" } else { "timedout" };
                text += &format!("{waiter}:acq(l{waiter}) ");
                text += &format!("{waiter}:wait(c,l{waiter}) {waiter}:{back}(c,l{waiter}) ");
            }
            for n in notifies.chars() {
                text += if n == 'n' { "4:notify(c) " } else { "4:notifyall(c) " };
            }
            let (f, r) = compare(&text);
            feasible += f;
            refused += r;
        }
    }
    assert!(feasible > 10_000 && refused > 1_000, "{feasible} {refused}");
}

/// Waiting twice in turn: woken, then timing out, and the other way round.
#[test]
fn the_rule_agrees_when_threads_wait_again() {
    let again = |a, b| {
        format!(
            "1:acq(l) 1:wait(c,l) 1:{a}(c,l) 1:wait(c,l) 1:{b}(c,l) \
             2:acq(m) 2:wait(c,m) 2:woken(c,m) 3:notify(c) 3:notify(c) 3:notify(c)"
        )
    };
    for (a, b) in [("woken", "timedout"), ("timedout", "woken"), ("woken", "woken")] {
        compare(&again(a, b));
    }
}

/// The case that choosing the first waiter, or the last, gets wrong.
#[test]
fn notify_wakes_the_waiter_that_is_needed_first() {
    let text = "1:acq(l) 1:wait(c,l) 2:acq(m) 2:wait(c,m) 3:notify(c) 2:woken(c,m) 3:notify(c) 1:woken(c,l)";
    let trace = trace(text);
    let checker = Checker::new(&trace, Model::View);
    assert!(checker.feasible(&ids(&[0, 1, 2, 3, 4, 5, 6, 7])).is_ok());
    assert!(checker.feasible(&ids(&[0, 1, 2, 3, 4, 7, 6, 5])).is_ok());
    assert!(checker.feasible(&ids(&[0, 1, 2, 3, 4, 5, 7])).is_err());
    assert!(checker.feasible(&ids(&[0, 1, 2, 3, 4, 7])).is_ok());
}
