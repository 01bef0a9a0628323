//! A temporary directory to build and record programs in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use foretell_trace::io::{ReadOptions, load};
use foretell_trace::{EventId, Model, Trace};

pub(crate) struct Workshop(tempfile::TempDir);

impl Workshop {
    pub(crate) fn new() -> Workshop {
        Workshop(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("it can be written");
    }

    pub(crate) fn foretell(&self, arguments: &[&str]) -> Output {
        self.command(env!("CARGO_BIN_EXE_foretell")).args(arguments).output().expect("it runs")
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let exe = std::env::current_exe().expect("the test has a path");
        let mut command = Command::new(program);
        // An older runtime may be beside the command.
        command.env("FORETELL_RT_DIR", exe.parent().expect("a directory"));
        command.current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs the command, which must end with this exit status.
    pub(crate) fn expect(&self, status: i32, arguments: &[&str]) -> String {
        let output = self.foretell(arguments);
        let said = format!("{arguments:?}\n{}\n{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{said}");
        said
    }

    /// Builds a source; the warnings are errors.
    pub(crate) fn build(&self, compiler: &str, source: &str) {
        let compiler = format!("--foretell-compiler={compiler}");
        let include = format!("-I{}", root().join("include").display());
        let flags =
            ["cc", "--symbolic", &compiler, &include, "-Wall", "-Wextra", "-Werror", "-pthread"];
        self.expect(0, &[&flags[..], &[source, "-lm", "-o", "program"]].concat());
    }

    /// Records the program. Returns its trace, whose order the checker must accept, and the
    /// messages.
    pub(crate) fn record(&self, options: &[&str], arguments: &[&str]) -> (Trace, String) {
        let program = self.path("program").display().to_string();
        let head = ["record", "--symbolic", "-o", "run.ft"];
        let said = self.expect(0, &[&head[..], options, &["--", &program], arguments].concat());
        (self.accepted("run.ft", &said), said)
    }

    /// Returns the trace in a file, whose recorded order the checker must accept.
    pub(crate) fn accepted(&self, name: &str, context: &str) -> Trace {
        let loaded = load(&self.path(name), &ReadOptions::default()).expect("a trace");
        let trace = loaded.trace;
        let order: Vec<EventId> = trace.ids().collect();
        let run = foretell_verify::feasible(&trace, Model::Symbolic, &order);
        if let Err(refusal) = run {
            panic!("the recorded order is refused: {refusal}\n{context}");
        }
        trace
    }

    /// Returns the content of a findings file.
    pub(crate) fn findings(&self, name: &str) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.path(name)).expect("findings");
        let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        file["findings"].as_array().expect("a list").clone()
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the number of computed values that differ from the recorded ones.
pub(crate) fn differences(said: &str) -> u64 {
    let (before, _) = said.split_once(" difference").expect("a note about the rebuild");
    before.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number")
}
