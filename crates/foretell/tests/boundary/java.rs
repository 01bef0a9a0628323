//! Runs and checks one scenario of Java.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::commands::{Twin, finish, foretell, sources, succeed, text};

/// Files of the scenarios.
const SOURCES: [&str; 6] = [
    "Scenario.java",
    "Containers.java",
    "Shared.java",
    "Running.java",
    "Locking.java",
    "Platform.java",
];

/// A scenario: a part of a class that its first argument selects.
pub(crate) struct Scenario {
    pub(crate) class: &'static str,
    pub(crate) name: &'static str,
}

impl Scenario {
    /// Asserts that nothing is found and that the recorded program has the right answer.
    pub(crate) fn is_correct(&self, answer: &str) {
        let directory = tempfile::tempdir().expect("a directory");
        let checked = self.check(directory.path(), answer);
        let said = format!("{} {}\n{}", self.class, self.name, text(&checked));
        assert_eq!(checked.status.code(), Some(0), "{said}");
        assert!(said.contains("; exit 0"), "the recorded program fails: {said}");
    }

    /// Asserts that the twin's bug is found, or not found for the known reason.
    pub(crate) fn has_twin(&self, twin: Twin) {
        let directory = tempfile::tempdir().expect("a directory");
        let checked = self.check(directory.path(), "bug");
        let name = format!("{} {} bug", self.class, self.name);
        twin.holds(&name, &checked, &directory.path().join("findings.json"));
    }

    fn check(&self, directory: &Path, argument: &str) -> Output {
        let mut command = foretell();
        command
            .args(["check", "--runs", "1", "--limit", "10", "--json"])
            .arg(directory.join("findings.json"));
        finish(command.arg(jar(self.class)).args(["--", self.name, argument]))
    }
}

/// Returns the jar that runs this class. The first test that needs it builds it.
fn jar(class: &str) -> PathBuf {
    let sources = sources().join("java");
    let files = SOURCES.map(|name| sources.join(name));
    let newest = files.iter().map(|f| f.metadata().and_then(|m| m.modified()).expect("a source"));
    let newest = newest.max().expect("a source");
    let jar = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{class}.jar"));
    if jar.metadata().and_then(|m| m.modified()).is_ok_and(|built| built > newest) {
        return jar;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let classes = directory.path().join("classes").display().to_string();
    let mut arguments = vec!["-g".to_owned(), "-d".to_owned(), classes.clone()];
    arguments.extend(files.iter().map(|file| file.display().to_string()));
    succeed("javac", &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let built = directory.path().join("built.jar");
    let to = built.display().to_string();
    succeed("jar", &["cfe", &to, class, "-C", &classes, "."]);
    // Tests that run at the same time build the same file: the last one stays.
    std::fs::rename(&built, &jar).expect("it can be moved");
    jar
}
