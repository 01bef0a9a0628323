//! Hooks of plain accesses and of function entry and exit: the fast path of everything.

use crate::aggregate_copy::source_hook;
use crate::elision;
use crate::entry::{enter, enter_unflushed, entries, leave, plain_entries};
use crate::log;
use crate::recorder;
use crate::sched::access_step;
use crate::thread::{Baton, DeferredAccess, Frame, MAX_DEPTH, Thread};
use foretell_ownership::elision::{EPOCHS, ElisionWord, SEVERAL_PATTERN, pattern_shift};
use foretell_rt_format::{
    AccessCode, AccessKind, HEAD_LEN, Kind, MAX_RANGE_DATA, Record, put_elided, put_head, slot_key,
    slot_of,
};
use std::mem::offset_of;
use std::ptr::write_volatile;

/// `hooks! { size: write => name …; }`: the hooks before plain accesses.
///
/// Most accesses of a long run are elided (see `elision`): such a hook only counts the step. It is
/// written by hand, in few instructions, and uses only registers that a call may change. All other
/// accesses go to [`recorded`], with the code address. Neither makes a call, and both decide before
/// they change anything, so that the slow path can begin anew. They do not mark the thread as being
/// inside the runtime; their code is in a section of its own for that (see `signal`).
macro_rules! hooks {
    ($($log2:literal: $write:literal => $($name:ident)*;)*) => {$($(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        #[unsafe(link_section = "foretell_hot")]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                // Recorded at all?
                "mov rax, qword ptr [rip + __foretell_tls@GOTTPOFF]",
                "mov rax, qword ptr fs:[rax]",
                "test rax, rax",
                "jz 3f",
                // No program has such an address, or it may be in two words.
                "movabs rcx, {odd}",
                "test rdi, rcx",
                "jnz 3f",
                // Is the slow path needed, or elision off?
                "cmp qword ptr [rax + {busy}], 0",
                "jne 3f",
                // Does the elision word match the pattern of the thread, or that of several
                // readers?
                "mov rcx, qword ptr [rax + {words}]",
                "mov rdx, rdi",
                "shr rdx, 3",
                "mov ecx, dword ptr [rcx + 4 * rdx]",
                "mov edx, ecx",
                "shr edx, {shift}",
                "cmp edx, dword ptr [rax + {pattern}]",
                "jne 2f",
                "1:",
                "mov rcx, qword ptr [rax + {budget}]",
                "sub rcx, 1",
                "js 3f",
                "mov rsi, qword ptr [rsp]",
                "mov qword ptr [rax + {pc}], rsi",
                "mov byte ptr [rax + {elided_code}], {code}",
                "mov qword ptr [rax + {budget}], rcx",
                "ret",
                "2:",
                "cmp edx, {several}",
                "jne 3f",
                "mov rdx, qword ptr [rax + {known}]",
                "and ecx, {epoch}",
                "cmp byte ptr [rdx + rcx], 0",
                "jne 1b",
                "3:",
                "mov rsi, qword ptr [rsp]",
                "jmp {recorded}",
                // The next hook begins with a cache line.
                ".p2align 6",
                odd = const (!0u64 << 47 | ((1 << $log2) - 1)) as i64,
                busy = const offset_of!(Thread, hot.busy),
                words = const offset_of!(Thread, elision.words),
                shift = const pattern_shift($write),
                pattern = const if $write { offset_of!(Thread, elision.write_pattern) } else { offset_of!(Thread, elision.read_pattern) },
                budget = const offset_of!(Thread, hot.budget),
                pc = const offset_of!(Thread, elision.elided_pc),
                elided_code = const offset_of!(Thread, elision.elided_code),
                code = const AccessCode::access($log2, $write).byte(),
                // Writes have no such word.
                several = const if $write { u32::MAX as i32 } else { SEVERAL_PATTERN as i32 },
                known = const offset_of!(Thread, elision.known),
                epoch = const EPOCHS - 1,
                recorded = sym recorded::<{ AccessCode::access($log2, $write).byte() }>,
            )
        }
    )*)*};
}

hooks! {
    0: false => __tsan_read1;
    1: false => __tsan_read2 __tsan_unaligned_read2;
    2: false => __tsan_read4 __tsan_unaligned_read4;
    3: false => __tsan_read8 __tsan_unaligned_read8;
    0: true => __tsan_write1;
    1: true => __tsan_write2 __tsan_unaligned_write2;
    2: true => __tsan_write4 __tsan_unaligned_write4;
    3: true => __tsan_write8 __tsan_unaligned_write8;
}

/// Whether all bytes of an access are in one word that a program can have.
#[inline(always)]
fn within_word(addr: usize, code: AccessCode) -> bool {
    addr >> 47 == 0 && (addr & 7) + code.size() <= 8
}

/// Hook of an access that has a record, or is the first elided one after a record.
#[inline(never)]
#[unsafe(link_section = "foretell_hot")]
unsafe extern "C" fn recorded<const CODE: u8>(addr: usize, pc: usize) {
    let code = const { AccessCode::from_byte(CODE) };
    let t = crate::tls::get();
    // SAFETY: `t` is the calling thread; the pending address was accessed by the program.
    unsafe {
        // Not recorded.
        if t.is_null() {
            return access_slow(addr, pc, code);
        }
        let stream = (*t).hot.stream;
        let word_at = (*t).elision.words.wrapping_add(addr >> 3);
        let mut word = ElisionWord::SHARED;
        if !(*t).elision.words.is_null() {
            if !within_word(addr, code) {
                return access_slow(addr, pc, code);
            }
            word = *word_at;
            if word.elides((*t).elision.read_pattern, code.writes(), (*t).elision.known) {
                // As below.
                if (*t).hot.unusual() || (*t).hot.budget <= 0 || (*t).hot.post_release_budget != 0 {
                    return access_slow(addr, pc, code);
                }
                complete(stream, (*stream).cur);
                log::Stream::settle(stream);
                (*t).hot.value_pending = false;
                (*t).elision.elided_pc = pc;
                (*t).elision.elided_code = code;
                write_volatile(&raw mut (*t).hot.budget, (*t).hot.budget - 1);
                return;
            }
            if word != ElisionWord::SHARED {
                word = match word.count_access((*t).elision.epoch, code.writes()) {
                    Some(next) => next,
                    None => return access_slow(addr, pc, code),
                };
            }
        }
        let cur = (*stream).cur;
        let high = addr >> 32;
        let index = slot_of(pc as u64, code, high as u64);
        let slot = (*stream).slots.add(index);
        // The slow path is for: a thread that is inside the runtime, has a signal kept or a
        // deferred access, or records in parallel; a budget that is used up; a full chunk;
        // functions that the log does not know; a new code address or high half of the address;
        // four bytes that are read as eight, which may reach into the next page.
        if code.size() > 8
            || (*t).hot.unusual()
            || (*t).hot.budget <= 0
            || cur > (*stream).limit
            || !(*t).frames.logged_up_to_date()
            || (*slot).key != slot_key(pc as u64, code)
            || (*slot).high != high as u64
            || (code.size() == 4 && addr & 0xfff > 0xff8)
        {
            return access_slow(addr, pc, code);
        }
        complete(stream, cur);
        if word != ElisionWord::SHARED {
            *word_at = word;
        }
        let (budget, mark) = ((*t).hot.budget, (*t).elision.recorded_budget);
        let cur = if budget == mark {
            cur
        } else {
            (*t).elision.elided_steps += (mark - budget) as u64;
            put_elided(cur, (mark - budget) as u64, (*t).elision.key())
        };
        (*t).hot.budget = budget - 1;
        (*t).elision.recorded_budget = budget - 1;
        put_head(cur, index, addr as u64);
        (*t).hot.value_pending = true;
        (*t).hot.post_release_budget = (*t).hot.post_release_budget.saturating_sub(1);
        (*stream).pending_addr = addr;
        write_volatile(&raw mut (*stream).pending_value, cur.add(HEAD_LEN));
        write_volatile(&raw mut (*stream).cur, cur.add(HEAD_LEN + code.size()));
    }
}

/// Fills in the value of the access under way, which ends at `cur`.
///
/// No read is wider than the program's last write may be: the processor would have to wait for it.
/// Eight bytes are copied for four: the next record overwrites the rest.
#[inline(always)]
unsafe fn complete(stream: *mut log::Stream, cur: *mut u8) {
    // SAFETY: the program has accessed the address, or it is the scratch word's.
    unsafe {
        let (from, to) = ((*stream).pending_addr as *const u8, (*stream).pending_value);
        match (cur as usize).wrapping_sub(to as usize) {
            1 => to.write(from.read()),
            2 => to.cast::<u16>().write_unaligned(from.cast::<u16>().read_unaligned()),
            _ => {
                // By hand: the compiler would make one read of these two.
                let (low, high): (u32, u32);
                std::arch::asm!("mov {low:e}, dword ptr [{from}]",
                     "mov {high:e}, dword ptr [{from} + 4]", from = in(reg) from,
                     low = out(reg) low, high = lateout(reg) high,
                     options(nostack, readonly, preserves_flags));
                to.cast::<u32>().write_unaligned(low);
                to.add(4).cast::<u32>().write_unaligned(high);
            }
        }
    }
}

/// Hook of an access, for all cases.
#[cold]
#[inline(never)]
unsafe extern "C" fn access_slow(addr: usize, pc: usize, code: AccessCode) {
    // SAFETY: the program called the hook, which has its code address.
    let source = if code.writes() { unsafe { source_hook(pc) } } else { None };
    access(addr, pc, code, source);
}

/// An access whose code location the caller gives: the code there need not be that of a hook.
pub(crate) fn access_at(addr: usize, pc: usize, code: AccessCode) {
    access(addr, pc, code, None);
}

/// Records an access; `source` is the code address of the hook of its source if it is the write of
/// a copy.
fn access(addr: usize, pc: usize, code: AccessCode, source: Option<usize>) {
    let Some(t) = enter_unflushed() else { return };
    let len = code.size();
    if !code.writes() {
        recorder::note_source(t, addr, len, pc);
    }
    recorder::flush(t);
    let kind = if code.writes() { Kind::Write } else { Kind::Read };
    access_step(t, kind, pc, (addr, len));
    if elision::elides(t, addr, len, pc, code) {
        return leave(t);
    }
    begin(t, DeferredAccess::plain(addr, len, pc, code), source);
    leave(t);
}

/// Begins the record of a plain access.
fn begin(t: Baton, mut access: DeferredAccess, source: Option<usize>) {
    if t.parallel() {
        access.seq = recorder::next_seq();
    }
    access.source_hook = source;
    recorder::begin(t, access);
}

/// Hooks of a load and a store in one (compound instrumentation): two steps.
macro_rules! compound_hooks {
    ($($log2:literal: $both:ident;)*) => {$(
        #[unsafe(link_section = "foretell_hot")]
        unsafe extern "C" fn $both(addr: usize, pc: usize) {
            // SAFETY: called by the program before the accesses.
            unsafe {
                recorded::<{ AccessCode::access($log2, false).byte() }>(addr, pc);
                recorded::<{ AccessCode::access($log2, true).byte() }>(addr, pc);
            }
        }
    )*};
}
compound_hooks! { 0: both1; 1: both2; 2: both4; 3: both8; 4: both16; }

/// Hook of a volatile access: recorded as an atomic one, with the value found at the next hook
/// like that of a plain access.
#[inline(never)]
fn volatile(addr: usize, pc: usize, log2: u32, write: bool) {
    let Some(t) = enter() else { return };
    access_step(t, Kind::Atomic, pc, (addr, 1 << log2));
    if write {
        elision::begin_release(t);
    }
    elision::share(t, addr, 1 << log2);
    let seq = if t.parallel() { recorder::next_seq() } else { 0 };
    let code = AccessCode::access(log2, write);
    let access = DeferredAccess::plain(addr, 1 << log2, pc, code);
    recorder::begin(t, DeferredAccess { volatile: true, seq, ..access });
    leave(t);
}

macro_rules! volatile_hooks {
    ($($log2:literal: $read:ident $write:ident;)*) => {$(
        extern "C" fn $read(addr: usize, pc: usize) {
            volatile(addr, pc, $log2, false)
        }
        extern "C" fn $write(addr: usize, pc: usize) {
            volatile(addr, pc, $log2, true)
        }
    )*};
}
volatile_hooks! {
    0: vread1 vwrite1; 1: vread2 vwrite2; 2: vread4 vwrite4; 3: vread8 vwrite8;
    4: vread16 vwrite16;
}

/// Records a range that the program, or a library function for it, reads or writes. `content` is
/// the address of what is there once the step has run, unless the range holds it already.
///
/// # Safety
/// The content is readable.
pub(crate) unsafe fn range(
    t: Baton,
    kind: AccessKind,
    addr: usize,
    len: usize,
    pc: usize,
    content: Option<usize>,
) {
    if len == 0 || !range_step(t, kind, addr, len, pc) {
        return;
    }
    let known = if len <= MAX_RANGE_DATA { len } else { 0 };
    // SAFETY: promised by the caller.
    let data = unsafe { std::slice::from_raw_parts(content.unwrap_or(addr) as *const u8, known) };
    put_range(t, kind, addr, len, pc, data);
}

/// Counts the step of an access to a range. Returns whether it needs a record.
fn range_step(t: Baton, kind: AccessKind, addr: usize, len: usize, pc: usize) -> bool {
    let write = kind == AccessKind::Write;
    let kind = if write { Kind::WriteRange } else { Kind::ReadRange };
    access_step(t, kind, pc, (addr, len));
    !elision::elides(t, addr, len, pc, AccessCode::range(write))
}

fn put_range(t: Baton, kind: AccessKind, addr: usize, len: usize, pc: usize, data: &[u8]) {
    let (pc, addr, len) = (pc as u64, addr as u64, len as u64);
    recorder::put(t, &Record::Range { kind, pc, addr, len, data });
}

unsafe extern "C" fn read_range(addr: usize, len: usize, pc: usize) {
    let Some(t) = enter_unflushed() else { return };
    recorder::note_source(t, addr, len, pc);
    recorder::flush(t);
    // SAFETY: called by the program before it reads the range.
    unsafe { range(t, AccessKind::Read, addr, len, pc, None) };
    leave(t);
}

/// Hook before a write to a range.
unsafe extern "C" fn write_range(addr: usize, len: usize, pc: usize) {
    // SAFETY: the program called the hook, which has its code address.
    put_write_range(addr, len, pc, unsafe { source_hook(pc) });
}

/// Hook before a write to a range, with a code location given by the caller.
extern "C" fn write_range_at(addr: usize, len: usize, pc: usize) {
    put_write_range(addr, len, pc, None);
}

/// Records a write to a range, whose content is known at the next hook.
fn put_write_range(addr: usize, len: usize, pc: usize, source: Option<usize>) {
    let Some(t) = enter() else { return };
    begin_write_range(t, addr, len, pc, source);
    leave(t);
}

/// Records a write to a range that the program's next call makes: its content is known at the next
/// hook.
pub(crate) fn range_written_later(t: Baton, addr: usize, len: usize, pc: usize) {
    begin_write_range(t, addr, len, pc, None);
}

/// Records an access to a range whose content says less than what the access depends on.
pub(crate) fn range_of_unknown_content(
    t: Baton,
    kind: AccessKind,
    addr: usize,
    len: usize,
    pc: usize,
) {
    if len > 0 && range_step(t, kind, addr, len, pc) {
        put_range(t, kind, addr, len, pc, &[]);
    }
}

fn begin_write_range(t: Baton, addr: usize, len: usize, pc: usize, source: Option<usize>) {
    if len > 0 && range_step(t, AccessKind::Write, addr, len, pc) {
        if len <= MAX_RANGE_DATA {
            begin(t, DeferredAccess::plain(addr, len, pc, AccessCode::range(true)), source);
        } else {
            put_range(t, AccessKind::Write, addr, len, pc, &[]);
        }
    }
}

/// Hook of a store of a vtable pointer. A destructor stores the pointer of its own class, which the
/// object mostly has already: such a store changes nothing and is recorded as a read.
#[unsafe(link_section = "foretell_hot")]
unsafe extern "C" fn vptr_update(addr: usize, new: usize, pc: usize) {
    // SAFETY: called by the program before it writes to `addr`.
    unsafe {
        if (addr as *const usize).read_volatile() == new {
            recorded::<{ AccessCode::access(3, false).byte() }>(addr, pc)
        } else {
            recorded::<{ AccessCode::access(3, true).byte() }>(addr, pc)
        }
    }
}

/// Hook of a function entry. `call` is the return address; `sp` tells frames left by `longjmp`;
/// with `fp`, it tells the reader of the log where the frame is.
///
/// The entry has no record until another record needs it: most calls are over before.
#[unsafe(link_section = "foretell_hot")]
unsafe extern "C" fn func_entry(call: usize, pc: usize, sp: usize, fp: usize) {
    let t = crate::tls::get();
    // SAFETY: `t` is the calling thread.
    unsafe {
        if t.is_null() {
            return func_entry_slow(call, pc, sp, fp);
        }
        let (stream, depth) = ((*t).hot.stream, (*t).frames.depth);
        if (*t).hot.unusual()
            || (*t).elision.words.is_null()
            || depth.wrapping_sub(1) >= MAX_DEPTH - 1
            || (*(*t).frames.stack.add(depth - 1)).sp <= sp
        {
            return func_entry_slow(call, pc, sp, fp);
        }
        if (*stream).pending_addr != log::scratch_word() as usize {
            complete(stream, (*stream).cur);
            log::Stream::settle(stream);
        }
        *(*t).frames.stack.add(depth) = Frame { sp, call, pc, fp };
        write_volatile(&raw mut (*t).frames.depth, depth + 1);
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn func_entry_slow(call: usize, pc: usize, sp: usize, fp: usize) {
    let Some(t) = enter_unflushed() else { return };
    t.frames(|frames| frames.unwind(sp, call));
    recorder::flush(t);
    let depth = t.frames(|frames| {
        frames.push(Frame { sp, call, pc, fp });
        frames.depth
    });
    // Where all entries are wanted, and where the frame is not kept.
    if elision::records_all(t) || depth > MAX_DEPTH {
        recorder::put_entry(t, call, pc);
        t.frames(|frames| (frames.low, frames.logged) = (depth, depth));
    }
    leave(t);
}

#[unsafe(link_section = "foretell_hot")]
unsafe extern "C" fn func_exit() {
    let t = crate::tls::get();
    // SAFETY: as above.
    unsafe {
        if t.is_null() {
            return func_exit_slow();
        }
        let (stream, depth) = ((*t).hot.stream, (*t).frames.depth);
        if (*t).hot.unusual() || (*t).elision.words.is_null() || depth.wrapping_sub(1) >= MAX_DEPTH
        {
            return func_exit_slow();
        }
        if (*stream).pending_addr != log::scratch_word() as usize {
            complete(stream, (*stream).cur);
            log::Stream::settle(stream);
        }
        (*t).frames.depth = depth - 1;
        (*t).frames.low = (*t).frames.low.min(depth - 1);
    }
}

#[cold]
#[inline(never)]
unsafe extern "C" fn func_exit_slow() {
    let Some(t) = enter() else { return };
    let left = t.frames(|frames| {
        let inside = frames.depth > 0;
        if inside {
            frames.depth -= 1;
            frames.low = frames.depth;
        }
        inside
    });
    if left {
        recorder::flush_frames(t);
    }
    leave(t);
}

/// The stack pointer and `rbp` of the function that is entered go into the third and the fourth
/// register.
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __tsan_func_entry() {
    std::arch::naked_asm!(
        "mov rsi, qword ptr [rsp]",
        "mov rdx, rsp",
        "mov rcx, rbp",
        "jmp {f}",
        f = sym func_entry,
    )
}

entries! {
    __tsan_read16 => recorded::<{ AccessCode::access(4, false).byte() }>, "rsi";
    __tsan_write16 => recorded::<{ AccessCode::access(4, true).byte() }>, "rsi";
    __tsan_unaligned_read16 => recorded::<{ AccessCode::access(4, false).byte() }>, "rsi";
    __tsan_unaligned_write16 => recorded::<{ AccessCode::access(4, true).byte() }>, "rsi";
    __tsan_read_write1 => both1, "rsi";
    __tsan_read_write2 => both2, "rsi";
    __tsan_read_write4 => both4, "rsi";
    __tsan_read_write8 => both8, "rsi";
    __tsan_read_write16 => both16, "rsi";
    __tsan_unaligned_read_write2 => both2, "rsi";
    __tsan_unaligned_read_write4 => both4, "rsi";
    __tsan_unaligned_read_write8 => both8, "rsi";
    __tsan_unaligned_read_write16 => both16, "rsi";
    __tsan_volatile_read1 => vread1, "rsi";
    __tsan_volatile_read2 => vread2, "rsi";
    __tsan_volatile_read4 => vread4, "rsi";
    __tsan_volatile_read8 => vread8, "rsi";
    __tsan_volatile_read16 => vread16, "rsi";
    __tsan_volatile_write1 => vwrite1, "rsi";
    __tsan_volatile_write2 => vwrite2, "rsi";
    __tsan_volatile_write4 => vwrite4, "rsi";
    __tsan_volatile_write8 => vwrite8, "rsi";
    __tsan_volatile_write16 => vwrite16, "rsi";
    __tsan_unaligned_volatile_read2 => vread2, "rsi";
    __tsan_unaligned_volatile_read4 => vread4, "rsi";
    __tsan_unaligned_volatile_read8 => vread8, "rsi";
    __tsan_unaligned_volatile_read16 => vread16, "rsi";
    __tsan_unaligned_volatile_write2 => vwrite2, "rsi";
    __tsan_unaligned_volatile_write4 => vwrite4, "rsi";
    __tsan_unaligned_volatile_write8 => vwrite8, "rsi";
    __tsan_unaligned_volatile_write16 => vwrite16, "rsi";
    __tsan_read_range => read_range, "rdx";
    __tsan_write_range => write_range, "rdx";
    __tsan_vptr_read => recorded::<{ AccessCode::access(3, false).byte() }>, "rsi";
    __tsan_vptr_update => vptr_update, "rdx";
}

/// Accesses with a code location given by the caller.
extern "C" fn access_pc<const CODE: u8>(addr: usize, pc: usize) {
    access_at(addr, pc, AccessCode::from_byte(CODE));
}

plain_entries! {
    __tsan_func_exit => func_exit;
    __tsan_read1_pc => access_pc::<{ AccessCode::access(0, false).byte() }>;
    __tsan_read2_pc => access_pc::<{ AccessCode::access(1, false).byte() }>;
    __tsan_read4_pc => access_pc::<{ AccessCode::access(2, false).byte() }>;
    __tsan_read8_pc => access_pc::<{ AccessCode::access(3, false).byte() }>;
    __tsan_read16_pc => access_pc::<{ AccessCode::access(4, false).byte() }>;
    __tsan_write1_pc => access_pc::<{ AccessCode::access(0, true).byte() }>;
    __tsan_write2_pc => access_pc::<{ AccessCode::access(1, true).byte() }>;
    __tsan_write4_pc => access_pc::<{ AccessCode::access(2, true).byte() }>;
    __tsan_write8_pc => access_pc::<{ AccessCode::access(3, true).byte() }>;
    __tsan_write16_pc => access_pc::<{ AccessCode::access(4, true).byte() }>;
    __tsan_read_range_pc => read_range;
    __tsan_write_range_pc => write_range_at;
}
