//! Writing results to a file or to standard output.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Where a result goes.
pub(crate) struct Destination(Option<PathBuf>);

impl Destination {
    /// The file, or standard output where none is given.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Destination(path)
    }

    /// Writes there what `content` writes.
    pub(crate) fn write(
        self,
        terminal: &mut Terminal,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(path) = self.0 else { return Ok(content(terminal)?) };
        let write = || {
            let mut out = BufWriter::new(File::create(&path)?);
            content(&mut out)?;
            out.flush()
        };
        write().map_err(Failure::file(&path))
    }
}
