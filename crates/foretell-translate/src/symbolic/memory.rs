//! Values in the thread-private memory of a thread that depend on shared reads.
//!
//! Every other value is the recorded one.

use std::collections::BTreeMap;

use foretell_trace::TraceBuilder;

use super::term::{Pins, Term, Terms, union};

/// A value in memory.
#[derive(Clone, Debug)]
pub(crate) struct StoredTerm {
    pub(crate) len: u64,
    pub(crate) width: u8,
    pub(crate) term: Term,
    /// Whether its address does not escape.
    pub(crate) hidden: bool,
}

/// Values by address; they do not overlap.
#[derive(Default, Debug)]
pub(crate) struct Memory {
    values: BTreeMap<u64, StoredTerm>,
}

impl Memory {
    pub(crate) fn forget(&mut self) {
        self.values.clear();
    }

    /// Returns the addresses of the values that overlap `len` bytes at `addr`.
    fn touched(&self, addr: u64, len: u64) -> Vec<u64> {
        let end = addr.saturating_add(len);
        let below = self.values.range(..addr).next_back();
        let below =
            below.filter(|(at, stored)| at.saturating_add(stored.len) > addr).map(|(at, _)| *at);
        below.into_iter().chain(self.values.range(addr..end).map(|(at, _)| *at)).collect()
    }

    /// Returns the value at exactly these bytes.
    pub(crate) fn exact(&self, addr: u64, len: u64) -> Option<&StoredTerm> {
        self.values.get(&addr).filter(|stored| stored.len == len)
    }

    /// Returns the conditions under which these bytes hold their recorded values.
    pub(crate) fn pins(
        &self,
        b: &mut TraceBuilder,
        terms: &mut Terms,
        addr: u64,
        len: u64,
    ) -> Pins {
        let mut all = None;
        for at in self.touched(addr, len) {
            let Some(stored) = self.values.get(&at) else { continue };
            let pins = terms.pinned(b, &stored.term, stored.width);
            all = union(&all, &pins);
        }
        all
    }

    /// Returns the conditions under which all values whose address may escape are the recorded
    /// ones.
    pub(crate) fn pins_of_all(&self, b: &mut TraceBuilder, terms: &mut Terms) -> Pins {
        let mut all = None;
        for stored in self.values.values().filter(|stored| !stored.hidden) {
            let pins = terms.pinned(b, &stored.term, stored.width);
            all = union(&all, &pins);
        }
        all
    }

    /// Removes all values whose address may escape: other code may have changed them.
    pub(crate) fn forget_open(&mut self) {
        self.values.retain(|_, stored| stored.hidden);
    }

    /// Removes these bytes. The rest of a value that they cut is the recorded one under the
    /// conditions of the whole value.
    pub(crate) fn clear(&mut self, b: &mut TraceBuilder, terms: &mut Terms, addr: u64, len: u64) {
        let end = addr.saturating_add(len);
        for at in self.touched(addr, len) {
            let Some(stored) = self.values.remove(&at) else { continue };
            let last = at.saturating_add(stored.len);
            if at >= addr && last <= end {
                continue;
            }
            let pins = terms.pinned(b, &stored.term, stored.width);
            for (from, to) in [(at, addr), (end, last)] {
                if from < to {
                    let term = Term { pins: pins.clone(), ..Term::default() };
                    let piece =
                        StoredTerm { len: to - from, width: 64, term, hidden: stored.hidden };
                    self.values.insert(from, piece);
                }
            }
        }
    }

    /// Puts a value at `addr`.
    pub(crate) fn put(
        &mut self,
        b: &mut TraceBuilder,
        terms: &mut Terms,
        addr: u64,
        stored: StoredTerm,
    ) {
        self.clear(b, terms, addr, stored.len);
        if stored.term.is_symbolic() {
            self.values.insert(addr, stored);
        }
    }
}
