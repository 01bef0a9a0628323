//! The kinds of findings (semantics section 3), and the forms of nondeterminism.
//!
//! Both are plain words that every crate shares: the analyses that look for findings, the checker
//! that verifies them, the files that store them and the reports that show them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kind of a finding, in the order in which reports list them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingKind {
    /// The recorded run itself failed.
    Observed,
    /// Two conflicting accesses can be next at the same time.
    Race,
    /// An access of another thread can come between two accesses of an atomic block.
    Atomicity,
    /// A path of conflicts can leave an atomic block and come back to it.
    Serializability,
    /// Atomic blocks can depend on each other in a cycle.
    Transactions,
    /// A read, or the last write of a variable, depends on the schedule.
    Nondeterminism,
    /// Threads can wait for each other's locks for ever.
    Deadlock,
    /// All threads can wait for ever, or have ended: a lost wake-up, a semaphore, a barrier.
    Hang,
    /// Memory, a lock or a condition can be used after it was freed or destroyed.
    Lifetime,
}

impl FindingKind {
    /// Every kind, in the order of reports.
    pub const ALL: [FindingKind; 9] = [
        FindingKind::Observed,
        FindingKind::Race,
        FindingKind::Atomicity,
        FindingKind::Serializability,
        FindingKind::Transactions,
        FindingKind::Nondeterminism,
        FindingKind::Deadlock,
        FindingKind::Hang,
        FindingKind::Lifetime,
    ];

    /// The kinds that an analysis looks for: all that are predicted.
    pub const ANALYSES: [FindingKind; 8] = [
        FindingKind::Race,
        FindingKind::Atomicity,
        FindingKind::Serializability,
        FindingKind::Transactions,
        FindingKind::Nondeterminism,
        FindingKind::Deadlock,
        FindingKind::Hang,
        FindingKind::Lifetime,
    ];

    /// Whether the events of such a finding wait at the end of its witness, and are not in it.
    pub fn ends_blocked(self) -> bool {
        matches!(self, FindingKind::Deadlock | FindingKind::Hang)
    }

    /// Returns the word for the kind on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Observed => "observed",
            FindingKind::Race => "race",
            FindingKind::Atomicity => "atomicity",
            FindingKind::Serializability => "serializability",
            FindingKind::Transactions => "transactions",
            FindingKind::Nondeterminism => "nondeterminism",
            FindingKind::Deadlock => "deadlock",
            FindingKind::Hang => "hang",
            FindingKind::Lifetime => "lifetime",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for FindingKind {
    type Err = UnknownFindingKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let kind = FindingKind::ANALYSES.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| UnknownFindingKind { name: name.to_owned() })
    }
}

/// A word that names no [`FindingKind`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no analysis is called `{name}` ({})", FindingKind::ANALYSES.map(FindingKind::name).join(", "))]
pub struct UnknownFindingKind {
    /// The word.
    pub name: String,
}

/// The order of a nondeterministic read r, its writer w in the trace and the challenger c that it
/// sees in the schedule; or the finding is about a last write, and there is no read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NondeterminismForm {
    /// c → r → w: the writer has not run and its thread is not cut, so the writer can still run.
    BeforeWriter,
    /// w → c → r. Here c may be w itself: a broken update, or in the model `symbolic` a write of a
    /// value other than in the trace.
    AfterWriter,
    /// c → r, and the writer is not in the schedule.
    WriterAbsent,
    /// No read: a write other than in the trace is the last one of its variable.
    FinalValue,
}

/// How the two accesses of a race meet (semantics sections 3 and 3b).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaceForm {
    /// Both accesses can be next at the same time.
    Adjacent,
    /// They cannot, but happens-before does not order them.
    Unordered,
}

/// Form of a finding, for the kinds that have several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FindingForm {
    /// Of a race.
    Race(RaceForm),
    /// Of nondeterminism.
    Nondeterminism(NondeterminismForm),
}

impl From<RaceForm> for FindingForm {
    fn from(form: RaceForm) -> Self {
        FindingForm::Race(form)
    }
}

impl From<NondeterminismForm> for FindingForm {
    fn from(form: NondeterminismForm) -> Self {
        FindingForm::Nondeterminism(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_word_is_the_same_in_json() {
        for kind in FindingKind::ALL {
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
            assert_eq!(serde_json::from_str::<FindingKind>(&json).unwrap(), kind);
        }
    }

    #[test]
    fn analyses_are_named_on_the_command_line() {
        for kind in FindingKind::ANALYSES {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("observed".parse::<FindingKind>().is_err());
    }

    #[test]
    fn kinds_are_sorted_in_the_order_of_reports() {
        assert!(FindingKind::ALL.is_sorted());
    }

    #[test]
    fn unknown_word_is_answered_with_the_known_ones() {
        let error = "races".parse::<FindingKind>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no analysis is called `races` (race, atomicity, serializability, transactions, \
             nondeterminism, deadlock, hang, lifetime)"
        );
    }

    #[test]
    fn forms_of_all_kinds_are_read_back() {
        let forms: [FindingForm; 4] = [
            RaceForm::Adjacent.into(),
            RaceForm::Unordered.into(),
            NondeterminismForm::AfterWriter.into(),
            NondeterminismForm::FinalValue.into(),
        ];
        let words = ["adjacent", "unordered", "after-writer", "final-value"];
        for (form, word) in forms.into_iter().zip(words) {
            let json = serde_json::to_string(&form).unwrap();
            assert_eq!(json, format!("\"{word}\""));
            assert_eq!(serde_json::from_str::<FindingForm>(&json).unwrap(), form);
        }
        assert!(serde_json::from_str::<FindingForm>("\"ordered\"").is_err());
    }

    #[test]
    fn words_of_forms_in_json() {
        use NondeterminismForm::*;
        let words = [BeforeWriter, AfterWriter, WriterAbsent, FinalValue]
            .map(|form| serde_json::to_string(&form).unwrap());
        let expected = ["before-writer", "after-writer", "writer-absent", "final-value"];
        assert_eq!(words, expected.map(|word| format!("\"{word}\"")));
    }
}
