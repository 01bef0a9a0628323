//! What the private memory of a thread holds that depends on shared reads.
//!
//! Only such values are kept: everything else is what was recorded.

use std::collections::BTreeMap;

use foretell_trace::TraceBuilder;

use super::term::{Pins, Term, Terms, union};

/// A value in memory.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) len: u64,
    pub(crate) width: u8,
    pub(crate) term: Term,
    /// Nobody else can have its address.
    pub(crate) hidden: bool,
}

/// Cells by address; they do not overlap.
#[derive(Default, Debug)]
pub(crate) struct Memory {
    cells: BTreeMap<u64, Cell>,
}

impl Memory {
    pub(crate) fn forget(&mut self) {
        self.cells.clear();
    }

    /// The addresses of the cells that `len` bytes at `addr` touch.
    fn touched(&self, addr: u64, len: u64) -> Vec<u64> {
        let end = addr.saturating_add(len);
        let below = self.cells.range(..addr).next_back();
        let below =
            below.filter(|(at, cell)| at.saturating_add(cell.len) > addr).map(|(at, _)| *at);
        below.into_iter().chain(self.cells.range(addr..end).map(|(at, _)| *at)).collect()
    }

    /// The cell that is exactly there.
    pub(crate) fn exact(&self, addr: u64, len: u64) -> Option<&Cell> {
        self.cells.get(&addr).filter(|cell| cell.len == len)
    }

    /// The conditions that hold what is there to what it was.
    pub(crate) fn pins(
        &self,
        b: &mut TraceBuilder,
        terms: &mut Terms,
        addr: u64,
        len: u64,
    ) -> Pins {
        let mut all = None;
        for at in self.touched(addr, len) {
            let Some(cell) = self.cells.get(&at) else { continue };
            let pins = terms.pinned(b, &cell.term, cell.width);
            all = union(&all, &pins);
        }
        all
    }

    /// The same for everything that others can have the address of.
    pub(crate) fn pins_of_all(&self, b: &mut TraceBuilder, terms: &mut Terms) -> Pins {
        let mut all = None;
        for cell in self.cells.values().filter(|cell| !cell.hidden) {
            let pins = terms.pinned(b, &cell.term, cell.width);
            all = union(&all, &pins);
        }
        all
    }

    /// Others may have changed it; what it depended on is pinned.
    pub(crate) fn forget_open(&mut self) {
        self.cells.retain(|_, cell| cell.hidden);
    }

    /// Something else is there now. What is left of a cell that was cut stays what it was as long as the cell would.
    pub(crate) fn clear(&mut self, b: &mut TraceBuilder, terms: &mut Terms, addr: u64, len: u64) {
        let end = addr.saturating_add(len);
        for at in self.touched(addr, len) {
            let Some(cell) = self.cells.remove(&at) else { continue };
            let last = at.saturating_add(cell.len);
            if at >= addr && last <= end {
                continue;
            }
            let pins = terms.pinned(b, &cell.term, cell.width);
            for (from, to) in [(at, addr), (end, last)] {
                if from < to {
                    let term = Term { pins: pins.clone(), ..Term::default() };
                    let piece = Cell { len: to - from, width: 64, term, hidden: cell.hidden };
                    self.cells.insert(from, piece);
                }
            }
        }
    }

    /// Puts a value there.
    pub(crate) fn put(&mut self, b: &mut TraceBuilder, terms: &mut Terms, addr: u64, cell: Cell) {
        self.clear(b, terms, addr, cell.len);
        if cell.term.is_symbolic() {
            self.cells.insert(addr, cell);
        }
    }
}
