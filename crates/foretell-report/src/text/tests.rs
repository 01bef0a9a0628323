//! What people see, pinned.

use foretell_generate::{Family, Params, generate};
use foretell_trace::{EventKind, LockId, SiteId, TraceBuilder, Value, VarId};
use proptest::prelude::*;
use serde_json::Map;

use super::*;
use crate::json::{Block, Counts, Form, Source, TraceInfo, Undecided, Witness};

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

    fn push(&mut self, thread: &str, kind: EventKind, place: &str) -> u32 {
        let thread = self.b.thread(thread);
        let site: Option<SiteId> = (!place.is_empty()).then(|| self.b.site(place, None));
        self.b.push(thread, kind, site).0
    }

    fn read(&mut self, thread: &str, value: i64, place: &str) -> u32 {
        let value = Some(self.b.values().intern(Value::Int(value)));
        let kind = EventKind::Read { var: self.balance, atomic: false, value, register: None };
        self.push(thread, kind, place)
    }

    fn write(&mut self, thread: &str, value: i64, place: &str) -> u32 {
        let value = Some(self.b.values().intern(Value::Int(value)));
        let kind = EventKind::Write { var: self.balance, atomic: false, value, expr: None };
        self.push(thread, kind, place)
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
        let mut f = finding(Kind::Atomicity, &[c, r, c2], &[0, c, 4, r, c2]);
        f.block = Some(Block { begin: 0, end: Some(3) });
        (bank.b.build(), f)
    }
}

fn finding(kind: Kind, events: &[u32], schedule: &[u32]) -> Finding {
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
        witness: Witness { schedule: schedule.to_vec(), extra: Map::new() },
        verified: true,
        engine: "order".to_owned(),
        replay: None,
        fingerprint: None,
        suppressed: None,
        baseline: None,
        extra: Map::new(),
    }
}

fn shown(trace: &Trace, finding: &Finding, look: Look) -> String {
    let mut out = Vec::new();
    Shower::new(trace, Model::Value, look).finding(&mut out, finding).unwrap();
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
atomicity-1: atomicity violation on balance: T1 reads at bank.c:41 and writes at
  bank.c:42 in one atomic block, and T2 can write at bank.c:52 in between

       T1              T2
    0  begin(deposit)                           bank.c:40
  > 1  r(balance=100)                           bank.c:41
    4                  r(balance=100, was 110)  bank.c:51
  > 5                  w(balance=90)            bank.c:52
  > 2  w(balance=110)                           bank.c:42

  a schedule of 5 events; the checker accepts it
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
        for line in text.lines().filter(|l| !l.ends_with("accepts it")) {
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
    let f = finding(Kind::Race, &events[6..], &events);
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
    let f = finding(Kind::Race, &[a, b], &schedule);
    let text = shown(&trace, &f, Look { width: 60, ..Look::default() });
    assert_eq!(
        text,
        "\
race-1: data race on balance: T1 writes (event 3001), T2
  writes (event 3002) at the same time

          T1            T2
          … 1,500 events of T1 …
    1500  acq(m)
          … 1,500 events of T1 …
  > 3001  w(balance=1)
  > 3002                w(balance=2)

  a schedule of 3,003 events; the checker accepts it
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
    (bank.b.build(), finding(Kind::Deadlock, &[1, 5], &[0, 4]))
}

#[test]
fn a_deadlock_shows_where_the_threads_are_stuck() {
    let (trace, f) = inversion();
    assert_eq!(
        shown(&trace, &f, Look { width: 90, ..Look::default() }),
        "\
deadlock-1: deadlock: T1 holds a and waits for b at T1.c:2; T2 holds b and waits for a at
  T2.c:2

       T1      T2
    0  acq(a)
    4          acq(b)
  > 1  acq(b)          T1.c:2 blocked
  > 5          acq(a)  T2.c:2 blocked

  a schedule of 2 events; the checker accepts it
"
    );
}

#[test]
fn every_kind_has_a_headline_in_plain_words() {
    let (trace, atomicity) = Bank::lost_update();
    let mut f = finding(Kind::Race, &[2, 4], &[0, 1, 2, 4]);
    assert_eq!(
        headline(&trace, &f),
        "race-1: data race on balance: T1 writes at bank.c:42, T2 reads at bank.c:51 at the same time"
    );
    f = Finding { kind: Kind::Serializability, ..atomicity.clone() };
    assert_eq!(
        headline(&trace, &f),
        "atomicity-1: T1's atomic block deposit at bank.c:40 is not serializable: conflicts lead out of it \
         where T1 reads balance at bank.c:41 and back into it where T1 writes balance at bank.c:42"
    );
    f = Finding { kind: Kind::Transactions, ..atomicity.clone() };
    assert_eq!(
        headline(&trace, &f),
        "atomicity-1: T1's atomic block deposit at bank.c:40 is on a cycle of conflicts: T1 reads balance at \
         bank.c:41; T2 writes balance at bank.c:52; T1 writes balance at bank.c:42"
    );
    f = finding(Kind::Nondeterminism, &[4], &[0, 4]);
    f.writer = Some(Source::Event(2));
    f.challenger = Some(Source::Initial);
    f.form = Some(Form::WriterAbsent);
    assert_eq!(
        headline(&trace, &f),
        "nondeterminism-1: what T2 reads from balance at bank.c:51 depends on the schedule: it can see \
         the initial value instead of T1's write at bank.c:42"
    );
    f = finding(Kind::Nondeterminism, &[2], &[0, 1, 4, 5, 2, 3]);
    f.writer = Some(Source::Event(5));
    f.form = Some(Form::FinalValue);
    assert_eq!(
        headline(&trace, &f),
        "nondeterminism-1: the final value of balance depends on the schedule: the last write can be \
         T1's write at bank.c:42 instead of T2's write at bank.c:52"
    );
}

#[test]
fn a_whole_file_ends_with_its_summary() {
    let (trace, f) = Bank::lost_update();
    let mut file = Findings::new(TraceInfo::new("bank.std", &trace, Model::Value));
    file.findings = vec![f];
    let counts = Counts { candidates: 1234, predicted: 1, undecided: 1, ..Counts::default() };
    file.summary.insert(Kind::Atomicity, counts);
    file.undecided.push(Undecided {
        kind: Kind::Atomicity,
        events: vec![1, 4, 2],
        block: None,
        reason: "the time limit of 1 s".to_owned(),
        extra: Map::new(),
    });
    let mut out = Vec::new();
    findings(&mut out, &file, None, &Look::default()).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap(),
        "\
atomicity-1: atomicity violation on balance: event 1, event 5, event 2

undecided: atomicity of events 1, 4, 2: the time limit of 1 s
                  candidates   predicted   undecided
atomicity              1,234           1           1
"
    );
    let mut out = Vec::new();
    findings(&mut out, &file, Some(&trace), &Look::default()).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("> 5"));
}

#[test]
fn events_that_the_trace_does_not_have_do_no_harm() {
    let (trace, _) = Bank::lost_update();
    for kind in Kind::ALL {
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
    let f = finding(Kind::Race, &[a, b], &[a, b]);
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
        kind in proptest::sample::select(&Kind::ALL[..]),
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
        prop_assert_eq!(witness.lines().find(too_long), None, "{}", text);
    }
}
