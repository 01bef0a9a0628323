//! Thread-local variables: the blocks that threads have of the modules that were loaded at the
//! start. Blocks of modules that are loaded later are not known.

use foretell_rt_format::Record;
use rustc_hash::FxHashMap;

use super::regions::RegionKind;
use crate::debug_info::{Place, Whole};
use crate::symbols::Symbols;

/// Blocks of thread-local variables, by thread: the block's address and that of the module.
#[derive(Default)]
pub(super) struct ThreadLocals(FxHashMap<u32, Vec<(u64, u64)>>);

impl ThreadLocals {
    /// Takes the record of a block.
    pub(super) fn take(&mut self, thread: u32, record: &Record<'_>) {
        if let Record::ThreadLocals { module, start } = *record {
            self.0.entry(thread).or_default().push((start, module));
        }
    }

    /// Returns the name of the thread-local variable that holds an address, and the part of it that
    /// is there.
    pub(super) fn part(
        &self,
        symbols: &Symbols,
        kind: RegionKind,
        (addr, whole): (u64, Whole),
    ) -> Option<(String, Place)> {
        let thread = match kind {
            // Threads have their blocks at the top of their stacks, in the C library's layout.
            RegionKind::Stack { thread } => thread,
            // The first thread's are in memory of the dynamic linker.
            RegionKind::Elsewhere => 0,
            RegionKind::Module | RegionKind::Heap { .. } => return None,
        };
        let blocks = self.0.get(&thread)?;
        let &(start, module) = blocks.iter().filter(|(start, _)| *start <= addr).max()?;
        let (name, place) = symbols.thread_local_part(module, addr - start, whole)?;
        Some((format!("{name}@T{thread}"), place))
    }
}
