//! Contents of memory in the first pass: values that no recorded write explains.
//!
//! Each word that the log accesses has its last known content and the thread that wrote it. A read
//! of another value means that code which is not recorded has written the word. The content of a
//! word is kept by the byte, beside its page in [`Cells`](crate::native::cells::Cells).

use crate::native::cells::PAGE;

/// Words of a page.
const WORDS: usize = PAGE as usize / 8;

/// Writer of a word.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Writer {
    /// Code that is not recorded, or the word was never written.
    #[default]
    Hidden,
    /// A recorded access, or an elided one, of a thread that is not known.
    Recorded,
    /// A recorded access of this thread.
    Thread(u32),
}

/// Content of a word.
#[derive(Clone, Copy, Default)]
struct Word {
    value: u64,
    /// Index of the last access.
    touched: u64,
    writer: Writer,
    /// Thread that has given the word to a hidden call; [`SEVERAL`]: several have.
    given_by: u32,
    /// Bytes whose value is known.
    known: u8,
    given: Given,
}

/// Stands for several threads.
const SEVERAL: u32 = u32::MAX;

/// Use of a word by hidden calls that read what they are given.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Given {
    #[default]
    Never,
    /// Given, and written by no other thread.
    Own,
    /// Given by one thread, and written by recorded code of another.
    Written,
}

/// Contents of the words of a page.
struct Page([Word; WORDS]);

impl Default for Page {
    fn default() -> Self {
        Page([Word::default(); WORDS])
    }
}

/// Contents of the words of all pages, by the number of the page.
#[derive(Default)]
pub(super) struct Contents {
    pages: Vec<Option<Box<Page>>>,
}

/// Bytes of an access that are in one word: the page, the address, and the bytes `from..to`.
#[derive(Clone, Copy)]
pub(super) struct InWord {
    pub(super) page: usize,
    pub(super) at: u64,
    pub(super) from: u8,
    pub(super) to: u8,
}

impl InWord {
    fn mask(self) -> u8 {
        let below = |n: u8| ((1u16 << n) - 1) as u8;
        below(self.to) & !below(self.from)
    }
}

/// Result of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    /// The value that this thread wrote, or the first value.
    Value(Writer),
    /// A value that no recorded write explains; the index of the last access before.
    Unexplained { since: u64 },
}

impl Contents {
    #[inline(always)]
    fn word(&mut self, page: usize, at: u64) -> &mut Word {
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.add(page);
        }
        // Added above, if it was not there.
        let words = self.pages[page].get_or_insert_default();
        &mut words.0[(at / 8) as usize % WORDS]
    }

    #[cold]
    fn add(&mut self, page: usize) {
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page] = Some(Box::default());
    }

    /// A thread writes bytes of a word. `value` has them at their place; none: not known.
    #[inline(always)]
    pub(super) fn write(&mut self, bytes: InWord, writer: Writer, value: Option<u64>, index: u64) {
        let (mask, word) = (bytes.mask(), self.word(bytes.page, bytes.at));
        (word.writer, word.touched) = (writer, index);
        if word.given == Given::Own && writer != Writer::Thread(word.given_by) {
            word.given = Given::Written;
        }
        match value {
            Some(value) => {
                word.value = merge(word.value, value, mask);
                word.known |= mask;
            }
            None => word.known &= !mask,
        }
    }

    /// A thread reads bytes of a word.
    #[inline(always)]
    pub(super) fn read(&mut self, bytes: InWord, value: u64, index: u64) -> Seen {
        let (mask, word) = (bytes.mask(), self.word(bytes.page, bytes.at));
        let since = std::mem::replace(&mut word.touched, index);
        if word.known == u8::MAX && (word.value ^ value) & spread(mask) == 0 {
            return Seen::Value(word.writer);
        }
        let known = spread(word.known & mask);
        let differs = (word.value ^ value) & known != 0;
        if differs || word.known & mask != mask {
            word.value = merge(word.value, value, mask);
            word.known |= mask;
            word.writer = Writer::Hidden;
        }
        if differs { Seen::Unexplained { since } } else { Seen::Value(word.writer) }
    }
}

impl Contents {
    /// A thread gives a word to a hidden call that reads it. Returns whether that is the first time.
    pub(super) fn give(&mut self, page: usize, at: u64, thread: u32) -> bool {
        let word = self.word(page, at);
        let first = word.given == Given::Never;
        if first {
            (word.given, word.given_by) = (Given::Own, thread);
        } else if word.given_by != thread {
            word.given_by = SEVERAL;
        }
        let written_by_other = match word.writer {
            Writer::Hidden => false,
            Writer::Recorded => true,
            Writer::Thread(writer) => writer != thread,
        };
        if written_by_other {
            word.given = Given::Written;
        }
        first
    }

    /// Whether a word was given to a hidden call and written by recorded code of another thread.
    pub(super) fn is_given_and_written(&mut self, page: usize, at: u64) -> bool {
        self.word(page, at).given == Given::Written
    }
}

/// Returns `old` with the bytes of `mask` from `new`.
fn merge(old: u64, new: u64, mask: u8) -> u64 {
    let bytes = spread(mask);
    old & !bytes | new & bytes
}

/// Words with all bits set in the bytes of a mask, by mask: every plain access asks for one.
static SPREAD: [u64; 256] = {
    let mut table = [0; 256];
    let mut bit = 0;
    while bit < 8 * table.len() {
        let (mask, byte) = (bit / 8, bit % 8);
        if mask >> byte & 1 != 0 {
            table[mask] |= 0xff << (8 * byte);
        }
        bit += 1;
    }
    table
};

/// Returns a word with all bits set in the bytes of `mask`.
#[inline]
fn spread(mask: u8) -> u64 {
    SPREAD[usize::from(mask)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: InWord = InWord { page: 3, at: 64, from: 0, to: 8 };
    const LOW: InWord = InWord { page: 3, at: 64, from: 0, to: 4 };

    #[test]
    fn value_that_no_write_explains_is_seen_once() {
        let mut contents = Contents::default();
        assert_eq!(contents.read(LOW, 7, 1), Seen::Value(Writer::Hidden));
        contents.write(WHOLE, Writer::Thread(2), Some(0x5_0000_0007), 2);
        assert_eq!(contents.read(LOW, 7, 3), Seen::Value(Writer::Thread(2)));
        assert_eq!(contents.read(LOW, 8, 4), Seen::Unexplained { since: 3 });
        assert_eq!(contents.read(WHOLE, 0x5_0000_0008, 5), Seen::Value(Writer::Hidden));
        contents.write(LOW, Writer::Recorded, None, 6);
        assert_eq!(contents.read(WHOLE, 0x5_0000_0009, 7), Seen::Value(Writer::Hidden));
        assert_eq!(contents.read(WHOLE, 0x6_0000_0009, 8), Seen::Unexplained { since: 7 });
    }
}
