//! Histories: for each thread the sequence of its events with what they observed.
//!
//! Identifiers of one trace mean nothing in another, and addresses differ from run to run. A
//! history therefore names a thread by the path of creations that leads to it, and an event by its
//! operation, its location and the value that it observed.
//!
//! A *spin* is a loop whose iterations observe the same again and change nothing. Any number of
//! equal iterations in a row counts as one. Whether a loop is a spin is learnt from the runs: a
//! loop that was ever left although nothing it observes had changed counts its iterations, and all
//! of them count ([`Counted`]).

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use foretell_model::TraceModel;
use foretell_trace::{EventId, EventKind, Op, ThreadId, Trace};
use rustc_hash::FxHashSet;

/// Longest iteration, in events, that is recognised as part of a spin.
const LONGEST_ITERATION: usize = 8;

/// Observation of a wait that timed out.
pub(crate) const TIMED_OUT: &str = "timed out";

/// Hash of a thread's path of creations.
pub(crate) type ThreadKey = u64;

/// Locations whose loops count their iterations.
pub(crate) type Counted = FxHashSet<u64>;

/// One event of a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    /// Hash of operation and location.
    pub(crate) place: u64,
    /// Hash of the observation.
    pub(crate) seen: u64,
    /// Whether the event changes state that other threads see, so that a loop with it is no spin.
    acts: bool,
    /// Whether the location is known.
    located: bool,
}

/// Returns the hash of something.
pub(crate) fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns the keys of the threads of a trace.
pub(crate) fn thread_keys(trace: &Trace) -> Vec<ThreadKey> {
    let count = trace.thread_count();
    let name = |t| hash_of(("root", trace.thread_name(ThreadId::from_index(t))));
    let mut keys: Vec<ThreadKey> = (0..count).map(name).collect();
    let mut created = vec![0_u32; count];
    for e in trace.ids() {
        if let EventKind::Fork { thread } = trace.event(e).kind {
            let parent = trace.thread(e).index();
            keys[thread.index()] = hash_of((keys[parent], created[parent]));
            created[parent] += 1;
        }
    }
    keys
}

/// Returns the hash of a value of a trace.
pub(crate) fn value_hash(trace: &Trace, value: Option<foretell_trace::ValueId>) -> u64 {
    let value = value.and_then(|v| trace.values().get(v));
    hash_of(value.map(|v| v.to_string()))
}

impl Entry {
    /// Returns the entry of an event that observes what it did in the trace.
    pub(crate) fn of(trace: &Trace, e: EventId) -> Entry {
        let op = trace.op(e);
        let seen = match op {
            op if op.reads() => value_hash(trace, trace.read_value(e)),
            op if op.is_failed_try() => hash_of("failed"),
            Op::TimedOut => hash_of(TIMED_OUT),
            _ => 0,
        };
        Self::with(trace, e, seen)
    }

    /// Returns the entry of an event with another observation.
    pub(crate) fn with(trace: &Trace, e: EventId, seen: u64) -> Entry {
        // A try is one operation, whatever comes of it.
        let op = match trace.op(e) {
            Op::TryAcquire => Op::TryFailed,
            Op::TryAcquireShared => Op::TryFailedShared,
            Op::TimedOut => Op::Woken,
            op => op,
        };
        let location = trace.site(e).map(|s| trace.location(s));
        let acts = matches!(
            op,
            Op::Write
                | Op::AtomicWrite
                | Op::AtomicUpdate
                | Op::Notify
                | Op::NotifyAll
                | Op::Post
                | Op::Down
                | Op::Arrive
                | Op::Fork
                | Op::Join
        );
        // One line may have several accesses.
        let variable = trace.variable(e).map(|x| trace.variable_name(x));
        let place = hash_of((op as u8, location, variable));
        Entry { place, seen, acts, located: location.is_some() }
    }
}

/// A history under construction: the hashes of all its beginnings.
#[derive(Clone, Default, Debug)]
pub(crate) struct History {
    entries: Vec<Entry>,
    /// Number of entries that equal those one iteration before, for the iteration length found.
    repeated: Option<(usize, usize)>,
    /// Whether the last event belongs to a repeated iteration.
    pub(crate) stutters: bool,
}

impl History {
    /// Adds an entry. Notes the places of a loop that was left although nothing had changed.
    pub(crate) fn push(&mut self, entry: Entry, counted: &mut Counted) {
        if let Some((length, matched)) = self.repeated {
            // A loop of at least two equal iterations goes on, or is left.
            let expected = self.entries[self.entries.len() - length];
            if entry == expected {
                self.entries.push(entry);
                let matched = matched + 1;
                if matched == length {
                    self.entries.truncate(self.entries.len() - length);
                    self.repeated = Some((length, 0));
                    self.stutters = true;
                } else {
                    self.repeated = Some((length, matched));
                }
                return;
            }
            if entry.place != expected.place {
                let start = self.entries.len() - matched - length;
                let end = self.entries.len() - matched;
                counted.extend(self.entries[start..end].iter().map(|e| e.place));
            }
            self.repeated = None;
        }
        self.stutters = false;
        self.entries.push(entry);
        let n = self.entries.len();
        for length in 1..=LONGEST_ITERATION.min(n / 2) {
            let iteration = &self.entries[n - length..];
            let spins = |e: &Entry| !e.acts && e.located && !counted.contains(&e.place);
            if iteration == &self.entries[n - 2 * length..n - length] && iteration.iter().all(spins)
            {
                self.entries.truncate(n - length);
                self.repeated = Some((length, 0));
                self.stutters = true;
                break;
            }
        }
    }

    /// Ends the history of a thread that has come to its end.
    pub(crate) fn end(&mut self, counted: &mut Counted) {
        if let Some((length, matched)) = self.repeated {
            let end = self.entries.len() - matched;
            counted.extend(self.entries[end - length..end].iter().map(|e| e.place));
        }
    }

    /// Returns the hash of the history so far.
    pub(crate) fn hash(&self) -> u64 {
        hash_of(self.entries.iter().map(|e| (e.place, e.seen)).collect::<Vec<_>>())
    }

    /// Returns the hashes of all beginnings of the history.
    pub(crate) fn beginnings(&self) -> Vec<u64> {
        (1..=self.entries.len())
            .map(|n| {
                hash_of(self.entries[..n].iter().map(|e| (e.place, e.seen)).collect::<Vec<_>>())
            })
            .collect()
    }
}

/// Key of a cut: for each thread that has run, the hash of its history.
pub(crate) type CutKey = BTreeMap<ThreadKey, u64>;

/// Returns the key of the first `counts` events of each thread; the events of `flips` observe
/// something else.
pub(crate) fn cut_key(
    model: &TraceModel<'_>,
    keys: &[ThreadKey],
    counts: &[u32],
    flip: Option<(EventId, u64)>,
    counted: &Counted,
) -> CutKey {
    let trace = model.trace;
    let mut known = counted.clone();
    let mut key = CutKey::new();
    for (t, &count) in counts.iter().enumerate() {
        if count == 0 {
            continue;
        }
        let mut history = History::default();
        for &e in &model.chains.events(ThreadId::from_index(t))[..count as usize] {
            let entry = match flip {
                Some((flipped, seen)) if flipped == e => Entry::with(trace, e, seen),
                _ => Entry::of(trace, e),
            };
            history.push(entry, &mut known);
        }
        key.insert(keys[t], history.hash());
    }
    key
}
