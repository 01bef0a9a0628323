//! Uses after free in the log of a replayed run.
//!
//! A block that the program has freed stays freed until the allocator returns its memory again. An
//! access to it in between, or an operation on a synchronisation object in it, is a use after free,
//! whatever the memory holds: the program need not crash. A use after the memory was allocated
//! again is not seen. A synchronisation object that was destroyed stays so until it is initialised
//! again; freeing a freed block is a double free.

use std::collections::BTreeMap;

use foretell_rt_format::{Entry, Record, SyncKind};

use foretell_log::touched;
use foretell_translate::Symbols;

/// Origin of a call: the code address, and the function around it for calls from a library.
type Call = (u64, Option<u64>);

/// A block that was freed.
struct FreedBlock {
    end: u64,
    allocated: Option<Call>,
    freed: Call,
}

/// The heap of a run so far: blocks by their address.
#[derive(Default)]
pub(crate) struct Heap {
    allocated: BTreeMap<u64, (u64, Call)>,
    freed: BTreeMap<u64, FreedBlock>,
    /// Synchronisation objects that were destroyed, with the calls that did so.
    destroyed: BTreeMap<u64, Call>,
}

impl Heap {
    /// Takes the next record of the log; `around` is a code address in the function that its thread
    /// is in. Returns a message if the record is a use after free.
    pub(crate) fn take(
        &mut self,
        entry: &Entry<'_>,
        around: Option<u64>,
        symbols: &mut Symbols,
    ) -> Option<String> {
        let call = |pc| (pc, around);
        match entry.record {
            Record::Alloc { pc, addr, size } => {
                let end = addr.saturating_add(size.max(1));
                self.mark_used(addr, end);
                self.allocated.insert(addr, (end, call(pc)));
            }
            Record::ThreadBegin { stack_start, stack_end, .. } => {
                self.mark_used(stack_start, stack_end);
            }
            Record::Module { start, end, .. } => self.mark_used(start, end),
            Record::Free { counted, pc, addr, size } => {
                let block = self.allocated.remove(&addr);
                if let (true, None, Some(before)) = (counted, block, self.freed.get(&addr)) {
                    return Some(message("double free", call(pc), before, symbols));
                }
                if counted {
                    let end = block.map_or(addr.saturating_add(size), |(end, _)| end);
                    let allocated = block.map(|(_, call)| call);
                    self.freed.insert(addr, FreedBlock { end, allocated, freed: call(pc) });
                }
            }
            // A lock that can be taken has been initialised again, perhaps without a call.
            Record::Sync {
                kind: SyncKind::Init | SyncKind::Lock | SyncKind::ReadLock,
                object,
                ..
            } if self.destroyed.remove(&object).is_some() => {}
            Record::Sync { kind: SyncKind::Destroy, pc, object, other: 0 } => {
                self.destroyed.insert(object, call(pc));
            }
            _ => {
                if let Record::Sync { kind, pc, object, other } = entry.record
                    && let Some(at) = self.used_destroyed(kind, object, other)
                {
                    let used = location(call(pc), symbols);
                    let destroyed = location(at, symbols);
                    return Some(format!(
                        "use of a destroyed object at {used} (destroyed at {destroyed})"
                    ));
                }
                let addr = match entry.record {
                    Record::Sync { object, .. } => object,
                    _ => touched(&entry.record)?.0,
                };
                let (_, block) = self.freed.range(..=addr).next_back()?;
                if addr < block.end {
                    let used = call(entry.record.pc()?);
                    return Some(message("use after free", used, block, symbols));
                }
            }
        }
        None
    }

    /// Whether an address is in a block of the heap.
    pub(crate) fn is_allocated(&self, addr: u64) -> bool {
        self.allocated.range(..=addr).next_back().is_some_and(|(_, &(end, _))| addr < end)
    }

    /// Returns the call that destroyed an object of an operation, if one did.
    fn used_destroyed(&self, kind: SyncKind, object: u64, other: u64) -> Option<Call> {
        let waits = matches!(kind, SyncKind::Wait | SyncKind::Woken | SyncKind::TimedOut);
        let mutex = waits.then(|| self.destroyed.get(&other)).flatten();
        self.destroyed.get(&object).or(mutex).copied().filter(|_| kind.counted())
    }

    /// Removes the freed blocks in memory that is in use again.
    fn mark_used(&mut self, start: u64, end: u64) {
        let before = self.freed.range(..start).next_back();
        let first = before.filter(|(_, block)| block.end > start).map_or(start, |(&at, _)| at);
        let over: Vec<u64> = self.freed.range(first..end).map(|(&at, _)| at).collect();
        for at in &over {
            self.freed.remove(at);
        }
        if self.destroyed.range(start..end).next().is_some() {
            self.destroyed.retain(|at, _| !(start..end).contains(at));
        }
    }
}

fn message(what: &str, used: Call, block: &FreedBlock, symbols: &mut Symbols) -> String {
    let code = symbols.code(used.0);
    let function = code.function().map(|name| format!(" in {name}")).unwrap_or_default();
    let at = code.location.clone();
    let freed = location(block.freed, symbols);
    match block.allocated {
        Some(call) => {
            let allocated = location(call, symbols);
            format!("{what}{function} at {at} (allocated at {allocated}, freed at {freed})")
        }
        None => format!("{what}{function} at {at} (freed at {freed})"),
    }
}

/// Returns the location of a call in the program's own code, if there is one.
fn location((pc, around): Call, symbols: &mut Symbols) -> String {
    let code = symbols.code(pc);
    if code.known && !code.system {
        return code.location.clone();
    }
    let around = around.map(|pc| symbols.code(pc)).filter(|c| c.known && !c.system);
    around.unwrap_or(code).location.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_rt_format::{AccessKind, SyncKind};

    fn entry(record: Record<'_>) -> Entry<'_> {
        Entry { thread: 1, ordinal: 0, record }
    }

    fn read(addr: u64) -> Record<'static> {
        Record::Access { kind: AccessKind::Read, size: 4, pc: 9, addr, value: 0 }
    }

    /// Returns the indices of the records that are uses after free.
    fn uses_after_free(records: Vec<Record<'_>>) -> Vec<usize> {
        let mut heap = Heap::default();
        let mut found = Vec::new();
        for (i, record) in records.into_iter().enumerate() {
            if heap.take(&entry(record), None, &mut Symbols::default()).is_some() {
                found.push(i);
            }
        }
        found
    }

    #[test]
    fn block_is_freed_until_it_is_allocated_again() {
        let alloc = |addr, size| Record::Alloc { pc: 1, addr, size };
        let free = |addr| Record::Free { counted: true, pc: 2, addr, size: 64 };
        let lock = Record::Sync { kind: SyncKind::Lock, pc: 3, object: 150, other: 0 };
        // The block has the requested length, not the one that the allocator reports.
        let records =
            vec![alloc(100, 60), read(120), free(100), read(120), read(160), lock, read(90)];
        assert_eq!(uses_after_free(records), [3, 5]);
        let records = vec![alloc(100, 60), free(100), alloc(90, 20), read(120), read(105)];
        assert_eq!(uses_after_free(records), []);
    }

    #[test]
    fn destroyed_objects_and_freed_blocks_end_once() {
        let sync = |kind| Record::Sync { kind, pc: 3, object: 150, other: 0 };
        let destroy = || sync(SyncKind::Destroy);
        assert_eq!(uses_after_free(vec![destroy(), sync(SyncKind::TryFailed)]), [1]);
        assert_eq!(uses_after_free(vec![destroy(), sync(SyncKind::Signal)]), [1]);
        // It has been initialised again.
        assert_eq!(
            uses_after_free(vec![destroy(), sync(SyncKind::Lock), sync(SyncKind::Unlock)]),
            []
        );
        let alloc = Record::Alloc { pc: 1, addr: 100, size: 60 };
        let free = || Record::Free { counted: true, pc: 2, addr: 100, size: 64 };
        assert_eq!(uses_after_free(vec![alloc, free(), free()]), [2]);
    }

    #[test]
    fn stacks_and_frees_of_the_library_do_not_count() {
        let alloc = Record::Alloc { pc: 1, addr: 100, size: 60 };
        let free = |counted| Record::Free { counted, pc: 2, addr: 100, size: 64 };
        let stack = Record::ThreadBegin { tid: 1, stack_start: 50, stack_end: 500 };
        assert_eq!(uses_after_free(vec![alloc.clone(), free(false), read(120)]), []);
        assert_eq!(uses_after_free(vec![alloc, free(true), stack, read(120)]), []);
    }
}
