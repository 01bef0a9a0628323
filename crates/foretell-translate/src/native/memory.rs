//! Memory of a native run: accesses become events on variables.
//!
//! An access is split where shared cells end; each part is an event on the cell's variable. An
//! access to thread-private memory has no event. Freeing memory is one event, which writes an
//! unknown value to every variable in it: a use after free is a race.

mod access_cache;
mod elision_gaps;
mod failed_rmw;
mod plain;
mod symbolic;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use foretell_log::{CallId, touched};
use foretell_rt_format::{AccessKind, AtomicKind, Record};
use foretell_trace::{EventKind, FREES, MemoryOrder, Trace};
use rustc_hash::FxHashSet;

use super::context::{Context, Part, wide};
use super::event_writer::EventWriter;
use super::regions::Regions;
use super::survey::MemorySurvey;
use crate::action::Action;
use crate::native::cells::{Cell, Cells};
use access_cache::WordAccess;
use elision_gaps::ElisionGaps;
use variables::{Content, Variables};

/// The memory of a run so far, and its variables in the trace.
pub(super) struct Memory {
    pub(super) regions: Regions,
    cells: Cells,
    variables: Variables,
    gaps: ElisionGaps,
    /// Accesses in the log.
    pub(super) accesses: u64,
    /// Accesses without events: to memory that one thread uses, or that no thread writes.
    pub(super) private: u64,
    /// Cells of the access at hand; kept for its allocation.
    found: Vec<Cell>,
    /// Whether volatile accesses are atomic.
    atomic_volatile: bool,
    /// Source lines of the plain volatile accesses, by variable.
    volatile: BTreeMap<u32, BTreeSet<String>>,
    /// Variables and code addresses whose lines are in `volatile`.
    volatile_noted: FxHashSet<(u32, u64)>,
    /// Code addresses and call stacks of `free` whose locations are noted.
    frees_noted: FxHashSet<(u64, CallId)>,
}

impl Memory {
    pub(super) fn new(survey: MemorySurvey, atomic_volatile: bool) -> Memory {
        Memory {
            regions: Regions::new(),
            cells: survey.cells,
            variables: Variables::new(survey.failed_updates, survey.hidden_words, survey.benign),
            gaps: ElisionGaps::new(survey.awaited_points),
            accesses: 0,
            private: 0,
            found: Vec::new(),
            atomic_volatile,
            volatile: BTreeMap::new(),
            volatile_noted: FxHashSet::default(),
            frees_noted: FxHashSet::default(),
        }
    }

    /// Returns the position of an access that is within a word and whose page was touched.
    #[inline]
    fn word_access(&mut self, addr: u64, len: u64) -> Option<WordAccess> {
        if !WordAccess::applies(addr, len) {
            return None;
        }
        let region = self.regions.of(addr);
        let page = self.cells.page(region, addr)?;
        Some(WordAccess { region, page, addr, len })
    }

    /// Returns the variable of a cell, by its index.
    fn variable_of(&mut self, out: &mut EventWriter, cell: Cell) -> u32 {
        self.variables.of_cell(out, &self.regions, &self.gaps, cell)
    }

    /// Adds the start of the life of the block that was allocated last.
    pub(super) fn allocate(&mut self, out: &mut EventWriter, at: &Context<'_>) {
        let region = self.regions.last();
        if out.symbolic.is_some() || !out.lifetimes.is_freed(region) {
            return;
        }
        let shared = self.cells.has_shared(region);
        if let Some(block) = out.block_of_region(&self.regions, region, shared) {
            out.push_marker(at, EventKind::Alloc { block }, at.pc);
        }
    }

    /// Adds the end of the life of the block at `addr`: a write of an unknown value to all
    /// variables in it, as one event. In a symbolic trace, where each write has an expression, it
    /// is one event for each variable.
    pub(super) fn free(&mut self, out: &mut EventWriter, at: &Context<'_>, addr: u64) {
        let Some((region, _)) = self.regions.extent(addr) else { return };
        let cells = self.cells.of_region(region);
        let block = match out.symbolic {
            Some(_) => None,
            None => out.block_of_region(&self.regions, region, !cells.is_empty()),
        };
        if block.is_none() && !cells.is_empty() {
            self.note_free(out, at);
        }
        let write = Access::plain(Action::Write, None, None);
        for cell in cells {
            let variable = self.variable_of(out, cell);
            let benign = self.variables.get(variable).is_some_and(|variable| variable.benign);
            let Some(block) = block.filter(|_| !benign) else {
                self.access_variable(out, at, variable, write);
                continue;
            };
            if let Some(object) = self.variables.get(variable).and_then(|v| v.hidden) {
                out.use_object(&self.regions, at, object);
            }
            self.order_after_gap(out, at, variable);
            let var = self.variables.apply(&mut out.trace.builder, variable, write);
            out.trace.builder.set_variable_part(var, block);
        }
        out.lifetimes.free(region);
        if let Some(block) = block {
            out.push(at, EventKind::Free { block });
        }
    }

    /// Notes that writes at the location of a `free` stand for it.
    fn note_free(&mut self, out: &mut EventWriter, at: &Context<'_>) {
        let Some(pc) = at.pc else { return };
        if self.frees_noted.insert((pc, at.stack)) {
            let (site, _) = out.site(at, pc);
            let key = format!("{FREES}{}", out.trace.builder.trace().location(site));
            out.trace.builder.set_meta(&key, "free");
        }
    }

    /// Adds the events of an access, if the record is one.
    pub(super) fn access(&mut self, out: &mut EventWriter, at: &Context<'_>, record: &Record<'_>) {
        let Some((addr, len)) = touched(record) else { return };
        self.accesses += 1;
        // The cells of an access within a word depend on its address and length alone.
        let word = self.word_access(addr, len);
        match word.and_then(|word| self.variables.cache.get(word)) {
            Some(None) => {
                self.private += 1;
                return;
            }
            Some(Some(variable)) => {
                let part = Part { at: 0, len: len as usize };
                return self.access_part(out, at, record, variable, part);
            }
            None => {}
        }
        let mut found = std::mem::take(&mut self.found);
        self.cells.shared(&mut self.regions, addr, len, &mut found);
        if found.is_empty() {
            self.private += 1;
        }
        let mut only = None;
        for &cell in &found {
            let part = Part { at: (cell.addr - addr) as usize, len: cell.len as usize };
            let variable = self.variable_of(out, cell);
            only = ((cell.addr, cell.len) == (addr, len)).then_some(variable);
            self.access_part(out, at, record, variable, part);
        }
        if let Some(word) = word
            && (found.is_empty() || only.is_some())
        {
            self.variables.cache.set(word, only);
        }
        self.found = found;
    }

    /// Adds the event for the part of an access that is on one cell.
    fn access_part(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        record: &Record<'_>,
        variable: u32,
        part: Part,
    ) {
        let plain = |kind, value| {
            let action = match kind {
                AccessKind::Read => Action::Read,
                AccessKind::Write => Action::Write,
            };
            Access::plain(action, value, value)
        };
        let access = match record {
            Record::Access { kind, value, .. } => plain(*kind, part.of(&value.to_le_bytes())),
            Record::Wide { kind, value, .. } => plain(*kind, value.and_then(|v| part.of(&wide(v)))),
            Record::Range { kind, data, .. } => plain(*kind, part.of(data)),
            Record::Atomic { kind, old, new, order, .. } => {
                let (old, new) = (part.of(&wide(*old)), part.of(&wide(*new)));
                let action = match kind {
                    AtomicKind::Load | AtomicKind::VolatileLoad => Action::Read,
                    AtomicKind::FailedUpdate => Action::FailedUpdate,
                    AtomicKind::Store | AtomicKind::VolatileStore => Action::Write,
                    AtomicKind::Update => Action::Update,
                };
                let volatile = matches!(kind, AtomicKind::VolatileLoad | AtomicKind::VolatileStore);
                if volatile && !self.atomic_volatile {
                    self.note_volatile(out, at, variable);
                }
                let order = if volatile { MemoryOrder::SeqCst } else { memory_order(*order) };
                Access { action, atomic: !volatile || self.atomic_volatile, order, old, new }
            }
            _ => return,
        };
        self.access_variable(out, at, variable, access);
    }

    /// Notes the source line of a volatile access that is a plain one in the trace.
    fn note_volatile(&mut self, out: &mut EventWriter, at: &Context<'_>, variable: u32) {
        let Some(pc) = at.pc else { return };
        if self.volatile_noted.insert((variable, pc)) {
            let code = out.locations.symbols.code(pc);
            if code.known {
                self.volatile.entry(variable).or_default().insert(code.location.clone());
            }
        }
    }

    /// Returns the notes of a trace about volatile accesses: for each variable its source lines.
    pub(super) fn volatile_properties(&self, trace: &Trace) -> Vec<(String, String)> {
        let named = |(&variable, lines): (&u32, &BTreeSet<String>)| {
            let id = self.variables.get(variable)?.id;
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            Some((format!("volatile {}", trace.variable_name(id)), lines.join(", ")))
        };
        self.volatile.iter().filter_map(named).collect()
    }

    /// Adds the event of an access to a variable.
    fn access_variable(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        variable: u32,
        access: Access,
    ) {
        if let Some(object) = self.variables.get(variable).and_then(|v| v.hidden) {
            out.use_object(&self.regions, at, object);
        }
        let mut access = self.without_unchanged_vptr(out, variable, access);
        access.atomic |= self.variables.get(variable).is_some_and(|variable| variable.benign);
        if out.symbolic.is_some() {
            return self.symbolic_access(out, at, variable, access);
        }
        self.order_after_gap(out, at, variable);
        let var = self.variables.apply(&mut out.trace.builder, variable, access);
        let old = access.old.map(|v| out.trace.value(v));
        let new = access.new.map(|v| out.trace.value(v));
        let atomic = access.atomic;
        let kind = match access.action {
            Action::Read | Action::FailedUpdate => {
                EventKind::Read { var, atomic, value: old, register: None }
            }
            Action::Write => EventKind::Write { var, atomic, value: new, expr: None },
            Action::Update => EventKind::Update { var, old, new, register: None, expr: None },
        };
        out.push_ordered(at, kind, access.order);
        self.check_failed_updates(out, at, variable, access.action);
    }
}

impl Memory {
    /// Returns a store of a vtable pointer that the object already has as a read: destructors make
    /// it, and it changes nothing.
    fn without_unchanged_vptr(
        &self,
        out: &mut EventWriter,
        variable: u32,
        access: Access,
    ) -> Access {
        let variable = self.variables.get(variable).filter(|variable| variable.len == 8);
        let content = variable.map(|variable| variable.content);
        match (access, content) {
            (
                Access { action: Action::Write, atomic: false, new: Some(new), .. },
                Some(content),
            ) if content == Content::Known(new) && out.locations.symbols.is_vtable(new as u64) => {
                Access::plain(Action::Read, Some(new), None)
            }
            _ => access,
        }
    }
}

/// An access to a variable, with the values read and written.
#[derive(Clone, Copy)]
struct Access {
    action: Action,
    atomic: bool,
    /// Memory order, if the access is atomic.
    order: MemoryOrder,
    old: Option<i64>,
    new: Option<i64>,
}

impl Access {
    fn plain(action: Action, old: Option<i64>, new: Option<i64>) -> Self {
        Access { action, atomic: false, order: MemoryOrder::SeqCst, old, new }
    }
}

/// Returns the memory order with a number of the compilers' hooks. What compilers make of consume
/// is an acquire.
pub(super) fn memory_order(number: u8) -> MemoryOrder {
    match number {
        0 => MemoryOrder::Relaxed,
        1 | 2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}
