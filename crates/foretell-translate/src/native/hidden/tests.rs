//! Translations of handmade logs with hidden state.

use foretell_log::{Calls, LoggedRecord, Sink, Source, Stack};
use foretell_rt_format::channel::{Channel, received};
use foretell_rt_format::{AccessKind, Entry, HiddenState, Record, SyncKind};

use crate::native::tests::{Writer, events};
use crate::{Blocks, translate_from};

/// Number of the function that a test defines for each state.
const ARGUMENTS: u64 = 1;
const LIBRARY: u64 = 2;
const KERNEL: u64 = 3;

/// A heap block and two addresses that hidden functions are given.
const BLOCK: u64 = 0x10000;

/// Code addresses in the function of the test, and in a library.
const OWN: u64 = 0x40_0100;
const FOREIGN: u64 = 0x50_0100;

fn log() -> Writer {
    let mut w = Writer::new();
    for (start, path) in [(0x40_0000, "/nowhere/program"), (0x50_0000, "/nowhere/libq.so")] {
        let (end, path) = (start + 0x1000, path.as_bytes());
        w.put(0, Record::Module { bias: start, start, end, path, build_id: &[] });
    }
    let functions = [
        (ARGUMENTS, HiddenState::Arguments, "push"),
        (LIBRARY, HiddenState::Library, "_ZN3box4pushEi"),
        (KERNEL, HiddenState::Kernel, "fgets"),
    ];
    for (function, state, name) in functions {
        let (name, library) = (name.as_bytes(), b"libq.so");
        w.put(0, Record::HiddenFunction { function, state, name, library });
    }
    w.create(1);
    w
}

fn alloc(w: &mut Writer, thread: u32, addr: u64) {
    w.put(thread, Record::Alloc { pc: OWN, addr, size: 64 });
}

fn call(w: &mut Writer, thread: u32, function: u64, arguments: &[u64]) {
    w.put(thread, Record::HiddenCall { pc: OWN, function, arguments: arguments.to_vec() });
}

#[test]
fn calls_with_one_object_keep_their_order() {
    let mut w = log();
    alloc(&mut w, 0, BLOCK);
    w.create(2);
    call(&mut w, 0, ARGUMENTS, &[BLOCK + 8, BLOCK + 16]);
    call(&mut w, 2, ARGUMENTS, &[BLOCK]);
    let t = w.translated();
    assert_eq!(
        events(&t)[2..],
        ["T0 au hidden:heap@program+0xff#1=0=1", "T2 au hidden:heap@program+0xff#1=1=2"]
    );
    let names = t.trace.names();
    let object = names.find_variable("hidden:heap@program+0xff#1").expect("the object");
    assert!(names.is_opaque(object));
    assert_eq!(t.steps.events.get(3).map(|s| (s.thread, s.ordinal)), Some((2, 0)));
    assert_eq!(names.meta()["kept calls libq.so"], "2; 2 push");
}

/// State that one thread alone uses orders nothing; a block in reused memory is another object.
#[test]
fn object_of_one_thread_has_no_events() {
    let mut w = log();
    for thread in [0, 1] {
        alloc(&mut w, thread, BLOCK);
        call(&mut w, thread, ARGUMENTS, &[BLOCK]);
    }
    let t = w.translated();
    assert_eq!(events(&t), ["T0 fork"]);
    assert!(t.trace.names().meta().keys().all(|key| !key.starts_with("kept")));
}

#[test]
fn library_and_kernel_have_state_of_their_own() {
    let mut w = log();
    call(&mut w, 0, LIBRARY, &[]);
    call(&mut w, 1, KERNEL, &[7, u64::MAX]);
    call(&mut w, 0, KERNEL, &[]);
    let t = w.translated();
    assert_eq!(
        events(&t),
        [
            "T0 fork",
            "T0 au hidden:lib libq.so=0=1",
            "T1 au hidden:lib libq.so=1=2",
            "T1 au hidden:kernel=0=1",
            // The first call of T0 is over; that of T1 may go on.
            "T0 au hidden:lib libq.so=2=3",
            "T0 au hidden:lib libq.so=3=4",
            "T0 au hidden:kernel=1=2",
        ]
    );
    assert_eq!(t.trace.names().meta()["kept calls libq.so"], "3; 2 fgets; 1 box::push");
}

/// A call that blocks uses its objects again when it returns.
#[test]
fn interrupted_call_has_an_update_at_its_end() {
    let mut w = log();
    call(&mut w, 0, ARGUMENTS, &[BLOCK]);
    call(&mut w, 1, ARGUMENTS, &[BLOCK]);
    w.sync(0, SyncKind::Lock, 64, 0).sync(0, SyncKind::Unlock, 64, 0);
    assert_eq!(
        events(&w.translated())[1..],
        [
            "T0 au hidden:memory+0x0=0=1",
            "T1 au hidden:memory+0x0=1=2",
            "T0 au hidden:memory+0x0=2=3",
            "T0 begin",
            "T0 acq",
            "T0 rel",
            "T0 end",
        ]
    );
}

/// Records of a run with function entries, which [`Writer`] cannot write.
struct Records(Vec<(u32, Record<'static>)>);

impl Source<'static> for Records {
    fn for_each(&self, calls: &mut Calls, sink: &mut dyn Sink<'static>) {
        let mut stacks: [Stack; 2] = Default::default();
        let mut ordinals = [0; 2];
        for (thread, record) in &self.0 {
            let i = *thread as usize;
            match *record {
                Record::FuncEntry { pc, call } => stacks[i].enter(pc, call),
                Record::FuncExit => stacks[i].exit(),
                _ => {}
            }
            let (thread, ordinal, record) = (*thread, ordinals[i], record.clone());
            ordinals[i] += record.steps();
            let (entry, stack) = (Entry { thread, ordinal, record }, stacks[i].id(calls));
            sink.record(calls, &LoggedRecord { entry, stack, last: None, private: 0 });
        }
    }

    fn accesses(&self) -> Option<u64> {
        None
    }

    fn damaged(&self) -> bool {
        false
    }
}

/// Events of a callback are in the call: another thread's call comes after all of it.
#[test]
fn call_that_calls_back_has_an_update_at_its_end() {
    let signal = |pc| Record::Sync { kind: SyncKind::Signal, pc, object: 80, other: 0 };
    let access = |kind| Record::Wide { kind, size: 4, pc: OWN, addr: 64, value: Some([1, 0]) };
    let call = || Record::HiddenCall { pc: OWN, function: ARGUMENTS, arguments: vec![BLOCK] };
    let (state, name, library) = (HiddenState::Arguments, &b"push"[..], &b"libq.so"[..]);
    let module = |start: u64, path: &'static str| {
        let (end, path) = (start + 0x1000, path.as_bytes());
        Record::Module { bias: start, start, end, path, build_id: &[] }
    };
    let records = Records(vec![
        (0, module(0x40_0000, "/nowhere/program")),
        (0, module(0x50_0000, "/nowhere/libq.so")),
        (0, Record::HiddenFunction { function: ARGUMENTS, state, name, library }),
        (0, Record::Create { thread: 1, nth: 0, pc: OWN, routine: OWN }),
        (0, Record::FuncEntry { pc: OWN, call: 0x60_0000 }),
        (0, call()),
        (0, Record::FuncEntry { pc: OWN + 64, call: FOREIGN }),
        (0, access(AccessKind::Write)),
        (0, Record::FuncExit),
        // An event of the called library itself.
        (0, signal(FOREIGN)),
        (1, call()),
        (1, signal(OWN)),
        // The call is over: in its function again.
        (0, signal(OWN)),
        // A function that its function calls is not in the call.
        (0, Record::FuncEntry { pc: OWN + 64, call: OWN + 8 }),
        (1, signal(OWN)),
        (0, signal(OWN + 64)),
        (1, access(AccessKind::Read)),
    ]);
    let log = Writer::new();
    let header = log.header();
    let t = translate_from(&records, &header, Calls::default(), &Blocks::default());
    assert!(t.repairs.is_empty());
    assert_eq!(
        events(&t)[1..],
        [
            "T0 au hidden:memory+0x0=0=1",
            "T0 w memory+0x40=1",
            "T0 notify",
            "T0 au hidden:memory+0x0=1=2",
            "T1 au hidden:memory+0x0=2=3",
            "T1 notify",
            "T0 au hidden:memory+0x0=3=4",
            "T0 notify",
            "T1 notify",
            "T0 notify",
            "T1 r memory+0x40=1",
        ]
    );
}

/// A thread that reads input through the C library comes after the thread that wrote it.
#[test]
fn recorded_channels_are_in_the_order_of_the_kernel() {
    let pipe = Channel::Pipe.number(&[1]);
    let mut w = log();
    call(&mut w, 0, KERNEL, &[]);
    w.sync(1, SyncKind::SystemCall, 0, 0).sync(1, SyncKind::Sent, pipe, 2);
    w.sync(0, SyncKind::Signal, 64, 0);
    assert_eq!(
        events(&w.translated())[1..],
        [
            "T0 au hidden:kernel=0=1",
            "T1 au hidden:kernel=1=2",
            "T1 au hidden:kernel=2=3",
            "T0 au hidden:kernel=3=4",
            "T0 notify",
        ]
    );
}

#[test]
fn recorded_channels_alone_do_not_use_the_kernel() {
    let pipe = Channel::Pipe.number(&[1]);
    let mut w = log();
    for thread in [0, 1] {
        w.sync(thread, SyncKind::SystemCall, 0, 0).sync(thread, SyncKind::Sent, pipe, 2);
    }
    assert_eq!(events(&w.translated()), ["T0 fork"]);
}

#[test]
fn free_uses_the_state_of_its_block() {
    let mut w = log();
    alloc(&mut w, 0, BLOCK);
    w.create(2);
    call(&mut w, 0, ARGUMENTS, &[BLOCK]);
    w.put(2, Record::Free { counted: true, pc: OWN, addr: BLOCK, size: 64 });
    // After the allocation and two forks.
    assert_eq!(
        events(&w.translated())[3..5],
        ["T0 au hidden:heap@program+0xff#1=0=1", "T2 au hidden:heap@program+0xff#1=1=2"]
    );
}

/// Each thread that ran since writes the end of itself so far, once.
#[test]
fn thread_comes_back_after_all_other_threads() {
    let mut w = log();
    w.create(2).create(3);
    w.sync(1, SyncKind::Signal, 64, 0).sync(2, SyncKind::Signal, 64, 0);
    w.put(3, Record::AfterOthers).sync(3, SyncKind::Signal, 64, 0);
    w.put(0, Record::AfterOthers).put(0, Record::AfterOthers);
    let t = w.translated();
    assert_eq!(
        events(&t)[3..],
        [
            "T1 notify",
            "T2 notify",
            "T0 aw hidden:after 1=1",
            "T3 ar hidden:after 1=1",
            "T1 aw hidden:after 2=1",
            "T3 ar hidden:after 2=1",
            "T2 aw hidden:after 3=1",
            "T3 ar hidden:after 3=1",
            "T3 notify",
            "T0 ar hidden:after 2=1",
            "T0 ar hidden:after 3=1",
            "T3 aw hidden:after 4=1",
            "T0 ar hidden:after 4=1",
        ]
    );
    assert_eq!(t.trace.names().meta()["kept waits"], "2");
}

/// A thread that the runtime did not see being created has no fork; one that was joined has no
/// further events.
#[test]
fn adopted_thread_comes_after_all_threads_so_far() {
    let mut w = log();
    w.sync(1, SyncKind::Signal, 64, 0).put(1, Record::ThreadEnd);
    w.put(0, Record::Join { thread: 1, pc: OWN });
    w.put(2, Record::ThreadBegin { tid: 9, stack_start: 0x2000, stack_end: 0x3000 });
    w.put(2, Record::AfterOthers).sync(2, SyncKind::Signal, 64, 0);
    assert_eq!(
        events(&w.translated())[1..],
        ["T1 notify", "T0 join", "T0 aw hidden:after 1=1", "T2 ar hidden:after 1=1", "T2 notify"]
    );
}

/// A block that reached a thread through code that is not recorded.
#[test]
fn first_use_without_a_reference_comes_after_the_last_use() {
    let mut w = log();
    alloc(&mut w, 0, BLOCK);
    w.write(0, BLOCK, 4, 1).write(0, 64, 4, 1).read(1, BLOCK, 4, 1).read(1, 64, 4, 1);
    let t = w.translated();
    assert_eq!(
        events(&t)[1..],
        [
            "T0 w heap@program+0xff#1=1",
            "T0 aw hidden:heap@program+0xff#1=1",
            "T0 w memory+0x40=1",
            "T1 ar hidden:heap@program+0xff#1=1",
            "T1 r heap@program+0xff#1=1",
            "T1 r memory+0x40=1",
        ]
    );
    assert_eq!(t.trace.names().meta()["kept first uses"], "1");
}

/// A recorded read of the address, the creator's past and a joined thread's past are references.
#[test]
fn visible_reference_explains_a_use() {
    let mut read = log();
    alloc(&mut read, 0, BLOCK);
    read.write(0, BLOCK, 4, 1).write(0, 64, 8, BLOCK + 8);
    read.read(1, 64, 8, BLOCK + 8).read(1, BLOCK, 4, 1);
    let mut created = log();
    alloc(&mut created, 0, BLOCK);
    created.create(2).write(0, BLOCK, 4, 1).read(2, BLOCK, 4, 1);
    let mut joined = log();
    alloc(&mut joined, 1, BLOCK);
    joined.write(1, BLOCK, 4, 1).put(1, Record::ThreadEnd);
    joined.put(0, Record::Join { thread: 1, pc: OWN }).read(0, BLOCK, 4, 1);
    for (i, w) in [read, created, joined].iter().enumerate() {
        let events = events(&w.translated());
        assert!(events.iter().all(|event| !event.contains("hidden:")), "{i}: {events:?}");
    }
}

/// An address that the thread itself stored, or that hidden code stored, is no reference.
#[test]
fn address_of_unknown_origin_explains_nothing() {
    let mut w = log();
    alloc(&mut w, 0, BLOCK);
    w.write(0, BLOCK, 4, 1).write(0, 64, 8, 7).write(1, 64, 8, BLOCK).read(1, 64, 8, BLOCK);
    w.read(1, BLOCK, 4, 1);
    assert_eq!(w.translated().trace.names().meta()["kept first uses"], "1");
}

/// The reader comes after all threads; later accesses to the word update its state.
#[test]
fn unexplained_read_comes_after_the_other_threads() {
    let mut w = log();
    w.write(0, 0x2000, 4, 1).write(0, 64, 4, 5).read(1, 0x2000, 4, 9).read(1, 64, 4, 5);
    let t = w.translated();
    assert_eq!(
        events(&t)[1..],
        [
            "T0 au hidden:memory+0x0=0=1",
            "T0 w memory+0x2000=1",
            "T0 w memory+0x40=5",
            "T0 aw hidden:after 1=1",
            "T1 ar hidden:after 1=1",
            "T1 au hidden:memory+0x0=1=2",
            "T1 r memory+0x2000=9",
            "T1 r memory+0x40=5",
        ]
    );
    assert_eq!(t.trace.names().meta()["kept unexplained reads"], "1");
}

/// The other thread may have written before the last event of the reader.
#[test]
fn unexplained_read_comes_after_earlier_events_too() {
    let mut w = log();
    w.write(0, 0x2000, 4, 1).write(0, 64, 4, 5).sync(1, SyncKind::Signal, 64, 0);
    w.read(1, 0x2000, 4, 9).read(1, 0x2000, 4, 8).read(1, 64, 4, 5);
    let events = events(&w.translated());
    let order = |event: &&String| event.contains("hidden:after");
    let expected = ["T0 aw hidden:after 1=1", "T1 ar hidden:after 1=1"];
    assert_eq!(events.iter().filter(order).collect::<Vec<_>>(), expected);
}

/// A file that is mapped: stores to memory change what a call reads from it.
#[test]
fn input_from_a_mapped_file_comes_after_the_other_threads() {
    let file = Channel::File.number(&[1]);
    let mut w = log();
    w.write(0, 64, 4, 5).sync(1, SyncKind::SystemCall, 0, 0);
    w.sync(1, SyncKind::Received, file, 1 | received::MAPPED).read(1, 64, 4, 5);
    let events = events(&w.translated());
    assert!(events.contains(&"T1 ar hidden:after 1=1".to_owned()), "{events:?}");
}

/// A flag that only code which is not recorded sets: its readers see the change.
#[test]
fn word_that_hidden_calls_write_is_in_the_trace() {
    let mut w = log();
    w.read(1, BLOCK, 4, 0);
    call(&mut w, 0, ARGUMENTS, &[BLOCK]);
    w.read(1, BLOCK, 4, 1);
    assert_eq!(
        events(&w.translated())[1..],
        [
            "T1 au hidden:memory+0x0=0=1",
            "T1 r memory+0x10000=0",
            "T0 au hidden:memory+0x0=1=2",
            "T1 au hidden:memory+0x0=2=3",
            "T1 r memory+0x10000=1",
        ]
    );
}
