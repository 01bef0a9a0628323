//! Building Rust programs for recording with the user's own stable toolchain.
//!
//! [`Sysroot`] is a standard library that is built once for each toolchain: its sources, with the
//! edits of `patch`, compiled with ThreadSanitizer's instrumentation. [`Wrapper`]
//! stands between cargo and rustc: crates for the target are instrumented and use that library;
//! build scripts and procedural macros, which run on the host, stay as they are.
//!
//! | module | content |
//! |---|---|
//! | `toolchain` | the user's toolchain: version, host, sources of the standard library |
//! | `patch` | edits of the standard library and of crates, from `rust/edits.txt` and `rust/crates/edits.txt` |
//! | `edited_crate` | crates whose locks are made of atomics, compiled from edited sources |
//! | `sysroot` | the instrumented standard library in the user's cache |
//! | `wrapper` | the compiler's wrapper |

mod edited_crate;
mod patch;
mod sysroot;
mod toolchain;
mod wrapper;

pub use sysroot::Sysroot;
pub use toolchain::Toolchain;
pub use wrapper::Wrapper;
pub(crate) use wrapper::compiles_for_host;

use crate::Error;

/// Returns a number that differs for other edits of crates.
pub fn version_of_edits() -> u64 {
    edited_crate::version()
}

/// Removes the standard libraries of all toolchains from the user's cache. Returns whether there
/// were any.
///
/// # Errors
/// If one cannot be removed.
pub fn remove_libraries() -> Result<bool, Error> {
    sysroot::remove_all()
}
