//! Programs that call functions which are not recorded: they work as without stubs, and the calls
//! are in the log.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use foretell_build::{Language, compile};
use foretell_rt_format::{HiddenState, Log, Record};

/// Directory of one test.
struct Build {
    directory: tempfile::TempDir,
}

/// Calls of a run: number of calls, state and library by function.
type Calls = BTreeMap<String, (usize, HiddenState, String)>;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

impl Build {
    fn new() -> Build {
        Build {
            directory: tempfile::Builder::new()
                .prefix("foretell test ")
                .tempdir()
                .expect("a directory"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a compiler without instrumentation.
    fn plain(&self, compiler: &str, words: &[&str]) {
        let output = Command::new(compiler)
            .args(words)
            .current_dir(self.directory.path())
            .output()
            .expect("a compiler");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs the compiler driver. Paths are absolute: the driver has the test's own directory.
    fn recorded(&self, compiler: &str, words: &[&str]) {
        let language = if compiler.contains("++") { Language::Cpp } else { Language::C };
        let mut arguments: Vec<OsString> =
            vec![format!("--foretell-compiler={compiler}").into(), "-w".into()];
        arguments.extend(words.iter().map(|word| match word.strip_prefix('@') {
            Some(name) => self.path(name).into_os_string(),
            None => OsString::from(word),
        }));
        let status = compile(language, &arguments, |_| ()).expect("the driver works");
        assert!(status.success(), "{compiler} {words:?}");
    }

    fn native(&self, name: &str, arguments: &[&str]) -> Output {
        Command::new(self.path(name)).args(arguments).output().expect("it runs")
    }

    /// Records a run; returns its output and the calls in its log.
    fn record(&self, name: &str, arguments: &[&str], mode: &str) -> (Output, Calls) {
        let log = self.path("log");
        let _ = std::fs::remove_file(&log);
        let output = Command::new(self.path(name))
            .args(arguments)
            .env("FORETELL_LOG", &log)
            .env("FORETELL_MODE", mode)
            .output()
            .expect("it runs");
        (output, calls(&std::fs::read(&log).expect("a log")))
    }
}

fn calls(bytes: &[u8]) -> Calls {
    let log = Log::parse(bytes).expect("a log");
    let mut functions = BTreeMap::new();
    let mut out = Calls::new();
    for entry in log.events() {
        match entry.expect("a record").record {
            Record::HiddenFunction { function, state, name, library } => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let before = functions.insert(function, (text(name), state, text(library)));
                assert!(before.is_none(), "one definition for each number");
            }
            Record::HiddenCall { function, .. } => {
                let (name, state, library) =
                    functions.get(&function).expect("a definition").clone();
                out.entry(name).or_insert((0, state, library)).0 += 1;
            }
            _ => {}
        }
    }
    out
}

fn shown(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

#[test]
fn calls_work_and_are_noted() {
    for compiler in ["gcc", "clang"] {
        for flags in [&["-O0"][..], &["-O2"], &["-O2", "-fno-plt"], &["-O1", "-Wl,-z,now"]] {
            let build = Build::new();
            let (main, hidden) = (source("calls.c"), source("hidden.c"));
            let (main, hidden) = (main.to_str().expect("a path"), hidden.to_str().expect("a path"));
            build.plain(compiler, &["-O1", "-c", hidden, "-o", "hidden.o"]);
            build.plain(compiler, &["-O1", main, "hidden.o", "-o", "plain"]);
            let mut words = flags.to_vec();
            words.extend([main, "@hidden.o", "-o", "@program"]);
            build.recorded(compiler, &words);
            let expected = shown(&build.native("plain", &[]));
            assert_eq!(shown(&build.native("program", &[])), expected);
            for mode in ["record", "parallel"] {
                let (output, calls) = build.record("program", &[], mode);
                assert_eq!(shown(&output), expected, "{compiler} {flags:?} {mode}");
                for name in ["sum_of", "mean_of", "keep"] {
                    let call = calls.get(name);
                    let wanted = (2, HiddenState::Library, "hidden.o".to_owned());
                    assert_eq!(call, Some(&wanted), "{name}");
                }
                assert_eq!(calls["slot"].0, 3);
                assert_eq!(calls["qsort"].1, HiddenState::Arguments);
                assert_eq!(calls["strtok"].1, HiddenState::Library);
                assert_eq!(calls["strtok"].2, "libc.so.6");
                for exempt in ["printf", "puts", "abs", "_setjmp", "longjmp", "malloc", "strlen"] {
                    assert!(!calls.contains_key(exempt), "{exempt}");
                }
            }
        }
    }
}
