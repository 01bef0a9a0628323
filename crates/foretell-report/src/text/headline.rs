//! What a finding says, in one sentence.

use foretell_trace::{EventId, EventKind, Op, Trace};

use super::{fold, kind_in_words};
use crate::json::{Finding, Form, Kind, Source};

/// The sentence for a finding whose trace is not at hand.
pub(super) fn without_trace(finding: &Finding) -> String {
    let places: Vec<String> = finding
        .events
        .iter()
        .enumerate()
        .map(|(i, e)| match finding.locations.get(i) {
            Some(Some(place)) => place.clone(),
            _ => format!("event {e}"),
        })
        .collect();
    let objects = finding.objects.join(", ");
    format!("{} on {objects}: {}", kind_in_words(finding.kind), places.join(", "))
}

/// The sentence for a finding; `pattern` are its events.
pub(super) fn with_trace(
    finding: &Finding,
    pattern: &[EventId],
    schedule: &[EventId],
    trace: &Trace,
) -> String {
    let say = Say { trace, finding };
    match (finding.kind, pattern) {
        (Kind::Race, &[a, b]) => format!(
            "data race on {}: {}, {} at the same time",
            say.variable(a),
            say.does(a),
            say.does(b)
        ),
        (Kind::Atomicity, &[c, r, c2]) => format!(
            "atomicity violation on {}: {} and {} in one atomic block, and {} in between",
            say.variable(c),
            say.does(c),
            say.does_too(c2),
            say.can(r)
        ),
        (Kind::Serializability, &[s, .., t]) => format!(
            "{} is not serializable: conflicts lead out of it where {} and back into it where {}",
            say.block(s),
            say.does_with_object(s),
            say.does_with_object(t)
        ),
        (Kind::Transactions, &[first, ..]) => format!(
            "{} is on a cycle of conflicts: {}",
            say.block(first),
            join(pattern.iter().map(|&e| say.does_with_object(e)), "; ")
        ),
        (Kind::Nondeterminism, &[event]) => say.nondeterminism(event),
        (Kind::Deadlock, acquires) if acquires.len() > 1 => say.deadlock(acquires, schedule),
        _ => without_trace(finding),
    }
}

struct Say<'a> {
    trace: &'a Trace,
    finding: &'a Finding,
}

impl Say<'_> {
    fn thread(&self, e: EventId) -> &str {
        self.trace.display_name(self.trace.thread(e))
    }

    fn variable(&self, e: EventId) -> &str {
        self.trace.variable(e).map_or("?", |v| self.trace.variable_name(v))
    }

    /// ` at bank.c:41`, or nothing.
    fn at(&self, e: EventId) -> String {
        match self.trace.site(e) {
            Some(site) => format!(" at {}", self.trace.place(site)),
            None => format!(" (event {})", e.0),
        }
    }

    /// `T1 writes at bank.c:41`.
    fn does(&self, e: EventId) -> String {
        format!("{} {}", self.thread(e), self.does_too(e))
    }

    /// `writes at bank.c:41`.
    fn does_too(&self, e: EventId) -> String {
        format!("{}s{}", verb(self.trace.op(e)), self.at(e))
    }

    /// `T2 can write at bank.c:58`.
    fn can(&self, e: EventId) -> String {
        format!("{} can {}{}", self.thread(e), verb(self.trace.op(e)), self.at(e))
    }

    /// `T1 writes x at bank.c:41`.
    fn does_with_object(&self, e: EventId) -> String {
        let (thread, verb) = (self.thread(e), verb(self.trace.op(e)));
        format!("{thread} {verb}s {}{}", self.variable(e), self.at(e))
    }

    /// `T1's atomic block transfer at bank.c:40`; `inside` is one of its events.
    fn block(&self, inside: EventId) -> String {
        let begin = self.finding.block.map(|b| EventId(b.begin));
        let begin = begin.filter(|b| b.index() < self.trace.len());
        let Some(begin) = begin else {
            return format!("an atomic block of {}", self.thread(inside));
        };
        let label = match self.trace.event(begin).kind {
            EventKind::Begin { label: Some(label) } => format!(" {}", self.trace.label_name(label)),
            _ => String::new(),
        };
        format!("{}'s atomic block{label}{}", self.thread(begin), self.at(begin))
    }

    fn source(&self, source: Option<Source>) -> String {
        match source {
            Some(Source::Event(e)) if (e as usize) < self.trace.len() => {
                let e = EventId(e);
                let noun = if self.trace.op(e) == Op::AtomicUpdate { "update" } else { "write" };
                format!("{}'s {noun}{}", self.thread(e), self.at(e))
            }
            Some(Source::Initial) => "the initial value".to_owned(),
            _ => "another value".to_owned(),
        }
    }

    fn nondeterminism(&self, e: EventId) -> String {
        let (writer, challenger) =
            (self.source(self.finding.writer), self.source(self.finding.challenger));
        if self.finding.form == Some(Form::FinalValue) {
            return format!(
                "the final value of {} depends on the schedule: the last write can be {} instead of {}",
                self.variable(e),
                self.source(Some(Source::Event(e.0))),
                writer
            );
        }
        format!(
            "what {} reads from {}{} depends on the schedule: it can see {challenger} instead of {writer}",
            self.thread(e),
            self.variable(e),
            self.at(e)
        )
    }

    fn deadlock(&self, acquires: &[EventId], schedule: &[EventId]) -> String {
        let wanted: Vec<_> = acquires.iter().filter_map(|&e| fold::lock(self.trace, e)).collect();
        let holds = fold::held_at_end(schedule, self.trace);
        let stuck = acquires.iter().map(|&e| {
            let of_thread = holds.iter().filter(|h| h.thread == self.trace.thread(e));
            let names = of_thread
                .filter(|h| wanted.contains(&h.lock))
                .map(|h| self.trace.lock_name(h.lock).to_owned());
            let lock = fold::lock(self.trace, e).map_or("?", |l| self.trace.lock_name(l));
            let held = join(names, ", ");
            format!("{} holds {held} and waits for {lock}{}", self.thread(e), self.at(e))
        });
        format!("deadlock: {}", join(stuck, "; "))
    }
}

fn join(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

fn verb(op: Op) -> &'static str {
    match op {
        Op::Read | Op::AtomicRead => "read",
        Op::AtomicUpdate => "update",
        _ => "write",
    }
}
