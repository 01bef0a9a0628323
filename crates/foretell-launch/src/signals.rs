//! Requests to end this process while it runs a program: SIGINT, SIGTERM, SIGHUP.
//!
//! A signal that is sent to `foretell` alone (`timeout`, `docker stop`, a cancelled job) is meant
//! for the program: [`Launch`](crate::Launch) passes it on, waits for the program's end, and the
//! caller still saves what was recorded. An interrupt at the terminal reaches the program by
//! itself. The handlers only note the signals; the loop that waits for the program acts on them.
//!
//! Senders such as `timeout` signal a process and then its group, so signals within
//! [`SignalGuard::ONE_REQUEST`] of each other count as one request.

use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::time::Duration;

/// The signals that ask a process to end.
pub(crate) const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// Value of a signal from a supervisor that the terminal has sent.
pub(crate) const FROM_TERMINAL: usize = 0x7e41_14a1;

/// The living guards.
struct Guards {
    count: usize,
    /// Actions before the first guard.
    before: Vec<libc::sigaction>,
}

static GUARDS: Mutex<Guards> = Mutex::new(Guards { count: 0, before: Vec::new() });
/// Actions before the first guard: the handler's address, `SIG_DFL` or `SIG_IGN`.
static BEFORE: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];
/// Number of requests, those from the terminal included.
static REQUESTS: AtomicU32 = AtomicU32::new(0);
/// Number of requests that were sent to this process by another one.
static SENT: AtomicU32 = AtomicU32::new(0);
/// Monotonic time of the last signal, in nanoseconds.
static LAST_NS: AtomicU64 = AtomicU64::new(0);
/// Last signal that is to be passed on; 0: none.
static TO_PASS: AtomicI32 = AtomicI32::new(0);
/// Whether the program runs.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// Number of interrupts since the program ended.
static INTERRUPTS_AFTER: AtomicU32 = AtomicU32::new(0);

/// A guard: while it lives, requests to end are noted and do not end this process, except a second
/// interrupt after the program's end.
#[derive(Debug)]
pub struct SignalGuard(());

impl SignalGuard {
    /// Time within which signals are one request.
    pub const ONE_REQUEST: Duration = Duration::from_millis(500);

    /// Starts to note requests; with the first guard the count begins anew.
    #[must_use = "requests are noted while the guard lives"]
    pub fn new() -> SignalGuard {
        let mut guards = GUARDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        guards.count += 1;
        if guards.count == 1 {
            guards.before.clear();
            for counter in [&REQUESTS, &SENT, &INTERRUPTS_AFTER] {
                counter.store(0, Relaxed);
            }
            TO_PASS.store(0, Relaxed);
            for (before, n) in BEFORE.iter().zip(SIGNALS) {
                before.store(libc::SIG_DFL, Relaxed);
                let old = set(n, note);
                before.store(old.sa_sigaction, Relaxed);
                guards.before.push(old);
            }
        }
        SignalGuard(())
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> u32 {
        REQUESTS.load(Relaxed)
    }

    /// Returns the number of requests that another process sent.
    pub(crate) fn sent(&self) -> u32 {
        SENT.load(Relaxed)
    }

    /// Takes the signal that is to be passed to the program.
    pub(crate) fn take(&self) -> Option<i32> {
        Some(TO_PASS.swap(0, Relaxed)).filter(|&n| n != 0)
    }

    /// Sets whether the program runs.
    pub(crate) fn set_running(&self, running: bool) {
        RUNNING.store(running, Relaxed);
    }
}

impl Default for SignalGuard {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for SignalGuard {
    fn drop(&mut self) {
        let mut guards = GUARDS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        guards.count -= 1;
        if guards.count == 0 {
            for (before, n) in guards.before.iter().zip(SIGNALS) {
                restore(n, before);
            }
        }
    }
}

/// A handler of signals.
type Handler = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Sets the handler of a signal. Returns the action before.
pub(crate) fn set(n: i32, handler: Handler) -> libc::sigaction {
    // SAFETY: the structures live through the call; the handlers of this crate touch atomics and
    // make system calls only.
    unsafe {
        let (mut new, mut old): (libc::sigaction, libc::sigaction) = (zeroed(), zeroed());
        new.sa_sigaction = handler as *const () as usize;
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(n, &new, &mut old);
        old
    }
}

/// Sets an action that was there before.
pub(crate) fn restore(n: i32, action: &libc::sigaction) {
    // SAFETY: the structure lives through the call.
    unsafe { libc::sigaction(n, action, null_mut()) };
}

/// Returns the signals that this process was started to ignore: a program that it starts ignores
/// them too.
pub(crate) fn ignored() -> impl Iterator<Item = i32> {
    let was_ignored = |before: &AtomicUsize| before.load(Relaxed) == libc::SIG_IGN;
    SIGNALS.into_iter().zip(&BEFORE).filter(move |(_, b)| was_ignored(b)).map(|(n, _)| n)
}

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is writable; the function may be called in a handler.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The handler.
unsafe extern "C" fn note(n: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel's argument.
    let from_terminal = unsafe {
        let code = (*info).si_code;
        let marked =
            code == libc::SI_QUEUE && (*info).si_value().sival_ptr as usize == FROM_TERMINAL;
        code == libc::SI_KERNEL || marked
    };
    let Some(index) = SIGNALS.iter().position(|&signal| signal == n) else { return };
    let before = BEFORE[index].load(Relaxed);
    // A job in the background of a script ignores interrupts of the terminal, `nohup` hang-ups.
    if before == libc::SIG_IGN && (from_terminal || n == libc::SIGHUP) {
        return;
    }
    let now = now_ns();
    let apart =
        now.saturating_sub(LAST_NS.swap(now, Relaxed)) > SignalGuard::ONE_REQUEST.as_nanos() as u64;
    let is_new = apart || REQUESTS.load(Relaxed) == 0;
    REQUESTS.fetch_add(u32::from(is_new), Relaxed);
    if !from_terminal {
        let is_new = is_new || SENT.load(Relaxed) == 0;
        SENT.fetch_add(u32::from(is_new), Relaxed);
        TO_PASS.store(n, Relaxed);
    }
    if !RUNNING.load(Relaxed)
        && n == libc::SIGINT
        && is_new
        && INTERRUPTS_AFTER.fetch_add(1, Relaxed) > 0
    {
        // SAFETY: the default action, as if there were no handler.
        unsafe {
            libc::signal(n, libc::SIG_DFL);
            libc::raise(n);
        }
    }
    if before != libc::SIG_DFL && before != libc::SIG_IGN {
        // SAFETY: a handler of this process. Those of the standard library and of crates that
        // forward signals use the number only.
        let handler: unsafe extern "C" fn(i32) = unsafe { std::mem::transmute(before) };
        // SAFETY: as above.
        unsafe { handler(n) };
    }
}
