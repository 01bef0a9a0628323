//! A state in which no thread can ever go on (semantics section 3, hang), as a goal.
//!
//! Each thread stops at one of its stops ([`Stops`]), or runs to its end, or is never started;
//! which one the solver chooses. A thread at a stop has a reason to wait there:
//!
//! | next event | reason |
//! |---|---|
//! | acquire | another thread has entered a section of the lock and not left it |
//! | join | the last event of the thread has not run |
//! | woken | the lock is held, or the waiter *stays*: no notification picks it |
//! | down | the semaphore is *empty* |
//! | leave | the generation is *open* |
//!
//! The conditions of locks and joins are written down at once. The other three are counts, or
//! depend on the choice of waiters; their rules are learnt as proposals break them:
//! - *empty*: not if these posts have run and no other down than these has;
//! - *open*: not if these arrivals have run and none but the earlier ones came before its own;
//! - *stays*: every notify picks a waiter if there is one, and never one that stays.
//!
//! As long as that is possible, all notifications are assumed to come before a wait that stays:
//! then no choice of waiters needs to be written down.
//!
//! Every read is kept, also the last one of a thread: no thread is cut.
//!
//! One of the three is the root of the query, and no smaller event is: a state belongs to its first
//! root.

use foretell_model::{SectionId, TraceModel};
use foretell_order::Lit;
use foretell_trace::{BarrierId, CondId, EventId, EventKind, LockId, SemId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::encode::Encoding;
use super::simulate::notifications_explain;
use super::too_large::TooLarge;
use crate::query::Query;
use crate::stuck::{Stops, has_started, is_root};

/// Stops of one query.
const MOST_STOPS: usize = 50_000;

/// Clauses about notifications that come before waits.
const MOST_NOTIFICATIONS: usize = 200_000;

/// The goal of a query for a stuck state.
pub(crate) struct StuckState {
    switch: Lit,
    root: EventId,
    /// By section with a stop inside: a thread is stuck in it.
    inside: FxHashMap<SectionId, Lit>,
    empty: FxHashMap<SemId, Lit>,
    /// By `leave`.
    open: FxHashMap<EventId, Lit>,
    /// By `woken`.
    stays: FxHashMap<EventId, Lit>,
    /// If this does not hold, no notify comes after a wait that stays began.
    late: Lit,
    /// Whether `late` is assumed not to hold.
    none_late: bool,
    /// Clauses about notifications so far.
    notifications: usize,
    /// Conditions whose rules are written down.
    written: FxHashSet<CondId>,
}

impl StuckState {
    /// Writes the goal down; `None` if it cannot be reached. `frontier` is what has run at least.
    pub(crate) fn new(
        encoding: &mut Encoding<'_>,
        stops: &Stops,
        query: &Query,
        root: EventId,
        frontier: &[u32],
    ) -> Result<Option<Self>, TooLarge> {
        let mut goal = Self {
            switch: encoding.solver.new_var(),
            root,
            inside: FxHashMap::default(),
            empty: FxHashMap::default(),
            open: FxHashMap::default(),
            stays: FxHashMap::default(),
            late: encoding.solver.new_var(),
            none_late: true,
            notifications: 0,
            written: FxHashSet::default(),
        };
        let trace = encoding.trace_model.trace;
        let threads = || (0..frontier.len()).map(ThreadId::from_index);
        let own = encoding.trace_model.chains.position(root);
        let stops: Vec<Vec<u32>> = threads()
            .map(|t| match t == trace.thread(root) {
                true => vec![own],
                false => stops.from(t, frontier[t.index()]).to_vec(),
            })
            .collect();
        let count: usize = stops.iter().map(Vec::len).sum();
        if count > MOST_STOPS {
            return Err(TooLarge(format!("{count} events at which a thread may be stuck")));
        }
        for t in threads() {
            if !goal.thread(encoding, &stops, t) {
                return Ok(None);
            }
        }
        for known in &query.without {
            goal.exclude(encoding, known);
        }
        Ok(Some(goal))
    }

    /// The literal that implies the goal.
    pub(crate) fn switch(&self) -> Lit {
        self.switch
    }

    /// The literal to be assumed as long as that is possible.
    pub(crate) fn preferred(&self) -> Option<Lit> {
        self.none_late.then_some(!self.late)
    }

    /// After a search that failed: gives the preference up if that could have been the reason. Says
    /// whether it was.
    pub(crate) fn relax(&mut self, core: &[Lit]) -> bool {
        let to_blame = self.none_late && core.contains(&!self.late);
        self.none_late &= !to_blame;
        to_blame
    }

    fn add(&self, encoding: &mut Encoding<'_>, clause: &[Lit]) {
        let mut all = vec![!self.switch];
        all.extend(clause);
        encoding.solver.add_clause(&all);
    }

    /// Writes down where a thread stops and why; whether it can.
    fn thread(&mut self, encoding: &mut Encoding<'_>, stops: &[Vec<u32>], t: ThreadId) -> bool {
        let TraceModel { trace, chains, .. } = encoding.trace_model;
        let events = chains.events(t);
        let ended = trace.has_ended(t);
        let Some(&last) = events.last() else { return ended };
        // The thread goes on to its next stop after it has started, and after each stop.
        let mut from = started(encoding, t);
        for &position in &stops[t.index()] {
            foretell_limit::check();
            let stop = events[position as usize];
            let mut here = from;
            if let Some(before) = chains.previous(trace, stop) {
                let arrived = encoding.ran(before);
                self.must_follow(encoding, from, arrived);
                self.must_be_kept(encoding, before);
                here = Some(arrived);
            }
            let ran = encoding.ran(stop);
            let mut clause: Vec<Lit> = here.map(|lit| !lit).into_iter().collect();
            clause.push(ran);
            if stop >= self.root || !is_root(trace.op(stop)) || mutated!(AnyRootIsFirst) {
                self.push_reasons(encoding, stops, stop, &mut clause);
            }
            self.add(encoding, &clause);
            from = Some(ran);
        }
        let ran = encoding.ran(last);
        self.must_follow(encoding, from, ran);
        self.must_be_kept(encoding, last);
        if !ended {
            if let Some(started) = started(encoding, t) {
                self.add(encoding, &[started]);
            }
            self.add(encoding, &[!ran]);
        }
        true
    }

    fn must_follow(&self, encoding: &mut Encoding<'_>, from: Option<Lit>, to: Lit) {
        match from {
            Some(from) => self.add(encoding, &[!from, to]),
            None => self.add(encoding, &[to]),
        }
    }

    /// If the event has run, it is intact.
    fn must_be_kept(&self, encoding: &mut Encoding<'_>, e: EventId) {
        if encoding.trace_model.trace.op(e).observes() && !mutated!(StuckThreadsMayBeCut) {
            let (ran, kept) = (encoding.ran(e), encoding.kept(e));
            self.add(encoding, &[!ran, kept]);
        }
    }

    /// Adds the reasons for which an event may wait for ever.
    fn push_reasons(
        &mut self,
        encoding: &mut Encoding<'_>,
        stops: &[Vec<u32>],
        e: EventId,
        clause: &mut Vec<Lit>,
    ) {
        let TraceModel { trace, chains, .. } = encoding.trace_model;
        match trace.event(e).kind {
            EventKind::Acquire { lock } => {
                self.push_held(encoding, stops, (e, lock, false), clause);
            }
            EventKind::AcquireShared { lock } => {
                self.push_held(encoding, stops, (e, lock, true), clause);
            }
            EventKind::Join { thread } => {
                let last = chains.events(thread).last().copied().or(chains.fork(thread));
                let last = last.filter(|_| !mutated!(JoinsNeverWait));
                clause.extend(last.map(|last| !encoding.ran(last)));
            }
            EventKind::Down { sem } => {
                let new = || encoding.solver.new_var();
                clause.push(*self.empty.entry(sem).or_insert_with(new));
            }
            EventKind::Leave { .. } => {
                let new = || encoding.solver.new_var();
                clause.push(*self.open.entry(e).or_insert_with(new));
            }
            EventKind::Woken { lock, .. } => {
                self.push_held(encoding, stops, (e, lock, false), clause);
                clause.push(self.staying(encoding, e));
            }
            _ => {}
        }
    }

    /// Adds that another thread is stuck with the lock.
    fn push_held(
        &mut self,
        encoding: &mut Encoding<'_>,
        stops: &[Vec<u32>],
        (e, lock, reader): (EventId, LockId, bool),
        clause: &mut Vec<Lit>,
    ) {
        let trace_model = encoding.trace_model;
        let own = trace_model.trace.thread(e);
        let lists = trace_model.locks.of_lock_by_thread(lock).iter();
        for (_, sections) in lists.filter(|(t, _)| *t != own) {
            for &s in sections {
                foretell_limit::check();
                let section = trace_model.locks.get(s);
                let excludes = !(section.shared && reader);
                if excludes
                    && may_be_stuck_in(trace_model, stops, s)
                    && !mutated!(StuckThreadsHoldNothing)
                {
                    clause.push(self.stuck_in(encoding, s));
                }
            }
        }
    }

    /// The literal "a thread is stuck in this section".
    fn stuck_in(&mut self, encoding: &mut Encoding<'_>, s: SectionId) -> Lit {
        if let Some(&lit) = self.inside.get(&s) {
            return lit;
        }
        let lit = encoding.solver.new_var();
        self.inside.insert(s, lit);
        let section = *encoding.trace_model.locks.get(s);
        let entered = encoding.ran(section.enter);
        encoding.solver.add_clause(&[!lit, entered]);
        if let Some(exit) = section.exit {
            let left = encoding.ran(exit);
            encoding.solver.add_clause(&[!lit, !left]);
        }
        lit
    }

    /// The literal "no notification picks the waiter".
    fn staying(&mut self, encoding: &mut Encoding<'_>, woken: EventId) -> Lit {
        if let Some(&lit) = self.stays.get(&woken) {
            return lit;
        }
        let lit = encoding.solver.new_var();
        self.stays.insert(woken, lit);
        let waits = &encoding.trace_model.waits;
        let Some(wait) = waits.at(woken).map(|w| *waits.get(w)) else { return lit };
        for &n in waits.notify_alls(wait.cond) {
            foretell_limit::check();
            let (before, ran) = (encoding.less(n, wait.enter), encoding.ran(n));
            encoding.solver.add_clause(&[!lit, before, !ran]);
        }
        let notifies = waits.notifies(wait.cond);
        self.notifications += notifies.len();
        if self.notifications > MOST_NOTIFICATIONS {
            self.none_late = false;
            return lit;
        }
        for &n in notifies {
            foretell_limit::check();
            let (before, ran) = (encoding.less(n, wait.enter), encoding.ran(n));
            encoding.solver.add_clause(&[!lit, before, !ran, self.late]);
        }
        lit
    }

    /// The next events of the state are not exactly these.
    fn exclude(&self, encoding: &mut Encoding<'_>, known: &[EventId]) {
        let TraceModel { trace, chains, .. } = encoding.trace_model;
        let mut clause = Vec::new();
        for t in (0..chains.thread_count()).map(ThreadId::from_index) {
            let started = started(encoding, t);
            match known.iter().find(|&&e| trace.thread(e) == t) {
                Some(&e) => {
                    clause.push(encoding.ran(e));
                    let arrived = match chains.previous(trace, e) {
                        Some(before) => Some(encoding.ran(before)),
                        None => started,
                    };
                    clause.extend(arrived.map(|lit| !lit));
                }
                None => {
                    let Some(&last) = chains.events(t).last() else { continue };
                    let (stopped, ran) = (encoding.solver.new_var(), encoding.ran(last));
                    encoding.solver.add_clause(&[!stopped, !ran]);
                    if let Some(started) = started {
                        encoding.solver.add_clause(&[!stopped, started]);
                    }
                    clause.push(stopped);
                }
            }
        }
        self.add(encoding, &clause);
    }

    /// Whether a feasible schedule ends in a stuck state; if not, the reason is learnt.
    pub(crate) fn reached(
        &mut self,
        encoding: &mut Encoding<'_>,
        schedule: &[EventId],
    ) -> Result<bool, TooLarge> {
        let state = FinalState::new(encoding.trace_model, schedule);
        let errors = state.errors();
        for error in &errors {
            match error {
                Unblocked::Down(sem) => self.not_empty(encoding, &state, *sem),
                Unblocked::Leave(leave, barrier) => {
                    self.not_open(encoding, &state, *leave, *barrier);
                }
                Unblocked::Woken(cond) => self.all_pick(encoding, *cond)?,
                Unblocked::Other(e) => {
                    return Err(TooLarge(format!("event {} is not blocked", e.0)));
                }
            }
        }
        Ok(errors.is_empty())
    }

    /// The semaphore is not empty when the posts that have run here have run, as many as it takes,
    /// and no down that has not.
    fn not_empty(&self, encoding: &mut Encoding<'_>, state: &FinalState<'_>, sem: SemId) {
        let Some(&empty) = self.empty.get(&sem) else { return };
        let TraceModel { trace, counters, .. } = encoding.trace_model;
        let mut clause = vec![!empty];
        let downs = counters.downs(sem);
        let taken = downs.iter().filter(|&&d| state.has_run(d)).count() as u64;
        let needed = (taken + 1).saturating_sub(trace.initial_count(sem));
        let posts = counters.posts(sem).iter().copied().filter(|&p| state.has_run(p));
        for post in last_of_each_thread(encoding.trace_model, posts.take(needed as usize)) {
            clause.push(!encoding.ran(post));
        }
        let others = downs.iter().copied().filter(|&d| !state.has_run(d));
        let others = others.filter(|_| !mutated!(OtherDownsTakeNothing));
        for down in first_of_each_thread(encoding.trace_model, others) {
            clause.push(encoding.ran(down));
        }
        encoding.solver.add_clause(&clause);
    }

    /// The generation is full when as many arrivals as it takes have run, and none came before the
    /// thread's own but those that did here.
    fn not_open(
        &self,
        encoding: &mut Encoding<'_>,
        state: &FinalState<'_>,
        leave: EventId,
        barrier: BarrierId,
    ) {
        let trace_model = encoding.trace_model;
        let (Some(&open), Some(own)) =
            (self.open.get(&leave), trace_model.counters.arrival_of(leave))
        else {
            return;
        };
        let arrived = state.arrivals(barrier);
        let Some(place) = arrived.iter().position(|&a| a == own) else { return };
        let parties = trace_model.trace.parties(barrier).unwrap_or(1).max(1) as usize;
        let needed = (place / parties + 1) * parties;
        let mut clause = vec![!open];
        for arrival in last_of_each_thread(trace_model, arrived[..needed].iter().copied()) {
            clause.push(!encoding.ran(arrival));
        }
        let earlier: FxHashSet<EventId> = arrived[..place].iter().copied().collect();
        let all = trace_model.counters.arrivals(barrier).iter().copied();
        let later = all.filter(|a| !earlier.contains(a) && *a != own);
        let later = later.filter(|_| !mutated!(OtherArrivalsFillNothing));
        for arrival in first_of_each_thread(trace_model, later) {
            clause.push(encoding.less(arrival, own));
        }
        encoding.solver.add_clause(&clause);
    }

    /// Every notify of a condition picks a waiter, if there is one, and none that stays.
    fn all_pick(&mut self, encoding: &mut Encoding<'_>, cond: CondId) -> Result<(), TooLarge> {
        if !self.written.insert(cond) {
            let name = encoding.trace_model.trace.condition_name(cond);
            return Err(TooLarge(format!("the waiters of condition {name}")));
        }
        let waits = &encoding.trace_model.waits;
        encoding.every_notify_picks(cond)?;
        for &w in waits.of_cond(cond) {
            let Some(stays) = waits.get(w).exit.and_then(|exit| self.stays.get(&exit)) else {
                continue;
            };
            encoding.never_picked(w, *stays);
        }
        Ok(())
    }
}

/// The literal "the thread has started"; `None` if it always has.
fn started(encoding: &mut Encoding<'_>, t: ThreadId) -> Option<Lit> {
    encoding.trace_model.chains.fork(t).map(|fork| encoding.ran(fork))
}

/// Whether a thread has a stop inside a section, or ends with it.
fn may_be_stuck_in(trace_model: &TraceModel<'_>, stops: &[Vec<u32>], s: SectionId) -> bool {
    let TraceModel { trace, chains, locks, .. } = trace_model;
    let section = locks.get(s);
    let enter = chains.position(section.enter);
    let list = &stops[section.thread.index()];
    let next = list.get(list.partition_point(|&p| p <= enter));
    match section.exit.map(|exit| chains.position(exit)) {
        Some(exit) => next.is_some_and(|&p| p <= exit),
        None => next.is_some() || trace.has_ended(section.thread),
    }
}

/// The last event of each thread, events of a thread in their order.
fn last_of_each_thread(
    trace_model: &TraceModel<'_>,
    events: impl Iterator<Item = EventId>,
) -> Vec<EventId> {
    let mut last: FxHashMap<ThreadId, EventId> = FxHashMap::default();
    for e in events {
        let entry = last.entry(trace_model.trace.thread(e)).or_insert(e);
        *entry = (*entry).max(e);
    }
    let mut all: Vec<EventId> = last.into_values().collect();
    all.sort_unstable();
    all
}

/// The first event of each thread.
fn first_of_each_thread(
    trace_model: &TraceModel<'_>,
    events: impl Iterator<Item = EventId>,
) -> Vec<EventId> {
    let mut first: FxHashMap<ThreadId, EventId> = FxHashMap::default();
    for e in events {
        let entry = first.entry(trace_model.trace.thread(e)).or_insert(e);
        *entry = (*entry).min(e);
    }
    let mut all: Vec<EventId> = first.into_values().collect();
    all.sort_unstable();
    all
}

/// Reason why a schedule does not end in a stuck state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unblocked {
    /// A next `down` of this semaphore can run.
    Down(SemId),
    /// This next `leave` can run.
    Leave(EventId, BarrierId),
    /// A waiter on this condition is picked, or every choice picks one, and its lock is free.
    Woken(CondId),
    /// This next event does not wait.
    Other(EventId),
}

/// State after a feasible schedule.
struct FinalState<'a> {
    trace_model: &'a TraceModel<'a>,
    schedule: &'a [EventId],
    counts: Vec<u32>,
}

impl<'a> FinalState<'a> {
    fn new(trace_model: &'a TraceModel<'a>, schedule: &'a [EventId]) -> Self {
        let mut counts = vec![0; trace_model.chains.thread_count()];
        for &e in schedule {
            foretell_limit::check();
            counts[trace_model.trace.thread(e).index()] += 1;
        }
        Self { trace_model, schedule, counts }
    }

    fn has_run(&self, e: EventId) -> bool {
        let TraceModel { trace, chains, .. } = self.trace_model;
        chains.position(e) < self.counts[trace.thread(e).index()]
    }

    /// The arrivals at a barrier that have run, in order.
    fn arrivals(&self, barrier: BarrierId) -> Vec<EventId> {
        let trace = self.trace_model.trace;
        let arrives = |e: &EventId| matches!(trace.event(*e).kind, EventKind::Arrive { barrier: b } if b == barrier);
        self.schedule.iter().copied().filter(arrives).collect()
    }

    /// Whether a thread other than `t` holds the lock.
    fn is_held(&self, lock: LockId, t: ThreadId, reader: bool) -> bool {
        let locks = &self.trace_model.locks;
        let lists = locks.of_lock_by_thread(lock).iter().filter(|(u, _)| *u != t);
        let mut sections = lists.flat_map(|(_, list)| list).map(|&s| locks.get(s));
        sections.any(|s| {
            let is_open = self.has_run(s.enter) && s.exit.is_none_or(|exit| !self.has_run(exit));
            is_open && !(s.shared && reader)
        })
    }

    /// Every reason why this is no stuck state.
    fn errors(&self) -> Vec<Unblocked> {
        let TraceModel { trace, chains, counters, .. } = self.trace_model;
        let mut errors = Vec::new();
        let mut staying: Vec<EventId> = Vec::new();
        for t in (0..self.counts.len()).map(ThreadId::from_index) {
            foretell_limit::check();
            let next = chains.events(t).get(self.counts[t.index()] as usize).copied();
            let next = next.filter(|_| has_started(self.trace_model, &self.counts, t));
            let Some(e) = next else { continue };
            match trace.event(e).kind {
                EventKind::Acquire { lock } if self.is_held(lock, t, false) => {}
                EventKind::AcquireShared { lock } if self.is_held(lock, t, true) => {}
                EventKind::Join { thread } => {
                    let last = chains.events(thread).last().copied().or(chains.fork(thread));
                    if last.is_none_or(|last| self.has_run(last)) {
                        errors.push(Unblocked::Other(e));
                    }
                }
                EventKind::Down { sem } => {
                    let ran =
                        |list: &[EventId]| list.iter().filter(|&&e| self.has_run(e)).count() as u64;
                    let (posts, downs) = (ran(counters.posts(sem)), ran(counters.downs(sem)));
                    if trace.initial_count(sem).saturating_add(posts) > downs {
                        errors.push(Unblocked::Down(sem));
                    }
                }
                EventKind::Leave { barrier } => {
                    let arrived = self.arrivals(barrier);
                    let parties = trace.parties(barrier).unwrap_or(1).max(1) as usize;
                    let own = counters.arrival_of(e);
                    let place = arrived.iter().position(|&a| Some(a) == own).unwrap_or(0);
                    if arrived.len() >= (place / parties + 1) * parties {
                        errors.push(Unblocked::Leave(e, barrier));
                    }
                }
                EventKind::Woken { lock, .. } => {
                    if !self.is_held(lock, t, false) {
                        staying.push(e);
                    }
                }
                _ => errors.push(Unblocked::Other(e)),
            }
        }
        errors.extend(self.picked(&staying));
        errors
    }

    /// The conditions of `staying`, `woken` events, of which every choice picks one.
    fn picked(&self, staying: &[EventId]) -> Vec<Unblocked> {
        let TraceModel { trace, waits, .. } = self.trace_model;
        let waiting = staying.iter().filter_map(|&e| waits.at(e));
        let mut conditions: Vec<CondId> = waiting.map(|w| waits.get(w).cond).collect();
        conditions.sort_unstable();
        conditions.dedup();
        let of = |e: EventId, cond: CondId| match trace.event(e).kind {
            EventKind::Wait { cond: c, .. }
            | EventKind::Woken { cond: c, .. }
            | EventKind::TimedOut { cond: c, .. }
            | EventKind::Notify { cond: c }
            | EventKind::NotifyAll { cond: c } => c == cond,
            _ => false,
        };
        conditions.retain(|&cond| {
            let events: Vec<EventId> =
                self.schedule.iter().copied().filter(|&e| of(e, cond)).collect();
            !notifications_explain(self.trace_model, &events, &self.counts, staying)
        });
        conditions.into_iter().map(Unblocked::Woken).collect()
    }
}

/// Whether a feasible schedule ends in a state in which every next event waits.
pub(crate) fn is_stuck(trace_model: &TraceModel<'_>, schedule: &[EventId]) -> bool {
    FinalState::new(trace_model, schedule).errors().is_empty()
}
