//! From text to a trace.
//!
//! One pass over the bytes. Lines and fields are found with `memchr`, names are slices of the text
//! and interned without a copy; nothing is allocated for a line whose names are known. Memory is
//! bounded by the size of the text.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr3};
use rustc_hash::FxHashMap;

use super::declare::{self, Part, PartKind};
use super::dialect::Dialect;
use super::escape::{self, NO_LOCATION, Spot};
use super::lines::LineMap;
use super::problem::{
    BAD_ARGUMENTS, BAD_EXPRESSION, BAD_FIELDS, BAD_NAME, BAD_OPERATION, BAD_UTF8, BAD_VALUE,
    Dropped, Problem, quote,
};
use super::value::parse_value;
use super::{Parsed, TextError};
use crate::{
    EventId, EventKind, ExprId, MemBlockId, MemoryOrder, Op, RegId, SiteId, ThreadId, TraceBuilder,
    ValueId, expr,
};

/// Between two frames of a call stack.
pub(super) const FRAME_SEPARATOR: &str = " < ";

/// More events than this do not fit the identifiers.
const MOST_EVENTS: usize = u32::MAX as usize - 1;

pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, TextError> {
    let bytes = without_bom(bytes);
    let mut reader = Reader::new(bytes);
    let (text, broken) = valid_lines(bytes);
    let problem = reader.read(text, None).err().or_else(|| {
        // The line that is no text comes after those that were read.
        reader.line += usize::from(broken.is_some());
        broken
    });
    let line = reader.line;
    let parsed = reader.finish();
    match problem {
        None => Ok(parsed),
        Some(Problem { message, .. }) => Err(TextError { line, message, before: Box::new(parsed) }),
    }
}

pub(super) fn parse_lenient(bytes: &[u8]) -> Parsed {
    let mut rest = without_bom(bytes);
    let mut reader = Reader::new(rest);
    let mut dropped = Dropped::default();
    loop {
        let (text, broken) = valid_lines(rest);
        // With somewhere to drop lines to, reading does not fail.
        let _ = reader.read(text, Some(&mut dropped));
        let Some(problem) = broken else { break };
        reader.line += 1;
        dropped.add(reader.line, problem);
        rest = &rest[text.len()..];
        rest = memchr(b'\n', rest).map_or(&[], |end| &rest[end + 1..]);
    }
    let mut parsed = reader.finish();
    parsed.notes.extend(dropped.notes());
    parsed
}

fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// The text up to the first line that is no text, and the problem of that line.
fn valid_lines(bytes: &[u8]) -> (&str, Option<Problem>) {
    let (end, problem) = match memchr(0, bytes) {
        Some(nul) => (nul, Some("the line has a NUL byte: this is no text".to_owned())),
        None => (bytes.len(), None),
    };
    let (end, problem) = match std::str::from_utf8(&bytes[..end]) {
        Ok(text) if problem.is_none() => return (text, None),
        Ok(_) => (end, problem),
        Err(error) => (error.valid_up_to(), Some("the line is not UTF-8 text".to_owned())),
    };
    let end = memchr::memrchr(b'\n', &bytes[..end]).map_or(0, |newline| newline + 1);
    let text = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    (text, problem.map(|message| Problem::new(BAD_UTF8, message)))
}

/// A word of the second field.
enum Word {
    Op(Op, MemoryOrder),
    Request,
}

/// Operands of an operation, as text.
struct Operands<'t> {
    /// The operation as it is written, for messages.
    word: &'t str,
    /// Text in the parentheses, if there are any.
    inside: Option<&'t str>,
    /// Text after the parentheses.
    after: &'t str,
}

pub(super) struct Reader<'t> {
    pub(super) builder: TraceBuilder,
    /// Names are percent-encoded, and dialects are off where they could be taken for names.
    pub(super) escaped: bool,
    lines: LineMap,
    /// The line being read, from 1.
    line: usize,
    dialect: Dialect,
    /// The thread of the last event as it was written: most lines are of the same one again.
    last_thread: Option<(&'t str, ThreadId)>,
    /// Declared parts of memory blocks; what they name is known at the end.
    pub(super) parts: Vec<Part>,
    /// The blocks of the declared parts.
    pub(super) part_blocks: FxHashMap<(PartKind, String), MemBlockId>,
}

impl<'t> Reader<'t> {
    fn new(bytes: &[u8]) -> Self {
        const SHORTEST_LINE: usize = "T|r(x)\n".len();
        let mut builder = TraceBuilder::new();
        let lines = memchr_iter(b'\n', bytes).count() + 1;
        builder.reserve(lines.min(bytes.len() / SHORTEST_LINE));
        Reader {
            builder,
            escaped: false,
            lines: LineMap::default(),
            line: 0,
            dialect: Dialect::default(),
            last_thread: None,
            parts: Vec::new(),
            part_blocks: FxHashMap::default(),
        }
    }

    fn finish(mut self) -> Parsed {
        declare::resolve_parts(&self.parts, &mut self.builder);
        let notes = self.dialect.finish(&mut self.builder, self.escaped);
        Parsed { trace: self.builder.build(), lines: self.lines, notes }
    }

    /// Whether an event or declaration was read.
    pub(super) fn named_anything(&self) -> bool {
        let trace = self.builder.trace();
        let objects = trace.variable_count() + trace.semaphore_count() + trace.barrier_count();
        let parts = trace.mem_block_count() + self.parts.len();
        trace.thread_count() + objects + parts + trace.meta().len() > 0
    }

    /// Reads whole lines, up to the first problem or, if there is somewhere to drop lines to, to
    /// the end.
    fn read(&mut self, text: &'t str, mut dropped: Option<&mut Dropped>) -> Result<(), Problem> {
        let bytes = text.as_bytes();
        let mut start = 0;
        for end in memchr_iter(b'\n', bytes).chain(Some(bytes.len())) {
            foretell_limit::check();
            if start == bytes.len() {
                break;
            }
            self.line += 1;
            if let Err(problem) = self.read_line(trim(&text[start..end])) {
                match &mut dropped {
                    Some(dropped) => dropped.add(self.line, problem),
                    None => return Err(problem),
                }
            }
            start = end + 1;
        }
        Ok(())
    }

    #[inline]
    fn read_line(&mut self, line: &'t str) -> Result<(), Problem> {
        match line.as_bytes() {
            [] => Ok(()),
            [b'#', b'!', ..] => self.declaration(&line[2..]),
            [b'#', ..] => Ok(()),
            _ => self.event(line),
        }
    }

    fn event(&mut self, line: &'t str) -> Result<(), Problem> {
        let (thread, rest) = split_field(line);
        let Some(rest) = rest else { return Err(one_field(thread)) };
        let (operation, rest) = split_field(rest);
        let (location, stack) = match rest {
            None => ("", None),
            Some(rest) => split_field(rest),
        };
        let open = memchr(b'(', operation.as_bytes());
        let word = trim(&operation[..open.unwrap_or(operation.len())]);
        let known = word_of(word).ok_or_else(|| unknown(word))?;
        let thread = self.thread(trim(thread))?;
        let site = self.site(trim(location), stack.map(trim))?;
        match known {
            Word::Request => {
                self.dialect.request();
                Ok(())
            }
            Word::Op(Op::Guard, _) => {
                let kind = self.guard(thread, operation, open)?;
                self.push(thread, kind, site)
            }
            Word::Op(op, order) => {
                let operands = operands(operation, word, open)?;
                self.operation(op, thread, operands, site)?;
                if order != MemoryOrder::default() {
                    let event = EventId::from_index(self.builder.trace().len() - 1);
                    self.builder.set_order(event, order);
                }
                Ok(())
            }
        }
    }

    #[inline]
    fn push(
        &mut self,
        thread: ThreadId,
        kind: EventKind,
        site: Option<SiteId>,
    ) -> Result<(), Problem> {
        if self.builder.trace().len() >= MOST_EVENTS {
            let message = format!("more than {MOST_EVENTS} events in one trace");
            return Err(Problem::new("more events than a trace can hold", message));
        }
        let event = self.builder.push(thread, kind, site);
        self.lines.push(event, self.line);
        self.dialect.ran(thread, event);
        Ok(())
    }

    fn operation(
        &mut self,
        op: Op,
        thread: ThreadId,
        operands: Operands<'t>,
        site: Option<SiteId>,
    ) -> Result<(), Problem> {
        if op.is_access() {
            let kind = self.access(op, thread, operands)?;
            return self.push(thread, kind, site);
        }
        if !operands.after.is_empty() {
            return Err(Problem::new(
                BAD_ARGUMENTS,
                format!("{} after `{}(…)` means nothing", quote(operands.after), operands.word),
            ));
        }
        if op == Op::Wait && operands.inside.is_some_and(|i| !i.is_empty() && !i.contains(',')) {
            let cond = self.object(&operands, "a condition")?;
            return self.dialect.wait(&mut self.builder, thread, &cond, site);
        }
        let kind = self.synchronization(op, thread, &operands)?;
        self.push(thread, kind, site)?;
        if let EventKind::Notify { cond } | EventKind::NotifyAll { cond } = kind {
            let event = EventId::from_index(self.builder.trace().len() - 1);
            self.dialect.notify(op, cond, event);
        }
        Ok(())
    }

    /// Every operation that is no access and no guard.
    fn synchronization(
        &mut self,
        op: Op,
        thread: ThreadId,
        operands: &Operands<'t>,
    ) -> Result<EventKind, Problem> {
        match op {
            Op::Wait | Op::Woken | Op::TimedOut => return self.waiting(op, operands),
            Op::Begin | Op::End => return self.block(op, operands),
            Op::Fence => return fence(operands),
            _ => {}
        }
        let what = match op {
            Op::Notify | Op::NotifyAll => "a condition",
            Op::Post | Op::Down => "a semaphore",
            Op::Arrive | Op::Leave => "a barrier",
            Op::Fork | Op::Join => "a thread",
            Op::Alloc | Op::Free => "a memory block",
            _ => "a lock",
        };
        let name = self.object(operands, what)?;
        let b = &mut self.builder;
        Ok(match op {
            Op::Acquire => self.dialect.acquire(thread, b.lock(&name)),
            Op::Release => EventKind::Release { lock: b.lock(&name) },
            Op::AcquireShared => EventKind::AcquireShared { lock: b.lock(&name) },
            Op::TryAcquire => EventKind::TryAcquire { lock: b.lock(&name) },
            Op::TryAcquireShared => EventKind::TryAcquireShared { lock: b.lock(&name) },
            Op::ReleaseShared => EventKind::ReleaseShared { lock: b.lock(&name) },
            Op::TryFailed => EventKind::TryFailed { lock: b.lock(&name) },
            Op::TryFailedShared => EventKind::TryFailedShared { lock: b.lock(&name) },
            Op::Notify => EventKind::Notify { cond: b.condition(&name) },
            Op::NotifyAll => EventKind::NotifyAll { cond: b.condition(&name) },
            Op::Post => EventKind::Post { sem: b.semaphore(&name) },
            Op::Down => EventKind::Down { sem: b.semaphore(&name) },
            Op::Arrive => EventKind::Arrive { barrier: b.barrier(&name) },
            Op::Leave => EventKind::Leave { barrier: b.barrier(&name) },
            Op::Fork => EventKind::Fork { thread: b.thread(&name) },
            Op::Join => EventKind::Join { thread: b.thread(&name) },
            Op::Alloc => EventKind::Alloc { block: b.mem_block(&name) },
            Op::Free => EventKind::Free { block: b.mem_block(&name) },
            _ => return Err(unknown(operands.word)),
        })
    }

    fn waiting(&mut self, op: Op, operands: &Operands<'t>) -> Result<EventKind, Problem> {
        let word = operands.word;
        let Some((cond, lock)) = operands.inside.and_then(|inside| inside.split_once(',')) else {
            let message = format!("`{word}` needs a condition and its lock: `{word}(c,l)`");
            return Err(Problem::new(BAD_ARGUMENTS, message));
        };
        let cond = self.name(trim(cond), word, "a condition", Spot::Object)?;
        let lock = self.name(trim(lock), word, "a lock", Spot::Object)?;
        let (cond, lock) = (self.builder.condition(&cond), self.builder.lock(&lock));
        Ok(match op {
            Op::Woken => EventKind::Woken { cond, lock },
            Op::TimedOut => EventKind::TimedOut { cond, lock },
            _ => EventKind::Wait { cond, lock },
        })
    }

    fn block(&mut self, op: Op, operands: &Operands<'t>) -> Result<EventKind, Problem> {
        let label = match operands.inside {
            None | Some("") => None,
            Some(label) => Some(self.name(label, operands.word, "a label", Spot::Object)?),
        };
        let label = label.map(|label| self.builder.label(&label));
        Ok(if op == Op::Begin { EventKind::Begin { label } } else { EventKind::End { label } })
    }

    fn access(
        &mut self,
        op: Op,
        thread: ThreadId,
        operands: Operands<'t>,
    ) -> Result<EventKind, Problem> {
        let Operands { word, inside, after } = operands;
        let Some(inside) = inside else { return Err(needs(word, "a variable")) };
        let (name, value) = match memchr(b'=', inside.as_bytes()) {
            None => (inside, None),
            Some(at) => (trim(&inside[..at]), Some(trim(&inside[at + 1..]))),
        };
        let name = self.name(name, word, "a variable", Spot::Object)?;
        let (value, new) = match value {
            None => (None, None),
            Some(text) if op == Op::AtomicUpdate => self.update_values(text)?,
            Some(text) => (Some(self.value(text)?), None),
        };
        let (register, expr) = match after {
            "" => (None, None),
            after => self.symbolic(op, word, thread, value, after)?,
        };
        let (var, atomic) = (self.builder.variable(&name), op.is_atomic());
        Ok(if op == Op::AtomicUpdate {
            EventKind::Update { var, old: value, new, register, expr }
        } else if op.reads() {
            EventKind::Read { var, atomic, value, register }
        } else {
            EventKind::Write { var, atomic, value, expr }
        })
    }

    fn value(&mut self, text: &str) -> Result<ValueId, Problem> {
        let value = parse_value(text).map_err(|m| Problem::new(BAD_VALUE, m))?;
        Ok(self.builder.values().intern(value))
    }

    /// `old>new`, `old` alone or `>new`.
    fn update_values(&mut self, text: &str) -> Result<(Option<ValueId>, Option<ValueId>), Problem> {
        let Some((old, new)) = text.split_once('>') else {
            return Ok((Some(self.value(text)?), None));
        };
        let old = match trim(old) {
            "" => None,
            old => Some(self.value(old)?),
        };
        Ok((old, Some(self.value(trim(new))?)))
    }

    /// `->%1`, `<-EXPRESSION`, or the first and then the second; `value` is what was read.
    fn symbolic(
        &mut self,
        op: Op,
        word: &str,
        thread: ThreadId,
        value: Option<ValueId>,
        after: &str,
    ) -> Result<(Option<RegId>, Option<ExprId>), Problem> {
        let wrong = |message| Problem::new(BAD_ARGUMENTS, message);
        let (mut register, mut rest) = (None, after);
        if let Some(target) = after.strip_prefix("->") {
            let end = target.find("<-").unwrap_or(target.len());
            let name = trim(&target[..end]);
            rest = &target[end..];
            if !op.reads() {
                return Err(wrong(format!(
                    "`{word}` reads nothing that could go to {}",
                    quote(name)
                )));
            }
            match name.strip_prefix('%').filter(|name| is_register_name(name)) {
                Some(name) => {
                    let r = self.builder.register(thread, name);
                    self.builder.note_register(r, value);
                    register = Some(r);
                }
                None => return Err(wrong(format!("{} is no register (like `%1`)", quote(name)))),
            }
        }
        if rest.is_empty() {
            return Ok((register, None));
        }
        let Some(text) = rest.strip_prefix("<-").map(trim) else {
            return Err(wrong(format!("{} after `{word}(…)` means nothing", quote(rest))));
        };
        if !op.writes() {
            return Err(wrong(format!("`{word}` writes nothing that {} could give", quote(text))));
        }
        let expr = expr::parse_value(text, thread, &mut self.builder)
            .map_err(|m| Problem::new(BAD_EXPRESSION, m))?;
        Ok((register, Some(expr)))
    }

    fn guard(
        &mut self,
        thread: ThreadId,
        operation: &str,
        open: Option<usize>,
    ) -> Result<EventKind, Problem> {
        let inside = open.and_then(|open| trim(&operation[open + 1..]).strip_suffix(')'));
        let Some(text) = inside.map(trim).filter(|text| !text.is_empty()) else {
            return Err(needs("guard", "a condition, like `guard((> %1 0))`,"));
        };
        let expr = expr::parse_guard(text, thread, &mut self.builder)
            .map_err(|m| Problem::new(BAD_EXPRESSION, m))?;
        Ok(EventKind::Guard { expr })
    }

    /// The one object of an operation.
    fn object(&self, operands: &Operands<'t>, what: &str) -> Result<Cow<'t, str>, Problem> {
        match operands.inside {
            None => Err(needs(operands.word, what)),
            Some(name) => self.name(name, operands.word, what, Spot::Object),
        }
    }

    #[inline]
    fn thread(&mut self, name: &'t str) -> Result<ThreadId, Problem> {
        if let Some((last, id)) = self.last_thread
            && last == name
        {
            return Ok(id);
        }
        if name.is_empty() {
            return Err(Problem::new(BAD_NAME, "the thread's field is empty".to_owned()));
        }
        let id = self.name(name, "|", "a thread", Spot::Thread)?;
        let id = self.builder.thread(&id);
        self.last_thread = Some((name, id));
        Ok(id)
    }

    /// Checks a name and undoes its escapes.
    #[inline]
    pub(super) fn name<'n>(
        &self,
        text: &'n str,
        word: &str,
        what: &str,
        spot: Spot,
    ) -> Result<Cow<'n, str>, Problem> {
        if text.is_empty() {
            return Err(needs(word, what));
        }
        if let Some(at) = memchr3(b'(', b',', b'=', text.as_bytes()) {
            return Err(bad_name(text, at, what));
        }
        if spot == Spot::Thread
            && let Some(at) = memchr(b')', text.as_bytes())
        {
            return Err(bad_name(text, at, what));
        }
        self.unescape(text)
    }

    #[inline]
    pub(super) fn unescape<'n>(&self, text: &'n str) -> Result<Cow<'n, str>, Problem> {
        if self.escaped {
            escape::decode(text).map_err(|m| Problem::new(BAD_NAME, m))
        } else {
            Ok(Cow::Borrowed(text))
        }
    }

    #[inline]
    fn site(&mut self, location: &str, stack: Option<&str>) -> Result<Option<SiteId>, Problem> {
        if stack.is_some_and(|stack| !stack.is_empty()) {
            return self.site_with_stack(location, stack.unwrap_or_default()).map(Some);
        }
        if location.is_empty() || location == NO_LOCATION {
            return Ok(None);
        }
        let location = self.unescape(location)?;
        Ok(Some(self.builder.site(&location, None)))
    }

    fn site_with_stack(&mut self, location: &str, stack: &str) -> Result<SiteId, Problem> {
        let wrong = |message: &str| Problem::new(BAD_FIELDS, message.to_owned());
        if stack.contains('|') {
            return Err(wrong("more than four fields (thread|operation|location|callers)"));
        }
        if location.is_empty() || location == NO_LOCATION {
            return Err(wrong("a call stack (the fourth field) needs a location (the third)"));
        }
        let mut caller = None;
        for frame in stack.rsplit(FRAME_SEPARATOR).map(trim) {
            if frame.is_empty() {
                return Err(wrong("the call stack (the fourth field) has an empty frame"));
            }
            let frame = self.unescape(frame)?;
            caller = Some(self.builder.site(&frame, caller));
        }
        let location = self.unescape(location)?;
        Ok(self.builder.site(&location, caller))
    }
}

/// Whether expressions take `%name` for one register.
pub(super) fn is_register_name(name: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || c.is_control() || "()|,=".contains(c);
    !name.is_empty() && !name.contains(ends)
}

/// The text up to the next `|`, and what comes after it if there is one.
#[inline]
fn split_field(text: &str) -> (&str, Option<&str>) {
    match memchr(b'|', text.as_bytes()) {
        None => (text, None),
        Some(bar) => (&text[..bar], Some(&text[bar + 1..])),
    }
}

/// The text without white space around it.
#[inline]
fn trim(text: &str) -> &str {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) if *first > b' ' && *last > b' ' => text,
        _ => text.trim_ascii(),
    }
}

#[inline]
fn word_of(word: &str) -> Option<Word> {
    let op = match word.as_bytes() {
        b"r" => Op::Read,
        b"w" => Op::Write,
        b"ar" => Op::AtomicRead,
        b"aw" => Op::AtomicWrite,
        b"au" => Op::AtomicUpdate,
        b"acq" => Op::Acquire,
        b"rel" => Op::Release,
        b"begin" => Op::Begin,
        b"end" => Op::End,
        b"req" => return Some(Word::Request),
        // The rest is rare enough to be looked for.
        _ => return rare_word(word),
    };
    Some(Word::Op(op, MemoryOrder::default()))
}

/// A word that is not among the most frequent ones, perhaps with a memory order: `ar.rlx`.
fn rare_word(word: &str) -> Option<Word> {
    let (keyword, order) = match word.split_once('.') {
        Some((keyword, order)) => (keyword, Some(MemoryOrder::from_keyword(order)?)),
        None => (word, None),
    };
    let op = *Op::ALL.iter().find(|op| op.keyword() == keyword)?;
    if order.is_some() && !op.has_order() {
        return None;
    }
    Some(Word::Op(op, order.unwrap_or_default()))
}

/// A fence has no operands.
fn fence(operands: &Operands<'_>) -> Result<EventKind, Problem> {
    match operands.inside {
        None | Some("") => Ok(EventKind::Fence),
        Some(inside) => Err(Problem::new(
            BAD_ARGUMENTS,
            format!("`{}` takes nothing in parentheses, not {}", operands.word, quote(inside)),
        )),
    }
}

/// Splits `word(inside)after`.
#[inline]
fn operands<'t>(
    operation: &'t str,
    word: &'t str,
    open: Option<usize>,
) -> Result<Operands<'t>, Problem> {
    let Some(open) = open else { return Ok(Operands { word, inside: None, after: "" }) };
    let rest = &operation[open + 1..];
    let Some(close) = memchr(b')', rest.as_bytes()) else {
        let message = format!("{} has no closing parenthesis", quote(trim(operation)));
        return Err(Problem::new(BAD_ARGUMENTS, message));
    };
    Ok(Operands { word, inside: Some(trim(&rest[..close])), after: trim(&rest[close + 1..]) })
}

#[cold]
fn one_field(line: &str) -> Problem {
    let message = format!("{} is no event (thread|operation|location)", quote(line));
    Problem::new(BAD_FIELDS, message)
}

#[cold]
fn unknown(word: &str) -> Problem {
    let message = match word {
        "" => "the operation's field is empty".to_owned(),
        word => format!("unknown operation {}", quote(word)),
    };
    Problem::new(BAD_OPERATION, message)
}

#[cold]
fn needs(word: &str, what: &str) -> Problem {
    Problem::new(BAD_ARGUMENTS, format!("`{word}` needs {what} in parentheses"))
}

#[cold]
fn bad_name(name: &str, at: usize, what: &str) -> Problem {
    let c = char::from(name.as_bytes()[at]);
    Problem::new(BAD_NAME, format!("{} cannot be the name of {what}: it holds `{c}`", quote(name)))
}
