//! What the commands that report findings have in common: what not to show, and the files beside standard output.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foretell_report::baseline::Baseline;
use foretell_report::json::{BaselineState, Finding, Findings};
use foretell_report::source::Sources;
use foretell_report::suppress::Suppressions;
use foretell_report::text::{self, Look, printable};
use foretell_report::{graph, html, perfetto, sarif};
use foretell_session::read_all_findings;
use foretell_trace::Trace;

use crate::failure::Failure;
use crate::output::Destination;
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

    /// Also write the findings to this file as SARIF 2.1.0, for code scanning
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// Also write a page to look at to this file: one HTML file that needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Also write the schedules to this file as Chrome trace JSON, for Perfetto
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,

    /// Also write the conflict graphs to this file, for Graphviz
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,

    /// Also draw the conflict graphs to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Show and write only these findings (--json has all of them)
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    only: Vec<String>,

    /// Where the source of the program is, may be repeated [default: the working directory]
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
}

/// What to print on standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Sarif,
}

impl ReportOptions {
    /// Reads what the options name; `program` are source files of the program, as far as they are known.
    pub(crate) fn start(&self, format: Format, program: &[PathBuf]) -> Result<Reporting, Failure> {
        let mut suppressions = Suppressions::default();
        for path in &self.suppressions {
            let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
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
            sarif,
            html: self.html.as_ref().map(|_| html::Page::new()),
            perfetto: self.perfetto.as_ref().map(|_| perfetto::Log::new()),
            graphs: (self.dot.is_some() || self.svg.is_some()).then(graph::Graphs::new),
        })
    }

    /// Where to look for source: the given directories, else those of the program and this one.
    fn sources(&self, program: &[PathBuf]) -> Result<Sources, Failure> {
        for directory in &self.source {
            std::fs::read_dir(directory).map_err(Failure::file(directory))?;
        }
        if !self.source.is_empty() {
            return Ok(Sources::new(self.source.clone()));
        }
        let mut roots = vec![PathBuf::from(".")];
        for directory in program.iter().filter_map(|file| file.parent()) {
            let directory = directory.to_path_buf();
            if !directory.as_os_str().is_empty() && !roots.contains(&directory) {
                roots.push(directory);
            }
        }
        Ok(Sources::new(roots))
    }

    /// How to show findings on this terminal.
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

/// Whether there is a finding to show.
pub(crate) fn any_shown(file: &Findings) -> bool {
    file.findings.iter().any(|finding| finding.is_shown())
}

/// A report in the making.
pub(crate) struct Reporting {
    options: ReportOptions,
    format: Format,
    sources: Sources,
    suppressions: Suppressions,
    baseline: Option<Baseline>,
    /// How many findings the baseline has too.
    known: usize,
    sarif: Option<sarif::Log>,
    html: Option<html::Page>,
    perfetto: Option<perfetto::Log>,
    graphs: Option<graph::Graphs>,
}

impl Reporting {
    /// The source of the program.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether a finding is to be shown on the terminal.
    pub(crate) fn wants(&self, finding: &Finding) -> bool {
        let only = &self.options.only;
        (self.options.show_suppressed || finding.is_shown())
            && (only.is_empty() || only.contains(&finding.id))
    }

    /// Marks the findings that are not to be shown.
    pub(crate) fn mark(&mut self, file: &mut Findings, trace: Option<&Trace>) {
        if !self.suppressions.is_empty() {
            self.suppressions.apply(&mut file.findings, trace);
        }
        if let Some(baseline) = &self.baseline {
            baseline.apply(&mut file.findings);
            let known = |f: &&Finding| f.baseline == Some(BaselineState::Unchanged);
            self.known += file.findings.iter().filter(known).count();
        }
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

    /// The findings that were asked for.
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

    /// Writes the files, and says what was not shown and why.
    pub(crate) fn finish(self, terminal: &mut Terminal) -> Result<(), Failure> {
        if let Some(log) = self.sarif.as_ref().filter(|_| self.format == Format::Sarif) {
            log.write(terminal)?;
        }
        self.write_files(terminal)?;
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
