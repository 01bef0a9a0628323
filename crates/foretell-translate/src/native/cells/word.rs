//! The eight bytes of a word, and the threads that accessed them.
//!
//! Nearly every word has bytes of one thread alone, or of several threads that each accessed the
//! same bytes. Only the other words have an owner for each byte.

use rustc_hash::FxHashMap;

/// The bytes of a word.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct WordBytes {
    /// The first thread that accessed the word, plus one; 0 if there is none.
    owner: u16,
    /// Bytes that were accessed: by the owner first, unless the word is mixed.
    touched: u8,
    /// Bytes that more than one thread accessed.
    pub(super) shared: u8,
    /// Bytes that were written.
    pub(super) written: u8,
    /// Bytes at which an access began, or before which one ended.
    pub(super) cuts: u8,
    /// Whether an access ended with the last byte.
    pub(super) ends: bool,
    /// Whether its bytes have different owners, which are in [`ByteOwners`].
    mixed: bool,
}

/// The owners of the bytes of mixed words, by page and word.
#[derive(Default)]
pub(super) struct ByteOwners(FxHashMap<(usize, usize), [u16; 8]>);

impl ByteOwners {
    pub(super) fn of(&mut self, page: usize, word: usize) -> &mut [u16; 8] {
        self.0.entry((page, word)).or_default()
    }
}

impl WordBytes {
    /// Whether an access to the bytes `from..to` changes nothing; this holds for most accesses.
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

    /// A thread accesses some bytes. Threads without a number of their own share every byte that
    /// they access twice.
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

    /// Returns those of some bytes that no thread has accessed.
    pub(super) fn untouched(&self, bytes: u8) -> u8 {
        bytes & !self.touched
    }

    pub(super) fn is_touched(&self) -> bool {
        self.touched != 0
    }

    /// A thread frees the word: it writes all bytes that were accessed.
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

/// Returns the bits of the bytes `from..to`.
#[inline]
pub(super) fn mask(from: u8, to: u8) -> u8 {
    (((1u16 << to) - 1) & !((1u16 << from) - 1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_generate::Rng;

    /// Reference implementation: a word with an owner for every byte.
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
    fn word_agrees_with_an_owner_for_each_byte() {
        let mut rng = Rng::new(7);
        for _ in 0..2000 {
            let (mut word, mut owners, mut expected) =
                (WordBytes::default(), [0; 8], Bytes::default());
            for _ in 0..rng.below(12) {
                let me = [1, 2, 3, u16::MAX][rng.below(4)];
                let from = rng.below(8) as u8;
                let to = from + 1 + rng.below(8 - usize::from(from)) as u8;
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
            let me = 1 + rng.below(3) as u16;
            word.free(me, || &mut owners);
            let others = (0..8).filter(|&byte| ![0, me].contains(&expected.owners[byte]));
            let shared = others.fold(expected.shared, |all, byte| all | 1 << byte);
            assert_eq!((word.shared, word.written), (shared, word.touched));
        }
    }
}
