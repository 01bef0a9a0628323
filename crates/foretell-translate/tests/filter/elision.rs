//! Accesses without records make no finding wrong: on many random runs, recorded with all accesses and as the runtime would.

use std::collections::{BTreeMap, BTreeSet};

use foretell_ownership::elision::{Context, Elider, ElisionWord, Gap};

use super::*;

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Op {
    Create(u32),
    End,
    Join(u32),
    Sync(SyncKind, u64, u64),
    Given(u64, u64),
    Freed(u64, u64),
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
    /// Who owns each of two locks; who waits for the condition, and who is to wake.
    locks: [Option<u32>; 2],
    waiting: Vec<u32>,
    woken: Vec<u32>,
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

    /// One thing that a thread can do.
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
                let op = if self.block { Op::Given(addr, size) } else { Op::Freed(addr, size) };
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
                // Words that are often one thread's for a while; parts of them; a few are everybody's.
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
        r: Random(seed ^ 0xca11),
        ops: Vec::new(),
        memory: BTreeMap::new(),
        living: vec![0],
        created: 1,
        locks: [None; 2],
        waiting: Vec::new(),
        woken: Vec::new(),
        block: false,
    };
    // What is there at first is known, so that nobody knows more of it than others.
    run.range(0, 0x1000, 48, true, 0);
    for _ in 0..16 + run.r.below(24) {
        run.step();
    }
    run.ops
}

/// Writes the log of a run; as the runtime does if it passes over accesses.
struct Recorder {
    w: Writer,
    elider: Option<Elider>,
    words: BTreeMap<u64, ElisionWord>,
    memory: BTreeMap<u64, u8>,
    /// Of each thread: its steps, how many of the last have no record, and the last one of these.
    steps: [u64; 8],
    passed: [(u64, u64); 8],
    /// How many had no record, and how many of these are left behind; how long it watches.
    all_passed: [u64; 8],
    between: [u64; 8],
    left: [u64; 8],
    watches: [u32; 8],
    created: u32,
    ended: BTreeSet<u32>,
    /// Changes of the thread so far; who was last put after whom.
    turns: u64,
    last: Option<(u32, u64, u64, Option<u32>, bool)>,
    /// Words that were used with a gap before them, which create and join do not close.
    gaps: usize,
}

impl Recorder {
    fn flush(&mut self, thread: u32) {
        let (count, key) = std::mem::take(&mut self.passed[thread as usize]);
        if count > 0 {
            self.w.put(&Record::Elided { count, key });
        }
    }

    fn leave_behind(&mut self, thread: u32) {
        let (i, runs) = (thread as usize, self.w.thread);
        let hidden = self.all_passed[i] + self.between[i];
        if hidden == self.left[i] {
            return;
        }
        self.w.switch(thread);
        self.flush(thread);
        self.w.put(&Record::ElisionPoint);
        self.left[i] = hidden;
        self.w.switch(runs);
    }

    fn come_after(&mut self, me: u32, holder: Option<u32>, ongoing: bool) {
        let step = if holder.is_some_and(|h| h != me) { 0 } else { self.steps[me as usize] };
        let place = Some((me, self.turns, step, holder, ongoing));
        if self.last == place {
            return;
        }
        self.last = place;
        for other in holder.map_or(0..self.created, |h| h..h + 1) {
            let elider = self.elider.as_mut().unwrap();
            if other != me && elider.clock.knows_all_of(me, other) {
                continue;
            }
            if ongoing && !self.ended.contains(&other) {
                self.leave_behind(other);
            }
            if self.left[other as usize] > 0 {
                self.w.put(&Record::AfterElisionPoint { thread: other });
            }
        }
    }

    /// Whether an access needs no record.
    fn touch(&mut self, me: u32, addr: u64, len: u64, write: bool, shares: bool) -> bool {
        let (mut elided, mut among_elided) = (true, false);
        for word in addr / 8..(addr + len).div_ceil(8) {
            let watches = &mut self.watches[me as usize];
            let context = Context { active: true, post_release: *watches > 0 };
            *watches = watches.saturating_sub(1);
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
                    self.come_after(me, holder, ongoing);
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
        let counted = !matches!(op, Op::End | Op::Given(..));
        if let Op::Access { addr, size, write, atomic: false, .. } = op {
            let quick = self.watches[me as usize] == 0 && self.passes(me, addr / 8, write);
            if quick || self.touch_first(me, addr, size, write) {
                return self.pass(me, slot_key(pc, AccessCode::of_size(size as usize, write)));
            }
        } else if let Op::Range { addr, len, write, .. } = op {
            if self.touch_first(me, addr, len, write) {
                return self.pass(me, slot_key(pc, AccessCode::range(write)));
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
            self.leave_behind(me);
            self.watches[me as usize] = 2;
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
            Op::Given(addr, size) => {
                (addr / 8..(addr + size) / 8).for_each(|word| _ = self.words.remove(&word));
                self.w.put(&Record::Alloc { pc, addr, size });
            }
            Op::Freed(addr, size) => {
                for word in addr / 8..(addr + size) / 8 {
                    if self.words.contains_key(&word) {
                        self.touch(me, word * 8, 8, true, false);
                    }
                }
                self.w.put(&Record::Free { counted: true, pc, addr, size });
            }
            Op::Access { addr, size, write, atomic: true, value } => {
                self.touch(me, addr, size, true, true);
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
                // What is read is not known.
                let data = vec![byte; if write { len as usize } else { 0 }];
                self.w.put(&Record::Range { kind, pc, addr, len, data: &data });
            }
        }
    }

    /// Whether the claim of a word says that an access needs no record.
    fn passes(&mut self, me: u32, word: u64, write: bool) -> bool {
        let Some(elider) = &mut self.elider else { return false };
        let word = self.words.get(&word).copied().unwrap_or(ElisionWord::FRESH);
        let pattern = ElisionWord::read_pattern(elider.clock.epoch(me));
        // SAFETY: `known` is a reference.
        unsafe { word.elides(pattern, write, elider.clock.known(me).as_bytes()) }
    }

    /// Says what was passed over, then touches.
    fn touch_first(&mut self, me: u32, addr: u64, len: u64, write: bool) -> bool {
        self.flush(me);
        self.touch(me, addr, len, write, false)
    }

    /// What an operation does to memory.
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

    fn pass(&mut self, me: u32, key: u64) {
        let (count, last) = &mut self.passed[me as usize];
        (*count, *last) = (*count + 1, key);
        self.steps[me as usize] += 1;
        self.all_passed[me as usize] += 1;
    }
}

fn recorded(ops: &[(u32, Op)], many: Option<u32>, seed: u64) -> Recorder {
    let mut recorder = Recorder {
        w: Writer::new(),
        elider: many.map(Elider::with_threshold),
        words: BTreeMap::new(),
        memory: BTreeMap::new(),
        steps: [0; 8],
        passed: [(0, 0); 8],
        all_passed: [0; 8],
        between: [0; 8],
        left: [0; 8],
        watches: [0; 8],
        created: 1,
        ended: BTreeSet::new(),
        turns: 0,
        last: None,
        gaps: 0,
    };
    let mut r = Random(seed);
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

/// What there was in a run.
#[derive(Default)]
struct Tally {
    passed: u64,
    gaps: usize,
    found: usize,
    missed: usize,
}

/// Everything that is found without the records of some accesses is found with them; and the same whether the log is
/// filtered or not.
fn check(ops: &[(u32, Op)], many: u32, seed: u64, tally: &mut Tally) {
    let (all, some) = (recorded(ops, None, seed), recorded(ops, Some(many), seed));
    tally.passed += some.all_passed.iter().sum::<u64>();
    tally.gaps += some.gaps;
    let log = Log::parse(&all.w.bytes).unwrap();
    let whole = translate(&log, &Blocks::default());
    let log = Log::parse(&some.w.bytes).unwrap();
    let unfiltered = translate(&log, &Blocks::default());
    let (part, _) = filtered(&log, &Blocks::default());
    same(&part, &unfiltered, seed);
    assert_eq!(part.steps, unfiltered.steps, "seed {seed}");
    assert_eq!((part.accesses, whole.repairs.len()), (whole.accesses, 0), "seed {seed}");
    assert!(part.repairs.is_empty() && !part.damaged, "seed {seed}");
    for model in [Model::View, Model::Value] {
        let (whole, part) = (findings(&whole, model), findings(&part, model));
        for (whole, part) in whole.iter().zip(&part) {
            let extra: Vec<_> = part.difference(whole).collect();
            assert!(extra.is_empty(), "seed {seed} {model:?} after {many}: {extra:?}");
            tally.found += part.len();
            tally.missed += whole.len() - part.len();
        }
    }
}

#[test]
fn accesses_without_records_make_no_finding_wrong() {
    let mut tally = Tally::default();
    for seed in 0..SEEDS {
        check(&random_run(seed), 1 + seed as u32 % 3, seed, &mut tally);
    }
    let Tally { passed, gaps, found, missed } = tally;
    assert!(
        passed > 20 * SEEDS && gaps > SEEDS as usize / 2 && found > SEEDS as usize && missed > 0,
        "{passed} {gaps} {found} {missed}"
    );
}

const SEEDS: u64 = 400;

fn plain(addr: u64, write: bool, value: u64) -> Op {
    Op::Access { addr, size: 8, write, atomic: false, value }
}

/// Two threads, or more, and what they do with these words, all of which are 0 at first.
fn two_threads(ops: &[(u32, Op)]) -> Tally {
    let mut tally = Tally::default();
    let before = [(0, Op::Range { addr: X, len: 32, write: true, byte: 0 }), (0, Op::Create(1))];
    check(&[&before[..], ops].concat(), 1, 1, &mut tally);
    assert!(tally.passed > 0 && tally.gaps > 0);
    tally
}

const X: u64 = 0x1000;
const Y: u64 = 0x1008;
const U: u64 = 0x1010;
const V: u64 = 0x1018;

/// The last write before the other thread reads has a record, and others before it have none. The read of `Y` is after it.
#[test]
fn a_record_among_passed_accesses_stays_before_what_follows() {
    two_threads(&[
        (1, plain(Y, true, 1)),
        (1, plain(X, false, 0)),
        (1, plain(X, false, 0)),
        (1, plain(X, true, 1)),
        (0, plain(X, false, 1)),
        (0, plain(Y, true, 2)),
    ]);
}

/// The same with a write of two words, one of which is passed over.
#[test]
fn a_record_for_another_words_sake_stays_before_what_follows() {
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

/// What was in the word when it became another variable is what is read before all writes to that.
#[test]
fn a_read_of_what_was_there_before_is_no_other_read() {
    two_threads(&[
        (1, plain(X, true, 0)),
        (1, plain(X, true, 0)),
        (1, plain(X, true, 0)),
        (0, plain(X, true, 0)),
        (1, plain(X, false, 0)),
    ]);
}

/// After a thread has let others go on, what it does is recorded: a race with that is found.
#[test]
fn what_comes_after_a_post_is_recorded() {
    let post = Op::Sync(SyncKind::Post, 0x6000, 0);
    let down = Op::Sync(SyncKind::Down, 0x6000, 0);
    let write = (1, plain(X, true, 0));
    let tally =
        two_threads(&[write, write, write, (1, post), write, (0, down), (0, plain(X, false, 0))]);
    assert!(tally.found > 0);
}

/// A thread is joined after it has passed over a word, and its joiner uses that. A third one, which knows nothing of the join,
/// comes after the first all the same: its write of `Y` does.
#[test]
fn what_was_passed_over_before_a_join_is_not_forgotten() {
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

/// A thread passes over reads of `X` and has records of it again when it watches. The block of the other one, which writes `X`,
/// cannot be between its writes of `V` and `U`: reads in between would have seen something else.
#[test]
fn what_was_passed_over_before_a_thread_watched_is_not_forgotten() {
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
