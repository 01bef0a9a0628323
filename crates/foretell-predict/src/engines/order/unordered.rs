//! Two accesses that happens-before leaves unordered (semantics section 3b), as a goal.
//!
//! Happens-before depends on the interleaving: on which write each read sees, and on the order of
//! releases and acquires. So it is not written down in advance. A feasible proposal that holds both
//! accesses is asked for a path of happens-before from the earlier one to the later one
//! ([`path`]). Without a path the proposal is a witness. With one, the order of the events that
//! the path relies on becomes a clause: in a witness one of these pairs stands the other way round.
//! The pairs explain the path completely, so the clause holds for every interleaving that shows the
//! goal, and only finitely many can be learnt.
//!
//! | step of a path | explained by |
//! |---|---|
//! | program order, fork, join | nothing: it is there in every interleaving |
//! | release to acquire, post to down, notify to woken | their order |
//! | arrive to leave | the order of all arrivals with the two |
//! | acquire to failed try | the try inside the section |
//! | store to load, also through updates | the store last before the load: the order of all other stores with the two |
//!
//! That the later access is a plain read which sees the earlier one is no path: it is the race.
//!
//! Order-only locks lead to no step.
//!
//! Where a read can see one write only, as long as its thread goes on, the next event of its thread
//! explains that.

use foretell_model::TraceModel;
use foretell_order::Lit;
use foretell_trace::{BarrierId, EventId, EventKind, LockId, Model, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::encode::Encoding;
use super::too_large::TooLarge;

/// Pairs that one clause may have.
const MOST_PAIRS: usize = 20_000;

/// Reason why one event happens before another.
#[derive(Clone, Copy, Debug)]
enum Reason {
    /// Holds in every interleaving that has both.
    Always,
    /// The first event runs before the second.
    Order(EventId, EventId),
    /// This read sees this write.
    Sees(EventId, EventId),
    /// The arrival is of the generation that the second arrival, whose `leave` this is, is in.
    Generation { arrive: EventId, own: EventId, leave: EventId },
    /// The failed try runs inside the section that the first event enters.
    Inside { enter: EventId, tried: EventId, exit: Option<EventId> },
}

/// A step of a path: where it comes from (`None`: the first access) and why.
type Step = (Option<u32>, Reason);

/// Whether, and by which step, the first access happens before something.
type Mark = Option<u32>;

#[derive(Clone, Copy, Default)]
struct LastWrite {
    write: Option<EventId>,
    atomic: bool,
    /// Plain write: the write itself. Atomic write: a head of its release sequences.
    mark: Mark,
}

#[derive(Clone, Copy, Default)]
struct ThreadMarks {
    after: Mark,
    release_fence: Mark,
    seen: Mark,
    waiting: u32,
}

/// One pass over a schedule, which follows what comes after `source`.
struct Pass<'a> {
    trace_model: &'a TraceModel<'a>,
    source: EventId,
    /// The event whose path is wanted.
    goal: EventId,
    steps: Vec<Step>,
    threads: Vec<ThreadMarks>,
    /// By lock: the last marked release of the writer side and of the reader side.
    released: FxHashMap<LockId, [Option<(EventId, u32)>; 2]>,
    holds: FxHashMap<(LockId, ThreadId, bool), (EventId, u32, Mark)>,
    posted: FxHashMap<u32, (EventId, u32)>,
    notified: FxHashMap<u32, (EventId, u32)>,
    arrivals: FxHashMap<BarrierId, u64>,
    own_arrival: FxHashMap<(ThreadId, BarrierId), (EventId, u64)>,
    arrived: FxHashMap<(BarrierId, u64), (EventId, u32)>,
    writes: FxHashMap<VarId, LastWrite>,
    updated: FxHashMap<VarId, (EventId, u32)>,
}

/// The reasons along a path of happens-before from `first` to `last`, a later event of the
/// schedule; `None` if there is no path.
fn path(
    trace_model: &TraceModel<'_>,
    schedule: &[EventId],
    first: EventId,
    last: EventId,
) -> Option<Vec<Reason>> {
    let mut pass = Pass {
        trace_model,
        source: first,
        goal: last,
        steps: Vec::new(),
        threads: vec![ThreadMarks::default(); trace_model.trace.thread_count()],
        released: FxHashMap::default(),
        holds: FxHashMap::default(),
        posted: FxHashMap::default(),
        notified: FxHashMap::default(),
        arrivals: FxHashMap::default(),
        own_arrival: FxHashMap::default(),
        arrived: FxHashMap::default(),
        writes: FxHashMap::default(),
        updated: FxHashMap::default(),
    };
    let mut started = false;
    // What comes before the source matters only for who holds a lock and how many have arrived.
    let trace = trace_model.trace;
    for &e in schedule {
        foretell_limit::check();
        started |= e == first;
        if !started && trace.op(e).is_access() {
            continue;
        }
        let mark = pass.step(e);
        if e == last {
            return mark.map(|step| pass.reasons(step));
        }
    }
    None
}

/// Whether happens-before of a schedule orders two of its events, the earlier one first.
pub(crate) fn is_ordered(
    trace_model: &TraceModel<'_>,
    schedule: &[EventId],
    a: EventId,
    b: EventId,
) -> bool {
    match earlier_first(schedule, a, b) {
        Some((first, last)) => path(trace_model, schedule, first, last).is_some(),
        None => true,
    }
}

/// The two events in the order of the schedule; `None` if it lacks one.
pub(crate) fn earlier_first(
    schedule: &[EventId],
    a: EventId,
    b: EventId,
) -> Option<(EventId, EventId)> {
    let mut both = schedule.iter().copied().filter(|&e| e == a || e == b);
    Some((both.next()?, both.next()?))
}

impl Pass<'_> {
    /// Runs an event; returns the step by which the source happens before it.
    fn step(&mut self, e: EventId) -> Mark {
        let t = self.trace_model.trace.thread(e);
        let incoming = self.incoming(t, e);
        let mark = self.threads[t.index()].after.or(incoming);
        self.threads[t.index()].after = mark;
        if e == self.source {
            self.steps.push((None, Reason::Always));
            self.threads[t.index()].after = Some(self.steps.len() as u32 - 1);
        }
        self.outgoing(t, e);
        mark
    }

    fn add(&mut self, from: u32, reason: Reason) -> Mark {
        self.steps.push((Some(from), reason));
        Some(self.steps.len() as u32 - 1)
    }

    fn reasons(&self, step: u32) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let mut next = Some(step);
        while let Some((from, reason)) = next.map(|step| self.steps[step as usize]) {
            reasons.push(reason);
            next = from;
        }
        reasons
    }

    fn incoming(&mut self, t: ThreadId, e: EventId) -> Mark {
        let trace = self.trace_model.trace;
        let after = |found: Option<(EventId, u32)>| found;
        match trace.event(e).kind {
            EventKind::Join { thread } => {
                let from = self.threads[thread.index()].after?;
                self.add(from, Reason::Always)
            }
            EventKind::Acquire { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TimedOut { lock, .. } => self.acquired(e, lock, false),
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.acquired(e, lock, true)
            }
            EventKind::Woken { cond, lock } => match self.acquired(e, lock, false) {
                Some(mark) => Some(mark),
                None => {
                    let notified = self.notified.get(&cond.0).copied();
                    let (notify, from) =
                        after(notified).filter(|_| !mutated!(NotifiesOrderNothing))?;
                    self.add(from, Reason::Order(notify, e))
                }
            },
            EventKind::Down { sem } => {
                let posted = self.posted.get(&sem.0).copied();
                let (post, from) = after(posted).filter(|_| !mutated!(PostsOrderNothing))?;
                self.add(from, Reason::Order(post, e))
            }
            EventKind::Leave { barrier } => {
                let (own, generation) = self.own_arrival.get(&(t, barrier)).copied()?;
                let arrived = self.arrived.get(&(barrier, generation)).copied();
                let (arrive, from) = after(arrived).filter(|_| !mutated!(ArrivalsOrderNothing))?;
                self.add(from, Reason::Generation { arrive, own, leave: e })
            }
            EventKind::TryFailed { lock } => self.owned(t, e, lock, true),
            EventKind::TryFailedShared { lock } => self.owned(t, e, lock, false),
            EventKind::Fence if trace.order(e).acquires() && !mutated!(FencesDoNotAcquire) => {
                self.threads[t.index()].seen
            }
            EventKind::Read { var, atomic: false, .. } => {
                let last = self.writes.get(&var).copied()?;
                let (write, from) = (last.write?, last.mark.filter(|_| !last.atomic)?);
                if e == self.goal && write == self.source && !mutated!(SeeingTheRaceOrdersIt) {
                    // That it sees the write is the race.
                    return None;
                }
                self.add(from, Reason::Sees(e, write))
            }
            EventKind::Read { var, atomic: true, .. } => self.load(t, e, var),
            EventKind::Update { var, .. } => match self.load(t, e, var) {
                None if trace.is_opaque(var) => {
                    let (update, from) = after(self.updated.get(&var).copied())?;
                    self.add(from, Reason::Order(update, e))
                }
                mark => mark,
            },
            _ => None,
        }
    }

    fn load(&mut self, t: ThreadId, e: EventId, x: VarId) -> Mark {
        let last = self.writes.get(&x).copied()?;
        let (write, from) = (last.write?, last.mark.filter(|_| last.atomic)?);
        let mark = self.add(from, Reason::Sees(e, write));
        let seen = &mut self.threads[t.index()].seen;
        *seen = seen.or(mark);
        let acquires = self.trace_model.trace.order(e).acquires();
        mark.filter(|_| acquires || mutated!(RelaxedLoadsAcquire))
    }

    fn acquired(&mut self, e: EventId, lock: LockId, shared: bool) -> Mark {
        if self.trace_model.trace.is_order_only(lock) && !mutated!(OrderOnlyLocksSynchronize) {
            return None;
        }
        let [writer, reader] = self.released.get(&lock).copied()?;
        let reader = reader.filter(|_| !shared || mutated!(ReadersOrderReaders));
        let (release, from) = writer.or(reader).filter(|_| !mutated!(ReleasesOrderNothing))?;
        self.add(from, Reason::Order(release, e))
    }

    fn owned(&mut self, t: ThreadId, e: EventId, lock: LockId, readers_count: bool) -> Mark {
        if self.trace_model.trace.is_order_only(lock) {
            return None;
        }
        let mut holds: Vec<(EventId, ThreadId, bool, u32)> = self
            .holds
            .iter()
            .filter(|((l, owner, shared), _)| {
                *l == lock && *owner != t && (!shared || readers_count)
            })
            .filter_map(|(&(_, owner, shared), &(enter, _, mark))| {
                Some((enter, owner, shared, mark?))
            })
            .collect();
        holds.sort_unstable();
        let &(enter, owner, shared, from) = holds.first()?;
        let exit = self.end_of_hold(owner, enter, lock, shared);
        self.add(from, Reason::Inside { enter, tried: e, exit })
    }

    /// The event that gives back the hold of a lock which `enter` started.
    fn end_of_hold(
        &self,
        owner: ThreadId,
        enter: EventId,
        lock: LockId,
        shared: bool,
    ) -> Option<EventId> {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let mut depth = 0u32;
        let events = &chains.events(owner)[chains.position(enter) as usize..];
        for &f in events {
            foretell_limit::check();
            match trace.event(f).kind {
                EventKind::Acquire { lock: l } | EventKind::TryAcquire { lock: l }
                    if l == lock && !shared =>
                {
                    depth += 1;
                }
                EventKind::Woken { lock: l, .. } | EventKind::TimedOut { lock: l, .. }
                    if l == lock && !shared =>
                {
                    depth += self.former_depth(owner, f, lock);
                }
                EventKind::AcquireShared { lock: l } | EventKind::TryAcquireShared { lock: l }
                    if l == lock && shared =>
                {
                    depth += 1;
                }
                EventKind::Wait { lock: l, .. } if l == lock && !shared => return Some(f),
                EventKind::Release { lock: l } if l == lock && !shared => depth -= 1,
                EventKind::ReleaseShared { lock: l } if l == lock && shared => depth -= 1,
                _ => continue,
            }
            if depth == 0 {
                return Some(f);
            }
        }
        None
    }

    /// The depth with which a waiter held the lock before its wait.
    fn former_depth(&self, thread: ThreadId, left: EventId, lock: LockId) -> u32 {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let mut depth = 0u32;
        let mut former = 1;
        for &f in &chains.events(thread)[..chains.position(left) as usize] {
            foretell_limit::check();
            match trace.event(f).kind {
                EventKind::Acquire { lock: l } | EventKind::TryAcquire { lock: l } if l == lock => {
                    depth += 1;
                }
                EventKind::Release { lock: l } if l == lock => depth = depth.saturating_sub(1),
                EventKind::Wait { lock: l, .. } if l == lock => {
                    former = depth.max(1);
                    depth = 0;
                }
                EventKind::Woken { lock: l, .. } | EventKind::TimedOut { lock: l, .. }
                    if l == lock =>
                {
                    depth = former;
                }
                _ => {}
            }
        }
        former
    }

    fn outgoing(&mut self, t: ThreadId, e: EventId) {
        let trace = self.trace_model.trace;
        let after = self.threads[t.index()].after;
        match trace.event(e).kind {
            EventKind::Fork { thread } => {
                let child = &mut self.threads[thread.index()].after;
                *child = child.or(after);
            }
            EventKind::Acquire { lock } | EventKind::TryAcquire { lock } => {
                self.hold(lock, t, e, false, 1);
            }
            EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
                self.hold(lock, t, e, true, 1);
            }
            EventKind::Woken { lock, .. } | EventKind::TimedOut { lock, .. } => {
                let depth = self.threads[t.index()].waiting.max(1);
                self.hold(lock, t, e, false, depth);
            }
            EventKind::Release { lock } => {
                self.give_back(lock, t, false);
                self.release(lock, e, after, 0);
            }
            EventKind::ReleaseShared { lock } => {
                self.give_back(lock, t, true);
                self.release(lock, e, after, 1);
            }
            EventKind::Wait { lock, .. } => {
                let hold = self.holds.remove(&(lock, t, false));
                self.threads[t.index()].waiting = hold.map_or(1, |(_, depth, _)| depth);
                self.release(lock, e, after, 0);
            }
            EventKind::Post { sem } => {
                if let Some(step) = after {
                    self.posted.entry(sem.0).or_insert((e, step));
                }
            }
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                if let Some(step) = after {
                    self.notified.entry(cond.0).or_insert((e, step));
                }
            }
            EventKind::Arrive { barrier } => {
                let parties = u64::from(trace.parties(barrier).unwrap_or(1)).max(1);
                let arrivals = self.arrivals.entry(barrier).or_default();
                let generation = *arrivals / parties;
                *arrivals += 1;
                self.own_arrival.insert((t, barrier), (e, generation));
                if let Some(step) = after {
                    self.arrived.entry((barrier, generation)).or_insert((e, step));
                }
            }
            EventKind::Fence if trace.order(e).releases() && !mutated!(FencesDoNotRelease) => {
                self.threads[t.index()].release_fence = after;
            }
            EventKind::Write { var, atomic: true, .. } => {
                let mark = self.head(t, e);
                self.writes.insert(var, LastWrite { write: Some(e), atomic: true, mark });
            }
            EventKind::Update { var, .. } => {
                let last = self.writes.get(&var).copied().unwrap_or_default();
                let mark = match (self.head(t, e), last.write) {
                    (Some(mark), _) => Some(mark),
                    (None, Some(write)) if last.atomic && !mutated!(UpdatesEndSequences) => {
                        last.mark.and_then(|from| self.add(from, Reason::Sees(e, write)))
                    }
                    _ => None,
                };
                self.writes.insert(var, LastWrite { write: Some(e), atomic: true, mark });
                if let Some(step) = after.filter(|_| trace.is_opaque(var)) {
                    self.updated.insert(var, (e, step));
                }
            }
            EventKind::Write { .. } | EventKind::Free { .. } => {
                for x in trace.accessed_variables(e) {
                    let last = LastWrite { write: Some(e), atomic: false, mark: after };
                    self.writes.insert(x, last);
                }
            }
            _ => {}
        }
    }

    /// The mark of an atomic store as a head of its release sequence.
    fn head(&self, t: ThreadId, e: EventId) -> Mark {
        let thread = &self.threads[t.index()];
        let releases = self.trace_model.trace.order(e).releases();
        let own = thread.after.filter(|_| releases || mutated!(RelaxedStoresRelease));
        own.or(thread.release_fence)
    }

    fn release(&mut self, lock: LockId, e: EventId, after: Mark, side: usize) {
        if let Some(step) = after {
            // The first one explains most acquires.
            let slot = &mut self.released.entry(lock).or_default()[side];
            *slot = slot.or(Some((e, step)));
        }
    }

    fn hold(&mut self, lock: LockId, t: ThreadId, e: EventId, shared: bool, depth: u32) {
        let after = self.threads[t.index()].after;
        self.holds.entry((lock, t, shared)).or_insert((e, 0, after)).1 += depth;
    }

    fn give_back(&mut self, lock: LockId, t: ThreadId, shared: bool) {
        if let Some((_, depth, _)) = self.holds.get_mut(&(lock, t, shared)) {
            *depth -= 1;
            if *depth == 0 {
                self.holds.remove(&(lock, t, shared));
            }
        }
    }
}

/// The goal that two accesses, both of which have run, are not ordered.
pub(crate) struct Unordered {
    a: EventId,
    b: EventId,
    switch: Lit,
}

impl Unordered {
    pub(super) fn new(encoding: &mut Encoding<'_>, a: EventId, b: EventId) -> Self {
        Self { a, b, switch: encoding.solver.new_var() }
    }

    /// The literal to assume.
    pub(super) fn switch(&self) -> Lit {
        self.switch
    }

    /// Whether a feasible schedule leaves the two accesses unordered; if not, the path between them
    /// is learnt.
    pub(super) fn reached(
        &self,
        encoding: &mut Encoding<'_>,
        schedule: &[EventId],
    ) -> Result<bool, TooLarge> {
        let trace_model = encoding.trace_model;
        let Some((first, last)) = earlier_first(schedule, self.a, self.b) else {
            return Ok(false);
        };
        let Some(reasons) = path(trace_model, schedule, first, last) else { return Ok(true) };
        let places: FxHashMap<EventId, u32> =
            schedule.iter().enumerate().map(|(i, &e)| (e, i as u32)).collect();
        let mut why = Explanation { encoding, places, clause: vec![!self.switch] };
        // The path is there only if the two accesses stand in this order.
        why.order(first, last);
        for reason in reasons {
            foretell_limit::check();
            why.reason(reason)?;
        }
        let Explanation { encoding, clause, .. } = why;
        encoding.solver.add_clause(&clause);
        Ok(false)
    }
}

/// A clause under construction: the order that a path relies on, negated.
struct Explanation<'e, 's> {
    encoding: &'e mut Encoding<'s>,
    /// Places in the schedule.
    places: FxHashMap<EventId, u32>,
    clause: Vec<Lit>,
}

impl Explanation<'_, '_> {
    /// `x` ran before `y`.
    fn order(&mut self, x: EventId, y: EventId) {
        let before = self.encoding.less(x, y);
        self.clause.push(!before);
    }

    /// The two events stand as in the schedule; one that has not run comes after one that has.
    fn as_in_schedule(&mut self, x: EventId, y: EventId) {
        if x == y {
            return;
        }
        let place = |e: EventId| self.places.get(&e).copied().unwrap_or(u32::MAX);
        if place(x) < place(y) { self.order(x, y) } else { self.order(y, x) }
    }

    fn reason(&mut self, reason: Reason) -> Result<(), TooLarge> {
        let trace_model = self.encoding.trace_model;
        match reason {
            Reason::Always => {}
            Reason::Order(x, y) => self.order(x, y),
            Reason::Sees(read, write) => self.sees(read, write)?,
            Reason::Generation { arrive, own, leave } => {
                self.order(arrive, leave);
                let EventKind::Arrive { barrier } = trace_model.trace.event(arrive).kind else {
                    return Ok(());
                };
                for &other in trace_model.counters.arrivals(barrier) {
                    foretell_limit::check();
                    self.as_in_schedule(other, arrive);
                    self.as_in_schedule(other, own);
                }
            }
            Reason::Inside { enter, tried, exit } => {
                self.order(enter, tried);
                if let Some(exit) = exit {
                    self.order(tried, exit);
                }
            }
        }
        if self.clause.len() > MOST_PAIRS {
            let pairs = self.clause.len();
            return Err(TooLarge(format!("a path of happens-before relies on {pairs} orders")));
        }
        Ok(())
    }

    fn sees(&mut self, read: EventId, write: EventId) -> Result<(), TooLarge> {
        let TraceModel { trace, chains, reads_from, model, .. } = self.encoding.trace_model;
        if *model != Model::Symbolic
            && let Some(next) = chains.next(trace, read)
            && self.places.contains_key(&next)
            && self.encoding.writers(read, true) == [Some(write)]
        {
            let goes_on = self.encoding.ran(next);
            self.clause.push(!goes_on);
            return Ok(());
        }
        self.order(write, read);
        let variable = trace.variable(read);
        let writes = variable.map_or(&[][..], |x| reads_from.writes(x));
        if writes.len() > MOST_PAIRS {
            return Err(TooLarge(format!("a read may see {} writes", writes.len())));
        }
        for &other in writes {
            foretell_limit::check();
            if other == write || other == read {
                continue;
            }
            let place = |e: EventId| self.places.get(&e).copied().unwrap_or(u32::MAX);
            if place(other) < place(write) {
                self.order(other, write);
            } else {
                self.order(read, other);
            }
        }
        Ok(())
    }
}
