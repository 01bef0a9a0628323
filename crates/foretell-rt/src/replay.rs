//! Driving the program along a schedule.
//!
//! While the schedule lasts, the thread of the current step holds the baton and runs up to the
//! step's ordinal; kind and code location are compared before the step runs. It keeps the baton
//! through the step, and gives it away at its next hook, or where it blocks or ends, or goes into a call of
//! the system that may block. The first difference ends the program loudly. After the last step the seeded
//! scheduler takes over.
//!
//! A thread that is in a call of the system when its step is due may wait for somebody outside, who waits for what another
//! thread does between two of its own steps: for a server's answer to the request before. So if it does not come back soon, others
//! run ahead, each up to its own next step: the schedule says nothing about what comes before that, and nobody else has
//! to do with it. A thread that has no step left stays where it is.

use crate::log;
use crate::sched::{NONE, Sched, situation};
use crate::sys::{self, say};
use crate::thread::{State, Thread, Wake};
use foretell_rt_format::{DEPARTURE_STATUS, Kind, Record, Schedule, Step, WaitingFor};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The schedule and how far it has come.
pub(crate) struct Replay {
    pub(crate) active: bool,
    pub(crate) schedule: Schedule,
    /// The step to run next.
    pub(crate) at: usize,
    /// Raise SIGTRAP before the last step.
    pub(crate) stop: bool,
    /// Since when nobody runs because the thread of the step is in a call of the system, on the monotonic clock.
    idle_since: u64,
    /// The thread that runs ahead, and the ordinal of the step that it may not run.
    ahead: Option<(u32, u64)>,
}

/// Whether a schedule is being followed.
pub(crate) static ON: AtomicBool = AtomicBool::new(false);

/// How long a thread may be in a call of the system before others run ahead.
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

    /// The first index the schedule does not use.
    pub(crate) fn fresh_index(&self) -> u32 {
        self.schedule.threads.iter().map(|o| o.thread + 1).max().unwrap_or(1)
    }
}

/// What a thread that reached a step does.
pub(crate) enum Turn {
    /// Runs this step and `budget` more.
    Run { budget: u64 },
    /// Gives the baton to another thread and asks again.
    Other,
    /// The schedule is over.
    Over,
}

/// The thread with the baton is about to run its step `ordinal`.
pub(crate) unsafe fn turn(
    s: &mut Sched,
    t: *mut Thread,
    ordinal: u64,
    kind: Kind,
    pc: usize,
) -> Turn {
    // SAFETY: the scheduler's lock is held; `t` is the calling thread.
    unsafe {
        let index = (*t).index;
        let Some(&step) = s.replay.schedule.steps.get(s.replay.at) else {
            over(s);
            return Turn::Over;
        };
        if step.thread != index {
            let goes_on = |(who, until)| who == index && ordinal < until;
            let ahead = s.replay.ahead.is_some_and(goes_on) && due_is_outside(s);
            return if ahead { Turn::Run { budget: 0 } } else { Turn::Other };
        }
        if ordinal < step.ordinal {
            return Turn::Run { budget: step.ordinal - ordinal - 1 };
        }
        if ordinal > step.ordinal || !matches(s, &step, kind, pc) {
            let place = crate::modules::place(pc);
            let got = format!("{} number {ordinal} at {place}", kind.name());
            depart(s, t, &got);
        }
        s.replay.at += 1;
        let budget = match s.replay.schedule.steps.get(s.replay.at) {
            Some(next) if next.thread == index && next.ordinal > ordinal => {
                next.ordinal - ordinal - 1
            }
            None if s.replay.stop => {
                raise_trap();
                0
            }
            _ => 0,
        };
        Turn::Run { budget }
    }
}

/// Stops under a debugger, right before the last step.
unsafe fn raise_trap() {
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
    crate::modules::offset_in(path.as_bytes(), pc) == Some(offset)
}

/// Whether every step has begun.
pub(crate) fn at_end(s: &Sched) -> bool {
    s.replay.at >= s.replay.schedule.steps.len()
}

/// The schedule is over: everybody may run.
pub(crate) unsafe fn over(s: &mut Sched) {
    s.replay.active = false;
    ON.store(false, Relaxed);
    // SAFETY: the calling thread holds the baton; there is one stream.
    unsafe {
        if let Some(t) = s.living().next() {
            log::put((*t).hot.stream, &Record::StepsDone);
        }
    }
}

/// The calling thread blocks. Between two steps that is in order, and where the schedule has no say; in the middle of
/// one of its steps the schedule said that it would not.
pub(crate) unsafe fn blocks(s: &mut Sched, t: *mut Thread, between: bool) {
    // SAFETY: the scheduler's lock is held; `t` is the calling thread.
    unsafe {
        let ahead = s.replay.ahead.is_some_and(|(who, _)| who == (*t).index);
        if between || ahead || at_end(s) {
            return;
        }
        // The step it is in has been compared already if the schedule names it: blame that one.
        let ordinal = ((*t).hot.limit as i64 - (*t).hot.budget - 1) as u64;
        let begun = s.replay.at.checked_sub(1).and_then(|i| s.replay.schedule.steps.get(i));
        if begun.is_some_and(|step| step.thread == (*t).index && step.ordinal == ordinal) {
            s.replay.at -= 1;
        }
        let got = stuck_line(s, t);
        depart(s, t, &got);
    }
}

unsafe fn stuck_line(s: &Sched, t: *mut Thread) -> String {
    // SAFETY: the scheduler's lock is held.
    unsafe {
        (*t).wait.state = State::Blocked;
        let all = situation(s);
        let mine = all.iter().find(|b| b.thread == (*t).index);
        mine.map_or(String::new(), |b| crate::sched::describe(s, b))
    }
}

/// The thread that the current step names; it can run, or the program departs. None while it is in a call
/// of the system: nobody runs until it is back.
pub(crate) unsafe fn next(s: &mut Sched) -> Option<*mut Thread> {
    // SAFETY: the scheduler's lock is held; the caller held the baton.
    unsafe {
        let me = s.get(s.current);
        let step = s.replay.schedule.steps[s.replay.at];
        let t = s.get(step.thread);
        if t.is_null() {
            let got = format!("thread {} has not been created", step.thread);
            depart(s, me, &got);
        }
        if (*t).wait.state == State::Blocked
            && (*t).wait.what == WaitingFor::Condition
            && step.kind == Kind::TimedOut
        {
            s.ready(t, Wake::Time);
        }
        if (*t).wait.state == State::Blocked {
            let all = situation(s);
            let line = all.iter().find(|b| b.thread == step.thread);
            let got = line.map_or(String::new(), |b| crate::sched::describe(s, b));
            depart(s, me, &got);
        }
        if (*t).wait.state == State::Finished {
            let got = format!("thread {} has ended", step.thread);
            depart(s, me, &got);
        }
        s.replay.ahead = None;
        if (*t).wait.state == State::Outside {
            s.replay.idle_since = sys::now_ns(libc::CLOCK_MONOTONIC);
            return None;
        }
        Some(t)
    }
}

/// Whether the thread of the step that is due is in a call of the system.
unsafe fn due_is_outside(s: &Sched) -> bool {
    let due = s.replay.schedule.steps.get(s.replay.at).map(|step| s.get(step.thread));
    // SAFETY: the scheduler's lock is held; threads live as long as the process.
    due.is_some_and(|t| !t.is_null() && unsafe { (*t).wait.state } == State::Outside)
}

/// Whether a thread that waits for the baton, and has waited for a while, takes it to run ahead.
pub(crate) unsafe fn runs_ahead(s: &mut Sched, t: *mut Thread) -> bool {
    // SAFETY: the scheduler's lock is held; `t` is the calling thread.
    unsafe {
        let idle = sys::now_ns(libc::CLOCK_MONOTONIC).saturating_sub(s.replay.idle_since);
        let waits = s.replay.active && s.current == NONE && (*t).wait.state == State::Runnable;
        if !waits || idle < IDLE_NS || !due_is_outside(s) {
            return false;
        }
        let index = (*t).index;
        // A thread that has asked for its turn has no budget left, and is about to run the step that it asked for.
        let ordinal = ((*t).hot.limit as i64 - (*t).hot.budget.max(0)) as u64;
        let steps = &s.replay.schedule.steps[s.replay.at..];
        let mine = steps.iter().find(|step| step.thread == index).map(|step| (index, step.ordinal));
        s.replay.ahead = mine.filter(|&(_, until)| ordinal < until);
        s.replay.ahead.is_some()
    }
}

/// Puts those first whose wake-up the schedule wants first.
pub(crate) fn prefer(s: &Sched, waiting: &mut [*mut Thread]) {
    let rest = &s.replay.schedule.steps[s.replay.at.min(s.replay.schedule.steps.len())..];
    waiting.sort_by_key(|&t| {
        // SAFETY: threads live as long as the process.
        let index = unsafe { (*t).index };
        rest.iter()
            .position(|step| step.thread == index && step.kind == Kind::Woken)
            .unwrap_or(usize::MAX)
    });
}

/// The run is not the one of the schedule: says so and ends the program.
pub(crate) unsafe fn depart(s: &mut Sched, t: *mut Thread, got: &str) -> ! {
    let at = s.replay.at;
    let expected = match s.replay.schedule.steps.get(at) {
        None => "nothing".to_owned(),
        Some(step) => {
            let place = step.place.map_or(String::new(), |(m, offset)| {
                let path = s.replay.schedule.modules.get(m as usize);
                let path = path.map_or("?", |p| p.rsplit('/').next().unwrap_or(p));
                format!(" at {path}+{offset:#x}")
            });
            format!("{} number {} of thread {}{place}", step.kind.name(), step.ordinal, step.thread)
        }
    };
    // SAFETY: the caller holds the baton or the process is about to end.
    unsafe {
        let who = if t.is_null() { String::new() } else { format!("thread {}: ", (*t).index) };
        let message = format!("expected {expected}; got {who}{got}");
        say!("replay departed from the schedule at step {at}: {message}");
        let stream = s.living().next().map(|t| (*t).hot.stream);
        if let Some(stream) = stream {
            let record = Record::Departure { step: at as u64, message: message.as_bytes() };
            log::put(stream, &record);
        }
    }
    sys::exit_group(DEPARTURE_STATUS)
}
