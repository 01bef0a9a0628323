//! Interned names: text to dense index and back.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// A set of distinct names, each with the index it was first seen at.
///
/// The text is kept once, in one buffer; looking a name up allocates nothing when the name is
/// known, and touches one slot in memory when it is short, as most names in traces are.
#[derive(Clone, Default, Debug)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
    /// Open addressing, power-of-two size, at most three quarters full.
    slots: Vec<Slot>,
}

/// One slot of the hash table; small, since a look-up mostly waits for the memory of its slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    word: u64,
    length: u32,
    /// An index into `ends`, or `EMPTY`.
    index: u32,
}

/// Key of a name. A name of at most [`SHORT`] bytes is its own key; longer names with equal keys
/// may differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    /// The bytes of a short name, the hash of a long one.
    word: u64,
    /// The length, cut to 32 bits.
    length: u32,
}

const SHORT: u32 = 8;

const EMPTY: u32 = u32::MAX;

impl Names {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name with this index, if there is one.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&str> {
        let i = index as usize;
        let end = *self.ends.get(i)?;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        Some(&self.text[start..end])
    }

    /// The index of `name`, adding it if it is new.
    #[inline]
    pub fn intern(&mut self, name: &str) -> u32 {
        if self.ends.len() * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let key = Key::of(name);
        let slot = self.slot_of(name, key);
        match self.slots[slot].index {
            EMPTY => self.add(name, slot, key),
            index => index,
        }
    }

    /// The index of `name`, if it is known.
    pub fn find(&self, name: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let index = self.slots[self.slot_of(name, Key::of(name))].index;
        (index != EMPTY).then_some(index)
    }

    /// The names in the order of their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + '_ {
        (0..self.len()).map(|i| self.get(i as u32).unwrap_or_default())
    }

    fn add(&mut self, name: &str, slot: usize, key: Key) -> u32 {
        let index = u32::try_from(self.ends.len()).expect("more than 2^32 names");
        self.slots[slot] = Slot { word: key.word, length: key.length, index };
        self.text.push_str(name);
        self.ends.push(self.text.len());
        index
    }

    /// The slot that holds `name`, or the empty one where it belongs.
    #[inline]
    fn slot_of(&self, name: &str, key: Key) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key.hash() as usize & mask;
        loop {
            let Slot { word, length, index } = self.slots[slot];
            let equal =
                Key { word, length } == key && (length <= SHORT || self.get(index) == Some(name));
            if equal || index == EMPTY {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let mask = (self.slots.len() * 2).max(16) - 1;
        let empty = Slot { word: 0, length: 0, index: EMPTY };
        let old = std::mem::replace(&mut self.slots, vec![empty; mask + 1]);
        for taken in old.into_iter().filter(|slot| slot.index != EMPTY) {
            let mut slot = Key { word: taken.word, length: taken.length }.hash() as usize & mask;
            while self.slots[slot].index != EMPTY {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = taken;
        }
    }
}

impl Key {
    #[inline]
    fn of(name: &str) -> Key {
        let bytes = name.as_bytes();
        let length = bytes.len() as u32;
        let half = |four: &[u8; 4]| u64::from(u32::from_le_bytes(*four));
        let word = match (bytes, bytes.first_chunk(), bytes.last_chunk()) {
            // Two halves that overlap where the name is shorter than both.
            (_, Some(first), Some(last)) if bytes.len() <= SHORT as usize => {
                half(first) | half(last) << 32
            }
            (_, Some(_), _) => {
                let mut hasher = FxHasher::default();
                hasher.write(bytes);
                hasher.finish()
            }
            _ => bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        Key { word, length }
    }

    /// A hash that depends on all bits of the key in all of its own.
    #[inline]
    fn hash(self) -> u64 {
        let word = self.word ^ u64::from(self.length) << 59;
        let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15;
        (product >> 64) as u64 ^ product as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interning_is_stable_and_dense() {
        let mut names = Names::new();
        assert_eq!(names.find("x"), None);
        for i in 0..1000u32 {
            assert_eq!(names.intern(&format!("n{i}")), i);
        }
        for i in 0..1000u32 {
            assert_eq!(names.intern(&format!("n{i}")), i);
            assert_eq!(names.find(&format!("n{i}")), Some(i));
            assert_eq!(names.get(i), Some(format!("n{i}").as_str()));
        }
        assert_eq!(names.len(), 1000);
        assert_eq!(names.find("n1000"), None);
        assert_eq!(names.get(1000), None);
    }

    #[test]
    fn names_of_every_length_are_told_apart() {
        let mut names = Names::new();
        let mut all = Vec::new();
        // Zero bytes and repetitions are where short keys could be mixed up.
        for letters in ["\0", "a", "ab", "\0a", "abcdefgh"] {
            all.extend((1..40).map(|n| letters.chars().cycle().take(n).collect::<String>()));
        }
        all.sort();
        all.dedup();
        for (i, name) in all.iter().enumerate() {
            assert_eq!(names.intern(name), i as u32, "{name:?}");
        }
        for (i, name) in all.iter().enumerate() {
            assert_eq!(names.find(name), Some(i as u32));
            assert_eq!(names.get(i as u32), Some(name.as_str()));
        }
    }

    #[test]
    fn the_empty_name_is_a_name() {
        let mut names = Names::new();
        assert_eq!(names.intern("é"), 0);
        assert_eq!(names.intern(""), 1);
        assert_eq!(names.get(1), Some(""));
        assert_eq!(names.iter().collect::<Vec<_>>(), ["é", ""]);
    }
}
