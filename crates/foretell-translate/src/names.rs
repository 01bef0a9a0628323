//! Unique names.

use foretell_trace::Names;
use rustc_hash::FxHashMap;

/// Gives each object a name of its own: the second object with a name gets a number.
#[derive(Default)]
pub(crate) struct UniqueNames {
    taken: Names,
    /// The last number given to each name that was taken, by the name's index.
    numbers: FxHashMap<u32, u32>,
}

impl UniqueNames {
    /// Returns `base`, or `base~2`, … if that is taken.
    pub(crate) fn unique(&mut self, base: String) -> String {
        let mut taken = std::mem::take(&mut self.taken);
        let (_, name) = self.unique_in(base, |name| {
            let before = taken.len();
            (taken.intern(name), taken.len() > before)
        });
        self.taken = taken;
        name
    }

    /// Returns a name that is unique among the names of the caller, with its index. `take` takes
    /// a name: it returns the name's index, and whether the name is new.
    pub(crate) fn unique_in(
        &mut self,
        base: String,
        mut take: impl FnMut(&str) -> (u32, bool),
    ) -> (u32, String) {
        let (index, new) = take(&base);
        if new {
            return (index, base);
        }
        // Names stay taken, so the search goes on from the last number.
        let last = self.numbers.entry(index).or_insert(1);
        loop {
            *last += 1;
            let name = format!("{base}~{last}");
            if let (index, true) = take(&name) {
                return (index, name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_names_get_numbers() {
        let mut names = UniqueNames::default();
        let given =
            ["x", "y", "x", "x~3", "x", "y", "x~3", "x"].map(|name| names.unique(name.to_owned()));
        assert_eq!(given, ["x", "y", "x~2", "x~3", "x~4", "y~2", "x~3~2", "x~5"]);
    }
}
