//! Runs a program under the runtime.
//!
//! A native program gets the runtime's settings in environment variables
//! ([`foretell_rt_format::env`]), and runs without address randomisation, so that the same seed
//! gives the same trace. A program linked against the shared libtsan finds the runtime in its
//! place. A Java program gets the agent as an argument.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use foretell_rt_format::env;

use foretell_build::{ScratchDirectory, runtime};

use crate::Error;
use crate::descendants::{self, descendants};
use crate::java::{self, AgentOptions, Java};
use crate::mode::Mode;
use crate::signals::{self, SignalGuard};
use crate::supervisor;

/// Directory of the logs of further processes.
const MORE: &str = "more";

/// Beginning of the names of a native program's notes for an exploration.
const UNEXPLORED: &str = "unexplored";

/// Endings of these notes.
const UNEXPLORED_ENDINGS: [&str; 8] =
    ["output", "tried", "process", "thread", "shared", "signal", "futex", "last"];

/// Name of the file with those of a Java program, one line each: a kind and a text.
const UNEXPLORED_JAVA: &str = "unexplored.java";

/// Names of the files with the output of a quiet run.
const OUTPUT: [&str; 2] = ["stdout", "stderr"];

/// Names of the files of a run that an exploration keeps.
fn saved_files() -> impl Iterator<Item = String> {
    let notes = UNEXPLORED_ENDINGS.into_iter().map(|ending| format!("{UNEXPLORED}.{ending}"));
    OUTPUT.into_iter().chain([UNEXPLORED_JAVA]).map(str::to_owned).chain(notes)
}

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
    /// Number of steps that other threads may run when the program is about to end.
    pub exit_steps: u64,
    /// Directory for the log, and for the output of a quiet run.
    pub directory: PathBuf,
    /// Whether the program's output goes to files, and its input is empty or from a file, instead
    /// of those of this process.
    pub quiet: bool,
    /// File for the standard input of a quiet run.
    pub input: Option<PathBuf>,
    /// Time after which the program is killed.
    pub limit: Option<Duration>,
    /// Resident memory of the program's process, in bytes, above which it is killed.
    pub memory: Option<u64>,
    /// Settings for a Java program.
    pub java: Java,
    /// Whether the run is for a symbolic trace.
    pub symbolic: bool,
    /// Whether no access is left out: neither those to memory that create and join transfer from
    /// thread to thread, nor those to thread-private memory, which may turn out to be shared.
    pub keep_all: bool,
    /// Replay: whether a Java program is recorded after the last step of the schedule, too. A native
    /// one always is.
    pub records_on: bool,
    /// Replay: the schedule is for the child of `fork` that these ordinals of forks lead to, see
    /// [`env::FORKED`].
    pub forked: Option<String>,
    /// Directory for the logs of all processes below the command, Java virtual machines among them;
    /// none: the first process has the log of the run, and further native ones have theirs in a
    /// directory of the run.
    pub more: Option<PathBuf>,
    /// Whether programs that are not instrumented are recorded too, for the instrumented libraries
    /// that they load.
    pub preload: bool,
    /// Directory to run in; none: that of this process.
    pub working_directory: Option<PathBuf>,
    /// Environment without the variables of the recording; none: that of this process.
    pub environment: Option<Vec<(OsString, OsString)>>,
    /// Files and directories that are elsewhere on this machine: the path that the command and the
    /// schedules name, and the path of the copy. A native program runs from its copy under its
    /// own name; of the arguments of `java`, paths and parts of class paths are replaced.
    pub copies: Vec<(PathBuf, PathBuf)>,
}

/// A finished run. Dropping it removes its files.
#[derive(Debug)]
pub struct Run {
    /// Exit status of the program.
    pub status: ExitStatus,
    /// Whether the program was killed at its time limit.
    pub timed_out: bool,
    /// Whether the program was killed at its memory limit.
    pub out_of_memory: bool,
    /// Whether this process was asked to end (by a signal) or ran out of its budget while the
    /// program ran, and so the program was ended.
    pub interrupted: bool,
    /// Whether the program is a Java program.
    pub java: bool,
    files: RunFiles,
}

/// Directory with the files of a run.
#[derive(Debug)]
enum RunFiles {
    /// That of the run itself.
    Scratch(ScratchDirectory),
    /// One to which they were saved.
    Saved(PathBuf),
}

/// Reason for which a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// By itself, or because of a signal that was passed on.
    Own,
    /// Killed at its time limit.
    TimedOut,
    /// Killed at its memory limit.
    OutOfMemory,
    /// Killed because the time of this process is over.
    OutOfBudget,
}

impl Run {
    /// Returns the path of the log.
    pub fn log(&self) -> PathBuf {
        self.directory().join("log")
    }

    /// Returns the paths of the logs of further processes, in the order of their start.
    pub fn more_logs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory().join(MORE)).into_iter().flatten();
        // What a process writes beside its log has one more extension.
        let is_log = |path: &PathBuf| {
            path.file_stem().is_some_and(|stem| !stem.to_string_lossy().contains('.'))
        };
        let mut paths: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(is_log).collect();
        paths.sort();
        paths
    }

    /// Returns the standard output of a quiet run.
    pub fn stdout(&self) -> Vec<u8> {
        std::fs::read(self.directory().join("stdout")).unwrap_or_default()
    }

    /// Whether more than one thread may have written output.
    pub fn has_shared_output(&self) -> bool {
        self.unexplored().contains(&"output")
            || self.unexplored_java().iter().any(|(kind, _)| kind == "output")
    }

    /// Returns what a Java program has that no exploration follows, each with its kind: `output`,
    /// `timed` or `call`.
    pub fn unexplored_java(&self) -> Vec<(String, String)> {
        let bytes = std::fs::read(self.directory().join(UNEXPLORED_JAVA)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter_map(|line| line.split_once('\t'));
        lines.map(|(kind, text)| (kind.to_owned(), text.to_owned())).collect()
    }

    /// Returns what a native program did that no exploration follows: endings of the notes that
    /// the runtime describes.
    pub fn unexplored(&self) -> Vec<&'static str> {
        let noted =
            |ending: &&str| self.directory().join(format!("{UNEXPLORED}.{ending}")).exists();
        UNEXPLORED_ENDINGS.into_iter().filter(noted).collect()
    }

    /// Copies the output of a quiet run and the notes for an exploration to a directory. Empty
    /// output is left out.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, directory: &Path) -> io::Result<()> {
        for name in saved_files() {
            let path = self.directory().join(&name);
            let is_output = OUTPUT.contains(&name.as_str());
            if path.metadata().is_ok_and(|file| !is_output || file.len() > 0) {
                std::fs::copy(path, directory.join(name))?;
            }
        }
        Ok(())
    }

    /// Returns a run whose files were [saved](Run::save) to a directory, where they stay. `status`
    /// is the raw status of the process.
    pub fn restore(saved: &Path, status: i32, java: bool) -> Run {
        let status = ExitStatus::from_raw(status);
        let (timed_out, out_of_memory) = (false, false);
        let files = RunFiles::Saved(saved.to_path_buf());
        Run { status, timed_out, out_of_memory, interrupted: false, java, files }
    }

    fn directory(&self) -> &Path {
        match &self.files {
            RunFiles::Scratch(scratch) => scratch.path(),
            RunFiles::Saved(path) => path,
        }
    }

    /// Returns the standard error of a quiet run.
    pub fn stderr(&self) -> String {
        let bytes = std::fs::read(self.directory().join("stderr")).unwrap_or_default();
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

/// A command that is ready to run, and the directories that it needs meanwhile.
struct Prepared {
    command: Command,
    directory: ScratchDirectory,
    libraries: Option<ScratchDirectory>,
}

/// Time that a program gets to end after a signal was passed on. Shorter than the ten seconds
/// after which `docker stop` kills, so that the trace is saved before.
const GRACE: Duration = Duration::from_secs(5);
/// The time of a run for a command that has to end soon itself.
const SHORT_GRACE: Duration = Duration::from_secs(1);
/// Longest time between two looks at the program.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

impl Launch {
    /// Returns the default settings to record `command`.
    pub fn new(command: Vec<OsString>) -> Launch {
        Launch {
            command,
            mode: Mode::Record,
            seed: 0,
            quantum: 1000,
            exit_steps: foretell_rt_format::EXIT_STEPS,
            directory: std::env::temp_dir(),
            quiet: false,
            input: None,
            limit: None,
            memory: None,
            java: Java::default(),
            symbolic: false,
            keep_all: false,
            records_on: false,
            forked: None,
            more: None,
            preload: false,
            working_directory: None,
            environment: None,
            copies: Vec::new(),
        }
    }

    /// Returns the path that a file has on this machine.
    pub fn here<'a>(&'a self, path: &'a Path) -> &'a Path {
        let copy = self.copies.iter().find(|(original, _)| original == path);
        copy.map_or(path, |(_, copy)| copy)
    }

    /// Returns a schedule with the paths that modules have on this machine.
    pub fn schedule_here<'a>(&self, schedule: &'a str) -> Cow<'a, str> {
        if self.copies.is_empty() {
            return schedule.into();
        }
        let line = |line: &str| match line.strip_prefix("module ") {
            Some(path) => format!("module {}\n", self.here(Path::new(path)).display()),
            None => format!("{line}\n"),
        };
        schedule.lines().map(line).collect::<String>().into()
    }

    /// Returns an argument of `java` with the paths that files have on this machine.
    fn java_argument(&self, word: &OsString) -> OsString {
        if self.copies.is_empty() {
            return word.clone();
        }
        let parts = std::env::split_paths(word).map(|part| self.here(&part).to_path_buf());
        std::env::join_paths(parts).unwrap_or_else(|_| word.clone())
    }

    /// Whether the command starts a Java program.
    pub fn is_java(&self) -> bool {
        self.command.first().is_some_and(|program| java::is_java(program))
    }

    /// Returns the command with its environment.
    fn prepare(&self, log: Option<&Path>) -> Result<Prepared, Error> {
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(Error::Other("no program to run".to_owned()));
        };
        let directory = ScratchDirectory::new_in(&self.directory, ".foretell-")
            .map_err(Error::file(&self.directory))?;
        let mut command = Command::new(self.here(Path::new(program)));
        if !self.copies.is_empty() {
            command.arg0(program);
        }
        if let Some(variables) = &self.environment {
            command.env_clear().envs(variables.iter().map(|(name, value)| (name, value)));
        }
        if let Some(place) = &self.working_directory {
            command.current_dir(place);
        }
        if self.is_java() && self.more.is_none() {
            let reader = &directory.lifeline();
            let options = self.agent_options(reader, None);
            let agent = java::install(&options, &absolute(directory.path()))?;
            let quick = if self.records_on { java::quick_start(arguments) } else { Vec::new() };
            command.args(quick).arg(agent);
            command.args(arguments.iter().map(|word| self.java_argument(word)));
            bind(&mut command, self.quiet);
            return Ok(Prepared { command, directory, libraries: None });
        }
        let mut libraries = None;
        if self.more.is_some() || may_use_libtsan(self.here(Path::new(program))) {
            let directory = libraries.insert(runtime::preload_directory()?);
            let mut path = OsString::from(directory.path());
            if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
                path.push(":");
                path.push(rest);
            }
            command.env("LD_LIBRARY_PATH", path);
        }
        if self.preload {
            let mut libraries = runtime::shared_library()?.into_os_string();
            if let Some(rest) = std::env::var_os("LD_PRELOAD").filter(|p| !p.is_empty()) {
                libraries.push(":");
                libraries.push(rest);
            }
            command.env("LD_PRELOAD", libraries);
        }
        command
            .args(arguments)
            .env(env::LOG, absolute(log.unwrap_or(&directory.path().join("log"))))
            .env(env::SEED, self.seed.to_string())
            .env(env::QUANTUM, self.quantum.to_string())
            .env(env::UNEXPLORED, absolute(&directory.path().join(UNEXPLORED)))
            .env(env::READER, directory.lifeline())
            .env(env::EXIT_STEPS, self.exit_steps.to_string())
            .env(env::KEEP, if self.keep_all || self.symbolic { "1" } else { "0" });
        if self.mode == Mode::Record {
            let more = match &self.more {
                Some(more) => more.clone(),
                None => {
                    let more = directory.path().join(MORE);
                    std::fs::create_dir(&more).map_err(Error::file(&more))?;
                    more
                }
            };
            command.env(env::MORE, absolute(&more));
        }
        if let Some(more) = &self.more {
            self.record_all(&mut command, &directory, log, &absolute(more))?;
        }
        match &self.mode {
            Mode::Record => command.env(env::MODE, "record"),
            Mode::Parallel => command.env(env::MODE, "parallel"),
            Mode::Replay { schedule, stop } => command
                .envs(self.forked.iter().map(|path| (env::FORKED, path)))
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
        bind(&mut command, self.quiet);
        Ok(Prepared { command, directory, libraries })
    }

    fn agent_options<'a>(&'a self, reader: &'a Path, more: Option<&'a Path>) -> AgentOptions<'a> {
        let Launch { mode, seed, quantum, java, records_on, .. } = self;
        let (seed, quantum, records_on) = (*seed, *quantum, *records_on);
        AgentOptions { mode, seed, quantum, java, records_on, reader, more }
    }

    /// Makes every process below the command write a log of its own into the directory `more`.
    fn record_all(
        &self,
        command: &mut Command,
        directory: &ScratchDirectory,
        log: Option<&Path>,
        more: &Path,
    ) -> Result<(), Error> {
        // No process can have this log.
        let taken = absolute(log.unwrap_or(&directory.path().join("log")));
        File::create(&taken).map_err(Error::file(&taken))?;
        if !java::has_agent() {
            return Ok(());
        }
        let reader = &directory.lifeline();
        let options = self.agent_options(reader, Some(more));
        let mut agent = java::install(&options, &absolute(directory.path()))?;
        if let Some(own) = std::env::var_os(java::OPTIONS).filter(|own| !own.is_empty()) {
            agent.push(" ");
            agent.push(own);
        }
        command.env(java::OPTIONS, agent);
        Ok(())
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
        } else if self.forked.is_some() && matches!(self.mode, Mode::Replay { .. }) {
            "the process of the trace, a child of fork, did not come to be"
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
        let Prepared { mut command, directory, libraries: _libraries } = self.prepare(log)?;
        let name = self.command[0].to_string_lossy().into_owned();
        if self.quiet {
            let create = |name: &str| {
                let path = directory.path().join(name);
                File::create(&path).map_err(Error::file(path))
            };
            let input = match &self.input {
                Some(path) => {
                    let path = self.here(path);
                    File::open(path).map_err(Error::file(path))?.into()
                }
                None => Stdio::null(),
            };
            command.stdin(input).stdout(create("stdout")?).stderr(create("stderr")?);
        }
        let signals = SignalGuard::new();
        let before = signals.requests();
        let child = command.spawn().map_err(|source| Error::Start { program: name, source })?;
        signals.set_running(true);
        let ended = self.wait(child, &signals);
        signals.set_running(false);
        let (status, end) = ended?;
        let (timed_out, out_of_memory) = (end == End::TimedOut, end == End::OutOfMemory);
        let interrupted = end == End::OutOfBudget || signals.requests() > before;
        let (java, files) = (self.is_java(), RunFiles::Scratch(directory));
        Ok(Run { status, timed_out, out_of_memory, interrupted, java, files })
    }

    /// Waits for the end of the program, passes signals on, and kills the program at its limits of
    /// time and memory, at the end of the budget, or when it does not end though it was asked to.
    fn wait(&self, mut child: Child, signals: &SignalGuard) -> Result<(ExitStatus, End), Error> {
        let program = || self.command[0].to_string_lossy().into_owned();
        let failed = |source| Error::Start { program: program(), source };
        let end = self.limit.and_then(|limit| Instant::now().checked_add(limit));
        let budget = foretell_limit::deadline();
        let descriptor = ProcessDescriptor::of(child.id());
        let mut asked: Option<(Instant, u32)> = None;
        let mut below = Vec::new();
        let mut pause = Duration::from_micros(200);
        loop {
            if has_ended(&child) {
                self.kill_group(&child);
            }
            if let Some(status) = child.try_wait().map_err(failed)? {
                // Processes that the program should have ended with itself.
                descendants::kill(&below);
                return Ok((status, End::Own));
            }
            let requests = if self.quiet { signals.requests() } else { signals.sent() };
            if requests > 0 && asked.is_none() {
                asked = Some((Instant::now(), requests));
                below = descendants(child.id());
            }
            if asked.is_some() {
                // The work of this process that comes next ends because of the request, too.
                let _ = foretell_limit::Limit::none().reached();
            }
            if let Some(signal) = signals.take() {
                // SAFETY: the child has not been waited for: the number is its own.
                unsafe { libc::kill(child.id() as i32, signal) };
            }
            let grace = if self.quiet { SHORT_GRACE } else { GRACE };
            let insists =
                asked.is_some_and(|(time, first)| time.elapsed() >= grace || requests > first);
            let past = |time: Option<Instant>| time.is_some_and(|time| Instant::now() >= time);
            let (timed_out, out_of_budget) = (past(end), past(budget));
            let too_large = self.memory.is_some_and(|most| resident(child.id()) > most);
            if timed_out || out_of_budget || too_large || insists {
                below.extend(descendants(child.id()));
                child.kill().map_err(failed)?;
                self.kill_group(&child);
                let status = child.wait().map_err(failed)?;
                descendants::kill(&below);
                let end = match () {
                    () if insists => End::Own,
                    () if out_of_budget => End::OutOfBudget,
                    () if timed_out => End::TimedOut,
                    () => End::OutOfMemory,
                };
                return Ok((status, end));
            }
            descriptor.wait(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Kills what is left of the process group of a quiet run: processes that wait for the program.
    /// The child must not have been waited for: until then the number is its own.
    fn kill_group(&self, child: &Child) {
        if self.quiet {
            // SAFETY: system call.
            unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
        }
    }

    /// Runs the program under gdb; it stops before the last step of the schedule.
    ///
    /// # Errors
    /// When gdb cannot be started.
    pub fn debug(&self) -> Result<ExitStatus, Error> {
        let Prepared { command: prepared, directory: _directory, libraries: _libraries } =
            self.prepare(None)?;
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

/// Whether a child has ended and has not been waited for.
fn has_ended(child: &Child) -> bool {
    // SAFETY: a structure of zero bytes is valid, and outlives the call.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, child.id(), &mut info, options) == 0 && info.si_pid() != 0
    }
}

/// Makes a program end with this process, and ignore the signals that this process was started to
/// ignore. A quiet program has a process group of its own, which ends with it.
fn bind(command: &mut Command, quiet: bool) {
    let parent = std::process::id();
    let group = if quiet { Some(0) } else { supervisor::group() };
    let ignored: Vec<i32> = signals::ignored().collect();
    // SAFETY: system calls only.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != parent {
                // This process has ended before the call.
                libc::raise(libc::SIGKILL);
            }
            if let Some(group) = group {
                libc::setpgid(0, group);
                libc::signal(libc::SIGTTOU, libc::SIG_DFL);
            }
            for &n in &ignored {
                libc::signal(n, libc::SIG_IGN);
            }
            Ok(())
        })
    };
}

/// A descriptor that becomes readable when a process ends; none on a kernel without them.
struct ProcessDescriptor(Option<OwnedFd>);

impl ProcessDescriptor {
    fn of(process: u32) -> ProcessDescriptor {
        // SAFETY: the new descriptor has no other owner.
        unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, process, 0) as i32;
            ProcessDescriptor((fd >= 0).then(|| OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Waits for the end of the process, at most for this time.
    fn wait(&self, time: Duration) {
        let Some(fd) = &self.0 else { return std::thread::sleep(time) };
        let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let time = time.as_millis().max(1) as i32;
        // SAFETY: one structure, which outlives the call.
        unsafe { libc::poll(&mut poll, 1, time) };
    }
}

/// Returns the resident memory of a process in bytes; 0 if it has ended.
fn resident(process: u32) -> u64 {
    let pages = std::fs::read_to_string(format!("/proc/{process}/statm")).ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    // SAFETY: no pointers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.unwrap_or(0) * u64::try_from(page).unwrap_or(4096)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Whether a program may load the shared libtsan: an executable that names it, or a script, which
/// may start one.
fn may_use_libtsan(program: &Path) -> bool {
    const NAME: &[u8] = b"libtsan.so.";
    /// Path, size and time of change of the last program, and the answer.
    static LAST: Mutex<Option<(PathBuf, u64, SystemTime, bool)>> = Mutex::new(None);
    let stamp = std::fs::metadata(program).and_then(|m| Ok((m.len(), m.modified()?))).ok();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some((path, len, time, answer)), Some(stamp)) = (&*last, stamp)
        && path == program
        && (*len, *time) == stamp
    {
        return *answer;
    }
    let answer = match std::fs::read(program) {
        Ok(bytes) if bytes.starts_with(b"\x7fELF") => memchr::memmem::find(&bytes, NAME).is_some(),
        _ => true,
    };
    *last = stamp.map(|(len, time)| (program.to_path_buf(), len, time, answer));
    answer
}
