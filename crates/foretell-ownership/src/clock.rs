//! The clock over create and join.
//!
//! A thread is cut into *epochs* where it creates another thread. An epoch is *over* for a thread
//! if it ends before the thread's next step in every interleaving, because of create and join: the
//! epochs that were over for its creator when that created the thread, the epoch of the creator
//! that ended there, and all epochs of a thread that it has joined, with those that were over for
//! that one.
//!
//! This is the vector clock of the happens-before detectors (DJIT+, FastTrack) with create and join
//! as the only edges and creations as the only ticks. It is asked far more often than it changes,
//! so it is a set of epochs for each thread instead of a vector. The representation of the set and
//! the number of epochs are up to the user of the clock.
//!
//! **Blocks.** A create or join inside an atomic block would order the first half of the block
//! before another thread, or its second half after it, and such a block may be a finding. Between
//! [`ForkJoinClock::enter_block`] and [`ForkJoinClock::leave_block`] a creation does not end the
//! epoch of its thread, and a join counts only when the outermost block has ended: if the clock
//! orders two accesses, it orders their whole blocks. A user that needs no blocks does not call the
//! two.

use crate::epoch::{Epoch, EpochSet};

/// Policy for a creation when all epochs are given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtLimit {
    /// The creator stays in its epoch, which is not over for the new thread.
    KeepEpoch,
    /// The creator is in [`Epoch::NONE`] from then on.
    LoseEpoch,
}

/// A thread in one of its epochs: the subject of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accessor {
    /// The thread.
    pub thread: u32,
    /// Its epoch; [`Epoch::NONE`] if the clock has run out of epochs.
    pub epoch: Epoch,
}

/// Clock of one thread.
#[derive(Clone, Debug)]
struct ThreadClock<S> {
    epoch: Epoch,
    /// The epochs that are over for the thread, and its own.
    known: S,
    block_depth: u32,
    /// Threads that it has joined in the block that it is in.
    joined_in_block: Vec<u32>,
}

/// The clock over create and join, see the head of the module's source.
#[derive(Clone, Debug)]
pub struct ForkJoinClock<S> {
    threads: Vec<Option<ThreadClock<S>>>,
    /// The thread of each epoch; that of [`Epoch::NONE`] is no thread.
    thread_of: Vec<u32>,
    last_epoch: u16,
    at_limit: AtLimit,
    /// The set of threads that the clock has not met.
    nothing: S,
}

impl<S: EpochSet> ForkJoinClock<S> {
    /// Returns a clock with the epochs up to and including `last_epoch`.
    pub fn new(last_epoch: u16, at_limit: AtLimit) -> ForkJoinClock<S> {
        ForkJoinClock {
            threads: Vec::new(),
            thread_of: vec![u32::MAX],
            last_epoch,
            at_limit,
            nothing: S::default(),
        }
    }

    /// Returns the last epoch that is given out.
    fn last_given(&self) -> Epoch {
        Epoch::from_number((self.thread_of.len() - 1) as u16)
    }

    fn next_epoch(&mut self, thread: u32) -> Epoch {
        if self.last_given().number() >= self.last_epoch {
            return Epoch::NONE;
        }
        self.thread_of.push(thread);
        self.last_given()
    }

    fn thread(&mut self, thread: u32) -> &mut ThreadClock<S> {
        let at = thread as usize;
        if self.threads.len() <= at {
            self.threads.resize_with(at + 1, || None);
        }
        if self.threads[at].is_none() {
            let epoch = self.next_epoch(thread);
            let mut known = S::default();
            known.insert(epoch);
            let new = ThreadClock { epoch, known, block_depth: 0, joined_in_block: Vec::new() };
            self.threads[at] = Some(new);
        }
        self.threads[at].get_or_insert_with(|| unreachable!())
    }

    /// Returns the epoch that a thread is in.
    pub fn epoch(&mut self, thread: u32) -> Epoch {
        self.thread(thread).epoch
    }

    /// Returns a thread in its present epoch.
    pub fn accessor(&mut self, thread: u32) -> Accessor {
        Accessor { thread, epoch: self.epoch(thread) }
    }

    /// Returns the epochs that are over for a thread, and its own. The set of a thread stays at its
    /// address.
    pub fn known(&self, thread: u32) -> &S {
        let clock = self.threads.get(thread as usize).and_then(Option::as_ref);
        clock.map_or(&self.nothing, |clock| &clock.known)
    }

    /// Whether an epoch is over for a thread, or is its own.
    #[inline(always)]
    pub fn knows(&self, thread: u32, epoch: Epoch) -> bool {
        self.known(thread).contains(epoch)
    }

    /// Whether all steps of another thread so far are over for a thread.
    pub fn knows_all_of(&mut self, thread: u32, other: u32) -> bool {
        let epoch = self.epoch(other);
        !epoch.is_none() && self.knows(thread, epoch)
    }

    /// Whether all steps of all other threads so far are over for a thread.
    pub fn is_alone(&self, thread: u32) -> bool {
        let last = self.last_given();
        last.number() < self.last_epoch && self.known(thread).is_all_up_to(last)
    }

    /// Returns the thread that an epoch is of.
    #[inline(always)]
    pub fn thread_of(&self, epoch: Epoch) -> u32 {
        self.thread_of.get(usize::from(epoch.number())).copied().unwrap_or(u32::MAX)
    }

    /// A thread creates another.
    pub fn create(&mut self, creator: u32, child: u32) {
        let clock = self.thread(creator);
        let (mut known, epoch) = (clock.known.clone(), clock.epoch);
        let in_block = clock.block_depth > 0;
        let next = if in_block { Epoch::NONE } else { self.next_epoch(creator) };
        let loses_epoch = !in_block && self.at_limit == AtLimit::LoseEpoch;
        if next.is_none() && !epoch.is_none() {
            // The creator's epoch is not over.
            known.remove(epoch);
        }
        let clock = self.thread(creator);
        if !next.is_none() || loses_epoch {
            clock.epoch = next;
            clock.known.insert(next);
        }
        self.thread(child).known.extend(&known);
    }

    /// A thread joins another, which has ended.
    pub fn join(&mut self, thread: u32, ended: u32) {
        self.thread(thread).joined_in_block.push(ended);
        self.count_joins(thread);
    }

    /// A thread enters an atomic block.
    pub fn enter_block(&mut self, thread: u32) {
        self.thread(thread).block_depth += 1;
    }

    /// A thread leaves an atomic block.
    pub fn leave_block(&mut self, thread: u32) {
        let clock = self.thread(thread);
        clock.block_depth = clock.block_depth.saturating_sub(1);
        self.count_joins(thread);
    }

    fn count_joins(&mut self, thread: u32) {
        let clock = self.thread(thread);
        if clock.block_depth > 0 {
            return;
        }
        for ended in std::mem::take(&mut clock.joined_in_block) {
            let known = self.thread(ended).known.clone();
            self.thread(thread).known.extend(&known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::{BitSet, ByteSet};

    fn clock() -> ForkJoinClock<BitSet> {
        ForkJoinClock::new(0x7ff0, AtLimit::KeepEpoch)
    }

    #[test]
    fn thread_knows_epochs_before_its_creation_and_those_it_joined() {
        let mut c = clock();
        let before = c.epoch(0);
        c.create(0, 1);
        let (between, first) = (c.epoch(0), c.epoch(1));
        c.create(0, 2);
        let second = c.epoch(2);
        assert!(c.knows(1, before) && !c.knows(1, between));
        assert!(c.knows(2, between) && !c.knows(2, first));
        assert!(!c.knows(0, first) && !c.is_alone(0));
        c.join(0, 1);
        assert!(c.knows(0, first) && !c.knows(2, first) && !c.is_alone(0));
        c.join(0, 2);
        assert!(c.knows(0, second) && c.is_alone(0) && !c.is_alone(2));
        assert_eq!((c.thread_of(between), c.thread_of(second)), (0, 2));
        c.create(0, 3);
        assert!(c.knows(3, second) && !c.is_alone(3));
    }

    #[test]
    fn create_and_join_in_a_block_count_when_it_has_ended() {
        let mut c = clock();
        let before = c.epoch(0);
        c.enter_block(0);
        c.create(0, 1);
        assert!(!c.knows(1, before) && c.epoch(0) == before);
        c.join(0, 1);
        let child = c.epoch(1);
        assert!(!c.knows(0, child));
        c.leave_block(0);
        assert!(c.knows(0, child));
    }

    #[test]
    fn threads_beyond_the_limit_have_no_epoch() {
        let mut c = clock();
        (1..40_000).for_each(|thread| c.create(0, thread));
        assert_eq!((c.epoch(39_999), c.epoch(39_998)), (Epoch::NONE, Epoch::NONE));
        assert!(!c.is_alone(0));
    }

    #[test]
    fn creator_keeps_or_loses_its_epoch_at_the_limit() {
        for (at_limit, loses) in [(AtLimit::KeepEpoch, false), (AtLimit::LoseEpoch, true)] {
            let mut c: ForkJoinClock<ByteSet> = ForkJoinClock::new(3, at_limit);
            c.create(0, 1);
            let last = c.epoch(0);
            c.create(0, 2);
            assert_eq!((c.epoch(0).is_none(), c.epoch(2).is_none()), (loses, true));
            assert!(c.knows(0, last) && !c.knows(2, last) && !c.knows_all_of(2, 0));
        }
    }
}
