//! Properties of every command.

use std::process::{Command, Stdio};

use super::*;

#[test]
fn version_and_help_are_printed() {
    let version = foretell(["--version"]).quietly(0);
    assert_eq!(version, format!("foretell {}\n", env!("CARGO_PKG_VERSION")));
    let help = foretell(["--help"]).quietly(0);
    for command in ["stats", "convert", "verify", "generate", "merge", "report"] {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in:\n{help}");
        let help = foretell([command, "--help"]).quietly(0);
        assert!(help.contains("Usage: foretell"), "{help}");
    }
}

#[test]
fn short_help_fits_a_screen() {
    let commands = "check explore test record predict replay report explain verify merge stats convert \
                    generate doctor";
    for command in std::iter::once(None).chain(commands.split(' ').map(Some)) {
        let help = foretell(command.into_iter().chain(["-h"])).quietly(0);
        assert!(help.lines().count() <= 40, "{command:?}:\n{help}");
        assert!(!help.contains("Experiments"), "{command:?}:\n{help}");
    }
}

#[test]
fn experiments_have_a_heading_of_their_own() {
    let help = foretell(["predict", "--help"]).quietly(0);
    let (_, experiments) = help.split_once("\nExperiments:\n").expect("the heading");
    for option in ["--stats", "--no-segments", "--no-static-check", "--no-simplify"] {
        assert!(experiments.contains(option), "{option} is not in:\n{experiments}");
    }
    for option in ["--context-bound", "--node-budget", "--bit-blast", "--dump-smt"] {
        assert!(experiments.contains(option), "{option} is not in:\n{experiments}");
    }
}

#[test]
fn invalid_command_line_is_reported_in_one_line() {
    for (arguments, message) in [
        (&["frobnicate"][..], "foretell: unrecognized subcommand 'frobnicate'"),
        (&["stats"], "foretell: the following required arguments were not provided: <TRACE>"),
        (&["stats", "a", "b"], "foretell: unexpected argument 'b' found"),
        (&["stats", "a", "--lenent"], "foretell: unexpected argument '--lenent' found"),
        (
            &["stats", "a", "--format", "xml"],
            "foretell: invalid value 'xml' for '--format <FORMAT>'",
        ),
        (&["stats", "a", "--color", "red"], "foretell: invalid value 'red' for '--color <WHEN>'"),
        (
            &["merge"],
            "foretell: the following required arguments were not provided: <FINDINGS.json>",
        ),
    ] {
        let line = foretell(arguments).refused();
        assert!(line.starts_with(message), "{line}");
        assert!(line.ends_with("(see --help)"), "{line}");
    }
}

#[test]
fn cluster_without_its_python_package_is_refused_in_one_line() {
    let place = tempfile::tempdir().expect("a directory");
    let python = place.path().join("python");
    // Interpreters that fail, that lack the package, and that lack Ray.
    for (script, message) in [
        (None, "No such file or directory"),
        (Some("exit 3"), "exit status: 3"),
        (Some("exit 10"), "does not have the package foretell"),
        (Some("exit 11"), "does not have Ray"),
    ] {
        if let Some(script) = script {
            std::fs::write(&python, format!("#!/bin/sh\n{script}\n")).expect("written");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&python, mode).expect("executable");
        }
        let ran = Command::new(env!("CARGO_BIN_EXE_foretell"))
            .args(["cluster", "predict", "a.ft"])
            .env("FORETELL_PYTHON", &python)
            .output()
            .expect("runs");
        let line = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{line}");
        assert!(line.lines().count() == 1 && line.contains(message), "{line}");
    }
}

#[test]
fn help_is_printed_without_a_command() {
    let ran = foretell::<&str>([]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("Usage: foretell"), "{}", ran.stderr);
}

#[test]
fn closed_pipe_is_no_failure() {
    let (trace, findings) =
        (repository("examples/traces/bank.std"), repository("examples/traces/bank.json"));
    let (trace, findings) = (text(&trace), text(&findings));
    for (arguments, status) in [
        (&["--help"][..], 0),
        (&["stats", trace], 0),
        (&["convert", trace, "-"], 0),
        (&["verify", trace, findings], 0),
        (&["merge", findings], 1),
        (&["report", findings, "--trace", trace], 1),
        (&["generate", "--list"], 0),
    ] {
        let mut child =
            command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ran: Ran = child.wait_with_output().unwrap().into();
        assert_eq!((ran.status, ran.stderr.as_str()), (status, ""), "{arguments:?}");
    }
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let (trace, findings) =
        (repository("examples/traces/bank.std"), repository("examples/traces/bank.json"));
    let report = ["report", text(&findings), "--trace", text(&trace)];
    let plain = foretell(report).quietly(1);
    assert!(!plain.contains('\u{1b}'));
    let colored = foretell(report.into_iter().chain(["--color", "always"])).quietly(1);
    assert!(colored.contains('\u{1b}'));
    let never = foretell(["--color", "never"].into_iter().chain(report)).quietly(1);
    assert_eq!(never, plain);
}
