//! From a trace to text.
//!
//! Written text reads back as an equal trace: the same events, names, values, locations with their
//! callers, declarations and expressions, or nothing is written and the error says why. Names that
//! the format has no room for turn on its escapes (see `escape`). A trace that has only what RAPID
//! knows is written so that RAPID reads it: RAPID wants a number in the third field of every line
//! and no line that is no event.

use std::borrow::Cow;
use std::io::{self, Write};

use super::dialect::completed;
use super::escape::{self, NO_LOCATION, Spot};
use super::reader::{FRAME_SEPARATOR, is_register_name};
use crate::expr::{self, Expr};
use crate::{BarrierId, CondId, LabelId, LockId, MemBlockId, MemoryOrder};
use crate::{Event, EventKind, ExprId, Op, RegId, SemId, SiteId, ThreadId, Trace, ValueId, VarId};

/// Size of the buffer of text before it is written.
const CHUNK: usize = 1 << 16;

/// An expression with more nodes than this when nothing is shared is not written: text has no
/// sharing, and a few lines of a binary trace can stand for more text than there are disks.
const MOST_NODES: u64 = 1 << 20;

/// Writes the trace as text. [`parse`](super::parse) reads it back as the same trace.
///
/// # Errors
/// Whatever `out` reports; and `InvalidData` if the trace has something that no text can hold: a
/// register whose name is no word, an expression over another thread's registers or too large to
/// spell out. In the latter case nothing is written.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let escaped = needs_escapes(trace);
    let mut writer = Writer {
        trace,
        escaped,
        number_locations: !escaped && is_rapid(trace),
        exprs: ExprFacts::of(trace),
        text: Vec::with_capacity(CHUNK + CHUNK / 4),
    };
    writer.check_symbols()?;
    if escaped {
        writer.text.extend_from_slice(b"#! escaped\n");
    }
    writer.declarations()?;
    for event in trace.events() {
        foretell_limit::check();
        writer.event(event)?;
        if writer.text.len() >= CHUNK {
            out.write_all(&writer.text)?;
            writer.text.clear();
        }
    }
    out.write_all(&writer.text)?;
    out.flush()
}

/// Whether some name would not read back as it is.
fn needs_escapes(trace: &Trace) -> bool {
    let odd = |name: &str, spot| !escape::is_plain(name, spot);
    let object = |name: &str| odd(name, Spot::Object);
    (0..trace.variable_count() as u32).any(|i| object(trace.variable_name(VarId(i))))
        || (0..trace.lock_count() as u32).any(|i| object(trace.lock_name(LockId(i))))
        || (0..trace.condition_count() as u32).any(|i| object(trace.condition_name(CondId(i))))
        || (0..trace.semaphore_count() as u32).any(|i| object(trace.semaphore_name(SemId(i))))
        || (0..trace.barrier_count() as u32).any(|i| object(trace.barrier_name(BarrierId(i))))
        || (0..trace.label_count() as u32).any(|i| object(trace.label_name(LabelId(i))))
        || (0..trace.mem_block_count() as u32)
            .any(|i| odd(trace.mem_block_name(MemBlockId(i)), Spot::Block))
        || (0..trace.site_count() as u32).any(|i| odd_site(trace, SiteId(i)))
        || trace.meta().iter().any(|(key, value)| object(key) || odd(value, Spot::Display))
        || threads_need_escapes(trace)
}

fn odd_site(trace: &Trace, site: SiteId) -> bool {
    let frame = |s| !escape::is_plain(trace.location(s), Spot::Frame);
    !escape::is_plain(trace.location(site), Spot::Location)
        || trace.site_node(site).caller.is_some_and(frame)
}

fn threads_need_escapes(trace: &Trace) -> bool {
    let mut runs = vec![false; trace.thread_count()];
    for e in trace.ids() {
        foretell_limit::check();
        runs[trace.thread(e).index()] = true;
    }
    (0..trace.thread_count() as u32).map(ThreadId).any(|t| {
        let display = trace.declared_display_name(t);
        !escape::is_plain(trace.thread_name(t), Spot::Thread)
            || display.is_some_and(|name| !escape::is_plain(name, Spot::Display))
            // A reader would take it for another thread (see `dialect`).
            || completed(trace, t, |u| runs[u.index()]).is_some()
    })
}

/// Whether RAPID can read the trace if every event has a number for a location.
fn is_rapid(trace: &Trace) -> bool {
    let declares = (0..trace.thread_count() as u32)
        .any(|t| trace.declared_display_name(ThreadId(t)).is_some())
        || (0..trace.variable_count() as u32)
            .map(VarId)
            .any(|v| trace.is_opaque(v) || trace.declared_initial_value(v).is_some())
        || trace.semaphore_count() > 0
        || trace.barrier_count() > 0
        || trace.mem_block_count() > 0
        || trace.knows_ended()
        || (0..trace.lock_count() as u32).map(LockId).any(|l| trace.is_order_only(l))
        || !trace.meta().is_empty();
    let number =
        |s| trace.site_node(s).caller.is_none() && trace.location(s).parse::<i32>().is_ok();
    !declares
        && (0..trace.site_count() as u32).all(|s| number(SiteId(s)))
        && trace.events().all(|e| match e.kind {
            EventKind::Read { atomic: false, value: None, register: None, .. } => true,
            EventKind::Write { atomic: false, value: None, expr: None, .. } => true,
            kind => matches!(
                kind.op(),
                Op::Acquire | Op::Release | Op::Fork | Op::Join | Op::Begin | Op::End
            ),
        })
}

struct Writer<'t> {
    trace: &'t Trace,
    escaped: bool,
    /// Events without a location get [`NO_LOCATION`].
    number_locations: bool,
    exprs: ExprFacts,
    text: Vec<u8>,
}

impl<'t> Writer<'t> {
    /// Whether all registers and expressions can be written; asked before anything is.
    fn check_symbols(&self) -> io::Result<()> {
        if self.trace.register_count() == 0 && self.trace.exprs().is_empty() {
            return Ok(());
        }
        for event in self.trace.events() {
            foretell_limit::check();
            let (register, expr) = match event.kind {
                EventKind::Read { register, .. } => (register, None),
                EventKind::Write { expr, .. } => (None, expr),
                EventKind::Update { register, expr, .. } => (register, expr),
                EventKind::Guard { expr } => (None, Some(expr)),
                _ => continue,
            };
            if let Some(r) = register {
                check_register(self.trace, event.thread, r)?;
            }
            if let Some(expr) = expr {
                self.exprs.check(self.trace, event.thread, expr)?;
            }
        }
        Ok(())
    }

    fn name(&mut self, name: &str, spot: Spot) {
        let name = if self.escaped { escape::encode(name, spot) } else { Cow::Borrowed(name) };
        self.text.extend_from_slice(name.as_bytes());
    }

    fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn declarations(&mut self) -> io::Result<()> {
        let trace = self.trace;
        for (key, value) in trace.meta() {
            self.push("#! meta ");
            self.name(key, Spot::Object);
            self.push("=");
            self.name(value, Spot::Display);
            self.push("\n");
        }
        for t in (0..trace.thread_count() as u32).map(ThreadId) {
            if let Some(display) = trace.declared_display_name(t) {
                self.push("#! name ");
                self.name(trace.thread_name(t), Spot::Thread);
                self.push("=");
                self.name(display, Spot::Display);
                self.push("\n");
            }
            if trace.has_ended(t) {
                self.push("#! ended ");
                self.name(trace.thread_name(t), Spot::Thread);
                self.push("\n");
            }
        }
        for s in (0..trace.semaphore_count() as u32).map(SemId) {
            if trace.has_declared_count(s) {
                let count = trace.initial_count(s).to_string();
                self.declare("sem", trace.semaphore_name(s), Some(&count));
            }
        }
        for b in (0..trace.barrier_count() as u32).map(BarrierId) {
            if let Some(parties) = trace.parties(b) {
                self.declare("barrier", trace.barrier_name(b), Some(&parties.to_string()));
            }
        }
        for v in (0..trace.variable_count() as u32).map(VarId) {
            if let Some(value) = trace.declared_initial_value(v) {
                let value = trace.values().get(value).ok_or_else(stray_value)?.to_string();
                self.declare("init", trace.variable_name(v), Some(&value));
            }
            if trace.is_opaque(v) {
                self.declare("opaque", trace.variable_name(v), None);
            }
        }
        for l in (0..trace.lock_count() as u32).map(LockId) {
            if trace.is_order_only(l) {
                self.declare("order-only", trace.lock_name(l), None);
            }
        }
        self.parts();
        Ok(())
    }

    /// The parts of memory blocks. A name that stands for several objects, not all in the same
    /// block, is declared with its kind.
    fn parts(&mut self) {
        let trace = self.trace;
        for v in (0..trace.variable_count() as u32).map(VarId) {
            let name = trace.variable_name(v);
            if let Some(block) = trace.block_of_variable(v) {
                let word = if self.is_one_part(name, block) { "part" } else { "part-variable" };
                self.part(word, name, block);
            }
        }
        for l in (0..trace.lock_count() as u32).map(LockId) {
            let name = trace.lock_name(l);
            let Some(block) = trace.block_of_lock(l) else { continue };
            if !self.is_one_part(name, block) {
                self.part("part-lock", name, block);
            } else if trace.find_variable(name).is_none() {
                self.part("part", name, block);
            }
        }
        for c in (0..trace.condition_count() as u32).map(CondId) {
            let name = trace.condition_name(c);
            let Some(block) = trace.block_of_condition(c) else { continue };
            if !self.is_one_part(name, block) {
                self.part("part-condition", name, block);
            } else if trace.find_variable(name).is_none() && trace.find_lock(name).is_none() {
                self.part("part", name, block);
            }
        }
    }

    /// Whether all objects with a name lie in one block.
    fn is_one_part(&self, name: &str, block: MemBlockId) -> bool {
        let trace = self.trace;
        let variable = trace.find_variable(name).map(|v| trace.block_of_variable(v));
        let lock = trace.find_lock(name).map(|l| trace.block_of_lock(l));
        let condition = trace.find_condition(name).map(|c| trace.block_of_condition(c));
        [variable, lock, condition].into_iter().flatten().all(|b| b == Some(block))
    }

    fn part(&mut self, word: &str, name: &str, block: MemBlockId) {
        self.push("#! ");
        self.push(word);
        self.push(" ");
        self.name(name, Spot::Object);
        self.push(" ");
        self.name(self.trace.mem_block_name(block), Spot::Block);
        self.push("\n");
    }

    fn declare(&mut self, word: &str, name: &str, value: Option<&str>) {
        self.push("#! ");
        self.push(word);
        self.push(" ");
        self.name(name, Spot::Object);
        if let Some(value) = value {
            self.push("=");
            self.push(value);
        }
        self.push("\n");
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        self.name(self.trace.thread_name(event.thread), Spot::Thread);
        self.push("|");
        self.push(event.kind.op().keyword());
        if event.order != MemoryOrder::default() {
            self.push(".");
            self.push(event.order.keyword());
        }
        self.operation(event)?;
        match event.site {
            Some(site) => self.site(site),
            None if self.number_locations => {
                self.push("|");
                self.push(NO_LOCATION);
            }
            None => {}
        }
        self.push("\n");
        Ok(())
    }

    fn operation(&mut self, event: Event) -> io::Result<()> {
        let trace = self.trace;
        match event.kind {
            EventKind::Read { var, value, register, .. } => {
                self.access(var, value, None)?;
                self.register(register);
            }
            EventKind::Write { var, value, expr, .. } => {
                self.access(var, value, None)?;
                self.source(expr);
            }
            EventKind::Update { var, old, new, register, expr } => {
                self.access(var, old, new)?;
                self.register(register);
                self.source(expr);
            }
            EventKind::Guard { expr } => {
                self.push("(");
                self.push(&expr::print(trace, expr));
                self.push(")");
            }
            EventKind::Begin { label } | EventKind::End { label } => {
                if let Some(label) = label {
                    self.object(trace.label_name(label));
                }
            }
            EventKind::Wait { cond, lock }
            | EventKind::Woken { cond, lock }
            | EventKind::TimedOut { cond, lock } => {
                self.push("(");
                self.name(trace.condition_name(cond), Spot::Object);
                self.push(",");
                self.name(trace.lock_name(lock), Spot::Object);
                self.push(")");
            }
            EventKind::Fence => {}
            EventKind::Alloc { block } | EventKind::Free { block } => {
                self.push("(");
                self.name(trace.mem_block_name(block), Spot::Block);
                self.push(")");
            }
            kind => self.object(object_name(trace, kind)),
        }
        Ok(())
    }

    fn object(&mut self, name: &str) {
        self.push("(");
        self.name(name, Spot::Object);
        self.push(")");
    }

    fn access(
        &mut self,
        var: VarId,
        value: Option<ValueId>,
        new: Option<ValueId>,
    ) -> io::Result<()> {
        self.push("(");
        self.name(self.trace.variable_name(var), Spot::Object);
        if value.is_some() || new.is_some() {
            self.push("=");
        }
        if let Some(value) = value {
            self.value(value)?;
        }
        if let Some(new) = new {
            self.push(">");
            self.value(new)?;
        }
        self.push(")");
        Ok(())
    }

    fn value(&mut self, value: ValueId) -> io::Result<()> {
        let value = self.trace.values().get(value).ok_or_else(stray_value)?;
        write!(self.text, "{value}")
    }

    fn register(&mut self, register: Option<RegId>) {
        if let Some(r) = register {
            self.push("->%");
            self.push(self.trace.register_name(r));
        }
    }

    fn source(&mut self, expr: Option<ExprId>) {
        if let Some(expr) = expr {
            self.push("<-");
            self.push(&expr::print(self.trace, expr));
        }
    }

    fn site(&mut self, site: SiteId) {
        self.push("|");
        self.name(self.trace.location(site), Spot::Location);
        let mut separator = "|";
        let mut caller = self.trace.site_node(site).caller;
        while let Some(site) = caller {
            self.push(separator);
            self.name(self.trace.location(site), Spot::Frame);
            separator = FRAME_SEPARATOR;
            caller = self.trace.site_node(site).caller;
        }
    }
}

/// The name of the one object of an operation that has just that.
fn object_name(trace: &Trace, kind: EventKind) -> &str {
    match kind {
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock }
        | EventKind::TryFailedShared { lock }
        | EventKind::Wait { lock, .. }
        | EventKind::Woken { lock, .. }
        | EventKind::TimedOut { lock, .. } => trace.lock_name(lock),
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => trace.condition_name(cond),
        EventKind::Post { sem } | EventKind::Down { sem } => trace.semaphore_name(sem),
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => trace.barrier_name(barrier),
        EventKind::Fork { thread } | EventKind::Join { thread } => trace.thread_name(thread),
        EventKind::Read { var, .. }
        | EventKind::Write { var, .. }
        | EventKind::Update { var, .. } => trace.variable_name(var),
        EventKind::Begin { label } | EventKind::End { label } => {
            label.map_or("", |label| trace.label_name(label))
        }
        EventKind::Alloc { block } | EventKind::Free { block } => trace.mem_block_name(block),
        EventKind::Guard { .. } | EventKind::Fence => "",
    }
}

/// Size and owner of each expression, needed before it is written out.
struct ExprFacts {
    /// Nodes of the expression as a tree, and the one thread whose registers it reads.
    facts: Vec<(u64, Owner)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    NoThread,
    One(ThreadId),
    Several,
    /// A register whose name is no word.
    Unwritable,
}

impl ExprFacts {
    fn of(trace: &Trace) -> ExprFacts {
        let mut facts: Vec<(u64, Owner)> = Vec::with_capacity(trace.exprs().len());
        for i in 0..trace.exprs().len() {
            facts.push(match trace.exprs().get(ExprId::from_index(i)) {
                Some(Expr::Reg(r)) if !is_register_name(trace.register_name(*r)) => {
                    (1, Owner::Unwritable)
                }
                Some(Expr::Reg(r)) => (1, Owner::One(trace.register(*r).thread)),
                Some(Expr::App(_, args)) => {
                    args.iter().fold((1, Owner::NoThread), |(n, o), arg| {
                        let (more, other) = facts.get(arg.index()).copied().unwrap_or((0, o));
                        (u64::saturating_add(n, more), o.and(other))
                    })
                }
                Some(Expr::Const(_) | Expr::Bool(_)) | None => (1, Owner::NoThread),
            });
        }
        ExprFacts { facts }
    }

    fn check(&self, trace: &Trace, thread: ThreadId, expr: ExprId) -> io::Result<()> {
        let Some(&(nodes, owner)) = self.facts.get(expr.index()) else {
            return Err(invalid("an event has an expression that is not there".to_owned()));
        };
        if nodes > MOST_NODES {
            return Err(invalid(format!(
                "an expression is too large to be written as text (more than {MOST_NODES} nodes)"
            )));
        }
        match owner {
            Owner::NoThread => Ok(()),
            Owner::One(t) if t == thread => Ok(()),
            Owner::Unwritable => Err(invalid("a register has a name that is no word".to_owned())),
            Owner::One(_) | Owner::Several => {
                let name = trace.thread_name(thread);
                Err(invalid(format!("an expression of {name} uses registers of another thread")))
            }
        }
    }
}

impl Owner {
    fn and(self, other: Owner) -> Owner {
        match (self, other) {
            (Owner::Unwritable, _) | (_, Owner::Unwritable) => Owner::Unwritable,
            (Owner::NoThread, owner) | (owner, Owner::NoThread) => owner,
            (a, b) if a == b => a,
            _ => Owner::Several,
        }
    }
}

fn check_register(trace: &Trace, thread: ThreadId, r: RegId) -> io::Result<()> {
    let name = trace.register_name(r);
    if trace.register(r).thread != thread {
        return Err(invalid(format!("register %{name} belongs to another thread")));
    }
    // The target of a read ends where an expression begins.
    if !is_register_name(name) || name.contains("<-") {
        return Err(invalid(format!("register {name:?} has a name that text cannot hold")));
    }
    Ok(())
}

fn stray_value() -> io::Error {
    invalid("an event has a value that is not there".to_owned())
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
