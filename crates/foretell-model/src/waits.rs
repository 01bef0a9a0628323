//! Waits with the notifications that may end them, and the counters: semaphores and barriers.

use foretell_trace::{BarrierId, CondId, EventId, EventKind, SemId, Trace};
use rustc_hash::FxHashMap;

/// Index of a wait.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WaitId(pub u32);

/// One stay in a wait set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The condition.
    pub cond: CondId,
    /// The event that enters the wait set.
    pub enter: EventId,
    /// The event that leaves it; `None` where the thread still waits at the end of the trace.
    pub exit: Option<EventId>,
    /// Whether it is left because time ran out, not because of a notification.
    pub timed_out: bool,
}

/// The waits and notifications of a trace.
#[derive(Debug, Default)]
pub struct Waits {
    waits: Vec<Wait>,
    by_cond: Vec<Vec<WaitId>>,
    notifies: Vec<Vec<EventId>>,
    notify_alls: Vec<Vec<EventId>>,
    by_event: FxHashMap<EventId, WaitId>,
}

impl Waits {
    /// Finds the waits of a legal trace.
    pub(crate) fn new(trace: &Trace) -> Self {
        let conditions = trace.condition_count();
        let mut this = Self {
            by_cond: vec![Vec::new(); conditions],
            notifies: vec![Vec::new(); conditions],
            notify_alls: vec![Vec::new(); conditions],
            ..Self::default()
        };
        if conditions == 0 {
            return this;
        }
        let mut open: Vec<Option<WaitId>> = vec![None; trace.thread_count()];
        for e in trace.ids() {
            foretell_limit::check();
            let thread = trace.thread(e).index();
            match trace.event(e).kind {
                EventKind::Wait { cond, .. } => {
                    let id = WaitId(this.waits.len() as u32);
                    this.waits.push(Wait { cond, enter: e, exit: None, timed_out: false });
                    this.by_cond[cond.index()].push(id);
                    this.by_event.insert(e, id);
                    open[thread] = Some(id);
                }
                kind @ (EventKind::Woken { .. } | EventKind::TimedOut { .. }) => {
                    let Some(id) = open[thread].take() else { continue };
                    let wait = &mut this.waits[id.0 as usize];
                    wait.exit = Some(e);
                    wait.timed_out = matches!(kind, EventKind::TimedOut { .. });
                    this.by_event.insert(e, id);
                }
                EventKind::Notify { cond } => this.notifies[cond.index()].push(e),
                EventKind::NotifyAll { cond } => this.notify_alls[cond.index()].push(e),
                _ => {}
            }
        }
        this
    }

    /// A wait.
    #[inline]
    pub fn get(&self, w: WaitId) -> &Wait {
        &self.waits[w.0 as usize]
    }

    /// The waits on a condition, in the order they were entered.
    pub fn of_cond(&self, c: CondId) -> &[WaitId] {
        &self.by_cond[c.index()]
    }

    /// The wait that an event enters or leaves.
    #[inline]
    pub fn at(&self, e: EventId) -> Option<WaitId> {
        self.by_event.get(&e).copied()
    }

    /// All events of a condition, in the order of the trace.
    pub fn events(&self, c: CondId) -> Vec<EventId> {
        let waits = self.of_cond(c).iter().map(|&w| self.get(w));
        let ends = waits.flat_map(|w| [Some(w.enter), w.exit]).flatten();
        let notifies = self.notifies(c).iter().chain(self.notify_alls(c)).copied();
        let mut events: Vec<EventId> = ends.chain(notifies).collect();
        events.sort_unstable();
        events
    }

    /// The notifications of one waiter on a condition.
    pub fn notifies(&self, c: CondId) -> &[EventId] {
        &self.notifies[c.index()]
    }

    /// The notifications of all waiters on a condition.
    pub fn notify_alls(&self, c: CondId) -> &[EventId] {
        &self.notify_alls[c.index()]
    }
}

/// The events of semaphores and barriers.
#[derive(Debug, Default)]
pub struct Counters {
    posts: Vec<Vec<EventId>>,
    downs: Vec<Vec<EventId>>,
    arrivals: Vec<Vec<EventId>>,
    /// The arrival that each `leave` belongs to.
    arrival_of: FxHashMap<EventId, EventId>,
}

impl Counters {
    /// Collects the events of a trace's semaphores and barriers.
    pub(crate) fn new(trace: &Trace) -> Self {
        let mut this = Self {
            posts: vec![Vec::new(); trace.semaphore_count()],
            downs: vec![Vec::new(); trace.semaphore_count()],
            arrivals: vec![Vec::new(); trace.barrier_count()],
            arrival_of: FxHashMap::default(),
        };
        if trace.semaphore_count() == 0 && trace.barrier_count() == 0 {
            return this;
        }
        let mut last_arrival = FxHashMap::default();
        for e in trace.ids() {
            foretell_limit::check();
            let thread = trace.thread(e);
            match trace.event(e).kind {
                EventKind::Post { sem } => this.posts[sem.index()].push(e),
                EventKind::Down { sem } => this.downs[sem.index()].push(e),
                EventKind::Arrive { barrier } => {
                    this.arrivals[barrier.index()].push(e);
                    last_arrival.insert((thread, barrier), e);
                }
                EventKind::Leave { barrier } => {
                    if let Some(&arrival) = last_arrival.get(&(thread, barrier)) {
                        this.arrival_of.insert(e, arrival);
                    }
                }
                _ => {}
            }
        }
        this
    }

    /// The events that increment a semaphore.
    pub fn posts(&self, s: SemId) -> &[EventId] {
        &self.posts[s.index()]
    }

    /// The events that decrement a semaphore.
    pub fn downs(&self, s: SemId) -> &[EventId] {
        &self.downs[s.index()]
    }

    /// The arrivals at a barrier.
    pub fn arrivals(&self, b: BarrierId) -> &[EventId] {
        &self.arrivals[b.index()]
    }

    /// The arrival that a `leave` belongs to.
    pub fn arrival_of(&self, leave: EventId) -> Option<EventId> {
        self.arrival_of.get(&leave).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ids, trace};

    #[test]
    fn waits_know_how_they_end() {
        let trace = trace(
            "T1|acq(l)
             T1|wait(c,l)
             T2|acq(l)
             T2|wait(c,l)
             T3|acq(l)
             T3|wait(d,l)
             T4|notify(c)
             T1|woken(c,l)
             T1|rel(l)
             T2|timedout(c,l)
             T4|notifyall(c)",
        );
        let waits = Waits::new(&trace);
        let cond = |name| trace.find_condition(name).expect("a condition");
        assert_eq!(waits.of_cond(cond("c")), [WaitId(0), WaitId(1)]);
        assert_eq!(waits.of_cond(cond("d")), [WaitId(2)]);
        let plain = |w| {
            let wait = waits.get(WaitId(w));
            (wait.enter.0, wait.exit.map(|e| e.0), wait.timed_out)
        };
        assert_eq!(plain(0), (1, Some(7), false));
        assert_eq!(plain(1), (3, Some(9), true));
        assert_eq!(plain(2), (5, None, false));
        assert_eq!(waits.at(EventId(1)), Some(WaitId(0)));
        assert_eq!(waits.at(EventId(7)), Some(WaitId(0)));
        assert_eq!(waits.at(EventId(6)), None);
        assert_eq!(waits.notifies(cond("c")), ids([6]));
        assert_eq!(waits.notify_alls(cond("c")), ids([10]));
        assert!(waits.notifies(cond("d")).is_empty());
    }

    #[test]
    fn counters_know_posts_downs_and_arrivals() {
        let trace = trace(
            "#! sem s=1
             #! barrier b=2
             T1|post(s)
             T2|down(s)
             T1|arrive(b)
             T2|arrive(b)
             T1|leave(b)
             T2|down(s)
             T1|arrive(b)
             T2|leave(b)
             T2|arrive(b)
             T1|leave(b)",
        );
        let counters = Counters::new(&trace);
        let sem = trace.find_semaphore("s").expect("a semaphore");
        let barrier = trace.find_barrier("b").expect("a barrier");
        assert_eq!(counters.posts(sem), ids([0]));
        assert_eq!(counters.downs(sem), ids([1, 5]));
        assert_eq!(counters.arrivals(barrier), ids([2, 3, 6, 8]));
        assert_eq!(counters.arrival_of(EventId(4)), Some(EventId(2)));
        assert_eq!(counters.arrival_of(EventId(7)), Some(EventId(3)));
        assert_eq!(counters.arrival_of(EventId(9)), Some(EventId(6)));
        assert_eq!(counters.arrival_of(EventId(8)), None);
    }
}
