//! Waits that the runtime does not model: the holder of the baton sleeps in the kernel, in a futex
//! of another library or in a system call, or spins without running a hook.
//!
//! The watchdog looks at the holder ([`Watch::look`]). A holder that has made no step since the last
//! look, while another thread could run, loses the baton:
//!
//! - **It sleeps.** The fast path of a hook is not atomic, so the thread must be in none. The
//!   watchdog sets [`ASKED`], which sends the next hook of the thread to the slow path, and then
//!   reads the thread's processor time, its state and the processor time again. A thread that
//!   sleeps between two equal times has run nothing in between: it is in the kernel, and will see
//!   the flag. The watchdog completes the thread's last record and hands the baton on.
//! - **It spins.** The watchdog sets the flag; if no hook answers within some processor time of the
//!   thread, it sends the thread a signal, whose handler hands the baton on.
//! - **It runs hooks of function calls only**, which are no steps: at its next hook it gives the
//!   baton away, as for `sched_yield`.
//!
//! The next hook of the thread takes the baton back and writes [`Record::AfterOthers`]. The delays
//! become shorter in a program that waits in this way often.
//!
//! The signal is the C library's own for `setuid`: a program cannot block it, nor set its action.
//! It is queued with a value of ours; all other uses go to the library's handler.

use super::{NONE, NextHolder, PULSE, SCHED, Sched, give_away, unlock_and_wake, wait};
use crate::lock::Guard;
use crate::recorder;
use crate::signal;
use crate::sync::library_lock;
use crate::sys;
use crate::thread::{ASKED, Baton, State, ThreadRef};
use foretell_rt_format::{Record, WaitingFor};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// The name under which a wait that is not modelled is reported.
pub(crate) const CALL: &str = "code that is not recorded";

/// Time between two looks while the holder makes steps.
const CALM_NS: u64 = 5_000_000;
/// Longest time between two looks while no thread runs.
const IDLE_NS: u64 = 50_000_000;
/// Time between two looks at a holder that has made no step.
const ALERT_NS: u64 = 1_000_000;
/// Time between two looks in a program that has waited in this way lately.
const BUSY_NS: u64 = 200_000;
/// Time for which a program counts as such.
const LATELY_NS: u64 = 100_000_000;
/// Time without a hook after which the holder loses the baton in any sleep, however short.
const NAPS_NS: u64 = 5_000_000;
/// Processor time without a hook, and without a step, after which the holder loses the baton, for
/// the first time. It halves each time, down to [`LEAST_SPIN_NS`].
const FIRST_SPIN_NS: u64 = 20_000_000;
const FIRST_YIELD_NS: u64 = 100_000_000;
const LEAST_SPIN_NS: u64 = 1_000_000;

/// The signal that the watchdog sends: `SIGSETXID` of the C library.
const SIGNAL: usize = 33;
/// The value that tells the watchdog's signals from others.
const MARK: usize = 0x0f0e_7e11;

/// Values that change when a thread makes a step or the baton changes hands.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Progress {
    holder: u32,
    pulse: u64,
    budget: i64,
    limit: u64,
    written: u64,
}

impl Progress {
    fn of(s: &Sched) -> Progress {
        let pulse = PULSE.load(Relaxed);
        let Some(t) = s.get(s.current) else {
            return Progress { holder: NONE, pulse, ..Progress::default() };
        };
        let hot = unsafe { &raw const (*t.as_ptr()).hot };
        // SAFETY: threads and streams live as long as the process; volatile, because the thread
        // may run.
        unsafe {
            Progress {
                holder: s.current,
                pulse,
                budget: (&raw const (*hot).budget).read_volatile(),
                limit: (&raw const (*hot).limit).read_volatile(),
                written: (&raw const (*(*hot).stream).cur).read_volatile() as u64,
            }
        }
    }
}

/// The watchdog's knowledge of the holder.
pub(crate) struct Watch {
    progress: Progress,
    /// Processor time of the holder at the last look.
    cpu: Option<u64>,
    /// Processor time and monotonic time since which the holder has not run a hook.
    unanswered: (u64, u64),
    /// Processor time of the holder when it was first seen without a step.
    stepless: u64,
    /// When the baton was last taken from a holder.
    taken: u64,
    period: u64,
    spin: u64,
    yields: u64,
}

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch {
            progress: Progress::default(),
            cpu: None,
            unanswered: (0, 0),
            stepless: 0,
            taken: 0,
            period: CALM_NS,
            spin: FIRST_SPIN_NS,
            yields: FIRST_YIELD_NS,
        }
    }

    /// Looks at the holder of the baton, and takes the baton from it if it waits. Returns the
    /// nanoseconds until the next look.
    pub(crate) fn look(&mut self) -> u64 {
        let now = sys::now_ns(libc::CLOCK_MONOTONIC);
        let lately = now.saturating_sub(self.taken) < LATELY_NS;
        let calm = if lately { BUSY_NS } else { CALM_NS };
        // A thread is in the scheduler: the program moves.
        let Some(mut s) = SCHED.try_lock() else { return calm };
        let progress = Progress::of(&s);
        if progress != self.progress {
            (self.progress, self.cpu, self.period) = (progress, None, calm);
            return calm;
        }
        let Some(t) = s.get(s.current) else {
            let next = look_again_for_deadlock(&mut s);
            unlock_and_wake(s, next);
            return self.wait_longer();
        };
        let tid = t.lifecycle().tid.get();
        if t.parallel() || tid == 0 || t.is_inside() || !another_can_run(&s, now) {
            self.cpu = None;
            return self.wait_longer();
        }
        self.period = CALM_NS;
        match sys::cpu_time(tid) {
            Some(cpu) => self.examine(s, t, cpu, now),
            None => bury(s, t),
        }
        if lately { BUSY_NS } else { ALERT_NS }
    }

    /// Lets more and more time pass between looks at a program in which no thread moves.
    fn wait_longer(&mut self) -> u64 {
        self.period = (self.period * 2).min(IDLE_NS);
        self.period
    }

    /// Examines the holder, which has made no step since the last look.
    fn examine(&mut self, mut s: Guard<'_, Sched>, t: ThreadRef, cpu: u64, now: u64) {
        let Some(before) = self.cpu.replace(cpu) else {
            (self.unanswered, self.stepless) = ((cpu, now), cpu);
            t.hot(|hot| hot.set_attention(ASKED, true));
            return;
        };
        let answered = !t.asked();
        if answered {
            self.unanswered = (cpu, now);
            t.hot(|hot| hot.set_attention(ASKED, true));
        }
        let (cpu_then, then) = self.unanswered;
        if (cpu == before || now - then >= NAPS_NS)
            && let Some(next) = take_from_sleeper(&mut s, t)
        {
            self.taken = now;
            return unlock_and_wake(s, next);
        }
        if answered && cpu - self.stepless >= self.yields {
            self.yields = (self.yields / 2).max(LEAST_SPIN_NS);
            self.taken = now;
            t.wait().yields.set(true);
        } else if cpu - cpu_then >= self.spin {
            self.spin = (self.spin / 2).max(LEAST_SPIN_NS);
            (self.taken, self.unanswered) = (now, (cpu, now));
            send(t.lifecycle().tid.get());
        }
    }
}

/// Whether another thread could run if the holder gave the baton away.
fn another_can_run(s: &Sched, now: u64) -> bool {
    let due = |t: ThreadRef| !s.replay.active && t.wait().real_deadline.get() <= now;
    !s.runnable.is_empty() || s.first_sleeper().is_some_and(due)
}

/// Declares the deadlock that was not declared because of threads that the runtime did not know.
fn look_again_for_deadlock(s: &mut Sched) -> Option<NextHolder> {
    let waits = s.unknown_threads && s.runnable.is_empty() && !s.replay.active;
    if waits && s.living().next().is_some() { s.pass() } else { None }
}

/// Takes the baton from its holder if that sleeps in the kernel outside of the runtime. Returns the
/// next holder, if there is one; the outer `None`: the holder does not sleep.
fn take_from_sleeper(s: &mut Sched, t: ThreadRef) -> Option<Option<NextHolder>> {
    let tid = t.lifecycle().tid.get();
    let before = sys::cpu_time(tid)?;
    // Uninterruptible sleep is a page fault or a disk: it waits for no thread of the program.
    let sleeps = sys::task_state(tid)? == b'S' && t.asked() && !t.is_inside();
    if !sleeps || sys::cpu_time(tid)? != before {
        return None;
    }
    Some(take(s, t))
}

/// Takes the baton from a thread that runs no hook before it looks at [`ASKED`], which is set.
fn take(s: &mut Sched, t: ThreadRef) -> Option<NextHolder> {
    // SAFETY: the thread has the baton and is not in a hook; its next hook waits for the
    // scheduler's lock.
    let holder = unsafe { Baton::assume(t) };
    recorder::flush_for(holder);
    mark_outside(s, t);
    s.pass()
}

fn mark_outside(s: &mut Sched, t: ThreadRef) {
    let wait = t.wait();
    wait.call.set(CALL);
    wait.what.set(WaitingFor::Call);
    wait.state.set(State::Outside);
    s.in_blocking_calls += 1;
}

/// Ends a thread that is gone although the runtime has not seen its end.
fn bury(mut s: Guard<'_, Sched>, t: ThreadRef) {
    if sys::task_state(t.lifecycle().tid.get()).is_some() {
        return;
    }
    // SAFETY: the thread had the baton and does not run any more.
    let holder = unsafe { Baton::assume(t) };
    recorder::flush_for(holder);
    recorder::put(holder, &Record::ThreadEnd);
    wait::wake_waiters_in(&mut s, &[WaitingFor::Join], t.index() as usize, usize::MAX);
    t.wait().state.set(State::Finished);
    let next = s.pass();
    unlock_and_wake(s, next);
}

/// Returns the baton of the calling thread, which is not inside the runtime, and whether the
/// watchdog had taken it.
pub(crate) fn hold(t: ThreadRef) -> (Baton, bool) {
    if !t.asked() {
        // SAFETY: a recorded thread that runs the program's code has the baton, unless the watchdog
        // has taken it.
        return (unsafe { Baton::assume(t) }, false);
    }
    t.set_inside(true);
    let held = answer(t);
    t.set_inside(false);
    held
}

/// Answers the watchdog: takes the baton back, or gives it away if that is wanted.
fn answer(t: ThreadRef) -> (Baton, bool) {
    let s = SCHED.lock();
    t.hot(|hot| hot.set_attention(ASKED, false));
    let yields = t.wait().yields.take();
    if t.wait().state.get() != State::Running {
        drop(s);
        return (come_back(t), true);
    }
    // SAFETY: the calling thread runs.
    let t = unsafe { Baton::assume(t) };
    if yields && !s.replay.active && !s.runnable.is_empty() {
        recorder::flush(t);
        give_away(s, t);
        recorder::put(t, &Record::AfterOthers);
    }
    (t, false)
}

/// Takes the baton for the calling thread, which is outside: what it does from now on comes after
/// what the other threads have done, unless the caller of the library models its waits.
pub(crate) fn come_back(t: ThreadRef) -> Baton {
    let t = wait::leave_blocking_call(t);
    if !library_lock::models_wait(t) {
        recorder::put(t, &Record::AfterOthers);
    }
    t
}

/// Gives the baton away again after a signal handler that ran in the middle of a wait. The thread is
/// not inside the runtime.
pub(crate) fn leave(mut t: Baton) {
    loop {
        t.set_inside(true);
        recorder::flush(t);
        let mut s = SCHED.lock();
        t.hot(|hot| hot.set_attention(ASKED, true));
        mark_outside(&mut s, *t);
        let next = s.pass();
        unlock_and_wake(s, next);
        t.set_inside(false);
        // A signal that came meanwhile was kept.
        if !t.signalled() {
            return;
        }
        (t, _) = hold(*t);
        signal::deliver(t);
    }
}

/// The action of the signal as the kernel has it: handler, flags, return function, mask.
type Action = [usize; 4];

static INSTALLED: AtomicBool = AtomicBool::new(false);
/// Handler of the C library.
static LIBRARY: AtomicUsize = AtomicUsize::new(0);

/// Sends the signal to a thread.
fn send(tid: u32) {
    // SAFETY: plain system calls; the structures are the kernel's.
    unsafe {
        if !INSTALLED.swap(true, Relaxed) {
            const SA_RESTORER: usize = 0x0400_0000;
            let flags = (libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK) as usize;
            let handler = on_signal as *const () as usize;
            let action: Action =
                [handler, flags | SA_RESTORER, restore as *const () as usize, usize::MAX];
            let mut old: Action = [0; 4];
            let (new, before) = (action.as_ptr() as usize, old.as_mut_ptr() as usize);
            sys::call(libc::SYS_rt_sigaction, [SIGNAL, new, before, 8, 0, 0]);
            LIBRARY.store(old[0], Relaxed);
        }
        let pid = sys::call(libc::SYS_getpid, [0; 6]) as usize;
        // signo, errno, code; pid and uid; value.
        let mut info = [0u64; 16];
        info[0] = SIGNAL as u64;
        info[1] = u64::from(libc::SI_QUEUE as u32);
        info[2] = pid as u64;
        info[3] = MARK as u64;
        let info = info.as_ptr() as usize;
        sys::call(libc::SYS_rt_tgsigqueueinfo, [pid, tid as usize, SIGNAL, info, 0, 0]);
    }
}

/// Returns from the handler.
#[unsafe(naked)]
unsafe extern "C" fn restore() {
    std::arch::naked_asm!("mov eax, 15", "syscall")
}

/// Hands the baton on, if the calling thread still has it and is in no hook.
unsafe extern "C" fn on_signal(n: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments.
    let ours = unsafe {
        (*info).si_code == libc::SI_QUEUE && (*info).si_value().sival_ptr as usize == MARK
    };
    if !ours {
        let library = LIBRARY.load(Relaxed);
        if library > libc::SIG_IGN {
            // SAFETY: the handler that the C library has installed, with the kernel's arguments.
            unsafe {
                let f: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    std::mem::transmute(library);
                f(n, info, context);
            }
        }
        return;
    }
    // SAFETY: the kernel's context.
    let in_hook = unsafe { signal::in_hot_code(context) };
    let Some(t) = crate::tls::current().filter(|t| !in_hook && t.asked() && !t.is_inside()) else {
        return;
    };
    let mut s = SCHED.lock();
    let now = sys::now_ns(libc::CLOCK_MONOTONIC);
    if s.current != t.index() || t.wait().state.get() != State::Running || !another_can_run(&s, now)
    {
        return;
    }
    let next = take(&mut s, t);
    unlock_and_wake(s, next);
}
