//! Interned names: text to dense index and back.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

/// A set of distinct names, each with the index it was first seen at.
///
/// The text is kept once, in one buffer; looking a name up hashes it and compares bytes, and
/// allocates nothing when the name is known.
#[derive(Clone, Default, Debug)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
    /// Open addressing, power-of-two size.
    slots: Vec<Slot>,
}

/// A name's index into `ends`, or `EMPTY`, with a part of its hash: other names that fall on the
/// same slots are told apart without looking at their text.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    index: u32,
}

const EMPTY: u32 = u32::MAX;

impl Names {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many names there are.
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
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = hash(name);
        let slot = self.slot_of(name, hash);
        match self.slots[slot].index {
            EMPTY => self.add(name, slot, hash as u32),
            index => index,
        }
    }

    /// The index of `name`, if it is known.
    pub fn find(&self, name: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let index = self.slots[self.slot_of(name, hash(name))].index;
        (index != EMPTY).then_some(index)
    }

    /// The names in the order of their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + '_ {
        (0..self.len()).map(|i| self.get(i as u32).unwrap_or_default())
    }

    fn add(&mut self, name: &str, slot: usize, hash: u32) -> u32 {
        let index = u32::try_from(self.ends.len()).expect("more than 2^32 names");
        self.slots[slot] = Slot { hash, index };
        self.text.push_str(name);
        self.ends.push(self.text.len());
        index
    }

    /// The slot that holds `name`, or the empty one where it belongs.
    #[inline]
    fn slot_of(&self, name: &str, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = place(hash, mask);
        loop {
            let Slot { hash: other, index } = self.slots[slot];
            let same = other == hash as u32 && self.get(index) == Some(name);
            if same || index == EMPTY {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        self.slots = vec![Slot { hash: 0, index: EMPTY }; size];
        for index in 0..self.ends.len() as u32 {
            let hash = hash(self.get(index).unwrap_or_default());
            let mut slot = place(hash, size - 1);
            while self.slots[slot].index != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = Slot { hash: hash as u32, index };
        }
    }
}

#[inline]
fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name)
}

/// Where to look first. Not from the half of the hash that slots keep.
#[inline]
fn place(hash: u64, mask: usize) -> usize {
    (hash >> 32) as usize & mask
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
    fn the_empty_name_is_a_name() {
        let mut names = Names::new();
        assert_eq!(names.intern("é"), 0);
        assert_eq!(names.intern(""), 1);
        assert_eq!(names.get(1), Some(""));
        assert_eq!(names.iter().collect::<Vec<_>>(), ["é", ""]);
    }
}
