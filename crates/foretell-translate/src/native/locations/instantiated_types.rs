//! Types of allocations by the generic functions of Rust that made them.
//!
//! An allocation of Rust is made by functions such as `Box<T>::new` and `RawVec<T>::grow_one`.
//! Debug information has the type for which each was instantiated.

use std::rc::Rc;

use foretell_log::{CallId, Calls};
use rustc_hash::FxHashMap;

use crate::debug_info::TypeParameter;
use crate::native::regions::RegionId;
use crate::symbols::Symbols;

/// Number of calls around an allocation whose types are looked at.
const MOST_CALLS: usize = 12;

/// Modules of the standard library that allocate for themselves.
const INTERNAL_MODULES: [&str; 2] = ["std::thread::", "std::sys::"];

/// Functions of Rust around an allocation.
#[derive(Default)]
struct Around {
    /// Types by the number of their file, those of the innermost function first.
    types: Vec<(usize, TypeParameter)>,
    /// Whether one is of the part of the standard library that is for threads.
    is_internal: bool,
}

/// Types of the functions around allocations.
#[derive(Default)]
pub(in crate::native) struct InstantiatedTypes {
    by_call: FxHashMap<(u64, CallId), Rc<Around>>,
    by_region: FxHashMap<RegionId, Rc<Around>>,
}

impl InstantiatedTypes {
    /// Notes the types of the functions of Rust around the allocation of a region: those of
    /// libraries, and the program's function that called them.
    pub(super) fn allocated(
        &mut self,
        region: RegionId,
        (pc, stack): (u64, CallId),
        calls: &Calls,
        symbols: &mut Symbols,
    ) {
        let around = self.by_call.entry((pc, stack)).or_insert_with(|| {
            let mut found = Around::default();
            let around = calls.outwards(stack).take(MOST_CALLS).map(|(_, call)| call.call);
            for pc in std::iter::once(pc).chain(around) {
                found.types.extend(symbols.type_parameters(pc));
                let code = symbols.code(pc);
                if !code.system {
                    break;
                }
                let mut functions =
                    code.functions.iter().map(|(name, _)| name.trim_start_matches('<'));
                found.is_internal |=
                    functions.any(|name| INTERNAL_MODULES.iter().any(|m| name.starts_with(m)));
            }
            Rc::new(found)
        });
        if !around.types.is_empty() || around.is_internal {
            self.by_region.insert(region, around.clone());
        }
    }

    /// Whether the standard library allocated a region for its own threads.
    pub(in crate::native) fn is_internal(&self, region: RegionId) -> bool {
        self.by_region.get(&region).is_some_and(|around| around.is_internal)
    }

    pub(in crate::native) fn of(&self, region: RegionId) -> &[(usize, TypeParameter)] {
        self.by_region.get(&region).map_or(&[], |around| &around.types)
    }

    /// Forgets what code addresses mean.
    pub(super) fn forget_code(&mut self) {
        self.by_call.clear();
    }
}
