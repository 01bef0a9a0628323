//! Barriers: modelled here; the library only checks the arguments of their initialisation.

use super::*;
use crate::call_result;
use crate::lock::Guarded;

/// A barrier and the arrivals of its current round.
struct Barrier {
    at: usize,
    parties: u32,
    arrived: u32,
}

static BARRIERS: Guarded<Vec<Barrier>> = Guarded::new(Vec::new());

/// Logs the barriers that exist, at the beginning of a new log.
pub(crate) fn log_all(t: Baton) {
    for barrier in BARRIERS.lock().iter() {
        put(t, SyncKind::BarrierInit, barrier.at, barrier.parties as usize, 0);
    }
}

extern "C-unwind" fn barrier_init(b: usize, attr: usize, n: c_uint, pc: usize) -> c_int {
    let r = real!(pthread_barrier_init(b: usize, attr: usize, n: c_uint) -> c_int);
    if let Some(t) = enter() {
        if r == 0 {
            BARRIERS.with(|list| {
                list.retain(|known| known.at != b);
                list.push(Barrier { at: b, parties: n, arrived: 0 });
            });
            put(t, SyncKind::BarrierInit, b, n as usize, pc);
        }
        leave(t);
    }
    r
}

/// Place of an arrival in its round.
enum Arrival {
    Last,
    Waits,
}

/// Counts an arrival at a barrier. `None`: the runtime has not seen its initialisation.
fn arrive(b: usize) -> Option<Arrival> {
    BARRIERS.with(|list| {
        let barrier = list.iter_mut().find(|known| known.at == b)?;
        barrier.arrived += 1;
        if barrier.arrived < barrier.parties {
            return Some(Arrival::Waits);
        }
        barrier.arrived = 0;
        Some(Arrival::Last)
    })
}

extern "C-unwind" fn barrier_wait(b: usize, pc: usize) -> c_int {
    let real = || real!(pthread_barrier_wait(b: usize) -> c_int);
    let Some(t) = enter() else { return real() };
    // SAFETY: `pc` is the return address of the call.
    if unsafe { call_result::is_used(pc) } {
        crate::unexplored::LAST.take();
    }
    step(t, Kind::Arrive, pc);
    put(t, SyncKind::Arrive, b, 0, pc);
    let library = served_by(t, ObjectKind::Barrier, b) == ServedBy::Library;
    let arrival = if library { None } else { arrive(b) };
    let r = match arrival {
        Some(Arrival::Last) => {
            wake_waiters(&[WaitingFor::Barrier], b, usize::MAX);
            libc::PTHREAD_BARRIER_SERIAL_THREAD
        }
        Some(Arrival::Waits) => {
            let what = WaitingFor::Barrier;
            let w = Waiting { what, object: b, pc, owner_at: 0, between: true };
            while block(t, w, None) == Wake::Interrupt {
                crate::signal::deliver(t);
            }
            0
        }
        None => {
            let r = blocking_call::call(t, "pthread_barrier_wait", pc, &real);
            put_after_others(t);
            r
        }
    };
    step(t, Kind::Leave, pc);
    put(t, SyncKind::Leave, b, 0, pc);
    leave(t);
    r
}

entries! {
    pthread_barrier_init => barrier_init, "rcx";
    pthread_barrier_wait => barrier_wait, "rsi";
}
