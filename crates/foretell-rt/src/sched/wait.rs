//! Waiting: for the baton, for an object, for a moment, for a blocking call to return.

use super::{BLOCKED, NONE, SCHED, Sched, replay, unlock_and_wake};
use crate::recorder;
use crate::sys::{Wait, futex_wait, now_ns};
use crate::thread::{Baton, State, ThreadRef, Wake};
use foretell_rt_format::WaitingFor;
use std::sync::atomic::Ordering::*;

/// Interval at which a thread whose time is over looks whether all other threads are idle.
const POLL_NS: u64 = 10_000_000;

/// Value of a thread's `go`: it holds the baton.
pub(super) const GO: u32 = 1;
/// Value of a thread's `go`: a signal was kept for it. Not 0, so that a wait which begins just
/// after the signal does not sleep.
const LOOK: u32 = 2;

/// Makes the calling thread look at the signal that was kept for it, if it waits for the baton or
/// is about to. Called by a signal handler.
pub(crate) fn look_at_signal(t: ThreadRef) {
    // One that has been given the baton looks at its next hook.
    let _ = t.wait().go.compare_exchange(0, LOOK, Relaxed, Relaxed);
}

/// Waits until the calling thread has the baton.
pub(crate) fn wait_turn(t: ThreadRef) -> Baton {
    let wait = t.wait();
    // One may have been kept in a wait that ended for another reason.
    let mut look = t.signalled();
    loop {
        if look {
            interrupt(t);
        }
        match wait.go.swap(0, Acquire) {
            GO => break,
            value => look = value == LOOK && t.signalled(),
        }
        if look {
            continue;
        }
        let timeout = match wait.real_deadline.get() {
            u64::MAX if replay::ON.load(Relaxed) => Some(replay::IDLE_NS),
            u64::MAX => None,
            at => Some(at.saturating_sub(now_ns(libc::CLOCK_MONOTONIC)).max(POLL_NS / 10)),
        };
        if futex_wait(&wait.go, 0, timeout) == Wait::TimedOut {
            check_deadline(t);
        }
    }
    // SAFETY: the baton was handed to the calling thread.
    let t = unsafe { Baton::assume(t) };
    t.switch_stream();
    t
}

/// Lets a blocked thread go on whose real deadline has passed, or one run ahead that has waited for
/// a while in a replay.
fn check_deadline(t: ThreadRef) {
    let wait = t.wait();
    let mut s = SCHED.lock();
    let mut handed = None;
    if wait.state.get() == State::Blocked && !s.replay.active {
        let now = now_ns(libc::CLOCK_MONOTONIC);
        if s.current == NONE && s.runnable.is_empty() {
            let first = s.first_sleeper();
            if let Some(first) = first.filter(|t| t.wait().real_deadline.get() <= now) {
                s.now = s.now.max(first.wait().virtual_deadline.get());
                s.make_runnable(first, Wake::Time);
                handed = s.pass();
            }
        } else if wait.real_deadline.get().saturating_add(wait.patience.get()) <= now {
            // The other threads run few hooks: the thread does not wait for ever.
            s.make_runnable(t, Wake::Time);
        } else if wait.real_deadline.get() <= now {
            drop(s);
            futex_wait(&wait.go, 0, Some(POLL_NS));
            return;
        }
    } else if replay::runs_ahead(&mut s, t) {
        s.take(t.index());
        handed = Some(s.hand(t));
    }
    unlock_and_wake(s, handed);
}

/// Lets a blocked thread look at a signal or a cancellation request.
pub(crate) fn interrupt(t: ThreadRef) {
    let mut s = SCHED.lock();
    let mut handed = None;
    if t.wait().state.get() == State::Blocked && t.wait().interruptible.get() {
        s.make_runnable(t, Wake::Interrupt);
        if s.current == NONE {
            handed = s.pass();
        }
    }
    unlock_and_wake(s, handed);
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
    /// Returns the moment that is `ns` nanoseconds from now.
    pub(crate) fn after(ns: u64) -> Deadline {
        let grain = if ns >= 10_000_000 { 10_000_000 } else { 1_000_000 };
        let rounded = if ns == 0 { 0 } else { ns.div_ceil(grain).saturating_mul(grain) };
        Deadline { real: now_ns(libc::CLOCK_MONOTONIC).saturating_add(ns), rounded }
    }
}

/// A wait of a thread.
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

/// Blocks the calling thread until it is woken.
pub(crate) fn block(t: Baton, w: Waiting, deadline: Option<Deadline>) -> Wake {
    recorder::put_frames(t);
    let wait = t.wait();
    let mut s = SCHED.lock();
    wait.what.set(w.what);
    wait.object.set(w.object);
    wait.owner_at.set(w.owner_at);
    wait.pc.set(w.pc);
    wait.interruptible.set(true);
    if let Some(d) = deadline {
        wait.virtual_deadline.set(s.now.saturating_add(d.rounded));
        wait.real_deadline.set(d.real);
        wait.patience.set(d.rounded.saturating_add(1_000_000_000));
    }
    if s.replay.active {
        replay::blocks(&mut s, t, w.between);
    }
    s.tickets += 1;
    wait.ticket.set(s.tickets);
    wait.state.set(State::Blocked);
    BLOCKED.fetch_add(1, Relaxed);
    s.blocked.push(*t);
    let next = s.pass();
    let watched = s.unknown_threads;
    unlock_and_wake(s, next);
    if watched {
        // The watchdog looks again.
        crate::watchdog::start();
    }
    wait_turn(*t);
    wait.what.set(WaitingFor::Runnable);
    wait.wake.get()
}

/// Wakes up to `max` threads that wait for `object`, first come first served. Returns their number.
pub(crate) fn wake_waiters(what: &[WaitingFor], object: usize, max: usize) -> usize {
    if BLOCKED.load(Relaxed) == 0 {
        return 0;
    }
    wake_waiters_in(&mut SCHED.lock(), what, object, max)
}

/// Whether a thread waits for `object`.
pub(crate) fn is_awaited(what: WaitingFor, object: usize) -> bool {
    let waits = |t: &ThreadRef| t.wait().object.get() == object && t.wait().what.get() == what;
    BLOCKED.load(Relaxed) != 0 && SCHED.lock().blocked.iter().any(waits)
}

/// Wakes threads as [`wake_waiters`] does, with the scheduler's lock held.
pub(super) fn wake_waiters_in(
    s: &mut Sched,
    what: &[WaitingFor],
    object: usize,
    max: usize,
) -> usize {
    let matches =
        |t: &ThreadRef| t.wait().object.get() == object && what.contains(&t.wait().what.get());
    let mut waiting: Vec<ThreadRef> = Vec::new();
    waiting.extend(s.blocked.iter().filter(|t| matches(t)));
    waiting.sort_by_key(|t| t.wait().ticket.get());
    if max < waiting.len() && s.replay.active {
        replay::prefer(s, &mut waiting);
    }
    waiting.truncate(max);
    for &t in &waiting {
        s.make_runnable(t, Wake::Event);
    }
    waiting.len()
}

/// Gives the baton away for a blocking call.
pub(crate) fn enter_blocking_call(t: Baton, name: &'static str, pc: usize) {
    recorder::put_frames(t);
    let wait = t.wait();
    let mut s = SCHED.lock();
    wait.call.set(name);
    wait.what.set(WaitingFor::Call);
    wait.pc.set(pc);
    wait.state.set(State::Outside);
    s.in_blocking_calls += 1;
    let next = s.pass();
    drop(s);
    wait.in_blocking_call.store(1, Relaxed);
    if let Some(next) = next {
        next.wake();
    }
    if t.signalled() {
        // It came too late for the hook and too early for the call, which might never return.
        let t = leave_blocking_call(*t);
        crate::signal::deliver(t);
        enter_blocking_call(t, name, pc);
    }
}

/// Takes the baton back after a blocking call.
pub(crate) fn leave_blocking_call(t: ThreadRef) -> Baton {
    let wait = t.wait();
    wait.in_blocking_call.store(0, Relaxed);
    let mut s = SCHED.lock();
    s.in_blocking_calls -= 1;
    wait.what.set(WaitingFor::Runnable);
    if s.current == NONE && !s.replay.active {
        let _now = s.hand(t);
        drop(s);
        // SAFETY: the calling thread has just taken the baton.
        let t = unsafe { Baton::assume(t) };
        t.switch_stream();
        return t;
    }
    wait.state.set(State::Runnable);
    s.runnable.push(t.index());
    // A schedule may have waited for this thread, or for one that comes back later.
    let next = if s.current == NONE { s.pass() } else { None };
    unlock_and_wake(s, next);
    wait_turn(t)
}
