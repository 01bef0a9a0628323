//! Everything a trace holds comes back; no bytes make the reader panic; every damage is noticed.

use proptest::prelude::*;

use super::chunk::{CHUNK_HEADER, ChunkType, write_chunk};
use super::*;
use crate::expr::{Expr, ExprOp};
use crate::{
    BarrierId, CondId, EventKind, ExprId, LabelId, LockId, MemBlockId, MemoryOrder, RegId, SemId,
    SiteId, ThreadId, Trace, TraceBuilder, Value, ValueId, VarId,
};

/// A small generator of numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn maybe<T>(&mut self, thing: T) -> Option<T> {
        (self.roll(2) == 0).then_some(thing)
    }
}

const THREADS: usize = 10;
const OBJECTS: usize = 5;
const REGISTERS: usize = 3;

/// A trace with everything in it, in no sensible order: the format does not ask for legality.
fn random_trace(seed: u64, events: usize) -> Trace {
    let mut dice = Dice(seed);
    let mut b = TraceBuilder::new();
    let mut registers = Vec::new();
    for i in 0..THREADS {
        let thread = b.thread(&format!("T{i}"));
        registers.extend((0..REGISTERS).map(|r| b.register(thread, &r.to_string())));
    }
    for i in 0..OBJECTS {
        let name = format!("0x7ffe{i:04x}é");
        b.variable(&name);
        b.lock(&name);
        b.condition(&name);
        b.semaphore(&name);
        b.barrier(&name);
        b.label(&name);
        b.mem_block(&name);
        let caller = if i == 0 { None } else { Some(SiteId(i as u32 - 1)) };
        b.site(&format!("bank.c:{i}"), caller);
    }
    let mut values = vec![b.values().intern(Value::Int(-3))];
    for i in 0..6 {
        values.push(b.values().intern(Value::Int(i << 40)));
        values.push(b.values().intern(Value::Int(i)));
        values.push(b.values().intern(Value::Int(i64::MIN + (i << 59))));
        values.push(b.values().intern(Value::Bits { width: 8 + i as u8, bits: 7 }));
    }
    b.values().intern(Value::Bits { width: 64, bits: u64::MAX });
    let exprs = expressions(&mut b, &registers);
    b.set_display_name(ThreadId(1), "worker | 1");
    b.set_initial_value(VarId(2), values[3]);
    b.set_initial_count(SemId(1), u64::MAX);
    b.set_parties(BarrierId(0), u32::MAX);
    b.set_opaque(VarId(3));
    b.set_ended(ThreadId(2));
    b.set_variable_part(VarId(1), MemBlockId(4));
    b.set_variable_part(VarId(2), MemBlockId(4));
    b.set_lock_part(LockId(1), MemBlockId(0));
    b.set_condition_part(CondId(3), MemBlockId(2));
    b.set_meta("ended", "signal 11");
    b.set_meta("", "");
    for _ in 0..events {
        let t = dice.roll(THREADS);
        let object = dice.roll(OBJECTS) as u32;
        let (x, y) = (values[dice.roll(values.len())], values[dice.roll(values.len())]);
        let (x, y) = (dice.maybe(x), dice.maybe(y));
        let own = registers[t * REGISTERS + dice.roll(REGISTERS)];
        let r = if dice.roll(4) == 0 { Some(own) } else { None };
        let [value_expr, guard_expr] = exprs[t];
        let e = if dice.roll(4) == 0 { Some(value_expr) } else { None };
        let kind = random_kind(&mut dice, object, (x, y), r, e, guard_expr);
        let site = SiteId(dice.roll(OBJECTS) as u32);
        let site = dice.maybe(site);
        let order = MemoryOrder::ALL[dice.roll(MemoryOrder::ALL.len())];
        b.push_ordered(ThreadId(t as u32), kind, order, site);
    }
    b.build()
}

/// For each thread a value and a condition over its registers. The registers only ever hold
/// integers in what `random_trace` makes of them, or nothing that is known.
fn expressions(b: &mut TraceBuilder, registers: &[RegId]) -> Vec<[ExprId; 2]> {
    let seven = b.exprs().intern(Expr::Const(Value::Int(7)));
    let wide = b.exprs().intern(Expr::Const(Value::Bits { width: 9, bits: 257 }));
    let part = b.exprs().intern(Expr::App(ExprOp::Extract(7, 0), [wide].into()));
    let byte = b.exprs().intern(Expr::App(ExprOp::ZeroExtend(56), [part].into()));
    let less = b.exprs().intern(Expr::App(ExprOp::BvSlt, [byte, byte].into()));
    let truth = b.exprs().intern(Expr::Bool(true));
    let both = b.exprs().intern(Expr::App(ExprOp::And, [less, truth].into()));
    let either = b.exprs().intern(Expr::App(ExprOp::Ite, [both, seven, seven].into()));
    let mut of_thread = Vec::new();
    for own in registers.chunks(REGISTERS) {
        // Integer whatever the register holds: only the first argument decides nothing here.
        b.exprs().intern(Expr::Reg(own[0]));
        let sum = b.exprs().intern(Expr::App(ExprOp::Add, [either, seven].into()));
        let test = b.exprs().intern(Expr::App(ExprOp::Gt, [sum, seven].into()));
        of_thread.push([sum, test]);
    }
    of_thread
}

fn random_kind(
    dice: &mut Dice,
    object: u32,
    (x, y): (Option<ValueId>, Option<ValueId>),
    register: Option<RegId>,
    expr: Option<ExprId>,
    guard: ExprId,
) -> EventKind {
    let (var, lock, cond) = (VarId(object), LockId(object), CondId(object));
    let other = LockId((object + 1) % OBJECTS as u32);
    let atomic = dice.roll(2) == 0;
    let label = dice.maybe(LabelId(object));
    match dice.roll(22) {
        0 | 1 => EventKind::Read { var, atomic, value: x, register },
        2 | 3 => EventKind::Write { var, atomic, value: x, expr },
        4 => EventKind::Update { var, old: x, new: y, register, expr },
        5 if atomic => EventKind::TryAcquire { lock },
        5 => EventKind::Acquire { lock },
        6 => EventKind::Release { lock },
        7 if atomic => EventKind::TryAcquireShared { lock },
        7 => EventKind::AcquireShared { lock },
        8 => EventKind::ReleaseShared { lock },
        9 if atomic => EventKind::TryFailed { lock },
        9 => EventKind::TryFailedShared { lock },
        10 => EventKind::Wait { cond, lock: other },
        11 => EventKind::Woken { cond, lock: other },
        12 => EventKind::TimedOut { cond, lock },
        13 if atomic => EventKind::Notify { cond },
        13 => EventKind::NotifyAll { cond },
        14 => EventKind::Post { sem: SemId(object) },
        15 => EventKind::Down { sem: SemId(object) },
        16 if atomic => EventKind::Arrive { barrier: BarrierId(object) },
        16 => EventKind::Leave { barrier: BarrierId(object) },
        20 => EventKind::Fence,
        21 if atomic => EventKind::Alloc { block: MemBlockId(object) },
        21 => EventKind::Free { block: MemBlockId(object) },
        17 if atomic => EventKind::Fork { thread: ThreadId(object) },
        17 => EventKind::Join { thread: ThreadId(object) },
        18 if atomic => EventKind::Begin { label },
        18 => EventKind::End { label },
        _ => EventKind::Guard { expr: guard },
    }
}

/// Everything that can be asked of a trace, identifiers included.
fn assert_same(a: &Trace, b: &Trace) {
    assert_eq!(a.events().collect::<Vec<_>>(), b.events().collect::<Vec<_>>());
    assert_same_tables(a, b);
}

fn assert_same_tables(a: &Trace, b: &Trace) {
    let (a, b) = (&a.tables, &b.tables);
    let names = |t: &crate::trace::Tables| {
        let tables = [
            &t.thread_names,
            &t.variables,
            &t.locks,
            &t.conditions,
            &t.semaphores,
            &t.barriers,
            &t.labels,
            &t.locations,
            &t.register_names,
            &t.mem_blocks,
        ];
        tables.map(|names| names.iter().map(str::to_owned).collect::<Vec<_>>())
    };
    assert_eq!(names(a), names(b));
    assert_eq!(a.sites, b.sites);
    assert_eq!(a.site_index, b.site_index);
    assert_eq!(a.registers, b.registers);
    assert_eq!(a.register_index, b.register_index);
    assert_eq!(a.register_sorts, b.register_sorts);
    assert_eq!(a.values.table(), b.values.table());
    assert_eq!(a.exprs.iter().collect::<Vec<_>>(), b.exprs.iter().collect::<Vec<_>>());
    assert_eq!(a.display_names, b.display_names);
    assert_eq!(a.initial_values, b.initial_values);
    assert_eq!(a.initial_counts, b.initial_counts);
    assert_eq!(a.parties, b.parties);
    assert_eq!(a.opaque, b.opaque);
    assert_eq!(a.ended, b.ended);
    assert_eq!(a.parts.variables, b.parts.variables);
    assert_eq!(a.parts.locks, b.parts.locks);
    assert_eq!(a.parts.conditions, b.parts.conditions);
    assert_eq!(a.meta, b.meta);
}

fn file(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(trace, &mut bytes).unwrap();
    bytes
}

/// Writes a trace through the streaming writer, with a flush here and there.
fn streamed(trace: &Trace, flush_every: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for i in 0..trace.thread_count() as u32 {
        writer.thread(trace.thread_name(ThreadId(i)));
    }
    let mut seen = 0;
    for event in trace.events() {
        // Names of variables come when they are needed, as in a recording.
        while seen < trace.variable_count() as u32 && trace.variable(event.id) >= Some(VarId(seen))
        {
            writer.variable(trace.variable_name(VarId(seen)));
            seen += 1;
        }
        if trace.variable(event.id).is_some() {
            let kind = EventKind::Write {
                var: trace.variable(event.id).unwrap(),
                atomic: false,
                value: Some(writer.values().intern(Value::Int(event.id.0.into()))),
                expr: None,
            };
            writer.push(event.thread, kind, None).unwrap();
            if writer.events().is_multiple_of(flush_every) {
                writer.flush().unwrap();
            }
        }
    }
    writer.set_opaque(VarId(0));
    writer.set_meta("ended", "exit 0");
    writer.finish().unwrap()
}

/// Where each chunk of a good file starts, and the end.
fn chunk_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![24];
    while let Some(length) = bytes.get(starts[starts.len() - 1] + 4..).and_then(|b| b.get(..4)) {
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        starts.push(starts[starts.len() - 1] + CHUNK_HEADER + length);
    }
    starts
}

/// A reader that gives one byte at a time.
struct Trickle<'a>(&'a [u8]);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = buffer.len().min(self.0.len()).min(1);
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        Ok(n)
    }
}

#[test]
fn an_empty_trace_comes_back() {
    let decoded = read(&file(&Trace::default())[..]).unwrap();
    assert!(decoded.trace.is_empty() && decoded.notes.is_empty());
}

#[test]
fn long_traces_come_back_over_many_chunks() {
    let trace = random_trace(7, 50_000);
    let bytes = file(&trace);
    assert!(chunk_starts(&bytes).len() > 10);
    let decoded = read(&bytes[..]).unwrap();
    assert_same(&trace, &decoded.trace);
    assert!(decoded.notes.is_empty());
}

#[test]
fn an_update_may_bring_two_new_values() {
    let mut b = TraceBuilder::new();
    let (t, var) = (b.thread("T"), b.variable("x"));
    let [old, new] = [1, 2].map(|i| Some(b.values().intern(Value::Int(i << 40))));
    b.push(t, EventKind::Update { var, old, new, register: None, expr: None }, None);
    let trace = b.build();
    assert_same(&trace, &read(&file(&trace)[..]).unwrap().trace);
}

#[test]
fn a_file_can_be_read_from_a_pipe() {
    let trace = random_trace(3, 500);
    assert_same(&trace, &read(Trickle(&file(&trace))).unwrap().trace);
}

#[test]
fn a_recording_comes_back_and_survives_a_crash_after_a_flush() {
    let trace = random_trace(5, 2000);
    let bytes = streamed(&trace, 50);
    let whole = read(&bytes[..]).unwrap();
    assert!(whole.notes.is_empty());
    assert!(whole.trace.is_opaque(VarId(0)));
    assert_eq!(whole.trace.meta().get("ended").map(String::as_str), Some("exit 0"));
    let all: Vec<_> = whole.trace.events().collect();
    let mut lengths = Vec::new();
    for &start in &chunk_starts(&bytes)[1..] {
        let cut = read(&bytes[..start]).unwrap();
        assert_eq!(cut.notes.is_empty(), start == bytes.len());
        assert_eq!(cut.trace.events().collect::<Vec<_>>(), all[..cut.trace.len()]);
        lengths.push(cut.trace.len());
    }
    lengths.dedup();
    assert!(lengths.iter().take(5).eq(&[0, 50, 100, 150, 200]), "{lengths:?}");
}

#[test]
fn a_file_cut_anywhere_is_read_up_to_its_last_whole_chunk() {
    let trace = random_trace(11, 300);
    let bytes = file(&trace);
    let starts = chunk_starts(&bytes);
    for cut in 24..bytes.len() {
        let decoded = read(&bytes[..cut]).unwrap();
        let whole = starts.iter().rfind(|&&s| s <= cut).unwrap();
        assert_eq!(decoded.notes.len(), 1);
        assert!(decoded.notes[0].contains(&format!("up to byte {whole}")), "{:?}", decoded.notes);
        // A file with zeros in the place of the rest.
        let mut zeros = bytes[..cut].to_vec();
        zeros.resize(cut + 5000, 0);
        let decoded = read(&zeros[..]).unwrap();
        assert!(decoded.notes.len() == 1 && decoded.trace.len() <= 300);
    }
    for cut in 0..24 {
        assert!(read(&bytes[..cut]).is_err());
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = file(&random_trace(13, 100));
    for at in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(read(&bad[..]).is_err(), "byte {at}");
    }
}

#[test]
fn damage_in_the_middle_names_chunk_and_offset() {
    let bytes = file(&random_trace(13, 40_000));
    let starts = chunk_starts(&bytes);
    let third = starts.len() - 4;
    let mut bad = bytes.clone();
    bad[starts[third] + 100] ^= 4;
    let message = read(&bad[..]).unwrap_err().to_string();
    let location = format!("byte {}: chunk {} (EVNT): ", starts[third], third + 1);
    assert!(message.starts_with(&location), "{message}");
}

#[test]
fn other_versions_are_refused() {
    let good = file(&Trace::default());
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        let check = crc32fast::hash(&bytes[..20]).to_le_bytes();
        bytes[20..24].copy_from_slice(&check);
        bytes
    };
    let says = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert_eq!(says(b"T1|r(x)|5\n"), "byte 0: not a binary trace");
    assert!(says(&with(8, 2)).starts_with("byte 8: file header: version 2;"));
    assert!(says(&with(12, 1)).starts_with("byte 12: file header: features 0x1"));
    assert!(says(&with(10, 3)).starts_with("byte 10: file header: a length of 3 bytes"));
    assert!(read(&with(16, 1)[..]).is_ok(), "optional features may be ignored");
}

#[test]
fn unknown_chunks_are_skipped_or_refused_by_their_first_letter() {
    let done = file(&Trace::default())[24..].to_vec();
    let with = |kind: [u8; 4]| {
        let mut bytes = file(&Trace::default())[..24].to_vec();
        write_chunk(&mut bytes, ChunkType(kind), b"anything").unwrap();
        bytes.extend_from_slice(&done);
        read(&bytes[..])
    };
    assert!(with(*b"note").is_ok());
    assert!(with(*b"NOTE").unwrap_err().to_string().contains("(NOTE): a type that"));
}

#[test]
fn an_event_that_names_nothing_is_not_written() {
    let mut b = TraceBuilder::new();
    let t = b.thread("T");
    b.push(t, EventKind::Acquire { lock: LockId(0) }, None);
    let error = write(&b.build(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "event 0 names something that is not defined");
}

#[test]
fn ill_sorted_expressions_are_refused() {
    let mut b = TraceBuilder::new();
    let t = b.thread("T");
    let seven = b.exprs().intern(Expr::Const(Value::Int(7)));
    b.push(t, EventKind::Guard { expr: seven }, None);
    let error = read(&file(&b.build())[..]).unwrap_err();
    assert_eq!(error.to_string(), "event 0: its expression is ill-sorted");
}

/// The example of `docs/format-ft.md`, byte for byte.
#[test]
fn the_documented_example_is_what_is_written() {
    let mut b = TraceBuilder::new();
    let (t1, t2) = (b.thread("T1"), b.thread("T2"));
    let x = b.variable("x");
    let site = Some(b.site("a.c:3", None));
    let one = Some(b.values().intern(Value::Int(1)));
    b.push(t1, EventKind::Write { var: x, atomic: false, value: one, expr: None }, site);
    b.push(t2, EventKind::Read { var: x, atomic: false, value: one, register: None }, None);
    b.push(t2, EventKind::Read { var: x, atomic: false, value: one, register: None }, None);
    b.set_meta("ended", "exit 0");
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ");
    let bytes = file(&b.build());
    let starts = chunk_starts(&bytes);
    let payloads: Vec<_> =
        starts.windows(2).map(|w| hex(&bytes[w[0] + CHUNK_HEADER..w[1]])).collect();
    let document = include_str!("../../../../docs/format-ft.md");
    for payload in payloads.iter().chain([&hex(&bytes[..24])]) {
        assert!(document.contains(&format!("`{payload}`")), "not in the document: {payload}");
    }
}

/// Replaces bytes of a chunk's payload and mends its checksums, so that the nonsense gets through.
fn with_nonsense(bytes: &[u8], chunk: usize, changes: &[(usize, u8)]) -> Vec<u8> {
    let starts = chunk_starts(bytes);
    let chunk = chunk % (starts.len() - 1);
    let (start, end) = (starts[chunk], starts[chunk + 1]);
    let kind = ChunkType(bytes[start..start + 4].try_into().unwrap());
    let mut payload = bytes[start + CHUNK_HEADER..end].to_vec();
    for &(at, byte) in changes {
        let len = payload.len();
        if len > 0 {
            payload[at % len] = byte;
        }
    }
    let mut bad = bytes[..start].to_vec();
    write_chunk(&mut bad, kind, &payload).unwrap();
    bad.extend_from_slice(&bytes[end..]);
    bad
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn traces_come_back(seed: u64, events in 0usize..400) {
        let trace = random_trace(seed, events);
        let decoded = read(&file(&trace)[..]).unwrap();
        assert_same(&trace, &decoded.trace);
        prop_assert!(decoded.notes.is_empty());
    }

    #[test]
    fn random_bytes_do_no_harm(bytes: Vec<u8>) {
        prop_assert!(read(&bytes[..]).is_err());
        let mut framed = file(&Trace::default())[..24].to_vec();
        framed.extend_from_slice(&bytes);
        let _ = read(&framed[..]);
    }

    #[test]
    fn random_chunks_do_no_harm(kinds in prop::collection::vec((0usize..9, any::<Vec<u8>>()), 0..6)) {
        let types = [b"NAME", b"SITE", b"REGI", b"VALU", b"EXPR", b"DECL", b"META", b"EVNT", b"DONE"];
        let mut bytes = file(&Trace::default())[..24].to_vec();
        for (kind, payload) in &kinds {
            write_chunk(&mut bytes, ChunkType(*types[*kind]), payload).unwrap();
        }
        let _ = read(&bytes[..]);
    }

    #[test]
    fn nonsense_with_good_checksums_makes_a_sound_trace_or_an_error(
        seed: u64,
        chunk: usize,
        changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4),
    ) {
        let bytes = with_nonsense(&file(&random_trace(seed, 60)), chunk, &changes);
        if let Ok(decoded) = read(&bytes[..]) {
            // Whatever it names is there: writing checks that, and decoding does not panic.
            let again = read(&file(&decoded.trace)[..]).unwrap();
            assert_same(&decoded.trace, &again.trace);
        }
    }
}
