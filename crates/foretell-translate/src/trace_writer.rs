//! Writes the events of a trace, each with its step.
//!
//! A native run in serialized mode is *packed*: its events go into the bytes of the trace file as
//! they are made. Without the columns of a [`Trace`] between the log and the file, an event costs
//! a fraction of the time and of the memory. Properties of the whole trace are computed on the
//! way: which events are joins, and whether the trace is legal. A trace that is not certain to be
//! legal is unpacked and repaired.

use foretell_rt_format::Step;
use foretell_trace::binary::PackedEvents;
use foretell_trace::legality::{Repair, Watch};
use foretell_trace::{
    EventId, EventKind, MemoryOrder, SiteId, ThreadId, Trace, TraceBuilder, Value, ValueId, VarId,
};
use rustc_hash::FxHashMap;

use crate::legal::legal;
use crate::steps::Steps;
use crate::trace_output::TraceOutput;

/// Event count at which a translation stops. Event ids have 32 bits, and one record can become
/// many events.
const MAX_EVENTS: usize = u32::MAX as usize / 2;

/// Packed events, and the properties computed while packing.
#[derive(Default)]
struct Packing {
    events: PackedEvents,
    watch: Watch,
    /// Join events with the threads that they wait for.
    joins: Vec<(EventId, ThreadId)>,
}

impl Packing {
    #[inline]
    fn push(
        &mut self,
        names: &Trace,
        thread: ThreadId,
        kind: EventKind,
        order: MemoryOrder,
        site: Option<SiteId>,
    ) {
        let id = EventId::from_index(self.events.len());
        if let EventKind::Join { thread } = kind {
            self.joins.push((id, thread));
        }
        self.watch.push(names, id, thread, kind);
        self.events.push_ordered(names, thread, kind, order, site);
    }
}

/// The last event of a thread so far.
#[derive(Clone, Copy)]
struct LastEvent {
    /// Whether it observes a value; true for a thread without events.
    observes: bool,
    /// Number of events of the trace up to and including it; 0 for a thread without events.
    position: u32,
}

/// A trace under construction: names, events and steps.
pub(crate) struct TraceWriter {
    /// The names, and the events unless they are packed.
    pub(crate) builder: TraceBuilder,
    packing: Option<Box<Packing>>,
    /// Threads of the trace by their number in the log.
    threads: Vec<Option<ThreadId>>,
    last_events: Vec<LastEvent>,
    pub(crate) steps: Steps,
}

impl TraceWriter {
    pub(crate) fn new(packed: bool) -> TraceWriter {
        TraceWriter {
            builder: TraceBuilder::new(),
            packing: packed.then(Box::default),
            threads: Vec::new(),
            last_events: Vec::new(),
            steps: Steps::default(),
        }
    }

    /// Returns the thread with this number in the log.
    #[inline]
    pub(crate) fn thread(&mut self, number: u32) -> ThreadId {
        match self.threads.get(number as usize) {
            Some(&Some(id)) => id,
            _ => self.new_thread(number),
        }
    }

    /// Returns the numbers of all threads in the log so far.
    pub(crate) fn thread_numbers(&self) -> Vec<u32> {
        let known = self.threads.iter().enumerate().filter(|(_, id)| id.is_some());
        known.map(|(number, _)| number as u32).collect()
    }

    #[cold]
    fn new_thread(&mut self, number: u32) -> ThreadId {
        let i = number as usize;
        if self.threads.len() <= i {
            self.threads.resize(i + 1, None);
        }
        let id = self.builder.thread(&format!("T{number}"));
        self.threads[i] = Some(id);
        id
    }

    pub(crate) fn value(&mut self, value: i64) -> ValueId {
        self.builder.values().intern(Value::Int(value))
    }

    /// Returns the number of events so far.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.packing {
            Some(packing) => packing.events.len(),
            None => self.builder.trace().len(),
        }
    }

    /// Whether the trace has no room for the events of one more record.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= MAX_EVENTS
    }

    /// Adds an event that is a step of the program, with its memory order.
    pub(crate) fn push_ordered(
        &mut self,
        thread: u32,
        kind: EventKind,
        order: MemoryOrder,
        site: Option<SiteId>,
        step: Option<Step>,
    ) {
        let id = self.thread(thread);
        self.add(id, kind, order, site);
        self.steps.events.push(step);
        let op = kind.op();
        self.set_observed_last(thread, op.observes());
    }

    /// Adds an event that is no step of its own.
    pub(crate) fn push_marker(&mut self, thread: u32, kind: EventKind, site: Option<SiteId>) {
        let id = self.thread(thread);
        self.add(id, kind, MemoryOrder::default(), site);
        self.steps.events.push(None);
        self.set_observed_last(thread, false);
    }

    /// Adds a memory fence, which is no step of its own.
    pub(crate) fn push_fence(&mut self, thread: u32, order: MemoryOrder, site: Option<SiteId>) {
        let id = self.thread(thread);
        self.add(id, EventKind::Fence, order, site);
        self.steps.events.push(None);
        self.set_observed_last(thread, false);
    }

    /// Adds a plain access whose step kind and location have the number `what`.
    #[inline]
    pub(crate) fn push_plain(
        &mut self,
        (thread, ordinal, what): (u32, u64, u32),
        (var, writes): (VarId, bool),
        value: ValueId,
        site: SiteId,
    ) {
        let id = self.thread(thread);
        match &mut self.packing {
            Some(packing) if packing.watch.lets_run(id) => {
                packing.events.push_plain(self.builder.trace(), id, (var, writes), value, site);
            }
            _ => {
                let (value, atomic) = (Some(value), false);
                let kind = if writes {
                    EventKind::Write { var, atomic, value, expr: None }
                } else {
                    EventKind::Read { var, atomic, value, register: None }
                };
                self.add(id, kind, MemoryOrder::default(), Some(site));
            }
        }
        self.steps.events.push_known(thread, ordinal, what);
        self.set_observed_last(thread, !writes);
    }

    #[inline]
    fn add(&mut self, thread: ThreadId, kind: EventKind, order: MemoryOrder, site: Option<SiteId>) {
        match &mut self.packing {
            Some(packing) => packing.push(self.builder.trace(), thread, kind, order, site),
            None => {
                self.builder.push_ordered(thread, kind, order, site);
            }
        }
    }

    /// Sets whether the last event of a thread so far observes a value.
    #[inline]
    pub(crate) fn set_observed_last(&mut self, thread: u32, observes: bool) {
        let (i, position) = (thread as usize, self.len() as u32);
        if self.last_events.len() <= i {
            self.last_events.resize(i + 1, LastEvent { observes: true, position: 0 });
        }
        self.last_events[i] = LastEvent { observes, position };
    }

    /// Returns the number of events of the trace up to and including the last one of a thread; 0
    /// for a thread without events.
    pub(crate) fn last_event(&self, thread: u32) -> u32 {
        self.last_events.get(thread as usize).map_or(0, |last| last.position)
    }

    /// Returns the threads with events after the first `since` events of the trace.
    pub(crate) fn ran_since(&self, since: u32) -> impl Iterator<Item = u32> {
        let ran = (0u32..).zip(&self.last_events);
        ran.filter(move |(_, last)| last.position > since).map(|(thread, _)| thread)
    }

    /// Ends a thread. A thread whose last event observes a value, or that has no event, posts a
    /// semaphore of its own: without it the thread could be joined after its last read saw
    /// another value, or before it is created.
    pub(crate) fn end_thread(&mut self, thread: u32) {
        if thread != 0 && self.last_events.get(thread as usize).is_none_or(|last| last.observes) {
            let sem = self.builder.semaphore(&format!("exit of T{thread}"));
            self.push_marker(thread, EventKind::Post { sem }, None);
        }
    }

    /// Makes the trace legal and completes its steps. `filled` are values for writes that had
    /// none; a packed trace has no such writes.
    pub(crate) fn finish(self, filled: Vec<(EventId, Value)>) -> (TraceOutput, Steps, Vec<Repair>) {
        let TraceWriter { builder, packing, threads, mut steps, .. } = self;
        let mut numbers = FxHashMap::default();
        for (number, id) in (0u32..).zip(&threads) {
            numbers.extend(id.map(|id| (id, number)));
        }
        let number = |(e, thread): (EventId, ThreadId)| Some((e.0, *numbers.get(&thread)?));
        match packing {
            Some(packing) if packing.watch.is_legal() => {
                steps.joins.extend(packing.joins.into_iter().filter_map(number));
                (TraceOutput::Packed(packing.events.finish(builder)), steps, Vec::new())
            }
            packing => {
                let trace = match packing {
                    Some(packing) => packing.events.finish(builder).unpack(),
                    None => with_values(builder.build(), filled),
                };
                let (trace, repairs) = legal(trace, &mut steps.events);
                steps.joins.extend(joins(&trace).filter_map(number));
                (TraceOutput::Whole(trace), steps, repairs)
            }
        }
    }
}

/// Returns the joins of a trace with the threads that they wait for.
fn joins(trace: &Trace) -> impl Iterator<Item = (EventId, ThreadId)> + '_ {
    trace.events().filter_map(|event| match event.kind {
        EventKind::Join { thread } => Some((event.id, thread)),
        _ => None,
    })
}

/// Returns the trace with these values for writes that had none.
fn with_values(trace: Trace, values: Vec<(EventId, Value)>) -> Trace {
    if values.is_empty() {
        return trace;
    }
    let values: FxHashMap<EventId, Value> = values.into_iter().collect();
    let mut builder = trace.builder_with_names();
    for event in trace.events() {
        let mut kind = event.kind;
        if let (EventKind::Write { value, .. }, Some(known)) = (&mut kind, values.get(&event.id)) {
            *value = Some(builder.values().intern(*known));
        }
        builder.push_ordered(event.thread, kind, event.order, event.site);
    }
    builder.build()
}
