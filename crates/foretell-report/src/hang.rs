//! The events of a hang in words: what each thread waits for, and the notification that is missed.

use foretell_trace::{EventId, EventKind, Trace};

/// Returns what the thread of a blocked event waits for: ``a notification of `c` ``.
pub(crate) fn wanted(trace: &Trace, e: EventId) -> String {
    match trace.event(e).kind {
        EventKind::Woken { cond, .. } => {
            format!("a notification of `{}`", trace.condition_name(cond))
        }
        EventKind::Down { sem } => format!("the semaphore `{}`", trace.semaphore_name(sem)),
        EventKind::Leave { barrier } => {
            format!("the other parties of the barrier `{}`", trace.barrier_name(barrier))
        }
        EventKind::Join { thread } => format!("the end of {}", trace.display_name(thread)),
        EventKind::Acquire { lock } | EventKind::AcquireShared { lock } => {
            format!("the lock `{}`", trace.lock_name(lock))
        }
        _ => "?".to_owned(),
    }
}

/// Returns the names of the conditions, semaphores and barriers that threads wait for, each once.
/// Locks and ends of threads follow from those.
pub(crate) fn objects(trace: &Trace, blocked: &[EventId]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for &e in blocked {
        let name = match trace.event(e).kind {
            EventKind::Woken { cond, .. } => trace.condition_name(cond),
            EventKind::Down { sem } => trace.semaphore_name(sem),
            EventKind::Leave { barrier } => trace.barrier_name(barrier),
            _ => continue,
        };
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns the last notification of the condition that a blocked `woken` waits for, if the schedule
/// has one, all of them before the wait began.
pub(crate) fn missed(trace: &Trace, schedule: &[EventId], woken: EventId) -> Option<EventId> {
    let EventKind::Woken { cond, .. } = trace.event(woken).kind else { return None };
    let notifies = |e: &EventId| match trace.event(*e).kind {
        EventKind::Notify { cond: c } | EventKind::NotifyAll { cond: c } => c == cond,
        _ => false,
    };
    let enters = |e: &EventId| {
        let waits = matches!(trace.event(*e).kind, EventKind::Wait { cond: c, .. } if c == cond);
        waits && trace.thread(*e) == trace.thread(woken)
    };
    let enter = schedule.iter().rposition(enters)?;
    let last = schedule.iter().rposition(notifies)?;
    (last < enter).then(|| schedule[last])
}

#[cfg(test)]
mod tests {
    use foretell_trace::text;

    use super::*;

    #[test]
    fn every_wait_has_its_words() {
        let lines = "#! barrier b=1\n#! sem s=1\nT1|acq(m)\nT1|wait(c,m)\nT2|notify(c)\n\
                     T1|woken(c,m)\nT1|down(s)\nT1|arrive(b)\nT1|leave(b)\nT1|join(T2)\nT2|racq(l)";
        let trace = text::parse(lines.as_bytes()).expect("trace text").trace;
        let words = |e: u32| wanted(&trace, EventId(e));
        assert_eq!(
            [0, 3, 4].map(words),
            ["the lock `m`", "a notification of `c`", "the semaphore `s`"]
        );
        assert_eq!(
            [6, 7, 8, 1].map(words),
            ["the other parties of the barrier `b`", "the end of T2", "the lock `l`", "?"]
        );
        let ids = [0, 3, 4, 6, 7].map(EventId);
        assert_eq!(objects(&trace, &ids), ["c", "s", "b"]);
        let order = |list: &[u32]| list.iter().map(|&e| EventId(e)).collect::<Vec<_>>();
        assert_eq!(missed(&trace, &order(&[0, 2, 1]), EventId(3)), Some(EventId(2)));
        assert_eq!(missed(&trace, &order(&[0, 1, 2]), EventId(3)), None);
        assert_eq!(missed(&trace, &order(&[0, 1]), EventId(3)), None);
        assert_eq!(missed(&trace, &order(&[0, 2, 1]), EventId(4)), None);
    }
}
