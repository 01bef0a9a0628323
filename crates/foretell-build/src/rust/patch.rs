//! Edits of the standard library: exact texts that are replaced, and files that are added.
//!
//! `rust/edits.txt` has the table and describes its form. A library in which a text does not occur
//! exactly once is refused: no edit is ever guessed.

use std::fs;
use std::path::Path;

use crate::Error;

/// The table of edits.
const TABLE: &str = include_str!("../../rust/edits.txt");

/// Files that the table adds, by their names.
const FILES: [(&str, &str); 4] = [
    ("mutex.rs", include_str!("../../rust/mutex.rs")),
    ("condvar.rs", include_str!("../../rust/condvar.rs")),
    ("rwlock.rs", include_str!("../../rust/rwlock.rs")),
    ("one_test.rs", include_str!("../../rust/one_test.rs")),
];

/// An edit of one file.
#[derive(PartialEq, Eq, Debug)]
enum Edit {
    /// A new file.
    Add { path: String, content: &'static str },
    /// A text that occurs once, and the text in its place.
    Replace { path: String, old: String, new: String },
}

/// The edits of the standard library.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Patch {
    /// Releases of Rust that it fits, for messages.
    versions: String,
    edits: Vec<Edit>,
}

impl Patch {
    /// Returns the patch of the table.
    pub(super) fn table() -> Patch {
        Patch::parse(TABLE).unwrap_or_else(|line| panic!("edits.txt: wrong line: {line}"))
    }

    /// Returns everything that the patch depends on, for a hash.
    pub(super) fn texts() -> impl Iterator<Item = &'static str> {
        [TABLE].into_iter().chain(FILES.iter().map(|(_, content)| *content))
    }

    /// Reads a table. The error is the line that is wrong.
    fn parse(table: &str) -> Result<Patch, String> {
        let mut patch = Patch { versions: String::new(), edits: Vec::new() };
        let mut path = String::new();
        let mut lines = table.lines();
        while let Some(line) = lines.next() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                ["versions", ..] => patch.versions = words[1..].join(" "),
                ["file", name] => path = name.to_owned(),
                ["add", name, source] => {
                    let found = FILES.iter().find(|(file, _)| *file == source);
                    let (_, content) = found.ok_or_else(|| line.to_owned())?;
                    patch.edits.push(Edit::Add { path: name.to_owned(), content });
                }
                ["replace"] => {
                    let mut text = |end: &str| -> Result<String, String> {
                        let mut text = String::new();
                        for line in lines.by_ref() {
                            if line == end {
                                return Ok(text);
                            }
                            text += line;
                            text.push('\n');
                        }
                        Err(format!("no `{end}`"))
                    };
                    let (old, new) = (text("with")?, text("end")?);
                    patch.edits.push(Edit::Replace { path: path.clone(), old, new });
                }
                _ => return Err(line.to_owned()),
            }
        }
        Ok(patch)
    }

    /// Edits the sources of the standard library in `library`. `release` is their version.
    ///
    /// # Errors
    /// If the patch does not fit.
    pub(super) fn apply(&self, library: &Path, release: &str) -> Result<(), Error> {
        let misfit = |path: &str| {
            Error::Other(format!(
                "the standard library of Rust {release} cannot be recorded ({path} is not as \
                 expected); Rust {} can: `cargo +VERSION foretell`",
                self.versions
            ))
        };
        for edit in &self.edits {
            match edit {
                Edit::Add { path, content } => {
                    let to = library.join(path);
                    if to.exists() || !to.parent().is_some_and(Path::is_dir) {
                        return Err(misfit(path));
                    }
                    fs::write(&to, content).map_err(Error::file(&to))?;
                }
                Edit::Replace { path, old, new } => {
                    let file = library.join(path);
                    let text = fs::read_to_string(&file).map_err(|_| misfit(path))?;
                    if text.matches(old.as_str()).count() != 1 {
                        return Err(misfit(path));
                    }
                    fs::write(&file, text.replace(old.as_str(), new))
                        .map_err(Error::file(&file))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_well_formed() {
        let patch = Patch::table();
        assert!(!patch.versions.is_empty());
        let added = patch.edits.iter().filter(|edit| matches!(edit, Edit::Add { .. })).count();
        assert_eq!(added, FILES.len());
    }

    #[test]
    fn text_is_replaced_only_where_it_occurs_once() {
        let place = tempfile::tempdir().expect("a directory");
        let patch = Patch::parse("versions 1.2\nfile a.rs\nreplace\n  x\nwith\n  y\nz\nend\n")
            .expect("a table");
        let refused = |content: &str| {
            fs::write(place.path().join("a.rs"), content).expect("it can be written");
            patch.apply(place.path(), "1.3.0").err().map(|error| error.to_string())
        };
        assert_eq!(refused("a\n  x\nb\n"), None);
        let edited = fs::read_to_string(place.path().join("a.rs")).expect("it can be read");
        assert_eq!(edited, "a\n  y\nz\nb\n");
        for content in ["a\n", "  x\n  x\n"] {
            let message = refused(content).expect("it does not fit");
            assert!(message.contains("Rust 1.3.0") && message.contains("Rust 1.2"), "{message}");
        }
    }

    #[test]
    fn wrong_tables_are_refused() {
        assert!(Patch::parse("replace\nx\n").is_err());
        assert!(Patch::parse("add a b\n").is_err());
        assert!(Patch::parse("move a\n").is_err());
    }
}
