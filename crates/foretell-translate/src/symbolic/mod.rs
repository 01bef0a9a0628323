//! Symbolic traces of C programs.
//!
//! A value trace has the value of every read. A symbolic trace also has the effect of other values:
//! the expression that a write stores, the condition of a branch, the address of an access.
//!
//! 1. `foretell cc --symbolic` (`foretell_build::symbolic`) compiles with clang to textual LLVM IR,
//!    instrumented by ThreadSanitizer's pass, and puts hooks into the text. The text itself goes
//!    into a section of the object file.
//! 2. The hooks record the path and the values in the log, between the accesses.
//! 3. The rebuild ([`rebuild`]) walks along that path with the text ([`program`]) and computes
//!    expressions ([`term`]), through thread-private memory ([`memory`]) and calls ([`library`]).
//!
//! The result is the concrete trace program (CTP) of *Symbolic predictive analysis for concurrent
//! programs*, of a real program. A value that the rebuild does not understand is the recorded one,
//! under the condition that the values it was computed from are the recorded ones; that condition
//! is in the trace. Every computed value is compared with the recorded one.

mod library;
mod memory;
mod program;
mod rebuild;
mod term;

pub(crate) use rebuild::Rebuild;
pub use rebuild::Symbolic;
