//! Builds programs for recording.
//!
//! [`compile`] is the compiler driver behind `foretell cc` and `foretell c++`: it runs the user's
//! compiler with ThreadSanitizer's instrumentation and links the Foretell runtime in place of
//! libtsan. For symbolic recording, [`symbolic`] rewrites the LLVM IR of each source file.
//! [`runtime`] has the runtime's libraries.
//!
//! | module | content |
//! |---|---|
//! | `driver` | entry point: a build for recording, or for symbolic recording |
//! | `request` | purpose of a command line: sources, linking, options that matter |
//! | `compiler` | choice of the compiler, differences between gcc and clang |
//! | `headers` | headers that are found before those of the C++ library |
//! | `instrument` | arguments for instrumentation and for the runtime |
//! | `link` | the linker's wrapper: stubs of functions that are not recorded |
//! | [`runtime`] | the runtime's libraries |
//! | [`rust`] | Rust programs: the instrumented standard library, the compiler's wrapper |
//! | `cache` | embedded files, unpacked |
//! | `child` | processes that end with this one |
//! | `scratch` | directories for the files of one job |
//! | [`symbolic`] | LLVM IR: reading it, putting hooks into it |

mod cache;
mod child;
mod compiler;
mod driver;
mod error;
mod headers;
mod instrument;
mod link;
mod request;
pub mod runtime;
pub mod rust;
mod scratch;
pub mod symbolic;

pub use child::status;
pub use compiler::Language;
pub use driver::{compile, shell_status};
pub use error::Error;
pub use scratch::ScratchDirectory;
