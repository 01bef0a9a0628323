//! Shared code of the tests of prediction: traces from text, and findings in the shape of brute
//! force.
#![allow(dead_code)] // Each test binary uses its part.

use foretell_brute::Findings;
use foretell_predict::finding::Finding;
use foretell_trace::{Trace, legality, text};
use foretell_verify::Pattern;

/// The trace written as text, which must be legal. Lines may be indented.
pub(crate) fn trace(text: &str) -> Trace {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let trace = text::parse(lines.join("\n").as_bytes()).expect("trace text").trace;
    legality::check(&trace).expect("a legal trace");
    trace
}

/// A trace as text, to be shown when a test fails.
pub(crate) fn show(trace: &Trace) -> String {
    let mut text = Vec::new();
    text::write(trace, &mut text).expect("a generated trace can be written");
    String::from_utf8_lossy(&text).into_owned()
}

/// Findings as brute force gives them.
pub(crate) fn as_brute(found: &[Finding]) -> Findings {
    let mut findings = Findings::default();
    for finding in found {
        match finding.pattern.clone() {
            Pattern::Race { a, b } => {
                findings.races.insert([a.min(b), a.max(b)]);
            }
            Pattern::Unordered { a, b } => {
                findings.unordered_races.insert([a.min(b), a.max(b)]);
            }
            Pattern::Atomicity { c, r, c2 } => {
                findings.atomicity.insert([c, r, c2]);
            }
            Pattern::Serializability { begin, .. } => {
                findings.serializability.insert(begin);
            }
            Pattern::Transactions { begin, .. } => {
                findings.transactions.insert(begin);
            }
            Pattern::NondeterministicRead { read, .. } => {
                findings.nondeterministic_reads.insert(read);
            }
            Pattern::FinalValue { var, .. } => {
                findings.final_values.insert(var);
            }
            Pattern::Observed { .. } => {}
            Pattern::Hang { blocked } => {
                findings.hangs.insert(blocked);
            }
            Pattern::Lifetime { free, used } => {
                findings.lifetimes.insert([free, used]);
            }
            Pattern::Deadlock { mut acquires } => {
                acquires.sort_unstable();
                findings.deadlocks.insert(acquires);
            }
        }
    }
    findings
}
