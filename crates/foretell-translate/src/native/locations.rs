//! Source locations of a native run: symbols, sites and the accesses that come again and again.

mod instantiated_types;
mod instructions;
mod sites;

use foretell_log::{CallId, Calls, LastStep};
use foretell_rt_format::{Slot, Step};
use foretell_trace::{SiteId, TraceBuilder};

use super::names::Addressed;
use super::regions::RegionId;
use super::stack_frames::StackFrames;
use super::thread_locals::ThreadLocals;
use crate::debug_info::Place;
use crate::steps::EventSteps;
use crate::symbols::Symbols;
pub(super) use instantiated_types::InstantiatedTypes;
use instructions::Instructions;
use sites::{FileOffset, Sites};

/// Source locations by code address and call stack.
#[derive(Default)]
pub(crate) struct Locations {
    pub(super) symbols: Symbols,
    /// Frames in which variables on stacks are used.
    pub(super) frames: StackFrames,
    pub(super) thread_locals: ThreadLocals,
    sites: Sites,
    instructions: Instructions,
    /// Types for which the functions of Rust around allocations were instantiated.
    pub(super) instantiated: InstantiatedTypes,
}

impl Locations {
    pub(super) fn new(frames: StackFrames) -> Locations {
        Locations { frames, ..Locations::default() }
    }

    /// Adds a module that was loaded.
    pub(super) fn add_module(&mut self, start: u64, end: u64, bias: u64, path: &[u8]) {
        self.symbols.add(start, end, bias, path);
        self.forget_code();
    }

    /// Removes the module that was loaded at `start`.
    pub(super) fn remove_module(&mut self, start: u64) {
        self.symbols.remove(start);
        self.forget_code();
    }

    /// Forgets what code addresses mean, since the modules have changed.
    fn forget_code(&mut self) {
        self.sites = Sites::default();
        self.instructions = Instructions::default();
        self.instantiated.forget_code();
    }

    /// Returns the site of an event at `pc` under a call stack, and the file offset of `pc`.
    pub(super) fn site(
        &mut self,
        pc: u64,
        stack: CallId,
        calls: &Calls,
        builder: &mut TraceBuilder,
    ) -> (SiteId, FileOffset) {
        self.sites.site(pc, stack, calls, builder, &mut self.symbols)
    }

    /// Returns the code address that stands for an allocation; see [`Sites::own_code`].
    pub(super) fn own_code(&mut self, pc: u64, stack: CallId, calls: &Calls) -> u64 {
        self.sites.own_code(pc, stack, calls, &mut self.symbols)
    }

    /// Returns the local variable of a thread at an address of its stack; see
    /// [`StackFrames::local`].
    pub(super) fn local(&mut self, object: Addressed, thread: u32) -> Option<(String, Place)> {
        self.frames.local(&mut self.symbols, object, thread)
    }

    /// Notes the types of the functions of Rust around the allocation of a region.
    pub(super) fn allocated(&mut self, region: RegionId, at: (u64, CallId), calls: &Calls) {
        self.instantiated.allocated(region, at, calls, &mut self.symbols);
    }

    /// Returns the site of a plain access, and the number of its step's kind and location.
    #[inline]
    pub(super) fn instruction(
        &mut self,
        slot: Slot,
        (stack, calls): (CallId, &Calls),
        builder: &mut TraceBuilder,
        steps: &mut EventSteps,
    ) -> (SiteId, u32) {
        match self.instructions.get(slot.key, stack) {
            Some(known) => known,
            None => self.new_instruction(slot, (stack, calls), builder, steps),
        }
    }

    #[inline(never)]
    fn new_instruction(
        &mut self,
        slot: Slot,
        (stack, calls): (CallId, &Calls),
        builder: &mut TraceBuilder,
        steps: &mut EventSteps,
    ) -> (SiteId, u32) {
        let (site, offset) = self.site(slot.pc(), stack, calls, builder);
        let what = steps.number((super::kind_of(slot), offset));
        self.instructions.set(slot.key, stack, (site, what));
        (site, what)
    }

    /// Returns the last step of a thread.
    pub(super) fn last_step(&mut self, thread: u32, last: LastStep) -> Step {
        let LastStep { ordinal, kind, pc } = last;
        let place = pc.and_then(|pc| self.symbols.file_offset(pc));
        Step { thread, ordinal, kind, place }
    }
}
