//! The lock of a stdio stream, taken by the program itself: a recursive mutex, known by the
//! stream's address. A thread that waits for it inside a function of the C library, which holds it
//! for the length of a call, waits unmodelled.

use super::*;
use crate::entry::enter_modelled;

fn take(file: usize, pc: usize, patience: Patience) -> Option<c_int> {
    let t = enter_modelled()?;
    let attempt = || match real!(ftrylockfile(file: usize) -> c_int) {
        0 => 0,
        _ => EBUSY,
    };
    let (kind, done, failed) = MUTEX;
    let waiting = WaitingFor::Lock;
    let a = Acquire { kind, done, failed, waiting, owner_at: 0, attempt: &attempt };
    let r = acquire(t, file, pc, &a, patience);
    leave(t);
    Some(r)
}

extern "C-unwind" fn lock_file(file: usize, pc: usize) {
    if take(file, pc, Patience::Forever).is_none() {
        real!(flockfile(file: usize));
    }
}

extern "C-unwind" fn trylock_file(file: usize, pc: usize) -> c_int {
    match take(file, pc, Patience::None) {
        None => real!(ftrylockfile(file: usize) -> c_int),
        Some(0) => 0,
        Some(_) => -1,
    }
}

extern "C-unwind" fn unlock_file(file: usize, pc: usize) {
    let real = || {
        real!(funlockfile(file: usize));
        0
    };
    let Some(t) = enter_modelled() else {
        real();
        return;
    };
    release(t, file, SyncKind::Unlock, pc, &real);
    leave(t);
}

entries! {
    flockfile => lock_file, "rsi";
    ftrylockfile => trylock_file, "rsi";
    funlockfile => unlock_file, "rsi";
}
