//! Hidden findings: suppressions and baselines.

use super::*;

fn bank() -> PathBuf {
    repository("examples/traces/bank.std")
}

/// Runs `predict` on the bank's trace.
fn predict(arguments: &[&str]) -> Ran {
    let trace = bank();
    foretell(["predict", text(&trace)].iter().chain(arguments))
}

#[test]
fn rule_hides_the_findings_that_it_matches() {
    let files = Files::new();
    let rules = files.add("rules.txt", "# known\natomicity variable=balance\nrace:nothing\n");
    let ran = predict(&["--analyses", "atomicity", "--suppressions", text(&rules)]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!ran.stdout.contains("atomicity-1"), "{}", ran.stdout);
    let said = format!("{}:2: suppressed 1 finding: atomicity variable=balance\n", text(&rules));
    assert_eq!(ran.stderr, said);
    let ran = predict(&[
        "--analyses",
        "atomicity",
        "--suppressions",
        text(&rules),
        "--unused-suppressions",
        "--show-suppressed",
    ]);
    assert_eq!(ran.status, 0);
    assert!(ran.stdout.contains("atomicity-1"), "{}", ran.stdout);
    assert!(
        ran.stderr.ends_with(&format!("{}:3: matched nothing: race:nothing\n", text(&rules))),
        "{}",
        ran.stderr
    );
}

#[test]
fn suppressed_finding_stays_in_the_file_with_its_rule() {
    let files = Files::new();
    let rules = files.add("rules.txt", "*:balance\n");
    let json = files.path("out.json");
    let ran = predict(&["--suppressions", text(&rules), "--json", text(&json)]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let file: serde_json::Value = serde_json::from_str(&read(&json)).unwrap();
    let findings = file["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        assert_eq!(finding["suppressed"]["rule"], "*:balance");
        assert_eq!(finding["suppressed"]["at"], format!("{}:1", text(&rules)));
        assert!(finding["fingerprint"].is_string());
    }
}

#[test]
fn invalid_rules_are_reported_with_their_line() {
    let files = Files::new();
    let rules = files.add("rules.txt", "race:x\nrice:x\n");
    let line = predict(&["--suppressions", text(&rules)]).refused();
    assert!(line.starts_with(&format!("{}:2: `rice` is no kind", text(&rules))), "{line}");
    let line = predict(&["--suppressions", text(&files.path("none"))]).refused();
    assert!(line.contains("none: No such file"), "{line}");
    let line = predict(&["--unused-suppressions"]).refused();
    assert!(line.contains("--suppressions"), "{line}");
}

#[test]
fn baseline_leaves_new_findings() {
    let files = Files::new();
    let (old, new) = (files.path("old.json"), files.path("new.json"));
    predict(&["--analyses", "nondeterminism", "--json", text(&old)]);
    // This trace is of the same program with more lines.
    let moved = read(&bank()).replace("bank.c:1", "bank.c:11").replace("bank.c:3", "bank.c:13");
    let moved = files.add("bank.std", moved);
    let arguments = ["predict", text(&moved), "--baseline", text(&old), "--json", text(&new)];
    let ran = foretell(arguments);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("atomicity-1"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("nondeterminism-1"), "{}", ran.stdout);
    assert_eq!(ran.stderr, format!("{}: 2 findings known before\n", text(&old)));
    let ran = foretell(["predict", text(&moved), "--baseline", text(&new)]);
    assert_eq!(ran.status, 0, "{}", ran.stdout);
    let line = predict(&["--baseline", text(&moved)]).refused();
    assert!(line.contains("not a findings file"), "{line}");
}

#[test]
fn reports_of_saved_findings_have_the_same_options() {
    let files = Files::new();
    let rules = files.add("rules.txt", "nondeterminism:balance\n");
    let (trace, findings) = (bank(), repository("examples/traces/bank.json"));
    let report = ["report", text(&findings), "--trace", text(&trace)];
    let ran = foretell(report.iter().chain(&["--suppressions", text(&rules)]));
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.contains("atomicity-1"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("nondeterminism-1"), "{}", ran.stdout);
    assert!(ran.stderr.contains("suppressed 2 findings"), "{}", ran.stderr);
}
