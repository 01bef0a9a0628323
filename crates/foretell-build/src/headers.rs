//! Headers that are found before those of the C++ library.
//!
//! They define functions in the program's own objects, with hooks, which the library's headers leave
//! to its shared library. Build systems note every header that an object depends on, so the files
//! stay where they are, in the user's cache.

use std::path::PathBuf;

use crate::cache;

/// Path and content of every header.
const FILES: &[(&str, &str)] = &[
    ("include/bits/basic_string.tcc", include_str!("../headers/bits/basic_string.tcc")),
    ("include/bits/stl_list.h", include_str!("../headers/bits/stl_list.h")),
    ("include/bits/stl_tree.h", include_str!("../headers/bits/stl_tree.h")),
];

/// Returns the directory with the headers, `foretell/include` (locations in it are those of system
/// headers); `None` if there is no place where they could be. The library's functions are then calls
/// of code that is not recorded.
pub(crate) fn directory() -> Option<PathBuf> {
    let mut header = PathBuf::new();
    for (name, content) in FILES {
        header = cache::unpacked(name, content.as_bytes()).ok()?;
    }
    header.ancestors().nth(2).map(PathBuf::from)
}
