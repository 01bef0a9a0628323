//! Races that memory orders leave open (section 3b): pairs of one feasible sequence that
//! happens-before does not order.
//!
//! - [`happens_before`] is the section read literally: every pair of a sequence is asked for an
//!   edge, and the edges are closed under transitivity. For `findings_by_sequences`.
//! - [`unordered`] shares states: for each access `a`, the states are explored together with
//!   [`Flags`], which say of each thread and object whether `a` happens before its next use. Two
//!   sequences that end in the same state with the same flags have the same continuations.

use std::collections::BTreeSet;

use foretell_trace::{EventId, EventKind, LockId, ThreadId, VarId};
use rustc_hash::FxHashSet;

use crate::rules::{Rules, State};

/// Whether an event releases a lock, and whether it is the reader side.
fn release_of(kind: EventKind) -> Option<(LockId, bool)> {
    match kind {
        EventKind::Release { lock } | EventKind::Wait { lock, .. } => Some((lock, false)),
        EventKind::ReleaseShared { lock } => Some((lock, true)),
        _ => None,
    }
}

/// Whether an event acquires a lock, and whether it is the reader side.
fn acquire_of(kind: EventKind) -> Option<(LockId, bool)> {
    match kind {
        EventKind::Acquire { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::Woken { lock, .. }
        | EventKind::TimedOut { lock, .. } => Some((lock, false)),
        EventKind::AcquireShared { lock } | EventKind::TryAcquireShared { lock } => {
            Some((lock, true))
        }
        _ => None,
    }
}

/// The pairs `(i, j)` of places of a sequence such that the event at i happens before that at j.
pub(crate) fn happens_before(rules: &Rules, sequence: &[EventId]) -> Vec<Vec<bool>> {
    let n = sequence.len();
    let mut before = vec![vec![false; n]; n];
    for j in 0..n {
        for (i, row) in before.iter_mut().enumerate().take(j) {
            row[j] = edge(rules, sequence, i, j) || sees(rules, sequence, i, j);
        }
        for (source, sink) in synchronises(rules, sequence, j) {
            before[source][sink] = true;
        }
    }
    for k in 0..n {
        for i in 0..k {
            for j in k + 1..n {
                before[i][j] |= before[i][k] && before[k][j];
            }
        }
    }
    before
}

/// Whether the plain read at j sees the plain write at i.
fn sees(rules: &Rules, sequence: &[EventId], i: usize, j: usize) -> bool {
    let kind = |k: usize| rules.events[sequence[k].index()].kind;
    match (kind(i), kind(j)) {
        (
            EventKind::Write { atomic: false, .. } | EventKind::Free { .. },
            EventKind::Read { var, atomic: false, .. },
        ) => last_write(rules, &sequence[..j], var) == Some(i),
        _ => false,
    }
}

/// The rules of section 3b but for plain reads, and synchronises-with of atomics and fences.
fn edge(rules: &Rules, sequence: &[EventId], i: usize, j: usize) -> bool {
    let (a, b) = (sequence[i], sequence[j]);
    let thread = |e| rules.trace.thread(e);
    let (ka, kb) = (rules.events[a.index()].kind, rules.events[b.index()].kind);
    if thread(a) == thread(b) {
        return true;
    }
    if let (Some((l, reader)), Some((m, other))) = (release_of(ka), acquire_of(kb))
        && l == m
        && !(reader && other)
        && !rules.trace.is_order_only(l)
    {
        return true;
    }
    match (ka, kb) {
        (EventKind::Fork { thread: u }, _) if u == thread(b) => true,
        (_, EventKind::Join { thread: u }) if u == thread(a) => true,
        (EventKind::Post { sem }, EventKind::Down { sem: other }) => sem == other,
        (
            EventKind::Notify { cond } | EventKind::NotifyAll { cond },
            EventKind::Woken { cond: other, .. },
        ) => cond == other,
        (EventKind::Arrive { barrier }, EventKind::Leave { barrier: other })
            if barrier == other =>
        {
            let parties = rules.trace.parties(barrier).unwrap_or(1).max(1) as usize;
            let is_arrival = |e: &EventId| {
                matches!(rules.events[e.index()].kind,
                    EventKind::Arrive { barrier: b } if b == barrier)
            };
            let own = (0..j)
                .rev()
                .find(|&k| thread(sequence[k]) == thread(b) && is_arrival(&sequence[k]));
            let generation =
                |k: usize| sequence[..k].iter().filter(|e| is_arrival(e)).count() / parties;
            own.is_some_and(|own| generation(own) == generation(i))
        }
        (_, EventKind::TryFailed { lock }) => holds_since(rules, sequence, i, j, lock, true),
        (_, EventKind::TryFailedShared { lock }) => holds_since(rules, sequence, i, j, lock, false),
        (EventKind::Update { var, .. }, EventKind::Update { var: other, .. }) => {
            var == other && rules.trace.is_opaque(var)
        }
        _ => false,
    }
}

/// Whether the event at i is the acquire by which its thread came to hold the lock that it holds,
/// in a mode that makes a try fail, when the event at j runs.
fn holds_since(
    rules: &Rules,
    sequence: &[EventId],
    i: usize,
    j: usize,
    lock: LockId,
    readers_count: bool,
) -> bool {
    let kind = |k: usize| rules.events[sequence[k].index()].kind;
    let Some((_, shared)) = acquire_of(kind(i)).filter(|(l, _)| *l == lock) else { return false };
    if shared && !readers_count || rules.trace.is_order_only(lock) {
        return false;
    }
    let thread = rules.trace.thread(sequence[i]);
    let (mut depth, mut since, mut former) = (0u32, None, 0);
    for k in (0..j).filter(|&k| rules.trace.thread(sequence[k]) == thread) {
        match kind(k) {
            EventKind::Wait { lock: l, .. } if l == lock && !shared => {
                (former, depth) = (depth, 0);
            }
            EventKind::Woken { lock: l, .. } | EventKind::TimedOut { lock: l, .. }
                if l == lock && !shared =>
            {
                (depth, since) = (former.max(1), Some(k));
            }
            event if acquire_of(event) == Some((lock, shared)) => {
                if depth == 0 {
                    since = Some(k);
                }
                depth += 1;
            }
            event if release_of(event) == Some((lock, shared)) => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    depth > 0 && since == Some(i)
}

/// The place of the last write of a variable.
fn last_write(rules: &Rules, sequence: &[EventId], x: VarId) -> Option<usize> {
    sequence
        .iter()
        .rposition(|&e| rules.op(e).writes() && rules.trace.accessed_variables(e).any(|y| y == x))
}

/// The edges that the atomic read at place `read` adds: from the stores of the release sequences
/// that it reads, and the release fences before them, to itself and the acquire fences after it.
fn synchronises(rules: &Rules, sequence: &[EventId], read: usize) -> Vec<(usize, usize)> {
    let e = sequence[read];
    let Some(x) = rules.trace.variable(e) else { return Vec::new() };
    let op = rules.op(e);
    if !(op.is_atomic() && op.reads()) {
        return Vec::new();
    }
    let same_thread =
        |i: usize, j: usize| rules.trace.thread(sequence[i]) == rules.trace.thread(sequence[j]);
    let is_fence = |k: usize| rules.events[sequence[k].index()].kind == EventKind::Fence;
    let order = |k: usize| rules.trace.order(sequence[k]);
    let mut sources = Vec::new();
    let mut write = last_write(rules, &sequence[..read], x);
    while let Some(w) = write.filter(|&w| rules.op(sequence[w]).is_atomic()) {
        if order(w).releases() {
            sources.push(w);
        }
        sources.extend((0..w).filter(|&f| same_thread(f, w) && is_fence(f) && order(f).releases()));
        // An update continues the release sequences of the write that it reads.
        write =
            if rules.op(sequence[w]).reads() { last_write(rules, &sequence[..w], x) } else { None };
    }
    let fences = (read + 1..sequence.len())
        .filter(|&f| same_thread(f, read) && is_fence(f) && order(f).acquires());
    let own = order(read).acquires().then_some(read);
    let sinks: Vec<usize> = own.into_iter().chain(fences).collect();
    let edges = sources.iter().flat_map(|&s| sinks.iter().map(move |&t| (s, t)));
    edges.filter(|(s, t)| s < t).collect()
}

/// The pairs of a sequence, its last event among them, that race without an order.
pub(crate) fn of_sequence(rules: &Rules, sequence: &[EventId], found: &mut BTreeSet<[EventId; 2]>) {
    let Some((&b, rest)) = sequence.split_last() else { return };
    let before = happens_before(rules, sequence);
    let j = rest.len();
    for (i, &a) in rest.iter().enumerate() {
        // That the one sees the other is the race, and no reason against it.
        let ordered = match sees(rules, sequence, i, j) {
            true => (i + 1..j).any(|k| before[i][k] && before[k][j]),
            false => before[i][j],
        };
        if may_race(rules, a, b) && !ordered {
            found.insert([a.min(b), a.max(b)]);
        }
    }
}

fn may_race(rules: &Rules, a: EventId, b: EventId) -> bool {
    rules.conflict(a, b) && !(rules.op(a).is_atomic() && rules.op(b).is_atomic())
}

/// Last write of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
enum Last {
    #[default]
    None,
    /// The write `a` itself.
    Source,
    /// Whether `a` happens before it.
    Plain(bool),
    /// Whether `a` happens before the head of a release sequence that it is in.
    Atomic(bool),
}

/// Whether `a` happens before the next use of each thread and object.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Flags {
    thread: Vec<bool>,
    release_fence: Vec<bool>,
    acquire_fence: Vec<bool>,
    /// By lock: the writer side and the reader side.
    lock: Vec<[bool; 2]>,
    /// By lock and thread: the hold of each side, by the acquire that started it.
    hold: Vec<[bool; 2]>,
    post: Vec<bool>,
    notify: Vec<bool>,
    /// By barrier and generation.
    arrive: BTreeSet<(u32, u32)>,
    last: Vec<Last>,
    chain: Vec<bool>,
}

/// The pairs that some feasible sequence leaves without an order, adjacent races among them;
/// `None` if that takes more than `max_states` states.
pub(crate) fn unordered(rules: &Rules, max_states: usize) -> Option<BTreeSet<[EventId; 2]>> {
    let mut found = BTreeSet::new();
    for a in rules.trace.ids() {
        if rules.trace.ids().any(|b| may_race(rules, a, b)) {
            from(rules, a, max_states, &mut found)?;
        }
    }
    Some(found)
}

/// The pairs of `a` with a later event.
fn from(
    rules: &Rules,
    a: EventId,
    max_states: usize,
    found: &mut BTreeSet<[EventId; 2]>,
) -> Option<()> {
    let (trace, threads) = (rules.trace, rules.threads.len());
    let flags = Flags {
        thread: vec![false; threads],
        release_fence: vec![false; threads],
        acquire_fence: vec![false; threads],
        lock: vec![[false; 2]; trace.lock_count()],
        hold: vec![[false; 2]; trace.lock_count() * threads],
        post: vec![false; trace.semaphore_count()],
        notify: vec![false; trace.condition_count()],
        arrive: BTreeSet::new(),
        last: vec![Last::None; trace.variable_count()],
        chain: vec![false; trace.variable_count()],
    };
    let mut known: FxHashSet<(State, Flags)> = FxHashSet::default();
    let mut pending = vec![(rules.start(), flags)];
    while let Some((state, flags)) = pending.pop() {
        for (e, after) in rules.steps(&state) {
            let mut flags = flags.clone();
            let ordered = flags.run(rules, &state, &after, a, e);
            if rules.has_run(&state, a) && !ordered && may_race(rules, a, e) {
                found.insert([a.min(e), a.max(e)]);
            }
            let next = (after, flags);
            if !known.contains(&next) {
                known.insert(next.clone());
                pending.push(next);
            }
        }
        if known.len() > max_states {
            return None;
        }
    }
    Some(())
}

impl Flags {
    /// Takes a step; says whether `a` happens before the event.
    fn run(&mut self, rules: &Rules, from: &State, to: &State, a: EventId, e: EventId) -> bool {
        let trace = rules.trace;
        let t = trace.thread(e);
        let kind = rules.events[e.index()].kind;
        let order = trace.order(e);
        let mut ordered = self.thread[t.index()];
        let mut sees_a = false;
        if let Some((l, reader)) = acquire_of(kind).filter(|(l, _)| !trace.is_order_only(*l)) {
            let [writers, readers] = self.lock[l.index()];
            ordered |= writers || readers && !reader;
        }
        match kind {
            EventKind::Join { thread } => ordered |= self.thread[thread.index()],
            EventKind::Down { sem } => ordered |= self.post[sem.index()],
            EventKind::Woken { cond, .. } => ordered |= self.notify[cond.index()],
            EventKind::Leave { barrier } => {
                let generation = rules.generation(from, t, barrier);
                ordered |= self.arrive.contains(&(barrier.0, generation));
            }
            EventKind::TryFailed { lock } => ordered |= self.held(rules, from, t, lock, true),
            EventKind::TryFailedShared { lock } => {
                ordered |= self.held(rules, from, t, lock, false);
            }
            EventKind::Fence if order.acquires() => ordered |= self.acquire_fence[t.index()],
            EventKind::Read { var, atomic: false, .. } => {
                ordered |= self.last[var.index()] == Last::Plain(true);
                sees_a = self.last[var.index()] == Last::Source;
            }
            EventKind::Read { var, .. } | EventKind::Update { var, .. } => {
                if self.last[var.index()] == Last::Atomic(true) {
                    self.acquire_fence[t.index()] = true;
                    ordered |= order.acquires();
                }
                ordered |= rules.op(e).writes() && self.chain[var.index()];
            }
            _ => {}
        }
        let after = ordered || sees_a || e == a;
        self.thread[t.index()] = after;
        self.passes_on(rules, to, (a, e), after);
        if let Some((l, reader)) = acquire_of(kind)
            && !rules.holds(from, t, l, reader)
        {
            self.hold[l.index() * rules.threads.len() + t.index()][usize::from(reader)] = after;
        }
        ordered
    }

    /// The events that later uses of the event's object come after.
    fn passes_on(&mut self, rules: &Rules, to: &State, (a, e): (EventId, EventId), after: bool) {
        let trace = rules.trace;
        let t = trace.thread(e);
        let kind = rules.events[e.index()].kind;
        let order = trace.order(e);
        if let Some((l, reader)) = release_of(kind) {
            self.lock[l.index()][usize::from(reader)] |= after;
        }
        let head = order.releases() && after || self.release_fence[t.index()];
        match kind {
            EventKind::Fork { thread } => self.thread[thread.index()] |= after,
            EventKind::Post { sem } => self.post[sem.index()] |= after,
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                self.notify[cond.index()] |= after;
            }
            EventKind::Arrive { barrier } if after => {
                self.arrive.insert((barrier.0, rules.generation(to, t, barrier)));
            }
            EventKind::Fence if order.releases() => self.release_fence[t.index()] = after,
            EventKind::Write { var, atomic: true, .. } => {
                self.last[var.index()] = Last::Atomic(head);
            }
            EventKind::Update { var, .. } => {
                let continued = self.last[var.index()] == Last::Atomic(true);
                self.last[var.index()] = Last::Atomic(head || continued);
                self.chain[var.index()] |= after && trace.is_opaque(var);
            }
            EventKind::Write { .. } | EventKind::Free { .. } => {
                for x in trace.accessed_variables(e) {
                    self.last[x.index()] = if e == a { Last::Source } else { Last::Plain(after) };
                }
            }
            _ => {}
        }
    }

    /// Whether another thread that makes a try fail has held the lock since after `a`.
    fn held(
        &self,
        rules: &Rules,
        state: &State,
        me: ThreadId,
        l: LockId,
        readers_count: bool,
    ) -> bool {
        let threads = (0..rules.threads.len()).map(ThreadId::from_index);
        threads.filter(|&t| t != me).any(|t| {
            let since = self.hold[l.index() * rules.threads.len() + t.index()];
            since[0] && rules.holds(state, t, l, false)
                || readers_count && since[1] && rules.holds(state, t, l, true)
        })
    }
}
