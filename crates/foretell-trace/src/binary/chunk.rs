//! The frame of a `.ft` file: the file header and chunks, each with a checked header and a checked
//! payload, on any [`Read`] and [`Write`], without seeking.

use std::io::{self, Read, Write};

use super::Error;

/// The first bytes of every `.ft` file. As in PNG, they show a transfer that changed line ends or
/// dropped the eighth bit.
pub(super) const MAGIC: [u8; 8] = *b"\x89FTR\r\n\x1a\n";
/// The version that this module writes, and the only one it reads.
pub(super) const VERSION: u16 = 1;
/// Features a reader must know; none are defined yet.
const KNOWN_FEATURES: u32 = 0;
const FILE_HEADER: usize = 24;
/// Longest file header a later version may have.
const MAX_FILE_HEADER: usize = 4096;
/// Bytes of a chunk header: type, length, checksum of the payload, checksum of the header.
pub(super) const CHUNK_HEADER: usize = 16;

/// The four letters that say what a chunk holds. An upper-case first letter: a reader that does
/// not know the type must give up; lower-case: it may skip the chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkType(pub(super) [u8; 4]);

impl ChunkType {
    pub(super) const NAMES: Self = Self(*b"NAME");
    pub(super) const SITES: Self = Self(*b"SITE");
    pub(super) const REGISTERS: Self = Self(*b"REGI");
    pub(super) const VALUES: Self = Self(*b"VALU");
    pub(super) const EXPRESSIONS: Self = Self(*b"EXPR");
    pub(super) const DECLARATIONS: Self = Self(*b"DECL");
    pub(super) const META: Self = Self(*b"META");
    pub(super) const EVENTS: Self = Self(*b"EVNT");
    pub(super) const DONE: Self = Self(*b"DONE");

    pub(super) fn may_be_skipped(self) -> bool {
        self.0[0].is_ascii_lowercase()
    }
}

impl std::fmt::Display for ChunkType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

pub(super) fn write_file_header(out: &mut dyn Write) -> io::Result<()> {
    let mut header = Vec::with_capacity(FILE_HEADER);
    header.extend_from_slice(&MAGIC);
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&(FILE_HEADER as u16).to_le_bytes());
    header.extend_from_slice(&KNOWN_FEATURES.to_le_bytes());
    header.extend_from_slice(&0u32.to_le_bytes());
    header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
    out.write_all(&header)
}

pub(super) fn write_chunk(out: &mut dyn Write, kind: ChunkType, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a chunk of more than 4 GiB"))?;
    let mut header = [0; CHUNK_HEADER];
    header[..4].copy_from_slice(&kind.0);
    header[4..8].copy_from_slice(&length.to_le_bytes());
    header[8..12].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    let check = crc32fast::hash(&header[..12]);
    header[12..].copy_from_slice(&check.to_le_bytes());
    out.write_all(&header)?;
    out.write_all(payload)
}

/// Result of [`Chunks::next`].
pub(super) enum Found {
    /// A whole chunk; its payload is in [`Chunks::payload`].
    Chunk(ChunkType),
    /// The end of the input, in the place where a chunk would start.
    End,
    /// The input was cut off: what is there of the last chunk is of no use.
    Cut,
}

/// The chunks of a file, one after the other.
pub(super) struct Chunks<R> {
    input: R,
    /// Bytes taken from the input.
    offset: u64,
    /// Where the chunk at hand starts, its number, and its type for messages.
    pub(super) start: u64,
    pub(super) number: u64,
    pub(super) payload: Vec<u8>,
}

impl<R: Read> Chunks<R> {
    /// Reads and checks the file header.
    pub(super) fn open(mut input: R) -> Result<Self, Error> {
        let mut header = vec![0; FILE_HEADER];
        let got = read_up_to(&mut input, &mut header)?;
        if got < MAGIC.len() || header[..8] != MAGIC {
            return Err(Error::NotBinary);
        }
        if got < FILE_HEADER {
            return Err(Error::Header { offset: got as u64, what: "cut off".to_owned() });
        }
        let u16_at = |h: &[u8], i: usize| u16::from_le_bytes([h[i], h[i + 1]]);
        let version = u16_at(&header, 8);
        let length = usize::from(u16_at(&header, 10));
        if version != VERSION {
            let what = format!("version {version}; this program reads version {VERSION}");
            return Err(Error::Header { offset: 8, what });
        }
        if !(FILE_HEADER..=MAX_FILE_HEADER).contains(&length) {
            let what = format!("a length of {length} bytes is impossible");
            return Err(Error::Header { offset: 10, what });
        }
        header.resize(length, 0);
        let got = FILE_HEADER + read_up_to(&mut input, &mut header[FILE_HEADER..])?;
        if got < length {
            return Err(Error::Header { offset: got as u64, what: "cut off".to_owned() });
        }
        let (checked, check) = header.split_at(length - 4);
        if crc32fast::hash(checked).to_le_bytes() != check {
            let what = "the checksum is wrong: the file is damaged".to_owned();
            return Err(Error::Header { offset: 0, what });
        }
        let features = u32_at(&header, 12);
        if features & !KNOWN_FEATURES != 0 {
            let what = format!("features {features:#x}, which this program does not know");
            return Err(Error::Header { offset: 12, what });
        }
        Ok(Chunks { input, offset: length as u64, start: 0, number: 0, payload: Vec::new() })
    }

    /// Goes on to the next chunk.
    pub(super) fn next(&mut self) -> Result<Found, Error> {
        self.start = self.offset;
        self.number += 1;
        let mut header = [0; CHUNK_HEADER];
        let got = read_up_to(&mut self.input, &mut header)?;
        self.offset += got as u64;
        if got == 0 {
            return Ok(Found::End);
        }
        if got < CHUNK_HEADER {
            return Ok(Found::Cut);
        }
        let kind = ChunkType([header[0], header[1], header[2], header[3]]);
        if crc32fast::hash(&header[..12]) != u32_at(&header, 12) {
            // A crash may leave zeros where blocks were allocated and never written.
            if header[CHUNK_HEADER - 1] == 0 && self.rest_is_zero()? {
                return Ok(Found::Cut);
            }
            return Err(self.damaged(kind, "the checksum of its header is wrong"));
        }
        let length = u32_at(&header, 4);
        self.payload.clear();
        let got = (&mut self.input).take(u64::from(length)).read_to_end(&mut self.payload)?;
        self.offset += got as u64;
        if got < length as usize {
            return Ok(Found::Cut);
        }
        if crc32fast::hash(&self.payload) != u32_at(&header, 8) {
            // The last chunk of a recording that crashed may be half written. The mark at the end
            // of a whole file is either there or not.
            let may_be_half = kind != ChunkType::DONE || self.payload.last() == Some(&0);
            if may_be_half && self.rest_is_zero()? {
                return Ok(Found::Cut);
            }
            return Err(self.damaged(kind, "the checksum of its content is wrong"));
        }
        Ok(Found::Chunk(kind))
    }

    /// The error for the chunk at hand.
    pub(super) fn damaged(&self, kind: ChunkType, what: &str) -> Error {
        Error::Damaged {
            offset: self.start,
            chunk: self.number,
            kind: kind.to_string(),
            what: what.to_owned(),
        }
    }

    /// Whether nothing but zeros is left of the input; takes what it looks at.
    pub(super) fn rest_is_zero(&mut self) -> Result<bool, Error> {
        let mut buffer = [0; 4096];
        loop {
            let got = read_up_to(&mut self.input, &mut buffer)?;
            if buffer[..got].iter().any(|&b| b != 0) {
                return Ok(false);
            }
            if got < buffer.len() {
                return Ok(true);
            }
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Fills `buffer` as far as the input goes.
fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
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
