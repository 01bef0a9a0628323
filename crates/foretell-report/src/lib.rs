//! What was found, for programs and for people.
//!
//! [`json`] is the findings file (`foretell-findings/1`): its types, a reader that trusts nothing, the way
//! from a finding to the pattern that the independent checker takes, and the merging of parts. [`text`]
//! shows findings on a terminal: a headline in plain words and the witness as columns, one for each
//! thread. [`suppress`] and [`baseline`] say which findings not to show, and [`identity`] which findings of
//! two runs are the same bug; [`source`] finds the files that places name. [`sarif`] writes findings
//! for code scanning, [`html`] as a page to look at and step through,
//! [`perfetto`] as a Chrome trace and [`graph`] as DOT and SVG; and [`explain`] tells what each kind is.

pub mod baseline;
pub mod explain;
pub mod graph;
pub mod headline;
pub mod html;
pub mod identity;
pub mod json;
pub mod perfetto;
pub mod place;
mod relations;
pub mod replay;
pub mod sarif;
pub mod source;
mod span;
pub mod suppress;
pub mod text;
