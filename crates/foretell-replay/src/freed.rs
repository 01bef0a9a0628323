//! Uses of memory that was given back, in the log of a replayed run.
//!
//! A block that the program freed is gone until its memory is given out again; an access to it in between, or an
//! operation on a lock or the like that was in it, is a use after free. What happens to be there by
//! then does not matter: the program need not crash. A use that comes when the memory has been given out again
//! is not seen.

use std::collections::BTreeMap;

use foretell_rt_format::{Entry, Record};

use foretell_log::touched;
use foretell_translate::Symbols;

/// Where a call came from: the code address, and the function around it for calls from a library.
type Call = (u64, Option<u64>);

struct Gone {
    end: u64,
    given: Option<Call>,
    freed: Call,
}

/// The memory of a run.
#[derive(Default)]
pub(crate) struct Freed {
    given: BTreeMap<u64, (u64, Call)>,
    gone: BTreeMap<u64, Gone>,
}

impl Freed {
    /// Takes the next record of the log; `around` is in the function that its thread is in. What is wrong with it,
    /// in words, if it uses memory that is gone.
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
                self.there_again(addr, end);
                self.given.insert(addr, (end, call(pc)));
            }
            Record::ThreadBegin { stack_start, stack_end, .. } => {
                self.there_again(stack_start, stack_end);
            }
            Record::Module { start, end, .. } => self.there_again(start, end),
            Record::Free { counted, pc, addr, size } => {
                let given = self.given.remove(&addr);
                if counted {
                    let end = given.map_or(addr.saturating_add(size), |(end, _)| end);
                    let gone = Gone { end, given: given.map(|(_, call)| call), freed: call(pc) };
                    self.gone.insert(addr, gone);
                }
            }
            _ => {
                let addr = match entry.record {
                    Record::Sync { object, .. } => object,
                    _ => touched(&entry.record)?.0,
                };
                let (_, gone) = self.gone.range(..=addr).next_back()?;
                if addr < gone.end {
                    return Some(message(call(entry.record.pc()?), gone, symbols));
                }
            }
        }
        None
    }

    /// The memory is in use: nothing in it is gone.
    fn there_again(&mut self, start: u64, end: u64) {
        let before = self.gone.range(..start).next_back();
        let first = before.filter(|(_, gone)| gone.end > start).map_or(start, |(&at, _)| at);
        let over: Vec<u64> = self.gone.range(first..end).map(|(&at, _)| at).collect();
        for at in &over {
            self.gone.remove(at);
        }
    }
}

fn message(used: Call, gone: &Gone, symbols: &mut Symbols) -> String {
    let code = symbols.code(used.0);
    let function = code.function().map(|name| format!(" in {name}")).unwrap_or_default();
    let at = code.location.clone();
    let freed = place(gone.freed, symbols);
    match gone.given {
        Some(given) => {
            let given = place(given, symbols);
            format!("use after free{function} at {at} (allocated at {given}, freed at {freed})")
        }
        None => format!("use after free{function} at {at} (freed at {freed})"),
    }
}

/// A line of the program, if there is one.
fn place((pc, around): Call, symbols: &mut Symbols) -> String {
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

    /// Which of the records are uses after free.
    fn wrong(records: Vec<Record<'_>>) -> Vec<usize> {
        let mut freed = Freed::default();
        let mut found = Vec::new();
        for (i, record) in records.into_iter().enumerate() {
            if freed.take(&entry(record), None, &mut Symbols::default()).is_some() {
                found.push(i);
            }
        }
        found
    }

    #[test]
    fn freed_memory_is_gone_until_it_is_given_out_again() {
        let alloc = |addr, size| Record::Alloc { pc: 1, addr, size };
        let free = |addr| Record::Free { counted: true, pc: 2, addr, size: 64 };
        let lock = Record::Sync { kind: SyncKind::Lock, pc: 3, object: 150, other: 0 };
        // The block is as long as it was asked for, not as long as the allocator made it.
        let records =
            vec![alloc(100, 60), read(120), free(100), read(120), read(160), lock, read(90)];
        assert_eq!(wrong(records), [3, 5]);
        let records = vec![alloc(100, 60), free(100), alloc(90, 20), read(120), read(105)];
        assert_eq!(wrong(records), []);
    }

    #[test]
    fn stacks_and_what_the_library_frees_do_not_count() {
        let alloc = Record::Alloc { pc: 1, addr: 100, size: 60 };
        let free = |counted| Record::Free { counted, pc: 2, addr: 100, size: 64 };
        let stack = Record::ThreadBegin { tid: 1, stack_start: 50, stack_end: 500 };
        assert_eq!(wrong(vec![alloc.clone(), free(false), read(120)]), []);
        assert_eq!(wrong(vec![alloc, free(true), stack, read(120)]), []);
    }
}
