//! System calls that the program makes with `syscall`. Futexes above all: the standard library of
//! Rust and `std::atomic::wait` of C++ use them directly.
//!
//! The scheduler has the waiters of a private futex; a request to move waiters to another word
//! wakes them, as the kernel may do at any time. Other calls that block hand the baton over; what
//! they pass on to other threads is not recorded.

use crate::blocking_call;
use crate::entry::{enter_modelled, leave, plain_entries};
use crate::real::real;
use crate::recorder;
use crate::sched::{Deadline, Waiting, block, wake_waiters};
use crate::sync::until;
use crate::thread::{Baton, Wake};
use crate::time::{errno_result, nanoseconds};
use foretell_rt_format::{Record, SyncKind, WaitingFor};
use libc::timespec;
use std::ffi::{c_int, c_long};

extern "C-unwind" fn syscall_fn(
    nr: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let plain = || {
        real!(syscall(nr: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize)
                -> c_long)
    };
    if nr != libc::SYS_futex {
        return other_call(nr, &plain);
    }
    let op = (b as c_int) & 0x7f;
    let wait = op == libc::FUTEX_WAIT || op == libc::FUTEX_WAIT_BITSET;
    let wakes = op == libc::FUTEX_WAKE || op == libc::FUTEX_WAKE_BITSET;
    let private = b as c_int & libc::FUTEX_PRIVATE_FLAG != 0;
    let Some(t) = enter_modelled() else { return plain() };
    if wait {
        crate::unexplored::FUTEX.take();
    }
    let r = if wait && private {
        futex_wait(t, a, b as c_int, c as u32, d as *const timespec)
    } else if wakes && private {
        wake(a, c)
    } else if private && matches!(op, libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE) {
        requeue(op, a, c, d, f)
    } else if private && op == libc::FUTEX_WAKE_OP {
        let woken = plain();
        if woken < 0 { woken } else { woken + wake(a, c) + wake(e, d) }
    } else if wait || matches!(op, libc::FUTEX_LOCK_PI | libc::FUTEX_WAIT_REQUEUE_PI) {
        let r = blocking_call::call(t, "futex", 0, &plain);
        if wait {
            put_woken(t, a);
        }
        r
    } else {
        plain()
    };
    leave(t);
    let ours = wait || matches!(op, libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE);
    if (-4095..0).contains(&r) && ours && private {
        return c_long::from(errno_result(-r as c_int));
    }
    r
}

fn wake(word: usize, most: usize) -> c_long {
    wake_waiters(&[WaitingFor::Futex], word, most) as c_long
}

/// Reads the word of a futex.
fn read_word(word: usize) -> u32 {
    // SAFETY: the program's own word.
    unsafe { (word as *const u32).read_volatile() }
}

/// Wakes the waiters that would have been moved: they look at the word again.
fn requeue(op: c_int, word: usize, most: usize, moved: usize, expected: usize) -> c_long {
    if op == libc::FUTEX_CMP_REQUEUE && read_word(word) != expected as u32 {
        return -c_long::from(libc::EAGAIN);
    }
    wake(word, most.saturating_add(moved))
}

/// System calls that may block, and the names they are known by.
const BLOCKING: &[(c_long, &str)] = &[
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_poll, "poll"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_select, "select"),
    (libc::SYS_pselect6, "pselect"),
    (libc::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_pause, "pause"),
    (libc::SYS_rt_sigtimedwait, "sigtimedwait"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (libc::SYS_io_uring_enter, "io_uring_enter"),
];

fn other_call(nr: c_long, plain: &dyn Fn() -> c_long) -> c_long {
    let Some(&(_, name)) = BLOCKING.iter().find(|(blocking, _)| *blocking == nr) else {
        return plain();
    };
    let Some(t) = enter_modelled() else { return plain() };
    let r = blocking_call::call(t, name, 0, plain);
    leave(t);
    r
}

/// Records that the calling thread does not wait any longer for a futex: what has changed the word
/// may not be recorded.
fn put_woken(t: Baton, word: usize) {
    let (kind, object) = (SyncKind::FutexWoken, word as u64);
    recorder::put(t, &Record::Sync { kind, pc: 0, object, other: 0 });
}

fn futex_wait(t: Baton, word: usize, op: c_int, expected: u32, at: *const timespec) -> c_long {
    if read_word(word) != expected {
        put_woken(t, word);
        // Not EAGAIN: the word may change earlier in a replay than it did in the recording, where
        // the thread waited and was woken. A wait may end at any time.
        return 0;
    }
    let deadline = if at.is_null() {
        None
    } else if op & 0x7f == libc::FUTEX_WAIT {
        nanoseconds(at).map(Deadline::after)
    } else if op & libc::FUTEX_CLOCK_REALTIME != 0 {
        until(libc::CLOCK_REALTIME, at)
    } else {
        until(libc::CLOCK_MONOTONIC, at)
    };
    let w = Waiting { what: WaitingFor::Futex, object: word, pc: 0, owner_at: 0, between: true };
    match block(t, w, deadline) {
        Wake::Event => {
            put_woken(t, word);
            0
        }
        Wake::Time => -c_long::from(libc::ETIMEDOUT),
        Wake::Interrupt => {
            crate::signal::deliver(t);
            -c_long::from(libc::EINTR)
        }
    }
}

plain_entries! {
    syscall => syscall_fn;
}
