//! Mutation of `.ft` files behind their checksums.
//!
//! A changed byte is almost always found by a checksum. Whoever makes a file on purpose makes the
//! checksums right, too; so does [`input`], for most inputs.

use crate::Mutator;

const FILE_HEADER: usize = 24;
const CHUNK_HEADER: usize = 16;

/// Returns input `input` of a seed: a mutation of a file's bytes, or of the contents of its chunks.
pub(crate) fn input(files: &[Vec<u8>], mutator: &Mutator, seed: u64, input: u64) -> Vec<u8> {
    let mut rng = Mutator::rng(seed, input);
    if rng.chance(10) {
        return mutator.input(seed, input);
    }
    let file = &files[rng.below(files.len())];
    let Some(mut chunks) = chunks(file) else { return mutator.input(seed, input) };
    for _ in 0..=rng.below(3) {
        if chunks.is_empty() {
            break;
        }
        let index = rng.below(chunks.len());
        match rng.below(12) {
            0 => drop(chunks.remove(index)),
            1 => {
                let copy = chunks[index].clone();
                chunks.insert(rng.below(chunks.len() + 1), copy);
            }
            2 => {
                let other = rng.below(chunks.len());
                chunks.swap(index, other);
            }
            _ => mutator.change(&mut chunks[index].1, &[], &mut rng),
        }
    }
    seal(&file[..FILE_HEADER], &chunks)
}

/// Returns type and content of the chunks of a file; `None` if it is damaged.
fn chunks(file: &[u8]) -> Option<Vec<([u8; 4], Vec<u8>)>> {
    let mut rest = file.get(FILE_HEADER..)?;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        let header = rest.get(..CHUNK_HEADER)?;
        let length = u32::from_le_bytes(header[4..8].try_into().ok()?) as usize;
        let payload = rest.get(CHUNK_HEADER..CHUNK_HEADER + length)?;
        chunks.push((header[..4].try_into().ok()?, payload.to_vec()));
        rest = &rest[CHUNK_HEADER + length..];
    }
    Some(chunks)
}

/// Returns a file with these chunks and their checksums.
fn seal(header: &[u8], chunks: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = header.to_vec();
    for (kind, payload) in chunks {
        let mut header = kind.to_vec();
        header.extend((payload.len() as u32).to_le_bytes());
        header.extend(crc32fast::hash(payload).to_le_bytes());
        header.extend(crc32fast::hash(&header).to_le_bytes());
        file.extend(header);
        file.extend(payload);
    }
    file
}
