//! Making witnesses readable: what the pattern does not need is left out, and the rest is put in an
//! order with few context switches.
//!
//! *Trimming* keeps the events of the pattern and, going backwards, everything that a kept event
//! needs: what runs before it in its thread, the write that a read sees, the end of a section
//! before the next one of the same lock, the notification behind a wake-up, the post behind a down,
//! the arrivals behind a leave, forks and joined threads. The rest is dropped; no kept event can
//! tell.
//!
//! *Tidying* reorders events that do not depend on each other, so that a thread goes on as long as
//! it can. Two events of one object that could tell their order apart keep it.
//!
//! A program that talks to another process may not be able to follow what was made for reading.
//! For it there is the way back: the recorded order where events do not depend on each other
//! ([`as_recorded`]), and what was dropped ([`filled`]).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use foretell_model::{SectionId, TraceModel};
use foretell_trace::{EventId, EventKind, ObjectKind, Op, ThreadId, Trace};
use rustc_hash::FxHashMap;

/// A schedule that still shows the pattern, without the rest: `keep` are events of it that run,
/// `views` those that must see what they see in the schedule, `next` are events that are next after
/// it.
pub fn shorten(
    trace_model: &TraceModel<'_>,
    schedule: &[EventId],
    keep: &[EventId],
    views: &[EventId],
    next: &[EventId],
) -> Vec<EventId> {
    let mut facts = Facts::new(trace_model, schedule, views);
    let kept = facts.trim(trace_model, schedule, [keep, views, next]);
    tidy(trace_model, &kept)
}

/// The events that each event of a schedule relies on. Tables are indexed, with one more than the
/// index of what they hold and 0 for nothing: such a table costs only what is written to it.
struct Facts {
    /// The write that each read sees, until the first question.
    seen: Vec<u32>,
    /// Further needs of an event: a wake-up its notification, a down its post, a leave its
    /// arrivals, a failed try-lock the section it ran into.
    needs: FxHashMap<EventId, Vec<EventId>>,
}

impl Facts {
    fn new(trace_model: &TraceModel<'_>, schedule: &[EventId], views: &[EventId]) -> Self {
        let trace = trace_model.trace;
        let mut facts = Self { seen: vec![0; trace.len()], needs: FxHashMap::default() };
        let mut last_write = vec![0; trace.variable_count()];
        let mut held: FxHashMap<u32, Vec<SectionId>> = FxHashMap::default();
        let mut tokens: FxHashMap<u32, Tokens> = FxHashMap::default();
        let mut arrivals: FxHashMap<u32, Vec<EventId>> = FxHashMap::default();
        let mut conditions: FxHashMap<u32, Vec<EventId>> = FxHashMap::default();
        for &e in schedule {
            foretell_limit::check();
            if trace.op(e) == Op::Free {
                trace.accessed_variables(e).for_each(|x| last_write[x.index()] = e.0 + 1);
            }
            if let Some(x) = trace.variable(e) {
                if trace.op(e).reads() || views.contains(&e) {
                    facts.seen[e.index()] = last_write[x.index()];
                }
                if trace.op(e).writes() {
                    last_write[x.index()] = e.0 + 1;
                }
                continue;
            }
            let locks = &trace_model.locks;
            match trace.event(e).kind {
                EventKind::Release { lock }
                | EventKind::ReleaseShared { lock }
                | EventKind::Wait { lock, .. } => {
                    held.entry(lock.0).or_default().retain(|&s| locks.get(s).exit != Some(e));
                }
                EventKind::TryFailed { lock } | EventKind::TryFailedShared { lock } => {
                    let mut sections = held.entry(lock.0).or_default().iter();
                    let met = sections.find(|&&s| locks.makes_fail(trace, s, e));
                    let enter = met.map(|&s| locks.get(s).enter);
                    facts.needs.entry(e).or_default().extend(enter);
                }
                EventKind::Post { sem } => tokens.entry(sem.0).or_default().posts.push(e),
                EventKind::Down { sem } => {
                    let initial = trace.initial_count(sem);
                    let post = tokens.entry(sem.0).or_default().take(initial);
                    facts.needs.entry(e).or_default().extend(post);
                }
                EventKind::Arrive { barrier } => arrivals.entry(barrier.0).or_default().push(e),
                EventKind::Leave { barrier } => {
                    let arrived = arrivals.entry(barrier.0).or_default();
                    let own = trace_model.counters.arrival_of(e);
                    let place = arrived.iter().position(|a| Some(*a) == own).unwrap_or(0);
                    let parties = trace.parties(barrier).unwrap_or(1).max(1) as usize;
                    let needed = ((place / parties + 1) * parties).min(arrived.len());
                    facts.needs.entry(e).or_default().extend(&arrived[..needed]);
                }
                _ => {}
            }
            if let Some(s) = locks.entered_at(e) {
                held.entry(locks.get(s).lock.0).or_default().push(s);
            }
            if trace.op(e).object_kind() == ObjectKind::Condition {
                let cond = trace.event(e).kind;
                conditions.entry(condition_of(cond)).or_default().push(e);
            }
        }
        for events in conditions.values() {
            facts.notifications(trace_model, events);
        }
        facts
    }

    /// Assigns notifications to waiters of one condition. Where waits time out, the woken waiter
    /// depends on all waiters: then all of the condition's events so far are needed.
    fn notifications(&mut self, trace_model: &TraceModel<'_>, events: &[EventId]) {
        let trace = trace_model.trace;
        if events.iter().any(|&e| trace.op(e) == Op::TimedOut) {
            for (i, &e) in events.iter().enumerate() {
                foretell_limit::check();
                self.needs.entry(e).or_default().extend(&events[..i]);
            }
            return;
        }
        let place: FxHashMap<EventId, usize> =
            events.iter().enumerate().map(|(i, &e)| (e, i)).collect();
        let mut waiting: Vec<EventId> = Vec::new();
        for &e in events {
            foretell_limit::check();
            match trace.op(e) {
                Op::Wait => waiting.push(e),
                Op::NotifyAll | Op::Notify => {
                    let exit = |wait: EventId| {
                        let wait = trace_model.waits.at(wait)?;
                        trace_model.waits.get(wait).exit.filter(|x| place.contains_key(x))
                    };
                    waiting.sort_by_key(|&w| exit(w).map_or(usize::MAX, |x| place[&x]));
                    let woken = if trace.op(e) == Op::Notify { 1 } else { waiting.len() };
                    for wait in waiting.drain(..woken.min(waiting.len())) {
                        if let Some(x) = exit(wait) {
                            self.needs.entry(x).or_default().push(e);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn trim(
        &mut self,
        trace_model: &TraceModel<'_>,
        schedule: &[EventId],
        [keep, views, next]: [&[EventId]; 3],
    ) -> Vec<EventId> {
        let TraceModel { trace, chains, .. } = trace_model;
        let mut needed = Needed { counts: vec![0; chains.thread_count()], ..Needed::default() };
        let viewing: BTreeSet<EventId> = views.iter().copied().collect();
        needed.work.extend(keep.iter().chain(views));
        for &e in next {
            match chains.previous(trace, e) {
                Some(previous) => {
                    needed.work.push(previous);
                    self.require_view(trace_model, &mut needed, previous);
                    needed.work.extend(self.needs.get(&previous).into_iter().flatten());
                }
                None => needed.work.extend(chains.fork(trace.thread(e))),
            }
        }
        loop {
            while let Some(e) = needed.work.pop() {
                foretell_limit::check();
                self.require(trace_model, &mut needed, &viewing, e);
            }
            if !self.leave_sections(trace_model, schedule, &mut needed) {
                break;
            }
        }
        let runs = |e: &EventId| chains.position(*e) < needed.counts[trace.thread(*e).index()];
        schedule.iter().copied().filter(runs).collect()
    }

    /// `e` is needed, with all that it and the events before it in its thread need.
    fn require(
        &mut self,
        trace_model: &TraceModel<'_>,
        needed: &mut Needed,
        viewing: &BTreeSet<EventId>,
        e: EventId,
    ) {
        let TraceModel { trace, chains, .. } = trace_model;
        let thread = trace.thread(e);
        let from = needed.counts[thread.index()];
        let to = chains.position(e) + 1;
        if to <= from {
            return;
        }
        if from == 0 {
            needed.work.extend(chains.fork(thread));
        }
        needed.counts[thread.index()] = to;
        // The view of the last event matters only if the pattern is about it, the thread is joined
        // or it is a use of hidden state; the views of those before it always do.
        let events = chains.events(thread);
        for &f in &events[from.saturating_sub(1) as usize..to as usize] {
            foretell_limit::check();
            if f != e || viewing.contains(&f) || trace_model.uses_hidden_state(f) {
                self.require_view(trace_model, needed, f);
            }
            if let Some(others) = self.needs.get(&f) {
                let missing = others.iter().filter(|o| !needed.has(trace_model, **o)).copied();
                let missing: Vec<EventId> = missing.collect();
                needed.work.extend(missing);
            }
            if trace.op(f) == Op::Join
                && let EventKind::Join { thread } = trace.event(f).kind
            {
                needed.work.extend(chains.fork(thread));
                if let Some(&last) = chains.events(thread).last() {
                    needed.work.push(last);
                    self.require_view(trace_model, needed, last);
                }
            }
        }
    }

    /// The write that `e` sees is needed and, if that is an update, what the update sees: it
    /// decides whether the update is broken.
    fn require_view(&mut self, trace_model: &TraceModel<'_>, needed: &mut Needed, mut e: EventId) {
        while let Some(w) = std::mem::take(&mut self.seen[e.index()]).checked_sub(1) {
            foretell_limit::check();
            let w = EventId(w);
            if !needed.has(trace_model, w) {
                needed.work.push(w);
            }
            if trace_model.trace.op(w) != Op::AtomicUpdate {
                break;
            }
            e = w;
        }
    }

    /// A section that is entered and in the way of a later one is left before it.
    fn leave_sections(
        &self,
        trace_model: &TraceModel<'_>,
        schedule: &[EventId],
        needed: &mut Needed,
    ) -> bool {
        let mut open: FxHashMap<u32, Vec<SectionId>> = FxHashMap::default();
        let mut found = false;
        for &e in schedule {
            foretell_limit::check();
            if trace_model.trace.op(e).is_access() || !needed.has(trace_model, e) {
                continue;
            }
            if let EventKind::Release { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::Wait { lock, .. } = trace_model.trace.event(e).kind
            {
                let holders = open.entry(lock.0).or_default();
                holders.retain(|&s| trace_model.locks.get(s).exit != Some(e));
            }
            if let Some(section) = trace_model.locks.entered_at(e) {
                let own = *trace_model.locks.get(section);
                let holders = open.entry(own.lock.0).or_default();
                for &other in holders.iter() {
                    let other = trace_model.locks.get(other);
                    let exit = other.exit.filter(|_| !(other.shared && own.shared));
                    if let Some(exit) = exit.filter(|&x| !needed.has(trace_model, x)) {
                        needed.work.push(exit);
                        found = true;
                    }
                }
                holders.retain(|&s| {
                    let s = trace_model.locks.get(s);
                    s.shared && own.shared
                });
                holders.push(section);
            }
        }
        found
    }
}

#[derive(Default)]
struct Needed {
    counts: Vec<u32>,
    work: Vec<EventId>,
}

impl Needed {
    fn has(&self, trace_model: &TraceModel<'_>, e: EventId) -> bool {
        trace_model.chains.position(e) < self.counts[trace_model.trace.thread(e).index()]
    }
}

/// The tokens of a semaphore in the order they come.
#[derive(Default)]
struct Tokens {
    posts: Vec<EventId>,
    used: u64,
}

impl Tokens {
    /// Uses the next token; the post it comes from, if it was not there from the start.
    fn take(&mut self, initial: u64) -> Option<EventId> {
        let token = self.used;
        self.used += 1;
        let post = token.checked_sub(initial)?;
        self.posts.get(usize::try_from(post).ok()?).copied()
    }
}

fn condition_of(kind: EventKind) -> u32 {
    match kind {
        EventKind::Wait { cond, .. }
        | EventKind::Woken { cond, .. }
        | EventKind::TimedOut { cond, .. }
        | EventKind::Notify { cond }
        | EventKind::NotifyAll { cond } => cond.0,
        _ => u32::MAX,
    }
}

/// Reorders what is independent so that a thread goes on as long as it can; then the one whose next
/// event comes first in the schedule.
fn tidy(trace_model: &TraceModel<'_>, schedule: &[EventId]) -> Vec<EventId> {
    let trace = trace_model.trace;
    let mut dependencies = Dependencies::new(trace, schedule);
    // The places of each thread's events in the schedule, and how many have run.
    let mut queues: Vec<(Vec<u32>, usize)> = vec![Default::default(); trace.thread_count()];
    for (i, &e) in schedule.iter().enumerate() {
        foretell_limit::check();
        queues[trace.thread(e).index()].0.push(i as u32);
    }
    let heads = queues.iter().filter_map(|(places, _)| places.first().copied());
    // Each place comes here once at most: a thread that goes on does not.
    let mut ready: BinaryHeap<Reverse<u32>> =
        heads.filter(|&i| dependencies.waiting_for[i as usize] == 0).map(Reverse).collect();
    let mut tidied = Vec::with_capacity(schedule.len());
    while let Some(Reverse(mut i)) = ready.pop() {
        foretell_limit::check();
        loop {
            foretell_limit::check();
            let e = schedule[i as usize];
            tidied.push(e);
            let thread = trace.thread(e).index();
            queues[thread].1 += 1;
            for &f in dependencies.followers.of(i) {
                let open = &mut dependencies.waiting_for[f as usize];
                *open -= 1;
                let (places, next) = &queues[trace.thread(schedule[f as usize]).index()];
                if *open == 0 && places.get(*next) == Some(&f) {
                    ready.push(Reverse(f));
                }
            }
            let (places, next) = &queues[thread];
            match places.get(*next) {
                Some(&next) if dependencies.waiting_for[next as usize] == 0 => i = next,
                _ => break,
            }
        }
    }
    tidied
}

/// Returns the schedule with independent events in the recorded order as far as possible; the
/// `last` events stay at the end.
///
/// For a program that talks to other processes: the trace does not say what those wait for before
/// they go on, and the recorded order is one that they can keep to.
pub fn as_recorded(trace: &Trace, schedule: &[EventId], last: usize) -> Vec<EventId> {
    let (schedule, end) = schedule.split_at(schedule.len().saturating_sub(last));
    let mut dependencies = Dependencies::new(trace, schedule);
    // Each event also waits for the one before it in its thread.
    let mut previous: Vec<Option<usize>> = vec![None; trace.thread_count()];
    let mut next = vec![None; schedule.len()];
    for (i, &e) in schedule.iter().enumerate() {
        foretell_limit::check();
        if let Some(before) = previous[trace.thread(e).index()].replace(i) {
            next[before] = Some(i as u32);
            dependencies.waiting_for[i] += 1;
        }
    }
    let key = |i: u32| Reverse((schedule[i as usize], i));
    let places = 0..schedule.len() as u32;
    let free = places.filter(|&i| dependencies.waiting_for[i as usize] == 0);
    let mut ready: BinaryHeap<_> = free.map(key).collect();
    let mut ordered = Vec::with_capacity(schedule.len() + end.len());
    while let Some(Reverse((e, i))) = ready.pop() {
        foretell_limit::check();
        ordered.push(e);
        for &f in dependencies.followers.of(i).iter().chain(&next[i as usize]) {
            let open = &mut dependencies.waiting_for[f as usize];
            *open -= 1;
            if *open == 0 {
                ready.push(key(f));
            }
        }
    }
    ordered.extend(end);
    ordered
}

/// A schedule with what some threads did besides, until the last of what it has was recorded. Each
/// event is put where all of the schedule that was recorded before it has run, but before the
/// `last` events. Nothing says that the result is feasible, or shows what the schedule showed: that
/// is for the checker to say.
pub fn filled(
    trace: &Trace,
    schedule: &[EventId],
    last: usize,
    threads: &BTreeSet<ThreadId>,
) -> Vec<EventId> {
    let (schedule, end) = schedule.split_at(schedule.len().saturating_sub(last));
    let mut there = vec![false; trace.len()];
    schedule.iter().chain(end).for_each(|e| there[e.index()] = true);
    let until = schedule.iter().max().map_or(0, |e| e.index());
    let missing = (0..until).filter(|&i| !there[i]).map(EventId::from_index);
    let mut missing = missing.filter(|&e| threads.contains(&trace.thread(e))).peekable();
    // For each place, what of the schedule is left there and was recorded first.
    let mut first_left: Vec<EventId> = schedule.to_vec();
    for i in (1..first_left.len()).rev() {
        first_left[i - 1] = first_left[i - 1].min(first_left[i]);
    }
    let mut filled = Vec::new();
    for (&e, &first) in schedule.iter().zip(&first_left) {
        foretell_limit::check();
        while let Some(other) = missing.next_if(|&other| other < first) {
            filled.push(other);
        }
        filled.push(e);
    }
    filled.extend(missing);
    filled.extend(end);
    filled
}

/// For each place of a schedule, on how many places of other threads it waits, and which wait for
/// it.
struct Dependencies {
    waiting_for: Vec<u32>,
    followers: Followers,
}

/// By place, the places that wait for it, one list behind the other.
struct Followers {
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Followers {
    fn new(places: usize, edges: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; places + 1];
        for &(from, _) in edges {
            starts[from as usize + 1] += 1;
        }
        for i in 0..places {
            starts[i + 1] += starts[i];
        }
        let mut ends = starts.clone();
        let mut list = vec![0; edges.len()];
        for &(from, to) in edges {
            foretell_limit::check();
            let end = &mut ends[from as usize];
            list[*end as usize] = to;
            *end += 1;
        }
        Self { starts, places: list }
    }

    fn of(&self, place: u32) -> &[u32] {
        let place = place as usize;
        &self.places[self.starts[place] as usize..self.starts[place + 1] as usize]
    }
}

impl Dependencies {
    fn new(trace: &Trace, schedule: &[EventId]) -> Self {
        let threads = trace.thread_count();
        let mut waiting_for = vec![0; schedule.len()];
        let mut edges: Vec<(u32, u32)> = Vec::new();
        // `from` is one more than a place, 0 if there is none.
        let mut edge = |from: u32, to: u32| {
            let Some(from) = from.checked_sub(1) else { return };
            if trace.thread(schedule[from as usize]) != trace.thread(schedule[to as usize]) {
                edges.push((from, to));
                waiting_for[to as usize] += 1;
            }
        };
        let mut last_write = vec![0; trace.variable_count()];
        // The last read of a variable since, and for each read the one before it.
        let mut last_read = vec![0; trace.variable_count()];
        let mut previous_read = vec![0; schedule.len()];
        let mut last_of_object: FxHashMap<(ObjectKind, u32), u32> = FxHashMap::default();
        let mut last_of_thread = vec![0; threads];
        let mut forks = vec![0; threads];
        for (i, &e) in schedule.iter().enumerate() {
            foretell_limit::check();
            let i = i as u32;
            let thread = trace.thread(e).index();
            if std::mem::replace(&mut last_of_thread[thread], i + 1) == 0 {
                edge(forks[thread], i);
            }
            for x in trace.accessed_variables(e) {
                edge(last_write[x.index()], i);
                // The accesses of an opaque variable keep their order, reads too.
                if trace.op(e).writes() || trace.is_opaque(x) {
                    let mut read = std::mem::take(&mut last_read[x.index()]);
                    while read != 0 {
                        foretell_limit::check();
                        edge(read, i);
                        read = previous_read[read as usize - 1];
                    }
                    last_write[x.index()] = i + 1;
                } else {
                    previous_read[i as usize] = std::mem::replace(&mut last_read[x.index()], i + 1);
                }
            }
            if trace.op(e).is_access() {
                continue;
            }
            match trace.event(e).kind {
                EventKind::Fork { thread } => forks[thread.index()] = i + 1,
                EventKind::Join { thread } => {
                    edge(forks[thread.index()], i);
                    edge(last_of_thread[thread.index()], i);
                }
                kind => {
                    for object in objects(kind).into_iter().flatten() {
                        edge(last_of_object.insert(object, i + 1).unwrap_or(0), i);
                    }
                }
            }
        }
        let followers = Followers::new(schedule.len(), &edges);
        Self { waiting_for, followers }
    }
}

/// The synchronization objects whose events keep their order.
fn objects(kind: EventKind) -> [Option<(ObjectKind, u32)>; 2] {
    match kind {
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock }
        | EventKind::TryFailedShared { lock } => [Some((ObjectKind::Lock, lock.0)), None],
        EventKind::Wait { cond, lock }
        | EventKind::Woken { cond, lock }
        | EventKind::TimedOut { cond, lock } => {
            [Some((ObjectKind::Condition, cond.0)), Some((ObjectKind::Lock, lock.0))]
        }
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
            [Some((ObjectKind::Condition, cond.0)), None]
        }
        EventKind::Post { sem } | EventKind::Down { sem } => {
            [Some((ObjectKind::Semaphore, sem.0)), None]
        }
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => {
            [Some((ObjectKind::Barrier, barrier.0)), None]
        }
        _ => [None; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(numbers: &[u32]) -> Vec<EventId> {
        numbers.iter().copied().map(EventId).collect()
    }

    fn trace(text: &str) -> Trace {
        foretell_trace::text::parse(text.as_bytes()).expect("a trace").trace
    }

    #[test]
    fn independent_events_return_to_the_recorded_order() {
        let trace = trace("A|w(a)\nB|w(b)\nA|w(x)\nC|w(c)\nB|r(x)\nC|w(x)\n");
        // C's write comes before B's read here, and that is the end; all else does not matter.
        let tidied = events(&[3, 1, 0, 2, 5, 4]);
        assert_eq!(as_recorded(&trace, &tidied, 2), events(&[0, 1, 2, 3, 5, 4]));
        // Dependent events keep their order, also against the recorded one.
        let swapped = events(&[3, 5, 1, 0, 2]);
        assert_eq!(as_recorded(&trace, &swapped, 0), events(&[0, 1, 3, 5, 2]));
    }

    #[test]
    fn threads_that_were_dropped_do_what_they_did() {
        let trace = trace("A|w(a)\nC|w(c)\nB|w(b)\nC|w(d)\nA|w(x)\nB|r(x)\nC|w(e)\n");
        let schedule = events(&[2, 0, 5, 4]);
        let c = trace.find_thread("C").expect("a thread");
        let filled =
            |threads: &[ThreadId]| filled(&trace, &schedule, 2, &threads.iter().copied().collect());
        assert_eq!(filled(&[]), schedule);
        assert_eq!(filled(&[c]), events(&[2, 0, 1, 5, 4]));
    }
}
