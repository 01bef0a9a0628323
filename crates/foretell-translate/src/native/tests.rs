//! Translations of handmade logs, for cases that logs of real programs do not have.

use foretell_rt_format::{
    ADOPTED, AccessKind, AtomicKind, CHUNK_HEADER_LEN, CHUNK_LEN, CHUNK_USED, HEADER_LEN, Log,
    MAGIC, MAX_RECORD_LEN, Record, SyncKind, ThreadOrigin, VERSION, header,
};
use foretell_trace::{BarrierId, EventKind, LockId, Op, SemId, ThreadId, ValueId, legality};
use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// A log in memory. Plain accesses have their wide form.
pub(crate) struct Writer {
    bytes: Vec<u8>,
    at: usize,
    thread: u32,
}

impl Writer {
    pub(crate) fn new() -> Writer {
        let mut bytes = vec![0; HEADER_LEN + CHUNK_LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[header::VERSION..][..4].copy_from_slice(&VERSION.to_le_bytes());
        bytes[header::CHUNK_LEN..][..4].copy_from_slice(&(CHUNK_LEN as u32).to_le_bytes());
        bytes[HEADER_LEN] = 1;
        Writer { bytes, at: HEADER_LEN + CHUNK_HEADER_LEN, thread: 0 }
    }

    fn raw(&mut self, record: &Record<'_>) {
        let buf = &mut self.bytes[self.at..self.at + MAX_RECORD_LEN];
        let (tag, len) = record.encode(buf).expect("not compact");
        buf[0] = tag;
        self.at += len;
        self.close();
    }

    /// Writes the used length of the chunk.
    fn close(&mut self) {
        let used = (self.at - HEADER_LEN) as u32;
        self.bytes[HEADER_LEN + CHUNK_USED..][..4].copy_from_slice(&used.to_le_bytes());
    }

    pub(crate) fn put(&mut self, thread: u32, record: Record<'_>) -> &mut Self {
        if thread != self.thread {
            self.thread = thread;
            self.raw(&Record::Switch { thread });
        }
        self.raw(&record);
        self
    }

    pub(crate) fn create(&mut self, thread: u32) -> &mut Self {
        self.put(0, Record::Create { thread, nth: thread - 1, pc: 1, routine: 1 })
    }

    pub(crate) fn access(
        &mut self,
        t: u32,
        kind: AccessKind,
        addr: u64,
        size: u8,
        value: u64,
    ) -> &mut Self {
        self.put(t, Record::Wide { kind, size, pc: 7, addr, value: Some([value, 0]) })
    }

    pub(crate) fn read(&mut self, t: u32, addr: u64, size: u8, value: u64) -> &mut Self {
        self.access(t, AccessKind::Read, addr, size, value)
    }

    pub(crate) fn write(&mut self, t: u32, addr: u64, size: u8, value: u64) -> &mut Self {
        self.access(t, AccessKind::Write, addr, size, value)
    }

    pub(crate) fn sync(&mut self, t: u32, kind: SyncKind, object: u64, other: u64) -> &mut Self {
        self.put(t, Record::Sync { kind, pc: 7, object, other })
    }

    pub(crate) fn header(&self) -> Header {
        Log::parse(&self.bytes).expect("a log").header
    }

    pub(crate) fn translated(&self) -> Translated {
        let log = Log::parse(&self.bytes).expect("a log");
        let translated = translate(&log, &Blocks::default());
        legality::check(&translated.trace.whole()).expect("legal");
        assert_eq!(translated.steps.events.len(), translated.trace.len());
        translated
    }
}

/// Returns the events in words: `T0 w memory+0x40=1`.
pub(crate) fn events(t: &Translated) -> Vec<String> {
    let trace = &*t.trace.whole();
    let value = |v: Option<ValueId>| {
        v.and_then(|v| trace.values().get(v)).map_or(String::new(), |v| format!("={v}"))
    };
    trace
        .ids()
        .map(|e| {
            let op = trace.op(e);
            let mut text = format!("{} {}", trace.thread_name(trace.thread(e)), op.keyword());
            if let Some(var) = trace.variable(e) {
                text += &format!(" {}", trace.variable_name(var));
                text += &value(trace.read_value(e));
                text += &value(trace.written_value(e));
            }
            if let EventKind::Alloc { block } | EventKind::Free { block } = trace.event(e).kind {
                text += &format!(" {}", trace.mem_block_name(block));
            }
            text
        })
        .collect()
}

#[test]
fn overlapping_accesses_share_their_variables() {
    let mut w = Writer::new();
    w.create(1).write(0, 64, 8, 0x2_ffff_ffff).read(1, 68, 4, 2).read(1, 64, 4, 0xffff_ffff);
    let t = w.translated();
    assert_eq!(
        events(&t),
        [
            "T0 fork",
            "T0 w memory+0x40=-1",
            "T0 w memory+0x44=2",
            "T1 r memory+0x44=2",
            "T1 r memory+0x40=-1",
        ]
    );
    // Both halves of the write are one step.
    let step = |e: usize| t.steps.events.get(e).map(|s| (s.thread, s.ordinal));
    assert_eq!((step(1), step(2), step(3)), (Some((0, 1)), Some((0, 1)), Some((1, 0))));
    assert_eq!(t.steps.threads, [ThreadOrigin { thread: 1, parent: 0, nth: 0 }]);
}

#[test]
fn accesses_to_private_memory_are_counted_without_events() {
    let mut w = Writer::new();
    w.create(1).write(0, 64, 4, 1).write(1, 68, 4, 1).write(0, 72, 4, 1).write(1, 72, 4, 2);
    let t = w.translated();
    assert_eq!((t.accesses, t.private), (4, 2));
    assert_eq!(events(&t), ["T0 fork", "T0 w memory+0x48=1", "T1 w memory+0x48=2"]);
}

#[test]
fn reallocated_memory_is_a_new_variable_and_free_writes() {
    let mut w = Writer::new();
    for thread in 1..3 {
        w.put(0, Record::Alloc { pc: 9, addr: 1024, size: 16 });
        w.create(thread).write(0, 1032, 8, 5).read(thread, 1032, 8, 5);
        w.put(0, Record::Free { counted: true, pc: 9, addr: 1024, size: 16 });
    }
    let t = w.translated();
    assert_eq!(
        events(&t),
        [
            "T0 alloc heap@?#1",
            "T0 fork",
            "T0 w heap@?#1+8=5",
            "T1 r heap@?#1+8=5",
            "T0 free heap@?#1",
            "T0 alloc heap@?#2",
            "T0 fork",
            "T0 w heap@?#2+8=5",
            "T2 r heap@?#2+8=5",
            "T0 free heap@?#2",
        ]
    );
    let names = t.trace.names();
    let variable = names.find_variable("heap@?#2+8").expect("a variable");
    assert_eq!(names.block_of_variable(variable), names.find_mem_block("heap@?#2"));
}

#[test]
fn block_of_one_thread_has_no_events() {
    let mut w = Writer::new();
    w.create(1).put(0, Record::Alloc { pc: 9, addr: 1024, size: 16 }).write(0, 1032, 8, 5);
    w.put(0, Record::Free { counted: true, pc: 9, addr: 1024, size: 16 });
    assert_eq!(events(&w.translated()), ["T0 fork"]);
}

#[test]
fn locks_end_with_their_block_or_when_they_are_destroyed() {
    let mut w = Writer::new();
    w.put(0, Record::Alloc { pc: 9, addr: 1024, size: 64 }).create(1);
    // One lock in the block, one in it that is destroyed before, one in static memory.
    for (thread, lock) in [(0, 1024), (1, 1024), (1, 1064), (1, 64)] {
        w.sync(thread, SyncKind::Lock, lock, 0).sync(thread, SyncKind::Unlock, lock, 0);
    }
    w.sync(0, SyncKind::Destroy, 1064, 0).sync(0, SyncKind::Destroy, 64, 0);
    w.put(0, Record::Free { counted: true, pc: 9, addr: 1024, size: 64 });
    // The address is used for another lock afterwards.
    w.sync(0, SyncKind::Lock, 64, 0).sync(0, SyncKind::Unlock, 64, 0);
    let t = w.translated();
    let names = t.trace.names();
    let block = |lock: &str| {
        let lock = names.find_lock(lock).expect("a lock");
        names.block_of_lock(lock).map(|block| names.mem_block_name(block))
    };
    assert_eq!(block("heap@?#1"), Some("heap@?#1"));
    assert_eq!(block("heap@?#1+40"), Some("heap@?#1+40"));
    assert_eq!(block("memory+0x40"), Some("memory+0x40"));
    assert_eq!(block("memory+0x40~2"), None);
    let frees = events(&t).into_iter().filter(|event| event.contains("free"));
    assert_eq!(
        frees.collect::<Vec<_>>(),
        ["T0 free heap@?#1+40", "T0 free memory+0x40", "T0 free heap@?#1"]
    );
}

#[test]
fn trace_says_which_threads_have_ended_unless_a_wait_may_end_otherwise() {
    let ended = |other: Option<Record<'_>>| {
        let mut w = Writer::new();
        w.create(1).create(2).write(0, 64, 4, 1).write(1, 64, 4, 2).write(2, 64, 4, 2);
        w.put(1, Record::ThreadEnd);
        if let Some(record) = other {
            w.put(0, record);
        }
        let t = w.translated();
        let names = t.trace.names();
        let threads = ["T0", "T1", "T2"].map(|name| names.find_thread(name).expect("a thread"));
        threads.map(|thread| names.has_ended(thread))
    };
    assert_eq!(ended(None), [false, true, false]);
    let other = Record::Sync { kind: SyncKind::OtherWake, pc: 0, object: 0, other: 0 };
    for record in [other, Record::AfterOthers, Record::Signal { signal: 14, starts: true }] {
        assert_eq!(ended(Some(record)), [false; 3]);
    }
}

#[test]
fn unexplained_read_makes_the_variable_opaque() {
    let mut w = Writer::new();
    w.create(1).write(0, 64, 4, 1).read(1, 64, 4, 1).write(0, 72, 4, 1).read(1, 72, 4, 9);
    let t = w.translated();
    let names = t.trace.names();
    let opaque = |name: &str| names.is_opaque(names.find_variable(name).expect("a variable"));
    assert!(!opaque("memory+0x40") && opaque("memory+0x48"));
    assert!(t.repairs.is_empty());
}

#[test]
fn thread_that_ends_with_a_read_posts_its_exit() {
    let mut w = Writer::new();
    w.create(1).create(2).write(0, 64, 4, 1).read(1, 64, 4, 1).put(1, Record::ThreadEnd);
    w.read(2, 64, 4, 1).write(2, 64, 4, 2).put(2, Record::ThreadEnd);
    w.put(0, Record::Join { thread: 1, pc: 3 }).put(0, Record::Join { thread: 2, pc: 3 });
    let t = w.translated();
    let trace = t.trace.whole();
    let ends: Vec<_> = trace.ids().filter(|&e| trace.op(e) == Op::Post).collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(trace.thread_name(trace.thread(ends[0])), "T1");
    assert_eq!(t.trace.names().semaphore_name(SemId(0)), "exit of T1");
    assert_eq!(t.steps.events.get(ends[0].index()), None);
}

/// Each of many threads has elided accesses, and meets those of all others.
#[test]
fn events_of_elision_points_are_linear_in_the_threads() {
    const THREADS: u32 = 60;
    let mut w = Writer::new();
    (1..=THREADS).for_each(|thread| _ = w.create(thread));
    for thread in 1..=THREADS {
        w.put(thread, Record::Elided { count: 9, key: 0 }).put(thread, Record::ElisionPoint);
    }
    for thread in 1..=THREADS {
        for other in (1..=THREADS).filter(|&other| other != thread) {
            w.put(thread, Record::AfterElisionPoint { thread: other });
        }
        let gap = Record::ElisionGap {
            holder: None,
            ordered: false,
            wrote: true,
            renews: true,
            writes: true,
            addr: 64,
            value: Some(0),
        };
        w.put(thread, gap).write(thread, 64, 8, 1);
    }
    let t = w.translated();
    let trace = t.trace.whole();
    let of = |op: Op| trace.ids().filter(|&e| trace.op(e) == op).count();
    assert_eq!(of(Op::Write), THREADS as usize);
    // For each thread its own point, a relay, and a few points that no relay stands for.
    let threads = THREADS as usize;
    assert!(of(Op::Post) <= 11 * threads && of(Op::Down) <= 9 * threads, "{}", trace.len());
    // The first post of a semaphore comes before every down of it, in every interleaving.
    let mut before_thread: BTreeMap<ThreadId, BTreeSet<SemId>> = BTreeMap::new();
    let mut before_post: BTreeMap<SemId, BTreeSet<SemId>> = BTreeMap::new();
    for event in trace.events() {
        let known = before_thread.entry(event.thread).or_default();
        match event.kind {
            EventKind::Post { sem } => {
                known.insert(sem);
                before_post.entry(sem).or_insert_with(|| known.clone());
            }
            EventKind::Down { sem } => known.extend(&before_post[&sem]),
            EventKind::Write { .. } => {
                let point = |sem: &&SemId| trace.semaphore_name(**sem).starts_with('T');
                assert_eq!(known.iter().filter(point).count(), threads, "{event:?}");
            }
            _ => {}
        }
    }
}

#[test]
fn lock_scopes_without_a_wait_are_blocks() {
    use SyncKind::*;
    let mut w = Writer::new();
    w.create(1);
    w.sync(0, Lock, 16, 0).sync(0, Wait, 32, 16);
    w.sync(1, Lock, 16, 0).sync(1, Signal, 32, 0).sync(1, Unlock, 16, 0);
    w.sync(0, Woken, 32, 16).sync(0, Unlock, 16, 0);
    let t = w.translated();
    assert_eq!(
        events(&t),
        [
            "T0 fork",
            "T0 acq",
            "T0 wait",
            "T1 begin",
            "T1 acq",
            "T1 notify",
            "T1 rel",
            "T1 end",
            "T0 woken",
            "T0 rel",
        ]
    );
}

#[test]
fn initialising_makes_new_semaphores_and_barriers() {
    use SyncKind::*;
    let mut w = Writer::new();
    w.create(1);
    for _ in 0..2 {
        w.sync(0, SemInit, 16, 1).sync(1, Down, 16, 0).sync(1, DownFailed, 16, 0);
        w.sync(0, BarrierInit, 32, 1).sync(0, Arrive, 32, 0).sync(0, Leave, 32, 0);
    }
    let t = w.translated();
    assert!(t.repairs.is_empty());
    assert_eq!(t.trace.names().semaphore_name(SemId(1)), "memory+0x10~2");
    assert_eq!(t.trace.names().initial_count(SemId(1)), 1);
    assert_eq!(t.trace.names().parties(BarrierId(1)), Some(1));
}

/// A failed try is a read of the count, which changes before each post and after each down.
#[test]
fn semaphore_with_a_failed_try_has_a_count() {
    use SyncKind::*;
    let mut w = Writer::new();
    w.create(1).sync(0, SemInit, 16, 1).sync(0, SemInit, 32, 1);
    w.sync(0, Down, 16, 0).sync(1, DownFailed, 16, 0).sync(0, Post, 16, 0).sync(0, Down, 32, 0);
    let t = w.translated();
    assert!(t.repairs.is_empty());
    let trace = t.trace.whole();
    let accesses: Vec<_> = trace
        .ids()
        .map(|e| {
            let op = trace.op(e);
            (trace.thread_name(trace.thread(e)), op.reads(), op.writes(), op)
        })
        .collect();
    let change = |a: &(&str, bool, bool, Op)| a.0 == "T0" && a.1 && a.2;
    assert_eq!(accesses.len(), 7, "{accesses:?}");
    assert_eq!((accesses[1].3, accesses[5].3, accesses[6].3), (Op::Down, Op::Post, Op::Down));
    assert!(change(&accesses[2]) && change(&accesses[4]), "{accesses:?}");
    assert_eq!((accesses[3].0, accesses[3].1, accesses[3].2), ("T1", true, false));
    let count = trace.find_variable("count of memory+0x10").expect("the count");
    assert!(trace.is_opaque(count));
    let steps: Vec<bool> = t.steps.events.iter().map(|s| s.is_some()).collect();
    assert_eq!(steps, [true, true, false, true, false, true, true]);
}

/// A receive depends on the message of its bytes; a short one comes before the next message.
#[test]
fn receive_depends_on_the_message_of_its_bytes() {
    use SyncKind::*;
    use foretell_rt_format::channel::{Channel, looked, received::SHORT};
    let (pipe, log) = (Channel::Pipe.number(&[1]), Channel::File.number(&[2]));
    let mut w = Writer::new();
    w.create(1).sync(1, SystemCall, 0, 0).sync(1, Looked, pipe, looked::NOTHING);
    // No thread reads the channel that both write.
    w.sync(0, Sent, log, 3).sync(1, Sent, log, 3);
    w.sync(0, Sent, pipe, 4).sync(0, Sent, pipe, 4);
    w.sync(1, Looked, pipe, looked::SOMETHING)
        .sync(1, Received, pipe, 3)
        .sync(1, Received, pipe, 2);
    w.sync(1, Received, pipe, 3 | SHORT).sync(0, Sent, pipe, 1);
    let t = w.translated();
    assert!(t.repairs.is_empty());
    assert_eq!(
        events(&t),
        [
            "T0 fork",
            "T1 ar pipe#1.1=0",
            "T0 aw pipe#1.1=1",
            "T0 aw pipe#1.2=1",
            "T1 ar pipe#1.1=1",
            "T1 ar pipe#1.1=1",
            "T1 ar pipe#1.2=1",
            "T1 ar pipe#1.2=1",
            "T1 ar pipe#1.3=0",
            "T0 aw pipe#1.3=1",
        ]
    );
    let message = t.trace.names().find_variable("pipe#1.2").expect("the second message");
    assert!(t.trace.names().is_opaque(message));
}

/// Several senders and several receivers keep their order; a receive depends on all messages sent.
#[test]
fn shared_channel_keeps_the_order_of_its_users() {
    use SyncKind::*;
    use foretell_rt_format::channel::Channel;
    let pipe = Channel::Pipe.number(&[1]);
    let mut w = Writer::new();
    w.create(1).create(2);
    w.sync(0, Sent, pipe, 1).sync(1, Sent, pipe, 1);
    w.sync(2, Received, pipe, 1).sync(1, Received, pipe, 1);
    assert_eq!(
        events(&w.translated())[2..],
        [
            "T0 au pipe#1.in=0=1",
            "T0 aw pipe#1.1=1",
            "T1 au pipe#1.in=1=2",
            "T1 aw pipe#1.2=1",
            "T2 au pipe#1.out=0=1",
            "T2 ar pipe#1.2=1",
            "T1 au pipe#1.out=1=2",
            "T1 ar pipe#1.2=1",
        ]
    );
}

#[test]
fn illegal_event_is_dropped_with_its_step() {
    let mut w = Writer::new();
    w.create(1).sync(1, SyncKind::Unlock, 16, 0).write(1, 64, 4, 3).read(0, 64, 4, 3);
    let t = w.translated();
    assert_eq!(t.repairs.len(), 1);
    assert_eq!(events(&t), ["T0 fork", "T1 w memory+0x40=3", "T0 r memory+0x40=3"]);
    assert_eq!(t.steps.events.get(1).map(|s| s.ordinal), Some(1));
}

fn atomic(kind: AtomicKind, (addr, size): (u64, u8), old: u64, new: u64) -> Record<'static> {
    Record::Atomic { kind, size, order: 5, pc: 7, addr, old: [old, 0], new: [new, 0] }
}

/// The lock is held around the failed update; a section of it follows reads, but not writes.
#[test]
fn failed_update_is_a_read_in_a_lock_section() {
    use AtomicKind::*;
    let mut w = Writer::new();
    let x = (64, 4);
    w.create(1).put(0, atomic(Update, x, 0, 1)).put(1, atomic(Store, x, 0, 4));
    w.put(1, atomic(FailedUpdate, x, 4, 0)).put(0, atomic(Load, x, 4, 0)).read(0, 64, 4, 4);
    w.write(0, 64, 4, 5).write(0, 72, 4, 5).put(1, atomic(Load, (72, 4), 5, 0));
    let t = w.translated();
    assert_eq!(
        events(&t),
        [
            "T0 fork",
            "T0 au memory+0x40=0=1",
            "T0 acq",
            "T0 rel",
            "T1 aw memory+0x40=4",
            "T1 acq",
            "T1 ar memory+0x40=4",
            "T1 rel",
            "T0 ar memory+0x40=4",
            "T0 acq",
            "T0 rel",
            "T0 r memory+0x40=4",
            "T0 acq",
            "T0 rel",
            "T0 w memory+0x40=5",
            "T0 w memory+0x48=5",
            "T1 ar memory+0x48=5",
        ]
    );
    assert_eq!(t.trace.names().lock_count(), 1);
    assert_eq!(t.trace.names().lock_name(LockId(0)), "attempts at memory+0x40");
    let no_steps = (0..).zip(t.steps.events.iter()).filter(|(_, s)| s.is_none()).map(|(i, _)| i);
    assert_eq!(no_steps.collect::<Vec<u32>>(), [2, 3, 5, 7, 9, 10, 12, 13]);
}

/// A failed update of two variables would have written both.
#[test]
fn failed_update_holds_the_locks_of_all_its_variables() {
    use AtomicKind::*;
    let mut w = Writer::new();
    w.create(1).write(0, 64, 4, 1).write(0, 68, 4, 2);
    w.put(1, atomic(FailedUpdate, (64, 8), 2 << 32 | 1, 0)).read(0, 68, 4, 2);
    let t = w.translated();
    assert_eq!(
        events(&t)[3..],
        [
            "T1 acq",
            "T1 acq",
            "T1 ar memory+0x40=1",
            "T1 ar memory+0x44=2",
            "T1 rel",
            "T1 rel",
            "T0 r memory+0x44=2",
            "T0 acq",
            "T0 rel",
        ]
    );
    let lock = |kind| match kind {
        EventKind::Acquire { lock } | EventKind::Release { lock } => Some(lock.0),
        _ => None,
    };
    let locks: Vec<u32> = t.trace.whole().events().filter_map(|e| lock(e.kind)).collect();
    assert_eq!(locks, [0, 1, 1, 0, 1, 1]);
}

#[test]
fn parallel_log_may_have_a_thread_before_its_creation() {
    let mut w = Writer::new();
    w.write(1, 64, 4, 3).create(1).read(0, 64, 4, 3);
    w.bytes[header::MODE] = 1;
    // The one chunk of this parallel log is the stream of thread 0, which switches threads too.
    let t = w.translated();
    assert_eq!(events(&t), ["T0 fork", "T1 w memory+0x40=3", "T0 r memory+0x40=3"]);
    assert!(t.repairs.is_empty());
}

#[test]
fn damaged_log_is_translated_up_to_the_damage() {
    let mut w = Writer::new();
    w.create(1).write(0, 64, 4, 3).read(1, 64, 4, 3);
    let at = w.at;
    w.bytes[at] = 0x7e;
    w.at += 1;
    w.close();
    let t = w.translated();
    assert!(t.damaged);
    assert_eq!(t.trace.len(), 3);
}

/// A thread that no recorded thread has created is known by its ordinal among such threads.
#[test]
fn adopted_threads_have_an_origin() {
    let mut w = Writer::new();
    w.write(0, 64, 4, 1);
    for thread in [2, 1] {
        w.put(thread, Record::AfterOthers).read(thread, 64, 4, 1);
    }
    let origin = |thread, nth| ThreadOrigin { thread, parent: ADOPTED, nth };
    assert_eq!(w.translated().steps.threads, [origin(2, 1), origin(1, 0)]);
}
