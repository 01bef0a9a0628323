//! The raw log of a run becomes a trace.
//!
//! Two passes over the records. The first finds out which memory is shared and where accesses cut it
//! (`cells`), and which lock scopes are blocks (`blocks`); the second writes the events. The records are
//! those of a whole log, or those that are left of it after what cannot matter was sifted out while the program ran
//! (`sift`): the trace is the same. What
//! a reader of the trace should know:
//! - Freeing memory is a write to every shared variable in it: a use after free is a race.
//! - A read whose value no recorded write explains makes its variable opaque.
//! - A thread whose last event observes something ends with a `post` of a semaphore of its own:
//!   without it the thread could be joined after that last read went differently. So does a thread without events, which could
//!   be joined before it is created.
//! - What goes from thread to thread through the kernel (pipes, sockets, signals, files) is read and written as
//!   variables of its own (see `channels`).
//! - A compare-and-exchange that failed is a read in a section of a lock (see `vain`).
//! - What was done to a variable without records comes before everything that is done to it with records (see `gaps`).
//! - A try to take a semaphore that failed is a read of a variable of its own, the semaphore's count (see `counts`).
//!
//! The result is always legal: what is not (a log made in parallel mode may be out of order) is
//! dropped, and said.

mod along;
mod channels;
mod counts;
mod gaps;
mod known;
mod packing;
mod plain;
mod sync;
mod translated;
mod vain;
mod variables;

pub use translated::Translated;

use foretell_rt_format::{
    AccessKind, AtomicKind, Entry, Header, Kind, Log, Record, Step, ThreadOrigin,
};
use foretell_trace::{
    BarrierId, CondId, EventId, EventKind, LockId, SemId, SiteId, ThreadId, Trace, TraceBuilder,
    Value, ValueId, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::attempts::Action;
use crate::blocks::{Blocks, Depths};
use crate::cells::Cell;
use crate::kept::Kept;
use crate::legal::legal;
use crate::names::Namer;
use crate::regions::{RegionId, Regions};
use crate::stacks::{Place, Sites};
use crate::steps::Steps;
use crate::survey::Survey;
use crate::symbolic::Rebuild;
use crate::symbols::Symbols;
use foretell_log::{CallId, Calls};
use foretell_log::{LastStep, LoggedRecord, PlainAccess, Sink, Source, WholeLog, touched};
use known::Known;
use packing::Packing;
use plain::Codes;
use variables::{Content, Variable};

/// Translates a log.
pub fn translate(log: &Log<'_>, blocks: &Blocks) -> Translated {
    translate_from(&WholeLog::new(log), &log.header, Calls::default(), blocks)
}

/// Translates the log of a program that was built for symbolic recording, to a symbolic trace. `None`: it was not.
pub fn translate_symbolic(log: &Log<'_>, blocks: &Blocks) -> Option<Translated> {
    let rebuild = Some(Box::default());
    let t = translate_with(&WholeLog::new(log), &log.header, Calls::default(), blocks, rebuild);
    t.symbolic.is_some().then_some(t)
}

/// Translates the records of a run; `calls` knows their stacks.
pub fn translate_from<'a>(
    source: &dyn Source<'a>,
    header: &Header,
    calls: Calls,
    blocks: &Blocks,
) -> Translated {
    translate_with(source, header, calls, blocks, None)
}

fn translate_with<'a>(
    source: &dyn Source<'a>,
    header: &Header,
    mut calls: Calls,
    blocks: &Blocks,
    symbolic: Option<Box<Rebuild>>,
) -> Translated {
    let survey = Survey::of(source, &mut calls, blocks);
    let mut t = Translation::new(survey, blocks);
    // What is not certain to be legal, or needs to be filled in, is better kept as it is.
    t.packing = (symbolic.is_none() && header.mode != PARALLEL).then(Box::default);
    t.symbolic = symbolic;
    t.out.damaged = source.damaged();
    if header.mode == PARALLEL {
        let created = FxHashSet::from_iter([0]);
        let early = FxHashMap::default();
        source.for_each(&mut calls, &mut InOrder { translation: &mut t, created, early });
    } else {
        source.for_each(&mut calls, &mut t);
    }
    if let Some(accesses) = source.accesses() {
        t.out.private += accesses.saturating_sub(t.out.accesses);
        t.out.accesses = accesses;
    }
    t.finish(header)
}

/// In parallel a new thread may come before the record of its creation: its records wait for that.
struct InOrder<'t, 'b, 'a> {
    translation: &'t mut Translation<'b>,
    created: FxHashSet<u32>,
    early: FxHashMap<u32, Vec<LoggedRecord<'a>>>,
}

impl<'a> Sink<'a> for InOrder<'_, '_, 'a> {
    fn record(&mut self, calls: &Calls, seen: &LoggedRecord<'a>) -> bool {
        if !self.created.contains(&seen.entry.thread) {
            self.early.entry(seen.entry.thread).or_default().push(seen.clone());
            return true;
        }
        if !self.translation.record(calls, seen) {
            return false;
        }
        if let Record::Create { thread, .. } = seen.entry.record {
            self.created.insert(thread);
            let early = self.early.remove(&thread);
            return early.iter().flatten().all(|seen| self.translation.record(calls, seen));
        }
        true
    }
}

/// The mode of a log that was recorded in parallel.
const PARALLEL: u32 = 1;

/// Identifiers of events have 32 bits; one record can be many events, so stop well before.
const MOST_EVENTS: usize = u32::MAX as usize / 2;

struct Translation<'a> {
    survey: Survey,
    blocks: &'a Blocks,
    /// Names, and the events unless they are packed.
    builder: TraceBuilder,
    packing: Option<Box<Packing>>,
    regions: Regions,
    symbols: Symbols,
    variable_names: Namer,
    object_names: Namer,
    variables: Vec<Variable>,
    variable_of: FxHashMap<Cell, u32>,
    known: Known,
    codes: Codes,
    locks: FxHashMap<(RegionId, u64), LockId>,
    conditions: FxHashMap<(RegionId, u64), CondId>,
    semaphores: FxHashMap<(RegionId, u64), SemId>,
    /// The counts of those that were tried in vain.
    counts: FxHashMap<SemId, VarId>,
    barriers: FxHashMap<(RegionId, u64), BarrierId>,
    channels: channels::Channels,
    gaps: gaps::Gaps,
    threads: Vec<Option<ThreadId>>,
    sites: Sites,
    depths: Depths,
    /// Threads that are in a lock scope that is a block.
    in_scope: FxHashSet<u32>,
    /// Whether the last event of each thread so far observes something, or there is none.
    observed_last: Vec<bool>,
    found: Vec<Cell>,
    /// Follows the paths of threads, for a symbolic trace.
    symbolic: Option<Box<Rebuild>>,
    out: Output,
}

#[derive(Default)]
struct Output {
    steps: Steps,
    accesses: u64,
    private: u64,
    damaged: bool,
    deadlock: bool,
}

impl<'a> Translation<'a> {
    fn new(survey: Survey, blocks: &'a Blocks) -> Self {
        Translation {
            survey,
            blocks,
            builder: TraceBuilder::new(),
            packing: None,
            regions: Regions::new(),
            symbols: Symbols::default(),
            variable_names: Namer::default(),
            object_names: Namer::default(),
            variables: Vec::new(),
            variable_of: FxHashMap::default(),
            known: Known::default(),
            codes: Codes::default(),
            locks: FxHashMap::default(),
            conditions: FxHashMap::default(),
            semaphores: FxHashMap::default(),
            counts: FxHashMap::default(),
            barriers: FxHashMap::default(),
            channels: channels::Channels::default(),
            gaps: gaps::Gaps::default(),
            threads: Vec::new(),
            sites: Sites::default(),
            depths: Depths::default(),
            in_scope: FxHashSet::default(),
            observed_last: Vec::new(),
            found: Vec::new(),
            symbolic: None,
            out: Output::default(),
        }
    }

    #[inline]
    fn thread(&mut self, index: u32) -> ThreadId {
        match self.threads.get(index as usize) {
            Some(&Some(id)) => id,
            _ => self.new_thread(index),
        }
    }

    #[cold]
    fn new_thread(&mut self, index: u32) -> ThreadId {
        let i = index as usize;
        if self.threads.len() <= i {
            self.threads.resize(i + 1, None);
        }
        let id = self.builder.thread(&format!("T{index}"));
        self.threads[i] = Some(id);
        id
    }

    /// Whether there is room for more events.
    #[inline]
    fn has_room(&mut self) -> bool {
        let full = self.events() >= MOST_EVENTS;
        self.out.damaged |= full;
        !full
    }

    fn entry(&mut self, at: &At<'_>, record: &Record<'_>, last: Option<LastStep>) {
        if self.symbolic.is_some() {
            self.along(at, record);
        }
        match *record {
            Record::Module { bias, start, end, path, .. } => {
                self.symbols.add(start, end, bias, path);
                self.forget_code();
            }
            Record::ModuleGone { start } => {
                self.symbols.remove(start);
                self.forget_code();
            }
            Record::ThreadName { thread, name } => {
                let t = self.thread(thread);
                self.builder.set_display_name(t, &String::from_utf8_lossy(name));
            }
            Record::ThreadEnd => self.thread_end(at, last),
            Record::Create { thread, nth, .. } => {
                let parent = at.thread;
                self.out.steps.threads.push(ThreadOrigin { thread, parent, nth });
                let thread = self.thread(thread);
                self.push(at, EventKind::Fork { thread });
            }
            Record::Join { thread, .. } => {
                let thread = self.thread(thread);
                self.push(at, EventKind::Join { thread });
            }
            Record::FuncEntry { pc, .. } => {
                if let Some(name) = self.function_block(at) {
                    let label = Some(self.builder.label(&name));
                    self.push_marker(at, EventKind::Begin { label }, Some(pc));
                }
            }
            Record::FuncExit => {
                if self.function_block(at).is_some() {
                    self.push_marker(at, EventKind::End { label: None }, None);
                }
            }
            Record::MarkBegin { label, .. } if self.blocks.markers => {
                let label = (!label.is_empty())
                    .then(|| self.builder.label(&String::from_utf8_lossy(label)));
                self.push(at, EventKind::Begin { label });
            }
            Record::MarkEnd { .. } if self.blocks.markers => {
                self.push(at, EventKind::End { label: None });
            }
            Record::Sync { kind, object, other, .. } => self.sync(at, kind, object, other),
            Record::Free { counted: true, addr, .. } => self.free(at, addr),
            Record::Deadlock { .. } => self.out.deadlock = true,
            Record::Elided { count, .. } => {
                self.out.accesses += count;
                self.out.private += count;
            }
            Record::ElisionPoint => self.leave_behind(at, last),
            Record::AfterElisionPoint { thread } => self.gather(at, thread),
            Record::ElisionGap { ordered, renews, addr, value, .. } => {
                self.forget(at, ordered, renews, addr, value);
            }
            Record::Atomic { kind: AtomicKind::FailedUpdate, .. } => self.attempt(at, record),
            _ => self.access(at, record),
        }
    }

    /// Code addresses mean something else from here on.
    fn forget_code(&mut self) {
        self.sites.forget();
        self.codes.forget();
    }

    /// The name of the function that is entered or left, if its calls are blocks.
    fn function_block(&mut self, at: &At<'_>) -> Option<String> {
        if self.blocks.functions.is_empty() {
            return None;
        }
        let code = self.symbols.code(at.calls.get(at.stack)?.pc);
        let (name, _) = code.functions.last()?;
        self.blocks.function(name).then(|| name.clone())
    }

    /// Adds an event that is a step of the program.
    fn push(&mut self, at: &At<'_>, kind: EventKind) {
        let thread = self.thread(at.thread);
        let (site, place) = match at.pc {
            Some(pc) => {
                let (site, place) = self.site(at, pc);
                (Some(site), place)
            }
            None => (None, None),
        };
        self.add(thread, kind, site);
        let (thread, ordinal) = (at.thread, at.ordinal);
        let step = at.kind.map(|kind| Step { thread, ordinal, kind, place });
        self.out.steps.events.push(step);
        let op = kind.op();
        self.observes(thread, op.reads() || op == foretell_trace::Op::TryFailed);
    }

    /// Adds an event that is no step of its own.
    fn push_marker(&mut self, at: &At<'_>, kind: EventKind, pc: Option<u64>) {
        let t = self.thread(at.thread);
        let site = pc.map(|pc| self.site(at, pc).0);
        self.add(t, kind, site);
        self.out.steps.events.push(None);
        self.observes(at.thread, false);
    }

    /// Whether the last event of a thread so far observes something.
    #[inline]
    fn observes(&mut self, thread: u32, observes: bool) {
        let i = thread as usize;
        if self.observed_last.len() <= i {
            self.observed_last.resize(i + 1, true);
        }
        self.observed_last[i] = observes;
    }

    fn site(&mut self, at: &At<'_>, pc: u64) -> (SiteId, Place) {
        self.sites.site(pc, at.stack, at.calls, &mut self.builder, &mut self.symbols)
    }

    fn thread_end(&mut self, at: &At<'_>, last: Option<LastStep>) {
        let thread = at.thread;
        self.out.steps.last.extend(last.map(|LastStep { ordinal, kind, pc }| {
            let place = pc.and_then(|pc| self.symbols.file_offset(pc));
            Step { thread, ordinal, kind, place }
        }));
        if thread != 0 && self.observed_last.get(thread as usize).is_none_or(|&o| o) {
            let sem = self.builder.semaphore(&format!("exit of T{thread}"));
            self.push_marker(at, EventKind::Post { sem }, None);
        }
    }

    /// Freed memory is written, with nobody knows what.
    fn free(&mut self, at: &At<'_>, addr: u64) {
        let Some((region, _)) = self.regions.extent(addr) else { return };
        for cell in self.survey.cells.of_region(region) {
            let variable = self.variable_of(cell);
            self.variable_event(at, variable, Action::Write, false, None, None);
        }
    }

    fn access(&mut self, at: &At<'_>, record: &Record<'_>) {
        let Some((addr, len)) = touched(record) else { return };
        self.out.accesses += 1;
        // Which cells an access within a word covers depends on where it is alone.
        let spot = self.spot(addr, len);
        match spot.and_then(|spot| self.known.get(spot)) {
            Some(None) => {
                self.out.private += 1;
                return;
            }
            Some(Some(variable)) => {
                return self.part(at, record, variable, Part { at: 0, len: len as usize });
            }
            None => {}
        }
        let mut found = std::mem::take(&mut self.found);
        self.survey.cells.shared(&mut self.regions, addr, len, &mut found);
        if found.is_empty() {
            self.out.private += 1;
        }
        let mut only = None;
        for &cell in &found {
            let part = Part { at: (cell.addr - addr) as usize, len: cell.len as usize };
            let variable = self.variable_of(cell);
            only = ((cell.addr, cell.len) == (addr, len)).then_some(variable);
            self.part(at, record, variable, part);
        }
        if let Some(spot) = spot
            && (found.is_empty() || only.is_some())
        {
            self.known.set(spot, only);
        }
        self.found = found;
    }

    /// The part of an access that is on one cell.
    fn part(&mut self, at: &At<'_>, record: &Record<'_>, variable: u32, part: Part) {
        let plain = |kind| match kind {
            AccessKind::Read => Action::Read,
            AccessKind::Write => Action::Write,
        };
        match record {
            Record::Access { kind, value, .. } => {
                let value = part.of(&value.to_le_bytes());
                self.variable_event(at, variable, plain(*kind), false, value, value);
            }
            Record::Wide { kind, value, .. } => {
                let value = value.and_then(|v| part.of(&wide(v)));
                self.variable_event(at, variable, plain(*kind), false, value, value);
            }
            Record::Range { kind, data, .. } => {
                let value = part.of(data);
                self.variable_event(at, variable, plain(*kind), false, value, value);
            }
            Record::Atomic { kind, old, new, .. } => {
                let (old, new) = (part.of(&wide(*old)), part.of(&wide(*new)));
                let action = match kind {
                    AtomicKind::Load | AtomicKind::VolatileLoad => Action::Read,
                    AtomicKind::FailedUpdate => Action::Attempt,
                    AtomicKind::Store | AtomicKind::VolatileStore => Action::Write,
                    AtomicKind::Update => Action::Update,
                };
                self.variable_event(at, variable, action, true, old, new);
            }
            _ => {}
        }
    }

    fn variable_event(
        &mut self,
        at: &At<'_>,
        variable: u32,
        action: Action,
        atomic: bool,
        old: Option<i64>,
        new: Option<i64>,
    ) {
        if self.symbolic.is_some() {
            return self.symbolic_event(at, variable, action, atomic, old, new);
        }
        self.come_after(at, variable);
        let var = self.variable(variable, action, old, new);
        let old = old.map(|v| self.value(v));
        let new = new.map(|v| self.value(v));
        let kind = match action {
            Action::Read | Action::Attempt => {
                EventKind::Read { var, atomic, value: old, register: None }
            }
            Action::Write => EventKind::Write { var, atomic, value: new, expr: None },
            Action::Update => EventKind::Update { var, old, new, register: None, expr: None },
        };
        self.push(at, kind);
        self.pass_attempts(at, variable, action);
    }

    fn value(&mut self, value: i64) -> ValueId {
        self.builder.values().intern(Value::Int(value))
    }

    fn finish(self, header: &Header) -> Translated {
        let mut out = self.out;
        out.steps.modules = self.symbols.paths();
        let mut builder = self.builder;
        let mode = if header.mode == PARALLEL { "parallel" } else { "serialized" };
        builder.set_meta("recorded", mode);
        builder.set_meta("seed", &header.seed.to_string());
        builder.set_meta("quantum", &header.quantum.to_string());
        builder.set_meta("accesses", &out.accesses.to_string());
        builder.set_meta("private accesses", &out.private.to_string());
        let mut numbers = FxHashMap::default();
        for (number, id) in (0u32..).zip(&self.threads) {
            numbers.extend(id.map(|id| (id, number)));
        }
        let number = |(e, thread): (EventId, ThreadId)| Some((e.0, *numbers.get(&thread)?));
        let mut symbolic = self.symbolic.filter(|r| r.program.found);
        let filled = symbolic.as_mut().map(|r| std::mem::take(&mut r.filled)).unwrap_or_default();
        let symbolic = symbolic.map(|r| r.counts);
        let (trace, repairs) = match self.packing {
            Some(packing) if packing.watch.is_legal() => {
                out.steps.joins.extend(packing.joins.into_iter().filter_map(number));
                (Kept::Packed(packing.events.finish(builder)), Vec::new())
            }
            packing => {
                let trace = match packing {
                    Some(packing) => packing.events.finish(builder).unpack(),
                    None => Self::filled(builder.build(), filled),
                };
                let (trace, repairs) = legal(trace, &mut out.steps.events);
                out.steps.joins.extend(joins(&trace).filter_map(number));
                (Kept::Whole(trace), repairs)
            }
        };
        Translated {
            trace,
            steps: out.steps,
            accesses: out.accesses,
            private: out.private,
            repairs,
            damaged: out.damaged,
            deadlock: out.deadlock,
            symbolic,
        }
    }
}

impl Sink<'_> for Translation<'_> {
    /// Takes a record in. False when the trace is full.
    fn record(&mut self, calls: &Calls, seen: &LoggedRecord<'_>) -> bool {
        if !self.has_room() {
            return false;
        }
        match seen.entry.record {
            Record::Alloc { pc, addr, size } => {
                let pc = self.sites.own_code(pc, seen.stack, calls, &mut self.symbols);
                if seen.private > 0 {
                    self.regions.count(pc, seen.private);
                    return true;
                } else {
                    self.regions.apply(seen.entry.thread, &Record::Alloc { pc, addr, size });
                }
            }
            _ => self.regions.apply(seen.entry.thread, &seen.entry.record),
        }
        self.entry(&At::of(seen, calls), &seen.entry.record, seen.last);
        true
    }

    /// The same of most accesses, by a shorter way.
    fn plain(&mut self, calls: &Calls, access: &PlainAccess) -> bool {
        if !self.has_room() {
            return false;
        }
        if self.symbolic.is_none() && self.known_access(calls, access) {
            return true;
        }
        self.record(calls, &access.logged())
    }
}

/// The joins of a trace, and the threads that they wait for.
fn joins(trace: &Trace) -> impl Iterator<Item = (EventId, ThreadId)> + '_ {
    trace.events().filter_map(|event| match event.kind {
        EventKind::Join { thread } => Some((event.id, thread)),
        _ => None,
    })
}

/// A record where it stands.
struct At<'s> {
    thread: u32,
    ordinal: u64,
    pc: Option<u64>,
    /// What step it is, if it is one.
    kind: Option<Kind>,
    stack: CallId,
    calls: &'s Calls,
}

impl<'s> At<'s> {
    fn of(seen: &LoggedRecord<'_>, calls: &'s Calls) -> At<'s> {
        let Entry { thread, ordinal, ref record } = seen.entry;
        At { thread, ordinal, pc: record.pc(), kind: record.kind(), stack: seen.stack, calls }
    }
}

/// Some bytes of an access.
#[derive(Clone, Copy)]
struct Part {
    at: usize,
    len: usize,
}

impl Part {
    /// Their value, as a signed number; none if they are not all there, or too many.
    fn of(self, bytes: &[u8]) -> Option<i64> {
        if self.len > 8 {
            return None;
        }
        let bytes = bytes.get(self.at..self.at + self.len)?;
        let mut value = [0u8; 8];
        value[..self.len].copy_from_slice(bytes);
        Some(signed(u64::from_le_bytes(value), self.len))
    }
}

/// The lowest `len` bytes, at most eight, as a signed number.
#[inline]
fn signed(bytes: u64, len: usize) -> i64 {
    let unused = 64 - 8 * len as u32;
    (bytes as i64) << unused >> unused
}

fn wide(halves: [u64; 2]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&halves[0].to_le_bytes());
    bytes[8..].copy_from_slice(&halves[1].to_le_bytes());
    bytes
}

#[cfg(test)]
pub(crate) mod tests;
