//! Findings on a terminal.
//!
//! A finding is a headline in plain words, the source lines it is about, the calls that led there,
//! and its witness as columns, one for each thread and one row for each event, the finding's own
//! events marked; below it the outcome of the replay, the command that replays it and the rule that
//! suppresses it. A long witness is folded to its decisive part (see `witness::fold`). Text is
//! fitted to a given width; colour is up to the caller.
//!
//! Values are those of the witness: a read that sees a different value than in the trace shows
//! both. In the symbolic model written values depend on the values read, and none is shown.

mod columns;
mod snippet;
mod summary;
mod wrap;

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use foretell_trace::{EventId, Model, Trace};

use crate::cause::{self, ShownCauses};
use crate::headline::headline;
use crate::json::{self, BaselineState, Confirmation, Finding, Findings};
use crate::kept_by_order::KeptByOrder;
use crate::location::{Frame, stack};
use crate::observed::{self, Failure, ThreadState};
use crate::soundness::Soundness;
use crate::source::Sources;
use crate::witness::values::Observed;
use crate::{replay, suppress};

/// Layout of a text report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Columns to fill.
    pub width: usize,
    /// Whether to colour (with ANSI escapes).
    pub color: bool,
    /// Whether to fold long witnesses.
    pub fold: bool,
    /// Whether to show suppressed findings and those of the baseline too.
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

/// Text below the heading of the unconfirmed findings.
const UNCONFIRMED: &str = "The program did not come to these when it was driven along their \
     schedules: something that is not in the trace may prevent them. They do not count for the exit \
     status unless --unconfirmed is given.";

/// Text below the heading of the findings that only kept order makes impossible.
const KEPT_BY_ORDER: &str = "No findings: code that is not recorded orders these, as far as the \
     trace can tell. They do not count for the exit status.";

impl Look {
    /// `text` in a style, if colour is wanted.
    fn paint(&self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A heading.
    pub(crate) fn heading(&self, text: &str) -> String {
        self.paint(HEADLINE, text)
    }

    /// A paragraph, all lines but the first indented.
    pub(crate) fn paragraph(
        &self,
        out: &mut dyn Write,
        text: &str,
        indent: usize,
    ) -> io::Result<()> {
        wrap::write(out, text, self.width.min(100), indent)
    }
}

/// Shows a whole findings file, with the witnesses if the trace is there to show them from.
///
/// # Errors
/// Errors of `out`.
pub fn findings(
    out: &mut dyn Write,
    file: &Findings,
    trace: Option<&Trace>,
    sources: &Sources,
    look: &Look,
) -> io::Result<()> {
    let printer = trace.map(|trace| {
        Printer::new(trace, file.trace.model, sources, *look).with_trace_path(&file.trace.path)
    });
    let shown = shown(file, look);
    let mut causes = ShownCauses::default();
    for (i, finding) in shown.iter().enumerate() {
        write_section(out, &shown[..i], finding, look)?;
        match &printer {
            Some(printer) => printer.finding_of(out, finding, &mut causes)?,
            None => {
                write_headline(out, finding, &headline(finding, None, sources), look)?;
                let process = file.trace.process.clone();
                write_notes(out, look, &footer(finding, process, None, None))?;
            }
        }
        writeln!(out)?;
    }
    conclusion(out, file, look)
}

/// The findings to show, in the order of reports.
fn shown<'a>(file: &'a Findings, look: &Look) -> Vec<&'a Finding> {
    let mut shown: Vec<&Finding> =
        file.findings.iter().filter(|f| look.hidden || f.is_shown()).collect();
    by_confirmation(&mut shown);
    by_cause(&mut shown);
    shown
}

/// Puts findings with one cause together, the worst first, at the place of the first of them.
pub fn by_cause(findings: &mut Vec<&Finding>) {
    let copies: Vec<Finding> = findings.iter().map(|&finding| finding.clone()).collect();
    let order: Vec<usize> = cause::causes(&copies).into_iter().flatten().collect();
    // Unconfirmed ones have a section of their own.
    let mut sorted: Vec<&Finding> = order.into_iter().map(|i| findings[i]).collect();
    sorted.sort_by_key(|finding| finding.confirmation == Confirmation::Unconfirmed);
    *findings = sorted;
}

/// Shows what [`findings`] has below the findings: undecided queries and the tables.
///
/// # Errors
/// Errors of `out`.
pub fn conclusion(out: &mut dyn Write, file: &Findings, look: &Look) -> io::Result<()> {
    for open in &file.undecided {
        wrap::write(out, &printable(&format!("undecided: {open}")), look.width, 2)?;
    }
    summary::table(out, &shown(file, look), look)?;
    kept_by_order(out, &KeptByOrder::read(file), look)?;
    summary::counts(out, file, look)
}

/// Writes the section of findings that only kept order makes impossible, if there are any.
///
/// # Errors
/// Errors of `out`.
pub fn kept_by_order(out: &mut dyn Write, entries: &[KeptByOrder], look: &Look) -> io::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", look.paint(TITLE, "impossible because of kept order"))?;
    look.paragraph(out, KEPT_BY_ORDER, 0)?;
    for entry in entries {
        look.paragraph(out, &printable(&format!("- {}", entry.sentence())), 2)?;
    }
    writeln!(out)
}

/// Puts findings in the order of reports: those that a replay confirmed first, those that it did
/// not last.
pub fn by_confirmation(findings: &mut [&Finding]) {
    findings.sort_by_key(|finding| finding.confirmation);
}

/// Writes the heading of the section of unconfirmed findings, if `finding` is the first of them
/// after those `before`.
///
/// # Errors
/// Errors of `out`.
pub fn write_section(
    out: &mut dyn Write,
    before: &[&Finding],
    finding: &Finding,
    look: &Look,
) -> io::Result<()> {
    let is_unconfirmed = |f: &Finding| f.confirmation == Confirmation::Unconfirmed;
    if !is_unconfirmed(finding) || before.iter().any(|f| is_unconfirmed(f)) {
        return Ok(());
    }
    writeln!(out, "{}", look.paint(TITLE, "unconfirmed findings"))?;
    look.paragraph(out, UNCONFIRMED, 0)?;
    writeln!(out)
}

/// Writes a line for each finding, if there is more than one.
///
/// # Errors
/// Errors of `out`.
pub fn table(out: &mut dyn Write, findings: &[&Finding], look: &Look) -> io::Result<()> {
    summary::table(out, findings, look)
}

/// Printer of the findings of one trace.
#[derive(Debug)]
pub struct Printer<'a> {
    trace: &'a Trace,
    sources: &'a Sources,
    /// Path of the trace, for the command that replays a finding.
    path: Option<String>,
    /// Values that reads saw in the trace.
    observed: Observed,
    look: Look,
}

impl<'a> Printer<'a> {
    /// Returns a printer for the findings of `trace` in `model`.
    pub fn new(trace: &'a Trace, model: Model, sources: &'a Sources, look: Look) -> Self {
        Printer { trace, sources, path: None, observed: Observed::new(trace, model), look }
    }

    /// Sets the path of the trace; findings then show the command that replays them.
    #[must_use]
    pub fn with_trace_path(self, path: &str) -> Self {
        Printer { path: Some(path.to_owned()), ..self }
    }

    /// Writes one finding: headline, source lines, calls, schedule, and remedies. Events that the
    /// trace does not have are left out: the caller checks findings that come from a file.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finding(&self, out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
        let schedule = finding.shown_schedule(self.trace);
        let pattern = self.known(&finding.events);
        write_headline(
            out,
            finding,
            &headline(finding, Some(self.trace), self.sources),
            &self.look,
        )?;
        writeln!(out)?;
        snippet::write(out, self, finding, &schedule)?;
        self.stacks(out, &pattern)?;
        columns::write(out, self, finding, &schedule, &pattern)?;
        writeln!(out)?;
        let process = json::process(self.trace);
        let notes = footer(finding, process, Some(self.trace), self.path.as_deref());
        write_notes(out, &self.look, &notes)
    }

    /// Writes one finding: as [`Printer::finding`] if it is the first of its cause, otherwise as
    /// [`Printer::variant`]. Without folding every finding is whole.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn finding_of(
        &self,
        out: &mut dyn Write,
        finding: &Finding,
        causes: &mut ShownCauses,
    ) -> io::Result<()> {
        match causes.variant_of(finding).filter(|_| self.look.fold) {
            Some(of) => self.variant(out, finding, &of),
            None => self.finding(out, finding),
        }
    }

    /// Writes a finding that has the same cause as one above: headline and remedies.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn variant(&self, out: &mut dyn Write, finding: &Finding, of: &str) -> io::Result<()> {
        let text = headline(finding, Some(self.trace), self.sources);
        write_headline(out, finding, &text, &self.look)?;
        let mut notes = vec![("cause", format!("that of {of} (--full shows the schedule)"))];
        notes.extend(footer(finding, None, Some(self.trace), self.path.as_deref()));
        notes.retain(|(word, _)| *word != "witness");
        write_notes(out, &self.look, &notes)
    }

    /// Writes the calls that led to the finding's events, if they are known; equal stacks once.
    fn stacks(&self, out: &mut dyn Write, pattern: &[EventId]) -> io::Result<()> {
        let mut said: Vec<String> = Vec::new();
        for &e in pattern {
            let frames = stack(self.trace, e);
            if frames.len() < 2 && frames.iter().all(|f| f.function.is_none()) {
                continue;
            }
            let calls: Vec<String> = frames.iter().map(frame_text).collect();
            let name = self.trace.display_name(self.trace.thread(e));
            let text = printable(&format!("{name} in {}", calls.join(", called from ")));
            if said.contains(&text) {
                continue;
            }
            for line in wrap::lines(&text, self.look.width.saturating_sub(2), 4) {
                writeln!(out, "  {line}")?;
            }
            said.push(text);
        }
        if said.is_empty() { Ok(()) } else { writeln!(out) }
    }

    fn known(&self, events: &[u32]) -> Vec<EventId> {
        let known = events.iter().filter(|&&e| (e as usize) < self.trace.len());
        known.map(|&e| EventId(e)).collect()
    }
}

/// `get_info at info.c:17`
fn frame_text(frame: &Frame) -> String {
    match (&frame.function, &frame.location) {
        (Some(function), Some(location)) => match &frame.inside {
            Some(library) => format!("{function} at {location}, inside {library}"),
            None => format!("{function} at {location}"),
        },
        (Some(text), None) | (None, Some(text)) => text.clone(),
        (None, None) => "?".to_owned(),
    }
}

/// Lines below a finding: a word and its text.
fn footer(
    finding: &Finding,
    process: Option<String>,
    trace: Option<&Trace>,
    path: Option<&str>,
) -> Vec<(&'static str, String)> {
    let events = match finding.witness.schedule.len() {
        1 => "1 event".to_owned(),
        n => format!("{} events", grouped(n as u64)),
    };
    let verdict = if finding.verified { "the checker accepts it" } else { "not checked" };
    let mut notes = Vec::new();
    notes.extend(process.map(|process| ("process", process)));
    let tests = finding.tests();
    if !tests.is_empty() {
        notes.push(("tests", tests.join(", ")));
    }
    notes.extend(Soundness::of(finding).map(|s| ("rust", s.text(finding.kind).to_owned())));
    match Failure::read(finding) {
        Some(failure) => {
            for ThreadState { thread, state } in &failure.threads {
                notes.push(("thread", format!("{thread} {state}")));
            }
            let folded = observed::folded(finding);
            notes.extend(folded.into_iter().map(|line| ("folded", line)));
            notes.push(("witness", format!("the recorded run itself; {verdict}")));
            notes.extend(failure.repeat().map(|text| ("repeat", text)));
            notes.extend(replay::outcome(finding).map(|text| ("replayed", text)));
        }
        None => {
            notes.push(("witness", format!("{events}; {verdict}")));
            notes.push(("replayed", replay::outcome(finding).unwrap_or_else(|| "no".to_owned())));
        }
    }
    if let Some(command) = trace.zip(path).and_then(|(t, p)| replay::command(finding, t, p)) {
        notes.push(("replay", command));
    }
    match &finding.suppressed {
        Some(by) => notes.push(("suppressed", format!("{} ({})", by.rule, by.location))),
        None => notes.push(("suppress", suppress::suggestion(finding, trace))),
    }
    if finding.baseline == Some(BaselineState::Unchanged) {
        notes.push(("known", "the baseline has it too".to_owned()));
    }
    notes
}

fn write_notes(
    out: &mut dyn Write,
    look: &Look,
    notes: &[(&'static str, String)],
) -> io::Result<()> {
    for (word, text) in notes {
        for (i, line) in
            wrap::lines(&printable(text), look.width.saturating_sub(12), 0).iter().enumerate()
        {
            let word = if i == 0 { *word } else { "" };
            writeln!(out, "  {}{line}", look.paint(QUIET, &format!("{word:<10}")))?;
        }
    }
    Ok(())
}

fn write_headline(
    out: &mut dyn Write,
    finding: &Finding,
    text: &str,
    look: &Look,
) -> io::Result<()> {
    let text = printable(&format!("{}: {text}", finding.id));
    for line in wrap::lines(&text, look.width, 2) {
        writeln!(out, "{}", look.paint(HEADLINE, &line))?;
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

#[cfg(test)]
mod tests;
