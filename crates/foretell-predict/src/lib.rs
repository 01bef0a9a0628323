//! Prediction: which of the bugs of semantics section 3 are possible in another interleaving of the
//! events of a trace?
//!
//! An analysis ([`analyses`]) enumerates candidates, filters ([`filters`]) drop what is cheaply
//! seen to be impossible, an engine ([`engines`]) decides the rest, the witness is shortened
//! ([`witness`]) and put to the independent checker, and the driver ([`driver`]) does all that in
//! parallel.
//!
//! ```
//! use foretell_predict::driver::{Options, predict};
//! use foretell_trace::{Model, text};
//!
//! let lines = b"T1|w(x)|a.c:1\nT1|acq(l)\nT1|rel(l)\nT2|acq(l)\nT2|rel(l)\nT2|w(x)|b.c:2";
//! let trace = text::parse(lines)?.trace;
//! let prediction = predict(&trace, Model::auto(&trace), &Options::default()).unwrap();
//! assert_eq!(prediction.findings[0].schedule.len(), 4); // T2 first, then both writes
//! # Ok::<(), foretell_trace::text::TextError>(())
//! ```

pub mod analyses;
mod counts;
pub mod driver;
pub mod engine;
pub mod engines;
pub mod filters;
pub mod finding;
mod graph_counts;
mod groups;
pub mod query;
mod reachability;
mod simplify;
mod stuck;
pub mod witness;
