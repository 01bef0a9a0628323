//! Headers that are found before those of the C++ library.
//!
//! They define functions in the program's own objects, with hooks, which the library's headers leave
//! to its shared library. Build systems note every header that an object
//! depends on, so the files must stay where they are: they are in the user's cache directory, or,
//! if that cannot be written, beside the runtime.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Path and content of every header.
const FILES: &[(&str, &str)] = &[
    ("bits/basic_string.tcc", include_str!("../headers/bits/basic_string.tcc")),
    ("bits/stl_list.h", include_str!("../headers/bits/stl_list.h")),
    ("bits/stl_tree.h", include_str!("../headers/bits/stl_tree.h")),
];
/// Last part of the directory's path: locations in it are those of system headers.
const DIRECTORY: &str = "foretell/include";

/// Returns the directory with the headers; `None` if there is no place where they could be. The
/// library's functions are then calls of code that is not recorded.
pub(crate) fn directory(runtime: Option<&Path>) -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    let beside = runtime.and_then(Path::parent).map(Path::to_owned);
    let places = cache.into_iter().chain(beside);
    places.map(|place| place.join(DIRECTORY)).find(|place| put(place).is_ok())
}

/// Makes sure that a directory has the headers.
fn put(directory: &Path) -> io::Result<()> {
    for (name, content) in FILES {
        let path = directory.join(name);
        if fs::read(&path).is_ok_and(|found| found == content.as_bytes()) {
            continue;
        }
        let parent = path.parent().unwrap_or(directory);
        fs::create_dir_all(parent)?;
        // Another compiler may read the file at the same time.
        let file = tempfile::NamedTempFile::new_in(parent)?;
        fs::write(file.path(), content)?;
        file.persist(&path).map_err(|error| error.error)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_written_once_and_renewed() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("include");
        put(&directory).unwrap();
        let (name, content) = FILES[0];
        let written = fs::metadata(directory.join(name)).unwrap().modified().unwrap();
        put(&directory).unwrap();
        assert_eq!(fs::metadata(directory.join(name)).unwrap().modified().unwrap(), written);
        fs::write(directory.join(name), "an older version").unwrap();
        put(&directory).unwrap();
        assert_eq!(fs::read_to_string(directory.join(name)).unwrap(), content);
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(put(&file).is_err());
    }
}
