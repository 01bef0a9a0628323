//! Signals: the program's handlers run only while their thread holds the baton.
//!
//! A signal that comes while the thread is inside the runtime, or without the baton, is kept and
//! handled at its next hook, or where it waits. Signals of a crash are never kept: the last
//! pending access and the crash are logged, then the program's handler runs, or the default
//! action does its work: the exit status is the program's own.

use crate::arena;
use crate::entry::{enter, entries, leave, plain_entries};
use crate::real::real;
use crate::recorder;
use crate::sched;
use crate::sys;
use crate::thread::{Frame, KeptSignal, MAX_DEPTH, SIGNALS, State, Thread};
use crate::transfer;
use foretell_rt_format::Record;
use foretell_rt_format::channel::Channel;
use std::arch::asm;
use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::*;

const CRASHES: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGSYS];
const STACK: usize = 64 << 10;

/// What the program asked for, by signal.
static mut ACTIONS: [Option<libc::sigaction>; SIGNALS] = [None; SIGNALS];

unsafe fn real_sigaction(
    n: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as sigaction.
    unsafe {
        real!(sigaction(n: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int)
    }
}

/// Watches for crashes.
pub(crate) unsafe fn install() {
    // SAFETY: at the start, one thread.
    unsafe {
        for n in CRASHES {
            let mut old: libc::sigaction = zeroed();
            let mut new: libc::sigaction = zeroed();
            new.sa_sigaction = on_crash as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            if real_sigaction(n, &new, &mut old) == 0 && old.sa_sigaction != libc::SIG_DFL {
                ACTIONS[n as usize] = Some(old);
            }
        }
    }
}

/// A stack for handlers: the thread's own may be what overflowed.
pub(crate) unsafe fn alternate_stack() {
    // SAFETY: a fresh mapping becomes the alternate stack, unless there is one.
    unsafe {
        let mut old: libc::stack_t = zeroed();
        if libc::sigaltstack(null_mut(), &mut old) == 0 && old.ss_flags & libc::SS_DISABLE != 0 {
            let new =
                libc::stack_t { ss_sp: arena::map(STACK).cast(), ss_flags: 0, ss_size: STACK };
            if !new.ss_sp.is_null() {
                libc::sigaltstack(&new, null_mut());
            }
        }
    }
}

/// Gives it back at the end of the thread.
pub(crate) unsafe fn drop_alternate_stack() {
    // SAFETY: only a stack of our size is given back, after it is disabled.
    unsafe {
        let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: STACK };
        let mut old: libc::stack_t = zeroed();
        if libc::sigaltstack(&none, &mut old) == 0
            && old.ss_flags & libc::SS_DISABLE == 0
            && old.ss_size == STACK
        {
            arena::unmap(old.ss_sp.cast(), STACK);
        }
    }
}

unsafe extern "C" fn on_crash(n: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let t = crate::tls::get();
    // SAFETY: the kernel's arguments.
    unsafe {
        let action = ACTIONS[n as usize];
        let code = (*info).si_code;
        if code <= 0 && n != libc::SIGABRT && action.is_some() {
            // Sent by somebody, with a handler: like any other signal.
            return on_signal(n, info, context);
        }
        if !t.is_null() {
            log_crash(t, n, info, context);
        }
        match action {
            Some(a) if a.sa_sigaction == libc::SIG_IGN => {}
            Some(a) if a.sa_sigaction != libc::SIG_DFL => call_handler(&a, n, info, context),
            _ => {
                let default: libc::sigaction = zeroed();
                real_sigaction(n, &default, null_mut());
                if code <= 0 && n != libc::SIGABRT {
                    sys::die_by(n);
                }
                // Back to the faulting instruction, or to abort(): the default action now.
            }
        }
    }
}

unsafe fn log_crash(t: *mut Thread, n: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's arguments. A thread without the baton may crash (in a call of the
    // system's library code): only one that may write to the log does.
    unsafe {
        if (*t).wait.state != State::Running && !(*t).hot.parallel {
            return;
        }
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let pc = registers[libc::REG_RIP as usize] as u64;
        let addr = if (*info).si_code > 0 { (*info).si_addr() as u64 } else { 0 };
        let was = (*t).hot.busy;
        (*t).hot.busy = 1;
        let near = recorder::pending_addr(t)
            .is_some_and(|pending| addr.wrapping_sub(pending as u64) < 64 || addr == 0);
        if was == 0 && !((*info).si_code > 0 && near) {
            recorder::flush(t);
        } else {
            recorder::flush_faulted(t);
        }
        let (signal, code) = (n as u32, (*info).si_code);
        recorder::put(t, &Record::Crash { signal, code, pc, addr });
        (*t).hot.busy = was;
    }
}

unsafe fn call_handler(
    action: &libc::sigaction,
    n: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the program's own handler, with the arguments it asked for.
    unsafe {
        if action.sa_flags & libc::SA_SIGINFO != 0 {
            let f: unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(action.sa_sigaction);
            f(n, info, context);
        } else {
            let f: unsafe extern "C" fn(c_int) = std::mem::transmute(action.sa_sigaction);
            f(n);
        }
    }
}

unsafe extern "C" fn on_signal(n: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let t = crate::tls::get();
    // SAFETY: the kernel's arguments; `t` is the calling thread.
    unsafe {
        let Some(action) = ACTIONS[n as usize] else { return };
        if t.is_null() || ((*t).hot.parallel && (*t).hot.busy == 0) {
            return call_handler(&action, n, info, context);
        }
        let outside = (*t).wait.in_blocking_call.load(Relaxed) == 1;
        if outside {
            // In a call of the system: take the baton, handle, give it back.
            let errno = *libc::__errno_location();
            let call = (*t).wait.call;
            let pc = (*t).wait.pc;
            sched::come_back(t);
            handle(t, &action, n, info, context);
            sched::go_outside(t, call, pc);
            *libc::__errno_location() = errno;
        } else if (*t).hot.busy == 0 && (*t).wait.state == State::Running && !in_hot_code(context) {
            handle(t, &action, n, info, context);
        } else {
            let kept = &mut (*t).signals.kept[n as usize];
            kept.info = info.cast::<[u64; 16]>().read();
            kept.there = true;
            (*t).hot.signalled = 1;
        }
    }
}

/// Whether the signal came in the fast path of a hook, which does not say that it is inside the runtime.
unsafe fn in_hot_code(context: *mut c_void) -> bool {
    // SAFETY: the kernel's context.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let pc = registers[libc::REG_RIP as usize] as usize;
    let (start, end): (usize, usize);
    // What the linker makes of the section of the fast paths. Hidden, or GNU ld would export both names, and
    // a program could come between them and us.
    // SAFETY: takes two addresses.
    unsafe {
        asm!(".hidden __start_foretell_hot", ".hidden __stop_foretell_hot",
             "lea {start}, [rip + __start_foretell_hot]", "lea {end}, [rip + __stop_foretell_hot]",
             start = out(reg) start, end = out(reg) end, options(nomem, nostack, preserves_flags, pure));
    }
    (start..end).contains(&pc)
}

unsafe fn handle(
    t: *mut Thread,
    action: &libc::sigaction,
    n: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        let depth = (*t).frames.depth;
        let busy = (*t).hot.busy;
        (*t).hot.busy = 1;
        // The access under way comes after the handler.
        let pending = recorder::retract(t);
        recorder::flush(t);
        recorder::put(t, &Record::Signal { signal: n as u32, starts: true });
        transfer::signal_received(t, n);
        // The handler may run on another stack: frames are compared anew.
        let frames = (*t).frames.stack;
        if depth < MAX_DEPTH {
            *frames.add(depth) = Frame { sp: usize::MAX, call: 0, pc: 0 };
            (*t).frames.set_logged_depth(depth + 1);
        }
        (*t).hot.busy = 0;
        call_handler(action, n, info, context);
        (*t).hot.busy = 1;
        recorder::flush(t);
        recorder::put(t, &Record::Signal { signal: n as u32, starts: false });
        (*t).frames.set_logged_depth(depth);
        if let Some(access) = pending {
            recorder::begin(t, access);
        }
        (*t).hot.busy = busy;
    }
}

/// Handles the signals that were kept. The thread holds the baton and is not inside the runtime,
/// or is where a wait may be interrupted.
pub(crate) unsafe fn deliver(t: *mut Thread) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        (*t).hot.signalled = 0;
        let errno = *libc::__errno_location();
        let mut n = 0;
        while n + 1 < SIGNALS {
            n += 1;
            if !(*t).signals.kept[n].there {
                continue;
            }
            let mut info = (*t).signals.kept[n].info;
            (*t).signals.kept[n] = KeptSignal { there: false, info: [0; 16] };
            if let Some(action) = ACTIONS[n] {
                let mut context: libc::ucontext_t = zeroed();
                let info = (&raw mut info).cast();
                handle(t, &action, n as c_int, info, (&raw mut context).cast());
            }
        }
        *libc::__errno_location() = errno;
    }
}

unsafe extern "C" fn do_sigaction(
    n: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let recorded = !crate::tls::get().is_null() && (1..SIGNALS as c_int).contains(&n);
        if !recorded {
            return real_sigaction(n, new, old);
        }
        let before = ACTIONS[n as usize];
        let crash = CRASHES.contains(&n);
        if new.is_null() {
            let r = real_sigaction(n, new, old);
            show(old, before, crash);
            return r;
        }
        let asked = *new;
        let handler = asked.sa_sigaction != libc::SIG_DFL && asked.sa_sigaction != libc::SIG_IGN;
        let mut installed = asked;
        if crash {
            installed.sa_sigaction = on_crash as *const () as usize;
            installed.sa_flags |= libc::SA_SIGINFO | libc::SA_ONSTACK;
        } else if handler {
            installed.sa_sigaction = on_signal as *const () as usize;
            installed.sa_flags |= libc::SA_SIGINFO;
            sched::HANDLERS.store(true, Relaxed);
        }
        ACTIONS[n as usize] = (crash || handler).then_some(asked);
        let r = real_sigaction(n, &installed, old);
        if r != 0 {
            ACTIONS[n as usize] = before;
        } else {
            show(old, before, crash);
        }
        r
    }
}

/// What the program is told about the action before.
unsafe fn show(old: *mut libc::sigaction, before: Option<libc::sigaction>, crash: bool) {
    // SAFETY: the program's own buffer.
    unsafe {
        if old.is_null() {
            return;
        }
        match before {
            // One that was for one time is gone.
            Some(_) if (*old).sa_sigaction == libc::SIG_DFL => {}
            Some(a) => *old = a,
            None if crash => *old = zeroed(),
            None => {}
        }
    }
}

/// BSD semantics, like the C library's `signal`.
unsafe extern "C" fn do_signal(n: c_int, handler: usize) -> usize {
    // SAFETY: as the program's own call.
    unsafe { simple_signal(n, handler, libc::SA_RESTART) }
}

/// System V semantics: what `signal` is for programs that ask for strict X/Open.
unsafe extern "C" fn do_sysv_signal(n: c_int, handler: usize) -> usize {
    // SAFETY: as the program's own call.
    unsafe { simple_signal(n, handler, libc::SA_RESETHAND | libc::SA_NODEFER) }
}

unsafe fn simple_signal(n: c_int, handler: usize, flags: c_int) -> usize {
    // SAFETY: as the program's own call.
    unsafe {
        let mut new: libc::sigaction = zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        let mut old: libc::sigaction = zeroed();
        if do_sigaction(n, &new, &mut old) != 0 { libc::SIG_ERR } else { old.sa_sigaction }
    }
}

/// Functions that send a signal: what was done before comes before the handler.
macro_rules! sending {
    ($($imp:ident = $name:ident ( $($arg:ident),* ; $signal:ident );)*) => {$(
        unsafe extern "C-unwind" fn $imp($($arg: usize,)* pc: usize) -> c_int {
            // SAFETY: as the program's own call.
            unsafe {
                let t = enter();
                if !t.is_null() {
                    transfer::call_step(t, pc);
                    let channel = Channel::Signal.number(&[u64::from($signal as u32)]);
                    transfer::sends(t, pc, channel, 0);
                    leave(t);
                }
                real!($name($($arg: usize),*) -> c_int)
            }
        }
    )*};
}
sending! {
    kill_fn = kill(pid, n; n);
    killpg_fn = killpg(group, n; n);
    tgkill_fn = tgkill(pid, tid, n; n);
    sigqueue_fn = sigqueue(pid, n, value; n);
    pthread_kill_fn = pthread_kill(thread, n; n);
    pthread_sigqueue_fn = pthread_sigqueue(thread, n, value; n);
}

entries! {
    kill => kill_fn, "rdx";
    killpg => killpg_fn, "rdx";
    tgkill => tgkill_fn, "rcx";
    sigqueue => sigqueue_fn, "rcx";
    pthread_kill => pthread_kill_fn, "rdx";
    pthread_sigqueue => pthread_sigqueue_fn, "rcx";
}

plain_entries! {
    sigaction => do_sigaction;
    signal => do_signal;
    ssignal => do_signal;
    bsd_signal => do_signal;
    sysv_signal => do_sysv_signal;
    __sysv_signal => do_sysv_signal;
}
