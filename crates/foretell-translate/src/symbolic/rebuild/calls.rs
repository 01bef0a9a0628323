//! Calls of functions that are rebuilt, and of those that are not.

use foretell_trace::TraceBuilder;
use rustc_hash::FxHashMap;

use super::super::library::{Reach, reach};
use super::super::term::{Term, ones, union};
use super::{Atomic, Calling, Current, Frame, Rebuild, local};
use foretell_build::symbolic::ir::{Call, Callee, Inst, Operand, Type};

impl Rebuild {
    pub(super) fn enter(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        site: u64,
        hash: u64,
        address: u64,
    ) {
        let function = self.program.function(hash, site);
        let reads_frame = function.as_ref().is_none_or(|f| f.reads_frame);
        let mut passed = None;
        if let Some(frame) = self.top(t)
            && let Some(call) = &mut frame.call
            && matches!(call.calling, Calling::Waiting)
            && call.address == address
        {
            call.calling = Calling::Inside;
            passed = Some((call.arguments.clone(), call.copies));
        }
        let called = passed.is_some();
        match &passed {
            None => self.go_outside(b, t),
            Some((arguments, copies)) if *copies || reads_frame => {
                self.pin_terms(b, t, arguments);
                self.pin_memory(b, t);
            }
            Some(_) => {}
        }
        let count = function.as_ref().map_or(0, |f| f.hidden.len());
        let mut values = vec![Term::default(); count];
        if let (Some(function), Some((arguments, _))) = (&function, passed) {
            for ((_, local), (_, term)) in function.parameters.iter().zip(arguments) {
                values[*local as usize] = if reads_frame { Term::default() } else { term };
            }
        }
        let at = site as usize;
        let fields = FxHashMap::default();
        let frame = Frame { function, at: at + 1, block: at, values, fields, call: None, called };
        self.thread(t).frames.push(frame);
    }

    pub(super) fn argument(&mut self, b: &mut TraceBuilder, t: u32, number: u64, bits: u64) {
        let Some(frame) = self.top(t) else { return };
        let Some(function) = frame.function.clone() else { return };
        let Some((ty, local)) = function.parameters.get(number as usize) else { return };
        let bits = bits & ty.width().map_or(u64::MAX, ones);
        let Some(term) = frame.values.get_mut(*local as usize) else { return };
        match term.bits {
            Some(other) if other != bits && term.expr.is_some() => {
                term.bits = Some(bits);
                self.differs(b, t);
            }
            _ => term.bits = Some(bits),
        }
    }

    pub(super) fn call(&mut self, b: &mut TraceBuilder, t: u32, site: usize, address: u64) {
        self.run(b, t, site);
        let Some(Inst::Call(Call { callee, arguments, copies, .. })) = self.inst(t, site) else {
            return self.differs(b, t);
        };
        let mut terms = Vec::new();
        for (ty, operand) in &arguments {
            let term = match (ty.width(), local(*operand)) {
                (None, Some(local)) => {
                    let (term, width) = self.pinnable(b, t, local);
                    let pins = self.terms.pinned(b, &term, width);
                    Term { pins, ..Term::default() }
                }
                _ => self.term(t, *operand),
            };
            terms.push((*ty, term));
        }
        let name = match callee {
            Callee::Function(name) => Some(name),
            Callee::Pointer(pointer) => {
                self.address(b, t, pointer, address);
                None
            }
            Callee::Assembly => None,
        };
        let mut calling = Calling::Waiting;
        if let Some((width, op)) = name.as_deref().and_then(atomic_name) {
            let first = terms.first().map(|(_, term)| term.clone()).unwrap_or_default();
            let pins = self.terms.pinned(b, &first, 64);
            self.emit(b, t, &pins);
            let operands = terms.iter().skip(1).map(|(_, term)| term.clone()).collect();
            let op = op.to_owned();
            let addr = first.bits;
            self.thread(t).atomic = Some(Atomic { op, addr, width, terms: operands, used: false });
            calling = Calling::Atomic;
        }
        let call = Current { site, address, name, arguments: terms, copies, calling };
        if let Some(frame) = self.top(t) {
            frame.call = Some(call);
            frame.at = site;
        }
    }

    pub(super) fn pin_terms(&mut self, b: &mut TraceBuilder, t: u32, terms: &[(Type, Term)]) {
        for (ty, term) in terms {
            let pins = self.terms.pinned(b, term, ty.width().unwrap_or(64));
            self.emit(b, t, &pins);
        }
    }

    /// Pins all values in memory whose address may escape.
    pub(super) fn pin_memory(&mut self, b: &mut TraceBuilder, t: u32) {
        let pins = self.threads[t as usize].memory.pins_of_all(b, &mut self.terms);
        self.emit(b, t, &pins);
        self.threads[t as usize].memory.forget_open();
    }

    /// Handles the current call as one of a function that is not rebuilt.
    pub(super) fn go_outside(&mut self, b: &mut TraceBuilder, t: u32) {
        let Some(call) = self.top(t).and_then(|f| f.call.as_mut()) else { return };
        if !matches!(call.calling, Calling::Waiting) {
            return;
        }
        call.calling = Calling::Outside(None);
        let arguments = call.arguments.clone();
        let reach = call.name.as_deref().map_or(Reach::Unknown, reach);
        let address = |i: usize| arguments.get(i).and_then(|(_, term)| term.bits);
        match reach {
            Reach::Output => {
                let mut pins = self.threads[t as usize].memory.pins_of_all(b, &mut self.terms);
                for (ty, term) in &arguments {
                    let more = self.terms.pinned(b, term, ty.width().unwrap_or(64));
                    pins = union(&pins, &more);
                }
                if let Some(call) = self.top(t).and_then(|f| f.call.as_mut()) {
                    call.calling = Calling::Outside(pins);
                }
                return;
            }
            Reach::Own(out) => {
                self.pin_terms(b, t, &arguments);
                match out.map(|(i, len)| (address(i), len)) {
                    Some((Some(addr), len)) => self.clear(b, t, addr, len),
                    Some((None, _)) => self.pin_memory(b, t),
                    None => {}
                }
                return;
            }
            _ => self.pin_terms(b, t, &arguments),
        }
        match (reach, address(0), address(1), address(2)) {
            (Reach::Copy, Some(to), Some(from), Some(len)) => {
                let pins = self.threads[t as usize].memory.pins(b, &mut self.terms, from, len);
                self.emit(b, t, &pins);
                self.clear(b, t, to, len);
            }
            (Reach::Fill, Some(to), _, Some(len)) => self.clear(b, t, to, len),
            _ => self.pin_memory(b, t),
        }
    }

    /// Pins the arguments of the current call, since an event comes from inside it.
    pub(crate) fn pin_call(&mut self, b: &mut TraceBuilder, t: u32) {
        let Some(call) = self.top(t).and_then(|f| f.call.as_mut()) else { return };
        if let Calling::Outside(pins) = &mut call.calling {
            let pins = pins.take();
            self.emit(b, t, &pins);
        }
    }

    pub(super) fn after(&mut self, b: &mut TraceBuilder, t: u32, site: usize, value: u64) {
        if self.top(t).is_some_and(|f| f.call.as_ref().is_none_or(|c| c.site != site)) {
            // A second return, as of `setjmp`: the values of the first one are stale.
            self.differs(b, t);
        }
        self.go_outside(b, t);
        let inst = self.inst(t, site);
        let Some(Inst::Call(Call { to, ty, .. })) = inst else { return };
        let bits = ty.width().map(|w| value & ones(w));
        let calling = self.top(t).and_then(|f| f.call.take()).map(|c| c.calling);
        if let Some(atomic) = self.thread(t).atomic.take().filter(|a| !a.used) {
            // Memory whose address does not escape: its values there are pinned.
            for term in &atomic.terms {
                let width = self.width_of(b, term);
                let pins = self.terms.pinned(b, term, width);
                self.emit(b, t, &pins);
            }
        }
        let returned = self.thread(t).returned.take();
        let term = match (calling, returned) {
            (Some(Calling::Inside), Some(term)) => {
                if term.expr.is_some() && term.bits != bits {
                    self.differs(b, t);
                    Term { bits, ..Term::default() }
                } else {
                    Term { bits, ..term }
                }
            }
            (Some(Calling::Inside), None) => {
                self.differs(b, t);
                Term { bits, ..Term::default() }
            }
            (Some(Calling::Outside(pins)), _) => Term { bits, expr: None, pins },
            (Some(Calling::Atomic), _) => match self.thread(t).unclaimed.pop() {
                Some(read) if self.thread(t).unclaimed.is_empty() && read.term.bits == bits => {
                    read.term
                }
                read => {
                    self.thread(t).unclaimed.extend(read);
                    Term { bits, ..Term::default() }
                }
            },
            _ => Term { bits, ..Term::default() },
        };
        if let Some(to) = to {
            self.set(b, t, to, term, ty.width());
        }
        if let Some(frame) = self.top(t) {
            frame.at = site + 1;
        }
    }

    pub(super) fn leave(&mut self, b: &mut TraceBuilder, t: u32, site: usize) {
        self.run(b, t, site);
        let term = match self.inst(t, site) {
            Some(Inst::Return { value: Some(Operand::Local(local)) }) => {
                let (term, width) = self.pinnable(b, t, local);
                let fields =
                    self.top(t).is_some_and(|f| f.fields.keys().any(|(of, _)| *of == local));
                if fields {
                    let pins = self.terms.pinned(b, &term, width);
                    Term { pins, ..Term::default() }
                } else {
                    term
                }
            }
            Some(Inst::Return { value: Some(operand) }) => self.term(t, operand),
            _ => Term::default(),
        };
        let frame = self.thread(t).frames.pop();
        let inside = frame.is_some_and(|f| f.called)
            && self.top(t).is_some_and(|f| {
                f.call.as_ref().is_some_and(|c| matches!(c.calling, Calling::Inside))
            });
        if inside {
            self.thread(t).returned = Some(term);
        } else {
            // The caller that gets it is not rebuilt.
            let width = self.width_of(b, &term);
            let pins = self.terms.pinned(b, &term, width);
            self.emit(b, t, &pins);
        }
    }
}

/// Returns the width and the operation of a hook like `__tsan_atomic32_fetch_add`.
fn atomic_name(name: &str) -> Option<(u8, &str)> {
    let (width, op) = name.strip_prefix("__tsan_atomic")?.split_once('_')?;
    Some((width.parse().ok().filter(|w| *w <= 64)?, op))
}
