//! Writing a `.ft` file, one event at a time.

use std::io::{self, Write};

use foretell_varint as varint;

use super::chunk::{ChunkType, write_chunk, write_file_header};
use super::encode::{Batch, Parts};
use super::predict::{State, table_of};
use super::tables::{Declarations, Written, object_counts};
use crate::expr::Exprs;
use crate::{
    BarrierId, CondId, EventKind, LabelId, LockId, MemBlockId, MemoryOrder, RegId, SemId, SiteId,
    ThreadId, Trace, TraceBuilder, ValueId, Values, VarId,
};

/// Writes a whole trace.
///
/// # Errors
/// If writing fails, or if the trace names something that it does not have.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = Encoder::start(out)?;
    encoder.declarations = Declarations::of(trace);
    for event in trace.events() {
        foretell_limit::check();
        let (kind, order) = (event.kind, event.order);
        encoder.push(trace, event.thread, (kind, order), event.site, out)?;
    }
    encoder.finish(trace, out)?;
    out.flush()
}

/// Writes a trace while it happens: names are interned and events pushed, and every chunk goes out
/// as soon as it is full. Nothing but names, values and guesses is kept.
///
/// After an error, what was written is a file that can be read up to its last whole chunk, and
/// nothing more should be written.
///
/// ```
/// use foretell_trace::{EventKind, binary};
///
/// let mut writer = binary::Writer::new(Vec::new())?;
/// let (main, x) = (writer.thread("main"), writer.variable("x"));
/// let at = writer.site("bank.c:41", None);
/// let value = Some(writer.values().intern(foretell_trace::Value::Int(7)));
/// writer.push(main, EventKind::Write { var: x, atomic: false, value, expr: None }, Some(at))?;
/// writer.set_meta("ended", "exit 0");
/// let file = writer.finish()?;
///
/// let decoded = binary::read(&file[..])?;
/// assert_eq!(decoded.trace.len(), 1);
/// assert!(decoded.notes.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<W: Write> {
    out: W,
    names: TraceBuilder,
    encoder: Encoder,
}

macro_rules! interners {
    ($($(#[$doc:meta])* $name:ident $id:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&mut self, name: &str) -> $id {
            self.names.$name(name)
        }
    )*};
}

impl<W: Write> Writer<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn new(mut out: W) -> io::Result<Self> {
        let encoder = Encoder::start(&mut out)?;
        Ok(Writer { out, names: TraceBuilder::new(), encoder })
    }

    interners! {
        /// The thread with this name.
        thread ThreadId;
        /// The variable with this name.
        variable VarId;
        /// The lock with this name.
        lock LockId;
        /// The condition variable with this name.
        condition CondId;
        /// The semaphore with this name.
        semaphore SemId;
        /// The barrier with this name.
        barrier BarrierId;
        /// The block label with this text.
        label LabelId;
        /// The memory block with this name.
        mem_block MemBlockId;
    }

    /// The site for a location and the call that led there.
    pub fn site(&mut self, location: &str, caller: Option<SiteId>) -> SiteId {
        self.names.site(location, caller)
    }

    /// The register of `thread` with this name (without the `%`).
    pub fn register(&mut self, thread: ThreadId, name: &str) -> RegId {
        self.names.register(thread, name)
    }

    /// The value table, to intern values in.
    pub fn values(&mut self) -> &mut Values {
        self.names.values()
    }

    /// The expression table, to intern expressions in.
    pub fn exprs(&mut self) -> &mut Exprs {
        self.names.exprs()
    }

    /// Declares a name for people.
    pub fn set_display_name(&mut self, t: ThreadId, name: &str) {
        self.encoder.declarations.display_name(t, name);
    }

    /// Declares the initial value of a variable.
    pub fn set_initial_value(&mut self, v: VarId, value: ValueId) {
        self.encoder.declarations.initial_value(v, value);
    }

    /// Declares the initial count of a semaphore.
    pub fn set_initial_count(&mut self, s: SemId, count: u64) {
        self.encoder.declarations.initial_count(s, count);
    }

    /// Declares the parties of a barrier.
    pub fn set_parties(&mut self, b: BarrierId, parties: u32) {
        self.encoder.declarations.parties(b, parties);
    }

    /// Declares a variable opaque: also written by code that was not recorded. It may be found
    /// out at any time, also after events on it were pushed.
    pub fn set_opaque(&mut self, v: VarId) {
        self.encoder.declarations.opaque(v);
    }

    /// Declares a lock order-only: it excludes interleavings, and synchronises nothing.
    pub fn set_order_only(&mut self, l: LockId) {
        self.encoder.declarations.order_only(l);
    }

    /// Declares that a thread had ended when the recording did.
    pub fn set_ended(&mut self, t: ThreadId) {
        self.encoder.declarations.ended(t);
    }

    /// Declares that a variable lies in a memory block.
    pub fn set_variable_part(&mut self, v: VarId, block: MemBlockId) {
        self.encoder.declarations.variable_part(v, block);
    }

    /// Declares that a lock lies in a memory block.
    pub fn set_lock_part(&mut self, l: LockId, block: MemBlockId) {
        self.encoder.declarations.lock_part(l, block);
    }

    /// Declares that a condition variable lies in a memory block.
    pub fn set_condition_part(&mut self, c: CondId, block: MemBlockId) {
        self.encoder.declarations.condition_part(c, block);
    }

    /// Says something about the execution as a whole; see [`Trace::meta`].
    pub fn set_meta(&mut self, key: &str, value: &str) {
        self.encoder.declarations.meta(key, value);
    }

    /// Adds an event at the end.
    ///
    /// # Errors
    /// If writing fails, or if the event names something that this writer did not hand out.
    pub fn push(
        &mut self,
        thread: ThreadId,
        kind: EventKind,
        site: Option<SiteId>,
    ) -> io::Result<()> {
        self.push_ordered(thread, kind, MemoryOrder::default(), site)
    }

    /// Adds an event with a memory order, which counts if the operation has one.
    ///
    /// # Errors
    /// As [`Writer::push`].
    pub fn push_ordered(
        &mut self,
        thread: ThreadId,
        kind: EventKind,
        order: MemoryOrder,
        site: Option<SiteId>,
    ) -> io::Result<()> {
        self.encoder.push(self.names.trace(), thread, (kind, order), site, &mut self.out)
    }

    /// Number of events that have been pushed.
    pub fn events(&self) -> u64 {
        self.encoder.events()
    }

    /// Cuts the chunk here and hands everything to the system: a crash after this loses nothing of
    /// what was pushed before.
    ///
    /// # Errors
    /// If writing fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.encoder.cut(self.names.trace(), &mut self.out)?;
        self.out.flush()
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.encoder.finish(self.names.trace(), &mut self.out)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// State that both ways of writing share. The names are the caller's.
struct Encoder {
    state: State,
    batch: Batch,
    written: Written,
    declarations: Declarations,
    /// Events in the chunks written so far.
    events: u64,
}

impl Encoder {
    fn start(out: &mut dyn Write) -> io::Result<Self> {
        write_file_header(out)?;
        Ok(Encoder {
            state: State::new(),
            batch: Batch::default(),
            written: Written::default(),
            declarations: Declarations::default(),
            events: 0,
        })
    }

    fn events(&self) -> u64 {
        self.events + self.batch.events as u64
    }

    fn push(
        &mut self,
        names: &Trace,
        thread: ThreadId,
        (kind, order): (EventKind, MemoryOrder),
        site: Option<SiteId>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if !is_defined(names, thread, kind, site) {
            let what = format!("event {} names something that is not defined", self.events());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        self.state.grow(names.thread_count(), names.variable_count());
        self.batch.push(&mut self.state, thread, kind, order, site);
        if self.batch.is_full() {
            self.cut(names, out)?;
        }
        Ok(())
    }

    /// Writes all that is waiting: definitions first, then the events that use them.
    fn cut(&mut self, names: &Trace, out: &mut dyn Write) -> io::Result<()> {
        self.written.catch_up(names, out)?;
        self.declarations.write(out)?;
        if self.batch.events > 0 {
            let first = self.events;
            self.events = self.events();
            let payload = self.batch.take(&mut self.state, first);
            write_chunk(out, ChunkType::EVENTS, &payload)?;
        }
        Ok(())
    }

    fn finish(&mut self, names: &Trace, out: &mut dyn Write) -> io::Result<()> {
        self.cut(names, out)?;
        write_end(self.events, out)
    }
}

/// Ends a file of so many events.
pub(super) fn write_end(events: u64, out: &mut dyn Write) -> io::Result<()> {
    let mut total = Vec::new();
    varint::push(&mut total, events);
    write_chunk(out, ChunkType::DONE, &total)
}

pub(super) fn is_defined(
    names: &Trace,
    thread: ThreadId,
    kind: EventKind,
    site: Option<SiteId>,
) -> bool {
    let parts = Parts::of(kind);
    let counts = object_counts(names);
    let value = |v: Option<u32>| v.is_none_or(|v| names.values().get(ValueId(v)).is_some());
    let below = |id: Option<u32>, count: usize| id.is_none_or(|id| (id as usize) < count);
    let table = table_of(kind.op().object_kind());
    thread.index() < names.thread_count()
        && below(site.map(|s| s.0), names.site_count())
        && below(parts.object, counts[table] as usize)
        && below(parts.lock, names.lock_count())
        && below(parts.register, names.register_count())
        && below(parts.expr, names.exprs().len())
        && value(parts.old)
        && value(parts.value)
}
