//! Variable-length integers of the trace file, the runtime's log, the step columns and the Java
//! agent's log.
//!
//! An unsigned number is LEB128: seven bits to a byte, lowest first, bit 7 set in all bytes but the
//! last. A signed number is first made unsigned by [`zigzag`], which keeps small numbers of either
//! sign small.
//!
//! | bytes | largest number |
//! |---|---|
//! | 1 | 2⁷ − 1 |
//! | 2 | 2¹⁴ − 1 |
//! | 8 | 2⁵⁶ − 1 |
//! | 10 | 2⁶⁴ − 1 |
//!
//! [`read`] and [`push`] are made for columns in which most numbers take one byte. [`read_wide`]
//! and [`write()`] are made for addresses and code locations: they handle eight bytes at once, in a
//! time that does not depend on the length of a number below 2⁵⁶. Both pairs have one byte layout.
//!
//! No dependencies: the runtime is linked into the programs that it records.

use std::fmt;

/// Reason why there is no number at an offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadError {
    /// The bytes end before the number does.
    Truncated,
    /// The number takes more than 64 bits.
    TooLarge,
}

impl ReadError {
    /// Description of the error, to follow a name of the bytes.
    pub const fn message(self) -> &'static str {
        match self {
            ReadError::Truncated => "ends in the middle of a number",
            ReadError::TooLarge => "has a number of more than 64 bits",
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for ReadError {}

/// Bit 7 of each of eight bytes: the number continues.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// Number of bytes that `number` takes, if it is below 2⁵⁶.
#[inline(always)]
fn len_below_56_bits(number: u64) -> usize {
    (70 - (number | 1).leading_zeros() as usize) / 7
}

/// Appends a number.
#[inline]
pub fn push(out: &mut Vec<u8>, number: u64) {
    if number < 0x80 {
        out.push(number as u8);
    } else {
        push_long(out, number);
    }
}

fn push_long(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes a number to the start of `out` and returns how many bytes it takes.
///
/// Bytes for which `out` is too short are cut off and not counted. Bytes behind the number may be
/// overwritten, up to eight from the start.
#[inline]
pub fn write(out: &mut [u8], mut number: u64) -> usize {
    if number < 1 << 56
        && let Some(room) = out.first_chunk_mut::<8>()
    {
        let len = len_below_56_bits(number);
        let continues = CONTINUES & ((1u64 << (8 * len - 8)) - 1);
        *room = (spread(number) | continues).to_le_bytes();
        return len;
    }
    for (i, byte) in out.iter_mut().enumerate() {
        if number < 0x80 {
            *byte = number as u8;
            return i + 1;
        }
        *byte = number as u8 | 0x80;
        number >>= 7;
    }
    out.len()
}

/// Reads the number at `at` and moves `at` behind it.
///
/// # Errors
/// If the bytes end in the number, or it takes more than 64 bits.
#[inline]
pub fn read(bytes: &[u8], at: &mut usize) -> Result<u64, ReadError> {
    let first = *bytes.get(*at).ok_or(ReadError::Truncated)?;
    *at += 1;
    if first < 0x80 { Ok(u64::from(first)) } else { read_rest(bytes, at, first) }
}

/// Reads the number at `at` as [`read`] does, in a time that does not depend on its length.
///
/// # Errors
/// If the bytes end in the number, or it takes more than 64 bits.
#[inline]
pub fn read_wide(bytes: &[u8], at: &mut usize) -> Result<u64, ReadError> {
    if let Some(ahead) = bytes.get(*at..).and_then(<[u8]>::first_chunk::<8>) {
        let ahead = u64::from_le_bytes(*ahead);
        let ends = !ahead & CONTINUES;
        if ends != 0 {
            *at += ends.trailing_zeros() as usize / 8 + 1;
            return Ok(gather(ahead & (ends ^ (ends - 1))));
        }
    }
    read(bytes, at)
}

/// Reads the bytes of a number after its first one.
fn read_rest(bytes: &[u8], at: &mut usize, first: u8) -> Result<u64, ReadError> {
    let mut number = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let &byte = bytes.get(*at).ok_or(ReadError::Truncated)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            break;
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(ReadError::TooLarge)
}

/// Maps 0, −1, 1, −2, … to 0, 1, 2, 3, …
#[inline]
pub fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Inverse of [`zigzag`].
#[inline]
pub fn unzigzag(number: u64) -> i64 {
    ((number >> 1) ^ (number & 1).wrapping_neg()) as i64
}

/// Maps a wrapping difference of 32 bits, read as signed, as [`zigzag`] does.
#[inline]
pub fn zigzag32(difference: u32) -> u32 {
    let signed = difference as i32;
    ((signed << 1) ^ (signed >> 31)) as u32
}

/// Inverse of [`zigzag32`].
#[inline]
pub fn unzigzag32(number: u32) -> u32 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Spreads a number below 2⁵⁶ over eight bytes, seven bits to each.
#[inline(always)]
fn spread(v: u64) -> u64 {
    let v = (v & 0x0fff_ffff) | (v & 0x00ff_ffff_f000_0000) << 4;
    let v = (v & 0x0000_3fff_0000_3fff) | (v & 0x0fff_c000_0fff_c000) << 2;
    (v & 0x007f_007f_007f_007f) | (v & 0x3f80_3f80_3f80_3f80) << 1
}

/// Inverse of [`spread`]; bit 7 of each byte is left out.
#[inline(always)]
fn gather(v: u64) -> u64 {
    let v = v & !CONTINUES;
    let v = (v & 0x007f_007f_007f_007f) | (v >> 1 & 0x3f80_3f80_3f80_3f80);
    let v = (v & 0x0000_3fff_0000_3fff) | (v >> 2 & 0x0fff_c000_0fff_c000);
    (v & 0x0fff_ffff) | (v >> 4 & 0x00ff_ffff_f000_0000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges() -> impl Iterator<Item = u64> {
        let edges =
            (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1, u64::MAX >> bit]);
        edges.chain([0x0123_4567_89ab_cdef])
    }

    #[test]
    fn pushed_numbers_are_read_back() {
        for number in edges() {
            let mut out = Vec::new();
            push(&mut out, number);
            for behind in [&[][..], &[0; 8], &[0xff; 8]] {
                let bytes = [&out, behind].concat();
                for reader in [read, read_wide] {
                    let mut at = 0;
                    assert_eq!((reader(&bytes, &mut at), at), (Ok(number), out.len()));
                }
            }
            for reader in [read, read_wide] {
                let short = &out[..out.len() - 1];
                assert_eq!(reader(short, &mut 0), Err(ReadError::Truncated));
            }
        }
    }

    #[test]
    fn written_numbers_are_those_pushed_cut_to_the_room() {
        for number in edges() {
            let mut whole = Vec::new();
            push(&mut whole, number);
            for room in 0..24 {
                let mut out = vec![0xff; room];
                let len = write(&mut out, number);
                assert_eq!(len, whole.len().min(room), "{number} in {room}");
                assert_eq!(out[..len], whole[..len], "{number} in {room}");
            }
        }
    }

    #[test]
    fn numbers_over_64_bits_are_refused() {
        let over = [[0xff; 9].as_slice(), &[0x02]].concat();
        for reader in [read, read_wide] {
            assert_eq!(reader(&over, &mut 0), Err(ReadError::TooLarge));
            assert_eq!(reader(&[0xff; 20], &mut 0), Err(ReadError::TooLarge));
        }
    }

    #[test]
    fn zigzag_has_an_inverse_and_keeps_small_numbers_small() {
        for number in edges() {
            assert_eq!(unzigzag(zigzag(number as i64)), number as i64);
            assert_eq!(unzigzag32(zigzag32(number as u32)), number as u32);
        }
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
        assert_eq!([0, -1, 1, -2].map(|d| zigzag32(d as u32)), [0, 1, 2, 3]);
    }
}
