//! The baton: exactly one recorded thread runs between two hooks, and this decides which.
//!
//! A thread that cannot go on never blocks in the kernel on the program's own object: the
//! interposed function tries the real, non-blocking operation and, when that fails, calls
//! [`block`]; whoever changes the object calls [`wake_waiters`] and the blocked thread tries
//! again. So the scheduler always knows who can run, decisions are a function of the seed, and
//! a deadlock is the plain fact that nobody can.
//!
//! Time: a sleeping thread goes on when the hooks the others have run amount to the time it
//! sleeps for ([`HOOK_NS`] each), or at once when nobody else can run; in both cases not before
//! the real time has passed. The order is thus the same in every run with the same seed, as
//! long as the program's inputs are.
//!
//! Outside: a thread in a blocking system call has given the baton away and takes it back when
//! the call returns; that moment is the outside world's and the only one not given by the seed.

mod situation;
mod wait;

pub(crate) use situation::{describe, situation};
pub(crate) use wait::{
    Deadline, Waiting, block, come_back, go_outside, interrupt, wait_turn, wake_waiters,
};

use crate::lock::Lock;
use crate::log;
use crate::recorder;
use crate::replay::{self, Replay};
use crate::sys::futex_wake;
use crate::thread::{State, Thread, Wake};
use foretell_rt_format::{Kind, WaitingFor};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// Virtual duration of a hook.
const HOOK_NS: u64 = 50;
/// After so many decisions the quantum grows by its first value, up to this many times.
const GROWTH_STEP: u64 = 256;
const MAX_GROWTH: u64 = 32;
/// So many times longer goes a thread on whose steps leave no records.
const CALM_GROWTH: u64 = 8;
/// Nobody holds the baton.
pub(crate) const NONE: u32 = u32::MAX;

/// The state of the scheduler; guarded by [`LOCK`].
pub(crate) struct Sched {
    /// By index; null where the replayed run has not created the thread (yet).
    pub(crate) threads: Vec<*mut Thread>,
    pub(crate) runnable: Vec<u32>,
    /// Those that wait for something, in no order.
    blocked: Vec<*mut Thread>,
    pub(crate) current: u32,
    pub(crate) outside: u32,
    random: u64,
    quantum: u64,
    /// Budgets given out, and their sum.
    decisions: u64,
    granted: u64,
    now: u64,
    tickets: u64,
    pub(crate) replay: Replay,
}

pub(crate) static LOCK: Lock = Lock::new();
static mut SCHED: Sched = Sched {
    threads: Vec::new(),
    runnable: Vec::new(),
    blocked: Vec::new(),
    current: NONE,
    outside: 0,
    random: 0,
    quantum: 1000,
    decisions: 0,
    granted: 0,
    now: 0,
    tickets: 0,
    replay: Replay::new(),
};
/// Threads that are blocked: nobody needs to be looked for while this is 0.
static BLOCKED: AtomicU32 = AtomicU32::new(0);
/// Hand-overs so far: the watchdog's pulse.
pub(crate) static PULSE: AtomicU64 = AtomicU64::new(0);
/// The program has handlers for signals from outside: being all blocked may end.
pub(crate) static HANDLERS: AtomicBool = AtomicBool::new(false);

/// The scheduler.
///
/// # Safety
/// [`LOCK`] is held, or there is one thread.
pub(crate) unsafe fn sched() -> &'static mut Sched {
    // SAFETY: promised by the caller.
    unsafe { &mut *(&raw mut SCHED) }
}

impl Sched {
    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A budget of hooks, the quantum on average. It grows slowly with the number of decisions:
    /// a short program is cut finely, a long computation does not pay for every thousand hooks.
    /// Where nearly all steps are on a thread's own memory it may go on for longer.
    fn quantum(&mut self, calm: bool) -> u64 {
        self.decisions += 1;
        let growth = (1 + self.decisions / GROWTH_STEP).min(MAX_GROWTH);
        let growth = if calm { growth * CALM_GROWTH } else { growth };
        let span = self.quantum.saturating_mul(2 * growth).saturating_sub(1).max(1);
        let budget = 1 + self.random() % span;
        self.granted = self.granted.saturating_add(budget);
        crate::elision::granted(self.granted);
        budget
    }

    pub(crate) fn get(&self, index: u32) -> *mut Thread {
        self.threads.get(index as usize).copied().unwrap_or(null_mut())
    }

    pub(crate) fn add(&mut self, index: u32, t: *mut Thread) {
        let at = index as usize;
        if self.threads.len() <= at {
            self.threads.resize(at + 1, null_mut());
        }
        self.threads[at] = t;
    }

    /// Threads that have not ended.
    pub(crate) fn living(&self) -> impl Iterator<Item = *mut Thread> + '_ {
        // SAFETY: threads live as long as the process.
        self.threads
            .iter()
            .copied()
            .filter(|t| !t.is_null() && unsafe { (**t).wait.state } != State::Finished)
    }

    /// Gives the baton to `t`, which can run. The caller wakes it after unlocking.
    unsafe fn hand(&mut self, t: *mut Thread) -> Handed {
        // SAFETY: threads live as long as the process.
        unsafe {
            (*t).wait.state = State::Running;
            self.current = (*t).index;
            Handed(t)
        }
    }

    /// Makes a blocked thread runnable.
    pub(crate) unsafe fn ready(&mut self, t: *mut Thread, wake: Wake) {
        // SAFETY: threads live as long as the process.
        unsafe {
            if (*t).wait.state == State::Blocked {
                BLOCKED.fetch_sub(1, Relaxed);
                self.blocked.retain(|&b| b != t);
                (*t).wait.state = State::Runnable;
                (*t).wait.wake = wake;
                (*t).wait.virtual_deadline = u64::MAX;
                (*t).wait.real_deadline = u64::MAX;
                self.runnable.push((*t).index);
            }
        }
    }

    /// Takes a given thread out of the runnable ones.
    fn take(&mut self, index: u32) -> bool {
        match self.runnable.iter().position(|&i| i == index) {
            Some(at) => {
                self.runnable.swap_remove(at);
                true
            }
            None => false,
        }
    }

    /// Lets the sleepers go on whose virtual time is over.
    unsafe fn expire(&mut self) {
        // SAFETY: as `ready`.
        unsafe {
            if BLOCKED.load(Relaxed) == 0 {
                return;
            }
            // In order of creation, so that the order of those who go on is the seed's.
            let mut over: Vec<*mut Thread> = Vec::new();
            over.extend(self.blocked.iter().filter(|&&t| (*t).wait.virtual_deadline <= self.now));
            over.sort_by_key(|&t| (*t).index);
            for t in over {
                self.ready(t, Wake::Time);
            }
        }
    }

    /// The sleeper whose virtual deadline comes first.
    fn first_sleeper(&self) -> *mut Thread {
        // SAFETY: threads live as long as the process.
        let sleepers = self.blocked.iter().copied();
        sleepers
            .filter(|t| unsafe { (**t).wait.virtual_deadline != u64::MAX })
            .min_by_key(|t| unsafe { ((**t).wait.virtual_deadline, (**t).index) })
            .unwrap_or(null_mut())
    }

    /// The current thread does not go on: picks who does. `None`: nobody can for now.
    pub(crate) unsafe fn pass(&mut self) -> Option<Handed> {
        // SAFETY: as `hand`.
        unsafe {
            if self.replay.active && replay::at_end(self) {
                replay::over(self);
            }
            if self.replay.active {
                let Some(next) = replay::next(self) else {
                    self.current = NONE;
                    return None;
                };
                self.take((*next).index);
                return Some(self.hand(next));
            }
            self.expire();
            if !self.runnable.is_empty() {
                let n = self.runnable.len() as u64;
                let at = (self.random() % n) as usize;
                let index = self.runnable.swap_remove(at);
                let next = self.get(index);
                return Some(self.hand(next));
            }
            self.current = NONE;
            if self.outside == 0 && self.first_sleeper().is_null() && !HANDLERS.load(Relaxed) {
                situation::deadlock(self);
            }
            None
        }
    }
}

/// A thread that has been given the baton and must be woken.
#[must_use]
pub(crate) struct Handed(*mut Thread);

impl Handed {
    /// Wakes it; the scheduler's lock is free.
    pub(crate) fn wake(self) {
        // SAFETY: threads live as long as the process.
        let go = unsafe { &(*self.0).wait.go };
        PULSE.fetch_add(1, Relaxed);
        go.store(1, Release);
        futex_wake(go);
    }
}

/// Starts the scheduler with the first thread, which holds the baton.
pub(crate) unsafe fn start(t: *mut Thread, seed: u64, quantum: u64) {
    // SAFETY: there is one thread.
    unsafe {
        let s = sched();
        s.random = seed;
        s.quantum = quantum.max(1);
        s.add(0, t);
        s.current = 0;
        (*t).wait.state = State::Running;
        grant(s, t);
        log::switch((*t).hot.stream, 0);
    }
}

/// A new budget; the next step has ordinal `limit` after this (it is `limit - budget`).
unsafe fn grant(s: &mut Sched, t: *mut Thread) {
    // SAFETY: `t` is the caller's.
    unsafe {
        let budget = if s.replay.active { 0 } else { s.quantum(false) };
        (*t).hot.limit = ((*t).hot.limit as i64 - (*t).hot.budget) as u64 + budget;
        (*t).hot.budget = budget as i64;
        (*t).elision.recorded_budget = (*t).hot.budget;
    }
}

/// One step of the thread is about to run: every counted record begins with this.
#[inline(always)]
pub(crate) unsafe fn step(t: *mut Thread, kind: Kind, pc: usize) {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        // Several steps may be one call.
        recorder::flush_elided(t);
        (*t).hot.budget -= 1;
        if (*t).hot.budget < 0 {
            turn(t, kind, pc);
        }
        (*t).elision.recorded_budget = (*t).hot.budget;
    }
}

/// As [`step`], but the thread keeps the baton: it has done something that no record says yet. A schedule decides
/// all the same.
pub(crate) unsafe fn held_step(t: *mut Thread, kind: Kind, pc: usize) {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        if LOCK.with(|| sched().replay.active) {
            step(t, kind, pc);
        } else {
            (*t).hot.limit += 1;
        }
    }
}

/// The budget is used up: the scheduler, or the schedule, decides who runs.
#[cold]
#[inline(never)]
unsafe fn turn(t: *mut Thread, kind: Kind, pc: usize) {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        (*t).wait.pc = pc;
        if (*t).hot.parallel {
            (*t).hot.limit = 1 << 62;
            (*t).hot.budget = 1 << 62;
            return;
        }
        let ordinal = (*t).hot.limit;
        loop {
            LOCK.lock();
            let s = sched();
            if s.replay.active {
                match replay::turn(s, t, ordinal, kind, pc) {
                    replay::Turn::Run { budget } => {
                        LOCK.unlock();
                        (*t).hot.limit = ordinal + 1 + budget;
                        (*t).hot.budget = budget as i64;
                        return;
                    }
                    replay::Turn::Over => {}
                    replay::Turn::Other => {
                        give_away(s, t);
                        continue;
                    }
                }
            }
            let budget = s.quantum(crate::elision::mostly_elided(t, ordinal));
            s.now += budget * HOOK_NS;
            (*t).hot.limit = ordinal + 1 + budget;
            (*t).hot.budget = budget as i64;
            // Others may look while this one waits.
            (*t).elision.recorded_budget = (*t).hot.budget;
            s.expire();
            let n = s.runnable.len() as u64;
            if n > 0 && s.random() % (n + 1) < n {
                give_away(s, t);
            } else {
                LOCK.unlock();
            }
            return;
        }
    }
}

/// Hands the baton over and waits for it; unlocks. The thread stays runnable.
unsafe fn give_away(s: &mut Sched, t: *mut Thread) {
    // SAFETY: the lock is held, `t` is the calling thread.
    unsafe {
        (*t).wait.state = State::Runnable;
        // Not a candidate itself: it joins the others after the choice.
        let next = s.pass();
        s.runnable.push((*t).index);
        LOCK.unlock();
        if let Some(next) = next {
            next.wake();
        }
        wait_turn(t);
    }
}

/// Lets another thread run, if one can (`sched_yield`).
pub(crate) unsafe fn give_way(t: *mut Thread) {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        LOCK.lock();
        let s = sched();
        s.expire();
        if s.replay.active || s.runnable.is_empty() {
            s.now += HOOK_NS * 20;
            LOCK.unlock();
            return;
        }
        give_away(s, t);
    }
}

/// A new thread can run from now on.
pub(crate) unsafe fn admit(t: *mut Thread) {
    // SAFETY: the lock is taken.
    LOCK.with(|| unsafe {
        let s = sched();
        s.add((*t).index, t);
        s.runnable.push((*t).index);
        grant(s, t);
    });
}

/// The creation of an admitted thread failed after all.
pub(crate) unsafe fn dismiss(t: *mut Thread) {
    // SAFETY: the lock is taken.
    LOCK.with(|| unsafe {
        let s = sched();
        s.take((*t).index);
        (*t).wait.state = State::Finished;
        s.threads[(*t).index as usize] = null_mut();
    });
}

/// The calling thread has ended. False when it was the last one: it keeps the baton.
pub(crate) unsafe fn finish(t: *mut Thread) -> bool {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        wake_waiters(&[WaitingFor::Join], (*t).index as usize, usize::MAX);
        LOCK.lock();
        let s = sched();
        (*t).wait.state = State::Finished;
        if s.living().next().is_none() {
            (*t).wait.state = State::Running;
            LOCK.unlock();
            return false;
        }
        let next = if (*t).hot.parallel { None } else { s.pass() };
        LOCK.unlock();
        if let Some(next) = next {
            next.wake();
        }
        true
    }
}

/// Hooks of the calling thread are off from now on.
pub(crate) unsafe fn retire(t: *mut Thread) {
    crate::tls::set(null_mut());
    // SAFETY: `t` was the calling thread's and has ended.
    unsafe { (*t).frames.release() };
}
