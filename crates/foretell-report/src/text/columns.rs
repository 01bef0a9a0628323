//! The witness: a column for each thread, a row for each event.
//!
//! ```text
//!          T1           T2
//!    0     acq(l)                    bank.c:40
//!          … 1,234 events of T1 …
//! >  12    w(x=5)                    bank.c:41
//! >  31                 r(x=4)       bank.c:58
//! ```
//! If the threads do not fit side by side, each row names its thread instead.

use std::io::{self, Write};

use anstyle::Style;
use foretell_trace::{EventId, ThreadId, Trace};
use unicode_width::UnicodeWidthStr;

use super::{MARKED, Printer, QUIET, TITLE, grouped, printable, wrap};
use crate::json::Finding;
use crate::witness::event::{Shown, describe};
use crate::witness::fold::{self, Row};

/// The narrowest column for a thread that can still be read.
const NARROWEST: usize = 10;
/// The widest: longer names are cut.
const WIDEST: usize = 32;
/// The widest column for locations.
const WIDEST_LOCATION: usize = 32;
/// Between columns.
const GAP: usize = 2;
/// Remark beside an acquire that a thread is stuck at.
const BLOCKED: &str = "blocked";

/// A row that is ready to print.
enum Line {
    Event { id: EventId, thread: ThreadId, text: String, marked: bool, blocked: bool },
    Folded(String),
}

/// Writes the witness of a finding; `schedule` and `pattern` are its events.
pub(super) fn write(
    out: &mut dyn Write,
    printer: &Printer<'_>,
    finding: &Finding,
    schedule: &[EventId],
    pattern: &[EventId],
) -> io::Result<()> {
    let lines = lines(printer, finding, schedule, pattern);
    let layout = Layout::new(printer, &lines);
    layout.header(out)?;
    for line in &lines {
        layout.line(out, line)?;
    }
    Ok(())
}

fn lines(
    printer: &Printer<'_>,
    finding: &Finding,
    schedule: &[EventId],
    pattern: &[EventId],
) -> Vec<Line> {
    let trace = printer.trace;
    let values = printer.observed.values(trace, schedule);
    let rows = if printer.look.fold {
        fold::folded(finding, pattern, schedule, trace)
    } else {
        fold::unfolded(schedule)
    };
    let event = |id: EventId, (read, written): (Shown, Shown), blocked: bool| Line::Event {
        id,
        thread: trace.thread(id),
        text: printable(&describe(trace, id, read, written)),
        marked: pattern.contains(&id),
        blocked,
    };
    let silent = (Shown::Nothing, Shown::Nothing);
    let mut lines: Vec<Line> = rows
        .into_iter()
        .map(|row| match row {
            Row::Event(position) => event(schedule[position], values[position], false),
            Row::Folded(range) => Line::Folded(folded_text(trace, &schedule[range])),
        })
        .collect();
    if finding.kind.ends_blocked() {
        // These events are what the threads are stuck at: they come after the witness, not in it.
        let stuck = pattern.iter().filter(|e| !schedule.contains(e));
        lines.extend(stuck.map(|&id| event(id, silent, true)));
    }
    lines
}

/// `… 1,234 events of T1, T2 and 3 more …`
fn folded_text(trace: &Trace, events: &[EventId]) -> String {
    let mut threads: Vec<ThreadId> = Vec::new();
    for &e in events {
        let thread = trace.thread(e);
        if !threads.contains(&thread) {
            threads.push(thread);
        }
    }
    let named: Vec<&str> = threads.iter().take(3).map(|&t| trace.display_name(t)).collect();
    let more = match threads.len().saturating_sub(3) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let count = grouped(events.len() as u64);
    printable(&format!("… {count} events of {}{more} …", named.join(", ")))
}

/// Columns of a line.
struct Layout<'a> {
    printer: &'a Printer<'a>,
    /// The threads side by side, with the widths of their columns; none where each row names its
    /// thread.
    columns: Vec<(ThreadId, usize)>,
    /// The width of thread names where each row names its thread.
    names: usize,
    /// The width of all of the columns together.
    total: usize,
    index: usize,
    location: usize,
}

impl<'a> Layout<'a> {
    fn new(printer: &'a Printer<'a>, lines: &[Line]) -> Self {
        let trace = printer.trace;
        let mut columns: Vec<(ThreadId, usize)> = Vec::new();
        let (mut index, mut location, mut names) = (1, 0, 0);
        for line in lines {
            let Line::Event { id, thread, text, .. } = line else { continue };
            index = index.max(id.0.to_string().len());
            location =
                location.max(trace.site(*id).map_or(0, |s| printable(trace.location(s)).width()));
            let name = printable(trace.display_name(*thread)).width();
            names = names.max(name);
            let wide = text.width().max(name).min(WIDEST);
            match columns.iter_mut().find(|(t, _)| t == thread) {
                Some((_, width)) => *width = wide.max(*width),
                None => columns.push((*thread, wide)),
            }
        }
        columns.sort_by_key(|&(thread, _)| thread);
        let location = location.min(WIDEST_LOCATION);
        let stuck = lines.iter().any(|line| matches!(line, Line::Event { blocked: true, .. }));
        let mut layout = Layout { printer, columns, names: 0, total: 0, index, location };
        layout.fit(names.min(WIDEST), if stuck { GAP + BLOCKED.len() } else { 0 });
        layout
    }

    /// Shares out the width, but for what is `reserved`: first the columns, then what is left to
    /// the locations.
    fn fit(&mut self, names: usize, reserved: usize) {
        let width = self.printer.look.width.saturating_sub(self.start() + reserved);
        let sum = |columns: &[(ThreadId, usize)]| {
            columns.iter().map(|(_, w)| w + GAP).sum::<usize>().saturating_sub(GAP)
        };
        let each = (width / self.columns.len().max(1)).saturating_sub(GAP);
        if sum(&self.columns) > width {
            for (_, column) in &mut self.columns {
                *column = (*column).min(each.max(NARROWEST));
            }
        }
        self.total = sum(&self.columns);
        if self.total > width {
            self.columns.clear();
            self.names = names;
            self.total = (names + GAP + WIDEST).min(width.max(names + GAP + NARROWEST));
        }
        let left = width.saturating_sub(self.total + GAP);
        self.location =
            if left < NARROWEST.min(self.location) { 0 } else { self.location.min(left) };
    }

    /// Returns the start of the first column: after the mark and the index.
    fn start(&self) -> usize {
        2 + 2 + self.index + GAP
    }

    fn header(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let look = &self.printer.look;
        let mut header = " ".repeat(self.start());
        for (i, &(thread, width)) in self.columns.iter().enumerate() {
            let name = printable(self.printer.trace.display_name(thread));
            let name = wrap::clipped(&name, width);
            let fill = if i + 1 < self.columns.len() { width + GAP - name.width() } else { 0 };
            header.push_str(&look.paint(TITLE, &name));
            header.push_str(&" ".repeat(fill));
        }
        writeln!(out, "{header}")
    }

    fn line(&self, out: &mut dyn Write, line: &Line) -> io::Result<()> {
        let look = &self.printer.look;
        let (id, thread, text, marked, blocked) = match line {
            Line::Folded(text) => {
                let text =
                    wrap::clipped(text, look.width.saturating_sub(self.start()).max(NARROWEST));
                let text = look.paint(QUIET, &text);
                return writeln!(out, "{}{text}", " ".repeat(self.start()));
            }
            Line::Event { id, thread, text, marked, blocked } => {
                (*id, *thread, text, *marked, *blocked)
            }
        };
        let mark = if marked { ">" } else { " " };
        let mut row = format!("  {mark} {:>width$}  ", id.0, width = self.index);
        let style = if marked { MARKED } else { Style::new() };
        let before = self.cell_start(thread);
        row.push_str(&if self.columns.is_empty() {
            wrap::fitted(&printable(self.printer.trace.display_name(thread)), self.names + GAP)
        } else {
            " ".repeat(before)
        });
        let start = if self.columns.is_empty() { self.names + GAP } else { before };
        let cell = wrap::clipped(text, self.cell_width(thread));
        row.push_str(&look.paint(style, &cell));
        let note = self.note(id, blocked);
        if !note.is_empty() {
            row.push_str(&" ".repeat((self.total + GAP).saturating_sub(start + cell.width())));
            row.push_str(&look.paint(QUIET, &note));
        }
        writeln!(out, "{}", row.trim_end())
    }

    /// Returns the text right of the columns: the location, and whether the thread is stuck there.
    fn note(&self, id: EventId, blocked: bool) -> String {
        let trace = self.printer.trace;
        let location = trace.site(id).map(|s| printable(trace.location(s))).unwrap_or_default();
        let location = wrap::clipped_at_start(&location, self.location);
        match (blocked, location.is_empty()) {
            (false, _) => location,
            (true, true) => BLOCKED.to_owned(),
            (true, false) => format!("{location} {BLOCKED}"),
        }
    }

    fn cell_start(&self, thread: ThreadId) -> usize {
        self.columns.iter().take_while(|(t, _)| *t != thread).map(|(_, w)| w + GAP).sum()
    }

    fn cell_width(&self, thread: ThreadId) -> usize {
        match self.columns.iter().find(|(t, _)| *t == thread) {
            Some(&(_, width)) => width,
            None => self.total.saturating_sub(self.names + GAP),
        }
    }
}
