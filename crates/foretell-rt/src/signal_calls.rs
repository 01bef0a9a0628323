//! The functions with which a program sets the actions of signals and sends signals.

use crate::entry::{enter, entries, leave, plain_entries};
use crate::real::real;
use crate::signal::set_action;
use crate::transfer;
use foretell_rt_format::channel::Channel;
use std::ffi::c_int;
use std::mem::zeroed;

unsafe extern "C" fn do_sigaction(
    n: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { set_action(n, new, old) }
}

/// BSD semantics, like the C library's `signal`.
unsafe extern "C" fn do_signal(n: c_int, handler: usize) -> usize {
    // SAFETY: as the program's own call.
    unsafe { simple_signal(n, handler, libc::SA_RESTART) }
}

/// System V semantics, for programs that ask for strict X/Open.
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
        if set_action(n, &new, &mut old) != 0 { libc::SIG_ERR } else { old.sa_sigaction }
    }
}

/// Functions that send a signal: the steps of the sender before the call come before the handler.
macro_rules! sending {
    ($($imp:ident = $name:ident ( $($arg:ident),* ; $signal:ident );)*) => {$(
        extern "C-unwind" fn $imp($($arg: usize,)* pc: usize) -> c_int {
            if let Some(t) = enter() {
                transfer::call_step(t, pc);
                let channel = Channel::Signal.number(&[u64::from($signal as u32)]);
                transfer::sends(t, pc, channel, 0);
                leave(t);
            }
            real!($name($($arg: usize),*) -> c_int)
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
