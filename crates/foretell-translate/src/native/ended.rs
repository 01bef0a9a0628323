//! Threads that had ended when the recording did.
//!
//! Only a trace that says so can have a hang: where every thread has ended or waits for ever. It
//! says so of a thread whose end is in the log: its function returned, or it called
//! `pthread_exit`. The thread that ends the program (`exit`, return from `main`) has not ended:
//! where it comes so far, the program ends, and the threads that still wait do not matter. Nor have
//! the threads that this cuts off.
//!
//! A wait may end in a way that no event stands for. The trace of such a run says of no thread that
//! it has ended:
//!
//! | sign in the log | reason |
//! |---|---|
//! | `OtherWake` | a time limit, a tried semaphore or thread, a cancellation, a handler |
//! | `Signal` | a handler ran at a moment that the trace fixes and the program does not |
//! | `AfterOthers` | a wait that is not modelled, an adopted thread, a process-shared object |
//! | `ChildOfFork` | the parent process may wake its child |
//! | `AfterElisionPoint` | semaphores of the trace that the program does not wait for |

use foretell_rt_format::{Record, SyncKind};

use crate::trace_writer::TraceWriter;

/// Threads that have ended, as far as the trace may say so.
#[derive(Default)]
pub(super) struct EndedThreads {
    threads: Vec<u32>,
    /// Whether a wait may end in a way that no event stands for.
    unexplained: bool,
}

impl EndedThreads {
    pub(super) fn take(&mut self, thread: u32, record: &Record<'_>) {
        match record {
            Record::ThreadEnd => self.threads.push(thread),
            Record::Signal { .. }
            | Record::AfterOthers
            | Record::ChildOfFork { .. }
            | Record::AfterElisionPoint { .. }
            | Record::Sync { kind: SyncKind::OtherWake, .. } => self.unexplained = true,
            _ => {}
        }
    }

    /// Writes the declarations.
    pub(super) fn declare(&self, trace: &mut TraceWriter) {
        if self.unexplained {
            return;
        }
        for &thread in &self.threads {
            let thread = trace.thread(thread);
            trace.builder.set_ended(thread);
        }
    }
}
