//! Suppressions: rules for findings to hide, in the manner of ThreadSanitizer.
//!
//! A line is a rule; blank lines and lines that start with `#` are not. There are two forms:
//!
//! ```text
//! race:get_info                       of ThreadSanitizer: part of a function, file or variable
//! race function=get_info file=src/*   all conditions must hold; patterns are for the whole name
//! ```
//!
//! The first word is a kind of finding, or `*`. `race:`, `race_top:` and `deadlock:` have the
//! meaning they have in ThreadSanitizer; its rules for other kinds are skipped and counted.
//!
//! A suppressed finding stays in the findings file, with the rule that suppressed it. The first
//! rule of the first file that matches is the one that counts.

mod glob;
mod rule;

use foretell_trace::{EventId, EventKind, FindingKind, Trace};

use crate::json::{Finding, Suppressed};
use crate::location::stack;
use crate::soundness::Soundness;
use rule::{Line, Rule, Subject};

/// Violation of the format of a suppressions file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct SuppressionError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Violation.
    pub message: String,
}

/// Rules, with the number of findings that each has suppressed.
#[derive(Clone, Default, Debug)]
pub struct Suppressions {
    rules: Vec<Entry>,
    /// ThreadSanitizer's rules for kinds that Foretell does not report, with their locations.
    pub not_ours: Vec<String>,
}

#[derive(Clone, Debug)]
struct Entry {
    rule: Rule,
    location: String,
    matched: u64,
}

/// A rule and its use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used<'a> {
    /// The rule, as it is written.
    pub rule: &'a str,
    /// Location of the rule: `file:line`.
    pub location: &'a str,
    /// Number of findings that it suppressed.
    pub matched: u64,
}

impl Suppressions {
    /// Adds the rules of a file; `file` is its name in messages.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), SuppressionError> {
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let location = format!("{file}:{}", i + 1);
            let error = |message| SuppressionError { file: file.to_owned(), line: i + 1, message };
            match Rule::parse(line).map_err(error)? {
                Line::Rule(rule) => self.rules.push(Entry { rule, location, matched: 0 }),
                Line::NotOurs(rule) => self.not_ours.push(format!("{location}: {rule}")),
            }
        }
        Ok(())
    }

    /// Marks the findings that a rule matches. Without the trace only kinds, objects, files and
    /// fingerprints are known.
    pub fn apply(&mut self, findings: &mut [Finding], trace: Option<&Trace>) {
        let no_rules = self.rules.is_empty();
        for finding in findings {
            let subject = subject(finding, trace);
            let rule = self.rules.iter_mut().find(|e| e.rule.matches(finding, &subject));
            finding.suppressed = match rule {
                Some(entry) => {
                    entry.matched += 1;
                    let Entry { rule, location, .. } = &*entry;
                    Some(Suppressed { rule: rule.text.clone(), location: location.clone() })
                }
                None => {
                    let default = trace.and_then(|trace| suppressed_by_default(finding, trace));
                    // Without rules, a findings file keeps the marks that it has.
                    default.or_else(|| finding.suppressed.take().filter(|_| no_rules))
                }
            };
        }
    }

    /// Returns every rule with its use.
    pub fn used(&self) -> impl Iterator<Item = Used<'_>> {
        self.rules.iter().map(|e| Used {
            rule: &e.rule.text,
            location: &e.location,
            matched: e.matched,
        })
    }
}

/// Returns the rule of the tool itself that suppresses a finding.
///
/// Variables that a standard library has for itself, such as the counters of references, have other
/// values in another schedule. The scope of a lock of Rust protects what is in the lock; it says
/// nothing about atomics, which the program's types share without it.
fn suppressed_by_default(finding: &Finding, trace: &Trace) -> Option<Suppressed> {
    let is_of_block = matches!(
        finding.kind,
        FindingKind::Atomicity | FindingKind::Serializability | FindingKind::Transactions
    );
    let is_internal =
        || !finding.objects.is_empty() && finding.objects.iter().all(|o| trace.is_internal(o));
    let is_atomic = |&e: &u32| (e as usize) < trace.len() && trace.op(EventId(e)).is_atomic();
    let location = if (is_of_block || finding.kind == FindingKind::Nondeterminism) && is_internal()
    {
        "the standard library"
    } else if is_of_block
        && Soundness::of(finding).is_some()
        && in_conflict(finding, trace).next().is_some()
        && in_conflict(finding, trace).all(|e| is_atomic(&e))
    {
        "atomics of Rust"
    } else {
        return None;
    };
    let rule = format!("{} variable={}", finding.kind, finding.objects.join(","));
    Some(Suppressed { rule, location: location.to_owned() })
}

/// Returns the events of a finding that are beside one of another thread: those through which its
/// threads see each other.
fn in_conflict(finding: &Finding, trace: &Trace) -> impl Iterator<Item = u32> {
    let thread = |e: u32| ((e as usize) < trace.len()).then(|| trace.thread(EventId(e)));
    let pairs = finding.events.windows(2).filter(move |pair| thread(pair[0]) != thread(pair[1]));
    pairs.flatten().copied()
}

/// Returns a rule that suppresses this finding.
pub(crate) fn suggestion(finding: &Finding, trace: Option<&Trace>) -> String {
    rule::suggestion(finding, &subject(finding, trace))
}

fn subject(finding: &Finding, trace: Option<&Trace>) -> Subject {
    let mut subject = Subject { objects: finding.objects.clone(), ..Subject::default() };
    subject.files.extend(finding.locations.iter().flatten().filter_map(|p| rule::file_of(p)));
    let Some(trace) = trace else { return subject };
    let known = |e: &u32| (*e as usize) < trace.len();
    let begin = finding.block.map(|b| b.begin);
    for e in finding.events.iter().copied().chain(begin).filter(known) {
        for (depth, frame) in stack(trace, EventId(e)).into_iter().enumerate() {
            if depth == 0 {
                subject.top.extend(frame.function.clone());
            }
            subject.functions.extend(frame.function);
            subject.files.extend(frame.location.as_deref().and_then(rule::file_of));
        }
    }
    if let Some(begin) = begin.filter(known)
        && let EventKind::Begin { label: Some(label) } = trace.event(EventId(begin)).kind
    {
        subject.block = Some(trace.label_name(label).to_owned());
    }
    subject
}

#[cfg(test)]
mod tests;
