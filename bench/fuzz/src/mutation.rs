//! Mutation of a corpus by a seed.

use foretell_generate::Rng;

/// Numbers at the limits of their types.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "0x7fffffffffffffff",
];
/// Bytes at the limits of their types, and of varints.
const BYTES: &[&[u8]] = &[
    &[0],
    &[0x7f],
    &[0x80],
    &[0xff],
    &[0xff, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0x7f],
    &[0, 0, 0, 0x80],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
    &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
    &[0x1b, b'[', b'2', b'J'],
    &[0xc2, 0x9b],
    &[0xe2, 0x80, 0xae],
    &[0xed, 0xa0, 0x80],
];
/// Longest input that grows.
const LONGEST: usize = 1 << 20;

/// A corpus, the words of its language, and the places worth changing.
#[derive(Debug)]
pub struct Mutator {
    files: Vec<Vec<u8>>,
    /// For a large file, the offsets of its bytes that are not zero.
    places: Vec<Vec<usize>>,
    words: Vec<Vec<u8>>,
}

impl Mutator {
    /// Returns a mutator of these files, with these words to insert.
    pub fn new(files: Vec<Vec<u8>>, words: &[&str]) -> Mutator {
        let large = |file: &Vec<u8>| -> Vec<usize> {
            if file.len() < 1 << 14 {
                return Vec::new();
            }
            (0..file.len()).filter(|&at| file[at] != 0).collect()
        };
        let places = files.iter().map(large).collect();
        let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Mutator { files, places, words }
    }

    /// Returns the generator of an input.
    pub fn rng(seed: u64, input: u64) -> Rng {
        Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ input)
    }

    /// Returns input `input` of a seed.
    pub fn input(&self, seed: u64, input: u64) -> Vec<u8> {
        let mut rng = Mutator::rng(seed, input);
        let index = rng.below(self.files.len());
        let mut bytes = self.files[index].clone();
        for _ in 0..=rng.below(4) {
            self.change(&mut bytes, &self.places[index], &mut rng);
        }
        bytes
    }

    /// Changes bytes in place. `places` are the offsets worth changing, or empty: all.
    pub fn change(&self, bytes: &mut Vec<u8>, places: &[usize], rng: &mut Rng) {
        let at = |bytes: &Vec<u8>, rng: &mut Rng| match places {
            [] => rng.below(bytes.len() + 1),
            places => (places[rng.below(places.len())] + rng.below(3)).min(bytes.len()),
        };
        let start = at(bytes, rng);
        let span = |rng: &mut Rng, bytes: &Vec<u8>, most: usize| {
            start..(start + 1 + rng.below(most)).min(bytes.len()).max(start)
        };
        match rng.below(10) {
            0 | 1 if start < bytes.len() => bytes[start] ^= 1 << rng.below(8),
            2 if start < bytes.len() => bytes[start] = rng.next() as u8,
            3 => {
                let range = span(rng, bytes, 20);
                bytes.drain(range);
            }
            4 => {
                // A piece of this file or of another one.
                let other = &self.files[rng.below(self.files.len())];
                let from = rng.below(other.len() + 1);
                let to = (from + rng.below(80)).min(other.len());
                bytes.splice(start..start, other[from..to].iter().copied());
            }
            5 if bytes.len() < LONGEST => {
                let piece = bytes[span(rng, bytes, 60)].to_vec();
                let times = if rng.chance(5) { 1 + rng.below(2000) } else { 1 + rng.below(4) };
                let many: Vec<u8> =
                    piece.iter().copied().cycle().take(piece.len() * times).collect();
                bytes.splice(start..start, many);
            }
            6 => {
                let number = NUMBERS[rng.below(NUMBERS.len())].as_bytes();
                bytes.splice(number_at(bytes, start), number.iter().copied());
            }
            7 => {
                let special = BYTES[rng.below(BYTES.len())];
                let end = (start + special.len() * rng.below(2)).min(bytes.len());
                bytes.splice(start..end, special.iter().copied());
            }
            8 if rng.chance(20) => bytes.truncate(start),
            _ if !self.words.is_empty() => {
                let word = &self.words[rng.below(self.words.len())];
                let end = (start + word.len() * rng.below(2)).min(bytes.len());
                bytes.splice(start..end, word.iter().copied());
            }
            _ => {}
        }
    }
}

/// Returns the decimal number at or after an offset, or the empty range there.
fn number_at(bytes: &[u8], start: usize) -> std::ops::Range<usize> {
    let from = (start..bytes.len().min(start + 40)).find(|&at| bytes[at].is_ascii_digit());
    let Some(from) = from else { return start..start };
    let end = (from..bytes.len()).find(|&at| !bytes[at].is_ascii_digit());
    from..end.unwrap_or(bytes.len())
}
