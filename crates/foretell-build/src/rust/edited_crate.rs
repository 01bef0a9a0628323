//! Crates whose locks are made of atomics, compiled from an edited copy of their sources.
//!
//! Each operation on such a lock comes through the runtime (`rust/crates`), so that the lock has
//! identity: deadlocks are predicted, and its scopes are atomic blocks. Where the edits do not fit a
//! version of the crate, it is compiled as it is.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};

use rustc_hash::FxHasher;

use super::patch::Patch;

/// Directories of a package that hold no sources.
const NO_SOURCES: [&str; 3] = ["target", ".git", "vendor"];

/// An edited copy of a package.
#[derive(Debug)]
pub(super) struct EditedCrate {
    /// The package, and its copy.
    package: PathBuf,
    copy: PathBuf,
    /// The compiler's arguments, for the copy.
    pub(super) arguments: Vec<OsString>,
    /// File of the compiler that lists the sources.
    dependencies: Option<PathBuf>,
}

impl EditedCrate {
    /// Returns the copy of the package that these arguments of the compiler are for, below
    /// `directory`. `None`: the package is compiled as it is.
    pub(super) fn of(arguments: &[OsString], directory: &Path) -> Option<EditedCrate> {
        let variable = |name: &str| std::env::var(name).ok();
        let name = super::wrapper::value_of(arguments, "--crate-name")?;
        // The variables are those of the package; a test of it has another crate name.
        let (package_name, version) = (variable("CARGO_PKG_NAME")?, variable("CARGO_PKG_VERSION")?);
        if name.to_str() != Some(package_name.as_str()) {
            return None;
        }
        let patch = Patch::of_crate(&package_name, &version)?;
        let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
        EditedCrate::make(arguments, directory, &package, &package_name, &patch)
    }

    fn make(
        arguments: &[OsString],
        directory: &Path,
        package: &Path,
        name: &str,
        patch: &Patch,
    ) -> Option<EditedCrate> {
        let root = arguments.iter().position(|word| {
            word.as_encoded_bytes().ends_with(b".rs") && !word.as_encoded_bytes().starts_with(b"-")
        })?;
        let is_extra = |word: &&OsString| word.to_string_lossy().contains("extra-filename=");
        let extra = arguments.iter().find(is_extra).map(|word| word.to_string_lossy());
        let extra = extra.as_deref().and_then(|word| word.split_once('=')).map_or("", |(_, e)| e);
        let path = std::path::absolute(&arguments[root]).ok()?;
        let inside = path.strip_prefix(package).ok()?.to_owned();
        let copy = directory.join(format!("{name}{extra}"));
        let fits = copy_sources(package, &copy).is_ok() && patch.apply_to_crate(&copy);
        if !fits {
            let _ = fs::remove_dir_all(&copy);
            return None;
        }
        let mut arguments = arguments.to_vec();
        arguments[root] = copy.join(inside).into_os_string();
        let mut remap = OsString::from("--remap-path-prefix=");
        remap.push(&copy);
        remap.push("=");
        remap.push(package);
        let out = super::wrapper::value_of(&arguments, "--out-dir");
        let dependencies = out.map(|out| PathBuf::from(out).join(format!("{name}{extra}.d")));
        arguments.push(remap);
        let (package, dependencies) =
            (package.to_owned(), dependencies.filter(|_| !extra.is_empty()));
        Some(EditedCrate { package, copy, arguments, dependencies })
    }

    /// Names the sources of the package in the place of those of the copy, for cargo.
    pub(super) fn compiled(&self) {
        let name = |path: &Path| path.to_string_lossy().into_owned();
        if let Some(file) = &self.dependencies
            && let Ok(text) = fs::read_to_string(file)
        {
            let own = name(&self.package);
            let lines = text.replace(&name(&self.copy), &own);
            // Sources that the package does not have.
            let is_added = |line: &&str| !line.contains("/foretell.rs:");
            let lines: Vec<&str> = lines.lines().filter(is_added).collect();
            let text = lines.join("\n").replace(&format!(" {own}/src/foretell.rs"), "");
            let text = text.replace(&format!(" {own}/src/foretell_hooks.rs"), "");
            let _ = fs::write(file, text + "\n");
        }
    }
}

/// Returns a number that differs for other edits.
pub(super) fn version() -> u64 {
    let mut hash = FxHasher::default();
    Patch::texts_of_crates().for_each(|text| hash.write(text.as_bytes()));
    hash.finish()
}

/// Copies the sources of a package, in the place of an earlier copy.
fn copy_sources(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    copy(from, to)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, path) = (entry.file_name(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !NO_SOURCES.iter().any(|no| name == OsStr::new(no)) {
                copy(&entry.path(), &path)?;
            }
        } else if kind.is_file() {
            // Not with its permissions: sources in a registry may not be writable.
            fs::write(&path, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_is_compiled_from_its_edited_copy() {
        let place = tempfile::tempdir().expect("a directory");
        let package = place.path().join("spin");
        fs::create_dir_all(package.join("src/mutex")).expect("a directory");
        fs::write(package.join("src/lib.rs"), "pub mod mutex;\n").expect("a file");
        let source = "use crate::{\n    atomic::{AtomicBool, Ordering},\n};\n";
        fs::write(package.join("src/mutex/spin.rs"), source).expect("a file");
        let root = package.join("src/lib.rs");
        let words = ["rustc", "--crate-name", "spin", root.to_str().expect("text"), "-C"];
        let out = place.path().to_str().expect("text");
        let rest = ["extra-filename=-1", "--out-dir", out];
        let words: Vec<OsString> = words.iter().chain(&rest).map(OsString::from).collect();
        let patch = Patch::of_crate("spin", "0.9.8").expect("a patch");
        let make = || EditedCrate::make(&words, &place.path().join("e"), &package, "spin", &patch);
        let edited = make().expect("it fits");
        assert_eq!(edited.arguments[3], edited.copy.join("src/lib.rs").as_os_str());
        let text = fs::read_to_string(edited.copy.join("src/mutex/spin.rs")).expect("a file");
        assert!(text.contains("LockWord as AtomicBool"), "{text}");
        let list = place.path().join("spin-1.d");
        let (copy, own) = (edited.copy.display(), package.display());
        let listed = format!("x: {copy}/src/lib.rs {copy}/src/foretell.rs\n\n{copy}/src/lib.rs:\n");
        fs::write(&list, listed).expect("a file");
        edited.compiled();
        let text = fs::read_to_string(&list).expect("a file");
        assert_eq!(text, format!("x: {own}/src/lib.rs\n\n{own}/src/lib.rs:\n"));
        // Another version, in which an edit does not fit.
        fs::write(package.join("src/mutex/spin.rs"), "").expect("a file");
        assert!(make().is_none());
    }
}
