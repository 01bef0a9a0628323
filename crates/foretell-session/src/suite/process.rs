//! Processes below a test runner: their logs, and the commands that started them.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Endings of the files beside a log: command line, environment, directory, tables of Java.
const BESIDE: [&str; 4] = [".cmdline", ".environ", ".cwd", ".tables"];
/// Variables of the environment that a recording sets.
const SET: [&str; 2] = ["JAVA_TOOL_OPTIONS", "LD_LIBRARY_PATH"];

/// The command that started a process.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ProcessInfo {
    /// Program and arguments; empty if they are not known.
    pub command: Vec<OsString>,
    /// Its working directory.
    pub directory: Option<PathBuf>,
    /// Its environment, without the variables of the recording.
    pub environment: Vec<(OsString, OsString)>,
}

impl ProcessInfo {
    /// Returns a variable of the environment.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let found = self.environment.iter().find(|(n, _)| n == name)?;
        Some(found.1.to_string_lossy().into_owned())
    }

    /// Reads what the process has written beside its log or, for one that has written nothing, what
    /// the system knows of it while it lives.
    fn read(log: &Path, pid: u32) -> ProcessInfo {
        let beside = |ending: &str| {
            let mut name = log.as_os_str().to_owned();
            name.push(ending);
            fs::read(name)
        };
        let system = |name: &str| fs::read(format!("/proc/{pid}/{name}"));
        let words = beside(".cmdline").or_else(|_| system("cmdline")).unwrap_or_default();
        let variables = beside(".environ").or_else(|_| system("environ")).unwrap_or_default();
        let directory = beside(".cwd").ok().map(|path| PathBuf::from(OsString::from_vec(path)));
        let directory = directory.or_else(|| fs::read_link(format!("/proc/{pid}/cwd")).ok());
        ProcessInfo {
            command: parts(&words).map(OsString::from).collect(),
            directory,
            environment: environment(&variables),
        }
    }
}

/// The parts of a text that ends each with a zero.
fn parts(bytes: &[u8]) -> impl Iterator<Item = &OsStr> {
    bytes.strip_suffix(&[0]).unwrap_or(bytes).split(|&b| b == 0).map(OsStr::from_bytes)
}

/// Returns the environment of a process as it would be without the recording.
fn environment(bytes: &[u8]) -> Vec<(OsString, OsString)> {
    let recorded = parts(bytes).filter_map(|entry| {
        let at = entry.as_bytes().iter().position(|&b| b == b'=')?;
        let (name, value) = entry.as_bytes().split_at(at);
        let (name, value) = (OsStr::from_bytes(name), OsStr::from_bytes(&value[1..]));
        let ours = name.as_bytes().starts_with(b"FORETELL_") || SET.iter().any(|n| name == *n);
        (!ours).then(|| (name.to_owned(), value.to_owned()))
    });
    let own = SET.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)));
    recorded.chain(own).collect()
}

/// The log of a process.
#[derive(Debug)]
pub(super) struct ProcessLog {
    pub(super) path: PathBuf,
    pub(super) pid: u32,
    /// Whether a Java virtual machine wrote it.
    pub(super) java: bool,
    pub(super) info: ProcessInfo,
}

/// The directory that the processes write their logs into.
#[derive(Debug)]
pub(super) struct LogDirectory {
    path: PathBuf,
    /// Logs of processes that may still write.
    open: Vec<ProcessLog>,
    /// Names of all logs that were seen.
    seen: BTreeSet<OsString>,
}

impl LogDirectory {
    pub(super) fn new(path: PathBuf) -> LogDirectory {
        LogDirectory { path, open: Vec::new(), seen: BTreeSet::new() }
    }

    /// Returns the logs of the processes that have ended since the last call; of all processes if
    /// `all`.
    pub(super) fn ended(&mut self, all: bool) -> Vec<ProcessLog> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut names: Vec<OsString> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let text = name.to_string_lossy().into_owned();
            if BESIDE.iter().any(|ending| text.ends_with(ending)) || self.seen.contains(&name) {
                continue;
            }
            // `START.PID` of a native process, `START-PID` of a Java virtual machine.
            let java = text.contains('-');
            let pid = text.split(['.', '-']).nth(1).and_then(|pid| pid.parse().ok());
            let path = self.path.join(&name);
            self.seen.insert(name);
            if let Some(pid) = pid {
                let info = ProcessInfo::read(&path, pid);
                self.open.push(ProcessLog { path, pid, java, info });
            }
        }
        // A process that replaced its program has the next log.
        let last: BTreeSet<PathBuf> = {
            let by_pid: std::collections::BTreeMap<u32, &PathBuf> =
                self.open.iter().map(|log| (log.pid, &log.path)).collect();
            by_pid.into_values().cloned().collect()
        };
        let has_ended = |log: &ProcessLog| all || !last.contains(&log.path) || has_ended(log.pid);
        let (ended, open) = std::mem::take(&mut self.open).into_iter().partition(has_ended);
        self.open = open;
        ended
    }
}

/// Whether a process has ended; its parent may not have noticed yet.
fn has_ended(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return true };
    // `pid (name) state parent …`; the name may have parentheses.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, Some("Z" | "X"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_is_that_without_the_recording() {
        let bytes = b"A=1\0FORETELL_LOG=x\0LD_LIBRARY_PATH=/tmp/y\0B=a=b\0";
        let read = environment(bytes);
        let of = |name: &str| read.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        assert_eq!((of("A"), of("B")), (Some("1".into()), Some("a=b".into())));
        assert_eq!(of("FORETELL_LOG"), None);
        assert_eq!(of("LD_LIBRARY_PATH"), std::env::var_os("LD_LIBRARY_PATH"));
    }

    #[test]
    fn log_is_complete_when_its_process_has_ended() {
        let place = tempfile::tempdir().expect("a directory");
        let me = std::process::id();
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let gone = child.id();
        child.wait().expect("its end");
        for name in [format!("1.{me}"), format!("2.{gone}"), format!("2.{gone}.cmdline")] {
            fs::write(place.path().join(name), "a\0b\0").expect("it can be written");
        }
        let mut logs = LogDirectory::new(place.path().to_path_buf());
        let ended = logs.ended(false);
        assert_eq!(ended.len(), 1);
        assert_eq!((ended[0].pid, ended[0].info.command.len()), (gone, 2));
        // The next program of the same process.
        fs::write(place.path().join(format!("3.{me}")), "").expect("it can be written");
        assert_eq!(logs.ended(false).len(), 1);
        assert_eq!(logs.ended(true).len(), 1);
        assert!(logs.ended(true).is_empty());
    }
}
