//! Eight bytes of memory, and who touched them.
//!
//! Nearly every word has bytes of one thread alone, or of several that each touched the same ones; who touched each
//! single byte is kept only of those words that are different.

use rustc_hash::FxHashMap;

/// Eight bytes of memory.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Word {
    /// Who touched the word first, plus one; 0 for nobody.
    owner: u16,
    /// Bytes that somebody touched: the owner first, unless the word is mixed.
    touched: u8,
    /// Bytes that more than one thread touched.
    pub(super) shared: u8,
    /// Bytes that were written.
    pub(super) written: u8,
    /// Bytes at which an access began, or before which one ended.
    pub(super) cuts: u8,
    /// Whether an access ended with the last byte.
    pub(super) ends: bool,
    /// Its bytes have different owners: these are in [`Mixed`].
    mixed: bool,
}

/// The owners of the bytes of those words that have several, by page and word.
#[derive(Default)]
pub(super) struct Mixed(FxHashMap<(usize, usize), [u16; 8]>);

impl Mixed {
    pub(super) fn of(&mut self, page: usize, word: usize) -> &mut [u16; 8] {
        self.0.entry((page, word)).or_default()
    }
}

impl Word {
    /// Whether an access to the bytes `from..to` changes nothing: so it is of most.
    #[inline]
    pub(super) fn has(&self, me: u16, from: u8, to: u8, write: bool) -> bool {
        let bytes = mask(from, to);
        let cuts = 1 << from | (1u16 << to) as u8;
        let mine = self.owner == me && !self.mixed && me != u16::MAX;
        let touched = self.shared | if mine { self.touched } else { 0 };
        bytes & !touched == 0
            && cuts & !self.cuts == 0
            && (to < 8 || self.ends)
            && (!write || bytes & !self.written == 0)
    }

    /// A thread touches some bytes. Threads that are not told apart share what they touch twice.
    #[inline]
    pub(super) fn touch<'m>(
        &mut self,
        me: u16,
        bytes: u8,
        owners: impl FnOnce() -> &'m mut [u16; 8],
    ) {
        if self.touched == 0 {
            self.owner = me;
        }
        if self.mixed || (self.owner != me && bytes & !self.touched != 0) {
            self.touch_each(me, bytes, owners());
        } else if self.owner != me || me == u16::MAX {
            self.shared |= bytes & self.touched;
        }
        self.touched |= bytes;
    }

    fn touch_each(&mut self, me: u16, bytes: u8, owners: &mut [u16; 8]) {
        for (byte, owner) in owners.iter_mut().enumerate() {
            let bit = 1 << byte;
            if !self.mixed && self.touched & bit != 0 {
                *owner = self.owner;
            }
            if bytes & bit == 0 {
                continue;
            }
            if *owner == 0 {
                *owner = me;
            } else if *owner != me || me == u16::MAX {
                self.shared |= bit;
            }
        }
        self.mixed = true;
    }

    pub(super) fn is_touched(&self) -> bool {
        self.touched != 0
    }

    /// A thread frees the memory: that touches and writes what somebody touched.
    pub(super) fn free<'m>(&mut self, me: u16, owners: impl FnOnce() -> &'m mut [u16; 8]) {
        self.written |= self.touched;
        if self.mixed {
            let others = owners().iter().enumerate().filter(|(_, owner)| ![0, me].contains(owner));
            others.for_each(|(byte, _)| self.shared |= 1 << byte);
        } else if self.owner != me {
            self.shared |= self.touched;
        }
    }
}

/// The bits of bytes `from..to`.
#[inline]
pub(super) fn mask(from: u8, to: u8) -> u8 {
    (((1u16 << to) - 1) & !((1u16 << from) - 1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word with the owner of every byte.
    #[derive(Default)]
    struct Bytes {
        owners: [u16; 8],
        shared: u8,
    }

    impl Bytes {
        fn touch(&mut self, me: u16, bytes: u8) {
            for (byte, owner) in self.owners.iter_mut().enumerate() {
                let bit = bytes & 1 << byte;
                if bit != 0 && *owner == 0 {
                    *owner = me;
                } else if *owner != me || me == u16::MAX {
                    self.shared |= bit;
                }
            }
        }

        fn touched(&self) -> u8 {
            (0..8).filter(|&byte| self.owners[byte] != 0).map(|byte| 1u8 << byte).sum()
        }
    }

    #[test]
    fn who_touched_each_byte() {
        let mut seed = 7u64;
        let mut random = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % n
        };
        for _ in 0..2000 {
            let (mut word, mut owners, mut expected) = (Word::default(), [0; 8], Bytes::default());
            for _ in 0..random(12) {
                let me = [1, 2, 3, u16::MAX][random(4) as usize];
                let from = random(8) as u8;
                let to = from + 1 + random(8 - u64::from(from)) as u8;
                let before = word;
                word.touch(me, mask(from, to), || &mut owners);
                word.cuts |= 1 << from | (1u16 << to) as u8;
                word.ends |= to == 8;
                expected.touch(me, mask(from, to));
                assert_eq!((word.shared, word.touched), (expected.shared, expected.touched()));
                assert!(!before.has(me, from, to, false) || before == word);
                let all = before.shared & mask(from, to) == mask(from, to);
                assert!(!(all && before == word) || before.has(me, from, to, false));
            }
            let me = 1 + random(3) as u16;
            word.free(me, || &mut owners);
            let others = (0..8).filter(|&byte| ![0, me].contains(&expected.owners[byte]));
            let shared = others.fold(expected.shared, |all, byte| all | 1 << byte);
            assert_eq!((word.shared, word.written), (shared, word.touched));
        }
    }
}
