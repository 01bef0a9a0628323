//! Edits of sources: exact texts that are replaced, and files that are added.
//!
//! `rust/edits.txt` has the table of the standard library and describes its form; that of crates with
//! locks of their own is `rust/crates/edits.txt`. Sources in which a text does not occur exactly once
//! are refused: no edit is ever guessed.

use std::fs;
use std::path::Path;

use crate::Error;

/// The table of edits.
const TABLE: &str = include_str!("../../rust/edits.txt");

/// The table of edits of crates.
const CRATES: &str = include_str!("../../rust/crates/edits.txt");

/// Files that the tables add, by their names.
const FILES: [(&str, &str); 7] = [
    ("hooks.rs", include_str!("../../rust/crates/hooks.rs")),
    ("lock_api.rs", include_str!("../../rust/crates/lock_api.rs")),
    ("spin.rs", include_str!("../../rust/crates/spin.rs")),
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
    /// A text at the end of a file.
    Append { path: String, text: String },
    /// A receiver whose operations on raw locks get other names.
    Rename { path: String, receiver: String },
}

/// Methods of raw locks that the file `lock_api.rs` has with the name [`RENAMED`] before theirs.
const OPERATIONS: [&str; 41] = [
    "lock",
    "try_lock",
    "unlock",
    "is_locked",
    "unlock_fair",
    "bump",
    "try_lock_for",
    "try_lock_until",
    "lock_shared",
    "try_lock_shared",
    "unlock_shared",
    "lock_exclusive",
    "try_lock_exclusive",
    "unlock_exclusive",
    "is_locked_exclusive",
    "unlock_shared_fair",
    "unlock_exclusive_fair",
    "bump_shared",
    "bump_exclusive",
    "downgrade",
    "try_lock_shared_for",
    "try_lock_shared_until",
    "try_lock_exclusive_for",
    "try_lock_exclusive_until",
    "lock_shared_recursive",
    "try_lock_shared_recursive",
    "try_lock_shared_recursive_for",
    "try_lock_shared_recursive_until",
    "lock_upgradable",
    "try_lock_upgradable",
    "unlock_upgradable",
    "upgrade",
    "try_upgrade",
    "unlock_upgradable_fair",
    "bump_upgradable",
    "downgrade_upgradable",
    "downgrade_to_upgradable",
    "try_lock_upgradable_for",
    "try_lock_upgradable_until",
    "try_upgrade_for",
    "try_upgrade_until",
];
/// Beginning of the names of operations that come through the runtime.
const RENAMED: &str = "foretell_";

/// Renames the calls of operations on raw locks. `None`: one is not known.
fn rename(text: &str, receiver: &str) -> Option<String> {
    let receiver = format!("{receiver}.");
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&receiver) {
        let (before, after) = rest.split_at(at + receiver.len());
        out += before;
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = after.find(|c| !is_word(c)).unwrap_or(after.len());
        let is_call = after[end..].starts_with('(');
        let in_comment = before.rsplit('\n').next().is_some_and(|line| line.contains("//"));
        if is_call && !in_comment {
            OPERATIONS.contains(&&after[..end]).then_some(())?;
            out += RENAMED;
        }
        rest = after;
    }
    Some(out + rest)
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

    /// Returns the patch of a crate, if this version of it has one.
    pub(super) fn of_crate(name: &str, version: &str) -> Option<Patch> {
        let (_, rest) = CRATES.split_once(&format!("\ncrate {name} "))?;
        let (fits, rest) = rest.split_once('\n')?;
        let fits = version.strip_prefix(fits)?.starts_with('.');
        let table = rest.split("\ncrate ").next()?;
        fits.then(|| {
            Patch::parse(table).unwrap_or_else(|line| panic!("edits.txt: wrong line: {line}"))
        })
    }

    /// Returns everything that the patch of the standard library depends on, for a hash.
    pub(super) fn texts() -> impl Iterator<Item = &'static str> {
        [TABLE].into_iter().chain(FILES[3..].iter().map(|(_, content)| *content))
    }

    /// Returns everything that the patches of crates depend on, for a hash.
    pub(super) fn texts_of_crates() -> impl Iterator<Item = &'static str> {
        [CRATES].into_iter().chain(FILES[..3].iter().map(|(_, content)| *content))
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
                ["rename", receiver] => {
                    let receiver = receiver.to_owned();
                    patch.edits.push(Edit::Rename { path: path.clone(), receiver });
                }
                ["append"] => {
                    let text = lines_until(&mut lines, "end")?;
                    patch.edits.push(Edit::Append { path: path.clone(), text });
                }
                ["replace"] => {
                    let old = lines_until(&mut lines, "with")?;
                    let new = lines_until(&mut lines, "end")?;
                    patch.edits.push(Edit::Replace { path: path.clone(), old, new });
                }
                _ => return Err(line.to_owned()),
            }
        }
        Ok(patch)
    }

    /// Edits the sources of a crate in `package`. Returns whether the patch fits; if not, the
    /// sources may be edited in part.
    pub(super) fn apply_to_crate(&self, package: &Path) -> bool {
        self.apply(package, "").is_ok()
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
                Edit::Append { path, text } => {
                    let file = library.join(path);
                    let mut all = fs::read_to_string(&file).map_err(|_| misfit(path))?;
                    all.push('\n');
                    all += text;
                    fs::write(&file, all).map_err(Error::file(&file))?;
                }
                Edit::Rename { path, receiver } => {
                    let file = library.join(path);
                    let text = fs::read_to_string(&file).map_err(|_| misfit(path))?;
                    let text = rename(&text, receiver).ok_or_else(|| misfit(path))?;
                    fs::write(&file, text).map_err(Error::file(&file))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the lines up to the line `end`, without it.
fn lines_until<'a>(lines: &mut impl Iterator<Item = &'a str>, end: &str) -> Result<String, String> {
    let mut text = String::new();
    for line in lines {
        if line == end {
            return Ok(text);
        }
        text += line;
        text.push('\n');
    }
    Err(format!("no `{end}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_well_formed() {
        let patch = Patch::table();
        assert!(!patch.versions.is_empty());
        let added = patch.edits.iter().filter(|edit| matches!(edit, Edit::Add { .. })).count();
        assert_eq!(added, FILES.len() - 3);
    }

    #[test]
    fn crates_have_patches_by_version() {
        for (name, version) in
            [("lock_api", "0.4.14"), ("parking_lot", "0.12.5"), ("spin", "0.9.9")]
        {
            let patch = Patch::of_crate(name, version).expect("a patch");
            assert!(patch.edits.len() > 2, "{name}");
        }
        for (name, version) in [("lock_api", "0.40.1"), ("lock_api", "0.5.0"), ("lock", "0.4.0")] {
            assert_eq!(Patch::of_crate(name, version), None, "{name}");
        }
    }

    #[test]
    fn operations_on_raw_locks_are_renamed() {
        let renamed = rename("self.raw.lock(); a.raw.bump()\n// b.raw.other()\nself.raw\n", ".raw");
        let expected =
            "self.raw.foretell_lock(); a.raw.foretell_bump()\n// b.raw.other()\nself.raw\n";
        assert_eq!(renamed.as_deref(), Some(expected));
        assert_eq!(rename("self.raw.steal()", ".raw"), None);
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
