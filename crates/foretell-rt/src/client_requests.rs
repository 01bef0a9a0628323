//! Client requests of Valgrind: the annotations of `helgrind.h`, `drd.h` and `valgrind.h`.
//!
//! A request is a sequence of instructions that changes nothing on the processor (see
//! [`crate::request_patches`], which replaces it by a call of [`request_entry`]), a pointer to the
//! number of the request and five arguments, and a default result. The number has the tool's two
//! letters in its high half.
//!
//! | request | macros | record |
//! |---|---|---|
//! | `HB`, `SEM_POST` | `ANNOTATE_HAPPENS_BEFORE`, `VALGRIND_HG_SEM_POST_PRE`, `ANNOTATE_SEM_POST_PRE` | as `AnnotateHappensBefore` |
//! | `HA`, `SEM_WAIT` | `ANNOTATE_HAPPENS_AFTER`, `VALGRIND_HG_SEM_WAIT_POST`, `ANNOTATE_SEM_WAIT_POST` | as `AnnotateHappensAfter` |
//! | `LOCKED`, `UNLOCKED` | `VALGRIND_HG_MUTEX_LOCK_POST`, `VALGRIND_HG_MUTEX_UNLOCK_PRE` | a lock is taken, released |
//! | `RW_LOCKED`, `RW_UNLOCKED` | `ANNOTATE_RWLOCK_ACQUIRED`, `ANNOTATE_RWLOCK_RELEASED` | as the functions of this name |
//! | `UNCHECKED`, `SUPPRESS` | `VALGRIND_HG_DISABLE_CHECKING`, `ANNOTATE_BENIGN_RACE_SIZED`, `DRD_IGNORE_VAR` | accesses to these bytes are atomic |
//! | `CHECKED`, `UNSUPPRESS` | `VALGRIND_HG_ENABLE_CHECKING`, `DRD_STOP_IGNORING_VAR` | the bytes are new memory |
//! | `CLEAN`, `MALLOCLIKE` | `VALGRIND_HG_CLEAN_MEMORY`, `ANNOTATE_NEW_MEMORY`, `VALGRIND_MALLOCLIKE_BLOCK` | the bytes are new memory |
//! | `LOADS`, `STORES`, `NAMED` | `ANNOTATE_IGNORE_READS_BEGIN` and the like | as the functions of this name |
//!
//! All other requests have their default result, as they have without Valgrind: a program does not
//! run on Valgrind.

use crate::annotations;
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Requests of every tool.
const MALLOCLIKE: usize = 0x1301;

/// Requests of Helgrind; DRD has some of the numbers for the same purpose.
mod helgrind {
    const TOOL: usize = tool(b'H', b'G');
    pub(super) const CLEAN: usize = TOOL;
    pub(super) const UNLOCKED: usize = TOOL + 0x105;
    pub(super) const LOCKED: usize = TOOL + 0x108;
    pub(super) const RW_LOCKED: usize = TOOL + 0x111;
    pub(super) const RW_UNLOCKED: usize = TOOL + 0x112;
    pub(super) const SEM_POST: usize = TOOL + 0x116;
    pub(super) const SEM_WAIT: usize = TOOL + 0x117;
    /// A macro that Helgrind does not implement; the argument is its name.
    pub(super) const NAMED: usize = TOOL + 0x120;
    pub(super) const HB: usize = TOOL + 0x121;
    pub(super) const HA: usize = TOOL + 0x122;
    pub(super) const UNCHECKED: usize = TOOL + 0x127;
    pub(super) const CHECKED: usize = TOOL + 0x128;

    pub(super) const fn tool(a: u8, b: u8) -> usize {
        (a as usize) << 24 | (b as usize) << 16
    }
}

/// Requests of DRD.
mod drd {
    const TOOL: usize = super::helgrind::tool(b'D', b'R');
    pub(super) const SUPPRESS: usize = TOOL + 2;
    pub(super) const UNSUPPRESS: usize = TOOL + 3;
    /// Whether loads of the thread are to be seen.
    pub(super) const LOADS: usize = TOOL + 6;
    pub(super) const STORES: usize = TOOL + 7;
    pub(super) const SEM_WAIT: usize = TOOL + 13;
    pub(super) const SEM_POST: usize = TOOL + 14;
}

/// Performs a request of the program at `pc`. Returns its result.
///
/// # Safety
/// `request` is the program's array of the number and five arguments.
unsafe extern "C" fn perform(request: *const usize, default: usize, pc: usize) -> usize {
    // SAFETY: the program's own array, perhaps not aligned.
    let argument = |i: usize| unsafe { request.add(i).read_unaligned() };
    let (a, b) = (argument(1), argument(2));
    // The headers store the number as an unsigned int.
    match argument(0) & 0xffff_ffff {
        helgrind::HB | helgrind::SEM_POST | drd::SEM_POST => annotations::release_at(a, pc),
        helgrind::HA | helgrind::SEM_WAIT | drd::SEM_WAIT => annotations::acquire_at(a, pc),
        helgrind::LOCKED => annotations::locked(a, false, false, pc),
        helgrind::RW_LOCKED => annotations::locked(a, b & 0xffff_ffff == 0, false, pc),
        helgrind::UNLOCKED | helgrind::RW_UNLOCKED => {
            annotations::unlocked(a, None, pc);
        }
        helgrind::UNCHECKED | drd::SUPPRESS => annotations::benign_at(a, b),
        helgrind::CHECKED | drd::UNSUPPRESS | helgrind::CLEAN | MALLOCLIKE => {
            annotations::new_memory(a, b, pc);
        }
        drd::LOADS => annotations::ignore(if a == 0 { 1 } else { -1 }, 0),
        drd::STORES => annotations::ignore(0, if a == 0 { 1 } else { -1 }),
        helgrind::NAMED if a != 0 => {
            // SAFETY: the name of a macro, a literal of the header.
            match unsafe { CStr::from_ptr(a as *const c_char) }.to_bytes() {
                b"ANNOTATE_IGNORE_READS_BEGIN" => annotations::ignore(1, 0),
                b"ANNOTATE_IGNORE_READS_END" => annotations::ignore(-1, 0),
                b"ANNOTATE_IGNORE_WRITES_BEGIN" => annotations::ignore(0, 1),
                b"ANNOTATE_IGNORE_WRITES_END" => annotations::ignore(0, -1),
                _ => {}
            }
        }
        _ => {}
    }
    default
}

/// Whether the processor and the system have `xsave`.
static XSAVE: AtomicBool = AtomicBool::new(false);

/// Prepares [`request_entry`].
pub(crate) fn start() {
    const OSXSAVE: u32 = 1 << 27;
    XSAVE.store(std::arch::x86_64::__cpuid(1).ecx & OSXSAVE != 0, Relaxed);
}

/// The function that a patched request calls: the array of the request is in `rax`, the default
/// result in `rdx`, where the result goes.
///
/// The compiler believes that a request changes no other register. So all are kept that a function
/// may change, with all parts of the vector registers: those that `xsave` calls 0, 1, 2, 5, 6 and
/// 7. The last one ends at byte 2688 of the area, whose header at byte 512 has to be zero.
#[unsafe(naked)]
pub(crate) extern "C" fn request_entry() {
    std::arch::naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push rax",
        "push rcx",
        "push rsi",
        "push rdi",
        "push r8",
        "push r9",
        "push r10",
        "push r11",
        "mov rdi, rax",
        "mov rsi, rdx",
        "sub rsp, 2688",
        "and rsp, -64",
        "cmp byte ptr [rip + {xsave}], 0",
        "je 2f",
        "xor edx, edx",
        "mov qword ptr [rsp + 512], rdx",
        "mov qword ptr [rsp + 520], rdx",
        "mov qword ptr [rsp + 528], rdx",
        "mov qword ptr [rsp + 536], rdx",
        "mov qword ptr [rsp + 544], rdx",
        "mov qword ptr [rsp + 552], rdx",
        "mov qword ptr [rsp + 560], rdx",
        "mov qword ptr [rsp + 568], rdx",
        "mov eax, 0xe7",
        "xsave64 [rsp]",
        "mov rdx, qword ptr [rbp + 8]",
        "call {perform}",
        "mov rsi, rax",
        "mov eax, 0xe7",
        "xor edx, edx",
        "xrstor64 [rsp]",
        "jmp 3f",
        "2:",
        "fxsave64 [rsp]",
        "mov rdx, qword ptr [rbp + 8]",
        "call {perform}",
        "mov rsi, rax",
        "fxrstor64 [rsp]",
        "3:",
        "mov rdx, rsi",
        "lea rsp, [rbp - 64]",
        "pop r11",
        "pop r10",
        "pop r9",
        "pop r8",
        "pop rdi",
        "pop rsi",
        "pop rcx",
        "pop rax",
        "pop rbp",
        "ret",
        xsave = sym XSAVE,
        perform = sym perform,
    )
}
