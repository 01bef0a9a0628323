//! Files that are compressed as a whole: gzip and Zstandard, recognised by their first bytes.
//!
//! A small file can decompress to more than any machine holds. The output is therefore limited
//! twice: absolutely, and as a multiple of the input once it is no longer small. The output grows
//! in steps, so that a file that is refused costs no more memory than its limit.

use std::borrow::Cow;
use std::io::{self, Read};

use thiserror::Error;

/// Compression of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Compression {
    /// Not at all.
    None,
    /// gzip, one member or several in a row.
    Gzip,
    /// Zstandard, one frame or several in a row.
    Zstd,
}

/// Limits of the size of a decompressed file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Never more bytes than this.
    pub absolute: u64,
    /// Not more bytes than this many times the compressed ones …
    pub ratio: u64,
    /// … except where that is less than this.
    pub floor: u64,
}

impl Default for Limits {
    /// 64 GiB, and beyond 256 MiB not more than 500 times the compressed size. Traces of real
    /// programs compress 10 to 60 times; tight loops written a hundred thousand times over stay
    /// below the floor.
    fn default() -> Self {
        Limits { absolute: 64 << 30, ratio: 500, floor: 256 << 20 }
    }
}

impl Limits {
    /// Returns the limit of a number of bytes, whatever the compressed size.
    pub fn of_bytes(bytes: u64) -> Limits {
        Limits { absolute: bytes, ratio: u64::MAX, floor: bytes }
    }

    /// Largest size that a file of `compressed` bytes may decompress to.
    fn of(self, compressed: usize) -> u64 {
        (compressed as u64).saturating_mul(self.ratio).max(self.floor).min(self.absolute)
    }
}

/// Why a compressed file was not read.
#[derive(Debug, Error)]
pub enum CompressError {
    /// More came out than the limits allow.
    #[error(
        "the {format} data unfolds to more than {limit} bytes ({compressed} compressed); \
         if it is what it claims to be, --max-decompressed raises the limit"
    )]
    TooLarge {
        /// `gzip` or `zstd`.
        format: &'static str,
        /// The limit.
        limit: u64,
        /// The size of the compressed data.
        compressed: usize,
    },
    /// The data is not what its first bytes say.
    #[error("the {format} data is damaged or cut off: {source}")]
    Damaged {
        /// `gzip` or `zstd`.
        format: &'static str,
        /// Error of the decompressor.
        source: io::Error,
    },
}

/// Returns the compression of the data, by its first bytes.
pub(crate) fn detect(bytes: &[u8]) -> Compression {
    match bytes {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        // A frame to be skipped, as some compressors put before the first real one.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// The data itself if it is not compressed, else what it unfolds to.
pub(crate) fn decompress(bytes: &[u8], limits: Limits) -> Result<Cow<'_, [u8]>, CompressError> {
    match detect(bytes) {
        Compression::None => Ok(Cow::Borrowed(bytes)),
        Compression::Gzip => {
            unfold(flate2::read::MultiGzDecoder::new(bytes), "gzip", bytes.len(), limits)
        }
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(bytes)
                .map_err(|source| CompressError::Damaged { format: "zstd", source })?;
            unfold(decoder, "zstd", bytes.len(), limits)
        }
    }
}

/// Reads a decompressor to its end or to the limit.
fn unfold(
    decoder: impl Read,
    format: &'static str,
    compressed: usize,
    limits: Limits,
) -> Result<Cow<'static, [u8]>, CompressError> {
    let limit = limits.of(compressed);
    let mut decoder = foretell_limit::CheckedReader(decoder);
    let mut out = Vec::new();
    let read = decoder.by_ref().take(limit).read_to_end(&mut out);
    read.map_err(|source| CompressError::Damaged { format, source })?;
    let more = decoder.read(&mut [0; 1]);
    match more.map_err(|source| CompressError::Damaged { format, source })? {
        0 => Ok(Cow::Owned(out)),
        _ => Err(CompressError::TooLarge { format, limit, compressed }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 3).unwrap()
    }

    const TEXT: &[u8] = b"T1|acq(l)|1\nT1|rel(l)|2\n";

    #[test]
    fn both_formats_unfold_and_the_rest_is_left_alone() {
        let limits = Limits::default();
        assert!(matches!(decompress(TEXT, limits), Ok(Cow::Borrowed(TEXT))));
        assert!(matches!(decompress(b"", limits), Ok(Cow::Borrowed(b""))));
        for packed in [gzip(TEXT), zstd(TEXT)] {
            assert_eq!(*decompress(&packed, limits).unwrap(), *TEXT);
            let twice = [&packed[..], &packed[..]].concat();
            assert_eq!(*decompress(&twice, limits).unwrap(), [TEXT, TEXT].concat());
        }
        assert_eq!(*decompress(&gzip(b""), limits).unwrap(), *b"");
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9], &zstd(TEXT)[..]].concat();
        assert_eq!(*decompress(&skipped, limits).unwrap(), *TEXT);
    }

    #[test]
    fn bombs_are_cut_off() {
        let zeros = vec![0; 8 << 20];
        let limits = Limits { absolute: 1 << 40, ratio: 100, floor: 1 << 20 };
        for (packed, format) in [(gzip(&zeros), "gzip"), (zstd(&zeros), "zstd")] {
            assert!(packed.len() < 1 << 14);
            let error = decompress(&packed, limits).unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("the {format} data unfolds to more than ")),
                "{error}"
            );
            let floor = Limits { floor: 8 << 20, ..limits };
            assert_eq!(decompress(&packed, floor).unwrap().len(), zeros.len());
            let absolute = Limits { absolute: (8 << 20) - 1, ..floor };
            assert!(decompress(&packed, absolute).is_err());
        }
    }

    #[test]
    fn a_bomb_of_many_small_pieces_is_one_bomb() {
        let piece = zstd(&vec![0; 1 << 20]);
        let limits = Limits { absolute: 1 << 40, ratio: 100, floor: 1 << 20 };
        assert!(decompress(&piece.repeat(64), limits).is_err());
    }

    #[test]
    fn damage_is_said_so() {
        for packed in [gzip(TEXT), zstd(TEXT)] {
            for cut in 4..packed.len() {
                let error = decompress(&packed[..cut], Limits::default()).unwrap_err();
                assert!(error.to_string().contains("is damaged or cut off: "), "{error}");
            }
        }
        assert!(decompress(&[0x1f, 0x8b], Limits::default()).is_err());
    }
}
