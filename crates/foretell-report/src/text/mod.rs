//! Findings for people at a terminal.
//!
//! A finding is a headline in plain words and its witness as columns, one for each thread and one row for
//! each event, the finding's own events marked. A long witness is folded: what is left is the part that
//! decides (see the module `fold`). Text is fitted to a given width; colour is up to the caller.
//!
//! Values are those of the witness: a read that sees another value than it saw in the trace shows both.
//! In the symbolic model what is written depends on what was read, and no values are shown.

mod columns;
mod event;
mod fold;
mod headline;
mod observed;
mod wrap;

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use foretell_trace::{EventId, Model, Trace};

use crate::json::{Finding, Findings, Kind};
use observed::Observed;

pub use event::describe_event;

/// How to show findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Columns to fill.
    pub width: usize,
    /// Whether to colour (with ANSI escapes).
    pub color: bool,
    /// Whether to fold long witnesses.
    pub fold: bool,
    /// Whether to show what is suppressed or in the baseline too.
    pub hidden: bool,
}

impl Default for Look {
    fn default() -> Self {
        Look { width: 100, color: false, fold: true, hidden: false }
    }
}

const HEADLINE: Style = Style::new().bold();
const MARKED: Style = AnsiColor::Red.on_default().bold();
const QUIET: Style = Style::new().dimmed();
const TITLE: Style = Style::new().underline();

impl Look {
    /// `text` in a style, if colour is wanted.
    fn paint(&self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// Shows a whole findings file, with the witnesses if the trace is there to show them from.
///
/// # Errors
/// Only those of `out`.
pub fn findings(
    out: &mut dyn Write,
    file: &Findings,
    trace: Option<&Trace>,
    look: &Look,
) -> io::Result<()> {
    let shower = trace.map(|trace| Shower::new(trace, file.trace.model, *look));
    for finding in file.findings.iter().filter(|f| look.hidden || f.is_shown()) {
        match &shower {
            Some(shower) => shower.finding(out, finding)?,
            None => write_headline(out, finding, &headline::without_trace(finding), look)?,
        }
        writeln!(out)?;
    }
    for open in &file.undecided {
        let events: Vec<String> = open.events.iter().map(u32::to_string).collect();
        let text =
            format!("undecided: {} of events {}: {}", open.kind, events.join(", "), open.reason);
        wrap::write(out, &printable(&text), look.width, 2)?;
    }
    summary(out, file, look)
}

/// The last lines of a report: for each kind, how many were asked, predicted and left open.
///
/// # Errors
/// Only those of `out`.
pub fn summary(out: &mut dyn Write, file: &Findings, look: &Look) -> io::Result<()> {
    if file.summary.is_empty() {
        return Ok(());
    }
    let title = format!("{:<16}{:>12}{:>12}{:>12}", "", "candidates", "predicted", "undecided");
    writeln!(out, "{}", look.paint(QUIET, &title))?;
    for (kind, counts) in &file.summary {
        let line = format!(
            "{kind:<16}{:>12}{:>12}{:>12}",
            grouped(counts.candidates),
            grouped(counts.predicted),
            grouped(counts.undecided)
        );
        let style = if counts.predicted > 0 { HEADLINE } else { Style::new() };
        writeln!(out, "{}", look.paint(style, &line))?;
    }
    Ok(())
}

/// Shows findings of one trace.
#[derive(Debug)]
pub struct Shower<'a> {
    trace: &'a Trace,
    /// What every read saw in the trace; absent where values are not to be shown.
    observed: Option<Observed>,
    look: Look,
}

impl<'a> Shower<'a> {
    /// For the findings of `trace` in `model`.
    pub fn new(trace: &'a Trace, model: Model, look: Look) -> Self {
        let observed = (model != Model::Symbolic).then(|| Observed::new(trace));
        Shower { trace, observed, look }
    }

    /// Shows one finding. Events that the trace does not have are left out: whoever reads findings
    /// from a file checks them first.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn finding(&self, out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
        let schedule = self.known(&finding.witness.schedule);
        let pattern = self.known(&finding.events);
        let text = if pattern.len() == finding.events.len() {
            headline::with_trace(finding, &pattern, &schedule, self.trace)
        } else {
            headline::without_trace(finding)
        };
        write_headline(out, finding, &text, &self.look)?;
        writeln!(out)?;
        columns::write(out, self, finding, &schedule, &pattern)?;
        let verdict = if finding.verified { "the checker accepts it" } else { "not checked" };
        let events = match schedule.len() {
            1 => "1 event".to_owned(),
            n => format!("{} events", grouped(n as u64)),
        };
        let note = format!("  a schedule of {events}; {verdict}");
        writeln!(out, "\n{}", self.look.paint(QUIET, &note))
    }

    fn known(&self, events: &[u32]) -> Vec<EventId> {
        let known = events.iter().filter(|&&e| (e as usize) < self.trace.len());
        known.map(|&e| EventId(e)).collect()
    }
}

fn write_headline(
    out: &mut dyn Write,
    finding: &Finding,
    text: &str,
    look: &Look,
) -> io::Result<()> {
    let text = printable(&format!("{}: {text}", finding.id));
    for (i, line) in wrap::lines(&text, look.width, 2).iter().enumerate() {
        let style = if i == 0 { HEADLINE } else { Style::new() };
        writeln!(out, "{}", look.paint(style, line))?;
    }
    Ok(())
}

/// A number with its thousands set apart: `1,234`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `text` without control characters: names come from files, and nothing in them may reach a
/// terminal that it would obey.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The word for a kind of finding in a headline.
fn kind_in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Race => "data race",
        Kind::Atomicity => "atomicity violation",
        Kind::Serializability => "serializability violation",
        Kind::Transactions => "transaction cycle",
        Kind::Nondeterminism => "nondeterminism",
        Kind::Deadlock => "deadlock",
    }
}

#[cfg(test)]
mod tests;
