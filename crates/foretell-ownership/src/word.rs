//! The state machine of a word.

use crate::clock::{Accessor, ForkJoinClock};
use crate::epoch::{Epoch, EpochSet};

/// State of a word of eight bytes.
///
/// | state before | access | state after | if |
/// |---|---|---|---|
/// | fresh | any | owned | |
/// | owned | by the owner | owned | |
/// | owned, last write by the owner | other thread reads | owned by the reader | write is over |
/// | owned, last write not by the owner | other thread reads | read by several | write is over |
/// | owned | other thread writes | owned by the writer | epoch of the owner is over |
/// | read by several | read | read by several | last write is over |
/// | read by several | write | owned by the writer | writer is alone |
/// | shared | any | shared | |
///
/// *Over* is meant for the accessing thread ([`ForkJoinClock::knows`]), and so is *alone*
/// ([`ForkJoinClock::is_alone`]). If the condition does not hold, or the thread has no epoch, the
/// word is shared from then on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WordState {
    /// Not accessed since the memory was given out.
    Fresh,
    /// Accessed by one thread, or transferred to it.
    Owned {
        /// The epoch of the owner's last access.
        epoch: Epoch,
        /// Whether the owner wrote in this epoch. The elision policy
        /// restarts this when it begins to elide the word.
        wrote: bool,
        /// The epoch of the last write before; of no meaning if `wrote`. It may be an epoch of the
        /// owner, and after a restart the present one.
        written: Epoch,
    },
    /// Read by several threads since the last write, which is over for all of them.
    ReadBySeveral {
        /// The epoch of the last write.
        written: Epoch,
    },
    /// Accessed by several threads in a way that create and join do not order.
    Shared,
}

/// Relation of an access to the earlier accesses to the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// It meets no conflicting access of another thread.
    Private,
    /// It conflicts with accesses of other threads, and create and join order all of them before
    /// it.
    Transferred,
    /// It makes the word shared.
    SharedNow,
    /// The word was shared before.
    AlreadyShared,
}

impl WordState {
    /// Returns the epoch of the last write by any thread.
    pub fn last_write(self) -> Epoch {
        match self {
            WordState::Owned { epoch, wrote: true, .. } => epoch,
            WordState::Owned { written, .. } | WordState::ReadBySeveral { written } => written,
            WordState::Fresh | WordState::Shared => Epoch::NONE,
        }
    }

    /// Returns the state after an access, and the relation of the access to those before it.
    #[inline(always)]
    pub fn access<S: EpochSet>(
        self,
        by: Accessor,
        write: bool,
        clock: &ForkJoinClock<S>,
    ) -> (WordState, Meeting) {
        const SHARED_NOW: (WordState, Meeting) = (WordState::Shared, Meeting::SharedNow);
        let own = |written| WordState::Owned { epoch: by.epoch, wrote: write, written };
        match self {
            WordState::Shared => (self, Meeting::AlreadyShared),
            _ if by.epoch.is_none() => SHARED_NOW,
            WordState::Fresh => (own(Epoch::NONE), Meeting::Private),
            WordState::ReadBySeveral { .. } if write => match clock.is_alone(by.thread) {
                true => (own(Epoch::NONE), Meeting::Transferred),
                false => SHARED_NOW,
            },
            WordState::ReadBySeveral { written } => match clock.knows(by.thread, written) {
                true => (self, Meeting::Private),
                false => SHARED_NOW,
            },
            WordState::Owned { epoch, wrote, written } if epoch == by.epoch => {
                (WordState::Owned { epoch, wrote: wrote | write, written }, Meeting::Private)
            }
            WordState::Owned { epoch, .. } => {
                let is_owner = clock.thread_of(epoch) == by.thread;
                let last_write = self.last_write();
                // A write has to follow all accesses of the owner, a read only the last write.
                let follows = if write { epoch } else { last_write };
                if !is_owner && !clock.knows(by.thread, follows) {
                    return SHARED_NOW;
                }
                let next = if write {
                    own(Epoch::NONE)
                } else if is_owner || last_write == epoch {
                    own(last_write)
                } else {
                    WordState::ReadBySeveral { written: last_write }
                };
                let conflicts = !is_owner && (write || !last_write.is_none());
                (next, if conflicts { Meeting::Transferred } else { Meeting::Private })
            }
        }
    }

    /// Returns the state after an access of the owner, with all earlier writes in `written`:
    /// `wrote` is then about this access and later ones only.
    pub(crate) fn restarted(self, by: Accessor, write: bool) -> WordState {
        WordState::Owned { epoch: by.epoch, wrote: write, written: self.last_write() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::AtLimit;
    use crate::elision::{Context, Elider, ElisionWord};
    use crate::epoch::BitSet;
    use crate::transfer::{self, PackedPast, PackedState};

    const THREADS: u32 = 3;

    /// A run in the making, with one word.
    #[derive(Clone)]
    struct Run {
        clock: ForkJoinClock<BitSet>,
        elider: Elider,
        created: u32,
        state: WordState,
        transfer: (PackedState, PackedPast),
        elision: ElisionWord,
        transferred: bool,
        accesses: Vec<(Accessor, bool)>,
    }

    impl Run {
        /// A thread accesses the word: the plain and both packed states agree, and as long as the
        /// word is not shared, all conflicting accesses of other threads are over.
        fn access(&mut self, thread: u32, write: bool) {
            let by = self.clock.accessor(thread);
            let (state, meeting) = self.state.access(by, write, &self.clock);
            let (packed, past) = &mut self.transfer;
            let by_filter = transfer::access(packed, past, by, write, &self.clock);
            let outcome = self.elider.access(self.elision, thread, write, Context::default());
            self.transferred |= meeting == Meeting::Transferred;
            assert_eq!((by_filter, transfer::state(*packed, *past)), (meeting, state));
            assert_eq!((past.is_transferred(), outcome.next.state()), (self.transferred, state));
            assert!(!outcome.elided && outcome.gap.is_none());
            if state != WordState::Shared {
                let mut conflicts = self
                    .accesses
                    .iter()
                    .filter(|(other, wrote)| other.thread != thread && (write || *wrote));
                assert!(conflicts.all(|(other, _)| self.clock.knows(thread, other.epoch)));
            }
            self.state = state;
            self.elision = outcome.next;
            self.accesses.push((by, write));
        }

        /// Tries everything that the threads can do in so many steps.
        fn explore(&self, living: &[u32], steps: u32, runs: &mut u64) {
            *runs += 1;
            if steps == 0 {
                return;
            }
            for (i, &thread) in living.iter().enumerate() {
                for write in [false, true] {
                    let mut next = self.clone();
                    next.access(thread, write);
                    next.explore(living, steps - 1, runs);
                }
                if self.created < THREADS {
                    let mut next = self.clone();
                    next.clock.create(thread, self.created);
                    next.elider.clock.create(thread, self.created);
                    next.created += 1;
                    next.explore(&[living, &[self.created]].concat(), steps - 1, runs);
                }
                for &ended in living[1..].iter().filter(|&&ended| ended != thread) {
                    let mut next = self.clone();
                    next.clock.join(living[i], ended);
                    next.elider.clock.join(living[i], ended);
                    let rest: Vec<u32> = living.iter().copied().filter(|&t| t != ended).collect();
                    next.explore(&rest, steps - 1, runs);
                }
            }
        }
    }

    #[test]
    fn unshared_word_has_only_ordered_conflicts_and_all_encodings_agree() {
        let run = Run {
            clock: ForkJoinClock::new(transfer::LAST_EPOCH, AtLimit::KeepEpoch),
            elider: Elider::default(),
            created: 1,
            state: WordState::Fresh,
            transfer: (PackedState::FRESH, PackedPast::default()),
            elision: ElisionWord::FRESH,
            transferred: false,
            accesses: Vec::new(),
        };
        let mut runs = 0;
        run.explore(&[0], 6, &mut runs);
        assert!(runs > 10_000, "{runs}");
    }

    #[test]
    fn accessor_without_epoch_shares_the_word() {
        let clock: ForkJoinClock<BitSet> = ForkJoinClock::new(1, AtLimit::KeepEpoch);
        let by = Accessor { thread: 7, epoch: Epoch::NONE };
        let shared = (WordState::Shared, Meeting::SharedNow);
        assert_eq!(WordState::Fresh.access(by, false, &clock), shared);
        let already = (WordState::Shared, Meeting::AlreadyShared);
        assert_eq!(WordState::Shared.access(by, false, &clock), already);
    }
}
