//! Elision: accesses of the program that leave no record.
//!
//! The policy is [`foretell_ownership::elision`]. The runtime has an [`ElisionWord`] for every word of
//! the program's memory, in one mapping, at the offset that the word's address gives: only pages that
//! are used take memory. Only the thread with the baton uses it. If the mapping fails, and where the
//! reader of the log wants every access, nothing is elided.
//!
//! Elided accesses are counted steps. The log has their number ([`Record::Elided`]); where another
//! thread has to be ordered after them, a point behind them ([`Record::ElisionPoint`]), the order
//! ([`Record::AfterElisionPoint`]) and the word ([`Record::ElisionGap`]).

use crate::arena;
use crate::log;
use crate::recorder::flush_elided;
use crate::sched;
use crate::sys::{call, readable};
use crate::thread::{State, Thread};
use foretell_ownership::elision::{Context, Elider, ElisionWord, Gap};
use foretell_rt_format::{AccessCode, AtomicKind, Record, SyncKind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// End of the program's address space.
const ADDRESSES: usize = 1 << 47;
/// Bytes of elision words from which on cleared pages are returned to the system.
const LARGE: usize = 1 << 19;
/// Steps of a run from which on accesses are elided.
const LONG: u64 = 1 << 20;
/// Accesses of a thread that are recorded after it has released something.
const POST_RELEASE_BUDGET: u8 = 16;

/// The elision words; null if nothing is elided.
static mut WORDS: *mut ElisionWord = null_mut();
static mut ELIDER: Option<Elider> = None;
/// Whether the run is long.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Key of the last order that was logged, to avoid duplicates.
static mut LAST_ORDER: Option<OrderKey> = None;

/// Key of an order after elision points, see [`order_after`].
#[derive(Clone, Copy, PartialEq, Eq)]
struct OrderKey {
    thread: u32,
    /// Number of times that the baton was passed on.
    pulse: u64,
    /// The step of the thread, if it may be ordered after its own elided accesses.
    step: u64,
    holder: Option<u32>,
    ongoing: bool,
}

unsafe fn elider() -> &'static mut Elider {
    // SAFETY: the caller holds the baton.
    unsafe { (*(&raw mut ELIDER)).get_or_insert_default() }
}

/// Maps the elision words, and uses them if `wanted`, for the first thread and all after it. They are
/// mapped in any case, so that the program's own mappings have the same addresses in a recorded and
/// in a replayed run.
pub(crate) unsafe fn start(t: *mut Thread, wanted: bool) {
    // SAFETY: there is one thread.
    unsafe {
        let len = ADDRESSES / 8 * size_of::<ElisionWord>();
        let words = arena::map(len);
        if !words.is_null() {
            // Not in a core file; large pages would be mostly empty.
            for advice in [libc::MADV_DONTDUMP, libc::MADV_NOHUGEPAGE] {
                call(libc::SYS_madvise, [words as usize, len, advice as usize, 0, 0, 0]);
            }
        }
        WORDS = if wanted { words.cast() } else { null_mut() };
        prepare_thread(t);
    }
}

/// Sets the fields that the hooks of a thread read.
unsafe fn prepare_thread(t: *mut Thread) {
    // SAFETY: the caller holds the baton; the clock's set of a thread stays at its address.
    unsafe {
        (*t).elision.words = WORDS;
        (*t).hot.record_all = (*t).elision.words.is_null();
        if !(*t).hot.record_all {
            enter_epoch(t);
            (*t).elision.known = elider().clock.known((*t).index).as_bytes();
        }
    }
}

unsafe fn enter_epoch(t: *mut Thread) {
    // SAFETY: the caller holds the baton.
    unsafe {
        let epoch = elider().clock.epoch((*t).index);
        (*t).elision.epoch = epoch;
        (*t).elision.read_pattern = ElisionWord::read_pattern(epoch);
        (*t).elision.write_pattern = ElisionWord::write_pattern(epoch);
    }
}

/// Takes note of the number of steps that the scheduler has granted so far.
pub(crate) fn granted(steps: u64) {
    if steps >= LONG {
        ACTIVE.store(true, Relaxed);
    }
}

/// Whether nearly all steps of a thread since the last call were elided; `ordinal` is that of its next
/// step.
pub(crate) unsafe fn mostly_elided(t: *mut Thread, ordinal: u64) -> bool {
    // SAFETY: `t` is the calling thread and has logged the number of its elided steps.
    unsafe {
        let elided = (*t).elision.elided_steps - (*t).elision.at_last_turn.0;
        let steps = ordinal.saturating_sub((*t).elision.at_last_turn.1);
        (*t).elision.at_last_turn = ((*t).elision.elided_steps, ordinal);
        steps > 0 && elided > steps / 8 * 7
    }
}

/// Whether an access needs no record; `code` may be that of a range ([`AccessCode::range`]).
pub(crate) unsafe fn elides(
    t: *mut Thread,
    addr: usize,
    len: usize,
    pc: usize,
    code: AccessCode,
) -> bool {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        if !access(t, addr, len, code.writes()) {
            return false;
        }
        // The step was counted as one with a record.
        (*t).elision.recorded_budget += 1;
        (*t).elision.elided_pc = pc;
        (*t).elision.elided_code = code;
        true
    }
}

/// Applies a record that is about to be written. Accesses to ranges are counted where they are made.
pub(crate) unsafe fn apply(t: *mut Thread, record: &Record<'_>) {
    // SAFETY: as above; sizes are those of memory.
    unsafe {
        if is_release(record) {
            begin_release(t);
        }
        match *record {
            Record::Free { counted: true, addr, size, .. } => free(t, addr as usize, size as usize),
            Record::Atomic { addr, size, .. } => share(t, addr as usize, usize::from(size)),
            Record::Alloc { addr, size, .. } => allocate(addr as usize, size as usize),
            Record::ThreadBegin { stack_start, stack_end, .. } => {
                allocate(stack_start as usize, stack_end.saturating_sub(stack_start) as usize);
            }
            Record::Create { thread, .. } => {
                elider().clock.create((*t).index, thread);
                enter_epoch(t);
                let child = sched::LOCK.with(|| sched::sched().get(thread));
                if !child.is_null() {
                    prepare_thread(child);
                }
            }
            Record::Join { thread, .. } => elider().clock.join((*t).index, thread),
            _ => {}
        }
    }
}

/// A thread is about to release something that other threads may wait for.
pub(crate) unsafe fn begin_release(t: *mut Thread) {
    // SAFETY: as above.
    unsafe {
        if !(*t).elision.words.is_null() {
            put_elision_point(t);
            (*t).hot.post_release_budget = POST_RELEASE_BUDGET;
        }
    }
}

/// Whether other threads may continue because of a record.
fn is_release(record: &Record<'_>) -> bool {
    match record {
        Record::Create { .. } | Record::ThreadEnd => true,
        Record::Atomic { kind, .. } => {
            matches!(kind, AtomicKind::Store | AtomicKind::Update)
        }
        Record::Sync { kind, .. } => matches!(
            kind,
            SyncKind::Unlock
                | SyncKind::ReadUnlock
                | SyncKind::Wait
                | SyncKind::Signal
                | SyncKind::Broadcast
                | SyncKind::Post
                | SyncKind::Arrive
                | SyncKind::Sent
        ),
        _ => false,
    }
}

/// Returns the elision words of some bytes and their number; none if a program cannot have such an
/// address.
unsafe fn words(addr: usize, len: usize) -> Option<(*mut ElisionWord, usize)> {
    let end = addr.checked_add(len).filter(|&end| end <= ADDRESSES)?;
    let count = end.div_ceil(8).saturating_sub(addr / 8);
    // SAFETY: the mapping has an elision word for every such word.
    Some((unsafe { WORDS.add(addr / 8) }, count))
}

/// A thread accesses memory. Returns whether no word of it needs a record.
pub(crate) unsafe fn access(t: *mut Thread, addr: usize, len: usize, write: bool) -> bool {
    // SAFETY: the caller holds the baton.
    unsafe {
        if (*t).elision.words.is_null() {
            return false;
        }
        let Some((words, count)) = words(addr, len) else { return false };
        let active = ACTIVE.load(Relaxed);
        let (mut elided, mut among_elided) = (true, false);
        for i in 0..count {
            let word = words.add(i);
            let post_release = (*t).hot.post_release_budget > 0;
            (*t).hot.post_release_budget = (*t).hot.post_release_budget.saturating_sub(1);
            let (pattern, known) = ((*t).elision.read_pattern, (*t).elision.known);
            if !post_release && (*word).elides(pattern, write, known) {
                among_elided = true;
                continue;
            }
            if *word == ElisionWord::SHARED {
                elided = false;
                continue;
            }
            let context = Context { active, post_release };
            let outcome = elider().access(*word, (*t).index, write, context);
            if let Some(gap) = outcome.gap {
                put_gap(t, gap, addr / 8 + i, write);
            }
            *word = outcome.next;
            elided &= outcome.elided;
            // An access that needs no record for this word may have one for another word.
            among_elided |= outcome.elided | outcome.among_elided;
        }
        (*t).elision.records_between += u64::from(among_elided && !elided);
        elided
    }
}

/// A thread frees memory, which writes all words of it that were accessed.
unsafe fn free(t: *mut Thread, addr: usize, len: usize) {
    // SAFETY: as above.
    unsafe {
        let Some((words, count)) = words(addr, len) else { return };
        for i in 0..count {
            if *words.add(i) != ElisionWord::FRESH {
                access(t, (addr / 8 + i) * 8, 8, true);
            }
        }
    }
}

/// Memory is accessed in a way that always has a record.
pub(crate) unsafe fn share(t: *mut Thread, addr: usize, len: usize) {
    // SAFETY: as above.
    unsafe {
        if (*t).elision.words.is_null() {
            return;
        }
        let Some((words, count)) = words(addr, len) else { return };
        for i in 0..count {
            let outcome = elider().share(*words.add(i));
            if let Some(gap) = outcome.gap {
                put_gap(t, gap, addr / 8 + i, true);
            }
            *words.add(i) = outcome.next;
        }
    }
}

/// Memory is given out: its words are fresh.
unsafe fn allocate(addr: usize, len: usize) {
    // SAFETY: as above. A page that is returned to the system is one of fresh words.
    unsafe {
        let Some((words, count)) = words(addr.next_multiple_of(8), len.next_multiple_of(8)) else {
            return;
        };
        let (start, end) = (words as usize, words.add(count) as usize);
        if end - start < LARGE {
            words.write_bytes(0, count);
            return;
        }
        let (first, last) = (start.next_multiple_of(4096), end & !4095);
        words.write_bytes(0, (first - start) / size_of::<ElisionWord>());
        (last as *mut ElisionWord).write_bytes(0, (end - last) / size_of::<ElisionWord>());
        let a = [first, last - first, libc::MADV_DONTNEED as usize, 0, 0, 0];
        call(libc::SYS_madvise, a);
    }
}

/// Logs an elision gap of a word.
#[cold]
unsafe fn put_gap(t: *mut Thread, gap: Gap, word: usize, writes: bool) {
    let Gap { ordered, holder, wrote, ongoing, renews } = gap;
    // SAFETY: as above.
    unsafe {
        if !ordered {
            order_after(t, holder, ongoing);
        }
        let at = (word * 8) as *const u64;
        let value = readable(at.cast()).then(|| at.read_volatile());
        let addr = at as u64;
        let record = Record::ElisionGap { holder, ordered, wrote, renews, writes, addr, value };
        log::put((*t).hot.stream, &record);
    }
}

/// Logs an elision point of a thread, which need not be the running one, if it has elided accesses
/// since its last one.
unsafe fn put_elision_point(t: *mut Thread) {
    // SAFETY: the caller holds the baton.
    unsafe {
        let stream = (*t).hot.stream;
        let running = (*stream).thread;
        if (*t).elision.elided_steps + (*t).elision.records_between == (*t).elision.at_last_point
            && (*t).elision.recorded_budget == (*t).hot.budget
        {
            return;
        }
        log::switch(stream, (*t).index);
        flush_elided(t);
        log::put(stream, &Record::ElisionPoint);
        (*t).elision.at_last_point = (*t).elision.elided_steps + (*t).elision.records_between;
        log::switch(stream, running);
    }
}

/// The program ends: logs the number of elided accesses of all threads.
pub(crate) unsafe fn finish(t: *mut Thread) {
    // SAFETY: the caller holds the baton: no other thread runs.
    unsafe {
        if (*t).elision.words.is_null() {
            return;
        }
        let all = sched::LOCK.with(|| sched::sched().threads.clone());
        for other in all.into_iter().filter(|other| !other.is_null()) {
            if (*other).elision.recorded_budget != (*other).hot.budget
                && (*other).wait.state != State::Finished
            {
                log::switch((*t).hot.stream, (*other).index);
                flush_elided(other);
            }
        }
        log::switch((*t).hot.stream, (*t).index);
    }
}

/// Orders the rest of a thread after the elided accesses of the holder, or of all threads. If these
/// are `ongoing`, after all of them; else after those before the last elision points.
unsafe fn order_after(t: *mut Thread, holder: Option<u32>, ongoing: bool) {
    // SAFETY: the caller holds the baton: no other thread runs.
    unsafe {
        let thread = (*t).index;
        // The thread itself may have elided more since the last time.
        let step = if holder.is_some_and(|h| h != thread) {
            0
        } else {
            (*t).hot.limit - (*t).hot.budget as u64
        };
        let pulse = sched::PULSE.load(Relaxed);
        let key = Some(OrderKey { thread, pulse, step, holder, ongoing });
        if *(&raw const LAST_ORDER) == key {
            return;
        }
        LAST_ORDER = key;
        let holders: Vec<*mut Thread> = sched::LOCK.with(|| match holder {
            Some(holder) => vec![sched::sched().get(holder)],
            None => sched::sched().threads.clone(),
        });
        for other in holders.into_iter().filter(|other| !other.is_null()) {
            let index = (*other).index;
            if index != thread && elider().clock.knows_all_of(thread, index) {
                continue;
            }
            if ongoing && (*other).wait.state != State::Finished {
                put_elision_point(other);
            }
            if (*other).elision.at_last_point > 0 {
                log::put((*t).hot.stream, &Record::AfterElisionPoint { thread: index });
            }
        }
    }
}
