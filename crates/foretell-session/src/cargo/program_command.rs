//! The command of a program that cargo runs, as its runner sees it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use super::user_environment;
use crate::Error;

/// A program with its arguments and environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProgramCommand {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl ProgramCommand {
    /// Name of foretell's command that notes the program: `FILE PROGRAM ARGS`.
    pub const NOTE: &'static str = "__note-program";

    /// Notes a program that cargo would run, and the environment of this process, in a file. The
    /// first word is the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn note(words: &[OsString]) -> Result<(), Error> {
        let [file, program, arguments @ ..] = words else {
            return Err(Error::Unsupported("no program to note".to_owned()));
        };
        let program = std::path::absolute(program).map_err(Error::file(program))?;
        let command = [program.into_os_string()].into_iter().chain(arguments.iter().cloned());
        let noted = ProgramCommand { command: command.collect(), environment: user_environment() };
        std::fs::write(file, noted.to_bytes()).map_err(Error::file(file))
    }

    /// Reads a note.
    pub(super) fn read(path: &Path) -> Result<ProgramCommand, Error> {
        let bytes = std::fs::read(path).map_err(Error::file(path))?;
        ProgramCommand::from_bytes(&bytes)
            .ok_or_else(|| Error::Unsupported(format!("{}: not a note", path.display())))
    }

    /// Returns the text of a note: number of words, words and variables, each ended by a zero.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = self.command.len().to_string().into_bytes();
        out.push(0);
        for word in &self.command {
            out.extend(word.as_bytes());
            out.push(0);
        }
        for (name, value) in &self.environment {
            out.extend(name.as_bytes());
            out.push(b'=');
            out.extend(value.as_bytes());
            out.push(0);
        }
        out
    }

    fn from_bytes(bytes: &[u8]) -> Option<ProgramCommand> {
        let mut parts = bytes.strip_suffix(&[0])?.split(|&b| b == 0);
        let count: usize = std::str::from_utf8(parts.next()?).ok()?.parse().ok()?;
        let command: Vec<OsString> =
            parts.by_ref().take(count).map(|word| OsString::from_vec(word.to_vec())).collect();
        if command.len() != count {
            return None;
        }
        let environment = parts.filter_map(|entry| {
            let at = entry.iter().position(|&b| b == b'=')?;
            let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
            Some((text(&entry[..at]), text(&entry[at + 1..])))
        });
        Some(ProgramCommand { command, environment: environment.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_is_read_as_it_was_written() {
        let noted = ProgramCommand {
            command: vec!["/a b".into(), "".into(), "x=y".into()],
            environment: vec![("A".into(), "1=2".into()), ("B".into(), "".into())],
        };
        assert_eq!(ProgramCommand::from_bytes(&noted.to_bytes()), Some(noted));
        assert_eq!(ProgramCommand::from_bytes(b"3\0a\0"), None);
        assert_eq!(ProgramCommand::from_bytes(b""), None);
    }
}
