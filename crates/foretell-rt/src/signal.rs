//! Signals: the program's handlers run only while their thread holds the baton.
//!
//! A signal that comes while the thread is inside the runtime, or without the baton, is kept and
//! handled at the thread's next hook, or where it waits. Signals of a crash are never kept: the
//! last pending access and the crash are logged, then the program's handler runs, or the default
//! action does its work: the exit status is the program's own.

use crate::arena;
use crate::real::real;
use crate::recorder;
use crate::sched::{self, unmodelled};
use crate::sys;
use crate::thread::{Baton, Frame, MAX_DEPTH, SIGNALLED, SIGNALS, SignalInfo, State, ThreadRef};
use foretell_rt_format::channel::Channel;
use foretell_rt_format::{Record, SyncKind};
use std::arch::asm;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::*;

const CRASHES: [c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGSYS];
const STACK: usize = 64 << 10;

/// The action that the program asked for, by signal. Not behind a lock: a handler reads it.
struct Actions(UnsafeCell<[Option<libc::sigaction>; SIGNALS]>);

// SAFETY: the holder of the baton writes; a handler that reads meanwhile sees the old action or the
// new one.
unsafe impl Sync for Actions {}

static ACTIONS: Actions = Actions(UnsafeCell::new([None; SIGNALS]));

impl Actions {
    fn get(&self, n: usize) -> Option<libc::sigaction> {
        // SAFETY: a signal number is within the array.
        unsafe { (*self.0.get())[n] }
    }

    fn set(&self, n: usize, action: Option<libc::sigaction>) {
        // SAFETY: as above.
        unsafe { (*self.0.get())[n] = action };
    }
}

unsafe fn real_sigaction(
    n: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    real!(sigaction(n: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int)
}

/// Installs the handlers of crashes.
pub(crate) fn install() {
    // SAFETY: at the start, one thread.
    unsafe {
        for n in CRASHES {
            let mut old: libc::sigaction = zeroed();
            let mut new: libc::sigaction = zeroed();
            new.sa_sigaction = on_crash as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            if real_sigaction(n, &new, &mut old) == 0 && old.sa_sigaction != libc::SIG_DFL {
                ACTIONS.set(n as usize, Some(old));
            }
        }
    }
}

/// Gives the calling thread a stack for handlers: its own may have overflowed.
pub(crate) fn alternate_stack() {
    // SAFETY: a fresh mapping becomes the alternate stack, unless there is one.
    unsafe {
        let mut old: libc::stack_t = zeroed();
        if libc::sigaltstack(null_mut(), &mut old) == 0 && old.ss_flags & libc::SS_DISABLE != 0 {
            let new = libc::stack_t {
                ss_sp: arena::map_for_program(STACK).cast(),
                ss_flags: 0,
                ss_size: STACK,
            };
            if !new.ss_sp.is_null() {
                libc::sigaltstack(&new, null_mut());
            }
        }
    }
}

/// Unmaps the stack for handlers at the end of the thread.
pub(crate) fn drop_alternate_stack() {
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
    let t = crate::tls::current();
    // SAFETY: the kernel's arguments.
    unsafe {
        let action = ACTIONS.get(n as usize);
        let code = (*info).si_code;
        if code <= 0 && n != libc::SIGABRT && action.is_some() {
            // Sent, not a fault, and the program has a handler: like any other signal.
            return on_signal(n, info, context);
        }
        if let Some(t) = t {
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

/// Logs a crash of the calling thread, with the access that faulted if that is the one under way.
unsafe fn log_crash(t: ThreadRef, n: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // A thread without the baton may crash in a blocking call: only one that may write to the log
    // does.
    if t.wait().state.get() != State::Running && !t.parallel() {
        return;
    }
    // SAFETY: the calling thread runs, and so has the baton.
    let t = unsafe { Baton::assume(t) };
    // SAFETY: the kernel's arguments.
    let (pc, code, addr) = unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let addr = if (*info).si_code > 0 { (*info).si_addr() as u64 } else { 0 };
        (registers[libc::REG_RIP as usize] as u64, (*info).si_code, addr)
    };
    let was_inside = t.hot(|hot| hot.busy != 0);
    t.set_inside(true);
    let near = recorder::pending_addr(t)
        .is_some_and(|pending| addr.wrapping_sub(pending as u64) < 64 || addr == 0);
    let faulted = code > 0 && near;
    if was_inside || faulted {
        recorder::flush_faulted(t);
    } else {
        recorder::flush(t);
    }
    crate::log::keep_in_handler();
    recorder::put(t, &Record::Crash { signal: n as u32, code, pc, addr });
    t.set_inside(was_inside);
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
    let Some(action) = ACTIONS.get(n as usize) else { return };
    let thread = crate::tls::current();
    let Some(t) = thread.filter(|&t| !t.parallel() || t.is_inside()) else {
        // SAFETY: the kernel's arguments.
        return unsafe { call_handler(&action, n, info, context) };
    };
    if t.wait().in_blocking_call.load(Relaxed) == 1 {
        // In a blocking call: take the baton, handle, give it back.
        let saved = sys::errno();
        let (call, pc) = (t.wait().call.get(), t.wait().pc.get());
        let t = sched::leave_blocking_call(t);
        // SAFETY: the kernel's arguments.
        unsafe { handle(t, &action, n, info, context) };
        sched::enter_blocking_call(t, call, pc);
        sys::set_errno(saved);
        return;
    }
    // SAFETY: the kernel's context.
    if !t.is_inside() && !unsafe { in_hot_code(context) } {
        // In the program's code: with the baton, unless the watchdog has taken it.
        let saved = sys::errno();
        let (t, outside) = unmodelled::hold(t);
        // SAFETY: the calling thread has the baton; the arguments are the kernel's.
        unsafe { handle(t, &action, n, info, context) };
        if outside {
            unmodelled::leave(t);
        }
        sys::set_errno(saved);
        return;
    }
    // SAFETY: the kernel's information is as long as this.
    let info = unsafe { info.cast::<SignalInfo>().read() };
    t.signals().kept[n as usize].set(Some(info));
    t.hot(|hot| hot.set_attention(SIGNALLED, true));
    sched::look_at_signal(t);
}

/// Whether the signal came in the fast path of a hook, which does not mark the thread as being
/// inside the runtime.
///
/// # Safety
/// The context is the kernel's.
pub(crate) unsafe fn in_hot_code(context: *mut c_void) -> bool {
    // SAFETY: the kernel's context.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let pc = registers[libc::REG_RIP as usize] as usize;
    let (start, end): (usize, usize);
    // The linker defines these names for the section of the fast paths. They are hidden: GNU ld
    // would export them, and a program could interpose them. SAFETY: takes two addresses.
    unsafe {
        asm!(".hidden __start_foretell_hot", ".hidden __stop_foretell_hot",
             "lea {start}, [rip + __start_foretell_hot]", "lea {end}, [rip + __stop_foretell_hot]",
             start = out(reg) start, end = out(reg) end, options(nomem, nostack, preserves_flags, pure));
    }
    (start..end).contains(&pc)
}

/// Records that the calling thread has received a signal.
pub(crate) fn put_received(t: Baton, n: c_int) {
    let (kind, object) = (SyncKind::Received, Channel::Signal.number(&[n as u64]));
    recorder::put(t, &Record::Sync { kind, pc: 0, object, other: 0 });
}

/// Runs the program's handler in the calling thread, and records that.
unsafe fn handle(
    t: Baton,
    action: &libc::sigaction,
    n: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    let depth = t.frames(|frames| frames.depth);
    let was_inside = t.hot(|hot| hot.busy != 0);
    t.set_inside(true);
    // The access under way comes after the handler.
    let pending = recorder::retract(t);
    recorder::flush(t);
    recorder::put(t, &Record::Signal { signal: n as u32, starts: true });
    put_received(t, n);
    // The handler may run on another stack: its frames are compared with one above all.
    if depth < MAX_DEPTH {
        t.frames(|frames| {
            frames.push(Frame { sp: usize::MAX, call: 0, pc: 0, fp: 0 });
            frames.set_logged_depth(depth + 1);
        });
    }
    t.set_inside(false);
    // SAFETY: the program's own handler, with what the kernel gives to it.
    unsafe { call_handler(action, n, info, context) };
    t.set_inside(true);
    recorder::flush(t);
    recorder::put(t, &Record::Signal { signal: n as u32, starts: false });
    t.frames(|frames| frames.set_logged_depth(depth));
    if let Some(access) = pending {
        recorder::begin(t, access);
    }
    t.set_inside(was_inside);
}

/// Handles the signals that were kept. The thread is not inside the runtime, or is where a wait may
/// be interrupted.
pub(crate) fn deliver(t: Baton) {
    t.hot(|hot| hot.set_attention(SIGNALLED, false));
    let saved = sys::errno();
    for n in 1..SIGNALS {
        let Some(mut info) = t.signals().kept[n].take() else { continue };
        if let Some(action) = ACTIONS.get(n) {
            crate::unexplored::SIGNAL.take();
            // SAFETY: all zeroes is a valid context; the information is the kernel's.
            unsafe {
                let mut context: libc::ucontext_t = zeroed();
                let info = (&raw mut info).cast();
                handle(t, &action, n as c_int, info, (&raw mut context).cast());
            }
        }
    }
    sys::set_errno(saved);
}

/// Sets the action of a signal for the program, and returns what `sigaction` returns.
///
/// # Safety
/// As the program's own call of `sigaction`.
pub(crate) unsafe fn set_action(
    n: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let recorded = crate::tls::current().is_some() && (1..SIGNALS as c_int).contains(&n);
        if !recorded {
            return real_sigaction(n, new, old);
        }
        let before = ACTIONS.get(n as usize);
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
        ACTIONS.set(n as usize, (crash || handler).then_some(asked));
        let r = real_sigaction(n, &installed, old);
        if r != 0 {
            ACTIONS.set(n as usize, before);
        } else {
            show(old, before, crash);
        }
        r
    }
}

/// Writes the action before, as the program knows it.
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
