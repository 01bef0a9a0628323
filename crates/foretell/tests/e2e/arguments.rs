//! Wrong arguments of every kind: one line and status 2, never a panic.

use foretell_generate::Rng;

use super::*;

/// Values that some option or argument may not like.
const VALUES: &[&str] = &[
    "",
    " ",
    "-",
    "--",
    "0",
    "-1",
    "1",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "nan",
    "inf",
    "-0.0",
    "0/0",
    "1/0",
    "2/1",
    "3/2",
    ",",
    "race,,race",
    "*",
    "/",
    "/nowhere/x",
    ".",
    "\u{1b}[2J",
    "é\u{202e}",
    "null",
];

/// Returns the long options of a command, from its help.
fn options(name: &str) -> Vec<String> {
    let help = foretell([name, "--help"]).stdout;
    let words = help.lines().filter_map(|line| {
        let at = line.find("--")?;
        let is_option =
            line[..at].chars().all(|c| c == ' ' || c == ',' || c == '-' || c.is_alphabetic());
        let end = line[at + 2..].find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        is_option.then(|| line[at..].get(..end? + 2).map(str::to_owned))?
    });
    let skipped = ["--help", "--version", "--gdb"];
    words.filter(|word| word.len() > 2 && !skipped.contains(&word.as_str())).collect()
}

/// Runs a command, and asserts that it ended by itself, with one line where the arguments were
/// wrong.
#[track_caller]
fn ends_well(directory: &Path, arguments: &[&str]) {
    let output = command(arguments).current_dir(directory).output().expect("it starts");
    let status = output.status.code();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(status.is_some_and(|code| code <= 3), "{arguments:?}: {:?} {told}", output.status);
    assert!(!told.contains("panicked"), "{arguments:?}: {told}");
    if status == Some(2) {
        assert_eq!(told.lines().count(), 1, "{arguments:?}: {told}");
    }
}

#[test]
fn random_arguments_are_used_or_refused() {
    let files = Files::new();
    files.add("t.std", read(&repository("examples/traces/bank.std")));
    files.add("t.json", read(&repository("examples/traces/bank.json")));
    files.add("empty", "");
    fs::create_dir(files.path("directory")).unwrap();
    let commands = [
        "predict", "verify", "stats", "convert", "report", "merge", "generate", "explain",
        "replay", "record",
    ];
    let known: Vec<Vec<String>> = commands.iter().map(|name| options(name)).collect();
    assert!(known.iter().map(Vec::len).sum::<usize>() > 60, "{known:?}");
    let files_named = ["t.std", "t.json", "empty", "directory", "missing"];
    let mut rng = Rng::new(16);
    for _ in 0..400 {
        let which = rng.below(commands.len());
        let mut words = vec![commands[which].to_owned()];
        for _ in 0..rng.between(1, 4) {
            match rng.below(4) {
                0 => words.push(VALUES[rng.below(VALUES.len())].to_owned()),
                1 if !known[which].is_empty() => {
                    let option = &known[which][rng.below(known[which].len())];
                    let value = VALUES[rng.below(VALUES.len())];
                    words.push(format!("{option}={value}"));
                }
                2 if !known[which].is_empty() => {
                    words.push(known[which][rng.below(known[which].len())].clone());
                }
                _ => words.push(files_named[rng.below(files_named.len())].to_owned()),
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        ends_well(files.0.path(), &words);
    }
}

#[test]
fn files_that_are_not_there_or_not_files_are_refused() {
    let files = Files::new();
    files.add("t.std", read(&repository("examples/traces/bank.std")));
    files.add("t.json", read(&repository("examples/traces/bank.json")));
    fs::create_dir(files.path("directory")).unwrap();
    for wrong in ["missing", "directory", "", "missing/x", "t.std/x"] {
        for arguments in [
            &["predict", wrong][..],
            &["stats", wrong],
            &["convert", wrong, "out.ft"],
            &["convert", "t.std", "missing/out.ft"],
            &["convert", "t.std", "directory"],
            &["verify", wrong, "t.json"],
            &["verify", "t.std", wrong],
            &["report", wrong],
            &["merge", wrong],
            &["predict", "t.std", "--suppressions", wrong],
            &["predict", "t.std", "--baseline", wrong],
            &["predict", "t.std", "--config", wrong],
            &["predict", "t.std", "--json", "directory"],
            &["predict", "t.std", "--html", "missing/x.html"],
            &["replay", wrong, "race-1", "--", "true"],
            &["replay", "t.std", "race-1", "--", "true"],
            &["record", "--", wrong],
            &["check", wrong],
        ] {
            let output = command(arguments).current_dir(files.0.path()).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
            let refused = told.lines().filter(|line| !line.starts_with("gcc: ")).count();
            assert!(refused == 1 || arguments[0] == "check", "{arguments:?}: {told}");
        }
    }
}
