//! Writing results to a file or to standard output.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use foretell_trace::OutputFile;
use foretell_trace::io::Content;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Destination of a result.
pub(crate) struct Destination(Option<PathBuf>);

impl Destination {
    /// Returns the file as destination, or standard output for `None`.
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Destination(path)
    }

    /// Writes the output of `content` there.
    pub(crate) fn write(
        self,
        terminal: &mut Terminal,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let Some(path) = self.0 else { return Ok(content(terminal)?) };
        let write = || {
            let mut out = BufWriter::new(OutputFile::create(&path)?);
            content(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
        };
        write().map_err(Failure::file(&path))
    }
}

/// Writes a trace in the format that the file's name asks for; `-` is standard output.
pub(crate) fn save<'a>(trace: impl Into<Content<'a>>, path: &Path) -> Result<(), Failure> {
    match foretell_trace::io::save(trace, path) {
        // A closed pipe is no failure, as for everything else that goes to standard output.
        Err(error) if error.source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| Failure::Input(error.to_string())),
    }
}
