//! The baton: exactly one recorded thread runs between two hooks, and the scheduler decides which.
//!
//! A thread that cannot go on never blocks in the kernel on the program's own object: the
//! interposed function tries the real, non-blocking operation and, when that fails, calls
//! [`block`]; the thread that changes the object calls [`wake_waiters`], and the blocked thread
//! tries again. So the scheduler always knows which threads can run, decisions are a function of
//! the seed, and a deadlock is the plain fact that no thread can run.
//!
//! Time: a sleeping thread goes on when the hooks that the other threads have run amount to the
//! time it sleeps for ([`HOOK_NS`] each), or at once when no other thread can run; in both cases
//! not before the real time has passed. The order is thus the same in every run with the same
//! seed, as long as the program's inputs are.
//!
//! Blocking calls: a thread in a blocking system call has given the baton away and takes it back
//! when the call returns. That moment is the only one not given by the seed.

pub(crate) mod replay;
pub(crate) mod unmodelled;
mod wait;
mod wait_report;

pub(crate) use wait::{
    Deadline, Waiting, block, enter_blocking_call, interrupt, is_awaited, leave_blocking_call,
    look_at_signal, wait_turn, wake_waiters,
};
pub(crate) use wait_report::{describe, wait_report};

use crate::lock::{Guard, Guarded};
use crate::log;
use crate::recorder;
use crate::sys::{self, futex_wake};
use crate::thread::{Baton, State, ThreadRef, Wake, flush_elided};
use foretell_rt_format::{Kind, Record, WaitingFor};
use replay::{NextStep, Replay};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

/// Virtual duration of a hook.
pub(crate) const HOOK_NS: u64 = 50;
/// Number of decisions after which the quantum grows by its first value.
const GROWTH_STEP: u64 = 256;
/// Largest multiple of the first quantum.
const MAX_GROWTH: u64 = 32;
/// Quantum multiplier for threads whose accesses are elided.
const ELIDED_GROWTH: u64 = 8;
/// Runs that were granted fewer steps have a record of every access.
const LONG_RUN: u64 = 1 << 20;
/// Interval at which the last thread looks whether threads that the runtime does not know have
/// ended.
const UNKNOWN_POLL_NS: u64 = 2_000_000;
/// No thread holds the baton.
pub(crate) const NONE: u32 = u32::MAX;

/// State of the scheduler.
pub(crate) struct Sched {
    /// By index; `None` where the replayed run has not created the thread (yet).
    pub(crate) threads: Vec<Option<ThreadRef>>,
    pub(crate) runnable: Vec<u32>,
    /// The blocked threads, in no order.
    blocked: Vec<ThreadRef>,
    pub(crate) current: u32,
    /// Number of threads in blocking calls.
    pub(crate) in_blocking_calls: u32,
    random: u64,
    quantum: u64,
    /// Number of budgets granted.
    decisions: u64,
    /// Sum of the budgets granted.
    granted: u64,
    /// Virtual time.
    now: u64,
    tickets: u64,
    /// Number of threads that were adopted.
    pub(crate) adopted: u32,
    /// Whether no deadlock was declared because of threads that the runtime does not know.
    unknown_threads: bool,
    pub(crate) replay: Replay,
    /// The thread that runs next, if it can: the schedule has ended and says so.
    first: Option<u32>,
}

pub(crate) static SCHED: Guarded<Sched> = Guarded::new(Sched::new());
/// Number of blocked threads: no waiter is looked for while this is 0.
static BLOCKED: AtomicU32 = AtomicU32::new(0);
/// Number of times that the baton changed hands: the watchdog's pulse.
pub(crate) static PULSE: AtomicU64 = AtomicU64::new(0);
/// Whether the program has handlers for signals: that all threads are blocked may end.
pub(crate) static HANDLERS: AtomicBool = AtomicBool::new(false);
/// Whether so many steps were granted that accesses may be elided.
static LONG: AtomicBool = AtomicBool::new(false);

/// Whether so many steps were granted that accesses may be elided.
pub(crate) fn is_long_run() -> bool {
    LONG.load(Relaxed)
}

/// Returns the thread with this index.
pub(crate) fn thread(index: u32) -> Option<ThreadRef> {
    SCHED.lock().get(index)
}

/// Returns all threads, also those that have ended.
pub(crate) fn threads() -> Vec<ThreadRef> {
    SCHED.lock().threads.iter().flatten().copied().collect()
}

/// Returns the thread with this handle that has not been joined.
pub(crate) fn find_unjoined(handle: libc::pthread_t) -> Option<ThreadRef> {
    let matches =
        |t: &ThreadRef| t.lifecycle().pthread.get() == handle && !t.lifecycle().joined.get();
    SCHED.lock().threads.iter().rev().flatten().copied().find(matches)
}

/// Whether a thread id is that of a thread that has ended, and may still be there.
pub(crate) fn has_ended(tid: u32) -> bool {
    let s = SCHED.lock();
    let of = |t: &ThreadRef| t.lifecycle().tid.get() == tid;
    s.threads.iter().flatten().any(of) && !s.living().any(|t| of(&t))
}

/// Whether threads other than this one have not ended.
pub(crate) fn others_live(t: ThreadRef) -> bool {
    SCHED.lock().living().any(|other| other != t)
}

/// Whether a schedule is being followed.
pub(crate) fn replays() -> bool {
    SCHED.lock().replay.active
}

/// Forgets all threads, in the child of a fork.
pub(crate) fn reset() {
    SCHED.with(|s| *s = Sched::new());
    BLOCKED.store(0, Relaxed);
    LONG.store(false, Relaxed);
}

impl Sched {
    const fn new() -> Sched {
        Sched {
            threads: Vec::new(),
            runnable: Vec::new(),
            blocked: Vec::new(),
            current: NONE,
            in_blocking_calls: 0,
            random: 0,
            quantum: 1000,
            decisions: 0,
            granted: 0,
            now: 0,
            tickets: 0,
            adopted: 0,
            unknown_threads: false,
            replay: Replay::new(),
            first: None,
        }
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a budget of hooks, the quantum on average. It grows slowly with the number of
    /// decisions: a short program is cut finely, a long computation does not pay for every thousand
    /// hooks. A thread whose accesses are mostly elided goes on for longer.
    fn quantum(&mut self, mostly_elided: bool) -> u64 {
        self.decisions += 1;
        let growth = (1 + self.decisions / GROWTH_STEP).min(MAX_GROWTH);
        let growth = if mostly_elided { growth * ELIDED_GROWTH } else { growth };
        let span = self.quantum.saturating_mul(2 * growth).saturating_sub(1).max(1);
        let budget = crate::exit::limited(1 + self.random() % span);
        self.granted = self.granted.saturating_add(budget);
        if self.granted >= LONG_RUN {
            LONG.store(true, Relaxed);
        }
        budget
    }

    pub(crate) fn get(&self, index: u32) -> Option<ThreadRef> {
        self.threads.get(index as usize).copied().flatten()
    }

    fn add(&mut self, t: ThreadRef) {
        let at = t.index() as usize;
        if self.threads.len() <= at {
            self.threads.resize(at + 1, None);
        }
        self.threads[at] = Some(t);
    }

    /// Returns the index of the `nth` thread that `parent` creates, and keeps it for that thread.
    pub(crate) fn reserve(&mut self, parent: u32, nth: u32) -> u32 {
        let fresh = (self.threads.len() as u32).max(self.replay.fresh_index());
        let index = self.replay.index_of(parent, nth).unwrap_or(fresh);
        if self.threads.len() <= index as usize {
            self.threads.resize(index as usize + 1, None);
        }
        index
    }

    /// Threads that have not ended.
    pub(crate) fn living(&self) -> impl Iterator<Item = ThreadRef> + '_ {
        let ended = |t: &ThreadRef| t.wait().state.get() == State::Finished;
        self.threads.iter().flatten().copied().filter(move |t| !ended(t))
    }

    /// Writes a record of the scheduler's own: no thread runs, or the process is about to end.
    pub(crate) fn put_last(&self, record: &Record<'_>) {
        if let Some(t) = self.living().next() {
            log::keep();
            // SAFETY: the scheduler's lock is held, and no thread writes to the log.
            unsafe { log::put(t.stream(), record) };
        }
    }

    /// Gives the baton to `t`, which can run. The caller wakes it after unlocking.
    fn hand(&mut self, t: ThreadRef) -> NextHolder {
        t.wait().state.set(State::Running);
        self.current = t.index();
        NextHolder(t)
    }

    /// Makes a blocked thread runnable.
    pub(crate) fn make_runnable(&mut self, t: ThreadRef, wake: Wake) {
        let wait = t.wait();
        if wait.state.get() == State::Blocked {
            BLOCKED.fetch_sub(1, Relaxed);
            self.blocked.retain(|&b| b != t);
            wait.state.set(State::Runnable);
            wait.wake.set(wake);
            wait.virtual_deadline.set(u64::MAX);
            wait.real_deadline.set(u64::MAX);
            self.runnable.push(t.index());
        }
    }

    /// Removes a thread from the runnable ones. Returns whether it was one of them.
    fn take(&mut self, index: u32) -> bool {
        match self.runnable.iter().position(|&i| i == index) {
            Some(at) => {
                self.runnable.swap_remove(at);
                true
            }
            None => false,
        }
    }

    /// Makes the sleepers runnable whose virtual time is over.
    fn expire(&mut self) {
        if BLOCKED.load(Relaxed) == 0 {
            return;
        }
        // In order of creation, so that their order is the seed's.
        let mut over: Vec<ThreadRef> = Vec::new();
        let now = self.now;
        over.extend(self.blocked.iter().filter(|t| t.wait().virtual_deadline.get() <= now));
        over.sort_by_key(|t| t.index());
        for t in over {
            self.make_runnable(t, Wake::Time);
        }
    }

    /// The sleeper whose virtual deadline comes first.
    fn first_sleeper(&self) -> Option<ThreadRef> {
        let sleepers = self.blocked.iter().copied();
        sleepers
            .filter(|t| t.wait().virtual_deadline.get() != u64::MAX)
            .min_by_key(|t| (t.wait().virtual_deadline.get(), t.index()))
    }

    /// Picks the thread that goes on in place of the current one. `None`: none can for now.
    pub(crate) fn pass(&mut self) -> Option<NextHolder> {
        if self.replay.active && self.replay.at_end() {
            replay::over(self);
        }
        if self.replay.active {
            let Some(next) = replay::next(self) else {
                self.current = NONE;
                return None;
            };
            self.take(next.index());
            return Some(self.hand(next));
        }
        self.expire();
        if !self.runnable.is_empty() {
            let n = self.runnable.len() as u64;
            let chosen = self.first.take();
            let chosen = chosen.and_then(|first| self.runnable.iter().position(|&i| i == first));
            let at = chosen.unwrap_or_else(|| (self.random() % n) as usize);
            let index = self.runnable.swap_remove(at);
            return self.get(index).map(|next| self.hand(next));
        }
        self.current = NONE;
        let idle = self.in_blocking_calls == 0 && self.first_sleeper().is_none();
        self.unknown_threads = idle && !HANDLERS.load(Relaxed) && has_unknown_threads(self);
        if idle && !HANDLERS.load(Relaxed) && !self.unknown_threads {
            wait_report::deadlock(self);
        }
        None
    }
}

/// Whether the process has threads that the runtime does not know: they may wake others.
pub(crate) fn has_unknown_threads(s: &Sched) -> bool {
    let tid = |t: ThreadRef| t.lifecycle().tid.get();
    let mut known: Vec<u32> = s.living().map(tid).collect();
    let not_begun = known.iter().filter(|&&tid| tid == 0).count();
    known.extend(crate::watchdog::tid());
    known.push(sys::gettid());
    // The first thread's entry stays until the process ends.
    known.extend(s.get(0).map(tid));
    sys::tasks().iter().filter(|&id| !known.contains(id)).count() > not_begun
}

/// A thread that has been given the baton and must be woken.
#[must_use]
pub(crate) struct NextHolder(ThreadRef);

impl NextHolder {
    /// Wakes the thread; the scheduler's lock is free.
    pub(crate) fn wake(self) {
        let go = &self.0.wait().go;
        PULSE.fetch_add(1, Relaxed);
        go.store(wait::GO, Release);
        futex_wake(go);
    }
}

/// Unlocks the scheduler and wakes the thread that was given the baton, if there is one.
fn unlock_and_wake(s: Guard<'_, Sched>, handed: Option<NextHolder>) {
    drop(s);
    if let Some(handed) = handed {
        handed.wake();
    }
}

/// Starts the scheduler with the first thread, which holds the baton.
pub(crate) fn start(t: Baton, seed: u64, quantum: u64) {
    let mut s = SCHED.lock();
    s.random = seed;
    s.quantum = quantum.max(1);
    s.add(*t);
    s.current = 0;
    t.wait().state.set(State::Running);
    grant(&mut s, *t);
    t.switch_stream();
}

/// Grants a new budget; the next step has ordinal `limit` after this (it is `limit - budget`).
fn grant(s: &mut Sched, t: ThreadRef) {
    let budget = if s.replay.active { 0 } else { s.quantum(false) };
    t.hot(|hot| {
        hot.limit = (hot.limit as i64 - hot.budget) as u64 + budget;
        hot.budget = budget as i64;
    });
    t.mark_recorded();
}

/// Counts one step of the thread that is about to run: every counted record begins with this.
#[inline(always)]
pub(crate) fn step(t: Baton, kind: Kind, pc: usize) {
    access_step(t, kind, pc, (0, 0));
}

/// Counts one step of the thread that is about to run, which touches `memory`: address and length.
#[inline(always)]
pub(crate) fn access_step(t: Baton, kind: Kind, pc: usize, memory: (usize, usize)) {
    // Several steps may be one call.
    flush_elided(t);
    let used_up = t.hot(|hot| {
        hot.budget -= 1;
        hot.budget < 0
    });
    if used_up {
        turn(t, kind, pc, memory);
    }
    t.mark_recorded();
}

/// Counts one step, but the thread keeps the baton: it has done something that no record says yet.
/// A schedule decides all the same.
pub(crate) fn held_step(t: Baton, kind: Kind, pc: usize) {
    if replays() {
        step(t, kind, pc);
    } else {
        t.hot(|hot| hot.limit += 1);
    }
}

/// Lets the scheduler, or the schedule, decide which thread runs: the budget is used up.
#[cold]
#[inline(never)]
fn turn(t: Baton, kind: Kind, pc: usize, memory: (usize, usize)) {
    t.wait().pc.set(pc);
    if t.parallel() {
        t.hot(|hot| (hot.limit, hot.budget) = (1 << 62, 1 << 62));
        return;
    }
    let ordinal = t.hot(|hot| hot.limit);
    let set_budget = |budget: u64| {
        t.hot(|hot| (hot.limit, hot.budget) = (ordinal + 1 + budget, budget as i64));
    };
    loop {
        let mut s = SCHED.lock();
        if s.replay.active {
            match replay::turn(&mut s, t, NextStep { ordinal, kind, pc, memory }) {
                replay::Turn::Run { budget } => {
                    drop(s);
                    set_budget(budget);
                    return;
                }
                replay::Turn::Over => {}
                replay::Turn::Other => {
                    give_away(s, t);
                    continue;
                }
            }
        }
        let budget = s.quantum(t.mostly_elided(ordinal));
        s.now += budget * HOOK_NS;
        set_budget(budget);
        // Another thread may look while this one waits.
        t.mark_recorded();
        s.expire();
        let n = s.runnable.len() as u64;
        s.first = s.first.filter(|&first| first != t.index());
        if n > 0 && (s.first.is_some() || s.random() % (n + 1) < n) {
            give_away(s, t);
        }
        return;
    }
}

/// Hands the baton over and waits for it; unlocks. The thread stays runnable.
fn give_away(mut s: Guard<'_, Sched>, t: Baton) {
    recorder::put_frames(t);
    t.wait().state.set(State::Runnable);
    // Not a candidate itself: it joins the runnable threads after the choice. A schedule may choose
    // it all the same.
    let next = s.pass();
    if s.current != t.index() {
        s.runnable.push(t.index());
    }
    unlock_and_wake(s, next);
    wait_turn(*t);
}

/// Lets another thread run, if one can (`sched_yield`).
pub(crate) fn give_way(t: Baton) {
    let mut s = SCHED.lock();
    s.expire();
    if s.replay.active || s.runnable.is_empty() {
        s.replay.yields += u64::from(s.replay.active);
        s.now += HOOK_NS * 20;
        return;
    }
    // A thread that yields again without a step waits for something that no record says.
    let ordinal = t.hot(|hot| hot.limit.wrapping_sub(hot.budget as u64));
    let spins = t.wait().yielded_at.replace(Some(ordinal)) == Some(ordinal);
    give_away(s, t);
    if spins {
        recorder::put(t, &Record::AfterOthers);
    }
}

/// Makes a new thread runnable.
pub(crate) fn admit(t: ThreadRef) {
    let mut s = SCHED.lock();
    s.add(t);
    s.runnable.push(t.index());
    grant(&mut s, t);
}

/// Adds a thread that runs already: it is outside until it takes the baton.
pub(crate) fn admit_outside(s: &mut Sched, t: ThreadRef) {
    s.add(t);
    grant(s, t);
    t.wait().state.set(State::Outside);
    s.in_blocking_calls += 1;
}

/// Removes an admitted thread whose creation failed.
pub(crate) fn dismiss(t: ThreadRef) {
    let mut s = SCHED.lock();
    s.take(t.index());
    t.wait().state.set(State::Finished);
    s.threads[t.index() as usize] = None;
}

/// Ends the calling thread. False when it was the last one: it keeps the baton.
pub(crate) fn finish(t: Baton) -> bool {
    wake_waiters(&[WaitingFor::Join], t.index() as usize, usize::MAX);
    let mut s = SCHED.lock();
    t.wait().state.set(State::Finished);
    while s.living().next().is_none() {
        if !has_unknown_threads(&s) {
            t.wait().state.set(State::Running);
            s.current = t.index();
            return false;
        }
        // One of them may be adopted, or all may end.
        s.current = NONE;
        drop(s);
        sys::futex_wait(&AtomicU32::new(0), 0, Some(UNKNOWN_POLL_NS));
        s = SCHED.lock();
    }
    let holds = s.current == t.index();
    let next = if t.parallel() || !holds { None } else { s.pass() };
    unlock_and_wake(s, next);
    true
}

/// Turns the hooks of the calling thread, which has ended, off.
pub(crate) fn retire(t: Baton) {
    crate::tls::set_unrecorded();
    t.frames(|frames| frames.release());
}
