//! Accesses that leave no record: a claim for every word of the program's memory (see [`foretell_rt_format::claim`]).
//!
//! The claims are in one mapping, at the place that the word's address gives: only what is used takes memory. Only who holds the
//! baton uses them. Without room for the mapping, and where the reader wants everything, every access has its record.

use crate::arena;
use crate::log;
use crate::recorder::flush_elided;
use crate::sched;
use crate::sys::{call, readable};
use crate::thread::{State, Thread};
use foretell_rt_format::claim::{Claim, Forgets, Lines, When};
use foretell_rt_format::{AccessCode, AtomicKind, Record, SyncKind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// Programs have addresses below this.
const ADDRESSES: usize = 1 << 47;
/// The claims of more memory than this are given back rather than cleared.
const LARGE: usize = 1 << 19;
/// Runs with fewer steps have a record of every access.
const LONG: u64 = 1 << 20;
/// So many accesses have a record after a thread has let others go on.
const WATCHES: u8 = 16;

/// The claims; null: there are none.
static mut CLAIMS: *mut Claim = null_mut();
static mut LINES: Option<Lines> = None;
/// The run is long.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// Who has last been put after whom: the thread, the hand-overs and, if it counts, the step then, and the other one.
static mut LAST: Option<(u32, u64, u64, Option<u32>, bool)> = None;

unsafe fn lines() -> &'static mut Lines {
    // SAFETY: the caller holds the baton.
    unsafe { (*(&raw mut LINES)).get_or_insert_default() }
}

/// Makes room for the claims, and uses it if they are `wanted`, for the first thread and all after it. If not, the room is
/// taken all the same: what the program maps is at the same addresses in a recorded and in a replayed run.
pub(crate) unsafe fn start(t: *mut Thread, wanted: bool) {
    // SAFETY: there is one thread.
    unsafe {
        let len = ADDRESSES / 8 * size_of::<Claim>();
        let claims = arena::map(len);
        if !claims.is_null() {
            // Not in a core file; large pages would be mostly empty.
            for advice in [libc::MADV_DONTDUMP, libc::MADV_NOHUGEPAGE] {
                call(libc::SYS_madvise, [claims as usize, len, advice as usize, 0, 0, 0]);
            }
        }
        CLAIMS = if wanted { claims.cast() } else { null_mut() };
        adopt(t);
    }
}

/// What a thread needs for its hooks.
unsafe fn adopt(t: *mut Thread) {
    // SAFETY: the caller holds the baton; what a line knows stays where it is.
    unsafe {
        (*t).elision.claims = CLAIMS;
        (*t).hot.record_all = (*t).elision.claims.is_null();
        if !(*t).hot.record_all {
            enter_phase(t);
            (*t).elision.known = lines().known((*t).index);
        }
    }
}

unsafe fn enter_phase(t: *mut Thread) {
    // SAFETY: the caller holds the baton.
    unsafe {
        (*t).elision.phase = lines().phase((*t).index);
        (*t).elision.own = Claim::own((*t).elision.phase);
        (*t).elision.own_written = Claim::own_written((*t).elision.phase);
    }
}

/// So many steps were granted so far.
pub(crate) fn granted(steps: u64) {
    if steps >= LONG {
        ACTIVE.store(true, Relaxed);
    }
}

/// Whether nearly all steps of a thread since it was last asked this had no record; its next one has this ordinal.
pub(crate) unsafe fn calm(t: *mut Thread, ordinal: u64) -> bool {
    // SAFETY: `t` is the calling thread, and has said what it passed over.
    unsafe {
        let passed = (*t).elision.elided_steps - (*t).elision.at_last_turn.0;
        let steps = ordinal.saturating_sub((*t).elision.at_last_turn.1);
        (*t).elision.at_last_turn = ((*t).elision.elided_steps, ordinal);
        steps > 0 && passed > steps / 8 * 7
    }
}

/// A thread accesses memory; `code` is perhaps that of a range ([`AccessCode::range`]). Whether that needs no record.
pub(crate) unsafe fn passes(
    t: *mut Thread,
    addr: usize,
    len: usize,
    pc: usize,
    code: AccessCode,
) -> bool {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        if !touch(t, addr, len, code.writes()) {
            return false;
        }
        // The step was counted as one with a record.
        (*t).elision.recorded_budget += 1;
        (*t).elision.elided_pc = pc;
        (*t).elision.elided_code = code;
        true
    }
}

/// A record that is about to be written, if it is no access to a range: these are counted where they are made.
pub(crate) unsafe fn take(t: *mut Thread, record: &Record<'_>) {
    // SAFETY: as above; sizes are those of memory.
    unsafe {
        if lets_go_on(record) {
            watch(t);
        }
        match *record {
            Record::Free { counted: true, addr, size, .. } => free(t, addr as usize, size as usize),
            Record::Atomic { addr, size, .. } => share(t, addr as usize, usize::from(size)),
            Record::Alloc { addr, size, .. } => given(addr as usize, size as usize),
            Record::ThreadBegin { stack_start, stack_end, .. } => {
                given(stack_start as usize, stack_end.saturating_sub(stack_start) as usize);
            }
            Record::Create { thread, .. } => {
                lines().create((*t).index, thread);
                enter_phase(t);
                let child = sched::LOCK.with(|| sched::sched().get(thread));
                if !child.is_null() {
                    adopt(child);
                }
            }
            Record::Join { thread, .. } => lines().join((*t).index, thread),
            _ => {}
        }
    }
}

/// A thread is about to let others go on.
pub(crate) unsafe fn watch(t: *mut Thread) {
    // SAFETY: as above.
    unsafe {
        if !(*t).elision.claims.is_null() {
            leave_behind(t);
            (*t).hot.post_release_budget = WATCHES;
        }
    }
}

/// Whether others may go on because of this.
fn lets_go_on(record: &Record<'_>) -> bool {
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

/// The claims of some bytes, if programs have such addresses.
unsafe fn words(addr: usize, len: usize) -> Option<(*mut Claim, usize)> {
    let end = addr.checked_add(len).filter(|&end| end <= ADDRESSES)?;
    let count = end.div_ceil(8).saturating_sub(addr / 8);
    // SAFETY: the mapping has a claim for every such word.
    Some((unsafe { CLAIMS.add(addr / 8) }, count))
}

/// A thread uses memory. Whether none of that needs a record.
pub(crate) unsafe fn touch(t: *mut Thread, addr: usize, len: usize, write: bool) -> bool {
    // SAFETY: the caller holds the baton.
    unsafe {
        if (*t).elision.claims.is_null() {
            return false;
        }
        let Some((claims, count)) = words(addr, len) else { return false };
        let active = ACTIVE.load(Relaxed);
        let (mut passes, mut between) = (true, false);
        for i in 0..count {
            let claim = claims.add(i);
            let when = When { active, watches: (*t).hot.post_release_budget > 0 };
            (*t).hot.post_release_budget = (*t).hot.post_release_budget.saturating_sub(1);
            if !when.watches && (*claim).passes((*t).elision.own, write, (*t).elision.known) {
                between = true;
                continue;
            }
            if *claim == Claim::SHARED {
                passes = false;
                continue;
            }
            let outcome = lines().touch(*claim, (*t).index, write, when);
            if let Some(forgets) = outcome.forgets {
                say(t, forgets, addr / 8 + i, write);
            }
            *claim = outcome.next;
            passes &= outcome.passes;
            between |= outcome.passes | outcome.between;
        }
        (*t).elision.records_between += u64::from(between && !passes);
        passes
    }
}

/// A thread frees memory.
unsafe fn free(t: *mut Thread, addr: usize, len: usize) {
    // SAFETY: as above.
    unsafe {
        let Some((claims, count)) = words(addr, len) else { return };
        for i in 0..count {
            if *claims.add(i) != Claim::FRESH {
                touch(t, (addr / 8 + i) * 8, 8, true);
            }
        }
    }
}

/// Memory is used in a way that always has a record.
pub(crate) unsafe fn share(t: *mut Thread, addr: usize, len: usize) {
    // SAFETY: as above.
    unsafe {
        if (*t).elision.claims.is_null() {
            return;
        }
        let Some((claims, count)) = words(addr, len) else { return };
        for i in 0..count {
            let outcome = lines().share(*claims.add(i));
            if let Some(forgets) = outcome.forgets {
                say(t, forgets, addr / 8 + i, true);
            }
            *claims.add(i) = outcome.next;
        }
    }
}

/// Memory is given out: what was there before was something else.
unsafe fn given(addr: usize, len: usize) {
    // SAFETY: as above. A page of claims that is given back is one of fresh claims.
    unsafe {
        let Some((claims, count)) = words(addr.next_multiple_of(8), len.next_multiple_of(8)) else {
            return;
        };
        let (start, end) = (claims as usize, claims.add(count) as usize);
        if end - start < LARGE {
            claims.write_bytes(0, count);
            return;
        }
        let (first, last) = (start.next_multiple_of(4096), end & !4095);
        claims.write_bytes(0, (first - start) / size_of::<Claim>());
        (last as *mut Claim).write_bytes(0, (end - last) / size_of::<Claim>());
        let a = [first, last - first, libc::MADV_DONTNEED as usize, 0, 0, 0];
        call(libc::SYS_madvise, a);
    }
}

/// Says that accesses to a word were passed over.
#[cold]
unsafe fn say(t: *mut Thread, forgets: Forgets, word: usize, writes: bool) {
    let Forgets { ordered, holder, wrote, now, renews } = forgets;
    // SAFETY: as above.
    unsafe {
        if !ordered {
            come_after(t, holder, now);
        }
        let at = (word * 8) as *const u64;
        let value = readable(at.cast()).then(|| at.read_volatile());
        let addr = at as u64;
        let record = Record::ElisionGap { holder, ordered, wrote, renews, writes, addr, value };
        log::put((*t).hot.stream, &record);
    }
}

/// A thread, perhaps another than that which runs, leaves behind what it has passed over so far.
unsafe fn leave_behind(t: *mut Thread) {
    // SAFETY: the caller holds the baton.
    unsafe {
        let stream = (*t).hot.stream;
        let runs = (*stream).thread;
        if (*t).elision.elided_steps + (*t).elision.records_between == (*t).elision.left_behind
            && (*t).elision.recorded_budget == (*t).hot.budget
        {
            return;
        }
        log::switch(stream, (*t).index);
        flush_elided(t);
        log::put(stream, &Record::ElisionPoint);
        (*t).elision.left_behind = (*t).elision.elided_steps + (*t).elision.records_between;
        log::switch(stream, runs);
    }
}

/// The program ends: all say what they have passed over.
pub(crate) unsafe fn settle(t: *mut Thread) {
    // SAFETY: the caller holds the baton: the others do not run.
    unsafe {
        if (*t).elision.claims.is_null() {
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

/// Puts what the thread does from now on after what another one, or all, have passed over; if that goes on until `now`, after
/// all of it.
unsafe fn come_after(t: *mut Thread, holder: Option<u32>, now: bool) {
    // SAFETY: the caller holds the baton: the others do not run.
    unsafe {
        let me = (*t).index;
        // The thread itself may have passed over more since the last time.
        let step = if holder.is_some_and(|h| h != me) {
            0
        } else {
            (*t).hot.limit - (*t).hot.budget as u64
        };
        let place = Some((me, sched::PULSE.load(Relaxed), step, holder, now));
        if *(&raw const LAST) == place {
            return;
        }
        LAST = place;
        let others: Vec<*mut Thread> = sched::LOCK.with(|| match holder {
            Some(holder) => vec![sched::sched().get(holder)],
            None => sched::sched().threads.clone(),
        });
        for other in others.into_iter().filter(|other| !other.is_null()) {
            let index = (*other).index;
            if index != me && lines().knows_all_of(me, index) {
                continue;
            }
            if now && (*other).wait.state != State::Finished {
                leave_behind(other);
            }
            if (*other).elision.left_behind > 0 {
                log::put((*t).hot.stream, &Record::AfterElisionPoint { thread: index });
            }
        }
    }
}
