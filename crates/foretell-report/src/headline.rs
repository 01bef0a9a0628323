//! Headline of a finding: one sentence in plain words.

use foretell_trace::{EventId, EventKind, FindingKind, Op, ThreadId, Trace, Value, ValueId};

use crate::hang;
use crate::json::{Finding, Source as Writer};
use crate::lifetime::{self, action};
use crate::observed::Failure;
use crate::source::Sources;
use crate::weak_link::weak_link;
use crate::witness::fold;

/// Returns the headline of a finding. Without the trace it names kind, objects and locations; with
/// the source a read that decides a branch is called a check.
pub(crate) fn headline(finding: &Finding, trace: Option<&Trace>, sources: &Sources) -> String {
    if let Some(failure) = Failure::read(finding) {
        return failure.headline();
    }
    let Some(trace) = trace else { return without_trace(finding) };
    let known: Vec<EventId> = events(trace, &finding.events).collect();
    if known.len() != finding.events.len() {
        return without_trace(finding);
    }
    let say = Say { trace, finding, sources };
    match (finding.kind, &known[..]) {
        (FindingKind::Race, &[a, b]) if finding.is_unordered() => say.unordered(a, b),
        (FindingKind::Race, &[a, b]) => say.race(a, b),
        (FindingKind::Atomicity, &[c, r, c2]) => say.atomicity(c, r, c2),
        (FindingKind::Serializability, &[s, .., t]) => format!(
            "{} can be seen half done: conflicts lead out of it where it {} and back into it where it {}",
            say.block(s),
            say.does_here(s),
            say.does_here(t)
        ),
        (FindingKind::Transactions, events @ &[first, ..]) => format!(
            "{} is on a cycle of conflicts, so no order of whole blocks explains it: {}",
            say.block(first),
            join(events.iter().map(|&e| format!("{} {}", say.name(e), say.does_here(e))), ", ")
        ),
        (FindingKind::Nondeterminism, &[event]) => say.nondeterminism(event),
        (FindingKind::Deadlock, acquires) if acquires.len() > 1 => say.deadlock(acquires),
        (FindingKind::Hang, blocked) if !blocked.is_empty() => say.hang(blocked),
        (FindingKind::Lifetime, &[free, used]) => say.lifetime(free, used),
        _ => without_trace(finding),
    }
}

/// Returns the name of a kind of finding.
pub(crate) fn kind_in_words(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Observed => "failure of the recorded run",
        FindingKind::Race => "data race",
        FindingKind::Atomicity => "atomicity violation",
        FindingKind::Serializability => "serializability violation",
        FindingKind::Transactions => "transaction cycle",
        FindingKind::Nondeterminism => "nondeterminism",
        FindingKind::Deadlock => "deadlock",
        FindingKind::Hang => "hang",
        FindingKind::Lifetime => "lifetime violation",
    }
}

/// Whether an event is an access to a volatile object, which is not atomic.
fn is_volatile(trace: &Trace, event: EventId) -> bool {
    let lines = trace
        .variable(event)
        .and_then(|var| trace.meta().get(&format!("volatile {}", trace.variable_name(var))));
    let location = trace.site(event).map(|site| trace.location(site));
    lines.zip(location).is_some_and(|(lines, here)| lines.split(", ").any(|line| line == here))
}

/// Returns the action of one event of a finding in a few words: `clerk reads balance`.
pub(crate) fn role(trace: &Trace, event: EventId) -> String {
    let name = trace.display_name(trace.thread(event));
    if let Some(var) = trace.variable(event) {
        let volatile = if is_volatile(trace, event) { " (volatile)" } else { "" };
        let variable = trace.variable_name(var);
        return format!("{name} {}s {variable}{volatile}", action(trace, event));
    }
    match (trace.event(event).kind, fold::lock(trace, event)) {
        (EventKind::Free { .. }, _) => {
            format!("{name} {}", lifetime::act(trace, event).of_third_person().replace('`', ""))
        }
        (
            EventKind::Join { .. }
            | EventKind::Woken { .. }
            | EventKind::Down { .. }
            | EventKind::Leave { .. },
            _,
        ) => format!("{name} waits for {}", hang::wanted(trace, event).replace('`', "")),
        (_, Some(lock)) => format!("{name} waits for {}", trace.lock_name(lock)),
        _ => name.to_owned(),
    }
}

fn events<'a>(trace: &'a Trace, indices: &'a [u32]) -> impl Iterator<Item = EventId> + 'a {
    indices.iter().filter(|&&e| (e as usize) < trace.len()).map(|&e| EventId(e))
}

fn without_trace(finding: &Finding) -> String {
    let locations: Vec<String> = finding
        .events
        .iter()
        .enumerate()
        .map(|(i, e)| match finding.locations.get(i) {
            Some(Some(location)) => location.clone(),
            _ => format!("event {e}"),
        })
        .collect();
    let objects = finding.objects.join(", ");
    format!("{} on {objects}: {}", kind_in_words(finding.kind), locations.join(", "))
}

/// Longer values, in characters, have no location in a sentence.
const LONGEST_VALUE: usize = 18;

struct Say<'a> {
    trace: &'a Trace,
    finding: &'a Finding,
    sources: &'a Sources,
}

impl Say<'_> {
    fn name(&self, e: EventId) -> &str {
        self.trace.display_name(self.trace.thread(e))
    }

    /// The variable that an event accesses; for a `free` of a block, the block.
    fn variable(&self, e: EventId) -> String {
        let name = match (self.trace.variable(e), self.trace.freed_block(e)) {
            (Some(x), _) => self.trace.variable_name(x),
            (None, Some(block)) => self.trace.mem_block_name(block),
            (None, None) => "?",
        };
        format!("`{name}`")
    }

    fn race(&self, a: EventId, b: EventId) -> String {
        let writes = |e| self.trace.op(e).writes();
        let (write, other) = if writes(a) { (a, b) } else { (b, a) };
        if is_volatile(self.trace, a) || is_volatile(self.trace, b) {
            let text = self.plain_race(a, b, write, other);
            return format!("{text} (volatile makes no access atomic)");
        }
        self.plain_race(a, b, write, other)
    }

    /// A race that memory orders leave open, with the access that is too weak.
    fn unordered(&self, a: EventId, b: EventId) -> String {
        let schedule: Vec<EventId> = events(self.trace, &self.finding.witness.schedule).collect();
        let later_first = schedule.iter().find(|&&e| e == a || e == b) == Some(&b);
        let (first, last) = if later_first { (b, a) } else { (a, b) };
        let noun = |e: EventId| match self.trace.op(e) {
            _ if self.trace.is_free(e) => "free",
            op if op.writes() => "write",
            _ => "read",
        };
        let text = format!(
            "Nothing orders the {} of {} by thread {} before the {} by thread {}",
            noun(first),
            self.variable(first),
            self.name(first),
            noun(last),
            self.name(last)
        );
        match weak_link(self.trace, &schedule, [a, b]) {
            Some(link) => format!("{text}: {}", link.remark(self.trace)),
            None => text,
        }
    }

    fn plain_race(&self, a: EventId, b: EventId, write: EventId, other: EventId) -> String {
        let writes = |e| self.trace.op(e).writes();
        let frees = |e| self.trace.is_free(e);
        if frees(a) != frees(b) {
            let (free, other) = if frees(a) { (a, b) } else { (b, a) };
            // A `free` of a block has no variable of its own.
            let named = if self.trace.variable(free).is_some() { free } else { other };
            let (x, who) = (self.variable(named), self.name(other));
            let does = action(self.trace, other);
            return format!(
                "Thread {} can free {x} while thread {who} {does}s it",
                self.name(free)
            );
        }
        if frees(a) && frees(b) {
            let (a, b, x) = (self.name(a), self.name(b), self.variable(a));
            return format!("Threads {a} and {b} can both free {x}");
        }
        if writes(a) && writes(b) {
            let (a, b, x) = (self.name(a), self.name(b), self.variable(a));
            return format!("Threads {a} and {b} can write {x} at the same time");
        }
        let reader = self.name(other);
        format!(
            "Thread {} can {} while thread {reader} reads it",
            self.name(write),
            self.does(write)
        )
    }

    fn atomicity(&self, c: EventId, r: EventId, c2: EventId) -> String {
        let writes = |e| self.trace.op(e).writes();
        let (who, whose) = (self.name(r), self.name(c));
        let between = match (writes(c), writes(c2)) {
            (false, false) if self.is_check(c) => "the check and the use",
            (false, false) => "two reads",
            (false, true) => "the read and the write",
            (true, false) => "the write and the read",
            (true, true) => "two writes",
        };
        let after = match (writes(c), writes(r), writes(c2)) {
            (false, true, true) => ", and that is lost",
            (true, false, true) => ", and see the middle of an update",
            _ => "",
        };
        format!("Thread {who} can {} between {between} in thread {whose}{after}", self.does(r))
    }

    /// Whether the source line of a read decides something.
    fn is_check(&self, e: EventId) -> bool {
        let location = self.trace.site(e).map(|site| self.trace.location(site));
        let Some((source, line)) = location.and_then(|location| self.sources.at(location)) else {
            return false;
        };
        let text = source.line(line).unwrap_or_default();
        let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
        words.into_iter().any(|word| ["if", "while", "assert"].contains(&word))
            || text.contains(" ? ")
    }

    /// `clear x`, `set x to 5`, `update x`, `read x`.
    fn does(&self, e: EventId) -> String {
        let (op, x) = (self.trace.op(e), self.variable(e));
        if op == Op::Write || op == Op::AtomicWrite {
            let recorded = self.trace.written_value(e).and_then(|v| self.trace.values().get(v));
            let value = match self.finding.values_of(e.0) {
                // The value along the schedule, where it is known.
                Some(values) => values.written.as_deref().map(plain),
                None => recorded.and_then(|value| self.short_value(e, value)),
            };
            match value.as_deref() {
                Some("0") => return format!("clear {x}"),
                Some(value) if value.len() <= LONGEST_VALUE => {
                    return format!("set {x} to {value}");
                }
                _ => {}
            }
        }
        format!("{} {x}", action(self.trace, e))
    }

    /// Returns a value of the variable of `e` as its type writes it; none if it is a long number.
    fn short_value(&self, e: EventId, value: Value) -> Option<String> {
        let typed = self.typed_value(e, value);
        typed.or_else(|| small(value).then(|| number(value)))
    }

    /// Returns a value as its type writes it, if that is not as a number.
    fn typed_value(&self, e: EventId, value: Value) -> Option<String> {
        let typed = self.trace.shown_value(self.trace.variable(e)?, value);
        (typed != value.to_string()).then_some(typed)
    }

    /// `writes x at bank.c:41`.
    fn does_here(&self, e: EventId) -> String {
        format!("{}s {}{}", action(self.trace, e), self.variable(e), self.at(e))
    }

    /// ` at bank.c:41`, or which event it is.
    fn at(&self, e: EventId) -> String {
        match self.trace.site(e) {
            Some(site) => format!(" at {}", self.trace.location(site)),
            None => format!(" (event {})", e.0),
        }
    }

    /// `Thread T1's atomic block transfer`; `inside` is one of its events.
    fn block(&self, inside: EventId) -> String {
        let begin = self.finding.block.map(|b| EventId(b.begin));
        let Some(begin) = begin.filter(|b| b.index() < self.trace.len()) else {
            return format!("An atomic block of thread {}", self.name(inside));
        };
        let label = match self.trace.event(begin).kind {
            EventKind::Begin { label: Some(label) } => format!(" {}", self.trace.label_name(label)),
            _ => String::new(),
        };
        format!("Thread {}'s atomic block{label}", self.name(begin))
    }

    /// Whose value it is: `the initial value`, `thread T1's write at bank.c:41`.
    fn source(&self, source: Option<Writer>) -> String {
        match source {
            Some(Writer::Event(e)) if (e as usize) < self.trace.len() => {
                let e = EventId(e);
                let noun = if self.trace.op(e) == Op::AtomicUpdate { "update" } else { "write" };
                format!("thread {}'s {noun}{}", self.name(e), self.at(e))
            }
            Some(Writer::Initial) => "the initial value".to_owned(),
            _ => "another value".to_owned(),
        }
    }

    fn nondeterminism(&self, e: EventId) -> String {
        let (writer, challenger) =
            (self.source(self.finding.writer), self.source(self.finding.challenger));
        let x = self.variable(e);
        if self.finding.is_final_value() {
            let last = self.source(Some(Writer::Event(e.0)));
            return format!(
                "The last value of {x} depends on the schedule: {last} can come after {writer}"
            );
        }
        let text = |id: Option<ValueId>| {
            let value = id.and_then(|id| self.trace.values().get(id))?;
            Some(self.typed_value(e, value).unwrap_or_else(|| number(value)))
        };
        let now = match self.finding.challenger {
            _ if self.finding.values_of(e.0).is_some() => {
                self.finding.values_of(e.0).and_then(|values| values.read.as_deref()).map(plain)
            }
            Some(Writer::Event(c)) if (c as usize) < self.trace.len() => {
                text(self.trace.written_value(EventId(c)))
            }
            _ => None,
        };
        match (now, text(self.trace.read_value(e))) {
            (Some(now), Some(was)) if now != was => format!(
                "Thread {} can read {now} from {x} instead of {was}: {challenger} instead of {writer}",
                self.name(e)
            ),
            _ => format!(
                "What thread {} reads from {x} depends on the schedule: {challenger} instead of {writer}",
                self.name(e)
            ),
        }
    }

    fn lifetime(&self, free: EventId, used: EventId) -> String {
        let act = |e: EventId| lifetime::act(self.trace, e);
        format!(
            "Thread {} can {}{} after thread {} {}{}",
            self.name(used),
            act(used).bare(),
            self.at(used),
            self.name(free),
            act(free).of_third_person(),
            self.at(free)
        )
    }

    /// Returns the wait of each thread, and the notification that came too early.
    fn hang(&self, blocked: &[EventId]) -> String {
        let waits = |&e: &EventId| format!("for {}{}", hang::wanted(self.trace, e), self.at(e));
        let schedule: Vec<EventId> = events(self.trace, &self.finding.witness.schedule).collect();
        let early = blocked.iter().find_map(|&e| hang::missed(self.trace, &schedule, e));
        let early = early.map_or_else(String::new, |notify| {
            format!(
                "; the notification of {}{} comes too early",
                self.name(notify),
                self.at(notify)
            )
        });
        if let [only] = blocked {
            return format!("Thread {} can wait for ever {}{early}", self.name(*only), waits(only));
        }
        let names: Vec<&str> = blocked.iter().map(|&e| self.name(e)).collect();
        let (last, rest) = names.split_last().map_or(("", &[][..]), |(last, rest)| (*last, rest));
        format!(
            "Threads {} and {last} can wait for ever: {}{early}",
            rest.join(", "),
            join(blocked.iter().map(|e| format!("{} {}", self.name(*e), waits(e))), ", ")
        )
    }

    fn deadlock(&self, acquires: &[EventId]) -> String {
        let schedule: Vec<EventId> = events(self.trace, &self.finding.witness.schedule).collect();
        let wanted: Vec<_> = acquires.iter().filter_map(|&e| fold::lock(self.trace, e)).collect();
        let holds = fold::held_at_end(&schedule, self.trace);
        let threads: Vec<ThreadId> = acquires.iter().map(|&e| self.trace.thread(e)).collect();
        let stuck = acquires.iter().zip(&threads).map(|(&e, &thread)| {
            let of_thread = holds.iter().filter(|h| h.thread == thread);
            let names = of_thread
                .filter(|h| wanted.contains(&h.lock))
                .map(|h| format!("`{}`", self.trace.lock_name(h.lock)));
            let wanted = match (self.trace.event(e).kind, fold::lock(self.trace, e)) {
                (EventKind::Join { thread }, _) => {
                    format!("the end of {}", self.trace.display_name(thread))
                }
                (_, Some(lock)) => format!("`{}`", self.trace.lock_name(lock)),
                (_, None) => "?".to_owned(),
            };
            match join(names, ", ") {
                held if held.is_empty() => format!("{} waits for {wanted}", self.name(e)),
                held => format!("{} holds {held} and waits for {wanted}", self.name(e)),
            }
        });
        let names: Vec<&str> = threads.iter().map(|&t| self.trace.display_name(t)).collect();
        let (last, rest) = names.split_last().map_or(("", &[][..]), |(last, rest)| (*last, rest));
        format!(
            "Threads {} and {last} can wait for each other for ever: {}",
            rest.join(", "),
            join(stuck, ", ")
        )
    }
}

fn join(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}

/// Whether a value is short enough to be worth a location in a sentence: an address is not.
fn small(value: Value) -> bool {
    signed(value).unsigned_abs() < 1 << 32
}

/// A value as a number: bits as most programs mean them, in two's complement.
fn signed(value: Value) -> i64 {
    match value {
        Value::Int(i) => i,
        // A truth value.
        Value::Bits { width: 1, bits } => bits as i64,
        Value::Bits { width, bits } => {
            let unused = 64 - u32::from(width.clamp(1, 64));
            ((bits << unused) as i64) >> unused
        }
    }
}

/// A value; what looks like an address in hexadecimal.
fn number(value: Value) -> String {
    let i = signed(value);
    if small(value) { i.to_string() } else { format!("{i:#x}") }
}

/// The text of a value, as trace text writes it, as a number.
fn plain(text: &str) -> String {
    let bits = |digits: &str, radix, each| {
        let width = u8::try_from(digits.len() * each).ok()?;
        let bits = u64::from_str_radix(digits, radix).ok()?;
        Some(Value::Bits { width, bits })
    };
    let value = match (text.strip_prefix("#x"), text.strip_prefix("#b")) {
        (Some(digits), _) => bits(digits, 16, 4),
        (_, Some(digits)) => bits(digits, 2, 1),
        _ => text.parse().ok().map(Value::Int),
    };
    value.map_or_else(|| text.to_owned(), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_numbers_in_sentences() {
        let cases =
            [("#x00000005", "5"), ("#xffffffff", "-1"), ("#b1", "1"), ("#b01", "1"), ("-7", "-7")];
        for (text, wanted) in cases {
            assert_eq!(plain(text), wanted, "{text}");
        }
        assert_eq!(plain("#x00007fffdeadbee0"), "0x7fffdeadbee0");
        assert_eq!(number(Value::Bits { width: 8, bits: 0x80 }), "-128");
    }
}
