//! Feasibility (semantics sections 1 and 2) as constraints, all of them, for the events within the
//! bounds of a formula.
//!
//! The encoding of the SMT-versus-DPOR paper (its section 4) and of the race-witness paper
//! (sections 3 and 4), made exact:
//! - program order, forks and joins (`Φ_PO_Sync`);
//! - one disjunction for each two sections of a lock that exclude each other (`Φ_LK`), with the
//!   cases that a section is never entered or never left. The papers' locks are always freed;
//! - a read that is relied on sees a write that preserves it, every other write is before that or
//!   after the read (`β` of the race-witness paper, `Broken` negated). Not only the broken read's
//!   successors are skipped but whatever needs them, because nothing runs without what it needs;
//! - waits: the papers couple a wait with its observed notify. Here any notification may
//!   wake any waiter, and a wait that times out was picked by none, although every notify
//!   must pick a waiter;
//! - semaphores: every down takes a token of its own, from the beginning or from an earlier post.
//!   Such a matching exists iff the count never falls below zero;
//! - barriers: arrivals are numbered in their order, and `leave` comes after the whole generation;
//! - in the symbolic model, guards that are true for the values at hand (`values`).
//!
//! Where must-happen-before already decides a disjunction, the decided part is written instead, and
//! only for the nearest event of each thread: program order gives the rest.

use foretell_model::{Section, SectionId, TraceModel, Wait, WaitId};
use foretell_trace::{
    BarrierId, CondId, EventId, EventKind, LockId, Model, SemId, ThreadId, VarId,
};
use rustc_hash::FxHashMap;

use super::cut_short::{CutShort, check};
use super::formula::Formula;
use super::lit::Lit;
use crate::engines::writers::writers;
use crate::query::Limit;

/// A barrier with more arrivals is not written down: their numbering takes a constraint for any
/// three.
const MOST_ARRIVALS: usize = 200;

impl Formula<'_> {
    /// Writes down what every feasible interleaving satisfies.
    pub(super) fn feasibility(&mut self, limit: &Limit<'_>) -> Result<(), CutShort> {
        let trace_model = self.trace_model;
        let trace = trace_model.trace;
        self.forks_and_joins();
        for e in trace.ids() {
            foretell_limit::check();
            check(limit)?;
            if self.bounds.never(trace_model, e) {
                continue;
            }
            if trace_model.uses_hidden_state(e) {
                if let Some(w) = trace_model.reads_from.observed(e) {
                    self.needs(e, w);
                }
            } else if trace.op(e).reads() {
                // In the symbolic model a read may see any write: what it sees is a matter of
                // values.
                if trace_model.model != Model::Symbolic {
                    self.read(e);
                }
            } else if let Some((lock, _)) = trace.event(e).kind.failed_try() {
                self.try_failed(e, lock);
            }
        }
        for l in (0..trace.lock_count()).map(LockId::from_index) {
            self.lock(l, limit)?;
        }
        for c in (0..trace.condition_count()).map(CondId::from_index) {
            self.condition(c, limit)?;
        }
        for s in (0..trace.semaphore_count()).map(SemId::from_index) {
            self.semaphore(s, limit)?;
        }
        for b in (0..trace.barrier_count()).map(BarrierId::from_index) {
            self.barrier(b)?;
        }
        for x in (0..trace.variable_count()).map(VarId::from_index) {
            if trace.is_opaque(x) {
                self.opaque(x, limit)?;
            }
        }
        self.guards(limit)
    }

    /// Those of some events that may run.
    fn possible(&self, events: &[EventId]) -> Vec<EventId> {
        events.iter().copied().filter(|&e| !self.bounds.never(self.trace_model, e)).collect()
    }

    fn forks_and_joins(&mut self) {
        let chains = &self.trace_model.chains;
        for t in (0..chains.thread_count()).map(ThreadId::from_index) {
            let (fork, events) = (chains.fork(t), chains.events(t));
            if let (Some(fork), Some(&first)) = (fork, events.first()) {
                self.needs(first, fork);
            }
            // A thread without events is joined after its fork.
            let Some(last) = events.last().copied().or(fork) else { continue };
            for &join in chains.joins(t) {
                self.needs(join, last);
            }
        }
    }

    /// When `e` runs, `other` has run before it.
    fn needs(&mut self, e: EventId, other: EventId) {
        self.implies(&[Lit::Ran(e)], &[&[Lit::Ran(other), Lit::Less(other, e)]]);
    }

    /// A read that is relied on sees a write that preserves its view.
    fn read(&mut self, read: EventId) {
        let Some(relied_on) = self.reliance(read) else { return };
        let writers = writers(self.trace_model, read, true);
        if let [writer] = writers[..] {
            self.sees(relied_on, read, writer, true);
            return;
        }
        let mut alternatives = Vec::with_capacity(writers.len());
        for writer in writers {
            foretell_limit::check();
            if writer.is_some_and(|w| self.bounds.never(self.trace_model, w)) {
                continue;
            }
            let sees = Lit::Var(self.var());
            alternatives.push([sees]);
            self.sees(sees, read, writer, true);
        }
        let alternatives: Vec<&[Lit]> = alternatives.iter().map(|a| &a[..]).collect();
        self.implies(&[relied_on], &alternatives);
    }

    /// If `when`, then `read` sees `writer` (`intact`: which is not broken).
    pub(super) fn sees(&mut self, when: Lit, read: EventId, writer: Option<EventId>, intact: bool) {
        let trace_model = self.trace_model;
        let TraceModel { trace, reads_from, .. } = trace_model;
        if let Some(w) = writer {
            self.implies(&[when], &[&[Lit::Ran(w), Lit::Less(w, read)]]);
            if intact && trace.op(w).reads() {
                self.implies(&[when], &[&[Lit::Kept(w)]]);
            }
        }
        let Some(x) = trace.variable(read) else { return };
        for (thread, accesses) in reads_from.accesses_by_thread(x) {
            let writes: Vec<EventId> = accesses
                .iter()
                .copied()
                .filter(|&v| trace.op(v).writes() && Some(v) != writer && v != read)
                .collect();
            self.not_between(when, writer, read, *thread, &writes);
        }
    }

    /// If `when`, none of `writes`, which are of one thread, comes between `writer` and `read`.
    fn not_between(
        &mut self,
        when: Lit,
        writer: Option<EventId>,
        read: EventId,
        thread: ThreadId,
        writes: &[EventId],
    ) {
        let TraceModel { trace, chains, must_happen_before, .. } = self.trace_model;
        let before = |v: EventId| {
            writer.is_some_and(|w| must_happen_before.ordered_before(chains, trace, v, w))
        };
        let after = |v: EventId| must_happen_before.ordered_before(chains, trace, read, v);
        let first_open = writes.partition_point(|&v| before(v));
        let first_after = first_open + writes[first_open..].partition_point(|&v| !after(v));
        if let (Some(w), true) = (writer, first_open > 0) {
            self.implies(&[when], &[&[Lit::Less(writes[first_open - 1], w)]]);
        }
        for &v in &writes[first_open..first_after] {
            foretell_limit::check();
            match writer {
                Some(w) => self.implies(&[when], &[&[Lit::Less(v, w)], &[Lit::Less(read, v)]]),
                None => self.implies(&[when], &[&[Lit::Less(read, v)]]),
            }
            // Later writes of the writer's own thread come after the read if this one does.
            if writer.is_some_and(|w| trace.thread(w) == thread) {
                return;
            }
        }
        if let Some(&v) = writes.get(first_after) {
            self.implies(&[when], &[&[Lit::Less(read, v)]]);
        }
    }

    /// A failed try-lock that is relied on is inside a section of another thread that makes it
    /// fail.
    fn try_failed(&mut self, e: EventId, lock: LockId) {
        let Some(relied_on) = self.reliance(e) else { return };
        let trace_model = self.trace_model;
        let mut alternatives = Vec::new();
        for &s in trace_model.locks.of_lock(lock) {
            foretell_limit::check();
            let section = trace_model.locks.get(s);
            if trace_model.locks.makes_fail(trace_model.trace, s, e) {
                let left_later = section.exit.map_or(Lit::True, |exit| Lit::Less(e, exit));
                let enter = section.enter;
                alternatives.push([Lit::Ran(enter), Lit::Less(enter, e), left_later]);
            }
        }
        let alternatives: Vec<&[Lit]> = alternatives.iter().map(|a| &a[..]).collect();
        self.implies(&[relied_on], &alternatives);
    }

    fn lock(&mut self, l: LockId, limit: &Limit<'_>) -> Result<(), CutShort> {
        let trace_model = self.trace_model;
        let threads = trace_model.locks.of_lock_by_thread(l);
        let within = |sections: &[SectionId]| -> Vec<Section> {
            let sections = sections.iter().map(|&s| *trace_model.locks.get(s));
            sections.take_while(|s| !self.bounds.never(trace_model, s.enter)).collect()
        };
        let threads: Vec<Vec<Section>> = threads.iter().map(|(_, list)| within(list)).collect();
        for (i, first) in threads.iter().enumerate() {
            for second in &threads[i + 1..] {
                for section in second {
                    foretell_limit::check();
                    check(limit)?;
                    self.exclusion(section, first);
                }
            }
        }
        Ok(())
    }

    /// A section and those of another thread that exclude it do not overlap.
    fn exclusion(&mut self, section: &Section, others: &[Section]) {
        let TraceModel { trace, chains, must_happen_before, .. } = self.trace_model;
        let left_before = |a: &Section, b: &Section| {
            a.exit
                .is_some_and(|exit| must_happen_before.ordered_before(chains, trace, exit, b.enter))
        };
        let others: Vec<&Section> =
            others.iter().filter(|o| !(o.shared && section.shared)).collect();
        let first_open = others.partition_point(|o| left_before(o, section));
        let first_after =
            first_open + others[first_open..].partition_point(|o| !left_before(section, o));
        if first_open > 0
            && let Some(exit) = others[first_open - 1].exit
        {
            self.needs(section.enter, exit);
        }
        for other in &others[first_open..first_after] {
            foretell_limit::check();
            let leaves_before = |a: &Section, b: &Section| match a.exit {
                Some(exit) => [Lit::Ran(exit), Lit::Less(exit, b.enter)],
                None => [Lit::False; 2],
            };
            self.implies(
                &[Lit::Ran(section.enter), Lit::Ran(other.enter)],
                &[&leaves_before(section, other), &leaves_before(other, section)],
            );
        }
        if let (Some(other), Some(exit)) = (others.get(first_after), section.exit) {
            self.needs(other.enter, exit);
        }
    }

    /// The accesses of an opaque variable keep their order. Uses of hidden state alone are a chain.
    fn opaque(&mut self, x: VarId, limit: &Limit<'_>) -> Result<(), CutShort> {
        let reads_from = &self.trace_model.reads_from;
        if reads_from.has_only_updates(x) {
            return Ok(());
        }
        let accesses = self.possible(reads_from.accesses(x));
        for (i, &a) in accesses.iter().enumerate() {
            check(limit)?;
            for &b in &accesses[i + 1..] {
                foretell_limit::check();
                self.implies(&[Lit::Ran(a), Lit::Ran(b)], &[&[Lit::Less(a, b)]]);
            }
        }
        Ok(())
    }

    fn condition(&mut self, c: CondId, limit: &Limit<'_>) -> Result<(), CutShort> {
        let trace_model = self.trace_model;
        let all_waits =
            trace_model.waits.of_cond(c).iter().map(|&w| (w, *trace_model.waits.get(w)));
        let waits: Vec<(WaitId, Wait)> =
            all_waits.filter(|(_, wait)| !self.bounds.never(trace_model, wait.enter)).collect();
        let may_leave = |w: &Wait| w.exit.is_some_and(|e| !self.bounds.never(trace_model, e));
        if !waits.iter().any(|(_, w)| may_leave(w)) {
            return Ok(());
        }
        let notifies = &self.possible(trace_model.waits.notifies(c))[..];
        let alls = &self.possible(trace_model.waits.notify_alls(c))[..];
        let mut wakes: FxHashMap<(EventId, WaitId), Lit> = FxHashMap::default();
        for &n in notifies {
            for &(w, wait) in &waits {
                foretell_limit::check();
                check(limit)?;
                let lit = Lit::Var(self.var());
                wakes.insert((n, w), lit);
                self.wakes(lit, n, &wait, alls);
            }
        }
        // No waiter is picked twice, no notification picks twice.
        let rows = notifies.iter().map(|&n| waits.iter().map(|&(w, _)| wakes[&(n, w)]).collect());
        let columns =
            waits.iter().map(|&(w, _)| notifies.iter().map(|&n| wakes[&(n, w)]).collect());
        for group in rows.chain(columns).collect::<Vec<Vec<Lit>>>() {
            check(limit)?;
            self.at_most_one(&group);
        }
        for &(w, wait) in &waits {
            let Some(exit) = wait.exit else { continue };
            if wait.timed_out {
                for &all in alls {
                    self.implies(
                        &[Lit::Ran(exit)],
                        &[&[Lit::Less(all, wait.enter)], &[Lit::Less(exit, all)]],
                    );
                }
                continue;
            }
            let mut alternatives: Vec<Vec<Lit>> =
                notifies.iter().map(|&n| vec![wakes[&(n, w)]]).collect();
            alternatives.extend(
                alls.iter().map(|&all| {
                    vec![Lit::Ran(all), Lit::Less(wait.enter, all), Lit::Less(all, exit)]
                }),
            );
            let alternatives: Vec<&[Lit]> = alternatives.iter().map(Vec::as_slice).collect();
            self.implies(&[Lit::Ran(exit)], &alternatives);
        }
        if waits.iter().any(|(_, wait)| wait.timed_out) {
            self.some_waiter_is_picked(&waits, notifies, alls, &wakes, limit)?;
        }
        Ok(())
    }

    /// Writes down the consequences of notify `n` picking the waiter of `wait`.
    fn wakes(&mut self, lit: Lit, n: EventId, wait: &Wait, alls: &[EventId]) {
        self.implies(&[lit], &[&[Lit::Ran(n), Lit::Ran(wait.enter), Lit::Less(wait.enter, n)]]);
        if let Some(exit) = wait.exit {
            let consequence = if wait.timed_out { Lit::NotRan(exit) } else { Lit::Less(n, exit) };
            self.implies(&[lit], &[&[consequence]]);
        }
        for &all in alls {
            self.implies(&[lit], &[&[Lit::Less(all, wait.enter)], &[Lit::Less(n, all)]]);
        }
    }

    fn at_most_one(&mut self, lits: &[Lit]) {
        for (i, &a) in lits.iter().enumerate() {
            for &b in &lits[i + 1..] {
                foretell_limit::check();
                self.implies(&[a, b], &[]);
            }
        }
    }

    /// Every notify picks a waiter if there is one. It matters only where waits time out: to be
    /// picked harms no other waiter.
    fn some_waiter_is_picked(
        &mut self,
        waits: &[(WaitId, Wait)],
        notifies: &[EventId],
        alls: &[EventId],
        wakes: &FxHashMap<(EventId, WaitId), Lit>,
        limit: &Limit<'_>,
    ) -> Result<(), CutShort> {
        for &n in notifies {
            for &(w, wait) in waits {
                foretell_limit::check();
                check(limit)?;
                let mut alternatives: Vec<Vec<Lit>> =
                    waits.iter().map(|&(v, _)| vec![wakes[&(n, v)]]).collect();
                // Or this one does not wait when n comes.
                alternatives.push(vec![Lit::Less(n, wait.enter)]);
                alternatives.extend(wait.exit.map(|e| vec![Lit::Ran(e), Lit::Less(e, n)]));
                let earlier = notifies.iter().filter(|&&m| m != n);
                alternatives.extend(earlier.map(|&m| vec![wakes[&(m, w)], Lit::Less(m, n)]));
                alternatives.extend(alls.iter().map(|&all| {
                    vec![Lit::Ran(all), Lit::Less(wait.enter, all), Lit::Less(all, n)]
                }));
                let alternatives: Vec<&[Lit]> = alternatives.iter().map(Vec::as_slice).collect();
                self.implies(&[Lit::Ran(n), Lit::Ran(wait.enter)], &alternatives);
            }
        }
        Ok(())
    }

    fn semaphore(&mut self, s: SemId, limit: &Limit<'_>) -> Result<(), CutShort> {
        let trace_model = self.trace_model;
        let downs = self.possible(trace_model.counters.downs(s));
        let initial = trace_model.trace.initial_count(s);
        if initial >= downs.len() as u64 {
            return Ok(());
        }
        let posts = self.possible(trace_model.counters.posts(s)).into_iter().map(Some);
        let tokens: Vec<Option<EventId>> =
            std::iter::repeat_n(None, initial as usize).chain(posts).collect();
        let mut taken: Vec<Vec<Lit>> = vec![Vec::new(); tokens.len()];
        for &down in &downs {
            check(limit)?;
            let mut alternatives = Vec::with_capacity(tokens.len());
            for (token, taken) in tokens.iter().zip(&mut taken) {
                foretell_limit::check();
                let takes = Lit::Var(self.var());
                taken.push(takes);
                alternatives.push([takes]);
                if let &Some(post) = token {
                    self.implies(&[takes], &[&[Lit::Ran(post), Lit::Less(post, down)]]);
                }
            }
            let alternatives: Vec<&[Lit]> = alternatives.iter().map(|a| &a[..]).collect();
            self.implies(&[Lit::Ran(down)], &alternatives);
        }
        for takers in &taken {
            check(limit)?;
            self.at_most_one(takers);
        }
        Ok(())
    }

    fn barrier(&mut self, b: BarrierId) -> Result<(), CutShort> {
        let trace_model = self.trace_model;
        let arrivals = self.possible(trace_model.counters.arrivals(b));
        let parties = trace_model.trace.parties(b).unwrap_or(1).max(1) as usize;
        let leaves: Vec<(EventId, usize)> = trace_model
            .trace
            .ids()
            .filter(|&e| trace_model.trace.event(e).kind == EventKind::Leave { barrier: b })
            .filter(|&e| !self.bounds.never(trace_model, e))
            .filter_map(|e| {
                let own = trace_model.counters.arrival_of(e)?;
                Some((e, arrivals.iter().position(|&a| a == own)?))
            })
            .collect();
        if leaves.is_empty() {
            return Ok(());
        }
        if arrivals.len() > MOST_ARRIVALS {
            let name = trace_model.trace.barrier_name(b);
            return Err(CutShort(format!("barrier {name} has {} arrivals", arrivals.len())));
        }
        let numbers = self.number(&arrivals);
        for (leave, own) in leaves {
            for (k, &is_kth) in numbers[own].iter().enumerate() {
                let generation = k / parties * parties;
                for other in generation..generation + parties {
                    foretell_limit::check();
                    let alternatives: Vec<[Lit; 2]> = arrivals
                        .iter()
                        .zip(&numbers)
                        .filter_map(|(&a, lits)| Some([*lits.get(other)?, Lit::Less(a, leave)]))
                        .collect();
                    let alternatives: Vec<&[Lit]> = alternatives.iter().map(|a| &a[..]).collect();
                    self.implies(&[Lit::Ran(leave), is_kth], &alternatives);
                }
            }
        }
        Ok(())
    }

    /// Numbers the events that are in the interleaving in their order: for each event and number
    /// the literal that says so.
    fn number(&mut self, events: &[EventId]) -> Vec<Vec<Lit>> {
        let numbers: Vec<Vec<Lit>> = events
            .iter()
            .map(|_| (0..events.len()).map(|_| Lit::Var(self.var())).collect())
            .collect();
        for (&e, lits) in events.iter().zip(&numbers) {
            let any: Vec<[Lit; 1]> = lits.iter().map(|&l| [l]).collect();
            let any: Vec<&[Lit]> = any.iter().map(|a| &a[..]).collect();
            self.implies(&[Lit::Ran(e)], &any);
            self.at_most_one(lits);
            for &lit in lits {
                self.implies(&[lit], &[&[Lit::Ran(e)]]);
            }
        }
        for k in 0..events.len() {
            let kth: Vec<Lit> = numbers.iter().map(|lits| lits[k]).collect();
            self.at_most_one(&kth);
            if k == 0 {
                continue;
            }
            for (i, &e) in events.iter().enumerate() {
                foretell_limit::check();
                // Some arrival is right before, and earlier.
                let before: Vec<[Lit; 2]> = (0..events.len())
                    .filter(|&j| j != i)
                    .map(|j| [numbers[j][k - 1], Lit::Less(events[j], e)])
                    .collect();
                let before: Vec<&[Lit]> = before.iter().map(|b| &b[..]).collect();
                self.implies(&[numbers[i][k]], &before);
            }
        }
        numbers
    }
}
