//! Waiting: for the baton, for an object, for a moment, for a call of the system to return.

use super::{BLOCKED, LOCK, NONE, sched};
use crate::log;
use crate::replay;
use crate::sys::{Wait, futex_wait, now_ns};
use crate::thread::{State, Thread, Wake};
use foretell_rt_format::WaitingFor;
use std::sync::atomic::Ordering::*;

/// How often a thread whose time is over looks whether everybody else is idle.
const POLL_NS: u64 = 10_000_000;

/// Waits for the baton.
pub(crate) unsafe fn wait_turn(t: *mut Thread) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        while (*t).wait.go.swap(0, Acquire) == 0 {
            let timeout = match (*t).wait.real_deadline {
                u64::MAX if replay::ON.load(Relaxed) => Some(replay::IDLE_NS),
                u64::MAX => None,
                at => Some(at.saturating_sub(now_ns(libc::CLOCK_MONOTONIC)).max(POLL_NS / 10)),
            };
            match futex_wait(&(*t).wait.go, 0, timeout) {
                Wait::TimedOut => time_over(t),
                Wait::Interrupted => interrupted(t),
                Wait::Changed => {}
            }
        }
        log::switch((*t).hot.stream, (*t).index);
    }
}

/// The real deadline of a blocked thread has passed, or one has waited for a while in a replay.
unsafe fn time_over(t: *mut Thread) {
    // SAFETY: the lock is taken.
    unsafe {
        LOCK.lock();
        let s = sched();
        let mut handed = None;
        if (*t).wait.state == State::Blocked && !s.replay.active {
            let now = now_ns(libc::CLOCK_MONOTONIC);
            if s.current == NONE && s.runnable.is_empty() {
                let first = s.first_sleeper();
                if !first.is_null() && (*first).wait.real_deadline <= now {
                    s.now = s.now.max((*first).wait.virtual_deadline);
                    s.ready(first, Wake::Time);
                    handed = s.pass();
                }
            } else if (*t).wait.real_deadline.saturating_add((*t).wait.patience) <= now {
                // The others run few hooks: do not keep it for ever.
                s.ready(t, Wake::Time);
            } else if (*t).wait.real_deadline <= now {
                LOCK.unlock();
                futex_wait(&(*t).wait.go, 0, Some(POLL_NS));
                return;
            }
        } else if replay::runs_ahead(s, t) {
            s.take((*t).index);
            handed = Some(s.hand(t));
        }
        LOCK.unlock();
        if let Some(h) = handed {
            h.wake();
        }
    }
}

/// A signal handler ran while the thread was waiting.
unsafe fn interrupted(t: *mut Thread) {
    // SAFETY: the lock is taken.
    unsafe {
        if (*t).hot.signalled == 0 {
            return;
        }
        interrupt(t);
    }
}

/// Lets a blocked thread look at a signal or a cancellation request.
pub(crate) unsafe fn interrupt(t: *mut Thread) {
    // SAFETY: the lock is taken.
    unsafe {
        LOCK.lock();
        let s = sched();
        let mut handed = None;
        if (*t).wait.state == State::Blocked && (*t).wait.interruptible {
            s.ready(t, Wake::Interrupt);
            if s.current == NONE {
                handed = s.pass();
            }
        }
        LOCK.unlock();
        if let Some(h) = handed {
            h.wake();
        }
    }
}

/// A moment at which a wait ends.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    /// On the monotonic clock.
    pub(crate) real: u64,
    /// From now, rounded so that it does not depend on how fast the program got here.
    pub(crate) rounded: u64,
}

impl Deadline {
    /// So many nanoseconds from now.
    pub(crate) fn after(ns: u64) -> Deadline {
        let grain = if ns >= 10_000_000 { 10_000_000 } else { 1_000_000 };
        let rounded = if ns == 0 { 0 } else { ns.div_ceil(grain).saturating_mul(grain) };
        Deadline { real: now_ns(libc::CLOCK_MONOTONIC).saturating_add(ns), rounded }
    }
}

/// What a thread waits for.
#[derive(Clone, Copy)]
pub(crate) struct Waiting {
    pub(crate) what: WaitingFor,
    pub(crate) object: usize,
    pub(crate) pc: usize,
    /// Offset in the object of the owner's thread id; 0: it has none.
    pub(crate) owner_at: usize,
    /// Between two steps (a wait and its end), not in the middle of one.
    pub(crate) between: bool,
}

/// Blocks the calling thread until somebody wakes it.
pub(crate) unsafe fn block(t: *mut Thread, w: Waiting, deadline: Option<Deadline>) -> Wake {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        LOCK.lock();
        let s = sched();
        (*t).wait.what = w.what;
        (*t).wait.object = w.object;
        (*t).wait.owner_at = w.owner_at;
        (*t).wait.pc = w.pc;
        (*t).wait.interruptible = true;
        if let Some(d) = deadline {
            (*t).wait.virtual_deadline = s.now.saturating_add(d.rounded);
            (*t).wait.real_deadline = d.real;
            (*t).wait.patience = d.rounded.saturating_add(1_000_000_000);
        }
        if s.replay.active {
            replay::blocks(s, t, w.between);
        }
        s.tickets += 1;
        (*t).wait.ticket = s.tickets;
        (*t).wait.state = State::Blocked;
        BLOCKED.fetch_add(1, Relaxed);
        s.blocked.push(t);
        let next = s.pass();
        LOCK.unlock();
        if let Some(next) = next {
            next.wake();
        }
        wait_turn(t);
        (*t).wait.what = WaitingFor::Runnable;
        (*t).wait.wake
    }
}

/// Wakes up to `max` threads that wait for `object`, first come first served. The number woken.
pub(crate) unsafe fn wake_waiters(what: &[WaitingFor], object: usize, max: usize) -> usize {
    if BLOCKED.load(Relaxed) == 0 {
        return 0;
    }
    // SAFETY: the lock is taken.
    LOCK.with(|| unsafe {
        let s = sched();
        let matches = |t: *mut Thread| (*t).wait.object == object && what.contains(&(*t).wait.what);
        let mut waiting: Vec<*mut Thread> = Vec::new();
        waiting.extend(s.blocked.iter().filter(|&&t| matches(t)));
        waiting.sort_by_key(|&t| (*t).wait.ticket);
        if max < waiting.len() && s.replay.active {
            replay::prefer(s, &mut waiting);
        }
        waiting.truncate(max);
        for &t in &waiting {
            (*t).wait.notified = true;
            s.ready(t, Wake::Event);
        }
        waiting.len()
    })
}

/// Gives the baton away for a call of the system.
pub(crate) unsafe fn go_outside(t: *mut Thread, name: &'static str, pc: usize) {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        LOCK.lock();
        let s = sched();
        (*t).wait.call = name;
        (*t).wait.what = WaitingFor::Call;
        (*t).wait.pc = pc;
        (*t).wait.state = State::Outside;
        s.outside += 1;
        let next = s.pass();
        LOCK.unlock();
        (*t).wait.in_blocking_call.store(1, Relaxed);
        if let Some(next) = next {
            next.wake();
        }
    }
}

/// Takes the baton back after a call of the system.
pub(crate) unsafe fn come_back(t: *mut Thread) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        (*t).wait.in_blocking_call.store(0, Relaxed);
        LOCK.lock();
        let s = sched();
        s.outside -= 1;
        (*t).wait.what = WaitingFor::Runnable;
        if s.current == NONE && !s.replay.active {
            let _now = s.hand(t);
            LOCK.unlock();
            log::switch((*t).hot.stream, (*t).index);
        } else {
            (*t).wait.state = State::Runnable;
            s.runnable.push((*t).index);
            // A schedule may have waited for this thread, or for one that comes back later.
            let next = if s.current == NONE { s.pass() } else { None };
            LOCK.unlock();
            if let Some(next) = next {
                next.wake();
            }
            wait_turn(t);
        }
    }
}
