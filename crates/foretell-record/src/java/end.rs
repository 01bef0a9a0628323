//! How a Java run ended, as its log says.

use super::log::{Log, Record};
use crate::Error;
use std::path::Path;

/// An exception that nothing in the program caught.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Uncaught {
    pub(crate) class: String,
    message: String,
    /// `Class.method` and `File.java:line`, innermost first.
    frames: Vec<(String, String)>,
}

impl Uncaught {
    /// In words: `java.lang.ArithmeticException: / by zero in A.f at A.java:3, called at …`.
    pub(crate) fn text(&self) -> String {
        let mut text = self.class.clone();
        if !self.message.is_empty() {
            text += &format!(": {}", self.message.lines().next().unwrap_or_default());
        }
        self.with_frames(text)
    }

    /// The same for a failed `assert`.
    pub(crate) fn assertion(&self) -> Option<String> {
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

/// What a log says about the end of the run.
#[derive(Default, Debug)]
pub(crate) struct End {
    pub(crate) departure: Option<String>,
    pub(crate) deadlock: Option<Vec<u32>>,
    pub(crate) uncaught: Vec<Uncaught>,
    /// There was no room for more.
    pub(crate) stopped: bool,
}

impl End {
    pub(crate) fn of(log: &Log<'_>) -> End {
        let mut end = End::default();
        for entry in log.entries() {
            match entry.record {
                Record::Departure { message } => end.departure = Some(message.to_owned()),
                Record::Deadlock { threads } => end.deadlock = Some(threads),
                Record::Stopped => end.stopped = true,
                Record::Uncaught { class, message, frames, .. } => {
                    let frames =
                        frames.iter().map(|(m, p)| ((*m).to_owned(), (*p).to_owned())).collect();
                    let (class, message) = (class.to_owned(), message.to_owned());
                    end.uncaught.push(Uncaught { class, message, frames });
                }
                _ => {}
            }
        }
        end
    }

    /// The end of the run with this log.
    pub(crate) fn load(path: &Path) -> Result<End, Error> {
        let bytes = std::fs::read(path).map_err(Error::file(path))?;
        let log =
            Log::parse(&bytes).map_err(|source| Error::Log { path: path.to_path_buf(), source })?;
        Ok(End::of(&log))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_in_words() {
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
            "java.lang.ArithmeticException: / by zero in A.f at A.java:3, called at A.java:9 in A.main"
        );
        assert_eq!(e.assertion(), None);
    }
}
