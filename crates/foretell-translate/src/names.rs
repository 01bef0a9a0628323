//! Names for what the program works on: globals by their symbol, heap objects by the place that
//! allocated them, the rest by where it is.

use foretell_trace::Names;
use rustc_hash::FxHashMap;

use crate::regions::{RegionId, RegionKind, Regions};
use crate::symbols::Symbols;

/// Gives every object a name of its own.
#[derive(Default)]
pub(crate) struct Namer {
    taken: Names,
    /// The last number of names that were asked for again, by their index.
    numbers: FxHashMap<u32, u32>,
    heap: FxHashMap<RegionId, String>,
}

impl Namer {
    /// A name for what is at `addr` in `region`; a second object of the same name gets a number.
    pub(crate) fn name(
        &mut self,
        regions: &Regions,
        symbols: &mut Symbols,
        region: RegionId,
        addr: u64,
    ) -> String {
        let base = self.base(regions, symbols, region, addr);
        self.unique(base)
    }

    /// `base`, or `base~2`, … if that is taken.
    pub(crate) fn unique(&mut self, base: String) -> String {
        let mut taken = std::mem::take(&mut self.taken);
        let (_, name) = self.free(base, |name| {
            let before = taken.len();
            (taken.intern(name), taken.len() > before)
        });
        self.taken = taken;
        name
    }

    /// The same for names that somebody else keeps: `take` says which one a name is, and whether it is new.
    pub(crate) fn free(
        &mut self,
        base: String,
        mut take: impl FnMut(&str) -> (u32, bool),
    ) -> (u32, String) {
        let (index, new) = take(&base);
        if new {
            return (index, base);
        }
        // What was taken stays taken.
        let last = self.numbers.entry(index).or_insert(1);
        loop {
            *last += 1;
            let name = format!("{base}~{last}");
            if let (index, true) = take(&name) {
                return (index, name);
            }
        }
    }

    /// What a thing would be called if it were the only one.
    pub(crate) fn base(
        &mut self,
        regions: &Regions,
        symbols: &mut Symbols,
        region: RegionId,
        addr: u64,
    ) -> String {
        let (kind, start) = regions.kind(region);
        match kind {
            RegionKind::Module => match symbols.global(addr) {
                Some((name, 0)) => name,
                Some((name, offset)) => format!("{name}+{offset}"),
                None => format!("memory+{addr:#x}"),
            },
            RegionKind::Stack { thread } => {
                // Offsets from the top do not depend on how large the stack may grow.
                format!("stack of T{thread}+{:#x}", regions.end(region).saturating_sub(addr))
            }
            RegionKind::Heap { pc, nth } => {
                let object = self.heap.entry(region).or_insert_with(|| {
                    let place = symbols.code(pc).place.clone();
                    format!("heap@{place}#{}", nth + 1)
                });
                match addr.saturating_sub(start) {
                    0 => object.clone(),
                    offset => format!("{object}+{offset}"),
                }
            }
            RegionKind::Elsewhere => format!("memory+{addr:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_taken_get_numbers() {
        let mut namer = Namer::default();
        let names = ["x", "y", "x", "x~3", "x", "y", "x~3", "x"];
        let given = names.map(|name| namer.unique(name.to_owned()));
        assert_eq!(given, ["x", "y", "x~2", "x~3", "x~4", "y~2", "x~3~2", "x~5"]);
    }
}
