//! Arguments of `printf` and its like: the texts that are printed, and the length of the result.
//!
//! A format is read as the C library reads it. Formats with numbered arguments (`%1$s`), which
//! programs hardly use with threads, are not followed.

use crate::strings::whole;
use std::ffi::{c_char, c_int};

/// The arguments of a function with a variable number of them: `va_list` of the x86-64 ABI.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ArgumentList {
    integers_at: u32,
    vectors_at: u32,
    stack: usize,
    saved: usize,
}

/// Registers with arguments, as a function with a variable number of arguments saves them: six
/// integers and eight vectors.
pub(crate) type SavedRegisters = [usize; 22];

/// End of the integers, and of the vectors, in the saved registers.
const INTEGERS_END: u32 = 48;
const VECTORS_END: u32 = 176;

impl ArgumentList {
    /// Returns the arguments after the first `fixed` ones, which are integers.
    pub(crate) fn after(fixed: usize, saved: &SavedRegisters, stack: usize) -> ArgumentList {
        let integers_at = 8 * fixed.min(6) as u32;
        ArgumentList {
            integers_at,
            vectors_at: INTEGERS_END,
            stack,
            saved: saved.as_ptr() as usize,
        }
    }

    fn on_stack(&mut self) -> usize {
        let at = self.stack;
        self.stack += 8;
        at
    }

    /// Returns the next integer or address.
    unsafe fn integer(&mut self) -> usize {
        let at = if self.integers_at < INTEGERS_END {
            self.integers_at += 8;
            self.saved + self.integers_at as usize - 8
        } else {
            self.on_stack()
        };
        // SAFETY: the format says that there is such an argument.
        unsafe { (at as *const usize).read() }
    }

    /// Passes over a floating-point number.
    fn skip_number(&mut self, long: bool) {
        if long {
            self.stack = self.stack.next_multiple_of(16) + 16;
        } else if self.vectors_at < VECTORS_END {
            self.vectors_at += 16;
        } else {
            self.on_stack();
        }
    }
}

unsafe extern "C" {
    fn vsnprintf(
        to: *mut c_char,
        room: usize,
        format: *const c_char,
        list: *mut ArgumentList,
    ) -> c_int;
}

/// Returns the number of bytes that a format makes of its arguments, without the final zero.
///
/// # Safety
/// The arguments are as the format says.
pub(crate) unsafe fn length(format: usize, mut list: ArgumentList) -> usize {
    // SAFETY: promised by the caller; nothing is written.
    let n = unsafe { vsnprintf(std::ptr::null_mut(), 0, format as *const c_char, &raw mut list) };
    usize::try_from(n).unwrap_or(0)
}

/// Returns address and length of every text that a format prints.
///
/// # Safety
/// The arguments are as the format says.
pub(crate) unsafe fn texts(format: usize, mut list: ArgumentList) -> Vec<(usize, usize)> {
    const ALL: usize = usize::MAX / 2;
    let mut out = Vec::new();
    let mut at = format;
    let mut next = || {
        // SAFETY: not past the final zero: every caller stops there.
        let byte = unsafe { (at as *const u8).read() };
        at += usize::from(byte != 0);
        byte
    };
    loop {
        match next() {
            0 => return out,
            b'%' => {}
            _ => continue,
        }
        let (mut most, mut precision) = (ALL, false);
        let (mut long, mut wide) = (false, false);
        let conversion = loop {
            match next() {
                b'*' => {
                    // SAFETY: promised by the caller.
                    let n = unsafe { list.integer() } as c_int;
                    if precision {
                        most = usize::try_from(n).unwrap_or(ALL);
                    }
                }
                digit @ b'0'..=b'9' if precision => {
                    most = most.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
                }
                b'.' => (precision, most) = (true, 0),
                b'L' => long = true,
                b'l' => wide = true,
                b'$' => return out,
                b'0'..=b'9'
                | b'-'
                | b'+'
                | b' '
                | b'#'
                | b'\''
                | b'I'
                | b'h'
                | b'q'
                | b'j'
                | b'z'
                | b't' => {}
                other => break other,
            }
        };
        match conversion {
            b'%' | b'm' => {}
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' | b'C' | b'p' | b'n' | b'S' => {
                // SAFETY: promised by the caller.
                unsafe { list.integer() };
            }
            b'e' | b'E' | b'f' | b'F' | b'g' | b'G' | b'a' | b'A' => list.skip_number(long),
            b's' => {
                // SAFETY: promised by the caller; the text is read up to its zero or its limit.
                unsafe {
                    let text = list.integer();
                    if !wide && text != 0 && most > 0 {
                        out.push((text, whole(text, most)));
                    }
                }
            }
            _ => return out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_among_registers_and_stack() {
        let text = c"abc".as_ptr() as usize;
        let mut saved: SavedRegisters = [0; 22];
        (saved[2], saved[3], saved[4]) = (text, 2, text);
        let stack = [text; 8];
        let list = ArgumentList::after(1, &saved, stack.as_ptr() as usize);
        let format = c"%d %s %f %.*s %5ld%% %-4s %Lg %.2s %S";
        // SAFETY: the arguments are as the format says.
        let texts = unsafe { texts(format.as_ptr() as usize, list) };
        assert_eq!(texts, [(text, 4), (text, 2), (text, 4), (text, 2)]);
    }

    #[test]
    fn numbered_arguments_are_not_followed() {
        let saved: SavedRegisters = [0; 22];
        let list = ArgumentList::after(1, &saved, 0);
        // SAFETY: nothing is read.
        assert!(unsafe { texts(c"%1$s".as_ptr() as usize, list) }.is_empty());
    }
}
