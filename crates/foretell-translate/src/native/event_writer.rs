//! Writes events of a native run: at a source location, and in a symbolic trace with guards.

use foretell_rt_format::{Record, Step};
use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{EventKind, MemoryOrder, RegId, SiteId, Value};

use super::context::Context;
use super::hidden::{Hidden, OpenCalls};
use super::lifetimes::Lifetimes;
use super::locations::Locations;
use crate::symbolic::Rebuild;
use crate::trace_writer::TraceWriter;

/// A trace under construction, with the source locations of its events.
pub(super) struct EventWriter {
    pub(super) trace: TraceWriter,
    pub(super) locations: Locations,
    pub(super) lifetimes: Lifetimes,
    /// Hidden state; none while it writes events itself.
    pub(super) hidden: Option<Box<Hidden>>,
    /// Calls of functions that are not recorded and that may not have ended.
    pub(super) open: OpenCalls,
    /// Follows the paths of threads, for a symbolic trace.
    pub(super) symbolic: Option<Box<Rebuild>>,
}

impl EventWriter {
    /// Adds an event that is a step of the program.
    pub(super) fn push(&mut self, at: &Context<'_>, kind: EventKind) {
        self.push_ordered(at, kind, MemoryOrder::default());
    }

    /// Adds an event that is a step of the program, with its memory order.
    pub(super) fn push_ordered(&mut self, at: &Context<'_>, kind: EventKind, order: MemoryOrder) {
        if !self.open.is_empty() {
            self.settle(at);
        }
        let location = at.pc.map(|pc| self.site(at, pc));
        let (site, place) = location.map_or((None, None), |(site, offset)| (Some(site), offset));
        let (thread, ordinal) = (at.thread, at.ordinal);
        let step = at.kind.map(|kind| Step { thread, ordinal, kind, place });
        self.trace.push_ordered(thread, kind, order, site, step);
    }

    /// Adds an event that is no step of its own.
    pub(super) fn push_marker(&mut self, at: &Context<'_>, kind: EventKind, pc: Option<u64>) {
        if !self.open.is_empty() {
            self.settle(at);
        }
        let site = pc.map(|pc| self.site(at, pc).0);
        self.trace.push_marker(at.thread, kind, site);
    }

    /// Adds a memory fence.
    pub(super) fn push_fence(&mut self, at: &Context<'_>, order: MemoryOrder) {
        if !self.open.is_empty() {
            self.settle(at);
        }
        let site = at.pc.map(|pc| self.site(at, pc).0);
        self.trace.push_fence(at.thread, order, site);
    }

    /// Returns the site of an event at `pc`.
    pub(super) fn site(&mut self, at: &Context<'_>, pc: u64) -> (SiteId, Option<(u32, u64)>) {
        self.locations.site(pc, at.stack, at.calls, &mut self.trace.builder)
    }

    /// Follows the path of a record's thread, in a symbolic trace.
    pub(super) fn follow(&mut self, at: &Context<'_>, record: &Record<'_>) {
        let Some(rebuild) = &mut self.symbolic else { return };
        let (thread, builder) = (at.thread, &mut self.trace.builder);
        match record {
            Record::Module { path, .. } => rebuild.program.add_file(path),
            Record::Trail { kind, pc, site, a, b } => {
                rebuild.note_address(thread, *kind, *pc);
                rebuild.trail(builder, thread, *kind, *site, *a, *b);
            }
            record => rebuild.before(builder, thread, record),
        }
        self.put_guards(at);
    }

    /// Adds the guards that the rebuild has found.
    pub(super) fn put_guards(&mut self, at: &Context<'_>) {
        let Some(rebuild) = &mut self.symbolic else { return };
        let pc = rebuild.guard_address(at.thread).or(at.pc);
        for expr in rebuild.guards() {
            self.push_marker(at, EventKind::Guard { expr }, pc);
        }
    }

    /// Returns a register for a number, in a symbolic trace: a symbolic trace has no broken
    /// reads, so a guard on the number takes their part.
    pub(super) fn number_register(&mut self, at: &Context<'_>) -> Option<RegId> {
        let rebuild = self.symbolic.as_mut()?;
        let id = self.trace.thread(at.thread);
        Some(rebuild.number(&mut self.trace.builder, (at.thread, id)))
    }

    /// Adds the guard that a register holds `value`.
    pub(super) fn push_number_guard(
        &mut self,
        at: &Context<'_>,
        register: RegId,
        value: i64,
        pc: Option<u64>,
    ) {
        let exprs = self.trace.builder.exprs();
        let held = exprs.intern(Expr::Reg(register));
        let value = exprs.intern(Expr::Const(Value::Int(value)));
        let expr = exprs.intern(Expr::App(ExprOp::Eq, [held, value].into()));
        self.push_marker(at, EventKind::Guard { expr }, pc);
    }
}
