//! Saving a recorded trace together with its steps.

use std::io::ErrorKind;
use std::path::Path;

use foretell_trace::io::{self, Content, WriteError};
use foretell_trace::{OutputFile, is_stream};
use foretell_translate::{Error as LogError, Steps, Translated};

use crate::Error;

/// Saves a recorded trace to the file `output` and its steps beside it.
///
/// On a full disk the longest prefix that fits (within 1/16) is saved instead: the number of its
/// events is returned then, and `None` when the whole trace was saved.
///
/// # Errors
/// If a file cannot be written, or not even a prefix fits. The files that were there stay then.
pub fn save(translated: &Translated, output: &Path) -> Result<Option<usize>, Error> {
    let failed = match save_trace(&translated.trace, &translated.steps, output) {
        Err(error) if is_full(&error) => error,
        saved => return saved.map(|()| None),
    };
    // Bisection: `fits` events fit, `most` do not.
    let (mut fits, mut most) = (0, translated.trace.len());
    while most - fits > (most / 16).max(1) {
        let events = (fits + most) / 2;
        match write_first(translated, events, output) {
            // The next attempt needs the space: the files are dropped.
            Ok(_) => fits = events,
            Err(error) if is_full(&error) => most = events,
            Err(error) => return Err(error),
        }
    }
    if fits == 0 {
        return Err(failed);
    }
    write_first(translated, fits, output)?.commit()?;
    Ok(Some(fits))
}

/// Saves a trace to the file `output` and, at the same time, its steps beside it. If one of the
/// two cannot be written, the files that were there stay. A pipe or a device gets the trace alone.
///
/// # Errors
/// If a file cannot be written.
pub fn save_trace<'a>(
    trace: impl Into<Content<'a>>,
    steps: &Steps,
    output: &Path,
) -> Result<(), Error> {
    Files::write(trace, steps, output)?.commit()
}

/// A trace and its steps, written but without their names.
struct Files<'a> {
    path: &'a Path,
    trace: OutputFile,
    steps: Option<OutputFile>,
}

impl<'a> Files<'a> {
    fn write<'b>(
        trace: impl Into<Content<'b>>,
        steps: &Steps,
        path: &'a Path,
    ) -> Result<Self, Error> {
        if is_stream(path) {
            return Ok(Files { path, trace: io::write(trace, path)?, steps: None });
        }
        let beside = Steps::path_for(path);
        let (trace, steps) = std::thread::scope(|scope| {
            let steps = scope.spawn(|| steps.write(&beside));
            let trace = io::write(trace, path);
            (trace, steps.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        Ok(Files { path, trace: trace?, steps: Some(steps?) })
    }

    /// Gives both files their names. A kill between the two leaves a trace and steps with different
    /// identifiers, which the next replay reports.
    fn commit(self) -> Result<(), Error> {
        self.trace.commit().map_err(WriteError::of(self.path))?;
        let Some(steps) = self.steps else { return Ok(()) };
        steps.commit().map_err(Error::file(Steps::path_for(self.path)))
    }
}

/// Writes the first `events` events.
fn write_first<'a>(
    translated: &Translated,
    events: usize,
    output: &'a Path,
) -> Result<Files<'a>, Error> {
    let (trace, steps) = translated.first(events);
    Files::write(&trace, &steps, output)
}

/// Whether a file was not written for want of space.
fn is_full(error: &Error) -> bool {
    let kind = match error {
        Error::Save(error) => error.source.kind(),
        Error::Log(LogError::File { source, .. }) | Error::File { source, .. } => source.kind(),
        _ => return false,
    };
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trace_without_steps_is_not_left() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("run.ft");
        // A directory in the way: the steps cannot be written.
        std::fs::create_dir(Steps::path_for(&output)).unwrap();
        let trace = foretell_trace::text::parse(b"T1|w(x)\n").unwrap().trace;
        assert!(save_trace(&trace, &Steps::default(), &output).is_err());
        assert!(!output.exists());
    }
}
