//! The rules: one for each kind of finding.

use foretell_trace::FindingKind;
use serde_json::{Value, json};

use crate::explain;

/// The location of a kind's rule.
pub(super) fn index(kind: FindingKind) -> usize {
    FindingKind::ALL.iter().position(|&k| k == kind).unwrap_or_default()
}

/// All rules, in the order of [`FindingKind::ALL`].
pub(super) fn descriptors() -> Vec<Value> {
    FindingKind::ALL.into_iter().map(descriptor).collect()
}

fn descriptor(kind: FindingKind) -> Value {
    let (level, severity) = match kind {
        FindingKind::Nondeterminism => ("note", "recommendation"),
        FindingKind::Deadlock
        | FindingKind::Hang
        | FindingKind::Lifetime
        | FindingKind::Observed => ("error", "error"),
        _ => ("warning", "warning"),
    };
    json!({
        "id": kind.name(),
        "name": name(kind),
        "shortDescription": {"text": format!("{}.", explain::title(kind))},
        "fullDescription": {"text": explain::summary(kind)},
        "help": {"text": explain::markdown(kind), "markdown": explain::markdown(kind)},
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["concurrency", "correctness", weakness(kind)],
            "precision": "very-high",
            "problem.severity": severity,
        },
    })
}

/// Names are identifiers, and none is its own id, by the standard's advice.
fn name(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Observed => "FailedRun",
        FindingKind::Race => "DataRace",
        FindingKind::Atomicity => "AtomicityViolation",
        FindingKind::Serializability => "SerializabilityViolation",
        FindingKind::Transactions => "TransactionCycle",
        FindingKind::Nondeterminism => "ScheduleDependentValue",
        FindingKind::Deadlock => "LockDeadlock",
        FindingKind::Hang => "WaitForEver",
        FindingKind::Lifetime => "UseAfterEnd",
    }
}

/// The entry of the Common Weakness Enumeration, in the form that code scanning shows.
fn weakness(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Race => "external/cwe/cwe-366",
        FindingKind::Deadlock | FindingKind::Hang => "external/cwe/cwe-833",
        FindingKind::Lifetime => "external/cwe/cwe-416",
        FindingKind::Atomicity => "external/cwe/cwe-367",
        _ => "external/cwe/cwe-362",
    }
}
