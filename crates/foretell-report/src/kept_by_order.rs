//! Findings that only kept order makes impossible, as an entry of a findings file and in words.
//!
//! They are no findings: a replay of them would have to change the order of code that is not
//! recorded. A findings file has them in its field `kept_by_order`, for the user who wants to know
//! what kept order costs.

use foretell_trace::FindingKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::headline::kind_in_words;
use crate::json::{Block, Findings};

/// Name of the field in a findings file.
const FIELD: &str = "kept_by_order";

/// Prefix of the names of variables that keep the order of code that is not recorded.
pub const HIDDEN: &str = "hidden:";

/// Finding that would be possible without kept order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KeptByOrder {
    /// Kind of bug.
    pub kind: FindingKind,
    /// Events of the pattern, as in a finding.
    pub events: Vec<u32>,
    /// Variables or locks it is about, by name.
    pub objects: Vec<String>,
    /// Source location of each of `events`; null where it is not known.
    pub locations: Vec<Option<String>>,
    /// The atomic block it is about, for the kinds that are about one.
    pub block: Option<Block>,
    /// Uses of hidden state whose order forbids it.
    pub kept_by: Vec<KeptUses>,
}

/// Two uses of hidden state that keep their order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct KeptUses {
    /// Variable that stands for the state.
    pub variable: String,
    /// The two events, in their order.
    pub events: Vec<u32>,
    /// Source location of each of `events`; null where it is not known.
    pub locations: Vec<Option<String>>,
    /// Functions that are called most, if the state is that of a library or class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
}

impl KeptByOrder {
    /// Returns the entries of a findings file. Entries of other forms are left out.
    pub fn read(file: &Findings) -> Vec<KeptByOrder> {
        let entries = file.extra.get(FIELD).and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(|entry| serde_json::from_value(entry.clone()).ok()).collect()
    }

    /// Puts entries into a findings file.
    pub fn store(entries: &[KeptByOrder], file: &mut Findings) {
        // Numbers and texts have a form in JSON.
        let entries = entries.iter().filter_map(|entry| serde_json::to_value(entry).ok());
        file.extra.insert(FIELD.to_owned(), entries.collect());
    }

    /// Returns the entry in words.
    pub(crate) fn sentence(&self) -> String {
        let on = match self.objects.is_empty() {
            true => String::new(),
            false => format!(" on {}", self.objects.join(", ")),
        };
        let at = at(&self.events, &self.locations);
        let kept: Vec<String> = self.kept_by.iter().map(KeptUses::phrase).collect();
        let kept = match kept.is_empty() {
            true => "the uses of hidden state".to_owned(),
            false => kept.join(" and "),
        };
        format!("{}{on} {at}: possible if {kept} were not kept in order", kind_in_words(self.kind))
    }
}

impl KeptUses {
    fn phrase(&self) -> String {
        let state = self.variable.strip_prefix(HIDDEN).unwrap_or(&self.variable);
        let number = state.strip_prefix("after ");
        let is_wait = number.is_some_and(|number| number.parse::<u64>().is_ok());
        let (uses, state) = match (is_wait, state.strip_prefix("lib ")) {
            (true, _) => ("the steps", "a wait that is not modelled".to_owned()),
            (false, Some(library)) => ("the calls", format!("state of {library}")),
            (false, None) if state == "kernel" => ("the calls", "state of the kernel".to_owned()),
            (false, None) => ("the calls", format!("state of `{state}`")),
        };
        let functions = match self.functions.is_empty() {
            true => String::new(),
            false => format!(": {}", self.functions.join(", ")),
        };
        format!("{uses} {} ({state}{functions})", at(&self.events, &self.locations))
    }
}

/// Returns the locations of events, each once: `at a.c:1 and b.c:2`.
fn at(events: &[u32], locations: &[Option<String>]) -> String {
    let mut named: Vec<String> = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let name = match locations.get(i) {
            Some(Some(location)) => location.clone(),
            _ => format!("event {event}"),
        };
        if !named.contains(&name) {
            named.push(name);
        }
    }
    match named.split_last() {
        Some((last, [])) => format!("at {last}"),
        Some((last, others)) => format!("at {} and {last}", others.join(", ")),
        None => "at unknown events".to_owned(),
    }
}
