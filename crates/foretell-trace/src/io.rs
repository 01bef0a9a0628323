//! Opening and saving traces, whatever the format.
//!
//! The format of a file follows from its first bytes when it is read (gzip, Zstandard, `.ft`, and
//! text otherwise), and from its name when it is written: `.ft` is binary, `.gz` and `.zst` after
//! any other name are compressed, everything else is text. `-` is standard input or output.
//!
//! Loading checks that the trace is a legal execution, so everything downstream may rely on it.
//! Files are mapped where the whole of them is needed at once (text, compressed files); `.ft`
//! files are streamed. A mapped file must not be shortened while it is read.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::compress::{self, CompressError};
use crate::{OutputFile, Trace, binary, legality, text};

/// Options of reading.
#[derive(Clone, Copy, Default, Debug)]
pub struct ReadOptions {
    /// Drop what does not parse or makes the trace illegal, and note what was dropped, instead of
    /// giving up.
    pub lenient: bool,
    /// Limits of the size of a decompressed file.
    pub limits: compress::Limits,
}

/// A legal trace, with notes on how it was read.
#[derive(Debug)]
pub struct Loaded {
    /// The trace.
    pub trace: Trace,
    /// Notes on lines that were translated, dropped or missing, one line each.
    pub notes: Vec<String>,
}

/// Reason why a trace was not read: one line that starts with the file and the position in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened or read.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The file is compressed and does not decompress.
    #[error("{file}: {source}")]
    Compressed {
        /// The file.
        file: String,
        /// Description of the error.
        source: CompressError,
    },
    /// A line does not parse, or its event is illegal.
    #[error("{file}:{line}: {message}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Description of the error.
        message: String,
    },
    /// A binary file is damaged.
    #[error("{file}: {source}")]
    Binary {
        /// The file.
        file: String,
        /// Description and offset of the error.
        source: binary::Error,
    },
    /// An event of a binary file is illegal.
    #[error("{file}: event {event}: {message}")]
    Event {
        /// The file.
        file: String,
        /// The event, from 0.
        event: u32,
        /// Description of the error.
        message: String,
    },
}

/// Reason why a trace was not saved.
#[derive(Debug, thiserror::Error)]
#[error("{file}: cannot save the trace: {source}")]
pub struct WriteError {
    /// The file.
    pub file: String,
    /// Error of the system.
    pub source: io::Error,
}

impl WriteError {
    /// Returns a converter for `map_err` on operations on the file `path`.
    pub fn of(path: &Path) -> impl FnOnce(io::Error) -> WriteError {
        let file = shown(path, "<stdout>");
        |source| WriteError { file, source }
    }
}

/// Reads a trace of any format and checks that it is legal. `-` is standard input.
///
/// # Errors
/// If the file cannot be read, does not parse, or is not a legal execution; the first of these in
/// the file is the one reported.
pub fn load(path: &Path, options: &ReadOptions) -> Result<Loaded, ReadError> {
    let source = Source { file: shown(path, "<stdin>"), options };
    if is_dash(path) {
        return source.stream(io::stdin().lock());
    }
    let file = File::open(path).map_err(|e| source.io(e))?;
    let metadata = file.metadata().map_err(|e| source.io(e))?;
    if metadata.is_dir() {
        return Err(source.io(io::Error::new(io::ErrorKind::IsADirectory, "is a directory")));
    }
    if !metadata.is_file() || metadata.len() == 0 {
        return source.stream(file);
    }
    let mut start = [0; MAGIC_LENGTH];
    let got = fill(&mut &file, &mut start).map_err(|e| source.io(e))?;
    if binary::is_binary(&start[..got]) {
        let input = start.chain(file);
        return source.binary(BufReader::with_capacity(1 << 18, input));
    }
    // SAFETY: the map is only read, and lives shorter than the file is open. That no process
    // shortens the file meanwhile is asked of the user, as every program that maps files does.
    let map = unsafe { memmap2::Mmap::map(&file) };
    match map {
        Ok(map) => source.bytes(&map),
        // Not every file system maps.
        Err(_) => source.stream(start[..got].chain(file)),
    }
}

/// Reads a trace of any format from memory; `file` is its name in messages.
///
/// # Errors
/// As for [`load`].
pub fn read_bytes(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Loaded, ReadError> {
    Source { file: one_line(file), options }.bytes(bytes)
}

/// Opens a file that has to be a regular one: opening a pipe or a device could wait, or take bytes
/// from another reader.
///
/// # Errors
/// If the file cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a directory"));
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// Bytes that tell a binary file.
const MAGIC_LENGTH: usize = 8;

/// Longest line of a text that is not in a regular file. The longest that Foretell writes, with an
/// expression, are shorter.
const LONGEST_LINE: usize = 64 << 20;

/// Most bytes of text that are read before they are looked at.
const PIECE: usize = 1 << 16;

/// A file that is being read.
struct Source<'a> {
    file: String,
    options: &'a ReadOptions,
}

impl Source<'_> {
    fn io(&self, source: io::Error) -> ReadError {
        ReadError::Io { file: self.file.clone(), source }
    }

    /// Reads from something that cannot be mapped.
    fn stream(&self, input: impl Read) -> Result<Loaded, ReadError> {
        let mut input = foretell_limit::CheckedReader(input);
        let mut start = [0; MAGIC_LENGTH];
        let got = fill(&mut input, &mut start).map_err(|e| self.io(e))?;
        if binary::is_binary(&start[..got]) {
            return self.binary(BufReader::with_capacity(1 << 18, start.chain(input)));
        }
        let mut bytes = start[..got].to_vec();
        if compress::detect(&bytes) == compress::Compression::None {
            self.lines(&mut input, &mut bytes)?;
        } else {
            input.read_to_end(&mut bytes).map_err(|e| self.io(e))?;
        }
        self.bytes(&bytes)
    }

    /// Reads text to its end, or to the first byte that no text has: the input may be endless.
    fn lines(&self, input: &mut impl Read, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
        // Number of bytes before the line that is being read.
        let mut before = 0;
        let mut looked_at = 0;
        let mut piece = vec![0; PIECE];
        loop {
            let new = &bytes[looked_at..];
            if !self.options.lenient && memchr::memchr(0, new).is_some() {
                return Ok(());
            }
            before = memchr::memrchr(b'\n', new).map_or(before, |end| looked_at + end + 1);
            looked_at = bytes.len();
            if bytes.len() - before > LONGEST_LINE {
                let line = memchr::memchr_iter(b'\n', &bytes[..before]).count() + 1;
                let message = format!("the line has more than {LONGEST_LINE} bytes");
                return Err(ReadError::Line { file: self.file.clone(), line, message });
            }
            match input.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(got) => bytes.extend_from_slice(&piece[..got]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.io(error)),
            }
        }
    }

    fn bytes(&self, bytes: &[u8]) -> Result<Loaded, ReadError> {
        let bytes = compress::decompress(bytes, self.options.limits)
            .map_err(|source| ReadError::Compressed { file: self.file.clone(), source })?;
        if binary::is_binary(&bytes) { self.binary(&bytes[..]) } else { self.text(bytes) }
    }

    fn binary(&self, input: impl Read) -> Result<Loaded, ReadError> {
        let decoded = binary::read(input).map_err(|source| match source {
            binary::Error::Io(source) => self.io(source),
            source => ReadError::Binary { file: self.file.clone(), source },
        })?;
        self.legal(decoded.trace, decoded.notes, |event| {
            let file = self.file.clone();
            ReadError::Event { file, event: event.event.0, message: one_line(&event.message) }
        })
    }

    fn text(&self, bytes: Cow<'_, [u8]>) -> Result<Loaded, ReadError> {
        let at = |line, message: &str| ReadError::Line {
            file: self.file.clone(),
            line,
            message: one_line(message),
        };
        let parsed = if self.options.lenient {
            text::parse_lenient(&bytes)
        } else {
            text::parse(&bytes).map_err(|error| {
                match legality::check(&error.before.trace) {
                    // The first error is the one reported.
                    Err(illegal) => at(error.before.lines.line(illegal.event), &illegal.message),
                    Ok(()) => at(error.line, &error.message),
                }
            })?
        };
        drop(bytes);
        let text::Parsed { trace, lines, notes } = parsed;
        self.legal(trace, notes, |illegal| at(lines.line(illegal.event), &illegal.message))
    }

    /// Checks a trace, or repairs it if that is wanted and needed.
    fn legal(
        &self,
        trace: Trace,
        mut notes: Vec<String>,
        error: impl FnOnce(legality::Illegal) -> ReadError,
    ) -> Result<Loaded, ReadError> {
        match legality::check(&trace) {
            Ok(()) => Ok(Loaded { trace, notes }),
            Err(illegal) if !self.options.lenient => Err(error(illegal)),
            Err(_) => {
                let (trace, repairs) = legality::repair(&trace);
                notes.extend(repairs.iter().map(|repair| one_line(&repair.to_string())));
                Ok(Loaded { trace, notes })
            }
        }
    }
}

/// Fills `buffer` as far as the input goes.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A path as messages show it.
fn shown(path: &Path, dash: &str) -> String {
    if is_dash(path) { dash.to_owned() } else { one_line(&path.to_string_lossy()) }
}

/// Names may hold line ends; messages are one line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Way of writing a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Format {
    binary: bool,
    compression: compress::Compression,
}

impl Format {
    /// The format for a file name.
    fn of(path: &Path) -> Format {
        let is = |path: &Path, wanted: &str| {
            path.extension().is_some_and(|e| e.eq_ignore_ascii_case(OsStr::new(wanted)))
        };
        let (compression, inner) = if is(path, "gz") {
            (compress::Compression::Gzip, path.with_extension(""))
        } else if is(path, "zst") {
            (compress::Compression::Zstd, path.with_extension(""))
        } else {
            (compress::Compression::None, path.to_owned())
        };
        Format { binary: is(&inner, "ft"), compression }
    }

    fn write(self, trace: Content<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self.compression {
            compress::Compression::None => {
                let mut out = BufWriter::with_capacity(1 << 16, out);
                self.write_plain(trace, &mut out)?;
                out.flush()
            }
            compress::Compression::Gzip => {
                let encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                let mut out = BufWriter::with_capacity(1 << 16, encoder);
                self.write_plain(trace, &mut out)?;
                out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?.flush()
            }
            compress::Compression::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(out, 0)?;
                encoder.include_checksum(true)?;
                let mut out = BufWriter::with_capacity(1 << 16, encoder);
                self.write_plain(trace, &mut out)?;
                out.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?.flush()
            }
        }
    }

    fn write_plain(self, trace: Content<'_>, out: &mut dyn Write) -> io::Result<()> {
        match (trace, self.binary) {
            (Content::Trace(trace), true) => binary::write(trace, out),
            (Content::Trace(trace), false) => text::write(trace, out),
            (Content::Packed(packed), true) => packed.write(out),
            (Content::Packed(packed), false) => text::write(&packed.unpack(), out),
        }
    }
}

/// A trace to be saved.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// As it is.
    Trace(&'a Trace),
    /// Packed.
    Packed(&'a binary::Packed),
}

impl<'a> From<&'a Trace> for Content<'a> {
    fn from(trace: &'a Trace) -> Self {
        Content::Trace(trace)
    }
}

impl<'a> From<&'a binary::Packed> for Content<'a> {
    fn from(packed: &'a binary::Packed) -> Self {
        Content::Packed(packed)
    }
}

/// Saves a trace in the format that the file's name asks for. `-` is standard output, as text.
///
/// The file appears under its name when all of it is written; until then what was there stays.
///
/// # Errors
/// If writing fails.
pub fn save<'a>(trace: impl Into<Content<'a>>, path: &Path) -> Result<(), WriteError> {
    if is_dash(path) {
        let written = Format::of(path).write(trace.into(), &mut io::stdout().lock());
        return written.map_err(WriteError::of(path));
    }
    write(trace, path)?.commit().map_err(WriteError::of(path))
}

/// Writes a trace as [`save`] does; the file gets its name when the caller commits it.
///
/// # Errors
/// If writing fails.
pub fn write<'a>(trace: impl Into<Content<'a>>, path: &Path) -> Result<OutputFile, WriteError> {
    let written = || -> io::Result<OutputFile> {
        let mut file = OutputFile::create(path)?;
        Format::of(path).write(trace.into(), &mut file)?;
        Ok(file)
    };
    written().map_err(WriteError::of(path))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::{EventKind, TraceBuilder, Value};

    /// A directory that goes away with the test.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let name = format!("foretell-io-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Directory(path)
        }

        fn files(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<_> =
                entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn sample() -> Trace {
        let mut b = TraceBuilder::new();
        let (t, x, lock) = (b.thread("T1"), b.variable("x"), b.lock("l"));
        let value = Some(b.values().intern(Value::Int(5)));
        let site = Some(b.site("bank.c:41", None));
        b.push(t, EventKind::Acquire { lock }, site);
        b.push(t, EventKind::Write { var: x, atomic: false, value, expr: None }, site);
        b.push(t, EventKind::Release { lock }, None);
        b.build()
    }

    fn says(bytes: &[u8]) -> String {
        read_bytes(bytes, "a.std", &ReadOptions::default()).unwrap_err().to_string()
    }

    #[test]
    fn every_format_comes_back_by_its_name() {
        let directory = Directory::new("formats");
        let trace = sample();
        let names = ["a.ft", "a.std", "a.ft.gz", "a.FT.ZST", "a.std.gz", "a.zst", "noname"];
        for name in names {
            let path = directory.0.join(name);
            save(&trace, &path).unwrap();
            let loaded = load(&path, &ReadOptions::default()).unwrap();
            assert_eq!(loaded.trace.events().len(), 3, "{name}");
            assert!(loaded.trace.events().eq(trace.events()), "{name}");
            assert!(loaded.notes.is_empty(), "{name}: {:?}", loaded.notes);
        }
        let starts = |name: &str, magic: &[u8]| {
            std::fs::read(directory.0.join(name)).unwrap().starts_with(magic)
        };
        assert!(starts("a.ft", b"\x89FTR") && starts("a.std", b"T1|acq(l)|bank.c:41\n"));
        assert!(starts("a.ft.gz", &[0x1f, 0x8b]) && starts("a.FT.ZST", &[0x28, 0xb5, 0x2f, 0xfd]));
        assert_eq!(directory.files().len(), names.len(), "no temporary file is left");
    }

    #[test]
    fn a_save_that_fails_leaves_what_was_there() {
        let directory = Directory::new("failing");
        let path = directory.0.join("a.ft");
        save(&sample(), &path).unwrap();
        let before = std::fs::read(&path).unwrap();
        let mut broken = TraceBuilder::new();
        let t = broken.thread("T");
        broken.push(t, EventKind::Acquire { lock: crate::LockId(9) }, None);
        let error = save(&broken.build(), &path).unwrap_err();
        assert!(error.to_string().contains("a.ft: cannot save the trace: event 0"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(directory.files(), ["a.ft"]);
    }

    #[test]
    fn a_missing_or_impossible_file_is_named() {
        let directory = Directory::new("missing");
        let path = directory.0.join("nothing.ft");
        let error = load(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("nothing.ft: ") && !error.contains('\n'), "{error}");
        let error = load(&directory.0, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.ends_with(": is a directory"), "{error}");
        assert!(save(&sample(), &directory.0.join("no/such/a.ft")).is_err());
    }

    #[test]
    fn an_empty_file_is_an_empty_trace() {
        let directory = Directory::new("empty");
        let path = directory.0.join("empty.std");
        std::fs::write(&path, "").unwrap();
        assert!(load(&path, &ReadOptions::default()).unwrap().trace.is_empty());
    }

    #[test]
    fn text_errors_name_the_line_of_what_is_wrong_first() {
        assert!(says(b"T1|w(x)|1\n\nT1|nonsense(x)|2\n").starts_with("a.std:3: "));
        assert!(says(b"# first\nT1|rel(l)|1\nT1|nonsense(x)|2\n").starts_with("a.std:2: "));
        assert!(says(b"# first\nT1|w(x)|1\nT1|rel(l)|1\n").starts_with("a.std:3: "));
        assert!(says(&[0xff, 0xfe, 0, 1]).starts_with("a.std:1: "));
    }

    #[test]
    fn binary_errors_name_the_event_or_the_byte() {
        let mut b = TraceBuilder::new();
        let (t, lock) = (b.thread("T1\nT2"), b.lock("l"));
        b.push(t, EventKind::Acquire { lock }, None);
        b.push(t, EventKind::Release { lock }, None);
        b.push(t, EventKind::Release { lock }, None);
        let trace = b.build();
        let mut bytes = Vec::new();
        binary::write(&trace, &mut bytes).unwrap();
        let message = says(&bytes);
        assert!(message.starts_with("a.std: event 2: ") && !message.contains('\n'), "{message}");
        bytes[60] ^= 1;
        assert!(says(&bytes).starts_with("a.std: byte "));
    }

    #[test]
    fn lenient_reading_repairs_and_says_so() {
        let lenient = ReadOptions { lenient: true, ..ReadOptions::default() };
        let text = b"T1|w(x)|1\nT1|rel(l)|2\nT1|nonsense(x)|3\nT1|r(x)|4\n";
        let loaded = read_bytes(text, "a.std", &lenient).unwrap();
        assert_eq!(loaded.trace.len(), 2);
        assert_eq!(loaded.notes.len(), 2, "{:?}", loaded.notes);
        let legal = read_bytes(b"T1|w(x)|1\n", "a.std", &lenient).unwrap();
        assert!(legal.notes.is_empty());
    }

    #[test]
    fn a_recording_that_was_cut_off_is_read_with_a_note() {
        let mut bytes = Vec::new();
        binary::write(&sample(), &mut bytes).unwrap();
        bytes.truncate(bytes.len() - 3);
        let loaded = read_bytes(&bytes, "a.ft", &ReadOptions::default()).unwrap();
        assert_eq!(loaded.trace.len(), 3);
        assert!(loaded.notes[0].starts_with("the file is cut off: read 3 events"));
    }
}
