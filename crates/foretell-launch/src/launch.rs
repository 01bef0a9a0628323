//! Runs a program under the runtime.
//!
//! A native program gets the runtime's settings in environment variables
//! ([`foretell_rt_format::env`]), and runs without address randomisation, so that the same seed
//! gives the same trace. A program linked against the shared libtsan finds the runtime in its
//! place. A Java program gets the agent as an argument.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use foretell_rt_format::env;
use tempfile::TempDir;

use foretell_build::runtime;

use crate::Error;
use crate::java::{self, AgentOptions, Java};
use crate::mode::Mode;

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Mode of the run.
    pub mode: Mode,
    /// Seed of the scheduler.
    pub seed: u64,
    /// Average number of hooks between two decisions of the scheduler.
    pub quantum: u64,
    /// Directory for the log, and for the output of a quiet run.
    pub directory: PathBuf,
    /// Whether the program's output goes to files, and its input is empty or from a file, instead
    /// of those of this process.
    pub quiet: bool,
    /// File for the standard input of a quiet run.
    pub input: Option<PathBuf>,
    /// Time after which the program is killed.
    pub limit: Option<Duration>,
    /// Settings for a Java program.
    pub java: Java,
    /// Whether the run is for a symbolic trace.
    pub symbolic: bool,
    /// Whether no access is left out: neither those to memory that create and join transfer from
    /// thread to thread, nor those to thread-private memory, which may turn out to be shared.
    pub keep_all: bool,
}

/// A finished run. Dropping it removes its files.
#[derive(Debug)]
pub struct Run {
    /// Exit status of the program.
    pub status: ExitStatus,
    /// Whether the program was killed at its time limit.
    pub timed_out: bool,
    /// Whether the program is a Java program.
    pub java: bool,
    directory: TempDir,
}

impl Run {
    /// Returns the path of the log.
    pub fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Returns the standard output of a quiet run.
    pub fn stdout(&self) -> Vec<u8> {
        std::fs::read(self.directory.path().join("stdout")).unwrap_or_default()
    }

    /// Returns the standard error of a quiet run.
    pub fn stderr(&self) -> String {
        let bytes = std::fs::read(self.directory.path().join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the end of the program in words: `exit 0`, `signal 11`.
    pub fn ended(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "unknown".to_owned(),
        }
    }
}

impl Launch {
    /// Returns the default settings to record `command`.
    pub fn new(command: Vec<OsString>) -> Launch {
        Launch {
            command,
            mode: Mode::Record,
            seed: 0,
            quantum: 1000,
            directory: std::env::temp_dir(),
            quiet: false,
            input: None,
            limit: None,
            java: Java::default(),
            symbolic: false,
            keep_all: false,
        }
    }

    /// Whether the command starts a Java program.
    pub fn is_java(&self) -> bool {
        self.command.first().is_some_and(|program| java::is_java(program))
    }

    /// Returns the command with its environment, and the directories that it needs while it runs.
    fn prepare(&self, log: Option<&Path>) -> Result<(Command, TempDir, Option<TempDir>), Error> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(Error::Other("no program to run".to_owned()));
        };
        let directory = tempfile::Builder::new()
            .prefix(".foretell-")
            .tempdir_in(&self.directory)
            .map_err(Error::file(&self.directory))?;
        let mut command = Command::new(program);
        if self.is_java() {
            let Launch { ref mode, seed, quantum, ref java, .. } = *self;
            let options = AgentOptions { mode, seed, quantum, java };
            command.arg(java::install(&options, &absolute(directory.path()))?).args(arguments);
            return Ok((command, directory, None));
        }
        let mut libraries = None;
        if may_use_libtsan(Path::new(program)) {
            let directory = libraries.insert(runtime::preload_directory()?);
            let mut path = OsString::from(directory.path());
            if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
                path.push(":");
                path.push(rest);
            }
            command.env("LD_LIBRARY_PATH", path);
        }
        command
            .args(arguments)
            .env(env::LOG, absolute(log.unwrap_or(&directory.path().join("log"))))
            .env(env::SEED, self.seed.to_string())
            .env(env::QUANTUM, self.quantum.to_string())
            .env(env::KEEP, if self.keep_all || self.symbolic { "1" } else { "0" });
        match &self.mode {
            Mode::Record => command.env(env::MODE, "record"),
            Mode::Parallel => command.env(env::MODE, "parallel"),
            Mode::Replay { schedule, stop } => command
                .env(env::MODE, "replay")
                .env(env::SCHEDULE, absolute(schedule))
                .env(env::STOP, if *stop { "1" } else { "0" }),
        };
        // SAFETY: one system call. Where it is not permitted, addresses differ from run to run.
        unsafe {
            command.pre_exec(|| {
                libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                Ok(())
            })
        };
        Ok((command, directory, libraries))
    }

    /// Runs the program to its end.
    ///
    /// # Errors
    /// When the program cannot be started, or is not instrumented and recorded nothing.
    pub fn run(&self) -> Result<Run, Error> {
        let run = self.start(None)?;
        if run.log().exists() { Ok(run) } else { Err(self.nothing_recorded()) }
    }

    /// Runs the program to its end, with its log in the file `log`; does not check that the program
    /// recorded anything.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn run_with_log(&self, log: &Path) -> Result<Run, Error> {
        self.start(Some(log))
    }

    /// Returns the error for a program that recorded nothing.
    pub fn nothing_recorded(&self) -> Error {
        let program = self.command.first().map_or_else(String::new, |c| c.to_string_lossy().into());
        let why = if self.is_java() {
            "the virtual machine did not start the program"
        } else {
            "the program is not instrumented; build it with `foretell cc` or gcc -fsanitize=thread"
        };
        Error::Other(format!("{program}: nothing was recorded: {why}"))
    }

    /// Returns the error for a program that was not built for symbolic recording.
    pub fn not_symbolic(&self) -> Error {
        let program = self.command.first().map_or_else(String::new, |c| c.to_string_lossy().into());
        Error::Other(format!(
            "{program}: not built for symbolic recording; build it with `foretell cc --symbolic`"
        ))
    }

    fn start(&self, log: Option<&Path>) -> Result<Run, Error> {
        let (mut command, directory, _libraries) = self.prepare(log)?;
        let name = self.command[0].to_string_lossy().into_owned();
        if self.quiet {
            let create = |name: &str| {
                let path = directory.path().join(name);
                File::create(&path).map_err(Error::file(path))
            };
            let input = match &self.input {
                Some(path) => File::open(path).map_err(Error::file(path))?.into(),
                None => Stdio::null(),
            };
            command.stdin(input).stdout(create("stdout")?).stderr(create("stderr")?);
        }
        let child = command.spawn().map_err(|source| Error::Start { program: name, source })?;
        let (status, timed_out) = self.wait(child)?;
        Ok(Run { status, timed_out, java: self.is_java(), directory })
    }

    fn wait(&self, mut child: Child) -> Result<(ExitStatus, bool), Error> {
        let program = || self.command[0].to_string_lossy().into_owned();
        let failed = |source| Error::Start { program: program(), source };
        let Some(limit) = self.limit else {
            // An interrupt at the terminal ends the program; this process stays to report.
            // SAFETY: no handler, no data.
            let old = unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
            let status = child.wait();
            // SAFETY: as above.
            unsafe { libc::signal(libc::SIGINT, old) };
            return Ok((status.map_err(failed)?, false));
        };
        let end = Instant::now() + limit;
        let mut pause = Duration::from_micros(200);
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok((status, false));
            }
            if Instant::now() >= end {
                child.kill().map_err(failed)?;
                return Ok((child.wait().map_err(failed)?, true));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Runs the program under gdb; it stops before the last step of the schedule.
    ///
    /// # Errors
    /// When gdb cannot be started.
    pub fn debug(&self) -> Result<ExitStatus, Error> {
        let (prepared, _directory, _libraries) = self.prepare(None)?;
        let mut gdb = Command::new("gdb");
        gdb.args(["-q", "-ex", "set width 0"]);
        for (name, value) in prepared.get_envs() {
            let (name, value) = (name.to_string_lossy(), value.unwrap_or_default());
            gdb.arg("-ex").arg(format!("set environment {name} {}", value.to_string_lossy()));
        }
        gdb.args(["-ex", "run", "-ex", "backtrace", "--args"]).args(&self.command);
        gdb.status().map_err(|source| Error::Start { program: "gdb".to_owned(), source })
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Whether a program may load the shared libtsan: an executable that names it, or a script, which
/// may start one.
fn may_use_libtsan(program: &Path) -> bool {
    const NAME: &[u8] = b"libtsan.so.";
    match std::fs::read(program) {
        Ok(bytes) if bytes.starts_with(b"\x7fELF") => memchr::memmem::find(&bytes, NAME).is_some(),
        _ => true,
    }
}
