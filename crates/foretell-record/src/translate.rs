//! The raw log of a run becomes a trace.
//!
//! Two passes over the log. The first finds out which memory is shared and where accesses cut it
//! (`granules`), and which lock scopes are blocks (`blocks`); the second writes the events. What
//! a reader of the trace should know:
//! - Freeing memory is a write to every shared variable in it: a use after free is a race.
//! - A read whose value no recorded write explains makes its variable opaque.
//! - A thread whose last event observes something ends with a `post` of a semaphore of its own:
//!   without it the thread could be joined after that last read went differently.
//! - A semaphore's failed try is not an event.
//!
//! The result is always legal: what is not (a log made in parallel mode may be out of order) is
//! dropped, and said.

use foretell_rt_format::{
    AccessKind, AtomicKind, Entry, Log, Record, Step, SyncKind, ThreadOrigin,
};
use foretell_trace::legality::Repair;
use foretell_trace::{
    BarrierId, CondId, EventKind, LockId, SemId, SiteId, ThreadId, Trace, TraceBuilder, Value,
    ValueId, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::blocks::{Blocks, Depths, Scope};
use crate::granules::Granule;
use crate::legal::legal;
use crate::names::Namer;
use crate::regions::{RegionId, Regions};
use crate::stacks::Stacks;
use crate::steps::Steps;
use crate::survey::{Survey, touched};
use crate::symbols::Symbols;

/// The trace of a run, and what was done to get it.
#[derive(Debug)]
pub struct Translated {
    /// The trace; legal.
    pub trace: Trace,
    /// Which step of the program each event was.
    pub steps: Steps,
    /// Accesses in the log.
    pub accesses: u64,
    /// Accesses that were left out: to memory of one thread alone, or that nobody wrote.
    pub private: u64,
    /// What was dropped to make the trace legal.
    pub repairs: Vec<Repair>,
    /// Whether the end of the log is damaged: what comes before it was taken.
    pub damaged: bool,
    /// Threads that were stuck when the program was ended for it.
    pub deadlock: bool,
}

/// Translates a log.
pub fn translate(log: &Log<'_>, blocks: &Blocks) -> Translated {
    let survey = Survey::of(log, blocks);
    let mut t = Translation::new(survey, blocks);
    // In parallel a new thread may come before the record of its creation: its records wait for that.
    let mut created = FxHashSet::from_iter([0]);
    let mut early: FxHashMap<u32, Vec<Entry<'_>>> = FxHashMap::default();
    for entry in log.events().map_while(Result::ok) {
        if t.builder.trace().len() >= MOST_EVENTS {
            t.out.damaged = true;
            break;
        }
        if log.header.mode == PARALLEL && !created.contains(&entry.thread) {
            early.entry(entry.thread).or_default().push(entry);
            continue;
        }
        t.entry(&entry);
        if let Record::Create { thread, .. } = entry.record {
            created.insert(thread);
            early.remove(&thread).iter().flatten().for_each(|entry| t.entry(entry));
        }
    }
    t.finish(log)
}

/// The mode of a log that was recorded in parallel.
const PARALLEL: u32 = 1;

/// Identifiers of events have 32 bits; one record can be many events, so stop well before.
const MOST_EVENTS: usize = u32::MAX as usize / 2;

/// What is known of a variable's content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Never written; what was read, if it was.
    Initial(Option<i64>),
    Known(i64),
    Unknown,
}

struct Variable {
    id: VarId,
    content: Content,
    opaque: bool,
}

/// What an access does to a variable.
#[derive(Clone, Copy)]
enum Action {
    Read,
    Write,
    Update,
}

struct Translation<'a> {
    survey: Survey,
    blocks: &'a Blocks,
    builder: TraceBuilder,
    regions: Regions,
    symbols: Symbols,
    variable_names: Namer,
    object_names: Namer,
    variables: FxHashMap<Granule, Variable>,
    locks: FxHashMap<(RegionId, u64), LockId>,
    conditions: FxHashMap<(RegionId, u64), CondId>,
    semaphores: FxHashMap<(RegionId, u64), SemId>,
    barriers: FxHashMap<(RegionId, u64), BarrierId>,
    threads: Vec<Option<ThreadId>>,
    stacks: Stacks,
    depths: Depths,
    /// Threads that are in a lock scope that is a block.
    in_scope: FxHashSet<u32>,
    /// The last step of each thread so far.
    last_steps: FxHashMap<u32, Step>,
    /// Threads whose last event so far observes something.
    observed_last: FxHashSet<u32>,
    found: Vec<Granule>,
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
        let out = Output { damaged: survey.damaged, ..Output::default() };
        Translation {
            survey,
            blocks,
            builder: TraceBuilder::new(),
            regions: Regions::new(),
            symbols: Symbols::default(),
            variable_names: Namer::default(),
            object_names: Namer::default(),
            variables: FxHashMap::default(),
            locks: FxHashMap::default(),
            conditions: FxHashMap::default(),
            semaphores: FxHashMap::default(),
            barriers: FxHashMap::default(),
            threads: Vec::new(),
            stacks: Stacks::default(),
            depths: Depths::default(),
            in_scope: FxHashSet::default(),
            last_steps: FxHashMap::default(),
            observed_last: FxHashSet::default(),
            found: Vec::new(),
            out,
        }
    }

    fn thread(&mut self, index: u32) -> ThreadId {
        let i = index as usize;
        if self.threads.len() <= i {
            self.threads.resize(i + 1, None);
        }
        let builder = &mut self.builder;
        *self.threads[i].get_or_insert_with(|| builder.thread(&format!("T{index}")))
    }

    fn entry(&mut self, entry: &Entry<'_>) {
        match entry.record {
            Record::Alloc { pc, addr, size } => {
                let pc = self.stacks.own_code(entry.thread, pc, &mut self.symbols);
                self.regions.apply(entry.thread, &Record::Alloc { pc, addr, size });
            }
            _ => self.regions.apply(entry.thread, &entry.record),
        }
        if let Some(kind) = entry.record.kind() {
            let (thread, ordinal) = (entry.thread, entry.ordinal);
            let place = entry.record.pc().and_then(|pc| self.symbols.file_offset(pc));
            self.last_steps.insert(thread, Step { thread, ordinal, kind, place });
        }
        match entry.record {
            Record::Module { bias, start, end, path, .. } => {
                self.symbols.add(start, end, bias, path);
            }
            Record::ModuleGone { start } => self.symbols.remove(start),
            Record::ThreadName { thread, name } => {
                let t = self.thread(thread);
                self.builder.set_display_name(t, &String::from_utf8_lossy(name));
            }
            Record::ThreadEnd => self.thread_end(entry.thread),
            Record::Create { thread, nth, .. } => {
                let parent = entry.thread;
                self.out.steps.threads.push(ThreadOrigin { thread, parent, nth });
                let thread = self.thread(thread);
                self.push(entry, EventKind::Fork { thread });
            }
            Record::Join { thread, .. } => {
                let thread = self.thread(thread);
                self.push(entry, EventKind::Join { thread });
            }
            Record::FuncEntry { pc, call } => self.function_entry(entry.thread, pc, call),
            Record::FuncExit => {
                if self.stacks.exit(entry.thread) {
                    self.push_marker(entry.thread, EventKind::End { label: None }, None);
                }
            }
            Record::MarkBegin { label, .. } if self.blocks.markers => {
                let label = (!label.is_empty())
                    .then(|| self.builder.label(&String::from_utf8_lossy(label)));
                self.push(entry, EventKind::Begin { label });
            }
            Record::MarkEnd { .. } if self.blocks.markers => {
                self.push(entry, EventKind::End { label: None });
            }
            Record::Sync { kind, object, other, .. } => self.sync(entry, kind, object, other),
            Record::Free { counted: true, addr, .. } => self.free(entry, addr),
            Record::Deadlock { .. } => self.out.deadlock = true,
            _ => self.access(entry),
        }
    }

    fn function_entry(&mut self, thread: u32, pc: u64, call: u64) {
        let mut block = None;
        if !self.blocks.functions.is_empty() {
            let code = self.symbols.code(pc);
            block = code.functions.last().map(|(name, _)| name.clone());
        }
        let block = block.filter(|name| self.blocks.function(name));
        self.stacks.enter(thread, pc, call, block.is_some());
        if let Some(name) = block {
            let label = Some(self.builder.label(&name));
            self.push_marker(thread, EventKind::Begin { label }, Some(pc));
        }
    }

    /// Adds an event that is a step of the program.
    fn push(&mut self, entry: &Entry<'_>, kind: EventKind) {
        let thread = self.thread(entry.thread);
        let pc = entry.record.pc();
        let site = pc.map(|pc| self.site(entry.thread, pc));
        self.builder.push(thread, kind, site);
        self.out.steps.events.push(self.last_steps.get(&entry.thread).copied());
        let op = kind.op();
        if op.reads() || op == foretell_trace::Op::TryFailed {
            self.observed_last.insert(entry.thread);
        } else {
            self.observed_last.remove(&entry.thread);
        }
    }

    /// Adds an event that is no step of its own.
    fn push_marker(&mut self, thread: u32, kind: EventKind, pc: Option<u64>) {
        let t = self.thread(thread);
        let site = pc.map(|pc| self.site(thread, pc));
        self.builder.push(t, kind, site);
        self.out.steps.events.push(None);
        self.observed_last.remove(&thread);
    }

    fn site(&mut self, thread: u32, pc: u64) -> SiteId {
        self.stacks.site(thread, pc, &mut self.builder, &mut self.symbols)
    }

    fn thread_end(&mut self, thread: u32) {
        self.out.steps.last.extend(self.last_steps.get(&thread));
        if thread != 0 && self.observed_last.contains(&thread) {
            let sem = self.builder.semaphore(&format!("exit of T{thread}"));
            self.push_marker(thread, EventKind::Post { sem }, None);
        }
    }

    fn object(&mut self, addr: u64) -> (RegionId, u64) {
        (self.regions.of(addr), addr)
    }

    fn object_name(&mut self, key: (RegionId, u64)) -> String {
        self.object_names.name(&self.regions, &mut self.symbols, key.0, key.1)
    }

    fn lock(&mut self, addr: u64) -> LockId {
        let key = self.object(addr);
        if let Some(&id) = self.locks.get(&key) {
            return id;
        }
        let name = self.object_name(key);
        let id = self.builder.lock(&name);
        self.locks.insert(key, id);
        id
    }

    fn condition(&mut self, addr: u64) -> CondId {
        let key = self.object(addr);
        if let Some(&id) = self.conditions.get(&key) {
            return id;
        }
        let name = self.object_name(key);
        let id = self.builder.condition(&name);
        self.conditions.insert(key, id);
        id
    }

    /// The semaphore at an address; one that is initialised starts a new life.
    fn semaphore(&mut self, addr: u64, count: Option<u64>) -> SemId {
        let key = self.object(addr);
        if let (Some(&id), None) = (self.semaphores.get(&key), count) {
            return id;
        }
        let name = self.object_name(key);
        let id = self.builder.semaphore(&name);
        self.builder.set_initial_count(id, count.unwrap_or(0));
        self.semaphores.insert(key, id);
        id
    }

    fn barrier(&mut self, addr: u64, parties: Option<u64>) -> BarrierId {
        let key = self.object(addr);
        if let (Some(&id), None) = (self.barriers.get(&key), parties) {
            return id;
        }
        let name = self.object_name(key);
        let id = self.builder.barrier(&name);
        let parties = parties.and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
        self.builder.set_parties(id, parties.max(1));
        self.barriers.insert(key, id);
        id
    }

    fn sync(&mut self, entry: &Entry<'_>, kind: SyncKind, object: u64, other: u64) {
        let scope = self.depths.step(entry.thread, kind);
        let opens =
            scope == Scope::Opens && self.survey.scopes.contains(&(entry.thread, entry.ordinal));
        let event = match kind {
            SyncKind::Lock => EventKind::Acquire { lock: self.lock(object) },
            SyncKind::Unlock => EventKind::Release { lock: self.lock(object) },
            SyncKind::TryFailed | SyncKind::TryReadFailed => {
                EventKind::TryFailed { lock: self.lock(object) }
            }
            SyncKind::ReadLock => EventKind::AcquireShared { lock: self.lock(object) },
            SyncKind::ReadUnlock => EventKind::ReleaseShared { lock: self.lock(object) },
            SyncKind::Wait => {
                EventKind::Wait { cond: self.condition(object), lock: self.lock(other) }
            }
            SyncKind::Woken => {
                EventKind::Woken { cond: self.condition(object), lock: self.lock(other) }
            }
            SyncKind::TimedOut => {
                EventKind::TimedOut { cond: self.condition(object), lock: self.lock(other) }
            }
            SyncKind::Signal => EventKind::Notify { cond: self.condition(object) },
            SyncKind::Broadcast => EventKind::NotifyAll { cond: self.condition(object) },
            SyncKind::Post => EventKind::Post { sem: self.semaphore(object, None) },
            SyncKind::Down => EventKind::Down { sem: self.semaphore(object, None) },
            SyncKind::Arrive => EventKind::Arrive { barrier: self.barrier(object, None) },
            SyncKind::Leave => EventKind::Leave { barrier: self.barrier(object, None) },
            SyncKind::SemInit => {
                self.semaphore(object, Some(other));
                return;
            }
            SyncKind::BarrierInit => {
                self.barrier(object, Some(other));
                return;
            }
            SyncKind::DownFailed | SyncKind::Init | SyncKind::Destroy => return,
        };
        if opens {
            self.in_scope.insert(entry.thread);
            self.push_marker(entry.thread, EventKind::Begin { label: None }, entry.record.pc());
        }
        self.push(entry, event);
        if scope == Scope::Closes && self.in_scope.remove(&entry.thread) {
            self.push_marker(entry.thread, EventKind::End { label: None }, entry.record.pc());
        }
    }

    /// Freed memory is written, with nobody knows what.
    fn free(&mut self, entry: &Entry<'_>, addr: u64) {
        let Some((region, _)) = self.regions.extent(addr) else { return };
        for granule in self.survey.granules.of_region(region) {
            self.variable_event(entry, granule, Action::Write, false, None, None);
        }
    }

    fn access(&mut self, entry: &Entry<'_>) {
        let Some((addr, len)) = touched(&entry.record) else { return };
        self.out.accesses += 1;
        let mut found = std::mem::take(&mut self.found);
        self.survey.granules.shared(&mut self.regions, addr, len, &mut found);
        if found.is_empty() {
            self.out.private += 1;
        }
        for &granule in &found {
            let part = Part { at: (granule.addr - addr) as usize, len: granule.len as usize };
            self.part(entry, granule, part);
        }
        self.found = found;
    }

    /// The part of an access that is on one granule.
    fn part(&mut self, entry: &Entry<'_>, granule: Granule, part: Part) {
        let plain = |kind| match kind {
            AccessKind::Read => Action::Read,
            AccessKind::Write => Action::Write,
        };
        match &entry.record {
            Record::Access { kind, value, .. } => {
                let value = part.of(&value.to_le_bytes());
                self.variable_event(entry, granule, plain(*kind), false, value, value);
            }
            Record::Wide { kind, value, .. } => {
                let value = value.and_then(|v| part.of(&wide(v)));
                self.variable_event(entry, granule, plain(*kind), false, value, value);
            }
            Record::Range { kind, data, .. } => {
                let value = part.of(data);
                self.variable_event(entry, granule, plain(*kind), false, value, value);
            }
            Record::Atomic { kind, old, new, .. } => {
                let (old, new) = (part.of(&wide(*old)), part.of(&wide(*new)));
                let action = match kind {
                    AtomicKind::Load | AtomicKind::FailedUpdate | AtomicKind::VolatileLoad => {
                        Action::Read
                    }
                    AtomicKind::Store | AtomicKind::VolatileStore => Action::Write,
                    AtomicKind::Update => Action::Update,
                };
                self.variable_event(entry, granule, action, true, old, new);
            }
            _ => {}
        }
    }

    fn variable_event(
        &mut self,
        entry: &Entry<'_>,
        granule: Granule,
        action: Action,
        atomic: bool,
        old: Option<i64>,
        new: Option<i64>,
    ) {
        let var = self.variable(granule, action, old, new);
        let old = old.map(|v| self.value(v));
        let new = new.map(|v| self.value(v));
        let kind = match action {
            Action::Read => EventKind::Read { var, atomic, value: old, register: None },
            Action::Write => EventKind::Write { var, atomic, value: new, expr: None },
            Action::Update => EventKind::Update { var, old, new, register: None, expr: None },
        };
        self.push(entry, kind);
    }

    fn value(&mut self, value: i64) -> ValueId {
        self.builder.values().intern(Value::Int(value))
    }

    /// The variable of a granule after an access; opaque if that saw what nobody wrote.
    fn variable(
        &mut self,
        granule: Granule,
        action: Action,
        old: Option<i64>,
        new: Option<i64>,
    ) -> VarId {
        if !self.variables.contains_key(&granule) {
            let name = self.variable_names.name(
                &self.regions,
                &mut self.symbols,
                granule.region,
                granule.addr,
            );
            let id = self.builder.variable(&name);
            let content = Content::Initial(None);
            self.variables.insert(granule, Variable { id, content, opaque: false });
        }
        let Some(variable) = self.variables.get_mut(&granule) else { return VarId(0) };
        if let (Action::Read | Action::Update, Some(seen)) = (action, old) {
            let explained = match variable.content {
                Content::Initial(first) => {
                    variable.content = Content::Initial(Some(first.unwrap_or(seen)));
                    first.is_none_or(|first| first == seen)
                }
                Content::Known(value) => value == seen,
                Content::Unknown => true,
            };
            if !explained && !variable.opaque {
                variable.opaque = true;
                self.builder.set_opaque(variable.id);
            }
        }
        if let Action::Write | Action::Update = action {
            variable.content = new.map_or(Content::Unknown, Content::Known);
        }
        variable.id
    }

    fn finish(self, log: &Log<'_>) -> Translated {
        let mut out = self.out;
        out.steps.modules = self.symbols.paths();
        let mut builder = self.builder;
        let mode = if log.header.mode == PARALLEL { "parallel" } else { "serialized" };
        builder.set_meta("recorded", mode);
        builder.set_meta("seed", &log.header.seed.to_string());
        builder.set_meta("quantum", &log.header.quantum.to_string());
        builder.set_meta("accesses", &out.accesses.to_string());
        builder.set_meta("private accesses", &out.private.to_string());
        let (trace, repairs) = legal(builder.build(), &mut out.steps.events);
        let mut numbers = FxHashMap::default();
        for (number, id) in (0u32..).zip(&self.threads) {
            numbers.extend(id.map(|id| (id, number)));
        }
        for event in trace.events() {
            if let EventKind::Join { thread } = event.kind {
                let number = numbers.get(&thread).map(|&number| (event.id.0, number));
                out.steps.joins.extend(number);
            }
        }
        Translated {
            trace,
            steps: out.steps,
            accesses: out.accesses,
            private: out.private,
            repairs,
            damaged: out.damaged,
            deadlock: out.deadlock,
        }
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
        let unused = 64 - 8 * self.len as u32;
        Some(i64::from_le_bytes(value) << unused >> unused)
    }
}

fn wide(halves: [u64; 2]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&halves[0].to_le_bytes());
    bytes[8..].copy_from_slice(&halves[1].to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests;
