//! System calls made directly: libc's wrappers are interposed by this very library, set `errno`
//! and are cancellation points; none of this may happen inside the runtime.

use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// Makes a system call. Returns a negative number for an error.
///
/// # Safety
/// The arguments are valid for the system call.
#[inline]
pub(crate) unsafe fn call(nr: i64, a: [usize; 6]) -> isize {
    let r: isize;
    // SAFETY: the x86-64 system call convention.
    unsafe {
        asm!("syscall", inlateout("rax") nr as isize => r, in("rdi") a[0], in("rsi") a[1],
             in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
             lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    r
}

/// Waits while `*word == expected`, at most for `timeout_ns`.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, timeout_ns: Option<u64>) -> Wait {
    let ts = timeout_ns.map(|ns| [ns / 1_000_000_000, ns % 1_000_000_000]);
    let ts_ptr = ts.as_ref().map_or(0, |t| t.as_ptr() as usize);
    let op = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let word = std::ptr::from_ref(word) as usize;
    // SAFETY: the word and the time outlive the call.
    let r = unsafe { call(libc::SYS_futex, [word, op, expected as usize, ts_ptr, 0, 0]) };
    match -(r as i32) {
        libc::ETIMEDOUT => Wait::TimedOut,
        _ => Wait::Changed,
    }
}

/// The end of a futex wait.
#[derive(PartialEq, Eq, Clone, Copy)]
pub(crate) enum Wait {
    /// Woken, or the word had changed, or a signal handler ran.
    Changed,
    /// The time ran out.
    TimedOut,
}

/// Wakes one waiter.
pub(crate) fn futex_wake(word: &AtomicU32) {
    futex_wake_many(word, 1);
}

/// Wakes all waiters.
pub(crate) fn futex_wake_all(word: &AtomicU32) {
    futex_wake_many(word, i32::MAX as usize);
}

fn futex_wake_many(word: &AtomicU32, most: usize) {
    let op = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: waking does not touch the word.
    unsafe { call(libc::SYS_futex, [std::ptr::from_ref(word) as usize, op, most, 0, 0, 0]) };
}

/// Whether eight bytes can be read.
pub(crate) fn readable(at: *const u8) -> bool {
    // The kernel reads the signal set before it checks the operation, which is not valid.
    let a = [usize::MAX, at as usize, 0, 8, 0, 0];
    // SAFETY: changes nothing.
    unsafe { call(libc::SYS_rt_sigprocmask, a) == -(libc::EINVAL as isize) }
}

/// Writes all bytes to a file descriptor, or as many as it takes.
pub(crate) fn write_all(fd: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let a = [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0];
        // SAFETY: the bytes are readable.
        let n = unsafe { call(libc::SYS_write, a) };
        if n == -(libc::EINTR as isize) {
            continue;
        }
        if n <= 0 {
            return;
        }
        bytes = &bytes[n as usize..];
    }
}

/// Returns the working directory; empty when it is not known.
pub(crate) fn working_directory() -> Vec<u8> {
    let mut path = [0u8; 4096];
    let a = [path.as_mut_ptr() as usize, path.len(), 0, 0, 0, 0];
    // SAFETY: the buffer is writable; the count includes the final zero.
    let n = unsafe { call(libc::SYS_getcwd, a) };
    path[..(n.max(1) - 1) as usize].to_vec()
}

/// Writes a new file for this user alone; does nothing when it cannot be made.
pub(crate) fn write_file(path: &[u8], bytes: &[u8]) {
    let mut name = path.to_vec();
    name.push(0);
    let flags = (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC) as usize;
    let at = libc::AT_FDCWD as isize as usize;
    // SAFETY: the name ends with a zero.
    let fd = unsafe { call(libc::SYS_openat, [at, name.as_ptr() as usize, flags, 0o600, 0, 0]) };
    if fd >= 0 {
        write_all(fd as i32, bytes);
        // SAFETY: the descriptor is our own.
        unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Returns the content of a file; empty when it cannot be read.
pub(crate) fn read_file(path: &[u8]) -> Vec<u8> {
    let mut name = path.to_vec();
    name.push(0);
    let mut out = Vec::new();
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    let at = libc::AT_FDCWD as isize as usize;
    // SAFETY: the name ends with a zero; the buffer is writable.
    unsafe {
        let fd = call(libc::SYS_openat, [at, name.as_ptr() as usize, flags, 0, 0, 0]);
        if fd < 0 {
            return out;
        }
        let mut buf = vec![0u8; 1 << 16];
        loop {
            let a = [fd as usize, buf.as_mut_ptr() as usize, buf.len(), 0, 0, 0];
            let n = call(libc::SYS_read, a);
            if n == -(libc::EINTR as isize) {
                continue;
            }
            if n <= 0 {
                break;
            }
            out.extend_from_slice(&buf[..n as usize]);
        }
        call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
    }
    out
}

/// Returns the beginning of a file of at most a page; empty when it cannot be read.
fn read_small(path: &[u8]) -> Vec<u8> {
    let mut name = path.to_vec();
    name.push(0);
    let mut out = vec![0; 1024];
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    let at = libc::AT_FDCWD as isize as usize;
    // SAFETY: the name ends with a zero; the buffer is writable.
    let n = unsafe {
        let fd = call(libc::SYS_openat, [at, name.as_ptr() as usize, flags, 0, 0, 0]);
        let n = call(libc::SYS_read, [fd as usize, out.as_mut_ptr() as usize, out.len(), 0, 0, 0]);
        call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
        n
    };
    out.truncate(n.max(0) as usize);
    out
}

/// Returns the kernel's letter for the state of a thread of this process: `S` for one that sleeps
/// and may be interrupted. `None` when there is no such thread.
pub(crate) fn task_state(tid: u32) -> Option<u8> {
    let stat = read_small(format!("/proc/self/task/{tid}/stat").as_bytes());
    // `tid (name) state …`; the name may have parentheses.
    let end = stat.iter().rposition(|&b| b == b')')?;
    stat.get(end + 2).copied()
}

/// Returns the ids of the threads of this process; none when they cannot be read.
pub(crate) fn tasks() -> Vec<u32> {
    let mut ids = Vec::new();
    let flags = (libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) as usize;
    let at = libc::AT_FDCWD as isize as usize;
    let path = c"/proc/self/task".as_ptr() as usize;
    // SAFETY: the path ends with a zero; the buffer is writable; the kernel's entries are
    // `ino: u64, off: u64, len: u16, type: u8, name`, the name ends with a zero.
    unsafe {
        let fd = call(libc::SYS_openat, [at, path, flags, 0, 0, 0]);
        let mut buf = vec![0u8; 4096];
        loop {
            let a = [fd as usize, buf.as_mut_ptr() as usize, buf.len(), 0, 0, 0];
            let n = call(libc::SYS_getdents64, a);
            if n <= 0 {
                break;
            }
            let mut rest = &buf[..n as usize];
            while let (Some(&[low, high]), Some(name)) = (rest.get(16..18), rest.get(19..)) {
                let digits = name.iter().take_while(|b| b.is_ascii_digit());
                let id = digits.fold(0u32, |id, b| id.wrapping_mul(10) + u32::from(b - b'0'));
                ids.extend((id != 0).then_some(id));
                let len = usize::from(u16::from_le_bytes([low, high]));
                rest = rest.get(len.max(1)..).unwrap_or_default();
            }
        }
        call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
    }
    ids
}

/// Returns the processor time that a thread of this process has used, in nanoseconds. `None` when
/// there is no such thread.
pub(crate) fn cpu_time(tid: u32) -> Option<u64> {
    let mut ts = [0u64; 2];
    // The kernel's number for the clock of a thread.
    let clock = (!(tid as i32) << 3 | 6) as isize as usize;
    // SAFETY: the time is writable.
    let r = unsafe { call(libc::SYS_clock_gettime, [clock, ts.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    (r == 0).then(|| ts[0] * 1_000_000_000 + ts[1])
}

/// Nanoseconds of a clock.
pub(crate) fn now_ns(clock: i32) -> u64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is writable; clock_gettime is not interposed.
    unsafe { libc::clock_gettime(clock, &mut ts) };
    (ts.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(ts.tv_nsec as u64)
}

/// The calling thread's `errno`.
pub(crate) fn errno() -> i32 {
    // SAFETY: the thread's own word.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's `errno`.
pub(crate) fn set_errno(errno: i32) {
    // SAFETY: the thread's own word.
    unsafe { *libc::__errno_location() = errno };
}

/// Id of the calling thread.
pub(crate) fn gettid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Ends the process at once.
pub(crate) fn exit_group(status: i32) -> ! {
    loop {
        // SAFETY: does not return.
        unsafe { call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Ends the process as `abort` would.
pub(crate) fn die_by(signal: i32) -> ! {
    // SAFETY: plain system calls; the action is the kernel's layout, all zero: default.
    unsafe {
        let action = [0usize; 4];
        let a = [signal as usize, action.as_ptr() as usize, 0, 8, 0, 0];
        call(libc::SYS_rt_sigaction, a);
        let mask = 1u64 << (signal - 1);
        let a = [libc::SIG_UNBLOCK as usize, &raw const mask as usize, 0, 8, 0, 0];
        call(libc::SYS_rt_sigprocmask, a);
        let pid = call(libc::SYS_getpid, [0; 6]) as usize;
        call(libc::SYS_tgkill, [pid, gettid() as usize, signal as usize, 0, 0, 0]);
    }
    exit_group(128 + signal)
}

/// Writes a line to standard error, in one piece.
macro_rules! say {
    ($($arg:tt)*) => {{
        let mut line = String::from("foretell: ");
        let _ = std::fmt::Write::write_fmt(&mut line, format_args!($($arg)*));
        line.push('\n');
        $crate::sys::write_all(2, line.as_bytes());
    }};
}
pub(crate) use say;
