//! The failure of the recorded run itself is a finding, in every output.

use std::fs;

use serde_json::Value;

use crate::workshop::{Workshop, stderr, stdout};

/// Two threads take two locks in opposite orders, and both sleep in between.
const DEADLOCK: &str = "#include <pthread.h>\n#include <unistd.h>\n\
    pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *f(void *p) { pthread_mutex_lock(&a); usleep(1000);\n\
    pthread_mutex_lock(&b); pthread_mutex_unlock(&b); pthread_mutex_unlock(&a); return p; }\n\
    static void *g(void *p) { pthread_mutex_lock(&b); usleep(1000);\n\
    pthread_mutex_lock(&a); pthread_mutex_unlock(&a); pthread_mutex_unlock(&b); return p; }\n\
    int main(void) { pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);\n\
    pthread_join(t, 0); pthread_join(u, 0); return 0; }\n";

const HEADLINE: &str =
    "T1 waits for b at dead.c:5, held by T2; T2 waits for a at dead.c:7, held by T1";

fn json(w: &Workshop, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(w.path(name)).expect("a file")).expect("JSON")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn deadlock_is_in_every_output_of_check() {
    let w = Workshop::new();
    w.write("dead.c", DEADLOCK);
    let files = ["--json", "d.json", "--sarif", "d.sarif", "--html", "d.html", "-o", "d.ft"];
    let output = w.expect(1, &[&["check", "dead.c"], &files[..]].concat());
    let text = one_line(&stdout(&output));
    assert!(text.contains(HEADLINE), "{text}");
    assert!(text.contains("observed-1: The recorded run ended in a deadlock"), "{text}");
    assert!(text.contains("--seed 0") && !text.contains("nothing was predicted"), "{text}");
    let file = json(&w, "d.json");
    let finding = &file["findings"][0];
    assert_eq!(finding["kind"], "observed");
    assert_eq!(finding["failure"]["kind"], "deadlock");
    // The last event of each of the two threads: its first acquire.
    w.expect(1, &["predict", "d.ft", "--json", "p.json"]);
    w.expect(0, &["convert", "d.ft", "d.std"]);
    let trace = w.trace("d.std");
    let events: Vec<&str> = trace.lines().filter(|l| !l.starts_with('#')).collect();
    let last = |start: &str| events.iter().rposition(|l| l.starts_with(start)).expect("an event");
    let mut expected = [last("T1|"), last("T2|")];
    expected.sort_unstable();
    assert!(events[expected[0]].contains("acq(") && events[expected[1]].contains("acq("));
    assert_eq!(finding["events"], serde_json::json!(expected));
    let sarif = json(&w, "d.sarif");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"observed".into(), &"error".into()));
    let html = fs::read_to_string(w.path("d.html")).expect("a page");
    assert!(html.contains("The recorded run ended in a deadlock: T1 waits for b"), "{html}");
    // From the trace, and through its text, which carries the failure too.
    for trace in ["d.ft", "d.std"] {
        let output = w.expect(1, &["predict", trace, "--json", "p.json", "--analyses", "race"]);
        assert!(one_line(&stdout(&output)).contains(HEADLINE), "{}", stdout(&output));
        let verified = stdout(&w.expect(0, &["verify", trace, "p.json"]));
        assert!(verified.contains("observed-1: accepted"), "{verified}");
    }
    let report = one_line(&stdout(&w.expect(1, &["report", "p.json"])));
    assert!(report.contains(HEADLINE), "{report}");
    // Parts of an analysis all have it; the whole has it once.
    for (shard, name) in [("1/2", "1.json"), ("2/2", "2.json")] {
        w.expect(1, &["predict", "d.ft", "--shard", shard, "--json", name]);
    }
    w.expect(1, &["merge", "1.json", "2.json", "-o", "m.json"]);
    let merged = json(&w, "m.json");
    let kinds: Vec<&Value> = merged["findings"].as_array().expect("a list").iter().collect();
    assert_eq!(kinds.iter().filter(|f| f["kind"] == "observed").count(), 1);
    // A rule hides it, as any finding.
    w.write("rules", "observed function=f\n");
    w.expect(0, &["predict", "d.ft", "--suppressions", "rules"]);
    // A finding that names other events is refused.
    let wrong = fs::read_to_string(w.path("p.json")).expect("a file");
    let events = format!("\"events\":[{},{}]", expected[0], expected[1]);
    assert!(wrong.contains(&events), "{wrong}");
    w.write("w.json", &wrong.replace(&events, &format!("\"events\":[0,{}]", expected[1])));
    let refused = stdout(&w.expect(1, &["verify", "d.std", "w.json"]));
    assert!(refused.contains("observed-1: refused: event 0"), "{refused}");
    assert!(stdout(&w.expect(0, &["explain", "observed"])).contains("Failure of the recorded run"));
}

#[test]
fn record_says_that_the_run_failed_and_its_seed_repeats_that() {
    let w = Workshop::new();
    w.write("dead.c", DEADLOCK);
    w.expect(0, &["cc", "dead.c", "-pthread", "-o", "dead"]);
    let output = w.expect(1, &["record", "--seed", "5", "-o", "d.ft", "--", "./dead"]);
    let text = one_line(&stderr(&output));
    assert!(text.contains(HEADLINE), "{text}");
    assert!(text.contains("foretell record --seed 5 -- ./dead"), "{text}");
    let replayed = stdout(&w.expect(1, &["replay", "d.ft", "observed-1", "--", "./dead"]));
    assert_eq!(replayed, "observed-1: confirmed: deadlock: threads 1 and 2\n");
}

#[test]
fn crashes_and_assertions_have_their_stacks() {
    let w = Workshop::new();
    w.write(
        "a.cpp",
        "#include <cassert>\n#include <cstdlib>\n#include <pthread.h>\nint x;\nint *p;\n\
         static void *f(void *q) { x = 1; return q; }\n\
         static int get(int *r) {\n    return *r;\n}\n\
         static void audit(int v) {\n    assert(v == 3);\n}\n\
         static void quit() {\n    abort();\n}\n\
         int main(int, char **a) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0);\n\
         switch (a[1][0]) { case 's':\n    return get(p);\n  case 'a':\n    audit(x);\n    break;\n\
         case 'q':\n    quit();\n }\n return x + 2; }\n",
    );
    w.expect(0, &["c++", "a.cpp", "-pthread", "-o", "a"]);
    for (how, message) in [
        ("s", "The recorded run crashed: SIGSEGV in get at a.cpp:8, called from main at a.cpp:18"),
        ("a", "An assertion failed in the recorded run: `v == 3` in audit at a.cpp:11"),
        ("q", "crashed: the program aborted in quit at a.cpp:14, called from main at a.cpp:23"),
    ] {
        let output = w.expect(1, &["record", "-o", "a.std", "--", "./a", how]);
        let text = one_line(&stderr(&output));
        assert!(text.contains(message), "{how}: {text}");
    }
    // An exit status is no failure, whatever it is.
    let output = w.expect(3, &["record", "-o", "a.std", "--", "./a", "n"]);
    assert!(!w.trace("a.std").contains("observed") && !stderr(&output).contains("observed"));
}

/// A run that is ended at the limit of `check` hung; the race is folded into the failed assertion
/// that its replay only shows again.
#[test]
fn hang_is_observed_and_repeated_failures_are_folded() {
    let w = Workshop::new();
    w.write(
        "spin.c",
        "#include <pthread.h>\n#include <stdatomic.h>\natomic_int go;\n\
         static void *f(void *q) { while (!atomic_load(&go)) ; return q; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }\n",
    );
    let spun = ["check", "spin.c", "--limit", "1", "--replays", "0", "--json", "s.json"];
    let output = w.expect(1, &spun);
    let text = one_line(&stdout(&output));
    assert!(text.contains("The recorded run hung: the program did not end within 1 sec"), "{text}");
    assert_eq!(json(&w, "s.json")["findings"][0]["failure"]["kind"], "hang");
    w.write(
        "a.c",
        "#include <assert.h>\n#include <pthread.h>\nint x, y;\n\
         static void *f(void *q) { x = 1; return q; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);\n  y = x;\n  pthread_join(t, 0);\n\
           assert(y == 5); return 0; }\n",
    );
    let output = w.expect(1, &["check", "a.c", "--json", "a.json"]);
    let text = one_line(&stdout(&output));
    assert!(text.contains("folded race-1: x at"), "{text}");
    assert!(text.contains("the recorded run failed; nothing else was predicted"), "{text}");
    let file = json(&w, "a.json");
    let findings = file["findings"].as_array().expect("a list");
    let race = findings.iter().find(|f| f["kind"] == "race").expect("the race");
    assert_eq!(race["folded_into"], "observed-1");
}

/// A replay that reaches its time limit is repeated: the program here hangs in its second run only,
/// the first replay.
#[test]
fn replay_that_a_busy_machine_held_up_is_repeated() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <fcntl.h>\n#include <pthread.h>\n#include <unistd.h>\nint x, y;\n\
         static void *f(void *q) { x = 1; return q; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);\n  y = x;\n  pthread_join(t, 0);\n\
           int recorded = access(\"recorded\", F_OK) == 0, held = access(\"held\", F_OK) == 0;\n\
           close(open(recorded ? \"held\" : \"recorded\", O_CREAT | O_WRONLY, 0600));\n\
           while (recorded && !held) usleep(100000);\n  return 0; }\n",
    );
    let command = ["check", "a.c", "--runs", "1", "--limit", "2", "--analyses", "race"];
    let output = w.expect(1, &[&command[..], &["--json", "a.json"]].concat());
    assert!(w.path("held").exists());
    let race = &json(&w, "a.json")["findings"][0];
    assert_eq!(race["replay"]["verdict"], "benign", "{race} {}", stdout(&output));
}
