//! Clauses of condition variables: which notification wakes which waiter.
//!
//! `wakes(n, w)` says that notify `n` picks the waiter of wait `w`. Without time-outs it is enough
//! that each woken waiter was picked: a notify that picks none could as well pick one early. A
//! waiter that times out must not be picked, so there every notify has to name the waiter that it
//! picks.

use foretell_model::{TraceModel, WaitId};
use foretell_order::Lit;
use foretell_trace::{CondId, EventId};

use super::Encoding;
use crate::engines::order::too_large::TooLarge;

/// Too many pairs of notifications and waits to write down the rules of timed waits.
const MOST_TIMED_CLAUSES: usize = 4_000_000;

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
        let size = (notifies.len() + alls.len() + waits.len()) * notifies.len() * waits.len();
        if size > MOST_TIMED_CLAUSES {
            return Err(TooLarge(format!(
                "condition {} has {} timed and other waits and {} notifications",
                trace_model.trace.condition_name(cond),
                waits.len(),
                notifies.len()
            )));
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
        for &n in notifies {
            foretell_limit::check();
            let picks: Vec<Lit> = waits
                .iter()
                .filter(|&&w| self.may_wake(n, w))
                .copied()
                .collect::<Vec<_>>()
                .into_iter()
                .map(|w| self.wakes(n, w))
                .collect();
            let ran = self.ran(n);
            for &w in waits {
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
