//! Views of a witness that the renderers share.
//!
//! `event` is one event as text, `values` the values along the schedule, `fold` the rows of a
//! long witness that are shown, `relations` the dependencies between the steps. None of them
//! knows how a finding is rendered.

pub(crate) mod event;
pub(crate) mod fold;
pub(crate) mod relations;
pub(crate) mod values;

pub use values::add_values;
