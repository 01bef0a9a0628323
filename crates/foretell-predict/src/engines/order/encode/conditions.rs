//! Clauses of condition variables: which notification wakes which waiter.
//!
//! `wakes(n, w)` says that notify `n` picks the waiter of wait `w`. Without time-outs it is enough
//! that each woken waiter was picked: a notify that picks none could as well pick one early. A
//! waiter that times out must not be picked, so there every notify has to name the waiter that it
//! picks.

use foretell_model::{TraceModel, WaitId};
use foretell_order::Lit;
use foretell_trace::{CondId, EventId};
use rustc_hash::FxHashMap;

use super::Encoding;
use crate::engines::order::too_large::TooLarge;

/// Literals of the rules of timed waits.
const MOST_TIMED_LITERALS: usize = 4_000_000;

/// Pairs of notifications and waits that are looked at for the rules of timed waits.
const MOST_PAIRS: usize = 20_000_000;

impl Encoding<'_> {
    /// Encodes which notify wakes which waiter of a condition.
    pub(super) fn condition(&mut self, cond: CondId, woken: &[WaitId]) -> Result<(), TooLarge> {
        for &w in woken {
            foretell_limit::check();
            self.woken(w);
        }
        let waits = &self.trace_model.waits;
        let times_out = waits.of_cond(cond).iter().any(|&w| waits.get(w).timed_out);
        if times_out && !mutated!(TimedWaitsAreFree) {
            self.timed(cond)?;
        }
        Ok(())
    }

    /// Writes down that every notify of a condition picks a waiter, if there is one.
    pub(crate) fn every_notify_picks(&mut self, cond: CondId) -> Result<(), TooLarge> {
        let woken = self.trace_model.waits.of_cond(cond).to_vec();
        for w in woken {
            foretell_limit::check();
            if !self.trace_model.waits.get(w).timed_out {
                self.woken(w);
            }
        }
        self.timed(cond)
    }

    /// Writes down that `lit` implies that no notify picks the waiter of `w`.
    pub(crate) fn never_picked(&mut self, w: WaitId, lit: Lit) {
        let notifies = self.wakes_by_wait.get(&w).cloned().unwrap_or_default();
        for n in notifies {
            let picked = self.wakes(n, w);
            self.solver.add_clause(&[!lit, !picked]);
        }
    }

    /// A waiter that is woken was picked by a notify or saw a notify-all.
    fn woken(&mut self, w: WaitId) {
        let trace_model = self.trace_model;
        let wait = *trace_model.waits.get(w);
        let Some(exit) = wait.exit else { return };
        if !self.woken_written.insert(exit) {
            return;
        }
        let mut clause = vec![!self.ran(exit)];
        for &n in trace_model.waits.notifies(wait.cond) {
            foretell_limit::check();
            let counts = clause.len() == 1 || !mutated!(OtherNotifiesDoNotCount);
            if self.may_wake(n, w) && counts {
                clause.push(self.wakes(n, w));
            }
        }
        for &n in trace_model.waits.notify_alls(wait.cond) {
            foretell_limit::check();
            if !self.may_wake(n, w) {
                continue;
            }
            let lit = self.solver.new_var();
            let (after, before) = (self.less(wait.enter, n), self.less(n, exit));
            self.solver.add_clause(&[!lit, after]);
            self.solver.add_clause(&[!lit, before]);
            clause.push(lit);
        }
        self.solver.add_clause(&clause);
    }

    /// Whether must-happen-before leaves it open that `n` comes while `w` waits.
    fn may_wake(&self, n: EventId, w: WaitId) -> bool {
        let TraceModel { trace, chains, must_happen_before, waits, .. } = self.trace_model;
        let wait = waits.get(w);
        trace.thread(n) != trace.thread(wait.enter)
            && !must_happen_before.ordered_before(chains, trace, n, wait.enter)
            && wait.exit.is_none_or(|e| !must_happen_before.ordered_before(chains, trace, e, n))
    }

    /// The literal "notify `n` picks the waiter of `w`".
    fn wakes(&mut self, n: EventId, w: WaitId) -> Lit {
        if let Some(&lit) = self.wakes.get(&(n, w)) {
            return lit;
        }
        let trace_model = self.trace_model;
        let wait = *trace_model.waits.get(w);
        let lit = self.solver.new_var();
        self.wakes.insert((n, w), lit);
        let (ran, after) = (self.ran(n), self.less(wait.enter, n));
        self.solver.add_clause(&[!lit, ran]);
        self.solver.add_clause(&[!lit, after]);
        if let Some(exit) = wait.exit {
            let consequence = if wait.timed_out { !self.ran(exit) } else { self.less(n, exit) };
            self.solver.add_clause(&[!lit, consequence]);
        }
        for &all in trace_model.waits.notify_alls(wait.cond) {
            foretell_limit::check();
            let (before, after) = (self.less(all, wait.enter), self.less(n, all));
            self.solver.add_clause(&[!lit, before, after]);
        }
        let siblings = self.wakes_by_notify.entry(n).or_default().clone();
        for other in siblings.into_iter().filter(|_| !mutated!(NotifyPicksTwo)) {
            self.solver.add_clause(&[!lit, !self.wakes[&(n, other)]]);
        }
        let rivals = self.wakes_by_wait.entry(w).or_default().clone();
        for other in rivals {
            self.solver.add_clause(&[!lit, !self.wakes[&(other, w)]]);
        }
        self.wakes_by_notify.entry(n).or_default().push(w);
        self.wakes_by_wait.entry(w).or_default().push(n);
        lit
    }

    /// A condition with timed waits: a waiter that times out is picked by no notify, and every
    /// notify picks a waiter, if there is one.
    fn timed(&mut self, cond: CondId) -> Result<(), TooLarge> {
        if !self.timed_written.insert(cond) {
            return Ok(());
        }
        let trace_model = self.trace_model;
        let waits = trace_model.waits.of_cond(cond);
        let notifies = trace_model.waits.notifies(cond);
        let alls = trace_model.waits.notify_alls(cond);
        let too_large = || {
            TooLarge(format!(
                "condition {} has {} timed and other waits and {} notifications",
                trace_model.trace.condition_name(cond),
                waits.len(),
                notifies.len()
            ))
        };
        if waits.len() * (notifies.len() + alls.len()) > MOST_PAIRS {
            return Err(too_large());
        }
        // The waiters that may be in the wait set when each notify runs.
        let mut waiters: Vec<Vec<WaitId>> = Vec::with_capacity(notifies.len());
        let mut rivals: FxHashMap<WaitId, usize> = FxHashMap::default();
        for &n in notifies {
            foretell_limit::check();
            let list: Vec<WaitId> =
                waits.iter().copied().filter(|&w| self.may_wake(n, w)).collect();
            for &w in &list {
                *rivals.entry(w).or_default() += 1;
            }
            waiters.push(list);
        }
        let literals = |list: &Vec<WaitId>| {
            let each = list.iter().map(|w| rivals[w] + alls.len() + list.len());
            each.sum::<usize>()
        };
        if waiters.iter().map(literals).sum::<usize>() > MOST_TIMED_LITERALS {
            return Err(too_large());
        }
        for &w in waits {
            foretell_limit::check();
            let wait = *trace_model.waits.get(w);
            let Some(exit) = wait.exit.filter(|_| wait.timed_out) else { continue };
            let ran = self.ran(exit);
            for &n in alls {
                let (before, after) = (self.less(n, wait.enter), self.less(exit, n));
                self.solver.add_clause(&[!ran, before, after]);
            }
        }
        for (&n, waiters) in notifies.iter().zip(&waiters) {
            foretell_limit::check();
            let picks: Vec<Lit> = waiters.iter().map(|&w| self.wakes(n, w)).collect();
            let ran = self.ran(n);
            for &w in waiters {
                foretell_limit::check();
                let mut clause = vec![!ran];
                clause.extend(&picks);
                self.push_not_waiting(n, w, &mut clause);
                self.solver.add_clause(&clause);
            }
        }
        Ok(())
    }

    /// Adds the ways in which the waiter of `w` is not in the wait set when `n` runs.
    fn push_not_waiting(&mut self, n: EventId, w: WaitId, clause: &mut Vec<Lit>) {
        let trace_model = self.trace_model;
        let wait = *trace_model.waits.get(w);
        clause.push(self.less(n, wait.enter));
        if let Some(exit) = wait.exit {
            clause.push(self.less(exit, n));
        }
        for &earlier in trace_model.waits.notifies(wait.cond) {
            foretell_limit::check();
            if earlier == n || !self.may_wake(earlier, w) {
                continue;
            }
            let lit = self.solver.new_var();
            let (picked, before) = (self.wakes(earlier, w), self.less(earlier, n));
            self.solver.add_clause(&[!lit, picked]);
            self.solver.add_clause(&[!lit, before]);
            clause.push(lit);
        }
        for &all in trace_model.waits.notify_alls(wait.cond) {
            let lit = self.solver.new_var();
            let (after, before) = (self.less(wait.enter, all), self.less(all, n));
            self.solver.add_clause(&[!lit, after]);
            self.solver.add_clause(&[!lit, before]);
            clause.push(lit);
        }
    }
}
