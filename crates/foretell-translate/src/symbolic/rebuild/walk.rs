//! Instructions without notes in the log, and the transitions from block to block.

use foretell_trace::expr::ExprOp;
use foretell_trace::{RegId, TraceBuilder, Value};

use super::super::term::{Term, union};
use super::{Rebuild, local};
use foretell_build::symbolic::ir::{self, Binary, Callee, Function, Inst, Local, Operand};

impl Rebuild {
    /// Returns the value of an operand.
    pub(super) fn term(&mut self, t: u32, operand: Operand) -> Term {
        match operand {
            Operand::Bits(bits) => Term::constant(bits),
            Operand::Constant => Term::default(),
            Operand::Local(local) => {
                self.top(t).and_then(|f| f.values.get(local as usize).cloned()).unwrap_or_default()
            }
        }
    }

    pub(super) fn set(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        to: Local,
        mut term: Term,
        width: Option<u8>,
    ) {
        if let (Some(expr), Some(width)) = (term.expr, width)
            && self.terms.is_large(expr)
        {
            // Pinned from here on: a constant.
            self.counts.concrete += 1;
            let pins = self.terms.pinned(b, &term, width);
            self.emit(b, t, &pins);
            term = Term { bits: term.bits, ..Term::default() };
        }
        if let Some(value) = self.top(t).and_then(|f| f.values.get_mut(to as usize)) {
            *value = term;
        }
    }

    /// Runs the instructions before a site in the block, none of which has a note.
    pub(super) fn run(&mut self, b: &mut TraceBuilder, t: u32, to: usize) {
        let Some(frame) = self.top(t) else { return };
        let Some(function) = frame.function.clone() else { return };
        let from = frame.at;
        if from > to {
            self.differs(b, t);
        }
        for site in from..to {
            let Some(inst) = function.at(site) else { break };
            if !self.step(b, t, inst) {
                self.differs(b, t);
                break;
            }
        }
        if let Some(frame) = self.top(t) {
            frame.at = to;
        }
    }

    /// Runs an instruction without a note. Returns false if it should have one.
    pub(super) fn step(&mut self, b: &mut TraceBuilder, t: u32, inst: &Inst) -> bool {
        match inst {
            Inst::Binary { to, op, width, a, b: other } => {
                let (x, y) = (self.term(t, *a), self.term(t, *other));
                self.must_be_defined(b, t, *op, *width, &x, &y);
                let term = self.terms.binary(b, *op, *width, &x, &y);
                self.result(b, t, *to, term, Some(*width), &[&x, &y]);
            }
            Inst::Compare { to, predicate, width, a, b: other } => {
                let (x, y) = (self.term(t, *a), self.term(t, *other));
                let term = self.terms.compare(b, *predicate, *width, &x, &y);
                self.result(b, t, *to, term, Some(1), &[&x, &y]);
            }
            Inst::Cast { to, op, from, a, into } => {
                let x = self.term(t, *a);
                let term = self.terms.cast(b, *op, *from, &x, *into);
                self.result(b, t, *to, term, Some(*into), &[&x]);
            }
            Inst::Select { to, condition, yes, no, ty } => {
                let terms = [*condition, *yes, *no].map(|o| self.term(t, o));
                let term = self.terms.select(b, &terms[0], &terms[1], &terms[2], ty.width());
                let [c, x, y] = &terms;
                self.result(b, t, *to, term, ty.width(), &[c, x, y]);
            }
            Inst::Insert { to, of, value, at } => self.insert(b, t, *to, *of, *value, *at),
            Inst::Extract { to, of, at } => self.extract(b, t, *to, *of, *at),
            // A part of a global depends on its indices alone. Other parts have notes.
            Inst::Part { to, base: Operand::Constant | Operand::Bits(_), indices } => {
                let term = self.indices(b, t, indices);
                self.set(b, t, *to, term, None);
            }
            Inst::Other { to, uses } => self.other(b, t, *to, uses),
            Inst::Call(call) => {
                if !matches!(&call.callee, Callee::Function(name) if ir::is_silent(name)) {
                    return false;
                }
                let uses: Vec<Local> =
                    call.arguments.iter().filter_map(|(_, o)| local(*o)).collect();
                if let Some(to) = call.to {
                    self.other(b, t, Some(to), &uses);
                }
            }
            Inst::Label | Inst::Phi { .. } => {}
            _ => return false,
        }
        true
    }

    /// Returns an unknown value that depends on indices.
    pub(super) fn indices(&mut self, b: &mut TraceBuilder, t: u32, indices: &[Operand]) -> Term {
        let terms: Vec<(Term, u8)> =
            indices.iter().filter_map(|o| local(*o)).map(|l| self.pinnable(b, t, l)).collect();
        self.terms.opaque(b, terms.iter().map(|(term, width)| (term, *width)))
    }

    /// Sets a result, and counts it if it was not understood.
    pub(super) fn result(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        to: Local,
        term: Term,
        width: Option<u8>,
        of: &[&Term],
    ) {
        if term.expr.is_none() && term.bits.is_none() && of.iter().any(|x| x.expr.is_some()) {
            self.counts.concrete += 1;
        }
        self.set(b, t, to, term, width);
    }

    /// Adds the guard that an operation has a result on the machine.
    pub(super) fn must_be_defined(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        op: Binary,
        width: u8,
        x: &Term,
        y: &Term,
    ) {
        let Some(by) = y.expr.filter(|_| width > 1) else { return };
        match op {
            Binary::Udiv | Binary::Urem | Binary::Sdiv | Binary::Srem => {
                let zero = self.terms.number(b, width, 0);
                let guard = self.terms.app(b, ExprOp::Distinct, &[by, zero]);
                self.emit_one(b, t, guard);
                if matches!(op, Binary::Sdiv | Binary::Srem) {
                    let minus = self.terms.number(b, width, u64::MAX);
                    let least = self.terms.number(b, width, 1 << (width - 1));
                    let Some(x) = self.terms.expr(b, x, width) else { return };
                    let fits = self.terms.app(b, ExprOp::Distinct, &[x, least]);
                    let other = self.terms.app(b, ExprOp::Distinct, &[by, minus]);
                    let guard = self.terms.app(b, ExprOp::Or, &[fits, other]);
                    self.emit_one(b, t, guard);
                }
            }
            Binary::Shl | Binary::Lshr | Binary::Ashr => {
                let limit = self.terms.number(b, width, u64::from(width));
                let guard = self.terms.app(b, ExprOp::BvUlt, &[by, limit]);
                self.emit_one(b, t, guard);
            }
            _ => {}
        }
    }

    /// Runs an instruction that is not understood. One without a result may have any effect.
    pub(super) fn other(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        to: Option<Local>,
        uses: &[Local],
    ) {
        let terms: Vec<(Term, u8)> = uses.iter().map(|&u| self.pinnable(b, t, u)).collect();
        let term = self.terms.opaque(b, terms.iter().map(|(term, width)| (term, *width)));
        if term.pins.is_some() {
            self.counts.concrete += 1;
        }
        match to {
            Some(to) => self.set(b, t, to, term, None),
            None => self.emit(b, t, &term.pins),
        }
    }

    /// Returns a local with the width of its expression, and with the conditions of its fields.
    pub(super) fn pinnable(&mut self, b: &mut TraceBuilder, t: u32, local: Local) -> (Term, u8) {
        let mut term = self.term(t, Operand::Local(local));
        let mut all = None;
        if let Some(frame) = self.top(t) {
            let fields: Vec<(Term, u8)> = frame
                .fields
                .iter()
                .filter(|((of, _), _)| *of == local)
                .map(|(_, field)| field.clone())
                .collect();
            for (field, width) in fields {
                let pins = self.terms.pinned(b, &field, width);
                all = union(&all, &pins);
            }
        }
        term.pins = union(&term.pins, &all);
        let width = self.width_of(b, &term);
        (term, width)
    }

    /// Returns the width of a term's expression.
    pub(super) fn width_of(&mut self, b: &TraceBuilder, term: &Term) -> u8 {
        let Some(expr) = term.expr else { return 64 };
        let registers = &self.registers;
        let value = |r: RegId| registers.get(r.index()).copied().flatten();
        match self.evaluator.eval(b.trace().exprs(), expr, value).value() {
            Some(Value::Bits { width, .. }) => width,
            _ => 1,
        }
    }

    pub(super) fn insert(
        &mut self,
        b: &TraceBuilder,
        t: u32,
        to: Local,
        of: Operand,
        value: Operand,
        at: u32,
    ) {
        let whole = self.term(t, of);
        let value = self.term(t, value);
        let width = self.width_of(b, &value);
        let Some(frame) = self.top(t) else { return };
        if let Some(of) = local(of) {
            let kept: Vec<_> = frame
                .fields
                .iter()
                .filter(|((local, i), _)| *local == of && *i != at)
                .map(|((_, i), field)| (*i, field.clone()))
                .collect();
            for (i, field) in kept {
                frame.fields.insert((to, i), field);
            }
        }
        frame.fields.insert((to, at), (value, width));
        if let Some(term) = frame.values.get_mut(to as usize) {
            *term = Term { pins: whole.pins, ..Term::default() };
        }
    }

    pub(super) fn extract(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        to: Local,
        of: Operand,
        at: u32,
    ) {
        let whole = self.term(t, of);
        let field = local(of).and_then(|of| self.top(t)?.fields.get(&(of, at)).cloned());
        let mut term = field.map(|(term, _)| term).unwrap_or_default();
        term.pins = union(&term.pins, &whole.pins);
        self.set(b, t, to, term, None);
    }

    pub(super) fn block(&mut self, b: &mut TraceBuilder, t: u32, site: usize) {
        let Some(function) = self.top(t).and_then(|f| f.function.clone()) else { return };
        let from = self.top(t).map_or(0, |f| f.at);
        let ends = |site: &usize| {
            matches!(
                function.at(*site),
                None | Some(
                    Inst::Branch { .. } | Inst::Decide { .. } | Inst::Switch { .. } | Inst::Label
                )
            )
        };
        let end = (from..function.end).find(ends).unwrap_or(function.end);
        self.run(b, t, end);
        let target = |label: &String| function.labels.get(label) == Some(&site);
        match function.at(end) {
            Some(Inst::Branch { target: to }) if !target(to) => self.differs(b, t),
            Some(Inst::Decide { condition, yes, no }) => {
                let condition = self.term(t, *condition);
                match (target(yes), target(no)) {
                    (true, true) => {}
                    (false, false) => self.differs(b, t),
                    (taken, _) => self.decide(b, t, &condition, taken),
                }
            }
            Some(Inst::Switch { width, value, default, cases }) => {
                let value = self.term(t, *value);
                let here: Vec<u64> =
                    cases.iter().filter(|(_, l)| target(l)).map(|(k, _)| *k).collect();
                let others: Vec<u64> =
                    cases.iter().filter(|(_, l)| !target(l)).map(|(k, _)| *k).collect();
                self.switch(b, t, &value, *width, target(default), &here, &others);
            }
            // The only way; or a jump that is not understood, whose operands were pinned.
            _ => {}
        }
        self.arrive(b, t, &function, site);
    }

    /// Adds the guard of a branch that was taken or not.
    pub(super) fn decide(&mut self, b: &mut TraceBuilder, t: u32, condition: &Term, taken: bool) {
        if condition.bits.is_some_and(|bits| (bits == 1) != taken) {
            return self.differs(b, t);
        }
        let pins = self.terms.pinned(b, condition, 1);
        self.emit(b, t, &pins);
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn switch(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        value: &Term,
        width: u8,
        default: bool,
        here: &[u64],
        others: &[u64],
    ) {
        if let Some(bits) = value.bits {
            let taken = if default { !others.contains(&bits) } else { here.contains(&bits) };
            if !taken {
                return self.differs(b, t);
            }
        }
        self.emit(b, t, &value.pins);
        let Some(expr) = value.expr else { return };
        if default {
            for &other in others {
                let other = self.terms.number(b, width, other);
                let guard = self.terms.app(b, ExprOp::Distinct, &[expr, other]);
                self.emit_one(b, t, guard);
            }
            return;
        }
        let mut ways = Vec::new();
        for &k in here {
            let k = self.terms.number(b, width, k);
            ways.push(self.terms.app(b, ExprOp::Eq, &[expr, k]));
        }
        let guard = match ways[..] {
            [one] => one,
            _ => self.terms.app(b, ExprOp::Or, &ways),
        };
        self.emit_one(b, t, guard);
    }

    /// Enters a block: its phis take their values at once.
    pub(super) fn arrive(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        function: &Function,
        site: usize,
    ) {
        let Some(frame) = self.top(t) else { return };
        let from = frame.block;
        let from =
            function.labels.iter().find(|(_, s)| **s == from).map(|(label, _)| label.as_str());
        let mut at = site + 1;
        let mut values = Vec::new();
        while let Some(Inst::Phi { to, incoming }) = function.at(at) {
            // The first block may have no label: it is the one of an unknown name.
            let way = incoming.iter().find(|(_, label)| match from {
                Some(from) => label == from,
                None => !function.labels.contains_key(label),
            });
            values.push((*to, way.map_or(Operand::Constant, |(operand, _)| *operand)));
            at += 1;
        }
        let terms: Vec<Term> = values.iter().map(|(_, operand)| self.term(t, *operand)).collect();
        for ((to, _), term) in values.iter().zip(terms) {
            self.set(b, t, *to, term, None);
        }
        if let Some(frame) = self.top(t) {
            (frame.block, frame.at) = (site, at);
        }
    }
}
