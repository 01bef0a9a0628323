//! Findings for code scanning: SARIF 2.1.0.
//!
//! One run holds the findings of all traces. A result has the locations of the finding's own
//! accesses, their stacks, and the schedule as a code flow with a thread flow for each thread,
//! whose steps carry their number in the whole schedule. The fields that GitHub's code scanning and
//! the SARIF viewer of VS Code ask for are there: rule help, regions with columns, partial
//! fingerprints, paths relative to the root of the source.
//!
//! A long schedule is given by its decisive part alone (`witness::fold`): code scanning refuses
//! results with more than 10,000 steps.

mod flow;
mod location;
mod rules;

use std::collections::HashMap;
use std::io::{self, Write};

use foretell_trace::{EventId, FindingKind, Trace};
use serde_json::{Map, Value, json};

use crate::cause;
use crate::headline::headline;
use crate::json::{BaselineState, Confirmation, Finding, Findings};
use crate::location::stack;
use crate::notes;
use crate::soundness::{self, Soundness};
use crate::source::Sources;
use crate::{replay, suppress};
use location::Locations;

/// The schema of the standard.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// A log under construction.
#[derive(Debug, Default)]
pub struct Log {
    results: Vec<Value>,
    notifications: Vec<Value>,
    traces: Vec<Value>,
    /// Whether an analysis was cut short.
    cut_short: bool,
    /// Number of results with a fingerprint at a location: they need different numbers.
    met: HashMap<String, u32>,
}

impl Log {
    /// An empty log.
    pub fn new() -> Self {
        Log::default()
    }

    /// Adds a findings file; without its trace the results have no code flows.
    pub fn add(&mut self, file: &Findings, trace: Option<&Trace>, sources: &Sources) {
        let locations = Locations { trace_path: &file.trace.path, sources };
        let mut results: Vec<(usize, Vec<usize>)> = Vec::new();
        // A finding that has the same cause as another is part of the result for that one. Hidden
        // ones stay results, which say so.
        for members in cause::causes(&file.findings) {
            let (shown, hidden): (Vec<usize>, Vec<usize>) =
                members.into_iter().partition(|&i| file.findings[i].is_shown());
            results.extend(hidden.into_iter().map(|i| (i, Vec::new())));
            if let Some((&head, variants)) = shown.split_first() {
                results.push((head, variants.to_vec()));
            }
        }
        results.sort_unstable();
        for (head, variants) in results {
            let finding = &file.findings[head];
            let variants = variants.into_iter().map(|i| &file.findings[i]).collect();
            let describe = Describe { finding, variants, file, trace, locations: &locations };
            let result = describe.result();
            let result = self.numbered(result, finding);
            self.results.push(result);
        }
        self.cut_short |= !file.is_complete();
        for open in &file.undecided {
            self.notifications.push(json!({
                "level": "warning",
                "message": {"text": format!("Undecided: {open}.")},
                "associatedRule": {"id": open.kind.name(), "index": rules::index(open.kind)},
            }));
        }
        let mut trace = json!({
            "path": file.trace.path,
            "events": file.trace.events,
            "threads": file.trace.threads,
            "model": file.trace.model.name(),
        });
        if let Some(process) = &file.trace.process {
            trace["process"] = json!(process);
        }
        self.traces.push(trace);
    }

    /// Adds the fingerprints; GitHub tells results apart by `primaryLocationLineHash` alone.
    fn numbered(&mut self, mut result: Value, finding: &Finding) -> Value {
        let Some(fingerprint) = &finding.fingerprint else { return result };
        let count = self.met.entry(fingerprint.clone()).or_default();
        *count += 1;
        result["partialFingerprints"] = json!({
            "foretell/v1": fingerprint,
            "primaryLocationLineHash": format!("{fingerprint}:{count}"),
        });
        result
    }

    /// Writes the log.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let mut invocation = json!({"executionSuccessful": !self.cut_short});
        if !self.notifications.is_empty() {
            invocation["toolExecutionNotifications"] = json!(self.notifications);
        }
        let log = json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "Foretell",
                    "fullName": format!("Foretell {version}"),
                    "version": version,
                    "semanticVersion": version,
                    "rules": rules::descriptors(),
                }},
                "invocations": [invocation],
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {location::ROOT: {"description": {
                    "text": "The directory that Foretell ran in: the root of the source."
                }}},
                "properties": {"traces": self.traces},
                "results": self.results,
            }],
        });
        serde_json::to_writer_pretty(&mut *out, &log)?;
        writeln!(out)
    }
}

struct Describe<'a> {
    finding: &'a Finding,
    /// Findings with the same cause.
    variants: Vec<&'a Finding>,
    file: &'a Findings,
    trace: Option<&'a Trace>,
    locations: &'a Locations<'a>,
}

impl Describe<'_> {
    fn result(&self) -> Value {
        let finding = self.finding;
        let related = self.related();
        let mut result = json!({
            "ruleId": finding.kind.name(),
            "ruleIndex": rules::index(finding.kind),
            "level": level(finding),
            "message": {"text": self.message(&related)},
            "locations": [self.primary()],
            "relatedLocations": related.iter().map(|(_, location)| location).collect::<Vec<_>>(),
            "properties": self.properties(),
        });
        if let Some(trace) = self.trace {
            if let Some(flow) =
                flow::code_flow(finding, trace, self.file.trace.model, self.locations)
            {
                result["codeFlows"] = json!([flow]);
            }
            let stacks = self.stacks(trace);
            if !stacks.is_empty() {
                result["stacks"] = json!(stacks);
            }
        }
        if let Some(by) = &finding.suppressed {
            result["suppressions"] = json!([{
                "kind": "external",
                "status": "accepted",
                "justification": format!("{} ({})", by.rule, by.location),
            }]);
        }
        if let Some(state) = finding.baseline {
            result["baselineState"] = match state {
                BaselineState::New => json!("new"),
                BaselineState::Unchanged => json!("unchanged"),
            };
        }
        result
    }

    fn primary(&self) -> Value {
        let first = self.finding.events.first().copied();
        match (self.trace, first) {
            (Some(trace), Some(e)) if (e as usize) < trace.len() => {
                let source_location = trace.site(EventId(e)).map(|site| trace.location(site));
                self.locations
                    .with_context(self.locations.of_event(trace, EventId(e)), source_location)
            }
            _ => {
                let source_location = self.finding.locations.first().and_then(Option::as_deref);
                let object = self.finding.objects.first().map(String::as_str);
                self.locations.with_context(
                    self.locations.of_location(source_location, object),
                    source_location,
                )
            }
        }
    }

    /// Returns the related locations, for links in the message; numbered from 1.
    fn related(&self) -> Vec<(String, Value)> {
        let Some(trace) = self.trace else { return Vec::new() };
        let known = |e: &&u32| (**e as usize) < trace.len();
        let schedule: Vec<EventId> =
            self.finding.witness.schedule.iter().filter(known).map(|&e| EventId(e)).collect();
        let notes = notes::notes(self.finding, &schedule, trace);
        let numbered = notes.into_iter().enumerate().map(|(i, note)| {
            let source_location = trace.site(note.event).map(|site| trace.location(site));
            let location = self.locations.of_event(trace, note.event);
            let mut location = self.locations.with_context(location, source_location);
            location["id"] = json!(i + 1);
            location["message"] = json!({"text": format!("{}.", note.text)});
            (note.text, location)
        });
        numbered.collect()
    }

    /// The headline, then links to the source locations, then what the replay did.
    fn message(&self, related: &[(String, Value)]) -> String {
        let headline = headline(self.finding, self.trace, self.locations.sources);
        let mut text = format!("{}.", escaped(&headline));
        if !related.is_empty() {
            let links: Vec<String> = related
                .iter()
                .map(|(text, location)| format!("[{}]({})", escaped(text), location["id"]))
                .collect();
            text += &format!(" {}.", links.join(", "));
        }
        if let Some(process) = &self.file.trace.process {
            text += &format!(" In {}.", escaped(process));
        }
        if !self.variants.is_empty() {
            let ids: Vec<&str> = self.variants.iter().map(|variant| variant.id.as_str()).collect();
            text += &format!(" With the same cause: {}.", ids.join(", "));
        }
        match replay::outcome(self.finding) {
            Some(replayed) => text += &format!(" Replayed: {}.", escaped(&replayed)),
            None => text += " Not replayed.",
        }
        text
    }

    fn stacks(&self, trace: &Trace) -> Vec<Value> {
        let known = self.finding.events.iter().filter(|&&e| (e as usize) < trace.len());
        let mut stacks: Vec<Value> = known
            .filter_map(|&e| {
                let frames = stack(trace, EventId(e));
                let frames: Vec<Value> = frames
                    .iter()
                    .map(|frame| {
                        let mut location =
                            self.locations.of_location(frame.location.as_deref(), None);
                        if let Some(function) = &frame.function {
                            location["logicalLocations"] =
                                json!([{"fullyQualifiedName": function, "kind": "function"}]);
                        }
                        if let Some(library) = &frame.inside {
                            location["message"] = json!({"text": format!("inside {library}")});
                        }
                        json!({"location": location})
                    })
                    .collect();
                let name = trace.display_name(trace.thread(EventId(e)));
                let message = json!({"text": format!("Thread {name}.")});
                (!frames.is_empty()).then(|| json!({"message": message, "frames": frames}))
            })
            .collect();
        // The schema wants them to differ; a finding may have two events at one source location.
        let mut seen: Vec<Value> = Vec::new();
        stacks.retain(|stack| {
            let new = !seen.contains(stack);
            if new {
                seen.push(stack.clone());
            }
            new
        });
        stacks
    }

    fn properties(&self) -> Value {
        let finding = self.finding;
        let mut properties = Map::new();
        properties.insert("id".to_owned(), json!(finding.id));
        properties.insert("events".to_owned(), json!(finding.events));
        properties.insert("objects".to_owned(), json!(finding.objects));
        properties.insert("verified".to_owned(), json!(finding.verified));
        properties.insert("engine".to_owned(), json!(finding.engine));
        properties.insert("steps".to_owned(), json!(finding.witness.schedule.len()));
        properties
            .insert("suppressWith".to_owned(), json!(suppress::suggestion(finding, self.trace)));
        properties.insert("confirmation".to_owned(), json!(finding.confirmation));
        if let Some(soundness) = Soundness::of(finding) {
            properties.insert(soundness::FIELD.to_owned(), json!(soundness.word()));
        }
        if !self.variants.is_empty() {
            let variant = |variant: &&Finding| {
                json!({
                    "id": variant.id,
                    "kind": variant.kind.name(),
                    "text": headline(variant, self.trace, self.locations.sources),
                    "confirmation": variant.confirmation,
                    "fingerprint": variant.fingerprint,
                })
            };
            let variants: Vec<Value> = self.variants.iter().map(variant).collect();
            properties.insert("variants".to_owned(), json!(variants));
        }
        let tests = finding.tests();
        if !tests.is_empty() {
            properties.insert("tests".to_owned(), json!(tests));
        }
        if let Some(replay) = &finding.replay {
            properties.insert("replay".to_owned(), replay.clone());
        }
        Value::Object(properties)
    }
}

fn level(finding: &Finding) -> &'static str {
    match finding.kind {
        _ if finding.confirmation == Confirmation::Unconfirmed => "note",
        _ if replay::went_wrong(finding) => "error",
        FindingKind::Nondeterminism => "note",
        FindingKind::Deadlock
        | FindingKind::Hang
        | FindingKind::Lifetime
        | FindingKind::Observed => "error",
        _ => "warning",
    }
}

/// Text for a message, in which brackets would be links.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    }
    escaped
}

#[cfg(test)]
mod tests;
