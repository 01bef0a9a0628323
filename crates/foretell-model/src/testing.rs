//! Traces for tests.

use foretell_trace::{EventId, Trace, legality, text};

/// The trace written as text, which must be legal. Lines may be indented.
pub(crate) fn trace(text: &str) -> Trace {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let trace = text::parse(lines.join("\n").as_bytes()).expect("trace text").trace;
    legality::check(&trace).expect("a legal trace");
    trace
}

/// Event identifiers from numbers.
pub(crate) fn ids<const N: usize>(numbers: [u32; N]) -> [EventId; N] {
    numbers.map(EventId)
}
