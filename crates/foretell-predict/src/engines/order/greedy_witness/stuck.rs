//! The waits of a greedy run that is stuck, and the rules that cause them.
//!
//! From each thread that cannot go on there is a way to the event that it waits for first, from
//! there to the one which that one's thread waits for, and so on: to a circle, or to a thread that
//! will not go on. On a circle some rule has to be met in another way than it was. A thread on it
//! waits at one event and is waited for at a later one; if it has several sections of the lock in
//! question on the way, or several writes of the variable, the last one says most.

use foretell_model::{SectionId, TraceModel};
use foretell_trace::{EventId, EventKind, Op, ThreadId, VarId};

use super::greedy::{Greedy, Plan};
use crate::engines::order::simulate::{Demands, Violation};

/// Why a greedy run could not go on.
#[derive(Default)]
pub(super) struct Stuck {
    /// The rules that are to blame.
    pub(super) violations: Vec<Violation>,
    /// One pair of events for each circle: had the first run before the second, the circle would
    /// not be there.
    pub(super) reversals: Vec<(EventId, EventId)>,
    /// Not every circle can be avoided by a reversal, or there are other reasons.
    pub(super) hopeless: bool,
}

/// The event that an event waits for, and the rule.
struct Wait {
    /// The thread and, where it is known, the position of the event that has to run first.
    event: Option<(ThreadId, u32)>,
    rule: WaitRule,
}

#[derive(Clone)]
enum WaitRule {
    /// None, or none that a search can take into account.
    Given,
    /// A thread is inside `held`.
    Section { entering: SectionId, held: SectionId },
    /// `entering` is never left, perhaps only as a reader: the others have to be over first.
    Last { entering: Vec<SectionId>, others: Vec<SectionId> },
    /// An access of an opaque variable waits for one that came before it.
    Turn { first: EventId },
    /// A read waits for its writer.
    Writer { read: EventId },
    /// A write waits for reads that rely on `last`.
    Readers { reads: Vec<EventId>, last: Option<EventId> },
    /// A read that nothing preserves yet.
    View { read: EventId, seen: Option<EventId> },
    /// A try-lock has to fail first, or no section lets it fail.
    Try(EventId),
}

/// One step of a way: the event that waits, and what for.
type WaitStep = (EventId, Wait);

impl Greedy {
    /// Finds the reasons why no thread can go on.
    pub(super) fn stuck(&mut self, plan: &Plan<'_, impl Demands>) -> Stuck {
        let mut stuck = Stuck::default();
        // By thread: the walk that came here first, from 1.
        let mut walks = vec![0; plan.counts.len()];
        for start in 0..plan.counts.len() {
            let mut way: Vec<WaitStep> = Vec::new();
            let mut next = Some(start);
            while let Some(t) = next.filter(|&t| walks[t] == 0) {
                foretell_limit::check();
                let Some(e) = self.next_of(plan, t) else { break };
                walks[t] = start + 1;
                let wait = self.waits_for(plan, e);
                next = wait.event.map(|(thread, _)| thread.index());
                way.push((e, wait));
            }
            let thread = |step: &WaitStep| plan.trace_model.trace.thread(step.0).index();
            match next {
                Some(t) if walks[t] == start + 1 => {
                    let from = way.iter().position(|step| thread(step) == t).unwrap_or(0);
                    self.blame_circle(plan, &way[from..], &mut stuck);
                }
                // An earlier walk went on from here.
                Some(t) if walks[t] != 0 => {}
                _ => {
                    let last = way.last();
                    stuck
                        .violations
                        .extend(last.into_iter().flat_map(|(e, w)| blamed(*e, &w.rule)));
                    stuck.hopeless |= last.is_some();
                }
            }
        }
        stuck
    }

    /// Blames the rules of a circle of threads that wait for each other.
    fn blame_circle(&self, plan: &Plan<'_, impl Demands>, circle: &[WaitStep], stuck: &mut Stuck) {
        let mut best: Option<(EventId, EventId)> = None;
        for (i, (e, wait)) in circle.iter().enumerate() {
            let before = if i == 0 { circle.len() - 1 } else { i - 1 };
            let awaited = circle[before].1.event.map_or(0, |(_, position)| position);
            let (e, rule) = self.latest(plan, *e, &wait.rule, awaited);
            stuck.violations.extend(blamed(e, &rule));
            let distance = |(x, y): (EventId, EventId)| x.0.abs_diff(y.0);
            if let Some(pair) = reversal(plan, e, &rule)
                && best.is_none_or(|best| distance(pair) < distance(best))
            {
                best = Some(pair);
            }
        }
        stuck.hopeless |= best.is_none();
        stuck.reversals.extend(best);
    }

    /// The last event of the thread up to position `awaited` that has to wait for the same reason.
    fn latest(
        &self,
        plan: &Plan<'_, impl Demands>,
        e: EventId,
        rule: &WaitRule,
        awaited: u32,
    ) -> (EventId, WaitRule) {
        let TraceModel { trace, chains, locks, reads_from, .. } = plan.trace_model;
        let position = |e: EventId| chains.position(e);
        let own = trace.thread(e);
        match *rule {
            WaitRule::Section { entering, held } => {
                let by_thread = locks.of_lock_by_thread(locks.get(entering).lock);
                let list = by_thread.iter().find(|(t, _)| *t == own);
                let list = list.map_or(&[][..], |(_, list)| list);
                let until = list.partition_point(|&s| position(locks.get(s).enter) <= awaited);
                let excludes = |s: SectionId| !(locks.get(s).shared && locks.get(held).shared);
                let last = list[..until].iter().rev().copied().find(|&s| excludes(s));
                let entering = last.unwrap_or(entering);
                (locks.get(entering).enter, WaitRule::Section { entering, held })
            }
            WaitRule::Readers { ref reads, last } => {
                let by_thread = trace.variable(e).map(|x| reads_from.accesses_by_thread(x));
                let list = by_thread.and_then(|lists| lists.iter().find(|(t, _)| *t == own));
                let list = list.map_or(&[][..], |(_, list)| list);
                let until = list.partition_point(|&a| position(a) <= awaited);
                // An update among the reads does not come between itself and what it sees.
                let other = |a: &EventId| trace.op(*a).writes() && !reads.contains(a);
                let writes = list[..until].iter().rev().copied().find(other);
                let write = writes.filter(|&w| position(w) > position(e)).unwrap_or(e);
                (write, WaitRule::Readers { reads: reads.clone(), last })
            }
            _ => (e, rule.clone()),
        }
    }

    /// Returns the first wait of the next event of a thread.
    fn waits_for(&mut self, plan: &Plan<'_, impl Demands>, e: EventId) -> Wait {
        let TraceModel { trace, chains, locks, .. } = plan.trace_model;
        let event = |x: EventId, rule: WaitRule| Wait {
            event: Some((trace.thread(x), chains.position(x))),
            rule,
        };
        let nothing = |rule: WaitRule| Wait { event: None, rule };
        if chains.position(e) == 0
            && let Some(fork) = chains.fork(trace.thread(e))
            && !self.has_run(plan, fork)
        {
            return event(fork, WaitRule::Given);
        }
        if let Some(x) = plan.before(e).find(|&x| !self.has_run(plan, x)) {
            return event(x, WaitRule::Given);
        }
        if let Some(turn) = self.whose_turn(plan, e) {
            let opaque = trace.op(e).is_access() || trace.op(e) == Op::Free;
            let rule = if opaque { WaitRule::Turn { first: turn } } else { WaitRule::Given };
            return event(turn, rule);
        }
        if trace.op(e).is_access() {
            return self.access_waits_for(plan, e);
        }
        if trace.op(e) == Op::Free {
            let mut waits = trace.accessed_variables(e).map(|x| self.write_waits_for(plan, e, x));
            return waits.find(|wait| wait.event.is_some()).unwrap_or(nothing(WaitRule::Given));
        }
        match trace.event(e).kind {
            EventKind::Join { thread } => {
                match chains.events(thread).last().copied().or(chains.fork(thread)) {
                    Some(last) => event(last, WaitRule::Given),
                    None => nothing(WaitRule::Given),
                }
            }
            EventKind::TryFailed { .. } | EventKind::TryFailedShared { .. } => {
                nothing(WaitRule::Try(e))
            }
            EventKind::Release { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::Wait { lock, .. } => {
                let mut tries = self.tries(plan, lock);
                match tries.find(|(s, _)| locks.get(*s).exit == Some(e)) {
                    Some((_, tried)) => event(tried, WaitRule::Try(tried)),
                    None => nothing(WaitRule::Given),
                }
            }
            _ => match locks.entered_at(e) {
                Some(entering) => self.section_waits_for(plan, entering),
                None => nothing(WaitRule::Given),
            },
        }
    }

    fn access_waits_for(&mut self, plan: &Plan<'_, impl Demands>, e: EventId) -> Wait {
        let TraceModel { trace, chains, reads_from, .. } = plan.trace_model;
        let event = |x: EventId, rule: WaitRule| Wait {
            event: Some((trace.thread(x), chains.position(x))),
            rule,
        };
        let Some(x) = trace.variable(e) else { return Wait { event: None, rule: WaitRule::Given } };
        let last = self.last_write(plan, x);
        if trace.op(e).reads() && plan.must_be_preserved(e) {
            if !plan.has_source(e) {
                if !reads_from.preserves(trace, e, last) {
                    return Wait { event: None, rule: WaitRule::View { read: e, seen: last } };
                }
            } else if plan.source(e) != last {
                return match plan.source(e) {
                    Some(w) if !self.has_run(plan, w) => event(w, WaitRule::Writer { read: e }),
                    // It was there, and something else has been written since.
                    _ => Wait { event: None, rule: WaitRule::View { read: e, seen: last } },
                };
            }
        }
        if !trace.op(e).writes() {
            return Wait { event: None, rule: WaitRule::Given };
        }
        self.write_waits_for(plan, e, x)
    }

    /// Some of the reads that rely on the last write of `x` have not seen it yet.
    fn write_waits_for(&mut self, plan: &Plan<'_, impl Demands>, e: EventId, x: VarId) -> Wait {
        let TraceModel { trace, chains, reads_from, .. } = plan.trace_model;
        let last = self.last_write(plan, x);
        let event = |x: EventId, rule: WaitRule| Wait {
            event: Some((trace.thread(x), chains.position(x))),
            rule,
        };
        let waits = |&r: &EventId| {
            r != e
                && trace.op(r).reads()
                && plan.has(r)
                && plan.must_be_preserved(r)
                && plan.source(r) == last
                && !self.has_run(plan, r)
        };
        // Those that saw it in the trace come before the next write.
        let accesses = reads_from.accesses(x);
        let from = last.map_or(0, |last| accesses.partition_point(|&a| a <= last));
        let next = accesses[from..].iter().position(|&a| trace.op(a).writes());
        let to = next.map_or(accesses.len(), |next| from + next + 1);
        let mut reads: Vec<EventId> = accesses[from..to].iter().copied().filter(waits).collect();
        reads.extend(plan.demands.readers(x, last).into_iter().filter(waits));
        reads.sort_unstable();
        reads.dedup();
        match reads.first() {
            Some(&read) => event(read, WaitRule::Readers { reads, last }),
            None => Wait { event: None, rule: WaitRule::Given },
        }
    }

    fn section_waits_for(&mut self, plan: &Plan<'_, impl Demands>, entering: SectionId) -> Wait {
        let TraceModel { chains, locks, .. } = plan.trace_model;
        let own = locks.get(entering);
        let excludes = |s: SectionId| !(own.shared && locks.get(s).shared);
        let exit = |s: SectionId| locks.get(s).exit.map_or(u32::MAX, |exit| chains.position(exit));
        if let Some(held) = self.held(plan, own.lock).find(|&s| excludes(s)) {
            let event = Some((locks.get(held).thread, exit(held)));
            return Wait { event, rule: WaitRule::Section { entering, held } };
        }
        // It is never left: some others have to be over first, of each thread the last one.
        let mut others = Vec::new();
        let mut event = None;
        let by_thread = locks.of_lock_by_thread(own.lock).iter();
        for (thread, list) in by_thread.filter(|(thread, _)| *thread != own.thread) {
            foretell_limit::check();
            let (done, count) = (self.done(*thread), plan.counts[thread.index()]);
            let until = list.partition_point(|&s| exit(s) < count);
            let last = list[..until].iter().rev().copied().find(|&s| excludes(s));
            if let Some(other) = last.filter(|&s| exit(s) >= done) {
                event = event.or(Some((*thread, exit(other))));
                others.push(other);
            }
        }
        // A writer that goes on as a reader waits for the reader's section as well.
        let reader = own.exit.and_then(|exit| locks.entered_at(exit));
        let reader = reader.filter(|_| plan.stays_as_reader(own));
        let entering = std::iter::once(entering).chain(reader).collect();
        Wait { event, rule: WaitRule::Last { entering, others } }
    }
}

/// The broken rules as the search knows them; `e` is the event that waits.
fn blamed(e: EventId, rule: &WaitRule) -> Vec<Violation> {
    match rule {
        WaitRule::Given => Vec::new(),
        &WaitRule::Turn { first } => vec![Violation::Opaque { first, second: e }],
        &WaitRule::Section { entering, held } => vec![Violation::Lock { entering, held }],
        WaitRule::Last { entering, others } => {
            let pairs =
                others.iter().flat_map(|other| entering.iter().map(move |held| (other, held)));
            pairs.map(|(&entering, &held)| Violation::Lock { entering, held }).collect()
        }
        &WaitRule::Writer { read } => vec![Violation::Read { read, seen: None }],
        WaitRule::Readers { reads, .. } => {
            reads.iter().map(|&read| Violation::Read { read, seen: Some(e) }).collect()
        }
        &WaitRule::View { read, seen } => vec![Violation::Read { read, seen }],
        &WaitRule::Try(tried) => vec![Violation::TryFailed(tried)],
    }
}

/// Two events in the order that would meet the rule in the other way; `e` is the event that waits.
fn reversal(
    plan: &Plan<'_, impl Demands>,
    e: EventId,
    rule: &WaitRule,
) -> Option<(EventId, EventId)> {
    let TraceModel { trace, locks, .. } = plan.trace_model;
    match *rule {
        WaitRule::Section { entering, held } => {
            let exit = locks.get(entering).exit.filter(|&exit| plan.has(exit))?;
            Some((exit, locks.get(held).enter))
        }
        WaitRule::Readers { last, .. } => {
            let last = last.filter(|&last| trace.thread(last) != trace.thread(e))?;
            Some((e, last))
        }
        _ => None,
    }
}
