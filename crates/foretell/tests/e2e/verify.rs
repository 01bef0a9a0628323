//! `foretell verify`.

use super::*;

fn verify(trace: &Path, findings: &Path) -> Ran {
    foretell([Path::new("verify"), trace, findings])
}

/// Returns the findings of the bank example with one piece replaced.
fn changed(files: &Files, piece: &str, by: &str) -> PathBuf {
    let findings = read(&repository("examples/traces/bank.json"));
    assert!(findings.contains(piece), "{piece}");
    files.add("findings.json", findings.replacen(piece, by, 1))
}

fn bank() -> PathBuf {
    repository("examples/traces/bank.std")
}

#[test]
fn good_witnesses_are_accepted() {
    let out = verify(&bank(), &repository("examples/traces/bank.json")).quietly(0);
    assert_eq!(
        out,
        "atomicity-1: accepted\nnondeterminism-1: accepted\nnondeterminism-2: accepted\n3 of 3 accepted\n"
    );
}

#[test]
fn trace_may_be_in_any_format() {
    let files = Files::new();
    let binary = files.path("bank.ft");
    foretell([Path::new("convert"), &bank(), &binary]).quietly(0);
    let out = verify(&binary, &repository("examples/traces/bank.json")).quietly(0);
    assert!(out.ends_with("3 of 3 accepted\n"), "{out}");
}

#[test]
fn wrong_witness_is_rejected_with_the_rule_and_the_event() {
    let files = Files::new();
    // The ledger takes the lock that the clerk still holds.
    let findings = changed(&files, "[0,1,2,3,4,5,10,11,12,6,7]", "[0,1,2,3,4,10,11,12,5,6,7]");
    let out = verify(&bank(), &findings).quietly(1);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("atomicity-1: refused: event 10 (ledger acq(account))"), "{out}");
    assert_eq!(
        lines[1..],
        ["nondeterminism-1: accepted", "nondeterminism-2: accepted", "2 of 3 accepted"]
    );
    // Feasible, but not a witness of its finding.
    let findings = changed(&files, "[0,1,2,3,4,5,10,11,12,6,7]", "[0,1,2,3,4,5,6,7]");
    let out = verify(&bank(), &findings).quietly(1);
    assert!(out.starts_with("atomicity-1: refused: event 11 "), "{out}");
}

#[test]
fn model_can_be_chosen() {
    let files = Files::new();
    let trace = files.add("t.std", "T1|w(x=1)|\nT1|w(y=1)|\nT2|w(x=1)|\nT2|r(x=1)|\nT2|w(y=2)|\n");
    // T1's write of the same value comes between T2's write and read: a view is broken, a value
    // is not.
    let findings = files.add(
        "f.json",
        r#"{"schema":"foretell-findings/1",
        "trace":{"path":"t.std","events":5,"threads":2,"variables":2,"locks":0,"blocks":0,"model":"value"},
        "findings":[{"id":"race-1","kind":"race","events":[1,4],"objects":["y"],"locations":[null,null],
        "block":null,"witness":{"schedule":[2,0,3,1,4]},"verified":true,"engine":"order","replay":null}],
        "summary":{},"undecided":[]}"#,
    );
    verify(&trace, &findings).quietly(0);
    foretell(["verify", text(&trace), text(&findings), "--model", "value"]).quietly(0);
    let out = foretell(["verify", text(&trace), text(&findings), "--model", "view"]).quietly(1);
    assert!(out.starts_with("race-1: refused: event 4 "), "{out}");
    let line = foretell(["verify", text(&trace), text(&findings), "--model", "weak"]).refused();
    assert!(line.contains("no model is called `weak`"), "{line}");
}

#[test]
fn findings_of_another_trace_are_bad_input() {
    let files = Files::new();
    for (piece, by, message) in [
        (
            "[4,11,7]",
            "[4,11,16]",
            "finding atomicity-1: there is no event 16: the trace has 16 events",
        ),
        ("[4,11,7]", "[4,11]", "finding atomicity-1: an atomicity violation has 3 events, not 2"),
        (
            "[4,11,7]",
            "[4,11,\"7\"]",
            "finding atomicity-1: invalid type: string \"7\", expected u32",
        ),
        (",\"form\":\"after-writer\"", "", "finding nondeterminism-1: `form` is missing"),
        ("\"events\":16", "\"events\":17", "not about the trace "),
        ("\"schema\"", "schema", "not a findings file: key must be a string at line 1 column 2"),
    ] {
        let findings = changed(&files, piece, by);
        let line = verify(&bank(), &findings).refused();
        assert!(line.starts_with(&format!("{}: {message}", text(&findings))), "{line}");
    }
}

#[test]
fn file_without_findings_is_accepted() {
    let files = Files::new();
    let findings = read(&repository("examples/traces/bank.json"));
    let (start, rest) = findings.split_once("\"findings\":[").unwrap();
    let end = rest.split_once("}],\n").unwrap().1;
    let findings = files.add("none.json", format!("{start}\"findings\":[],\n{end}"));
    assert_eq!(verify(&bank(), &findings).quietly(0), "0 of 0 accepted\n");
}
