//! Problems of a line, and their messages.

use std::fmt::Write;

/// Problem of one line.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// The kind of problem, as the lenient reader counts it: completes "lines with …".
    pub(super) kind: &'static str,
    /// The whole story.
    pub(super) message: String,
}

impl Problem {
    #[cold]
    pub(super) fn new(kind: &'static str, message: String) -> Problem {
        Problem { kind, message }
    }
}

pub(super) const BAD_UTF8: &str = "text that is not UTF-8";
pub(super) const BAD_FIELDS: &str = "the wrong number of fields";
pub(super) const BAD_NAME: &str = "a name that is none";
pub(super) const BAD_OPERATION: &str = "an unknown operation";
pub(super) const BAD_ARGUMENTS: &str = "wrong operands";
pub(super) const BAD_VALUE: &str = "a value that is none";
pub(super) const BAD_EXPRESSION: &str = "an expression that does not parse";
pub(super) const BAD_DECLARATION: &str = "a declaration that does not parse";
pub(super) const BAD_WAIT: &str = "a wait without its lock";

/// A piece of the file between back quotes, fit for one line of a message: cut where it is long,
/// control characters escaped.
#[cold]
pub(super) fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut quoted = String::from("`");
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            quoted.push('…');
            break;
        }
        if c.is_control() {
            let _ = write!(quoted, "{}", c.escape_default());
        } else {
            quoted.push(c);
        }
    }
    quoted.push('`');
    quoted
}

/// Counts problems by kind, and remembers the first of each.
#[derive(Default)]
pub(super) struct Dropped {
    kinds: Vec<(Problem, usize, usize)>,
}

impl Dropped {
    pub(super) fn add(&mut self, line: usize, problem: Problem) {
        match self.kinds.iter_mut().find(|(first, ..)| first.kind == problem.kind) {
            Some((_, _, count)) => *count += 1,
            None => self.kinds.push((problem, line, 1)),
        }
    }

    /// One note for each kind, in the order of their first lines.
    pub(super) fn notes(self) -> impl Iterator<Item = String> {
        self.kinds.into_iter().map(|(Problem { kind, message }, line, count)| {
            let lines = if count == 1 { "line" } else { "lines" };
            format!("dropped {count} {lines} with {kind}; the first is line {line}: {message}")
        })
    }
}
