//! Elision: accesses of the program that leave no record.
//!
//! The policy is [`foretell_ownership::elision`]. The runtime has an [`ElisionWord`] for every word
//! of the program's memory, in one mapping, at the offset that the word's address gives: only pages
//! that are used take memory. Only the thread with the baton uses it. If the mapping fails, and
//! where the reader of the log wants every access, nothing is elided.
//!
//! Elided accesses are counted steps. The log has their number ([`Record::Elided`]); where another
//! thread has to be ordered after them, a point behind them ([`Record::ElisionPoint`]), the order
//! ([`Record::AfterElisionPoint`]) and the word ([`Record::ElisionGap`]).

use crate::arena;
use crate::log;
use crate::sched;
use crate::sys::{call, readable};
use crate::thread::{Baton, BatonCell, State, ThreadRef, flush_elided_of};
use foretell_ownership::FREED_FRESH_WORDS;
use foretell_ownership::elision::{Context, Elider, ElisionWord, Gap};
use foretell_rt_format::{AccessCode, AtomicKind, Record, SyncKind};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// End of the program's address space.
const ADDRESSES: usize = 1 << 47;
/// Bytes of elision words from which on cleared pages are returned to the system.
const LARGE: usize = 1 << 19;
/// Accesses of a thread that are recorded after it has released something.
const POST_RELEASE_BUDGET: u8 = 16;

/// Address of the elision words; 0: not mapped.
static WORDS: AtomicUsize = AtomicUsize::new(0);
static ELIDER: BatonCell<Option<Elider>> = BatonCell::new(None);
/// Key of the last order that was logged, to avoid duplicates.
static LAST_ORDER: BatonCell<Option<OrderKey>> = BatonCell::new(None);

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

/// Uses the elider, which follows the ownership of all words.
fn with_elider<R>(t: Baton, f: impl FnOnce(&mut Elider) -> R) -> R {
    ELIDER.with(t, |elider| f(elider.get_or_insert_default()))
}

/// Maps the elision words, and uses them if `wanted`, for the first thread and all after it. They
/// are mapped in any case, so that the program's own mappings have the same addresses in a recorded
/// and in a replayed run.
pub(crate) fn start(t: Baton, wanted: bool) {
    let len = ADDRESSES / 8 * size_of::<ElisionWord>();
    let before = WORDS.load(Relaxed);
    if before != 0 {
        // The child of a fork has those of its parent.
        ELIDER.with(t, |elider| *elider = None);
        LAST_ORDER.with(t, |last| *last = None);
        // SAFETY: nothing uses the words yet.
        unsafe { call(libc::SYS_madvise, [before, len, libc::MADV_DONTNEED as usize, 0, 0, 0]) };
        let words = before as *mut ElisionWord;
        return prepare_thread(t, *t, if wanted { words } else { null_mut() });
    }
    let words = arena::map(len);
    WORDS.store(words as usize, Relaxed);
    if !words.is_null() {
        // Not in a core file; large pages would be mostly empty.
        for advice in [libc::MADV_DONTDUMP, libc::MADV_NOHUGEPAGE] {
            let a = [words as usize, len, advice as usize, 0, 0, 0];
            // SAFETY: the runtime's own mapping.
            unsafe { call(libc::SYS_madvise, a) };
        }
    }
    prepare_thread(t, *t, if wanted { words.cast() } else { null_mut() });
}

/// Sets the fields that the hooks of a thread read, which is the calling one or has not begun.
fn prepare_thread(t: Baton, of: ThreadRef, words: *mut ElisionWord) {
    of.hot(|hot| hot.record_all = words.is_null());
    let known = if words.is_null() {
        null()
    } else {
        enter_epoch(t, of);
        // The clock's set of a thread stays at its address.
        with_elider(t, |elider| std::ptr::from_ref(elider.clock.known(of.index()).as_bytes()))
    };
    // SAFETY: the thread is the calling one, or does not run.
    let elision = unsafe { &mut (*of.as_ptr()).elision };
    elision.words = words;
    elision.known = known;
}

/// Prepares the calling thread, which no recorded thread has created.
pub(crate) fn adopt(t: Baton) {
    // SAFETY: the first thread's words do not change after the start.
    let words = sched::thread(0).map(|first| unsafe { (*first.as_ptr()).elision.words });
    prepare_thread(t, *t, words.unwrap_or(null_mut()));
}

fn enter_epoch(t: Baton, of: ThreadRef) {
    let epoch = with_elider(t, |elider| elider.clock.epoch(of.index()));
    // SAFETY: the thread is the calling one, or does not run.
    let elision = unsafe { &mut (*of.as_ptr()).elision };
    elision.epoch = epoch;
    elision.read_pattern = ElisionWord::read_pattern(epoch);
    elision.write_pattern = ElisionWord::write_pattern(epoch);
}

/// Whether an access needs no record; `code` may be that of a range ([`AccessCode::range`]).
pub(crate) fn elides(t: Baton, addr: usize, len: usize, pc: usize, code: AccessCode) -> bool {
    if !access(t, addr, len, code.writes()) {
        return false;
    }
    t.elision(|elision| {
        // The step was counted as one with a record.
        elision.recorded_budget += 1;
        elision.elided_pc = pc;
        elision.elided_code = code;
    });
    true
}

/// Whether every access of the calling thread has a record.
pub(crate) fn records_all(t: Baton) -> bool {
    t.elision(|elision| elision.words.is_null())
}

/// Applies a record that is about to be written. Accesses to ranges are counted where they are
/// made.
pub(crate) fn apply(t: Baton, record: &Record<'_>) {
    if records_all(t) {
        return;
    }
    if is_release(record) {
        begin_release(t);
    }
    match *record {
        Record::Free { counted: true, addr, size, .. } => free(t, addr as usize, size as usize),
        Record::Atomic { addr, size, .. } => share(t, addr as usize, usize::from(size)),
        Record::Alloc { addr, size, .. } => allocate(t, addr as usize, size as usize),
        Record::ThreadBegin { stack_start, stack_end, .. } => {
            allocate(t, stack_start as usize, stack_end.saturating_sub(stack_start) as usize);
        }
        Record::Create { thread, .. } => {
            with_elider(t, |elider| elider.clock.create(t.index(), thread));
            enter_epoch(t, *t);
            if let Some(child) = sched::thread(thread) {
                prepare_thread(t, child, t.elision(|elision| elision.words));
            }
        }
        Record::Join { thread, .. } => {
            with_elider(t, |elider| elider.clock.join(t.index(), thread));
        }
        _ => {}
    }
}

/// Prepares the calling thread for a release of something that other threads may wait for.
pub(crate) fn begin_release(t: Baton) {
    if !records_all(t) {
        put_elision_point(t, *t);
        t.hot(|hot| hot.post_release_budget = POST_RELEASE_BUDGET);
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

/// The elision words of some bytes.
struct Words {
    first: *mut ElisionWord,
    count: usize,
}

impl Words {
    /// Returns the elision words; none if nothing is elided, or a program cannot have such an
    /// address.
    fn of(t: Baton, addr: usize, len: usize) -> Option<Words> {
        let words = t.elision(|elision| elision.words);
        let end = addr.checked_add(len).filter(|&end| end <= ADDRESSES && !words.is_null())?;
        let count = end.div_ceil(8).saturating_sub(addr / 8);
        // The mapping has an elision word for every such word.
        Some(Words { first: words.wrapping_add(addr / 8), count })
    }

    fn get(&self, i: usize) -> ElisionWord {
        // SAFETY: the index is below the count, and the holder of the baton uses the mapping.
        unsafe { *self.first.add(i) }
    }

    fn set(&self, i: usize, word: ElisionWord) {
        // SAFETY: as above.
        unsafe { *self.first.add(i) = word };
    }
}

/// Applies an access of the calling thread. Returns whether no word of it needs a record.
pub(crate) fn access(t: Baton, addr: usize, len: usize, write: bool) -> bool {
    let Some(words) = Words::of(t, addr, len) else { return false };
    let active = sched::is_long_run();
    let (pattern, known) = t.elision(|elision| (elision.read_pattern, elision.known));
    let (mut elided, mut among_elided) = (true, false);
    for i in 0..words.count {
        let word = words.get(i);
        let post_release = t.hot(|hot| {
            let post_release = hot.post_release_budget > 0;
            hot.post_release_budget = hot.post_release_budget.saturating_sub(1);
            post_release
        });
        // SAFETY: the clock's set of the calling thread.
        if !post_release && unsafe { word.elides(pattern, write, known) } {
            among_elided = true;
            continue;
        }
        if word == ElisionWord::SHARED {
            elided = false;
            continue;
        }
        let context = Context { active, post_release };
        let outcome = with_elider(t, |elider| elider.access(word, t.index(), write, context));
        if let Some(gap) = outcome.gap {
            put_gap(t, gap, addr / 8 + i, write);
        }
        words.set(i, outcome.next);
        elided &= outcome.elided;
        // An access that needs no record for this word may have one for another word.
        among_elided |= outcome.elided | outcome.among_elided;
    }
    t.elision(|elision| elision.records_between += u64::from(among_elided && !elided));
    elided
}

/// Applies that the calling thread frees memory, which writes all words of it that were accessed,
/// and the first ones that were not.
fn free(t: Baton, addr: usize, len: usize) {
    let Some(words) = Words::of(t, addr, len) else { return };
    let mut fresh = FREED_FRESH_WORDS;
    for i in 0..words.count {
        let is_fresh = words.get(i) == ElisionWord::FRESH;
        if !is_fresh || fresh > 0 {
            fresh -= usize::from(is_fresh);
            access(t, (addr / 8 + i) * 8, 8, true);
        }
    }
}

/// Applies an access that always has a record.
pub(crate) fn share(t: Baton, addr: usize, len: usize) {
    let Some(words) = Words::of(t, addr, len) else { return };
    for i in 0..words.count {
        let outcome = with_elider(t, |elider| elider.share(words.get(i)));
        if let Some(gap) = outcome.gap {
            put_gap(t, gap, addr / 8 + i, true);
        }
        words.set(i, outcome.next);
    }
}

/// Makes the words that are entirely in this memory fresh.
pub(crate) fn renew(t: Baton, addr: usize, len: usize) {
    let (Some(first), Some(end)) = (addr.checked_next_multiple_of(8), addr.checked_add(len)) else {
        return;
    };
    if first < end & !7 {
        allocate(t, first, (end & !7) - first);
    }
}

/// Applies that memory is given out: its words are fresh.
fn allocate(t: Baton, addr: usize, len: usize) {
    let words = Words::of(t, addr.next_multiple_of(8), len.next_multiple_of(8));
    let Some(Words { first, count }) = words else { return };
    // SAFETY: the words are in the mapping. A page that is returned to the system is one of fresh
    // words.
    unsafe {
        let (start, end) = (first as usize, first.add(count) as usize);
        if end - start < LARGE {
            first.write_bytes(0, count);
            return;
        }
        let (low, high) = (start.next_multiple_of(4096), end & !4095);
        first.write_bytes(0, (low - start) / size_of::<ElisionWord>());
        (high as *mut ElisionWord).write_bytes(0, (end - high) / size_of::<ElisionWord>());
        call(libc::SYS_madvise, [low, high - low, libc::MADV_DONTNEED as usize, 0, 0, 0]);
    }
}

/// Logs an elision gap of a word.
#[cold]
fn put_gap(t: Baton, gap: Gap, word: usize, writes: bool) {
    let Gap { ordered, holder, wrote, ongoing, renews } = gap;
    if !ordered {
        order_after(t, holder, ongoing);
    }
    let at = (word * 8) as *const u64;
    // SAFETY: the word is read where it can be read.
    let value = readable(at.cast()).then(|| unsafe { at.read_volatile() });
    let addr = at as u64;
    put(t, &Record::ElisionGap { holder, ordered, wrote, renews, writes, addr, value });
}

/// Writes a record that needs no preparation.
fn put(t: Baton, record: &Record<'_>) {
    // SAFETY: the caller holds the baton.
    unsafe { log::put(t.stream(), record) };
}

/// Logs an elision point of a thread, which need not be the running one, if it has elided accesses
/// since its last one.
fn put_elision_point(t: Baton, of: ThreadRef) {
    // SAFETY: the thread is the calling one, or does not run; the stream is the baton holder's.
    unsafe {
        let (elision, stream) = (&raw mut (*of.as_ptr()).elision, t.stream());
        let budget = of.hot(|hot| hot.budget);
        let point = (*elision).elided_steps + (*elision).records_between;
        if point == (*elision).at_last_point && (*elision).recorded_budget == budget {
            return;
        }
        let running = (*stream).thread;
        log::switch(stream, of.index());
        flush_elided_of(t, of);
        log::put(stream, &Record::ElisionPoint);
        (*elision).at_last_point = (*elision).elided_steps + (*elision).records_between;
        log::switch(stream, running);
    }
}

/// Logs the number of elided accesses of all threads: the program ends.
pub(crate) fn finish(t: Baton) {
    if records_all(t) {
        return;
    }
    for other in sched::threads() {
        // SAFETY: the thread is the calling one, or does not run.
        let recorded = unsafe { (*other.as_ptr()).elision.recorded_budget };
        let missing = recorded != other.hot(|hot| hot.budget);
        if missing && other.wait().state.get() != State::Finished {
            // SAFETY: the caller holds the baton.
            unsafe { log::switch(t.stream(), other.index()) };
            flush_elided_of(t, other);
        }
    }
    t.switch_stream();
}

/// Orders the rest of a thread after the elided accesses of the holder, or of all threads. If these
/// are `ongoing`, after all of them; else after those before the last elision points.
fn order_after(t: Baton, holder: Option<u32>, ongoing: bool) {
    let thread = t.index();
    // The thread itself may have elided more since the last time.
    let itself = holder.is_none_or(|h| h == thread);
    let step = if itself { t.hot(|hot| hot.limit - hot.budget as u64) } else { 0 };
    let pulse = sched::PULSE.load(Relaxed);
    let key = Some(OrderKey { thread, pulse, step, holder, ongoing });
    if LAST_ORDER.with(t, |last| std::mem::replace(last, key)) == key {
        return;
    }
    let holders: Vec<ThreadRef> = match holder {
        Some(holder) => sched::thread(holder).into_iter().collect(),
        None => sched::threads(),
    };
    for other in holders {
        let index = other.index();
        let known = || with_elider(t, |elider| elider.clock.knows_all_of(thread, index));
        if index != thread && known() {
            continue;
        }
        if ongoing && other.wait().state.get() != State::Finished {
            put_elision_point(t, other);
        }
        // SAFETY: the thread is the calling one, or does not run.
        if unsafe { (*other.as_ptr()).elision.at_last_point } > 0 {
            put(t, &Record::AfterElisionPoint { thread: index });
        }
    }
}
