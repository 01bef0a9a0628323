//! Fingerprints: whether findings of two runs are one bug.
//!
//! A fingerprint is a hash of the properties that stay when lines move and threads come in a
//! different order: the kind, and for each access its operation, its object, its function (or file,
//! or thread, if no function is known), and its ordinal among the function's lines that do the
//! same. The ordinal tells two accesses in one function apart without naming a line. Line numbers,
//! counters and addresses in the names of objects do not count.
//!
//! Violations of a block are identified by their block: the path out of it and back differs from
//! run to run. The failure of a recorded run is identified by its message. The fingerprint changes,
//! and the finding counts as new, if a function is renamed, or if a new line above does the same to
//! the same object.

use std::collections::{BTreeSet, HashMap};

use foretell_trace::{EventId, EventKind, FindingKind, SiteId, Trace};

use crate::json::Finding;
use crate::location::{Location, base_name, stack_at};
use crate::observed::Failure;
use crate::soundness::{self, Soundness};

/// Sets the fingerprint of every finding that has none, and what it means for a program in Rust.
/// Findings about events that the trace does
/// not have are left alone.
pub fn assign(findings: &mut [Finding], trace: &Trace) {
    let open = |f: &Finding| f.fingerprint.is_none() && known(f, trace);
    if !findings.iter().any(open) {
        return;
    }
    let acts = Acts::new(findings, trace);
    for finding in findings.iter_mut().filter(|f| open(f)) {
        finding.fingerprint = Some(format!("{:016x}", hash(&acts.identity(finding))));
        if let Some(soundness) = Soundness::of(finding) {
            finding.extra.insert(soundness::FIELD.to_owned(), soundness.word().into());
        }
    }
}

fn known(finding: &Finding, trace: &Trace) -> bool {
    let block = finding.block.map(|b| b.begin);
    finding.events.iter().copied().chain(block).all(|e| (e as usize) < trace.len())
}

/// Operation on an object in a function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Act {
    verb: &'static str,
    object: String,
    location: String,
}

/// The acts that findings are about, with the lines of the trace that do them.
struct Acts<'a> {
    trace: &'a Trace,
    lines: HashMap<Act, BTreeSet<u32>>,
    /// The function or file of a site, and its line: filled while the trace is gone through.
    locations: HashMap<SiteId, (String, u32)>,
}

impl<'a> Acts<'a> {
    fn new(findings: &[Finding], trace: &'a Trace) -> Self {
        let mut acts = Acts { trace, lines: HashMap::new(), locations: HashMap::new() };
        let mut objects: BTreeSet<String> = BTreeSet::new();
        for finding in findings.iter().filter(|f| known(f, trace)) {
            let block = finding.block.map(|b| b.begin);
            for e in finding.events.iter().copied().chain(block) {
                let (act, _) = acts.act(EventId(e));
                objects.insert(act.object.clone());
                acts.lines.entry(act).or_default();
            }
        }
        // Names repeat: whether one is wanted is asked once for each.
        let mut wanted: HashMap<(u8, u32), bool> = HashMap::new();
        for event in trace.events() {
            let Some((key, name)) = object(trace, event.kind) else { continue };
            if !*wanted.entry(key).or_insert_with(|| objects.contains(&plain(name))) {
                continue;
            }
            let (act, line) = acts.act(event.id);
            if let Some(lines) = acts.lines.get_mut(&act) {
                lines.insert(line);
            }
        }
        acts
    }

    fn act(&mut self, e: EventId) -> (Act, u32) {
        let event = self.trace.event(e);
        let object = object(self.trace, event.kind).map_or_else(String::new, |(_, n)| plain(n));
        let (location, line) = match event.site {
            Some(site) => {
                let trace = self.trace;
                self.locations.entry(site).or_insert_with(|| location_of(trace, site)).clone()
            }
            None => (format!("thread {}", self.trace.display_name(event.thread)), 0),
        };
        (Act { verb: verb(event.kind), object, location }, line)
    }

    /// Returns [`Acts::act`] as text with its ordinal, once every site is known.
    fn numbered(&self, e: u32) -> String {
        let event = self.trace.event(EventId(e));
        let object = object(self.trace, event.kind).map_or_else(String::new, |(_, n)| plain(n));
        let known = event.site.and_then(|site| self.locations.get(&site).cloned());
        let (location, line) = known
            .unwrap_or_else(|| (format!("thread {}", self.trace.display_name(event.thread)), 0));
        let act = Act { verb: verb(event.kind), object, location };
        let rank = self.lines.get(&act).map_or(0, |lines| lines.range(..line).count());
        format!("{} {} {} {rank}", act.verb, act.object, act.location)
    }

    fn identity(&self, finding: &Finding) -> Vec<String> {
        let mut parts: Vec<String> = match (finding.kind, finding.block) {
            (FindingKind::Serializability | FindingKind::Transactions, Some(block)) => {
                vec![self.numbered(block.begin)]
            }
            _ if finding.is_final_value() => {
                finding.objects.iter().map(|name| format!("final {}", plain(name))).collect()
            }
            _ => finding.events.iter().map(|&e| self.numbered(e)).collect(),
        };
        if finding.kind == FindingKind::Race || finding.kind.ends_blocked() {
            parts.sort();
        }
        if let Some(failure) = Failure::read(finding) {
            // The events are where the threads happened to be; the failure is the bug.
            parts = vec![failure.kind.clone(), plain(&failure.message)];
        }
        parts.insert(0, finding.kind.name().to_owned());
        parts
    }
}

/// The innermost function, or the file where none is known, and the line.
fn location_of(trace: &Trace, site: SiteId) -> (String, u32) {
    let frame = stack_at(trace, site).into_iter().next().unwrap_or_default();
    let text = frame.location.unwrap_or_default();
    let location = Location::parse(&text);
    let name = match (frame.function, location) {
        (Some(function), _) => format!("in {function}"),
        (None, Some(location)) => format!("at {}", base_name(location.file)),
        (None, None) => format!("at {text}"),
    };
    (name, location.map_or(0, |p| p.line))
}

/// The object of an event that findings are about, by a key and by name.
fn object(trace: &Trace, kind: EventKind) -> Option<((u8, u32), &str)> {
    Some(match kind {
        EventKind::Read { var, .. }
        | EventKind::Write { var, .. }
        | EventKind::Update { var, .. } => ((0, var.0), trace.variable_name(var)),
        EventKind::Acquire { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock } => ((1, lock.0), trace.lock_name(lock)),
        EventKind::Begin { label: Some(label) } => ((2, label.0), trace.label_name(label)),
        EventKind::Begin { label: None } => ((3, 0), ""),
        _ => return None,
    })
}

fn verb(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Read { .. } => "read",
        EventKind::Write { .. } => "write",
        EventKind::Update { .. } => "update",
        EventKind::Begin { .. } => "begin",
        _ => "acquire",
    }
}

/// Returns a name without the parts that change from run to run: lines and counters (`:12`, `#3`,
/// `~2`) and addresses (`0x…`).
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        plain.push(c);
        match c {
            ':' | '#' | '~' => while rest.next_if(char::is_ascii_digit).is_some() {},
            'x' if plain.ends_with("0x") => {
                while rest.next_if(char::is_ascii_hexdigit).is_some() {}
            }
            _ => {}
        }
    }
    plain
}

/// FNV-1a over the parts, with a byte between them that no text has.
fn hash(parts: &[String]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use foretell_trace::TraceBuilder;
    use foretell_verify::Pattern;

    use super::*;
    use crate::json;

    /// `get` reads `x` on two lines, `put` writes it, everything `shift` lines further down; the
    /// first `extra` events are of a thread that has nothing to do with it.
    fn trace(shift: u32, extra: u32) -> Trace {
        let mut b = TraceBuilder::new();
        let (x, other) = (b.variable(&format!("heap@a.c:{}#1", 3 + shift)), b.variable("other"));
        let noise = b.thread("noise");
        for _ in 0..extra {
            let write = EventKind::Write { var: other, atomic: false, value: None, expr: None };
            b.push(noise, write, None);
        }
        let (t1, t2) = (b.thread("T1"), b.thread("T2"));
        let main = b.site("main", None);
        let get = b.site(&format!("get a.c:{}", 90 + shift), Some(main));
        for line in [7, 8] {
            let site = Some(b.site(&format!("a.c:{}", line + shift), Some(get)));
            let kind = EventKind::Read { var: x, atomic: false, value: None, register: None };
            b.push(t1, kind, site);
        }
        let put = b.site("put", None);
        let site = Some(b.site(&format!("a.c:{}", 20 + shift), Some(put)));
        b.push(t2, EventKind::Write { var: x, atomic: false, value: None, expr: None }, site);
        b.build()
    }

    fn fingerprints(trace: &Trace, first: u32) -> Vec<String> {
        let e = |i| EventId(first + i);
        let races = [Pattern::Race { a: e(0), b: e(2) }, Pattern::Race { a: e(1), b: e(2) }];
        let mut findings: Vec<_> =
            races.iter().map(|race| json::finding(race, &[], "order", trace)).collect();
        assign(&mut findings, trace);
        findings.into_iter().map(|f| f.fingerprint.unwrap()).collect()
    }

    #[test]
    fn they_survive_new_lines_and_other_runs() {
        let here = fingerprints(&trace(0, 0), 0);
        assert_ne!(here[0], here[1], "two lines of one function are two findings");
        assert_eq!(here, fingerprints(&trace(13, 0), 0));
        assert_eq!(here, fingerprints(&trace(13, 5), 5));
    }

    #[test]
    fn numbers_in_names_do_not_count() {
        assert_eq!(plain("heap@list.c:12#3+8"), "heap@list.c:#+8");
        assert_eq!(plain("stack of T1+0x7f3a"), "stack of T1+0x");
        assert_eq!(plain("table~2"), "table~");
        assert_eq!(plain("balance"), "balance");
    }

    #[test]
    fn findings_about_no_event_of_the_trace_have_none() {
        let trace = trace(0, 0);
        let race = Pattern::Race { a: EventId(0), b: EventId(2) };
        let mut finding = json::finding(&race, &[], "order", &trace);
        finding.events[1] = 99;
        assign(std::slice::from_mut(&mut finding), &trace);
        assert_eq!(finding.fingerprint, None);
    }
}
