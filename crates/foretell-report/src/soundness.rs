//! Meaning of a finding for a program in Rust: undefined behaviour, or an error of safe code.
//!
//! Safe code of Rust has no data race and no use after free: those are undefined behaviour and come
//! from `unsafe` code. Every other finding is an error of logic, which safe code can have.

use foretell_trace::FindingKind;

use crate::json::Finding;

/// Field of a finding that says it.
pub(crate) const FIELD: &str = "rust";

/// Meaning of a finding for a program in Rust.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Soundness {
    /// Rust gives the program no meaning.
    UndefinedBehaviour,
    /// The code may be safe, and is wrong.
    LogicError,
}

impl Soundness {
    /// Returns the meaning of a finding whose events are all in files of Rust.
    pub(crate) fn of(finding: &Finding) -> Option<Soundness> {
        let is_rust = |location: &Option<String>| {
            let file = location.as_deref().and_then(|l| l.rsplit_once(':')).map(|(file, _)| file);
            file.is_some_and(|file| file.ends_with(".rs"))
        };
        if finding.locations.is_empty() || !finding.locations.iter().all(is_rust) {
            return None;
        }
        match finding.kind {
            FindingKind::Race | FindingKind::Lifetime => Some(Soundness::UndefinedBehaviour),
            FindingKind::Observed => None,
            _ => Some(Soundness::LogicError),
        }
    }

    /// Returns the word for it in findings files.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Soundness::UndefinedBehaviour => "undefined behaviour",
            Soundness::LogicError => "logic error",
        }
    }

    /// Returns the sentence for it in reports.
    pub(crate) fn text(self, kind: FindingKind) -> &'static str {
        match (self, kind) {
            (Soundness::LogicError, _) => "a logic error: safe code can have it",
            (_, FindingKind::Lifetime) => "undefined behaviour: unsafe code uses freed memory",
            _ => "undefined behaviour: a data race, which only unsafe code can have",
        }
    }
}

#[cfg(test)]
mod tests {
    use foretell_trace::{EventId, EventKind, TraceBuilder};
    use foretell_verify::Pattern;

    use super::*;
    use crate::json;

    fn race_at(locations: [Option<&str>; 2]) -> Finding {
        let mut b = TraceBuilder::new();
        let var = b.variable("x");
        for name in ["T1", "T2"] {
            let thread = b.thread(name);
            b.push(thread, EventKind::Write { var, atomic: false, value: None, expr: None }, None);
        }
        let trace = b.build();
        let race = Pattern::Race { a: EventId(0), b: EventId(1) };
        let mut finding = json::finding(&race, &[], "order", &trace);
        finding.locations = locations.map(|at| at.map(str::to_owned)).to_vec();
        finding
    }

    #[test]
    fn only_races_and_uses_after_free_of_rust_are_undefined() {
        let mut finding = race_at([Some("a.rs:3"), Some("src/b.rs:4")]);
        assert_eq!(Soundness::of(&finding), Some(Soundness::UndefinedBehaviour));
        finding.kind = FindingKind::Deadlock;
        assert_eq!(Soundness::of(&finding), Some(Soundness::LogicError));
        assert_eq!(Soundness::of(&race_at([Some("a.rs:3"), Some("b.c:4")])), None);
        assert_eq!(Soundness::of(&race_at([Some("a.rs:3"), None])), None);
    }
}
