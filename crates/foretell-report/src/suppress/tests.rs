use foretell_trace::TraceBuilder;
use foretell_verify::Pattern;

use super::*;
use crate::json;

/// A race of `get_info`, called by `main`, and `closer` on `shared`.
fn race() -> (Trace, Finding) {
    let mut b = TraceBuilder::new();
    let var = b.variable("shared");
    let (t1, t2) = (b.thread("T1"), b.thread("T2"));
    let main = b.site("main", None);
    let get = b.site("get_info src/main.c:33", Some(main));
    let site = Some(b.site("src/info.c:17", Some(get)));
    b.push(t1, EventKind::Read { var, atomic: false, value: None, register: None }, site);
    let closer = b.site("close_all(int, bool)", None);
    let site = Some(b.site("src/close.c:25", Some(closer)));
    b.push(t2, EventKind::Write { var, atomic: false, value: None, expr: None }, site);
    let trace = b.build();
    let race = Pattern::Race { a: EventId(0), b: EventId(1) };
    let mut finding = json::finding(&race, &[], "order", &trace);
    finding.fingerprint = Some("00c0ffee".to_owned());
    (trace, finding)
}

fn suppresses(rule: &str) -> bool {
    let (trace, finding) = race();
    let mut rules = Suppressions::default();
    rules.add("rules", rule).unwrap();
    let mut findings = [finding];
    rules.apply(&mut findings, Some(&trace));
    findings[0].suppressed.is_some()
}

#[test]
fn rules_of_thread_sanitizer() {
    for rule in [
        "race:get_info",
        "race:info",
        "race:^main$",
        "race:close.c",
        "race:shared",
        "race:src/*.c",
        "race_top:get_info",
        "*:shared",
    ] {
        assert!(suppresses(rule), "{rule}");
    }
    for rule in ["deadlock:get_info", "race:^info", "race_top:main", "race:nothing", "race:src/*.h"]
    {
        assert!(!suppresses(rule), "{rule}");
    }
}

#[test]
fn rules_with_fields_ask_for_all_of_them() {
    for rule in [
        "race function=get_info",
        "race function=main variable=sha*",
        "race top=get_info",
        "race file=info.c",
        "race file=src/*",
        "* variable=shared",
        "race fingerprint=00c0*",
        "race function=\"close_all(int, bool)\" file=close.c",
    ] {
        assert!(suppresses(rule), "{rule}");
    }
    for rule in [
        "race function=info",
        "race top=main",
        "race function=get_info variable=other",
        "deadlock function=get_info",
        "race block=deposit",
        "race fingerprint=00",
    ] {
        assert!(!suppresses(rule), "{rule}");
    }
}

#[test]
fn errors_name_their_line() {
    for (text, message) in [
        ("\n# a comment\nrice:x", "f:3: `rice` is no kind of finding: observed, "),
        ("race:", "f:1: `race:` without a pattern"),
        ("race", "f:1: a rule says what it is about"),
        ("race get_info", "f:1: `get_info` is not of the form field=pattern"),
        ("race funktion=x", "f:1: `funktion` is no field: function, "),
        ("race function=", "f:1: `function=` without a pattern"),
        ("race function=\"x", "f:1: a quotation mark is open"),
    ] {
        let error = Suppressions::default().add("f", text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn every_rule_is_counted() {
    let (trace, finding) = race();
    let mut rules = Suppressions::default();
    let text = "race:get_info\nrace:shared\nthread:main\ndeadlock:x\n";
    rules.add("r.txt", text).unwrap();
    let mut findings = [finding.clone(), finding];
    rules.apply(&mut findings, Some(&trace));
    let used: Vec<_> = rules.used().map(|u| (u.rule, u.location, u.matched)).collect();
    assert_eq!(
        used,
        [
            ("race:get_info", "r.txt:1", 2),
            ("race:shared", "r.txt:2", 0),
            ("deadlock:x", "r.txt:4", 0)
        ]
    );
    assert_eq!(rules.not_ours, ["r.txt:3: thread:main"]);
    let mark = findings[0].suppressed.as_ref().unwrap();
    assert_eq!((mark.rule.as_str(), mark.location.as_str()), ("race:get_info", "r.txt:1"));
}

#[test]
fn without_the_trace_files_and_objects_are_known() {
    let (_, finding) = race();
    let mut rules = Suppressions::default();
    rules.add("r", "race function=get_info\nrace file=info.c variable=shared").unwrap();
    let mut findings = [finding];
    rules.apply(&mut findings, None);
    assert_eq!(findings[0].suppressed.as_ref().unwrap().location, "r:2");
}

#[test]
fn suggested_rule_suppresses_the_finding() {
    let (trace, finding) = race();
    let rule = suggestion(&finding, Some(&trace));
    assert_eq!(rule, "race function=get_info variable=shared");
    assert!(suppresses(&rule));
    let rule = suggestion(&finding, None);
    assert_eq!(rule, "race file=src/info.c variable=shared");
    assert!(suppresses(&rule));
}

#[test]
fn nondeterminism_of_a_standard_library_is_hidden() {
    let (trace, mut finding) = race();
    let mut rules = Suppressions::default();
    let mut b = TraceBuilder::new();
    b.set_meta("internal shared", "rust");
    let with_internal = b.build();
    for (kind, trace, hidden) in [
        (FindingKind::Nondeterminism, &with_internal, true),
        (FindingKind::Nondeterminism, &trace, false),
        (FindingKind::Race, &with_internal, false),
    ] {
        finding.kind = kind;
        let mut findings = [finding.clone()];
        rules.apply(&mut findings, Some(trace));
        assert_eq!(findings[0].suppressed.is_some(), hidden, "{kind}");
    }
}

#[test]
fn atomics_in_scopes_of_locks_of_rust_are_hidden() {
    for (atomic, location, hidden) in
        [(true, "a.rs:1", true), (false, "a.rs:1", false), (true, "a.c:1", false)]
    {
        let mut b = TraceBuilder::new();
        let var = b.variable("x");
        for name in ["T1", "T2"] {
            let thread = b.thread(name);
            b.push(thread, EventKind::Write { var, atomic, value: None, expr: None }, None);
        }
        let trace = b.build();
        let race = Pattern::Race { a: EventId(0), b: EventId(1) };
        let mut finding = json::finding(&race, &[], "order", &trace);
        finding.kind = FindingKind::Atomicity;
        finding.locations = vec![Some(location.to_owned()); 2];
        let mut findings = [finding];
        Suppressions::default().apply(&mut findings, Some(&trace));
        assert_eq!(findings[0].suppressed.is_some(), hidden, "{atomic} {location}");
    }
}
