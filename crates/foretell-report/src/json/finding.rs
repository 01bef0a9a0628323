//! Findings and undecided queries.

use std::cmp::Ordering;
use std::fmt;

use foretell_trace::{EventId, FindingForm, FindingKind, NondeterminismForm, RaceForm, Trace};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

/// Field with the tests that show a finding.
const TESTS: &str = "tests";

/// A predicted bug, with the schedule that proves it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Finding {
    /// Name in this file: the kind and a number.
    pub id: String,
    /// Kind of bug.
    pub kind: FindingKind,
    /// The events of the pattern, in the order that `docs/cli.md` gives for the kind.
    pub events: Vec<u32>,
    /// The variables or locks it is about, by name.
    pub objects: Vec<String>,
    /// Source location of each of `events`; null where it is not known.
    pub locations: Vec<Option<String>>,
    /// The atomic block it is about, for the kinds that are about one.
    pub block: Option<Block>,
    /// Nondeterminism: the write that the read saw in the trace, or the last write in the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<Source>,
    /// Nondeterminism: the write that it can see instead, or that can be the last one instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenger: Option<Source>,
    /// Race: how the two accesses meet. Nondeterminism: how the challenger comes in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<FindingForm>,
    /// The proof.
    pub witness: Witness,
    /// Whether the independent checker accepted the witness.
    pub verified: bool,
    /// The engine that found the witness.
    pub engine: String,
    /// Outcome of the replay on the real program; null without a replay.
    pub replay: Option<Value>,
    /// Whether the replay reached the finding.
    #[serde(default)]
    pub confirmation: Confirmation,
    /// Hash that stays the same when the bug is found again: see `identity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The rule that hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<Suppressed>,
    /// Name of the finding that stands for all with the same cause: see `cause`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Whether an earlier run has it too, where one was given to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineState>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Finding {
    /// Sets the outcome of the replay, and whether it reached the finding.
    pub fn set_replay(&mut self, mut replay: Value, confirmed: bool) {
        if self.is_unordered() && confirmed && replay["verdict"] == "benign" {
            // One thread at a time shows no reordering: an end as usual says nothing here.
            replay["text"] =
                "ran as predicted: happens-before does not order the two accesses".into();
        }
        self.replay = Some(replay);
        self.confirmation =
            if confirmed { Confirmation::Confirmed } else { Confirmation::Unconfirmed };
    }

    /// Sets the names of the tests that show it.
    pub fn set_tests(&mut self, names: &[String]) {
        self.extra.insert(TESTS.to_owned(), names.into());
    }

    /// Returns the names of the tests that show it.
    pub(crate) fn tests(&self) -> Vec<&str> {
        let names = self.extra.get(TESTS).and_then(Value::as_array);
        names.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Takes the confirmation from the verdict of the replay, for files of older versions.
    pub(super) fn derive_confirmation(&mut self) {
        let verdict = self.replay.as_ref().and_then(|replay| replay.get("verdict")?.as_str());
        if let (Confirmation::NotReplayed, Some(verdict)) = (self.confirmation, verdict) {
            self.confirmation = match verdict {
                "departed" | "not-reached" => Confirmation::Unconfirmed,
                _ => Confirmation::Confirmed,
            };
        }
    }

    /// Returns the schedule to show: the witness, or the recorded run up to the last event of an
    /// observed finding. Events that the trace does not have are left out.
    pub(crate) fn shown_schedule(&self, trace: &Trace) -> Vec<EventId> {
        let known = |&e: &u32| (e as usize) < trace.len();
        if self.kind == FindingKind::Observed {
            let last = self.events.iter().copied().filter(known).max();
            return (0..last.map_or(0, |e| e + 1)).map(EventId).collect();
        }
        self.witness.schedule.iter().copied().filter(known).map(EventId).collect()
    }

    /// Returns the values of an event of the witness, if the file has them.
    pub(crate) fn values_of(&self, event: u32) -> Option<&StepValues> {
        let position = self.witness.schedule.iter().position(|&e| e == event)?;
        self.witness.values.get(position)
    }
}

/// Answer of the replay to the question whether a finding is real. Reports list the findings in
/// this order.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Confirmation {
    /// The real program was driven to the finding.
    Confirmed,
    /// The finding has not been replayed.
    #[default]
    NotReplayed,
    /// The replay did not reach the finding.
    Unconfirmed,
}

impl Confirmation {
    /// Returns the word for it in files.
    pub fn name(self) -> &'static str {
        match self {
            Confirmation::Confirmed => "confirmed",
            Confirmation::NotReplayed => "not-replayed",
            Confirmation::Unconfirmed => "unconfirmed",
        }
    }
}

/// Findings that count for the exit status only if asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CountAlso {
    /// Findings that their replay did not reach.
    pub unconfirmed: bool,
    /// Nondeterministic reads and final values.
    pub nondeterminism: bool,
}

/// Standing of a finding towards a baseline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BaselineState {
    /// The baseline does not have it.
    New,
    /// The baseline has it too.
    Unchanged,
}

/// Rule that hides a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Suppressed {
    /// The rule, as it is written.
    pub rule: String,
    /// Location of the rule: `file:line`.
    #[serde(rename = "at")]
    pub location: String,
}

/// An atomic block: `[begin, end]`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "(u32, Option<u32>)", into = "(u32, Option<u32>)")]
pub struct Block {
    /// The event that opens it.
    pub begin: u32,
    /// The event that closes it; none where the trace ends inside it.
    pub end: Option<u32>,
}

impl From<(u32, Option<u32>)> for Block {
    fn from((begin, end): (u32, Option<u32>)) -> Self {
        Block { begin, end }
    }
}

impl From<Block> for (u32, Option<u32>) {
    fn from(block: Block) -> Self {
        (block.begin, block.end)
    }
}

/// Source of a value: a write, or the initial value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// The value the variable had at the start; written `"initial"`.
    Initial,
    /// This write; written as its index.
    Event(u32),
}

impl Source {
    /// Returns the write, if it is one.
    pub fn event(self) -> Option<u32> {
        match self {
            Source::Initial => None,
            Source::Event(event) => Some(event),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Source::Initial => serializer.serialize_str("initial"),
            Source::Event(event) => serializer.serialize_u32(event),
        }
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Source;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event index or \"initial\"")
            }

            fn visit_u64<E: de::Error>(self, index: u64) -> Result<Source, E> {
                u32::try_from(index)
                    .map(Source::Event)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(index), &self))
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Source, E> {
                match word {
                    "initial" => Ok(Source::Initial),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// The schedule that shows a finding.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Witness {
    /// The whole feasible interleaving by event index, the finding's own events last.
    pub schedule: Vec<u32>,
    /// Symbolic model: the values along the schedule, one entry for each of its events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<StepValues>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The values of one event of a schedule, as trace text writes them; none where they are not known.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StepValues {
    /// The value that is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// The value that is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The condition of a guard, which is true here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
}

/// A query that a limit cut short: neither a witness nor a proof that there is none.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Undecided {
    /// Kind of finding that was looked for.
    pub kind: FindingKind,
    /// The events of the query. Without events and block, the entry stands for all candidates of
    /// the kind that were not looked at.
    pub events: Vec<u32>,
    /// The atomic block of the query, for the kinds that are about one.
    #[serde(default)]
    pub block: Option<Block>,
    /// The limit, in words.
    pub reason: String,
    /// Fields of later versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.block.is_none() && self.events.is_empty() {
            return write!(f, "{}: not everything was looked at: {}", self.kind, self.reason);
        }
        write!(f, "{} of ", self.kind)?;
        match self.block {
            Some(Block { begin, end: Some(end) }) => {
                write!(f, "the block from event {begin} to {end}")?
            }
            Some(Block { begin, end: None }) => {
                write!(f, "the block from event {begin} to the end")?
            }
            None => {
                let events: Vec<String> = self.events.iter().map(u32::to_string).collect();
                let word = if events.len() == 1 { "event" } else { "events" };
                write!(f, "{word} {}", events.join(", "))?;
            }
        }
        write!(f, ": {}", self.reason)
    }
}

/// Key that tells findings apart and gives the order in which files list them: blocks where
/// the block is what is asked about, variables for final values, events for the rest.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Unit<'a> {
    Events(FindingKind, &'a [u32]),
    Block(FindingKind, Option<Block>),
    FinalValue(FindingKind, &'a [String]),
}

impl Unit<'_> {
    fn kind(&self) -> FindingKind {
        match *self {
            Unit::Events(kind, _) | Unit::Block(kind, _) | Unit::FinalValue(kind, _) => kind,
        }
    }

    /// Kinds first, then the order of the units.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.kind().cmp(&other.kind()).then_with(|| self.cmp(other))
    }
}

fn unit(kind: FindingKind, events: &[u32], block: Option<Block>) -> Unit<'_> {
    match kind {
        FindingKind::Serializability | FindingKind::Transactions => Unit::Block(kind, block),
        _ => Unit::Events(kind, events),
    }
}

impl Finding {
    pub(super) fn unit(&self) -> Unit<'_> {
        match self.form {
            Some(FindingForm::Nondeterminism(NondeterminismForm::FinalValue)) => {
                Unit::FinalValue(self.kind, &self.objects)
            }
            _ => unit(self.kind, &self.events, self.block),
        }
    }

    /// Whether it is a race that memory orders leave open, and no other.
    pub fn is_unordered(&self) -> bool {
        self.form == Some(RaceForm::Unordered.into())
    }

    /// Whether it is about the last write of a variable.
    pub fn is_final_value(&self) -> bool {
        self.form == Some(NondeterminismForm::FinalValue.into())
    }

    /// Whether it is to be shown: no rule suppresses it, and it is not in the baseline.
    pub fn is_shown(&self) -> bool {
        self.suppressed.is_none() && self.baseline != Some(BaselineState::Unchanged)
    }

    /// Whether it counts for the exit status: it is to be shown, its replay did not fail to reach
    /// it, and it is no nondeterministic read, which correct programs have too, unless its replay
    /// went wrong. `also` asks for more.
    pub fn counts(&self, also: CountAlso) -> bool {
        self.is_shown()
            && (also.unconfirmed || self.confirmation != Confirmation::Unconfirmed)
            && (also.nondeterminism
                || self.kind != FindingKind::Nondeterminism
                || crate::replay::went_wrong(self))
    }

    /// Every event index that the finding names.
    pub(crate) fn named_events(&self) -> impl Iterator<Item = u32> + '_ {
        let block = self.block.into_iter().flat_map(|b| [Some(b.begin), b.end]);
        let sources = [self.writer, self.challenger].map(|s| s.and_then(Source::event));
        let rest = block.chain(sources).flatten();
        self.events.iter().chain(&self.witness.schedule).copied().chain(rest)
    }
}

impl Undecided {
    pub(super) fn unit(&self) -> Unit<'_> {
        unit(self.kind, &self.events, self.block)
    }
}
