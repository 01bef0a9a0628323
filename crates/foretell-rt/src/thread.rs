//! What the runtime knows of one thread.

use crate::log::{self, Stream};
use foretell_rt_format::{AccessKind, AtomicKind, Record, WaitingFor};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// An access whose hook has run and whose value is not known yet: the hook comes before the
/// access. It is read at the thread's next hook; nobody else ran in between.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) addr: usize,
    pub(crate) pc: usize,
    /// 0: none. Else [`pending_code`].
    pub(crate) code: u32,
    /// Parallel recording: its place.
    pub(crate) seq: u64,
}

/// Code of a pending access: size as log2, write or read.
pub(crate) const fn pending_code(log2: u32, write: bool) -> u32 {
    16 | log2 | (write as u32) << 3
}

/// Added to the code of a volatile access.
pub(crate) const VOLATILE: u32 = 32;

/// Life of a thread. `Running`: it holds the baton.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Running,
    Runnable,
    Blocked,
    /// In a call of the system, without the baton.
    Outside,
    Finished,
}

/// Why a blocked thread goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// What it waited for may have come.
    Event,
    /// Its time is over.
    Time,
    /// A signal or a cancellation request.
    Interrupt,
}

/// Deepest call stack that is watched for frames left by `longjmp`.
pub(crate) const MAX_DEPTH: usize = 1 << 14;
/// Largest signal number.
pub(crate) const SIGNALS: usize = 65;

/// One thread. Lives as long as the process: other threads may look at it at any time.
#[repr(C)]
pub(crate) struct Thread {
    /// Steps until the scheduler is asked. The ordinal of the next step is `limit - budget`.
    pub(crate) budget: i64,
    pub(crate) limit: u64,
    pub(crate) stream: *mut Stream,
    pub(crate) pending: Pending,
    /// The thread is inside the runtime: hooks are ignored, signals are kept for later.
    pub(crate) busy: u8,
    /// A signal is kept.
    pub(crate) signalled: u8,
    pub(crate) parallel: bool,
    /// With the three before it one word that is zero in the fast path.
    pub(crate) zero: u8,
    /// Stack pointers of the functions entered, for `longjmp`.
    pub(crate) depth: usize,
    pub(crate) frames: *mut usize,

    /// 1: the baton is this thread's.
    pub(crate) go: AtomicU32,
    pub(crate) index: u32,
    pub(crate) state: State,
    pub(crate) wake: Wake,
    /// What it waits for, when blocked; name of the call, when outside.
    pub(crate) what: WaitingFor,
    pub(crate) object: usize,
    /// See [`crate::sched::Waiting`].
    pub(crate) owner_at: usize,
    pub(crate) pc: usize,
    pub(crate) call: &'static str,
    /// Order among those who wait for the same thing.
    pub(crate) ticket: u64,
    /// A notification has reached it.
    pub(crate) notified: bool,
    /// Deadlines in hooks' time and on the monotonic clock; `u64::MAX`: none.
    pub(crate) virtual_deadline: u64,
    pub(crate) real_deadline: u64,
    pub(crate) patience: u64,
    /// It may be interrupted where it is blocked.
    pub(crate) interruptible: bool,
    /// 1 while it is outside in such a way that a signal handler may take the baton.
    pub(crate) outside: AtomicU32,

    pub(crate) parent: u32,
    pub(crate) children: u32,
    pub(crate) tid: u32,
    pub(crate) pthread: libc::pthread_t,
    pub(crate) detached: bool,
    pub(crate) joined: bool,
    pub(crate) routine: usize,
    pub(crate) argument: usize,
    pub(crate) c11: bool,
    /// Rounds of thread-local destructors that are left before the thread counts as ended.
    pub(crate) rounds: usize,
    pub(crate) kept: [KeptSignal; SIGNALS],
}

/// A signal kept for later.
#[derive(Clone, Copy)]
pub(crate) struct KeptSignal {
    pub(crate) there: bool,
    pub(crate) info: [u64; 16],
}

impl Thread {
    /// A thread that can run.
    pub(crate) fn new(index: u32, parent: u32, stream: *mut Stream) -> *mut Thread {
        let frames = crate::arena::map(MAX_DEPTH * size_of::<usize>()).cast();
        Box::into_raw(Box::new(Thread {
            budget: 0,
            limit: 0,
            stream,
            pending: Pending { addr: 0, pc: 0, code: 0, seq: 0 },
            busy: 1,
            signalled: 0,
            parallel: false,
            zero: 0,
            depth: 0,
            frames,
            go: AtomicU32::new(0),
            index,
            state: State::Runnable,
            wake: Wake::Event,
            what: WaitingFor::Runnable,
            object: 0,
            owner_at: 0,
            pc: 0,
            call: "",
            ticket: 0,
            notified: false,
            virtual_deadline: u64::MAX,
            real_deadline: u64::MAX,
            patience: 0,
            interruptible: false,
            outside: AtomicU32::new(0),
            parent,
            children: 0,
            tid: 0,
            pthread: 0,
            detached: false,
            joined: false,
            routine: 0,
            argument: 0,
            c11: false,
            rounds: 0,
            kept: [KeptSignal { there: false, info: [0; 16] }; SIGNALS],
        }))
    }

    /// Gives back what an ended thread needs no more.
    pub(crate) unsafe fn release(t: *mut Thread) {
        // SAFETY: the thread has ended; its frames are its own.
        unsafe {
            if !(*t).frames.is_null() {
                crate::arena::unmap((*t).frames.cast(), MAX_DEPTH * size_of::<usize>());
                (*t).frames = null_mut();
                (*t).depth = 0;
            }
        }
    }
}

/// Reads the value of the pending access and writes its record.
#[inline(always)]
pub(crate) unsafe fn flush(t: *mut Thread) {
    // SAFETY: `t` is the calling thread; the address was accessed by the program.
    unsafe {
        let Pending { addr, pc, code, .. } = (*t).pending;
        if code == 0 {
            return;
        }
        (*t).pending.code = 0;
        // Eight bytes at once, unless they might reach into a page that is not there.
        let log2 = code & (7 | VOLATILE);
        if log2 > 3 || addr & 0xfff > 0xff8 {
            return flush_wide(t, addr, pc, code);
        }
        let unused = 64 - (8 << log2);
        let value = (addr as *const u64).read_unaligned() << unused >> unused;
        if (*t).parallel {
            put_seq(t, (*t).pending.seq);
        }
        put_access(t, addr, pc, code & 8 != 0, log2 as u8, value);
    }
}

/// Writes the record of a plain access.
#[inline(always)]
unsafe fn put_access(t: *mut Thread, addr: usize, pc: usize, write: bool, log2: u8, value: u64) {
    // SAFETY: a stream always has room.
    unsafe {
        let stream = (*t).stream;
        (*stream).cur = foretell_rt_format::put_access(
            (*stream).cur,
            (*stream).slots,
            write,
            log2,
            pc as u64,
            addr as u64,
            value,
        );
        if (*stream).cur > (*stream).limit {
            log::grow(stream);
        }
    }
}

/// Accesses of 16 bytes, at the end of a page, and volatile ones.
#[cold]
unsafe fn flush_wide(t: *mut Thread, addr: usize, pc: usize, code: u32) {
    // SAFETY: as in `flush`.
    unsafe {
        let mut value = [0u64; 2];
        let size = 1usize << (code & 7);
        for i in 0..size {
            let byte = u64::from((addr as *const u8).add(i).read_volatile());
            value[i / 8] |= byte << (8 * (i % 8));
        }
        if code & VOLATILE == 0 && size == 16 {
            return pend_record(t, addr, pc, code, Some(value));
        }
        if code & VOLATILE == 0 {
            if (*t).parallel {
                put_seq(t, (*t).pending.seq);
            }
            return put_access(t, addr, pc, code & 8 != 0, (code & 7) as u8, value[0]);
        }
        let (kind, old, new) = if code & 8 != 0 {
            (AtomicKind::VolatileStore, [0; 2], value)
        } else {
            (AtomicKind::VolatileLoad, value, [0; 2])
        };
        if (*t).parallel {
            put_seq(t, (*t).pending.seq);
        }
        let (pc, addr, size) = (pc as u64, addr as u64, size as u8);
        log::put((*t).stream, &Record::Atomic { kind, size, order: 0, pc, addr, old, new });
    }
}

/// The pending access faulted: its record has no value.
pub(crate) unsafe fn flush_faulted(t: *mut Thread) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        let Pending { addr, pc, code, .. } = (*t).pending;
        if code != 0 {
            (*t).pending.code = 0;
            pend_record(t, addr, pc, code, None);
        }
    }
}

unsafe fn pend_record(t: *mut Thread, addr: usize, pc: usize, code: u32, value: Option<[u64; 2]>) {
    let kind = if code & 8 != 0 { AccessKind::Write } else { AccessKind::Read };
    let size = 1u8 << (code & 7);
    let record = Record::Wide { kind, size, pc: pc as u64, addr: addr as u64, value };
    // SAFETY: `t` is the calling thread.
    unsafe {
        if (*t).parallel {
            put_seq(t, (*t).pending.seq);
        }
        log::put((*t).stream, &record);
    }
}

unsafe fn put_seq(t: *mut Thread, seq: u64) {
    // SAFETY: the stream is the thread's own.
    unsafe {
        let stream = (*t).stream;
        let delta = seq.wrapping_sub((*stream).seq);
        (*stream).seq = seq;
        log::put(stream, &Record::Seq { delta });
    }
}

/// Writes a record of this thread.
pub(crate) unsafe fn put(t: *mut Thread, record: &Record<'_>) {
    // SAFETY: `t` is the calling thread and holds the baton, or records in parallel.
    unsafe {
        if (*t).parallel && record.counted() {
            put_seq(t, log::SEQ.fetch_add(1, Relaxed));
        }
        log::put((*t).stream, record);
    }
}
