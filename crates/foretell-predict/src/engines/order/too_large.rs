//! The limits on the size of an encoding.

/// More pairs of conflicting accesses than this are not encoded for one goal.
pub(super) const MOST_PAIRS: usize = 3_000_000;

/// Why an encoding cannot go on.
pub(crate) struct TooLarge(pub(crate) String);
