//! Dialects: how the text of other recorders of the STD family differs, and how it is read.
//!
//! - `req(l)`: a thread is about to ask for a lock. No event; skipped.
//! - A wait as four lines of one thread, `rel(l)`, `wait(c)`, `req(l)`, `acq(l)`: two events.
//!   `wait(c,l)` stands where `rel(l)` stood, because that is where the lock became free and where,
//!   entering a wait being one step, the thread entered the wait set; its location is that of the
//!   `wait(c)` line if that has one. `acq(l)`, if it is the thread's next event, is `woken(c,l)`
//!   when a notification of `c` between the two can have woken the thread, else `timedout(c,l)`.
//!   One `notify` wakes one thread: it is given to the first waiter that comes back.
//! - Threads in `fork` and `join` without their `T`: where no thread called `1` runs but one called
//!   `T1` does, `fork(1)` is `fork(T1)`. Known when the whole text is read.
//!
//! Not seen: a file that mixes one- and two-operand waits on one condition; there a `notify` that
//! the two-operand wait needs may be given to the other.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::problem::{BAD_WAIT, Problem, quote};
use crate::{CondId, EventId, EventKind, LockId, Op, SiteId, ThreadId, Trace, TraceBuilder};

/// A wait that was written as `rel`, `wait` and has not come back.
struct Waiting {
    cond: CondId,
    lock: LockId,
    since: EventId,
}

/// Notifications of one condition that has such waits open.
#[derive(Default)]
struct Notified {
    waiters: usize,
    /// Each `notify` not yet given to a waiter, in order. Never more than there are waiters: all of
    /// them entered before the last ones, so the last ones serve everybody.
    single: VecDeque<EventId>,
    /// The last `notifyall`.
    all: Option<EventId>,
}

/// Translates dialects while a text is read.
#[derive(Default)]
pub(super) struct Dialect {
    /// The last event of each thread that ran one.
    last: Vec<Option<EventId>>,
    waiting: FxHashMap<ThreadId, Waiting>,
    notified: FxHashMap<CondId, Notified>,
    requests: usize,
    waits: usize,
    timeouts: usize,
}

impl Dialect {
    /// A `req` line.
    pub(super) fn request(&mut self) {
        self.requests += 1;
    }

    /// An event was added.
    #[inline]
    pub(super) fn ran(&mut self, thread: ThreadId, event: EventId) {
        if thread.index() >= self.last.len() {
            self.last.resize(thread.index() + 1, None);
        }
        self.last[thread.index()] = Some(event);
    }

    fn last(&self, thread: ThreadId) -> Option<EventId> {
        self.last.get(thread.index()).copied().flatten()
    }

    /// `wait(c)`: makes the thread's `rel(l)` just before it a `wait(c,l)`.
    pub(super) fn wait(
        &mut self,
        builder: &mut TraceBuilder,
        thread: ThreadId,
        cond: &str,
        site: Option<SiteId>,
    ) -> Result<(), Problem> {
        let last = self.last(thread).map(|e| builder.trace().event(e));
        let Some((since, lock, released_at)) = last.and_then(|e| match e.kind {
            EventKind::Release { lock } => Some((e.id, lock, e.site)),
            _ => None,
        }) else {
            let message = format!(
                "`wait` on {} names no lock and does not follow a `rel` of its thread; write \
                 `wait(condition,lock)`",
                quote(cond)
            );
            return Err(Problem::new(BAD_WAIT, message));
        };
        let cond = builder.condition(cond);
        builder.replace(since, EventKind::Wait { cond, lock }, site.or(released_at));
        self.notified.entry(cond).or_default().waiters += 1;
        self.waiting.insert(thread, Waiting { cond, lock, since });
        self.waits += 1;
        Ok(())
    }

    /// Meaning of `acq(l)` of a thread.
    #[inline]
    pub(super) fn acquire(&mut self, thread: ThreadId, lock: LockId) -> EventKind {
        if self.waiting.is_empty() {
            return EventKind::Acquire { lock };
        }
        self.come_back(thread, lock).unwrap_or(EventKind::Acquire { lock })
    }

    fn come_back(&mut self, thread: ThreadId, lock: LockId) -> Option<EventKind> {
        let Waiting { cond, lock: given_up, since } = self.waiting.remove(&thread)?;
        let next = self.last(thread) == Some(since) && given_up == lock;
        let woken = next && self.notified.get_mut(&cond).is_some_and(|n| n.take(since));
        if let Some(notified) = self.notified.get_mut(&cond) {
            notified.waiters -= 1;
            if notified.waiters == 0 {
                self.notified.remove(&cond);
            }
        }
        self.timeouts += usize::from(next && !woken);
        next.then_some(if woken {
            EventKind::Woken { cond, lock }
        } else {
            EventKind::TimedOut { cond, lock }
        })
    }

    /// An event was added that is a `notify` or a `notifyall`.
    pub(super) fn notify(&mut self, op: Op, cond: CondId, event: EventId) {
        let Some(notified) = self.notified.get_mut(&cond) else { return };
        if op == Op::NotifyAll {
            notified.all = Some(event);
        } else {
            notified.single.push_back(event);
            if notified.single.len() > notified.waiters {
                notified.single.pop_front();
            }
        }
    }

    /// Resolves threads named without their `T` (unless `exact`), and says what was translated.
    pub(super) fn finish(self, builder: &mut TraceBuilder, exact: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if self.requests > 0 {
            notes.push(format!("skipped {} `req` {}", self.requests, lines(self.requests)));
        }
        if self.waits > 0 {
            notes.push(format!(
                "read {} {} written as `rel`, `wait`, `acq` as one step each; {} timed out",
                self.waits,
                if self.waits == 1 { "wait" } else { "waits" },
                self.timeouts
            ));
        }
        if !exact {
            notes.extend(self.complete_thread_names(builder));
        }
        notes
    }

    fn complete_thread_names(&self, builder: &mut TraceBuilder) -> Option<String> {
        let trace = builder.trace();
        let runs = |t: ThreadId| self.last(t).is_some();
        let into: Vec<ThreadId> = (0..trace.thread_count() as u32)
            .map(|t| completed(trace, ThreadId(t), runs).unwrap_or(ThreadId(t)))
            .collect();
        let mut changed = (0u32..).map(ThreadId).zip(&into).filter(|&(t, &u)| t != u);
        let (first, &whole) = changed.next()?;
        let (first, whole) = (quote(trace.thread_name(first)), quote(trace.thread_name(whole)));
        let note = match changed.count() {
            0 => format!("read thread {first} as {whole}"),
            1 => format!("read thread {first} as {whole}, and 1 more like that"),
            more => format!("read thread {first} as {whole}, and {more} more like that"),
        };
        builder.merge_threads(&into);
        Some(note)
    }
}

impl Notified {
    /// Finds the notification that woke a thread which waits since `since`, and uses it up.
    fn take(&mut self, since: EventId) -> bool {
        if self.all.is_some_and(|all| all > since) {
            return true;
        }
        let first = self.single.partition_point(|&notify| notify < since);
        self.single.remove(first).is_some()
    }
}

/// The thread that is meant by a thread which runs nothing: the one called the same with a `T`
/// before it, if that one runs.
pub(super) fn completed(
    trace: &Trace,
    t: ThreadId,
    runs: impl Fn(ThreadId) -> bool,
) -> Option<ThreadId> {
    if runs(t) {
        return None;
    }
    trace.find_thread(&format!("T{}", trace.thread_name(t))).filter(|&whole| runs(whole))
}

fn lines(count: usize) -> &'static str {
    if count == 1 { "line" } else { "lines" }
}

#[cfg(test)]
mod tests {
    use crate::text::{parse, write};

    /// The text as it is written after reading, and the notes.
    fn translated(text: &str) -> (String, Vec<String>) {
        let parsed = parse(text.as_bytes()).unwrap();
        let mut out = Vec::new();
        write(&parsed.trace, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), parsed.notes)
    }

    #[test]
    fn requests_are_no_events() {
        let parsed = parse(b"T1|req(l)|1\nT1|acq(l)|2\nT1|rel(l)|3\n").unwrap();
        assert_eq!(parsed.trace.len(), 2);
        assert_eq!(parsed.lines.line(crate::EventId(0)), 2);
        assert_eq!(parsed.notes, ["skipped 1 `req` line"]);
    }

    #[test]
    fn a_wait_in_four_lines_is_two_events() {
        let (text, notes) = translated(
            "T1|acq(l)|1\nT1|rel(l)|2\nT2|acq(l)|3\nT1|wait(c)|4\nT2|notify(c)|5\nT2|rel(l)|6\n\
             T1|req(l)|7\nT1|acq(l)|8\nT1|rel(l)|9\n",
        );
        assert_eq!(
            text,
            "T1|acq(l)|1\nT1|wait(c,l)|4\nT2|acq(l)|3\nT2|notify(c)|5\nT2|rel(l)|6\n\
             T1|woken(c,l)|8\nT1|rel(l)|9\n"
        );
        assert_eq!(notes.len(), 2);
        assert_eq!(
            notes[1],
            "read 1 wait written as `rel`, `wait`, `acq` as one step each; 0 timed out"
        );
    }

    #[test]
    fn one_notify_wakes_one_waiter() {
        let waits = "A|acq(l)\nA|rel(l)\nA|wait(c)\nB|acq(l)\nB|rel(l)\nB|wait(c)\n";
        let backs = "B|acq(l)\nB|rel(l)\nA|acq(l)\nA|rel(l)\n";
        let (text, _) = translated(&format!("C|notify(c)\n{waits}C|notify(c)\n{backs}"));
        assert!(text.contains("B|woken(c,l)\n") && text.contains("A|timedout(c,l)\n"), "{text}");
        let (text, _) = translated(&format!("{waits}C|notifyall(c)\n{backs}"));
        assert!(text.contains("B|woken(c,l)\n") && text.contains("A|woken(c,l)\n"), "{text}");
        let (text, _) = translated(&format!("{waits}C|notify(c)\nC|notify(c)\n{backs}"));
        assert!(text.contains("B|woken(c,l)\n") && text.contains("A|woken(c,l)\n"), "{text}");
        let (text, notes) = translated(&format!("{waits}C|notify(d)\n{backs}"));
        assert!(text.contains("B|timedout(c,l)\n") && text.contains("A|timedout(c,l)\n"), "{text}");
        assert!(notes[0].ends_with("2 timed out"));
    }

    #[test]
    fn a_wait_needs_its_release_just_before() {
        for text in ["A|wait(c)\n", "A|acq(l)\nA|wait(c)\n", "B|rel(l)\nA|wait(c)\n"] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.message.starts_with("`wait` on `c` names no lock"), "{error}");
        }
    }

    #[test]
    fn a_waiter_that_does_something_else_first_only_acquires() {
        let (text, _) = translated("A|rel(l)\nA|wait(c)\nA|r(x)\nA|acq(l)\nA|rel(l)\nA|acq(l)\n");
        assert_eq!(text, "A|wait(c,l)\nA|r(x)\nA|acq(l)\nA|rel(l)\nA|acq(l)\n");
    }

    #[test]
    fn threads_get_their_t() {
        let text = "#! name 1=worker\nT0|fork(1)\nT1|r(x)\nT0|join(1)\nT0|fork(2)\n";
        let parsed = parse(text.as_bytes()).unwrap();
        assert_eq!(parsed.notes, ["read thread `1` as `T1`"]);
        let trace = &parsed.trace;
        assert_eq!(trace.thread_count(), 3);
        let worker = trace.find_thread("T1").unwrap();
        assert_eq!(trace.display_name(worker), "worker");
        let (text, _) = translated(text);
        assert_eq!(text, "#! name T1=worker\nT0|fork(T1)\nT1|r(x)\nT0|join(T1)\nT0|fork(2)\n");
    }

    #[test]
    fn a_thread_that_runs_keeps_its_name() {
        let (text, notes) = translated("T0|fork(1)|5\n1|r(x)|6\nT1|r(x)|7\n");
        assert_eq!(text, "T0|fork(1)|5\n1|r(x)|6\nT1|r(x)|7\n");
        assert!(notes.is_empty());
    }
}
