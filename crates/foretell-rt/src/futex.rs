//! Futexes: the standard library of Rust, `std::atomic::wait` of C++ and others go straight to the
//! system call.

use crate::entry::{leave, plain_entries};
use crate::outside;
use crate::real::real;
use crate::sched::{Deadline, Waiting, block, wake_waiters};
use crate::sync::until;
use crate::thread::{Thread, Wake};
use crate::time::{errno_result, modelled, nanoseconds};
use foretell_rt_format::WaitingFor;
use libc::timespec;
use std::ffi::{c_int, c_long};

unsafe extern "C-unwind" fn syscall_fn(
    nr: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    // SAFETY: as the program's own call; the seventh argument is on the stack.
    unsafe {
        let plain = || {
            real!(syscall(nr: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize)
                -> c_long)
        };
        if nr != libc::SYS_futex {
            return plain();
        }
        let op = (b as c_int) & 0x7f;
        let wait = op == libc::FUTEX_WAIT || op == libc::FUTEX_WAIT_BITSET;
        let wake = op == libc::FUTEX_WAKE || op == libc::FUTEX_WAKE_BITSET;
        let private = b as c_int & libc::FUTEX_PRIVATE_FLAG != 0;
        let t = modelled();
        if t.is_null() {
            return plain();
        }
        let r = if wait && private {
            futex_wait(t, a, b as c_int, c as u32, d as *const timespec)
        } else if wake && private {
            wake_waiters(&[WaitingFor::Futex], a, c) as c_long
        } else if wait {
            outside::call(t, "futex", 0, &plain)
        } else {
            plain()
        };
        leave(t);
        if (-4095..0).contains(&r) && (wait && private) {
            return c_long::from(errno_result(-r as c_int));
        }
        r
    }
}

unsafe fn futex_wait(
    t: *mut Thread,
    word: usize,
    op: c_int,
    expected: u32,
    at: *const timespec,
) -> c_long {
    // SAFETY: the program's own word.
    unsafe {
        if (word as *const u32).read_volatile() != expected {
            return -c_long::from(libc::EAGAIN);
        }
        let deadline = if at.is_null() {
            None
        } else if op & 0x7f == libc::FUTEX_WAIT {
            nanoseconds(&*at).map(Deadline::after)
        } else if op & libc::FUTEX_CLOCK_REALTIME != 0 {
            until(libc::CLOCK_REALTIME, at)
        } else {
            until(libc::CLOCK_MONOTONIC, at)
        };
        let w =
            Waiting { what: WaitingFor::Futex, object: word, pc: 0, owner_at: 0, between: true };
        match block(t, w, deadline) {
            Wake::Event => 0,
            Wake::Time => -c_long::from(libc::ETIMEDOUT),
            Wake::Interrupt => {
                crate::signal::deliver(t);
                -c_long::from(libc::EINTR)
            }
        }
    }
}

plain_entries! {
    syscall => syscall_fn;
}
