//! End of a Java run, according to its log.

use super::log::Log;
use super::record::Record;
use crate::Error;
use std::path::Path;

/// An exception that nothing in the program caught.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uncaught {
    class: String,
    message: String,
    /// `Class.method` and `File.java:line`, innermost first.
    frames: Vec<(String, String)>,
}

impl Uncaught {
    pub(super) fn new(class: &str, message: &str, frames: &[(&str, &str)]) -> Uncaught {
        let frames = frames.iter().map(|(m, p)| ((*m).to_owned(), (*p).to_owned())).collect();
        Uncaught { class: class.to_owned(), message: message.to_owned(), frames }
    }

    /// Returns the exception in words:
    /// `java.lang.ArithmeticException: / by zero in A.f at A.java:3, called at …`.
    pub fn text(&self) -> String {
        let mut text = self.class.clone();
        if !self.message.is_empty() {
            text += &format!(": {}", self.message.lines().next().unwrap_or_default());
        }
        self.with_frames(text)
    }

    /// Returns the message in words, if a failed `assert` threw the exception.
    pub fn assertion(&self) -> Option<String> {
        (self.class == "java.lang.AssertionError").then(|| {
            let message = self.message.lines().next().unwrap_or_default();
            let shown = if message.is_empty() { "AssertionError" } else { message };
            self.with_frames(shown.to_owned())
        })
    }

    fn with_frames(&self, mut text: String) -> String {
        for (i, (method, place)) in self.frames.iter().enumerate() {
            let method = match method.rmatch_indices('.').nth(1) {
                Some((at, _)) => &method[at + 1..],
                None => method,
            };
            text += &match (i, place.as_str()) {
                (_, "") => format!(" in {method}"),
                (0, place) => format!(" in {method} at {place}"),
                (_, place) => format!(", called at {place} in {method}"),
            };
        }
        text
    }
}

/// End of a run.
#[derive(Default, Debug)]
pub struct RunEnd {
    /// Reason for which a replay left its schedule.
    pub departure: Option<String>,
    /// Threads that were in a deadlock.
    pub deadlock: Option<Vec<u32>>,
    /// Exceptions that ended threads.
    pub uncaught: Vec<Uncaught>,
    /// Whether the log ends because no space was left.
    pub log_full: bool,
}

impl RunEnd {
    pub(crate) fn of(log: &Log<'_>) -> RunEnd {
        let mut end = RunEnd::default();
        for entry in log.entries() {
            match entry.record {
                Record::Departure { message } => end.departure = Some(message.to_owned()),
                Record::Deadlock { threads } => end.deadlock = Some(threads),
                Record::Stopped => end.log_full = true,
                Record::Uncaught { class, message, frames, .. } => {
                    end.uncaught.push(Uncaught::new(class, message, &frames));
                }
                _ => {}
            }
        }
        end
    }

    /// Reads the end of a run from the file of its log.
    ///
    /// # Errors
    /// When the file is not a valid log.
    pub fn load(path: &Path) -> Result<RunEnd, Error> {
        let bytes = std::fs::read(path).map_err(Error::file(path))?;
        let log =
            Log::parse(&bytes).map_err(|source| Error::Log { path: path.to_path_buf(), source })?;
        Ok(RunEnd::of(&log))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exception_is_described_with_its_call_stack() {
        let e = Uncaught {
            class: "java.lang.ArithmeticException".to_owned(),
            message: "/ by zero".to_owned(),
            frames: vec![
                ("p.A.f".to_owned(), "A.java:3".to_owned()),
                ("p.A.main".to_owned(), "A.java:9".to_owned()),
            ],
        };
        assert_eq!(
            e.text(),
            "java.lang.ArithmeticException: / by zero in A.f at A.java:3, \
             called at A.java:9 in A.main"
        );
        assert_eq!(e.assertion(), None);
    }
}
