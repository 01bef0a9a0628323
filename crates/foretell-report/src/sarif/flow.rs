//! The schedule as a code flow: a thread flow for each thread.

use foretell_trace::{EventId, EventKind, Model, ThreadId, Trace};
use serde_json::{Value, json};

use super::location::Locations;
use crate::json::Finding;
use crate::witness::event::{Shown, describe};
use crate::witness::fold::{self, Row};
use crate::witness::values::Observed;

/// Schedules of so many steps are given whole.
const WHOLE: usize = 1000;

/// The schedule of a finding; none where the trace has nothing of it.
pub(super) fn code_flow(
    finding: &Finding,
    trace: &Trace,
    model: Model,
    locations: &Locations<'_>,
) -> Option<Value> {
    let known = |e: &u32| (*e as usize) < trace.len();
    let ids = |events: &[u32]| -> Vec<EventId> {
        events.iter().copied().filter(known).map(EventId).collect()
    };
    let (schedule, pattern) = (finding.shown_schedule(trace), ids(&finding.events));
    let decisive: Vec<usize> = fold::folded(finding, &pattern, &schedule, trace)
        .into_iter()
        .filter_map(|row| match row {
            Row::Event(position) => Some(position),
            Row::Folded(_) => None,
        })
        .collect();
    let values = Observed::new(trace, model).values(trace, &schedule);
    let step = |position: usize, event: EventId, blocked: bool| {
        let silent = (Shown::Nothing, Shown::Nothing);
        let shown = values.get(position).copied().unwrap_or(silent);
        let importance = match () {
            () if pattern.contains(&event) => "essential",
            () if decisive.binary_search(&position).is_ok() => "important",
            () => "unimportant",
        };
        let mut location = locations.of_event(trace, event);
        let waits = if blocked { ": the thread waits for ever" } else { "" };
        let text = format!("{}{waits}.", describe(trace, event, shown.0, shown.1));
        location["message"] = json!({"text": super::escaped(&text)});
        let mut step = json!({
            "executionOrder": position + 1,
            "importance": importance,
            "location": location,
        });
        if let Some(kinds) = kinds(trace.event(event).kind) {
            step["kinds"] = json!(kinds);
        }
        (trace.thread(event), step)
    };
    let shown: Vec<usize> = match schedule.len() <= WHOLE {
        true => (0..schedule.len()).collect(),
        false => decisive.clone(),
    };
    let mut steps: Vec<(ThreadId, Value)> =
        shown.into_iter().map(|position| step(position, schedule[position], false)).collect();
    if finding.kind.ends_blocked() {
        let stuck = pattern.iter().filter(|e| !schedule.contains(e));
        let last = schedule.len();
        steps.extend(stuck.enumerate().map(|(i, &e)| step(last + i, e, true)));
    }
    (!steps.is_empty()).then(|| threads(trace, steps))
}

/// A thread flow for each thread, in the order of their first steps.
fn threads(trace: &Trace, steps: Vec<(ThreadId, Value)>) -> Value {
    let mut flows: Vec<(ThreadId, Vec<Value>)> = Vec::new();
    for (thread, step) in steps {
        match flows.iter_mut().find(|(t, _)| *t == thread) {
            Some((_, flow)) => flow.push(step),
            None => flows.push((thread, vec![step])),
        }
    }
    let flows: Vec<Value> = flows
        .into_iter()
        .map(|(thread, locations)| {
            let name = trace.display_name(thread);
            json!({
                "id": trace.thread_name(thread),
                "message": {"text": format!("Thread {}.", super::escaped(name))},
                "locations": locations,
            })
        })
        .collect();
    json!({
        "message": {"text": "The schedule that shows it, by thread; executionOrder is the order of all steps."},
        "threadFlows": flows,
    })
}

/// The words of the standard for what a step does.
fn kinds(kind: EventKind) -> Option<[&'static str; 2]> {
    match kind {
        EventKind::Acquire { .. }
        | EventKind::AcquireShared { .. }
        | EventKind::TryAcquire { .. }
        | EventKind::TryAcquireShared { .. }
        | EventKind::Woken { .. } => Some(["acquire", "lock"]),
        EventKind::Release { .. } | EventKind::ReleaseShared { .. } | EventKind::Wait { .. } => {
            Some(["release", "lock"])
        }
        _ => None,
    }
}
