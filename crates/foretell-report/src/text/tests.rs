//! Snapshots of the text report.

use foretell_generate::{Family, Params, generate};
use foretell_trace::{
    EventKind, FindingKind, LockId, NondeterminismForm, RaceForm, SiteId, TraceBuilder, Value,
    VarId,
};
use proptest::prelude::*;
use serde_json::Map;

use super::*;
use crate::json::{Block, Counts, Source, TraceInfo, Undecided, Witness};

/// A bank account: both threads read the balance, then write it, in a block each.
struct Bank {
    b: TraceBuilder,
    balance: VarId,
}

impl Bank {
    fn new() -> Self {
        let mut b = TraceBuilder::new();
        let balance = b.variable("balance");
        Bank { b, balance }
    }

    fn push(&mut self, thread: &str, kind: EventKind, location: &str) -> u32 {
        let thread = self.b.thread(thread);
        let site: Option<SiteId> = (!location.is_empty()).then(|| self.b.site(location, None));
        self.b.push(thread, kind, site).0
    }

    fn read(&mut self, thread: &str, value: i64, location: &str) -> u32 {
        let value = Some(self.b.values().intern(Value::Int(value)));
        let kind = EventKind::Read { var: self.balance, atomic: false, value, register: None };
        self.push(thread, kind, location)
    }

    fn write(&mut self, thread: &str, value: i64, location: &str) -> u32 {
        let value = Some(self.b.values().intern(Value::Int(value)));
        let kind = EventKind::Write { var: self.balance, atomic: false, value, expr: None };
        self.push(thread, kind, location)
    }

    fn lost_update() -> (Trace, Finding) {
        let mut bank = Bank::new();
        let label = Some(bank.b.label("deposit"));
        bank.push("T1", EventKind::Begin { label }, "bank.c:40");
        let c = bank.read("T1", 100, "bank.c:41");
        let c2 = bank.write("T1", 110, "bank.c:42");
        bank.push("T1", EventKind::End { label }, "bank.c:43");
        bank.read("T2", 110, "bank.c:51");
        let r = bank.write("T2", 90, "bank.c:52");
        let mut f = finding(FindingKind::Atomicity, &[c, r, c2], &[0, c, 4, r, c2]);
        f.block = Some(Block { begin: 0, end: Some(3) });
        (bank.b.build(), f)
    }
}

fn finding(kind: FindingKind, events: &[u32], schedule: &[u32]) -> Finding {
    Finding {
        id: format!("{kind}-1"),
        kind,
        events: events.to_vec(),
        objects: vec!["balance".to_owned()],
        locations: vec![None; events.len()],
        block: None,
        writer: None,
        challenger: None,
        form: None,
        witness: Witness { schedule: schedule.to_vec(), values: Vec::new(), extra: Map::new() },
        verified: true,
        engine: "order".to_owned(),
        replay: None,
        confirmation: Confirmation::NotReplayed,
        fingerprint: None,
        suppressed: None,
        cause: None,
        baseline: None,
        extra: Map::new(),
    }
}

fn shown(trace: &Trace, finding: &Finding, look: Look) -> String {
    let mut out = Vec::new();
    Printer::new(trace, Model::Value, &Sources::none(), look).finding(&mut out, finding).unwrap();
    String::from_utf8(out).unwrap()
}

/// The first line or lines: what the finding says.
fn headline(trace: &Trace, finding: &Finding) -> String {
    let text = shown(trace, finding, Look { width: 1000, ..Look::default() });
    text.lines().next().unwrap().to_owned()
}

#[test]
fn a_witness_is_a_column_for_each_thread() {
    let (trace, f) = Bank::lost_update();
    assert_eq!(
        shown(&trace, &f, Look { width: 80, ..Look::default() }),
        "\
atomicity-1: Thread T2 can set `balance` to 90 between the read and the write in
  thread T1, and that is lost

  --> bank.c:40  T1's atomic block deposit begins
  --> bank.c:41  T1 reads balance
  --> bank.c:52  T2 writes balance
  --> bank.c:42  T1 writes balance

       T1              T2
    0  begin(deposit)                           bank.c:40
  > 1  r(balance=100)                           bank.c:41
    4                  r(balance=100, was 110)  bank.c:51
  > 5                  w(balance=90)            bank.c:52
  > 2  w(balance=110)                           bank.c:42

  witness   5 events; the checker accepts it
  replayed  no
  suppress  atomicity file=bank.c variable=balance
"
    );
}

#[test]
fn colour_only_adds_escapes() {
    let (trace, f) = Bank::lost_update();
    let plain = shown(&trace, &f, Look::default());
    let colored = shown(&trace, &f, Look { color: true, ..Look::default() });
    assert!(colored.contains("\u{1b}[31m"));
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn lines_keep_to_the_width() {
    let (trace, f) = Bank::lost_update();
    for width in 40..140 {
        let text = shown(&trace, &f, Look { width, ..Look::default() });
        for line in text.lines().filter(|l| !l.starts_with("  suppress")) {
            let wide = unicode_width::UnicodeWidthStr::width(line);
            assert!(wide <= width, "{wide} > {width}: {line}");
        }
    }
}

#[test]
fn threads_that_do_not_fit_are_named_in_each_row() {
    let mut bank = Bank::new();
    let events: Vec<u32> =
        (0..8).map(|i| bank.write(&format!("worker-{i}"), i, "bank.c:7")).collect();
    let f = finding(FindingKind::Race, &events[6..], &events);
    let text = shown(&bank.b.build(), &f, Look { width: 60, ..Look::default() });
    assert!(text.contains("    0  worker-0  w(balance=0)"), "{text}");
    assert!(text.contains("  > 7  worker-7  w(balance=7)"), "{text}");
}

#[test]
fn a_long_witness_is_folded_to_what_decides() {
    let mut bank = Bank::new();
    let other = bank.b.variable("log");
    let log = EventKind::Write { var: other, atomic: false, value: None, expr: None };
    for _ in 0..1500 {
        bank.push("T1", log, "");
    }
    let lock = bank.b.lock("m");
    bank.push("T1", EventKind::Acquire { lock }, "");
    for _ in 0..1500 {
        bank.push("T1", log, "");
    }
    let a = bank.write("T1", 1, "");
    let b = bank.write("T2", 2, "");
    let trace = bank.b.build();
    let schedule: Vec<u32> = (0..trace.len() as u32).collect();
    let f = finding(FindingKind::Race, &[a, b], &schedule);
    let text = shown(&trace, &f, Look { width: 60, ..Look::default() });
    assert_eq!(
        text,
        "\
race-1: Threads T1 and T2 can write `balance` at the same
  time

  --> event 3001  T1 writes balance
  --> event 3002  T2 writes balance

          T1            T2
          … 1,500 events of T1 …
    1500  acq(m)
          … 1,500 events of T1 …
  > 3001  w(balance=1)
  > 3002                w(balance=2)

  witness   3,003 events; the checker accepts it
  replayed  no
  suppress  race variable=balance
"
    );
    let whole = shown(&trace, &f, Look { width: 60, fold: false, ..Look::default() });
    assert!(whole.lines().count() > 3003);
}

/// Two threads that take two locks in opposite order.
fn inversion() -> (Trace, Finding) {
    let mut bank = Bank::new();
    let locks: [LockId; 2] = ["a", "b"].map(|name| bank.b.lock(name));
    for (thread, [first, second]) in [("T1", locks), ("T2", [locks[1], locks[0]])] {
        bank.push(thread, EventKind::Acquire { lock: first }, "");
        bank.push(thread, EventKind::Acquire { lock: second }, &format!("{thread}.c:2"));
        bank.push(thread, EventKind::Release { lock: second }, "");
        bank.push(thread, EventKind::Release { lock: first }, "");
    }
    (bank.b.build(), finding(FindingKind::Deadlock, &[1, 5], &[0, 4]))
}

#[test]
fn a_deadlock_shows_where_the_threads_are_stuck() {
    let (trace, f) = inversion();
    assert_eq!(
        shown(&trace, &f, Look { width: 90, ..Look::default() }),
        "\
deadlock-1: Threads T1 and T2 can wait for each other for ever: T1 holds `a` and waits for
  `b`, T2 holds `b` and waits for `a`

  --> event 0  T1 takes a
  --> event 4  T2 takes b
  --> T1.c:2   T1 waits for b
  --> T2.c:2   T2 waits for a

       T1      T2
    0  acq(a)
    4          acq(b)
  > 1  acq(b)          T1.c:2 blocked
  > 5          acq(a)  T2.c:2 blocked

  witness   2 events; the checker accepts it
  replayed  no
  suppress  deadlock file=T1.c variable=balance
"
    );
}

#[test]
fn every_kind_has_a_headline_in_plain_words() {
    let (trace, atomicity) = Bank::lost_update();
    let mut f = finding(FindingKind::Race, &[2, 4], &[0, 1, 2, 4]);
    assert_eq!(
        headline(&trace, &f),
        "race-1: Thread T1 can set `balance` to 110 while thread T2 reads it"
    );
    f = Finding { kind: FindingKind::Serializability, ..atomicity.clone() };
    assert_eq!(
        headline(&trace, &f),
        "atomicity-1: Thread T1's atomic block deposit can be seen half done: conflicts lead out of it where it \
         reads `balance` at bank.c:41 and back into it where it writes `balance` at bank.c:42"
    );
    f = Finding { kind: FindingKind::Transactions, ..atomicity.clone() };
    assert_eq!(
        headline(&trace, &f),
        "atomicity-1: Thread T1's atomic block deposit is on a cycle of conflicts, so no order of whole blocks \
         explains it: T1 reads `balance` at bank.c:41, T2 writes `balance` at bank.c:52, T1 writes `balance` at \
         bank.c:42"
    );
    f = finding(FindingKind::Nondeterminism, &[4], &[0, 4]);
    f.writer = Some(Source::Event(2));
    f.challenger = Some(Source::Initial);
    f.form = Some(NondeterminismForm::WriterAbsent.into());
    assert_eq!(
        headline(&trace, &f),
        "nondeterminism-1: What thread T2 reads from `balance` depends on the schedule: the initial value \
         instead of thread T1's write at bank.c:42"
    );
    f.challenger = Some(Source::Event(5));
    assert_eq!(
        headline(&trace, &f),
        "nondeterminism-1: Thread T2 can read 90 from `balance` instead of 110: thread T2's write at bank.c:52 \
         instead of thread T1's write at bank.c:42"
    );
    f = finding(FindingKind::Nondeterminism, &[2], &[0, 1, 4, 5, 2, 3]);
    f.writer = Some(Source::Event(5));
    f.form = Some(NondeterminismForm::FinalValue.into());
    assert_eq!(
        headline(&trace, &f),
        "nondeterminism-1: The last value of `balance` depends on the schedule: thread T1's write at bank.c:42 \
         can come after thread T2's write at bank.c:52"
    );
}

#[test]
fn frees_name_their_block() {
    let text = "#! part x b\nT1|free(b)\nT2|free(b)\nT2|aw.rlx(f)\nT3|ar.rlx(f)\nT3|r(x)";
    let trace = foretell_trace::text::parse(text.as_bytes()).expect("a trace").trace;
    let race = finding(FindingKind::Race, &[0, 1], &[0, 1]);
    assert_eq!(headline(&trace, &race), "race-1: Threads T1 and T2 can both free `b`");
    let mut unordered = finding(FindingKind::Race, &[1, 4], &[1, 2, 3, 4]);
    unordered.form = Some(RaceForm::Unordered.into());
    assert_eq!(
        headline(&trace, &unordered),
        "race-1: Nothing orders the free of `b` by thread T2 before the read by thread T3: the \
         store of `f` in T2 (event 2) is relaxed; release here and acquire in T3 (event 3) would \
         order them"
    );
}

/// The headline of an access of T2 between two of T1, all to `x`.
fn between(ops: [EventKind; 3]) -> String {
    let mut bank = Bank::new();
    let [c, r, c2] = ops;
    let c = bank.push("T1", c, "a.c:1");
    let r = bank.push("T2", r, "a.c:3");
    let c2 = bank.push("T1", c2, "a.c:2");
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.c"), "if (balance)\n  use(balance);\nbalance = 0;\n")
        .unwrap();
    let sources = Sources::new(vec![dir.path().to_path_buf()]);
    let f = finding(FindingKind::Atomicity, &[c, r, c2], &[c, r, c2]);
    crate::headline::headline(&f, Some(&bank.b.build()), &sources)
}

#[test]
fn each_pattern_of_atomicity_has_its_words() {
    let var = VarId(0);
    let r = EventKind::Read { var, atomic: false, value: None, register: None };
    let w = EventKind::Write { var, atomic: false, value: None, expr: None };
    for (ops, words) in [
        ([r, w, r], "write `balance` between the check and the use in thread T1"),
        (
            [r, w, w],
            "write `balance` between the read and the write in thread T1, and that is lost",
        ),
        ([w, w, r], "write `balance` between the write and the read in thread T1"),
        ([w, w, w], "write `balance` between two writes in thread T1"),
        (
            [w, r, w],
            "read `balance` between two writes in thread T1, and see the middle of an update",
        ),
    ] {
        assert_eq!(between(ops), format!("Thread T2 can {words}"));
    }
}

#[test]
fn source_lines_are_underlined() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "int balance;\n\n\tif (balance > 0)\n\t\treturn balance;\n\nx = balance = 0;\n";
    std::fs::write(dir.path().join("bank.c"), lines).unwrap();
    let sources = Sources::new(vec![dir.path().to_path_buf()]);
    let mut bank = Bank::new();
    let read = bank.read("T1", 1, "bank.c:3");
    let write = bank.write("T2", 0, "bank.c:6");
    bank.write("T2", 0, "bank.c:99");
    let f = finding(FindingKind::Race, &[read, write], &[read, write]);
    let trace = bank.b.build();
    let mut out = Vec::new();
    let look = Look { width: 72, ..Look::default() };
    Printer::new(&trace, Model::Value, &sources, look).finding(&mut out, &f).unwrap();
    let text = String::from_utf8(out).unwrap();
    let expected = "
    |
  3 |     if (balance > 0)
    |         ^^^^^^^ T1 reads balance
    :
  6 | x = balance = 0;
    |     ^^^^^^^ T2 writes balance

";
    assert!(text.contains(expected), "{text}");
    assert!(text.starts_with("race-1: Thread T2 can clear `balance` while thread T1 reads it\n"));
    assert!(text.contains("bank.c:3\n"), "{text}");
}

#[test]
fn stacks_verdicts_and_commands_are_below() {
    let mut bank = Bank::new();
    let main = bank.b.site("main", None);
    let caller = bank.b.site("get bank.c:9", Some(main));
    let site = Some(bank.b.site("bank.c:3", Some(caller)));
    let t1 = bank.b.thread("T1");
    let write = EventKind::Write { var: VarId(0), atomic: false, value: None, expr: None };
    let a = bank.b.push(t1, write, site).0;
    let b = bank.write("T2", 0, "bank.c:6");
    bank.b.set_meta("command", "./bank 3");
    bank.b.set_meta("seed", "0");
    let mut f = finding(FindingKind::Race, &[a, b], &[a, b]);
    f.replay =
        Some(serde_json::json!({"verdict": "crash", "text": "SIGSEGV", "times": 2, "of": 3}));
    let (trace, sources) = (bank.b.build(), Sources::none());
    let printer = Printer::new(&trace, Model::Value, &sources, Look::default());
    let mut out = Vec::new();
    printer.with_trace_path("run.ft").finding(&mut out, &f).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("\n  T1 in get at bank.c:3, called from main at bank.c:9\n\n"), "{text}");
    assert!(
        text.ends_with(
            "  witness   2 events; the checker accepts it
  replayed  SIGSEGV (2 of 3)
  replay    foretell replay run.ft race-1 -- ./bank 3
  suppress  race function=get variable=balance
"
        ),
        "{text}"
    );
}

#[test]
fn unconfirmed_findings_come_last_in_a_section_of_their_own() {
    let (trace, one) = Bank::lost_update();
    let replayed = |id: &str, verdict: &str, confirmed| {
        let mut finding = Finding { id: id.to_owned(), ..one.clone() };
        let text = format!("it was {verdict}");
        finding.set_replay(serde_json::json!({"verdict": verdict, "text": text}), confirmed);
        finding
    };
    let mut file = Findings::new(TraceInfo::new("t.std", &trace, Model::Value));
    let none = Finding { id: "none".to_owned(), ..one.clone() };
    file.findings =
        vec![replayed("left", "departed", false), none, replayed("real", "crash", true)];
    let mut out = Vec::new();
    findings(&mut out, &file, None, &Sources::none(), &Look::default()).unwrap();
    let text = String::from_utf8(out).unwrap();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at("real:") < at("none:") && at("none:") < at("unconfirmed findings\n"));
    assert!(at("unconfirmed findings\n") < at("left:"));
    assert!(at("  replayed  it was crash\n") < at("  replayed  no\n"));
    assert!(at("  replayed  unconfirmed: it was departed\n") > at("left:"));
    assert_eq!(text.matches("unconfirmed findings").count(), 1);
}

#[test]
fn a_whole_file_ends_with_its_summary() {
    let (trace, f) = Bank::lost_update();
    let mut file = Findings::new(TraceInfo::new("bank.std", &trace, Model::Value));
    file.findings = vec![f];
    let counts = Counts { candidates: 1234, predicted: 1, undecided: 1, ..Counts::default() };
    file.summary.insert(FindingKind::Atomicity, counts);
    file.undecided.push(Undecided {
        kind: FindingKind::Atomicity,
        events: vec![1, 4, 2],
        block: None,
        reason: "the time limit of 1 s".to_owned(),
        extra: Map::new(),
    });
    file.undecided.push(Undecided {
        kind: FindingKind::Serializability,
        events: Vec::new(),
        block: Some(Block { begin: 3, end: None }),
        reason: "bounded".to_owned(),
        extra: Map::new(),
    });
    let mut out = Vec::new();
    findings(&mut out, &file, None, &Sources::none(), &Look::default()).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "\
atomicity-1: atomicity violation on balance: event 1, event 5, event 2
  witness   5 events; the checker accepts it
  replayed  no
  suppress  atomicity variable=balance

undecided: atomicity of events 1, 4, 2: the time limit of 1 s
undecided: serializability of the block from event 3 to the end: bounded
                  candidates   predicted   undecided
atomicity              1,234           1           1
"
    );
    let mut out = Vec::new();
    findings(&mut out, &file, Some(&trace), &Sources::none(), &Look::default()).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("> 5"));
}

#[test]
fn events_that_the_trace_does_not_have_do_no_harm() {
    let (trace, _) = Bank::lost_update();
    for kind in FindingKind::ALL {
        let mut f = finding(kind, &[7, 1, u32::MAX], &[0, 99, 1]);
        f.writer = Some(Source::Event(99));
        f.block = Some(Block { begin: 99, end: Some(0) });
        let narrow = shown(&trace, &f, Look { width: 0, ..Look::default() });
        assert!(narrow.split_whitespace().any(|word| word == "7,"), "{narrow}");
        f.events = vec![1];
        shown(&trace, &f, Look::default());
        f.events.clear();
        f.witness.schedule.clear();
        shown(&trace, &f, Look::default());
    }
}

#[test]
fn control_characters_of_names_do_not_reach_the_terminal() {
    let mut bank = Bank::new();
    let (a, b) = (bank.write("T\u{1b}[2J", 1, "a\nb"), bank.write("T2", 2, "\u{7}"));
    let f = finding(FindingKind::Race, &[a, b], &[a, b]);
    let text = shown(&bank.b.build(), &f, Look::default());
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn thousands_are_set_apart() {
    let texts = [0, 12, 123, 1234, 123_456, 1_234_567].map(grouped);
    assert_eq!(texts, ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a finding claims about whatever trace, showing it keeps to the width.
    #[test]
    fn any_finding_of_any_trace_can_be_shown(
        family in proptest::sample::select(Family::ALL),
        seed in 0..1000u64,
        kind in proptest::sample::select(&FindingKind::ALL[..]),
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 0..5),
        keep in proptest::collection::vec(any::<bool>(), 80),
        width in 70..160usize,
        long_names in any::<bool>(),
    ) {
        let params = Params { seed, events: 80, threads: 5, ..Params::of(family) };
        let mut trace = generate(family, &params);
        if long_names {
            let mut b = trace.into_builder();
            for t in 0..b.trace().thread_count() as u32 {
                let name = format!("a-thread-with-a-very-long-name-that-does-not-fit-a-column-{t}");
                b.set_display_name(foretell_trace::ThreadId(t), &name);
            }
            trace = b.build();
        }
        prop_assume!(!trace.is_empty());
        let events: Vec<u32> = picks.iter().map(|pick| pick.index(trace.len()) as u32).collect();
        let schedule: Vec<u32> =
            (0..trace.len() as u32).filter(|&e| *keep.get(e as usize).unwrap_or(&true)).collect();
        let mut f = finding(kind, &events, &schedule);
        f.block = events.first().map(|&begin| Block { begin, end: events.last().copied() });
        f.writer = events.first().copied().map(Source::Event);
        let text = shown(&trace, &f, Look { width, ..Look::default() });
        let too_long = |line: &&str| unicode_width::UnicodeWidthStr::width(*line) > width;
        // Only a single word may be too long for a headline.
        let witness = text.split_once("\n\n").map_or("", |(_, rest)| rest);
        let witness = witness.split("\n  suppress").next().unwrap_or_default();
        prop_assert_eq!(witness.lines().find(too_long), None, "{}", text);
    }
}
