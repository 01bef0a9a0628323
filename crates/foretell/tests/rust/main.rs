//! Rust programs through the real `cargo foretell`: the examples and their corrected twins, correct
//! programs over the standard library, and a workspace with what a build may meet.
//!
//! The first test builds the instrumented standard library if the user's cache has none; the others
//! wait for it. All share a target directory, so that crates are built once.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// `cargo foretell` in a package of the repository.
fn cargo_foretell(package: &Path, target: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-foretell"));
    command
        .arg("foretell")
        .args(arguments)
        .current_dir(package)
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join(target))
        .env_remove("RUSTC_WRAPPER");
    command
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// Checks a binary of a package. Returns its exit status, its output and its findings.
fn check(package: &Path, target: &str, binary: &str, runs: &str) -> (Option<i32>, String, Value) {
    let directory = tempfile::tempdir().expect("a directory");
    let json = directory.path().join("findings.json");
    let arguments = ["check", "--bin", binary, "--runs", runs, "--unconfirmed", "--json"];
    let mut command = cargo_foretell(package, target, &arguments);
    let output = command.arg(&json).output().expect("cargo foretell runs");
    let findings = std::fs::read_to_string(&json).unwrap_or_default();
    let findings = serde_json::from_str(&findings).unwrap_or_default();
    (output.status.code(), text(&output), findings)
}

/// Checks an example, which shows a text, and its corrected twin, which has no finding.
fn example(name: &str, runs: &str, shown: &str) {
    let package = here("../../examples/rust");
    let (status, said, _) = check(&package, "rust-examples", name, runs);
    assert!(status == Some(1) && said.contains(shown), "{name}: {status:?} {said}");
    silent(&package, "rust-examples", &format!("{name}_fixed"), runs);
}

/// Checks a program that has no finding.
fn silent(package: &Path, target: &str, name: &str, runs: &str) {
    let (status, said, _) = check(package, target, name, runs);
    let nothing = said.contains("nothing was predicted");
    assert!(status == Some(0) && nothing, "{name}: {status:?} {said}");
}

macro_rules! examples {
    ($($name:ident, $runs:literal, $shown:literal;)*) => {$(
        #[test]
        fn $name() {
            example(stringify!($name), $runs, $shown);
        }
    )*};
}

examples! {
    channel_and_lock, "21", "deadlock";
    check_then_insert, "1", "exit status 101";
    double_drop, "1", "1 finding confirmed";
    inverted_locks, "1", "deadlock: threads 1 and 2";
    lost_notification, "1", "deadlock";
    lost_update, "12", "exit status 101";
    relaxed_publication, "1", "race-1: Nothing orders the write";
    rwlock_upgrade, "21", "exit status 101";
    shared_cell, "1", "race-1:";
    tasks, "1", "exit status 101";
}

/// Programs of a package without a finding.
macro_rules! correct {
    ($package:ident $target:literal: $($name:ident)*) => {
        mod $package {
            $(
                #[test]
                fn $name() {
                    let package = super::here(concat!("tests/rust/", stringify!($package)));
                    super::silent(&package, $target, stringify!($name), "4");
                }
            )*

            #[test]
            fn every_program_has_a_test() {
                let package = super::here(concat!("tests/rust/", stringify!($package)));
                let directory = package.join("src/bin");
                let files = std::fs::read_dir(directory).expect("programs").flatten();
                let mut names: Vec<String> = files
                    .map(|file| file.path().file_stem().unwrap().to_string_lossy().into_owned())
                    .collect();
                names.sort();
                assert_eq!(names, [$(stringify!($name)),*]);
            }
        }
    };
}

// Programs over all of the standard library's synchronisation.
correct! {
    correct "rust-correct":
    arc atomics barrier condvar hashmap mpsc mutex_poison once park rwlock spawn_tree stdio tcp
}

// Programs over crates with locks and channels of their own.
correct! {
    crates "rust-crates":
    crossbeam_channels dashmap_entries parking_lot_condvar parking_lot_mutex parking_lot_rwlock
    spin_locks
}

#[test]
fn locks_made_of_atomics_have_identity() {
    for example in ["inverted_parking_lot", "inverted_spin"] {
        let arguments = ["check", "--example", example, "--runs", "1"];
        let output = cargo_foretell(&here("tests/rust/crates"), "rust-crates", &arguments);
        let output = { output }.output().expect("cargo foretell runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("deadlock-1:") && said.contains("replayed  deadlock"), "{said}");
        assert!(said.contains("1 finding confirmed"), "{said}");
    }
}

fn suite(arguments: &[&str]) -> Output {
    let mut command = cargo_foretell(&here("tests/rust/suite"), "rust-suite", arguments);
    command.env("RUSTFLAGS", "--cfg of_the_user").output().expect("cargo foretell runs")
}

#[test]
fn tests_run_one_by_one_and_their_findings_are_merged() {
    let directory = tempfile::tempdir().expect("a directory");
    let junit = directory.path().join("junit.xml");
    let junit_option = format!("--junit={}", junit.display());
    let output = suite(&["test", "-p", "library", &junit_option]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for line in [
        "documentation tests are not run",
        "test tests::fails ... ignored",
        "test tests::panics ... ok",
        "test result: ok. 5 passed; 0 failed; 1 ignored",
        "tests     library tests::inverted_locks, library tests::inverted_locks_again",
        "3 processes recorded, 2 more tests have one thread; 1 bug: 1 confirmed",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let junit = std::fs::read_to_string(junit).expect("JUnit XML");
    assert!(
        junit.contains("library tests::ordered_locks") && junit.contains("deadlock"),
        "{junit}"
    );
}

#[test]
fn arguments_of_libtest_choose_tests() {
    let output = suite(&["test", "-p", "library", "--", "--ignored"]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(101), "{said}");
    for line in ["test tests::fails ... FAILED", "what it printed", "0 passed; 1 failed"] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let chosen = ["test", "-p", "library", "locks", "--", "--skip", "inverted"];
    let output = suite(&chosen);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("running 1 test of") && said.contains("ordered_locks ... ok"), "{said}");
}

#[test]
fn c_of_a_build_script_is_recorded() {
    let arguments =
        ["check", "-p", "program", "--features", "one", "--runs", "1", "--", "argument"];
    let output = suite(&arguments);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("race-1: Thread T1 can set `count`"), "{said}");
    assert!(said.contains("count.c:4"), "{said}");
}

#[test]
fn wrong_command_lines_are_refused_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    for (arguments, reason) in [
        (&["check"][..], "could not find `Cargo.toml`"),
        (&["test", "--doc"][..], "documentation tests cannot be recorded"),
        (&["run", "--target", "wasm32-unknown-unknown"][..], "programs are recorded on x86_64"),
        (&["frobnicate"][..], "unrecognized subcommand"),
    ] {
        let output = cargo_foretell(directory.path(), "rust-none", arguments);
        let output = { output }.output().expect("cargo foretell runs");
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.lines().count() == 1, "{reason}: {said}");
    }
}

#[test]
fn missing_sources_of_the_library_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let rustc = directory.path().join("rustc");
    let version =
        "rustc 1.95.0\\nrelease: 1.95.0\\ncommit-hash: 1\\nhost: x86_64-unknown-linux-gnu";
    let script =
        format!("#!/bin/sh\n[ \"$1\" = -vV ] && printf '{version}\\n' || echo /nonexistent\n");
    std::fs::write(&rustc, script).expect("a script");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&rustc, mode).expect("permissions");
    let mut command = cargo_foretell(directory.path(), "rust-none", &["setup"]);
    let output = command.env("RUSTC", &rustc).output().expect("cargo foretell runs");
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("rustup component add rust-src"), "{said}");
}
