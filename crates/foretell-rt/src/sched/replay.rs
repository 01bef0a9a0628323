//! Driving the program along a schedule.
//!
//! While the schedule lasts, the thread of the current step holds the baton and runs up to the
//! step's ordinal; kind and code location are compared before the step runs. It keeps the baton
//! through the step, and gives it away at its next hook, or where it blocks, ends, or enters a
//! blocking call. The first difference ends the program loudly. After the last step the seeded
//! scheduler takes over.
//!
//! A thread that is in a blocking call when its step is due may wait for another process, which
//! waits for what another thread does between two of its own steps: for a server's answer to the
//! request before. So if the thread does not come back soon, the other threads run ahead, each up
//! to its own next step: the schedule says nothing about what comes before that. A thread that has
//! no step left stays where it is.

use super::{NONE, Sched, describe, wait_report};
use crate::modules;
use crate::sys::{self, say};
use crate::thread::{Baton, State, ThreadRef, Wake};
use foretell_rt_format::{ADOPTED, DEPARTURE_STATUS, Kind, Record, Schedule, Step, WaitingFor};
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
}

/// Whether a schedule is being followed.
pub(crate) static ON: AtomicBool = AtomicBool::new(false);

/// Nanoseconds that a thread may be in a blocking call before the other threads run ahead.
pub(crate) const IDLE_NS: u64 = 50_000_000;

impl Replay {
    pub(crate) const fn new() -> Replay {
        let schedule = Schedule { modules: Vec::new(), threads: Vec::new(), steps: Vec::new() };
        Replay { active: false, schedule, at: 0, stop: false, idle_since: 0, ahead: None }
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

    /// Whether every step has begun.
    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.schedule.steps.len()
    }

    /// The first index the schedule does not use.
    pub(crate) fn fresh_index(&self) -> u32 {
        self.schedule.threads.iter().map(|o| o.thread + 1).max().unwrap_or(1)
    }
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

/// Decides about the thread with the baton, which is about to run its step `ordinal`.
pub(super) fn turn(s: &mut Sched, t: Baton, ordinal: u64, kind: Kind, pc: usize) -> Turn {
    let index = t.index();
    let Some(&step) = s.replay.schedule.steps.get(s.replay.at) else {
        over(s);
        return Turn::Over;
    };
    if step.thread != index {
        let goes_on = |(who, until)| who == index && ordinal < until;
        let ahead = s.replay.ahead.is_some_and(goes_on) && due_is_in_call(s);
        return if ahead { Turn::Run { budget: 0 } } else { Turn::Other };
    }
    if ordinal < step.ordinal {
        return Turn::Run { budget: step.ordinal - ordinal - 1 };
    }
    if ordinal > step.ordinal || !matches(s, &step, kind, pc) {
        let location = modules::location(pc);
        let got = format!("{} number {ordinal} at {location}", kind.name());
        depart(s, Some(*t), &got);
    }
    s.replay.at += 1;
    let budget = match s.replay.schedule.steps.get(s.replay.at) {
        Some(next) if next.thread == index && next.ordinal > ordinal => next.ordinal - ordinal - 1,
        None if s.replay.stop => {
            raise_trap();
            0
        }
        _ => 0,
    };
    Turn::Run { budget }
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

fn matches(s: &Sched, step: &Step, kind: Kind, pc: usize) -> bool {
    if step.kind != kind {
        return false;
    }
    let Some((module, offset)) = step.place else { return true };
    let path = s.replay.schedule.modules.get(module as usize).map_or("", |m| m.as_str());
    modules::offset_in(path.as_bytes(), pc) == Some(offset)
}

/// Ends the schedule: all threads may run.
pub(crate) fn over(s: &mut Sched) {
    s.replay.active = false;
    ON.store(false, Relaxed);
    s.put_last(&Record::StepsDone);
}

/// Checks that the schedule allows the calling thread to block: between two steps it does, and
/// where it has no say; in the middle of one of its steps it does not.
pub(super) fn blocks(s: &mut Sched, t: Baton, between: bool) {
    let ahead = s.replay.ahead.is_some_and(|(who, _)| who == t.index());
    if between || ahead || s.replay.at_end() {
        return;
    }
    // The step it is in has been compared already if the schedule names it: that one is to blame.
    let ordinal = t.hot(|hot| (hot.limit as i64 - hot.budget - 1) as u64);
    let begun = s.replay.at.checked_sub(1).and_then(|i| s.replay.schedule.steps.get(i));
    if begun.is_some_and(|step| step.thread == t.index() && step.ordinal == ordinal) {
        s.replay.at -= 1;
    }
    t.wait().state.set(State::Blocked);
    let got = line(s, t.index());
    depart(s, Some(*t), &got);
}

/// Returns the line that says what a thread waits for.
fn line(s: &Sched, thread: u32) -> String {
    let report = wait_report(s);
    let line = report.iter().find(|b| b.thread == thread);
    line.map_or(String::new(), |b| describe(s, b))
}

/// The thread that the current step names; it can run, or the program departs. `None` while it is
/// in a blocking call: no thread runs until it is back.
pub(super) fn next(s: &mut Sched) -> Option<ThreadRef> {
    let me = s.get(s.current);
    let step = s.replay.schedule.steps[s.replay.at];
    let Some(t) = s.get(step.thread) else {
        if s.replay.adopts(step.thread) {
            s.replay.ahead = None;
            s.replay.idle_since = sys::now_ns(libc::CLOCK_MONOTONIC);
            return None;
        }
        let got = format!("thread {} has not been created", step.thread);
        depart(s, me, &got);
    };
    let wait = t.wait();
    if wait.state.get() == State::Blocked
        && wait.what.get() == WaitingFor::Condition
        && step.kind == Kind::TimedOut
    {
        s.make_runnable(t, Wake::Time);
    }
    if wait.state.get() == State::Blocked {
        let got = line(s, step.thread);
        depart(s, me, &got);
    }
    if wait.state.get() == State::Finished {
        let got = format!("thread {} has ended", step.thread);
        depart(s, me, &got);
    }
    s.replay.ahead = None;
    if wait.state.get() == State::Outside {
        s.replay.idle_since = sys::now_ns(libc::CLOCK_MONOTONIC);
        return None;
    }
    Some(t)
}

/// Whether the thread of the step that is due is in a blocking call, in a wait that is not
/// modelled, or not adopted yet.
fn due_is_in_call(s: &Sched) -> bool {
    let Some(step) = s.replay.schedule.steps.get(s.replay.at) else { return false };
    match s.get(step.thread) {
        Some(t) => t.wait().state.get() == State::Outside,
        None => s.replay.adopts(step.thread),
    }
}

/// Whether a thread that waits for the baton, and has waited for a while, takes it to run ahead.
pub(super) fn runs_ahead(s: &mut Sched, t: ThreadRef) -> bool {
    let idle = sys::now_ns(libc::CLOCK_MONOTONIC).saturating_sub(s.replay.idle_since);
    let runnable = t.wait().state.get() == State::Runnable;
    let waits = s.replay.active && s.current == NONE && runnable;
    if !waits || idle < IDLE_NS || !due_is_in_call(s) {
        return false;
    }
    let index = t.index();
    // A thread that has asked for its turn has no budget left, and is about to run the step that
    // it asked for.
    let ordinal = t.hot(|hot| (hot.limit as i64 - hot.budget.max(0)) as u64);
    let steps = &s.replay.schedule.steps[s.replay.at..];
    let mine = steps.iter().find(|step| step.thread == index).map(|step| (index, step.ordinal));
    s.replay.ahead = mine.filter(|&(_, until)| ordinal < until);
    s.replay.ahead.is_some()
}

/// Puts the waiters first whose wake-up the schedule wants first.
pub(super) fn prefer(s: &Sched, waiting: &mut [ThreadRef]) {
    let rest = &s.replay.schedule.steps[s.replay.at.min(s.replay.schedule.steps.len())..];
    waiting.sort_by_key(|t| {
        rest.iter()
            .position(|step| step.thread == t.index() && step.kind == Kind::Woken)
            .unwrap_or(usize::MAX)
    });
}

/// Reports that the run is not the one of the schedule, and ends the program.
pub(crate) fn depart(s: &mut Sched, t: Option<ThreadRef>, got: &str) -> ! {
    let at = s.replay.at;
    let expected = match s.replay.schedule.steps.get(at) {
        None => "nothing".to_owned(),
        Some(step) => {
            let location = step.place.map_or(String::new(), |(m, offset)| {
                let path = s.replay.schedule.modules.get(m as usize);
                let path = path.map_or("?", |p| p.rsplit('/').next().unwrap_or(p));
                format!(" at {path}+{offset:#x}")
            });
            let (kind, ordinal, thread) = (step.kind.name(), step.ordinal, step.thread);
            format!("{kind} number {ordinal} of thread {thread}{location}")
        }
    };
    let who = t.map_or(String::new(), |t| format!("thread {}: ", t.index()));
    let message = format!("expected {expected}; got {who}{got}");
    say!("replay departed from the schedule at step {at}: {message}");
    s.put_last(&Record::Departure { step: at as u64, message: message.as_bytes() });
    sys::exit_group(DEPARTURE_STATUS)
}
