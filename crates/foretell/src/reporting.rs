//! Options and outputs of the commands that report findings.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foretell_report::baseline::Baseline;
use foretell_report::cause::ShownCauses;
use foretell_report::json::{BaselineState, CountAlso, Finding, Findings};
use foretell_report::source::Sources;
use foretell_report::suppress::Suppressions;
use foretell_report::text::{self, Look, Printer, printable};
use foretell_report::{graph, html, perfetto, sarif};
use foretell_session::read_all_findings;
use foretell_trace::{Model, Trace};

use crate::failure::Failure;
use crate::input;
use crate::output::Destination;
use crate::terminal::{Terminal, complain};

/// Options of a report.
#[derive(clap::Args, Clone, Default, Debug)]
#[command(next_help_heading = "Report options")]
pub(crate) struct ReportOptions {
    /// Write the findings as one HTML page too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the findings as SARIF 2.1.0 too, for code scanning
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// Write the schedules as Chrome trace JSON too, for Perfetto
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    perfetto: Option<PathBuf>,

    /// Write the conflict graphs too, for Graphviz
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    dot: Option<PathBuf>,

    /// Draw the conflict graphs too
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    svg: Option<PathBuf>,

    /// Hide findings that match these rules (also ThreadSanitizer's); repeatable
    #[arg(long, value_name = "FILE")]
    suppressions: Vec<PathBuf>,

    /// List the rules of --suppressions that matched nothing
    #[arg(long, requires = "suppressions", hide_short_help = true)]
    unused_suppressions: bool,

    /// Hide findings that this earlier findings file has
    #[arg(long, value_name = "OLD.json")]
    baseline: Option<PathBuf>,

    /// Show suppressed findings and those of the baseline too
    #[arg(long, hide_short_help = true)]
    show_suppressed: bool,

    #[command(flatten)]
    pub(crate) counting: CountOptions,

    /// Show long witnesses in full
    #[arg(long)]
    full: bool,

    /// Show and write only these findings (--json has all)
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    only: Vec<String>,

    /// Directory of the program's source; repeatable [default: working directory]
    ///
    /// Reports show source text only from below these directories, all links resolved. Without
    /// this option these are the working directory and, for `check`, the directories of the
    /// sources.
    #[arg(long, value_name = "DIR", alias = "source-root")]
    source: Vec<PathBuf>,
}

/// Options that say which findings count for the exit status.
#[derive(clap::Args, Clone, Default, Debug)]
pub(crate) struct CountOptions {
    /// Count findings that their replay did not confirm for the exit status too
    #[arg(long, hide_short_help = true)]
    unconfirmed: bool,

    /// Kinds of findings that count for the exit status though they need not be bugs
    ///
    /// nondeterminism
    #[arg(long, value_name = "KIND", value_delimiter = ',', hide_short_help = true)]
    fail_on: Vec<ExtraKind>,
}

/// Kind of findings that correct programs have too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum ExtraKind {
    Nondeterminism,
}

impl CountOptions {
    /// Whether nondeterministic reads count, whatever their replay showed.
    pub(crate) fn nondeterminism(&self) -> bool {
        self.fail_on.contains(&ExtraKind::Nondeterminism)
    }

    /// Whether a finding counts for the exit status.
    pub(crate) fn counts(&self, finding: &Finding) -> bool {
        let nondeterminism = self.nondeterminism();
        finding.counts(CountAlso { unconfirmed: self.unconfirmed, nondeterminism })
    }
}

/// Format of standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Sarif,
}

impl ReportOptions {
    /// Starts a report: reads the files that the options name. `program` are the known source files
    /// of the program.
    pub(crate) fn start(&self, format: Format, program: &[PathBuf]) -> Result<Reporting, Failure> {
        let mut suppressions = Suppressions::default();
        for path in &self.suppressions {
            let text = input::text(path)?;
            suppressions
                .add(&path.display().to_string(), &text)
                .map_err(|error| Failure::Input(printable(&error.to_string())))?;
        }
        let baseline = self.baseline.as_deref().map(read_baseline).transpose()?;
        let sarif = (self.sarif.is_some() || format == Format::Sarif).then(sarif::Log::new);
        Ok(Reporting {
            sources: self.sources(program)?,
            options: self.clone(),
            format,
            suppressions,
            baseline,
            known: 0,
            causes: (PathBuf::new(), ShownCauses::default()),
            sarif,
            html: self.html.as_ref().map(|_| html::Page::new()),
            perfetto: self.perfetto.as_ref().map(|_| perfetto::Log::new()),
            graphs: (self.dot.is_some() || self.svg.is_some()).then(graph::Graphs::new),
        })
    }

    /// Returns the source files: those in the given directories, else those in the directories of
    /// the program and in the working directory.
    fn sources(&self, program: &[PathBuf]) -> Result<Sources, Failure> {
        for directory in &self.source {
            std::fs::read_dir(directory).map_err(Failure::file(directory))?;
        }
        if !self.source.is_empty() {
            return Ok(Sources::new(self.source.clone()));
        }
        // Everything lies below the root of the file system.
        let at_root = std::env::current_dir().is_ok_and(|directory| directory.parent().is_none());
        let mut roots = Vec::new();
        if !at_root {
            roots.push(PathBuf::from("."));
        }
        for directory in program.iter().filter_map(|file| file.parent()) {
            let directory = directory.to_path_buf();
            if !directory.as_os_str().is_empty() && !roots.contains(&directory) {
                roots.push(directory);
            }
        }
        Ok(Sources::new(roots))
    }

    /// Whether a finding counts for the exit status.
    pub(crate) fn counts(&self, finding: &Finding) -> bool {
        self.counting.counts(finding)
    }

    /// Returns the layout of findings on this terminal.
    pub(crate) fn look(&self, terminal: &Terminal) -> Look {
        Look { fold: !self.full, hidden: self.show_suppressed, ..terminal.look() }
    }
}

fn read_baseline(path: &Path) -> Result<Baseline, Failure> {
    let mut baseline = Baseline::default();
    for file in read_all_findings(path)? {
        baseline.add(&file);
    }
    Ok(baseline)
}

/// Report under construction.
pub(crate) struct Reporting {
    options: ReportOptions,
    format: Format,
    sources: Sources,
    suppressions: Suppressions,
    baseline: Option<Baseline>,
    /// Number of findings that the baseline has too.
    known: usize,
    /// Causes of the findings that were shown of the trace at this path.
    causes: (PathBuf, ShownCauses),
    sarif: Option<sarif::Log>,
    html: Option<html::Page>,
    perfetto: Option<perfetto::Log>,
    graphs: Option<graph::Graphs>,
}

impl Reporting {
    /// Returns the source of the program.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether a finding is to be shown on the terminal.
    pub(crate) fn wants(&self, finding: &Finding) -> bool {
        let only = &self.options.only;
        (self.options.show_suppressed || finding.is_shown())
            && (only.is_empty() || only.contains(&finding.id))
    }

    /// Marks the findings to hide.
    pub(crate) fn mark(&mut self, findings: &mut [Finding], trace: Option<&Trace>) {
        self.suppressions.apply(findings, trace);
        if let Some(baseline) = &self.baseline {
            baseline.apply(findings);
            let known = |f: &&Finding| f.baseline == Some(BaselineState::Unchanged);
            self.known += findings.iter().filter(known).count();
        }
    }

    /// Shows findings on standard output at once if it has text; [`conclude`](Self::conclude)
    /// follows when all are there. `path` is that of the trace.
    pub(crate) fn show(
        &mut self,
        terminal: &mut Terminal,
        (trace, model): (&Trace, Model),
        path: &Path,
        findings: &[Finding],
    ) -> io::Result<()> {
        if self.format != Format::Text {
            return Ok(());
        }
        let printer = Printer::new(trace, model, &self.sources, self.options.look(terminal))
            .with_trace_path(&path.display().to_string());
        if self.causes.0 != path {
            self.causes = (path.to_path_buf(), ShownCauses::default());
        }
        let wanted: Vec<&Finding> = findings.iter().filter(|f| self.wants(f)).collect();
        for finding in wanted {
            printer.finding_of(terminal, finding, &mut self.causes.1)?;
            writeln!(terminal)?;
        }
        terminal.flush()
    }

    /// Shows what comes after the findings on standard output, and collects them for the files
    /// beside it.
    pub(crate) fn conclude(
        &mut self,
        terminal: &mut Terminal,
        file: &Findings,
        trace: &Trace,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Text => {
                let look = self.options.look(terminal);
                text::conclusion(terminal, &self.chosen(file), &look)?;
            }
            Format::Json => file.write(terminal)?,
            Format::Sarif => {}
        }
        self.collect(file, Some(trace));
        Ok(())
    }

    /// Shows findings on standard output, and collects them for the files beside it.
    pub(crate) fn publish(
        &mut self,
        terminal: &mut Terminal,
        file: &Findings,
        trace: Option<&Trace>,
    ) -> Result<(), Failure> {
        match self.format {
            Format::Text => {
                let look = self.options.look(terminal);
                text::findings(terminal, &self.chosen(file), trace, &self.sources, &look)?;
            }
            Format::Json => file.write(terminal)?,
            Format::Sarif => {}
        }
        self.collect(file, trace);
        Ok(())
    }

    /// Collects findings for the files beside standard output.
    pub(crate) fn collect(&mut self, file: &Findings, trace: Option<&Trace>) {
        let file = &*self.chosen(file);
        if let Some(log) = &mut self.sarif {
            log.add(file, trace, &self.sources);
        }
        if let Some(page) = &mut self.html {
            page.add(file, trace, &self.sources);
        }
        let Some(trace) = trace else { return };
        if let Some(log) = &mut self.perfetto {
            log.add(file, trace);
        }
        if let Some(graphs) = &mut self.graphs {
            graphs.add(file, trace);
        }
    }

    /// Returns the findings that --only names.
    fn chosen<'a>(&self, file: &'a Findings) -> Cow<'a, Findings> {
        if self.options.only.is_empty() {
            return Cow::Borrowed(file);
        }
        let mut chosen = file.clone();
        chosen.findings.retain(|finding| self.options.only.contains(&finding.id));
        Cow::Owned(chosen)
    }

    fn write_files(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let options = &self.options;
        let mut write =
            |path: &Option<PathBuf>, content: &dyn Fn(&mut dyn Write) -> io::Result<()>| match path
            {
                Some(path) => {
                    Destination::new(Some(path.clone())).write(terminal, |out| content(out))
                }
                None => Ok(()),
            };
        if let Some(log) = &self.sarif {
            write(&options.sarif, &|out| log.write(out))?;
        }
        if let Some(page) = &self.html {
            write(&options.html, &|out| page.write(out))?;
        }
        if let Some(log) = &self.perfetto {
            write(&options.perfetto, &|out| log.write(out))?;
        }
        if let Some(graphs) = &self.graphs {
            write(&options.dot, &|out| graphs.write_dot(out))?;
            write(&options.svg, &|out| graphs.write_svg(out))?;
        }
        Ok(())
    }

    /// Writes the files, and prints a line for each rule that hid findings.
    pub(crate) fn finish(self, terminal: &mut Terminal) -> Result<(), Failure> {
        if let Some(log) = self.sarif.as_ref().filter(|_| self.format == Format::Sarif) {
            log.write(terminal)?;
        }
        self.write_files(terminal)?;
        for used in self.suppressions.used() {
            let (rule, location) = (printable(used.rule), printable(used.location));
            match used.matched {
                0 if self.options.unused_suppressions => {
                    complain(&format!("{location}: matched nothing: {rule}"));
                }
                0 => {}
                1 => complain(&format!("{location}: suppressed 1 finding: {rule}")),
                n => complain(&format!("{location}: suppressed {n} findings: {rule}")),
            }
        }
        for rule in &self.suppressions.not_ours {
            complain(&format!(
                "{}: ignored: Foretell reports nothing of this kind",
                printable(rule)
            ));
        }
        if let Some(path) = self.options.baseline.as_deref().filter(|_| self.known > 0) {
            let findings = if self.known == 1 { "finding" } else { "findings" };
            complain(&format!("{}: {} {findings} known before", path.display(), self.known));
        }
        Ok(())
    }
}
