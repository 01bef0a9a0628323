//! Driving the program along a schedule.
//!
//! While the schedule lasts, the thread of the current step holds the baton and runs up to the
//! step's ordinal; kind and code location are compared before the step runs. It keeps the baton
//! through the step, and gives it away at its next hook, or where it blocks, ends, or enters a
//! blocking call. The first difference ends the program loudly. After the last step the seeded
//! scheduler takes over.
//!
//! A thread may have to be *reached* before a step: it stays there, and the log says which memory
//! the step is about to touch. Two threads that have been reached stand before their accesses at
//! the same time. Or it has to *block* in the step: when all threads that shall do so wait, the log
//! says what each waits for.
//!
//! The thread of the current step may need others. It is in a blocking call and waits for another
//! process, which waits for what another thread does between two of its own steps (a server's
//! answer to the request before); or it waits for the end of a thread that the schedule says
//! nothing about. The other threads run ahead then, each up to its own next step, or, if it has
//! none left, up to its first recorded event that is not in the schedule ([`bound`]): nothing in
//! the schedule depends on what comes before that. If that does not help, the run departs.

use super::{NONE, Sched, describe, wait_report};
use crate::log;
use crate::modules;
use crate::sys::{self, say};
use crate::thread::{Baton, State, ThreadRef, Wake};
use foretell_rt_format::{
    ADOPTED, Act, DEPARTURE_STATUS, Kind, Record, Schedule, ScheduledStep, Step, WaitingFor,
};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The schedule and how far it has come.
pub(crate) struct Replay {
    pub(crate) active: bool,
    schedule: Schedule,
    /// The step to run next.
    at: usize,
    /// Raise SIGTRAP before the last step.
    stop: bool,
    /// The time on the monotonic clock since which no thread runs, because the thread of the step
    /// is in a blocking call.
    idle_since: u64,
    /// The thread that runs ahead, and the ordinal of the step that it may not run.
    ahead: Option<(u32, u64)>,
    /// The thread that waits in the middle of a step that it has begun, and whether that is the
    /// step before the one that is due.
    unfinished: Option<(u32, bool)>,
    /// The thread that has begun a step in which it has to wait.
    must_block: Option<u32>,
    /// Number of times that a thread asked for others to run (`sched_yield`), which a schedule does
    /// not do.
    pub(crate) yields: u64,
}

/// Whether a schedule is being followed.
pub(crate) static ON: AtomicBool = AtomicBool::new(false);

/// Nanoseconds that a thread may be in a blocking call before the other threads run ahead.
pub(crate) const IDLE_NS: u64 = 50_000_000;

impl Replay {
    pub(crate) const fn new() -> Replay {
        let schedule = Schedule {
            modules: Vec::new(),
            threads: Vec::new(),
            holds: Vec::new(),
            steps: Vec::new(),
            first: None,
        };
        Replay {
            active: false,
            schedule,
            at: 0,
            stop: false,
            idle_since: 0,
            ahead: None,
            unfinished: None,
            must_block: None,
            yields: 0,
        }
    }

    /// The index of the `nth` thread that `parent` creates, if the schedule knows it.
    pub(crate) fn index_of(&self, parent: u32, nth: u32) -> Option<u32> {
        let known = self.schedule.threads.iter();
        known.clone().find(|o| o.parent == parent && o.nth == nth).map(|o| o.thread)
    }

    /// Whether no recorded thread creates this one.
    fn adopts(&self, thread: u32) -> bool {
        self.schedule.threads.iter().any(|o| o.thread == thread && o.parent == ADOPTED)
    }

    /// Follows a schedule from now on; `stop`: raises SIGTRAP before the last step.
    pub(crate) fn follow(&mut self, schedule: Schedule, stop: bool) {
        (self.schedule, self.active, self.stop) = (schedule, true, stop);
        ON.store(true, Relaxed);
    }

    /// Whether every step has begun, and no thread has still to wait.
    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.schedule.steps.len()
            && self.must_block.is_none()
            && self.unfinished.is_none()
    }

    /// The first index the schedule does not use.
    pub(crate) fn fresh_index(&self) -> u32 {
        self.schedule.threads.iter().map(|o| o.thread + 1).max().unwrap_or(1)
    }

    fn step(&self) -> Option<Step> {
        self.schedule.steps.get(self.at).map(|scheduled| scheduled.step)
    }

    /// The thread whose turn it is.
    fn due(&self) -> Option<u32> {
        self.unfinished.map(|(thread, _)| thread).or_else(|| self.step().map(|s| s.thread))
    }

    /// The ordinal of the step before which a thread stays while it is not due.
    fn bound(&self, thread: u32) -> u64 {
        let rest = self.schedule.steps.get(self.at..).unwrap_or_default();
        let scheduled = rest.iter().find(|s| s.step.thread == thread).map(|s| s.step.ordinal);
        let held = || self.schedule.holds.iter().find(|h| h.0 == thread).map(|h| h.1);
        scheduled.or_else(held).unwrap_or(u64::MAX)
    }
}

/// A step that a thread is about to run.
#[derive(Clone, Copy)]
pub(super) struct NextStep {
    pub(super) ordinal: u64,
    pub(super) kind: Kind,
    pub(super) pc: usize,
    /// Address and length of the memory that it touches; the length is 0 where it touches none.
    pub(super) memory: (usize, usize),
}

/// Decision about a thread that has reached a step.
pub(crate) enum Turn {
    /// Runs this step and `budget` more.
    Run { budget: u64 },
    /// Gives the baton to another thread and asks again.
    Other,
    /// The schedule is over.
    Over,
}

/// Decides about the thread with the baton, which is about to run a step.
pub(super) fn turn(s: &mut Sched, t: Baton, next: NextStep) -> Turn {
    let index = t.index();
    let NextStep { ordinal, kind, pc, memory } = next;
    if s.replay.must_block == Some(index) {
        // It has gone through the step in which it had to wait.
        s.replay.at -= 1;
        let location = modules::location(pc);
        depart(
            s,
            Some(*t),
            &format!("no wait before {} number {ordinal} at {location}", kind.name()),
        );
    }
    s.replay.unfinished = s.replay.unfinished.filter(|&(thread, _)| thread != index);
    loop {
        let Some(&ScheduledStep { act, step }) = s.replay.schedule.steps.get(s.replay.at) else {
            if s.replay.unfinished.is_some() {
                return if goes_ahead(s, index, ordinal) {
                    Turn::Run { budget: 0 }
                } else {
                    Turn::Other
                };
            }
            over(s);
            return Turn::Over;
        };
        if step.thread != index || s.replay.unfinished.is_some() {
            return if goes_ahead(s, index, ordinal) {
                Turn::Run { budget: 0 }
            } else {
                Turn::Other
            };
        }
        if ordinal < step.ordinal {
            return Turn::Run { budget: step.ordinal - ordinal - 1 };
        }
        if let Some(difference) = difference(s, &step, ordinal, kind, pc) {
            let location = modules::location(pc);
            let got = format!("{} number {ordinal} at {location} ({difference})", kind.name());
            depart(s, Some(*t), &got);
        }
        if act == Act::Reach {
            let (step, (addr, len)) = (s.replay.at as u64, memory);
            // SAFETY: the calling thread has the baton, and so the stream.
            unsafe {
                log::put(t.stream(), &Record::Reached { step, addr: addr as u64, len: len as u64 });
            }
            s.replay.at += 1;
            continue;
        }
        s.replay.at += 1;
        if act == Act::Block {
            s.replay.must_block = Some(index);
        }
        let budget = match s.replay.step() {
            Some(next) if next.thread == index && next.ordinal > ordinal && act == Act::Run => {
                next.ordinal - ordinal - 1
            }
            None if s.replay.stop => {
                raise_trap();
                0
            }
            _ => 0,
        };
        return Turn::Run { budget };
    }
}

/// Whether a thread that is not due goes on ahead of the one that is.
fn goes_ahead(s: &Sched, thread: u32, ordinal: u64) -> bool {
    let may = |(who, until)| who == thread && ordinal < until;
    s.replay.ahead.is_some_and(may) && due_waits(s)
}

/// Stops under a debugger, right before the last step.
fn raise_trap() {
    // SAFETY: plain system calls.
    unsafe {
        let pid = sys::call(libc::SYS_getpid, [0; 6]) as usize;
        let tid = sys::gettid() as usize;
        sys::call(libc::SYS_tgkill, [pid, tid, libc::SIGTRAP as usize, 0, 0, 0]);
    }
}

/// Returns the difference between the step that is due and the one that its thread is about to run.
fn difference(s: &Sched, step: &Step, ordinal: u64, kind: Kind, pc: usize) -> Option<String> {
    if ordinal != step.ordinal {
        return Some("the thread is past the expected step".to_owned());
    }
    if step.kind != kind {
        return Some("another kind of step".to_owned());
    }
    let (module, offset) = step.place?;
    let path = s.replay.schedule.modules.get(module as usize).map_or("", |m| m.as_str());
    match modules::offset_in(path.as_bytes(), pc) {
        Some(at) if at == offset => None,
        Some(at) => Some(format!("another instruction: at {at:#x} instead of {offset:#x}")),
        None => Some(format!("code outside of {path}")),
    }
}

/// Ends the schedule: all threads may run.
pub(crate) fn over(s: &mut Sched) {
    s.replay.active = false;
    s.first = s.replay.schedule.first;
    ON.store(false, Relaxed);
    s.put_last(&Record::StepsDone);
}

/// Takes note that the calling thread blocks: between two of its steps, or in the middle of one. A
/// thread in the middle of a step is due until it has finished the step.
pub(super) fn blocks(s: &mut Sched, t: Baton, between: bool) {
    let index = t.index();
    if s.replay.must_block == Some(index) {
        s.replay.must_block = None;
        t.wait().state.set(State::Blocked);
        if s.replay.at_end() {
            all_blocked(s, t);
        }
        return;
    }
    let ahead = s.replay.ahead.is_some_and(|(who, _)| who == index);
    if between || ahead || s.replay.at_end() {
        return;
    }
    let ordinal = t.hot(|hot| (hot.limit as i64 - hot.budget - 1) as u64);
    let begun = s.replay.at.checked_sub(1).and_then(|i| s.replay.schedule.steps.get(i));
    let begun = begun.is_some_and(|b| b.step.thread == index && b.step.ordinal == ordinal);
    s.replay.unfinished = Some((index, begun));
}

/// Writes that all threads wait that have to, or departs.
fn all_blocked(s: &mut Sched, t: Baton) {
    let steps = s.replay.schedule.steps.iter().filter(|scheduled| scheduled.act == Act::Block);
    let waits = |thread| s.get(thread).is_some_and(|t| t.wait().state.get() == State::Blocked);
    let woken = steps.map(|scheduled| scheduled.step.thread).find(|&thread| !waits(thread));
    if let Some(thread) = woken {
        let got = line(s, thread);
        depart(s, Some(*t), &format!("{got}, which no longer waits"));
    }
    let threads = wait_report(s);
    // SAFETY: the calling thread has the baton, and so the stream.
    unsafe { log::put(t.stream(), &Record::AllBlocked { threads }) };
}

/// Returns the line that says what a thread waits for.
fn line(s: &Sched, thread: u32) -> String {
    let report = wait_report(s);
    let line = report.iter().find(|b| b.thread == thread);
    line.map_or(String::new(), |b| describe(s, b))
}

/// The thread that the current step names, or one that runs ahead because that thread waits; the
/// program departs if neither can run. `None` while the thread is in a blocking call, or waits for
/// one that is: no thread runs until it is back.
pub(super) fn next(s: &mut Sched) -> Option<ThreadRef> {
    let me = s.get(s.current);
    if let Some(thread) = s.replay.must_block {
        // It has ended, or has gone elsewhere.
        s.replay.at -= 1;
        let got = line(s, thread);
        depart(s, me, if got.is_empty() { "the end of the thread" } else { &got });
    }
    s.replay.ahead = None;
    let due = s.replay.due()?;
    let Some(t) = s.get(due) else {
        if s.replay.adopts(due) {
            s.replay.idle_since = sys::now_ns(libc::CLOCK_MONOTONIC);
            return None;
        }
        return ahead_of(s, None).unwrap_or_else(|| {
            let got = format!("thread {due} has not been created");
            depart(s, me, &got)
        });
    };
    let wait = t.wait();
    let times_out = s.replay.unfinished.is_none()
        && wait.what.get() == WaitingFor::Condition
        && s.replay.step().is_some_and(|step| step.kind == Kind::TimedOut);
    if wait.state.get() == State::Blocked && times_out {
        s.make_runnable(t, Wake::Time);
    }
    // A wake-up is no step, and a wait for a futex may end at any time: the thread looks again.
    let on_futex = wait.state.get() == State::Blocked && wait.what.get() == WaitingFor::Futex;
    if on_futex && wait.real_deadline.get() == u64::MAX {
        s.make_runnable(t, Wake::Event);
    }
    match wait.state.get() {
        State::Blocked => ahead_of(s, Some(t)).unwrap_or_else(|| {
            if wait.real_deadline.get() != u64::MAX {
                s.make_runnable(t, Wake::Time);
                return Some(t);
            }
            if s.replay.unfinished.is_some_and(|(_, begun)| begun) {
                // The step that it is in has been compared already: that one is to blame.
                s.replay.at -= 1;
            }
            let got = line(s, due);
            depart(s, me, &got)
        }),
        State::Finished => {
            let got = format!("thread {due} has ended");
            depart(s, me, &got)
        }
        State::Outside => {
            s.replay.idle_since = sys::now_ns(libc::CLOCK_MONOTONIC);
            None
        }
        _ => Some(t),
    }
}

/// Chooses a thread that runs ahead of `due`, which is blocked or has not been created: the one
/// that it waits for, if that is known. Returns `Some(None)` if all those that could are in
/// blocking calls, and `None` if there are none.
fn ahead_of(s: &mut Sched, due: Option<ThreadRef>) -> Option<Option<ThreadRef>> {
    let wanted = due.and_then(|due| {
        let report = wait_report(s).into_iter().find(|b| b.thread == due.index())?;
        if report.what == WaitingFor::Join { Some(report.object as u32) } else { report.owner }
    });
    let free = |t: &ThreadRef| next_ordinal(*t) < s.replay.bound(t.index());
    let is = |state: State| move |t: &ThreadRef| t.wait().state.get() == state;
    let could: Vec<ThreadRef> = s.living().filter(|t| due != Some(*t)).filter(free).collect();
    let mut runnable: Vec<ThreadRef> = Vec::new();
    runnable.extend(could.iter().copied().filter(is(State::Runnable)));
    let first = runnable.iter().find(|t| wanted == Some(t.index())).or(runnable.first());
    if let Some(&t) = first {
        s.replay.ahead = Some((t.index(), s.replay.bound(t.index())));
        return Some(Some(t));
    }
    if could.iter().any(is(State::Outside)) {
        s.replay.idle_since = sys::now_ns(libc::CLOCK_MONOTONIC);
        return Some(None);
    }
    None
}

/// Returns the ordinal of the step that a thread without the baton runs next. A thread that has
/// asked for its turn has no budget left, and is about to run the step that it asked for.
fn next_ordinal(t: ThreadRef) -> u64 {
    t.hot(|hot| (hot.limit as i64 - hot.budget.max(0)) as u64)
}

/// Whether the thread that is due waits: it is blocked, in a blocking call, or not there yet.
fn due_waits(s: &Sched) -> bool {
    let state = s.replay.due().map(|due| s.get(due).map(|t| t.wait().state.get()));
    state.is_some_and(|state| matches!(state, None | Some(State::Blocked | State::Outside)))
}

/// Whether a thread that waits for the baton, and has waited for a while, takes it to run ahead.
pub(super) fn runs_ahead(s: &mut Sched, t: ThreadRef) -> bool {
    let idle = sys::now_ns(libc::CLOCK_MONOTONIC).saturating_sub(s.replay.idle_since);
    let runnable = t.wait().state.get() == State::Runnable;
    let waits = s.replay.active && s.current == NONE && runnable;
    if !waits || idle < IDLE_NS || !due_waits(s) {
        return false;
    }
    let index = t.index();
    let until = s.replay.bound(index);
    s.replay.ahead = (next_ordinal(t) < until).then_some((index, until));
    s.replay.ahead.is_some()
}

/// Puts the waiters first whose wake-up the schedule wants first, then the one that goes on when
/// the schedule ends, and those last that it wants to time out.
pub(super) fn prefer(s: &Sched, waiting: &mut [ThreadRef]) {
    let rest = &s.replay.schedule.steps[s.replay.at.min(s.replay.schedule.steps.len())..];
    let ends_wait = |kind: Kind| matches!(kind, Kind::Woken | Kind::TimedOut);
    waiting.sort_by_key(|t| {
        let end = rest
            .iter()
            .position(|s| s.step.thread == t.index() && ends_wait(s.step.kind))
            .map(|at| (rest[at].step.kind == Kind::TimedOut, at));
        match end {
            Some((false, at)) => (0, at),
            None if s.replay.schedule.first == Some(t.index()) => (1, 0),
            None => (2, 0),
            Some((true, at)) => (3, at),
        }
    });
}

/// Reports that the run is not the one of the schedule, and ends the program.
pub(crate) fn depart(s: &mut Sched, t: Option<ThreadRef>, got: &str) -> ! {
    let at = s.replay.at;
    let expected = match s.replay.schedule.steps.get(at) {
        None => "nothing".to_owned(),
        Some(&ScheduledStep { act, step }) => {
            let location = step.place.map_or(String::new(), |(m, offset)| {
                let path = s.replay.schedule.modules.get(m as usize);
                let path = path.map_or("?", |p| p.rsplit('/').next().unwrap_or(p));
                format!(" at {path}+{offset:#x}")
            });
            let (kind, ordinal, thread) = (step.kind.name(), step.ordinal, step.thread);
            match act {
                Act::Block => {
                    format!("thread {thread} to wait in {kind} number {ordinal}{location}")
                }
                Act::Run | Act::Reach => {
                    format!("{kind} number {ordinal} of thread {thread}{location}")
                }
            }
        }
    };
    let who = t.map_or(String::new(), |t| format!("thread {}: ", t.index()));
    let message = format!("expected {expected}; got {who}{got}");
    say!("replay departed from the schedule at step {at}: {message}");
    s.put_last(&Record::Departure { step: at as u64, message: message.as_bytes() });
    sys::exit_group(DEPARTURE_STATUS)
}
