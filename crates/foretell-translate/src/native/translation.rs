//! Second pass over the records of a run: each record goes to the part that it is about.

use foretell_log::{Calls, LastStep, LoggedRecord, PlainAccess, Sink, Source};
use foretell_rt_format::{ADOPTED, AtomicKind, Header, Record, SyncKind, ThreadOrigin};
use foretell_trace::{EventId, EventKind};
use rustc_hash::FxHashSet;

use super::PARALLEL;
use super::channels::Channels;
use super::context::Context;
use super::ended::EndedThreads;
use super::event_writer::EventWriter;
use super::failure::{AbortTexts, FailureSigns};
use super::hidden::{self, Hidden, OpenCalls};
use super::locations::Locations;
use super::memory::{Memory, memory_order};
use super::survey::Survey;
use super::sync::SyncObjects;
use crate::FORKED;
use crate::Translated;
use crate::blocks::{BlockScopes, Blocks, Scope};
use crate::symbolic::Rebuild;
use crate::thread_wait::ThreadWait;
use crate::trace_writer::TraceWriter;

/// A translation under way.
pub(super) struct Translation<'a> {
    blocks: &'a Blocks,
    out: EventWriter,
    memory: Memory,
    objects: SyncObjects,
    scopes: BlockScopes,
    channels: Channels,
    /// Number of records so far.
    records: u64,
    /// Index of the next record that is ordered after others.
    next_order: u64,
    /// Whether events are missing at the end.
    damaged: bool,
    failure: FailureSigns,
    ended: EndedThreads,
    /// Locks that the first thread holds when the log begins, and whether it is the reader side.
    held_before: Vec<(u64, bool)>,
    /// Threads whose next wait for a condition has a time limit.
    time_limits: FxHashSet<u32>,
    /// Events of waits that could have ended otherwise.
    limited: Vec<EventId>,
}

impl<'a> Translation<'a> {
    pub(super) fn new(
        survey: Survey,
        blocks: &'a Blocks,
        symbolic: Option<Box<Rebuild>>,
        packed: bool,
    ) -> Self {
        let trace = TraceWriter::new(packed);
        let hidden = Hidden::new(survey.hidden);
        let next_order = hidden.next_order();
        Translation {
            blocks,
            out: EventWriter {
                trace,
                locations: Locations::new(survey.frames),
                lifetimes: survey.lifetimes,
                hidden: Some(Box::new(hidden)),
                open: OpenCalls::default(),
                symbolic,
            },
            memory: Memory::new(survey.memory, blocks.atomic_volatile),
            objects: SyncObjects::new(survey.tried_semaphores),
            scopes: BlockScopes::new(survey.scopes),
            channels: Channels::new(survey.channels),
            records: 0,
            next_order,
            damaged: false,
            failure: FailureSigns::default(),
            ended: EndedThreads::default(),
            held_before: survey.held_before,
            time_limits: FxHashSet::default(),
            limited: Vec::new(),
        }
    }

    /// Whether the trace has room for the events of one more record.
    #[inline]
    fn has_room(&mut self) -> bool {
        let full = self.out.trace.is_full();
        self.damaged |= full;
        !full
    }

    fn entry(&mut self, at: &Context<'_>, record: &Record<'_>, last: Option<LastStep>) {
        self.out.follow(at, record);
        self.ended.take(at.thread, record);
        let Translation { out, memory, .. } = self;
        if hidden::concerns(record)
            && let Some(mut hidden) = out.hidden.take()
        {
            hidden.take(out, &mut memory.regions, at, record);
            out.hidden = Some(hidden);
        }
        match *record {
            Record::Module { bias, start, end, path, .. } => {
                out.locations.add_module(start, end, bias, path);
            }
            Record::ModuleGone { start } => out.locations.remove_module(start),
            Record::ThreadLocals { .. } => out.locations.thread_locals.take(at.thread, record),
            Record::ThreadName { thread, name } => {
                let t = out.trace.thread(thread);
                out.trace.builder.set_display_name(t, &String::from_utf8_lossy(name));
            }
            Record::ChildOfFork { path } => {
                out.trace.builder.set_meta(FORKED, &String::from_utf8_lossy(path));
                for (object, reads) in std::mem::take(&mut self.held_before) {
                    let kind = if reads { SyncKind::ReadLock } else { SyncKind::Lock };
                    let regions = &mut memory.regions;
                    if let Some(event) = self.objects.event(out, regions, (kind, object, 0)) {
                        out.push_marker(at, event, None);
                    }
                }
            }
            Record::ThreadEnd => {
                self.failure.end_of_thread(at.thread);
                let last = last.map(|last| out.locations.last_step(at.thread, last));
                out.trace.steps.last.extend(last);
                out.trace.end_thread(at.thread);
            }
            Record::Create { thread, nth, .. } => {
                let parent = at.thread;
                out.trace.steps.threads.push(ThreadOrigin { thread, parent, nth });
                let thread = out.trace.thread(thread);
                out.push(at, EventKind::Fork { thread });
            }
            Record::AfterOthers if at.ordinal == 0 => {
                adopt(&mut out.trace.steps.threads, at.thread)
            }
            Record::Join { thread, .. } => {
                let thread = out.trace.thread(thread);
                out.push(at, EventKind::Join { thread });
            }
            Record::FuncEntry { pc, .. } => {
                if let Some(name) = self.function_block(at) {
                    let label = Some(self.out.trace.builder.label(&name));
                    self.out.push_marker(at, EventKind::Begin { label }, Some(pc));
                }
            }
            Record::FuncExit => {
                if self.function_block(at).is_some() {
                    self.out.push_marker(at, EventKind::End { label: None }, None);
                }
            }
            Record::MarkBegin { label, .. } if self.blocks.markers => {
                let label = (!label.is_empty())
                    .then(|| out.trace.builder.label(&String::from_utf8_lossy(label)));
                out.push(at, EventKind::Begin { label });
            }
            Record::MarkEnd { .. } if self.blocks.markers => {
                out.push(at, EventKind::End { label: None });
            }
            Record::Sync { kind: SyncKind::Fence, other, .. } => {
                out.push_fence(at, memory_order(other as u8));
            }
            Record::Sync { kind, object, other, .. } => self.sync(at, (kind, object, other)),
            Record::Alloc { .. } => memory.allocate(out, at),
            Record::Free { counted: true, addr, .. } => memory.free(out, at, addr),
            Record::Deadlock { ref threads } => {
                self.failure.deadlock(out, (&mut self.objects, &mut memory.regions), threads);
            }
            Record::Stuck { ref threads } => {
                self.failure.stuck(out, (&mut self.objects, &mut memory.regions), threads);
            }
            Record::Abort { pc, condition, location, function } => {
                let texts = AbortTexts { condition, location, function };
                self.failure.abort(out, at, pc, &texts);
            }
            Record::EndOfProgram { .. } => self.failure.end_of_program(),
            Record::Crash { signal, pc, .. } => self.failure.crash(out, at, signal, pc),
            Record::Elided { count, .. } => {
                memory.accesses += count;
                memory.private += count;
            }
            Record::ElisionPoint => memory.elision_point(out, at, last),
            Record::AfterElisionPoint { thread } => memory.after_elision_point(out, at, thread),
            Record::ElisionGap { ordered, renews, addr, value, .. } => {
                memory.begin_gap(at, (ordered, renews), addr, value);
            }
            Record::Atomic { kind: AtomicKind::FailedUpdate, .. } => {
                memory.failed_update(out, at, record);
            }
            _ => memory.access(out, at, record),
        }
    }

    /// Returns the name of the function that is entered or left, if its calls are blocks.
    fn function_block(&mut self, at: &Context<'_>) -> Option<String> {
        if self.blocks.functions.is_empty() {
            return None;
        }
        let code = self.out.locations.symbols.code(at.calls.get(at.stack)?.pc);
        let (name, _) = code.functions.last()?;
        self.blocks.function(name).then(|| name.clone())
    }

    /// Adds the events of a synchronisation operation: the operation itself, the block that a
    /// lock scope is, and the changes of a semaphore's count.
    fn sync(&mut self, at: &Context<'_>, operation: (SyncKind, u64, u64)) {
        let Translation { out, objects, channels, memory, .. } = self;
        let (regions, (kind, object, other)) = (&mut memory.regions, operation);
        let scope = self.scopes.step(at.thread, at.ordinal, kind);
        match kind {
            SyncKind::DownFailed => return objects.failed_down(out, regions, at, object),
            SyncKind::SystemCall => return channels.system_call(at),
            SyncKind::TimeLimit => {
                self.time_limits.insert(at.thread);
                return;
            }
            SyncKind::Sent | SyncKind::Received | SyncKind::Looked | SyncKind::Unsure => {
                return channels.operation(out, at, operation);
            }
            _ => {}
        }
        let Some(event) = objects.event(out, regions, operation) else { return };
        let is_limited = match kind {
            SyncKind::Woken | SyncKind::TimedOut => self.time_limits.remove(&at.thread),
            SyncKind::Down => other != 0,
            _ => false,
        };
        if kind == SyncKind::Post {
            objects.change_count(out, regions, at, object, 1);
        }
        if scope == Scope::Opens {
            out.push_marker(at, EventKind::Begin { label: None }, at.pc);
        }
        out.push(at, event);
        if is_limited {
            self.limited.push(EventId::from_index(out.trace.steps.events.len() - 1));
        }
        if kind == SyncKind::Down {
            objects.change_count(out, regions, at, object, -1);
        }
        if scope == Scope::Closes {
            out.push_marker(at, EventKind::End { label: None }, at.pc);
        }
    }

    /// Adds the order of the record with this index after others. Returns the points that follow
    /// the record.
    fn order_before(&mut self, at: &Context<'_>, index: u64) -> Vec<u32> {
        if self.next_order != index {
            return Vec::new();
        }
        let Some(mut hidden) = self.out.hidden.take() else { return Vec::new() };
        let points = hidden.order_before(&mut self.out, at, index);
        self.next_order = hidden.next_order();
        self.out.hidden = Some(hidden);
        points
    }

    /// Takes a record that was counted. Returns false when the trace is full.
    fn numbered(&mut self, calls: &Calls, logged: &LoggedRecord<'_>) -> bool {
        if !self.has_room() {
            return false;
        }
        let (thread, record) = (logged.entry.thread, &logged.entry.record);
        let regions = &mut self.memory.regions;
        if let Record::Alloc { pc: call, addr, size } = *record {
            let pc = self.out.locations.own_code(call, logged.stack, calls);
            if logged.private > 0 {
                regions.count(pc, logged.private);
                return true;
            }
            regions.apply(thread, &Record::Alloc { pc, addr, size });
            self.out.locations.allocated(regions.last(), (call, logged.stack), calls);
        } else {
            regions.apply(thread, record);
        }
        let at = Context::of(logged, calls);
        let points = self.order_before(&at, self.records - 1);
        self.entry(&at, record, logged.last);
        if !points.is_empty()
            && let Some(mut hidden) = self.out.hidden.take()
        {
            hidden.add_points(&mut self.out, &self.memory.regions, at.thread, points);
            self.out.hidden = Some(hidden);
        }
        true
    }

    pub(super) fn finish(self, header: &Header, source: &dyn Source<'_>) -> Translated {
        let volatile = self.memory.volatile_properties(self.out.trace.builder.trace());
        let Memory { mut accesses, mut private, .. } = self.memory;
        if let Some(all) = source.accesses() {
            private += all.saturating_sub(accesses);
            accesses = all;
        }
        let mut out = self.out;
        let mut signs = self.failure;
        let mut waits = std::mem::take(&mut signs.waits);
        for &number in &self.time_limits {
            let thread = out.trace.thread(number);
            for (_, wait) in waits.iter_mut().filter(|(waits, _)| *waits == thread) {
                *wait = ThreadWait::LimitedCondition;
            }
        }
        let (failure, living) = signs.finish(&mut out);
        let EventWriter { mut trace, locations, hidden, symbolic, .. } = out;
        trace.steps.modules = locations.symbols.paths();
        let mode = if header.mode == PARALLEL { "parallel" } else { "serialized" };
        if header.mode != PARALLEL && !self.damaged && !source.damaged() {
            self.ended.declare(&mut trace);
        }
        let builder = &mut trace.builder;
        builder.set_meta("recorded", mode);
        builder.set_meta("seed", &header.seed.to_string());
        builder.set_meta("quantum", &header.quantum.to_string());
        builder.set_meta("accesses", &accesses.to_string());
        builder.set_meta("private accesses", &private.to_string());
        let kept = hidden.map(|hidden| hidden.kept.properties()).unwrap_or_default();
        for (key, value) in kept.into_iter().chain(volatile) {
            builder.set_meta(&key, &value);
        }
        let mut symbolic = symbolic.filter(|rebuild| rebuild.program.found);
        let filled = symbolic.as_mut().map(|rebuild| std::mem::take(&mut rebuild.filled));
        let (trace, steps, repairs) = trace.finish(filled.unwrap_or_default());
        Translated {
            trace,
            steps,
            accesses,
            private,
            repairs,
            damaged: self.damaged || source.damaged(),
            failure,
            living,
            waits,
            limited: self.limited,
            symbolic: symbolic.map(|rebuild| rebuild.counts),
        }
    }
}

impl Sink<'_> for Translation<'_> {
    /// Takes a record. Returns false when the trace is full.
    fn record(&mut self, calls: &Calls, logged: &LoggedRecord<'_>) -> bool {
        self.records += 1;
        self.numbered(calls, logged)
    }

    /// Takes a plain access, which most records are.
    fn plain(&mut self, calls: &Calls, access: &PlainAccess) -> bool {
        if !self.has_room() {
            return false;
        }
        let Translation { out, memory, .. } = self;
        self.records += 1;
        if self.next_order >= self.records
            && out.symbolic.is_none()
            && memory.cached_access(out, calls, access)
        {
            return true;
        }
        self.numbered(calls, &access.logged())
    }
}

/// Adds the origin of a thread that no recorded thread has created. The runtime numbers these
/// threads in the order of their indices.
fn adopt(origins: &mut Vec<ThreadOrigin>, thread: u32) {
    if thread == 0 || origins.iter().any(|o| o.thread == thread) {
        return;
    }
    let mut nth = 0;
    for other in origins.iter_mut().filter(|o| o.parent == ADOPTED) {
        if other.thread < thread {
            nth += 1;
        } else {
            other.nth += 1;
        }
    }
    origins.push(ThreadOrigin { thread, parent: ADOPTED, nth });
}
