//! Builds C programs for symbolic recording, through textual LLVM IR.
//!
//! clang compiles each source twice: to IR with ThreadSanitizer's instrumentation, and, after
//! [`rewrite`] has put hooks into the text, to an object. The link is that of every recorded
//! program. A command line that makes no objects (`-E`, `-S`, `-M`) stays as it is.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::rewrite::rewrite;
use crate::child::status;
use crate::compiler::{self, Language};
use crate::instrument;
use crate::request::{self, Request, WITH_VALUE};
use crate::{Error, ScratchDirectory};

/// Oldest clang whose text is read: its pointers have no types.
const OLDEST: u32 = 16;
/// Names of clang to try.
const NAMES: [&str; 8] =
    ["clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16"];
/// Extensions of C++ sources.
const CPP: [&str; 9] = ["cc", "cpp", "cxx", "C", "c++", "cp", "CPP", "ii", "C++"];

/// Builds for symbolic recording. Returns the exit status of the compiler.
///
/// # Errors
/// When the command line cannot work, or clang or the runtime is missing.
pub(crate) fn compile(
    language: Language,
    arguments: &[OsString],
    warn: impl FnOnce(&str),
) -> Result<ExitStatus, Error> {
    if language == Language::Cpp {
        return Err(not_cpp());
    }
    let (chosen, arguments) = compiler::choice(language, arguments);
    let clang = match chosen {
        Some(name) => usable(name)?,
        None => find()?,
    };
    let words = request::expand(&arguments);
    let request = Request::of(&arguments);
    let makes_none = ["-E", "-S", "-M", "-MM", "-fsyntax-only"];
    if !request.sources || words.iter().any(|w| makes_none.contains(&w.as_str())) {
        return instrument::run(&clang, &arguments, warn);
    }
    if let Some(refusal) = request.refusal() {
        return Err(Error::Other(refusal));
    }
    let command = CommandLine::of(&words)?;
    if command.sources.is_empty() {
        // There is no C source, only assembly for instance.
        return instrument::run(&clang, &arguments, warn);
    }
    if request.optimised && !request.probe {
        warn("--symbolic compiles without optimisation");
    }
    let directory = ScratchDirectory::new().map_err(Error::file(std::env::temp_dir()))?;
    let mut link = command.link.clone();
    for (i, source) in command.sources.iter().enumerate() {
        let object = command.object(source, i, directory.path());
        let build = Build { clang: &clang, command: &command, request: &request };
        let status = build.source(source, &object, &directory.path().join(i.to_string()))?;
        if !status.success() {
            return Ok(status);
        }
        link[source.at] = object.into_os_string();
    }
    if !command.only_objects {
        return instrument::run(&clang, &link, |_| ());
    }
    if !command.others {
        return Ok(ExitStatus::default());
    }
    // The sources in other languages.
    drop(directory);
    let mut rest: Vec<OsString> = vec!["-c".into()];
    let is_c = |at: &usize| command.sources.iter().any(|source| source.at == *at);
    rest.extend(link.into_iter().enumerate().filter(|(at, _)| !is_c(at)).map(|(_, word)| word));
    instrument::run(&clang, &rest, |_| ())
}

fn not_cpp() -> Error {
    Error::Other("--symbolic is for C; C++ is recorded without it".to_owned())
}

/// Returns the compiler that the user has chosen, if it is a recent clang.
fn usable(name: OsString) -> Result<OsString, Error> {
    let shown = name.to_string_lossy().into_owned();
    match version(&name) {
        Some(found) if found >= OLDEST => Ok(name),
        Some(found) => Err(Error::Other(format!(
            "--symbolic needs clang {OLDEST} or newer; {shown} is clang {found}"
        ))),
        None => Err(Error::Other(format!(
            "--symbolic needs clang {OLDEST} or newer; {shown} is no clang: leave the choice out, \
             or name one"
        ))),
    }
}

fn find() -> Result<OsString, Error> {
    let mut names = NAMES.iter().map(OsString::from);
    names.find(|name| version(name).is_some_and(|v| v >= OLDEST)).ok_or_else(|| {
        Error::Other(format!(
            "--symbolic needs clang {OLDEST} or newer, and none is on PATH: install one, or name \
             it with --foretell-compiler=PATH or FORETELL_CC"
        ))
    })
}

/// Returns the version of a clang; `None` for another program.
fn version(name: &OsString) -> Option<u32> {
    let output = Command::new(name).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, rest) = text.split_once("clang version ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// A source, and its index among the linker's arguments.
struct Source {
    path: String,
    at: usize,
    /// Language that the command line gives for it.
    language: Option<String>,
}

/// Parts of a command line.
struct CommandLine {
    sources: Vec<Source>,
    /// Compiler options for every source.
    options: Vec<String>,
    /// Linker arguments; each source stands for its object.
    link: Vec<OsString>,
    output: Option<String>,
    only_objects: bool,
    /// Whether there are sources in other languages, such as assembly.
    others: bool,
}

impl CommandLine {
    fn of(words: &[String]) -> Result<CommandLine, Error> {
        let mut out = CommandLine {
            sources: Vec::new(),
            options: Vec::new(),
            link: Vec::new(),
            output: None,
            only_objects: false,
            others: false,
        };
        let mut language: Option<String> = None;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-c" => out.only_objects = true,
                "-x" => {
                    language = words.next().cloned().filter(|l| l != "none");
                    if language.as_ref().is_some_and(|l| l.starts_with("c++")) {
                        return Err(not_cpp());
                    }
                }
                w if w.starts_with("-flto") => {}
                w if WITH_VALUE.contains(&w) => out.with_value(w, words.next()),
                "-" => {
                    return Err(Error::Other(
                        "--symbolic does not read a program from standard input".to_owned(),
                    ));
                }
                w if w.starts_with('-') => {
                    out.link.push(w.into());
                    if let Some(output) = w.strip_prefix("-o") {
                        out.output = Some(output.to_owned());
                    } else if !["-l", "-L", "-Wl,"].iter().any(|p| w.starts_with(p)) {
                        out.options.push(w.to_owned());
                    }
                }
                w => out.input(w, &language)?,
            }
        }
        Ok(out)
    }

    fn with_value(&mut self, word: &str, value: Option<&String>) {
        let both = [Some(word.to_owned()), value.cloned()];
        if word == "-o" {
            self.output = value.cloned();
        }
        if !["-o", "-l", "-L", "-T", "-u", "-z", "-h", "-Xlinker"].contains(&word) {
            self.options.extend(both.clone().into_iter().flatten());
        }
        self.link.extend(both.into_iter().flatten().map(OsString::from));
    }

    fn input(&mut self, word: &str, language: &Option<String>) -> Result<(), Error> {
        let extension = Path::new(word).extension().and_then(|e| e.to_str()).unwrap_or_default();
        if language.is_none() && CPP.contains(&extension) {
            return Err(not_cpp());
        }
        let is_c = match language.as_deref() {
            Some(language) => matches!(language, "c" | "cpp-output"),
            None => matches!(extension, "c" | "i"),
        };
        if is_c {
            let (path, at, language) = (word.to_owned(), self.link.len(), language.clone());
            self.sources.push(Source { path, at, language });
            self.link.push(word.into());
            return Ok(());
        }
        self.others |= language.is_some() || matches!(extension, "s" | "S" | "sx");
        match language {
            Some(language) => {
                let words = ["-x", language.as_str(), word, "-x", "none"];
                self.link.extend(words.map(OsString::from));
            }
            None => self.link.push(word.into()),
        }
        Ok(())
    }

    /// Returns the path of a source's object.
    fn object(&self, source: &Source, i: usize, directory: &Path) -> PathBuf {
        let stem = Path::new(&source.path).file_stem().unwrap_or_default();
        match (&self.output, self.only_objects) {
            (Some(output), true) => PathBuf::from(output),
            (None, true) => Path::new(stem).with_extension("o"),
            _ => directory.join(format!("{i}-{}.o", stem.to_string_lossy())),
        }
    }
}

/// Settings to compile a source.
struct Build<'a> {
    clang: &'a OsString,
    command: &'a CommandLine,
    request: &'a Request,
}

impl Build<'_> {
    /// Makes an object of a source; intermediate files are `base` with an extension.
    fn source(&self, source: &Source, object: &Path, base: &Path) -> Result<ExitStatus, Error> {
        let (text, hooked, entry) = (
            base.with_extension("ll"),
            base.with_extension("hooked.ll"),
            base.with_extension("entry"),
        );
        let status = self.to_text(source, object, &text)?;
        if !status.success() {
            return Ok(status);
        }
        let module = std::fs::read_to_string(&text).map_err(Error::file(&text))?;
        let rewritten = rewrite(&module, &entry).map_err(Error::file(&text))?;
        std::fs::write(&hooked, rewritten.module).map_err(Error::file(&hooked))?;
        std::fs::write(&entry, rewritten.entry).map_err(Error::file(&entry))?;
        let machine = |w: &&String| {
            (w.starts_with("-f") || w.starts_with("-m"))
                && !w.starts_with("-fsanitize")
                && *w != "-mllvm"
        };
        self.run(
            Command::new(self.clang)
                .args(["-Qunused-arguments", "-c", "-O0"])
                .args(self.command.options.iter().filter(machine))
                .arg(&hooked)
                .arg("-o")
                .arg(object),
        )
    }

    fn to_text(&self, source: &Source, object: &Path, text: &Path) -> Result<ExitStatus, Error> {
        let mut command = Command::new(self.clang);
        command.arg("-Qunused-arguments").args(&self.command.options);
        let given =
            |names: &[&str]| self.command.options.iter().any(|o| names.contains(&o.as_str()));
        if given(&["-MD", "-MMD"]) {
            // The dependencies are those of the object, not of the intermediate text.
            if !given(&["-MF"]) {
                command.arg("-MF").arg(object.with_extension("d"));
            }
            if !given(&["-MT", "-MQ"]) {
                command.arg("-MT").arg(object);
            }
        }
        command.args(["-fsanitize=thread", "-mllvm", "-tsan-instrument-read-before-write=1"]);
        command.args(["-mllvm", "-tsan-distinguish-volatile=1"]);
        if !self.request.debug {
            command.arg("-g");
        }
        command.args(["-O0", "-S", "-emit-llvm"]);
        if let Some(language) = &source.language {
            command.args(["-x", language]);
        }
        self.run(command.arg(&source.path).arg("-o").arg(text))
    }

    fn run(&self, command: &mut Command) -> Result<ExitStatus, Error> {
        let program = self.clang.to_string_lossy().into_owned();
        status(command).map_err(|source| Error::Start { program, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> CommandLine {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        CommandLine::of(&words).expect("C")
    }

    #[test]
    fn command_line_is_split_into_parts() {
        let line = parse("-O2 -I inc -DX a.c sub/b.c -L lib -lm c.o -Wl,-z,now -o prog");
        let sources: Vec<&str> = line.sources.iter().map(|s| s.path.as_str()).collect();
        assert_eq!(sources, ["a.c", "sub/b.c"]);
        assert_eq!(line.options, ["-O2", "-I", "inc", "-DX"]);
        assert_eq!(line.link[line.sources[1].at], "sub/b.c");
        assert_eq!(line.output.as_deref(), Some("prog"));
        let object = line.object(&line.sources[1], 1, Path::new("/t"));
        assert_eq!(object, Path::new("/t/1-b.o"));
        let line = parse("-c sub/b.c");
        assert!(line.only_objects);
        assert_eq!(line.object(&line.sources[0], 0, Path::new("/t")), Path::new("b.o"));
        assert_eq!(
            parse("-c b.c -o x/y.o").object(&line.sources[0], 0, Path::new("/t")),
            Path::new("x/y.o")
        );
    }

    #[test]
    fn other_languages_go_to_the_linker() {
        let line = parse("-x assembler-with-cpp a.in -x c b.in -x none c.o -o p");
        assert_eq!((line.sources.len(), line.sources[0].path.as_str()), (1, "b.in"));
        assert_eq!(line.link[..5], ["-x", "assembler-with-cpp", "a.in", "-x", "none"]);
        assert!(line.others && !parse("a.c b.o").others && parse("-c a.c b.S").others);
    }

    #[test]
    fn cpp_is_refused() {
        let words = ["-c", "a.cpp"].map(str::to_owned);
        let error = CommandLine::of(&words).err().expect("C++").to_string();
        assert!(error.contains("is for C"), "{error}");
        assert!(compile(Language::Cpp, &["a.c".into()], |_| ()).is_err());
        assert!(usable("gcc".into()).expect_err("gcc").to_string().contains("is no clang"));
    }
}
