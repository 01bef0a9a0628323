//! Symbolic traces of C programs.
//!
//! A value trace says what every read saw. A symbolic trace says what would have come of other values: which expression a
//! write stores, which condition a branch tested, which address an access had. The recipe:
//!
//! 1. `foretell cc --symbolic` ([`build`]) compiles with clang to textual LLVM IR, instrumented by ThreadSanitizer's pass, and puts hooks
//!    into the text ([`rewrite`]). The text itself goes into a section of the object file.
//! 2. The program runs as always; the hooks note path and values in the same log as the accesses.
//! 3. The rebuild ([`rebuild`]) walks along that path with the text ([`ir`]) and computes expressions ([`term`]), through private
//!    memory ([`memory`]) and calls.
//!
//! This is the concrete trace program of *symbolic predictive analysis of concurrent programs* (CTP), of a real program.
//! What the rebuild does not understand is taken as it was recorded, under the condition that what it was computed from is what it
//! was: that condition is in the trace. Everything computed is compared to what was recorded.

mod library;
mod memory;
mod program;
mod rebuild;
mod term;

pub(crate) use rebuild::Rebuild;
pub use rebuild::Symbolic;
