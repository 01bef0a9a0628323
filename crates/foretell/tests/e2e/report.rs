//! `foretell report`.

use super::*;

#[test]
fn witnesses_are_shown_from_the_trace() {
    let (trace, findings) =
        (repository("examples/traces/bank.std"), repository("examples/traces/bank.json"));
    let report = ["report", text(&findings), "--trace", text(&trace)];
    // Findings with one cause are folded: the first is whole.
    let folded = foretell(report).quietly(1);
    assert!(folded.contains("  witness   11 events; the checker accepts it\n"), "{folded}");
    let expected = "\
nondeterminism-2: Thread main can read 110 from `balance` instead of 500: thread clerk's write at
  bank.c:15 instead of thread ledger's write at bank.c:22
  cause     that of atomicity-1 (--full shows the schedule)
  replayed  no
  suppress  nondeterminism file=bank.c variable=balance

";
    assert!(folded.contains(expected), "{folded}");
    assert_eq!(folded.matches("  cause     that of atomicity-1 ").count(), 2, "{folded}");
    let out = foretell(report.iter().chain(&["--full"])).quietly(1);
    assert_eq!(
        out,
        "\
atomicity-1: Thread ledger can set `balance` to 500 between the read and the write in thread clerk,
  and that is lost

  --> bank.c:12  clerk reads balance
  --> bank.c:22  ledger writes balance
  --> bank.c:15  clerk writes balance

        main          clerk           ledger
     0  fork(clerk)                                   bank.c:31
     1  fork(ledger)                                  bank.c:32
     2                begin(deposit)                  bank.c:10
     3                acq(account)                    bank.c:11
  >  4                r(balance=100)                  bank.c:12
     5                rel(account)                    bank.c:13
    10                                acq(account)    bank.c:21
  > 11                                w(balance=500)  bank.c:22
    12                                rel(account)    bank.c:23
     6                acq(account)                    bank.c:14
  >  7                w(balance=110)                  bank.c:15

  witness   11 events; the checker accepts it
  replayed  no
  suppress  atomicity file=bank.c variable=balance

nondeterminism-1: Thread clerk can read 500 from `balance` instead of 100: thread ledger's write at
  bank.c:22 instead of the initial value

  --> bank.c:12  clerk reads balance
  --> bank.c:22  ledger writes balance, seen instead

        main          clerk                    ledger
     0  fork(clerk)                                            bank.c:31
     1  fork(ledger)                                           bank.c:32
    10                                         acq(account)    bank.c:21
    11                                         w(balance=500)  bank.c:22
    12                                         rel(account)    bank.c:23
     2                begin(deposit)                           bank.c:10
     3                acq(account)                             bank.c:11
  >  4                r(balance=500, was 100)                  bank.c:12

  witness   8 events; the checker accepts it
  replayed  no
  suppress  nondeterminism file=bank.c variable=balance

nondeterminism-2: Thread main can read 110 from `balance` instead of 500: thread clerk's write at
  bank.c:15 instead of thread ledger's write at bank.c:22

  --> bank.c:35  main reads balance
  --> bank.c:15  clerk writes balance, seen instead
  --> bank.c:22  ledger writes balance, seen in the recorded run

        main                     clerk           ledger
     0  fork(clerk)                                              bank.c:31
     1  fork(ledger)                                             bank.c:32
     2                           begin(deposit)                  bank.c:10
     3                           acq(account)                    bank.c:11
     4                           r(balance=100)                  bank.c:12
     5                           rel(account)                    bank.c:13
    10                                           acq(account)    bank.c:21
    11                                           w(balance=500)  bank.c:22
    12                                           rel(account)    bank.c:23
     6                           acq(account)                    bank.c:14
     7                           w(balance=110)                  bank.c:15
     8                           rel(account)                    bank.c:16
     9                           end(deposit)                    bank.c:17
    13  join(clerk)                                              bank.c:33
    14  join(ledger)                                             bank.c:34
  > 15  r(balance=110, was 500)                                  bank.c:35

  witness   16 events; the checker accepts it
  replayed  no
  suppress  nondeterminism file=bank.c variable=balance

finding           replayed  objects  locations
atomicity-1       -         balance  bank.c:12, bank.c:22, bank.c:15
nondeterminism-1  -         balance  bank.c:12
nondeterminism-2  -         balance  bank.c:35

                  candidates   predicted   undecided
atomicity                  1           1           0
nondeterminism             2           2           0
"
    );
}

#[test]
fn report_without_the_trace_has_headlines_and_a_note() {
    let files = Files::new();
    let findings = files.add(
        "f.json",
        read(&repository("examples/traces/bank.json")).replace("examples/", "nowhere/"),
    );
    let ran = foretell([Path::new("report"), &findings]);
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.starts_with("atomicity-1: atomicity violation on balance: bank.c:12, "));
    assert!(ran.stderr.starts_with("nowhere/traces/bank.std: No such file"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("(so witnesses are not shown; see --trace)\n"), "{}", ran.stderr);
}

#[test]
fn trace_named_in_the_findings_is_found() {
    let findings = repository("examples/traces/bank.json");
    let output = command([Path::new("report"), &findings]).current_dir(repository("")).output();
    let out = Ran::from(output.unwrap()).quietly(1);
    assert!(out.contains("witness   11 events"), "{out}");
}

#[test]
fn other_trace_is_rejected() {
    let findings = repository("examples/traces/bank.json");
    let other = repository("examples/traces/lock-inversion.std");
    let line = foretell(["report", text(&findings), "--trace", text(&other)]).refused();
    assert!(line.starts_with(&format!("{}: not about the trace ", text(&findings))), "{line}");
}

#[test]
fn witness_that_the_checker_rejects_is_not_shown() {
    let files = Files::new();
    let trace = repository("examples/traces/bank.std");
    let findings = read(&repository("examples/traces/bank.json"));
    let findings =
        files.add("f.json", findings.replace("[0,1,10,11,12,2,3,4]", "[0,1,11,12,2,3,4]"));
    let line = foretell(["report", text(&findings), "--trace", text(&trace)]).refused();
    let expected = "finding nondeterminism-1: the checker refuses it: event 11 ";
    assert!(line.starts_with(&format!("{}: {expected}", text(&findings))), "{line}");
}

#[test]
fn trace_may_come_before_the_findings() {
    let (trace, findings) =
        (repository("examples/traces/bank.std"), repository("examples/traces/bank.json"));
    let (trace, findings) = (text(&trace), text(&findings));
    let out = foretell(["report", trace, findings]).quietly(1);
    assert_eq!(out, foretell(["report", findings, "--trace", trace]).quietly(1));
    let line = foretell(["report", trace, findings, "--trace", trace]).refused();
    assert!(line.starts_with("foretell: one trace goes with one findings file"), "{line}");
    let out = command(["report", findings, findings]).current_dir(repository("")).output();
    let out = Ran::from(out.unwrap()).quietly(1);
    assert_eq!(out.matches("atomicity-1: ").count(), 2, "{out}");
}

#[test]
fn findings_are_written_as_sarif() {
    let files = Files::new();
    let (trace, findings) =
        (repository("examples/traces/bank.std"), repository("examples/traces/bank.json"));
    let path = files.path("out.sarif");
    let report = ["report", text(&trace), text(&findings)];
    let out = foretell(report.iter().chain(&["--format", "sarif", "--sarif", text(&path)]));
    assert_eq!((out.status, out.stderr.as_str()), (1, ""));
    assert_eq!(out.stdout, read(&path));
    let log: serde_json::Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    // Three findings of one cause.
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["properties"]["variants"].as_array().unwrap().len(), 2);
    let predicted = foretell(["predict", text(&trace), "--format", "sarif"]);
    let predicted: serde_json::Value = serde_json::from_str(&predicted.stdout).unwrap();
    let hash =
        |log: &serde_json::Value| log["runs"][0]["results"][0]["partialFingerprints"].clone();
    assert!(hash(&log).is_object());
    assert_eq!(hash(&log), hash(&predicted), "saved findings keep their identity");
}

#[test]
fn pictures_are_drawn_from_saved_findings() {
    let files = Files::new();
    let (trace, findings) =
        (repository("examples/traces/bank.std"), repository("examples/traces/bank.json"));
    let outputs = ["html", "perfetto", "dot", "svg"].map(|kind| (kind, files.path(kind)));
    let mut arguments = vec!["report", text(&trace), text(&findings), "--only", "atomicity-1"];
    let options: Vec<String> = outputs.iter().map(|(kind, _)| format!("--{kind}")).collect();
    for (option, (_, path)) in options.iter().zip(&outputs) {
        arguments.extend([option.as_str(), text(path)]);
    }
    let out = foretell(arguments).quietly(1);
    assert!(out.contains("atomicity-1") && !out.contains("nondeterminism-1"), "{out}");
    for (kind, path) in outputs {
        let content = read(&path);
        let start = match kind {
            "html" => "<!DOCTYPE html>",
            "perfetto" => "{\"displayTimeUnit\":",
            "dot" => "digraph foretell {",
            _ => "<svg xmlns=",
        };
        assert!(content.starts_with(start), "{kind}: {content}");
        assert!(content.contains("w(balance=500)") || kind == "html", "{kind}");
    }
}
