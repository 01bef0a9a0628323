//! `foretell check`: build, record, predict, replay and report in one go.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use foretell_limit::{Reason, shielded, within};
use foretell_report::cause::ShownCauses;
use foretell_report::json::{Confirmation, Finding, Findings};
use foretell_report::kept_by_order::KeptByOrder;
use foretell_report::observed;
use foretell_report::text::{self, Printer};
use foretell_session::{
    CheckOptions, CheckedRun, DriverOptions, ExploreOptions, Launch, Observer, PredictOptions,
    Program, ProgramKind, Recorded, Verdict, check, save_trace,
};
use foretell_trace::{FindingKind, Model, Trace};

use crate::explored;
use crate::failure::{Failure, Status};
use crate::limits::{Budget, message, seconds};
use crate::output::{self, Destination};
use crate::progress;
use crate::recording::{JavaOptions, RecordOptions, quoted, summary};
use crate::reporting::{Format, ReportOptions, Reporting};
use crate::terminal::{Terminal, complain};

/// Build a program, record runs, predict, and replay the findings
///
/// Every finding is replayed on the real program, and confirmed if the replay reaches it. Findings
/// that are not confirmed are shown last, and do not count for the exit status without
/// --unconfirmed. A nondeterministic read is shown, and counts, only if its replay goes wrong
/// (crash, failed assertion, deadlock, different exit status), or with --fail-on nondeterminism;
/// --analyses nondeterminism only shows it.
///
/// After the first run the program is driven along schedules that show its threads something else,
/// as `foretell explore` does, within --runs and --time.
#[derive(clap::Args, Debug)]
pub(crate) struct Check {
    /// C or C++ sources, objects and libraries; Java sources; or a jar
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,

    #[command(flatten)]
    budget: RunBudget,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,

    #[command(flatten)]
    build: SourceOptions,

    #[command(flatten)]
    common: CheckArguments,
}

impl Check {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let Check { sources, budget, arguments, build, common } = self;
        let explore = budget.explore();
        let job = CheckJob {
            sources,
            build,
            arguments,
            environment: None,
            explore_again: None,
            explore,
            in_depth: false,
            common,
        };
        job.run(terminal)
    }
}

/// How far a check explores.
#[derive(clap::Args, Debug)]
pub(crate) struct RunBudget {
    /// Most runs, the first one included; 1: no exploration
    #[arg(long, value_name = "N", default_value_t = 21,
          value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,

    /// Most time for runs after the first
    #[arg(long, value_name = "SECS", default_value = "10", value_parser = seconds)]
    time: Duration,
}

impl RunBudget {
    /// Returns the options of the exploration after the first run, if there is one.
    pub(crate) fn explore(&self) -> Option<ExploreOptions> {
        (self.runs > 1).then_some(ExploreOptions {
            runs: Some(self.runs as usize),
            time: Some(self.time),
            first: false,
            loop_bound: LOOP_BOUND,
            in_depth: false,
            jobs: 1,
            state: None,
            pool: None,
        })
    }
}

/// Options of building a program from its sources.
#[derive(clap::Args, Default, Debug)]
pub(crate) struct SourceOptions {
    /// Compiler: gcc, clang, clang-19, or a path
    ///
    /// The default is gcc, and with --symbolic a clang of version 16 or newer.
    #[arg(long, value_name = "NAME")]
    compiler: Option<String>,

    /// Option for the compiler or javac; repeatable: --cflag=-O1
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    cflag: Vec<OsString>,

    /// File with lock functions of libraries that are not recorded; repeatable
    ///
    /// docs/recording.md describes it. `foretell cc` takes it as --foretell-locks=FILE.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    locks: Vec<PathBuf>,

    #[command(flatten)]
    java: JavaOptions,
}

/// Other observations of one place by one thread that are followed in a run if nothing is said.
pub(crate) const LOOP_BOUND: u32 = 100;

/// Options of the commands that check a program in one go.
#[derive(clap::Args, Debug)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    options: RecordOptions,

    /// Number of free runs to record, each with the next seed
    #[arg(long, value_name = "N", default_value_t = 1, hide_short_help = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,

    /// Kinds of findings to look for [default: all]
    ///
    /// race, atomicity, serializability, transactions, nondeterminism, deadlock,
    /// hang, lifetime
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

    #[command(flatten)]
    budget: Budget,

    /// Tell which findings only the order of code that is not recorded makes impossible
    ///
    /// They are listed in a section of their own, with the uses of hidden state whose order forbids
    /// them. They are no findings, and do not count for the exit status.
    #[arg(long, hide_short_help = true)]
    explain_order: bool,

    /// Standard input of the program [default: empty]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    /// Directory for the program and a trace of each outcome, for `foretell replay`
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub(crate) save: Option<PathBuf>,

    /// Save the trace of the first run
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Write the findings of the first run as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    report: ReportOptions,
}

/// A check of a program: what to run, how to explore it, and how to report.
pub(crate) struct CheckJob {
    /// Sources of the program; none if the arguments are a whole command.
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) build: SourceOptions,
    pub(crate) arguments: Vec<OsString>,
    /// Environment of the program; none: that of this process.
    pub(crate) environment: Option<Vec<(OsString, OsString)>>,
    /// The command that explores the program further, if it is not one of `foretell`.
    pub(crate) explore_again: Option<String>,
    pub(crate) explore: Option<ExploreOptions>,
    /// Whether the exploration is what was asked for.
    pub(crate) in_depth: bool,
    pub(crate) common: CheckArguments,
}

/// Number of findings that were shown, by their confirmation.
#[derive(Default)]
struct Tally {
    /// Runs that failed by themselves.
    failed: usize,
    confirmed: usize,
    unconfirmed: usize,
    not_replayed: usize,
    /// Findings that count for the exit status.
    counted: usize,
    /// The first finding of the first run that a replay can repeat.
    first: Option<String>,
}

impl Tally {
    fn add(&mut self, finding: &Finding, counts: bool) {
        self.counted += usize::from(counts);
        if observed::is_observed(finding) {
            self.failed += 1;
            return;
        }
        *match finding.confirmation {
            Confirmation::Confirmed => &mut self.confirmed,
            Confirmation::Unconfirmed => &mut self.unconfirmed,
            Confirmation::NotReplayed => &mut self.not_replayed,
        } += 1;
    }

    /// Returns the last line of the report.
    fn line(&self, complete: bool) -> String {
        let all = self.confirmed + self.unconfirmed + self.not_replayed;
        let failed = match self.failed {
            0 if all == 0 && complete => return "nothing was predicted".to_owned(),
            0 if all == 0 => {
                return "nothing was predicted so far: the analysis was cut short".to_owned();
            }
            0 => "",
            1 if all == 0 => {
                return "the recorded run failed; nothing else was predicted".to_owned();
            }
            1 => "the recorded run failed; ",
            _ if all == 0 => return "recorded runs failed; nothing else was predicted".to_owned(),
            _ => "recorded runs failed; ",
        };
        let findings = if self.confirmed == 1 { "finding" } else { "findings" };
        let mut line = format!("{failed}{} {findings} confirmed", self.confirmed);
        if self.unconfirmed > 0 {
            let counted = self.counted == all + self.failed;
            let counted = if counted { "counted" } else { "not counted" };
            line += &format!(", {} unconfirmed ({counted})", self.unconfirmed);
        }
        if self.not_replayed > 0 {
            line += &format!(", {} not replayed (see --replays)", self.not_replayed);
        }
        line
    }
}

impl CheckJob {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        if !self.build.locks.is_empty()
            && matches!(self.program().kind(), ProgramKind::Java | ProgramKind::Jar)
        {
            return Err(Failure::Input("--locks is for C and C++ programs".to_owned()));
        }
        if let Some(directory) = &self.common.save {
            let failed = |e| Failure::Input(format!("foretell: {}: {e}", directory.display()));
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let limit = self.common.budget.start();
        let mut report = self.common.report.start(Format::Text, &self.sources)?;
        let (mut tally, mut first, mut later) = (Tally::default(), None, Vec::new());
        let (mut cut_short, mut incomplete) = (None, false);
        let options = self.options()?;
        progress::status("building");
        let mut number = 0;
        let mut check = match within(&limit, || check(options, &mut Build)) {
            Ok(check) => check?,
            Err(reason) => {
                writeln!(terminal, "{}", tally.line(false))?;
                complain(message(reason));
                return Ok(Status::CutShort);
            }
        };
        loop {
            cut_short = cut_short.or_else(|| limit.reached());
            if cut_short.is_some() {
                break;
            }
            number += 1;
            if number <= self.common.seeds {
                progress::status(&format!("recording{}", self.run_name(number)));
            }
            let mut show = Show {
                check: &self,
                number,
                terminal,
                report: &mut report,
                marked: BTreeSet::new(),
                written: Ok(()),
            };
            let run = match within(&limit, || check.next_run(&mut show)) {
                Ok(run) => run,
                Err(reason) => {
                    cut_short = Some(reason);
                    break;
                }
            };
            let Show { marked, written, .. } = show;
            progress::clear();
            written?;
            let Some(mut run) = run? else { break };
            incomplete |= run.number == 1 && !run.findings.is_complete();
            shielded(|| {
                let mut findings = run.findings.findings.iter_mut();
                while let Some(finding) = findings.find(|f| !marked.contains(&f.id)) {
                    report.mark(std::slice::from_mut(finding), Some(&run.trace));
                }
                self.report_run(terminal, &mut run, &mut report, &mut tally)
            })?;
            shielded(|| self.save_new(&run))?;
            if first.is_none() {
                shielded(|| self.save_trace(&run))?;
                first = Some(run.findings);
            } else {
                let shown = run.shown.iter().map(|&i| &run.findings.findings[i]);
                later.extend(shown.map(|f| explored::finding_of_run(f, run.number)));
            }
            terminal.flush()?;
        }
        report.finish(terminal)?;
        if let Some(finding) = &tally.first {
            self.say_how_to_replay(terminal, finding)?;
        }
        let cut_short = cut_short.or(check.is_interrupted().then_some(Reason::Interrupt));
        progress::clear();
        let explored = shielded(|| check.explored());
        if let Some(explored) = &explored {
            explored::write(terminal, explored, self.in_depth, &self.again())?;
        }
        if let Some(mut findings) = first {
            if let Some(explored) = &explored {
                let exploration = explored::to_json(explored, later);
                findings.extra.insert("exploration".to_owned(), exploration);
            }
            self.write_json(terminal, &findings)?;
        }
        let out_of_budget = self.in_depth
            && explored.is_some_and(|e| e.exploration.stopped.is_some() && !self.stops_at_first());
        writeln!(terminal, "{}", tally.line(cut_short.is_none() && !incomplete))?;
        if let Some(reason) = cut_short {
            complain(message(reason));
        }
        Ok(match tally.counted {
            0 if incomplete || out_of_budget || cut_short.is_some() => Status::CutShort,
            0 => Status::Clean,
            _ => Status::Found,
        })
    }

    fn program(&self) -> Program {
        let locks = self.build.locks.iter().map(|file| {
            let mut option = OsString::from("--foretell-locks=");
            option.push(file);
            option
        });
        Program {
            sources: self.sources.clone(),
            compiler: self.build.compiler.clone(),
            flags: self.build.cflag.iter().cloned().chain(locks).collect(),
            symbolic: self.common.options.symbolic,
        }
    }

    fn options(&self) -> Result<CheckOptions<'static>, Failure> {
        let mut driver = DriverOptions {
            timeout: Some(Duration::from_secs(self.common.timeout)),
            ..DriverOptions::default()
        };
        if !self.common.analyses.is_empty() {
            driver.analyses = self.common.analyses.iter().copied().collect();
        }
        let launch = self.common.options.launch(self.arguments.clone(), &self.build.java);
        Ok(CheckOptions {
            launch: Launch {
                input: self.common.stdin.clone(),
                environment: self.environment.clone(),
                ..launch
            },
            blocks: self.common.options.blocks()?,
            seeds: self.common.seeds,
            explore: self.explore.clone(),
            keep: self.common.save.clone().filter(|_| !self.sources.is_empty()),
            limit: Duration::from_secs(self.common.limit),
            predict: PredictOptions {
                driver,
                explain_order: self.common.explain_order,
                ..PredictOptions::default()
            },
            replays: self.common.replays,
            nondeterminism: self.wants_nondeterminism(),
            trace_path: self.trace_path(),
            ..CheckOptions::new(self.program())
        })
    }

    fn wants_nondeterminism(&self) -> bool {
        self.common.analyses.contains(&FindingKind::Nondeterminism)
            || self.common.report.counting.nondeterminism()
    }

    fn trace_path(&self) -> PathBuf {
        self.common.output.clone().unwrap_or_else(|| PathBuf::from("foretell.ft"))
    }

    /// Reports the findings of a run that are worth showing, and counts those that are neither
    /// suppressed nor known.
    fn report_run(
        &self,
        terminal: &mut Terminal,
        run: &mut CheckedRun,
        report: &mut Reporting,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let CheckedRun { number, trace, findings: file, shown, .. } = run;
        let all = shown.len();
        // A finding that is not worth showing is no alert in code scanning either; the findings
        // file has it.
        let mut worth = file.clone();
        worth.findings = shown.iter().map(|&i| file.findings[i].clone()).collect();
        report.collect(&worth, Some(trace));
        shown.retain(|&i| report.wants(&file.findings[i]));
        self.show(terminal, report, (file, trace), shown)?;
        for finding in shown.iter().map(|&i| &file.findings[i]).filter(|f| f.is_shown()) {
            tally.add(finding, self.common.report.counts(finding));
            if *number == 1 && tally.first.is_none() && !observed::is_observed(finding) {
                tally.first = finding.cause.clone().or_else(|| Some(finding.id.clone()));
            }
        }
        if !self.run_name(*number).is_empty() {
            let new = match all {
                0 => "nothing new".to_owned(),
                1 => "1 new finding".to_owned(),
                n => format!("{n} new findings"),
            };
            let seed = trace.meta().get("seed").map_or("?", String::as_str);
            writeln!(terminal, "seed {seed}: {new}\n")?;
        }
        Ok(())
    }

    /// Returns the name of a free run, if there are several.
    fn run_name(&self, number: u64) -> String {
        let seeds = self.common.seeds;
        if seeds == 1 || number > seeds {
            return String::new();
        }
        let seed = self.common.options.seed.wrapping_add(number - 1);
        format!(" run {number} of {seeds}, seed {seed}")
    }

    /// Saves the trace of the first run where the options ask for that.
    fn save_trace(&self, run: &CheckedRun) -> Result<(), Failure> {
        match &self.common.output {
            Some(path) if path.as_os_str() == "-" => output::save(&*run.trace, path)?,
            Some(path) => save_trace(&*run.trace, &run.steps, path)?,
            None => {}
        }
        Ok(())
    }

    fn write_json(&self, terminal: &mut Terminal, findings: &Findings) -> Result<(), Failure> {
        if let Some(json) = &self.common.json {
            Destination::new(Some(json.clone()))
                .write(terminal, |mut out| findings.write(&mut out))?;
        }
        Ok(())
    }

    /// Saves the trace of a run that ended in a way that no earlier run had.
    fn save_new(&self, run: &CheckedRun) -> Result<(), Failure> {
        let Some(directory) = &self.common.save else { return Ok(()) };
        let failed = |&i: &usize| observed::is_observed(&run.findings.findings[i]);
        if !run.has_new_outcome && !run.shown.iter().any(failed) {
            return Ok(());
        }
        let path = directory.join(format!("run-{}.ft", run.number));
        save_trace(&*run.trace, &run.steps, &path)?;
        Ok(())
    }

    fn stops_at_first(&self) -> bool {
        self.explore.as_ref().is_some_and(|explore| explore.first)
    }

    /// Returns the command that explores the program further.
    fn again(&self) -> String {
        if let Some(command) = &self.explore_again {
            return command.clone();
        }
        let mut command = "foretell explore".to_owned();
        command += &words(&self.sources);
        if !self.arguments.is_empty() {
            command += " --";
            command += &words(&self.arguments);
        }
        command
    }

    /// Says once how to replay a finding without `check`: commands that do the same as this one.
    fn say_how_to_replay(&self, terminal: &mut Terminal, finding: &str) -> Result<(), Failure> {
        if self.sources.is_empty() {
            return Ok(());
        }
        let Some((build, run)) = self.by_hand() else { return Ok(()) };
        let gdb = match self.program().kind() {
            ProgramKind::C | ProgramKind::Cpp => "; with --gdb it stops in gdb right before it",
            ProgramKind::Java | ProgramKind::Jar => "",
        };
        let CheckArguments { options, stdin, .. } = &self.common;
        let run = format!("{run}{}", words(&self.arguments));
        let input = stdin.as_ref().map(|path| quoted(path.as_os_str()));
        let (from, stdin) = match &input {
            Some(path) => (format!(" <{path}"), format!(" --stdin {path}")),
            None => (String::new(), String::new()),
        };
        writeln!(terminal, "to repeat {finding} by itself (without a name: all){gdb}:")?;
        if let Some(build) = build {
            writeln!(terminal, "  {build}")?;
        }
        writeln!(
            terminal,
            "  foretell record{}{} -o run.ft -- {run}{from}\n  \
             foretell predict run.ft --json run.json\n  \
             foretell replay run.ft {finding}{stdin} -- {run}",
            options.words(),
            self.build.java.words(),
        )?;
        Ok(())
    }

    /// Returns the command that builds the program in the working directory, if one is needed, and
    /// the one that runs it.
    fn by_hand(&self) -> Option<(Option<String>, String)> {
        let program = self.program();
        let compiler = match program.kind() {
            ProgramKind::C => "cc",
            ProgramKind::Cpp => "c++",
            ProgramKind::Java | ProgramKind::Jar => {
                let commands = program.java_commands(Path::new("")).ok()?;
                return Some((commands.compile.map(command_line), command_line(commands.run)));
            }
        };
        let symbolic = if program.symbolic { " --symbolic" } else { "" };
        let chosen = program.compiler.iter().map(|name| format!("--foretell-compiler={name}"));
        let build = format!(
            "foretell {compiler}{symbolic}{} -O0 -g -pthread{}{} -lm -o program",
            words(chosen),
            words(&program.flags),
            words(&program.sources),
        );
        Some((Some(build), "./program".to_owned()))
    }

    fn show(
        &self,
        terminal: &mut Terminal,
        report: &Reporting,
        (file, trace): (&Findings, &Trace),
        shown: &[usize],
    ) -> Result<(), Failure> {
        let look = self.common.report.look(terminal);
        let printer = Printer::new(trace, file.trace.model, report.sources(), look);
        let mut shown: Vec<&Finding> = shown.iter().map(|&i| &file.findings[i]).collect();
        text::by_confirmation(&mut shown);
        text::by_cause(&mut shown);
        let mut causes = ShownCauses::default();
        for (i, finding) in shown.iter().enumerate() {
            text::write_section(terminal, &shown[..i], finding, &look)?;
            printer.finding_of(terminal, finding, &mut causes)?;
            writeln!(terminal)?;
        }
        text::table(terminal, &shown, &look)?;
        let mut kept = KeptByOrder::read(file);
        kept.retain(|k| k.kind != FindingKind::Nondeterminism || self.wants_nondeterminism());
        text::kept_by_order(terminal, &kept, &look)?;
        let is_read = |finding: &Finding| finding.kind == FindingKind::Nondeterminism;
        let hidden = file.findings.iter().filter(|f| is_read(f)).count()
            - shown.iter().filter(|f| is_read(f)).count()
            - file
                .findings
                .iter()
                .filter(|f| is_read(f) && observed::folded_into(f).is_some())
                .count();
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

/// Returns words as a shell reads them, each after a space.
fn words<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(|word| format!(" {}", quoted(word.as_ref()))).collect()
}

/// Returns a command as a shell reads it.
fn command_line(command: Vec<OsString>) -> String {
    words(command).trim_start().to_owned()
}

/// Messages of a build on standard error.
struct Build;

impl Observer for Build {
    fn warning(&mut self, message: &str) {
        complain(&format!("foretell: warning: {message}"));
    }
}

/// Shows what happens in a run as it comes.
struct Show<'a> {
    check: &'a CheckJob,
    /// Number of the run, from 1.
    number: u64,
    terminal: &'a mut Terminal,
    report: &'a mut Reporting,
    /// Findings whose marks are set.
    marked: BTreeSet<String>,
    /// Whether all could be written so far.
    written: io::Result<()>,
}

impl Observer for Show<'_> {
    fn warning(&mut self, message: &str) {
        Build.warning(message);
    }

    fn recorded(&mut self, recorded: &Recorded) {
        if recorded.run.timed_out {
            let limit = self.check.common.limit;
            complain(&format!("foretell: the recorded run was ended after {limit} seconds"));
        }
        if !recorded.others.is_empty() {
            complain(&format!(
                "foretell: {} more recorded processes are not checked; `foretell record` saves their \
                 traces",
                recorded.others.len()
            ));
        }
        for note in &recorded.notes {
            complain(&format!("foretell: {note}"));
        }
        progress::clear();
        let run = self.check.run_name(self.number);
        let run = if run.is_empty() { run } else { format!("{}: ", run.trim_start()) };
        self.written = writeln!(self.terminal, "{run}{}\n", summary(recorded))
            .and_then(|()| self.terminal.flush());
        progress::status("predicting");
    }

    fn replaying(&mut self, number: usize, of: usize, finding: &Finding) {
        progress::status(&format!("replaying {number} of {of}: {}", finding.id));
    }

    fn replayed(&mut self, _: &Finding, _: &Verdict) {
        progress::status("predicting");
    }

    fn explored(&mut self, runs: usize) {
        progress::status(&format!("exploring: {runs} runs"));
    }

    fn decided(&mut self, trace: &Trace, _: Model, finding: &mut Finding) {
        self.report.mark(std::slice::from_mut(finding), Some(trace));
        self.marked.insert(finding.id.clone());
    }
}
