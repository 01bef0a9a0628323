//! The end of `main` and the function `exit`: threads that can run go on first.
//!
//! A program may end while threads of it can still run; what they would have done next is part of
//! the trace then. The thread that ends the program waits until the others have run a number of
//! steps ([`foretell_rt_format::env::EXIT_STEPS`]) or none of them can run. The others go on with
//! recorded code only: a thread stops before a call that leaves it (output, a system call, a
//! library), so that the output of the program stays the same, and goes on from there when the end
//! of the program does, as it would have without the wait. It all happens before the program's exit
//! handlers and the destructors of global objects run.
//!
//! `main` returns to the C library, whose call of `exit` cannot be interposed: the function that
//! calls `main` is replaced by one that waits when `main` has returned.

use crate::entry::{enter_modelled, entries, leave};
use crate::real::real;
use crate::sched::{self, Deadline, HOOK_NS, Waiting, block, wake_waiters};
use crate::sys;
use crate::thread::Baton;
use foretell_rt_format::WaitingFor;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::*};

/// Number of steps that the other threads may run.
pub(crate) static STEPS: AtomicU64 = AtomicU64::new(foretell_rt_format::EXIT_STEPS);
/// Number of turns among which the steps are divided, at least.
const TURNS: u64 = 64;
/// Whether the end of the program has begun.
static BEGUN: AtomicBool = AtomicBool::new(false);
/// One more than the index of the thread that ends the program, while it waits for the others.
static ENDS: AtomicU32 = AtomicU32::new(0);
/// Object that the threads wait for which have stopped.
static STOPPED: u8 = 0;
/// The program's `main`.
static MAIN: AtomicUsize = AtomicUsize::new(0);

fn stopped() -> usize {
    &raw const STOPPED as usize
}

/// Lets the other threads go on, once, before the calling thread ends the program.
fn let_others_run(pc: usize) {
    let steps = STEPS.load(Relaxed);
    if BEGUN.swap(true, Relaxed) || steps == 0 {
        return;
    }
    let Some(t) = enter_modelled() else { return };
    if sched::others_live(*t) {
        ENDS.store(t.index() + 1, Relaxed);
        let now = sys::now_ns(libc::CLOCK_MONOTONIC);
        let deadline = Deadline { real: now, rounded: steps.saturating_mul(HOOK_NS) };
        let w = Waiting { what: WaitingFor::Sleep, object: 0, pc, owner_at: 0, between: true };
        block(t, w, Some(deadline));
        ENDS.store(0, Relaxed);
        wake_waiters(&[WaitingFor::Call], stopped(), usize::MAX);
    }
    leave(t);
}

/// Whether the end of the program has begun.
pub(crate) fn has_begun() -> bool {
    BEGUN.load(Relaxed)
}

/// Forgets that the program ends, in the child of a fork.
pub(crate) fn reset() {
    BEGUN.store(false, Relaxed);
    ENDS.store(0, Relaxed);
}

/// Returns a budget of steps, which is small while the program is about to end: all threads that
/// can run get their turn.
pub(crate) fn limited(budget: u64) -> u64 {
    match ENDS.load(Relaxed) {
        0 => budget,
        _ => budget.min((STEPS.load(Relaxed) / TURNS).max(1)),
    }
}

/// Stops the calling thread before a call that leaves recorded code, if the program is about to
/// end.
#[inline]
pub(crate) fn before_call(t: Baton, pc: usize) {
    if ENDS.load(Relaxed) != 0 {
        stop(t, pc);
    }
}

#[cold]
fn stop(t: Baton, pc: usize) {
    while !t.parallel() && ![0, t.index() + 1].contains(&ENDS.load(Relaxed)) {
        let object = stopped();
        let w = Waiting { what: WaitingFor::Call, object, pc, owner_at: 0, between: true };
        block(t, w, None);
    }
}

extern "C-unwind" fn exit_fn(status: c_int, pc: usize) {
    let_others_run(pc);
    real!(exit(status: c_int));
}

entries! {
    exit => exit_fn, "rsi";
}

extern "C-unwind" fn main_returned() {
    let_others_run(0);
}

/// Calls `main`, and lets the other threads run when it has returned.
#[unsafe(naked)]
unsafe extern "C" fn call_main() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        "push rdi",
        "push rsi",
        "push rdx",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 32",
        "call {before}",
        "add rsp, 8",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -32",
        "call qword ptr [rip + {main}]",
        "mov ebx, eax",
        "call {returned}",
        "mov eax, ebx",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        before = sym crate::library_caches::fill,
        main = sym MAIN,
        returned = sym main_returned,
    )
}

/// Keeps the program's `main`. Returns the C library's function that calls it: programs that pass
/// `init` were linked with a version before 2.34.
unsafe extern "C" fn real_start(main: usize, init: usize) -> *mut c_void {
    MAIN.store(main, Relaxed);
    let version = if init == 0 { c"GLIBC_2.34" } else { c"GLIBC_2.2.5" };
    // SAFETY: the names end with a zero.
    unsafe {
        let name = c"__libc_start_main";
        let found = libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), version.as_ptr());
        if found.is_null() { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } else { found }
    }
}

/// Starts the program: `main` is the first argument, `init` the fourth, and the seventh is on the
/// stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_start_main() {
    std::arch::naked_asm!(
        "push rsi", "push rdx", "push rcx", "push r8", "push r9",
        "mov rsi, rcx",
        "call {real}",
        "mov r11, rax",
        "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi",
        "lea rdi, [rip + {call}]",
        "jmp r11",
        real = sym real_start,
        call = sym call_main,
    )
}
