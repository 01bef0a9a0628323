//! Names of memory: globals by their symbol, heap objects by the source location of their
//! allocation, other memory by its address.

use rustc_hash::FxHashMap;

use super::regions::{RegionId, RegionKind, Regions};
use crate::names::UniqueNames;
use crate::symbols::Symbols;

/// Beginning of the symbols in the runtime that stand for states of the C library.
const LIBRARY_STATE: &str = "foretell_rt::library_state::";

/// Names of variables or of synchronisation objects.
#[derive(Default)]
pub(super) struct MemoryNames {
    pub(super) names: UniqueNames,
    /// Names of heap objects.
    heap: FxHashMap<RegionId, String>,
}

impl MemoryNames {
    /// Returns a unique name for the object at `addr` in `region`.
    pub(super) fn name(
        &mut self,
        regions: &Regions,
        symbols: &mut Symbols,
        region: RegionId,
        addr: u64,
    ) -> String {
        let base = self.base(regions, symbols, region, addr);
        self.names.unique(base)
    }

    /// Returns the name of the object at `addr` in `region`, which other objects may have too.
    pub(super) fn base(
        &mut self,
        regions: &Regions,
        symbols: &mut Symbols,
        region: RegionId,
        addr: u64,
    ) -> String {
        let (kind, start) = regions.kind(region);
        match kind {
            RegionKind::Module => match symbols.global(addr) {
                Some((name, offset)) => match (name.strip_prefix(LIBRARY_STATE), offset) {
                    (Some(state), _) => format!("state of {state}"),
                    (None, 0) => name,
                    (None, offset) => format!("{name}+{offset}"),
                },
                None => format!("memory+{addr:#x}"),
            },
            RegionKind::Stack { thread } => {
                // Offsets from the top do not depend on the size limit of the stack.
                format!("stack of T{thread}+{:#x}", regions.end(region).saturating_sub(addr))
            }
            RegionKind::Heap { pc, nth } => {
                let object = self.heap.entry(region).or_insert_with(|| {
                    let location = symbols.code(pc).location.clone();
                    format!("heap@{location}#{}", nth + 1)
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
