//! What the commands that report findings have in common: what not to show, and the files beside standard output.

use std::path::{Path, PathBuf};

use foretell_report::baseline::{Baseline, State};
use foretell_report::json::{Finding, Findings};
use foretell_report::suppress::Suppressions;
use foretell_report::text::{Look, printable};
use foretell_trace::Trace;

use crate::failure::Failure;
use crate::input;
use crate::terminal::{Terminal, complain};

/// How to report.
#[derive(clap::Args, Clone, Default, Debug)]
pub(crate) struct ReportOptions {
    /// Rules for findings not to show, also ThreadSanitizer's; may be repeated
    #[arg(long, value_name = "FILE")]
    suppressions: Vec<PathBuf>,

    /// Say which rules of --suppressions matched nothing
    #[arg(long, requires = "suppressions")]
    unused_suppressions: bool,

    /// Show only what this findings file of an earlier run does not have
    #[arg(long, value_name = "OLD.json")]
    baseline: Option<PathBuf>,

    /// Show what is suppressed or in the baseline all the same
    #[arg(long)]
    show_suppressed: bool,

    /// Show long witnesses whole
    #[arg(long)]
    full: bool,
}

impl ReportOptions {
    /// Reads what the options name; `sources` are files of the program, as far as they are known.
    pub(crate) fn start(&self, _sources: &[PathBuf]) -> Result<Reporting, Failure> {
        let mut suppressions = Suppressions::default();
        for path in &self.suppressions {
            let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
            suppressions
                .add(&path.display().to_string(), &text)
                .map_err(|error| Failure::Input(printable(&error.to_string())))?;
        }
        let baseline = self.baseline.as_deref().map(read_baseline).transpose()?;
        Ok(Reporting { options: self.clone(), suppressions, baseline, known: 0 })
    }

    /// Whether to show what is suppressed or known.
    pub(crate) fn hidden(&self) -> bool {
        self.show_suppressed
    }

    /// How to show findings on this terminal.
    pub(crate) fn look(&self, terminal: &Terminal) -> Look {
        Look { fold: !self.full, hidden: self.show_suppressed, ..terminal.look() }
    }
}

fn read_baseline(path: &Path) -> Result<Baseline, Failure> {
    let mut baseline = Baseline::default();
    for file in input::all_findings(path)? {
        baseline.add(&file);
    }
    Ok(baseline)
}

/// Whether there is a finding to show.
pub(crate) fn any_shown(file: &Findings) -> bool {
    file.findings.iter().any(|finding| finding.is_shown())
}

/// A report in the making.
pub(crate) struct Reporting {
    options: ReportOptions,
    suppressions: Suppressions,
    baseline: Option<Baseline>,
    /// How many findings the baseline has too.
    known: usize,
}

impl Reporting {
    /// Marks the findings that are not to be shown.
    pub(crate) fn add(&mut self, file: &mut Findings, trace: Option<&Trace>) {
        if !self.suppressions.is_empty() {
            self.suppressions.apply(&mut file.findings, trace);
        }
        if let Some(baseline) = &self.baseline {
            baseline.apply(&mut file.findings);
            let known = |f: &&Finding| f.baseline == Some(State::Unchanged);
            self.known += file.findings.iter().filter(known).count();
        }
    }

    /// Says what was not shown and why.
    pub(crate) fn finish(self, _terminal: &mut Terminal) -> Result<(), Failure> {
        for used in self.suppressions.used() {
            let (rule, place) = (printable(used.rule), printable(used.place));
            match used.matched {
                0 if self.options.unused_suppressions => {
                    complain(&format!("{place}: matched nothing: {rule}"));
                }
                0 => {}
                1 => complain(&format!("{place}: suppressed 1 finding: {rule}")),
                n => complain(&format!("{place}: suppressed {n} findings: {rule}")),
            }
        }
        for rule in &self.suppressions.not_ours {
            complain(&format!("{}: about nothing that Foretell reports", printable(rule)));
        }
        if let Some(path) = self.options.baseline.as_deref().filter(|_| self.known > 0) {
            let findings = if self.known == 1 { "finding" } else { "findings" };
            complain(&format!("{}: {} {findings} known before", path.display(), self.known));
        }
        Ok(())
    }
}
