//! Traces for tests: written as text, or random.
#![allow(dead_code)] // Each test binary uses its part.

pub(crate) mod random;

use foretell_trace::{EventId, Trace, legality, text};

/// The trace written as text, which must be legal. Lines may be indented.
pub(crate) fn trace(text: &str) -> Trace {
    let trace = any_trace(text);
    legality::check(&trace).expect("a legal trace");
    trace
}

/// The trace written as text, legal or not.
pub(crate) fn any_trace(text: &str) -> Trace {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    text::parse(lines.join("\n").as_bytes()).expect("trace text").trace
}

/// Event identifiers from numbers.
pub(crate) fn ids<const N: usize>(numbers: [u32; N]) -> [EventId; N] {
    numbers.map(EventId)
}
