//! A bounds-checked cursor over a chunk's bytes, and the writing of what it reads.

use foretell_varint::{self as varint, ReadError};

/// Description of an error in the bytes of a chunk; the reader adds chunk and offset.
pub(super) type Fault = &'static str;

/// Offset in the payload of one chunk.
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
        let byte = *self.data.get(self.at).ok_or(ReadError::Truncated.message())?;
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
        varint::read(self.data, &mut self.at).map_err(ReadError::message)
    }

    /// A number of at most 32 bits.
    #[inline]
    pub(super) fn varint32(&mut self) -> Result<u32, Fault> {
        u32::try_from(self.varint()?).map_err(|_| "has a number that is too large for its field")
    }

    /// A signed difference, to be added with wrap-around at 32 bits.
    #[inline]
    pub(super) fn delta(&mut self) -> Result<u32, Fault> {
        Ok(varint::unzigzag32(self.varint32()?))
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
pub(super) fn put_delta(out: &mut Vec<u8>, difference: u32) {
    varint::push(out, u64::from(varint::zigzag32(difference)));
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    varint::push(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

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
