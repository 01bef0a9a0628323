//! Builds programs for recording.
//!
//! [`compile`] is the compiler driver behind `foretell cc` and `foretell c++`: it runs the user's
//! compiler with ThreadSanitizer's instrumentation and links the Foretell runtime in place of
//! libtsan. For symbolic recording, [`symbolic`] rewrites the LLVM IR of each source file.
//! [`runtime`] locates the runtime's libraries.

mod driver;
mod error;
pub mod runtime;
pub mod symbolic;

pub use driver::{Language, compile, shell_status};
pub use error::Error;
