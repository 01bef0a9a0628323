//! Transfer: the policy of the log filter, which words create and join order.
//!
//! The trace has every access to a shared word. An access to a word that is not shared is skipped,
//! with one exception: of words that were *transferred* the first accesses of the run are kept. No
//! finding is about them, but they may be a link in a chain of accesses from which a violation of
//! serializability is inferred. So the filter keeps a flag for each word: whether it was ever
//! transferred. The flag outlives the memory block that the word is in.
//!
//! A word is packed in two numbers of 16 bits, which are in two arrays: the fast path of the filter
//! looks at the first one only, unless several threads read the word.
//!
//! [`PackedState`]:
//!
//! | value | state |
//! |---|---|
//! | 0 | fresh |
//! | 2 `epoch` | owned, the owner only read in this epoch |
//! | 2 `epoch` + 1 | owned, the owner wrote in this epoch |
//! | `0xfffc` | read by several since the write in [`PackedPast`] |
//! | `0xfffe` | read by several, never written |
//! | `0xffff` | shared |
//!
//! [`PackedPast`]:
//!
//! | bits | content |
//! |---|---|
//! | 0 | the word was transferred |
//! | 1–15 | epoch of the last write before the state began, 0 if there is none |

use crate::clock::{Accessor, ForkJoinClock};
use crate::epoch::{BitSet, Epoch, EpochSet};
use crate::word::{Meeting, WordState};

/// The last epoch that is given out by the filter's clock.
pub const LAST_EPOCH: u16 = 0x7ff0;

/// State of a word, packed, see the table above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct PackedState(u16);

/// Last write and transfer of a word, packed, see the table above.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(transparent)]
pub struct PackedPast(u16);

/// State of the words that a thread has written in its present epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnPattern(u16);

impl OwnPattern {
    /// Returns the pattern of a thread in this epoch. No word matches that of [`Epoch::NONE`].
    pub fn of(epoch: Epoch) -> OwnPattern {
        let epoch = if epoch.is_none() { LAST_EPOCH + 1 } else { epoch.number() };
        OwnPattern(epoch << 1 | 1)
    }
}

impl PackedState {
    /// Not accessed since the memory was given out.
    pub const FRESH: PackedState = PackedState(0);
    const READ_SINCE_WRITE: PackedState = PackedState(0xfffc);
    const READ_ONLY: PackedState = PackedState(0xfffe);
    /// Accessed by several threads in a way that create and join do not order.
    pub const SHARED: PackedState = PackedState(0xffff);

    /// Whether an access changes neither the state nor the clock, and is private. `own` is the
    /// pattern of its thread, `reads` is 1 if it reads and 0 if it writes, and `known` are the
    /// epochs that are over for its thread.
    #[inline(always)]
    pub fn is_unchanged(
        self,
        past: impl FnOnce() -> PackedPast,
        own: OwnPattern,
        reads: u16,
        known: &BitSet,
    ) -> bool {
        self.0 | reads == own.0
            || (reads == 1
                && (self == PackedState::READ_ONLY
                    || (self == PackedState::READ_SINCE_WRITE && known.contains(past().written()))))
    }
}

impl PackedPast {
    #[inline(always)]
    fn written(self) -> Epoch {
        Epoch::from_number(self.0 >> 1)
    }

    /// Whether the word was ever transferred.
    pub fn is_transferred(self) -> bool {
        self.0 & 1 != 0
    }
}

/// Returns the state of a word.
#[inline(always)]
pub fn state(state: PackedState, past: PackedPast) -> WordState {
    match state {
        PackedState::FRESH => WordState::Fresh,
        PackedState::SHARED => WordState::Shared,
        PackedState::READ_ONLY => WordState::ReadBySeveral { written: Epoch::NONE },
        PackedState::READ_SINCE_WRITE => WordState::ReadBySeveral { written: past.written() },
        PackedState(own) => WordState::Owned {
            epoch: Epoch::from_number(own >> 1),
            wrote: own & 1 != 0,
            written: past.written(),
        },
    }
}

/// A thread accesses a word.
#[inline(always)]
pub fn access(
    packed: &mut PackedState,
    past: &mut PackedPast,
    by: Accessor,
    write: bool,
    clock: &ForkJoinClock<BitSet>,
) -> Meeting {
    let (next, meeting) = state(*packed, *past).access(by, write, clock);
    let (next, written) = match next {
        WordState::Fresh => (PackedState::FRESH, Epoch::NONE),
        WordState::Shared => (PackedState::SHARED, Epoch::NONE),
        WordState::ReadBySeveral { written } if written.is_none() => {
            (PackedState::READ_ONLY, Epoch::NONE)
        }
        WordState::ReadBySeveral { written } => (PackedState::READ_SINCE_WRITE, written),
        WordState::Owned { epoch, wrote, written } => {
            (PackedState(epoch.number() << 1 | u16::from(wrote)), written)
        }
    };
    let transferred = past.is_transferred() || meeting == Meeting::Transferred;
    *packed = next;
    *past = PackedPast(written.number() << 1 | u16::from(transferred));
    meeting
}

/// A word becomes shared, whichever thread accesses it.
pub fn share(packed: &mut PackedState) -> Meeting {
    match std::mem::replace(packed, PackedState::SHARED) {
        PackedState::SHARED => Meeting::AlreadyShared,
        _ => Meeting::SharedNow,
    }
}
