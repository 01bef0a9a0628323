//! The reason to stop before a formula is complete.

use crate::query::Limit;

/// Why a formula was not written to its end.
pub(super) struct CutShort(pub(super) String);

/// Returns an error if the limit is reached.
pub(super) fn check(limit: &Limit<'_>) -> Result<(), CutShort> {
    limit.reached().map_or(Ok(()), |reason| Err(CutShort(reason.to_owned())))
}
