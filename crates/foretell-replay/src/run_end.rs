//! End of a native run, according to its log.

use foretell_log::Stack;
use foretell_rt_format::{Log, Record, WaitingFor};
use foretell_translate::Symbols;
use rustc_hash::FxHashMap;

use crate::use_after_free::Heap;

/// End of a native run.
#[derive(Default)]
pub(crate) struct RunEnd {
    /// Reason for which the run left its schedule.
    pub(crate) departure: Option<String>,
    /// Threads in a deadlock.
    pub(crate) deadlock: Option<Vec<u32>>,
    /// Message about the first use after free.
    pub(crate) use_after_free: Option<String>,
    /// Function and location of the signal that ended the program.
    pub(crate) crash: Option<(Option<String>, Option<String>)>,
}

impl RunEnd {
    pub(crate) fn of(log: &Log<'_>) -> RunEnd {
        let mut end = RunEnd::default();
        let mut symbols = Symbols::default();
        let mut stacks: FxHashMap<u32, Stack> = FxHashMap::default();
        let mut heap = Heap::default();
        // The last code address of each thread: its location when a library function aborts.
        let mut last = FxHashMap::default();
        for entry in log.events().map_while(Result::ok) {
            if let Some(pc) = entry.record.pc() {
                last.insert(entry.thread, pc);
            }
            if end.use_after_free.is_none() {
                let around = stacks.get(&entry.thread).and_then(Stack::innermost);
                end.use_after_free = heap.take(&entry, around, &mut symbols);
            }
            match entry.record {
                Record::Module { bias, start, end, path, .. } => {
                    symbols.add(start, end, bias, path);
                }
                Record::ModuleGone { start } => symbols.remove(start),
                Record::FuncEntry { pc, call } => {
                    stacks.entry(entry.thread).or_default().enter(pc, call);
                }
                Record::FuncExit => stacks.entry(entry.thread).or_default().exit(),
                Record::Departure { message, .. } => {
                    let message = String::from_utf8_lossy(message);
                    end.departure = Some(symbols.with_locations(&message));
                }
                Record::Deadlock { threads } => {
                    // Threads that wait to join are not part of a cycle.
                    let stuck = threads.iter().filter(|b| b.what != WaitingFor::Runnable);
                    let in_cycle = stuck.clone().filter(|b| b.what != WaitingFor::Join);
                    let mut numbers: Vec<u32> = in_cycle.map(|b| b.thread).collect();
                    if numbers.is_empty() {
                        numbers = stuck.map(|b| b.thread).collect();
                    }
                    end.deadlock = Some(numbers);
                }
                Record::Crash { pc, .. } => {
                    let code = symbols.exact(pc);
                    end.crash = Some(if code.known {
                        (code.function().map(str::to_owned), Some(code.location.clone()))
                    } else {
                        let inner = stacks.get(&entry.thread).and_then(Stack::innermost);
                        let function = inner.and_then(|pc| {
                            symbols.code(pc).functions.last().map(|(name, _)| name.clone())
                        });
                        let location = last.get(&entry.thread).map(|&pc| symbols.code(pc));
                        let location = location.filter(|c| c.known).map(|c| c.location.clone());
                        (function, location)
                    });
                }
                _ => {}
            }
        }
        end
    }
}
