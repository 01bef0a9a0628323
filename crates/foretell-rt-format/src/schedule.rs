//! The schedule that drives a replayed run.
//!
//! It is text with one item a line, so that people can read it:
//! ```text
//! foretell-schedule 2
//! module /path/of/program
//! thread 1 0 0
//! hold 0 20
//! step 0 17 Create 0 4521
//! reach 0 18 Write 0 4530
//! reach 1 0 Read 0 4711
//! step 0 18 Write 0 4530
//! step 1 0 Read 0 4711
//! ```
//! - `module PATH`: modules, numbered from 0 in the order of the lines.
//! - `thread T PARENT NTH`: recorded thread `T` was the `NTH` (from 0) thread created by `PARENT`.
//!   Creation order may differ in the replayed run; this may not. Threads are numbered as in
//!   the log, 0 is the initial thread and needs no line.
//! - `step THREAD ORDINAL KIND MODULE OFFSET`: let `THREAD` run until its step number `ORDINAL`
//!   has run; the step must be of this [`Kind`] at this code address (`pc` of the record minus
//!   the module's load bias). MODULE `-` compares the kind alone.
//! - `reach THREAD ORDINAL KIND MODULE OFFSET`: let `THREAD` run until it stands before that step,
//!   and leave it there. The log says which memory the step is about to touch.
//! - `block THREAD ORDINAL KIND MODULE OFFSET`: let `THREAD` run until it waits in that step: for a
//!   lock, or for the end of a thread.
//! - `hold THREAD ORDINAL`: `THREAD`, which has no step left in the schedule, runs no further than
//!   to its step `ORDINAL` as long as the schedule lasts, even if another thread waits for it. A
//!   thread without such a line may run to its end then.
//! - `first THREAD`: `THREAD` runs first when the last step has run, if it can.
//!
//! Steps of one thread must have rising ordinals; a step may be reached before it runs. A step that
//! shares its ordinal with the one before (several trace events that are one step of the program)
//! is left out by the writer.

use crate::record::Kind;
use std::fmt;

/// The creator of threads that the runtime did not see being created: `nth` is the ordinal among
/// these.
pub const ADOPTED: u32 = u32::MAX;

const FIRST_LINE: &str = "foretell-schedule 2";
const NO_LINE: &str = "expected `module`, `thread`, `hold`, `first`, `step`, `reach` or `block`";

/// Origin of a recorded thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadOrigin {
    /// The thread.
    pub thread: u32,
    /// Its creator.
    pub parent: u32,
    /// Number of threads the creator had created before.
    pub nth: u32,
}

/// One step: let `thread` run until its step `ordinal` has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The thread.
    pub thread: u32,
    /// Number of steps of the thread before this one.
    pub ordinal: u64,
    /// Kind of the step.
    pub kind: Kind,
    /// Index of the module and offset in it (`pc` minus load bias), unless not to be compared.
    pub place: Option<(u32, u64)>,
}

/// Action of a line of the schedule on its step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Runs the thread until the step has run.
    Run,
    /// Runs the thread until it stands before the step.
    Reach,
    /// Runs the thread until it waits in the step.
    Block,
}

impl Act {
    /// Returns the first word of the line.
    pub fn name(self) -> &'static str {
        match self {
            Act::Run => "step",
            Act::Reach => "reach",
            Act::Block => "block",
        }
    }

    fn from_name(name: &str) -> Option<Act> {
        [Act::Run, Act::Reach, Act::Block].into_iter().find(|act| act.name() == name)
    }
}

/// A step, and the action on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScheduledStep {
    /// The action.
    pub act: Act,
    /// The step.
    pub step: Step,
}

/// A schedule.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schedule {
    /// Paths of modules.
    pub modules: Vec<String>,
    /// Origins of the threads other than the first.
    pub threads: Vec<ThreadOrigin>,
    /// Threads with the steps before which they stay while the schedule lasts.
    pub holds: Vec<(u32, u64)>,
    /// The steps.
    pub steps: Vec<ScheduledStep>,
    /// The thread that runs first after the last step, if it can.
    pub first: Option<u32>,
}

/// An error in a schedule, with its line (from 1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleError {
    /// The line.
    pub line: usize,
    /// Description of the error.
    pub what: &'static str,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for ScheduleError {}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        for m in &self.modules {
            writeln!(f, "module {m}")?;
        }
        for t in &self.threads {
            writeln!(f, "thread {} {} {}", t.thread, t.parent, t.nth)?;
        }
        for (thread, ordinal) in &self.holds {
            writeln!(f, "hold {thread} {ordinal}")?;
        }
        if let Some(thread) = self.first {
            writeln!(f, "first {thread}")?;
        }
        for ScheduledStep { act, step } in &self.steps {
            write!(f, "{} {} {} {}", act.name(), step.thread, step.ordinal, step.kind.name())?;
            match step.place {
                Some((m, o)) => writeln!(f, " {m} {o}")?,
                None => writeln!(f, " - 0")?,
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let mut schedule = Schedule::default();
        for (i, line) in text.lines().enumerate() {
            let parsed = match (i, line.split_once(' ')) {
                (0, _) if line == FIRST_LINE => Ok(()),
                (0, _) => Err("not a schedule: it must begin with `foretell-schedule 2`"),
                (_, Some(("module", path))) => {
                    schedule.modules.push(path.to_owned());
                    Ok(())
                }
                (_, Some(("thread", rest))) => thread(rest)
                    .map(|t| schedule.threads.push(t))
                    .ok_or("expected `thread T PARENT NTH`"),
                (_, Some(("hold", rest))) => hold(rest)
                    .map(|h| schedule.holds.push(h))
                    .ok_or("expected `hold THREAD ORDINAL`"),
                (_, Some(("first", rest))) => rest
                    .parse()
                    .map(|thread| schedule.first = Some(thread))
                    .map_err(|_| "expected `first THREAD`"),
                (_, Some((act, rest))) => match Act::from_name(act) {
                    Some(act) => step(rest)
                        .map(|step| schedule.steps.push(ScheduledStep { act, step }))
                        .ok_or("expected `step THREAD ORDINAL KIND MODULE OFFSET`"),
                    None => Err(NO_LINE),
                },
                _ => Err(NO_LINE),
            };
            parsed.map_err(|what| ScheduleError { line: i + 1, what })?;
        }
        if text.is_empty() {
            return Err(ScheduleError { line: 1, what: "the schedule is empty" });
        }
        Ok(schedule)
    }
}

fn thread(rest: &str) -> Option<ThreadOrigin> {
    let mut w = rest.split(' ');
    let mut number = || w.next()?.parse().ok();
    let origin = ThreadOrigin { thread: number()?, parent: number()?, nth: number()? };
    w.next().is_none().then_some(origin)
}

fn hold(rest: &str) -> Option<(u32, u64)> {
    let (thread, ordinal) = rest.split_once(' ')?;
    Some((thread.parse().ok()?, ordinal.parse().ok()?))
}

fn step(rest: &str) -> Option<Step> {
    let mut w = rest.split(' ');
    let thread = w.next()?.parse().ok()?;
    let ordinal = w.next()?.parse().ok()?;
    let kind = Kind::from_name(w.next()?)?;
    let module = w.next()?;
    let offset: u64 = w.next()?.parse().ok()?;
    let place = match module {
        "-" => None,
        m => Some((m.parse().ok()?, offset)),
    };
    w.next().is_none().then_some(Step { thread, ordinal, kind, place })
}
