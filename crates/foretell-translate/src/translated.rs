//! Result of a translation.

use foretell_trace::legality::Repair;
use foretell_trace::{EventId, RunFailure, ThreadId, Trace};

use crate::steps::Steps;
use crate::symbolic::Symbolic;
use crate::thread_wait::ThreadWait;
use crate::trace_output::TraceOutput;

/// Trace of a run, with its steps and statistics.
#[derive(Default, Debug)]
pub struct Translated {
    /// The trace, which is legal.
    pub trace: TraceOutput,
    /// Steps of the program behind the events.
    pub steps: Steps,
    /// Number of accesses in the log.
    pub accesses: u64,
    /// Number of accesses without events: to memory that one thread uses, or that no thread writes.
    pub private: u64,
    /// Repairs that made the trace legal.
    pub repairs: Vec<Repair>,
    /// Whether the end of the log is damaged; the trace has the events before.
    pub damaged: bool,
    /// The failure of the run that its log shows.
    pub failure: Option<RunFailure>,
    /// Names of the threads that had not ended, each with its state in one line.
    pub living: Vec<(String, String)>,
    /// Operations that threads waited in when no thread could go on any more.
    pub waits: Vec<(ThreadId, ThreadWait)>,
    /// Events of waits that could have ended otherwise: ends of waits for conditions with a time
    /// limit, and semaphores that were taken by a try or with a time limit.
    pub limited: Vec<EventId>,
    /// Statistics of a symbolic translation.
    pub symbolic: Option<Symbolic>,
}

impl Translated {
    /// Returns the first `events` events of the trace, which are legal too, and their steps.
    pub fn first(&self, events: usize) -> (Trace, Steps) {
        let whole = self.trace.whole();
        let mut builder = whole.builder_with_names();
        for event in whole.events().take(events) {
            builder.push_ordered(event.thread, event.kind, event.order, event.site);
        }
        (builder.build(), self.steps.first(events))
    }

    /// Returns notes for the user about the translation, one line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.damaged {
            notes.push("the end of the log could not be read: the trace ends there".to_owned());
        }
        notes.extend(self.repairs.iter().map(ToString::to_string));
        notes
    }
}
