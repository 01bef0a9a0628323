//! The compiler driver: `foretell cc` in the place of `cc`.
//!
//! The real compiler is called with the user's own arguments and a few more: instrumentation
//! where it compiles, the runtime where it links. What neither compiles nor links (`--version`, `-print-…`) goes through
//! as it is.
//!
//! gcc takes the runtime as its own libtsan, from a directory made for the call; in a shared library
//! that one is empty, the hooks are those of the executable. clang is told to leave its
//! runtime out and gets ours as one more input.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::{Error, runtime, symbolic};

/// C or C++: which compiler links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `foretell cc`.
    C,
    /// `foretell c++`.
    Cpp,
}

/// Options that take the next argument as their value: it is no input.
pub(crate) const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-B",
    "-T",
    "-u",
    "-e",
    "-z",
    "-h",
    "-G",
    "-A",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "-mllvm",
    "-include",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-include-pch",
    "-target",
    "-arch",
    "--param",
    "-aux-info",
    "-dumpbase",
    "-dumpdir",
    "-specs",
    "-wrapper",
    "-framework",
    "--sysroot",
    "-fplugin",
    "--foretell-compiler",
];

/// What an input is to the linker when its name ends so.
const LINKER_INPUTS: &[&str] = &["o", "a", "so", "lo", "obj", "ld", "lds"];

/// What a command line asks for.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// There is a source to compile (or to preprocess).
    pub(crate) sources: bool,
    /// It ends in an executable or a shared library.
    pub(crate) links: bool,
    shared: bool,
    relocatable: bool,
    is_static: bool,
    pub(crate) debug: bool,
    pub(crate) optimised: bool,
    other_sanitizer: Option<String>,
    /// A test that a build system makes: nothing is to be said about it.
    pub(crate) probe: bool,
}

impl Request {
    pub(crate) fn of(arguments: &[OsString]) -> Request {
        let mut r = Request { links: true, ..Request::default() };
        let (mut inputs, mut language) = (false, false);
        let mut words = expand(arguments).into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-c" | "-S" | "-E" | "-M" | "-MM" | "-fsyntax-only" => r.links = false,
                "-shared" | "--shared" => r.shared = true,
                "-r" | "-Wl,-r" | "-Wl,--relocatable" => r.relocatable = true,
                "-static" | "--static" | "-static-pie" => r.is_static = true,
                "-x" => {
                    language = words.next().is_some_and(|l| l != "none");
                }
                "-" => (inputs, r.sources) = (true, true),
                w if WITH_VALUE.contains(&w) => drop(words.next()),
                w if w.starts_with('-') => r.option(w),
                w => {
                    inputs = true;
                    r.sources |= language || !is_linker_input(w);
                    r.probe |= w.starts_with("conftest") || w.contains("CMakeScratch");
                }
            }
        }
        r.links &= inputs;
        r
    }

    fn option(&mut self, word: &str) {
        if let Some(list) = word.strip_prefix("-fsanitize=") {
            let other = list.split(',').find(|s| ["address", "memory", "leak"].contains(s));
            self.other_sanitizer = other.map(str::to_owned).or(self.other_sanitizer.take());
        } else if word.starts_with("-g") {
            self.debug = word != "-g0";
        } else if let Some(level) = word.strip_prefix("-O") {
            self.optimised = !matches!(level, "0" | "g" | "1" | "");
        }
    }

    /// What cannot work, in words.
    pub(crate) fn refusal(&self) -> Option<String> {
        if self.links && self.is_static {
            return Some(
                "-static: a fully static program cannot be recorded, its C library cannot be \
                 interposed; link without -static"
                    .to_owned(),
            );
        }
        let other = self.other_sanitizer.as_ref()?;
        Some(format!("-fsanitize={other} cannot be combined with recording; leave it out"))
    }
}

fn is_linker_input(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    LINKER_INPUTS.contains(&extension) || name.contains(".so.")
}

/// The arguments with response files (`@file`) read in; one that cannot be read stays as it is, the
/// compiler says what it thinks of it.
pub(crate) fn expand(arguments: &[OsString]) -> Vec<String> {
    fn add(word: &str, depth: u32, out: &mut Vec<String>) {
        let text = word
            .strip_prefix('@')
            .filter(|_| depth < 10)
            .and_then(|file| std::fs::read_to_string(file).ok());
        match text {
            Some(text) => split(&text).iter().for_each(|word| add(word, depth + 1, out)),
            None => out.push(word.to_owned()),
        }
    }
    let mut out = Vec::new();
    arguments.iter().for_each(|word| add(&word.to_string_lossy(), 0, &mut out));
    out
}

/// The words of a response file: white space separates, quotes and backslashes protect.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => word.get_or_insert_default().extend(chars.next()),
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            _ if c.is_whitespace() && quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Which compiler to call, and the arguments that are meant for it.
fn compiler(language: Language, arguments: &[OsString]) -> (OsString, Vec<OsString>) {
    let (chosen, rest) = choice(language, arguments);
    let default = if language == Language::C { "gcc" } else { "g++" };
    (chosen.unwrap_or_else(|| default.into()), rest)
}

/// The same, without a default.
pub(crate) fn choice(
    language: Language,
    arguments: &[OsString],
) -> (Option<OsString>, Vec<OsString>) {
    const CHOICE: &str = "--foretell-compiler=";
    let (name, default, clang) = match language {
        Language::C => ("FORETELL_CC", "gcc", "clang"),
        Language::Cpp => ("FORETELL_CXX", "g++", "clang++"),
    };
    let mut chosen = std::env::var_os(name).filter(|v| !v.is_empty());
    let mut rest = Vec::new();
    for word in arguments {
        match word.to_str().and_then(|w| w.strip_prefix(CHOICE)) {
            Some("clang") => chosen = Some(clang.into()),
            Some("gcc") => chosen = Some(default.into()),
            Some(other) => chosen = Some(for_language(other, language).into()),
            None => rest.push(word.clone()),
        }
    }
    (chosen, rest)
}

/// The compiler of the same family for a language: `clang++-19` where `clang-19` was named and C++ is asked for.
fn for_language(name: &str, language: Language) -> String {
    let (directory, file) =
        name.rsplit_once('/').map_or(("", name), |(d, f)| (&name[..d.len() + 1], f));
    if language == Language::C || file.contains("++") {
        return name.to_owned();
    }
    for (c, cpp) in [("clang", "clang++"), ("gcc", "g++")] {
        if let Some(at) = file.find(c) {
            return format!("{directory}{}{cpp}{}", &file[..at], &file[at + c.len()..]);
        }
    }
    name.to_owned()
}

fn is_clang(compiler: &OsStr) -> bool {
    Path::new(compiler).file_name().is_some_and(|n| n.to_string_lossy().contains("clang"))
}

/// What makes a compiler give volatile accesses hooks of their own.
fn distinguish_volatile(clang: bool) -> [&'static str; 2] {
    if clang {
        ["-mllvm", "-tsan-distinguish-volatile=1"]
    } else {
        ["--param", "tsan-distinguish-volatile=1"]
    }
}

/// Whether the compiler can do that: gcc and clang from version 11 on.
fn tells_volatile(compiler: &OsStr) -> bool {
    let output = Command::new(compiler).arg("-dumpversion").output();
    output.is_ok_and(|o| major(&String::from_utf8_lossy(&o.stdout)).is_some_and(|n| n >= 11))
}

fn major(version: &str) -> Option<u32> {
    version.trim().split('.').next()?.parse().ok()
}

/// Runs the real compiler. Returns its exit status; a warning, if there is one, goes to `warn`.
///
/// # Errors
/// What cannot work, or a compiler or runtime that is not there.
pub fn compile(
    language: Language,
    arguments: &[OsString],
    warn: impl FnOnce(&str),
) -> Result<ExitStatus, Error> {
    let (symbolic, plain): (Vec<OsString>, _) =
        arguments.iter().cloned().partition(|word| word == "--symbolic");
    if !symbolic.is_empty() {
        return symbolic::build::compile(language, &plain, warn);
    }
    let (compiler, arguments) = compiler(language, &plain);
    compile_with(&compiler, &arguments, warn)
}

/// The same with a certain compiler.
pub(crate) fn compile_with(
    compiler: &OsStr,
    arguments: &[OsString],
    warn: impl FnOnce(&str),
) -> Result<ExitStatus, Error> {
    let request = Request::of(arguments);
    let mut command = Command::new(compiler);
    let start = |source| Error::Start { program: compiler.to_string_lossy().into(), source };
    if !request.sources && !request.links {
        return Err(start(command.args(arguments).exec()));
    }
    if let Some(refusal) = request.refusal() {
        return Err(Error::Other(refusal));
    }
    if request.optimised && request.sources && !request.probe {
        warn(
            "optimised code: the compiler may merge racy reads, which are then not seen; -O0 or -Og shows all",
        );
    }
    let clang = is_clang(compiler);
    if request.sources {
        command.arg("-fsanitize=thread");
        if clang {
            command.args(["-mllvm", "-tsan-instrument-read-before-write=1"]);
        }
        if tells_volatile(compiler) {
            command.args(distinguish_volatile(clang));
        }
        if !request.debug {
            command.arg("-g");
        }
    }
    if !request.links || request.relocatable {
        return Err(start(command.args(arguments).exec()));
    }
    let archive = if request.shared { None } else { Some(runtime::archive()?) };
    // Instrumented libraries that are loaded later find the hooks in the executable.
    const EXPORT: &str =
        "-Wl,--export-dynamic-symbol=__tsan_*,--export-dynamic-symbol=__foretell_*";
    let mut directory = None;
    if clang {
        command.args(["-fsanitize=thread", "-fno-sanitize-link-runtime"]);
        command.args(arguments);
        if let Some(archive) = &archive {
            command.arg("-Wl,--whole-archive").arg(archive).arg("-Wl,--no-whole-archive");
            command.args([EXPORT, "-lpthread", "-ldl", "-lm", "-lrt", "-lgcc_s"]);
        }
    } else {
        let dir = directory.insert(runtime::gcc_directory(archive.as_deref())?);
        let dir = dir.path().display();
        command.args(["-fsanitize=thread", "-static-libtsan"]);
        command.args([format!("-B{dir}"), format!("-L{dir}")]).args(arguments);
        if archive.is_some() {
            command.args([EXPORT, "-lpthread", "-ldl", "-lm", "-lrt"]);
        }
    }
    let status = command.status().map_err(start)?;
    drop(directory);
    Ok(status)
}

/// The exit status as a shell gives it: 128 and the signal for a process that a signal ended.
pub fn shell_status(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    (code & 0xff) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &str) -> Request {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        Request::of(&words)
    }

    #[test]
    fn what_is_asked_for() {
        let what = |words| {
            let r = request(words);
            (r.sources, r.links)
        };
        assert_eq!(what("-c a.c -o a.o"), (true, false));
        assert_eq!(what("a.c -o a"), (true, true));
        assert_eq!(what("a.o b.a -o a -L x.c"), (false, true));
        assert_eq!(what("libz.so.1 a.lo"), (false, true));
        assert_eq!(what("--version"), (false, false));
        assert_eq!(what("-print-file-name=libc.a"), (false, false));
        assert_eq!(what("-E -x c -"), (true, false));
        assert_eq!(what("-MM a.c"), (true, false));
        assert_eq!(what("-x c++ a.o -x none b.o"), (true, true));
        assert_eq!(what("-include x.h -MF y.c"), (false, false));
    }

    #[test]
    fn what_is_noticed() {
        assert!(request("-O2 a.c").optimised && !request("-O2 -O1 a.c").optimised);
        assert!(request("-g3 a.c").debug && !request("-g -g0 a.c").debug);
        assert!(request("-shared a.o").shared && request("-r a.o").relocatable);
        assert!(request("-static a.o").refusal().is_some());
        assert!(request("-static -c a.c").refusal().is_none());
        assert!(request("-fsanitize=undefined,address a.c").refusal().is_some());
        assert!(request("-fsanitize=thread a.c").refusal().is_none());
        assert!(request("conftest.c").probe);
    }

    #[test]
    fn versions_of_compilers() {
        assert_eq!(["12\n", "14.0.6", "", "x.1"].map(major), [Some(12), Some(14), None, None]);
        assert!(!tells_volatile(OsStr::new("/nonexistent/gcc")));
    }

    #[test]
    fn response_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("args");
        std::fs::write(&file, "-c 'a b.c'\n -o \"x\\\"y\"\n").unwrap();
        let words = expand(&[format!("@{}", file.display()).into(), "@/nonexistent".into()]);
        assert_eq!(words, ["-c", "a b.c", "-o", "x\"y", "@/nonexistent"]);
    }

    #[test]
    fn the_compiler_can_be_chosen() {
        let words = ["-c".into(), "--foretell-compiler=clang".into()];
        let (name, rest) = compiler(Language::Cpp, &words);
        assert_eq!((name.to_str(), rest.len()), (Some("clang++"), 1));
        let named = |name| for_language(name, Language::Cpp);
        assert_eq!(
            (named("clang-19"), named("/a/gcc-12")),
            ("clang++-19".into(), "/a/g++-12".into())
        );
        assert_eq!((named("clang++-16"), named("icx")), ("clang++-16".into(), "icx".into()));
        assert_eq!(for_language("clang-19", Language::C), "clang-19");
        assert!(is_clang(&name) && !is_clang(OsStr::new("/usr/bin/gcc")));
    }
}
