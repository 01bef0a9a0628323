//! Headers for the programs that are compiled.
//!
//! Some are found before those of the C++ library. They define functions in the program's own
//! objects, with hooks, which the library's headers leave to its shared library, or make waits of
//! functions that the runtime knows. `foretell.h` has the
//! markers of atomic blocks. Build systems note every header that an object depends on, so the files
//! stay where they are, in the user's cache.

use std::path::PathBuf;

use crate::cache;

/// Headers that replace those of the C++ library.
const OF_THE_LIBRARY: &[(&str, &str)] = &[
    ("include/barrier", include_str!("../headers/barrier")),
    ("include/latch", include_str!("../headers/latch")),
    ("include/semaphore", include_str!("../headers/semaphore")),
    ("include/bits/basic_string.tcc", include_str!("../headers/bits/basic_string.tcc")),
    ("include/bits/stl_list.h", include_str!("../headers/bits/stl_list.h")),
    ("include/bits/stl_tree.h", include_str!("../headers/bits/stl_tree.h")),
];

/// Returns the directory with the headers of the library, `foretell/include` (locations in it are those of system
/// headers); `None` if there is no place where they could be. The library's functions are then calls
/// of code that is not recorded.
pub(crate) fn library_directory() -> Option<PathBuf> {
    let mut header = PathBuf::new();
    for (name, content) in OF_THE_LIBRARY {
        header = cache::unpacked(name, content.as_bytes()).ok()?;
    }
    header.ancestors().nth(2).map(PathBuf::from)
}

/// Returns the directory with `foretell.h`, if there is a place where it could be.
pub(crate) fn marker_directory() -> Option<PathBuf> {
    let header = include_str!("../../../include/foretell.h");
    let path = cache::unpacked("markers/foretell.h", header.as_bytes()).ok()?;
    path.parent().map(PathBuf::from)
}
