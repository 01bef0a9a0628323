//! Must-happen-before of semaphores, barriers and conditions.
//!
//! None of them names the event that lets another one go on; they count.
//!
//! - *Semaphores.* At any time, the permits that all threads have taken and not given back (a
//!   thread that gives more than it takes counts as less than none) are at most those at the start.
//!   When a `down` runs, each other thread has at least the fewest permits that it has at any place
//!   from where it is known to be. What these leave is the most that one thread can have: if it has
//!   more there, it has gone on to the first place where it has not.
//! - *Barriers.* Between two arrivals of a thread is a `leave`, which waits until the generation of
//!   the first one is complete. So a thread arrives at most once in a generation, its k-th arrival
//!   is of generation k or a later one, and when it leaves, generations 0 to k are complete:
//!   `n (k + 1)` arrivals, of which each thread has at most `k + 1`. Where all other threads have
//!   too few, the rest are of one thread. If only n threads ever arrive, that makes `k + 1` of
//!   each. A barrier at which some thread arrives twice without leaving has none of this.
//! - *Conditions.* Between a `wait` and its `woken` comes a notification. What all notifications
//!   need that are not known to come before the wait, the `woken` needs.

use foretell_trace::{BarrierId, CondId, EventId, EventKind, Op, SemId, ThreadId, Trace};
use rustc_hash::FxHashMap;

use super::{MustHappenBefore, Row};
use crate::Chains;

/// Events of one kind on one object, by thread, each thread's in order.
#[derive(Debug, Default)]
struct ByThread {
    threads: Vec<(ThreadId, Vec<EventId>)>,
}

impl ByThread {
    fn push(&mut self, thread: ThreadId, e: EventId, index: &mut FxHashMap<ThreadId, usize>) {
        let i = *index.entry(thread).or_insert_with(|| {
            self.threads.push((thread, Vec::new()));
            self.threads.len() - 1
        });
        self.threads[i].1.push(e);
    }

    fn new(trace: &Trace, events: &[EventId]) -> Self {
        let mut this = Self::default();
        let mut index = FxHashMap::default();
        for &e in events {
            foretell_limit::check();
            this.push(trace.thread(e), e, &mut index);
        }
        this
    }
}

struct Semaphore {
    permits: i64,
    threads: Vec<Holder>,
}

/// A thread that takes or gives permits of a semaphore.
struct Holder {
    thread: ThreadId,
    /// Its downs and posts, in order.
    events: Vec<EventId>,
    /// The permits that it has taken and not given back after that many of the events.
    held: Vec<i64>,
    /// The least of `held` from there on.
    least: Vec<i64>,
    /// After how many events it has a number of permits.
    places: FxHashMap<i64, Vec<u32>>,
}

impl Holder {
    fn new(trace: &Trace, thread: ThreadId, events: Vec<EventId>) -> Self {
        let change = |e: &EventId| if trace.op(*e) == Op::Down { 1 } else { -1 };
        let mut held = vec![0];
        for e in &events {
            held.push(held[held.len() - 1] + change(e));
        }
        let mut least = held.clone();
        for i in (0..events.len()).rev() {
            least[i] = least[i].min(least[i + 1]);
        }
        let mut places: FxHashMap<i64, Vec<u32>> = FxHashMap::default();
        for (i, &permits) in held.iter().enumerate() {
            foretell_limit::check();
            places.entry(permits).or_default().push(i as u32);
        }
        Self { thread, events, held, least, places }
    }

    /// The event with which the thread comes to have at most `most` permits, if it has more after
    /// the first `from` events.
    fn first_with(&self, from: usize, most: i64) -> Option<EventId> {
        if self.held[from] <= most {
            return None;
        }
        // The number changes by one at a time.
        let places = self.places.get(&most)?;
        let place = *places.get(places.partition_point(|&i| (i as usize) <= from))?;
        Some(self.events[place as usize - 1])
    }
}

struct Barrier {
    parties: usize,
    arrivals: ByThread,
    /// Whether every thread leaves before it arrives again.
    alternates: bool,
}

/// More threads than this on one object, and it is left out: each of its events looks at all of
/// them.
const MOST_THREADS: usize = 256;

/// The semaphores, barriers and conditions of a trace.
pub(super) struct Counting<'a> {
    trace: &'a Trace,
    chains: &'a Chains,
    semaphores: Vec<Semaphore>,
    barriers: Vec<Barrier>,
    /// The notifications of each condition.
    notifications: Vec<ByThread>,
    /// The arrival of each `leave`, and the `wait` of each `woken`.
    starts: FxHashMap<EventId, EventId>,
}

impl<'a> Counting<'a> {
    pub(super) fn new(trace: &'a Trace, chains: &'a Chains) -> Option<Self> {
        let objects = trace.semaphore_count() + trace.barrier_count() + trace.condition_count();
        if objects == 0 {
            return None;
        }
        let mut permits = vec![Vec::new(); trace.semaphore_count()];
        let mut arrivals = vec![Vec::new(); trace.barrier_count()];
        let mut alternates = vec![true; trace.barrier_count()];
        let mut notifications = vec![Vec::new(); trace.condition_count()];
        let mut starts = FxHashMap::default();
        // Arrivals that were not left yet, and waits that were not ended.
        let mut at_barrier: FxHashMap<(ThreadId, BarrierId), EventId> = FxHashMap::default();
        let mut waiting: FxHashMap<ThreadId, EventId> = FxHashMap::default();
        for e in trace.ids() {
            foretell_limit::check();
            if trace.op(e).is_access() {
                continue;
            }
            let thread = trace.thread(e);
            match trace.event(e).kind {
                EventKind::Post { sem } | EventKind::Down { sem } => permits[sem.index()].push(e),
                EventKind::Arrive { barrier } => {
                    arrivals[barrier.index()].push(e);
                    let open = at_barrier.insert((thread, barrier), e);
                    alternates[barrier.index()] &= open.is_none();
                }
                EventKind::Leave { barrier } => {
                    if let Some(arrival) = at_barrier.remove(&(thread, barrier)) {
                        starts.insert(e, arrival);
                    }
                }
                EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                    notifications[cond.index()].push(e);
                }
                EventKind::Wait { .. } => drop(waiting.insert(thread, e)),
                EventKind::Woken { .. } => {
                    if let Some(wait) = waiting.remove(&thread) {
                        starts.insert(e, wait);
                    }
                }
                _ => {}
            }
        }
        let by_thread = |events: &Vec<EventId>| ByThread::new(trace, events);
        let semaphore = |(s, events): (usize, &Vec<EventId>)| Semaphore {
            permits: i64::try_from(trace.initial_count(SemId::from_index(s))).unwrap_or(i64::MAX),
            threads: by_thread(events)
                .threads
                .into_iter()
                .map(|(thread, events)| Holder::new(trace, thread, events))
                .collect(),
        };
        let barrier = |(b, (arrivals, &alternates)): (usize, (&Vec<EventId>, &bool))| Barrier {
            parties: trace.parties(BarrierId::from_index(b)).unwrap_or(0).max(1) as usize,
            arrivals: by_thread(arrivals),
            alternates,
        };
        Some(Self {
            trace,
            chains,
            semaphores: permits.iter().enumerate().map(semaphore).collect(),
            barriers: arrivals.iter().zip(&alternates).enumerate().map(barrier).collect(),
            notifications: notifications.iter().map(by_thread).collect(),
            starts,
        })
    }

    /// Adds to `row`, with which `e` runs, what the counts ask for. Returns whether it grew.
    pub(super) fn include(&self, order: &MustHappenBefore, e: EventId, row: &mut Row) -> bool {
        match self.trace.event(e).kind {
            EventKind::Down { sem } => self.down(order, sem, e, row),
            EventKind::Leave { barrier } => self.leave(order, barrier, e, row),
            EventKind::Woken { cond, .. } => self.woken(order, cond, e, row),
            _ => false,
        }
    }

    /// How many of a thread's events in a list have run with a row.
    fn run(&self, row: &[u32], thread: ThreadId, list: &[EventId]) -> usize {
        let count = self.chains.columns().events_of(thread, row[self.chains.column(thread)]);
        list.partition_point(|&e| self.chains.position(e) < count)
    }

    fn down(&self, order: &MustHappenBefore, sem: SemId, e: EventId, row: &mut Row) -> bool {
        let Semaphore { permits, threads } = &self.semaphores[sem.index()];
        if threads.len() > MOST_THREADS {
            return false;
        }
        let own = self.trace.thread(e);
        let run = |holder: &Holder| match holder.thread == own {
            true => holder.events.partition_point(|&other| other <= e),
            false => self.run(row, holder.thread, &holder.events),
        };
        let runs: Vec<usize> = threads.iter().map(run).collect();
        let least = |(holder, &run): (&Holder, &usize)| match holder.thread == own {
            true => holder.held[run],
            false => holder.least[run],
        };
        let all: i64 = threads.iter().zip(&runs).map(least).sum();
        let mut grew = false;
        for (holder, &run) in threads.iter().zip(&runs).filter(|(h, _)| h.thread != own) {
            let most = permits.saturating_sub(all - holder.least[run]);
            if let Some(last) = holder.first_with(run, most) {
                let position = self.chains.position(last);
                grew |= order.include_run_row(row, holder.thread, position);
            }
        }
        grew
    }

    fn leave(
        &self,
        order: &MustHappenBefore,
        barrier: BarrierId,
        e: EventId,
        row: &mut Row,
    ) -> bool {
        let Barrier { parties, arrivals, alternates } = &self.barriers[barrier.index()];
        let (Some(&arrival), true) = (self.starts.get(&e), alternates) else { return false };
        if arrivals.threads.len() > MOST_THREADS {
            return false;
        }
        let own = self.trace.thread(e);
        let Some((_, list)) = arrivals.threads.iter().find(|(t, _)| *t == own) else {
            return false;
        };
        let k = list.partition_point(|&a| a < arrival);
        // The arrivals that have run before this one fill generations too.
        let before = order.whole_row(
            own,
            2 * self.chains.position(arrival) + 1,
            self.chains.position(arrival),
        );
        let run: usize = arrivals.threads.iter().map(|(t, list)| self.run(&before, *t, list)).sum();
        let generations = k.max(run / parties) + 1;
        let needed = generations * parties;
        let most = |thread: ThreadId, list: &[EventId]| match thread == own {
            true => k + 1,
            false => list.len().min(generations),
        };
        let all: usize = arrivals.threads.iter().map(|(t, list)| most(*t, list)).sum();
        let mut grew = false;
        for (thread, list) in arrivals.threads.iter().filter(|(t, _)| *t != own) {
            let of_others = all - most(*thread, list);
            grew |= self.include_first(order, *thread, list, needed.saturating_sub(of_others), row);
        }
        grew
    }

    fn woken(&self, order: &MustHappenBefore, cond: CondId, e: EventId, row: &mut Row) -> bool {
        let notifications = &self.notifications[cond.index()];
        let Some(&wait) = self.starts.get(&e) else { return false };
        if notifications.threads.len() > MOST_THREADS {
            return false;
        }
        let own = self.trace.thread(e);
        let position = self.chains.position(wait);
        let before = order.whole_row(own, 2 * position + 1, position);
        let mut common: Option<Row> = None;
        for (thread, list) in notifications.threads.iter().filter(|(t, _)| *t != own) {
            // Those of a thread are in order, so the first that can come after the wait tells.
            let Some(&first) = list.get(self.run(&before, *thread, list)) else { continue };
            let position = self.chains.position(first);
            let needs = order.whole_row(*thread, 2 * position + 1, position + 1);
            match &mut common {
                None => common = Some(needs),
                Some(common) => {
                    for (mine, theirs) in common.iter_mut().zip(needs) {
                        *mine = (*mine).min(theirs);
                    }
                }
            }
        }
        common.is_some_and(|needs| super::max_into(row, &needs, self.chains.column(own)))
    }

    /// Adds the first `count` of a thread's events in a list.
    fn include_first(
        &self,
        order: &MustHappenBefore,
        thread: ThreadId,
        list: &[EventId],
        count: usize,
        row: &mut Row,
    ) -> bool {
        if count == 0 || self.run(row, thread, list) >= count {
            return false;
        }
        let Some(&last) = list.get(count - 1) else { return false };
        order.include_run_row(row, thread, self.chains.position(last))
    }
}
