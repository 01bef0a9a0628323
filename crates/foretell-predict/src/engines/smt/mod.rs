//! Engines that hand a query to an external SMT solver.

use std::path::PathBuf;

/// Settings of the engines that use an external SMT solver.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SmtOptions {
    /// Order variables as bit-vectors (QF_BV) instead of integers in difference logic (QF_IDL).
    pub bit_blast: bool,
    /// How many mebibytes of memory a solver may use.
    pub memory_mib: Option<u64>,
    /// A directory for the instances, each a self-contained SMT-LIB file.
    pub dump: Option<PathBuf>,
}
