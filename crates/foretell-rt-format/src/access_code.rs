//! The access code: one byte that says what an access is.

/// Size and kind of a plain access, or the mark of a function entry, in one byte.
///
/// | bits | meaning |
/// |---:|---|
/// | 0–2 | binary logarithm of the size in bytes, 0 to 4 |
/// | 3 | the access writes |
/// | 4 | an access |
/// | 5 | the access is to a range, whose length is elsewhere (only of elided accesses) |
/// | 6 | a function entry; no other bit is set |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct AccessCode(u8);

const SIZE: u8 = 0b111;
const WRITE: u8 = 1 << 3;
const ACCESS: u8 = 1 << 4;
const RANGE: u8 = 1 << 5;

impl AccessCode {
    /// A function entry.
    pub const ENTRY: AccessCode = AccessCode(1 << 6);

    /// Returns the code of an access to `1 << log2` bytes.
    #[inline(always)]
    pub const fn access(log2: u32, write: bool) -> AccessCode {
        AccessCode(ACCESS | log2 as u8 & SIZE | (write as u8) << 3)
    }

    /// Returns the code of an access to `size` bytes, a power of two.
    pub const fn of_size(size: usize, write: bool) -> AccessCode {
        AccessCode::access(size.trailing_zeros(), write)
    }

    /// Returns the code of an access to a range.
    pub const fn range(write: bool) -> AccessCode {
        AccessCode(ACCESS | RANGE | (write as u8) << 3)
    }

    /// Returns the code with this byte, which need not be a valid one.
    #[inline(always)]
    pub const fn from_byte(byte: u8) -> AccessCode {
        AccessCode(byte)
    }

    /// The byte in the log.
    #[inline(always)]
    pub const fn byte(self) -> u8 {
        self.0
    }

    /// Number of bytes accessed.
    #[inline(always)]
    pub const fn size(self) -> usize {
        1 << (self.0 & SIZE)
    }

    /// Whether the access writes.
    #[inline(always)]
    pub const fn writes(self) -> bool {
        self.0 & WRITE != 0
    }

    /// Whether this is an access, not a function entry.
    #[inline(always)]
    pub const fn is_access(self) -> bool {
        self.0 & ACCESS != 0
    }

    /// Whether the access is to a range.
    pub const fn is_range(self) -> bool {
        self.0 & RANGE != 0
    }

    /// Whether a compact record can have this code: a function entry, or an access to at most
    /// eight bytes.
    pub(crate) const fn is_compact(self) -> bool {
        self.0 == AccessCode::ENTRY.0 || self.0 & !(WRITE | 0b11) == ACCESS
    }

    /// Number of bytes accessed, where the code is that of a compact record.
    #[inline(always)]
    pub(crate) const fn compact_size(self) -> usize {
        1 << (self.0 & 0b11)
    }

    /// The class of the compact record, see [`crate::wire::class_of`].
    #[inline(always)]
    pub(crate) const fn class(self) -> usize {
        if self.0 == AccessCode::ENTRY.0 {
            crate::wire::ENTRY_CLASS
        } else {
            (self.0 & 0b11) as usize
        }
    }
}
