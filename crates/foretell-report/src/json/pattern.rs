//! Conversion of a finding to the pattern that the checker takes, and back.
//!
//! The conversion checks the errors that a file may have: every event must be one of the trace, and
//! their number must be that of the kind. The checker decides whether the events are what the
//! finding says.

use foretell_trace::{
    EventId, EventKind, FindingForm, FindingKind, NondeterminismForm, RaceForm, Trace,
};
use foretell_verify::Pattern;
use serde_json::Map;

use super::{Block, Confirmation, Finding, Source, Witness};
use crate::{hang, lifetime};

/// Returns the pattern that a finding claims its witness shows.
///
/// # Errors
/// A message, if the finding is about no pattern of this trace.
pub(crate) fn pattern(finding: &Finding, trace: &Trace) -> Result<Pattern, String> {
    if let Some(event) = finding.named_events().find(|&e| e as usize >= trace.len()) {
        return Err(format!("there is no event {event}: the trace has {} events", trace.len()));
    }
    let events: Vec<EventId> = finding.events.iter().map(|&e| EventId(e)).collect();
    match (finding.kind, &events[..]) {
        (FindingKind::Observed, _) => Ok(Pattern::Observed { last: events }),
        (FindingKind::Race, &[a, b]) if finding.is_unordered() => Ok(Pattern::Unordered { a, b }),
        (FindingKind::Race, &[a, b]) => Ok(Pattern::Race { a, b }),
        (FindingKind::Atomicity, &[c, r, c2]) => Ok(Pattern::Atomicity { c, r, c2 }),
        (FindingKind::Serializability, _) => {
            let (begin, end) = block(finding)?;
            Ok(Pattern::Serializability { begin, end, path: events })
        }
        (FindingKind::Transactions, _) => {
            let (begin, end) = block(finding)?;
            Ok(Pattern::Transactions { begin, end, cycle: events })
        }
        (FindingKind::Nondeterminism, &[event]) => nondeterminism(finding, event, trace),
        (FindingKind::Deadlock, _) => Ok(Pattern::Deadlock { acquires: events }),
        (FindingKind::Hang, _) => Ok(Pattern::Hang { blocked: events }),
        (FindingKind::Lifetime, &[free, used]) => Ok(Pattern::Lifetime { free, used }),
        (FindingKind::Lifetime, _) => {
            Err(format!("a lifetime violation has 2 events, not {}", events.len()))
        }
        (FindingKind::Race, _) => Err(format!("a race has 2 events, not {}", events.len())),
        (FindingKind::Atomicity, _) => {
            Err(format!("an atomicity violation has 3 events, not {}", events.len()))
        }
        (FindingKind::Nondeterminism, _) => {
            Err(format!("nondeterminism has 1 event, not {}", events.len()))
        }
    }
}

fn block(finding: &Finding) -> Result<(EventId, Option<EventId>), String> {
    let block = finding.block.ok_or("`block` is missing")?;
    Ok((EventId(block.begin), block.end.map(EventId)))
}

fn nondeterminism(finding: &Finding, event: EventId, trace: &Trace) -> Result<Pattern, String> {
    let writer = finding.writer.ok_or("`writer` is missing")?;
    let form = match finding.form.ok_or("`form` is missing")? {
        FindingForm::Nondeterminism(form) => form,
        FindingForm::Race(_) => return Err("`form` is that of a race".to_owned()),
    };
    if form == NondeterminismForm::FinalValue {
        return final_value(finding, event, writer, trace);
    }
    let challenger = finding.challenger.ok_or("`challenger` is missing")?;
    let event_of = |source: Source| source.event().map(EventId);
    Ok(Pattern::NondeterministicRead {
        read: event,
        writer: event_of(writer),
        challenger: event_of(challenger),
        form,
    })
}

fn final_value(
    finding: &Finding,
    challenger: EventId,
    writer: Source,
    trace: &Trace,
) -> Result<Pattern, String> {
    let [object] = &finding.objects[..] else {
        return Err(format!("a final value has 1 object, not {}", finding.objects.len()));
    };
    let var = trace.find_variable(object).ok_or("its object is no variable of the trace")?;
    if finding.challenger.is_some_and(|c| c != Source::Event(challenger.0)) {
        return Err("`challenger` and the event of a final value differ".to_owned());
    }
    let writer = writer.event().ok_or("the writer of a final value is a write of the trace")?;
    Ok(Pattern::FinalValue { var, writer: EventId(writer), challenger })
}

/// A finding for a pattern of `trace` that the checker has accepted on `schedule`. It has no
/// identifier yet: [`Findings::renumber`](super::Findings::renumber) gives one to all.
///
/// # Panics
/// If the pattern names an event that the trace does not have: it would not have been accepted.
pub fn finding(pattern: &Pattern, schedule: &[EventId], engine: &str, trace: &Trace) -> Finding {
    let parts = Parts::of(pattern);
    let events = parts.events;
    Finding {
        id: String::new(),
        kind: pattern.kind(),
        objects: match pattern {
            Pattern::FinalValue { var, .. } => vec![trace.variable_name(*var).to_owned()],
            Pattern::Hang { blocked } => hang::objects(trace, blocked),
            Pattern::Lifetime { used, .. } => vec![lifetime::act(trace, *used).object],
            _ => objects(&events, trace),
        },
        locations: events
            .iter()
            .map(|&e| trace.site(e).map(|site| trace.location(site).to_owned()))
            .collect(),
        events: events.iter().map(|e| e.0).collect(),
        block: parts.block,
        writer: parts.writer,
        challenger: parts.challenger,
        form: parts.form,
        witness: Witness {
            schedule: schedule.iter().map(|e| e.0).collect(),
            values: Vec::new(),
            extra: Map::new(),
        },
        verified: true,
        engine: engine.to_owned(),
        replay: None,
        confirmation: Confirmation::NotReplayed,
        fingerprint: None,
        suppressed: None,
        cause: None,
        baseline: None,
        extra: Map::new(),
    }
}

/// Fields of a finding that follow from its pattern alone.
#[derive(Default)]
struct Parts {
    events: Vec<EventId>,
    block: Option<Block>,
    writer: Option<Source>,
    challenger: Option<Source>,
    form: Option<FindingForm>,
}

impl Parts {
    fn new(events: Vec<EventId>) -> Self {
        Parts { events, ..Parts::default() }
    }

    fn of(pattern: &Pattern) -> Self {
        let sorted = |mut events: Vec<EventId>| {
            events.sort_unstable();
            events
        };
        let block = |begin: EventId, end: Option<EventId>| {
            Some(Block { begin: begin.0, end: end.map(|e| e.0) })
        };
        let source = |event: Option<EventId>| event.map_or(Source::Initial, |e| Source::Event(e.0));
        match *pattern {
            Pattern::Race { a, b } => {
                Parts { form: Some(RaceForm::Adjacent.into()), ..Parts::new(sorted(vec![a, b])) }
            }
            Pattern::Unordered { a, b } => {
                Parts { form: Some(RaceForm::Unordered.into()), ..Parts::new(sorted(vec![a, b])) }
            }
            Pattern::Atomicity { c, r, c2 } => Parts::new(vec![c, r, c2]),
            Pattern::Serializability { begin, end, ref path } => {
                Parts { block: block(begin, end), ..Parts::new(path.clone()) }
            }
            Pattern::Transactions { begin, end, ref cycle } => {
                Parts { block: block(begin, end), ..Parts::new(cycle.clone()) }
            }
            Pattern::NondeterministicRead { read, writer, challenger, form } => Parts {
                writer: Some(source(writer)),
                challenger: Some(source(challenger)),
                form: Some(form.into()),
                ..Parts::new(vec![read])
            },
            Pattern::FinalValue { writer, challenger, .. } => Parts {
                writer: Some(source(Some(writer))),
                challenger: Some(source(Some(challenger))),
                form: Some(NondeterminismForm::FinalValue.into()),
                ..Parts::new(vec![challenger])
            },
            Pattern::Deadlock { ref acquires } => Parts::new(sorted(acquires.clone())),
            Pattern::Hang { ref blocked } => Parts::new(sorted(blocked.clone())),
            Pattern::Lifetime { free, used } => Parts::new(vec![free, used]),
            Pattern::Observed { ref last } => Parts::new(last.clone()),
        }
    }
}

/// The names of what the events are about, each once, in the order of the events.
fn objects(events: &[EventId], trace: &Trace) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for &e in events {
        let name = match trace.event(e).kind {
            EventKind::Acquire { lock } | EventKind::AcquireShared { lock } => {
                trace.lock_name(lock)
            }
            _ => match trace.variable(e) {
                Some(var) => trace.variable_name(var),
                None => continue,
            },
        };
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use foretell_trace::{TraceBuilder, VarId};

    use super::*;

    /// Four writes of x by two threads, then four acquires of two locks.
    fn trace() -> Trace {
        let mut b = TraceBuilder::new();
        let (var, site) = (b.variable("x"), b.site("a.c:1", None));
        let threads = ["T1", "T2"].map(|name| b.thread(name));
        let locks = ["l", "m"].map(|name| b.lock(name));
        for i in 0..4 {
            let write = EventKind::Write { var, atomic: false, value: None, expr: None };
            b.push(threads[i % 2], write, (i % 2 == 0).then_some(site));
        }
        for i in 0..4 {
            b.push(threads[i / 2], EventKind::Acquire { lock: locks[i % 2] }, None);
        }
        b.build()
    }

    fn all_patterns() -> Vec<Pattern> {
        let e = EventId;
        let read = |writer, challenger, form| Pattern::NondeterministicRead {
            read: e(1),
            writer,
            challenger,
            form,
        };
        vec![
            Pattern::Race { a: e(0), b: e(3) },
            Pattern::Unordered { a: e(0), b: e(3) },
            Pattern::Atomicity { c: e(0), r: e(1), c2: e(2) },
            Pattern::Serializability { begin: e(0), end: None, path: vec![e(1), e(3), e(2)] },
            Pattern::Transactions { begin: e(0), end: Some(e(7)), cycle: vec![e(3), e(1)] },
            read(Some(e(0)), None, NondeterminismForm::BeforeWriter),
            read(None, Some(e(2)), NondeterminismForm::AfterWriter),
            read(Some(e(0)), Some(e(2)), NondeterminismForm::WriterAbsent),
            Pattern::FinalValue { var: VarId(0), writer: e(3), challenger: e(2) },
            Pattern::Deadlock { acquires: vec![e(4), e(7)] },
            Pattern::Lifetime { free: e(7), used: e(4) },
            Pattern::Hang { blocked: vec![e(4), e(7)] },
        ]
    }

    #[test]
    fn every_pattern_comes_back_through_json() {
        let trace = trace();
        for p in all_patterns() {
            let there = finding(&p, &[EventId(0), EventId(1)], "order", &trace);
            assert_eq!(there.locations.len(), there.events.len());
            let text = serde_json::to_string(&there).unwrap();
            let back: Finding = serde_json::from_str(&text).unwrap();
            assert_eq!(pattern(&back, &trace), Ok(p));
        }
    }

    #[test]
    fn findings_name_objects_and_places() {
        let trace = trace();
        let race = finding(&Pattern::Race { a: EventId(3), b: EventId(0) }, &[], "order", &trace);
        assert_eq!((&race.events[..], &race.objects[..]), (&[0, 3][..], &["x".to_owned()][..]));
        assert_eq!(race.locations, [Some("a.c:1".to_owned()), None]);
        let acquires = vec![EventId(7), EventId(4)];
        let deadlock = finding(&Pattern::Deadlock { acquires }, &[], "order", &trace);
        assert_eq!(
            (&deadlock.events[..], &deadlock.objects[..]),
            (&[4, 7][..], &["l".to_owned(), "m".to_owned()][..])
        );
    }

    #[test]
    fn invalid_findings_are_refused() {
        let trace = trace();
        let good = |p: &Pattern| finding(p, &[EventId(0)], "order", &trace);
        let patterns = all_patterns();
        let cases: Vec<(Finding, &str)> = vec![
            (
                Finding { events: vec![0, 8], ..good(&patterns[0]) },
                "there is no event 8: the trace has 8 events",
            ),
            (Finding { events: vec![0], ..good(&patterns[0]) }, "a race has 2 events, not 1"),
            (
                Finding { events: vec![], ..good(&patterns[2]) },
                "an atomicity violation has 3 events, not 0",
            ),
            (
                Finding { events: vec![4], ..good(&patterns[10]) },
                "a lifetime violation has 2 events, not 1",
            ),
            (Finding { block: None, ..good(&patterns[3]) }, "`block` is missing"),
            (
                Finding { block: Some(Block { begin: 0, end: Some(99) }), ..good(&patterns[4]) },
                "there is no event 99: the trace has 8 events",
            ),
            (
                Finding { events: vec![1, 2], ..good(&patterns[5]) },
                "nondeterminism has 1 event, not 2",
            ),
            (Finding { writer: None, ..good(&patterns[5]) }, "`writer` is missing"),
            (Finding { form: None, ..good(&patterns[5]) }, "`form` is missing"),
            (Finding { challenger: None, ..good(&patterns[5]) }, "`challenger` is missing"),
            (
                Finding { challenger: Some(Source::Event(50)), ..good(&patterns[5]) },
                "there is no event 50: the trace has 8 events",
            ),
            (
                Finding { objects: vec![], ..good(&patterns[8]) },
                "a final value has 1 object, not 0",
            ),
            (
                Finding { objects: vec!["y".to_owned()], ..good(&patterns[8]) },
                "its object is no variable of the trace",
            ),
            (
                Finding { writer: Some(Source::Initial), ..good(&patterns[8]) },
                "the writer of a final value is a write of the trace",
            ),
            (
                Finding { challenger: Some(Source::Initial), ..good(&patterns[8]) },
                "`challenger` and the event of a final value differ",
            ),
            (
                Finding {
                    witness: Witness {
                        schedule: vec![0, u32::MAX],
                        values: Vec::new(),
                        extra: Map::new(),
                    },
                    ..good(&patterns[0])
                },
                "there is no event 4294967295: the trace has 8 events",
            ),
        ];
        for (bad, message) in cases {
            assert_eq!(pattern(&bad, &trace), Err(message.to_owned()));
        }
    }
}
