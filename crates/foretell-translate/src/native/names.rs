//! Names of memory: globals by their symbol, heap objects by their type and the source location of
//! their allocation, local variables by function and name, thread-local ones by name and thread,
//! other memory by its address. Parts of
//! objects have the path of their members where debug information tells it.

use rustc_hash::FxHashMap;

use super::locations::Locations;
use super::regions::{RegionId, RegionKind, Regions};
use crate::debug_info::{Place, Whole};
use crate::names::UniqueNames;
use crate::symbols::AllocatedType;

/// Beginning of the symbols in the runtime that stand for states of the C library.
const LIBRARY_STATE: &str = "foretell_rt::library_state::";

/// Names of variables or of synchronisation objects.
#[derive(Default)]
pub(super) struct MemoryNames {
    pub(super) names: UniqueNames,
    /// Names of heap objects, and their types where known.
    heap: FxHashMap<RegionId, (String, Option<AllocatedType>)>,
}

/// Name of an object in memory.
pub(super) struct MemoryName {
    pub(super) name: String,
    /// Format of its values, if they are not signed integers.
    pub(super) format: Option<String>,
    /// Whether it is one that Rust's library has for itself.
    pub(super) is_internal: bool,
}

impl From<String> for MemoryName {
    fn from(name: String) -> MemoryName {
        MemoryName { name, format: None, is_internal: false }
    }
}

impl MemoryName {
    fn part(object: &str, place: Place) -> MemoryName {
        let Place { path, format, is_internal } = place;
        MemoryName { name: format!("{object}{path}"), format, is_internal }
    }
}

/// The object at an address of a region.
#[derive(Clone, Copy)]
pub(super) struct Addressed {
    pub(super) region: RegionId,
    pub(super) addr: u64,
    pub(super) whole: Whole,
}

impl MemoryNames {
    /// Returns a unique name for the synchronisation object at `addr` in `region`.
    pub(super) fn name(
        &mut self,
        regions: &Regions,
        locations: &mut Locations,
        (region, addr): (RegionId, u64),
    ) -> String {
        let object = Addressed { region, addr, whole: Whole::Object };
        let base = self.base(regions, locations, object);
        self.names.unique(base.name)
    }

    /// Returns a unique name for the block of memory that a region is.
    pub(super) fn block(
        &mut self,
        regions: &Regions,
        locations: &mut Locations,
        region: RegionId,
    ) -> String {
        let (kind, start) = regions.kind(region);
        let name = match kind {
            RegionKind::Heap { pc, nth } => {
                self.heap_object(regions, locations, region, (pc, nth)).0.clone()
            }
            _ => {
                let object = Addressed { region, addr: start, whole: Whole::Object };
                self.base(regions, locations, object).name
            }
        };
        self.names.unique(name)
    }

    /// Returns the name of a heap object and its type, if known.
    fn heap_object(
        &mut self,
        regions: &Regions,
        locations: &mut Locations,
        region: RegionId,
        (pc, nth): (u64, u32),
    ) -> &(String, Option<AllocatedType>) {
        let Locations { symbols, instantiated, .. } = locations;
        self.heap.entry(region).or_insert_with(|| {
            let location = symbols.code(pc).location.clone();
            let size = regions.end(region).saturating_sub(regions.kind(region).1);
            let kind = symbols.allocated_type(pc, size);
            let kind = kind.or_else(|| symbols.instantiated_type(instantiated.of(region), size));
            let what = kind.as_ref().and_then(|kind| kind.name.as_deref());
            let defined = kind.as_ref().and_then(|kind| kind.definition.as_ref());
            let location = defined.unwrap_or(&location);
            (format!("{}@{location}#{}", what.unwrap_or("heap"), nth + 1), kind)
        })
    }

    /// Returns the name of an object, which other objects may have too.
    pub(super) fn base(
        &mut self,
        regions: &Regions,
        locations: &mut Locations,
        object: Addressed,
    ) -> MemoryName {
        let Addressed { region, addr, whole } = object;
        let (kind, start) = regions.kind(region);
        let Locations { symbols, thread_locals, .. } = locations;
        if let Some((name, place)) = thread_locals.part(symbols, kind, (addr, whole)) {
            return MemoryName::part(&name, place);
        }
        match kind {
            RegionKind::Module => match locations.symbols.global_part(addr, whole) {
                Some((name, place)) => match name.strip_prefix(LIBRARY_STATE) {
                    Some(state) => format!("state of {state}").into(),
                    None => MemoryName::part(&name, place),
                },
                None => format!("memory+{addr:#x}").into(),
            },
            RegionKind::Stack { thread } => match locations.local(object, thread) {
                Some((name, place)) => MemoryName::part(&name, place),
                // Offsets from the top do not depend on the size limit of the stack.
                None => {
                    let depth = regions.end(region).saturating_sub(addr);
                    format!("stack of T{thread}+{depth:#x}").into()
                }
            },
            RegionKind::Heap { pc, nth } => {
                let (name, kind) = self.heap_object(regions, locations, region, (pc, nth));
                let offset = addr.saturating_sub(start);
                let place = match kind {
                    Some(kind) => locations.symbols.allocated_part(kind, offset, whole),
                    None => Place::at(offset),
                };
                let mut part = MemoryName::part(name, place);
                part.is_internal |= locations.instantiated.is_internal(region);
                part
            }
            RegionKind::Elsewhere => format!("memory+{addr:#x}").into(),
        }
    }
}
