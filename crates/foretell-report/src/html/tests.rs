use foretell_trace::{EventId, EventKind, Model, TraceBuilder};
use foretell_verify::Pattern;

use super::*;
use crate::json::{self, TraceInfo};

/// Two threads write `x` a few times; a race between their last writes, T2 first.
fn file(name: &str) -> (Trace, Findings) {
    let mut b = TraceBuilder::new();
    let var = b.variable(name);
    for _ in 0..3 {
        for thread in ["T1", "T2"] {
            let (thread, site) = (b.thread(thread), b.site("a.c:7", None));
            let kind = EventKind::Write { var, atomic: false, value: None, expr: None };
            b.push(thread, kind, Some(site));
        }
    }
    let trace = b.build();
    let race = Pattern::Race { a: EventId(2), b: EventId(5) };
    let schedule: Vec<EventId> = [1, 3, 0, 2, 5].map(EventId).to_vec();
    let mut file = Findings::new(TraceInfo::new("t.std", &trace, Model::Value));
    file.findings.push(json::finding(&race, &schedule, "order", &trace));
    file.renumber();
    (trace, file)
}

/// The data in a page.
fn data(page: &Page) -> (String, Value) {
    let mut out = Vec::new();
    page.write(&mut out).unwrap();
    let html = String::from_utf8(out).unwrap();
    let (_, rest) = html.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let value = serde_json::from_str(data).unwrap();
    (html, value)
}

#[test]
fn a_witness_is_runs_of_threads() {
    let (trace, file) = file("x");
    let mut page = Page::new();
    page.add(&file, Some(&trace), &Sources::none());
    let (_, data) = data(&page);
    let finding = &data["findings"][0];
    assert_eq!(finding["runs"], json!([1, 2, 0, 2, 1, 1]));
    assert_eq!(data["traces"][0]["columns"]["thread"], json!([0, 1, 0, 1, 0, 1]));
    assert_eq!(finding["pattern"], json!([2, 5]));
    assert_eq!(finding["decisive"], json!([0, 1, 2, 3, 4]));
}

#[test]
fn a_symbolic_witness_has_its_own_values() {
    let text = b"#! init x=0\nT1|w(x=1)\nT2|r(x=1)->%a\nT2|guard((< %a 9))\nT2|w(x=3)<-(+ %a 2)\n";
    let trace = foretell_trace::text::parse(text).unwrap().trace;
    let race = Pattern::Race { a: EventId(0), b: EventId(3) };
    let schedule: Vec<EventId> = [1, 2, 3, 0].map(EventId).to_vec();
    let mut file = Findings::new(TraceInfo::new("t.std", &trace, Model::Symbolic));
    file.findings.push(json::finding(&race, &schedule, "order", &trace));
    let mut page = Page::new();
    page.add(&file, Some(&trace), &Sources::none());
    let (_, data) = data(&page);
    let values = json!([["0", null], [null, null], [null, "2"], [null, "1"]]);
    assert_eq!(data["findings"][0]["values"], values);
    let strings = data["traces"][0]["strings"].as_array().unwrap();
    assert!(strings.contains(&json!("(< %a 9)")), "{strings:?}");
}

#[test]
fn nothing_in_the_data_ends_its_element() {
    let (trace, file) = file("</script><script>alert(1)</script>");
    let mut page = Page::new();
    page.add(&file, Some(&trace), &Sources::none());
    let (html, data) = data(&page);
    assert!(!html.contains("<script>alert"));
    assert_eq!(data["findings"][0]["objects"][0], "</script><script>alert(1)</script>");
}

#[test]
fn nothing_is_fetched() {
    for text in SCRIPT.iter().chain(&[PAGE, STYLE]) {
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for fetch in ["http:", "https:", "import ", "fetch(", "src=", "@import"] {
            assert!(!text.contains(fetch), "{fetch}");
        }
    }
}

#[test]
fn without_the_trace_there_is_no_timeline() {
    let (_, file) = file("x");
    let mut page = Page::new();
    page.add(&file, None, &Sources::none());
    let (_, data) = data(&page);
    assert!(data["findings"][0].get("runs").is_none());
    assert_eq!(data["findings"][0]["files"], json!(["a.c"]));
}

#[test]
fn events_that_the_trace_does_not_have_do_no_harm() {
    let (trace, mut file) = file("x");
    file.findings[0].witness.schedule.push(99);
    let mut page = Page::new();
    page.add(&file, Some(&trace), &Sources::none());
    let (_, data) = data(&page);
    assert!(data["findings"][0].get("runs").is_none());
}
