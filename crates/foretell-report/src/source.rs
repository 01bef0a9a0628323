//! Source files, found by the names in locations.
//!
//! Traces name files as the debug information does, often by the last part of the path alone. A
//! file is searched for under each root as it is named, then anywhere below the roots: there it
//! counts only if exactly one file ends in that path, since a line of the wrong file is worse than
//! none. `target` and `node_modules` are not searched, and the number of entries is bounded. A file
//! that has changed since the program was built is not detected.
//!
//! A trace may come from elsewhere, and a report may go elsewhere: what a location names is shown
//! only if it is a regular file that lies below a root after all links are resolved, and is not
//! hidden there (`.env`, `.git/config`).

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use foretell_trace::io::open_regular;

use crate::location::Location;

/// Files larger than this are not shown.
const LARGEST: u64 = 4 << 20;
/// Most directory entries that are searched.
const ENTRIES: usize = 20_000;
/// Depth of the search.
const DEEPEST: usize = 12;

/// A source file.
#[derive(Debug)]
pub(crate) struct Source {
    /// Path of the file.
    pub(crate) path: PathBuf,
    lines: Vec<String>,
}

impl Source {
    /// Returns a line, from 1.
    pub(crate) fn line(&self, number: u32) -> Option<&str> {
        self.lines.get((number as usize).checked_sub(1)?).map(String::as_str)
    }

    /// Returns all lines.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// Directories of source files, and the files found so far.
#[derive(Debug)]
pub struct Sources {
    roots: Vec<Root>,
    found: RefCell<HashMap<String, Option<Rc<Source>>>>,
    /// Every file below the roots, by the last part of its path.
    index: OnceCell<HashMap<String, Vec<PathBuf>>>,
}

/// A directory of source files.
#[derive(Debug)]
struct Root {
    /// The directory as it was named.
    path: PathBuf,
    /// The directory with all links resolved.
    real: PathBuf,
}

impl Sources {
    /// Returns the source files under these directories. A directory that does not exist has none.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        let roots = roots
            .into_iter()
            .filter_map(|path| fs::canonicalize(&path).ok().map(|real| Root { path, real }))
            .collect();
        Sources { roots, found: RefCell::default(), index: OnceCell::new() }
    }

    /// Returns an empty collection of source files.
    pub fn none() -> Self {
        Sources::new(Vec::new())
    }

    /// Returns the file that a location names, with the line.
    pub(crate) fn at(&self, location: &str) -> Option<(Rc<Source>, u32)> {
        let location = Location::parse(location)?;
        Some((self.find(location.file)?, location.line))
    }

    /// Returns the file of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Rc<Source>> {
        if let Some(known) = self.found.borrow().get(name) {
            return known.clone();
        }
        let source = self.search(Path::new(name)).and_then(|path| read(&path)).map(Rc::new);
        self.found.borrow_mut().insert(name.to_owned(), source.clone());
        source
    }

    fn search(&self, name: &Path) -> Option<PathBuf> {
        if name.is_absolute() {
            return self.allows(name).then(|| name.to_path_buf());
        }
        let mut named = self.roots.iter().map(|root| root.path.join(name));
        let direct = named.find(|path| self.allows(path));
        direct.or_else(|| self.below(name)).map(|path| match path.strip_prefix(".") {
            Ok(path) => path.to_path_buf(),
            Err(_) => path,
        })
    }

    /// Whether a path leads to a file below a root, and to no hidden one.
    fn allows(&self, path: &Path) -> bool {
        let Ok(real) = fs::canonicalize(path) else { return false };
        let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        let below = |root: &Root| {
            real.strip_prefix(&root.real).is_ok_and(|rest| !rest.components().any(is_hidden))
        };
        self.roots.iter().any(below) && fs::metadata(&real).is_ok_and(|m| m.is_file())
    }

    /// The only file below the roots whose path ends in `name`.
    fn below(&self, name: &Path) -> Option<PathBuf> {
        let last = name.file_name()?.to_str()?;
        let named = self.index.get_or_init(|| index(&self.roots)).get(last)?;
        let mut fitting = named.iter().filter(|path| path.ends_with(name) && self.allows(path));
        let first = fitting.next()?;
        fitting.next().is_none().then(|| first.clone())
    }
}

fn read(path: &Path) -> Option<Source> {
    let file = open_regular(path).ok()?;
    if file.metadata().ok()?.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(Source { path: path.to_path_buf(), lines: text.lines().map(str::to_owned).collect() })
}

fn index(roots: &[Root]) -> HashMap<String, Vec<PathBuf>> {
    let mut files: HashMap<String, Vec<PathBuf>> = HashMap::new();
    let mut seen = HashSet::new();
    let mut left = ENTRIES;
    let mut open: Vec<(PathBuf, usize)> = roots.iter().rev().map(|r| (r.path.clone(), 0)).collect();
    while let Some((directory, depth)) = open.pop() {
        let real = fs::canonicalize(&directory).unwrap_or_else(|_| directory.clone());
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        if depth > DEEPEST || !seen.insert(real) {
            continue;
        }
        for entry in entries.flatten() {
            let Some(less) = left.checked_sub(1) else { return files };
            left = less;
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                let skipped = name.starts_with('.') || name == "target" || name == "node_modules";
                if !skipped {
                    open.push((entry.path(), depth + 1));
                }
            } else if kind.is_file() {
                files.entry(name).or_default().push(entry.path());
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_the_end_of_their_path() {
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("project");
        let add = |name: &str, text: &str| {
            let path = dir.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        add("src/deep/bank.c", "one\ntwo\n");
        add("a/util.c", "a");
        add("b/util.c", "b");
        add(".git/hidden.c", "h");
        add("target/built.c", "t");
        add("../x.c", "secret");
        std::os::unix::fs::symlink("../x.c", dir.join("link.c")).unwrap();
        std::os::unix::fs::symlink("..", dir.join("up")).unwrap();
        std::os::unix::fs::symlink("a/util.c", dir.join("inside.c")).unwrap();
        let sources = Sources::new(vec![dir.clone()]);
        let line =
            |location: &str| sources.at(location).and_then(|(s, n)| s.line(n).map(str::to_owned));
        assert_eq!(line("bank.c:2").as_deref(), Some("two"));
        assert_eq!(line("deep/bank.c:1").as_deref(), Some("one"));
        assert_eq!(line("src/deep/bank.c:1").as_deref(), Some("one"));
        assert_eq!(line("b/util.c:1").as_deref(), Some("b"));
        assert_eq!(line("bank.c:3"), None);
        assert!(sources.at("util.c:1").is_none(), "there are two");
        let absolute = |path: PathBuf| format!("{}:1", path.display());
        assert_eq!(line(&absolute(dir.join("a/util.c"))).as_deref(), Some("a"));
        assert_eq!(line("inside.c:1").as_deref(), Some("a"));
        for location in ["bank.c", "other.c:1", "hidden.c:1", "built.c:1", "../x.c:1"] {
            assert!(sources.at(location).is_none(), "{location}");
        }
        let outside = absolute(outer.path().join("x.c"));
        for location in
            [&outside, "link.c:1", "up/x.c:1", "a/../../x.c:1", ".git/hidden.c:1", "/etc/passwd:1"]
        {
            assert!(sources.at(location).is_none(), "{location}");
        }
        assert!(Sources::none().at("bank.c:2").is_none());
    }
}
