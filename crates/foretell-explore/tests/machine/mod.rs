//! A small machine for random programs, which can be driven along a lead, and the brute-force
//! enumeration of all its schedules.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use foretell_explore::{Ended, Lead, Pending, Program, Run};
use foretell_trace::{EventId, EventKind, LockId, ThreadId, Trace, TraceBuilder, Value};

/// Number of variables and of locks.
const VARIABLES: usize = 6;
const LOCKS: usize = 3;

/// An instruction. Each thread has one register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Do {
    /// The register becomes the value of the variable.
    Read(usize),
    /// The variable becomes a constant.
    Set(usize, i64),
    /// The variable becomes the register plus a constant.
    Put(usize, i64),
    /// Adds to the variable in one step; the register becomes its old value.
    Add(usize, i64),
    Lock(usize),
    Unlock(usize),
    /// Takes a lock, or skips so many instructions.
    Try(usize, usize),
    /// Skips so many instructions unless the register has this value.
    Unless(i64, usize),
    /// Skips back so many instructions unless the register has this value: a spin.
    BackUnless(i64, usize),
    Post(usize),
    Down(usize),
    /// Waits for a notification of the condition, with lock 0.
    Wait(usize),
    /// Waits like `Wait`; skips so many instructions if the wait times out.
    TimedWait(usize, usize),
    Notify(usize),
    NotifyAll(usize),
}

/// A program: the code of each thread.
#[derive(Clone, Debug)]
pub(crate) struct Code(pub(crate) Vec<Vec<Do>>);

/// Observations of a thread, in order, each with its instruction.
pub(crate) type Observed = Vec<Vec<(usize, i64)>>;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct State {
    pc: Vec<usize>,
    register: Vec<i64>,
    memory: [i64; VARIABLES],
    owner: [Option<usize>; LOCKS],
    semaphores: [u32; 2],
    /// Waiting threads: the condition, and whether it was notified.
    waits: Vec<Option<(usize, bool)>>,
    pub(crate) observed: Observed,
}

impl State {
    pub(crate) fn new(code: &Code) -> State {
        let n = code.0.len();
        State {
            pc: vec![0; n],
            register: vec![0; n],
            memory: [0; VARIABLES],
            owner: [None; LOCKS],
            semaphores: [0; 2],
            waits: vec![None; n],
            observed: vec![Vec::new(); n],
        }
    }

    /// Runs instructions that are no events.
    fn settle(&mut self, code: &Code, t: usize) {
        loop {
            match code.0[t].get(self.pc[t]) {
                Some(&Do::Unless(value, skip)) => {
                    self.pc[t] += if self.register[t] == value { 1 } else { 1 + skip };
                }
                Some(&Do::BackUnless(value, back)) => {
                    self.pc[t] =
                        if self.register[t] == value { self.pc[t] + 1 } else { self.pc[t] - back };
                }
                _ => return,
            }
        }
    }

    pub(crate) fn next(&mut self, code: &Code, t: usize) -> Option<Do> {
        self.settle(code, t);
        code.0[t].get(self.pc[t]).copied()
    }

    pub(crate) fn enabled(&mut self, code: &Code, t: usize) -> bool {
        let next = self.next(code, t);
        if let Some((_, notified)) = self.waits[t] {
            let may_end = notified || matches!(next, Some(Do::TimedWait(..)));
            return may_end && self.owner[0].is_none();
        }
        match next {
            None => false,
            Some(Do::Lock(l)) => self.owner[l].is_none(),
            Some(Do::Down(s)) => self.semaphores[s] > 0,
            _ => true,
        }
    }

    /// Runs the next event of a thread; for a notification, `pick` of the waiters is woken.
    pub(crate) fn step(&mut self, code: &Code, t: usize, pick: usize, out: Option<&mut Recorder>) {
        let what = self.next(code, t).unwrap();
        let at = self.pc[t];
        let mut kind = None;
        if let Some((_, notified)) = self.waits[t].take() {
            self.owner[0] = Some(t);
            self.pc[t] += 1;
            if let Do::TimedWait(_, skip) = what {
                self.observed[t].push((at, i64::from(notified)));
                self.pc[t] += if notified { 0 } else { skip };
            }
            if let Some(out) = out {
                out.push(t, at, what, i64::from(notified), 0, true);
            }
            return;
        }
        let (mut old, mut new) = (0, 0);
        match what {
            Do::Read(x) => {
                old = self.memory[x];
                self.register[t] = old;
                kind = Some(old);
            }
            Do::Set(x, v) => {
                new = v;
                self.memory[x] = v;
            }
            Do::Put(x, v) => {
                new = self.register[t] + v;
                self.memory[x] = new;
            }
            Do::Add(x, v) => {
                old = self.memory[x];
                new = old + v;
                self.memory[x] = new;
                self.register[t] = old;
                kind = Some(old);
            }
            Do::Lock(l) => self.owner[l] = Some(t),
            Do::Unlock(l) => self.owner[l] = None,
            Do::Try(l, skip) => {
                if self.owner[l].is_none() {
                    self.owner[l] = Some(t);
                    kind = Some(1);
                } else {
                    self.pc[t] += skip;
                    kind = Some(0);
                }
                old = kind.unwrap();
            }
            Do::Post(s) => self.semaphores[s] += 1,
            Do::Down(s) => self.semaphores[s] -= 1,
            Do::Wait(c) | Do::TimedWait(c, _) => {
                self.owner[0] = None;
                self.waits[t] = Some((c, false));
            }
            Do::NotifyAll(c) => {
                for wait in self.waits.iter_mut().flatten().filter(|wait| wait.0 == c) {
                    wait.1 = true;
                }
            }
            Do::Notify(_) => {
                if let Some(&u) = self.waiters(code, t).get(pick) {
                    self.waits[u].as_mut().unwrap().1 = true;
                }
            }
            Do::Unless(..) | Do::BackUnless(..) => unreachable!(),
        }
        if let Some(seen) = kind {
            self.observed[t].push((at, seen));
        }
        if let Some(out) = out {
            out.push(t, at, what, old, new, false);
        }
        if !matches!(what, Do::Wait(_) | Do::TimedWait(..)) {
            self.pc[t] += 1;
        }
    }

    /// The waiters that the next event of a thread may wake.
    pub(crate) fn waiters(&mut self, code: &Code, t: usize) -> Vec<usize> {
        let Some(Do::Notify(c)) = self.next(code, t) else { return Vec::new() };
        if self.waits[t].is_some() {
            return Vec::new();
        }
        (0..self.waits.len()).filter(|&u| self.waits[u] == Some((c, false))).collect()
    }

    fn pending(&mut self, code: &Code, out: &Recorder) -> Vec<(ThreadId, Pending)> {
        let mut pending = Vec::new();
        for t in 0..self.pc.len() {
            let what = match self.next(code, t) {
                Some(Do::Wait(c)) if self.waits[t].is_some() => {
                    Pending::Woken(out.conditions[c], out.locks[0])
                }
                Some(Do::TimedWait(c, _)) if self.waits[t].is_some() => {
                    Pending::EndOfWait(out.conditions[c], out.locks[0])
                }
                Some(Do::Lock(l)) => Pending::Acquire(out.locks[l]),
                Some(Do::Down(s)) => Pending::Down(out.semaphores[s]),
                _ => continue,
            };
            pending.push((out.threads[t], what));
        }
        pending
    }
}

/// Writer of the trace of a run.
pub(crate) struct Recorder {
    builder: TraceBuilder,
    threads: Vec<ThreadId>,
    locks: Vec<LockId>,
    conditions: Vec<foretell_trace::CondId>,
    semaphores: Vec<foretell_trace::SemId>,
    /// Ends of waits with a time limit.
    limited: Vec<EventId>,
}

impl Recorder {
    fn new(code: &Code) -> Recorder {
        let mut builder = TraceBuilder::new();
        let threads = (0..code.0.len()).map(|t| builder.thread(&format!("T{t}"))).collect();
        let locks = (0..LOCKS).map(|l| builder.lock(&format!("l{l}"))).collect();
        let conditions = (0..2).map(|c| builder.condition(&format!("c{c}"))).collect();
        let semaphores = (0..2).map(|s| builder.semaphore(&format!("s{s}"))).collect();
        for x in 0..VARIABLES {
            let var = builder.variable(&format!("x{x}"));
            let zero = builder.values().intern(Value::Int(0));
            builder.set_initial_value(var, zero);
        }
        Recorder { builder, threads, locks, conditions, semaphores, limited: Vec::new() }
    }

    fn push(&mut self, t: usize, at: usize, what: Do, old: i64, new: i64, woken: bool) {
        let b = &mut self.builder;
        let value = |b: &mut TraceBuilder, v: i64| Some(b.values().intern(Value::Int(v)));
        let kind = match what {
            Do::Read(x) => {
                let var = b.variable(&format!("x{x}"));
                let value = value(b, old);
                EventKind::Read { var, atomic: true, value, register: None }
            }
            Do::Set(x, _) | Do::Put(x, _) => {
                let var = b.variable(&format!("x{x}"));
                let value = value(b, new);
                EventKind::Write { var, atomic: true, value, expr: None }
            }
            Do::Add(x, _) => {
                let var = b.variable(&format!("x{x}"));
                let (old, new) = (value(b, old), value(b, new));
                EventKind::Update { var, old, new, register: None, expr: None }
            }
            Do::Lock(l) => EventKind::Acquire { lock: self.locks[l] },
            Do::Unlock(l) => EventKind::Release { lock: self.locks[l] },
            Do::Try(l, _) if old == 1 => EventKind::TryAcquire { lock: self.locks[l] },
            Do::Try(l, _) => EventKind::TryFailed { lock: self.locks[l] },
            Do::Post(s) => EventKind::Post { sem: self.semaphores[s] },
            Do::Down(s) => EventKind::Down { sem: self.semaphores[s] },
            Do::Wait(c) | Do::TimedWait(c, _) if woken && old == 1 => {
                EventKind::Woken { cond: self.conditions[c], lock: self.locks[0] }
            }
            Do::Wait(c) | Do::TimedWait(c, _) if woken => {
                EventKind::TimedOut { cond: self.conditions[c], lock: self.locks[0] }
            }
            Do::Wait(c) | Do::TimedWait(c, _) => {
                EventKind::Wait { cond: self.conditions[c], lock: self.locks[0] }
            }
            Do::NotifyAll(c) => EventKind::NotifyAll { cond: self.conditions[c] },
            Do::Notify(c) => EventKind::Notify { cond: self.conditions[c] },
            Do::Unless(..) | Do::BackUnless(..) => unreachable!(),
        };
        let location = format!("t{t}.c:{}", at + 1);
        let site = self.builder.site(&location, None);
        let event = self.builder.push(self.threads[t], kind, Some(site));
        if woken && matches!(what, Do::TimedWait(..)) {
            self.limited.push(event);
        }
    }
}

/// A program on the machine, with what its runs have shown.
pub(crate) struct Machine {
    pub(crate) code: Code,
    pub(crate) runs: Vec<Arc<Trace>>,
    /// Histories of the runs, and whether the run got stuck.
    pub(crate) shown: BTreeSet<(Observed, bool)>,
    pub(crate) departed: Vec<String>,
}

impl Machine {
    pub(crate) fn new(code: Code) -> Machine {
        Machine { code, runs: Vec::new(), shown: BTreeSet::new(), departed: Vec::new() }
    }
}

impl Program for Machine {
    type Error = std::convert::Infallible;

    fn run(&mut self, lead: Option<&Lead>) -> Result<Ended, Self::Error> {
        let code = self.code.clone();
        let mut state = State::new(&code);
        let mut out = Recorder::new(&code);
        if let Some(lead) = lead {
            let trace = &self.runs[lead.run];
            // Which waiter each notification wakes: the one that is woken first afterwards.
            let order: Vec<usize> = lead.events.iter().map(|&e| trace.thread(e).index()).collect();
            for (i, &t) in order.iter().enumerate() {
                if !state.enabled(&code, t) {
                    self.departed.push(format!("{:?} {:?}: thread {t} waits at {i}", code, order));
                    return Ok(Ended::Departed(format!("thread {t} waits")));
                }
                let waiters = state.waiters(&code, t);
                // Whether the event ends a wait, and how.
                let woken = |e: usize| {
                    let flipped = lead.flipped == Some(lead.events[e]);
                    match trace.event(lead.events[e]).kind {
                        EventKind::Woken { .. } => Some(!flipped),
                        EventKind::TimedOut { .. } => Some(flipped),
                        _ => None,
                    }
                };
                if woken(i).is_some() && woken(i) != state.waits[t].map(|(_, notified)| notified) {
                    self.departed.push(format!("{code:?} {order:?}: thread {t} at {i}"));
                    return Ok(Ended::Departed(format!("the wait of thread {t} ends otherwise")));
                }
                let end = |u: usize| {
                    let rest = i + 1..order.len();
                    rest.filter(|&e| order[e] == u).find_map(|e| woken(e).map(|w| (e, w)))
                };
                let pick = (0..waiters.len()).min_by_key(|&at| match end(waiters[at]) {
                    Some((e, true)) => (0, e),
                    None if lead.then.map(ThreadId::index) == Some(waiters[at]) => (1, 0),
                    None => (2, 0),
                    Some((e, false)) => (3, e),
                });
                state.step(&code, t, pick.unwrap_or(0), Some(&mut out));
            }
            if let Some(t) = lead.then.map(ThreadId::index).filter(|&t| state.enabled(&code, t)) {
                state.step(&code, t, 0, Some(&mut out));
            }
        }
        for _ in 0..200 {
            let next = (0..code.0.len()).find(|&t| state.enabled(&code, t));
            // A spin needs the other threads.
            let spins = |t: usize, state: &mut State| {
                matches!(
                    code.0[t].get(state.pc[t] + 1),
                    Some(&Do::BackUnless(value, _))
                        if matches!(state.next(&code, t), Some(Do::Read(x)) if state.memory[x] != value)
                )
            };
            let calm =
                (0..code.0.len()).find(|&t| state.enabled(&code, t) && !spins(t, &mut state));
            let Some(t) = calm.or(next) else { break };
            state.step(&code, t, 0, Some(&mut out));
        }
        let stuck = (0..code.0.len()).any(|t| state.next(&code, t).is_some());
        let pending = state.pending(&code, &out);
        let limited = std::mem::take(&mut out.limited);
        let trace = Arc::new(out.builder.build());
        self.runs.push(Arc::clone(&trace));
        self.shown.insert((collapsed(&state.observed), stuck));
        Ok(Ended::Run(Run {
            trace,
            pending,
            cut_short: None,
            shares_output: false,
            limited,
            unexplored: Vec::new(),
            failed: stuck,
        }))
    }
}

/// Observations with repeated ones of the same instruction left out where it spins.
pub(crate) fn collapsed(observed: &Observed) -> Observed {
    let mut out = observed.clone();
    for list in &mut out {
        list.dedup();
    }
    out
}

/// Results of all schedules, and the number of schedules.
pub(crate) fn brute(code: &Code) -> BTreeSet<(Observed, bool)> {
    let mut seen = HashSet::new();
    let mut found = BTreeSet::new();
    let mut work = vec![State::new(code)];
    while let Some(mut state) = work.pop() {
        for list in &mut state.observed {
            list.dedup();
        }
        for t in 0..code.0.len() {
            state.settle(code, t);
        }
        if !seen.insert(state.clone()) {
            continue;
        }
        let mut last = true;
        for t in 0..code.0.len() {
            if !state.enabled(code, t) {
                continue;
            }
            last = false;
            let picks = state.waiters(code, t).len().max(1);
            for pick in 0..picks {
                let mut after = state.clone();
                after.step(code, t, pick, None);
                work.push(after);
            }
        }
        if last {
            let stuck = (0..code.0.len()).any(|t| state.next(code, t).is_some());
            found.insert((state.observed.clone(), stuck));
        }
    }
    found
}

/// Random numbers from a seed.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// A random program: the flavour decides which instructions there are.
pub(crate) fn random(seed: u64, flavour: usize) -> Code {
    let mut rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xABCD);
    rng.below(2);
    let threads = 2 + usize::from(rng.below(4) == 0);
    let mut code = Vec::new();
    for _ in 0..threads {
        let mut list = Vec::new();
        let mut held: Vec<usize> = Vec::new();
        for _ in 0..2 + rng.below(if threads == 2 { 4 } else { 2 }) {
            let (x, v) = (rng.below(2), rng.below(3) as i64);
            match rng.below(match flavour {
                0 => 6,
                1 => 8,
                2 => 9,
                3 => 11,
                _ => 13,
            }) {
                0 | 1 => list.push(Do::Read(x)),
                2 => list.push(Do::Set(x, v)),
                3 => list.push(Do::Put(x, 1)),
                4 => list.push(Do::Add(x, 1)),
                5 => {
                    list.push(Do::Unless(v, 1));
                    list.push(Do::Set(x, 2));
                }
                6 | 7 => match held.pop() {
                    Some(l) => list.push(Do::Unlock(l)),
                    None => {
                        let l = rng.below(2);
                        held.push(l);
                        list.push(Do::Lock(l));
                        if rng.below(3) == 0 {
                            held.push(1 - l);
                            list.push(Do::Lock(1 - l));
                        }
                    }
                },
                8 => {
                    list.push(Do::Try(2, 2));
                    list.push(Do::Add(x, 1));
                    list.push(Do::Unlock(2));
                }
                11 | 12 if held.is_empty() => {
                    list.push(Do::Lock(0));
                    match rng.below(5) {
                        0 => list.push(Do::Notify(0)),
                        1 => list.push(Do::NotifyAll(0)),
                        2 => list.push(Do::Wait(0)),
                        _ => {
                            list.push(Do::TimedWait(0, 1));
                            list.push(Do::Add(x, 1));
                        }
                    }
                    list.push(Do::Unlock(0));
                }
                11 | 12 => list.push(Do::Notify(0)),
                9 => list.push(if rng.below(2) == 0 { Do::Post(0) } else { Do::Down(0) }),
                _ => {
                    if held.is_empty() {
                        list.push(Do::Lock(0));
                        list.push(if rng.below(2) == 0 { Do::Wait(0) } else { Do::Notify(0) });
                        list.push(Do::Unlock(0));
                    } else {
                        list.push(Do::Notify(0));
                    }
                }
            }
        }
        while let Some(l) = held.pop() {
            list.push(Do::Unlock(l));
        }
        code.push(list);
    }
    Code(code)
}

/// Number of results by whether they are stuck, for messages.
pub(crate) fn counts(results: &BTreeSet<(Observed, bool)>) -> BTreeMap<bool, usize> {
    let mut counts = BTreeMap::new();
    for (_, stuck) in results {
        *counts.entry(*stuck).or_default() += 1;
    }
    counts
}
