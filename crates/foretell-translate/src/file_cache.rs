//! Contents of the files of a program, kept for its next run.
//!
//! An exploration translates the logs of hundreds of runs of one program. Debug information and
//! symbols are the same in all of them as long as the files do not change.

use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;

use rustc_hash::FxHashMap;

/// Most files that are kept.
const MOST_FILES: usize = 64;

/// State of a file: its path, size and time of change.
type Stamp = (String, u64, Option<SystemTime>);

/// Values that were computed from files.
pub(crate) struct FileCache<T>(FxHashMap<Stamp, Rc<T>>);

impl<T> Default for FileCache<T> {
    fn default() -> Self {
        FileCache(FxHashMap::default())
    }
}

impl<T> FileCache<T> {
    /// Returns the value for a file, computed if the file is new or has changed.
    pub(crate) fn get(&mut self, path: &str, read: impl FnOnce() -> T) -> Rc<T> {
        let Ok(metadata) = std::fs::metadata(Path::new(path)) else { return Rc::new(read()) };
        let stamp = (path.to_owned(), metadata.len(), metadata.modified().ok());
        if let Some(known) = self.0.get(&stamp) {
            return Rc::clone(known);
        }
        if self.0.len() >= MOST_FILES {
            self.0.clear();
        }
        let value = Rc::new(read());
        self.0.insert(stamp, Rc::clone(&value));
        value
    }
}
