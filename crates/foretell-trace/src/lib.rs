//! Traces of multi-threaded programs: events, formats, legality, statistics.
//!
//! A [`Trace`] is a finite sequence of events in the total order in which they were observed. Each
//! event has a thread, an [`Op`], the object it works on, and optionally a value, a place in the
//! source and a symbolic expression. The meaning of every operation is given by the table on
//! [`Op`].
//!
//! Traces are built with a [`TraceBuilder`] and read back either one decoded [`Event`] at a time
//! or, where speed matters, column by column ([`Trace::op`], [`Trace::thread`], …).

pub mod binary;
mod builder;
pub mod compress;
mod conflict;
mod event;
pub mod expr;
mod failure;
mod finding_kind;
mod ids;
pub mod io;
pub mod legality;
mod memory_order;
mod model;
mod names;
mod output_file;
mod pages;
mod properties;
pub mod stats;
pub mod text;
mod trace;
mod value;

pub use builder::TraceBuilder;
pub use conflict::{
    common_variables, conflict, is_visible_access, visible_variable, visible_variables,
};
pub use event::{Event, EventKind, ObjectKind, Op};
pub use failure::{FailureKind, RunFailure};
pub use finding_kind::{
    FindingForm, FindingKind, NondeterminismForm, RaceForm, UnknownFindingKind,
};
pub use ids::{
    BarrierId, CondId, EventId, ExprId, LabelId, LockId, MemBlockId, RegId, SemId, SiteId,
    ThreadId, ValueId, VarId,
};
pub use memory_order::MemoryOrder;
pub use model::Model;
pub use names::Names;
pub use output_file::{OutputFile, is_stream};
pub use properties::{FREES, INSIDE, INTERNAL, VALUE_FORMAT};
pub use trace::{Register, Site, Trace};
pub use value::{Value, Values};
