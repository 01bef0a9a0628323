//! What the runtime knows of one thread.

use crate::log::{self, Stream};
use foretell_rt_format::claim::{Claim, PHASES};
use foretell_rt_format::{
    AccessKind, AtomicKind, ENTRY_CODE, HEAD_LEN, Record, WaitingFor, put_exit, put_head,
    put_passed, slot_at, slot_key,
};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// An access whose hook has run and whose value is not known yet: the hook comes before the
/// access. It is read at the thread's next hook; nobody else ran in between.
///
/// That of most accesses is in the stream already, with room for the value (see
/// [`Stream::pending_value`]). This is for the others: volatile ones, 16 bytes, the last bytes of a page,
/// parallel recording.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) addr: usize,
    pub(crate) pc: usize,
    /// 0: none. Else [`foretell_rt_format::access_code`], perhaps with [`VOLATILE`].
    pub(crate) code: u32,
    /// Parallel recording: its place.
    pub(crate) seq: u64,
}

impl Pending {
    pub(crate) const NONE: Pending = Pending { addr: 0, pc: 0, code: 0, seq: 0 };
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

/// Deepest call stack that is known frame by frame.
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
    /// The thread is inside the runtime: hooks are ignored, signals are kept for later.
    pub(crate) busy: u8,
    /// A signal is kept.
    pub(crate) signalled: u8,
    pub(crate) parallel: bool,
    /// `pending` holds an access. With the three before it one word that is zero in the fast path.
    pub(crate) late: bool,
    /// The stream may have an access whose value is to be filled in. With those before and after it one long word that is
    /// zero where an access needs no record.
    pub(crate) open: bool,
    /// Every access has a record.
    pub(crate) keeps: bool,
    /// So many accesses that need none have a record all the same.
    pub(crate) watches: u8,
    pub(crate) unused: u8,
    pub(crate) pending: Pending,
    /// See [`crate::claims`]; null: every access has a record.
    pub(crate) claims: *mut Claim,
    /// The phases that are over for this thread, and its own.
    pub(crate) known: *const [u8; PHASES],
    pub(crate) phase: u32,
    /// See [`Claim::own`], and [`Claim::own_written`].
    pub(crate) own: u32,
    pub(crate) own_written: u32,
    /// The budget after the last step that has a record: if it is less now, some have none.
    pub(crate) mark: i64,
    /// Code address and code of the last access without a record.
    pub(crate) passed_pc: usize,
    pub(crate) passed_code: u8,
    /// How many were without a record, as far as the log says; that, and the ordinal, when its turn was over last.
    pub(crate) passed_steps: u64,
    pub(crate) asked: (u64, u64),
    /// Accesses with a record among those without; how many of all these are left behind.
    pub(crate) between: u64,
    pub(crate) left: u64,
    /// The functions entered. Their records may be missing: those of the frames from `low` on that are below `logged` have
    /// to be taken back, those up to `depth` to be written, before anything else is.
    pub(crate) depth: usize,
    pub(crate) low: usize,
    pub(crate) logged: usize,
    pub(crate) frames: *mut Frame,

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
    /// The mask of signals that it begins with.
    pub(crate) mask: u64,
    /// Rounds of thread-local destructors that are left before the thread counts as ended.
    pub(crate) rounds: usize,
    pub(crate) kept: [KeptSignal; SIGNALS],
}

/// A function that was entered.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// The stack pointer there, to tell frames left by `longjmp`.
    pub(crate) sp: usize,
    pub(crate) call: usize,
    pub(crate) pc: usize,
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
        let frames = crate::arena::map(MAX_DEPTH * size_of::<Frame>()).cast();
        Box::into_raw(Box::new(Thread {
            budget: 0,
            limit: 0,
            stream,
            busy: 1,
            signalled: 0,
            parallel: false,
            late: false,
            open: false,
            keeps: true,
            watches: 0,
            unused: 0,
            pending: Pending::NONE,
            claims: null_mut(),
            known: std::ptr::null(),
            phase: 0,
            own: 0,
            own_written: 0,
            mark: 0,
            passed_pc: 0,
            passed_code: 0,
            passed_steps: 0,
            asked: (0, 0),
            between: 0,
            left: 0,
            depth: 0,
            low: 0,
            logged: 0,
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
            mask: 0,
            rounds: 0,
            kept: [KeptSignal { there: false, info: [0; 16] }; SIGNALS],
        }))
    }

    /// No function is entered.
    pub(crate) unsafe fn forget_frames(t: *mut Thread) {
        // SAFETY: the thread does not run.
        unsafe { ((*t).depth, (*t).low, (*t).logged) = (0, 0, 0) };
    }

    /// Whether the log knows which functions are entered.
    #[inline(always)]
    pub(crate) unsafe fn frames_known(t: *mut Thread) -> bool {
        // SAFETY: `t` is the calling thread.
        unsafe { ((*t).logged ^ (*t).low) | ((*t).logged ^ (*t).depth) == 0 }
    }

    /// See [`slot_key`]: of the last access without a record.
    #[inline(always)]
    pub(crate) fn passed(&self) -> u64 {
        slot_key(self.passed_pc as u64, u32::from(self.passed_code))
    }

    /// Gives back what an ended thread needs no more.
    pub(crate) unsafe fn release(t: *mut Thread) {
        // SAFETY: the thread has ended; its frames are its own.
        unsafe {
            if !(*t).frames.is_null() {
                crate::arena::unmap((*t).frames.cast(), MAX_DEPTH * size_of::<Frame>());
                (*t).frames = null_mut();
                Thread::forget_frames(t);
            }
        }
    }
}

/// Begins the record of an access that is about to take place; what is under way was completed.
pub(crate) unsafe fn begin(t: *mut Thread, access: Pending) {
    let Pending { addr, pc, code, .. } = access;
    // SAFETY: `t` is the calling thread; a stream always has room.
    unsafe {
        // Eight bytes are read at once; they might reach into a page that is not there.
        if (*t).parallel || code & (7 | VOLATILE) > 3 || addr & 0xfff > 0xff8 {
            (*t).pending = access;
            (*t).late = true;
            return;
        }
        let at = put_compact(t, addr, pc, code);
        let stream = (*t).stream;
        (*t).open = true;
        (*stream).pending_addr = addr;
        std::ptr::write_volatile(&raw mut (*stream).pending_value, at);
        std::ptr::write_volatile(&raw mut (*stream).cur, at.add(1 << (code & 3)));
    }
}

/// Writes a compact record but for its value; returns where that goes. The caller moves the stream on.
pub(crate) unsafe fn put_compact(t: *mut Thread, addr: usize, pc: usize, code: u32) -> *mut u8 {
    // SAFETY: a stream always has room.
    unsafe {
        let stream = (*t).stream;
        if (*stream).cur > (*stream).limit {
            log::grow(stream);
        }
        let index = Stream::slot(stream, pc as u64, code, addr as u64);
        put_head((*stream).cur, index, addr as u64);
        (*stream).cur.add(HEAD_LEN)
    }
}

/// Completes the access that is under way, and says how many had no record.
#[inline]
pub(crate) unsafe fn flush(t: *mut Thread) {
    // SAFETY: `t` is the calling thread; the address was accessed by the program.
    unsafe {
        if (*t).late {
            flush_late(t);
        }
        let stream = (*t).stream;
        let addr = (*stream).pending_addr;
        if addr != log::scratch_word() as usize {
            let value = (*stream).pending_value;
            for i in 0..under_way(stream).1 {
                value.add(i).write((addr as *const u8).add(i).read_volatile());
            }
            Stream::settle(stream);
        }
        flush_passed(t);
        if !Thread::frames_known(t) {
            flush_frames(t);
        }
    }
}

/// Writes which functions were left and entered.
pub(crate) unsafe fn flush_frames(t: *mut Thread) {
    // SAFETY: `t` is the calling thread; a stream always has room.
    unsafe {
        let stream = (*t).stream;
        while (*t).logged > (*t).low {
            if (*stream).cur > (*stream).limit {
                log::grow(stream);
            }
            (*stream).cur = put_exit((*stream).cur);
            (*t).logged -= 1;
        }
        while (*t).logged < (*t).depth {
            let Frame { call, pc, .. } = *(*t).frames.add((*t).logged);
            (*stream).cur = put_compact(t, call, pc, ENTRY_CODE);
            (*t).logged += 1;
        }
        (*t).low = (*t).depth;
    }
}

/// Says how many accesses of a thread had no record.
#[inline]
pub(crate) unsafe fn flush_passed(t: *mut Thread) {
    // SAFETY: `t` is the calling thread, or one that does not run; the stream's last thread is `t`.
    unsafe {
        let count = (*t).mark - (*t).budget;
        if count > 0 {
            (*t).mark = (*t).budget;
            (*t).passed_steps += count as u64;
            let stream = (*t).stream;
            (*stream).cur = put_passed((*stream).cur, count as u64, (*t).passed());
            if (*stream).cur > (*stream).limit {
                log::grow(stream);
            }
        }
    }
}

/// Code address, bytes and code of the access under way, which is in the stream.
unsafe fn under_way(stream: *mut Stream) -> (u64, usize, u32) {
    // SAFETY: there is one.
    unsafe {
        let index = slot_at((*stream).pending_value.sub(HEAD_LEN));
        let slot = *(*stream).slots.add(index);
        (slot.pc(), slot.size(), slot.code())
    }
}

/// Takes the access that is under way back; [`begin`] begins it again.
pub(crate) unsafe fn retract(t: *mut Thread) -> Pending {
    // SAFETY: `t` is the calling thread; what is under way is the last record of the stream.
    unsafe {
        let stream = (*t).stream;
        let addr = (*stream).pending_addr;
        if !(*t).late && addr != log::scratch_word() as usize {
            let (pc, _, code) = under_way(stream);
            (*stream).cur = (*stream).pending_value.sub(HEAD_LEN);
            Stream::settle(stream);
            return Pending { addr, pc: pc as usize, code, seq: 0 };
        }
        (*t).late = false;
        std::mem::replace(&mut (*t).pending, Pending::NONE)
    }
}

/// Accesses that are not in the stream yet.
#[cold]
#[inline(never)]
unsafe fn flush_late(t: *mut Thread) {
    // SAFETY: as in `flush`.
    unsafe {
        let Pending { addr, pc, code, seq } = (*t).pending;
        (*t).pending = Pending::NONE;
        (*t).late = false;
        let mut value = [0u64; 2];
        let size = 1usize << (code & 7);
        for i in 0..size {
            let byte = u64::from((addr as *const u8).add(i).read_volatile());
            value[i / 8] |= byte << (8 * (i % 8));
        }
        if code & VOLATILE == 0 && size == 16 {
            return put_wide(t, addr, pc, code, seq, Some(value));
        }
        if (*t).parallel {
            put_seq(t, seq);
        }
        if code & VOLATILE == 0 {
            let at = put_compact(t, addr, pc, code);
            at.cast::<u64>().write_unaligned(value[0]);
            (*(*t).stream).cur = at.add(size);
            return;
        }
        let (kind, old, new) = if code & 8 != 0 {
            (AtomicKind::VolatileStore, [0; 2], value)
        } else {
            (AtomicKind::VolatileLoad, value, [0; 2])
        };
        let (pc, addr, size) = (pc as u64, addr as u64, size as u8);
        log::put((*t).stream, &Record::Atomic { kind, size, order: 0, pc, addr, old, new });
    }
}

/// The address of the access that is under way, if there is one.
pub(crate) unsafe fn pending_addr(t: *mut Thread) -> Option<usize> {
    // SAFETY: `t` is the calling thread.
    unsafe {
        let addr = if (*t).late { (*t).pending.addr } else { (*(*t).stream).pending_addr };
        (addr != log::scratch_word() as usize).then_some(addr)
    }
}

/// The access under way faulted: its record has no value.
pub(crate) unsafe fn flush_faulted(t: *mut Thread) {
    // SAFETY: `t` is the calling thread.
    unsafe {
        let Pending { addr, pc, code, seq } = retract(t);
        flush_passed(t);
        flush_frames(t);
        if code != 0 {
            put_wide(t, addr, pc, code, seq, None);
        }
    }
}

unsafe fn put_wide(
    t: *mut Thread,
    addr: usize,
    pc: usize,
    code: u32,
    seq: u64,
    value: Option<[u64; 2]>,
) {
    let kind = if code & 8 != 0 { AccessKind::Write } else { AccessKind::Read };
    let size = 1u8 << (code & 7);
    let record = Record::Wide { kind, size, pc: pc as u64, addr: addr as u64, value };
    // SAFETY: `t` is the calling thread.
    unsafe {
        if (*t).parallel {
            put_seq(t, seq);
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
        if !(*t).claims.is_null() {
            crate::claims::take(t, record);
        }
        log::put((*t).stream, record);
    }
}
