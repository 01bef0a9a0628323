//! The table of functions that are not recorded, by the state that they use.
//!
//! The table is `hidden/functions.txt`. A group begins with a line `CLASS: reason`; the indented
//! lines after it have patterns of linker names, in which `*` stands for any text. A pattern may
//! begin with a library, as in `libm.so.*:*`. An exact name goes before patterns, and of several
//! patterns the longest decides. A function in no group has class [`Class::Library`].

use std::collections::HashMap;
use std::sync::OnceLock;

const TEXT: &str = include_str!("../../hidden/functions.txt");

/// State that a function which is not recorded uses, and the rule for calls that need no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// No state that another function or another thread could see.
    Exempt,
    /// That of the objects which it is given.
    Arguments,
    /// That of its library too.
    Library,
    /// What passes through the kernel too.
    Kernel,
    /// As [`Class::Kernel`]; nothing if it writes to the program's standard output or error.
    Output(Target),
    /// As [`Class::Output`], for the C++ stream that is its first argument; that of the arguments
    /// if the stream is a string.
    Stream,
}

/// Stream that an output function writes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    /// `stdout`.
    Stdout,
    /// `stderr`.
    Stderr,
    /// The `FILE *` that is the argument with this number, from 0.
    File(u8),
    /// The descriptor that is the argument with this number, from 0.
    Descriptor(u8),
}

impl Class {
    /// Word of the descriptor: the state in the lowest byte, the rule for output in the next one.
    pub(super) fn word(self) -> u32 {
        let rule = match self {
            Class::Exempt | Class::Arguments => return 0,
            Class::Library => return 1,
            Class::Kernel => 0,
            Class::Output(Target::Stdout) => 1,
            Class::Output(Target::Stderr) => 2,
            Class::Output(Target::File(n)) => 0x10 + u32::from(n),
            Class::Output(Target::Descriptor(n)) => 0x20 + u32::from(n),
            Class::Stream => 0x30,
        };
        2 | rule << 8
    }

    fn parse(text: &str) -> Option<Class> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Some(match words[..] {
            ["exempt"] => Class::Exempt,
            ["arguments"] => Class::Arguments,
            ["library"] => Class::Library,
            ["kernel"] => Class::Kernel,
            ["output", "stdout"] => Class::Output(Target::Stdout),
            ["output", "stderr"] => Class::Output(Target::Stderr),
            ["output", "file", n] => {
                Class::Output(Target::File(n.parse().ok().filter(|n| *n < 6)?))
            }
            ["output", "descriptor", n] => {
                Class::Output(Target::Descriptor(n.parse().ok().filter(|n| *n < 6)?))
            }
            ["output", "stream"] => Class::Stream,
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
