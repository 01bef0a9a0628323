//! The failure of a recorded run: what went wrong while the trace was made.
//!
//! A trace carries it as notes of the recorder ([`Trace::meta`]), so every format has it:
//!
//! | key | value |
//! |---|---|
//! | `observed` | kind of failure: `crash`, `assertion`, `exception`, `deadlock`, `hang`, `killed`, `status` |
//! | `observed message` | the failure in one line |
//! | `observed thread T1` | state of a thread that is involved, in one line |

use std::fmt;

use crate::{EventId, ThreadId, Trace};

const KIND: &str = "observed";
const MESSAGE: &str = "observed message";
const THREAD: &str = "observed thread ";

/// Kind of failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FailureKind {
    /// A signal ended the program because of what it did.
    Crash,
    /// An assertion failed.
    Assertion,
    /// An exception that nothing caught ended a thread.
    Exception,
    /// Threads wait for each other for ever.
    Deadlock,
    /// The program did not end within its time limit.
    Hang,
    /// The program was killed from outside.
    Killed,
    /// The program ended with an exit status other than 0, and with 0 under another schedule.
    Status,
}

impl FailureKind {
    /// Every kind.
    pub const ALL: [FailureKind; 7] = [
        FailureKind::Crash,
        FailureKind::Assertion,
        FailureKind::Exception,
        FailureKind::Deadlock,
        FailureKind::Hang,
        FailureKind::Killed,
        FailureKind::Status,
    ];

    /// Returns the word for the kind in files.
    pub fn name(self) -> &'static str {
        match self {
            FailureKind::Crash => "crash",
            FailureKind::Assertion => "assertion",
            FailureKind::Exception => "exception",
            FailureKind::Deadlock => "deadlock",
            FailureKind::Hang => "hang",
            FailureKind::Killed => "killed",
            FailureKind::Status => "status",
        }
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Failure of a recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunFailure {
    /// Kind of failure.
    pub kind: FailureKind,
    /// The failure in one line: `SIGSEGV in get at a.c:31`.
    pub message: String,
    /// Names of the threads involved in the trace, each with its state in one line: `waits for m at
    /// a.c:12, held by T2`.
    pub threads: Vec<(String, String)>,
}

impl RunFailure {
    /// Returns the failure that a trace carries, its threads in the order of their numbers.
    pub fn of(trace: &Trace) -> Option<RunFailure> {
        let meta = trace.meta();
        let kind = meta.get(KIND)?;
        let kind = FailureKind::ALL.into_iter().find(|k| k.name() == kind)?;
        let thread = |t: u32| {
            let name = trace.thread_name(ThreadId(t));
            Some((name.to_owned(), meta.get(&format!("{THREAD}{name}"))?.clone()))
        };
        Some(RunFailure {
            kind,
            message: meta.get(MESSAGE).cloned().unwrap_or_else(|| kind.name().to_owned()),
            threads: (0..trace.thread_count() as u32).filter_map(thread).collect(),
        })
    }

    /// Returns the notes that carry it in a trace; see [`TraceBuilder::set_meta`].
    ///
    /// [`TraceBuilder::set_meta`]: crate::TraceBuilder::set_meta
    pub fn properties(&self) -> Vec<(String, String)> {
        let one_line = |text: &str| {
            let text = text.replace(['\n', '\r'], " ");
            if text.trim().is_empty() { "?".to_owned() } else { text.trim().to_owned() }
        };
        let mut properties = vec![
            (KIND.to_owned(), self.kind.name().to_owned()),
            (MESSAGE.to_owned(), one_line(&self.message)),
        ];
        let threads = self.threads.iter();
        properties.extend(threads.map(|(t, state)| (format!("{THREAD}{t}"), one_line(state))));
        properties
    }

    /// Returns the last event of each thread involved that has one, in ascending order.
    pub fn last_events(&self, trace: &Trace) -> Vec<EventId> {
        let mut last = vec![None; trace.thread_count()];
        for e in trace.ids() {
            last[trace.thread(e).index()] = Some(e);
        }
        let involved = |t: &usize| {
            let name = trace.thread_name(ThreadId(*t as u32));
            self.threads.iter().any(|(thread, _)| thread == name)
        };
        let mut events: Vec<EventId> =
            (0..last.len()).filter(involved).filter_map(|t| last[t]).collect();
        events.sort_unstable();
        events
    }
}

#[cfg(test)]
mod tests {
    use crate::text;

    use super::*;

    #[test]
    fn failure_is_carried_by_the_text_format() {
        let source = "#! meta observed=deadlock\n#! meta observed message=T1 and T2 wait\n\
                      #! meta observed thread T1=waits for b, held by T2\n\
                      #! meta observed thread T2=waits for a, held by T1\n\
                      T0|w(x)\nT1|acq(a)\nT2|acq(b)\nT2|w(x)\nT0|w(x)\n";
        let trace = text::parse(source.as_bytes()).unwrap().trace;
        let failure = RunFailure::of(&trace).unwrap();
        assert_eq!(failure.kind, FailureKind::Deadlock);
        let state = |t: &str, s: &str| (t.to_owned(), s.to_owned());
        assert_eq!(
            failure.threads,
            [state("T1", "waits for b, held by T2"), state("T2", "waits for a, held by T1")]
        );
        // The last event of T1 is its acquire, that of T2 its write; T0 is not involved.
        assert_eq!(failure.last_events(&trace), [EventId(1), EventId(3)]);
        let meta: Vec<(String, String)> =
            trace.meta().iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        assert_eq!(failure.properties(), meta);
        let plain = text::parse(b"T0|w(x)\n").unwrap().trace;
        assert_eq!(RunFailure::of(&plain), None);
    }
}
