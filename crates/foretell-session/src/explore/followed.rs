//! A run along a schedule: what an exploration needs to know of it.

use std::path::Path;
use std::sync::Arc;

use foretell_build::ScratchDirectory;
use foretell_explore::{Open, Pending};
use foretell_launch::{Launch, Mode, Run};
use foretell_rt_format::DEPARTURE_STATUS;
use foretell_trace::{EventId, EventKind, FailureKind, RunFailure, ThreadId, Trace, VarId};
use foretell_translate::{Blocks, Steps, ThreadWait, TraceOutput};

use crate::Error;
use crate::record::{Recorded, record};

/// Beginning of the names of the counts of waiters that libstdc++ has for `std::atomic::wait`.
const ATOMIC_WAITERS: &str = "std::__detail::__waiter_pool";
const FUTEXES: &str = "threads wait for atomic objects or futexes: wake-ups that come too early";

/// A recorded run without its log.
#[derive(Debug)]
pub(crate) struct FollowedRun {
    pub(crate) run: Run,
    pub(crate) trace: Arc<Trace>,
    pub(crate) steps: Steps,
    pub(crate) failure: Option<RunFailure>,
    /// Reason for which the run does not show the end of all its threads.
    pub(crate) cut_short: Option<String>,
    /// Operations that stuck threads wait in.
    pub(crate) pending: Vec<(ThreadId, Pending)>,
    /// Events of waits that could have ended otherwise.
    pub(crate) limited: Vec<EventId>,
}

/// Outcome of driving the program along a schedule.
#[derive(Debug)]
pub(crate) enum Followed {
    /// The run.
    Run(Box<FollowedRun>),
    /// The program left the schedule, twice, or did not end.
    Departed(String),
    /// This process was asked to end.
    Interrupted,
}

impl FollowedRun {
    /// Returns what an exploration needs of a recorded run.
    pub(crate) fn of(recorded: Recorded, trace: Arc<Trace>) -> FollowedRun {
        let (cut_short, pending) = end(&recorded, &trace);
        let Recorded { run, translated, failure, .. } = recorded;
        let (steps, limited) = (translated.steps, translated.limited);
        FollowedRun { run, trace, steps, failure, cut_short, pending, limited }
    }

    /// Returns what the program did and whose other outcomes are not explored.
    pub(crate) fn unexplored(&self) -> Vec<Open> {
        let mut open: Vec<Open> = Vec::new();
        for note in self.run.unexplored() {
            let outside = |what: &str| Open::Outside(what.to_owned());
            open.extend(match note {
                "tried" => Some(Open::TimedWaits(
                    "semaphores that are tried, or waited for with a time limit".to_owned(),
                )),
                "process" => Some(outside("the program creates processes")),
                "thread" => Some(outside("a thread of the system or of a library takes part")),
                "shared" => Some(outside("an object is shared with other processes")),
                "signal" => Some(outside("signals are handled")),
                "futex" => Some(outside(FUTEXES)),
                "last" => Some(outside(
                    "the program asks which thread of a barrier is told that it is the last one",
                )),
                _ => None,
            });
        }
        // Spins before it waits, which takes as many looks as it likes: the wait may be in no run.
        let waiters =
            |x| self.trace.variable_name(VarId::from_index(x)).starts_with(ATOMIC_WAITERS);
        if (0..self.trace.variable_count()).any(waiters) {
            open.push(Open::Outside(FUTEXES.to_owned()));
        }
        for (kind, text) in self.run.unexplored_java() {
            match kind.as_str() {
                "timed" => open.push(Open::TimedWaits(text)),
                "call" => open.push(Open::Outside(text)),
                // Told by `has_shared_output`.
                _ => {}
            }
        }
        let kept = |key: &str| self.trace.meta().get(key).filter(|count| *count != "0");
        if let Some(count) = kept("kept waits") {
            open.push(Open::HiddenState(format!("{count} waits in code that is not recorded")));
        }
        if let Some(count) = kept("kept unexplained reads") {
            open.push(Open::HiddenState(format!(
                "{count} reads of values that no recorded code wrote"
            )));
        }
        open
    }
}

/// Records a run that follows a schedule first.
pub(crate) fn follow(launch: &Launch, blocks: &Blocks, schedule: &str) -> Result<Recorded, Error> {
    let directory: &Path = &launch.directory;
    let scratch =
        ScratchDirectory::new_in(directory, ".foretell-").map_err(Error::file(directory))?;
    let path = scratch.path().join("schedule");
    std::fs::write(&path, launch.schedule_here(schedule).as_bytes()).map_err(Error::file(&path))?;
    let mode = Mode::Replay { schedule: path, stop: false };
    record(&Launch { mode, quiet: true, records_on: true, ..launch.clone() }, blocks)
}

/// Runs the program along a schedule. A run that departs is tried once more.
pub(crate) fn follow_to_end(
    launch: &Launch,
    blocks: &Blocks,
    schedule: &str,
) -> Result<Followed, Error> {
    let mut departure = String::new();
    for _ in 0..2 {
        let recorded = follow(launch, blocks, schedule)?;
        if recorded.run.interrupted {
            return Ok(Followed::Interrupted);
        }
        if recorded.run.timed_out {
            let seconds = launch.limit.unwrap_or_default().as_secs();
            return Ok(Followed::Departed(format!("it did not end within {seconds} seconds")));
        }
        if recorded.run.out_of_memory {
            let most = launch.memory.unwrap_or_default() >> 20;
            return Ok(Followed::Departed(format!("it used more than {most} MiB of memory")));
        }
        if let Some(how) = departed(&recorded) {
            departure = how;
            continue;
        }
        let trace = Arc::new(match &recorded.translated.trace {
            TraceOutput::Packed(packed) => packed.unpack(),
            TraceOutput::Whole(trace) => trace.clone(),
        });
        return Ok(Followed::Run(Box::new(FollowedRun::of(recorded, trace))));
    }
    Ok(Followed::Departed(departure))
}

/// Returns how a run left its schedule, if it did.
fn departed(recorded: &Recorded) -> Option<String> {
    let run = &recorded.run;
    if run.status.code() != Some(DEPARTURE_STATUS) {
        return None;
    }
    let stderr = run.stderr();
    let line = stderr.lines().find(|line| line.contains("foretell")).unwrap_or("");
    Some(line.trim_start_matches("foretell: ").to_owned())
}

/// Returns why a run does not show the end of all its threads, and the operations that these wait
/// in. Without a reason, the waits are all that is missing.
fn end(recorded: &Recorded, trace: &Trace) -> (Option<String>, Vec<(ThreadId, Pending)>) {
    let Recorded { run, translated, failure, .. } = recorded;
    let living = translated.living.len();
    if !translated.repairs.is_empty() {
        // Code that is not recorded took part: another process, or a thread of the kernel.
        return (Some("its trace had to be repaired".to_owned()), Vec::new());
    }
    match failure {
        Some(RunFailure { kind: FailureKind::Deadlock | FailureKind::Hang, .. }) => {
            match pending(trace, &translated.waits).filter(|pending| !pending.is_empty()) {
                Some(pending) => (None, pending),
                None => (Some(format!("{living} threads were stuck")), Vec::new()),
            }
        }
        // The thread that ended the program, and others.
        _ if living > 1 => {
            (Some(format!("{living} threads had not ended at {}", run.ended())), Vec::new())
        }
        _ => (None, Vec::new()),
    }
}

/// Returns the operations that threads wait in; `None` if one of them is not known.
fn pending(trace: &Trace, waits: &[(ThreadId, ThreadWait)]) -> Option<Vec<(ThreadId, Pending)>> {
    let last_wait = |thread: ThreadId| {
        let last = trace.ids().rev().find(|&e| trace.thread(e) == thread)?;
        match trace.event(last).kind {
            EventKind::Wait { cond, lock } => Some(Pending::Woken(cond, lock)),
            _ => None,
        }
    };
    let known = |&(thread, wait): &(ThreadId, ThreadWait)| {
        // A thread that was notified waits for the lock.
        let pending = match wait {
            ThreadWait::Lock(lock) => last_wait(thread).unwrap_or(Pending::Acquire(lock)),
            ThreadWait::ReadLock(lock) => Pending::AcquireShared(lock),
            ThreadWait::Condition(_) => last_wait(thread)?,
            ThreadWait::LimitedCondition => match last_wait(thread)? {
                Pending::Woken(cond, lock) => Pending::EndOfWait(cond, lock),
                other => other,
            },
            ThreadWait::Semaphore(sem) => Pending::Down(sem),
            ThreadWait::Join(thread) => Pending::Join(thread),
            ThreadWait::Other => return None,
        };
        Some((thread, pending))
    };
    waits.iter().map(known).collect()
}
