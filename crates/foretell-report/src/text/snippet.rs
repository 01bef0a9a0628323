//! The source lines that a finding is about, with the accesses underlined.
//!
//! ```text
//!   --> src/info.c:17
//!      |
//!   17 |     if (shared != NULL)
//!      |         ^^^^^^ T0 reads shared
//!     …|
//!   25 |     shared = NULL;
//!      |     ^^^^^^ T1 writes shared
//! ```
//! Without the source there is a line for each location instead.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use foretell_trace::EventId;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{MARKED, Printer, QUIET, printable, wrap};
use crate::json::Finding;
use crate::notes::{Note, notes};
use crate::source::Source;
use crate::span;
use crate::witness::fold;

/// Writes the source lines of a finding.
pub(super) fn write(
    out: &mut dyn Write,
    printer: &Printer<'_>,
    finding: &Finding,
    schedule: &[EventId],
) -> io::Result<()> {
    let trace = printer.trace;
    let mut files: Vec<File> = Vec::new();
    let mut bare: Vec<(String, Note)> = Vec::new();
    for note in notes(finding, schedule, trace) {
        let location = trace.site(note.event).map(|site| trace.location(site));
        let line = location.and_then(|location| printer.sources.at(location));
        match line.filter(|(source, line)| source.line(*line).is_some()) {
            Some((source, line)) => add(&mut files, source, line, note),
            None => {
                let location =
                    location.map_or_else(|| format!("event {}", note.event.0), printable);
                bare.push((location, note));
            }
        }
    }
    for file in &files {
        file.write(out, printer)?;
    }
    let widest = bare.iter().map(|(location, _)| location.width()).max().unwrap_or(0);
    for (location, note) in &bare {
        let location = wrap::fitted(location, widest.min(printer.look.width / 2));
        let style = if note.main { MARKED } else { QUIET };
        let room = printer.look.width.saturating_sub(8 + location.width());
        let text = wrap::clipped(&printable(&note.text), room);
        writeln!(
            out,
            "  {} {location}  {}",
            printer.look.paint(QUIET, "-->"),
            printer.look.paint(style, &text)
        )?;
    }
    if !(files.is_empty() && bare.is_empty()) {
        writeln!(out)?;
    }
    Ok(())
}

fn add(files: &mut Vec<File>, source: Rc<Source>, line: u32, note: Note) {
    match files.iter_mut().find(|file| Rc::ptr_eq(&file.source, &source)) {
        Some(file) => file.lines.entry(line).or_default().push(note),
        None => {
            let lines = BTreeMap::from([(line, vec![note])]);
            files.push(File { source, lines });
        }
    }
}

/// The notes of one file.
struct File {
    source: Rc<Source>,
    lines: BTreeMap<u32, Vec<Note>>,
}

impl File {
    fn write(&self, out: &mut dyn Write, printer: &Printer<'_>) -> io::Result<()> {
        let look = &printer.look;
        let digits = self.lines.keys().next_back().map_or(1, |n| n.to_string().len());
        // The line that is named with the file is that of the finding's first access.
        let main = |notes: &&Vec<Note>| notes.iter().any(|note| note.main);
        let first = self.lines.iter().find(|(_, notes)| main(notes)).or(self.lines.iter().next());
        let number = first.map_or(1, |(&number, _)| number);
        let path = printable(&format!("{}:{number}", self.source.path.display()));
        let path = wrap::clipped_at_start(&path, look.width.saturating_sub(6 + digits).max(20));
        writeln!(
            out,
            "  {}{} {path}",
            " ".repeat(digits.saturating_sub(1)),
            look.paint(QUIET, "-->")
        )?;
        let bar = |number: &str| look.paint(QUIET, &format!("  {number:>digits$} |"));
        writeln!(out, "{}", bar(""))?;
        let mut before: Option<u32> = None;
        for (&number, notes) in &self.lines {
            if before.is_some_and(|before| before + 1 < number) {
                writeln!(out, "{}", look.paint(QUIET, &format!("  {:>digits$} :", "")))?;
            }
            before = Some(number);
            let line = expanded(self.source.line(number).unwrap_or_default());
            let room = look.width.saturating_sub(5 + digits);
            let shown = wrap::clipped(&printable(&line), room);
            writeln!(out, "{}", format!("{} {shown}", bar(&number.to_string())).trim_end())?;
            for note in notes {
                underline(out, printer, &bar(""), &line, note, room)?;
            }
        }
        Ok(())
    }
}

/// `^^^^^^ T0 reads shared`
fn underline(
    out: &mut dyn Write,
    printer: &Printer<'_>,
    bar: &str,
    line: &str,
    note: &Note,
    room: usize,
) -> io::Result<()> {
    let trace = printer.trace;
    let object = match (trace.variable(note.event), fold::lock(trace, note.event)) {
        (Some(var), _) => Some(trace.variable_name(var)),
        (None, Some(lock)) => Some(trace.lock_name(lock)),
        _ => None,
    };
    let range = span::of(line, object);
    let width = |range: std::ops::Range<usize>| {
        let chars = line.chars().skip(range.start).take(range.len());
        chars.map(|c| c.width().unwrap_or(1)).sum::<usize>()
    };
    let start = width(0..range.start).min(room.saturating_sub(1));
    let length = width(range).max(1).min(room.saturating_sub(start).max(1));
    let (mark, style) = if note.main { ("^", MARKED) } else { ("-", QUIET) };
    let text = printable(&note.text);
    let marks = mark.repeat(length);
    if start + length + 1 + text.width() <= room {
        let said = look_paint(printer, style, &format!("{marks} {text}"));
        return writeln!(out, "{bar} {}{said}", " ".repeat(start));
    }
    // No room beside the marks: below them.
    writeln!(out, "{bar} {}{}", " ".repeat(start), look_paint(printer, style, &marks))?;
    let at = start.min(room.saturating_sub(text.width()));
    let text = wrap::clipped(&text, room);
    writeln!(out, "{bar} {}{}", " ".repeat(at), look_paint(printer, style, &text))
}

fn look_paint(printer: &Printer<'_>, style: anstyle::Style, text: &str) -> String {
    printer.look.paint(style, text)
}

/// Tabs as four spaces, so that marks stand where they should.
fn expanded(line: &str) -> String {
    line.replace('\t', "    ")
}
