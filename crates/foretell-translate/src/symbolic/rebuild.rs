//! Walks along the recorded path of every thread and rebuilds the values that depend on shared
//! reads.
//!
//! The trail of a thread (its path, addresses, values) and its events are in one stream. A shared
//! read gives a fresh register ([`Rebuild::read`]); the load that follows claims it. The note about
//! a store comes before its event ([`Rebuild::write`]), which takes the expression. Branches,
//! addresses and values that are not understood become conditions ([`Rebuild::guards`]) in the
//! trace before the next event of their thread.
//!
//! Every computed value is compared with the recorded one. Where they differ, or where the path
//! cannot be followed (a jump out of functions), the thread *freezes*: guards pin all its reads so
//! far to their recorded values, and all values computed from them are the recorded ones. This
//! loses interleavings, and makes no finding wrong.
//!
//! The rebuild does not see memory that uninstrumented code computes from other sources than its
//! arguments (the state of a library between two calls, but for output).

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

/// Statistics of a rebuild.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Symbolic {
    /// Number of shared reads with a register.
    pub registers: u64,
    /// Number of guards in the trace.
    pub guards: u64,
    /// Number of values that were computed from shared reads in a way that was not understood.
    pub concrete: u64,
    /// Number of stores, branches and results that differ from the recorded ones, and of losses of
    /// the path.
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

/// A shared read that no load has claimed yet.
struct Unclaimed {
    addr: u64,
    len: u64,
    term: Term,
    width: u8,
}

/// A store whose event follows.
#[derive(Clone)]
struct Storing {
    addr: u64,
    len: u64,
    term: Term,
    width: u8,
}

/// An atomic operation whose event follows.
#[derive(Clone)]
struct Atomic {
    op: String,
    /// Local with the address; `None` for a global.
    addr: Option<u64>,
    width: u8,
    /// Operands after the address.
    terms: Vec<Term>,
    /// Whether an event has taken it.
    used: bool,
}

enum Calling {
    /// The called function is not known yet.
    Waiting,
    /// A function that is rebuilt.
    Inside,
    /// A function that is not rebuilt, whose result depends on these conditions.
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
    /// `None` for a function that is not rebuilt.
    function: Option<Rc<Function>>,
    /// The next site.
    at: usize,
    /// The site of the block's label.
    block: usize,
    values: Vec<Term>,
    fields: FxHashMap<(Local, u32), (Term, u8)>,
    call: Option<Current>,
    /// Whether the frame below called it directly.
    called: bool,
}

#[derive(Default)]
struct Thread {
    frames: Vec<Frame>,
    memory: Memory,
    unclaimed: Vec<Unclaimed>,
    storing: Option<Storing>,
    /// The store of the current record.
    stored: Option<Storing>,
    atomic: Option<Atomic>,
    returned: Option<Term>,
    /// Guards that are in the trace.
    emitted: FxHashSet<ExprId>,
    /// Conditions that pin the reads since the last freeze.
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
    /// Guards to put before the next event.
    guards: Vec<ExprId>,
    /// Variables whose last write has no value (a large copy or fill), with that write.
    pub(crate) blank: FxHashMap<VarId, EventId>,
    /// Values of such writes, from the next read.
    pub(crate) filled: Vec<(EventId, Value)>,
}

impl Rebuild {
    /// Returns the guards to put before the next event.
    pub(crate) fn guards(&mut self) -> Vec<ExprId> {
        std::mem::take(&mut self.guards)
    }

    /// Takes the code address of a note. A branch is decided before the block that it goes to.
    pub(crate) fn note_address(&mut self, t: u32, kind: TrailKind, pc: u64) {
        let thread = self.thread(t);
        if kind != TrailKind::Block || thread.pc.is_none() {
            thread.pc = Some(pc);
        }
    }

    /// Returns the code address of a guard that is found now.
    pub(crate) fn guard_address(&mut self, t: u32) -> Option<u64> {
        self.thread(t).pc
    }

    fn thread(&mut self, index: u32) -> &mut Thread {
        let i = index as usize;
        if self.threads.len() <= i {
            self.threads.resize_with(i + 1, Thread::default);
        }
        &mut self.threads[i]
    }

    /// Takes a record of a thread: pending reads and calls are settled before it.
    pub(crate) fn before(&mut self, b: &mut TraceBuilder, t: u32, record: &Record<'_>) {
        match record {
            Record::FuncEntry { .. }
            | Record::FuncExit
            | Record::Module { .. }
            | Record::ModuleGone { .. } => return,
            Record::Trail { .. } => return,
            Record::Alloc { addr, size, .. } => {
                // Newly allocated memory holds no known value.
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
        // Accesses that are neither a load nor a store of the path.
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

    /// Pins the reads that no load has claimed to their recorded values.
    fn settle(&mut self, b: &mut TraceBuilder, t: u32) {
        for read in std::mem::take(&mut self.thread(t).unclaimed) {
            let pins = self.terms.pinned(b, &read.term, read.width);
            self.emit(b, t, &pins);
        }
    }

    /// Adds conditions as guards.
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

    /// Whether a condition holds for the recorded values.
    fn holds(&mut self, b: &TraceBuilder, guard: ExprId) -> bool {
        let registers = &self.registers;
        let value = |r: RegId| registers.get(r.index()).copied().flatten();
        self.evaluator.eval(b.trace().exprs(), guard, value).truth() == Some(true)
    }

    /// Takes note of a computed value that differs from the recorded one.
    fn differs(&mut self, b: &mut TraceBuilder, t: u32) {
        self.counts.different += 1;
        self.freeze(b, t);
    }

    /// Pins every read of a thread to its recorded value and forgets the values computed from them.
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

    /// Takes a note about the path.
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

    /// Makes the frame of a site the last one. Returns false if its function is not rebuilt.
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

    /// Leaves a frame that is not rebuilt: its arguments and reads are pinned already.
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
