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

mod accesses;
mod calls;
mod events;
mod walk;

use std::rc::Rc;

use foretell_rt_format::{AtomicKind, Record, TrailKind};
use foretell_trace::expr::Evaluator;
use foretell_trace::{EventId, ExprId, RegId, TraceBuilder, Value, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use foretell_log::{touched, writes};

use super::memory::Memory;
use super::program::Program;
use super::term::{Pins, Term, Terms};
use foretell_build::symbolic::ir::{Function, Local, Operand, Type};

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
    /// Variables whose last write did not say its value (much memory was copied or filled at once), and that write.
    pub(crate) blank: FxHashMap<VarId, EventId>,
    /// The values of such writes, as the next read saw them.
    pub(crate) filled: Vec<(EventId, Value)>,
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
        let thread = self.thread(t);
        (thread.stored, thread.storing) = (None, None);
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
}

fn local(operand: Operand) -> Option<Local> {
    match operand {
        Operand::Local(local) => Some(local),
        _ => None,
    }
}
