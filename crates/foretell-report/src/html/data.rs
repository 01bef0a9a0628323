//! Data of a page, as the script reads it (`assets/trace.js`).
//!
//! A trace is an excerpt: its events up to the last one that a witness needs, in columns (`thread`,
//! `op`, `object`, …), texts by their number in `strings`. A finding has its witness as `runs`,
//! `[thread, count, thread, count, …]`, the decisive positions of the schedule as `decisive`, and
//! in the symbolic model the values that each step reads and writes as `values`.

use std::collections::{BTreeSet, HashMap};

use foretell_trace::{EventId, EventKind, Model, ThreadId, Trace, ValueId, VarId};
use serde_json::{Value, json};

use crate::headline::headline;
use crate::json::{Finding, Findings};
use crate::location::{Location, stack_at};
use crate::notes;
use crate::soundness::Soundness;
use crate::source::Sources;
use crate::witness::event::condition;
use crate::witness::fold::{self, Row};
use crate::witness::values::{Observed, step_values};
use crate::{replay, suppress};

/// Fields of a finding that need no witness.
pub(super) fn finding(
    finding: &Finding,
    file: &Findings,
    trace: Option<&Trace>,
    sources: &Sources,
) -> Value {
    let files: BTreeSet<&str> = finding
        .locations
        .iter()
        .flatten()
        .filter_map(|location| Location::parse(location).map(|p| p.file))
        .collect();
    let command = trace.and_then(|trace| replay::command(finding, trace, &file.trace.path));
    json!({
        "id": finding.id,
        "kind": finding.kind.name(),
        "headline": headline(finding, trace, sources),
        "objects": finding.objects,
        "locations": finding.locations,
        "files": files,
        "steps": finding.witness.schedule.len(),
        "verified": finding.verified,
        "engine": finding.engine,
        "fingerprint": finding.fingerprint,
        "replay": replay::verdict(finding).map(|verdict| json!({
            "verdict": verdict, "text": replay::text(finding), "wrong": replay::went_wrong(finding),
        })),
        "confirmation": finding.confirmation,
        "tests": finding.tests(),
        "rust": Soundness::of(finding).map(|soundness| soundness.text(finding.kind)),
        "cause": finding.cause,
        "suppressed": finding.suppressed,
        "baseline": finding.baseline,
        "suppress": suppress::suggestion(finding, trace),
        "command": command,
    })
}

/// The part of a trace that the witnesses of a file need.
pub(super) struct Excerpt<'a> {
    trace: &'a Trace,
    /// Whether the witness of each finding is in it.
    held: Vec<bool>,
    /// Number of events.
    count: usize,
    files: BTreeSet<String>,
}

impl<'a> Excerpt<'a> {
    /// Takes witnesses while the trace up to the last event that a witness needs has at most `most`
    /// events. The whole trace up to there is taken: the observed order would be wrong with gaps.
    pub(super) fn new(file: &Findings, trace: &'a Trace, most: usize) -> Self {
        let most = most.min(trace.len());
        let needs = |finding: &Finding| finding.named_events().max().map_or(0, |e| e as usize + 1);
        let held: Vec<bool> = file.findings.iter().map(|f| needs(f) <= most).collect();
        let count = file.findings.iter().map(needs).filter(|&n| n <= most).max().unwrap_or(0);
        let mut excerpt = Excerpt { trace, held, count, files: BTreeSet::new() };
        excerpt.files = excerpt.named_files();
        excerpt
    }

    /// The events, in the order of the trace.
    fn events(&self) -> impl Iterator<Item = EventId> + use<> {
        (0..self.count as u32).map(EventId)
    }

    fn named_files(&self) -> BTreeSet<String> {
        let sites: BTreeSet<_> = self.events().filter_map(|e| self.trace.site(e)).collect();
        let frames = sites.into_iter().flat_map(|site| stack_at(self.trace, site));
        let locations = frames.filter_map(|frame| frame.location);
        locations
            .filter_map(|location| Location::parse(&location).map(|p| p.file.to_owned()))
            .collect()
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Whether the witness of the finding with this number is in it.
    pub(super) fn holds(&self, finding: usize) -> bool {
        self.held.get(finding).copied().unwrap_or(false)
    }

    /// The source files that its events name.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// Adds the witness of a finding.
    pub(super) fn witness(&self, finding: &Finding, model: Model, value: &mut Value) {
        let trace = self.trace;
        let ids = |events: &[u32]| -> Vec<EventId> { events.iter().map(|&e| EventId(e)).collect() };
        let (schedule, pattern) = (finding.shown_schedule(trace), ids(&finding.events));
        let mut runs: Vec<usize> = Vec::new();
        let mut last: Option<ThreadId> = None;
        for &e in &schedule {
            let thread = trace.thread(e);
            match runs.last_mut() {
                Some(count) if last == Some(thread) => *count += 1,
                _ => runs.extend([thread.index(), 1]),
            }
            last = Some(thread);
        }
        let decisive: Vec<usize> = fold::folded(finding, &pattern, &schedule, trace)
            .into_iter()
            .filter_map(|row| match row {
                Row::Event(position) => Some(position),
                Row::Folded(_) => None,
            })
            .collect();
        let row = |e: &EventId| Some(e.index()).filter(|&row| row < self.count);
        let stuck = finding.kind.ends_blocked();
        let blocked: Vec<usize> =
            pattern.iter().filter(|e| stuck && !schedule.contains(e)).filter_map(row).collect();
        let notes: Vec<Value> = notes::notes(finding, &schedule, trace)
            .into_iter()
            .filter_map(|n| Some(json!({"row": row(&n.event)?, "text": n.text, "main": n.main})))
            .collect();
        value["runs"] = json!(runs);
        value["decisive"] = json!(decisive);
        value["pattern"] = json!(pattern.iter().filter_map(row).collect::<Vec<_>>());
        value["blocked"] = json!(blocked);
        value["notes"] = json!(notes);
        if model == Model::Symbolic {
            // A written value follows from the values read: the script cannot take it from the
            // trace.
            let values = step_values(trace, &schedule);
            let pairs: Vec<[Option<String>; 2]> =
                values.into_iter().map(|v| [v.read, v.written]).collect();
            value["values"] = json!(pairs);
        }
    }

    /// Adds threads, texts and the columns of the events.
    pub(super) fn describe(&self, value: &mut Value) {
        let trace = self.trace;
        let mut columns = Columns::default();
        for e in self.events() {
            columns.push(trace, e);
        }
        let threads: Vec<&str> =
            (0..trace.thread_count() as u32).map(|t| trace.display_name(ThreadId(t))).collect();
        let observed = Observed::new(trace, Model::Value);
        let mut initial = Vec::new();
        for (&var, &text) in &columns.variables {
            if let Some(value) = observed.initial(var) {
                initial.push([text, columns.texts.value(trace, Some(var), Some(value))]);
            }
        }
        initial.sort_unstable();
        value["names"] = json!(threads);
        value["initial"] = json!(initial);
        let variables = (0..self.trace.variable_count() as u32).map(VarId);
        let opaque = variables.filter(|&var| self.trace.is_opaque(var));
        let opaque: Vec<&str> = opaque.map(|var| self.trace.variable_name(var)).collect();
        value["opaque"] = json!(opaque);
        value["columns"] = json!({
            "thread": columns.thread, "op": columns.op, "object": columns.object,
            "lock": columns.lock, "read": columns.read, "written": columns.written,
            "site": columns.site,
        });
        value["sites"] = json!(columns.sites);
        value["strings"] = json!(columns.texts.list);
    }
}

/// Texts, each once; -1 stands for none.
#[derive(Default)]
struct Texts {
    list: Vec<String>,
    known: HashMap<String, i64>,
}

impl Texts {
    fn add(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        let number = self.list.len() as i64;
        self.list.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }

    fn value(&mut self, trace: &Trace, var: Option<VarId>, value: Option<ValueId>) -> i64 {
        let value = value.and_then(|value| trace.values().get(value));
        match (var, value) {
            (Some(var), Some(value)) => self.add(&trace.shown_value(var, value)),
            _ => -1,
        }
    }
}

#[derive(Default)]
struct Columns {
    texts: Texts,
    thread: Vec<usize>,
    op: Vec<&'static str>,
    object: Vec<i64>,
    /// The lock of a wait.
    lock: Vec<i64>,
    read: Vec<i64>,
    written: Vec<i64>,
    site: Vec<i64>,
    /// Frames, innermost first: `[function, location]`.
    sites: Vec<Vec<[i64; 2]>>,
    site_numbers: HashMap<u32, i64>,
    variables: HashMap<VarId, i64>,
}

impl Columns {
    fn push(&mut self, trace: &Trace, e: EventId) {
        let event = trace.event(e);
        self.thread.push(event.thread.index());
        self.op.push(event.kind.op().keyword());
        let (object, lock) = objects(trace, event.kind);
        let object = match event.kind {
            EventKind::Guard { expr } => self.texts.add(&condition(trace, expr)),
            _ => object.map_or(-1, |name| self.texts.add(name)),
        };
        if let Some(var) = trace.variable(e) {
            self.variables.insert(var, object);
        }
        self.object.push(object);
        self.lock.push(lock.map_or(-1, |name| self.texts.add(name)));
        self.read.push(self.texts.value(trace, trace.variable(e), trace.read_value(e)));
        self.written.push(self.texts.value(trace, trace.variable(e), trace.written_value(e)));
        let site = event.site.map_or(-1, |site| self.site_number(trace, site));
        self.site.push(site);
    }

    fn site_number(&mut self, trace: &Trace, site: foretell_trace::SiteId) -> i64 {
        if let Some(&number) = self.site_numbers.get(&site.0) {
            return number;
        }
        let mut text = |text: Option<&str>| text.map_or(-1, |t| self.texts.add(t));
        let frames = stack_at(trace, site)
            .iter()
            .map(|f| {
                let inside = f.inside.as_ref().zip(f.function.as_ref());
                let inside = inside.map(|(library, own)| format!("{own}, inside {library}"));
                let function = inside.as_deref().or(f.function.as_deref());
                [text(function), text(f.location.as_deref())]
            })
            .collect();
        let number = self.sites.len() as i64;
        self.sites.push(frames);
        self.site_numbers.insert(site.0, number);
        number
    }
}

/// The names of what an event works on: the object, and the lock of a wait.
fn objects(trace: &Trace, kind: EventKind) -> (Option<&str>, Option<&str>) {
    let object = match kind {
        EventKind::Read { var, .. }
        | EventKind::Write { var, .. }
        | EventKind::Update { var, .. } => trace.variable_name(var),
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock }
        | EventKind::TryFailedShared { lock } => trace.lock_name(lock),
        EventKind::Wait { cond, lock }
        | EventKind::Woken { cond, lock }
        | EventKind::TimedOut { cond, lock } => {
            return (Some(trace.condition_name(cond)), Some(trace.lock_name(lock)));
        }
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => trace.condition_name(cond),
        EventKind::Post { sem } | EventKind::Down { sem } => trace.semaphore_name(sem),
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => trace.barrier_name(barrier),
        EventKind::Fork { thread } | EventKind::Join { thread } => trace.display_name(thread),
        EventKind::Begin { label } | EventKind::End { label } => {
            return (label.map(|label| trace.label_name(label)), None);
        }
        EventKind::Alloc { block } | EventKind::Free { block } => trace.mem_block_name(block),
        EventKind::Guard { .. } | EventKind::Fence => return (None, None),
    };
    (Some(object), None)
}
