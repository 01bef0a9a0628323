//! What is sifted gives the trace that the whole log gives: on many random logs, in small chunks.

use foretell_rt_format::{
    AccessKind, AtomicKind, CHUNK_HEADER_LEN, CHUNK_LEN, CHUNK_USED, ENTRY_CODE, HEAD_LEN,
    HEADER_LEN, Log, MAGIC, MAX_RECORD_LEN, SLOTS, SyncKind, VERSION, access_code, header,
    put_exit, put_head, put_slot, slot_key, slot_of,
};

use super::*;
use crate::translate::{Translated, translate, translate_from};
use crate::{Blocks, Glob};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
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

    fn compact(&mut self, pc: u64, code: u32, addr: u64, value: u64) {
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
            if code != ENTRY_CODE {
                at.cast::<u64>().write_unaligned(value);
                at = at.add(1 << (code & 3));
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

/// A random run of a few threads, in which memory is private, shared, read only, freed, and given out again.
fn random_log(seed: u64) -> Vec<u8> {
    let (mut r, mut w) = (Random(seed), Writer::new());
    let (mut threads, mut blocks) = (1, Vec::new());
    let mut depths = [0u32; 8];
    let length = 100 + r.below(500);
    for _ in 0..length {
        if r.below(40) == 0 {
            w.chunk();
        }
        let thread = r.below(u64::from(threads)) as u32;
        w.switch(thread);
        let pc = 0x40_0000 + 16 * r.below(12);
        // Globals; what is nearly always one thread's own; blocks of the heap, also after their end.
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
                // Nothing is given out twice: what was there was freed unseen.
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
                w.compact(pc + 1, ENTRY_CODE, pc + 7, 0);
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
            11 if r.below(10) == 0 && thread > 0 => w.put(&Record::ThreadEnd),
            _ => {
                let code = access_code(size.trailing_zeros(), kind == AccessKind::Write);
                w.compact(pc, code, addr, r.below(3));
            }
        }
    }
    w.bytes
}

fn sifted(log: &Log<'_>, blocks: &Blocks) -> (Translated, usize) {
    let dir = tempfile::tempdir().unwrap();
    let mut sift = Sift::new(Hold::new(1 << 30, dir.path()), !blocks.functions.is_empty());
    log.chunks().into_iter().for_each(|chunk| sift.chunk(chunk));
    let (sifted, calls) = sift.finish();
    let again = sifted.chunks.iter().filter(|c| c.again).count();
    (translate_from(&&sifted, &log.header, calls, blocks), again)
}

fn text(t: &Translated) -> String {
    let mut out = Vec::new();
    foretell_trace::text::write(&t.trace.whole(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The first line that differs says more than all of them.
fn same(sifted: &Translated, whole: &Translated, seed: u64) {
    let (sifted, whole) = (text(sifted), text(whole));
    for (i, (s, w)) in sifted.lines().zip(whole.lines()).enumerate() {
        assert_eq!(s, w, "seed {seed}, line {i}");
    }
    assert_eq!(sifted.lines().count(), whole.lines().count(), "seed {seed}");
}

#[test]
fn the_trace_is_that_of_the_whole_log() {
    let functions = vec!["*".parse::<Glob>().unwrap()];
    let (mut again, mut chunks, mut private) = (0, 0, 0);
    for seed in 0..400 {
        let bytes = random_log(seed);
        let log = Log::parse(&bytes).unwrap();
        let mut blocks = Blocks::default();
        if seed % 4 == 0 {
            blocks.functions = functions.clone();
        }
        let whole = translate(&log, &blocks);
        let (sifted, n) = sifted(&log, &blocks);
        same(&sifted, &whole, seed);
        assert_eq!(sifted.steps, whole.steps, "seed {seed}");
        let counts = |t: &Translated| (t.accesses, t.private, t.damaged, t.repairs.len());
        assert_eq!(counts(&sifted), counts(&whole), "seed {seed}");
        (again, chunks) = (again + n, chunks + log.chunks().len());
        private += whole.private;
    }
    // Both ways were gone, and there was something to let go.
    assert!(again > 200 && chunks - again > 200 && private > 10_000, "{again} of {chunks}");
}

#[test]
fn damage_ends_the_trace_there() {
    let mut bytes = random_log(1);
    let log = Log::parse(&bytes).unwrap();
    let chunk = log.chunks()[1];
    let at = chunk.at + chunk.records.len() / 2;
    bytes[at..at + 8].fill(0x7e);
    let log = Log::parse(&bytes).unwrap();
    let (sifted, _) = sifted(&log, &Blocks::default());
    let whole = translate(&log, &Blocks::default());
    assert!(sifted.damaged && whole.damaged);
    assert_eq!(text(&sifted), text(&whole));
}
