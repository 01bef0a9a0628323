//! What comes of a log.

use foretell_trace::Trace;
use foretell_trace::legality::Repair;

use crate::steps::Steps;
use crate::symbolic::Symbolic;
use crate::trace_output::TraceOutput;

/// The trace of a run, and what was done to get it.
#[derive(Debug)]
pub struct Translated {
    /// The trace; legal.
    pub trace: TraceOutput,
    /// Which step of the program each event was.
    pub steps: Steps,
    /// Accesses in the log.
    pub accesses: u64,
    /// Accesses that were left out: to memory of one thread alone, or that nobody wrote.
    pub private: u64,
    /// What was dropped to make the trace legal.
    pub repairs: Vec<Repair>,
    /// Whether the end of the log is damaged: what comes before it was taken.
    pub damaged: bool,
    /// Threads that were stuck when the program was ended for it.
    pub deadlock: bool,
    /// What came of a symbolic recording.
    pub symbolic: Option<Symbolic>,
}

impl Translated {
    /// The trace up to an event, which is legal too, and the steps behind it.
    pub fn first(&self, events: usize) -> (Trace, Steps) {
        let whole = self.trace.whole();
        let mut builder = whole.builder_with_names();
        for event in whole.events().take(events) {
            builder.push(event.thread, event.kind, event.site);
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
        if self.deadlock {
            notes.push("the recorded run itself ended in a deadlock".to_owned());
        }
        notes
    }
}
