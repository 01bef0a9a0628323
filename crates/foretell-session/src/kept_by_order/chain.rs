//! Chains of kept order between the events of a finding.

use foretell_report::json::{Finding, Source};
use foretell_report::kept_by_order::{HIDDEN, KeptUses};
use foretell_trace::{EventId, EventKind, FindingKind, ThreadId, Trace, VarId};

use super::Hidden;

/// Number of events of a finding between which chains are looked for.
const MAX_EVENTS: usize = 8;
/// Number of uses that are named where no chain is found, and of functions.
const MAX_NAMED: usize = 3;

/// Events of a trace that order threads: uses of hidden state, fork and join.
pub(super) struct Chains<'a> {
    trace: &'a Trace,
    events: Vec<EventId>,
}

/// Two uses of hidden state, one after the other, and the pair before them on a chain.
#[derive(Clone, Copy)]
struct Link {
    uses: [EventId; 2],
    before: Option<usize>,
}

/// End of a chain: its number of links, and the last one.
#[derive(Clone, Copy)]
struct Way {
    length: usize,
    last: Option<usize>,
}

impl<'a> Chains<'a> {
    pub(super) fn new(trace: &'a Trace, hidden: &Hidden) -> Self {
        let orders = |e: &EventId| match trace.event(*e).kind {
            EventKind::Fork { .. } | EventKind::Join { .. } => true,
            _ => hidden.is_use(trace, *e),
        };
        Chains { trace, events: trace.ids().filter(orders).collect() }
    }

    /// Returns the uses of hidden state whose order forbids a finding: the shortest chain between
    /// two of its events. Where there is none, because the order decides an earlier lock or read,
    /// these are the last uses before the finding by different threads of it, or by any threads.
    pub(super) fn forbidding(&self, finding: &Finding) -> Vec<KeptUses> {
        let mut events: Vec<EventId> =
            finding.events.iter().take(MAX_EVENTS).map(|&e| EventId(e)).collect();
        for source in [finding.writer, finding.challenger] {
            if let Some(Source::Event(e)) = source {
                events.push(EventId(e));
            }
        }
        events.sort_unstable();
        events.dedup();
        let middle = match (finding.kind, &finding.events[..]) {
            (FindingKind::Atomicity, &[_, r, _]) => Some(EventId(r)),
            _ => None,
        };
        let mut shortest: Option<Vec<[EventId; 2]>> = None;
        for &from in &events {
            for (to, links) in self.chains_from(from, &events) {
                // The first access of a block may well be ordered before the access that can come
                // in between, and that one before the second access.
                let is_wanted = match (middle, &finding.events[..]) {
                    (Some(r), &[c, _, c2]) => (from == r && to.0 == c) || (from.0 == c2 && to == r),
                    _ => true,
                };
                if is_wanted && shortest.as_ref().is_none_or(|known| links.len() < known.len()) {
                    shortest = Some(links);
                }
            }
        }
        let uses = shortest.unwrap_or_else(|| self.last_uses(&events));
        uses.into_iter().map(|uses| self.describe(uses)).collect()
    }

    /// Returns the shortest chain with a use of hidden state from one event to each of the later
    /// ones that it reaches.
    fn chains_from(&self, from: EventId, targets: &[EventId]) -> Vec<(EventId, Vec<[EventId; 2]>)> {
        let trace = self.trace;
        let mut links: Vec<Link> = Vec::new();
        let mut threads: Vec<Option<Way>> = vec![None; trace.thread_count()];
        let mut states: Vec<Option<(Way, EventId)>> = vec![None; trace.variable_count()];
        threads[trace.thread(from).index()] = Some(Way { length: 0, last: None });
        let mut next = self.events.partition_point(|&e| e <= from);
        let mut chains = Vec::new();
        for &target in targets.iter().filter(|&&e| e > from) {
            while let Some(&e) = self.events.get(next).filter(|&&e| e < target) {
                next += 1;
                let thread = trace.thread(e).index();
                match (trace.event(e).kind, trace.variable(e)) {
                    (EventKind::Fork { thread: child }, _) => {
                        threads[child.index()] = shorter(threads[child.index()], threads[thread]);
                    }
                    (EventKind::Join { thread: child }, _) => {
                        threads[thread] = shorter(threads[thread], threads[child.index()]);
                    }
                    (_, Some(var)) => {
                        let state = &mut states[var.index()];
                        if let Some((way, first)) = *state
                            && threads[thread].is_none_or(|known| way.length + 1 < known.length)
                        {
                            links.push(Link { uses: [first, e], before: way.last });
                            let last = Some(links.len() - 1);
                            threads[thread] = Some(Way { length: way.length + 1, last });
                        }
                        if let Some(way) = threads[thread]
                            && state.is_none_or(|(known, _)| way.length <= known.length)
                        {
                            *state = Some((way, e));
                        }
                    }
                    _ => {}
                }
            }
            let mut last = threads[trace.thread(target).index()].and_then(|way| way.last);
            let mut chain = Vec::new();
            while let Some(link) = last.and_then(|last| links.get(last)) {
                chain.push(link.uses);
                last = link.before;
            }
            chain.reverse();
            if !chain.is_empty() {
                chains.push((target, chain));
            }
        }
        chains
    }

    /// Returns the last uses of hidden state before the last of some events, each pair by two
    /// threads of the events, or if there are none, by any two threads.
    fn last_uses(&self, events: &[EventId]) -> Vec<[EventId; 2]> {
        let Some(&end) = events.last() else { return Vec::new() };
        let own: Vec<ThreadId> = events.iter().map(|&e| self.trace.thread(e)).collect();
        let before = &self.events[..self.events.partition_point(|&e| e < end)];
        let pairs = |is_wanted: &dyn Fn(ThreadId) -> bool| {
            let mut later: Vec<Option<EventId>> = vec![None; self.trace.variable_count()];
            let mut named: Vec<VarId> = Vec::new();
            let mut pairs = Vec::new();
            for &e in before.iter().rev() {
                let Some(var) = self.trace.variable(e) else { continue };
                let thread = self.trace.thread(e);
                if !is_wanted(thread) || named.contains(&var) {
                    continue;
                }
                if let Some(second) = later[var.index()]
                    && self.trace.thread(second) != thread
                {
                    pairs.push([e, second]);
                    named.push(var);
                    if pairs.len() == MAX_NAMED {
                        break;
                    }
                }
                later[var.index()] = Some(e);
            }
            pairs
        };
        let of_own = pairs(&|thread| own.contains(&thread));
        if of_own.is_empty() { pairs(&|_| true) } else { of_own }
    }

    fn describe(&self, uses: [EventId; 2]) -> KeptUses {
        let trace = self.trace;
        let variable = trace.variable(uses[1]).map_or("?", |var| trace.variable_name(var));
        let location = |e: EventId| trace.site(e).map(|site| trace.location(site).to_owned());
        KeptUses {
            variable: variable.to_owned(),
            events: uses.iter().map(|e| e.0).collect(),
            locations: uses.iter().map(|&e| location(e)).collect(),
            functions: functions(trace, variable),
        }
    }
}

/// Returns the functions of a library or class that are called most, if the variable is its state.
/// The recorder has them in a property, `kept calls LIBRARY`: `5; 3 tsearch; 2 tfind`.
fn functions(trace: &Trace, variable: &str) -> Vec<String> {
    let state = variable.strip_prefix(HIDDEN).unwrap_or(variable);
    let owner = state.strip_prefix("lib ").or_else(|| state.strip_prefix("class "));
    let calls = owner.and_then(|owner| trace.meta().get(&format!("kept calls {owner}")));
    let parts = calls.into_iter().flat_map(|calls| calls.split("; ").skip(1));
    let names = parts.filter_map(|part| Some(part.split_once(' ')?.1.to_owned()));
    names.take(MAX_NAMED).collect()
}

/// Returns the shorter one of two ways.
fn shorter(a: Option<Way>, b: Option<Way>) -> Option<Way> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.length < a.length { b } else { a }),
        (a, b) => a.or(b),
    }
}
