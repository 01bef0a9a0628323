//! `foretell check`: build, record, predict, replay, report, in one go.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use foretell_predict::driver::{self, Options};
use foretell_report::json::{Finding, Findings};
use foretell_report::text::{self, Shower};
use foretell_session::{
    Error, Language, Launch, Recorded, Reference, Replay, Steps, Verdict, compile, record,
};
use foretell_trace::{FindingKind, Model, Trace};

use super::java;
use super::predict::{defective, document};
use super::replay::replay_value;
use crate::failure::{Failure, Status};
use crate::output::{self, Destination};
use crate::progress;
use crate::recording::{RecordOptions, summary};
use crate::reporting::{Format, ReportOptions, Reporting};
use crate::terminal::{Terminal, complain};
use crate::witnesses::Witnesses;

/// The header with the markers, for programs that include it.
const HEADER: &str = include_str!("../../../../include/foretell.h");

/// Build a program, record a run, predict what else can happen, and make it happen
///
/// Every finding is replayed on the real program. A read that depends on the schedule is shown only if its
/// replay goes wrong (crash, failed assertion, deadlock, another exit status), or with
/// --analyses nondeterminism.
#[derive(clap::Args, Debug)]
pub(crate) struct Check {
    /// C or C++ sources, objects and libraries of the program; Java sources; or a jar
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,

    #[command(flatten)]
    options: RecordOptions,

    /// The compiler to instrument with: gcc, clang, clang-19, or the path of one of these
    /// [default: gcc; with --symbolic a clang of version 16 or newer]
    #[arg(long, value_name = "NAME")]
    compiler: Option<String>,

    /// A further option for the compiler, gcc, clang or javac; may be repeated: --cflag=-O1
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    cflag: Vec<OsString>,

    /// Record so many runs, each with the next seed
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,

    /// What to look for [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    analyses: Vec<FindingKind>,

    /// Replay so many findings of a run at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    replays: usize,

    /// A run that takes longer than this has not ended
    #[arg(long, value_name = "SECS", default_value_t = 20)]
    limit: u64,

    /// Give up on a query after this many seconds; it then counts as undecided
    #[arg(long, value_name = "SECS", default_value_t = 60)]
    timeout: u64,

    /// The program's standard input [default: empty]
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,

    /// Keep the trace of the first run here
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Also write the findings of the first run to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    report: ReportOptions,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    arguments: Vec<OsString>,
}

impl Check {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        let directory = tempfile::Builder::new()
            .prefix("foretell-check-")
            .tempdir()
            .map_err(Failure::file(std::env::temp_dir()))?;
        let program = match java::of(&self.sources) {
            Some(_) if self.options.symbolic => {
                let message = "foretell: --symbolic is for C programs; Java is recorded without it";
                return Err(Failure::Input(message.to_owned()));
            }
            Some(kind) => java::command(kind, &self.sources, &self.cflag, directory.path())?,
            None => vec![self.build(directory.path())?.into_os_string()],
        };
        let mut report = self.report.start(Format::Text, &self.sources)?;
        let mut seen = BTreeSet::new();
        let mut shown = 0;
        for run in 0..self.runs {
            let mut command = program.clone();
            command.extend(self.arguments.iter().cloned());
            let launch = Launch {
                seed: self.options.seed.wrapping_add(run),
                directory: directory.path().to_path_buf(),
                quiet: true,
                input: self.stdin.clone(),
                limit: Some(Duration::from_secs(self.limit)),
                ..self.options.launch(command)
            };
            shown += self.one_run(terminal, &launch, run == 0, &mut seen, &mut report)?;
        }
        report.finish(terminal)?;
        if shown == 0 {
            writeln!(terminal, "nothing was predicted")?;
        } else {
            self.say_how_to_replay(terminal)?;
        }
        Ok(if shown == 0 { Status::Clean } else { Status::Found })
    }

    /// Builds the program, unoptimised unless the user says otherwise.
    fn build(&self, directory: &Path) -> Result<PathBuf, Failure> {
        let header = directory.join("foretell.h");
        std::fs::write(&header, HEADER).map_err(Failure::file(&header))?;
        for source in &self.sources {
            std::fs::metadata(source).map_err(Failure::file(source))?;
        }
        let cpp = self.sources.iter().any(|source| is_cpp(source));
        let language = if cpp { Language::Cpp } else { Language::C };
        let program = directory.join("program");
        let mut arguments: Vec<OsString> = Vec::new();
        if self.options.symbolic {
            arguments.push("--symbolic".into());
        }
        let default = (!self.options.symbolic).then_some("gcc");
        if let Some(name) = self.compiler.as_deref().or(default) {
            arguments.push(format!("--foretell-compiler={name}").into());
        }
        arguments.extend(["-O0", "-g", "-pthread", "-I"].map(OsString::from));
        arguments.push(directory.into());
        arguments.extend(self.cflag.iter().cloned());
        arguments.extend(self.sources.iter().map(|s| s.clone().into_os_string()));
        arguments.extend(["-lm".into(), "-o".into(), program.clone().into()]);
        let warn = |message: &str| complain(&format!("foretell: warning: {message}"));
        let status = compile(language, &arguments, warn).map_err(Error::from)?;
        if !status.success() {
            let first = self.sources.first().map(|s| s.display().to_string());
            let name = first.unwrap_or_default();
            return Err(Failure::Input(format!("{name}: the compiler refused it, see above")));
        }
        Ok(program)
    }

    /// Records one run and reports what comes of it. How many findings were shown.
    fn one_run(
        &self,
        terminal: &mut Terminal,
        launch: &Launch,
        first: bool,
        seen: &mut BTreeSet<(FindingKind, Vec<Option<String>>)>,
        report: &mut Reporting,
    ) -> Result<usize, Failure> {
        let recorded = record(launch, &self.options.blocks()?)?;
        if recorded.run.timed_out {
            let limit = self.limit;
            complain(&format!("foretell: the recorded run was ended after {limit} seconds"));
        }
        for note in &recorded.notes {
            complain(&format!("foretell: {note}"));
        }
        writeln!(terminal, "{}\n", summary(&recorded))?;
        let trace = &*recorded.translated.trace.whole();
        let path = self.output.clone().unwrap_or_else(|| PathBuf::from("foretell.ft"));
        let mut file = self.predict(&path, trace)?;
        let mut shown = self.replay_all(&mut file, trace, launch, &recorded, seen)?;
        report.mark(&mut file, Some(trace));
        // What is not worth showing is no alert in code scanning either; the findings file has it.
        let mut worth = file.clone();
        worth.findings = shown.iter().map(|(i, _)| file.findings[*i].clone()).collect();
        report.collect(&worth, Some(trace));
        shown.retain(|(i, _)| report.wants(&file.findings[*i]));
        self.show(terminal, report, &file, trace, &shown)?;
        if first {
            if self.output.is_some() {
                output::save(trace, &path)?;
                recorded.translated.steps.save(&Steps::path_for(&path)).map_err(Error::from)?;
            }
            if let Some(json) = &self.json {
                Destination::new(Some(json.clone()))
                    .write(terminal, |mut out| file.write(&mut out))?;
            }
        }
        Ok(shown.iter().filter(|(i, _)| file.findings[*i].is_shown()).count())
    }

    /// How to replay without `check`, once for all findings.
    fn say_how_to_replay(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        if java::of(&self.sources).is_some() {
            return Ok(());
        }
        let compiler = if self.sources.iter().any(|s| is_cpp(s)) { "c++" } else { "cc" };
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

    fn predict(&self, path: &Path, trace: &Trace) -> Result<Findings, Failure> {
        let model = Model::auto(trace);
        let mut options = Options {
            timeout: Some(Duration::from_secs(self.timeout)),
            stop: Some(progress::stop_on_interrupt()),
            ..Options::default()
        };
        if !self.analyses.is_empty() {
            options.analyses = self.analyses.iter().copied().collect();
        }
        let prediction =
            driver::predict(trace, model, &options).map_err(|defects| defective(path, &defects))?;
        Ok(document(path, trace, model, &prediction, None, false))
    }

    /// Replays the findings that are new. Those worth showing, with what happened.
    fn replay_all(
        &self,
        file: &mut Findings,
        trace: &Trace,
        launch: &Launch,
        recorded: &Recorded,
        seen: &mut BTreeSet<(FindingKind, Vec<Option<String>>)>,
    ) -> Result<Vec<(usize, Option<Verdict>)>, Failure> {
        let reference = Reference::of(&recorded.run, Some(recorded.run.stdout()));
        let limit = Duration::from_secs(self.limit);
        let steps = &recorded.translated.steps;
        let replay = Replay { launch, steps, reference: &reference, limit };
        let mut shown = Vec::new();
        let mut left = self.replays;
        let model = file.trace.model;
        for (i, finding) in file.findings.iter_mut().enumerate() {
            if !seen.insert((finding.kind, finding.locations.clone())) {
                continue;
            }
            let mut verdict = None;
            if left > 0 {
                left -= 1;
                let witnesses = Witnesses { trace, model, finding };
                let worst =
                    replay.run(&witnesses.found(), || witnesses.nearest()).map_err(Error::from)?;
                finding.replay = Some(replay_value(&worst, 1, 1));
                verdict = Some(worst);
            }
            if self.worth_showing(finding, verdict.as_ref()) {
                shown.push((i, verdict));
            }
        }
        Ok(shown)
    }

    /// A read that depends on the schedule is how correct programs are, as long as nothing comes of it.
    fn worth_showing(&self, finding: &Finding, verdict: Option<&Verdict>) -> bool {
        finding.kind != FindingKind::Nondeterminism
            || self.analyses.contains(&FindingKind::Nondeterminism)
            || verdict.is_some_and(Verdict::is_failure)
    }

    fn show(
        &self,
        terminal: &mut Terminal,
        report: &Reporting,
        file: &Findings,
        trace: &Trace,
        shown: &[(usize, Option<Verdict>)],
    ) -> Result<(), Failure> {
        let look = self.report.look(terminal);
        let shower = Shower::new(trace, file.trace.model, report.sources(), look);
        for (i, verdict) in shown {
            shower.finding(terminal, &file.findings[*i])?;
            if verdict.is_none() {
                writeln!(terminal, "  not replayed (see --replays)")?;
            }
            writeln!(terminal)?;
        }
        let listed: Vec<&Finding> = shown.iter().map(|(i, _)| &file.findings[*i]).collect();
        text::table(terminal, &listed, &look)?;
        let hidden = file.findings.iter().filter(|f| f.kind == FindingKind::Nondeterminism).count()
            - shown
                .iter()
                .filter(|(i, _)| file.findings[*i].kind == FindingKind::Nondeterminism)
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

/// Whether a source is C++: by its name.
fn is_cpp(source: &Path) -> bool {
    let extension = source.extension().and_then(|e| e.to_str());
    extension.is_some_and(|e| ["cc", "cpp", "cxx", "C", "c++", "cp"].contains(&e))
}
