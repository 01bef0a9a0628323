//! `foretell predict` together with the other commands.

use super::*;

/// Returns the traces of the examples and of the literature.
fn traces() -> Vec<PathBuf> {
    let examples = ["bank", "check-then-use", "lock-inversion"]
        .map(|name| repository(&format!("examples/traces/{name}.std")));
    let literature = (1..=33).map(|n| repository(&format!("tests/literature/Test{n}.std")));
    examples.into_iter().chain(literature).collect()
}

#[test]
fn predictions_are_accepted_and_reported() {
    let files = Files::new();
    let json = files.path("findings.json");
    for trace in traces() {
        let predicted = foretell(["predict", text(&trace), "--all", "--json", text(&json)]);
        let written = read(&json);
        let findings = written.matches("\n  {\"id\":").count();
        // Nondeterministic reads alone do not count.
        let reads = written.matches("\n  {\"id\":\"nondeterminism-").count();
        let status = i32::from(findings > reads);
        assert_eq!(predicted.status, status, "{}", predicted.stderr);
        let verified = foretell([Path::new("verify"), &trace, &json]).quietly(0);
        assert!(
            verified.ends_with(&format!("\n{findings} of {findings} accepted\n")) || findings == 0
        );
        foretell(["report", text(&json), "--trace", text(&trace)]).quietly(status);
    }
}

#[test]
fn examples_have_the_findings_of_their_comments() {
    for (name, start) in [
        (
            "bank",
            "atomicity-1: Thread ledger can set `balance` to 500 between the read and the write",
        ),
        (
            "check-then-use",
            "race-1: Thread closer can clear `connection` while thread worker reads it",
        ),
        ("lock-inversion", "deadlock-1: Threads save and spend can wait for each other for ever: "),
    ] {
        let trace = repository(&format!("examples/traces/{name}.std"));
        let out = foretell([Path::new("predict"), &trace]);
        assert_eq!(out.status, 1, "{}", out.stderr);
        assert!(out.stdout.lines().any(|line| line.starts_with(start)), "{}", out.stdout);
    }
}

#[test]
fn parts_merge_to_the_whole() {
    let files = Files::new();
    let trace = files.path("mixed.ft");
    foretell(["generate", "mixed", "--events", "200", "--seed", "5", "-o", text(&trace)]);
    for all in [&["--all"][..], &[]] {
        let whole = files.path("whole.json");
        let predict = ["predict", text(&trace), "--stats", "--json"];
        foretell(predict.iter().chain(&[text(&whole)]).chain(all).copied());
        let parts: Vec<PathBuf> = (1..=3).map(|i| files.path(&format!("{i}.json"))).collect();
        for (i, part) in parts.iter().enumerate() {
            let shard = format!("{}/3", i + 1);
            let shard = [text(part), "--shard", &shard];
            foretell(predict.iter().chain(&shard).chain(all).copied());
        }
        let merged = foretell(["merge", text(&parts[2]), text(&parts[0]), text(&parts[1])]);
        assert_eq!(merged.stdout, read(&whole));
    }
}

/// Returns a findings file without the engine's name and its schedules.
fn events_found(json: &str) -> Vec<String> {
    let id = |line: &&str| line.trim_start().starts_with("{\"id\":");
    let events = |line: &str| line.split("\"objects\"").next().unwrap_or_default().to_owned();
    // Other orders may have another last write.
    let comparable = |line: &&str| !line.contains("\"form\":\"final-value\"");
    json.lines().filter(id).filter(comparable).map(events).collect()
}

#[test]
fn explicit_engine_finds_the_same() {
    let files = Files::new();
    let json = files.path("findings.json");
    let analyses = "race,atomicity,nondeterminism,deadlock";
    for trace in traces() {
        let mut found = Vec::new();
        for engine in ["order", "dpor"] {
            let arguments = ["predict", text(&trace), "--all", "--analyses", analyses];
            let output = ["--engine", engine, "--json", text(&json)];
            foretell(arguments.into_iter().chain(output));
            assert!(read(&json).contains("\"undecided\":[]"));
            found.push(events_found(&read(&json)));
        }
        assert_eq!(found[0], found[1], "{}", trace.display());
    }
}

/// The other thread's guard holds for 0 as well, so it can get between the two accesses; it then
/// writes 5, not 6.
const GUARDED: &str = "#! init x=0
#! init y=3
T1|begin|
T1|r(x=0)->%a|t1.c:1
T1|r(y=3)->%k|t1.c:2
T1|guard((> %k 2))|t1.c:3
T1|w(x=1)<-(+ %a 1)|t1.c:4
T1|end|
T2|r(x=1)->%b|t2.c:3
T2|guard((>= %b 0))|t2.c:4
T2|w(x=6)<-(+ %b 5)|t2.c:5
";

#[test]
fn solvers_decide_the_symbolic_model() {
    let files = Files::new();
    let (trace, json, dump) =
        (files.path("guarded.std"), files.path("findings.json"), files.path("dump"));
    std::fs::write(&trace, GUARDED).expect("the trace can be written");
    let mut found = Vec::new();
    for engine in ["order", "auto", "z3", "cvc5", "yices"] {
        for options in [&[][..], &["--no-simplify"], &["--bit-blast", "--dump-smt", text(&dump)]] {
            if options.len() == 3 && ["order", "auto"].contains(&engine) {
                continue;
            }
            let arguments = ["predict", text(&trace), "--all", "--engine", engine];
            let output = ["--json", text(&json)];
            foretell(arguments.into_iter().chain(output).chain(options.iter().copied()));
            assert!(read(&json).contains("\"undecided\":[]"), "{engine} {options:?}");
            found.push(events_found(&read(&json)));
        }
    }
    assert!(found[0].iter().any(|line| line.contains("\"kind\":\"atomicity\"")), "{found:?}");
    assert!(found.iter().all(|f| *f == found[0]), "{found:?}");
    let instance = read(&dump.join("reach-run-8-4-order-1-8-8-4.smt2"));
    assert!(instance.starts_with("(set-option :produce-models true)\n(set-logic QF_BV)"));
    for engine in ["dpor", "graph"] {
        let line = foretell(["predict", text(&trace), "--engine", engine]).refused();
        assert!(line.contains("does not support the symbolic model"), "{line}");
    }
}

#[test]
fn symbolic_witnesses_have_values() {
    let files = Files::new();
    let (trace, json) = (files.path("guarded.std"), files.path("findings.json"));
    std::fs::write(&trace, GUARDED).expect("the trace can be written");
    let arguments = ["predict", text(&trace), "--analyses", "atomicity", "--stats"];
    let out = foretell(arguments.into_iter().chain(["--json", text(&json)])).stdout;
    for part in [
        "can set `x` to 5 between",
        "guard((>= %b 0))",
        "r(x=0, was 1)->%b",
        "w(x=5, was 6)",
        "simplified to 5 of 7 (71.4%) events, 9 of 12 (75.0%) expression nodes",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let json = read(&json);
    let values = "\"values\":[{},{\"read\":\"0\"},{\"read\":\"3\"},{\"guard\":\"(> %k 2)\"},\
                  {\"read\":\"0\"},{\"guard\":\"(>= %b 0)\"},{\"written\":\"5\"},{\"written\":\"1\"}]";
    assert!(json.contains(values), "{json}");
    for count in ["\"value_events\":7,\"value_events_left\":5", "\"expression_nodes_left\":9"] {
        assert!(json.contains(count), "{count}: {json}");
    }
}

#[test]
fn segments_change_no_finding() {
    let files = Files::new();
    let (trace, json) = (files.path("blocks.std"), files.path("findings.json"));
    foretell(["generate", "blocks", "--events", "120", "--seed", "7", "-o", text(&trace)]);
    let found = [&[][..], &["--no-segments"], &["--no-static-check"]].map(|options| {
        let arguments = ["predict", text(&trace), "--all", "--json", text(&json)];
        foretell(
            arguments
                .into_iter()
                .chain(["--analyses", "serializability"])
                .chain(options.iter().copied()),
        );
        let found = read(&json).matches("\"kind\":\"serializability\"").count();
        assert!(found > 0);
        found
    });
    assert_eq!(found, [found[0]; 3]);
}

#[test]
fn bounded_search_is_undecided() {
    let trace = repository("examples/traces/bank.std");
    let arguments = ["predict", text(&trace), "--engine", "dpor"];
    let bounded = foretell(arguments.into_iter().chain(["--context-bound", "0", "--strict"]));
    assert_eq!(bounded.status, 3, "{}", bounded.stderr);
    assert!(bounded.stdout.contains("bounded"), "{}", bounded.stdout);
    for option in ["--context-bound", "--node-budget"] {
        let line = foretell(["predict", text(&trace), option, "3"]).refused();
        assert!(line.ends_with("are for --engine dpor"), "{line}");
    }
}

#[test]
fn stats_have_the_columns_of_the_papers() {
    let trace = repository("examples/traces/bank.std");
    let out = foretell(["predict", text(&trace), "--stats", "--all", "--engine", "dpor"]);
    let line = |start: &str| {
        let found = out.stdout.lines().find(|line| line.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {}", out.stdout)).to_owned()
    };
    let blocks = line("AB 1, segment ");
    assert!(blocks.contains("SP 0 (0.0%), NV 0, V 1, TO 0, MO 0; encoding "), "{blocks}");
    assert!(blocks.contains(" interleavings, "), "{blocks}");
    let races = line("lsa ");
    assert!(races.contains(", mhb ") && races.contains(", wtns 0, TO 0, MO 0; "), "{races}");
    let json = ["predict", text(&trace), "--stats", "--all", "--format", "json"];
    let json = foretell(json).stdout;
    for name in ["lsa", "mhb", "segment_events", "no_violation", "time_outs", "memory_outs"] {
        assert!(json.contains(&format!("\"{name}\":")), "{name}: {json}");
    }
}
