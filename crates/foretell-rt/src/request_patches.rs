//! Patches of recorded modules: Valgrind's client requests become calls of the runtime.
//!
//! A request is a sequence of 19 bytes on x86-64, whatever compiler and copy of the headers made
//! it:
//!
//! ```text
//! 48 c1 c7 03   rol rdi, 3          48 8d 64 24 80            lea rsp, [rsp - 128]
//! 48 c1 c7 0d   rol rdi, 13         e8 .. .. .. ..            call stub
//! 48 c1 c7 3d   rol rdi, 61   ──▶   48 8d a4 24 80 00 00 00   lea rsp, [rsp + 128]
//! 48 c1 c7 33   rol rdi, 51         90                        nop
//! 48 87 db      xchg rbx, rbx
//! ```
//!
//! The four rotations leave `rdi` as it was. Other last instructions (`xchg rcx, rcx` and the like)
//! belong to requests that only Valgrind makes itself, and stay. The compiler knows of no call
//! there, so that it may use the 128 bytes below the stack pointer.
//!
//! The stub is [`request_entry`] itself where the call reaches it, or a jump to it on a page that
//! is mapped near the module. Modules that call no hook are not recorded; they stay as they are.

use crate::arena;
use crate::client_requests::{self, request_entry};
use crate::sys::{call, say};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The sequence of a request from its last byte to its first: the runtime may be part of the module
/// that is searched, and must not find its own table.
static REVERSED: [u8; LEN] = [
    0xdb, 0x87, 0x48, 0x33, 0xc7, 0xc1, 0x48, 0x3d, 0xc7, 0xc1, 0x48, 0x0d, 0xc7, 0xc1, 0x48, 0x03,
    0xc7, 0xc1, 0x48,
];
const LEN: usize = 19;
const PAGE: usize = 4096;
/// Distance that a call surely reaches.
const REACH: usize = 0x7000_0000;
/// Distance between two places that are tried for a stub.
const STRIDE: usize = 1 << 20;

/// Returns the start of the first request in `code` at or behind `from` (Horspool's search).
fn find(code: &[u8], from: usize, skips: &[u8; 256]) -> Option<usize> {
    let mut at = from;
    while let Some(window) = code.get(at..at + LEN) {
        if window.iter().rev().eq(&REVERSED) {
            return Some(at);
        }
        at += usize::from(skips[usize::from(window[LEN - 1])]);
    }
    None
}

/// Returns the distance by which a window moves on, for each last byte of it.
fn skips() -> [u8; 256] {
    let mut skips = [LEN as u8; 256];
    for (i, &byte) in REVERSED.iter().enumerate().skip(1).rev() {
        skips[usize::from(byte)] = i as u8;
    }
    skips
}

/// Returns the code that replaces a request at the address `at`.
fn patch(at: usize, stub: usize) -> [u8; LEN] {
    let mut code = [
        0x48, 0x8d, 0x64, 0x24, 0x80, // lea rsp, [rsp - 128]
        0xe8, 0, 0, 0, 0, // call
        0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0,    // lea rsp, [rsp + 128]
        0x90, // nop
    ];
    let distance = stub.wrapping_sub(at + 10) as u32;
    code[6..10].copy_from_slice(&distance.to_le_bytes());
    code
}

/// Patches the requests in a recorded module: `path` is for messages, `module` its addresses,
/// `code` its executable segments.
///
/// # Safety
/// The segments are mapped, and no thread is in their code.
pub(crate) unsafe fn apply(path: &[u8], module: (usize, usize), code: &[(usize, usize)]) {
    let skips = skips();
    let mut stub = None;
    for &(start, end) in code {
        let (mut at, mut opened) = (0, false);
        loop {
            // SAFETY: promised by the caller; the slice is gone before the code changes.
            let text = unsafe { std::slice::from_raw_parts(start as *const u8, end - start) };
            let Some(found) = find(text, at, &skips) else { break };
            if stub.is_none() {
                stub = stub_near(module);
            }
            opened = opened || protect(start, end, libc::PROT_WRITE);
            let (Some(stub), true) = (stub, opened) else {
                static SAID: AtomicBool = AtomicBool::new(false);
                if !SAID.swap(true, Relaxed) {
                    let path = String::from_utf8_lossy(path);
                    say!(
                        "Valgrind's client requests in {path} cannot be seen: no access to its code"
                    );
                }
                return;
            };
            let code = patch(start + found, stub);
            // SAFETY: the pages are writable now.
            unsafe { (start as *mut u8).add(found).copy_from_nonoverlapping(code.as_ptr(), LEN) };
            at = found + LEN;
        }
        if opened {
            protect(start, end, 0);
        }
    }
}

/// Sets the protection of code: it can be read and executed, and `more`. Returns whether that is so
/// now.
fn protect(start: usize, end: usize, more: i32) -> bool {
    let first = start & !(PAGE - 1);
    let prot = (libc::PROT_READ | libc::PROT_EXEC | more) as usize;
    // SAFETY: the pages are code of a module, which stays readable and executable.
    unsafe { call(libc::SYS_mprotect, [first, end - first, prot, 0, 0, 0]) == 0 }
}

/// Returns the address of a stub that every call in the module reaches.
fn stub_near((start, end): (usize, usize)) -> Option<usize> {
    client_requests::start();
    let entry = request_entry as *const () as usize;
    let reaches = |to: usize| start.abs_diff(to).max(end.abs_diff(to)) < REACH;
    if reaches(entry) {
        return Some(entry);
    }
    // Below the module: the heap may begin behind a program.
    let mut at = start & !(PAGE - 1);
    loop {
        at = at
            .checked_sub(STRIDE.min(at / 2) & !(PAGE - 1))
            .filter(|&low| reaches(low) && low < at)?;
        if map_at(at) {
            break;
        }
    }
    arena::claim(at as *const u8, PAGE);
    // jmp [rip]; the address follows.
    let mut code = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    code[6..].copy_from_slice(&entry.to_le_bytes());
    // SAFETY: the page is new, and this is all that is on it.
    unsafe { (at as *mut u8).copy_from_nonoverlapping(code.as_ptr(), code.len()) };
    protect(at, at + PAGE, 0).then_some(at)
}

/// Maps a page at an address. Returns whether it was free.
fn map_at(at: usize) -> bool {
    let prot = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as usize;
    // SAFETY: the mapping replaces nothing. A system that does not know the flag takes the address
    // as a hint.
    unsafe {
        let p = call(libc::SYS_mmap, [at, PAGE, prot, flags, usize::MAX, 0]);
        if p > 0 && p as usize != at {
            call(libc::SYS_munmap, [p as usize, PAGE, 0, 0, 0, 0]);
        }
        p as usize == at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_found() {
        let request: Vec<u8> = REVERSED.iter().rev().copied().collect();
        let mut other = request.clone();
        other[LEN - 1] = 0xc9; // xchg rcx, rcx
        let mut code = vec![0x48; 33];
        let mut starts = Vec::new();
        for gap in 0..40 {
            code.extend(&other);
            code.extend((0..gap).map(|i| request[i % 7]));
            starts.push(code.len());
            code.extend(&request);
        }
        let (skips, mut at, mut found) = (skips(), 0, Vec::new());
        while let Some(start) = find(&code, at, &skips) {
            found.push(start);
            at = start + LEN;
        }
        assert_eq!(found, starts);
        assert_eq!(find(&request[..LEN - 1], 0, &skips), None);
    }

    #[test]
    fn a_call_goes_to_its_stub_in_both_directions() {
        for (at, stub) in [(0x40_0000_usize, 0x30_0000_usize), (0x1000, 0x5000_0000)] {
            let code = patch(at, stub);
            let distance = i32::from_le_bytes([code[6], code[7], code[8], code[9]]);
            assert_eq!((at + 10).wrapping_add_signed(distance as isize), stub);
        }
    }
}
