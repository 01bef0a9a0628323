//! Schedules as Chrome trace JSON, for Perfetto and chrome://tracing.
//!
//! Each finding is a process, each thread a track, each step a slice of ten microseconds in the
//! order of the witness; the observed order of the events is a process of its own. Arrows (flow
//! events) lead from the write to the read that sees it and from a release to the acquire that
//! comes after it.

use std::collections::BTreeSet;
use std::io::{self, Write};

use foretell_trace::{EventId, Model, ThreadId, Trace};
use serde_json::{Value, json};

use crate::headline::headline;
use crate::json::{Finding, Findings};
use crate::location::stack;
use crate::source::Sources;
use crate::witness::event::describe;
use crate::witness::relations::{Relations, steps};
use crate::witness::values::Observed;

/// Microseconds of one step.
const STEP: usize = 10;

/// A log under construction.
#[derive(Debug, Default)]
pub struct Log {
    events: Vec<Value>,
    processes: u32,
    flows: u64,
}

impl Log {
    /// An empty log.
    pub fn new() -> Self {
        Log::default()
    }

    /// Adds the witnesses of a file and the observed order of their events.
    pub fn add(&mut self, file: &Findings, trace: &Trace) {
        let mut all: BTreeSet<EventId> = BTreeSet::new();
        let model = file.trace.model;
        for finding in &file.findings {
            let (steps, count) = steps(finding, trace);
            all.extend(&steps[..count]);
            let name = headline(finding, Some(trace), &Sources::none());
            self.process(&format!("{}: {name}", finding.id), trace, model, &steps, Some(finding));
        }
        let observed: Vec<EventId> = all.into_iter().collect();
        if !observed.is_empty() {
            self.process(&format!("observed: {}", file.trace.path), trace, model, &observed, None);
        }
    }

    fn process(
        &mut self,
        name: &str,
        trace: &Trace,
        model: Model,
        schedule: &[EventId],
        finding: Option<&Finding>,
    ) {
        self.processes += 1;
        let pid = self.processes;
        let tid = |thread: ThreadId| thread.index() + 1;
        self.events.push(json!({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}));
        let threads: BTreeSet<ThreadId> = schedule.iter().map(|&e| trace.thread(e)).collect();
        for thread in threads {
            let args = json!({"name": trace.display_name(thread)});
            self.events.push(json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid(thread), "args": args}));
        }
        let values = Observed::new(trace, model).values(trace, schedule);
        let relations = Relations::new(trace, schedule);
        for (position, &e) in schedule.iter().enumerate() {
            let (read, written) = values[position];
            let own = finding.is_some_and(|f| f.events.contains(&e.0));
            let frames: Vec<String> = stack(trace, e)
                .iter()
                .map(|f| {
                    [f.function.as_deref(), f.location.as_deref()]
                        .into_iter()
                        .flatten()
                        .collect::<Vec<_>>()
                        .join(" ")
                })
                .collect();
            let thread = tid(trace.thread(e));
            let mut slice = json!({
                "ph": "X", "name": describe(trace, e, read, written), "pid": pid, "tid": thread,
                "ts": position * STEP, "dur": STEP, "cat": if own { "finding" } else { "step" },
                "args": {"step": position + 1, "event": e.0, "stack": frames},
            });
            if own {
                slice["cname"] = json!("terrible");
            }
            self.events.push(slice);
            for (kind, from) in [
                ("reads from", relations.reads_from[position]),
                ("lock hand-over", relations.hand_over[position]),
            ] {
                let Some(from) = from.filter(|&f| trace.thread(schedule[f]) != trace.thread(e))
                else {
                    continue;
                };
                self.flows += 1;
                let start = tid(trace.thread(schedule[from]));
                let flow = |ph: &str, thread: usize, at: usize| {
                    json!({"ph": ph, "name": kind, "cat": kind, "id": self.flows, "pid": pid, "tid": thread,
                           "ts": at * STEP + STEP / 2, "bp": "e"})
                };
                let (s, f) = (flow("s", start, from), flow("f", thread, position));
                self.events.extend([s, f]);
            }
        }
    }

    /// Writes the log.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        for (i, event) in self.events.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(out, "{comma}\n{}", serde_json::to_string(event)?)?;
        }
        writeln!(out, "]}}")
    }
}

#[cfg(test)]
mod tests {
    use foretell_trace::{EventKind, TraceBuilder};
    use foretell_verify::Pattern;

    use super::*;
    use crate::json::{self, TraceInfo};

    #[test]
    fn steps_are_slices_and_reads_are_arrows() {
        let mut b = TraceBuilder::new();
        let (t1, t2, var) = (b.thread("T1"), b.thread("T2"), b.variable("x"));
        let write = EventKind::Write { var, atomic: false, value: None, expr: None };
        b.push(t1, write, None);
        b.push(t2, EventKind::Read { var, atomic: false, value: None, register: None }, None);
        b.push(t1, write, None);
        let trace = b.build();
        let race = Pattern::Race { a: EventId(1), b: EventId(2) };
        let mut file = Findings::new(TraceInfo::new("t", &trace, Model::View));
        file.findings.push(json::finding(&race, &[0, 2, 1].map(EventId), "order", &trace));
        file.renumber();
        let mut log = Log::new();
        log.add(&file, &trace);
        let mut out = Vec::new();
        log.write(&mut out).unwrap();
        let value: Value = serde_json::from_slice(&out).unwrap();
        let events = value["traceEvents"].as_array().unwrap();
        let slices: Vec<(u64, u64, u64)> = events
            .iter()
            .filter(|e| e["ph"] == "X" && e["pid"] == 1)
            .map(|e| {
                (
                    e["ts"].as_u64().unwrap(),
                    e["tid"].as_u64().unwrap(),
                    e["args"]["event"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(slices, [(0, 1, 0), (10, 1, 2), (20, 2, 1)]);
        let flows: Vec<(&str, u64)> = events
            .iter()
            .filter(|e| e["cat"] == "reads from" && e["pid"] == 1)
            .map(|e| (e["ph"].as_str().unwrap(), e["ts"].as_u64().unwrap()))
            .collect();
        assert_eq!(flows, [("s", 15), ("f", 25)]);
        assert!(events.iter().any(|e| e["pid"] == 2), "the observed order");
    }
}
