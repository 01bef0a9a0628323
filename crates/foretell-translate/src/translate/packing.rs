//! Events that go into the bytes of the trace file as they are made.
//!
//! Without the columns of a trace between the log and the file an event costs a fraction, in time and in memory. What is
//! asked of a whole trace is found out on the way: which events are joins, and whether all of it is legal. Should it not
//! be, or not for certain, it is unpacked, and mended as any other trace.

use foretell_trace::binary::PackedEvents;
use foretell_trace::legality::Watch;
use foretell_trace::{EventId, EventKind, SiteId, ThreadId, Trace, ValueId, VarId};

use super::Translation;

/// The events so far.
#[derive(Default)]
pub(super) struct Packing {
    pub(super) events: PackedEvents,
    pub(super) watch: Watch,
    /// The joins, with the threads that they wait for.
    pub(super) joins: Vec<(EventId, ThreadId)>,
}

impl Packing {
    #[inline]
    pub(super) fn push(
        &mut self,
        names: &Trace,
        thread: ThreadId,
        kind: EventKind,
        site: Option<SiteId>,
    ) {
        let id = EventId::from_index(self.events.len());
        if let EventKind::Join { thread } = kind {
            self.joins.push((id, thread));
        }
        self.watch.push(names, id, thread, kind);
        self.events.push(names, thread, kind, site);
    }
}

impl Translation<'_> {
    /// Adds an event to the trace.
    #[inline]
    pub(super) fn add(&mut self, thread: ThreadId, kind: EventKind, site: Option<SiteId>) {
        match &mut self.packing {
            Some(packing) => packing.push(self.builder.trace(), thread, kind, site),
            None => {
                self.builder.push(thread, kind, site);
            }
        }
    }

    /// Adds a plain access.
    #[inline]
    pub(super) fn add_plain(
        &mut self,
        thread: ThreadId,
        (var, writes): (VarId, bool),
        value: ValueId,
        site: SiteId,
    ) {
        match &mut self.packing {
            Some(packing) if packing.watch.lets_run(thread) => {
                packing.events.push_plain(self.builder.trace(), thread, (var, writes), value, site);
            }
            _ => {
                let (value, atomic) = (Some(value), false);
                let kind = if writes {
                    EventKind::Write { var, atomic, value, expr: None }
                } else {
                    EventKind::Read { var, atomic, value, register: None }
                };
                self.add(thread, kind, Some(site));
            }
        }
    }

    /// How many events there are.
    #[inline]
    pub(super) fn events(&self) -> usize {
        match &self.packing {
            Some(packing) => packing.events.len(),
            None => self.builder.trace().len(),
        }
    }
}
