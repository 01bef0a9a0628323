//! One-time initialisation, recorded as atomic accesses of the control word: whoever sees "done"
//! comes after it.

use super::*;

/// One step on the control word, as an atomic access: whoever sees "done" comes after it.
unsafe fn once_step(t: *mut Thread, kind: AtomicKind, at: usize, old: u64, new: u64, pc: usize) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        step(t, Kind::Atomic, pc);
        let (pc, addr) = (pc as u64, at as u64);
        let (old, new) = ([old, 0], [new, 0]);
        recorder::put(t, &Record::Atomic { kind, size: 4, order: 4, pc, addr, old, new });
    }
}

/// Marks the initialisation as not begun when it is left by an exception or a cancellation.
struct Undo(*mut u32);
impl Drop for Undo {
    fn drop(&mut self) {
        // SAFETY: the program's own control word.
        unsafe {
            *self.0 = 0;
            wake_waiters(&[WaitingFor::Once], self.0 as usize, usize::MAX);
        }
    }
}

pub(super) unsafe extern "C-unwind" fn once(control: *mut u32, f: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call. The values are the C library's: 0 new, 1 under way,
    // 2 done.
    unsafe {
        let t = enter();
        if t.is_null() || (*t).hot.parallel {
            if !t.is_null() {
                leave(t);
            }
            let r = real!(pthread_once(control: *mut u32, f: usize) -> c_int);
            let t = enter();
            if !t.is_null() {
                once_step(t, AtomicKind::Load, control as usize, 2, 0, pc);
                leave(t);
            }
            return r;
        }
        let at = control as usize;
        loop {
            match *control {
                2 => {
                    once_step(t, AtomicKind::Load, at, 2, 0, pc);
                    break;
                }
                0 => {
                    *control = 1;
                    once_step(t, AtomicKind::Update, at, 0, 1, pc);
                    leave(t);
                    let undo = Undo(control);
                    let f: unsafe extern "C-unwind" fn() = std::mem::transmute(f);
                    f();
                    std::mem::forget(undo);
                    let t = enter();
                    if !t.is_null() {
                        once_step(t, AtomicKind::Store, at, 0, 2, pc);
                        *control = 2;
                        wake_waiters(&[WaitingFor::Once], at, usize::MAX);
                        leave(t);
                    } else {
                        *control = 2;
                    }
                    return 0;
                }
                _ => {
                    let what = WaitingFor::Once;
                    let w = Waiting { what, object: at, pc, owner_at: 0, between: true };
                    if block(t, w, None) == Wake::Interrupt {
                        crate::signal::deliver(t);
                    }
                }
            }
        }
        leave(t);
        0
    }
}

unsafe extern "C-unwind" fn call_once_fn(control: *mut u32, f: usize, pc: usize) {
    // SAFETY: as the program's own call; the control words are the same.
    unsafe {
        once(control, f, pc);
    }
}

/// Guards of function-local statics (Itanium C++ ABI): byte 0 done, byte 1 under way.
unsafe extern "C-unwind" fn guard_acquire(guard: *mut u8, pc: usize) -> c_int {
    // SAFETY: the program's own guard.
    unsafe {
        let t = enter();
        if t.is_null() || (*t).hot.parallel {
            if !t.is_null() {
                leave(t);
            }
            return real!(__cxa_guard_acquire(guard: *mut u8) -> c_int);
        }
        let at = guard as usize;
        let r = loop {
            if *guard != 0 {
                guard_step(t, AtomicKind::Load, at, 1, 0, pc);
                break 0;
            }
            if *guard.add(1) == 0 {
                *guard.add(1) = 1;
                guard_step(t, AtomicKind::Load, at, 0, 0, pc);
                break 1;
            }
            let w = Waiting { what: WaitingFor::Once, object: at, pc, owner_at: 0, between: true };
            if block(t, w, None) == Wake::Interrupt {
                crate::signal::deliver(t);
            }
        };
        leave(t);
        r
    }
}

unsafe fn guard_step(t: *mut Thread, kind: AtomicKind, at: usize, old: u64, new: u64, pc: usize) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        step(t, Kind::Atomic, pc);
        let (pc, addr) = (pc as u64, at as u64);
        let (old, new) = ([old, 0], [new, 0]);
        recorder::put(t, &Record::Atomic { kind, size: 1, order: 2, pc, addr, old, new });
    }
}

unsafe fn guard_end(guard: *mut u8, done: bool, pc: usize, real: &dyn Fn()) {
    // SAFETY: the program's own guard.
    unsafe {
        let t = enter();
        if t.is_null() || (*t).hot.parallel {
            if !t.is_null() {
                leave(t);
            }
            return real();
        }
        if done {
            guard_step(t, AtomicKind::Store, guard as usize, 0, 1, pc);
            *guard = 1;
        }
        *guard.add(1) = 0;
        wake_waiters(&[WaitingFor::Once], guard as usize, usize::MAX);
        leave(t);
    }
}

unsafe extern "C-unwind" fn guard_release(guard: *mut u8, pc: usize) {
    // SAFETY: the program's own guard.
    unsafe { guard_end(guard, true, pc, &|| real!(__cxa_guard_release(guard: *mut u8))) }
}

unsafe extern "C-unwind" fn guard_abort(guard: *mut u8, pc: usize) {
    // SAFETY: the program's own guard.
    unsafe { guard_end(guard, false, pc, &|| real!(__cxa_guard_abort(guard: *mut u8))) }
}

entries! {
    pthread_once => once, "rdx";
    __cxa_guard_acquire => guard_acquire, "rsi";
    __cxa_guard_release => guard_release, "rsi";
    __cxa_guard_abort => guard_abort, "rsi";
    call_once => call_once_fn, "rdx";
}
