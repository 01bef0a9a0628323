//! Walks along the recorded path of every thread and rebuilds what depends on shared reads.
//!
//! The trail of a thread (its path, addresses, values) and its events are in one stream. A shared read gives a fresh register
//! ([`Rebuild::read`]); the load that follows claims it. A store is told before its event ([`Rebuild::write`]), which takes the
//! expression. Branches, addresses and what is not understood become conditions ([`Rebuild::guards`]) that stand in the
//! trace before the next event of their thread.
//!
//! Everything that is computed is compared to what was recorded. Where they differ, or where the path
//! cannot be followed (a jump out of functions), the thread *freezes*: all its reads so far are held to what they saw, and nothing
//! that it computed from them counts any more. That costs interleavings, never truth.
//!
//! What is not seen: memory that code without instrumentation computes from what is not given to it (the state of a
//! library between two calls, but for output).

use std::rc::Rc;

use foretell_rt_format::{AtomicKind, Record, TrailKind};
use foretell_trace::expr::{Evaluator, Expr, ExprOp};
use foretell_trace::{ExprId, RegId, ThreadId, TraceBuilder, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::survey::{touched, writes};

use super::ir::{Binary, Call, Callee, Function, Inst, Local, Operand, Predicate, Type};
use super::library::{Reach, reach};
use super::memory::{Cell, Memory};
use super::program::Program;
use super::term::{Pins, Term, Terms, ones, union};

/// What the rebuild came to.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Symbolic {
    /// Shared reads with a register.
    pub registers: u64,
    /// Guards in the trace.
    pub guards: u64,
    /// Values that were computed from shared reads in a way that was not understood.
    pub concrete: u64,
    /// Stores, branches and results that came out different from what was recorded, and places where
    /// the path was lost.
    pub different: u64,
}

impl std::fmt::Display for Symbolic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let many = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        write!(
            f,
            "symbolic: {}, {}; {} made concrete; {} of what was computed from what was recorded",
            many(self.registers, "shared read"),
            many(self.guards, "guard"),
            many(self.concrete, "value"),
            many(self.different, "difference"),
        )
    }
}

/// A shared read that nothing has claimed yet.
struct Unclaimed {
    addr: u64,
    len: u64,
    term: Term,
    width: u8,
}

/// A store that is about to take place.
#[derive(Clone)]
struct Storing {
    addr: u64,
    len: u64,
    term: Term,
    width: u8,
}

/// An atomic operation that is about to take place.
#[derive(Clone)]
struct Atomic {
    op: String,
    /// None: that of a global.
    addr: Option<u64>,
    width: u8,
    /// Its operands after the address.
    terms: Vec<Term>,
    /// An event has taken it.
    used: bool,
}

enum Calling {
    /// It is not known yet who is called.
    Waiting,
    /// A function that is rebuilt.
    Inside,
    /// Another, whose result depends on this.
    Outside(Pins),
    Atomic,
}

/// A call under way.
struct Current {
    site: usize,
    address: u64,
    name: Option<String>,
    arguments: Vec<(Type, Term)>,
    copies: bool,
    calling: Calling,
}

struct Frame {
    /// None: nothing is known of it.
    function: Option<Rc<Function>>,
    /// The next site.
    at: usize,
    /// The site of the block's label.
    block: usize,
    values: Vec<Term>,
    fields: FxHashMap<(Local, u32), (Term, u8)>,
    call: Option<Current>,
    /// Called by the frame below it, and not by something in between.
    called: bool,
}

#[derive(Default)]
struct Thread {
    frames: Vec<Frame>,
    memory: Memory,
    unclaimed: Vec<Unclaimed>,
    storing: Option<Storing>,
    /// The store that the record at hand is.
    stored: Option<Storing>,
    atomic: Option<Atomic>,
    returned: Option<Term>,
    /// Guards that are in the trace.
    emitted: FxHashSet<ExprId>,
    /// The reads since the last freeze: each held to what it saw.
    reads: Vec<ExprId>,
    registers: u64,
    /// The code address of the last note, for guards.
    pc: Option<u64>,
}

/// The rebuild of a run.
#[derive(Default)]
pub(crate) struct Rebuild {
    pub(crate) program: Program,
    pub(crate) counts: Symbolic,
    threads: Vec<Thread>,
    terms: Terms,
    evaluator: Evaluator,
    registers: Vec<Option<Value>>,
    /// Guards to be put before the next event.
    guards: Vec<ExprId>,
}

impl Rebuild {
    /// The guards that stand before whatever comes next.
    pub(crate) fn guards(&mut self) -> Vec<ExprId> {
        std::mem::take(&mut self.guards)
    }

    /// A note was made at this place. A branch is decided before the block that it goes to.
    pub(crate) fn passes(&mut self, t: u32, kind: TrailKind, pc: u64) {
        let thread = self.thread(t);
        if kind != TrailKind::Block || thread.pc.is_none() {
            thread.pc = Some(pc);
        }
    }

    /// Where a guard that is found now comes from.
    pub(crate) fn place(&mut self, t: u32) -> Option<u64> {
        self.thread(t).pc
    }

    fn thread(&mut self, index: u32) -> &mut Thread {
        let i = index as usize;
        if self.threads.len() <= i {
            self.threads.resize_with(i + 1, Thread::default);
        }
        &mut self.threads[i]
    }

    /// A record of a thread comes: what was open is settled.
    pub(crate) fn before(&mut self, b: &mut TraceBuilder, t: u32, record: &Record<'_>) {
        match record {
            Record::FuncEntry { .. }
            | Record::FuncExit
            | Record::Module { .. }
            | Record::ModuleGone { .. } => return,
            Record::Trail { .. } => return,
            Record::Alloc { addr, size, .. } => {
                // Memory that is given out again is nobody's.
                for i in 0..self.threads.len() {
                    self.threads[i].memory.clear(b, &mut self.terms, *addr, *size);
                }
            }
            _ => {}
        }
        self.thread(t).stored = None;
        self.settle(b, t);
        self.go_outside(b, t);
        let storing = self.thread(t).storing.take();
        let Some((addr, len)) = touched(record) else {
            if record.kind().is_some() {
                self.pin_call(b, t);
            }
            return;
        };
        if writes(record) {
            self.thread(t).stored = storing.filter(|s| (s.addr, s.len) == (addr, len));
        }
        // Accesses that are no load and no store of the path.
        let elsewhere = match record {
            Record::Atomic { kind, .. } => *kind != AtomicKind::VolatileLoad,
            Record::Range { .. } => true,
            _ => false,
        };
        if elsewhere && self.thread(t).stored.is_none() {
            let pins = self.threads[t as usize].memory.pins(b, &mut self.terms, addr, len);
            self.emit(b, t, &pins);
        }
        if writes(record) && self.thread(t).stored.is_none() {
            self.clear(b, t, addr, len);
        }
    }

    /// Reads that no load has claimed are held to what they saw.
    fn settle(&mut self, b: &mut TraceBuilder, t: u32) {
        for read in std::mem::take(&mut self.thread(t).unclaimed) {
            let pins = self.terms.pinned(b, &read.term, read.width);
            self.emit(b, t, &pins);
        }
    }

    /// Puts conditions into the trace.
    fn emit(&mut self, b: &mut TraceBuilder, t: u32, pins: &Pins) {
        for &guard in pins.iter().flat_map(|p| p.iter()) {
            if self.thread(t).emitted.contains(&guard) {
                continue;
            }
            if !self.holds(b, guard) {
                self.differs(b, t);
                return;
            }
            self.thread(t).emitted.insert(guard);
            self.counts.guards += 1;
            self.guards.push(guard);
        }
    }

    fn emit_one(&mut self, b: &mut TraceBuilder, t: u32, guard: ExprId) {
        self.emit(b, t, &super::term::pins(vec![guard]));
    }

    /// Whether a condition holds for what was recorded.
    fn holds(&mut self, b: &TraceBuilder, guard: ExprId) -> bool {
        let registers = &self.registers;
        let value = |r: RegId| registers.get(r.index()).copied().flatten();
        self.evaluator.eval(b.trace().exprs(), guard, value).truth() == Some(true)
    }

    /// What was computed is not what was recorded.
    fn differs(&mut self, b: &mut TraceBuilder, t: u32) {
        self.counts.different += 1;
        self.freeze(b, t);
    }

    /// Holds every read of a thread to what it saw and forgets what was computed from them.
    fn freeze(&mut self, b: &mut TraceBuilder, t: u32) {
        self.settle(b, t);
        for guard in std::mem::take(&mut self.thread(t).reads) {
            self.emit_one(b, t, guard);
        }
        let thread = self.thread(t);
        thread.memory.forget();
        thread.storing = None;
        thread.stored = None;
        thread.atomic = None;
        for frame in &mut thread.frames {
            for term in &mut frame.values {
                *term = Term { bits: term.bits, ..Term::default() };
            }
            frame.fields.clear();
            if let Some(call) = &mut frame.call {
                for (_, term) in &mut call.arguments {
                    *term = Term { bits: term.bits, ..Term::default() };
                }
                if let Calling::Outside(pins) = &mut call.calling {
                    *pins = None;
                }
            }
        }
        if let Some(term) = &mut thread.returned {
            *term = Term { bits: term.bits, ..Term::default() };
        }
    }

    // Events.

    /// A shared read: its register. `seen` is the value that the trace has for it, `bits` what the program got; they
    /// differ where something that was not recorded wrote.
    pub(crate) fn read(
        &mut self,
        b: &mut TraceBuilder,
        (t, id): (u32, ThreadId),
        (addr, len): (u64, u64),
        seen: Option<Value>,
        same: bool,
    ) -> RegId {
        let thread = self.thread(t);
        thread.registers += 1;
        let register = b.register(id, &thread.registers.to_string());
        self.counts.registers += 1;
        if self.registers.len() <= register.index() {
            self.registers.resize(register.index() + 1, None);
        }
        self.registers[register.index()] = seen;
        let expr = b.exprs().intern(Expr::Reg(register));
        // A value that nobody knows can be in no condition: what comes after it happens in no other order.
        let Some(seen @ Value::Bits { width, bits }) = seen else {
            let never = self.terms.app(b, ExprOp::Distinct, &[expr, expr]);
            self.guards.push(never);
            return register;
        };
        let value = b.values().intern(seen);
        b.note_register(register, Some(value));
        let term = Term { bits: Some(bits), expr: Some(expr), pins: None };
        let pins = self.terms.pinned(b, &term, width);
        self.thread(t).reads.extend(pins.iter().flat_map(|p| p.iter().copied()));
        if same {
            self.thread(t).unclaimed.push(Unclaimed { addr, len, term, width });
        } else {
            // What the program got is another matter; it got it under this condition.
            let term = Term { bits: None, expr: None, pins };
            self.thread(t).unclaimed.push(Unclaimed { addr, len, term, width });
        }
        register
    }

    /// A register for a number that the rebuild itself does not compute with.
    pub(crate) fn number(&mut self, b: &mut TraceBuilder, (t, id): (u32, ThreadId)) -> RegId {
        let thread = self.thread(t);
        thread.registers += 1;
        b.register(id, &thread.registers.to_string())
    }

    /// A shared write of the granule at `addr`: the expression of its value, if that depends on something.
    pub(crate) fn write(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        (addr, len): (u64, u64),
        written: Option<Value>,
    ) -> Option<ExprId> {
        let stored = self.thread(t).stored.clone();
        self.clear(b, t, addr, len);
        let stored = stored?;
        self.value_for(b, t, (addr, len), &stored, written)
    }

    fn value_for(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        (addr, len): (u64, u64),
        stored: &Storing,
        written: Option<Value>,
    ) -> Option<ExprId> {
        let whole = (stored.addr, stored.len) == (addr, len) && u64::from(stored.width) == 8 * len;
        let (true, Some(expr)) = (whole, stored.term.expr) else {
            let pins = self.terms.pinned(b, &stored.term, stored.width);
            self.emit(b, t, &pins);
            return None;
        };
        self.emit(b, t, &stored.term.pins);
        let registers = &self.registers;
        let value = |r: RegId| registers.get(r.index()).copied().flatten();
        let computed = self.evaluator.eval(b.trace().exprs(), expr, value).value();
        if computed.is_none() || computed != written {
            self.differs(b, t);
            return None;
        }
        Some(expr)
    }

    fn clear(&mut self, b: &mut TraceBuilder, t: u32, addr: u64, len: u64) {
        self.thread(t);
        self.threads[t as usize].memory.clear(b, &mut self.terms, addr, len);
    }

    /// An atomic write or update of the granule at `addr`; `register` holds what an update read.
    pub(crate) fn atomic_write(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        (addr, len): (u64, u64),
        register: Option<RegId>,
        written: Option<Value>,
    ) -> Option<ExprId> {
        if self.thread(t).stored.is_some() {
            return self.write(b, t, (addr, len), written);
        }
        self.clear(b, t, addr, len);
        let atomic = self.thread(t).atomic.as_mut()?;
        atomic.used = true;
        let (atomic, width) = (atomic.clone(), atomic.width);
        if atomic.addr.is_some_and(|at| at != addr) || u64::from(width) != 8 * len {
            let mut pins = None;
            for term in &atomic.terms {
                let more = self.terms.pinned(b, term, width);
                pins = union(&pins, &more);
            }
            self.emit(b, t, &pins);
            return None;
        }
        let term = self.atomic_result(b, &atomic, register)?;
        self.value_for(b, t, (addr, len), &Storing { addr, len, term, width }, written)
    }

    /// What an atomic operation leaves.
    fn atomic_result(
        &mut self,
        b: &mut TraceBuilder,
        atomic: &Atomic,
        register: Option<RegId>,
    ) -> Option<Term> {
        let (width, first) = (atomic.width, atomic.terms.first()?.clone());
        let old =
            register.and_then(|r| match self.registers.get(r.index()).copied().flatten()? {
                Value::Bits { bits, .. } => {
                    let expr = Some(b.exprs().intern(Expr::Reg(r)));
                    Some(Term { bits: Some(bits), expr, pins: None })
                }
                Value::Int(_) => None,
            });
        let op = match atomic.op.as_str() {
            "store" | "exchange" => return Some(first),
            "fetch_add" => Binary::Add,
            "fetch_sub" => Binary::Sub,
            "fetch_and" => Binary::And,
            "fetch_or" => Binary::Or,
            "fetch_xor" => Binary::Xor,
            "compare_exchange_val" => {
                let (old, desired) = (old?, atomic.terms.get(1)?.clone());
                let equal = self.terms.compare(b, Predicate::Eq, width, &old, &first);
                return Some(self.terms.select(b, &equal, &desired, &old, Some(width)));
            }
            _ => return None,
        };
        Some(self.terms.binary(b, op, width, &old?, &first))
    }

    // The trail.

    /// A note about the path.
    pub(crate) fn trail(
        &mut self,
        b: &mut TraceBuilder,
        t: u32,
        kind: TrailKind,
        site: u64,
        x: u64,
        y: u64,
    ) {
        self.thread(t).stored = None;
        let claims = matches!(kind, TrailKind::Value | TrailKind::After);
        if !claims {
            self.settle(b, t);
        }
        let Ok(at) = usize::try_from(site) else { return };
        match kind {
            TrailKind::Enter => return self.enter(b, t, site, x, y),
            TrailKind::Argument => return self.argument(b, t, x, y),
            _ => {}
        }
        if kind != TrailKind::After {
            self.go_outside(b, t);
        }
        if self.find_frame(b, t, at) {
            match kind {
                TrailKind::Block => self.block(b, t, at),
                TrailKind::Load => self.load(b, t, at, x),
                TrailKind::Value => self.value(b, t, at, x, y),
                TrailKind::Store => self.store(b, t, at, x, y),
                TrailKind::Call => self.call(b, t, at, x),
                TrailKind::After => self.after(b, t, at, x),
                TrailKind::Leave => self.leave(b, t, at),
                TrailKind::Enter | TrailKind::Argument => {}
            }
        } else if kind == TrailKind::Leave {
            self.leave_unknown(t);
        }
        if claims {
            self.settle(b, t);
        }
    }

    fn top(&mut self, t: u32) -> Option<&mut Frame> {
        self.thread(t).frames.last_mut()
    }

    /// Makes the frame that a site belongs to the last one. False: nothing is known of it.
    fn find_frame(&mut self, b: &mut TraceBuilder, t: u32, site: usize) -> bool {
        let holds = |frame: &Frame| {
            frame.function.as_ref().is_none_or(|f| (f.first..f.end).contains(&site))
        };
        let Some(depth) = self.thread(t).frames.iter().rposition(holds) else {
            self.differs(b, t);
            return false;
        };
        if depth + 1 < self.thread(t).frames.len() {
            self.differs(b, t);
            self.thread(t).frames.truncate(depth + 1);
            if let Some(frame) = self.top(t) {
                frame.call = None;
            }
        }
        self.top(t).is_some_and(|frame| frame.function.is_some())
    }

    /// A frame of which nothing is known is left: what it was given and what it read was held to what it was.
    fn leave_unknown(&mut self, t: u32) {
        if self.top(t).is_some_and(|frame| frame.function.is_none()) {
            self.thread(t).frames.pop();
            self.thread(t).returned = Some(Term::default());
        }
    }

    fn enter(&mut self, b: &mut TraceBuilder, t: u32, site: u64, hash: u64, address: u64) {
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

    fn argument(&mut self, b: &mut TraceBuilder, t: u32, number: u64, bits: u64) {
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

    /// The value of an operand.
    fn term(&mut self, t: u32, operand: Operand) -> Term {
        match operand {
            Operand::Bits(bits) => Term::constant(bits),
            Operand::Constant => Term::default(),
            Operand::Local(local) => {
                self.top(t).and_then(|f| f.values.get(local as usize).cloned()).unwrap_or_default()
            }
        }
    }

    fn set(&mut self, b: &mut TraceBuilder, t: u32, to: Local, mut term: Term, width: Option<u8>) {
        if let (Some(expr), Some(width)) = (term.expr, width)
            && self.terms.is_large(expr)
        {
            // Held to what it was from here on: a constant.
            self.counts.concrete += 1;
            let pins = self.terms.pinned(b, &term, width);
            self.emit(b, t, &pins);
            term = Term { bits: term.bits, ..Term::default() };
        }
        if let Some(value) = self.top(t).and_then(|f| f.values.get_mut(to as usize)) {
            *value = term;
        }
    }

    /// Runs what lies before a site in the block. Nothing in it can have been told of.
    fn run(&mut self, b: &mut TraceBuilder, t: u32, to: usize) {
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

    /// Runs an instruction that nothing is told of. False: there should have been.
    fn step(&mut self, b: &mut TraceBuilder, t: u32, inst: &Inst) -> bool {
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
            // Of a global: what it depends on is its indices. Others are told of.
            Inst::Part { to, base: Operand::Constant | Operand::Bits(_), indices } => {
                let term = self.indices(b, t, indices);
                self.set(b, t, *to, term, None);
            }
            Inst::Other { to, uses } => self.other(b, t, *to, uses),
            Inst::Call(call) => {
                if !matches!(&call.callee, Callee::Function(name) if super::ir::is_silent(name)) {
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

    /// What depends on indices, whatever it is.
    fn indices(&mut self, b: &mut TraceBuilder, t: u32, indices: &[Operand]) -> Term {
        let terms: Vec<(Term, u8)> =
            indices.iter().filter_map(|o| local(*o)).map(|l| self.pinnable(b, t, l)).collect();
        self.terms.opaque(b, terms.iter().map(|(term, width)| (term, *width)))
    }

    /// Keeps a result, and counts it if it was not understood.
    fn result(
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

    /// Where the machine would not compute, the path does not go on.
    fn must_be_defined(
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

    /// Something that is not understood. Where it has no result, who knows what it does.
    fn other(&mut self, b: &mut TraceBuilder, t: u32, to: Option<Local>, uses: &[Local]) {
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

    /// A local with the width of its expression, and with what its fields depend on.
    fn pinnable(&mut self, b: &mut TraceBuilder, t: u32, local: Local) -> (Term, u8) {
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

    /// The width of a term's expression.
    fn width_of(&mut self, b: &TraceBuilder, term: &Term) -> u8 {
        let Some(expr) = term.expr else { return 64 };
        let registers = &self.registers;
        let value = |r: RegId| registers.get(r.index()).copied().flatten();
        match self.evaluator.eval(b.trace().exprs(), expr, value).value() {
            Some(Value::Bits { width, .. }) => width,
            _ => 1,
        }
    }

    fn insert(
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

    fn extract(&mut self, b: &mut TraceBuilder, t: u32, to: Local, of: Operand, at: u32) {
        let whole = self.term(t, of);
        let field = local(of).and_then(|of| self.top(t)?.fields.get(&(of, at)).cloned());
        let mut term = field.map(|(term, _)| term).unwrap_or_default();
        term.pins = union(&term.pins, &whole.pins);
        self.set(b, t, to, term, None);
    }

    fn block(&mut self, b: &mut TraceBuilder, t: u32, site: usize) {
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
            // As it must; or a jump that is not understood, whose operands were pinned.
            _ => {}
        }
        self.arrive(b, t, &function, site);
    }

    /// Takes one way or the other.
    fn decide(&mut self, b: &mut TraceBuilder, t: u32, condition: &Term, taken: bool) {
        if condition.bits.is_some_and(|bits| (bits == 1) != taken) {
            return self.differs(b, t);
        }
        let pins = self.terms.pinned(b, condition, 1);
        self.emit(b, t, &pins);
    }

    #[allow(clippy::too_many_arguments)]
    fn switch(
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

    /// At the beginning of a block: its phis, all at once.
    fn arrive(&mut self, b: &mut TraceBuilder, t: u32, function: &Function, site: usize) {
        let Some(frame) = self.top(t) else { return };
        let from = frame.block;
        let from =
            function.labels.iter().find(|(_, s)| **s == from).map(|(label, _)| label.as_str());
        let mut at = site + 1;
        let mut values = Vec::new();
        while let Some(Inst::Phi { to, incoming }) = function.at(at) {
            // The first block may have no label: then it is the one that none is called.
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

    fn inst(&mut self, t: u32, site: usize) -> Option<Inst> {
        self.top(t)?.function.as_ref()?.at(site).cloned()
    }

    /// An address is used: what it depends on must hold.
    fn address(&mut self, b: &mut TraceBuilder, t: u32, pointer: Operand, addr: u64) {
        let term = self.term(t, pointer);
        if term.expr.is_some() && term.bits != Some(addr) {
            return self.differs(b, t);
        }
        let pins = self.terms.pinned(b, &term, 64);
        self.emit(b, t, &pins);
    }

    fn load(&mut self, b: &mut TraceBuilder, t: u32, site: usize, addr: u64) {
        self.run(b, t, site);
        if let Some(Inst::Load { pointer, .. }) = self.inst(t, site) {
            self.address(b, t, pointer, addr);
        }
    }

    fn value(&mut self, b: &mut TraceBuilder, t: u32, site: usize, x: u64, y: u64) {
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

    /// What a load gives.
    fn loaded(&mut self, b: &mut TraceBuilder, t: u32, ty: Type, addr: u64, value: u64) -> Term {
        let width = ty.width();
        // How many bytes a float or a structure has is not told; those of the reads of it are.
        let len = width.map_or(0, |w| u64::from(w).div_ceil(8));
        let bits = width.map(|w| value & ones(w));
        let reads = std::mem::take(&mut self.thread(t).unclaimed);
        if let ([read], Some(bits)) = (&reads[..], bits)
            && (read.addr, read.len) == (addr, len)
            && read.term.expr.is_some()
        {
            let mut term = read.term.clone();
            if width == Some(1) {
                term = self.terms.cast(b, super::ir::Cast::Trunc, read.width, &term, 1);
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
            && let Some(cell) = thread.memory.exact(addr, len)
            && width == Some(cell.width)
        {
            let mut term = cell.term.clone();
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

    fn store(&mut self, b: &mut TraceBuilder, t: u32, site: usize, addr: u64, value: u64) {
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
            let cell = Cell { len, width, term: term.clone(), hidden };
            self.thread(t);
            self.threads[t as usize].memory.put(b, &mut self.terms, addr, cell);
            self.thread(t).storing = Some(Storing { addr, len, term, width });
        } else {
            // What is not understood is held to what it was before anybody can see it.
            self.emit(b, t, &term.pins);
            let pins = self.threads[t as usize].memory.pins(b, &mut self.terms, addr, OTHER_LEN);
            self.emit(b, t, &pins);
            self.clear(b, t, addr, OTHER_LEN);
        }
        if let Some(frame) = self.top(t) {
            frame.at = site + 1;
        }
    }

    // Calls.

    fn call(&mut self, b: &mut TraceBuilder, t: u32, site: usize, address: u64) {
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

    fn pin_terms(&mut self, b: &mut TraceBuilder, t: u32, terms: &[(Type, Term)]) {
        for (ty, term) in terms {
            let pins = self.terms.pinned(b, term, ty.width().unwrap_or(64));
            self.emit(b, t, &pins);
        }
    }

    /// Everything in memory that others can reach is held to what it was.
    fn pin_memory(&mut self, b: &mut TraceBuilder, t: u32) {
        let pins = self.threads[t as usize].memory.pins_of_all(b, &mut self.terms);
        self.emit(b, t, &pins);
        self.threads[t as usize].memory.forget_open();
    }

    /// The call under way is not one of a function that is rebuilt.
    fn go_outside(&mut self, b: &mut TraceBuilder, t: u32) {
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

    /// An event comes from inside a call: what the call was given must be what it was.
    pub(crate) fn pin_call(&mut self, b: &mut TraceBuilder, t: u32) {
        let Some(call) = self.top(t).and_then(|f| f.call.as_mut()) else { return };
        if let Calling::Outside(pins) = &mut call.calling {
            let pins = pins.take();
            self.emit(b, t, &pins);
        }
    }

    fn after(&mut self, b: &mut TraceBuilder, t: u32, site: usize, value: u64) {
        if self.top(t).is_some_and(|f| f.call.as_ref().is_none_or(|c| c.site != site)) {
            // A second return, as that of `setjmp`: the values of its first one are stale.
            self.differs(b, t);
        }
        self.go_outside(b, t);
        let inst = self.inst(t, site);
        let Some(Inst::Call(Call { to, ty, .. })) = inst else { return };
        let bits = ty.width().map(|w| value & ones(w));
        let calling = self.top(t).and_then(|f| f.call.take()).map(|c| c.calling);
        if let Some(atomic) = self.thread(t).atomic.take().filter(|a| !a.used) {
            // Of memory that nobody else has: what it left there is held to what it was.
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

    fn leave(&mut self, b: &mut TraceBuilder, t: u32, site: usize) {
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
            // Whoever gets it is not rebuilt.
            let width = self.width_of(b, &term);
            let pins = self.terms.pinned(b, &term, width);
            self.emit(b, t, &pins);
        }
    }
}

/// No value that is not understood is longer than this: two words, or a vector.
const OTHER_LEN: u64 = 64;

fn local(operand: Operand) -> Option<Local> {
    match operand {
        Operand::Local(local) => Some(local),
        _ => None,
    }
}

/// Width and operation of `__tsan_atomic32_fetch_add`.
fn atomic_name(name: &str) -> Option<(u8, &str)> {
    let (width, op) = name.strip_prefix("__tsan_atomic")?.split_once('_')?;
    Some((width.parse().ok().filter(|w| *w <= 64)?, op))
}
