//! Barriers: modelled here, the library's own only checks and forgets them.

use super::*;

struct Barrier {
    at: usize,
    parties: u32,
    arrived: u32,
}

static mut BARRIERS: Vec<Barrier> = Vec::new();

unsafe extern "C-unwind" fn barrier_init(b: usize, attr: usize, n: c_uint, pc: usize) -> c_int {
    // SAFETY: as the program's own call; the list is touched under the baton.
    unsafe {
        let r = real!(pthread_barrier_init(b: usize, attr: usize, n: c_uint) -> c_int);
        let t = enter();
        if !t.is_null() {
            if r == 0 {
                sched::LOCK.with(|| {
                    let list = &mut *(&raw mut BARRIERS);
                    list.retain(|known| known.at != b);
                    list.push(Barrier { at: b, parties: n, arrived: 0 });
                });
                put(t, SyncKind::BarrierInit, b, n as usize, pc);
            }
            leave(t);
        }
        r
    }
}

unsafe extern "C-unwind" fn barrier_wait(b: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call; the list is touched under the baton.
    unsafe {
        let real = || real!(pthread_barrier_wait(b: usize) -> c_int);
        let t = enter();
        if t.is_null() {
            return real();
        }
        step(t, Kind::Arrive, pc);
        put(t, SyncKind::Arrive, b, 0, pc);
        let library = served_by(t, ObjectKind::Barrier, b) == ServedBy::Library;
        // Only the one with the baton looks at the list.
        let list = &mut *(&raw mut BARRIERS);
        let found = if library { None } else { list.iter_mut().find(|known| known.at == b) };
        let r = match found {
            Some(barrier) => {
                barrier.arrived += 1;
                if barrier.arrived == barrier.parties {
                    barrier.arrived = 0;
                    wake_waiters(&[WaitingFor::Barrier], b, usize::MAX);
                    libc::PTHREAD_BARRIER_SERIAL_THREAD
                } else {
                    let what = WaitingFor::Barrier;
                    let w = Waiting { what, object: b, pc, owner_at: 0, between: true };
                    while block(t, w, None) == Wake::Interrupt {
                        crate::signal::deliver(t);
                    }
                    0
                }
            }
            _ if (*t).hot.parallel => real(),
            _ => outside::call(t, "pthread_barrier_wait", pc, &real),
        };
        step(t, Kind::Leave, pc);
        put(t, SyncKind::Leave, b, 0, pc);
        leave(t);
        r
    }
}

entries! {
    pthread_barrier_init => barrier_init, "rcx";
    pthread_barrier_wait => barrier_wait, "rsi";
}
