//! Patterns that cannot be encoded.

/// Why an encoding cannot go on.
pub(crate) struct TooLarge(pub(crate) String);
