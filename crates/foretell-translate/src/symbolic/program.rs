//! Plain texts of a program's modules, from the sections of its files.

use std::io::Read as _;
use std::rc::Rc;

use object::{Object, ObjectSection};
use rustc_hash::FxHashMap;

use foretell_build::symbolic::ir::{Function, functions};
use foretell_build::symbolic::rewrite::{MAGIC, SECTION};
use foretell_build::symbolic::text;

/// Maximum length of a valid text.
const LONGEST: u64 = 1 << 32;

/// Functions of a program, by the hash of their module and the site of their head.
#[derive(Default, Debug)]
pub(crate) struct Program {
    functions: FxHashMap<(u64, u64), Rc<Function>>,
    /// Whether a file has a text.
    pub(crate) found: bool,
}

impl Program {
    /// Adds the functions of a file.
    pub(crate) fn add_file(&mut self, path: &[u8]) {
        let path = String::from_utf8_lossy(path).into_owned();
        let Ok(bytes) = std::fs::read(path) else { return };
        let Ok(file) = object::File::parse(&*bytes) else { return };
        let Some(section) = file.section_by_name(SECTION) else { return };
        let Ok(data) = section.uncompressed_data() else { return };
        self.add(&data);
    }

    /// Adds the functions of a section.
    fn add(&mut self, section: &[u8]) {
        let finder = memchr::memmem::Finder::new(&MAGIC);
        let mut rest = section;
        while let Some(at) = finder.find(rest) {
            rest = &rest[at + MAGIC.len()..];
            let (Some(hash), Some(len)) = (word(rest, 0), word(rest, 8)) else { return };
            let Some(text) = usize::try_from(len).ok().and_then(|len| rest.get(16..)?.get(..len))
            else {
                return;
            };
            self.add_text(hash, text);
            rest = &rest[16 + text.len()..];
        }
    }

    fn add_text(&mut self, hash: u64, compressed: &[u8]) {
        let mut plain = String::new();
        let Ok(decoder) = zstd::Decoder::new(compressed) else { return };
        if decoder.take(LONGEST).read_to_string(&mut plain).is_err() || text::hash(&plain) != hash {
            return;
        }
        self.found = true;
        for function in functions(&plain) {
            self.functions.insert((hash, function.first as u64), Rc::new(function));
        }
    }

    /// Returns the function of a module whose head is at a site.
    pub(crate) fn function(&self, hash: u64, site: u64) -> Option<Rc<Function>> {
        self.functions.get(&(hash, site)).cloned()
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_build::symbolic::rewrite::rewrite;
    use std::path::Path;

    #[test]
    fn entries_of_the_rewriter_are_read() {
        let one =
            rewrite("define i32 @f() {\n  ret i32 1\n}\n", Path::new("a")).expect("in memory");
        let two =
            rewrite("define i32 @g() {\n  ret i32 2\n}\n", Path::new("b")).expect("in memory");
        let mut program = Program::default();
        program.add(&[&one.entry[..], &[0, 0], &two.entry[..]].concat());
        assert!(program.found);
        let mut names: Vec<String> = program.functions.values().map(|f| f.name.clone()).collect();
        names.sort();
        assert_eq!(names, ["f", "g"]);
        // A damaged entry is ignored.
        let mut damaged = one.entry.clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        let mut program = Program::default();
        program.add(&damaged);
        program.add(&one.entry[..20]);
        assert!(!program.found);
    }
}
