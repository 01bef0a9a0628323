//! The table of functions that are not recorded, by the state that they use.
//!
//! The table is `hidden/functions.txt`. A group begins with a line `CLASS: reason`; the indented
//! lines after it have patterns of linker names, in which `*` stands for any text. A pattern may
//! begin with a library, as in `libm.so.*:*`, and end with a slash and the numbers of the arguments
//! that may be addresses, as in `regexec/012`. An exact name goes before patterns, and of several
//! patterns the longest decides. A function in no group has class [`Class::Library`].

use std::collections::HashMap;
use std::sync::OnceLock;

use super::effects::Effect;

const TEXT: &str = include_str!("../../hidden/functions.txt");

/// State that a function which is not recorded uses, and the rule for calls that need no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// No state that another function or another thread could see.
    Exempt,
    /// That of the objects which these arguments point into: a bit for each; 0: all of the first
    /// six.
    Arguments(u8),
    /// That of its library too.
    Library,
    /// State of the kernel too: data that passes through it.
    Kernel,
    /// As [`Class::Kernel`]; nothing if its first argument is a C++ stream that is the program's
    /// standard output or error; that of the arguments if the stream is a string or a file.
    Stream,
    /// As [`Class::Library`]; makes tasks that threads of a team run while they wait.
    Tasks,
    /// None but that of its effects, which the runtime records.
    Modelled([Option<Effect>; 4]),
    /// As [`Class::Kernel`]; nothing if its first argument is the number of a system call that is
    /// modelled or passes nothing on.
    SystemCall,
}

impl Class {
    /// Word of the descriptor: the state in the lowest byte, the rule for output in the next one,
    /// then the arguments that count.
    pub(super) fn word(self) -> u32 {
        let rule = match self {
            Class::Exempt => return 0,
            Class::Arguments(arguments) => return u32::from(arguments) << 16,
            Class::Library => return 1,
            Class::Kernel => 0,
            // The stream, and the address of what is printed or read.
            Class::Stream => return 2 | 0x30 << 8 | 0b11 << 16,
            Class::SystemCall => 0x40,
            Class::Modelled(_) => return 0x50 << 8,
            Class::Tasks => return 1 | 0x60 << 8,
        };
        2 | rule << 8
    }

    fn parse(text: &str) -> Option<Class> {
        if let Some(effects) = text.strip_prefix("modelled ") {
            let mut out = [None; 4];
            let mut places = out.iter_mut();
            for effect in effects.split(',') {
                *places.next()? = Some(Effect::parse(effect)?);
            }
            return Some(Class::Modelled(out));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        Some(match words[..] {
            ["exempt"] => Class::Exempt,
            ["arguments"] => Class::Arguments(0),
            ["library"] => Class::Library,
            ["kernel"] => Class::Kernel,
            ["tasks"] => Class::Tasks,
            ["output", "stream"] => Class::Stream,
            ["system", "call"] => Class::SystemCall,
            _ => return None,
        })
    }
}

/// Pattern of functions: of a library, or of all.
#[derive(Debug)]
struct Pattern {
    library: Option<&'static str>,
    name: &'static str,
    class: Class,
}

/// The table of functions.
#[derive(Debug)]
pub(super) struct Functions {
    exact: HashMap<&'static [u8], Class>,
    /// The longest first.
    patterns: Vec<Pattern>,
}

impl Functions {
    /// Returns the table.
    pub(super) fn table() -> &'static Functions {
        static TABLE: OnceLock<Functions> = OnceLock::new();
        TABLE.get_or_init(|| Functions::parse(TEXT))
    }

    /// Reads a table; lines that are not well-formed are left out (a test rejects them).
    fn parse(text: &'static str) -> Functions {
        let mut functions = Functions { exact: HashMap::new(), patterns: Vec::new() };
        for (class, word) in entries(text) {
            let Some(class) = class else { continue };
            let (word, class) = match (word.split_once('/'), class) {
                (Some((word, digits)), Class::Arguments(_)) => {
                    (word, Class::Arguments(bits(digits)))
                }
                _ => (word, class),
            };
            let (library, name) = match word.split_once(':') {
                Some((library, name)) => (Some(library), name),
                None => (None, word),
            };
            if library.is_none() && !name.contains('*') {
                functions.exact.insert(name.as_bytes(), class);
            } else {
                functions.patterns.push(Pattern { library, name, class });
            }
        }
        functions.patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.name.len()));
        functions
    }

    /// Returns the class of a function of a library; `None` if it is in no group.
    pub(super) fn class(&self, name: &[u8], library: &[u8]) -> Option<Class> {
        if let Some(class) = self.exact.get(name) {
            return Some(*class);
        }
        let matches_library =
            |p: &Pattern| p.library.is_none_or(|l| matches(l.as_bytes(), library));
        let pattern =
            self.patterns.iter().find(|p| matches_library(p) && matches(p.name.as_bytes(), name));
        pattern.map(|p| p.class)
    }

    /// Returns the class of a function that the table lists by its exact name.
    pub(super) fn exact(&self, name: &[u8]) -> Option<Class> {
        self.exact.get(name).copied()
    }
}

/// Returns the arguments that digits name, a bit for each.
fn bits(digits: &str) -> u8 {
    digits.bytes().fold(0, |bits, digit| bits | 1 << (digit - b'0').min(7))
}

/// Returns every pattern of a table with the class of its group; `None` for a class that there is
/// not.
fn entries(text: &'static str) -> impl Iterator<Item = (Option<Class>, &'static str)> {
    let mut class = None;
    text.lines().filter(|line| !line.starts_with('#')).flat_map(move |line| {
        let group = !line.starts_with(' ') && !line.is_empty();
        if group {
            class = line.split_once(": ").and_then(|(name, _)| Class::parse(name));
        }
        let class = class;
        let words = if group { "" } else { line };
        words.split_whitespace().map(move |word| (class, word))
    })
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Place after the last `*`, and the place in the text that it is tried at.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                p += 1;
                star = Some((p, t));
            }
            Some(&b) if b == text[t] => (p, t) = (p + 1, t + 1),
            _ => match &mut star {
                Some((after, at)) => {
                    *at += 1;
                    (p, t) = (*after, *at);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&b| b == b'*')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::super::archive::Archive;
    use super::super::elf::Elf;
    use super::*;

    /// Patterns for what is not in the libraries of the test: hooks, functions of other compilers
    /// and of other versions of the C library, and symbols that the linker or the compiler makes.
    const ELSEWHERE: &[&str] = &[
        "__tsan_*",
        "__foretell_*",
        "foretell_*",
        "__sanitizer_*",
        "__asan_*",
        "__ubsan_*",
        "__llvm_*",
        "__gcov_*",
        "__gmon_start__",
        "_ITM_*",
        "_ZTW*",
        "_ZTH*",
        "__isoc23_strto*",
        "__kmpc_global_thread_num",
        "GOMP_task",
        "GOMP_taskloop*",
        "GOMP_target*",
        "GOMP_taskgroup*",
    ];

    /// Returns the functions of the libraries here, with the library of each.
    fn functions() -> Vec<(Vec<u8>, &'static str)> {
        let directory = Path::new("/lib/x86_64-linux-gnu");
        let libraries = [
            "libc.so.6",
            "libm.so.6",
            "libmvec.so.1",
            "libstdc++.so.6",
            "libgcc_s.so.1",
            "ld-linux-x86-64.so.2",
            "libgomp.so.1",
            "libatomic.so.1",
        ];
        let mut out = Vec::new();
        for name in libraries {
            let bytes = std::fs::read(directory.join(name)).expect(name);
            let elf = Elf::parse(&bytes).expect(name);
            let defined = elf.symbols.iter().filter(|s| s.defined && s.function);
            out.extend(defined.map(|s| (s.name.to_vec(), name)));
        }
        let path = Path::new("/usr/lib/x86_64-linux-gnu/libc_nonshared.a");
        let bytes = std::fs::read(path).expect("libc_nonshared.a");
        let archive = Archive::parse(path, &bytes).expect("an archive");
        out.extend(archive.index.iter().map(|(name, _)| (name.to_vec(), "libc.so.6")));
        out
    }

    #[test]
    fn table_is_well_formed() {
        let groups = TEXT.lines().filter(|l| !l.starts_with([' ', '#']) && !l.is_empty());
        for line in groups {
            let (class, reason) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            assert!(Class::parse(class).is_some() && reason.len() > 8, "{line}");
        }
        let mut seen = BTreeSet::new();
        for (class, word) in entries(TEXT) {
            assert!(class.is_some(), "{word} is in no group");
            let (name, digits) = word.split_once('/').unwrap_or((word, ""));
            assert!(digits.bytes().all(|digit| (b'0'..b'6').contains(&digit)), "{word}");
            assert!(seen.insert(name), "{word} is listed twice");
        }
    }

    #[test]
    fn every_pattern_matches_a_function() {
        let functions = functions();
        let missing: Vec<&str> = entries(TEXT)
            .map(|(_, word)| word.split_once('/').map_or(word, |(name, _)| name))
            .filter(|word| !word.contains(':') && !ELSEWHERE.contains(word))
            .filter(|word| !functions.iter().any(|(name, _)| matches(word.as_bytes(), name)))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    /// Two patterns of equal length that match one function would be ambiguous.
    #[test]
    fn no_function_is_in_two_groups() {
        let table = Functions::table();
        for (name, library) in functions() {
            let fits = |p: &&Pattern| {
                p.library.is_none_or(|l| matches(l.as_bytes(), library.as_bytes()))
                    && matches(p.name.as_bytes(), &name)
            };
            let found: Vec<&Pattern> = table.patterns.iter().filter(fits).collect();
            let Some(first) = found.first() else { continue };
            let ambiguous =
                found.iter().any(|p| p.name.len() == first.name.len() && p.class != first.class);
            assert!(!ambiguous, "{}: {found:?}", String::from_utf8_lossy(&name));
        }
    }

    #[test]
    fn classes_are_those_of_the_table() {
        let class = |name: &str, library: &str| {
            Functions::table().class(name.as_bytes(), library.as_bytes())
        };
        assert_eq!(class("sin", "libm.so.6"), Some(Class::Exempt));
        assert_eq!(class("sin", "libother.so.6"), None);
        assert_eq!(class("modf", "libm.so.6"), Some(Class::Arguments(0)));
        assert_eq!(class("regexec", "libc.so.6"), Some(Class::Arguments(0b1011)));
        let effects = |name: &str| match class(name, "libc.so.6") {
            Some(Class::Modelled(effects)) => effects.map(|effect| effect.map(Effect::word)),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(effects("strtol"), [Some(0x201), Some(0x8_0012), None, None]);
        assert_eq!(effects("_ZSt11_Hash_bytesPKvmm"), [Some(0x1_0101), None, None, None]);
        assert_eq!(effects("getenv"), [Some(0x0105), None, None, None]);
        assert_eq!(effects("fwrite"), [Some(0x1_0401), Some(0x0137), None, None]);
        assert_eq!(class("lgamma", "libm.so.6"), Some(Class::Library));
        assert_eq!(class("__cxa_throw", "libstdc++.so.6"), Some(Class::Exempt));
        assert_eq!(class("__cxa_atexit", "libc.so.6"), Some(Class::Library));
        assert_eq!(class("_ZNSolsEi", "libstdc++.so.6"), Some(Class::Stream));
        assert_eq!(class("_ZNSo6sentryC1ERSo", "libstdc++.so.6"), Some(Class::Arguments(0b11)));
        assert_eq!(class("_ZNSo5tellpEv", "libstdc++.so.6"), Some(Class::Stream));
        assert_eq!(class("g_mutex_lock", "libglib-2.0.so.0"), None);
    }

    #[test]
    fn patterns_match() {
        let matches = |pattern: &str, text: &str| matches(pattern.as_bytes(), text.as_bytes());
        assert!(matches("a*c", "abbc") && matches("a*", "a") && matches("*b*b*", "abab"));
        assert!(!matches("a*c", "abcd") && !matches("a", "ab") && !matches("ab", "a"));
    }
}
