//! Blocking calls of the system, sleeping, yielding, futexes.
//!
//! A call that would not block right now (the descriptor is ready) is made with the baton: most
//! programs write their output in this way, and the order stays the seed's. What may block goes
//! outside.

use crate::access::range;
use crate::entry::{enter, entries, leave, plain_entries};
use crate::outside;
use crate::real::real;
use crate::sched::{self, Deadline, Waiting, block, wake_waiters};
use crate::sync::until;
use crate::sys::{self, now_ns};
use crate::thread::{Thread, Wake};
use foretell_rt_format::{AccessKind, WaitingFor};
use libc::{POLLIN, POLLOUT, timespec};
use std::ffi::{c_int, c_long, c_uint};

/// Whether a descriptor is ready for this, so that the call will not block.
fn ready(fd: c_int, events: i16) -> bool {
    let mut p = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one descriptor, no waiting.
    unsafe { sys::call(libc::SYS_poll, [&raw mut p as usize, 1, 0, 0, 0, 0]) != 0 }
}

/// With the baton when `at_once`, else outside.
unsafe fn perform<R>(
    t: *mut Thread,
    at_once: bool,
    name: &'static str,
    pc: usize,
    f: &dyn Fn() -> R,
) -> R {
    // SAFETY: `t` is the calling thread.
    unsafe { if at_once { f() } else { outside::call(t, name, pc, f) } }
}

/// Functions that may block, with what tells that they will not.
macro_rules! blocking {
    ($($imp:ident = $name:ident ( $($arg:ident),* ) if $at_once:expr;)*) => {$(
        unsafe extern "C-unwind" fn $imp($($arg: usize,)* pc: usize) -> isize {
            // SAFETY: as the program's own call. Results of `int` are extended by the caller.
            unsafe {
                let real = || real!($name($($arg: usize),*) -> isize);
                let t = enter();
                if t.is_null() {
                    return real();
                }
                let r = perform(t, $at_once, stringify!($name), pc, &real);
                leave(t);
                r
            }
        }
    )*};
}

const fn int(x: usize) -> c_int {
    x as c_int
}

blocking! {
    readv_fn = readv(fd, iov, n) if ready(int(fd), POLLIN);
    writev_fn = writev(fd, iov, n) if ready(int(fd), POLLOUT);
    recvmsg_fn = recvmsg(fd, msg, flags) if ready(int(fd), POLLIN);
    sendmsg_fn = sendmsg(fd, msg, flags) if ready(int(fd), POLLOUT);
    accept_fn = accept(fd, addr, len) if ready(int(fd), POLLIN);
    accept4_fn = accept4(fd, addr, len, flags) if ready(int(fd), POLLIN);
    connect_fn = connect(fd, addr, len) if false;
    poll_fn = poll(fds, n, timeout) if int(timeout) == 0
        || sys::call(libc::SYS_poll, [fds, n, 0, 0, 0, 0]) != 0;
    ppoll_fn = ppoll(fds, n, timeout, mask) if mask == 0
        && sys::call(libc::SYS_poll, [fds, n, 0, 0, 0, 0]) != 0;
    select_fn = select(n, r, w, e, timeout) if false;
    epoll_wait_fn = epoll_wait(fd, events, n, timeout) if int(timeout) == 0
        || ready(int(fd), POLLIN);
    epoll_pwait_fn = epoll_pwait(fd, events, n, timeout, mask) if int(timeout) == 0;
    wait_fn = wait(status) if false;
    waitpid_fn = waitpid(pid, status, options) if int(options) & libc::WNOHANG != 0;
    wait3_fn = wait3(status, options, usage) if int(options) & libc::WNOHANG != 0;
    wait4_fn = wait4(pid, status, options, usage) if int(options) & libc::WNOHANG != 0;
    waitid_fn = waitid(kind, id, info, options) if int(options) & libc::WNOHANG != 0;
    pause_fn = pause() if false;
    sigwait_fn = sigwait(set, sig) if false;
    sigsuspend_fn = sigsuspend(set) if false;
    sigwaitinfo_fn = sigwaitinfo(set, info) if false;
    sigtimedwait_fn = sigtimedwait(set, info, timeout) if false;
    system_fn = system(command) if false;
    pclose_fn = pclose(file) if false;
    flock_fn = flock(fd, op) if int(op) & libc::LOCK_NB != 0;
    lockf_fn = lockf(fd, op, len) if false;
    semop_fn = semop(id, ops, n) if false;
    semtimedop_fn = semtimedop(id, ops, n, timeout) if false;
    msgrcv_fn = msgrcv(id, msg, n, kind, flags) if false;
    msgsnd_fn = msgsnd(id, msg, n, flags) if false;
    mq_receive_fn = mq_receive(q, msg, n, prio) if false;
    mq_send_fn = mq_send(q, msg, n, prio) if false;
    mq_timedreceive_fn = mq_timedreceive(q, msg, n, prio, at) if false;
    mq_timedsend_fn = mq_timedsend(q, msg, n, prio, at) if false;
    getaddrinfo_fn = getaddrinfo(node, service, hints, out) if false;
    tcdrain_fn = tcdrain(fd) if false;
    fsync_fn = fsync(fd) if true;
    fgets_fn = fgets(buf, n, file) if ready(file_fd(file), POLLIN);
    fgetc_fn = fgetc(file) if ready(file_fd(file), POLLIN);
    getc_fn = getc(file) if ready(file_fd(file), POLLIN);
    getchar_fn = getchar() if ready(0, POLLIN);
    fread_fn = fread(buf, size, n, file) if ready(file_fd(file), POLLIN);
    getline_fn = getline(line, n, file) if ready(file_fd(file), POLLIN);
    getdelim_fn = getdelim(line, n, delim, file) if ready(file_fd(file), POLLIN);
}

unsafe fn file_fd(file: usize) -> c_int {
    // SAFETY: the program's own stream.
    unsafe { libc::fileno(file as *mut libc::FILE) }
}

/// The six-argument ones leave no register for the code location.
macro_rules! blocking6 {
    ($($imp:ident = $name:ident, $events:expr;)*) => {$(
        unsafe extern "C-unwind" fn $imp(
            a: usize, b: usize, c: usize, d: usize, e: usize, f: usize,
        ) -> isize {
            // SAFETY: as the program's own call.
            unsafe {
                let real = || {
                    real!($name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize)
                        -> isize)
                };
                let t = enter();
                if t.is_null() {
                    return real();
                }
                let at_once = $events != 0 && ready(int(a), $events);
                let r = perform(t, at_once, stringify!($name), 0, &real);
                leave(t);
                r
            }
        }
    )*};
}
blocking6! {
    recvfrom_fn = recvfrom, POLLIN;
    sendto_fn = sendto, POLLOUT;
    pselect_fn = pselect, 0;
}

/// Reads into the program's memory, and records that.
macro_rules! readers {
    ($($imp:ident = $name:ident ( $($more:ident),* );)*) => {$(
        unsafe extern "C-unwind" fn $imp(
            fd: c_int, buf: usize, n: usize, $($more: usize,)* pc: usize,
        ) -> isize {
            // SAFETY: as the program's own call.
            unsafe {
                let real = || {
                    real!($name(fd: c_int, buf: usize, n: usize $(, $more: usize)*) -> isize)
                };
                let t = enter();
                if t.is_null() {
                    return real();
                }
                let r = perform(t, ready(fd, POLLIN), stringify!($name), pc, &real);
                if r > 0 {
                    let errno = *libc::__errno_location();
                    range(t, AccessKind::Write, buf, r as usize, pc, None);
                    *libc::__errno_location() = errno;
                }
                leave(t);
                r
            }
        }
    )*};
}
readers! {
    read_fn = read();
    recv_fn = recv(flags);
    pread_fn = pread(at);
    pread64_fn = pread64(at);
}

/// Writes from the program's memory, and records that.
macro_rules! writers {
    ($($imp:ident = $name:ident ( $($more:ident),* );)*) => {$(
        unsafe extern "C-unwind" fn $imp(
            fd: c_int, buf: usize, n: usize, $($more: usize,)* pc: usize,
        ) -> isize {
            // SAFETY: as the program's own call; a bad buffer is the kernel's to refuse.
            unsafe {
                let real = || {
                    real!($name(fd: c_int, buf: usize, n: usize $(, $more: usize)*) -> isize)
                };
                let t = enter();
                if t.is_null() {
                    return real();
                }
                let r = perform(t, ready(fd, POLLOUT), stringify!($name), pc, &real);
                if r > 0 {
                    let errno = *libc::__errno_location();
                    range(t, AccessKind::Read, buf, r as usize, pc, None);
                    *libc::__errno_location() = errno;
                }
                leave(t);
                r
            }
        }
    )*};
}
writers! {
    write_fn = write();
    send_fn = send(flags);
    pwrite_fn = pwrite(at);
    pwrite64_fn = pwrite64(at);
}

// ---- time

/// Sleeps; what is left when a signal came.
unsafe fn sleep_for(t: *mut Thread, ns: u64, pc: usize) -> Option<u64> {
    // SAFETY: `t` is the calling thread.
    unsafe {
        crate::cancel::point(t);
        let replayed = sched::LOCK.with(|| sched::sched().replay.active);
        if replayed {
            // The schedule says who runs when; time has no say.
            return None;
        }
        let d = Deadline::after(ns);
        let w = Waiting { what: WaitingFor::Sleep, object: 0, pc, owner_at: 0, between: true };
        let wake = block(t, w, Some(d));
        if wake == Wake::Interrupt {
            crate::signal::deliver(t);
            crate::cancel::point(t);
            return Some(d.real.saturating_sub(now_ns(libc::CLOCK_MONOTONIC)));
        }
        // Hooks' time may run ahead of the clock: never sleep less than was asked for.
        let left = d.real.saturating_sub(now_ns(libc::CLOCK_MONOTONIC));
        if left > 0 {
            let never = std::sync::atomic::AtomicU32::new(0);
            sys::futex_wait(&never, 0, Some(left));
        }
        None
    }
}

unsafe fn errno_result(r: c_int) -> c_int {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = r };
    -1
}

fn nanoseconds(ts: &timespec) -> Option<u64> {
    let valid = ts.tv_sec >= 0 && (0..1_000_000_000).contains(&ts.tv_nsec);
    valid.then(|| (ts.tv_sec as u64).saturating_mul(1_000_000_000) + ts.tv_nsec as u64)
}

/// A sleep that the runtime does not model: parallel recording, or not recorded.
unsafe fn modelled() -> *mut Thread {
    // SAFETY: enter and leave match.
    unsafe {
        let t = enter();
        if !t.is_null() && (*t).parallel {
            leave(t);
            return std::ptr::null_mut();
        }
        t
    }
}

unsafe extern "C-unwind" fn nanosleep_fn(
    ask: *const timespec,
    left: *mut timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = modelled();
        let ns = if t.is_null() { None } else { nanoseconds(&*ask) };
        let Some(ns) = ns else {
            if !t.is_null() {
                leave(t);
            }
            return real!(nanosleep(ask: *const timespec, left: *mut timespec) -> c_int);
        };
        let rest = sleep_for(t, ns, pc);
        leave(t);
        match rest {
            None => 0,
            Some(ns) => {
                if !left.is_null() {
                    (*left).tv_sec = (ns / 1_000_000_000) as i64;
                    (*left).tv_nsec = (ns % 1_000_000_000) as i64;
                }
                errno_result(libc::EINTR)
            }
        }
    }
}

unsafe extern "C-unwind" fn clock_nanosleep_fn(
    clock: c_int,
    flags: c_int,
    ask: *const timespec,
    left: *mut timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = modelled();
        let ns = if t.is_null() { None } else { nanoseconds(&*ask) };
        let Some(mut ns) = ns else {
            if !t.is_null() {
                leave(t);
            }
            return real!(clock_nanosleep(clock: c_int, flags: c_int, ask: *const timespec,
                left: *mut timespec) -> c_int);
        };
        if flags & libc::TIMER_ABSTIME != 0 {
            ns = ns.saturating_sub(now_ns(clock));
        }
        let rest = sleep_for(t, ns, pc);
        leave(t);
        match rest {
            None => 0,
            Some(ns) => {
                if !left.is_null() && flags & libc::TIMER_ABSTIME == 0 {
                    (*left).tv_sec = (ns / 1_000_000_000) as i64;
                    (*left).tv_nsec = (ns % 1_000_000_000) as i64;
                }
                libc::EINTR
            }
        }
    }
}

unsafe extern "C-unwind" fn thrd_sleep_fn(
    ask: *const timespec,
    left: *mut timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { nanosleep_fn(ask, left, pc) }
}

unsafe extern "C-unwind" fn usleep_fn(us: c_uint, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = modelled();
        if t.is_null() {
            return real!(usleep(us: c_uint) -> c_int);
        }
        let rest = sleep_for(t, u64::from(us) * 1000, pc);
        leave(t);
        if rest.is_some() { errno_result(libc::EINTR) } else { 0 }
    }
}

unsafe extern "C-unwind" fn sleep_fn(s: c_uint, pc: usize) -> c_uint {
    // SAFETY: as the program's own call.
    unsafe {
        let t = modelled();
        if t.is_null() {
            return real!(sleep(s: c_uint) -> c_uint);
        }
        let rest = sleep_for(t, u64::from(s) * 1_000_000_000, pc);
        leave(t);
        rest.map_or(0, |ns| ns.div_ceil(1_000_000_000) as c_uint)
    }
}

unsafe extern "C-unwind" fn yield_fn() -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = modelled();
        if t.is_null() {
            return sys::call(libc::SYS_sched_yield, [0; 6]) as c_int;
        }
        sched::give_way(t);
        leave(t);
        0
    }
}

unsafe extern "C-unwind" fn thrd_yield_fn() {
    // SAFETY: as the program's own call.
    unsafe {
        yield_fn();
    }
}

// ---- futexes (Rust's std and others go straight to the system call)

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

entries! {
    read => read_fn, "rcx";
    pread => pread_fn, "r8";
    pread64 => pread64_fn, "r8";
    recv => recv_fn, "r8";
    write => write_fn, "rcx";
    pwrite => pwrite_fn, "r8";
    pwrite64 => pwrite64_fn, "r8";
    send => send_fn, "r8";
    readv => readv_fn, "rcx";
    writev => writev_fn, "rcx";
    recvmsg => recvmsg_fn, "rcx";
    sendmsg => sendmsg_fn, "rcx";
    accept => accept_fn, "rcx";
    accept4 => accept4_fn, "r8";
    connect => connect_fn, "rcx";
    poll => poll_fn, "rcx";
    ppoll => ppoll_fn, "r8";
    select => select_fn, "r9";
    epoll_wait => epoll_wait_fn, "r8";
    epoll_pwait => epoll_pwait_fn, "r9";
    wait => wait_fn, "rsi";
    waitpid => waitpid_fn, "rcx";
    wait3 => wait3_fn, "rcx";
    wait4 => wait4_fn, "r8";
    waitid => waitid_fn, "r8";
    pause => pause_fn, "rdi";
    sigwait => sigwait_fn, "rdx";
    sigsuspend => sigsuspend_fn, "rsi";
    sigwaitinfo => sigwaitinfo_fn, "rdx";
    sigtimedwait => sigtimedwait_fn, "rcx";
    system => system_fn, "rsi";
    pclose => pclose_fn, "rsi";
    flock => flock_fn, "rdx";
    lockf => lockf_fn, "rcx";
    semop => semop_fn, "rcx";
    semtimedop => semtimedop_fn, "r8";
    msgrcv => msgrcv_fn, "r9";
    msgsnd => msgsnd_fn, "r8";
    mq_receive => mq_receive_fn, "r8";
    mq_send => mq_send_fn, "r8";
    mq_timedreceive => mq_timedreceive_fn, "r9";
    mq_timedsend => mq_timedsend_fn, "r9";
    getaddrinfo => getaddrinfo_fn, "r8";
    tcdrain => tcdrain_fn, "rsi";
    fsync => fsync_fn, "rsi";
    fgets => fgets_fn, "rcx";
    fgetc => fgetc_fn, "rsi";
    getc => getc_fn, "rsi";
    getchar => getchar_fn, "rdi";
    fread => fread_fn, "r8";
    getline => getline_fn, "rcx";
    getdelim => getdelim_fn, "r8";
    nanosleep => nanosleep_fn, "rdx";
    clock_nanosleep => clock_nanosleep_fn, "r8";
    thrd_sleep => thrd_sleep_fn, "rdx";
    usleep => usleep_fn, "rsi";
    sleep => sleep_fn, "rsi";
}

plain_entries! {
    recvfrom => recvfrom_fn;
    sendto => sendto_fn;
    pselect => pselect_fn;
    sched_yield => yield_fn;
    pthread_yield => yield_fn;
    thrd_yield => thrd_yield_fn;
    syscall => syscall_fn;
}
