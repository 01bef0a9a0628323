//! The filtered log gives the trace of the whole log: on many random logs, in small chunks.

mod elision;

use std::collections::BTreeSet;

use foretell_rt_format::{
    AccessCode, AccessKind, AtomicKind, CHUNK_HEADER_LEN, CHUNK_LEN, CHUNK_USED, HEAD_LEN,
    HEADER_LEN, Log, MAGIC, MAX_RECORD_LEN, SLOTS, SyncKind, VERSION, header, put_exit, put_head,
    put_slot, slot_key, slot_of,
};

use foretell_generate::Rng;
use foretell_predict::analyses::Candidate;
use foretell_predict::driver::{Options, predict};
use foretell_trace::{EventId, EventKind, Model};

use foretell_log::{ChunkStore, Filter, FilterLimits};
use foretell_rt_format::{Record, Slot, Step};
use foretell_translate::{Blocks, Glob, Translated, translate, translate_from};

/// Random choices of a test.
struct Random(Rng);

impl Random {
    fn new(seed: u64) -> Random {
        Random(Rng::new(seed))
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n as usize) as u64
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len())]
    }
}

/// A log in memory.
struct Writer {
    bytes: Vec<u8>,
    start: usize,
    at: usize,
    slots: Vec<Slot>,
    thread: u32,
}

impl Writer {
    fn new() -> Writer {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[header::VERSION..][..4].copy_from_slice(&VERSION.to_le_bytes());
        bytes[header::CHUNK_LEN..][..4].copy_from_slice(&(CHUNK_LEN as u32).to_le_bytes());
        let slots = vec![Slot::default(); SLOTS];
        let mut writer = Writer { bytes, start: 0, at: 0, slots, thread: 0 };
        writer.chunk();
        writer
    }

    fn chunk(&mut self) {
        self.start = self.bytes.len();
        self.bytes.resize(self.start + CHUNK_LEN, 0);
        self.bytes[self.start] = 1;
        self.at = self.start + CHUNK_HEADER_LEN;
        self.slots.fill(Slot::default());
        self.close();
    }

    fn close(&mut self) {
        let used = (self.at - self.start) as u32;
        self.bytes[self.start + CHUNK_USED..][..4].copy_from_slice(&used.to_le_bytes());
    }

    fn switch(&mut self, thread: u32) {
        if thread != self.thread {
            self.thread = thread;
            self.put(&Record::Switch { thread });
        }
    }

    fn put(&mut self, record: &Record<'_>) {
        let buf = &mut self.bytes[self.at..self.at + MAX_RECORD_LEN];
        let (tag, len) = record.encode(buf).expect("not compact");
        buf[0] = tag;
        self.at += len;
        self.close();
    }

    fn compact(&mut self, pc: u64, code: AccessCode, addr: u64, value: u64) {
        let (key, high) = (slot_key(pc, code), addr >> 32);
        let index = slot_of(pc, code, high);
        // SAFETY: the chunks of these tests never fill up.
        unsafe {
            let base = self.bytes.as_mut_ptr();
            let mut at = base.add(self.at);
            let slot = &mut self.slots[index];
            if (slot.key, slot.high) != (key, high) {
                at = put_slot(at, slot, index, key, high);
            }
            put_head(at, index, addr);
            at = at.add(HEAD_LEN);
            if code != AccessCode::ENTRY {
                at.cast::<u64>().write_unaligned(value);
                at = at.add(code.size());
            }
            self.at = at as usize - base as usize;
        }
        self.close();
    }

    fn exit(&mut self) {
        // SAFETY: as above.
        unsafe { put_exit(self.bytes.as_mut_ptr().add(self.at)) };
        self.at += 2;
        self.close();
    }
}

/// Returns the log of a random run of a few threads, in which memory is private, shared, only read,
/// freed, and allocated again.
fn random_log(seed: u64) -> Vec<u8> {
    let (mut r, mut w) = (Random::new(seed), Writer::new());
    let (mut threads, mut blocks) = (1, Vec::new());
    let (mut depths, mut ended) = ([0u32; 8], Vec::new());
    let length = 100 + r.below(500);
    for _ in 0..length {
        if r.below(40) == 0 {
            w.chunk();
        }
        let thread = r.below(u64::from(threads)) as u32;
        if ended.contains(&thread) {
            continue;
        }
        w.switch(thread);
        let pc = 0x40_0000 + 16 * r.below(12);
        // Globals; stacks, nearly always thread-private; blocks of the heap, also after their end.
        let addr = match r.below(4) {
            0 => 0x1000 + r.below(48),
            1 => 0x7fff_0000_0000 + u64::from(thread) * 256 + r.below(128),
            2 => 0x1ff0 + 8 * r.below(4),
            _ => 0x10_0000 + r.below(192),
        };
        let (kind, size) = (r.of(&[AccessKind::Read, AccessKind::Write]), r.of(&[1u8, 2, 4, 8]));
        match r.below(24) {
            0 if threads < 5 => {
                w.switch(0);
                w.put(&Record::Create { thread: threads, nth: threads - 1, pc, routine: 1 });
                w.switch(threads);
                let stack_start = 0x7fff_0000_0000 + u64::from(threads % 3) * 256;
                let stack_end = stack_start + 256;
                w.put(&Record::ThreadBegin { tid: 1, stack_start, stack_end });
                threads += 1;
            }
            1 | 2 => {
                let block = (0x10_0000 + 16 * r.below(10), 1 + r.below(40));
                // No memory is in two allocations: the earlier ones were freed without a record.
                blocks.retain(|&(addr, size): &(u64, u64)| {
                    addr + size.next_multiple_of(16) <= block.0 || block.0 + block.1 <= addr
                });
                blocks.push(block);
                w.put(&Record::Alloc { pc, addr: block.0, size: block.1 });
            }
            3 if !blocks.is_empty() => {
                let (addr, size) = blocks.swap_remove(r.below(blocks.len() as u64) as usize);
                let size = size.next_multiple_of(16);
                w.put(&Record::Free { counted: r.below(4) > 0, pc, addr, size });
            }
            4 => {
                let kind = r.of(&[SyncKind::Lock, SyncKind::Unlock, SyncKind::Post]);
                w.put(&Record::Sync { kind, pc, object: 0x5000 + 8 * r.below(2), other: 0 });
            }
            5 | 6 => {
                depths[thread as usize] += 1;
                w.compact(pc + 1, AccessCode::ENTRY, pc + 7, 0);
            }
            7 if depths[thread as usize] > 0 => {
                depths[thread as usize] -= 1;
                w.exit();
            }
            8 => {
                let kind = r.of(&[AtomicKind::Load, AtomicKind::Store, AtomicKind::Update]);
                let (old, new) = ([r.below(3), 0], [r.below(3), 0]);
                w.put(&Record::Atomic { kind, size, order: 5, pc, addr, old, new });
            }
            9 => {
                let most = r.of(&[40, 40, 40, 5000]);
                let len = 1 + r.below(most);
                let data = &[1; 40][..len.min(40) as usize];
                w.put(&Record::Range { kind, pc, addr, len, data });
            }
            10 => {
                let value = (r.below(2) > 0).then_some([r.below(3), 1]);
                w.put(&Record::Wide { kind, size: 16, pc, addr, value });
            }
            11 if thread > 0 && !ended.contains(&thread) => {
                w.put(&Record::ThreadEnd);
                ended.push(thread);
                w.switch(0);
                w.put(&Record::Join { thread, pc });
            }
            _ => {
                let code = AccessCode::of_size(size as usize, kind == AccessKind::Write);
                w.compact(pc, code, addr, r.below(3));
            }
        }
    }
    w.bytes
}

fn filtered(log: &Log<'_>, blocks: &Blocks) -> (Translated, usize) {
    filtered_with(log, blocks, u64::MAX)
}

/// Filters and translates a log with a limit for accesses to transferred memory.
fn filtered_with(log: &Log<'_>, blocks: &Blocks, transferred: u64) -> (Translated, usize) {
    let dir = tempfile::tempdir().unwrap();
    // The chunks of these tests are small.
    let limits = FilterLimits { notes: 24, transferred, group: 2 };
    let store = ChunkStore::new(1 << 30, dir.path());
    let mut filter = Filter::new(store, limits, !blocks.functions.is_empty(), true);
    log.chunks().into_iter().for_each(|chunk| filter.chunk(chunk));
    let (filtered, calls) = filter.finish();
    let again = filtered.chunks_read_again();
    (translate_from(&&filtered, &log.header, calls, blocks), again)
}

/// Returns the trace as text. The positions of hidden state depend on accesses that the filter
/// skips: they are not in the text, nor is the exit of a thread, which may follow one of them.
fn text(t: &Translated) -> String {
    let mut out = Vec::new();
    foretell_trace::text::write(&t.trace.whole(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let left_out = ["hidden:", "meta kept", "exit of"];
    let lines = text.lines().filter(|line| !left_out.iter().any(|word| line.contains(word)));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the steps of the events in [`text`].
fn steps(t: &Translated) -> Vec<Option<Step>> {
    let trace = t.trace.whole();
    let is_hidden = |e: EventId| match trace.event(e).kind {
        EventKind::Post { sem } => trace.semaphore_name(sem).starts_with("exit of"),
        _ => trace.variable(e).is_some_and(|v| trace.variable_name(v).starts_with("hidden:")),
    };
    let shown = trace.ids().filter(|&e| !is_hidden(e));
    shown.map(|e| t.steps.events.get(e.index())).collect()
}

/// Compares the traces line by line, because the first difference says most.
fn assert_same(filtered: &Translated, whole: &Translated, seed: u64) {
    let (filtered, whole) = (text(filtered), text(whole));
    for (i, (s, w)) in filtered.lines().zip(whole.lines()).enumerate() {
        assert_eq!(s, w, "seed {seed}, line {i}");
    }
    assert_eq!(filtered.lines().count(), whole.lines().count(), "seed {seed}");
}

#[test]
fn filtered_log_gives_the_trace_of_the_whole_log() {
    let functions = vec![Glob::new("*")];
    let (mut again, mut chunks, mut private) = (0, 0, 0);
    for seed in 0..400 {
        let bytes = random_log(seed);
        let log = Log::parse(&bytes).unwrap();
        let mut blocks = Blocks::default();
        if seed % 4 == 0 {
            blocks.functions = functions.clone();
        }
        let whole = translate(&log, &blocks);
        let (filtered, n) = filtered(&log, &blocks);
        assert_same(&filtered, &whole, seed);
        assert_eq!(steps(&filtered), steps(&whole), "seed {seed}");
        assert_eq!(filtered.steps.last, whole.steps.last, "seed {seed}");
        assert_eq!(filtered.steps.threads, whole.steps.threads, "seed {seed}");
        let counts = |t: &Translated| (t.accesses, t.private, t.damaged, t.repairs.len());
        assert_eq!(counts(&filtered), counts(&whole), "seed {seed}");
        (again, chunks) = (again + n, chunks + log.chunks().len());
        private += whole.private;
    }
    // Some chunks were read again and some were not, and accesses were skipped.
    assert!(again > 200 && chunks - again > 200 && private > 10_000, "{again} of {chunks}");
}

#[test]
fn damaged_log_ends_the_trace_at_the_damage() {
    let mut bytes = random_log(1);
    let log = Log::parse(&bytes).unwrap();
    let chunk = log.chunks()[1];
    let at = chunk.at + chunk.records.len() / 2;
    bytes[at..at + 8].fill(0x7e);
    let log = Log::parse(&bytes).unwrap();
    let (filtered, _) = filtered(&log, &Blocks::default());
    let whole = translate(&log, &Blocks::default());
    assert!(filtered.damaged && whole.damaged);
    assert_eq!(text(&filtered), text(&whole));
}

/// Returns the log of a random run in which threads are created and joined, in lock scopes and
/// outside, and use a few words in turn or together.
fn transferring_log(seed: u64) -> Vec<u8> {
    let (mut r, mut w) = (Random::new(seed ^ 0x5eed), Writer::new());
    let (mut living, mut created, mut depths) = (vec![0], 1, [0u32; 8]);
    let words = 2 + r.below(8);
    for _ in 0..20 + r.below(30) {
        let thread = living[r.below(living.len() as u64) as usize];
        let pc = 0x40_0000 + 16 * r.below(12);
        if r.below(12) == 0 {
            w.chunk();
        }
        w.switch(thread);
        let depth = &mut depths[thread as usize];
        match r.below(16) {
            0 | 1 if created < 4 => {
                w.put(&Record::Create { thread: created, nth: created - 1, pc, routine: 1 });
                living.push(created);
                created += 1;
            }
            2 | 3 if living.len() > 1 => {
                let ended = living[1 + r.below(living.len() as u64 - 1) as usize];
                let joins = living[r.below(living.len() as u64) as usize];
                living.retain(|&t| t != ended);
                w.switch(ended);
                for _ in 0..std::mem::take(&mut depths[ended as usize]) {
                    let kind = SyncKind::Unlock;
                    w.put(&Record::Sync { kind, pc, object: 0x5000 + u64::from(ended), other: 0 });
                }
                w.put(&Record::ThreadEnd);
                if joins != ended {
                    w.switch(joins);
                    w.put(&Record::Join { thread: ended, pc });
                }
            }
            // Every thread has its own lock: the scopes are blocks and order nothing.
            4 if *depth == 0 => {
                *depth = 1;
                let object = 0x5000 + u64::from(thread);
                w.put(&Record::Sync { kind: SyncKind::Lock, pc, object, other: 0 });
            }
            5 if *depth == 1 => {
                *depth = 0;
                let object = 0x5000 + u64::from(thread);
                w.put(&Record::Sync { kind: SyncKind::Unlock, pc, object, other: 0 });
            }
            _ => {
                let code = AccessCode::access(3, r.below(2) > 0);
                w.compact(pc, code, 0x1000 + 8 * r.below(words), 0);
            }
        }
    }
    w.bytes
}

/// Returns the findings of a trace, with the steps of the program: those about single accesses, and
/// those about blocks.
fn findings(t: &Translated, model: Model) -> [BTreeSet<String>; 2] {
    let prediction =
        predict(&t.trace.whole(), model, &Options { all: true, jobs: 1, ..Options::default() });
    let step = |event: EventId| {
        t.steps.events.get(event.index()).map(|s| format!("T{}.{}", s.thread, s.ordinal))
    };
    let mut found = [BTreeSet::new(), BTreeSet::new()];
    for finding in prediction.expect("no witness is refused").findings {
        let analysis = finding.candidate.kind();
        let events = match finding.candidate {
            Candidate::Race(a, b) | Candidate::Unordered(a, b) | Candidate::Lifetime(a, b) => {
                vec![a, b]
            }
            Candidate::Atomicity(a, b, c) => vec![a, b, c],
            Candidate::NondeterministicRead(e)
            | Candidate::FinalValue(e, _)
            | Candidate::Hang(e, _) => vec![e],
            Candidate::Deadlock(events) => events,
            // Both traces have the same blocks.
            Candidate::Serializability(b) | Candidate::Transactions(b) => {
                found[1].insert(format!("{analysis:?} {b:?}"));
                continue;
            }
        };
        let events: Vec<_> = events.into_iter().filter_map(step).collect();
        found[0].insert(format!("{analysis:?} {}", events.join(" ")));
    }
    found
}

/// No finding from a part of the accesses to transferred memory is wrong, and only chains of
/// accesses through it are missed.
#[test]
fn skipped_transferred_accesses_make_no_finding_wrong() {
    let (mut dropped, mut found, mut missed) = (0, 0, 0);
    for seed in 0..2000 {
        let bytes = transferring_log(seed);
        let log = Log::parse(&bytes).unwrap();
        let whole = translate(&log, &Blocks::default());
        let part = filtered_with(&log, &Blocks::default(), [0, 1, 0, 5][seed as usize % 4]).0;
        dropped += whole.trace.len() - part.trace.len();
        for model in [Model::View, Model::Value] {
            let ([w, blocks], [p, part]) = (findings(&whole, model), findings(&part, model));
            assert_eq!(p, w, "seed {seed} {model:?}");
            assert!(part.is_subset(&blocks), "seed {seed} {model:?}: {part:?} of {blocks:?}");
            found += w.len() + part.len();
            missed += blocks.len() - part.len();
        }
    }
    assert!(dropped > 2_000 && found > 4_000 && missed * 50 < found, "{dropped} {found} {missed}");
}

/// The child's access lies between two accesses of one block. Create and join order all three, and
/// yet this is a finding.
#[test]
fn block_that_creates_and_joins_a_thread_keeps_its_accesses() {
    let mut w = Writer::new();
    let write = |w: &mut Writer| w.compact(0x40_0000, AccessCode::access(3, true), 0x1000, 1);
    let sync = |w: &mut Writer, kind| {
        w.put(&Record::Sync { kind, pc: 0x40_0010, object: 0x5000, other: 0 });
    };
    sync(&mut w, SyncKind::Lock);
    write(&mut w);
    w.put(&Record::Create { thread: 1, nth: 0, pc: 0x40_0020, routine: 1 });
    w.switch(1);
    write(&mut w);
    w.put(&Record::ThreadEnd);
    w.switch(0);
    w.put(&Record::Join { thread: 1, pc: 0x40_0030 });
    write(&mut w);
    sync(&mut w, SyncKind::Unlock);
    let log = Log::parse(&w.bytes).unwrap();
    let (part, _) = filtered_with(&log, &Blocks::default(), 0);
    let [accesses, _] = findings(&part, Model::View);
    assert_eq!(accesses.into_iter().collect::<Vec<_>>(), ["Atomicity T0.1 T1.0 T0.4"]);
}
