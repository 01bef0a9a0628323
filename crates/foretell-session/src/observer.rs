//! Reports of a long-running session to its caller.

use foretell_replay::Verdict;
use foretell_report::json::Finding;
use foretell_trace::{Model, Trace};

use crate::Recorded;

/// Receiver of what happens while a check runs. All methods do nothing by default; `()` is an
/// observer that ignores everything.
pub trait Observer {
    /// A warning about the way the program is built.
    fn warning(&mut self, message: &str) {
        let _ = message;
    }

    /// A run has been recorded. Its prediction comes next.
    fn recorded(&mut self, recorded: &Recorded) {
        let _ = recorded;
    }

    /// The exploration has recorded its `runs`-th run.
    fn explored(&mut self, runs: usize) {
        let _ = runs;
    }

    /// A finding that is worth showing has been decided and, as far as the options permit,
    /// replayed; the analysis of the run may still go on. Changes go into the findings document.
    fn decided(&mut self, trace: &Trace, model: Model, finding: &mut Finding) {
        let _ = (trace, model, finding);
    }

    /// The replay of a finding begins, the `number`-th of the `of` findings so far.
    fn replaying(&mut self, number: usize, of: usize, finding: &Finding) {
        let _ = (number, of, finding);
    }

    /// A finding has been replayed.
    fn replayed(&mut self, finding: &Finding, verdict: &Verdict) {
        let _ = (finding, verdict);
    }
}

impl Observer for () {}
