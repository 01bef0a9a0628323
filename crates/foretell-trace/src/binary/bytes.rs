//! Variable-length integers, and a bounds-checked way through a chunk's bytes.

/// What is wrong with the bytes at hand, in words; the reader adds chunk and offset.
pub(super) type Fault = &'static str;

const SHORT: Fault = "ends in the middle of a number";

/// A place in the payload of one chunk.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Cursor { data, at: 0 }
    }

    pub(super) fn remaining(&self) -> usize {
        self.data.len() - self.at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        let byte = *self.data.get(self.at).ok_or(SHORT)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next `n` bytes.
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8], Fault> {
        let bytes = self
            .data
            .get(self.at..)
            .and_then(|rest| rest.get(..n))
            .ok_or("is shorter than the counts in it say")?;
        self.at += n;
        Ok(bytes)
    }

    /// An unsigned LEB128 number of at most 64 bits.
    #[inline]
    pub(super) fn varint(&mut self) -> Result<u64, Fault> {
        let first = self.byte()?;
        if first < 0x80 { Ok(u64::from(first)) } else { self.long_varint(first) }
    }

    fn long_varint(&mut self, first: u8) -> Result<u64, Fault> {
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("has a number of more than 64 bits")
    }

    /// A number of at most 32 bits.
    #[inline]
    pub(super) fn varint32(&mut self) -> Result<u32, Fault> {
        u32::try_from(self.varint()?).map_err(|_| "has a number that is too large for its place")
    }

    /// A signed difference, to be added with wrap-around at 32 bits.
    #[inline]
    pub(super) fn delta(&mut self) -> Result<u32, Fault> {
        Ok(unzigzag32(self.varint32()?))
    }

    /// A count of things that take at least `each` bytes: never more than the bytes present.
    pub(super) fn count(&mut self, each: usize) -> Result<usize, Fault> {
        let count = self.varint()?;
        if count > (self.remaining() / each) as u64 {
            return Err("is shorter than the counts in it say");
        }
        Ok(count as usize)
    }

    /// Text: its length, then UTF-8.
    pub(super) fn text(&mut self) -> Result<&'a str, Fault> {
        let len = self.count(1)?;
        std::str::from_utf8(self.take(len)?).map_err(|_| "has text that is not UTF-8")
    }
}

#[inline]
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[inline]
pub(super) fn put_delta(out: &mut Vec<u8>, difference: u32) {
    put_varint(out, u64::from(zigzag32(difference)));
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Small differences of either sign as small numbers: 0, −1, 1, −2, … become 0, 1, 2, 3, …
#[inline]
pub(super) fn zigzag32(difference: u32) -> u32 {
    let d = difference as i32;
    ((d << 1) ^ (d >> 31)) as u32
}

#[inline]
pub(super) fn unzigzag32(number: u32) -> u32 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

pub(super) fn zigzag64(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

pub(super) fn unzigzag64(number: u64) -> i64 {
    ((number >> 1) ^ (number & 1).wrapping_neg()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put_varint(&mut out, number);
                assert_eq!(Cursor::new(&out).varint(), Ok(number));
                assert_eq!(unzigzag64(zigzag64(number as i64)), number as i64);
                assert_eq!(unzigzag32(zigzag32(number as u32)), number as u32);
                assert!(Cursor::new(&out[..out.len() - 1]).varint().is_err());
            }
        }
        assert_eq!([0, -1, 1, -2].map(|d| zigzag32(d as u32)), [0, 1, 2, 3]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let mut over = vec![0xff; 9];
        over.push(0x02);
        assert!(Cursor::new(&over).varint().is_err());
        assert!(Cursor::new(&[0xff; 20]).varint().is_err());
        assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x1f]).varint32().is_err());
        assert!(Cursor::new(&[5, 0, 0]).count(1).is_err());
        assert!(Cursor::new(&[2, 0xff, 0xff]).text().is_err());
    }
}
