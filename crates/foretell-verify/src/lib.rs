//! The independent checker: is this schedule feasible, and does it show what it is said to show?
//!
//! A finding of Foretell carries a witness, a schedule of events of the trace. This crate replays
//! the schedule by the rules of `docs/semantics.md` (sections 1, 2 and 6) and then looks for the
//! finding's pattern at its end (section 3). It shares nothing with what searches for witnesses,
//! holds no cleverness, and is meant to be read in one sitting, in this order:
//!
//! - `observed.rs` — what the trace says: order in each thread, which write each read saw, initial
//!   values;
//! - `run.rs` — one schedule, event by event: enabled or not, broken or not;
//! - `waits.rs` — the one choice a schedule leaves open, which waiter a notify wakes;
//! - `happens_before.rs` — synchronisation, for races that memory orders leave open;
//! - `pattern.rs` — the findings;
//! - `refusal.rs` — the rules by name.
//!
//! Any trace and any schedule may be given: nothing here panics on an illegal one.
//!
//! ```
//! use foretell_trace::{EventId, EventKind, Model, TraceBuilder};
//! use foretell_verify::{Pattern, verify};
//!
//! let mut b = TraceBuilder::new();
//! let (t1, t2, var) = (b.thread("T1"), b.thread("T2"), b.variable("x"));
//! let write = EventKind::Write { var, atomic: false, value: None, expr: None };
//! let (a, b2) = (b.push(t1, write, None), b.push(t2, write, None));
//! let trace = b.build();
//! let race = Pattern::Race { a, b: b2 };
//! assert!(verify(&trace, Model::View, &race, &[b2, a]).is_ok());
//! let refusal = verify(&trace, Model::View, &race, &[a]).unwrap_err();
//! let message = "event 1 (T2 w(x)): is not one of the schedule's last two events";
//! assert_eq!(refusal.to_string(), message);
//! ```

mod hang;
mod happens_before;
mod lifetime;
mod observed;
mod pattern;
mod refusal;
mod run;
mod waits;

use foretell_trace::{EventId, Model, Trace};

pub use pattern::Pattern;
pub use refusal::{Refusal, Rule};
pub use run::Run;

use observed::Observed;

/// The checker for one trace and model. Making one reads the trace once; keep it to check many
/// schedules.
#[derive(Debug)]
pub struct Checker<'t> {
    trace: &'t Trace,
    model: Model,
    observed: Result<Observed, Refusal>,
}

impl<'t> Checker<'t> {
    /// A checker of schedules of `trace` under `model`.
    pub fn new(trace: &'t Trace, model: Model) -> Self {
        Checker { trace, model, observed: Observed::of(trace) }
    }

    /// Whether the schedule is a feasible interleaving (section 2), and if so what is known after
    /// it.
    pub fn feasible(&self, schedule: &[EventId]) -> Result<Run, Refusal> {
        let observed = self.observed.as_ref().map_err(Refusal::clone)?;
        Run::of(self.trace, self.model, observed, schedule)
    }

    /// Whether the schedule is feasible and shows the pattern at its end (section 3).
    pub fn verify(&self, pattern: &Pattern, schedule: &[EventId]) -> Result<(), Refusal> {
        let observed = self.observed.as_ref().map_err(Refusal::clone)?;
        let run = Run::of(self.trace, self.model, observed, schedule)?;
        let finding =
            pattern::PatternCheck { trace: self.trace, model: self.model, observed, schedule, run };
        finding.check(pattern)
    }
}

/// Whether the schedule is feasible, and if so what is known after it; see [`Checker::feasible`].
pub fn feasible(trace: &Trace, model: Model, schedule: &[EventId]) -> Result<Run, Refusal> {
    Checker::new(trace, model).feasible(schedule)
}

/// Whether the schedule is feasible and shows the pattern at its end; see [`Checker::verify`].
pub fn verify(
    trace: &Trace,
    model: Model,
    pattern: &Pattern,
    schedule: &[EventId],
) -> Result<(), Refusal> {
    Checker::new(trace, model).verify(pattern, schedule)
}
