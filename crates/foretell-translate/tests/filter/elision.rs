//! Elided accesses make no finding wrong: on many random runs, recorded with all accesses and with
//! elision as in the runtime.

use std::collections::{BTreeMap, BTreeSet};

use foretell_ownership::elision::{Context, Elider, ElisionWord, Gap};

use super::*;

/// An operation of a thread.
#[derive(Clone, Copy, Debug)]
enum Op {
    Create(u32),
    End,
    Join(u32),
    Sync(SyncKind, u64, u64),
    Alloc(u64, u64),
    Free(u64, u64),
    Access { addr: u64, size: u64, write: bool, atomic: bool, value: u64 },
    Range { addr: u64, len: u64, write: bool, byte: u8 },
}

/// A run in the making.
struct Run {
    r: Random,
    ops: Vec<(u32, Op)>,
    memory: BTreeMap<u64, u8>,
    living: Vec<u32>,
    created: u32,
    /// Owners of two locks.
    locks: [Option<u32>; 2],
    /// Threads that wait for the condition.
    waiting: Vec<u32>,
    /// Threads that were woken and need the lock.
    woken: Vec<u32>,
    /// Whether the block of memory is allocated.
    block: bool,
}

const LOCKS: u64 = 0x5000;
const CONDITION: u64 = 0x5100;
const BLOCK: (u64, u64) = (0x2000, 16);

fn value(memory: &BTreeMap<u64, u8>, addr: u64, size: u64) -> u64 {
    let byte = |i| u64::from(memory.get(&(addr + i)).copied().unwrap_or(0));
    (0..size).rev().fold(0, |value, i| value << 8 | byte(i))
}

impl Run {
    fn access(&mut self, thread: u32, addr: u64, size: u64, write: bool, atomic: bool) {
        if write {
            let value = self.r.below(3) as u8;
            (0..size)
                .for_each(|i| _ = self.memory.insert(addr + i, if i == 0 { value } else { 0 }));
        }
        let value = value(&self.memory, addr, size);
        self.ops.push((thread, Op::Access { addr, size, write, atomic, value }));
    }

    fn range(&mut self, thread: u32, addr: u64, len: u64, write: bool, byte: u8) {
        if write {
            (addr..addr + len).for_each(|a| _ = self.memory.insert(a, byte));
        }
        self.ops.push((thread, Op::Range { addr, len, write, byte }));
    }

    /// Lets a thread do something that it can do.
    fn step(&mut self) {
        let free: Vec<u32> =
            self.living.iter().copied().filter(|t| !self.waiting.contains(t)).collect();
        if free.is_empty() {
            return;
        }
        let thread = self.r.of(&free);
        if let Some(at) = self.woken.iter().position(|&t| t == thread) {
            if self.locks[0].is_none() {
                self.woken.remove(at);
                self.locks[0] = Some(thread);
                self.ops.push((thread, Op::Sync(SyncKind::Woken, CONDITION, LOCKS)));
            }
            return;
        }
        let lock = self.r.below(2) as usize;
        let object = LOCKS + 8 * lock as u64;
        let idle = |t: u32, run: &Run| {
            !run.locks.contains(&Some(t)) && !run.waiting.contains(&t) && !run.woken.contains(&t)
        };
        match self.r.below(26) {
            0 | 1 if self.created < 4 => {
                self.ops.push((thread, Op::Create(self.created)));
                self.living.push(self.created);
                self.created += 1;
            }
            2 => {
                let ended = self.r.of(&self.living);
                if ended != 0 && ended != thread && idle(ended, self) {
                    self.living.retain(|&t| t != ended);
                    self.ops.push((ended, Op::End));
                    if self.r.below(3) > 0 {
                        self.ops.push((thread, Op::Join(ended)));
                    }
                }
            }
            3 | 4 if self.locks[lock].is_none() => {
                self.locks[lock] = Some(thread);
                self.ops.push((thread, Op::Sync(SyncKind::Lock, object, 0)));
            }
            5..=7 if self.locks[lock] == Some(thread) => {
                self.locks[lock] = None;
                self.ops.push((thread, Op::Sync(SyncKind::Unlock, object, 0)));
            }
            8 if self.locks[0] == Some(thread) => {
                self.locks[0] = None;
                self.waiting.push(thread);
                self.ops.push((thread, Op::Sync(SyncKind::Wait, CONDITION, LOCKS)));
            }
            9 if !self.waiting.is_empty() => {
                self.woken.append(&mut self.waiting);
                self.ops.push((thread, Op::Sync(SyncKind::Broadcast, CONDITION, 0)));
            }
            10 => {
                self.block = !self.block;
                let (addr, size) = BLOCK;
                let op = if self.block { Op::Alloc(addr, size) } else { Op::Free(addr, size) };
                self.ops.push((thread, op));
                if self.block {
                    self.range(thread, addr, size, true, 0);
                }
            }
            11 => {
                let (addr, len) = (0x1000 + self.r.below(16), 1 + self.r.below(12));
                let (write, byte) = (self.r.below(2) > 0, self.r.below(2) as u8);
                self.range(thread, addr, len, write, byte);
            }
            _ => {
                // Words that one thread often uses alone for a while, parts of them, and a few that
                // all threads use.
                let word = match self.r.below(8) {
                    0 => 0x1000 + 8 * self.r.below(3),
                    1 if self.block => BLOCK.0 + 8 * self.r.below(2),
                    _ => 0x1000 + 8 * (u64::from(thread) % 3),
                };
                let size = self.r.of(&[8, 8, 4, 1]);
                let addr = word + if size == 8 { 0 } else { 4 * self.r.below(2) };
                let (reads, atomic) = (self.r.below(2), self.r.below(24) == 0);
                for _ in 0..1 + self.r.below(5) {
                    let write = self.r.below(4) < 1 + 2 * reads;
                    self.access(thread, addr, size, write, atomic);
                }
            }
        }
    }
}

fn random_run(seed: u64) -> Vec<(u32, Op)> {
    let mut run = Run {
        r: Random::new(seed ^ 0xca11),
        ops: Vec::new(),
        memory: BTreeMap::new(),
        living: vec![0],
        created: 1,
        locks: [None; 2],
        waiting: Vec::new(),
        woken: Vec::new(),
        block: false,
    };
    // The first thread writes everything, so that both recordings know the initial values.
    run.range(0, 0x1000, 48, true, 0);
    for _ in 0..16 + run.r.below(24) {
        run.step();
    }
    run.ops
}

/// Writer of the log of a run, with elision as in the runtime if there is an `elider`.
struct Recorder {
    w: Writer,
    elider: Option<Elider>,
    words: BTreeMap<u64, ElisionWord>,
    memory: BTreeMap<u64, u8>,
    /// Number of steps of each thread.
    steps: [u64; 8],
    /// Number of elided steps since the last record of each thread, and the slot key of the last.
    unlogged: [(u64, u64); 8],
    /// Number of all elided steps of each thread.
    elided: [u64; 8],
    /// Number of recorded accesses among the elided ones of each thread.
    between: [u64; 8],
    /// Sum of `elided` and `between` at the last elision point of each thread.
    at_last_point: [u64; 8],
    post_release_budget: [u32; 8],
    created: u32,
    ended: BTreeSet<u32>,
    /// Number of switches of the running thread.
    turns: u64,
    /// Key of the last order after elision points, to avoid duplicates.
    last_order: Option<(u32, u64, u64, Option<u32>, bool)>,
    /// Number of unordered elision gaps.
    gaps: usize,
}

impl Recorder {
    fn flush(&mut self, thread: u32) {
        let (count, key) = std::mem::take(&mut self.unlogged[thread as usize]);
        if count > 0 {
            self.w.put(&Record::Elided { count, key });
        }
    }

    fn elision_point(&mut self, thread: u32) {
        let (i, running) = (thread as usize, self.w.thread);
        let hidden = self.elided[i] + self.between[i];
        if hidden == self.at_last_point[i] {
            return;
        }
        self.w.switch(thread);
        self.flush(thread);
        self.w.put(&Record::ElisionPoint);
        self.at_last_point[i] = hidden;
        self.w.switch(running);
    }

    fn order_after(&mut self, me: u32, holder: Option<u32>, ongoing: bool) {
        let step = if holder.is_some_and(|h| h != me) { 0 } else { self.steps[me as usize] };
        let key = Some((me, self.turns, step, holder, ongoing));
        if self.last_order == key {
            return;
        }
        self.last_order = key;
        for other in holder.map_or(0..self.created, |h| h..h + 1) {
            let elider = self.elider.as_mut().unwrap();
            if other != me && elider.clock.knows_all_of(me, other) {
                continue;
            }
            if ongoing && !self.ended.contains(&other) {
                self.elision_point(other);
            }
            if self.at_last_point[other as usize] > 0 {
                self.w.put(&Record::AfterElisionPoint { thread: other });
            }
        }
    }

    /// Accesses words. Returns whether the access needs no record.
    fn access(&mut self, me: u32, addr: u64, len: u64, write: bool, shares: bool) -> bool {
        let (mut elided, mut among_elided) = (true, false);
        for word in addr / 8..(addr + len).div_ceil(8) {
            let budget = &mut self.post_release_budget[me as usize];
            let context = Context { active: true, post_release: *budget > 0 };
            *budget = budget.saturating_sub(1);
            let Some(elider) = &mut self.elider else { return false };
            let elision_word = self.words.entry(word).or_insert(ElisionWord::FRESH);
            let outcome = if shares {
                elider.share(*elision_word)
            } else {
                elider.access(*elision_word, me, write, context)
            };
            *elision_word = outcome.next;
            elided &= outcome.elided;
            among_elided |= outcome.elided | outcome.among_elided;
            if let Some(Gap { ordered, holder, wrote, ongoing, renews }) = outcome.gap {
                if !ordered {
                    self.order_after(me, holder, ongoing);
                    self.gaps += 1;
                }
                let (writes, addr, value) =
                    (write, word * 8, Some(value(&self.memory, word * 8, 8)));
                let record =
                    Record::ElisionGap { holder, ordered, wrote, renews, writes, addr, value };
                self.w.put(&record);
            }
        }
        self.between[me as usize] += u64::from(among_elided && !elided);
        elided
    }

    fn op(&mut self, at: usize, me: u32, op: Op) {
        if self.w.thread != me {
            self.turns += 1;
        }
        self.w.switch(me);
        let pc = 0x40_0000 + 16 * (at as u64 % 40);
        let counted = !matches!(op, Op::End | Op::Alloc(..));
        if let Op::Access { addr, size, write, atomic: false, .. } = op {
            let quick =
                self.post_release_budget[me as usize] == 0 && self.elides(me, addr / 8, write);
            if quick || self.flush_and_access(me, addr, size, write) {
                return self.elide(me, slot_key(pc, AccessCode::of_size(size as usize, write)));
            }
        } else if let Op::Range { addr, len, write, .. } = op {
            if self.flush_and_access(me, addr, len, write) {
                return self.elide(me, slot_key(pc, AccessCode::range(write)));
            }
        } else {
            self.flush(me);
        }
        self.steps[me as usize] += u64::from(counted);
        let released = match op {
            Op::Create(_) | Op::End | Op::Access { write: true, atomic: true, .. } => true,
            Op::Sync(kind, ..) => {
                !matches!(kind, SyncKind::Lock | SyncKind::Woken | SyncKind::Down)
            }
            _ => false,
        };
        if released && self.elider.is_some() {
            self.elision_point(me);
            self.post_release_budget[me as usize] = 2;
        }
        match op {
            Op::Create(thread) => {
                self.created = thread + 1;
                self.elider.iter_mut().for_each(|elider| elider.clock.create(me, thread));
                self.w.put(&Record::Create { thread, nth: thread - 1, pc, routine: 1 });
            }
            Op::End => {
                self.w.put(&Record::ThreadEnd);
                self.ended.insert(me);
            }
            Op::Join(thread) => {
                self.elider.iter_mut().for_each(|elider| elider.clock.join(me, thread));
                self.w.put(&Record::Join { thread, pc });
            }
            Op::Sync(kind, object, other) => self.w.put(&Record::Sync { kind, pc, object, other }),
            Op::Alloc(addr, size) => {
                (addr / 8..(addr + size) / 8).for_each(|word| _ = self.words.remove(&word));
                self.w.put(&Record::Alloc { pc, addr, size });
            }
            Op::Free(addr, size) => {
                for word in addr / 8..(addr + size) / 8 {
                    if self.words.contains_key(&word) {
                        self.access(me, word * 8, 8, true, false);
                    }
                }
                self.w.put(&Record::Free { counted: true, pc, addr, size });
            }
            Op::Access { addr, size, write, atomic: true, value } => {
                self.access(me, addr, size, true, true);
                let kind = if write { AtomicKind::Store } else { AtomicKind::Load };
                let (old, new) = if write { ([0; 2], [value, 0]) } else { ([value, 0], [0; 2]) };
                let size = size as u8;
                self.w.put(&Record::Atomic { kind, size, order: 5, pc, addr, old, new });
            }
            Op::Access { addr, size, write, value, .. } => {
                self.w.compact(pc, AccessCode::of_size(size as usize, write), addr, value);
            }
            Op::Range { addr, len, write, byte } => {
                let kind = if write { AccessKind::Write } else { AccessKind::Read };
                // The values of a read range are unknown.
                let data = vec![byte; if write { len as usize } else { 0 }];
                self.w.put(&Record::Range { kind, pc, addr, len, data: &data });
            }
        }
    }

    /// Whether the fast path elides an access to a word.
    fn elides(&mut self, me: u32, word: u64, write: bool) -> bool {
        let Some(elider) = &mut self.elider else { return false };
        let word = self.words.get(&word).copied().unwrap_or(ElisionWord::FRESH);
        let pattern = ElisionWord::read_pattern(elider.clock.epoch(me));
        // SAFETY: `known` is a reference.
        unsafe { word.elides(pattern, write, elider.clock.known(me).as_bytes()) }
    }

    /// Logs the number of elided accesses, then accesses words.
    fn flush_and_access(&mut self, me: u32, addr: u64, len: u64, write: bool) -> bool {
        self.flush(me);
        self.access(me, addr, len, write, false)
    }

    /// Applies an operation to memory.
    fn write(&mut self, op: Op) {
        match op {
            Op::Access { addr, size, write: true, value, .. } => {
                let bytes = value.to_le_bytes();
                (0..size).for_each(|i| _ = self.memory.insert(addr + i, bytes[i as usize]));
            }
            Op::Range { addr, len, write: true, byte } => {
                (addr..addr + len).for_each(|a| _ = self.memory.insert(a, byte));
            }
            _ => {}
        }
    }

    fn elide(&mut self, me: u32, key: u64) {
        let (count, last) = &mut self.unlogged[me as usize];
        (*count, *last) = (*count + 1, key);
        self.steps[me as usize] += 1;
        self.elided[me as usize] += 1;
    }
}

fn recorded(ops: &[(u32, Op)], threshold: Option<u32>, seed: u64) -> Recorder {
    let mut recorder = Recorder {
        w: Writer::new(),
        elider: threshold.map(Elider::with_threshold),
        words: BTreeMap::new(),
        memory: BTreeMap::new(),
        steps: [0; 8],
        unlogged: [(0, 0); 8],
        elided: [0; 8],
        between: [0; 8],
        at_last_point: [0; 8],
        post_release_budget: [0; 8],
        created: 1,
        ended: BTreeSet::new(),
        turns: 0,
        last_order: None,
        gaps: 0,
    };
    let mut r = Random::new(seed);
    for (at, &(thread, op)) in ops.iter().enumerate() {
        if r.below(16) == 0 {
            recorder.w.chunk();
        }
        recorder.op(at, thread, op);
        recorder.write(op);
    }
    for thread in 0..recorder.created {
        recorder.w.switch(thread);
        recorder.flush(thread);
    }
    recorder
}

/// Counts over several runs.
#[derive(Default)]
struct Tally {
    elided: u64,
    gaps: usize,
    found: usize,
    missed: usize,
}

/// Checks that every finding with elision is one without elision too, and that both traces are the
/// same whether the log is filtered or not.
fn check(ops: &[(u32, Op)], threshold: u32, seed: u64, tally: &mut Tally) {
    let (all, some) = (recorded(ops, None, seed), recorded(ops, Some(threshold), seed));
    tally.elided += some.elided.iter().sum::<u64>();
    tally.gaps += some.gaps;
    let log = Log::parse(&all.w.bytes).unwrap();
    let whole = translate(&log, &Blocks::default());
    let log = Log::parse(&some.w.bytes).unwrap();
    let unfiltered = translate(&log, &Blocks::default());
    let (part, _) = filtered(&log, &Blocks::default());
    assert_same(&part, &unfiltered, seed);
    assert_eq!(part.steps, unfiltered.steps, "seed {seed}");
    assert_eq!((part.accesses, whole.repairs.len()), (whole.accesses, 0), "seed {seed}");
    assert!(part.repairs.is_empty() && !part.damaged, "seed {seed}");
    for model in [Model::View, Model::Value] {
        let (whole, part) = (findings(&whole, model), findings(&part, model));
        for (whole, part) in whole.iter().zip(&part) {
            let extra: Vec<_> = part.difference(whole).collect();
            assert!(extra.is_empty(), "seed {seed} {model:?} after {threshold}: {extra:?}");
            tally.found += part.len();
            tally.missed += whole.len() - part.len();
        }
    }
}

#[test]
fn elided_accesses_make_no_finding_wrong() {
    let mut tally = Tally::default();
    for seed in 0..SEEDS {
        check(&random_run(seed), 1 + seed as u32 % 3, seed, &mut tally);
    }
    let Tally { elided, gaps, found, missed } = tally;
    assert!(
        elided > 20 * SEEDS && gaps > SEEDS as usize / 2 && found > SEEDS as usize && missed > 0,
        "{elided} {gaps} {found} {missed}"
    );
}

const SEEDS: u64 = 400;

fn plain(addr: u64, write: bool, value: u64) -> Op {
    Op::Access { addr, size: 8, write, atomic: false, value }
}

/// Checks a run of two or more threads with words that are 0 at first.
fn two_threads(ops: &[(u32, Op)]) -> Tally {
    let mut tally = Tally::default();
    let before = [(0, Op::Range { addr: X, len: 32, write: true, byte: 0 }), (0, Op::Create(1))];
    check(&[&before[..], ops].concat(), 1, 1, &mut tally);
    assert!(tally.elided > 0 && tally.gaps > 0);
    tally
}

const X: u64 = 0x1000;
const Y: u64 = 0x1008;
const U: u64 = 0x1010;
const V: u64 = 0x1018;

/// The last write before the other thread reads has a record, and the accesses before it are
/// elided. The write of `Y` is after it.
#[test]
fn record_among_elided_accesses_stays_before_what_follows() {
    two_threads(&[
        (1, plain(Y, true, 1)),
        (1, plain(X, false, 0)),
        (1, plain(X, false, 0)),
        (1, plain(X, true, 1)),
        (0, plain(X, false, 1)),
        (0, plain(Y, true, 2)),
    ]);
}

/// A write of two words has a record because of one of them; the other is elided.
#[test]
fn record_because_of_another_word_stays_before_what_follows() {
    two_threads(&[
        (0, plain(X, true, 1)),
        (1, plain(Y, true, 1)),
        (1, plain(Y, true, 1)),
        (1, plain(Y, true, 1)),
        (1, Op::Range { addr: X, len: 16, write: true, byte: 0 }),
        (0, plain(Y, false, 0)),
        (0, plain(X, true, 2)),
    ]);
}

/// A read before all writes of the word's new variable reads the content at the gap.
#[test]
fn read_after_a_gap_reads_the_content_at_the_gap() {
    two_threads(&[
        (1, plain(X, true, 0)),
        (1, plain(X, true, 0)),
        (1, plain(X, true, 0)),
        (0, plain(X, true, 0)),
        (1, plain(X, false, 0)),
    ]);
}

/// Accesses after a release are recorded: a race with one of them is found.
#[test]
fn accesses_after_a_post_are_recorded() {
    let post = Op::Sync(SyncKind::Post, 0x6000, 0);
    let down = Op::Sync(SyncKind::Down, 0x6000, 0);
    let write = (1, plain(X, true, 0));
    let tally =
        two_threads(&[write, write, write, (1, post), write, (0, down), (0, plain(X, false, 0))]);
    assert!(tally.found > 0);
}

/// A thread is joined after it has elided accesses to a word that its joiner uses then. A third
/// thread, to which the join orders nothing, comes after the first all the same: so does its write
/// of `Y`.
#[test]
fn gap_before_a_join_is_kept_for_a_third_thread() {
    let write = (1, plain(X, true, 1));
    two_threads(&[
        (0, Op::Create(2)),
        (1, plain(Y, true, 1)),
        write,
        write,
        write,
        (1, Op::End),
        (0, Op::Join(1)),
        (0, plain(X, false, 1)),
        (2, plain(X, false, 1)),
        (2, plain(Y, true, 2)),
    ]);
}

/// A thread elides reads of `X`, and has records of it again after a release. The block of the
/// other thread, which writes `X`, cannot be between its writes of `V` and `U`: the elided reads in
/// between would have read another value.
#[test]
fn gap_before_a_release_is_kept() {
    let read = (1, plain(X, false, 0));
    two_threads(&[
        read,
        (1, plain(V, true, 1)),
        read,
        read,
        (1, plain(U, true, 1)),
        (1, Op::Sync(SyncKind::Broadcast, CONDITION, 0)),
        read,
        (0, Op::Sync(SyncKind::Lock, LOCKS, 0)),
        (0, plain(X, true, 5)),
        (0, plain(V, true, 2)),
        (0, plain(U, true, 2)),
        (0, Op::Sync(SyncKind::Unlock, LOCKS, 0)),
    ]);
}
