//! What was found, for programs and for people.
//!
//! [`json`] is the findings file (`foretell-findings/1`): its types, a reader that trusts nothing, the way
//! from a finding to the pattern that the independent checker takes, and the merging of parts. [`text`]
//! shows findings on a terminal: a headline in plain words and the witness as columns, one for each
//! thread.

pub mod json;
pub mod text;
