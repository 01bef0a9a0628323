//! Sums of permits: a cheap proof that threads cannot all wait for semaphores.
//!
//! In a stuck state the semaphores that threads wait for are empty, so the permits of all of them
//! together are none. The sum follows from where each thread stops: a producer that takes a free
//! slot and gives an item, over and over, leaves the sum of slots and items alone wherever it waits
//! for a slot. So each set of semaphores that may be waited for has a least sum over the stops that
//! remain; if that is positive for every set, there is no stuck state. (The sums are the place
//! invariants of Petri nets, where a program has one.)

use foretell_model::TraceModel;
use foretell_trace::{EventId, EventKind, SemId, ThreadId};

/// Semaphores of a trace of which all sets are looked at.
const MOST_SEMAPHORES: usize = 4;

/// Least change of a sum, over the stops of a thread from each one on.
#[derive(Debug, Default)]
struct ThreadSums {
    /// Positions of the stops that do not wait for a semaphore outside of the set, ascending; the
    /// length of the thread stands for its end.
    positions: Vec<u32>,
    /// By stop: the least change, of this stop and all later ones.
    least: Vec<i64>,
    /// By stop: the change there.
    change: Vec<i64>,
}

/// A set of semaphores that threads may wait for.
#[derive(Debug)]
struct SemaphoreSet {
    semaphores: Vec<SemId>,
    initial: i64,
    threads: Vec<ThreadSums>,
}

/// The sums of all sets of semaphores of a trace.
#[derive(Debug, Default)]
pub(super) struct PermitSums {
    sets: Vec<SemaphoreSet>,
}

impl PermitSums {
    /// Computes the sums for stops by thread. There are none for a trace with many semaphores.
    pub(super) fn new(trace_model: &TraceModel<'_>, stops: &[Vec<u32>]) -> Self {
        let trace = trace_model.trace;
        let threads = || (0..stops.len()).map(ThreadId::from_index);
        let mut semaphores: Vec<SemId> = Vec::new();
        for t in threads() {
            for &position in &stops[t.index()] {
                foretell_limit::check();
                if let Some(sem) = taken(trace_model, t, position)
                    && !semaphores.contains(&sem)
                {
                    semaphores.push(sem);
                    if semaphores.len() > MOST_SEMAPHORES {
                        return Self::default();
                    }
                }
            }
        }
        let sets = (0..1_usize << semaphores.len()).map(|bits| {
            let chosen = semaphores.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
            let set: Vec<SemId> = chosen.map(|(_, &sem)| sem).collect();
            let initial = set.iter().map(|&sem| trace.initial_count(sem));
            let initial = initial.map(|count| i64::try_from(count).unwrap_or(i64::MAX / 8)).sum();
            let sums = |t: ThreadId| ThreadSums::new(trace_model, t, &stops[t.index()], &set);
            let threads = threads().map(sums).collect();
            SemaphoreSet { semaphores: set, initial, threads }
        });
        Self { sets: sets.collect() }
    }

    /// Whether some set of semaphores may be empty, with all other threads at stops from `counts`
    /// on, or not started, and the thread of `root` at `root`.
    pub(super) fn may_be_empty(
        &self,
        trace_model: &TraceModel<'_>,
        root: EventId,
        counts: &[u32],
    ) -> bool {
        let TraceModel { trace, chains, .. } = trace_model;
        let (own, position) = (trace.thread(root), chains.position(root));
        let wanted = taken(trace_model, own, position);
        let mut sets = self.sets.iter();
        self.sets.is_empty()
            || sets.any(|set| {
                let is_in = wanted.is_none_or(|sem| set.semaphores.contains(&sem));
                is_in && set.least_sum(trace_model, (own, position), counts).is_some_and(|s| s <= 0)
            })
    }
}

impl SemaphoreSet {
    /// The least sum; `None` if a thread has no stop left.
    fn least_sum(
        &self,
        trace_model: &TraceModel<'_>,
        (own, position): (ThreadId, u32),
        counts: &[u32],
    ) -> Option<i64> {
        let mut sum = self.initial;
        for (t, sums) in self.threads.iter().enumerate() {
            let t = ThreadId::from_index(t);
            let count = if t == own { position } else { counts[t.index()] };
            let next = sums.positions.partition_point(|&p| p < count);
            let least = match t == own {
                true => sums.change.get(next).filter(|_| sums.positions[next] == position),
                false => sums.least.get(next),
            };
            // A thread that is not started has changed nothing.
            let idle = t != own && count == 0 && trace_model.chains.fork(t).is_some();
            sum += match (least, idle) {
                (Some(&least), true) => least.min(0),
                (Some(&least), false) => least,
                (None, true) => 0,
                (None, false) => return None,
            };
        }
        Some(sum)
    }
}

impl ThreadSums {
    fn new(trace_model: &TraceModel<'_>, t: ThreadId, stops: &[u32], set: &[SemId]) -> Self {
        let TraceModel { trace, chains, .. } = trace_model;
        let events = chains.events(t);
        let mut sums = Self::default();
        let (mut change, mut next) = (0, 0);
        for position in 0..=events.len() as u32 {
            foretell_limit::check();
            let is_end = position as usize == events.len();
            let is_stop = stops.get(next) == Some(&position);
            next += usize::from(is_stop);
            let waits_elsewhere =
                || taken(trace_model, t, position).is_some_and(|sem| !set.contains(&sem));
            if is_stop && !waits_elsewhere() || is_end && trace.has_ended(t) {
                sums.positions.push(position);
                sums.change.push(change);
            }
            if let Some(&e) = events.get(position as usize) {
                change += match trace.event(e).kind {
                    EventKind::Post { sem } if set.contains(&sem) => 1,
                    EventKind::Down { sem } if set.contains(&sem) => -1,
                    _ => 0,
                };
            }
        }
        sums.least.clone_from(&sums.change);
        for i in (1..sums.least.len()).rev() {
            sums.least[i - 1] = sums.least[i - 1].min(sums.least[i]);
        }
        sums
    }
}

/// The semaphore that an event of a thread takes.
fn taken(trace_model: &TraceModel<'_>, t: ThreadId, position: u32) -> Option<SemId> {
    let e = *trace_model.chains.events(t).get(position as usize)?;
    match trace_model.trace.event(e).kind {
        EventKind::Down { sem } => Some(sem),
        _ => None,
    }
}
