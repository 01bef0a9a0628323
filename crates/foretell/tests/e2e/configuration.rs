//! `foretell.toml`, completions, manual pages, explanations.

use super::*;

/// Runs `predict` on the bank's trace in a directory with this configuration.
fn configured(files: &Files, config: &str, arguments: &[&str]) -> Ran {
    files.add("foretell.toml", config);
    let trace = files.add("bank.std", read(&repository("examples/traces/bank.std")));
    let below = files.path("below");
    fs::create_dir_all(&below).unwrap();
    let words = arguments.iter().copied().chain([text(&trace)]);
    command(words).current_dir(below).output().unwrap().into()
}

#[test]
fn options_come_from_a_file_in_a_directory_above() {
    let files = Files::new();
    files.add("rules.txt", "atomicity:balance\n");
    let config =
        "[predict]\nanalyses = [\"atomicity\", \"race\"]\nsuppressions = [\"rules.txt\"]\n";
    let ran = configured(&files, config, &["predict"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!ran.stdout.contains("nondeterminism"), "{}", ran.stdout);
    assert!(ran.stderr.contains("rules.txt:1: suppressed 1 finding"), "{}", ran.stderr);
}

#[test]
fn command_line_overrides_the_file() {
    let files = Files::new();
    let config = "analyses = [\"race\"]\n[predict]\nformat = \"json\"\nstats = true\n";
    let ran = configured(&files, config, &["predict", "--analyses", "deadlock"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("{\"schema\""), "{}", ran.stdout);
    assert!(ran.stdout.contains("\"deadlock\"") && !ran.stdout.contains("\"race\""));
    let ran = configured(&files, config, &["predict", "--no-config"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let other = files.add("other.toml", "[predict]\nanalyses = [\"deadlock\"]\n");
    let ran = configured(&files, config, &["predict", "--config", text(&other)]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // The options of one command are not for another.
    let ran = configured(&files, config, &["stats"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn invalid_file_is_reported_in_one_line() {
    let files = Files::new();
    for (config, message) in [
        ("[predikt]\nx = 1\n", "foretell.toml: there is no command `predikt`"),
        (
            "[predict]\nanalysis = 1\n",
            "foretell.toml: `predict.analysis`: predict has no such option",
        ),
        ("colour = 1\n", "foretell.toml: `colour`: no command has such an option"),
        ("[predict]\nall = 3\n", "foretell.toml: `predict.all` must be true or false"),
        ("[predict]\njobs = { a = 1 }\n", "foretell.toml: `predict.jobs` must be a string"),
        ("[predict]\njobs = 0\n", "invalid value '0' for '--jobs <N>'"),
        ("[predict\n", "foretell.toml:1: "),
    ] {
        let line = configured(&files, config, &["predict"]).refused();
        assert!(line.contains(message), "{line}");
    }
    let line = foretell(["stats", "x", "--config", "nowhere.toml"]).refused();
    assert!(line.starts_with("nowhere.toml: No such file"), "{line}");
}

#[test]
fn every_kind_is_explained() {
    let all = foretell(["explain"]).quietly(0);
    for kind in [
        "observed",
        "race",
        "atomicity",
        "serializability",
        "transactions",
        "nondeterminism",
        "deadlock",
        "hang",
        "lifetime",
    ] {
        assert!(all.contains(&format!("{kind} ")), "{all}");
        let text = foretell(["explain", kind]).quietly(0);
        assert!(text.contains("\nWhen it is benign\n"), "{text}");
        assert_eq!(text, foretell(["explain", &format!("{kind}-7")]).quietly(0));
    }
    let line = foretell(["explain", "rice"]).refused();
    assert!(line.contains("there are observed, race, atomicity"), "{line}");
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let out = foretell(["completions", shell]).quietly(0);
        assert!(out.contains("suppressions"), "{shell}");
    }
    let page = foretell(["man"]).quietly(0);
    assert!(page.contains(".TH foretell 1"), "{page}");
    let files = Files::new();
    let directory = files.path("man");
    foretell(["man", "--out", text(&directory)]).quietly(0);
    let page = read(&directory.join("foretell-predict.1"));
    assert!(page.contains("analyses"), "{page}");
}
