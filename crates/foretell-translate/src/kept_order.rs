//! Order that a trace keeps because of code that is not recorded, as properties of the trace.
//!
//! `foretell stats` tells the user of it (`foretell_trace::stats`). All translations write it here:
//! one [`KeptOrder`] counts while a trace is made, and [`KeptOrder::properties`] gives the
//! properties to set. Their number and length are bounded.
//!
//! | property | value |
//! |---|---|
//! | `kept calls LIBRARY` | number of calls; then `; COUNT FUNCTION` for the functions called most |
//! | `kept waits` | number of waits that are not modelled |
//! | `kept first uses` | number of first uses of memory without a visible reference |
//! | `kept unexplained reads` | number of reads that nothing explains |
//!
//! A Java translation uses the name of a class as `LIBRARY` and the name of a method as `FUNCTION`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rustc_hash::FxHashMap;

/// Number of libraries that have a property of their own; the calls of all others are one.
const MAX_LIBRARIES: usize = 32;
/// Number of functions in the property of a library.
const MAX_FUNCTIONS: usize = 8;
/// Number of characters of a name.
const MAX_NAME: usize = 120;

/// Number of calls of a function, and its name.
type Called<'a> = (u64, &'a str);

/// Counts of kept order.
#[derive(Default)]
pub(crate) struct KeptOrder {
    /// Calls by library and function.
    calls: FxHashMap<String, FxHashMap<String, u64>>,
    /// Waits that are not modelled.
    pub(crate) waits: u64,
    /// First uses of memory without a visible reference.
    pub(crate) first_uses: u64,
    /// Reads that nothing explains.
    pub(crate) unexplained_reads: u64,
}

impl KeptOrder {
    /// Counts a call of a function whose order is kept.
    pub(crate) fn call(&mut self, library: &str, function: &str) {
        if !self.calls.contains_key(library) {
            self.calls.insert(library.to_owned(), FxHashMap::default());
        }
        let Some(functions) = self.calls.get_mut(library) else { return };
        match functions.get_mut(function) {
            Some(count) => *count += 1,
            None => {
                functions.insert(function.to_owned(), 1);
            }
        }
    }

    /// Returns the properties of the trace, with their values.
    pub(crate) fn properties(&self) -> BTreeMap<String, String> {
        let mut libraries: Vec<(u64, &str, Vec<Called<'_>>)> = self
            .calls
            .iter()
            .map(|(library, functions)| {
                let functions = functions.iter().map(|(name, &count)| (count, name.as_str()));
                let functions: Vec<Called<'_>> = functions.collect();
                (functions.iter().map(|f| f.0).sum(), library.as_str(), functions)
            })
            .collect();
        libraries.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let mut properties = BTreeMap::new();
        let mut others = 0;
        for (i, (calls, library, mut functions)) in libraries.into_iter().enumerate() {
            if i >= MAX_LIBRARIES {
                others += calls;
                continue;
            }
            functions.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
            let mut value = calls.to_string();
            for (count, function) in functions.into_iter().take(MAX_FUNCTIONS) {
                // Writing to a string does not fail.
                let _ = write!(value, "; {count} {}", name(function));
            }
            properties.insert(format!("kept calls {}", name(library)), value);
        }
        let counts = [
            ("kept calls other libraries", others),
            ("kept waits", self.waits),
            ("kept first uses", self.first_uses),
            ("kept unexplained reads", self.unexplained_reads),
        ];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        properties.extend(counts.map(|(key, count)| (key.to_owned(), count.to_string())));
        properties
    }
}

/// Returns a name in the form that it has in a property.
fn name(name: &str) -> String {
    let kept = name.chars().filter(|c| !c.is_control());
    kept.map(|c| if c == '=' || c == ';' { '_' } else { c }).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_have_the_most_frequent_functions_and_are_bounded() {
        let mut kept = KeptOrder { waits: 2, ..KeptOrder::default() };
        for i in 0..20 {
            for _ in 0..=i {
                kept.call("libc.so.6", &format!("f{i}"));
            }
        }
        kept.call("liba=b.so", "g\n;h");
        let properties = kept.properties();
        let value = &properties["kept calls libc.so.6"];
        assert!(value.starts_with("210; 20 f19; 19 f18; "), "{value}");
        assert_eq!(value.matches(';').count(), MAX_FUNCTIONS);
        assert_eq!(properties["kept calls liba_b.so"], "1; 1 g_h");
        assert_eq!(properties["kept waits"], "2");
        assert_eq!(properties.len(), 3);
        (0..100).for_each(|i| kept.call(&format!("lib{i}"), "f"));
        let properties = kept.properties();
        assert_eq!(properties.len(), MAX_LIBRARIES + 2);
        assert_eq!(properties["kept calls other libraries"], "70");
    }
}
