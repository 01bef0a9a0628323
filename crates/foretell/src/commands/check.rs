//! `foretell check`: build, record, predict, replay and report in one go.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use foretell_report::json::{Finding, Findings};
use foretell_report::text::{self, Printer};
use foretell_session::{
    CheckOptions, CheckedRun, DriverOptions, Launch, Observer, PredictOptions, Program,
    ProgramKind, Recorded, check, save_trace,
};
use foretell_trace::{FindingKind, Trace};

use crate::failure::{Failure, Status};
use crate::output::{self, Destination};
use crate::progress;
use crate::recording::{RecordOptions, summary};
use crate::reporting::{Format, ReportOptions, Reporting};
use crate::terminal::{Terminal, complain};

/// Build a program, record a run, predict, and replay the findings
///
/// Every finding is replayed on the real program. A nondeterministic read is shown only if its
/// replay goes wrong (crash, failed assertion, deadlock, different exit status), or with
/// --analyses nondeterminism.
#[derive(clap::Args, Debug)]
pub(crate) struct Check {
    /// C or C++ sources, objects and libraries; Java sources; or a jar
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,

    #[command(flatten)]
    options: RecordOptions,

    /// Number of runs to record, each with the next seed
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,

    /// Compiler: gcc, clang, clang-19, or a path
    ///
    /// The default is gcc, and with --symbolic a clang of version 16 or newer.
    #[arg(long, value_name = "NAME")]
    compiler: Option<String>,

    /// Option for the compiler (gcc, clang, javac); repeatable: --cflag=-O1
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    cflag: Vec<OsString>,

    /// Kinds of findings to look for [default: all]
    ///
    /// race, atomicity, serializability, transactions, nondeterminism, deadlock
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    analyses: Vec<FindingKind>,

    /// Most findings of a run to replay
    #[arg(long, value_name = "N", default_value_t = 100, hide_short_help = true)]
    replays: usize,

    /// Time limit of a run; a longer one counts as hanging
    #[arg(long, value_name = "SECS", default_value_t = 20)]
    limit: u64,

    /// Time limit of a query; a longer one counts as undecided
    #[arg(long, value_name = "SECS", default_value_t = 60, hide_short_help = true)]
    timeout: u64,

    /// Standard input of the program [default: empty]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    /// Save the trace of the first run
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Write the findings of the first run as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,

    #[command(flatten)]
    report: ReportOptions,
}

impl Check {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let mut messages = Messages { limit: self.limit, summary: None };
        let mut check = check(self.options()?, &mut messages)?;
        let mut report = self.report.start(Format::Text, &self.sources)?;
        let mut shown = 0;
        let mut first = true;
        loop {
            let run = check.next_run(&mut messages);
            if let Some(summary) = messages.summary.take() {
                writeln!(terminal, "{summary}\n")?;
            }
            let Some(mut run) = run? else { break };
            shown += self.report_run(terminal, &mut run, &mut report)?;
            if std::mem::take(&mut first) {
                self.save(terminal, &run)?;
            }
        }
        report.finish(terminal)?;
        if shown == 0 {
            writeln!(terminal, "nothing was predicted")?;
        } else {
            self.say_how_to_replay(terminal)?;
        }
        Ok(if shown == 0 { Status::Clean } else { Status::Found })
    }

    fn program(&self) -> Program {
        Program {
            sources: self.sources.clone(),
            compiler: self.compiler.clone(),
            flags: self.cflag.clone(),
            symbolic: self.options.symbolic,
        }
    }

    fn options(&self) -> Result<CheckOptions<'static>, Failure> {
        let mut driver = DriverOptions {
            timeout: Some(Duration::from_secs(self.timeout)),
            stop: Some(progress::stop_on_interrupt()),
            ..DriverOptions::default()
        };
        if !self.analyses.is_empty() {
            driver.analyses = self.analyses.iter().copied().collect();
        }
        let launch = self.options.launch(self.arguments.clone());
        Ok(CheckOptions {
            launch: Launch { input: self.stdin.clone(), ..launch },
            blocks: self.options.blocks()?,
            runs: self.runs,
            limit: Duration::from_secs(self.limit),
            predict: PredictOptions { driver, ..PredictOptions::default() },
            replays: self.replays,
            nondeterminism: self.analyses.contains(&FindingKind::Nondeterminism),
            trace_path: self.trace_path(),
            ..CheckOptions::new(self.program())
        })
    }

    fn trace_path(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| PathBuf::from("foretell.ft"))
    }

    /// Reports the findings of a run that are worth showing. Returns the number of those that are
    /// neither suppressed nor known.
    fn report_run(
        &self,
        terminal: &mut Terminal,
        run: &mut CheckedRun,
        report: &mut Reporting,
    ) -> Result<usize, Failure> {
        let CheckedRun { trace, findings: file, shown, .. } = run;
        report.mark(file, Some(trace));
        // A finding that is not worth showing is no alert in code scanning either; the findings
        // file has it.
        let mut worth = file.clone();
        worth.findings = shown.iter().map(|&i| file.findings[i].clone()).collect();
        report.collect(&worth, Some(trace));
        shown.retain(|&i| report.wants(&file.findings[i]));
        self.show(terminal, report, file, trace, shown)?;
        Ok(shown.iter().filter(|&&i| file.findings[i].is_shown()).count())
    }

    /// Saves the trace and the findings of a run where the options ask for that.
    fn save(&self, terminal: &mut Terminal, run: &CheckedRun) -> Result<(), Failure> {
        match &self.output {
            Some(path) if path.as_os_str() == "-" => output::save(&run.trace, path)?,
            Some(path) => save_trace(&run.trace, &run.steps, path)?,
            None => {}
        }
        if let Some(json) = &self.json {
            Destination::new(Some(json.clone()))
                .write(terminal, |mut out| run.findings.write(&mut out))?;
        }
        Ok(())
    }

    /// Says once how to replay a finding without `check`.
    fn say_how_to_replay(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let compiler = match self.program().kind() {
            ProgramKind::C => "cc",
            ProgramKind::Cpp => "c++",
            ProgramKind::Java | ProgramKind::Jar => return Ok(()),
        };
        let symbolic = if self.options.symbolic { " --symbolic" } else { "" };
        let sources: Vec<String> = self.sources.iter().map(|s| s.display().to_string()).collect();
        writeln!(
            terminal,
            "to replay one by itself, or under gdb:\n  foretell {compiler}{symbolic} -g -pthread -o program {}\n  \
             foretell record{symbolic} -o run.ft -- ./program\n  foretell predict run.ft --json run.json\n  \
             foretell replay run.ft ID [--gdb] -- ./program",
            sources.join(" ")
        )?;
        Ok(())
    }

    fn show(
        &self,
        terminal: &mut Terminal,
        report: &Reporting,
        file: &Findings,
        trace: &Trace,
        shown: &[usize],
    ) -> Result<(), Failure> {
        let look = self.report.look(terminal);
        let printer = Printer::new(trace, file.trace.model, report.sources(), look);
        let shown: Vec<&Finding> = shown.iter().map(|&i| &file.findings[i]).collect();
        for finding in &shown {
            printer.finding(terminal, finding)?;
            if finding.replay.is_none() {
                writeln!(terminal, "  not replayed (see --replays)")?;
            }
            writeln!(terminal)?;
        }
        text::table(terminal, &shown, &look)?;
        let is_read = |finding: &Finding| finding.kind == FindingKind::Nondeterminism;
        let hidden = file.findings.iter().filter(|f| is_read(f)).count()
            - shown.iter().filter(|f| is_read(f)).count();
        if hidden > 0 {
            let reads = match hidden {
                1 => "1 read or final value depends".to_owned(),
                n => format!("{n} reads or final values depend"),
            };
            writeln!(
                terminal,
                "{reads} on the schedule; no replay went wrong (--analyses nondeterminism shows them)\n"
            )?;
        }
        Ok(())
    }
}

/// Messages of a check on standard error.
struct Messages {
    /// Time limit of a run in seconds.
    limit: u64,
    /// Line about the last recorded run, for standard output.
    summary: Option<String>,
}

impl Observer for Messages {
    fn warning(&mut self, message: &str) {
        complain(&format!("foretell: warning: {message}"));
    }

    fn recorded(&mut self, recorded: &Recorded) {
        if recorded.run.timed_out {
            let limit = self.limit;
            complain(&format!("foretell: the recorded run was ended after {limit} seconds"));
        }
        for note in &recorded.notes {
            complain(&format!("foretell: {note}"));
        }
        self.summary = Some(summary(recorded));
    }
}
