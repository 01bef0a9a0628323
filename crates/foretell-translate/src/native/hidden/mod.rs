//! Hidden state: order that code which is not recorded makes between threads.
//!
//! A call of a function that is not recorded uses the state of the objects that it is given, and
//! perhaps that of its library and of the kernel. Each object is an opaque variable, and each use
//! of its state an update of that variable ([`open_calls`]): in every feasible interleaving the
//! uses keep their recorded order, and none is skipped. An object that one thread alone uses has no
//! events.
//!
//! | variable | stands for |
//! |---|---|
//! | `hidden:OBJECT` | the state of a block, a global, a stack ([`objects`]) |
//! | `hidden:lib LIBRARY` | the own state of a library |
//! | `hidden:kernel` | what passes through the kernel outside of the recorded channels |
//! | `hidden:after N` | the end of a thread so far; another thread comes back from a wait after it |
//!
//! - Where a call that is not recorded uses the kernel, every operation on a recorded channel
//!   updates `hidden:kernel` too, before the system call and after it.
//! - Freeing a block updates the block's state.
//! - A use of a block without a visible reference to it, and a read of a value that nothing
//!   explains, are ordered after other threads ([`first_pass`]).

mod contents;
mod first_pass;
mod objects;
mod open_calls;
mod orders;
mod provenance;
mod survey;
#[cfg(test)]
mod tests;

use foretell_rt_format::channel::received;
use foretell_rt_format::{Record, SyncKind};
use foretell_trace::VarId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::context::Context;
use super::event_writer::EventWriter;
use super::names::{Addressed, MemoryNames};
use super::opaque::{self, Chain};
use super::regions::{RegionKind, Regions};
use crate::debug_info::Whole;
use crate::function_names::readable;
use crate::kept_order::KeptOrder;
pub(super) use objects::Object;
use open_calls::ChainId;
pub(super) use open_calls::OpenCalls;
use orders::Order;
pub(super) use survey::HiddenSurvey;
use survey::uses_kernel;

impl EventWriter {
    /// Updates the state of an object that a recorded access uses too.
    pub(super) fn use_object(&mut self, regions: &Regions, at: &Context<'_>, object: Object) {
        let Some(mut hidden) = self.hidden.take() else { return };
        if let Some(chain) = hidden.chain(self, regions, object) {
            self.update_chain(at, chain, at.pc, at.kind.is_some());
        }
        self.hidden = Some(hidden);
    }
}

/// Hidden state of a run so far.
pub(super) struct Hidden {
    survey: HiddenSurvey,
    /// Chain of each object that several threads use.
    chains: FxHashMap<Object, ChainId>,
    names: MemoryNames,
    /// Threads that were joined: they have no further events.
    joined: FxHashSet<u32>,
    /// End of each thread so far that another thread was ordered after: the variable, and the
    /// position of its write.
    ends: FxHashMap<u32, (VarId, u32)>,
    /// Position up to which a thread comes after everything that the others have done.
    after_all: FxHashMap<u32, u32>,
    /// Number of variables in `ends` so far.
    numbered_ends: u64,
    /// Points that were written and not read yet.
    points: FxHashMap<u32, VarId>,
    /// Order that is kept, for the user.
    pub(super) kept: KeptOrder,
}

/// Whether [`Hidden::take`] has anything to do with a record.
#[inline]
pub(super) fn concerns(record: &Record<'_>) -> bool {
    match record {
        Record::Sync { kind, .. } => uses_kernel(*kind),
        Record::Module { .. }
        | Record::ModuleGone { .. }
        | Record::HiddenCall { .. }
        | Record::Free { counted: true, .. }
        | Record::Forked { .. }
        | Record::AfterOthers
        | Record::Join { .. } => true,
        _ => false,
    }
}

impl Hidden {
    pub(super) fn new(survey: HiddenSurvey) -> Hidden {
        let mut kept = KeptOrder::default();
        kept.first_uses = survey.accesses.first_uses;
        kept.unexplained_reads = survey.accesses.unexplained_reads;
        Hidden {
            survey,
            chains: FxHashMap::default(),
            names: MemoryNames::default(),
            joined: FxHashSet::default(),
            ends: FxHashMap::default(),
            after_all: FxHashMap::default(),
            numbered_ends: 0,
            points: FxHashMap::default(),
            kept,
        }
    }

    /// Returns the index of the next record that is ordered with others.
    #[inline]
    pub(super) fn next_order(&self) -> u64 {
        self.survey.accesses.orders.next()
    }

    /// Adds the order of a record after others, before its own events. Returns the points that
    /// follow the record.
    pub(super) fn order_before(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        index: u64,
    ) -> Vec<u32> {
        let mut points = Vec::new();
        while let Some(order) = self.survey.accesses.orders.take(index) {
            match order {
                Order::AfterOthers => {
                    self.after_all(out, at);
                }
                Order::After(point) => {
                    if let Some(var) = self.points.remove(&point) {
                        opaque::read_point(out, at, var);
                    }
                }
                Order::Point(point) => points.push(point),
            }
        }
        points
    }

    /// Adds the points that follow a record, after its own events.
    pub(super) fn add_points(
        &mut self,
        out: &mut EventWriter,
        regions: &Regions,
        thread: u32,
        points: Vec<u32>,
    ) {
        for point in points {
            let object = Object::Region(self.survey.accesses.orders.block(point));
            let name = self.name(out, regions, object);
            let name = self.names.names.unique(format!("hidden:{name}"));
            let var = opaque::variable(out, &name);
            opaque::write_end(out, thread, var);
            self.points.insert(point, var);
        }
    }

    /// Takes a record about hidden state, or one that changes it, before its own events.
    pub(super) fn take(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        at: &Context<'_>,
        record: &Record<'_>,
    ) {
        match *record {
            Record::Module { bias, start, end, path, .. } => {
                self.survey.objects.add_module(start, end, bias, path);
            }
            Record::ModuleGone { start } => self.survey.objects.remove_module(start),
            Record::HiddenCall { function, ref arguments, .. } => {
                self.call(out, regions, at, function, arguments);
            }
            Record::Free { counted: true, addr, .. } => {
                if let Some((region, _)) = regions.extent(addr)
                    && let Some(chain) = self.chain(out, regions, Object::Region(region))
                {
                    out.update_chain(at, chain, at.pc, true);
                }
            }
            Record::Sync { kind, other, .. } if uses_kernel(kind) => {
                self.kernel(out, regions, at, kind);
                if kind == SyncKind::Received && other & received::MAPPED != 0 {
                    self.after_all(out, at);
                }
            }
            Record::Forked { .. } => self.kernel(out, regions, at, SyncKind::Sent),
            Record::AfterOthers => self.after_others(out, at),
            Record::Join { thread, .. } => {
                self.joined.insert(thread);
            }
            _ => {}
        }
    }

    fn call(
        &mut self,
        out: &mut EventWriter,
        regions: &mut Regions,
        at: &Context<'_>,
        number: u64,
        arguments: &[u64],
    ) {
        let HiddenSurvey { functions, objects, .. } = &mut self.survey;
        let used = survey::used(functions, objects, regions, number, arguments);
        let chains: Vec<ChainId> =
            used.into_iter().filter_map(|object| self.chain(out, regions, object)).collect();
        if chains.is_empty() {
            return;
        }
        if let Some(function) = self.survey.functions.get(number) {
            let library = self.survey.functions.libraries.get(function.library as usize);
            self.kept.call(library.map_or("?", String::as_str), &readable(&function.name));
        }
        out.open_call(at, chains, false);
    }

    /// Adds the update of the kernel's state by an operation on a recorded channel.
    fn kernel(
        &mut self,
        out: &mut EventWriter,
        regions: &Regions,
        at: &Context<'_>,
        kind: SyncKind,
    ) {
        let Some(chain) = self.chain(out, regions, Object::Kernel) else { return };
        if kind == SyncKind::SystemCall {
            out.open_call(at, vec![chain], true);
        } else {
            out.update_chain(at, chain, opaque::code_address(at), false);
        }
    }

    /// Returns the chain of an object, if several threads use it.
    fn chain(
        &mut self,
        out: &mut EventWriter,
        regions: &Regions,
        object: Object,
    ) -> Option<ChainId> {
        if !self.survey.is_shared(object) {
            return None;
        }
        if let Some(&chain) = self.chains.get(&object) {
            return Some(chain);
        }
        let name = self.name(out, regions, object);
        let name = self.names.names.unique(format!("hidden:{name}"));
        let chain = Chain::new(out, &name);
        let chain = out.open.add(chain);
        self.chains.insert(object, chain);
        Some(chain)
    }

    /// Returns the name of an object.
    fn name(&mut self, out: &mut EventWriter, regions: &Regions, object: Object) -> String {
        let HiddenSurvey { functions, objects, .. } = &self.survey;
        match object {
            Object::Kernel => return "kernel".to_owned(),
            Object::Library(library) => {
                let library = functions.libraries.get(library as usize);
                return format!("lib {}", library.map_or("?", String::as_str));
            }
            Object::Data { file } => return format!("data of {}", objects.file_name(file)),
            Object::Region(region) => {
                if let RegionKind::Stack { thread } = regions.kind(region).0 {
                    return format!("stack of T{thread}");
                }
            }
            Object::Global { .. } | Object::Piece(_) => {}
        }
        let addr = objects.address(regions, object).unwrap_or(0);
        let locations = &mut out.locations;
        match object {
            Object::Region(region) => {
                let object = Addressed { region, addr, whole: Whole::Object };
                self.names.base(regions, locations, object).name
            }
            Object::Global { .. } => {
                locations.symbols.global(addr).map_or_else(String::new, |(name, _)| name)
            }
            _ => format!("memory+{addr:#x}"),
        }
    }

    /// Orders the rest of a thread that comes back from a wait after everything that the other
    /// threads have done meanwhile.
    fn after_others(&mut self, out: &mut EventWriter, at: &Context<'_>) {
        let since = out.trace.last_event(at.thread);
        self.kept.waits += u64::from(self.after_threads(out, at, since));
    }

    /// Orders the rest of a thread, which has seen what another thread left behind at some time,
    /// after everything that the other threads have done so far.
    fn after_all(&mut self, out: &mut EventWriter, at: &Context<'_>) {
        let since = self.after_all.get(&at.thread).copied().unwrap_or(0);
        self.after_threads(out, at, since);
        self.after_all.insert(at.thread, out.trace.last_event(at.thread));
    }

    /// Orders the rest of a thread after everything that the other threads have done, if they have
    /// events after the first `since` ones. Returns whether there was anything.
    fn after_threads(&mut self, out: &mut EventWriter, at: &Context<'_>, since: u32) -> bool {
        let others: Vec<u32> = out
            .trace
            .ran_since(since)
            .filter(|other| *other != at.thread && !self.joined.contains(other))
            .collect();
        for &other in &others {
            let end = self.end_so_far(out, other);
            opaque::read_point(out, at, end);
        }
        !others.is_empty()
    }

    /// Returns the variable that a thread writes at its end so far.
    fn end_so_far(&mut self, out: &mut EventWriter, thread: u32) -> VarId {
        if let Some(&(var, position)) = self.ends.get(&thread)
            && position == out.trace.last_event(thread)
        {
            return var;
        }
        self.numbered_ends += 1;
        let var = opaque::variable(out, &format!("hidden:after {}", self.numbered_ends));
        opaque::write_end(out, thread, var);
        self.ends.insert(thread, (var, out.trace.last_event(thread)));
        var
    }
}
