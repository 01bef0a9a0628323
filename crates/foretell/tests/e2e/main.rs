//! The real binary, from arguments and files to output and exit status.

mod arguments;
mod command_line;
mod configuration;
mod convert;
mod damaged;
mod generate;
mod kept_by_order;
mod limits;
mod merge;
mod predict;
mod report;
mod stats;
mod strangers;
mod suppressions;
mod unreadable;
mod verify;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns the command, not yet run.
fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.args(arguments).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// Result of a run of the binary.
#[derive(Debug)]
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the binary writes UTF-8");
        Ran {
            status: output.status.code().expect("the binary was killed"),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// Runs the binary.
fn foretell<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ran {
    command(arguments).output().expect("the binary starts").into()
}

impl Ran {
    /// Returns the output of a run that ended with `status` and without messages.
    #[track_caller]
    fn quietly(self, status: i32) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (status, ""), "{}", self.stdout);
        self.stdout
    }

    /// Returns the message of one line of a run with wrong input, which prints nothing else.
    #[track_caller]
    fn refused(self) -> String {
        assert_eq!((self.status, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        let line = self.stderr.strip_suffix('\n').expect("a whole line");
        assert!(!line.contains('\n'), "more than a line: {line}");
        line.to_owned()
    }
}

/// A temporary directory for the files of one test.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn add(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, contents).expect("a file in a temporary directory");
        path
    }
}

/// Returns the path of a file of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns a path as an argument and in messages.
fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a text file")
}
