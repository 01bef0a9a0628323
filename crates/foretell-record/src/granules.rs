//! Which bytes of memory are one variable, and which are shared.
//!
//! Accesses of different sizes may overlap, and overlapping accesses conflict. So the memory that was touched
//! is cut at every place where some access begins or ends, and at every multiple of eight: the
//! pieces are the granules, each the variable of the trace, and an access is one event for each
//! granule that it covers. A granule that one thread alone ever touched is private: its
//! accesses do not reach the trace.

use rustc_hash::FxHashMap;

use crate::regions::{RegionId, Regions};

/// Eight bytes of memory.
#[derive(Clone, Copy, Debug)]
struct Word {
    /// Who touched each byte, plus one; 0 for nobody.
    owner: [u16; 8],
    /// Bytes that more than one thread touched.
    shared: u8,
    /// Bytes at which an access began, or before which one ended.
    cuts: u8,
}

/// A variable: `len` bytes at `addr`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Granule {
    pub(crate) region: RegionId,
    pub(crate) addr: u64,
    pub(crate) len: u8,
}

/// The memory that the run touched.
#[derive(Default)]
pub(crate) struct Granules {
    words: FxHashMap<(RegionId, u64), Word>,
    /// The words of each region that were touched by more than one thread.
    shared_words: FxHashMap<RegionId, Vec<u64>>,
}

impl Granules {
    /// Notes an access of `thread` to `len` bytes.
    pub(crate) fn touch(&mut self, regions: &mut Regions, thread: u32, addr: u64, len: u64) {
        // Beyond this many threads they are not told apart: nothing of theirs is private.
        let me = u16::try_from(thread + 1).unwrap_or(u16::MAX);
        for (at, from, to) in words(addr, len) {
            let region = regions.of(at + u64::from(from));
            let word = self.words.entry((region, at)).or_insert(Word {
                owner: [0; 8],
                shared: 0,
                cuts: 0,
            });
            word.cuts |= 1 << from;
            if to < 8 {
                word.cuts |= 1 << to;
            }
            for byte in from..to {
                let owner = &mut word.owner[usize::from(byte)];
                if *owner == 0 {
                    *owner = me;
                } else if *owner != me || me == u16::MAX {
                    if word.shared == 0 {
                        self.shared_words.entry(region).or_default().push(at);
                    }
                    word.shared |= 1 << byte;
                }
            }
        }
    }

    /// The shared granules among `len` bytes.
    pub(crate) fn shared(
        &self,
        regions: &mut Regions,
        addr: u64,
        len: u64,
        out: &mut Vec<Granule>,
    ) {
        out.clear();
        for (at, from, to) in words(addr, len) {
            let region = regions.of(at + u64::from(from));
            if let Some(word) = self.words.get(&(region, at)) {
                word.granules(region, at, from, to, out);
            }
        }
    }

    /// Every shared granule of a region, by address.
    pub(crate) fn of_region(&self, region: RegionId) -> Vec<Granule> {
        let mut out = Vec::new();
        let mut at = self.shared_words.get(&region).cloned().unwrap_or_default();
        at.sort_unstable();
        for at in at {
            if let Some(word) = self.words.get(&(region, at)) {
                word.granules(region, at, 0, 8, &mut out);
            }
        }
        out
    }
}

impl Word {
    fn granules(&self, region: RegionId, at: u64, from: u8, to: u8, out: &mut Vec<Granule>) {
        if self.shared == 0 {
            return;
        }
        let mut start = from;
        while start < to {
            let mut end = start + 1;
            while end < 8 && self.cuts & (1 << end) == 0 {
                end += 1;
            }
            let mask = (((1u16 << end) - 1) & !((1u16 << start) - 1)) as u8;
            if self.shared & mask != 0 {
                out.push(Granule { region, addr: at + u64::from(start), len: end - start });
            }
            start = end;
        }
    }
}

/// The words that `len` bytes at `addr` touch: address of the word, first byte, end.
fn words(addr: u64, len: u64) -> impl Iterator<Item = (u64, u8, u8)> {
    let end = addr.saturating_add(len);
    let mut at = addr;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let word = at & !7;
        let stop = end.min(word.saturating_add(8));
        let piece = (word, (at - word) as u8, (stop - word) as u8);
        at = stop;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(g: &Granules, addr: u64, len: u64) -> Vec<(u64, u8)> {
        let mut out = Vec::new();
        g.shared(&mut Regions::new(), addr, len, &mut out);
        out.iter().map(|g| (g.addr, g.len)).collect()
    }

    #[test]
    fn overlapping_accesses_are_cut_into_the_same_pieces() {
        let (mut g, mut r) = (Granules::default(), Regions::new());
        g.touch(&mut r, 0, 64, 8);
        g.touch(&mut r, 1, 64, 4);
        g.touch(&mut r, 1, 68, 4);
        assert_eq!(spans(&g, 64, 8), [(64, 4), (68, 4)]);
        assert_eq!(spans(&g, 68, 4), [(68, 4)]);
        // Unaligned: cut at the word as well.
        g.touch(&mut r, 0, 78, 4);
        g.touch(&mut r, 1, 78, 4);
        assert_eq!(spans(&g, 78, 4), [(78, 2), (80, 2)]);
    }

    #[test]
    fn what_one_thread_touches_is_private() {
        let (mut g, mut r) = (Granules::default(), Regions::new());
        g.touch(&mut r, 0, 64, 4);
        g.touch(&mut r, 1, 68, 4);
        g.touch(&mut r, 0, 64, 4);
        assert_eq!(spans(&g, 64, 8), []);
        g.touch(&mut r, 2, 64, 1);
        assert_eq!(spans(&g, 64, 8), [(64, 1)]);
        assert_eq!(g.of_region(crate::regions::ELSEWHERE).len(), 1);
    }
}
