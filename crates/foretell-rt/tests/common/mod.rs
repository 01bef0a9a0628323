//! Compiles little C programs, runs them under the runtime, reads their logs.
#![allow(dead_code)] // not every test file uses everything

use foretell_rt_format::{Act, Entry, Log, Record, Schedule, ScheduledStep, Step, ThreadOrigin};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Directory in which cargo put the library: that of the test itself.
pub(crate) fn library_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("the test has a path");
    exe.parent().expect("a directory").to_path_buf()
}

/// One compiled program in a directory of its own.
pub(crate) struct Program {
    dir: tempfile::TempDir,
    exe: PathBuf,
}

/// Output and log of a run.
pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) log: Vec<u8>,
}

impl Program {
    /// Compiles `tests/c/NAME` with gcc (`g++` for C++), linked with the shared library.
    pub(crate) fn build(name: &str) -> Program {
        Program::build_with(name, &[])
    }

    /// Compiles with further options.
    pub(crate) fn build_with(name: &str, options: &[&str]) -> Program {
        let compiler = if name.ends_with(".cc") { "g++" } else { "gcc" };
        Program::build_by(compiler, name, options)
    }

    /// Compiles with a given compiler.
    pub(crate) fn build_by(compiler: &str, name: &str, options: &[&str]) -> Program {
        let dir = tempfile::tempdir().expect("a directory");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name);
        let (object, exe) = (dir.path().join("program.o"), dir.path().join("program"));
        let compiled = Command::new(compiler)
            .args(["-g", "-O0", "-w", "-fsanitize=thread", "-fno-builtin", "-D_GNU_SOURCE", "-c"])
            .args(options)
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .status();
        assert!(compiled.expect("a compiler").success(), "{name} compiles");
        let lib = library_dir();
        let linked = Command::new(compiler)
            .arg(&object)
            .arg("-o")
            .arg(&exe)
            .arg(format!("-L{}", lib.display()))
            // Lazy: a function is bound when it is called.
            .args(["-Wl,-z,lazy", "-Wl,--no-as-needed", "-lforetell_rt", "-pthread", "-lrt"])
            .arg(format!("-Wl,-rpath,{}", lib.display()))
            .status();
        assert!(linked.expect("a linker").success(), "{name} links");
        Program { dir, exe }
    }

    /// A path in the program's directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The executable.
    pub(crate) fn exe(&self) -> &Path {
        &self.exe
    }

    /// Runs it without recording.
    pub(crate) fn native(&self, args: &[&str]) -> Output {
        let mut command = Command::new(&self.exe);
        command.args(args).env("LD_LIBRARY_PATH", library_dir()).output().expect("it runs")
    }

    /// Records a run with these variables set.
    pub(crate) fn record(&self, variables: &[(&str, &str)], args: &[&str]) -> Run {
        let log = self.path("log");
        let _ = std::fs::remove_file(&log);
        // Without address randomisation equal runs have equal logs.
        let output = Command::new("setarch")
            .arg("-R")
            .arg(&self.exe)
            .args(args)
            // Cargo names a directory in which an older one may be.
            .env("LD_LIBRARY_PATH", library_dir())
            .env("FORETELL_LOG", &log)
            .env("FORETELL_QUANTUM", "20")
            .env("FORETELL_WATCHDOG_SECS", "5")
            .envs(variables.iter().copied())
            .output()
            .expect("it runs");
        Run { output, log: std::fs::read(&log).unwrap_or_default() }
    }

    /// Records and expects a normal end with status 0 and the output of a run without recording.
    pub(crate) fn record_ok(&self, args: &[&str]) -> Run {
        let run = self.record(&[], args);
        let native = self.native(args);
        assert_eq!(run.stderr(), String::from_utf8_lossy(&native.stderr));
        assert_eq!(run.output.status.code(), Some(0), "{}", run.stdout());
        assert_eq!(run.stdout(), String::from_utf8_lossy(&native.stdout));
        run
    }
}

impl Run {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.output.status.signal()
    }

    /// Every record.
    pub(crate) fn entries(&self) -> Vec<Entry<'_>> {
        let log = Log::parse(&self.log).expect("a log");
        log.events().map(|e| e.expect("a record")).collect()
    }

    /// The blocking calls for which the baton was handed over.
    pub(crate) fn calls(&self) -> std::collections::BTreeSet<String> {
        let name = |e: &Entry<'_>| match e.record {
            Record::Call { name, .. } => Some(String::from_utf8_lossy(name).into_owned()),
            _ => None,
        };
        self.entries().iter().filter_map(name).collect()
    }

    /// Number of records that satisfy `f`.
    pub(crate) fn count(&self, f: impl Fn(&Record<'_>) -> bool) -> usize {
        self.entries().iter().filter(|e| f(&e.record)).count()
    }
}

/// Returns the schedule that follows these records of a log. The other recorded steps of the
/// threads do not run while it lasts.
pub(crate) fn schedule(run: &Run, chosen: &[Entry<'_>]) -> Schedule {
    let mut schedule = Schedule::default();
    let mut modules = Vec::new();
    for e in run.entries() {
        match e.record {
            Record::Module { bias, start, end, path, .. } => {
                schedule.modules.push(String::from_utf8_lossy(path).into_owned());
                modules.push((bias, start, end));
            }
            Record::Create { thread, nth, .. } => {
                schedule.threads.push(ThreadOrigin { thread, parent: e.thread, nth });
            }
            _ => {}
        }
    }
    for e in chosen {
        let (Some(kind), Some(pc)) = (e.record.kind(), e.record.pc()) else { continue };
        let module = modules.iter().position(|&(_, start, end)| (start..end).contains(&pc));
        let place = module.map(|m| (m as u32, pc - modules[m].0));
        let step = Step { thread: e.thread, ordinal: e.ordinal, kind, place };
        schedule.steps.push(ScheduledStep { act: Act::Run, step });
    }
    for e in run.entries().iter().filter(|e| e.record.counted()) {
        let last = chosen.iter().filter(|c| c.thread == e.thread && c.record.counted());
        let next = last.map(|c| c.ordinal + 1).max().unwrap_or(0);
        if e.ordinal >= next && schedule.holds.iter().all(|&(thread, _)| thread != e.thread) {
            schedule.holds.push((e.thread, e.ordinal));
        }
    }
    schedule
}

/// Drives the program along a schedule, with further variables set.
pub(crate) fn replay(program: &Program, schedule: &Schedule, more: &[(&str, &str)]) -> Run {
    let path = program.path("schedule");
    std::fs::write(&path, schedule.to_string()).expect("a file");
    let path = path.to_string_lossy().into_owned();
    let mut variables = vec![("FORETELL_MODE", "replay"), ("FORETELL_SCHEDULE", path.as_str())];
    variables.extend(more);
    program.record(&variables, &[])
}
