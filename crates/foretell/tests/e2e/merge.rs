//! `foretell merge`.

use super::*;

/// Writes a findings file with races on the given events, a part of a divided analysis.
fn part(shard: &str, events: u32, races: &[(u32, u32)]) -> String {
    let findings: Vec<String> = races
        .iter()
        .enumerate()
        .map(|(i, (a, b))| {
            format!(
                r#"{{"id":"race-{}","kind":"race","events":[{a},{b}],"objects":["x"],"locations":[null,null],
                "block":null,"witness":{{"schedule":[{a},{b}]}},"verified":true,"engine":"order","replay":null}}"#,
                i + 1
            )
        })
        .collect();
    format!(
        r#"{{"schema":"foretell-findings/1","shard":"{shard}","trace":{{"path":"t.std","events":{events},"threads":2,
        "variables":1,"locks":0,"blocks":0,"model":"view"}},"findings":[{}],
        "summary":{{"race":{{"candidates":5,"predicted":{},"undecided":0}}}},"undecided":[]}}"#,
        findings.join(","),
        races.len()
    )
}

#[test]
fn parts_are_renumbered_in_any_order() {
    let files = Files::new();
    let one = files.add("1.json", part("1/2", 9, &[(3, 8), (0, 1)]));
    let two = files.add("2.json", part("2/2", 9, &[(2, 4)]));
    let whole = foretell([Path::new("merge"), &one, &two]).quietly(1);
    assert_eq!(foretell([Path::new("merge"), &two, &one]).quietly(1), whole);
    let lines: Vec<&str> = whole.lines().filter(|line| line.contains("\"id\"")).collect();
    assert_eq!(lines.len(), 3);
    for (line, start) in lines.iter().zip([
        r#"  {"id":"race-1","kind":"race","events":[0,1]"#,
        r#"  {"id":"race-2","kind":"race","events":[2,4]"#,
        r#"  {"id":"race-3","kind":"race","events":[3,8]"#,
    ]) {
        assert!(line.starts_with(start), "{line}");
    }
    assert!(whole.contains(r#""race":{"candidates":10,"predicted":3,"undecided":0}"#), "{whole}");
    let out = files.path("whole.json");
    foretell(["merge", text(&one), text(&two), "-o", text(&out)]).quietly(1);
    assert_eq!(read(&out), whole);
}

#[test]
fn nothing_found_is_status_0() {
    let files = Files::new();
    let one = files.add("1.json", part("1/1", 9, &[]));
    foretell([Path::new("merge"), &one]).quietly(0);
}

#[test]
fn parts_of_different_traces_and_missing_parts_are_rejected() {
    let files = Files::new();
    let one = files.add("1.json", part("1/2", 9, &[]));
    let other = files.add("2.json", part("2/2", 10, &[]));
    assert_eq!(
        foretell([Path::new("merge"), &one, &other]).refused(),
        format!("{}: not about the trace of {}: 10 events against 9", text(&other), text(&one))
    );
    assert_eq!(
        foretell([Path::new("merge"), &one]).refused(),
        "part 2/2 is missing: give all parts at once"
    );
}

#[test]
fn files_without_findings_are_rejected_by_name() {
    let files = Files::new();
    for (name, contents, message) in [
        ("empty.json", "", "not a findings file: EOF while parsing a value at line 1 column 0"),
        ("cut.json", &part("1/1", 9, &[(0, 1)])[..200], "not a findings file: EOF while parsing"),
        (
            "other.json",
            r#"{"schema":"sarif"}"#,
            "not a foretell-findings/1 file: the schema is \"sarif\"",
        ),
        ("list.json", "[1]", "not a findings file: invalid type: sequence"),
    ] {
        let path = files.add(name, contents);
        let line = foretell([Path::new("merge"), &path]).refused();
        assert!(line.starts_with(&format!("{}: {message}", text(&path))), "{line}");
    }
    let bytes = files.add("bytes.json", b"\xff\xfe{}");
    let line = foretell([Path::new("merge"), &bytes]).refused();
    assert_eq!(line, format!("{}: not a findings file: not UTF-8", text(&bytes)));
}

#[test]
fn result_that_cannot_be_written_is_a_failure() {
    let files = Files::new();
    let one = files.add("1.json", part("1/1", 9, &[]));
    let out = files.path("no/such/directory.json");
    let line = foretell(["merge", text(&one), "-o", text(&out)]).refused();
    assert!(line.starts_with(&format!("{}: No such file or directory", text(&out))), "{line}");
}
