//! The end of a report: a table of all findings, and the counters of the queries.

use std::io::{self, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::{HEADLINE, Look, QUIET, grouped, printable, wrap};
use crate::json::{BaselineState, Counts, Finding, Findings};
use crate::replay;

/// Writes a line for each finding that was shown, if there is more than one.
pub(super) fn table(out: &mut dyn Write, findings: &[&Finding], look: &Look) -> io::Result<()> {
    if findings.len() < 2 {
        return Ok(());
    }
    let rows: Vec<[String; 4]> = findings
        .iter()
        .map(|f| {
            let locations: Vec<&str> = f.locations.iter().flatten().map(String::as_str).collect();
            let replayed = replay::verdict(f).unwrap_or("-");
            [f.id.clone(), replayed.to_owned(), f.objects.join(", "), locations.join(", ")]
        })
        .map(|row| row.map(|cell| printable(&cell)))
        .collect();
    let titles = ["finding", "replayed", "objects", "locations"];
    let width = |i: usize| {
        let cells = rows.iter().map(|row| row[i].width());
        cells.chain([titles[i].width()]).max().unwrap_or(0)
    };
    let (id, verdict) = (width(0), width(1));
    let objects = width(2).min(look.width / 4);
    let locations = look.width.saturating_sub(id + verdict + objects + 6).max(10);
    let line = |row: &[String; 4]| {
        let text = format!(
            "{}  {}  {}  {}",
            wrap::fitted(&row[0], id),
            wrap::fitted(&row[1], verdict),
            wrap::fitted(&row[2], objects),
            wrap::clipped(&row[3], locations)
        );
        text.trim_end().to_owned()
    };
    writeln!(out, "{}", look.paint(QUIET, &line(&titles.map(str::to_owned))))?;
    for row in &rows {
        writeln!(out, "{}", line(row))?;
    }
    writeln!(out)
}

/// The line of a kind that was not looked at to the end: counts are lower bounds.
fn incomplete(kind: &str, counts: &Counts) -> String {
    let at_least = |count: u64| match count {
        0 => "?".to_owned(),
        count => format!("{}+", grouped(count)),
    };
    format!(
        "{kind:<16}{:>12}{:>12}{:>12}",
        at_least(counts.candidates),
        at_least(counts.predicted),
        at_least(counts.undecided)
    )
}

/// Writes for each kind the number of queries asked, predicted and undecided, and of hidden
/// findings.
pub(super) fn counts(out: &mut dyn Write, file: &Findings, look: &Look) -> io::Result<()> {
    if file.summary.is_empty() {
        return Ok(());
    }
    let count = |kind, is: &dyn Fn(&Finding) -> bool| {
        file.findings.iter().filter(|f| f.kind == kind && is(f)).count() as u64
    };
    let suppressed = |f: &Finding| f.suppressed.is_some();
    let known =
        |f: &Finding| f.suppressed.is_none() && f.baseline == Some(BaselineState::Unchanged);
    let any = |is: &dyn Fn(&Finding) -> bool| file.findings.iter().any(is);
    let (with_suppressed, with_known) = (any(&suppressed), any(&known));
    let mut title = format!("{:<16}{:>12}{:>12}{:>12}", "", "candidates", "predicted", "undecided");
    if with_suppressed {
        title += &format!("{:>12}", "suppressed");
    }
    if with_known {
        title += &format!("{:>12}", "known");
    }
    writeln!(out, "{}", look.paint(QUIET, &title))?;
    for (kind, counts) in &file.summary {
        let mut line = format!(
            "{kind:<16}{:>12}{:>12}{:>12}",
            grouped(counts.candidates),
            grouped(counts.predicted),
            grouped(counts.undecided)
        );
        if !counts.is_complete() {
            line = incomplete(&kind.to_string(), counts);
        }
        if with_suppressed {
            line += &format!("{:>12}", grouped(count(*kind, &suppressed)));
        }
        if with_known {
            line += &format!("{:>12}", grouped(count(*kind, &known)));
        }
        if !counts.is_complete() {
            line += "  cut short";
        }
        let style = if counts.predicted > 0 { HEADLINE } else { Style::new() };
        writeln!(out, "{}", look.paint(style, &line))?;
    }
    Ok(())
}
