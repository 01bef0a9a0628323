//! Threads that had ended when the recording did.
//!
//! Only a trace that says so can have a hang. A thread has ended if its `run` has returned, that of
//! the first thread included: the virtual machine goes on until the last thread has ended. A thread
//! that calls `System.exit`, and those that this cuts off, have not ended.
//!
//! A wait may end in a way that no event stands for, and the trace has waits that the program does
//! not have. The trace of such a run says of no thread that it has ended:
//!
//! | sign in the log | reason |
//! |---|---|
//! | `OtherWake` | a time limit; a daemon thread, which the end of the program cuts off |
//! | a semaphore that only orders events | tasks, `LockSupport`, interrupts, queues, actions |
//! | several permits at once, a try for a permit | the trace waits for permits one by one |
//! | a latch with a count of two or more for which several threads wait | so do its waiters |
//! | `AfterOthers` | a wait that is not modelled |

use foretell_rt_format::SyncKind;
use rustc_hash::FxHashMap;

use super::log::Entry;
use super::record::Record;
use super::survey::Survey;
use crate::trace_writer::TraceWriter;

/// Threads that have ended, as far as the trace may say so.
#[derive(Default)]
pub(super) struct EndedThreads {
    threads: Vec<u32>,
    /// Whether a wait may end in a way that no event stands for, or is only in the trace.
    unexplained: bool,
    /// For each latch with a count of two or more the first thread that has passed it.
    latches: FxHashMap<u32, u32>,
}

impl EndedThreads {
    pub(super) fn take(&mut self, survey: &Survey, entry: &Entry<'_>) {
        if survey.is_after_others(entry.thread, entry.ordinal) {
            self.unexplained = true;
        }
        match entry.record {
            Record::End => self.threads.push(entry.thread),
            Record::OtherWake | Record::AfterOthers => self.unexplained = true,
            Record::Semaphore { name, .. } => {
                self.unexplained |= !name.starts_with('@');
            }
            Record::Sync { kind: SyncKind::Down, object, other, .. } => {
                self.unexplained |= other != 1 && survey.mutexes.lock(object).is_none();
            }
            Record::Latch { semaphore, count, .. } if count > 1 => {
                let first = *self.latches.entry(semaphore).or_insert(entry.thread);
                self.unexplained |= first != entry.thread;
            }
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
