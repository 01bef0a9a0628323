//! Saving a recorded trace together with its steps.

use std::io;
use std::path::Path;

use foretell_trace::io::Content;
use foretell_translate::{Error as LogError, Steps, Translated};

use crate::Error;

/// Saves a recorded trace to the file `output` and its steps beside it.
///
/// On a full disk the longest prefix that fits (within 1/16) is saved instead: the number of its
/// events is returned then, and `None` when the whole trace was saved.
///
/// # Errors
/// If a file cannot be written, or not even a prefix fits.
pub fn save(translated: &Translated, output: &Path) -> Result<Option<usize>, Error> {
    let failed = match save_trace(&translated.trace, &translated.steps, output) {
        Err(error) if is_full(&error) => error,
        saved => return saved.map(|()| None),
    };
    // Bisection: `fits` events fit, `most` do not.
    let (mut fits, mut most) = (0, translated.trace.len());
    while most - fits > (most / 16).max(1) {
        let events = (fits + most) / 2;
        match save_first(translated, events, output) {
            Ok(()) => {
                fits = events;
                // The next attempt needs the space.
                let _ = std::fs::remove_file(output);
                let _ = std::fs::remove_file(Steps::path_for(output));
            }
            Err(error) if is_full(&error) => most = events,
            Err(error) => return Err(error),
        }
    }
    if fits == 0 {
        return Err(failed);
    }
    save_first(translated, fits, output)?;
    Ok(Some(fits))
}

/// Saves a trace to the file `output` and, at the same time, its steps beside it. If one of the
/// two fails, neither is left there; an older trace stays if the new one could not be written.
///
/// # Errors
/// If a file cannot be written.
pub fn save_trace<'a>(
    trace: impl Into<Content<'a>>,
    steps: &Steps,
    output: &Path,
) -> Result<(), Error> {
    let beside = Steps::path_for(output);
    let (trace, steps) = std::thread::scope(|scope| {
        let steps = scope.spawn(|| steps.save(&beside));
        let trace = foretell_trace::io::save(trace, output);
        (trace, steps.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    if trace.is_ok() && steps.is_err() {
        // On a full disk the trace would take the space that the next attempt needs.
        let _ = std::fs::remove_file(output);
    }
    let saved = trace.map_err(Error::from).and(steps.map_err(Error::from));
    if saved.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    saved
}

/// Saves the first `events` events.
fn save_first(translated: &Translated, events: usize, output: &Path) -> Result<(), Error> {
    let (trace, steps) = translated.first(events);
    save_trace(&trace, &steps, output)
}

/// Whether a file was not written for want of space.
fn is_full(error: &Error) -> bool {
    let kind = match error {
        Error::Save(error) => error.source.kind(),
        Error::Log(LogError::File { source, .. }) => source.kind(),
        _ => return false,
    };
    matches!(
        kind,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
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
