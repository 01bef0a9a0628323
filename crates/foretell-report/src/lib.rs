//! What was found, for programs and for people.
//!
//! [`json`] is the findings file (`foretell-findings/1`): its types, a reader that trusts nothing, the way
//! from a finding to the pattern that the independent checker takes, and the merging of parts. [`text`]
//! shows findings on a terminal: a headline in plain words and the witness as columns, one for each
//! thread. [`suppress`] and [`baseline`] say which findings not to show, and [`identity`] which findings of
//! two runs are the same bug; [`source`] finds the files that places name.

pub mod baseline;
pub mod identity;
pub mod json;
pub mod place;
pub mod source;
pub mod suppress;
pub mod text;
