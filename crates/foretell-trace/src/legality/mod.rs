//! Legality of a trace: semantics sections 1 and 6, applied to the observed order.
//!
//! One state machine (`state`) steps through the events with dense tables, one row for each
//! thread, lock, variable and so on, and stops at the first event that is not enabled. Three rules
//! look ahead, so a first pass (`outlook`) notes for each thread its last event (a `join` asks
//! that nothing of the thread comes later), its fork (a thread may not start before it), and for
//! each `wait` how it ends.
//!
//! **Which waiter a `notify` wakes** is free to choose, and a trace is legal if some choice makes
//! every event enabled. No search is needed. A notify that finds a waiter must wake one, and none
//! that later times out can be it; so how many waiters are left after each notify does not depend
//! on the choices, only which ones. What remains is to give each wait that ends in `woken` a notify
//! of its own between the two, notifies being handed out without idling: scheduling of unit jobs
//! with release times and deadlines, for which taking the earliest deadline first is optimal
//! (exchange two assignments and both jobs still meet theirs). So: wake the waiter whose `woken`
//! comes first, else one whose wait never ends, and only if there is no other one that times out,
//! whose `timed-out` is then not enabled.
//!
//! Where a symbolic trace records the values, its guards must hold and its expressions must give
//! what was written (`registers`).
//!
//! Limitation: the check cannot see a lost event that leaves the rest consistent.
//!
//! [`Watch`] checks a trace that is still being recorded, without looking ahead.
//!
//! [`repair`] turns an illegal trace into a legal one by dropping what is not enabled.

mod outlook;
mod registers;
mod repair;
mod rule;
mod state;
#[cfg(test)]
mod tests;
mod watch;

pub use repair::{Repair, RepairKind, repair};
pub use rule::{Illegal, Rule};
pub use watch::Watch;

use crate::Trace;
use outlook::Outlook;
use state::State;

/// Whether the trace is a legal execution; if not, the first event at which it is not.
///
/// # Errors
/// [`Illegal`]: the event, the rule that it breaks, and a message for people.
pub fn check(trace: &Trace) -> Result<(), Illegal> {
    let outlook = Outlook::new(trace);
    let mut state = State::new(trace);
    for event in trace.events() {
        foretell_limit::check();
        if let Err(rule) =
            outlook.allows(&event, &state).and_then(|()| state.step(&event, &outlook))
        {
            return Err(Illegal::new(trace, &event, rule));
        }
    }
    Ok(())
}
