//! What happened when a program was driven along a witness.

use std::fmt;
use std::os::unix::process::ExitStatusExt;

use foretell_rt_format::{Log, Record, WaitingFor};
use rustc_hash::FxHashMap;

use foretell_launch::Run;
use foretell_log::Stack;
use foretell_translate::{Symbols, java};

use crate::Error;
use crate::freed::Freed;

/// What happened, the harmless first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The run left the schedule: the program did something else than it did when it was recorded.
    Departed {
        /// What was expected and what came.
        message: String,
    },
    /// It ended as it did when it was recorded, with the same output.
    Benign,
    /// It wrote something else.
    OutputDiffers,
    /// It ended with another exit status.
    ExitStatus {
        /// Now.
        got: i32,
        /// When it was recorded.
        expected: String,
    },
    /// It did not come to an end.
    Hang {
        /// For so long.
        seconds: u64,
    },
    /// It used memory that it had freed.
    UseAfterFree {
        /// Where, and where it was allocated and freed.
        message: String,
    },
    /// Threads wait for each other for ever.
    Deadlock {
        /// Which.
        threads: Vec<u32>,
    },
    /// An assertion failed.
    Assertion {
        /// What it said.
        message: String,
    },
    /// An exception ended a thread of a Java program.
    Exception {
        /// Which, with the calls that led to it.
        message: String,
    },
    /// A signal ended it.
    Crash {
        /// Which.
        signal: i32,
        /// In which function, where known.
        function: Option<String>,
        /// Where, where known.
        place: Option<String>,
    },
}

impl Verdict {
    /// The word for it in a findings file.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Departed { .. } => "departed",
            Verdict::Benign => "benign",
            Verdict::OutputDiffers => "output",
            Verdict::ExitStatus { .. } => "status",
            Verdict::Hang { .. } => "hang",
            Verdict::UseAfterFree { .. } => "use-after-free",
            Verdict::Deadlock { .. } => "deadlock",
            Verdict::Assertion { .. } => "assertion",
            Verdict::Exception { .. } => "exception",
            Verdict::Crash { .. } => "crash",
        }
    }

    /// Whether the program went wrong: more than another output.
    pub fn is_failure(&self) -> bool {
        *self > Verdict::OutputDiffers
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Departed { message } => write!(f, "left the schedule: {message}"),
            Verdict::Benign => write!(f, "ran to the end: benign here"),
            Verdict::OutputDiffers => write!(f, "output differs"),
            Verdict::ExitStatus { got, expected } => {
                let expected = expected.strip_prefix("exit ").unwrap_or(expected);
                write!(f, "exit status {got} instead of {expected}")
            }
            Verdict::Hang { seconds } => write!(f, "did not end within {seconds} seconds"),
            Verdict::UseAfterFree { message } => f.write_str(message),
            Verdict::Deadlock { threads } => {
                let numbers: Vec<String> = threads.iter().map(u32::to_string).collect();
                match numbers.split_last() {
                    Some((last, [])) => write!(f, "deadlock: thread {last}"),
                    Some((last, rest)) => {
                        write!(f, "deadlock: threads {} and {last}", rest.join(", "))
                    }
                    None => write!(f, "deadlock"),
                }
            }
            Verdict::Assertion { message } => write!(f, "assertion failed: {message}"),
            Verdict::Exception { message } => write!(f, "{message}"),
            Verdict::Crash { signal, function, place } => {
                write!(f, "{}", signal_name(*signal))?;
                function.iter().try_for_each(|function| write!(f, " in {function}"))?;
                place.iter().try_for_each(|place| write!(f, " at {place}"))
            }
        }
    }
}

/// How the recorded run ended, to compare with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    /// `exit 0`, `signal 11`.
    pub ended: String,
    /// What it wrote to standard output; none to compare how it ended alone.
    pub stdout: Option<Vec<u8>>,
    /// The exceptions that ended threads of a Java program.
    pub uncaught: Vec<String>,
}

impl Reference {
    /// Returns the end of a recorded run, with its output if the run was quiet.
    pub fn of(run: &Run, stdout: Option<Vec<u8>>) -> Reference {
        let uncaught = if run.java {
            let end = java::RunEnd::load(&run.log()).unwrap_or_default();
            end.uncaught.iter().map(|e| e.text()).collect()
        } else {
            Vec::new()
        };
        Reference { ended: run.ended(), stdout, uncaught }
    }
}

/// Judges a replayed run.
///
/// # Errors
/// When its log cannot be read.
pub fn judge(run: &Run, reference: &Reference, seconds: u64) -> Result<Verdict, Error> {
    if run.java {
        return judge_java(run, reference, seconds);
    }
    let path = run.log();
    let bytes = std::fs::read(&path).map_err(foretell_translate::Error::file(&path))?;
    let log =
        Log::parse(&bytes).map_err(|source| foretell_translate::Error::Log { path, source })?;
    let end = End::of(&log);
    if let Some(message) = end.departure {
        return Ok(Verdict::Departed { message });
    }
    if let Some(threads) = end.deadlock {
        return Ok(Verdict::Deadlock { threads });
    }
    let crashed = !run.timed_out && run.status.signal().is_some();
    if let (Some(message), false) = (end.use_after_free, crashed && run.ended() != reference.ended)
    {
        return Ok(Verdict::UseAfterFree { message });
    }
    if run.timed_out {
        return Ok(Verdict::Hang { seconds });
    }
    if let Some(signal) = run.status.signal() {
        if let Some(message) = assertion(&run.stderr()) {
            return Ok(Verdict::Assertion { message });
        }
        if run.ended() != reference.ended {
            let (function, place) = end.crash.unwrap_or_default();
            return Ok(Verdict::Crash { signal, function, place });
        }
    } else if run.ended() != reference.ended {
        let got = run.status.code().unwrap_or(-1);
        return Ok(Verdict::ExitStatus { got, expected: reference.ended.clone() });
    }
    Ok(by_output(run, reference))
}

fn by_output(run: &Run, reference: &Reference) -> Verdict {
    let same = reference.stdout.as_ref().is_none_or(|stdout| *stdout == run.stdout());
    if same { Verdict::Benign } else { Verdict::OutputDiffers }
}

/// Judges a replayed run of a Java program.
fn judge_java(run: &Run, reference: &Reference, seconds: u64) -> Result<Verdict, Error> {
    let end = java::RunEnd::load(&run.log())?;
    if let Some(message) = end.departure {
        return Ok(Verdict::Departed { message });
    }
    if let Some(threads) = end.deadlock {
        return Ok(Verdict::Deadlock { threads });
    }
    if let Some(e) = end.uncaught.iter().find(|e| !reference.uncaught.contains(&e.text())) {
        return Ok(match e.assertion() {
            Some(message) => Verdict::Assertion { message },
            None => Verdict::Exception { message: e.text() },
        });
    }
    if run.timed_out {
        return Ok(Verdict::Hang { seconds });
    }
    if run.ended() != reference.ended {
        let verdict = match (run.status.signal(), run.status.code()) {
            (Some(signal), _) => Verdict::Crash { signal, function: None, place: None },
            (None, code) => {
                Verdict::ExitStatus { got: code.unwrap_or(-1), expected: reference.ended.clone() }
            }
        };
        return Ok(verdict);
    }
    Ok(by_output(run, reference))
}

/// The end of a run, according to its log.
#[derive(Default)]
struct End {
    departure: Option<String>,
    deadlock: Option<Vec<u32>>,
    /// The first one, in words.
    use_after_free: Option<String>,
    /// Function and place of the signal that ended it.
    crash: Option<(Option<String>, Option<String>)>,
}

impl End {
    fn of(log: &Log<'_>) -> End {
        let mut end = End::default();
        let mut symbols = Symbols::default();
        let mut stacks: FxHashMap<u32, Stack> = FxHashMap::default();
        let mut freed = Freed::default();
        // The last code address of each thread: where it was when a library function gave up.
        let mut last = FxHashMap::default();
        for entry in log.events().map_while(Result::ok) {
            if let Some(pc) = entry.record.pc() {
                last.insert(entry.thread, pc);
            }
            if end.use_after_free.is_none() {
                let around = stacks.get(&entry.thread).and_then(Stack::innermost);
                end.use_after_free = freed.take(&entry, around, &mut symbols);
            }
            match entry.record {
                Record::Module { bias, start, end, path, .. } => {
                    symbols.add(start, end, bias, path);
                }
                Record::ModuleGone { start } => symbols.remove(start),
                Record::FuncEntry { pc, call } => {
                    stacks.entry(entry.thread).or_default().enter(pc, call);
                }
                Record::FuncExit => stacks.entry(entry.thread).or_default().exit(),
                Record::Departure { message, .. } => {
                    let message = String::from_utf8_lossy(message);
                    end.departure = Some(symbols.with_places(&message));
                }
                Record::Deadlock { threads } => {
                    let stuck = threads.iter().filter(|b| b.what != WaitingFor::Runnable);
                    let in_cycle = stuck.clone().filter(|b| b.what != WaitingFor::Join);
                    let mut numbers: Vec<u32> = in_cycle.map(|b| b.thread).collect();
                    if numbers.is_empty() {
                        numbers = stuck.map(|b| b.thread).collect();
                    }
                    end.deadlock = Some(numbers);
                }
                Record::Crash { pc, .. } => {
                    let code = symbols.exact(pc);
                    end.crash = Some(if code.known {
                        (code.function().map(str::to_owned), Some(code.location.clone()))
                    } else {
                        let inner = stacks.get(&entry.thread).and_then(Stack::innermost);
                        let function = inner.and_then(|pc| {
                            symbols.code(pc).functions.last().map(|(name, _)| name.clone())
                        });
                        let place = last.get(&entry.thread).map(|&pc| symbols.code(pc));
                        let place = place.filter(|c| c.known).map(|c| c.location.clone());
                        (function, place)
                    });
                }
                _ => {}
            }
        }
        end
    }
}

/// What a failed `assert` said: `bank.c:41: audit: total == 100`.
fn assertion(stderr: &str) -> Option<String> {
    let line = stderr.lines().find(|line| line.contains(": Assertion `"))?;
    let (head, rest) = line.split_once(": Assertion `")?;
    let text = rest.strip_suffix("' failed.").unwrap_or(rest);
    // `program: file:line: function`
    let mut parts = head.splitn(2, ": ");
    let place = match (parts.next(), parts.next()) {
        (Some(_), Some(place)) => place,
        (place, _) => place.unwrap_or_default(),
    };
    let (place, function) = place.rsplit_once(": ").unwrap_or((place, ""));
    let place = place.rsplit('/').next().unwrap_or(place);
    // C++ says the whole signature: `void bank::audit(int)`.
    let function = function.split('(').next().unwrap_or(function);
    let function = function.rsplit(' ').next().unwrap_or(function);
    Some(format!("`{text}` in {function} at {place}"))
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGPIPE => "SIGPIPE",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_in_words() {
        let text = |v: Verdict| v.to_string();
        let crash = |function: Option<&str>| Verdict::Crash {
            signal: libc::SIGSEGV,
            function: function.map(str::to_owned),
            place: Some("a.c:31".to_owned()),
        };
        assert_eq!(text(crash(Some("get_info"))), "SIGSEGV in get_info at a.c:31");
        assert_eq!(text(Verdict::Deadlock { threads: vec![1, 2] }), "deadlock: threads 1 and 2");
        assert_eq!(text(Verdict::Deadlock { threads: vec![1] }), "deadlock: thread 1");
        let status = Verdict::ExitStatus { got: 1, expected: "exit 0".to_owned() };
        assert_eq!(text(status.clone()), "exit status 1 instead of 0");
        assert!(crash(None) > status && status > Verdict::OutputDiffers);
        assert!(!Verdict::OutputDiffers.is_failure() && crash(None).is_failure());
    }

    #[test]
    fn assertions_are_recognised() {
        let stderr = "x\nprog: dir/bank.c:41: audit: Assertion `total == 100' failed.\n";
        assert_eq!(assertion(stderr).unwrap(), "`total == 100` in audit at bank.c:41");
        let cpp = "prog: bank.cpp:4: void audit(int): Assertion `ok' failed.";
        assert_eq!(assertion(cpp).unwrap(), "`ok` in audit at bank.cpp:4");
        assert_eq!(assertion("all is well"), None);
    }
}
