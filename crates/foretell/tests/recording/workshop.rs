//! A temporary directory to build and record programs in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Path of the command.
pub(crate) const FORETELL: &str = env!("CARGO_BIN_EXE_foretell");

/// Returns the directory of the runtime that was built with this test.
fn runtime() -> PathBuf {
    let exe = std::env::current_exe().expect("the test has a path");
    exe.parent().expect("a directory").to_path_buf()
}

/// A temporary directory with programs.
pub(crate) struct Workshop(tempfile::TempDir);

impl Workshop {
    pub(crate) fn new() -> Workshop {
        Workshop(tempfile::tempdir().expect("a directory"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("it can be written");
    }

    /// Returns a command to run in this directory.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        // An older runtime may be beside the command.
        command.env("FORETELL_RT_DIR", runtime()).current_dir(self.0.path());
        command
    }

    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Output {
        self.command(program).args(arguments).stdin(Stdio::null()).output().expect("it runs")
    }

    /// Runs a bash script, which must succeed, with CC and CXX set to the drivers.
    pub(crate) fn script(&self, text: &str) -> String {
        let text = format!("export CC='{FORETELL} cc' CXX='{FORETELL} c++'\nset -e\n{text}");
        let output = self.run("bash", &["-c", &text]);
        assert!(output.status.success(), "{}\n{}", stdout(&output), stderr(&output));
        stdout(&output)
    }

    /// Returns the trace in a file as text.
    pub(crate) fn trace(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a trace")
    }

    fn foretell(&self, arguments: &[&str]) -> Output {
        self.run(FORETELL, arguments)
    }

    /// Runs the command, which must end with this exit status.
    pub(crate) fn expect(&self, status: i32, arguments: &[&str]) -> Output {
        let output = self.foretell(arguments);
        let said = format!("{arguments:?}\n{}\n{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(status), "{said}");
        output
    }

    /// Builds an example.
    pub(crate) fn build(&self, example: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let source = root.join("examples").join(example).display().to_string();
        let include = format!("-I{}", root.join("include").display());
        self.expect(0, &["cc", &include, &source, "-pthread", "-o", "program"]);
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
