//! One-time initialisation, recorded as atomic accesses of the control word: a thread that reads
//! "done" comes after the initialisation.

use super::*;
use crate::entry::enter_modelled;
use crate::sched::access_step;

/// Records one step on the control word, as an atomic access.
fn once_step(t: Baton, kind: AtomicKind, at: usize, old: u64, new: u64, pc: usize) {
    access_step(t, Kind::Atomic, pc, (at, 4));
    let (pc, addr) = (pc as u64, at as u64);
    let (old, new) = ([old, 0], [new, 0]);
    recorder::put(t, &Record::Atomic { kind, size: 4, order: 4, pc, addr, old, new });
}

/// Marks the initialisation as not begun when it is left by an exception or a cancellation.
struct Undo(*mut u32);
impl Drop for Undo {
    fn drop(&mut self) {
        // SAFETY: the program's own control word.
        unsafe { *self.0 = 0 };
        wake_waiters(&[WaitingFor::Once], self.0 as usize, usize::MAX);
    }
}

/// The control word of a `pthread_once`: 0 new, 1 under way, 2 done, as in the C library.
fn control_word(control: *mut u32) -> u32 {
    // SAFETY: the program's own control word.
    unsafe { *control }
}

fn set_control_word(control: *mut u32, state: u32) {
    // SAFETY: the program's own control word.
    unsafe { *control = state };
}

pub(super) extern "C-unwind" fn once(control: *mut u32, f: usize, pc: usize) -> c_int {
    let Some(t) = enter_modelled() else {
        let r = real!(pthread_once(control: *mut u32, f: usize) -> c_int);
        if let Some(t) = enter() {
            once_step(t, AtomicKind::Load, control as usize, 2, 0, pc);
            leave(t);
        }
        return r;
    };
    let at = control as usize;
    loop {
        match control_word(control) {
            2 => {
                once_step(t, AtomicKind::Load, at, 2, 0, pc);
                break;
            }
            0 => {
                set_control_word(control, 1);
                once_step(t, AtomicKind::Update, at, 0, 1, pc);
                leave(t);
                let undo = Undo(control);
                // SAFETY: the program's own initialiser.
                let f: extern "C-unwind" fn() = unsafe { std::mem::transmute(f) };
                f();
                std::mem::forget(undo);
                if let Some(t) = enter() {
                    once_step(t, AtomicKind::Store, at, 0, 2, pc);
                    set_control_word(control, 2);
                    wake_waiters(&[WaitingFor::Once], at, usize::MAX);
                    leave(t);
                } else {
                    set_control_word(control, 2);
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

extern "C-unwind" fn call_once_fn(control: *mut u32, f: usize, pc: usize) {
    once(control, f, pc);
}

/// The bytes of the guard of a function-local static (Itanium C++ ABI): 0 done, 1 under way.
fn guard_bytes<'a>(guard: *mut u8) -> &'a mut [u8; 2] {
    // SAFETY: the program's own guard, which only the holder of the baton uses.
    unsafe { &mut *guard.cast() }
}

extern "C-unwind" fn guard_acquire(guard: *mut u8, pc: usize) -> c_int {
    let Some(t) = enter_modelled() else {
        return real!(__cxa_guard_acquire(guard: *mut u8) -> c_int);
    };
    let at = guard as usize;
    let r = loop {
        let [done, under_way] = guard_bytes(guard);
        if *done != 0 {
            guard_step(t, AtomicKind::Load, at, 1, 0, pc);
            break 0;
        }
        if *under_way == 0 {
            *under_way = 1;
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

fn guard_step(t: Baton, kind: AtomicKind, at: usize, old: u64, new: u64, pc: usize) {
    access_step(t, Kind::Atomic, pc, (at, 1));
    let (pc, addr) = (pc as u64, at as u64);
    let (old, new) = ([old, 0], [new, 0]);
    recorder::put(t, &Record::Atomic { kind, size: 1, order: 4, pc, addr, old, new });
}

fn guard_end(guard: *mut u8, done: bool, pc: usize, real: &dyn Fn()) {
    let Some(t) = enter_modelled() else {
        return real();
    };
    if done {
        guard_step(t, AtomicKind::Store, guard as usize, 0, 1, pc);
        guard_bytes(guard)[0] = 1;
    }
    guard_bytes(guard)[1] = 0;
    wake_waiters(&[WaitingFor::Once], guard as usize, usize::MAX);
    leave(t);
}

extern "C-unwind" fn guard_release(guard: *mut u8, pc: usize) {
    guard_end(guard, true, pc, &|| real!(__cxa_guard_release(guard: *mut u8)))
}

extern "C-unwind" fn guard_abort(guard: *mut u8, pc: usize) {
    guard_end(guard, false, pc, &|| real!(__cxa_guard_abort(guard: *mut u8)))
}

entries! {
    pthread_once => once, "rdx";
    __cxa_guard_acquire => guard_acquire, "rsi";
    __cxa_guard_release => guard_release, "rsi";
    __cxa_guard_abort => guard_abort, "rsi";
    call_once => call_once_fn, "rdx";
}
