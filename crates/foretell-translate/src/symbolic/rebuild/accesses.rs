//! Loads, stores and addresses of the rebuild.

use foretell_trace::TraceBuilder;

use super::super::memory::StoredTerm;
use super::super::term::{Term, ones, union};
use super::{Rebuild, Storing, local};
use foretell_build::symbolic::ir::{self, Binary, Inst, Operand, Type};

/// Maximum length of a value that is not understood: two words, or a vector.
const OTHER_LEN: u64 = 64;

impl Rebuild {
    pub(super) fn inst(&mut self, t: u32, site: usize) -> Option<Inst> {
        self.top(t)?.function.as_ref()?.at(site).cloned()
    }

    /// Takes the use of an address: it is pinned to the recorded one.
    pub(super) fn address(&mut self, b: &mut TraceBuilder, t: u32, pointer: Operand, addr: u64) {
        let term = self.term(t, pointer);
        if term.expr.is_some() && term.bits != Some(addr) {
            return self.differs(b, t);
        }
        let pins = self.terms.pinned(b, &term, 64);
        self.emit(b, t, &pins);
    }

    pub(super) fn load(&mut self, b: &mut TraceBuilder, t: u32, site: usize, addr: u64) {
        self.run(b, t, site);
        if let Some(Inst::Load { pointer, .. }) = self.inst(t, site) {
            self.address(b, t, pointer, addr);
        }
    }

    pub(super) fn value(&mut self, b: &mut TraceBuilder, t: u32, site: usize, x: u64, y: u64) {
        self.run(b, t, site);
        match self.inst(t, site) {
            Some(Inst::Load { to, ty, .. }) => {
                let term = self.loaded(b, t, ty, x, y);
                self.set(b, t, to, term, ty.width());
            }
            Some(Inst::Alloca { to }) => {
                self.clear(b, t, x, y);
                self.set(b, t, to, Term::constant(x), None);
            }
            Some(Inst::Part { to, base, indices }) => {
                let base = self.term(t, base);
                let mut term = self.indices(b, t, &indices);
                let distance =
                    Term { bits: base.bits.map(|bits| x.wrapping_sub(bits)), ..Term::default() };
                let pins = union(&term.pins, &base.pins);
                term = match base.expr {
                    Some(_) => self.terms.binary(b, Binary::Add, 64, &base, &distance),
                    None => Term::constant(x),
                };
                term.pins = pins;
                self.set(b, t, to, term, Some(64));
            }
            _ => self.differs(b, t),
        }
        if let Some(frame) = self.top(t) {
            frame.at = site + 1;
        }
    }

    /// Returns the value of a load.
    pub(super) fn loaded(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        ty: Type,
        addr: u64,
        value: u64,
    ) -> Term {
        let width = ty.width();
        // The trail has no length for a float or a structure; its reads have.
        let len = width.map_or(0, |w| u64::from(w).div_ceil(8));
        let bits = width.map(|w| value & ones(w));
        let reads = std::mem::take(&mut self.thread(t).unclaimed);
        if let ([read], Some(bits)) = (&reads[..], bits)
            && (read.addr, read.len) == (addr, len)
            && read.term.expr.is_some()
        {
            let mut term = read.term.clone();
            if width == Some(1) {
                term = self.terms.cast(b, ir::Cast::Trunc, read.width, &term, 1);
            } else if width != Some(read.width) {
                let pins = self.terms.pinned(b, &term, read.width);
                return Term { bits: Some(bits), expr: None, pins };
            }
            if term.bits != Some(bits) {
                self.differs(b, t);
                return Term::constant(bits);
            }
            return term;
        }
        let thread = &self.threads[t as usize];
        if reads.is_empty()
            && let Some(stored) = thread.memory.exact(addr, len)
            && width == Some(stored.width)
        {
            let mut term = stored.term.clone();
            if term.bits.is_some_and(|known| Some(known) != bits) {
                self.differs(b, t);
                return Term { bits, ..Term::default() };
            }
            term.bits = bits;
            return term;
        }
        let span = if width.is_some() { len } else { 64 };
        let mut pins = thread.memory.pins(b, &mut self.terms, addr, span);
        for read in &reads {
            let more = self.terms.pinned(b, &read.term, read.width);
            pins = union(&pins, &more);
        }
        if pins.is_some() {
            self.counts.concrete += 1;
        }
        Term { bits, expr: None, pins }
    }

    pub(super) fn store(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        site: usize,
        addr: u64,
        value: u64,
    ) {
        self.run(b, t, site);
        let Some(Inst::Store { ty, value: operand, pointer }) = self.inst(t, site) else {
            return self.differs(b, t);
        };
        self.address(b, t, pointer, addr);
        let mut term = self.term(t, operand);
        if let Some(width) = ty.width() {
            let value = value & ones(width);
            if term.expr.is_some() && term.bits != Some(value) {
                self.differs(b, t);
                term = Term::default();
            }
            term.bits = Some(value);
        } else if let Some(local) = local(operand) {
            let (whole, width) = self.pinnable(b, t, local);
            term = Term { pins: self.terms.pinned(b, &whole, width), ..Term::default() };
        }
        let (len, width) = match ty.width() {
            Some(width) => (u64::from(width).div_ceil(8), width),
            None => (OTHER_LEN, 64),
        };
        let hidden = local(pointer).is_some_and(|l| {
            let function = self.top(t).and_then(|f| f.function.clone());
            function.is_some_and(|f| f.hidden.get(l as usize).copied().unwrap_or(false))
        });
        if ty.width().is_some() {
            let stored = StoredTerm { len, width, term: term.clone(), hidden };
            self.thread(t);
            self.threads[t as usize].memory.put(b, &mut self.terms, addr, stored);
            self.thread(t).storing = Some(Storing { addr, len, term, width });
        } else {
            // A value that is not understood is pinned before another thread can see it.
            self.emit(b, t, &term.pins);
            let pins = self.threads[t as usize].memory.pins(b, &mut self.terms, addr, OTHER_LEN);
            self.emit(b, t, &pins);
            self.clear(b, t, addr, OTHER_LEN);
        }
        if let Some(frame) = self.top(t) {
            frame.at = site + 1;
        }
    }
}
