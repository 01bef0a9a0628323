//! Records read back as they were written, and a cut-off log is readable up to the cut.

use foretell_rt_format::*;

/// A log in memory, written as the runtime writes it.
struct Writer {
    bytes: Vec<u8>,
    start: usize,
    at: usize,
    slots: Vec<Slot>,
}

impl Writer {
    fn new(mode: u32) -> Writer {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[header::VERSION..][..4].copy_from_slice(&VERSION.to_le_bytes());
        bytes[header::MODE..][..4].copy_from_slice(&mode.to_le_bytes());
        bytes[header::SEED..][..8].copy_from_slice(&7u64.to_le_bytes());
        bytes[header::CHUNK_LEN..][..4].copy_from_slice(&(CHUNK_LEN as u32).to_le_bytes());
        Writer { bytes, start: 0, at: 0, slots: vec![Slot::default(); SLOTS] }
    }

    fn chunk(&mut self, stream: u32) {
        self.start = self.bytes.len();
        self.bytes.resize(self.start + CHUNK_LEN, 0);
        self.bytes[self.start..self.start + 4].copy_from_slice(&(stream + 1).to_le_bytes());
        self.at = self.start + CHUNK_HEADER_LEN;
        self.slots.fill(Slot::default());
        self.close();
    }

    /// Says how much of the chunk is taken.
    fn close(&mut self) {
        let used = (self.at - self.start) as u32;
        self.bytes[self.start + CHUNK_USED..][..4].copy_from_slice(&used.to_le_bytes());
    }

    fn put(&mut self, record: &Record<'_>) {
        match *record {
            Record::Access { kind, size, pc, addr, value } => {
                let code = AccessCode::of_size(usize::from(size), kind == AccessKind::Write);
                self.head(pc, code, addr);
                self.bytes[self.at..self.at + 8].copy_from_slice(&value.to_le_bytes());
                self.at += usize::from(size);
                self.bytes[self.at..self.at + 8].fill(0);
            }
            Record::FuncEntry { pc, call } => self.head(pc, AccessCode::ENTRY, call),
            // SAFETY: chunks in these tests never fill up.
            Record::FuncExit => unsafe {
                put_exit(self.bytes.as_mut_ptr().add(self.at));
                self.at += 2;
            },
            _ => {
                let buf = &mut self.bytes[self.at..self.at + MAX_RECORD_LEN];
                let (tag, len) = record.encode(buf).expect("not compact");
                buf[0] = tag;
                self.at += len;
            }
        }
        self.close();
    }

    fn head(&mut self, pc: u64, code: AccessCode, addr: u64) {
        let (key, high) = (slot_key(pc, code), addr >> 32);
        let index = slot_of(pc, code, high);
        let slot = &mut self.slots[index];
        // SAFETY: chunks in these tests never fill up.
        unsafe {
            let at = self.bytes.as_mut_ptr().add(self.at);
            if (slot.key, slot.high) != (key, high) {
                let end = put_slot(at, slot, index, key, high);
                self.at += end.offset_from(at) as usize;
            }
            put_head(self.bytes.as_mut_ptr().add(self.at), index, addr);
        }
        self.at += HEAD_LEN;
    }
}

fn read(bytes: &[u8]) -> Vec<Entry<'_>> {
    Log::parse(bytes).expect("a log").events().map(|e| e.expect("a record")).collect()
}

fn one_of_each() -> Vec<Record<'static>> {
    let blocked = vec![
        Blocked { thread: 1, what: WaitingFor::Lock, object: 0x1000, owner: Some(0), pc: 5 },
        Blocked { thread: 2, what: WaitingFor::Sleep, object: 0, owner: None, pc: 6 },
    ];
    let mut all = vec![
        Record::Module { bias: 1, start: 2, end: 3, path: b"/bin/x", build_id: &[1, 2] },
        Record::ModuleGone { start: 2 },
        Record::Create { thread: 1, nth: 0, pc: 0x55, routine: 0x66 },
        Record::ThreadBegin { tid: 9, stack_start: 1 << 46, stack_end: 1 << 47 },
        Record::ThreadLocals { module: 1 << 46, start: 1 << 47 },
        Record::ThreadName { thread: 1, name: b"worker" },
        Record::ThreadEnd,
        Record::Join { thread: 1, pc: 3 },
        Record::Detach { thread: 1 },
        Record::Wide { kind: AccessKind::Write, size: 16, pc: 1, addr: 2, value: Some([3, 4]) },
        Record::Wide { kind: AccessKind::Read, size: 4, pc: 1, addr: 0, value: None },
        Record::Atomic {
            kind: AtomicKind::Update,
            size: 16,
            order: 5,
            pc: 1,
            addr: 2,
            old: [u64::MAX, 1],
            new: [0, 7],
        },
        Record::Range { kind: AccessKind::Read, pc: 1, addr: 2, len: 3, data: b"abc" },
        Record::Alloc { pc: 1, addr: 2, size: 3 },
        Record::Free { counted: true, pc: 1, addr: 2, size: 3 },
        Record::MarkBegin { pc: 1, label: b"transfer" },
        Record::MarkEnd { pc: 1 },
        Record::FuncEntry { pc: 1, call: 2 },
        Record::FuncExit,
        Record::Frames { keep: 2, frames: vec![[1, 1 << 46, 0], [2, u64::MAX, 7]] },
        Record::Call { pc: 1, name: b"read" },
        Record::Return,
        Record::Forked { pid: 12 },
        Record::Exec { path: b"/bin/true" },
        Record::EndOfProgram { how: EndHow::Exit, status: -1 },
        Record::Crash { signal: 11, code: -6, pc: 1, addr: 0 },
        Record::ChildOfFork { path: b"2.1" },
        Record::Benign { addr: 8, size: 4 },
        Record::Ignore { reads: 1, writes: -1 },
        Record::Abort { pc: 7, condition: b"x == 1", location: b"a.c:3", function: b"f" },
        Record::Deadlock { threads: blocked.clone() },
        Record::Stuck { threads: blocked.clone() },
        Record::AllBlocked { threads: blocked },
        Record::Reached { step: 4, addr: 1 << 46, len: 8 },
        Record::Departure { step: 3, message: b"expected" },
        Record::StepsDone,
        Record::Signal { signal: 10, starts: true },
        Record::Elided {
            count: u64::from(u32::MAX),
            key: slot_key(0x40_0000, AccessCode::access(3, true)),
        },
        Record::ElisionPoint,
        Record::AfterElisionPoint { thread: 3 },
        Record::HiddenFunction {
            function: 7,
            state: HiddenState::Kernel,
            name: b"tsearch",
            library: b"libc.so.6",
        },
        Record::HiddenCall { pc: 1, function: 7, arguments: vec![2, 1 << 46] },
        Record::HiddenCall { pc: 1, function: 7, arguments: vec![] },
        Record::AfterOthers,
    ];
    for bits in 0..16 {
        let flag = |bit: u32| bits >> bit & 1 != 0;
        all.push(Record::ElisionGap {
            holder: flag(0).then_some(bits),
            ordered: flag(1),
            wrote: flag(2),
            renews: flag(3),
            writes: flag(0),
            addr: 1 << 46,
            value: flag(1).then_some(u64::MAX - 1),
        });
    }
    for n in 0.. {
        let Some(kind) = SyncKind::from_u8(n) else { break };
        all.push(Record::Sync { kind, pc: 1 << 40, object: 2, other: 3 });
    }
    all
}

#[test]
fn every_record_comes_back() {
    let mut w = Writer::new(0);
    w.chunk(0);
    let all = one_of_each();
    all.iter().for_each(|r| w.put(r));
    let got: Vec<_> = read(&w.bytes).into_iter().map(|e| e.record).collect();
    assert_eq!(got, all);
}

#[test]
fn accesses_of_every_form_come_back() {
    let mut w = Writer::new(0);
    w.chunk(0);
    let values = [0, 1, 0xff, 0x100, 0xffff_ffff, 1 << 32, u64::MAX];
    let addrs = [0x7fff_0000_1000u64, 0x7fff_0000_1000, 0x7fff_0000_0ff8, 0x7ffe_0000_0000, 8, 0];
    let mut all = Vec::new();
    for pc in [0x1000u64, 0x1000 + SLOTS as u64 * 3 + 1, 0x1000] {
        for size in [1u8, 2, 4, 8] {
            for &addr in &addrs {
                for value in values.map(|v| v << (64 - 8 * size) >> (64 - 8 * size)) {
                    for kind in [AccessKind::Read, AccessKind::Write] {
                        all.push(Record::Access { kind, size, pc, addr, value });
                    }
                }
                all.push(Record::FuncEntry { pc, call: addr });
                all.push(Record::FuncExit);
            }
        }
    }
    all.iter().for_each(|r| w.put(r));
    let got: Vec<_> = read(&w.bytes).into_iter().map(|e| e.record).collect();
    assert_eq!(got, all);
}

#[test]
fn last_chunk_ends_at_the_last_complete_record() {
    let mut w = Writer::new(0);
    w.chunk(0);
    let access = |addr| Record::Access { kind: AccessKind::Write, size: 4, pc: 9, addr, value: 5 };
    w.put(&access(64));
    w.put(&Record::MarkEnd { pc: 1 });
    w.put(&access(72));
    let (start, end) = (w.start, w.at);
    w.put(&access(80));
    // Not closed: what the runtime writes with says how far it is. The last value is missing.
    let base = 0x7000_0000u64;
    let address = |at: usize| base + (at - start) as u64;
    let live = [address(end), base, start as u64, address(end - 4)];
    w.bytes[start + CHUNK_USED..][..4].fill(0);
    for (i, field) in live.iter().enumerate() {
        w.bytes[header::LIVE + 8 * i..][..8].copy_from_slice(&field.to_le_bytes());
    }
    let got: Vec<_> = read(&w.bytes).into_iter().map(|e| e.record).collect();
    let open = Record::Wide { kind: AccessKind::Write, size: 4, pc: 9, addr: 72, value: None };
    assert_eq!(got, [access(64), Record::MarkEnd { pc: 1 }, open]);
}

#[test]
fn chunk_is_readable_without_earlier_chunks() {
    let mut w = Writer::new(0);
    let access = Record::Access { kind: AccessKind::Read, size: 8, pc: 1, addr: 2, value: 3 };
    for _ in 0..2 {
        w.chunk(0);
        w.put(&access);
    }
    let chunks = Log::parse(&w.bytes).expect("a log").chunks();
    let mut slots = Slots::default();
    let item = ChunkReader::new(chunks[1], &mut slots).next(&mut slots);
    let Some(Ok(Item::Compact(compact))) = item else { panic!("{item:?}") };
    assert_eq!((chunks.len(), compact.record()), (2, access));
}

#[test]
fn switches_set_the_thread_and_ordinals_count_steps() {
    let mut w = Writer::new(0);
    w.chunk(0);
    let access = Record::Access { kind: AccessKind::Read, size: 4, pc: 1, addr: 2, value: 3 };
    for (thread, record) in
        [(0, &access), (0, &Record::FuncExit), (1, &access), (0, &access), (1, &access)]
    {
        w.put(&Record::Switch { thread });
        w.put(record);
    }
    let got: Vec<_> = read(&w.bytes).iter().map(|e| (e.thread, e.ordinal)).collect();
    assert_eq!(got, [(0, 0), (0, 1), (1, 0), (0, 1), (1, 1)]);
}

#[test]
fn parallel_streams_are_merged_by_position() {
    let mut w = Writer::new(1);
    for thread in [0, 1] {
        w.chunk(thread);
        for i in 0..3 {
            w.put(&Record::Seq { delta: if i == 0 { u64::from(thread) + 1 } else { 2 } });
            w.put(&Record::MarkEnd { pc: i });
        }
    }
    let got: Vec<_> = read(&w.bytes).iter().map(|e| (e.thread, e.ordinal)).collect();
    assert_eq!(got, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
}

#[test]
fn log_cut_anywhere_never_panics() {
    let mut w = Writer::new(0);
    w.chunk(0);
    one_of_each().iter().for_each(|r| w.put(r));
    for cut in 0..w.at {
        if let Ok(log) = Log::parse(&w.bytes[..cut]) {
            let _ = log.events().count();
        }
    }
    for at in HEADER_LEN..w.at {
        let mut damaged = w.bytes[..w.at + 64].to_vec();
        damaged[at] ^= 0x55;
        let log = Log::parse(&damaged).expect("the header is whole");
        let _ = log.events().count();
    }
}

#[test]
fn schedules_come_back() {
    let schedule = Schedule {
        modules: vec!["/tmp/a program".into(), "/lib/x.so".into()],
        threads: vec![ThreadOrigin { thread: 1, parent: 0, nth: 0 }],
        holds: vec![(0, 40), (1, 9)],
        first: Some(1),
        steps: [Act::Run, Act::Reach, Act::Block]
            .into_iter()
            .flat_map(|act| {
                let place = Some((0, 4521));
                let create = Step { thread: 0, ordinal: 17, kind: Kind::Create, place };
                let read = Step { thread: 1, ordinal: 0, kind: Kind::Read, place: None };
                [create, read].map(|step| ScheduledStep { act, step })
            })
            .collect(),
    };
    assert_eq!(schedule.to_string().parse(), Ok(schedule));
    let lines = ["step 1 2 Nothing - 0", "reach 1 2 Read -", "hold 1", "hold 1 2 3", "x", "x 1"];
    let bad = lines.map(|line| format!("foretell-schedule 2\n{line}"));
    for bad in ["", "schedule", "foretell-schedule 1"].map(str::to_owned).into_iter().chain(bad) {
        assert!(bad.parse::<Schedule>().is_err(), "{bad:?}");
    }
}
