//! Findings as data, and their reports: text, HTML, SARIF, pictures.
//!
//! The modules are in layers; a module uses modules of its own layer that are listed before it,
//! and those of the layers above:
//!
//! | layer | modules |
//! |---|---|
//! | data | [`json`]: the findings file: types, reader, patterns for the checker, merging |
//! | source | `location`: locations and call stacks; `span`: the part of a line |
//! | | [`source`]: source files |
//! | witness | [`witness`]: events as text, values along a schedule, folding, dependencies |
//! | finding | [`identity`]: fingerprints; [`baseline`] and [`suppress`]: hidden findings |
//! | | `replay`: outcomes of replays; [`cause`]: findings with one cause; `headline` and `notes`: a finding in words |
//! | | [`kept_by_order`]: findings that only kept order makes impossible |
//! | | [`observed`]: the failure of the recorded run itself |
//! | renderer | [`text`]: the terminal; [`explain`]: texts about each kind; [`html`]; [`sarif`] |
//! | | [`junit`]: JUnit XML; [`perfetto`]: Chrome trace; [`graph`]: DOT and SVG |

pub mod baseline;
pub mod cause;
pub mod explain;
pub mod graph;
mod hang;
mod headline;
pub mod html;
pub mod identity;
pub mod json;
pub mod junit;
pub mod kept_by_order;
mod lifetime;
mod location;
mod notes;
pub mod observed;
pub mod perfetto;
mod replay;
pub mod sarif;
mod soundness;
pub mod source;
mod span;
pub mod suppress;
pub mod text;
mod weak_link;
pub mod witness;
