//! Making witnesses readable: what the pattern does not need is left out, and the rest is put in an
//! order with few context switches.
//!
//! *Trimming* keeps the events of the pattern and, going backwards, everything that a kept event
//! needs: what runs before it in its thread, the write that a read sees, the end of a section
//! before the next one of the same lock, the notification behind a wake-up, the post behind a down, the
//! arrivals behind a leave, forks and joined threads. The rest is dropped; no kept event can tell.
//!
//! *Tidying* reorders events that do not depend on each other, so that a thread goes on as long as it
//! can. Two events of one object that could tell their order apart keep it.

use std::collections::BTreeSet;

use foretell_model::Structure;
use foretell_trace::{EventId, EventKind, ObjectKind, Op, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A schedule that still shows the pattern, without the rest: `keep` are events of it that run,
/// `views` those that must see what they see in the schedule, `next` are events that are next after it.
pub fn shorten(
    structure: &Structure<'_>,
    schedule: &[EventId],
    keep: &[EventId],
    views: &[EventId],
    next: &[EventId],
) -> Vec<EventId> {
    let facts = Facts::new(structure, schedule, views);
    let kept = facts.trim(structure, schedule, [keep, views, next]);
    tidy(structure, &kept)
}

/// What each event of a schedule relies on.
struct Facts {
    /// The write that each read sees.
    seen: FxHashMap<EventId, EventId>,
    /// What else an event needs: a wake-up its notification, a down its post, a leave its arrivals, a
    /// failed try-lock the section it ran into.
    needs: FxHashMap<EventId, Vec<EventId>>,
}

impl Facts {
    fn new(structure: &Structure<'_>, schedule: &[EventId], views: &[EventId]) -> Self {
        let mut facts = Self { seen: FxHashMap::default(), needs: FxHashMap::default() };
        let trace = structure.trace;
        let mut last_write: FxHashMap<u32, EventId> = FxHashMap::default();
        let mut owner: FxHashMap<u32, EventId> = FxHashMap::default();
        let mut tokens: FxHashMap<u32, Tokens> = FxHashMap::default();
        let mut arrivals: FxHashMap<u32, Vec<EventId>> = FxHashMap::default();
        let mut conditions: FxHashMap<u32, Vec<EventId>> = FxHashMap::default();
        for &e in schedule {
            if let Some(x) = trace.variable(e) {
                let sees = trace.op(e).reads() || views.contains(&e);
                if let Some(&w) = last_write.get(&x.0).filter(|_| sees) {
                    facts.seen.insert(e, w);
                }
                if trace.op(e).writes() {
                    last_write.insert(x.0, e);
                }
                continue;
            }
            match trace.event(e).kind {
                EventKind::Acquire { lock }
                | EventKind::Woken { lock, .. }
                | EventKind::TimedOut { lock, .. }
                    if structure.locks.entered_at(e).is_some() =>
                {
                    owner.insert(lock.0, e);
                }
                EventKind::TryFailed { lock } => {
                    facts.needs.entry(e).or_default().extend(owner.get(&lock.0));
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
                    let own = structure.counters.arrival_of(e);
                    let place = arrived.iter().position(|a| Some(*a) == own).unwrap_or(0);
                    let parties = trace.parties(barrier).unwrap_or(1).max(1) as usize;
                    let needed = ((place / parties + 1) * parties).min(arrived.len());
                    facts.needs.entry(e).or_default().extend(&arrived[..needed]);
                }
                _ => {}
            }
            if trace.op(e).object_kind() == ObjectKind::Condition {
                let cond = trace.event(e).kind;
                conditions.entry(condition_of(cond)).or_default().push(e);
            }
        }
        for events in conditions.values() {
            facts.notifications(structure, events);
        }
        facts
    }

    /// Who wakes whom on one condition. Where waits time out, whom a notify wakes depends on
    /// everybody who waits: then all of the condition's events so far are needed.
    fn notifications(&mut self, structure: &Structure<'_>, events: &[EventId]) {
        let trace = structure.trace;
        if events.iter().any(|&e| trace.op(e) == Op::TimedOut) {
            for (i, &e) in events.iter().enumerate() {
                self.needs.entry(e).or_default().extend(&events[..i]);
            }
            return;
        }
        let place: FxHashMap<EventId, usize> =
            events.iter().enumerate().map(|(i, &e)| (e, i)).collect();
        let mut waiting: Vec<EventId> = Vec::new();
        for &e in events {
            match trace.op(e) {
                Op::Wait => waiting.push(e),
                Op::NotifyAll | Op::Notify => {
                    let exit = |wait: EventId| {
                        let wait = structure.waits.at(wait)?;
                        structure.waits.get(wait).exit.filter(|x| place.contains_key(x))
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
        &self,
        structure: &Structure<'_>,
        schedule: &[EventId],
        [keep, views, next]: [&[EventId]; 3],
    ) -> Vec<EventId> {
        let Structure { trace, chains, .. } = structure;
        let mut needed = Needed { counts: vec![0; chains.thread_count()], ..Needed::default() };
        let viewing: BTreeSet<EventId> = views.iter().copied().collect();
        needed.work.extend(keep.iter().chain(views));
        for &e in next {
            match chains.previous(trace, e) {
                Some(previous) => {
                    needed.work.push(previous);
                    self.require_view(structure, &mut needed, previous);
                    needed.work.extend(self.needs.get(&previous).into_iter().flatten());
                }
                None => needed.work.extend(chains.fork(trace.thread(e))),
            }
        }
        loop {
            while let Some(e) = needed.work.pop() {
                self.require(structure, &mut needed, &viewing, e);
            }
            if !self.leave_sections(structure, schedule, &mut needed) {
                break;
            }
        }
        let runs = |e: &EventId| chains.position(*e) < needed.counts[trace.thread(*e).index()];
        schedule.iter().copied().filter(runs).collect()
    }

    /// `e` is needed, with all that it and the events before it in its thread need.
    fn require(
        &self,
        structure: &Structure<'_>,
        needed: &mut Needed,
        viewing: &BTreeSet<EventId>,
        e: EventId,
    ) {
        let Structure { trace, chains, .. } = structure;
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
        // The view of the last event matters only if the pattern is about it; the views of those
        // before it always do.
        let events = chains.events(thread);
        for &f in &events[from.saturating_sub(1) as usize..to as usize] {
            if f != e || viewing.contains(&f) {
                self.require_view(structure, needed, f);
            }
            if let Some(others) = self.needs.get(&f) {
                let missing = others.iter().filter(|o| !needed.has(structure, **o)).copied();
                let missing: Vec<EventId> = missing.collect();
                needed.work.extend(missing);
            }
            if let EventKind::Join { thread } = trace.event(f).kind
                && let Some(&last) = chains.events(thread).last()
                && !needed.has(structure, last)
            {
                needed.work.push(last);
            }
        }
    }

    /// What `e` sees is needed and, if that is an update, what the update sees: it decides whether the
    /// update is broken.
    fn require_view(&self, structure: &Structure<'_>, needed: &mut Needed, mut e: EventId) {
        while let Some(&w) = self.seen.get(&e).filter(|_| needed.viewed.insert(e)) {
            if !needed.has(structure, w) {
                needed.work.push(w);
            }
            if structure.trace.op(w) != Op::AtomicUpdate {
                break;
            }
            e = w;
        }
    }

    /// A section that is entered and in the way of a later one is left before it.
    fn leave_sections(
        &self,
        structure: &Structure<'_>,
        schedule: &[EventId],
        needed: &mut Needed,
    ) -> bool {
        let mut open: FxHashMap<u32, Vec<foretell_model::SectionId>> = FxHashMap::default();
        let mut found = false;
        for &e in schedule {
            if !needed.has(structure, e) {
                continue;
            }
            if let Some(section) = structure.locks.entered_at(e) {
                let own = *structure.locks.get(section);
                let holders = open.entry(own.lock.0).or_default();
                for &other in holders.iter() {
                    let other = structure.locks.get(other);
                    let exit = other.exit.filter(|_| !(other.shared && own.shared));
                    if let Some(exit) = exit.filter(|&x| !needed.has(structure, x)) {
                        needed.work.push(exit);
                        found = true;
                    }
                }
                holders.retain(|&s| {
                    let s = structure.locks.get(s);
                    s.shared && own.shared
                });
                holders.push(section);
            } else if let EventKind::Release { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::Wait { lock, .. } = structure.trace.event(e).kind
            {
                let holders = open.entry(lock.0).or_default();
                holders.retain(|&s| structure.locks.get(s).exit != Some(e));
            }
        }
        found
    }
}

#[derive(Default)]
struct Needed {
    counts: Vec<u32>,
    work: Vec<EventId>,
    /// Events whose view is needed.
    viewed: FxHashSet<EventId>,
}

impl Needed {
    fn has(&self, structure: &Structure<'_>, e: EventId) -> bool {
        structure.chains.position(e) < self.counts[structure.trace.thread(e).index()]
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

/// Reorders what is independent so that a thread goes on as long as it can.
fn tidy(structure: &Structure<'_>, schedule: &[EventId]) -> Vec<EventId> {
    let trace = structure.trace;
    let (mut waiting_for, followers) = dependencies(structure, schedule);
    // The places of each thread's events in the schedule, the next one last.
    let mut queues: Vec<Vec<u32>> = vec![Vec::new(); structure.chains.thread_count()];
    for (i, &e) in schedule.iter().enumerate().rev() {
        queues[trace.thread(e).index()].push(i as u32);
    }
    let mut ready: BTreeSet<u32> = BTreeSet::new();
    for queue in &queues {
        ready.extend(queue.last().filter(|&&i| waiting_for[i as usize] == 0));
    }
    let mut tidied = Vec::with_capacity(schedule.len());
    let mut current: Option<ThreadId> = None;
    while let Some(&first) = ready.first() {
        let same = current.and_then(|t| queues[t.index()].last()).filter(|i| ready.contains(i));
        let i = same.copied().unwrap_or(first);
        ready.remove(&i);
        let e = schedule[i as usize];
        let thread = trace.thread(e);
        current = Some(thread);
        tidied.push(e);
        queues[thread.index()].pop();
        for &f in &followers[i as usize] {
            waiting_for[f as usize] -= 1;
            if waiting_for[f as usize] == 0
                && queues[trace.thread(schedule[f as usize]).index()].last() == Some(&f)
            {
                ready.insert(f);
            }
        }
        ready.extend(queues[thread.index()].last().filter(|&&n| waiting_for[n as usize] == 0));
    }
    tidied
}

/// For each place of a schedule, on how many places of other threads it waits, and which wait for it.
fn dependencies(structure: &Structure<'_>, schedule: &[EventId]) -> (Vec<u32>, Vec<Vec<u32>>) {
    let trace = structure.trace;
    let mut waiting_for = vec![0; schedule.len()];
    let mut followers = vec![Vec::new(); schedule.len()];
    let mut edge = |from: u32, to: u32| {
        if trace.thread(schedule[from as usize]) != trace.thread(schedule[to as usize]) {
            followers[from as usize].push(to);
            waiting_for[to as usize] += 1;
        }
    };
    let mut last_write: FxHashMap<u32, u32> = FxHashMap::default();
    let mut reads: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    let mut last_of_object: FxHashMap<(ObjectKind, u32), u32> = FxHashMap::default();
    let mut last_of_thread: FxHashMap<ThreadId, u32> = FxHashMap::default();
    let mut forks: FxHashMap<ThreadId, u32> = FxHashMap::default();
    for (i, &e) in schedule.iter().enumerate() {
        let i = i as u32;
        if last_of_thread.insert(trace.thread(e), i).is_none()
            && let Some(&fork) = forks.get(&trace.thread(e))
        {
            edge(fork, i);
        }
        let kind = trace.event(e).kind;
        if let Some(x) = trace.variable(e) {
            // The accesses of an opaque variable keep their order, reads too.
            let writes = trace.op(e).writes() || trace.is_opaque(x);
            if let Some(&w) = last_write.get(&x.0) {
                edge(w, i);
            }
            if writes {
                for r in reads.remove(&x.0).unwrap_or_default() {
                    edge(r, i);
                }
                last_write.insert(x.0, i);
            } else {
                reads.entry(x.0).or_default().push(i);
            }
            continue;
        }
        match kind {
            EventKind::Fork { thread } => drop(forks.insert(thread, i)),
            EventKind::Join { thread } => {
                if let Some(&last) = last_of_thread.get(&thread) {
                    edge(last, i);
                }
            }
            _ => {
                for object in objects(kind) {
                    if let Some(last) = last_of_object.insert(object, i) {
                        edge(last, i);
                    }
                }
            }
        }
    }
    (waiting_for, followers)
}

/// The synchronization objects whose events keep their order.
fn objects(kind: EventKind) -> Vec<(ObjectKind, u32)> {
    match kind {
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock } => vec![(ObjectKind::Lock, lock.0)],
        EventKind::Wait { cond, lock }
        | EventKind::Woken { cond, lock }
        | EventKind::TimedOut { cond, lock } => {
            vec![(ObjectKind::Condition, cond.0), (ObjectKind::Lock, lock.0)]
        }
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
            vec![(ObjectKind::Condition, cond.0)]
        }
        EventKind::Post { sem } | EventKind::Down { sem } => vec![(ObjectKind::Semaphore, sem.0)],
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => {
            vec![(ObjectKind::Barrier, barrier.0)]
        }
        _ => Vec::new(),
    }
}
