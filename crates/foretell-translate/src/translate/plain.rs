//! PlainAccess accesses to known variables: nearly every event is one, so they have a way of their own that looks nothing up twice.

use foretell_rt_format::{Kind, Slot};
use foretell_trace::{SiteId, ValueId};

use super::known::{Known, Spot};
use super::{At, Translation, signed};
use crate::attempts::Action;
use foretell_log::PlainAccess;
use foretell_log::{CallId, Calls};

/// Places of the cache.
const PLACES: usize = 1 << 10;

/// An instruction that accesses memory, under a stack.
#[derive(Clone, Copy)]
struct Code {
    /// See [`Slot::key`]; 0: none.
    key: u64,
    stack: CallId,
    /// The number of the step's kind and place.
    what: u32,
    site: SiteId,
}

/// Instructions, in the place that code address and stack give.
pub(super) struct Codes(Box<[Code; PLACES]>);

const NO_CODE: Code = Code { key: 0, stack: 0, what: 0, site: SiteId(0) };

impl Default for Codes {
    fn default() -> Self {
        Codes(Box::new([NO_CODE; PLACES]))
    }
}

impl Codes {
    #[inline]
    fn place(&mut self, key: u64, stack: CallId) -> &mut Code {
        &mut self.0[(key ^ (key >> 10) ^ u64::from(stack).wrapping_mul(5)) as usize % PLACES]
    }

    /// Addresses mean something else from here on.
    pub(super) fn forget(&mut self) {
        self.0.fill(NO_CODE);
    }
}

impl Translation<'_> {
    /// Where an access is, if it is within a word and its page was touched.
    #[inline]
    pub(super) fn spot(&mut self, addr: u64, len: u64) -> Option<Spot> {
        if !Known::applies(addr, len) {
            return None;
        }
        let region = self.regions.of(addr);
        let page = self.survey.cells.page(region, addr)?;
        Some(Spot { region, page, addr, len })
    }

    /// Takes an access in, if its variable is known.
    #[inline]
    pub(super) fn known_access(&mut self, calls: &Calls, access: &PlainAccess) -> bool {
        let &PlainAccess { thread, ordinal, stack, slot, addr, value } = access;
        let known = self.spot(addr, slot.size() as u64).and_then(|spot| self.known.get(spot));
        let Some(variable) = known else { return false };
        self.out.accesses += 1;
        let Some(variable) = variable else {
            self.out.private += 1;
            return true;
        };
        let (site, what) = self.code(slot, stack, calls);
        let (writes, value) = (slot.writes(), signed(value, slot.size()));
        let Some(found) = self.variables.get_mut(variable as usize) else { return false };
        if found.gap.is_some_and(|gap| !self.gaps.is_after(thread, gap)) {
            // The longer way.
            self.out.accesses -= 1;
            return false;
        }
        let (var, attempted, known) = (found.id, found.attempts.is_some(), found.value);
        if !found.plain(writes, value) {
            self.builder.set_opaque(var);
        }
        let value = match known {
            Some((known, id)) if known == value => id,
            _ => self.new_value(variable, value),
        };
        let id = self.thread(thread);
        self.add_plain(id, (var, writes), value, site);
        self.out.steps.events.push_known(thread, ordinal, what);
        self.observes(thread, !writes);
        if attempted {
            let kind = Some(if writes { Kind::Write } else { Kind::Read });
            let at = At { thread, ordinal, pc: Some(slot.pc()), kind, stack, calls };
            let action = if writes { Action::Write } else { Action::Read };
            self.pass_attempts(&at, variable, action);
        }
        true
    }

    /// The site of an access, and the number of what its step is.
    #[inline]
    fn code(&mut self, slot: Slot, stack: CallId, calls: &Calls) -> (SiteId, u32) {
        let code = self.codes.place(slot.key, stack);
        if (code.key, code.stack) == (slot.key, stack) {
            return (code.site, code.what);
        }
        self.new_code(slot, stack, calls)
    }

    #[inline(never)]
    fn new_code(&mut self, slot: Slot, stack: CallId, calls: &Calls) -> (SiteId, u32) {
        let Translation { sites, builder, symbols, .. } = self;
        let (site, place) = sites.site(slot.pc(), stack, calls, builder, symbols);
        let kind = if slot.writes() { Kind::Write } else { Kind::Read };
        let what = self.out.steps.events.number((kind, place));
        *self.codes.place(slot.key, stack) = Code { key: slot.key, stack, what, site };
        (site, what)
    }

    /// A value that a variable did not have before.
    #[inline]
    fn new_value(&mut self, variable: u32, value: i64) -> ValueId {
        let id = self.value(value);
        if let Some(variable) = self.variables.get_mut(variable as usize) {
            variable.value = Some((value, id));
        }
        id
    }
}
