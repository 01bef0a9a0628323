//! `foretell stats`.

use super::*;

#[test]
fn trace_is_described_as_text() {
    let out = foretell([Path::new("stats"), &repository("examples/traces/bank.std")]).quietly(0);
    for (name, value) in [
        ("events", "16"),
        ("threads", "3"),
        ("variables", "1 (1 shared, 0 local)"),
        ("locks", "1"),
        ("atomic blocks", "1 (1 outermost, 1 deep, 0 open)"),
        ("model", "value"),
    ] {
        let line = out.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in:\n{out}"));
        assert_eq!(line.strip_prefix(name).map(str::trim), Some(value), "{out}");
    }
}

#[test]
fn control_characters_in_names_do_not_reach_the_terminal() {
    let files = Files::new();
    let trace = files.add("t.std", "T\u{1b}[2J|acq(l\u{7})|\n");
    let out = foretell([Path::new("stats"), &trace]);
    assert_eq!(out.status, 0, "{}", out.stderr);
    assert!(!out.stdout.chars().any(|c| c.is_control() && c != '\n'), "{:?}", out.stdout);
    assert!(out.stdout.contains("held at the end"), "{}", out.stdout);
}

#[test]
fn trace_is_described_as_json() {
    let trace = repository("examples/traces/bank-symbolic.std");
    let out = foretell(["stats", text(&trace), "--format", "json"]).quietly(0);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["events"], 21);
    assert_eq!(value["threads"], 3);
    assert_eq!(value["blocks"]["total"], 2);
    assert_eq!(value["events_by_kind"]["guard"], 1);
    assert_eq!(value["model"], "symbolic");
}

#[test]
fn file_without_events_is_an_empty_trace() {
    let files = Files::new();
    for (name, contents) in [
        ("empty.std", ""),
        ("comments.std", "# nothing happened\n\n# really\n"),
        ("crlf.std", "# nothing\r\n\r\n"),
    ] {
        let path = files.add(name, contents);
        let out = foretell([Path::new("stats"), &path]).quietly(0);
        let first = out.lines().find(|line| line.starts_with("events")).unwrap();
        assert!(first.ends_with(" 0"), "{out}");
        let out = foretell(["stats", text(&path), "--format", "json"]).quietly(0);
        assert!(out.contains("\"events\":0"), "{out}");
    }
}
