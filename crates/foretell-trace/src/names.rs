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
    /// Open addressing, power-of-two size, `EMPTY` or an index into `ends`.
    slots: Vec<u32>,
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
    pub fn get(&self, index: u32) -> Option<&str> {
        let i = index as usize;
        let end = *self.ends.get(i)?;
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        Some(&self.text[start..end])
    }

    /// The index of `name`, adding it if it is new.
    pub fn intern(&mut self, name: &str) -> u32 {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot_of(name);
        if self.slots[slot] == EMPTY {
            self.slots[slot] = u32::try_from(self.ends.len()).expect("more than 2^32 names");
            self.text.push_str(name);
            self.ends.push(self.text.len());
        }
        self.slots[slot]
    }

    /// The index of `name`, if it is known.
    pub fn find(&self, name: &str) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let index = self.slots[self.slot_of(name)];
        (index != EMPTY).then_some(index)
    }

    /// The names in the order of their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + '_ {
        (0..self.len()).map(|i| self.get(i as u32).unwrap_or_default())
    }

    /// The slot that holds `name`, or the empty one where it belongs.
    fn slot_of(&self, name: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = FxBuildHasher.hash_one(name) as usize & mask;
        loop {
            let index = self.slots[slot];
            if index == EMPTY || self.get(index) == Some(name) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(16);
        self.slots = vec![EMPTY; size];
        for index in 0..self.ends.len() as u32 {
            let slot = self.slot_of(self.get(index).unwrap_or_default());
            self.slots[slot] = index;
        }
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
    fn the_empty_name_is_a_name() {
        let mut names = Names::new();
        assert_eq!(names.intern("é"), 0);
        assert_eq!(names.intern(""), 1);
        assert_eq!(names.get(1), Some(""));
        assert_eq!(names.iter().collect::<Vec<_>>(), ["é", ""]);
    }
}
