//! Order that is kept because of code that is not recorded.
//!
//! The recorder counts it in properties of the trace: `kept calls LIBRARY` (the number of calls,
//! then `; COUNT FUNCTION` for the functions called most), `kept waits`, `kept first uses` and
//! `kept unexplained reads`.

use std::fmt;

use serde::Serialize;

use crate::Trace;

/// Order that is kept because of code that is not recorded.
#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
pub struct KeptOrder {
    /// Calls of functions that are not recorded, by library, most calls first.
    pub calls: Vec<LibraryCalls>,
    /// Waits that are not modelled.
    pub waits: u64,
    /// First uses of memory without a visible reference to it.
    pub first_uses: u64,
    /// Reads of values that no recorded write explains.
    pub unexplained_reads: u64,
}

/// Calls of a library that is not recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LibraryCalls {
    /// File name of the library, or name of the class.
    pub library: String,
    /// Calls of all its functions.
    pub calls: u64,
    /// The functions that are called most.
    pub functions: Vec<FunctionCalls>,
}

/// Calls of a function that is not recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FunctionCalls {
    /// The function.
    pub function: String,
    /// Its calls.
    pub calls: u64,
}

/// Number of functions that the text names for each library.
const NAMED: usize = 3;

impl KeptOrder {
    /// Returns the order that a trace says it keeps.
    pub(super) fn of(trace: &Trace) -> KeptOrder {
        let mut kept = KeptOrder::default();
        for (key, value) in trace.meta() {
            let Some(what) = key.strip_prefix("kept ") else { continue };
            let mut parts = value.split("; ");
            let Some(Ok(count)) = parts.next().map(str::parse) else { continue };
            match (what, what.strip_prefix("calls ")) {
                ("waits", _) => kept.waits = count,
                ("first uses", _) => kept.first_uses = count,
                ("unexplained reads", _) => kept.unexplained_reads = count,
                (_, Some(library)) => {
                    let function = |part: &str| {
                        let (calls, function) = part.split_once(' ')?;
                        let calls = calls.parse().ok()?;
                        Some(FunctionCalls { function: function.to_owned(), calls })
                    };
                    let functions = parts.filter_map(function).collect();
                    let library = library.to_owned();
                    kept.calls.push(LibraryCalls { library, calls: count, functions });
                }
                _ => {}
            }
        }
        kept.calls.sort_by(|a, b| b.calls.cmp(&a.calls).then(a.library.cmp(&b.library)));
        kept
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        *self == KeptOrder::default()
    }
}

impl fmt::Display for KeptOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (i, LibraryCalls { library, calls, functions }) in self.calls.iter().enumerate() {
            let noun = if i > 0 { String::new() } else { plural(*calls, "call", "calls") };
            let count = if i > 0 { calls.to_string() } else { noun };
            let mut names: Vec<String> = functions
                .iter()
                .take(NAMED)
                .map(|FunctionCalls { function, calls }| format!("{function} {calls}"))
                .collect();
            if functions.len() > NAMED {
                names.push("…".to_owned());
            }
            let names = match names.is_empty() {
                true => String::new(),
                false => format!(" ({})", names.join(", ")),
            };
            parts.push(format!("{count} of {library}{names}"));
        }
        let mut groups = Vec::new();
        if !parts.is_empty() {
            groups.push(parts.join(", "));
        }
        let others = [
            (self.waits, "wait that is not modelled", "waits that are not modelled"),
            (
                self.first_uses,
                "first use of memory without a visible reference",
                "first uses of memory without a visible reference",
            ),
            (self.unexplained_reads, "read that nothing explains", "reads that nothing explains"),
        ];
        let others = others.into_iter().filter(|(count, ..)| *count > 0);
        groups.extend(others.map(|(count, one, many)| plural(count, one, many)));
        f.write_str(&groups.join("; "))
    }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
