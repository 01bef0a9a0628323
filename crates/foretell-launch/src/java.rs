//! Starts a Java program with the agent.
//!
//! The agent is a jar embedded in this crate. It is written to the directory of the run, with its
//! options in a properties file beside it.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use foretell_build::runtime;

use crate::Error;
use crate::mode::Mode;

/// The agent's jar; empty if it could not be built.
const JAR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/foretell-agent.jar"));

/// Environment variable with options for every virtual machine.
pub(crate) const OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Settings for Java programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Java {
    /// Patterns of the full names of classes to record; if empty, all but the platform's.
    pub include: Vec<String>,
    /// Patterns of the full names of classes not to record.
    pub exclude: Vec<String>,
    /// Patterns of methods whose calls are atomic blocks: `Class.method`.
    pub atomic: Vec<String>,
    /// Names of annotations of methods whose calls are atomic blocks.
    pub annotations: Vec<String>,
    /// Patterns of classes whose objects end with a call of `close`.
    pub resources: Vec<String>,
    /// Names of annotations of such classes.
    pub resource_annotations: Vec<String>,
}

impl Default for Java {
    fn default() -> Java {
        Java {
            include: Vec::new(),
            exclude: Vec::new(),
            atomic: Vec::new(),
            annotations: Vec::new(),
            resources: Vec::new(),
            resource_annotations: ["MustCall", "InheritableMustCall"].map(String::from).into(),
        }
    }
}

/// Returns options with which a virtual machine starts sooner: an exploration starts hundreds, and
/// most of them end within a second. What the program says comes later and counts.
pub(crate) fn quick_start(arguments: &[OsString]) -> Vec<&'static str> {
    let mut options = vec!["-XX:TieredStopAtLevel=1"];
    // Two collectors are an error, and an option may come from a file or the environment.
    let chooses = |text: &OsStr| {
        let text = text.to_string_lossy();
        text.contains("GC") || text.starts_with('@')
    };
    let variables = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];
    let in_environment = variables.iter().any(|name| std::env::var_os(name).is_some());
    if !in_environment && !arguments.iter().any(|argument| chooses(argument)) {
        options.push("-XX:+UseSerialGC");
    }
    options
}

/// Whether the agent is embedded in this program.
pub fn has_agent() -> bool {
    !JAR.is_empty()
}

/// Whether a program is the command that starts Java programs.
pub(crate) fn is_java(program: &OsStr) -> bool {
    Path::new(program).file_name().is_some_and(|name| name == "java")
}

/// Options of the agent for one run.
pub(crate) struct AgentOptions<'a> {
    pub(crate) mode: &'a Mode,
    pub(crate) seed: u64,
    pub(crate) quantum: u64,
    pub(crate) java: &'a Java,
    /// Whether a replay is recorded after its schedule.
    pub(crate) records_on: bool,
    /// Path of a descriptor of this process, which vanishes with it.
    pub(crate) reader: &'a Path,
    /// Directory in which each of several virtual machines makes a log of its own.
    pub(crate) more: Option<&'a Path>,
}

/// Writes the agent and its options to a directory. Returns the argument that makes `java` use
/// the agent.
pub(crate) fn install(agent: &AgentOptions<'_>, directory: &Path) -> Result<OsString, Error> {
    let jar = directory.join("foretell-agent.jar");
    match runtime::directory_override().map(|d| d.join("foretell-agent.jar")) {
        Some(own) if own.is_file() => {
            fs::copy(&own, &jar).map_err(Error::file(&own))?;
        }
        _ => write_jar(&jar)?,
    }
    let options = directory.join("options");
    fs::write(&options, properties(agent, directory)?).map_err(Error::file(&options))?;
    let mut argument = OsString::from("-javaagent:");
    argument.push(jar);
    argument.push("=");
    argument.push(options);
    Ok(argument)
}

fn write_jar(jar: &Path) -> Result<(), Error> {
    if JAR.is_empty() {
        return Err(Error::Other(
            "this foretell was built without its Java agent: install a JDK and ASM (Debian: \
             apt-get install default-jdk-headless libasm-java), then build or install foretell again"
                .to_owned(),
        ));
    }
    fs::write(jar, JAR).map_err(Error::file(jar))
}

fn properties(agent: &AgentOptions<'_>, directory: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let mut put = |key: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{key}={}", escaped(value));
    };
    let utf8 = |path: &Path| match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => Err(Error::Other(format!("{}: the path must be UTF-8 for Java", path.display()))),
    };
    put("log", &utf8(&directory.join("log"))?);
    if let Some(more) = agent.more {
        put("more", &utf8(more)?);
    }
    put("reader", &utf8(agent.reader)?);
    put("seed", &agent.seed.to_string());
    put("quantum", &agent.quantum.to_string());
    match agent.mode {
        Mode::Record => put("mode", "record"),
        Mode::Parallel => {
            return Err(Error::Other(
                "a Java program cannot be recorded with --parallel: its threads run one at a time"
                    .to_owned(),
            ));
        }
        Mode::Replay { stop: true, .. } => {
            return Err(Error::Other("a Java program cannot be replayed under gdb".to_owned()));
        }
        Mode::Replay { schedule, .. } => {
            put("mode", "replay");
            if agent.records_on {
                put("records-on", "1");
            }
            put("schedule", &utf8(&std::path::absolute(schedule).map_err(Error::file(schedule))?)?);
        }
    }
    put("include", &agent.java.include.join(","));
    put("exclude", &agent.java.exclude.join(","));
    put("atomic", &agent.java.atomic.join(","));
    put("annotations", &agent.java.annotations.join(","));
    put("resources", &agent.java.resources.join(","));
    put("resource-annotations", &agent.java.resource_annotations.join(","));
    Ok(text)
}

/// Returns a value as `java.util.Properties` reads it.
fn escaped(value: &str) -> String {
    let mut text = String::new();
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            ' ' => text.push_str("\\ "),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_command_is_recognised() {
        assert!(is_java(OsStr::new("java")) && is_java(OsStr::new("/usr/bin/java")));
        assert!(!is_java(OsStr::new("javac")) && !is_java(OsStr::new("./java.sh")));
    }

    #[test]
    fn collector_of_the_program_is_kept() {
        let quick = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            quick_start(&words).contains(&"-XX:+UseSerialGC")
        };
        assert!(!quick(&["-XX:+UseG1GC", "Main"]) && !quick(&["@options", "Main"]));
    }

    #[test]
    fn property_values_are_escaped() {
        assert_eq!(escaped("a b\\c\n"), "a\\ b\\\\c\\n");
    }
}
