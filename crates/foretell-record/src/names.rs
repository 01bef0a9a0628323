//! Names for what the program works on: globals by their symbol, heap objects by the place that
//! allocated them, the rest by where it is.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::regions::{RegionId, RegionKind, Regions};
use crate::symbols::Symbols;

/// Gives every object a name of its own.
#[derive(Default)]
pub(crate) struct Namer {
    taken: FxHashSet<String>,
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
        let mut name = base.clone();
        let mut n = 1;
        while !self.taken.insert(name.clone()) {
            n += 1;
            name = format!("{base}~{n}");
        }
        name
    }

    fn base(
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
