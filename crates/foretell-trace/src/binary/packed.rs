//! A trace that is packed from its first event on.
//!
//! A recorder that does not need the columns of a [`Trace`] leaves them out: events are encoded as
//! they come, and each takes the byte or two that it has in the file. [`Packed::write`] writes the
//! file that [`write`](super::write) would: names and declarations first, though some of them were
//! added after the first events.

use std::fmt;
use std::io::{self, Write};

use super::chunk::{ChunkType, write_chunk, write_file_header};
use super::encode::{Access, Batch};
use super::predict::State;
use super::reader::read;
use super::tables::{Declarations, Written};
use super::writer::{is_defined, write_end};
use crate::trace::NONE;
use crate::{
    EventKind, MemoryOrder, Op, SiteId, ThreadId, Trace, TraceBuilder, ValueId, VarId, pages,
};

/// Events that are packed as they come. Their names are the caller's.
pub struct PackedEvents {
    state: State,
    batch: Batch,
    /// The chunks that are full, as they are in the file.
    chunks: Vec<u8>,
    /// Events in them.
    events: u64,
}

impl Default for PackedEvents {
    fn default() -> Self {
        let (batch, chunks) = (Batch::default(), Vec::new());
        PackedEvents { state: State::new(), batch, chunks, events: 0 }
    }
}

impl PackedEvents {
    /// Number of events.
    #[inline]
    pub fn len(&self) -> usize {
        self.events as usize + self.batch.events
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event.
    ///
    /// # Panics
    /// If the event is of a thread or on a variable that `names` does not have.
    #[inline]
    pub fn push(&mut self, names: &Trace, thread: ThreadId, kind: EventKind, site: Option<SiteId>) {
        self.push_ordered(names, thread, kind, MemoryOrder::default(), site);
    }

    /// Adds an event with a memory order, which counts if the operation has one.
    ///
    /// # Panics
    /// As [`PackedEvents::push`].
    #[inline]
    pub fn push_ordered(
        &mut self,
        names: &Trace,
        thread: ThreadId,
        kind: EventKind,
        order: MemoryOrder,
        site: Option<SiteId>,
    ) {
        let order = if kind.op().has_order() { order } else { MemoryOrder::default() };
        match kind {
            EventKind::Read { var, value, register: None, .. }
            | EventKind::Write { var, value, expr: None, .. } => {
                let value = value.map_or(NONE, |v| v.0);
                let (op, site) = (kind.op(), site.map_or(NONE, |s| s.0));
                let access = Access { thread: thread.0, op, variable: var.0, value, site, order };
                self.push_access(names, &access);
            }
            _ => self.push_other(names, thread, kind, order, site),
        }
    }

    /// Adds a read or a write, without the way over an [`EventKind`].
    ///
    /// # Panics
    /// As [`PackedEvents::push`].
    #[inline]
    pub fn push_plain(
        &mut self,
        names: &Trace,
        thread: ThreadId,
        (var, writes): (VarId, bool),
        value: ValueId,
        site: SiteId,
    ) {
        let op = if writes { Op::Write } else { Op::Read };
        let (thread, variable, order) = (thread.0, var.0, MemoryOrder::default());
        let access = Access { thread, op, variable, value: value.0, site: site.0, order };
        self.push_access(names, &access);
    }

    fn push_access(&mut self, names: &Trace, access: &Access) {
        if self.state.lacks(access.thread, access.variable) {
            self.state.grow(names.thread_count(), names.variable_count());
        }
        self.batch.push_access(&mut self.state, access);
        if self.batch.is_full() {
            self.cut();
        }
    }

    fn push_other(
        &mut self,
        names: &Trace,
        thread: ThreadId,
        kind: EventKind,
        order: MemoryOrder,
        site: Option<SiteId>,
    ) {
        debug_assert!(is_defined(names, thread, kind, site));
        self.state.grow(names.thread_count(), names.variable_count());
        self.batch.push(&mut self.state, thread, kind, order, site);
        if self.batch.is_full() {
            self.cut();
        }
    }

    #[cold]
    fn cut(&mut self) {
        if self.batch.events == 0 {
            return;
        }
        let first = self.events;
        self.events += self.batch.events as u64;
        let payload = self.batch.take(&mut self.state, first);
        pages::reserve(&mut self.chunks, payload.len() + 64);
        // Writing to memory fails for chunks of more than 4 GiB alone, and these are cut long
        // before.
        let _ = write_chunk(&mut self.chunks, ChunkType::EVENTS, &payload);
    }

    /// The trace of these events.
    pub fn finish(mut self, names: TraceBuilder) -> Packed {
        self.cut();
        Packed { names: names.build(), chunks: self.chunks, events: self.events }
    }
}

/// A trace whose events are packed.
#[derive(Clone)]
pub struct Packed {
    /// Everything but the events.
    names: Trace,
    chunks: Vec<u8>,
    events: u64,
}

impl Packed {
    /// Number of events.
    pub fn len(&self) -> usize {
        self.events as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// The trace without its events.
    pub fn names(&self) -> &Trace {
        &self.names
    }

    /// Says something about the execution as a whole; see [`Trace::meta`].
    pub fn set_meta(&mut self, key: &str, value: &str) {
        self.names.tables.meta.insert(key.to_owned(), value.to_owned());
    }

    /// Writes the trace to a `.ft` file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_file_header(out)?;
        Written::default().catch_up(&self.names, out)?;
        Declarations::of(&self.names).write(out)?;
        out.write_all(&self.chunks)?;
        write_end(self.events, out)?;
        out.flush()
    }

    /// The trace.
    ///
    /// # Panics
    /// If an event names something that the names do not have.
    pub fn unpack(&self) -> Trace {
        let mut file = Vec::with_capacity(self.chunks.len() + (1 << 16));
        let written = self.write(&mut file).map_err(super::Error::from);
        let decoded = written.and_then(|()| read(&file[..]));
        decoded.expect("what was packed can be unpacked").trace
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events in {} bytes", self.events, self.chunks.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Value, binary};

    #[test]
    fn the_file_is_that_of_the_whole_trace() {
        let mut whole = TraceBuilder::new();
        let mut names = TraceBuilder::new();
        let mut events = PackedEvents::default();
        // Enough for several chunks; names come up to the last one.
        for i in 0..50_000u32 {
            let mut kinds = Vec::new();
            for b in [&mut whole, &mut names] {
                let thread = b.thread(&format!("T{}", i % 3));
                let var = b.variable(&format!("x{}", i % 100 * (i / 10_000)));
                let value = Some(b.values().intern(Value::Int(i64::from(i) << (i % 40))));
                let site = Some(b.site(&format!("a.c:{}", i % 17), None));
                let lock = b.lock(&format!("l{}", i / 20_000));
                let kind = match i % 7 {
                    0 => EventKind::Acquire { lock },
                    1 => {
                        EventKind::Update { var, old: value, new: None, register: None, expr: None }
                    }
                    2 => EventKind::Read { var, atomic: true, value: None, register: None },
                    3 => EventKind::Read { var, atomic: false, value, register: None },
                    _ => EventKind::Write { var, atomic: false, value, expr: None },
                };
                kinds.push((thread, kind, site));
            }
            whole.push(kinds[0].0, kinds[0].1, kinds[0].2);
            match kinds[1] {
                (thread, EventKind::Write { var, value: Some(value), .. }, Some(site)) => {
                    events.push_plain(names.trace(), thread, (var, true), value, site);
                }
                (thread, kind, site) => events.push(names.trace(), thread, kind, site),
            }
        }
        for b in [&mut whole, &mut names] {
            let var = b.variable("x0");
            b.set_opaque(var);
            b.set_meta("ended", "exit 0");
        }
        let (whole, packed) = (whole.build(), events.finish(names));
        let (mut expected, mut file) = (Vec::new(), Vec::new());
        binary::write(&whole, &mut expected).unwrap();
        packed.write(&mut file).unwrap();
        assert!(file == expected);
        assert_eq!((packed.len(), packed.names().thread_count()), (50_000, 3));
        assert!(packed.unpack().events().eq(whole.events()));
    }

    #[test]
    fn no_events_are_a_trace_too() {
        let packed = PackedEvents::default().finish(TraceBuilder::new());
        assert!(packed.is_empty() && packed.unpack().is_empty());
    }
}
