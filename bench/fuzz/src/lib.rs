//! Fuzzing of everything that Foretell reads, on stable Rust.
//!
//! A [`Target`] is one reader and what follows it. Its inputs are mutations of the files in
//! `corpus/TARGET`; input `n` of a seed is the same on every machine. The corpus also holds every
//! input that ever failed (`failed-*`), and each of its files is run as it is.
//!
//! ```console
//! $ cargo run --profile fuzz -p foretell-fuzz -- text --inputs 100000
//! $ cargo run --profile fuzz -p foretell-fuzz -- text --show 4711 > input
//! ```
//!
//! The profile has overflow checks and debug assertions on. A panic, an abort, a stack overflow, an
//! allocation beyond the limit and an input that takes too long are failures; the input is written
//! to the directory `failures`. The tests of this crate run each target for a fixed number of
//! inputs.

mod binary;
mod mutation;
mod target;

use std::path::{Path, PathBuf};

pub use mutation::Mutator;
pub use target::{Context, Target};

/// Returns the directory of a target's corpus.
pub fn corpus_directory(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Returns the files of a target's corpus with their names, in the order of the names. A file
/// whose name ends in `.packed` is decompressed (Zstandard).
///
/// # Panics
/// If there are none.
pub fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let directory = corpus_directory(target);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{directory:?}: {e}"));
    let mut files: Vec<(String, Vec<u8>)> = entries
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let bytes = std::fs::read(entry.path()).unwrap_or_else(|e| panic!("{name}: {e}"));
            match name.strip_suffix(".packed") {
                Some(name) => {
                    let bytes = zstd::decode_all(&bytes[..]);
                    (name.to_owned(), bytes.unwrap_or_else(|e| panic!("{name}: {e}")))
                }
                None => (name, bytes),
            }
        })
        .collect();
    assert!(!files.is_empty(), "{directory:?} has no files");
    files.sort();
    files
}
