//! Names of tests, from what runners tell their processes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::process::ProcessInfo;

/// Names that the runner gives to commands.
#[derive(Default, Debug)]
pub(super) struct TestNames {
    /// Names of the tests of ctest by their commands.
    commands: BTreeMap<Vec<String>, String>,
}

impl TestNames {
    /// Asks the runner for its tests, if it is one that lists them.
    pub(super) fn of(runner: &[OsString]) -> TestNames {
        let Some((program, arguments)) = runner.split_first() else { return TestNames::default() };
        if Path::new(program).file_name() != Some(OsStr::new("ctest")) {
            return TestNames::default();
        }
        let listed = Command::new(program).args(arguments).arg("--show-only=json-v1").output();
        let text = listed.map(|output| output.stdout).unwrap_or_default();
        TestNames { commands: ctest(&text) }
    }

    /// Returns the name of the test that a process is part of.
    pub(super) fn name(&self, process: &ProcessInfo) -> String {
        let words: Vec<String> =
            process.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        if let Some(name) = self.commands.get(&words) {
            return name.clone();
        }
        // `tests/test_queue.py::test_put (call)`
        if let Some(test) = process.variable("PYTEST_CURRENT_TEST") {
            let end = test.rfind(" (").unwrap_or(test.len());
            return test[..end].to_owned();
        }
        // Bazel.
        if let Some(test) = process.variable("TEST_TARGET") {
            return test;
        }
        let program = words.first().map(String::as_str).unwrap_or_default();
        let program = program.rsplit('/').next().unwrap_or_default();
        if program == "java" {
            return java(&words);
        }
        if let [_, option, test] = &words[..]
            && option == crate::cargo::ONE_TEST
        {
            return format!("{} {test}", without_hash(program));
        }
        let option = words.iter().find_map(|word| word.strip_prefix("--gtest_filter="));
        let filter = option.map(str::to_owned).or_else(|| process.variable("GTEST_FILTER"));
        match filter.filter(|filter| filter != "*") {
            Some(filter) => format!("{program} {filter}"),
            None => program.strip_prefix("lt-").unwrap_or(program).to_owned(),
        }
    }
}

/// Returns the name of a test binary of cargo without the hash at its end.
fn without_hash(program: &str) -> &str {
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
    program.rsplit_once('-').filter(|(_, end)| is_hash(end)).map_or(program, |(name, _)| name)
}

/// Reads the list of tests of ctest.
fn ctest(json: &[u8]) -> BTreeMap<Vec<String>, String> {
    let list: Value = serde_json::from_slice(json).unwrap_or_default();
    let tests = list["tests"].as_array().into_iter().flatten();
    tests
        .filter_map(|test| {
            let words = test["command"].as_array()?.iter();
            let words =
                words.map(|word| word.as_str().map(str::to_owned)).collect::<Option<_>>()?;
            Some((words, test["name"].as_str()?.to_owned()))
        })
        .collect()
}

/// Returns the name of a test in a Java virtual machine: the class that JUnit's launcher or the
/// runner of Ant is given, else the main class or the jar.
fn java(words: &[String]) -> String {
    let after = |options: &[&str]| {
        let at = words.iter().position(|word| options.contains(&word.as_str()))?;
        words.get(at + 1).cloned()
    };
    let joined = ["--select-class=", "--select-method=", "--select-package="];
    let selected =
        words.iter().find_map(|w| joined.iter().find_map(|option| w.strip_prefix(option)));
    if let Some(class) = selected {
        return class.to_owned();
    }
    if let Some(class) =
        after(&["--select-class", "-c", "--select-method", "-m", "--select-package", "-p"])
            .filter(|_| words.iter().any(|word| word.contains("junit")))
    {
        return class;
    }
    if let Some(at) = words
        .iter()
        .position(|word| word.ends_with("JUnitTestRunner") || word == "org.junit.runner.JUnitCore")
        && let Some(class) = words.get(at + 1)
    {
        return class.clone();
    }
    if let Some(jar) = after(&["-jar"]) {
        let jar = jar.rsplit('/').next().unwrap_or_default();
        // Maven's surefire runs all classes in one virtual machine, from a jar with a random name.
        let is_surefire = jar.starts_with("surefirebooter");
        return if is_surefire { "surefire" } else { jar }.to_owned();
    }
    let takes_value = ["-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"];
    let mut rest = words.iter().skip(1);
    while let Some(word) = rest.next() {
        if takes_value.contains(&word.as_str()) {
            rest.next();
        } else if !word.starts_with('-') {
            return word.clone();
        }
    }
    "java".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(words: &[&str], variables: &[(&str, &str)]) -> String {
        let process = ProcessInfo {
            command: words.iter().map(OsString::from).collect(),
            directory: None,
            environment: variables.iter().map(|(n, v)| (n.into(), v.into())).collect(),
        };
        let json = br#"{"tests":[{"name":"queue.put","command":["/b/queue","put"]}]}"#;
        TestNames { commands: ctest(json) }.name(&process)
    }

    #[test]
    fn runners_tell_the_names_of_tests() {
        assert_eq!(named(&["/b/queue", "put"], &[]), "queue.put");
        assert_eq!(named(&["/b/queue", "get"], &[]), "queue");
        assert_eq!(named(&["./t/.libs/lt-check_map"], &[]), "check_map");
        assert_eq!(named(&["./unit", "--gtest_filter=Queue.*"], &[]), "unit Queue.*");
        assert_eq!(named(&["./unit"], &[("GTEST_FILTER", "Map.Put")]), "unit Map.Put");
        let pytest = [("PYTEST_CURRENT_TEST", "test_a.py::test_b[1 (x)] (call)")];
        assert_eq!(named(&["./helper"], &pytest), "test_a.py::test_b[1 (x)]");
    }

    #[test]
    fn cargo_names_one_test_of_a_binary() {
        let words = ["/t/debug/deps/queue-0123456789abcdef", "--foretell-one", "tests::put"];
        assert_eq!(named(&words, &[]), "queue tests::put");
    }

    #[test]
    fn classes_are_the_names_of_java_tests() {
        let console =
            ["java", "-jar", "junit-platform-console.jar", "--select-class", "a.QueueTest"];
        assert_eq!(named(&console, &[]), "a.QueueTest");
        let ant = [
            "/usr/bin/java",
            "-cp",
            "x",
            "org.apache.tools.ant.taskdefs.optional.junit.JUnitTestRunner",
            "a.MapTest",
            "skipNonTests=false",
        ];
        assert_eq!(named(&ant, &[]), "a.MapTest");
        assert_eq!(named(&["java", "-ea", "-cp", "x:y", "a.Main", "1"], &[]), "a.Main");
        assert_eq!(named(&["java", "-jar", "/tmp/surefirebooter102.jar"], &[]), "surefire");
        assert_eq!(named(&["java", "-jar", "lib/app.jar"], &[]), "app.jar");
    }
}
