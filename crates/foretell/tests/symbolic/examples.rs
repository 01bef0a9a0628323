//! `examples/symbolic`: the paper's figures, the Apache patterns and the bank.

use crate::workshop::{Workshop, differences, root};

/// Returns the atomicity violations on these variables in the models view, value and symbolic.
fn violations(name: &str, arguments: &[&str], variable: &str) -> [usize; 3] {
    let workshop = Workshop::new();
    let source = root().join("examples/symbolic").join(name).display().to_string();
    let compiler = if name.len().is_multiple_of(2) { "clang-16" } else { "clang-19" };
    workshop.build(compiler, &source);
    let (_, said) = workshop.record(&["--blocks", "markers"], arguments);
    assert_eq!(differences(&said), 0, "{said}");
    ["view", "value", "symbolic"].map(|model| {
        let head = ["predict", "run.ft", "--analyses", "atomicity", "--all", "--json", "run.json"];
        let output = workshop.foretell(&[&head[..], &["--model", model]].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
        let on = |f: &serde_json::Value| {
            f["objects"][0].as_str().is_some_and(|o| o.starts_with(variable))
        };
        workshop.findings("run.json").iter().filter(|f| on(f)).count()
    })
}

#[test]
fn conditions_tell_figures_1_and_2_apart() {
    assert_eq!(violations("guarded.c", &[], "x"), [0, 0, 0]);
    assert_eq!(violations("guarded_wrong.c", &[], "x"), [0, 0, 1]);
}

#[test]
fn signals_order_later_events() {
    assert_eq!(violations("signal.c", &[], "x"), [0, 0, 0]);
    assert_eq!(violations("signal_missing.c", &[], "x"), [1, 1, 1]);
}

#[test]
fn figure_6_leads_into_an_untaken_branch() {
    assert_eq!(violations("untaken.c", &[], "x"), [1, 1, 1]);
}

#[test]
fn apache_patterns_are_found_and_their_fixes_are_clean() {
    assert_eq!(violations("buffer.c", &[], "length"), [1, 1, 1]);
    assert_eq!(violations("buffer_fixed.c", &[], ""), [0, 0, 0]);
    assert_eq!(violations("log.c", &[], "length"), [33, 33, 33]);
    assert_eq!(violations("log_fixed.c", &[], ""), [0, 0, 0]);
}

#[test]
fn bank_has_four_two_or_no_violations_for_each_worker() {
    for (argument, n) in [("2", 2), ("3", 3), ("4", 4)] {
        let arguments = [argument];
        assert_eq!(violations("bank.c", &arguments, "mark"), [4 * n, 4 * n, 4 * n]);
        assert_eq!(violations("bank_better.c", &arguments, "mark"), [0, 2 * n, 2 * n]);
        assert_eq!(violations("bank_fixed.c", &arguments, ""), [0, 0, 0]);
    }
}

/// Every finding of the symbolic model happens in the real program.
#[test]
fn every_finding_is_replayed() {
    for name in [
        "guarded_wrong.c",
        "signal_missing.c",
        "untaken.c",
        "buffer.c",
        "log.c",
        "bank.c",
        "bank_better.c",
    ] {
        let workshop = Workshop::new();
        let source = root().join("examples/symbolic").join(name).display().to_string();
        let said =
            workshop.expect(1, &["check", "--symbolic", "--json", "f.json", "-o", "f.ft", &source]);
        workshop.accepted("f.ft", &said);
        let findings = workshop.findings("f.json");
        assert!(!findings.is_empty(), "{said}");
        for finding in findings.iter().filter(|f| !f["replay"].is_null()) {
            assert_ne!(finding["replay"]["verdict"], "departed", "{name}: {finding}\n{said}");
        }
        assert!(findings.iter().any(|f| !f["replay"].is_null()), "{said}");
    }
}
