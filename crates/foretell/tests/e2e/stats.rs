//! `foretell stats`.

use super::*;

#[test]
fn a_trace_is_described_as_text() {
    let out = foretell([Path::new("stats"), &repository("examples/traces/bank.std")]).quietly(0);
    for (name, value) in [
        ("events", "16"),
        ("threads", "3"),
        ("variables", "1"),
        ("locks", "1"),
        ("atomic blocks", "1"),
        ("model", "value"),
    ] {
        let line = out.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in:\n{out}"));
        assert_eq!(line.strip_prefix(name).map(str::trim), Some(value), "{out}");
    }
}

#[test]
fn a_trace_is_described_as_json() {
    let trace = repository("examples/traces/bank-symbolic.std");
    let out = foretell(["stats", text(&trace), "--format", "json"]).quietly(0);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["events"], 21);
    assert_eq!(value["threads"], 3);
    assert_eq!(value["blocks"], 2);
    assert_eq!(value["model"], "symbolic");
    assert_eq!(value["path"], text(&trace));
}

#[test]
fn a_file_without_events_is_an_empty_trace() {
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
