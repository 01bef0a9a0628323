use foretell_trace::{EventKind, Model, TraceBuilder, Value as Recorded};
use foretell_verify::Pattern;

use super::*;
use crate::identity;
use crate::json::{self, TraceInfo};
use crate::suppress::Suppressions;

/// A race on `x[]`: two threads in two functions, under a lock each of their own.
fn race() -> (Trace, Findings) {
    let mut b = TraceBuilder::new();
    let (var, lock) = (b.variable("x[]"), b.lock("m"));
    let one = Some(b.values().intern(Recorded::Int(1)));
    for (name, line) in [("T1", 7), ("T2", 9)] {
        let thread = b.thread(name);
        let function = b.site(&format!("f{line}"), None);
        let site = Some(b.site(&format!("src/a b.c:{line}"), Some(function)));
        let mine = if name == "T1" { lock } else { b.lock("n") };
        b.push(thread, EventKind::Acquire { lock: mine }, None);
        b.push(thread, EventKind::Write { var, atomic: false, value: one, expr: None }, site);
    }
    let trace = b.build();
    let race = Pattern::Race { a: EventId(1), b: EventId(3) };
    let schedule: Vec<EventId> = [0, 2, 1, 3].map(EventId).to_vec();
    let mut file = Findings::new(TraceInfo::new("t.std", &trace, Model::Value));
    file.findings.push(json::finding(&race, &schedule, "order", &trace));
    file.renumber();
    identity::assign(&mut file.findings, &trace);
    (trace, file)
}

fn log(file: &Findings, trace: Option<&Trace>) -> Value {
    let mut log = Log::new();
    log.add(file, trace, &Sources::none());
    let mut out = Vec::new();
    log.write(&mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_schedule_is_a_thread_flow_for_each_thread() {
    let (trace, file) = race();
    let log = log(&file, Some(&trace));
    let flow = &log["runs"][0]["results"][0]["codeFlows"][0];
    let flows = flow["threadFlows"].as_array().unwrap();
    let order = |flow: &Value| -> Vec<u64> {
        let steps = flow["locations"].as_array().unwrap();
        steps.iter().map(|step| step["executionOrder"].as_u64().unwrap()).collect()
    };
    assert_eq!(flows.len(), 2);
    assert_eq!((flows[0]["id"].as_str(), order(&flows[0])), (Some("T1"), vec![1, 3]));
    assert_eq!((flows[1]["id"].as_str(), order(&flows[1])), (Some("T2"), vec![2, 4]));
    let last = &flows[0]["locations"][1];
    assert_eq!(last["importance"], "essential");
    assert_eq!(last["location"]["message"]["text"], "w(x\\[\\]=1).");
    assert_eq!(flows[0]["locations"][0]["kinds"], json!(["acquire", "lock"]));
}

#[test]
fn places_are_regions_of_files() {
    let (trace, file) = race();
    let log = log(&file, Some(&trace));
    let result = &log["runs"][0]["results"][0];
    let location = &result["locations"][0];
    assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "src/a%20b.c");
    assert_eq!(location["physicalLocation"]["region"]["startLine"], 7);
    assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "f7");
    let text = result["message"]["text"].as_str().unwrap();
    assert_eq!(
        text,
        "Threads T1 and T2 can write `x\\[\\]` at the same time. [T1 writes x\\[\\]](1), \
         [T2 writes x\\[\\]](2). Not replayed."
    );
    // A step without a location is at the trace.
    let step = &result["codeFlows"][0]["threadFlows"][0]["locations"][0]["location"];
    assert_eq!(step["physicalLocation"]["artifactLocation"]["uri"], "t.std");
}

#[test]
fn results_name_their_rules_and_fingerprints() {
    let (trace, mut file) = race();
    // Not the same cause.
    let mut again = file.findings[0].clone();
    again.objects = vec!["y".to_owned()];
    file.findings.push(again);
    let log = log(&file, Some(&trace));
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    let index = results[0]["ruleIndex"].as_u64().unwrap() as usize;
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "race");
    let hash = |i: usize| results[i]["partialFingerprints"]["primaryLocationLineHash"].clone();
    let fingerprint = file.findings[0].fingerprint.clone().unwrap();
    assert_eq!(hash(0), format!("{fingerprint}:1"));
    assert_eq!(hash(1), format!("{fingerprint}:2"));
}

#[test]
fn findings_with_one_cause_are_one_result() {
    let (trace, mut file) = race();
    let mut again = file.findings[0].clone();
    again.id = "race-2".to_owned();
    again.set_replay(serde_json::json!({"verdict": "crash", "text": "SIGSEGV"}), true);
    file.findings.push(again);
    let log = log(&file, Some(&trace));
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    // The worse one stands for both.
    assert_eq!(results[0]["properties"]["id"], "race-2");
    assert_eq!(results[0]["properties"]["variants"][0]["id"], "race-1");
    let text = results[0]["message"]["text"].as_str().unwrap();
    assert!(text.contains("With the same cause: race-1."), "{text}");
}

#[test]
fn suppressed_and_known_findings_say_so() {
    let (trace, mut file) = race();
    let mut rules = Suppressions::default();
    rules.add("r.txt", "race:f7").unwrap();
    rules.apply(&mut file.findings, Some(&trace));
    file.findings[0].baseline = Some(BaselineState::Unchanged);
    let log = log(&file, Some(&trace));
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["suppressions"][0]["justification"], "race:f7 (r.txt:1)");
    assert_eq!(result["baselineState"], "unchanged");
}

#[test]
fn unconfirmed_findings_are_notes() {
    let (trace, mut file) = race();
    let level = |file: &Findings| {
        let log = log(file, Some(&trace));
        let result = &log["runs"][0]["results"][0];
        let text = result["message"]["text"].as_str().unwrap().to_owned();
        (result["level"].clone(), result["properties"]["confirmation"].clone(), text)
    };
    let (word, confirmation, _) = level(&file);
    assert_eq!((word, confirmation), (json!("warning"), json!("not-replayed")));
    file.findings[0].set_replay(json!({"verdict": "departed", "text": "left"}), false);
    let (word, confirmation, text) = level(&file);
    assert_eq!((word, confirmation), (json!("note"), json!("unconfirmed")));
    assert!(text.ends_with("Replayed: unconfirmed: left."), "{text}");
    for verdict in ["crash", "use-after-free", "exception"] {
        file.findings[0].set_replay(json!({"verdict": verdict, "text": "SIGSEGV"}), true);
        let (word, confirmation, _) = level(&file);
        assert_eq!((word, confirmation), (json!("error"), json!("confirmed")), "{verdict}");
    }
}

#[test]
fn without_the_trace_there_are_places() {
    let (_, file) = race();
    let log = log(&file, None);
    let result = &log["runs"][0]["results"][0];
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "src/a%20b.c");
    assert!(result.get("codeFlows").is_none());
}
