//! Command lines of a compiler: whether they compile or link, and options that matter to recording.

use std::ffi::OsString;

/// Options that take the next argument as their value: that argument is no input.
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

/// Extensions of inputs that go to the linker.
const LINKER_INPUTS: &[&str] = &["o", "a", "so", "lo", "obj", "ld", "lds"];

/// Purpose of a command line.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    /// Whether it compiles or preprocesses a source.
    pub(crate) sources: bool,
    /// Whether it makes an executable or a shared library.
    pub(crate) links: bool,
    pub(crate) shared: bool,
    pub(crate) relocatable: bool,
    is_static: bool,
    pub(crate) debug: bool,
    pub(crate) optimised: bool,
    other_sanitizer: Option<String>,
    /// Whether it is a test of a build system, for which warnings are useless.
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

    /// Returns the reason why the command line cannot work, if there is one.
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

/// Returns the arguments with the contents of response files (`@file`). A file that cannot be read
/// stays an argument, and the compiler reports it.
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

/// Returns the words of a response file: white space separates, quotes and backslashes protect.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &str) -> Request {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        Request::of(&words)
    }

    #[test]
    fn sources_and_links_are_told_apart() {
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
    fn options_that_matter_are_noticed() {
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
    fn response_files_are_expanded() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("args");
        std::fs::write(&file, "-c 'a b.c'\n -o \"x\\\"y\"\n").unwrap();
        let words = expand(&[format!("@{}", file.display()).into(), "@/nonexistent".into()]);
        assert_eq!(words, ["-c", "a b.c", "-o", "x\"y", "@/nonexistent"]);
    }
}
