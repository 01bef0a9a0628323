//! Findings files written, read, refused and merged.

use foretell_trace::{FindingKind, Model, NondeterminismForm, Trace};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// A file with one race, as `docs/cli.md` shows it.
const EXAMPLE: &str = r#"{"schema":"foretell-findings/1",
 "trace":{"path":"bank.std","events":97,"threads":4,"variables":5,"locks":1,"blocks":4,"model":"value"},
 "findings":[
  {"id":"race-1","kind":"race","events":[12,31],"objects":["x"],"locations":["bank.c:41","bank.c:58"],"block":null,"witness":{"schedule":[0,1,5,12,31]},"verified":true,"engine":"order","replay":null,"confirmation":"not-replayed"}],
 "summary":{"race":{"candidates":9,"predicted":1,"undecided":0}},
 "undecided":[]}
"#;

fn written(findings: &Findings) -> String {
    let mut bytes = Vec::new();
    findings.write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

pub(crate) fn finding(kind: FindingKind, events: &[u32]) -> Finding {
    Finding {
        id: "some".to_owned(),
        kind,
        events: events.to_vec(),
        objects: vec!["x".to_owned()],
        locations: vec![None; events.len()],
        block: None,
        writer: None,
        challenger: None,
        form: None,
        witness: Witness { schedule: events.to_vec(), values: Vec::new(), extra: Map::new() },
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

fn file(findings: Vec<Finding>) -> Findings {
    let mut file = Findings::new(TraceInfo::new("t.std", &Trace::default(), Model::View));
    for finding in &findings {
        let counts = file.summary.entry(finding.kind).or_default();
        counts.candidates += 3;
        counts.predicted += 1;
    }
    file.findings = findings;
    file
}

#[test]
fn the_documented_example_passes_through_unchanged() {
    assert_eq!(written(&Findings::parse(EXAMPLE).unwrap()), EXAMPLE);
}

#[test]
fn confirmation_of_older_files_follows_from_the_replay() {
    let old = |replay: &str| {
        let text = EXAMPLE.replace(r#""replay":null,"confirmation":"not-replayed""#, replay);
        Findings::parse(&text).unwrap().findings[0].clone()
    };
    let departed = old(r#""replay":{"verdict":"departed","text":"left the schedule"}"#);
    assert_eq!(departed.confirmation, Confirmation::Unconfirmed);
    let unconfirmed = CountAlso { unconfirmed: true, nondeterminism: false };
    let nothing = CountAlso::default();
    assert!(!departed.counts(nothing) && departed.counts(unconfirmed) && departed.is_shown());
    let benign = old(r#""replay":{"verdict":"benign"}"#);
    assert_eq!(benign.confirmation, Confirmation::Confirmed);
    let none = old(r#""replay":null"#);
    assert_eq!(none.confirmation, Confirmation::NotReplayed);
    assert!(benign.counts(nothing) && none.counts(nothing));
    for word in [Confirmation::Confirmed, Confirmation::NotReplayed, Confirmation::Unconfirmed] {
        assert_eq!(json!(word), word.name());
    }
}

#[test]
fn every_field_has_its_documented_form() {
    let mut f = finding(FindingKind::Nondeterminism, &[7]);
    f.writer = Some(Source::Initial);
    f.challenger = Some(Source::Event(3));
    f.form = Some(NondeterminismForm::BeforeWriter.into());
    f.block = Some(Block { begin: 2, end: None });
    let value = serde_json::to_value(&f).unwrap();
    assert_eq!(value["kind"], "nondeterminism");
    assert_eq!(value["locations"], json!([null]));
    assert_eq!(value["writer"], "initial");
    assert_eq!(value["challenger"], 3);
    assert_eq!(value["form"], "before-writer");
    assert_eq!(value["block"], json!([2, null]));
    let words = [
        NondeterminismForm::AfterWriter,
        NondeterminismForm::WriterAbsent,
        NondeterminismForm::FinalValue,
    ]
    .map(|form| serde_json::to_value(form).unwrap());
    assert_eq!(words, ["after-writer", "writer-absent", "final-value"]);
    for kind in FindingKind::ALL {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

#[test]
fn unknown_fields_are_kept() {
    let text = EXAMPLE
        .replace(r#""verified":true"#, r#""severity":"high","verified":true"#)
        .replace(r#""undecided":0"#, r#""undecided":0,"pruned":4"#)
        .replace(r#""model":"value""#, r#""model":"value","host":"h""#)
        .replace(r#""undecided":[]"#, r#""undecided":[],"tool":{"version":"9"}"#);
    let parsed = Findings::parse(&text).unwrap();
    assert_eq!(parsed.findings[0].extra["severity"], "high");
    assert_eq!(parsed.summary[&FindingKind::Race].extra["pruned"], 4);
    assert_eq!(parsed.trace.extra["host"], "h");
    assert_eq!(parsed.extra["tool"]["version"], "9");
    assert_eq!(Findings::parse(&written(&parsed)).unwrap(), parsed);
}

/// The message for the example with one piece replaced.
fn refused(piece: &str, by: &str) -> String {
    assert!(EXAMPLE.contains(piece));
    Findings::parse(&EXAMPLE.replace(piece, by)).unwrap_err().to_string()
}

#[test]
fn errors_are_one_line_that_names_the_finding() {
    for (piece, by, message) in [
        (
            "foretell-findings/1",
            "else/2",
            "not a foretell-findings/1 file: the schema is \"else/2\"",
        ),
        (r#""schema":"foretell-findings/1","#, "", "`schema` is missing"),
        (r#""summary":"#, r#""summery":"#, "`summary` is missing"),
        (
            "[12,31]",
            "[12,-1]",
            "finding race-1: invalid value: integer `-1`, expected u32 at line 4 column 46",
        ),
        (
            "[12,31]",
            "[12,4294967296]",
            "finding race-1: invalid value: integer `4294967296`, expected u32 at line 4 column 54",
        ),
        (
            "[12,31]",
            "\"12\"",
            "finding race-1: invalid type: string \"12\", expected a sequence at line 4 column 44",
        ),
        (r#""kind":"race""#, r#""kind":"rice""#, "finding race-1: unknown variant `rice`"),
        (r#""id":"race-1","#, "", "finding number 1 in the list: missing field `id`"),
        (
            r#""verified":true"#,
            r#""verified":1"#,
            "finding race-1: invalid type: integer `1`, expected a boolean",
        ),
        (
            r#""block":null"#,
            r#""block":[1]"#,
            "finding race-1: invalid length 1, expected a tuple of size 2",
        ),
        (
            r#""block":null"#,
            r#""block":null,"writer":"first""#,
            "finding race-1: invalid value: string \"first\", expected an event index or \"initial\"",
        ),
        (r#""model":"value""#, r#""model":"sc""#, "trace: no model is called `sc`"),
        (
            r#""undecided":[]"#,
            r#""undecided":3"#,
            "undecided: invalid type: integer `3`, expected a sequence at line 6 column 14",
        ),
        (r#""undecided":[]"#, r#""undecided":[],"shard":"3/2""#, "shard: `3/2` is not a part I/N"),
        ("]}\n", "", "not a findings file: EOF while parsing"),
    ] {
        let error = refused(piece, by);
        assert!(error.starts_with(message), "{by}: {error}");
        assert!(!error.contains('\n'));
    }
    for text in ["", "[]", "7", "null", "{", "\u{feff}{}"] {
        let error = Findings::parse(text).unwrap_err().to_string();
        assert!(error.starts_with("not a findings file: "), "{text:?}: {error}");
    }
}

#[test]
fn two_findings_with_one_id_are_refused() {
    let mut twice = Findings::parse(EXAMPLE).unwrap();
    twice.findings.push(twice.findings[0].clone());
    let error = Findings::parse(&written(&twice)).unwrap_err().to_string();
    assert_eq!(error, "finding race-1: two findings have this id");
}

#[test]
fn an_id_is_a_word() {
    for id in ["", "a b", "a\\nb", "\\u001b"] {
        let error = refused(r#""id":"race-1""#, &format!(r#""id":"{id}""#));
        assert!(error.ends_with(": `id` must be a word"), "{error}");
    }
}

#[test]
fn a_hostile_id_does_not_reach_the_terminal() {
    let error = refused(r#""id":"race-1","kind":"race""#, r#""id":"\u001b[2Jx\n","kind":1"#);
    assert!(!error.chars().any(char::is_control), "{error:?}");
}

#[test]
fn merging_numbers_by_kind_and_events() {
    let one =
        file(vec![finding(FindingKind::Deadlock, &[1, 2]), finding(FindingKind::Race, &[5, 9])]);
    let two = file(vec![finding(FindingKind::Race, &[2, 30]), finding(FindingKind::Race, &[2, 4])]);
    let whole = merge(vec![("1".to_owned(), one.clone()), ("2".to_owned(), two.clone())]).unwrap();
    let ids: Vec<_> = whole.findings.iter().map(|f| (f.id.as_str(), &f.events[..])).collect();
    assert_eq!(
        ids,
        [
            ("race-1", &[2, 4][..]),
            ("race-2", &[2, 30]),
            ("race-3", &[5, 9]),
            ("deadlock-1", &[1, 2])
        ]
    );
    assert_eq!(whole.summary[&FindingKind::Race].candidates, 9);
    assert_eq!(whole.summary[&FindingKind::Race].predicted, 3);
    assert_eq!(whole.summary[&FindingKind::Deadlock].predicted, 1);
    assert_eq!(merge(vec![("2".to_owned(), two), ("1".to_owned(), one)]).unwrap(), whole);
}

#[test]
fn a_finding_of_two_parts_is_kept_once_with_its_shortest_witness() {
    let (mut long, short) =
        (finding(FindingKind::Race, &[2, 4]), finding(FindingKind::Race, &[2, 4]));
    long.witness.schedule = vec![0, 1, 2, 4];
    let parts = vec![("a".to_owned(), file(vec![long])), ("b".to_owned(), file(vec![short]))];
    let whole = merge(parts).unwrap();
    assert_eq!(whole.findings.len(), 1);
    assert_eq!(whole.findings[0].witness.schedule, [2, 4]);
    assert_eq!(whole.summary[&FindingKind::Race].predicted, 1);
}

#[test]
fn one_block_is_one_finding_whatever_the_path() {
    let with_block = |begin, events: &[u32]| {
        let mut f = finding(FindingKind::Serializability, events);
        f.block = Some(Block { begin, end: Some(9) });
        f
    };
    let parts = vec![
        ("a".to_owned(), file(vec![with_block(1, &[2, 3, 4])])),
        ("b".to_owned(), file(vec![with_block(1, &[2, 5, 4]), with_block(0, &[2, 5, 4])])),
    ];
    let whole = merge(parts).unwrap();
    let begins: Vec<_> = whole.findings.iter().filter_map(|f| f.block).map(|b| b.begin).collect();
    assert_eq!(begins, [0, 1]);
}

#[test]
fn parts_of_another_whole_are_refused() {
    let name = |n: &str, f: &Findings| (n.to_owned(), f.clone());
    let error = |parts| merge(parts).unwrap_err().to_string();
    let plain = file(vec![]);
    let mut other = plain.clone();
    other.trace.events = 8;
    assert_eq!(
        error(vec![name("a", &plain), name("b", &other)]),
        "b: not about the trace of a: 8 events against 0"
    );
    let mut model = plain.clone();
    model.trace.model = Model::Value;
    assert_eq!(
        error(vec![name("a", &plain), name("b", &model)]),
        "b: made in another model than a"
    );
    let part = |index, count| Findings { shard: Some(Shard { index, count }), ..plain.clone() };
    let (one, two) = (part(1, 2), part(2, 2));
    assert_eq!(error(vec![name("a", &two), name("b", &two)]), "b: part 2/2 again");
    assert_eq!(error(vec![name("a", &two)]), "part 1/2 is missing: give all parts at once");
    assert_eq!(
        error(vec![name("a", &part(1, u32::MAX))]),
        "part 2/4294967295 is missing: give all parts at once"
    );
    assert_eq!(
        error(vec![name("a", &one), name("b", &plain)]),
        "b: not a part of the same division as a"
    );
    assert_eq!(error(vec![]), "no findings files to merge");
    assert_eq!(merge(vec![name("a", &two), name("b", &one)]).unwrap().shard, None);
}

proptest! {
    /// Whatever happens to a findings file, reading it ends with a result or with one line.
    #[test]
    fn a_damaged_file_is_read_or_refused(at in 0..EXAMPLE.len(), piece in "[\\PC\\n]{0,6}", cut in 0..9usize) {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        bytes.splice(at..(at + cut).min(EXAMPLE.len()), piece.bytes());
        match Findings::parse(&String::from_utf8_lossy(&bytes)) {
            Ok(parsed) => prop_assert_eq!(Findings::parse(&written(&parsed)), Ok(parsed)),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}

#[test]
fn several_files_in_one_are_read_one_after_the_other() {
    let (a, b) = (file(vec![finding(FindingKind::Race, &[0, 1])]), file(vec![]));
    let text = format!("{}{}", written(&a), written(&b));
    assert_eq!(Findings::parse_all(&text).unwrap(), [a, b]);
    assert!(Findings::parse_all("").is_err());
    assert!(Findings::parse_all("{}").is_err());
    assert!(Findings::parse_all("{\"schema\":").is_err());
}
