//! The readers that are fuzzed, and what is done with what they read.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use foretell_log::{ChunkStore, Filter, FilterLimits};
use foretell_report::json::{self, Findings};
use foretell_report::source::Sources;
use foretell_report::suppress::Suppressions;
use foretell_report::{html, sarif, text as report};
use foretell_rt_format::{Log, Schedule};
use foretell_trace::io::{Loaded, ReadError, ReadOptions, read_bytes};
use foretell_trace::stats::Stats;
use foretell_trace::{Model, Trace, binary, legality, text};
use foretell_translate::{Blocks, Steps, Translated, java, translate, translate_from};

use crate::{Mutator, corpus};

/// A reader that is fuzzed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Trace text, plain or compressed.
    Text,
    /// Binary traces.
    Binary,
    /// Findings files.
    Findings,
    /// Files of suppressions.
    Suppressions,
    /// Schedules of a replay.
    Schedule,
    /// Files of steps.
    Steps,
    /// Logs of the native runtime.
    Log,
    /// Logs of the Java agent.
    JavaLog,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 8] = [
        Target::Text,
        Target::Binary,
        Target::Findings,
        Target::Suppressions,
        Target::Schedule,
        Target::Steps,
        Target::Log,
        Target::JavaLog,
    ];

    /// Returns the name on the command line and of the corpus.
    pub fn name(self) -> &'static str {
        match self {
            Target::Text => "text",
            Target::Binary => "binary",
            Target::Findings => "findings",
            Target::Suppressions => "suppressions",
            Target::Schedule => "schedule",
            Target::Steps => "steps",
            Target::Log => "log",
            Target::JavaLog => "java-log",
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Target::Text => &[
                "|",
                "(",
                ")",
                "=",
                ">",
                "<",
                ",",
                "->%1",
                "<-(+ %1 1)",
                "\n",
                "\r",
                "#! ",
                "#! init x=",
                "#! barrier b=0\n",
                "#! sem s=",
                "#! opaque x\n",
                "#! escaped\n",
                "#! name T1=",
                "#! ended T1\n",
                "T1|acq(l)|\n",
                "T2|rel(l)|\n",
                "T9|join(T1)|\n",
                "T1|fork(T1)|\n",
                "T1|end|\n",
                "T1|begin|\n",
                "T1|wait(c,l)|\n",
                "T1|woken(c,l)|\n",
                "T1|timedout(c,l)|\n",
                "T1|notifyall(c)|\n",
                "T1|post(s)|\n",
                "T1|down(s)|\n",
                "T1|arrive(b)|\n",
                "T1|leave(b)|\n",
                "ar.rlx(x=1)",
                "au(x=1>2)",
                "#xffffffff",
                "#b1",
                "(bvadd ",
                "(div ",
                "(mod ",
                "(ite ",
                "(- ",
                "guard(",
                "%",
                "((((((((",
                "\u{feff}",
                "%00",
                "\u{0}",
            ],
            Target::Findings => &[
                "{",
                "}",
                "[",
                "]",
                ":",
                ",",
                "\"",
                "null",
                "true",
                "-",
                "\\u0000",
                "\\ud800",
                "\"witness\":",
                "\"schedule\":[",
                "\"events\":[",
                "\"kind\":\"race\"",
                "\"kind\":\"deadlock\"",
                "\"kind\":\"transactions\"",
                "\"block\":[0,1]",
                "\"model\":\"symbolic\"",
                "\"model\":\"view\"",
                "\"locations\":[\"/etc/passwd:1\"]",
                "\"form\":\"unordered\"",
                "\"id\":\"race-1\"",
                "[[[[[[[[",
            ],
            Target::Suppressions => &[
                "race:",
                "deadlock:",
                "*",
                "?",
                "#",
                "\n",
                ":",
                "fun:",
                "src:",
                "called_from_lib:",
                "[",
                "]",
                "\\",
                "**",
                "*a*a*a*a*a*a*a*b",
            ],
            Target::Schedule => &[
                "foretell-schedule 2\n",
                "module ",
                "thread 1 0 0\n",
                "step 0 0 Read - 0\n",
                "hold ",
                "until ",
                "%20",
                "adopted",
                "\n",
                " ",
                "-",
            ],
            Target::Steps => &[
                "foretell-steps 3\n",
                "foretell-steps 2\n",
                "id x\n",
                "what Read - 0\n",
                "last 0 0 Read - 0\n",
                "join 0 1\n",
                "events ",
                "thread 1 0 0\n",
                "\n",
            ],
            Target::Binary | Target::Log | Target::JavaLog => &[],
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let names = || Target::ALL.map(Target::name).join(", ");
        let target = Target::ALL.into_iter().find(|target| target.name() == name);
        target.ok_or_else(|| format!("no target `{name}`: there are {}", names()))
    }
}

/// A target with its corpus and the files that its reader needs.
#[derive(Debug)]
pub struct Context {
    target: Target,
    files: Vec<Vec<u8>>,
    mutator: Mutator,
    /// The trace that findings and steps are about.
    trace: Trace,
    findings: Findings,
    directory: tempfile::TempDir,
}

impl Context {
    /// Prepares a target.
    ///
    /// # Panics
    /// If its corpus cannot be read.
    pub fn new(target: Target) -> Context {
        let files: Vec<Vec<u8>> = corpus(target.name()).into_iter().map(|(_, file)| file).collect();
        let trace = text::parse(include_bytes!("../../../examples/traces/bank.std"));
        let trace = trace.expect("the example is a trace").trace;
        let findings = include_str!("../../../examples/traces/bank.json");
        let findings = Findings::parse(findings).expect("the example is a findings file");
        let directory = tempfile::tempdir().expect("a directory");
        if target == Target::JavaLog {
            let tables = include_bytes!("../tables");
            std::fs::write(directory.path().join("log.tables"), tables).expect("a file");
        }
        let mutator = Mutator::new(files.clone(), target.words());
        Context { target, files, mutator, trace, findings, directory }
    }

    /// Returns input `input` of a seed.
    pub fn input(&self, seed: u64, input: u64) -> Vec<u8> {
        match self.target {
            Target::Binary => crate::binary::input(&self.files, &self.mutator, seed, input),
            _ => self.mutator.input(seed, input),
        }
    }

    /// Reads an input and uses what was read.
    ///
    /// # Panics
    /// If the reader is wrong.
    pub fn run(&self, bytes: &[u8]) {
        match self.target {
            Target::Text | Target::Binary => read_trace(bytes),
            Target::Findings => self.read_findings(bytes),
            Target::Suppressions => self.read_suppressions(bytes),
            Target::Schedule => {
                let Ok(text) = std::str::from_utf8(bytes) else { return };
                match text.parse::<Schedule>() {
                    Ok(schedule) => {
                        let again: Result<Schedule, _> = schedule.to_string().parse();
                        assert_eq!(again.ok(), Some(schedule), "a schedule reads back");
                    }
                    Err(error) => one_line(&error.to_string()),
                }
            }
            Target::Steps => match Steps::parse(bytes, self.trace.len()) {
                Ok(steps) => {
                    let count = (0..self.trace.len()).filter_map(|e| steps.events.get(e)).count();
                    assert!(count <= self.trace.len());
                }
                Err(error) => one_line(&error),
            },
            Target::Log => read_log(bytes),
            Target::JavaLog => {
                let path: PathBuf = self.directory.path().join("log");
                match java::translate(&path, bytes, &Blocks::default()) {
                    Ok((translated, _)) => is_legal(&translated),
                    Err(error) => one_line(&error.to_string()),
                }
            }
        }
    }

    fn read_findings(&self, bytes: &[u8]) {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Err(error) = Findings::parse_all(text) {
            one_line(&error.to_string());
        }
        let mut file = match Findings::parse(text) {
            Ok(file) => file,
            Err(error) => return one_line(&error.to_string()),
        };
        let mut out = Vec::new();
        file.write(&mut out).expect("memory");
        let again = Findings::parse(std::str::from_utf8(&out).expect("JSON is UTF-8"));
        assert_eq!(again.expect("it was written"), file, "a findings file reads back");
        let trace = file.trace.describes(&self.trace).is_ok().then_some(&self.trace);
        // As the commands: witnesses are shown only after the checker has accepted them.
        let mut shown = None;
        if let Some(trace) = trace {
            match json::check(&file, trace, file.trace.model) {
                Ok(verdicts) => {
                    for verdict in &verdicts {
                        let _ = verdict.as_ref().map_err(|refusal| refusal.to_string());
                    }
                    if verdicts.iter().all(Result::is_ok) {
                        shown = Some(trace);
                    }
                }
                Err(error) => one_line(&error.to_string()),
            }
        }
        if trace.is_some() != shown.is_some() {
            return;
        }
        let (sources, mut sink) = (Sources::none(), Vec::new());
        report::findings(&mut sink, &file, shown, &sources, &report::Look::default())
            .expect("memory");
        let mut page = html::Page::new();
        page.add(&file, shown, &sources);
        page.write(&mut sink).expect("memory");
        let mut log = sarif::Log::new();
        log.add(&file, shown, &sources);
        log.write(&mut sink).expect("memory");
        file.renumber();
        let _ = json::merge(vec![("a".to_owned(), file.clone()), ("b".to_owned(), file)]);
    }

    fn read_suppressions(&self, bytes: &[u8]) {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let mut suppressions = Suppressions::default();
        if let Err(error) = suppressions.add("rules", text) {
            return one_line(&error.to_string());
        }
        let mut findings = self.findings.findings.clone();
        suppressions.apply(&mut findings, Some(&self.trace));
        suppressions.used().for_each(drop);
    }
}

/// Asserts that a message is one line.
fn one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
}

/// Reads a trace strictly and leniently. What can be read can be written and read again.
fn read_trace(bytes: &[u8]) {
    for lenient in [false, true] {
        let options = ReadOptions { lenient, ..ReadOptions::default() };
        match read_bytes(bytes, "input", &options) {
            Ok(Loaded { trace, notes }) => {
                notes.iter().for_each(|note| one_line(note));
                use_trace(&trace);
                return;
            }
            Err(error @ ReadError::Io { .. }) => panic!("{error}"),
            Err(error) => one_line(&error.to_string()),
        }
    }
}

fn use_trace(trace: &Trace) {
    legality::check(trace).expect("a trace that was read is legal");
    let _ = Stats::of(trace).to_string();
    let _ = Model::auto(trace);
    let mut packed = Vec::new();
    binary::write(trace, &mut packed).expect("memory");
    let again = binary::read(&packed[..]).expect("it was written").trace;
    assert!(again.events().eq(trace.events()), "a binary trace reads back");
    let mut plain = Vec::new();
    if let Err(error) = text::write(trace, &mut plain) {
        // Text cannot hold every name of a register.
        return one_line(&error.to_string());
    }
    let again = text::parse(&plain).map_err(|e| e.message);
    assert_eq!(again.map(|parsed| parsed.trace.len()), Ok(trace.len()), "a text reads back");
}

/// Translates a log as a whole, and as the filter reads it.
fn read_log(bytes: &[u8]) {
    let log = match Log::parse(bytes) {
        Ok(log) => log,
        Err(error) => return one_line(&error.to_string()),
    };
    is_legal(&translate(&log, &Blocks::default()));
    let store = ChunkStore::new(1 << 24, std::path::Path::new("."));
    let mut filter = Filter::new(store, FilterLimits::default(), false, true);
    log.chunks().into_iter().for_each(|chunk| filter.chunk(chunk));
    let (filtered, calls) = filter.finish();
    is_legal(&translate_from(&&filtered, &log.header, calls, &Blocks::default()));
}

fn is_legal(translated: &Translated) {
    translated.notes().iter().for_each(|note| one_line(note));
    legality::check(&translated.trace.whole()).expect("a translated trace is legal");
}
