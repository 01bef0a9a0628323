//! The findings file, `foretell-findings/1`, as `docs/cli.md` writes it down.
//!
//! ```json
//! {"schema":"foretell-findings/1",
//!  "trace":{"path":"bank.std","events":97,"threads":4,"variables":5,"locks":1,"blocks":4,
//!    "model":"value"},
//!  "findings":[{"id":"race-1","kind":"race","events":[12,31],"objects":["x"],
//!    "locations":["bank.c:41","bank.c:58"],"block":null,
//!    "witness":{"schedule":[0,1,5,12,31]},"verified":true,"engine":"order","replay":null}],
//!  "summary":{"race":{"candidates":9,"predicted":1,"undecided":0}},
//!  "undecided":[]}
//! ```
//!
//! Encodings that the example does not show: `locations` has one entry for each of `events`, null
//! where the location is not known; `block` is `[begin, end]`, `end` null where the block is open;
//! `writer` and `challenger` are event indices, or `"initial"` for the initial value; `form` is one
//! of the words of [`NondeterminismForm`](foretell_trace::NondeterminismForm). A nondeterministic
//! final value has the form `"final-value"`, the challenger (the other last write) as its only
//! event, the variable as its only object, and the write that was last in the trace as its writer.
//!
//! Fields that this version does not know are kept and written back: a file of a later version
//! passes through `merge` unharmed. What it does know must have the right type.

mod check;
mod finding;
mod fingerprint;
mod merge;
mod pattern;
mod read;
mod shard;
mod trace_info;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use foretell_trace::FindingKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use check::{accepts, check};
pub use finding::{
    BaselineState, Block, Confirmation, CountAlso, Finding, Source, StepValues, Suppressed,
    Undecided, Witness,
};
pub use merge::{MergeError, merge};
pub use pattern::finding;
pub(crate) use pattern::pattern;
pub use read::FindingsError;
pub use shard::Shard;
pub(crate) use trace_info::process;
pub use trace_info::{Mismatch, TraceInfo};

/// The name of the format, the first field of every findings file.
pub(crate) const SCHEMA: &str = "foretell-findings/1";

/// Whether everything was looked at; absent if so.
const COMPLETE: &str = "complete";
/// Reason why the analysis was cut short; absent if it was not.
const CUT_SHORT: &str = "cut_short";

/// A findings file.
#[derive(Clone, PartialEq, Debug)]
pub struct Findings {
    /// Always `foretell-findings/1`.
    pub schema: String,
    /// The trace that was analysed.
    pub trace: TraceInfo,
    /// Part of the queries, `I/N`, if the work was divided.
    pub shard: Option<Shard>,
    /// The predicted findings.
    pub findings: Vec<Finding>,
    /// Counters of the queries, for each kind that was analysed.
    pub summary: BTreeMap<FindingKind, Counts>,
    /// The queries that a limit cut short.
    pub undecided: Vec<Undecided>,
    /// Fields of later versions.
    pub extra: Map<String, Value>,
}

/// The queries of one kind, counted.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Counts {
    /// Queries that were asked.
    pub candidates: u64,
    /// Queries answered with a witness.
    pub predicted: u64,
    /// Queries that a limit cut short.
    pub undecided: u64,
    /// Counters of the phases, and fields of later versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Counts {
    /// Notes that not every candidate was looked at.
    pub fn set_incomplete(&mut self) {
        self.extra.insert(COMPLETE.to_owned(), false.into());
    }

    /// Whether every candidate was looked at.
    pub fn is_complete(&self) -> bool {
        self.extra.get(COMPLETE) != Some(&Value::Bool(false))
    }
}

impl Findings {
    /// A file without findings yet.
    pub fn new(trace: TraceInfo) -> Self {
        Findings {
            schema: SCHEMA.to_owned(),
            trace,
            shard: None,
            findings: Vec::new(),
            summary: BTreeMap::new(),
            undecided: Vec::new(),
            extra: Map::new(),
        }
    }

    /// Notes that the analysis was cut short, for this reason: findings may be missing.
    pub fn set_cut_short(&mut self, reason: &str) {
        self.extra.insert(COMPLETE.to_owned(), false.into());
        self.extra.insert(CUT_SHORT.to_owned(), reason.into());
    }

    /// Whether the analysis was not cut short.
    pub fn is_complete(&self) -> bool {
        self.extra.get(COMPLETE) != Some(&Value::Bool(false))
            && self.summary.values().all(Counts::is_complete)
    }

    /// Reads a findings file. Nothing in it is trusted.
    pub fn parse(text: &str) -> Result<Self, FindingsError> {
        read::parse(text)
    }

    /// Reads one or more findings files that were written one after the other, as `predict` does
    /// for several traces.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, FindingsError> {
        read::parse_all(text)
    }

    /// Writes the file, one line for each finding, so that people can look through it and
    /// line-based tools can compare two.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{{\"schema\":{}", to_json(&self.schema)?)?;
        write!(out, ",\n \"trace\":{}", to_json(&self.trace)?)?;
        if let Some(shard) = &self.shard {
            write!(out, ",\n \"shard\":{}", to_json(shard)?)?;
        }
        write_list(out, "findings", &self.findings)?;
        write!(out, ",\n \"summary\":{}", to_json(&self.summary)?)?;
        write_list(out, "undecided", &self.undecided)?;
        for (name, value) in &self.extra {
            write!(out, ",\n {}:{}", to_json(name)?, to_json(value)?)?;
        }
        writeln!(out, "}}")
    }

    /// Puts findings and undecided queries in the order of their kind, events and block, and
    /// numbers the findings `race-1`, `race-2`, …: the same file whatever order they came in.
    pub fn renumber(&mut self) {
        self.findings.sort_by(|a, b| a.unit().order(&b.unit()));
        self.undecided.sort_by(|a, b| a.unit().order(&b.unit()));
        let mut last = BTreeMap::<FindingKind, u64>::new();
        for finding in &mut self.findings {
            let number = last.entry(finding.kind).or_default();
            *number += 1;
            finding.id = format!("{}-{number}", finding.kind);
        }
    }

    /// Counts the races in the three units that tools use, so that results can be compared: pairs
    /// of events, second events, pairs of locations.
    pub fn count_races(&mut self) {
        let races = || self.findings.iter().filter(|f| f.kind == FindingKind::Race);
        let second: BTreeSet<Option<&u32>> = races().map(|f| f.events.iter().max()).collect();
        let locations: BTreeSet<BTreeSet<&Option<String>>> =
            races().map(|f| f.locations.iter().collect()).collect();
        let units = [
            ("event_pairs", races().count()),
            ("second_events", second.len()),
            ("location_pairs", locations.len()),
        ];
        if let Some(counts) = self.summary.get_mut(&FindingKind::Race) {
            for (name, count) in units {
                counts.extra.insert(name.to_owned(), count.into());
            }
        }
    }
}

fn to_json(value: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(value)?)
}

/// Writes a field that holds a list, one line for each entry.
fn write_list(out: &mut impl Write, name: &str, entries: &[impl Serialize]) -> io::Result<()> {
    write!(out, ",\n \"{name}\":[")?;
    for (i, entry) in entries.iter().enumerate() {
        write!(out, "{}\n  {}", if i == 0 { "" } else { "," }, to_json(entry)?)?;
    }
    write!(out, "]")
}

#[cfg(test)]
pub(crate) mod tests;
