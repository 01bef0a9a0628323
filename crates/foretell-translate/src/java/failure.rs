//! The failure of a Java run, according to its log.

use foretell_rt_format::SyncKind;
use foretell_trace::{FailureKind, RunFailure};
use rustc_hash::{FxHashMap, FxHashSet};

use super::end::Uncaught;
use super::event_writer::EventWriter;
use super::objects::Objects;
use super::progress::lock_of;
use super::record::Blocked;
use super::sync::SyncObjects;

/// Signs of a failure so far.
#[derive(Default)]
pub(super) struct FailureSigns {
    /// Threads that have ended.
    ended: FxHashSet<u32>,
    /// How many times a thread holds a lock.
    held: FxHashMap<(u32, u32), u32>,
    /// Threads that wait, at the end of the run.
    waiting: Vec<Blocked>,
    found: Option<RunFailure>,
}

impl FailureSigns {
    pub(super) fn end_of_thread(&mut self, thread: u32) {
        self.ended.insert(thread);
    }

    pub(super) fn sync(&mut self, thread: u32, (kind, object, other): (SyncKind, u32, u64)) {
        if let Some((lock, acquires)) = lock_of(kind, object, other) {
            let times = self.held.entry((lock, thread)).or_default();
            *times = if acquires { *times + 1 } else { times.saturating_sub(1) };
        }
    }

    pub(super) fn waiting(&mut self, threads: &[Blocked]) {
        self.waiting = threads.to_vec();
    }

    /// No thread can ever run again; `stuck` are those that wait for more than the end of a thread.
    pub(super) fn deadlock(
        &mut self,
        out: &mut EventWriter<'_>,
        (sync, objects): (&mut SyncObjects, &mut Objects),
        stuck: &[u32],
    ) {
        let mut threads = Vec::new();
        let mut sentence = Vec::new();
        let waiting = std::mem::take(&mut self.waiting);
        let wanted: Vec<u32> = waiting.iter().filter(|b| !b.joins).map(|b| b.object).collect();
        for b in &waiting {
            let holds_wanted = wanted.iter().any(|&lock| self.holders(lock).contains(&b.thread));
            if b.joins && !holds_wanted && !stuck.is_empty() {
                continue;
            }
            let state = match (b.joins, b.object) {
                (true, thread) => format!("waits for the end of {}", display(out, thread)),
                (false, 0) => "waits for ever".to_owned(),
                (false, lock) => {
                    let name = sync.lock_name(out, objects, lock);
                    let holders = self.holders(lock).into_iter().map(|t| display(out, t));
                    let holders: Vec<String> = holders.collect();
                    match holders.is_empty() {
                        true => format!("waits for {name}"),
                        false => format!("waits for {name}, held by {}", holders.join(" and ")),
                    }
                }
            };
            sentence.push(format!("{} {state}", display(out, b.thread)));
            threads.push((name(out, b.thread), state));
        }
        if threads.is_empty() {
            threads.extend(stuck.iter().map(|&t| (name(out, t), "waits for ever".to_owned())));
        }
        let message = match sentence.is_empty() {
            true => "threads wait for each other".to_owned(),
            false => sentence.join("; "),
        };
        self.found = Some(RunFailure { kind: FailureKind::Deadlock, message, threads });
    }

    fn holders(&self, lock: u32) -> Vec<u32> {
        let held = self.held.iter().filter(|&(&(l, _), &times)| l == lock && times > 0);
        let mut threads: Vec<u32> = held.map(|(&(_, thread), _)| thread).collect();
        threads.sort_unstable();
        threads
    }

    /// An exception that nothing caught ends a thread; the first one counts.
    pub(super) fn uncaught(&mut self, out: &mut EventWriter<'_>, thread: u32, e: &Uncaught) {
        if self.found.is_some() {
            return;
        }
        let (kind, message) = match e.assertion() {
            Some(message) => (FailureKind::Assertion, message),
            None => (FailureKind::Exception, e.text()),
        };
        let state = "ends with an exception that nothing catches".to_owned();
        self.found = Some(RunFailure { kind, message, threads: vec![(name(out, thread), state)] });
    }

    /// Returns the failure that the log shows, and the threads that had not ended: those of a run
    /// that was killed.
    pub(super) fn finish(
        self,
        out: &mut EventWriter<'_>,
    ) -> (Option<RunFailure>, Vec<(String, String)>) {
        let living = out.trace.thread_numbers();
        let living = living.into_iter().filter(|t| !self.ended.contains(t));
        let states = living.map(|t| (name(out, t), "had not ended".to_owned())).collect();
        (self.found, states)
    }
}

fn name(out: &mut EventWriter<'_>, thread: u32) -> String {
    let id = out.trace.thread(thread);
    out.trace.builder.trace().thread_name(id).to_owned()
}

fn display(out: &mut EventWriter<'_>, thread: u32) -> String {
    let id = out.trace.thread(thread);
    out.trace.builder.trace().display_name(id).to_owned()
}
