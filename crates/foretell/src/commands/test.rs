//! `foretell test`: a test suite below its runner, every process of it recorded and analysed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use foretell_limit::{Reason, shielded};
use foretell_report::cause::ShownCauses;
use foretell_report::json::{Confirmation, Finding, Findings};
use foretell_report::junit::{self, Case, CaseFailure};
use foretell_report::text::{self, Look, Printer, grouped, printable};
use foretell_session::{
    Bug, DriverOptions, Launch, PredictOptions, Suite, SuiteOptions, SuiteProgress, run_suite,
    shell_status,
};
use foretell_trace::{FindingKind, Trace};

use crate::failure::{Failure, Status};
use crate::limits::{Budget, message, seconds};
use crate::output::Destination;
use crate::recording::{JavaOptions, RecordOptions};
use crate::reporting::{Format, ReportOptions, Reporting};
use crate::terminal::{Terminal, complain};

/// Run a test suite, and analyse every recorded process below the runner
///
/// RUNNER is ctest, make check, a gtest binary, a JUnit launcher, ant, mvn test, …: its programs
/// were built with `foretell cc` or gcc -fsanitize=thread, or are Java programs. Each process is
/// analysed as soon as it has ended. A bug that several tests show is reported once, with the
/// tests, and replayed on the smallest of their traces. Input and output are those of the runner;
/// the report follows. Exit status: that of the runner if it failed; else 1 if something was found,
/// else 0 (3 if cut short).
#[derive(clap::Args, Debug)]
pub(crate) struct Test {
    #[command(flatten)]
    common: TestArguments,

    #[command(flatten)]
    java: JavaOptions,

    /// Record programs that are not instrumented too, for instrumented libraries that they load
    ///
    /// For extension modules of Python. Everything that such a program does with threads and locks
    /// is recorded, of its memory only what the libraries access.
    #[arg(long, hide_short_help = true)]
    preload: bool,

    /// Runner and arguments
    #[arg(last = true, required = true, value_name = "RUNNER")]
    command: Vec<OsString>,
}

impl Test {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let launch = self.common.options.launch(self.command, &self.java);
        let launch = Launch { preload: self.preload, ..launch };
        self.common.run(terminal, launch)
    }
}

/// Options of the commands that analyse a test suite.
#[derive(clap::Args, Debug)]
pub(crate) struct TestArguments {
    /// Directory for the traces and their findings, for `replay` [default: they are not kept]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) options: RecordOptions,

    /// Number of processes to analyse at a time [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Kinds of findings to look for [default: all]
    ///
    /// race, atomicity, serializability, transactions, nondeterminism, deadlock,
    /// hang, lifetime
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    analyses: Vec<FindingKind>,

    /// Most bugs to replay
    #[arg(long, value_name = "N", default_value_t = 100, hide_short_help = true)]
    replays: usize,

    /// Time limit of a replay; a longer one counts as hanging
    #[arg(long, value_name = "SECS", default_value_t = 30, hide_short_help = true)]
    limit: u64,

    /// Time limit of a query; a longer one counts as undecided
    #[arg(long, value_name = "SECS", default_value_t = 60, hide_short_help = true)]
    timeout: u64,

    /// Time limit of the prediction on one process; the rest of its queries is undecided
    #[arg(long, value_name = "SECS", value_parser = seconds, hide_short_help = true)]
    process_budget: Option<Duration>,

    #[command(flatten)]
    budget: Budget,

    /// Unix socket of a pool that does predictions and replays, as `foretell cluster test` is
    ///
    /// docs/cluster.md has the protocol. The result does not depend on it.
    #[arg(long, value_name = "SOCKET", hide = true)]
    pool: Option<PathBuf>,

    /// Write the findings as JSON too, one document for each test that a bug is shown with
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the tests as JUnit XML too, with the bugs that count as failures
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    #[command(flatten)]
    report: ReportOptions,
}

impl TestArguments {
    /// Runs the runner of the launch, which these options have made, and reports.
    pub(crate) fn run(self, terminal: &mut Terminal, launch: Launch) -> Result<Status, Failure> {
        let mut report = self.report.start(Format::Text, &[])?;
        let options = self.suite_options(launch)?;
        let budget = options.budget;
        // A pool shows the progress itself.
        let mut suite = match options.pool {
            None => shown_while(|progress| run_suite(&options, progress))?,
            Some(_) => run_suite(&options, &SuiteProgress::default())?,
        };
        for problem in &suite.problems {
            complain(&format!("foretell: {problem}"));
        }
        if suite.tests.is_empty() && suite.single_threaded == 0 {
            complain(
                "foretell: nothing was recorded: no process below the runner is instrumented; build \
                 with `foretell cc` or gcc -fsanitize=thread",
            );
        }
        let cut_short = suite.interrupted || suite.tests.iter().any(|t| !t.findings.is_complete());
        let counted = shielded(|| self.show(terminal, &mut suite, &mut report))?;
        report.finish(terminal)?;
        if cut_short {
            complain(message(budget.reached().unwrap_or(Reason::Interrupt)));
        }
        Ok(match shell_status(suite.status) {
            0 if counted > 0 => Status::Found,
            0 if suite.tests.is_empty() && suite.single_threaded == 0 => Status::Program(2),
            0 if cut_short => Status::CutShort,
            status => Status::Program(status),
        })
    }

    fn suite_options(&self, launch: Launch) -> Result<SuiteOptions, Failure> {
        let mut driver = DriverOptions {
            timeout: Some(Duration::from_secs(self.timeout)),
            budget: self.process_budget,
            jobs: 1,
            ..DriverOptions::default()
        };
        if !self.analyses.is_empty() {
            driver.analyses = self.analyses.iter().copied().collect();
        }
        Ok(SuiteOptions {
            launch,
            blocks: self.options.blocks()?,
            predict: PredictOptions { driver, ..PredictOptions::default() },
            jobs: self.jobs(),
            limit: Duration::from_secs(self.limit),
            replays: self.replays,
            budget: self.budget.start(),
            output: self.output.clone(),
            pool: self.pool.clone(),
        })
    }

    /// Returns the number of processes to analyse at a time.
    pub(crate) fn jobs(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(cores, usize::from)
    }

    fn wants(&self, finding: &Finding) -> bool {
        finding.kind != FindingKind::Nondeterminism
            || self.analyses.contains(&FindingKind::Nondeterminism)
            || self.report.counting.nondeterminism()
    }

    /// Reports the bugs. Returns how many count for the exit status.
    fn show(
        &self,
        terminal: &mut Terminal,
        suite: &mut Suite,
        report: &mut Reporting,
    ) -> Result<usize, Failure> {
        let look = self.report.look(terminal);
        let mut bugs: Vec<Bug> = suite.bugs.clone();
        bugs.retain(|bug| self.wants(suite.finding(bug)));
        // The findings of one trace together: a trace is read once.
        let mut by_test = BTreeMap::<usize, Vec<Bug>>::new();
        for bug in bugs {
            by_test.entry(bug.test).or_default().push(bug);
        }
        let (mut shown, mut json) = (Vec::new(), Vec::new());
        for (test, bugs) in by_test {
            let trace = suite.trace(test)?;
            let mut file: Findings = suite.tests[test].findings.clone();
            file.findings = bugs.iter().map(|bug| suite.finding(bug).clone()).collect();
            report.mark(&mut file.findings, Some(&trace));
            for (bug, finding) in bugs.iter().zip(&file.findings) {
                let text = self.text(suite, test, &trace, report, finding, look)?;
                shown.push(Shown { bug: bug.clone(), finding: finding.clone(), text });
            }
            report.collect(&file, Some(&trace));
            json.push(file);
        }
        shown.sort_by_key(|shown| shown.finding.confirmation);
        let listed: Vec<&Shown> = shown.iter().filter(|s| report.wants(&s.finding)).collect();
        let findings: Vec<&Finding> = listed.iter().map(|shown| &shown.finding).collect();
        let mut causes = ShownCauses::default();
        for (i, shown) in listed.iter().enumerate() {
            text::write_section(terminal, &findings[..i], &shown.finding, &look)?;
            let variant = causes.variant_of(&shown.finding).filter(|_| look.fold);
            match variant {
                Some(of) => writeln!(terminal, "{}", shown.in_short(&of))?,
                None => writeln!(terminal, "{}", shown.text)?,
            }
        }
        text::table(terminal, &findings, &look)?;
        self.tests(terminal, suite, &listed)?;
        let counts = |shown: &&&Shown| self.report.counts(&shown.finding);
        let counted = listed.iter().filter(counts).count();
        writeln!(terminal, "{}", summary(suite, &findings, counted))?;
        if let Some(path) = &self.json {
            Destination::new(Some(path.clone()))
                .write(terminal, |mut out| json.iter().try_for_each(|file| file.write(&mut out)))?;
        }
        if let Some(path) = &self.junit {
            let listed: Vec<&Shown> = listed.iter().filter(counts).copied().collect();
            let cases = cases(suite, &listed);
            Destination::new(Some(path.clone()))
                .write(terminal, |out| junit::write(out, &cases))?;
        }
        Ok(counted)
    }

    /// Returns the text of a finding.
    fn text(
        &self,
        suite: &Suite,
        test: usize,
        trace: &Trace,
        report: &Reporting,
        finding: &Finding,
        look: Look,
    ) -> Result<String, Failure> {
        let test = &suite.tests[test];
        let mut printer = Printer::new(trace, test.findings.trace.model, report.sources(), look);
        if self.output.is_some() {
            printer = printer.with_trace_path(&test.path.display().to_string());
        }
        let mut text = Vec::new();
        printer.finding(&mut text, finding)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Writes a line for each test.
    fn tests(
        &self,
        terminal: &mut Terminal,
        suite: &Suite,
        shown: &[&Shown],
    ) -> Result<(), Failure> {
        let longest = suite.tests.iter().map(|test| test.name.chars().count()).max().unwrap_or(0);
        let width = longest.clamp(4, 60);
        if !suite.tests.is_empty() {
            writeln!(terminal, "{:<width$}  {:>9}  findings", "test", "events")?;
        }
        for (t, test) in suite.tests.iter().enumerate() {
            let ids: Vec<&str> = shown
                .iter()
                .filter(|shown| shown.bug.shown_by.iter().any(|&(of, _)| of == t))
                .map(|shown| shown.finding.id.as_str())
                .collect();
            let ids = if ids.is_empty() { "-".to_owned() } else { ids.join(", ") };
            let (name, events) = (printable(&test.name), grouped(test.events as u64));
            writeln!(terminal, "{name:<width$}  {events:>9}  {ids}")?;
        }
        if !suite.tests.is_empty() {
            writeln!(terminal)?;
        }
        Ok(())
    }
}

/// A bug of the report.
struct Shown {
    bug: Bug,
    finding: Finding,
    text: String,
}

impl Shown {
    /// Returns headline and remedies, for a bug with the same cause as one above.
    fn in_short(&self, of: &str) -> String {
        let headline = self.text.split("\n\n").next().unwrap_or_default();
        let notes = self.text.trim_end().rsplit("\n\n").next().unwrap_or_default();
        let notes: Vec<&str> =
            notes.lines().filter(|line| !line.starts_with("  witness")).collect();
        let cause = format!("  cause     that of {of} (--full shows the schedule)");
        format!("{headline}\n{cause}\n{}\n", notes.join("\n"))
    }
}

/// Returns the last line of the report.
fn summary(suite: &Suite, findings: &[&Finding], counted: usize) -> String {
    let processes = match suite.tests.len() {
        1 => "1 process recorded".to_owned(),
        n => format!("{n} processes recorded"),
    };
    let processes = match suite.single_threaded {
        0 => processes,
        1 => format!("{processes}, 1 more test has one thread"),
        n => format!("{processes}, {n} more tests have one thread"),
    };
    if findings.is_empty() {
        return format!("{processes}; nothing was predicted");
    }
    let with = |confirmation| findings.iter().filter(|f| f.confirmation == confirmation).count();
    let bugs = if findings.len() == 1 { "1 bug" } else { &format!("{} bugs", findings.len()) };
    format!(
        "{processes}; {bugs}: {} confirmed, {} unconfirmed, {} not replayed; {counted} counted",
        with(Confirmation::Confirmed),
        with(Confirmation::Unconfirmed),
        with(Confirmation::NotReplayed),
    )
}

/// Returns the tests with the bugs that they show.
fn cases(suite: &Suite, shown: &[&Shown]) -> Vec<Case> {
    let mut cases = Vec::new();
    for (t, test) in suite.tests.iter().enumerate() {
        let failures = shown.iter().filter(|s| s.bug.shown_by.iter().any(|&(of, _)| of == t));
        let failures = failures.map(|shown| CaseFailure {
            kind: shown.finding.kind.to_string(),
            message: shown
                .text
                .lines()
                .take_while(|line| !line.is_empty())
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(" "),
            text: shown.text.clone(),
        });
        cases.push(Case { name: test.name.clone(), failures: failures.collect() });
    }
    cases
}

/// Does `work`, and shows the progress after the runner has ended on standard error, if that is a
/// terminal: until then the terminal is the runner's.
fn shown_while<T>(work: impl FnOnce(&SuiteProgress) -> T) -> T {
    let progress = SuiteProgress::default();
    if !io::stderr().is_terminal() {
        return work(&progress);
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let printer = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                thread::park_timeout(Duration::from_millis(200));
                if progress.runner_ended.load(Ordering::Relaxed) {
                    let _ = write!(io::stderr(), "\r\x1b[K{}", line(&progress));
                }
            }
            let _ = write!(io::stderr(), "\r\x1b[K");
        });
        let result = work(&progress);
        done.store(true, Ordering::Relaxed);
        printer.thread().unpark();
        result
    })
}

/// Returns the progress as a bar.
fn line(progress: &SuiteProgress) -> String {
    const WIDTH: usize = 24;
    let load = |counter: &std::sync::atomic::AtomicUsize| counter.load(Ordering::Relaxed);
    let (analysed, recorded) = (load(&progress.analysed), load(&progress.recorded));
    let (replayed, bugs) = (load(&progress.replayed), load(&progress.bugs));
    let (done, all) = if bugs > 0 { (replayed, bugs) } else { (analysed, recorded) };
    let filled = WIDTH * done.min(all) / all.max(1);
    let bar = format!("[{}{}]", "#".repeat(filled), " ".repeat(WIDTH - filled));
    match bugs {
        0 => format!(
            "{bar} {analysed} of {recorded} processes analysed, {} findings",
            load(&progress.findings)
        ),
        _ => format!("{bar} {replayed} of {bugs} bugs replayed"),
    }
}
