//! One rule of a suppressions file.

use foretell_trace::FindingKind;
use wildmatch::WildMatch;

use super::glob;
use crate::json::Finding;
use crate::location::{Location, base_name};

/// Properties of a finding that a rule is matched against.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Subject {
    /// The innermost functions of the finding's events.
    pub(super) top: Vec<String>,
    /// All functions on their stacks.
    pub(super) functions: Vec<String>,
    /// The files on their stacks.
    pub(super) files: Vec<String>,
    /// Variables and locks.
    pub(super) objects: Vec<String>,
    /// The label of the atomic block.
    pub(super) block: Option<String>,
}

/// Rule for findings to hide.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Rule {
    /// The rule as it is written.
    pub(super) text: String,
    kind: Option<FindingKind>,
    conditions: Vec<(Field, WildMatch)>,
}

/// Property that a condition of a rule is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    /// A function, a file or an object, as in ThreadSanitizer's rules.
    Anything,
    Function,
    Top,
    File,
    Variable,
    Block,
    Fingerprint,
}

const FIELDS: [(&str, Field); 6] = [
    ("function", Field::Function),
    ("top", Field::Top),
    ("file", Field::File),
    ("variable", Field::Variable),
    ("block", Field::Block),
    ("fingerprint", Field::Fingerprint),
];

/// A line of a suppressions file.
pub(super) enum Line {
    Rule(Rule),
    /// A rule of ThreadSanitizer for something that Foretell does not report.
    NotOurs(String),
}

impl Rule {
    /// Reads a line that is neither empty nor a comment.
    pub(super) fn parse(line: &str) -> Result<Line, String> {
        let word_end = line.find(|c: char| c == ':' || c.is_whitespace()).unwrap_or(line.len());
        let (word, rest) = line.split_at(word_end);
        if let Some(pattern) = rest.strip_prefix(':') {
            return Rule::tsan(line, word, pattern.trim());
        }
        let kind = kind(word)?;
        let conditions = conditions(rest)?;
        if conditions.is_empty() {
            return Err("a rule says what it is about: `race function=get_info`".to_owned());
        }
        Ok(Line::Rule(Rule { text: line.to_owned(), kind, conditions }))
    }

    fn tsan(line: &str, word: &str, pattern: &str) -> Result<Line, String> {
        if pattern.is_empty() {
            return Err(format!("`{word}:` without a pattern"));
        }
        let (kind, field) = match word {
            "race_top" => (Some(FindingKind::Race), Field::Top),
            "thread" | "mutex" | "signal" | "called_from_lib" => {
                return Ok(Line::NotOurs(line.to_owned()));
            }
            word => (kind(word)?, Field::Anything),
        };
        let conditions = vec![(field, glob::thread_sanitizer(pattern))];
        Ok(Line::Rule(Rule { text: line.to_owned(), kind, conditions }))
    }

    /// Whether the rule is about this finding: all of its conditions hold.
    pub(super) fn matches(&self, finding: &Finding, subject: &Subject) -> bool {
        self.kind.is_none_or(|kind| kind == finding.kind)
            && self.conditions.iter().all(|(field, glob)| holds(*field, glob, finding, subject))
    }
}

fn kind(word: &str) -> Result<Option<FindingKind>, String> {
    if word == "*" {
        return Ok(None);
    }
    match FindingKind::ALL.into_iter().find(|kind| kind.name() == word) {
        Some(kind) => Ok(Some(kind)),
        None => Err(format!(
            "`{word}` is no kind of finding: observed, race, atomicity, serializability, transactions, \
             nondeterminism, deadlock, hang, lifetime, or * for all"
        )),
    }
}

/// Reads `field=glob field="glob with spaces"`.
fn conditions(text: &str) -> Result<Vec<(Field, WildMatch)>, String> {
    let mut conditions = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let Some((name, value)) = rest.split_once('=') else {
            return Err(format!("`{rest}` is not of the form field=pattern"));
        };
        let Some(&(_, field)) = FIELDS.iter().find(|(n, _)| *n == name.trim()) else {
            return Err(format!(
                "`{}` is no field: function, top, file, variable, block, fingerprint",
                name.trim()
            ));
        };
        let (pattern, after) = match value.strip_prefix('"') {
            Some(quoted) => {
                quoted.split_once('"').ok_or("a quotation mark is open at the end of the line")?
            }
            None => value.split_once(char::is_whitespace).unwrap_or((value, "")),
        };
        if pattern.is_empty() {
            return Err(format!("`{}=` without a pattern", name.trim()));
        }
        conditions.push((field, glob::whole(pattern)));
        rest = after.trim_start();
    }
    Ok(conditions)
}

fn holds(field: Field, pattern: &WildMatch, finding: &Finding, subject: &Subject) -> bool {
    let any = |names: &[String]| names.iter().any(|name| pattern.matches(name));
    // A pattern is for the path as it is written or for the last part of it.
    let file = |name: &String| pattern.matches(name) || pattern.matches(base_name(name));
    match field {
        Field::Function => any(&subject.functions),
        Field::Top => any(&subject.top),
        Field::File => subject.files.iter().any(file),
        Field::Variable => any(&subject.objects),
        Field::Block => subject.block.as_ref().is_some_and(|label| pattern.matches(label)),
        Field::Fingerprint => finding.fingerprint.as_ref().is_some_and(|f| pattern.matches(f)),
        Field::Anything => any(&subject.functions) || any(&subject.files) || any(&subject.objects),
    }
}

/// The rule that a person would write to be rid of this finding and no other one.
pub(super) fn suggestion(finding: &Finding, subject: &Subject) -> String {
    let quoted = |text: &str| match text.contains(char::is_whitespace) {
        true => format!("\"{text}\""),
        false => text.to_owned(),
    };
    let mut rule = finding.kind.name().to_owned();
    if let Some(function) = subject.top.first() {
        rule += &format!(" function={}", quoted(function));
    } else if let Some(file) = subject.files.first() {
        rule += &format!(" file={}", quoted(file));
    }
    if let Some(object) = finding.objects.first() {
        rule += &format!(" variable={}", quoted(object));
    }
    rule
}

/// The file of a location, for matching.
pub(super) fn file_of(location: &str) -> Option<String> {
    Location::parse(location).map(|location| location.file.to_owned())
}
