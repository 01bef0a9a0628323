//! The rules: one for each kind of finding.

use serde_json::{Value, json};

use crate::explain;
use crate::json::Kind;

/// The place of a kind's rule.
pub(super) fn index(kind: Kind) -> usize {
    Kind::ALL.iter().position(|&k| k == kind).unwrap_or_default()
}

/// All rules, in the order of [`Kind::ALL`].
pub(super) fn descriptors() -> Vec<Value> {
    Kind::ALL.into_iter().map(descriptor).collect()
}

fn descriptor(kind: Kind) -> Value {
    let (level, severity) = match kind {
        Kind::Nondeterminism => ("note", "recommendation"),
        Kind::Deadlock => ("error", "error"),
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
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Race => "DataRace",
        Kind::Atomicity => "AtomicityViolation",
        Kind::Serializability => "SerializabilityViolation",
        Kind::Transactions => "TransactionCycle",
        Kind::Nondeterminism => "ScheduleDependentValue",
        Kind::Deadlock => "LockDeadlock",
    }
}

/// The entry of the Common Weakness Enumeration, in the form that code scanning shows.
fn weakness(kind: Kind) -> &'static str {
    match kind {
        Kind::Race => "external/cwe/cwe-366",
        Kind::Deadlock => "external/cwe/cwe-833",
        Kind::Atomicity => "external/cwe/cwe-367",
        _ => "external/cwe/cwe-362",
    }
}
