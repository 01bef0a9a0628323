//! Command line of a linker: its inputs, and where they are on it.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::archive::is_archive;
use super::elf;

/// Options whose value is the next word, unless it follows an equals sign.
const WITH_VALUE: &[&str] = &[
    "o",
    "output",
    "e",
    "entry",
    "h",
    "soname",
    "m",
    "T",
    "script",
    "dT",
    "default-script",
    "z",
    "u",
    "undefined",
    "require-defined",
    "y",
    "trace-symbol",
    "Y",
    "b",
    "format",
    "oformat",
    "A",
    "architecture",
    "R",
    "just-symbols",
    "rpath",
    "rpath-link",
    "dynamic-linker",
    "I",
    "plugin",
    "plugin-opt",
    "F",
    "filter",
    "f",
    "auxiliary",
    "G",
    "a",
    "c",
    "mri-script",
    "Map",
    "defsym",
    "wrap",
    "version-script",
    "dynamic-list",
    "exclude-libs",
    "retain-symbols-file",
    "section-start",
    "Tbss",
    "Tdata",
    "Ttext",
    "Ttext-segment",
    "init",
    "fini",
    "assert",
    "export-dynamic-symbol",
    "export-dynamic-symbol-list",
    "version-exports-section",
    "P",
    "audit",
    "depaudit",
    "dependency-file",
    "remap-inputs",
    "remap-inputs-file",
    "sysroot",
];

/// Input of a linker.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// Its words on the command line; `None` for a file that a linker script names.
    pub(super) words: Option<Range<usize>>,
    /// Whether every member of an archive is linked (`--whole-archive`).
    pub(super) whole: bool,
    /// Whether a shared library is linked only if it is used (`--as-needed`).
    pub(super) as_needed: bool,
}

/// Meaning of a linker's command line.
#[derive(Default, Debug)]
pub(super) struct Command {
    pub(super) inputs: Vec<Input>,
    /// Whether it makes a relocatable object (`-r`).
    pub(super) relocatable: bool,
    /// Symbols that it defines or wraps by itself.
    pub(super) own_symbols: Vec<Vec<u8>>,
    /// Symbols that it marks as undefined.
    pub(super) undefined: Vec<Vec<u8>>,
}

/// Returns the words with the contents of response files (`@file`) in their places. A file that
/// cannot be read stays a word, and the linker reports it.
pub(super) fn expand(words: &[Vec<u8>]) -> Vec<Vec<u8>> {
    fn add(word: &[u8], depth: u32, out: &mut Vec<Vec<u8>>) {
        let file = word.strip_prefix(b"@").filter(|_| depth < 10);
        match file.and_then(|file| std::fs::read(OsStr::from_bytes(file)).ok()) {
            Some(text) => split(&text).iter().for_each(|word| add(word, depth + 1, out)),
            None => out.push(word.to_vec()),
        }
    }
    let mut out = Vec::new();
    words.iter().for_each(|word| add(word, 0, &mut out));
    out
}

/// Returns the words of a response file: white space separates, quotes and backslashes protect.
fn split(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut bytes = text.iter().copied();
    while let Some(b) = bytes.next() {
        match b {
            b'\\' => word.get_or_insert_default().extend(bytes.next()),
            _ if quote == Some(b) => quote = None,
            b'"' | b'\'' if quote.is_none() => {
                quote = Some(b);
                word.get_or_insert_default();
            }
            _ if b.is_ascii_whitespace() && quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(b),
        }
    }
    words.extend(word);
    words
}

/// Returns the text of a response file with these words.
pub(super) fn response_file(words: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in words {
        if word.is_empty() {
            out.extend(b"\"\"");
        }
        for &b in word {
            if b.is_ascii_whitespace() || matches!(b, b'\\' | b'"' | b'\'') {
                out.push(b'\\');
            }
            out.push(b);
        }
        out.push(b'\n');
    }
    out
}

/// State of the options that hold for the inputs after them.
#[derive(Clone, Copy, Default)]
struct Mode {
    static_only: bool,
    whole: bool,
    as_needed: bool,
}

/// Reads a command line.
struct Parser<'a> {
    words: &'a [Vec<u8>],
    directories: Vec<PathBuf>,
    sysroot: PathBuf,
    command: Command,
}

impl Command {
    /// Returns the meaning of the words of a linker's command line, without its name. `default`
    /// are the directories that the linker searches after those on the command line.
    pub(super) fn of(words: &[Vec<u8>], default: &[&str]) -> Command {
        let mut parser = Parser {
            words,
            directories: Vec::new(),
            sysroot: PathBuf::new(),
            command: Command::default(),
        };
        parser.directories(default);
        parser.inputs();
        parser.command
    }
}

/// Returns the name of an option without its dashes and the value after an equals sign.
fn option(word: &[u8]) -> Option<(&str, Option<&[u8]>)> {
    let word = word.strip_prefix(b"-")?;
    let word = word.strip_prefix(b"-").unwrap_or(word);
    let end = word.iter().position(|&b| b == b'=').unwrap_or(word.len());
    let name = std::str::from_utf8(&word[..end]).ok()?;
    Some((name, word.get(end + 1..)))
}

impl Parser<'_> {
    /// Collects the directories of `-L`: they hold for all libraries, wherever they stand.
    fn directories(&mut self, default: &[&str]) {
        for (i, word) in self.words.iter().enumerate() {
            if let Some(("sysroot", Some(path))) = option(word) {
                self.sysroot = PathBuf::from(OsStr::from_bytes(path));
            }
            let path = match option(word) {
                Some(("L" | "library-path", value)) => {
                    value.map(<[u8]>::to_vec).or_else(|| self.words.get(i + 1).cloned())
                }
                _ => word.strip_prefix(b"-L").map(<[u8]>::to_vec),
            };
            let Some(path) = path else { continue };
            let rooted = path.strip_prefix(b"=").or_else(|| path.strip_prefix(b"$SYSROOT"));
            let directory = match rooted {
                Some(rest) => self.rooted(OsStr::from_bytes(rest)),
                None => PathBuf::from(OsStr::from_bytes(&path)),
            };
            self.directories.push(directory);
        }
        for path in default {
            let directory = self.rooted(OsStr::new(path));
            self.directories.push(directory);
        }
    }

    fn rooted(&self, path: &OsStr) -> PathBuf {
        if self.sysroot.as_os_str().is_empty() {
            return PathBuf::from(path);
        }
        let path = Path::new(path);
        self.sysroot.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn inputs(&mut self) {
        let mut mode = Mode::default();
        let mut saved = Vec::new();
        let mut i = 0;
        while let Some(word) = self.words.get(i) {
            let at = i;
            i += 1;
            let Some((name, value)) = option(word).filter(|_| word.len() > 1) else {
                let path = PathBuf::from(OsStr::from_bytes(word));
                self.file(path, Some(at..i), mode, 0);
                continue;
            };
            let mut value = value.map(<[u8]>::to_vec);
            if value.is_none()
                && (WITH_VALUE.contains(&name)
                    || matches!(name, "l" | "L" | "library" | "library-path"))
            {
                value = self.words.get(i).cloned();
                i += 1;
            }
            match name {
                "r" | "i" | "relocatable" | "Ur" => self.command.relocatable = true,
                "Bstatic" | "dn" | "non_shared" | "static" => mode.static_only = true,
                "Bdynamic" | "dy" | "call_shared" => mode.static_only = false,
                "whole-archive" => mode.whole = true,
                "no-whole-archive" => mode.whole = false,
                "as-needed" => mode.as_needed = true,
                "no-as-needed" => mode.as_needed = false,
                "push-state" => saved.push(mode),
                "pop-state" => mode = saved.pop().unwrap_or(mode),
                "wrap" => self.command.own_symbols.extend(value),
                "defsym" => {
                    let value = value.unwrap_or_default();
                    let name = value.split(|&b| b == b'=').next().unwrap_or_default();
                    self.command.own_symbols.push(name.to_vec());
                }
                "u" | "undefined" | "require-defined" => self.command.undefined.extend(value),
                "l" | "library" => {
                    self.library(&value.unwrap_or_default(), Some(at..i), mode, 0);
                }
                _ => {
                    let joined = word.strip_prefix(b"-l").filter(|_| !word.starts_with(b"--"));
                    if let Some(library) = joined {
                        self.library(library, Some(at..i), mode, 0);
                    } else if let Some(symbol) = word.strip_prefix(b"-u") {
                        self.command.undefined.push(symbol.to_vec());
                    }
                }
            }
        }
    }

    /// Adds the library `-l name`.
    fn library(&mut self, name: &[u8], words: Option<Range<usize>>, mode: Mode, depth: u32) {
        let names: Vec<Vec<u8>> = match name.strip_prefix(b":") {
            Some(file) => vec![file.to_vec()],
            None if mode.static_only => vec![[b"lib", name, b".a"].concat()],
            None => vec![[b"lib", name, b".so"].concat(), [b"lib", name, b".a"].concat()],
        };
        let found = self.directories.iter().find_map(|directory| {
            let paths = names.iter().map(|name| directory.join(OsStr::from_bytes(name)));
            paths.into_iter().find(|path| path.is_file())
        });
        if let Some(path) = found {
            self.file(path, words, mode, depth);
        }
    }

    /// Adds a file; of a linker script, the files that it names.
    fn file(&mut self, path: PathBuf, words: Option<Range<usize>>, mode: Mode, depth: u32) {
        let Some(start) = start_of(&path) else { return };
        let Mode { whole, as_needed, .. } = mode;
        if start.starts_with(elf::MAGIC) || is_archive(&start) {
            self.command.inputs.push(Input { path, words, whole, as_needed });
        } else if depth < 10
            && let Ok(text) = std::fs::read(&path)
        {
            self.script(&text, mode, depth + 1);
        }
    }

    /// Adds the files of the commands `INPUT` and `GROUP` of a linker script.
    fn script(&mut self, text: &[u8], mode: Mode, depth: u32) {
        let text = without_comments(text);
        let mut tokens = tokens(&text).into_iter().peekable();
        while let Some(token) = tokens.next() {
            if !matches!(token, b"INPUT" | b"GROUP") || tokens.peek() != Some(&&b"("[..]) {
                continue;
            }
            let mut level = 0;
            let mut mode = mode;
            for token in tokens.by_ref() {
                match token {
                    b"(" => level += 1,
                    b")" => {
                        level -= 1;
                        mode.as_needed &= level > 1;
                    }
                    b"AS_NEEDED" => mode.as_needed = true,
                    _ => self.script_input(token, mode, depth),
                }
                if level == 0 {
                    break;
                }
            }
        }
    }

    fn script_input(&mut self, token: &[u8], mode: Mode, depth: u32) {
        if let Some(name) = token.strip_prefix(b"-l") {
            return self.library(name, None, mode, depth);
        }
        let path = Path::new(OsStr::from_bytes(token));
        let mut candidates = vec![self.rooted(path.as_os_str()), path.to_path_buf()];
        candidates.extend(self.directories.iter().map(|directory| directory.join(path)));
        if let Some(path) = candidates.into_iter().find(|path| path.is_file()) {
            self.file(path, None, mode, depth);
        }
    }
}

/// Returns the first bytes of a file.
fn start_of(path: &Path) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut start = Vec::new();
    std::fs::File::open(path).ok()?.take(8).read_to_end(&mut start).ok()?;
    Some(start)
}

fn without_comments(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(2).position(|two| two == b"/*") {
        out.extend(&rest[..at]);
        out.push(b' ');
        let inside = &rest[at + 2..];
        let end = inside.windows(2).position(|two| two == b"*/").map_or(inside.len(), |e| e + 2);
        rest = &inside[end..];
    }
    out.extend(rest);
    out
}

/// Returns the words and parentheses of a linker script.
fn tokens(text: &[u8]) -> Vec<&[u8]> {
    let mut out = Vec::new();
    let separates = |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b';' | b'"');
    for word in text.split(separates) {
        let mut rest = word;
        while let Some(at) = rest.iter().position(|b| matches!(b, b'(' | b')')) {
            out.extend((at > 0).then_some(&rest[..at]));
            out.push(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
        out.extend((!rest.is_empty()).then_some(rest));
    }
    out
}
