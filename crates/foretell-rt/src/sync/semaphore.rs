//! Semaphores.

use super::*;

/// Semaphores whose first count has been logged.
static mut SEMAPHORES: Vec<usize> = Vec::new();

/// Sets the failure of a semaphore operation.
unsafe fn sem_result(r: c_int) -> c_int {
    if r == 0 {
        return 0;
    }
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = if r == EBUSY { libc::EAGAIN } else { r } };
    -1
}

/// Logs the count of a semaphore at its first use.
unsafe fn know_semaphore(t: *mut Thread, s: usize, pc: usize) {
    static LOCK: crate::lock::Lock = crate::lock::Lock::new();
    // SAFETY: the list is guarded by the lock.
    LOCK.with(|| unsafe {
        let list = &mut *(&raw mut SEMAPHORES);
        if let Err(at) = list.binary_search(&s) {
            list.insert(at, s);
            let mut count: c_int = 0;
            libc::sem_getvalue(s as *mut libc::sem_t, &mut count);
            put(t, SyncKind::SemInit, s, count.max(0) as usize, pc);
        }
    });
}

unsafe extern "C-unwind" fn sem_init_fn(
    s: usize,
    shared: c_int,
    value: c_uint,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let r = real!(sem_init(s: usize, shared: c_int, value: c_uint) -> c_int);
        let t = enter();
        if !t.is_null() {
            if r == 0 {
                (*(&raw mut SEMAPHORES)).retain(|&known| known != s);
                know_semaphore(t, s, pc);
            }
            leave(t);
        }
        r
    }
}

unsafe fn down(
    s: usize,
    pc: usize,
    patience: Patience,
    name: &'static str,
    real: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real();
        }
        let waits = !matches!(patience, Patience::None);
        if waits {
            crate::cancel::point(t);
        }
        know_semaphore(t, s, pc);
        let attempt = || match real!(sem_trywait(s: usize) -> c_int) {
            0 => 0,
            _ => match *libc::__errno_location() {
                libc::EAGAIN => EBUSY,
                other => other,
            },
        };
        let library = served_by(t, ObjectKind::Semaphore, s) == ServedBy::Library;
        let r = if waits && library {
            step(t, Kind::Down, pc);
            let r = if (*t).hot.parallel { real() } else { outside::call(t, name, pc, real) };
            let done = if r == 0 { SyncKind::Down } else { SyncKind::DownFailed };
            put(t, done, s, 0, pc);
            r
        } else {
            let a = Acquire {
                kind: Kind::Down,
                done: SyncKind::Down,
                failed: SyncKind::DownFailed,
                waiting: WaitingFor::Semaphore,
                owner_at: 0,
                attempt: &attempt,
            };
            sem_result(acquire(t, s, pc, &a, patience))
        };
        if waits {
            crate::cancel::point(t);
        }
        leave(t);
        r
    }
}

unsafe extern "C-unwind" fn sem_wait_fn(s: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { down(s, pc, Patience::Forever, "sem_wait", &|| real!(sem_wait(s: usize) -> c_int)) }
}

unsafe extern "C-unwind" fn sem_trywait_fn(s: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { down(s, pc, Patience::None, "sem_trywait", &|| real!(sem_trywait(s: usize) -> c_int)) }
}

unsafe extern "C-unwind" fn sem_timedwait_fn(s: usize, at: *const timespec, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let patience = until(libc::CLOCK_REALTIME, at).map_or(Patience::Forever, Patience::Until);
        down(
            s,
            pc,
            patience,
            "sem_timedwait",
            &|| real!(sem_timedwait(s: usize, at: *const timespec) -> c_int),
        )
    }
}

unsafe extern "C-unwind" fn sem_clockwait_fn(
    s: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let patience = until(clock, at).map_or(Patience::Forever, Patience::Until);
        down(
            s,
            pc,
            patience,
            "sem_clockwait",
            &|| real!(sem_clockwait(s: usize, clock: c_int, at: *const timespec) -> c_int),
        )
    }
}

unsafe extern "C-unwind" fn sem_post_fn(s: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let real = || real!(sem_post(s: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        know_semaphore(t, s, pc);
        step(t, Kind::Post, pc);
        put(t, SyncKind::Post, s, 0, pc);
        let r = real();
        wake_waiters(&[WaitingFor::Semaphore], s, usize::MAX);
        leave(t);
        r
    }
}

entries! {
    sem_init => sem_init_fn, "rcx";
    sem_wait => sem_wait_fn, "rsi";
    sem_trywait => sem_trywait_fn, "rsi";
    sem_timedwait => sem_timedwait_fn, "rdx";
    sem_clockwait => sem_clockwait_fn, "rcx";
    sem_post => sem_post_fn, "rsi";
}
