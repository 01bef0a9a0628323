//! Locks of other libraries, by the table of lock functions (`foretell-build/hidden/locks.txt`).
//!
//! The linker's wrapper gives every lock function a stub, which jumps here with the address of the
//! function's descriptor in `r11`. The hook performs the operation and records it as one of a lock
//! that is known by its address:
//!
//! - A thread that acquires a lock waits in the scheduler while another recorded thread holds it. It
//!   takes the lock with the library's function that tries to, or, if there is none, with the function
//!   of the table when no recorded thread has the lock. If code that is not recorded has it, the call
//!   is a blocking one, or a wait that is not modelled.
//! - A release is recorded before the library's function runs.
//! - Conditions are modelled here as those of the C library are: the scheduler has the wait set, and
//!   the lock is really released and taken.
//!
//! - A parallel region: what precedes the call comes before what each thread of the team does, and
//!   that before what follows the call. The waits of the team inside the library order nothing else,
//!   unless the program has tasks, which threads run while they wait.
//!
//! A lock that a thread takes again is recorded once. The library's functions run inside the
//! runtime, so that what they do themselves is not recorded.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::*;
use crate::annotations::{acquire_at, give_back, holds, holds_once, is_held, release_at, take};
use crate::hidden_call::Descriptor;
use crate::thread::Wake;
use crate::tls;

/// Integer arguments of a call.
type Arguments = [usize; 6];

/// A lock function; the registers of further arguments do no harm.
type Function = unsafe extern "C-unwind" fn(usize, usize, usize, usize, usize, usize) -> usize;

/// Calls a function of the library.
fn library(function: usize, [a, b, c, d, e, f]: Arguments) -> usize {
    // SAFETY: a function of the table with the arguments of the program's own call, or one of the
    // same group with the lock.
    unsafe { std::mem::transmute::<usize, Function>(function)(a, b, c, d, e, f) }
}

/// Number of an argument in the word of a descriptor that stands for none.
const NO_ARGUMENT: usize = 7;

/// A call of a lock function; `foretell-build/src/link/locks.rs` has the layout of its word.
struct Call<'a> {
    descriptor: &'a Descriptor,
    arguments: &'a Arguments,
    pc: usize,
}

impl Call<'_> {
    fn field(&self, shift: u32, mask: u32) -> u32 {
        self.descriptor.class >> shift & mask
    }

    fn argument(&self, shift: u32) -> usize {
        self.arguments[(self.field(shift, 7) as usize).min(5)]
    }

    /// The lock or the condition.
    fn object(&self) -> usize {
        match self.field(4, 7) as usize {
            NO_ARGUMENT => self.descriptor.others[1],
            _ => self.argument(4),
        }
    }

    /// Calls the function.
    fn real(&self) -> usize {
        library(self.descriptor.function, *self.arguments)
    }

    /// Tries to take a lock with the function of the group.
    fn tries(&self, lock: usize) -> bool {
        let result = library(self.descriptor.others[0], [lock, 0, 0, 0, 0, 0]);
        succeeded(self.field(18, 3), result)
    }

    /// Returns the result of a wait with a time.
    fn result(&self, success: bool) -> usize {
        let zero = self.field(16, 3) == 1;
        usize::from(success != zero)
    }
}

/// Whether a result means success.
fn succeeded(success: u32, result: usize) -> bool {
    match success {
        0 => result as u32 != 0,
        1 => result as u32 == 0,
        _ => result as u8 != 0,
    }
}

const READER: (Kind, SyncKind, SyncKind) =
    (Kind::ReadLock, SyncKind::ReadLock, SyncKind::TryReadFailed);

/// Acquires a lock, or its reader side, and waits as long as it takes.
fn acquire_lock(t: Baton, call: &Call<'_>, reads: bool) -> usize {
    let (lock, pc) = (call.object(), call.pc);
    let can_try = call.descriptor.others[0] != 0;
    if holds(t, lock) && (!can_try || call.tries(lock)) {
        let result = if can_try { 0 } else { call.real() };
        take(t, lock, reads);
        return result;
    }
    if t.parallel() {
        return take_blocking(t, call, reads, false);
    }
    let result = Cell::new(0);
    let attempt = || {
        if can_try && call.tries(lock) {
            return 0;
        }
        if is_held(lock, reads) {
            return EBUSY;
        }
        if !can_try {
            // No recorded thread has the lock.
            result.set(call.real());
            return 0;
        }
        // Code that is not recorded holds the lock, and will release it unseen.
        blocking_call::call(t, "a lock function of a library", pc, &|| call.real());
        put_after_others(t);
        0
    };
    let (kind, done, failed) = if reads { READER } else { MUTEX };
    let waiting = if reads { WaitingFor::ReadLock } else { WaitingFor::Lock };
    let a = Acquire { kind, done, failed, waiting, owner_at: 0, attempt: &attempt };
    acquire(t, lock, pc, &a, Patience::Forever);
    take(t, lock, reads);
    result.get()
}

/// Acquires a lock by the function itself, as a blocking call; `may_fail`: its result says whether
/// it has the lock.
fn take_blocking(t: Baton, call: &Call<'_>, reads: bool, may_fail: bool) -> usize {
    let (lock, pc) = (call.object(), call.pc);
    let (kind, done, failed) = if reads { READER } else { MUTEX };
    step(t, kind, pc);
    let result = blocking_call::call(t, "a lock function of a library", pc, &|| call.real());
    let taken = !may_fail || succeeded(call.field(16, 3), result);
    put(t, if taken { done } else { failed }, lock, usize::from(taken && may_fail), pc);
    if taken {
        take(t, lock, reads);
    }
    result
}

/// Tries to acquire a lock, or its reader side.
fn try_lock(t: Baton, call: &Call<'_>, reads: bool) -> usize {
    let lock = call.object();
    let result = Cell::new(0);
    let attempt = || {
        result.set(call.real());
        if succeeded(call.field(16, 3), result.get()) { 0 } else { EBUSY }
    };
    if holds(t, lock) {
        if attempt() == 0 {
            take(t, lock, reads);
        }
        return result.get();
    }
    let (kind, done, failed) = if reads { READER } else { MUTEX };
    let waiting = if reads { WaitingFor::ReadLock } else { WaitingFor::Lock };
    let a = Acquire { kind, done, failed, waiting, owner_at: 0, attempt: &attempt };
    if acquire(t, lock, call.pc, &a, Patience::None) == 0 {
        take(t, lock, reads);
    }
    result.get()
}

/// Acquires a lock, or its reader side, within a time that the function knows.
fn timed_lock(t: Baton, call: &Call<'_>, reads: bool) -> usize {
    let lock = call.object();
    if !holds(t, lock) {
        return take_blocking(t, call, reads, true);
    }
    let result = call.real();
    if succeeded(call.field(16, 3), result) {
        take(t, lock, reads);
    }
    result
}

fn release_lock(t: Baton, call: &Call<'_>) -> usize {
    let lock = call.object();
    // Another thread may run in the step, and must not take the lock for free before it is.
    if holds_once(t, lock) {
        step(t, Kind::Unlock, call.pc);
    }
    let before = give_back(t, lock);
    if before.times == 1 {
        let kind = if before.reads { SyncKind::ReadUnlock } else { SyncKind::Unlock };
        put(t, kind, lock, 0, call.pc);
    }
    let result = call.real();
    if before.times <= 1 {
        wake_waiters(&LOCKERS, lock, usize::MAX);
    }
    result
}

/// Lock of a wait: its address, and functions of the library that release it and try to take it.
pub(super) struct WaitLock<'a> {
    pub(super) lock: usize,
    pub(super) release: &'a dyn Fn(),
    pub(super) tries: &'a dyn Fn() -> bool,
}

/// Waits for a condition without the lock. Returns whether the condition was signalled.
fn wait(t: Baton, call: &Call<'_>, deadline: Option<Deadline>) -> bool {
    let (condition, lock) = (call.object(), call.argument(8));
    let release = || _ = library(call.descriptor.others[1], [lock, 0, 0, 0, 0, 0]);
    let of = WaitLock { lock, release: &release, tries: &|| call.tries(lock) };
    wait_without(t, condition, &of, call.pc, deadline)
}

/// Waits for a condition without its lock. Returns whether the condition was signalled.
pub(super) fn wait_without(
    t: Baton,
    condition: usize,
    of: &WaitLock<'_>,
    pc: usize,
    deadline: Option<Deadline>,
) -> bool {
    let lock = of.lock;
    step(t, Kind::Wait, pc);
    put(t, SyncKind::Wait, condition, lock, pc);
    let held = give_back(t, lock);
    (of.release)();
    wake_waiters(&LOCKERS, lock, usize::MAX);
    let what = WaitingFor::Condition;
    let w = Waiting { what, object: condition, pc, owner_at: 0, between: true };
    let woken = loop {
        match block(t, w, deadline) {
            Wake::Event => break true,
            Wake::Time => break false,
            Wake::Interrupt => crate::signal::deliver(t),
        }
    };
    let w = Waiting { what: WaitingFor::Lock, object: lock, ..w };
    while !(of.tries)() {
        if block(t, w, None) == Wake::Interrupt {
            crate::signal::deliver(t);
        }
    }
    take(t, lock, held.reads);
    let (kind, done) = match woken {
        true => (Kind::Woken, SyncKind::Woken),
        false => (Kind::TimedOut, SyncKind::TimedOut),
    };
    step(t, kind, pc);
    put(t, done, condition, lock, pc);
    woken
}

/// Waits for a condition that the library serves, in a parallel recording.
fn wait_in_library(t: Baton, call: &Call<'_>) -> usize {
    let (condition, lock, pc) = (call.object(), call.argument(8), call.pc);
    step(t, Kind::Wait, pc);
    put(t, SyncKind::Wait, condition, lock, pc);
    let result = call.real();
    step(t, Kind::Woken, pc);
    put(t, SyncKind::Woken, condition, lock, pc);
    result
}

/// Returns the deadline of a wait: a time in microseconds of the monotonic clock.
fn deadline(call: &Call<'_>) -> Deadline {
    let at = (call.argument(12) as u64).saturating_mul(1000);
    Deadline::after(at.saturating_sub(now_ns(libc::CLOCK_MONOTONIC)))
}

fn notify(t: Baton, call: &Call<'_>, all: bool) -> usize {
    let (kind, done, max) = match all {
        true => (Kind::Broadcast, SyncKind::Broadcast, usize::MAX),
        false => (Kind::Signal, SyncKind::Signal, 1),
    };
    step(t, kind, call.pc);
    put(t, done, call.object(), 0, call.pc);
    wake_waiters(&[WaitingFor::Condition], call.object(), max);
    // Threads that are not recorded wait in the library.
    call.real()
}

/// Whether the program has made tasks.
static TASKS: AtomicBool = AtomicBool::new(false);

/// Notes that the program makes tasks: threads that wait in the library run code of the program.
pub(crate) fn makes_tasks() {
    TASKS.store(true, Relaxed);
}

/// Whether the wait that a thread comes back from is modelled by the caller of the library.
pub(crate) fn models_wait(t: Baton) -> bool {
    t.wait().in_modelled_library.get() && !TASKS.load(Relaxed)
}

/// Function of a parallel region, which each thread of the team calls.
struct Region {
    function: usize,
    data: usize,
    pc: usize,
}

impl Region {
    /// Addresses that stand for the begin and the end of the region.
    fn begin(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    fn end(&self) -> usize {
        self.begin() + 1
    }
}

/// Says whether the calling thread is in library code whose waits are modelled.
fn in_library(inside: bool) {
    if let Some(t) = tls::current() {
        t.wait().in_modelled_library.set(inside);
    }
}

/// The part of one thread of a team in a parallel region.
unsafe extern "C-unwind" fn team_thread(region: &Region) {
    in_library(true);
    acquire_at(region.begin(), region.pc);
    in_library(false);
    library(region.function, [region.data, 0, 0, 0, 0, 0]);
    release_at(region.end(), region.pc);
    in_library(true);
}

/// Performs a parallel region. The calling thread is not inside the runtime.
fn parallel(call: &Call<'_>) -> usize {
    let (function, data) = (call.object(), call.argument(8));
    let region = Region { function, data, pc: call.pc };
    let mut arguments = *call.arguments;
    arguments[(call.field(4, 7) as usize).min(5)] = team_thread as *const () as usize;
    arguments[(call.field(8, 7) as usize).min(5)] = region.begin();
    let was_inside = tls::current().is_some_and(|t| t.wait().in_modelled_library.get());
    release_at(region.begin(), call.pc);
    in_library(true);
    let result = library(call.descriptor.function, arguments);
    acquire_at(region.end(), call.pc);
    in_library(was_inside);
    result
}

/// Performs a call of a lock function.
extern "C-unwind" fn lock_call(descriptor: &Descriptor, arguments: &Arguments, pc: usize) -> usize {
    let call = Call { descriptor, arguments, pc };
    if call.field(0, 15) == 13 {
        return parallel(&call);
    }
    let Some(t) = enter() else { return call.real() };
    let result = match call.field(0, 15) {
        1 => acquire_lock(t, &call, false),
        2 => try_lock(t, &call, false),
        3 => timed_lock(t, &call, false),
        5 => acquire_lock(t, &call, true),
        6 => try_lock(t, &call, true),
        7 => timed_lock(t, &call, true),
        4 | 8 => release_lock(t, &call),
        9 | 10 if t.parallel() => wait_in_library(t, &call),
        9 => {
            wait(t, &call, None);
            0
        }
        10 => {
            let woken = wait(t, &call, Some(deadline(&call)));
            call.result(woken)
        }
        11 => notify(t, &call, false),
        12 => notify(t, &call, true),
        _ => call.real(),
    };
    leave(t);
    result
}

/// Entry from the stubs of lock functions.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn __foretell_lock_call() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 56",
        ".cfi_adjust_cfa_offset 56",
        "mov qword ptr [rsp], rdi",
        "mov qword ptr [rsp + 8], rsi",
        "mov qword ptr [rsp + 16], rdx",
        "mov qword ptr [rsp + 24], rcx",
        "mov qword ptr [rsp + 32], r8",
        "mov qword ptr [rsp + 40], r9",
        "mov rdi, r11",
        "mov rsi, rsp",
        "mov rdx, qword ptr [rsp + 56]",
        "call {f}",
        "add rsp, 56",
        ".cfi_adjust_cfa_offset -56",
        "ret",
        ".cfi_endproc",
        f = sym lock_call,
    )
}
