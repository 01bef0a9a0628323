//! The records of a run, one after the other, each with the stack that it was made under.

use std::cell::Cell;

use foretell_rt_format::{Compact, Entry, Kind, Log, Record, Slot};
use rustc_hash::FxHashMap;

use crate::calls::{CallId, Calls, Stack};

/// One record.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) entry: Entry<'a>,
    /// The thread's call stack; of a function entry, with that function, of an exit, too.
    pub(crate) stack: CallId,
    /// The end of a thread, or what it has left behind: its last step.
    pub(crate) last: Option<LastStep>,
    /// Not 0: so many times memory was given out that no event is about.
    pub(crate) private: u32,
}

/// The last step of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastStep {
    pub(crate) ordinal: u64,
    pub(crate) kind: Kind,
    pub(crate) pc: Option<u64>,
}

/// A plain access: nearly all records are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain {
    pub(crate) thread: u32,
    pub(crate) ordinal: u64,
    pub(crate) stack: CallId,
    /// Code address, kind and size.
    pub(crate) slot: Slot,
    pub(crate) addr: u64,
    pub(crate) value: u64,
}

impl Plain {
    /// The same as any other record.
    pub(crate) fn seen(&self) -> Seen<'static> {
        let &Plain { thread, ordinal, stack, slot, addr, value } = self;
        let record = Compact::Access(slot, addr, value).record();
        Seen { entry: Entry { thread, ordinal, record }, stack, last: None, private: 0 }
    }
}

/// Takes the records of a run.
pub(crate) trait Sink<'a> {
    /// Takes a record; false: no more.
    fn seen(&mut self, calls: &Calls, seen: &Seen<'a>) -> bool;

    /// Takes a plain access; false: no more.
    fn plain(&mut self, calls: &Calls, access: &Plain) -> bool {
        self.seen(calls, &access.seen())
    }
}

/// Where the records of a run come from. Every pass over them is the same.
pub(crate) trait Source<'a> {
    /// Shows every record that matters, in order, for as long as the sink takes them. Plain accesses may be shown as such,
    /// or like other records.
    fn for_each(&self, calls: &mut Calls, sink: &mut dyn Sink<'a>);

    /// Accesses of the run, if that is known without counting them.
    fn accesses(&self) -> Option<u64>;

    /// Whether the records end before the run did; known after a pass.
    fn damaged(&self) -> bool;
}

/// A whole log.
pub(crate) struct Whole<'a, 'l> {
    log: &'l Log<'a>,
    damaged: Cell<bool>,
}

impl<'a, 'l> Whole<'a, 'l> {
    pub(crate) fn new(log: &'l Log<'a>) -> Self {
        Whole { log, damaged: Cell::new(false) }
    }
}

/// What is known of a thread.
#[derive(Default)]
struct Thread {
    stack: Stack,
    last: Option<LastStep>,
}

impl<'a> Source<'a> for Whole<'a, '_> {
    fn for_each(&self, calls: &mut Calls, sink: &mut dyn Sink<'a>) {
        let mut threads: FxHashMap<u32, Thread> = FxHashMap::default();
        for entry in self.log.events() {
            let Ok(entry) = entry else {
                self.damaged.set(true);
                return;
            };
            let thread = threads.entry(entry.thread).or_default();
            if let Record::FuncEntry { pc, call } = entry.record {
                thread.stack.enter(pc, call);
            }
            if let Some(kind) = entry.record.kind() {
                let (ordinal, pc) = (entry.ordinal, entry.record.pc());
                thread.last = Some(LastStep { ordinal, kind, pc });
            }
            let stack = thread.stack.id(calls);
            if let Record::Passed { count, key } = entry.record {
                let slot = Slot { key, high: 0 };
                let kind = slot.step();
                let (ordinal, pc) = (entry.ordinal + count.saturating_sub(1), Some(slot.pc()));
                thread.last = Some(LastStep { ordinal, kind, pc });
            }
            let exits = matches!(entry.record, Record::FuncExit);
            let ends = matches!(entry.record, Record::ThreadEnd | Record::Behind);
            let last = thread.last.filter(|_| ends);
            if !sink.seen(calls, &Seen { entry, stack, last, private: 0 }) {
                return;
            }
            if exits {
                thread.stack.exit();
            }
        }
    }

    fn accesses(&self) -> Option<u64> {
        None
    }

    fn damaged(&self) -> bool {
        self.damaged.get()
    }
}
