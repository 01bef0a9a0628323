//! Plain accesses to variables that are in the cache: nearly every event is one, so this path
//! looks up nothing twice.

use foretell_log::{Calls, PlainAccess};

use super::variables::Content;
use super::{Context, EventWriter, Memory};
use crate::action::Action;
use crate::native::context::{kind_of, signed};

impl Memory {
    /// Adds the event of a plain access, if its variable is in the cache.
    #[inline]
    pub(in crate::native) fn cached_access(
        &mut self,
        out: &mut EventWriter,
        calls: &Calls,
        access: &PlainAccess,
    ) -> bool {
        let &PlainAccess { thread, ordinal, stack, slot, addr, value } = access;
        let word = self.word_access(addr, slot.size() as u64);
        let Some(variable) = word.and_then(|word| self.variables.cache.get(word)) else {
            return false;
        };
        let Some(index) = variable else {
            self.accesses += 1;
            self.private += 1;
            return true;
        };
        let (builder, events) = (&mut out.trace.builder, &mut out.trace.steps.events);
        let (site, what) = out.locations.instruction(slot, (stack, calls), builder, events);
        let (writes, value) = (slot.writes(), signed(value, slot.size()));
        let Some(variable) = self.variables.get_mut(index) else { return false };
        if variable.gap.is_some_and(|gap| !self.gaps.is_after(thread, gap)) {
            // The event is ordered after an elision gap first.
            return false;
        }
        if !out.open.is_empty() || variable.hidden.is_some() || variable.benign {
            // Updates of hidden state come first; an access may be atomic.
            return false;
        }
        if writes && slot.size() == 8 && variable.content == Content::Known(value) {
            // A store of a vtable pointer that does not change may be no write.
            return false;
        }
        self.accesses += 1;
        let (var, has_lock) = (variable.id, variable.failed_update_lock.is_some());
        if !variable.apply_plain(writes, value) {
            out.trace.builder.set_opaque(var);
        }
        let value = match variable.value {
            Some((known, id)) if known == value => id,
            _ => {
                let id = out.trace.value(value);
                variable.value = Some((value, id));
                id
            }
        };
        out.trace.push_plain((thread, ordinal, what), (var, writes), value, site);
        if has_lock {
            let kind = Some(kind_of(slot));
            let at = Context { thread, ordinal, pc: Some(slot.pc()), kind, stack, calls };
            let action = if writes { Action::Write } else { Action::Read };
            self.check_failed_updates(out, &at, index, action);
        }
        true
    }
}
