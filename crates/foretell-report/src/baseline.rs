//! Baseline: the findings of an earlier run, to tell new findings from known ones.
//!
//! Two findings are one bug if their fingerprints are equal. A file without fingerprints (of
//! another program, or of an early version) is compared by kind, objects and locations instead.

use std::collections::HashSet;

use foretell_trace::FindingKind;

use crate::json::{BaselineState, Finding, Findings};

/// The findings of an earlier run.
#[derive(Clone, Default, Debug)]
pub struct Baseline {
    fingerprints: HashSet<String>,
    unnamed: HashSet<Key>,
}

type Key = (FindingKind, Vec<String>, Vec<Option<String>>);

fn key(finding: &Finding) -> Key {
    (finding.kind, finding.objects.clone(), finding.locations.clone())
}

impl Baseline {
    /// Adds the findings of a file, suppressed ones too.
    pub fn add(&mut self, file: &Findings) {
        for finding in &file.findings {
            match &finding.fingerprint {
                Some(fingerprint) => {
                    self.fingerprints.insert(fingerprint.clone());
                }
                None => {
                    self.unnamed.insert(key(finding));
                }
            }
        }
    }

    /// Marks each finding as new or as known.
    pub fn apply(&self, findings: &mut [Finding]) {
        for finding in findings {
            let known = finding.fingerprint.as_ref().is_some_and(|f| self.fingerprints.contains(f))
                || self.unnamed.contains(&key(finding));
            finding.baseline =
                Some(if known { BaselineState::Unchanged } else { BaselineState::New });
        }
    }
}

#[cfg(test)]
mod tests {
    use foretell_trace::{EventId, EventKind, Model, Trace, TraceBuilder};
    use foretell_verify::Pattern;

    use super::*;
    use crate::json::{self, TraceInfo};

    fn finding(fingerprint: Option<&str>, name: &str) -> (Trace, Finding) {
        let mut b = TraceBuilder::new();
        let var = b.variable(name);
        for thread in ["T1", "T2"] {
            let (thread, site) = (b.thread(thread), b.site("a.c:1", None));
            let kind = EventKind::Write { var, atomic: false, value: None, expr: None };
            b.push(thread, kind, Some(site));
        }
        let trace = b.build();
        let race = Pattern::Race { a: EventId(0), b: EventId(1) };
        let mut finding = json::finding(&race, &[], "order", &trace);
        finding.fingerprint = fingerprint.map(str::to_owned);
        (trace, finding)
    }

    fn state(old: Option<&str>, old_name: &str, new: Option<&str>, name: &str) -> BaselineState {
        let (trace, old) = finding(old, old_name);
        let mut file = Findings::new(TraceInfo::new("t", &trace, Model::View));
        file.findings.push(old);
        let mut baseline = Baseline::default();
        baseline.add(&file);
        let mut findings = [finding(new, name).1];
        baseline.apply(&mut findings);
        findings[0].baseline.unwrap()
    }

    #[test]
    fn fingerprints_decide() {
        assert_eq!(state(Some("1"), "x", Some("1"), "x"), BaselineState::Unchanged);
        assert_eq!(state(Some("1"), "x", Some("2"), "x"), BaselineState::New);
    }

    #[test]
    fn a_file_without_them_is_compared_by_places() {
        assert_eq!(state(None, "x", Some("1"), "x"), BaselineState::Unchanged);
        assert_eq!(state(None, "x", Some("1"), "y"), BaselineState::New);
    }
}
