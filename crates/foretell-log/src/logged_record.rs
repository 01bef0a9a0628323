//! The records of a run in order, each with its thread's call stack.

use std::cell::Cell;

use foretell_rt_format::{Compact, Entry, Kind, Log, Record, Slot};
use rustc_hash::FxHashMap;

use crate::calls::{CallId, Calls, Stack};

/// A record of the log with its context.
#[derive(Clone, Debug)]
pub struct LoggedRecord<'a> {
    /// Thread, ordinal and record.
    pub entry: Entry<'a>,
    /// Call stack of the thread; that of a function entry or exit includes the function.
    pub stack: CallId,
    /// Last step of the thread, for `ThreadEnd` and `ElisionPoint`.
    pub last: Option<LastStep>,
    /// If not 0, the record stands for this many allocations that no event refers to.
    pub private: u32,
}

/// The last step of a thread.
#[derive(Clone, Copy, Debug)]
pub struct LastStep {
    /// Ordinal of the step among the thread's steps.
    pub ordinal: u64,
    /// Kind of the step.
    pub kind: Kind,
    /// Code address of the step, if it has one.
    pub pc: Option<u64>,
}

/// A plain access, the form of nearly all records.
#[derive(Clone, Copy, Debug)]
pub struct PlainAccess {
    /// Thread that accesses.
    pub thread: u32,
    /// Ordinal of the step among the thread's steps.
    pub ordinal: u64,
    /// Call stack of the thread.
    pub stack: CallId,
    /// Code address, kind and size.
    pub slot: Slot,
    /// Address of the first byte.
    pub addr: u64,
    /// Value that was read or written.
    pub value: u64,
}

impl PlainAccess {
    /// Returns the access as a record of the general form.
    pub fn logged(&self) -> LoggedRecord<'static> {
        let &PlainAccess { thread, ordinal, stack, slot, addr, value } = self;
        let record = Compact::Access(slot, addr, value).record();
        LoggedRecord { entry: Entry { thread, ordinal, record }, stack, last: None, private: 0 }
    }
}

/// Receiver of the records of a run.
pub trait Sink<'a> {
    /// Takes a record. Returns whether it takes more.
    fn record(&mut self, calls: &Calls, seen: &LoggedRecord<'a>) -> bool;

    /// Takes a plain access. Returns whether it takes more.
    fn plain(&mut self, calls: &Calls, access: &PlainAccess) -> bool {
        self.record(calls, &access.logged())
    }
}

/// Source of the records of a run. Every pass over them is the same.
pub trait Source<'a> {
    /// Shows every record that matters, in order, for as long as the sink takes them. Plain
    /// accesses may be shown with [`Sink::plain`] or like other records.
    fn for_each(&self, calls: &mut Calls, sink: &mut dyn Sink<'a>);

    /// Returns the number of accesses of the run, if it is known without counting.
    fn accesses(&self) -> Option<u64>;

    /// Whether the records end before the run did; known after a pass.
    fn damaged(&self) -> bool;
}

/// A whole log.
pub struct WholeLog<'a, 'l> {
    log: &'l Log<'a>,
    damaged: Cell<bool>,
}

impl<'a, 'l> WholeLog<'a, 'l> {
    /// Returns a source of all records of `log`.
    pub fn new(log: &'l Log<'a>) -> Self {
        WholeLog { log, damaged: Cell::new(false) }
    }
}

/// State of a thread.
#[derive(Default)]
struct Thread {
    stack: Stack,
    last: Option<LastStep>,
}

impl<'a> Source<'a> for WholeLog<'a, '_> {
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
            if let Record::Elided { count, key } = entry.record {
                let slot = Slot { key, high: 0 };
                let kind = slot.step();
                let (ordinal, pc) = (entry.ordinal + count.saturating_sub(1), Some(slot.pc()));
                thread.last = Some(LastStep { ordinal, kind, pc });
            }
            let exits = matches!(entry.record, Record::FuncExit);
            let ends = matches!(entry.record, Record::ThreadEnd | Record::ElisionPoint);
            let last = thread.last.filter(|_| ends);
            if !sink.record(calls, &LoggedRecord { entry, stack, last, private: 0 }) {
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
