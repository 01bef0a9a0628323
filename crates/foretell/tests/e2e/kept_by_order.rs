//! `--explain-order`: findings that only kept order makes impossible.

use super::*;

/// A race that the uses of a box forbid, and one on `y` that nothing forbids.
const BOX: &str = "\
#! opaque hidden:box
#! init hidden:box=0
T1|w(x)|a.c:10
T1|au(hidden:box=0>1)|a.c:11
T2|au(hidden:box=1>2)|b.c:30
T2|w(x)|b.c:31
";
const OPEN: &str = "T1|w(y)|a.c:12\nT2|w(y)|b.c:32\n";

fn predict(trace: &Path, options: &[&str]) -> Ran {
    foretell(["predict", text(trace)].into_iter().chain(options.iter().copied()))
}

/// Returns standard output with all breaks of lines as spaces.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn race_that_hidden_state_forbids_is_told_and_not_counted() {
    let files = Files::new();
    let (trace, json) = (files.add("box.std", BOX), files.path("box.json"));
    let silent = predict(&trace, &[]).quietly(0);
    assert!(!silent.contains("kept"), "{silent}");
    let told = predict(&trace, &["--explain-order", "--json", text(&json)]).quietly(0);
    let told = in_one_line(&told);
    let sentence = "- data race on x at a.c:10 and b.c:31: possible if the calls at a.c:11 and \
                    b.c:30 (state of `box`) were not kept in order";
    assert!(told.contains("impossible because of kept order No findings: "), "{told}");
    assert!(told.contains(sentence), "{told}");
    let document = read(&json);
    assert!(document.contains("\"findings\":[]"), "{document}");
    let document: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    let race = document["kept_by_order"]
        .as_array()
        .and_then(|kept| kept.iter().find(|entry| entry["kind"] == "race"));
    let expected = serde_json::json!({
        "kind": "race", "events": [0, 3], "objects": ["x"], "locations": ["a.c:10", "b.c:31"],
        "block": null,
        "kept_by": [{
            "variable": "hidden:box", "events": [1, 2], "locations": ["a.c:11", "b.c:30"]
        }]
    });
    assert_eq!(race, Some(&expected), "{document}");
    // The document is one of findings for every other command.
    foretell(["verify", text(&trace), text(&json)]).quietly(0);
    let shown = foretell(["report", text(&trace), text(&json)]).quietly(0);
    assert!(in_one_line(&shown).contains(sentence), "{shown}");
}

#[test]
fn findings_stay_findings() {
    let files = Files::new();
    let trace = files.add("open.std", format!("{BOX}{OPEN}"));
    for all in [&["--explain-order"][..], &["--explain-order", "--all"]] {
        let told = in_one_line(&predict(&trace, all).quietly(1));
        assert!(told.contains("race-1: Threads T1 and T2 can write `y`"), "{told}");
        assert!(told.contains("data race on x at") && !told.contains("data race on y"), "{told}");
    }
    // Without hidden state there is nothing to tell.
    let trace = files.add("plain.std", OPEN);
    let plain = predict(&trace, &["--explain-order", "--format", "json"]).quietly(1);
    assert!(plain.contains("\"kept_by_order\":[]"), "{plain}");
    let plain = predict(&trace, &["--explain-order"]).quietly(1);
    assert!(!plain.contains("kept order"), "{plain}");
}

/// The chain leads over a third thread, and an opaque variable of another kind is no hidden state.
#[test]
fn chain_over_a_third_thread_is_named_link_by_link() {
    let files = Files::new();
    let chain = "\
T1|w(x)|a.c:1
T1|au(hidden:lib libc.so.6=0>1)|a.c:2
T3|au(hidden:lib libc.so.6=1>2)|c.c:1
T3|au(hidden:kernel=0>1)|c.c:2
T2|au(hidden:kernel=1>2)|b.c:1
T2|r(x)|b.c:2
";
    let declared = "\
#! opaque hidden:lib libc.so.6
#! opaque hidden:kernel
#! meta kept calls libc.so.6=5; 3 tsearch; 2 tfind
";
    let trace = files.add("chain.std", format!("{declared}{chain}"));
    let told = in_one_line(&predict(&trace, &["--explain-order"]).quietly(0));
    let sentence = "possible if the calls at a.c:2 and c.c:1 (state of libc.so.6: tsearch, tfind) and the calls at \
                    c.c:2 and b.c:1 (state of the kernel) were not kept in order";
    assert!(told.contains(sentence), "{told}");
    let other = format!("{declared}{chain}").replace("hidden:", "pipe:");
    let trace = files.add("other.std", other);
    let told = predict(&trace, &["--explain-order"]).quietly(0);
    assert!(!told.contains("kept order"), "{told}");
}

/// Recorded symbolic traces have a guard behind each use of hidden state.
#[test]
fn guards_on_hidden_state_go_with_it() {
    let files = Files::new();
    let trace = files.add(
        "symbolic.std",
        "\
#! opaque hidden:box
#! init hidden:box=0
#! init x=0
T1|w(x=1)<-1|a.c:10
T1|au(hidden:box=0>1)->%h<-1|a.c:11
T1|guard((= %h 0))
T2|au(hidden:box=1>2)->%h<-2|b.c:30
T2|guard((= %h 1))
T2|r(x=1)->%x|b.c:31
T2|guard((>= %x 0))
",
    );
    let told = predict(&trace, &["--explain-order", "--model", "symbolic"]).quietly(0);
    let told = in_one_line(&told);
    assert!(told.contains("data race on x at a.c:10 and b.c:31: possible if the calls"), "{told}");
}

#[test]
fn parts_of_the_work_cannot_be_explained() {
    let files = Files::new();
    let trace = files.add("box.std", BOX);
    let line = predict(&trace, &["--explain-order", "--shard", "1/2"]).refused();
    assert!(line.contains("'--explain-order' cannot be used with"), "{line}");
}
