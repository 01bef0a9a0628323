//! Programs that call functions which are not recorded: they work as without stubs, and the calls
//! are in the log.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Output};

use foretell_build::{Language, compile};
use foretell_rt_format::channel::Channel;
use foretell_rt_format::{HiddenState, Log, Record, SyncKind};

/// Directory of one test.
struct Build {
    directory: tempfile::TempDir,
}

/// Calls of a run: number of calls, state and library by function.
type Calls = BTreeMap<String, (usize, HiddenState, String)>;

/// Path of a test program.
fn source(name: &str) -> String {
    format!("{}/tests/programs/{name}", env!("CARGO_MANIFEST_DIR"))
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

    /// Runs the compiler driver for a link: a driver that only compiles would replace the test's
    /// process. `@` stands for the directory, because the driver runs in the test's own.
    fn recorded(&self, compiler: &str, words: &[&str]) {
        assert!(!words.contains(&"-c"), "the driver would replace the test");
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

impl Build {
    /// Returns the number of records of this kind for channels of a kind in the last log.
    fn uses(&self, wanted: SyncKind, channel: Channel) -> usize {
        let bytes = std::fs::read(self.path("log")).expect("a log");
        let log = Log::parse(&bytes).expect("a log");
        let is_use = |record: &Record<'_>| match *record {
            Record::Sync { kind, object, .. } => {
                kind == wanted && Channel::of(object) == Some(channel)
            }
            _ => false,
        };
        log.events().filter(|entry| is_use(&entry.as_ref().expect("a record").record)).count()
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
            let (main, hidden) = (&source("calls.c"), &source("hidden.c"));
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
                for other in [
                    "printf", "puts", "abs", "_setjmp", "longjmp", "malloc", "strlen", "qsort",
                    "strtok",
                ] {
                    assert!(!calls.contains_key(other), "{other} is exempt or modelled");
                }
            }
        }
    }
}

#[test]
fn cpp_works_and_is_noted() {
    for (compiler, flags) in [
        ("g++", &["-O0"][..]),
        ("g++", &["-O2", "-static-libstdc++"]),
        ("clang++", &["-O0", "-static-libstdc++"]),
        ("clang++", &["-O2", "-fno-plt"]),
    ] {
        let build = Build::new();
        let (main, hidden) = (&source("objects.cc"), &source("hidden.c"));
        // Exceptions pass through it.
        build.plain("gcc", &["-O1", "-fexceptions", "-c", hidden, "-o", "hidden.o"]);
        build.plain(compiler, &["-O1", "-std=c++17", main, "hidden.o", "-o", "plain"]);
        let mut words = flags.to_vec();
        words.extend(["-std=c++17", main, "@hidden.o", "-o", "@program"]);
        build.recorded(compiler, &words);
        let file = build.path("file");
        let file = file.to_str().expect("a path");
        let expected = shown(&build.native("plain", &[file]));
        // With buffers of its own, and with those of stdio: nothing of `std::cout` is noted.
        let (output, calls) = build.record("program", &[file], "record");
        assert_eq!(shown(&output), expected, "{compiler} {flags:?}");
        assert!(!calls.keys().any(|name| name.starts_with("_ZSt4endl")), "{calls:?}");
        let (output, calls) = build.record("program", &[file, "stdio"], "record");
        assert_eq!(shown(&output), expected, "{compiler} {flags:?}");
        let library =
            if flags.contains(&"-static-libstdc++") { "libstdc++.a" } else { "libstdc++.so.6" };
        let of = |part: &str, state: HiddenState| {
            calls
                .iter()
                .any(|(name, call)| name.contains(part) && call.1 == state && call.2 == library)
        };
        // Trees, lists and strings are code of the program.
        for recorded in ["Rb_tree", "_List_node", "_Prime_rehash_policy", "_M_append"] {
            assert!(!calls.keys().any(|name| name.contains(recorded)), "{calls:?}");
        }
        assert!(of("getline", HiddenState::Arguments), "{calls:?}");
        // An operation on a string stream; nothing of those on `std::cout` is noted.
        assert!(of("_ZNSolsEi", HiddenState::Arguments), "{calls:?}");
        assert!(!calls.keys().any(|name| name.starts_with("_ZSt4endl")), "{calls:?}");
        assert!(!calls.keys().any(|name| name.starts_with("__cxa_throw")), "{calls:?}");
        assert_eq!(calls["apply"].0, 1);
    }
}

#[test]
fn output_is_noted_when_the_program_redirects_it() {
    for compiler in ["gcc", "clang"] {
        let build = Build::new();
        build.recorded(compiler, &["-O0", &source("threads.c"), "-o", "@program"]);
        for mode in ["record", "parallel"] {
            let (output, calls) = build.record("program", &[], mode);
            assert_eq!(shown(&output).0, format!("{}8\n", "inserted\n".repeat(8)));
            assert!(!calls.contains_key("tsearch"), "{calls:?}");
            assert!(!calls.contains_key("printf") && !calls.contains_key("fflush"), "{calls:?}");
            assert_eq!(build.uses(SyncKind::Sent, Channel::Pipe), 0);
            let file = build.path("file");
            let (output, calls) = build.record("program", &[file.to_str().expect("a path")], mode);
            assert!(shown(&output).0.ends_with("8\ngot through\n"), "{}", shown(&output).0);
            // Output is messages to the file, input uses the state of the stream and looks at it.
            assert!(!calls.contains_key("puts") && !calls.contains_key("fprintf"), "{calls:?}");
            assert_eq!(calls["fgets"].1, HiddenState::Arguments);
            assert!(build.uses(SyncKind::Sent, Channel::File) >= 3);
            assert_eq!(build.uses(SyncKind::Looked, Channel::Pipe), 1);
        }
    }
}

#[test]
fn shared_libraries_have_stubs_of_their_own() {
    for compiler in ["gcc", "clang"] {
        let build = Build::new();
        build.plain(compiler, &["-fPIC", "-c", &source("hidden.c"), "-o", "hidden.o"]);
        let plugin = &source("plugin.c");
        build.recorded(compiler, &["-shared", "-fPIC", plugin, "@hidden.o", "-o", "@libplugin.so"]);
        let library = build.path("libplugin.so");
        let library = library.to_str().expect("a path");
        let host = &source("host.c");
        build.recorded(compiler, &[host, "-o", "@loads", "-ldl"]);
        let rpath = format!("-Wl,-rpath,{}", build.path("").display());
        build.recorded(compiler, &["-DLINKED", host, library, &rpath, "-o", "@linked"]);
        for (program, arguments) in [("loads", &[library][..]), ("linked", &[])] {
            let (output, calls) = build.record(program, arguments, "record");
            assert_eq!(shown(&output).0, "plugin one\n1\nplugin two\n2\n");
            assert_eq!(calls["counter"], (2, HiddenState::Library, "hidden.o".to_owned()));
            assert!(build.uses(SyncKind::Looked, Channel::Library) >= 2, "calls of rand");
            // The library is recorded: calls into it are not hidden.
            assert!(!calls.contains_key("plugin"));
        }
        // A program that is not recorded has none of the hooks but those that the library needs.
        let hooks = build.path("hooks.c");
        let text = "void __tsan_init(void){} void __tsan_func_entry(void*p){}
            void __tsan_func_exit(void){} void __tsan_read8(void*p){} void __tsan_write8(void*p){}
            void __tsan_read4(void*p){} void __tsan_write4(void*p){}";
        std::fs::write(&hooks, text).expect("a file");
        build.plain(compiler, &["-rdynamic", host, "hooks.c", "-o", "foreign", "-ldl"]);
        let output = build.native("foreign", &[library]);
        assert_eq!(shown(&output).0, "plugin one\n1\nplugin two\n2\n");
    }
}

#[test]
fn archives_and_linkers_of_all_kinds() {
    for linker in ["bfd", "gold"] {
        let build = Build::new();
        let (main, hidden) = (&source("calls.c"), &source("hidden.c"));
        build.plain("gcc", &["-c", hidden, "-o", "hidden part.o"]);
        build.plain("ar", &["rcs", "libhidden.a", "hidden part.o"]);
        // The recorded object is a member of an archive too, and the command line is in a file.
        // (The driver replaces its process when it only compiles, so it is not called here.)
        build.plain("gcc", &["-fsanitize=thread", "-g", "-c", main, "-o", "main.o"]);
        build.plain("ar", &["rcs", "libmain.a", "main.o"]);
        build.plain("ar", &["rcsT", "libthin.a", "main.o"]);
        std::fs::write(build.path("empty.c"), "").expect("a file");
        build.plain("gcc", &["-c", "empty.c"]);
        let response = format!("'-L{}' -lmain -lhidden", build.path("").display());
        std::fs::write(build.path("words"), response).expect("a file");
        let words = format!("@{}", build.path("words").display());
        let fuse = &format!("-fuse-ld={linker}");
        let directory = format!("-L{}", build.path("").display());
        build.plain("gcc", &[main, hidden, "-o", "plain"]);
        let expected = shown(&build.native("plain", &[]));
        let lines: [&[&str]; 3] = [
            &["-u", "main", "-l", "main", &directory, "-lhidden"],
            &["-Wl,--as-needed", "-l:libthin.a", &directory, "-l:libhidden.a"],
            &["-Wl,--whole-archive", "@libmain.a", "-Wl,--no-whole-archive", "@libhidden.a"],
        ];
        for line in lines {
            let mut arguments = vec![fuse.as_str(), "@empty.o", "-o", "@program"];
            arguments.extend(line);
            build.recorded("gcc", &arguments);
            let (output, calls) = build.record("program", &[], "record");
            assert_eq!(shown(&output), expected);
            assert_eq!(calls["sum_of"], (2, HiddenState::Library, "libhidden.a".to_owned()));
        }
        build.recorded("gcc", &[fuse, "@empty.o", &format!("-Wl,{words}"), "-o", "@program"]);
        let (output, calls) = build.record("program", &[], "record");
        assert_eq!(shown(&output), expected);
        assert_eq!(calls["sum_of"].0, 2);
    }
}
