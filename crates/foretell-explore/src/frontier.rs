//! The frontier: leads that have not been followed, the most promising first.
//!
//! A lead to a place and an observation that no run has shown comes first. Then come leads to
//! places for which few leads have been found ([`crowd`]): a long loop, whose every iteration has
//! leads, must not keep the rest waiting. Then the number of preemptions decides, then the order in
//! which the leads were found. Every fourth lead is the one with the most preemptions: what needs
//! the threads to alternate many times would come last else. Leads to what a standard library
//! observes for itself, such as its counters, come last.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::history::{CutKey, hash_of};
use crate::leads::{Candidate, Cause};

/// Order of a lead.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Rank {
    class: u8,
    /// [`crowd`] of the leads that were found for the place.
    crowd: u32,
    preemptions: u32,
    /// Number of leads that were found before.
    number: usize,
}

impl Rank {
    /// The lead with the most preemptions has the greatest of these.
    fn by_preemptions(self) -> (bool, u32, usize) {
        (self.class < 2, self.preemptions, self.number)
    }
}

/// One lead of so many is the one with the most preemptions.
const MOST_PREEMPTED_EVERY: usize = 4;

/// Leads of one place that all count as few.
const FEW: u32 = 8;

/// Returns how much the leads to a place crowd: 0 if they are few, and one more for each doubling.
pub(crate) fn crowd(leads: u32) -> u32 {
    (leads / FEW).checked_ilog2().map_or(0, |log| log + 1)
}

/// Leads in the order in which they are followed.
#[derive(Default, Debug)]
pub(crate) struct Frontier {
    queue: BTreeMap<Rank, Candidate>,
    /// Number of leads that were ever added.
    added: usize,
    /// Keys of these leads.
    known: FxHashSet<u64>,
    /// The runs that begin with a history of a thread.
    runs: FxHashMap<(u64, u64), Vec<u32>>,
    /// Places and observations that runs have shown.
    pub(crate) shown: FxHashSet<u64>,
    /// Number of leads that were taken.
    taken: usize,
    /// Number of leads that were found for each place.
    found_for: FxHashMap<u64, u32>,
}

impl Frontier {
    /// Number of leads that have not been followed.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Adds a lead, unless a lead with its key was added before, or a run begins with its key.
    pub(crate) fn add(&mut self, candidate: Candidate) -> bool {
        let stuck = candidate.cause == Cause::Stuck;
        if !stuck && self.is_covered(&candidate.key) {
            return false;
        }
        if !self.known.insert(hash_of((&candidate.key, stuck))) {
            return false;
        }
        let crowd = candidate.place.map_or(0, |place| {
            let count = self.found_for.entry(place).or_default();
            *count += 1;
            crowd(*count)
        });
        let preemptions = candidate.lead.preemptions;
        let class = self.class(&candidate);
        self.queue.insert(Rank { class, crowd, preemptions, number: self.added }, candidate);
        self.added += 1;
        true
    }

    fn class(&self, candidate: &Candidate) -> u8 {
        match &candidate.cause {
            Cause::Stuck => 0,
            _ if candidate.is_internal => 2,
            _ if candidate.novelty.is_some_and(|n| !self.shown.contains(&n)) => 0,
            _ => 1,
        }
    }

    /// Removes the lead to follow next. Leads that a run has covered meanwhile are dropped.
    pub(crate) fn pop(&mut self) -> Option<Candidate> {
        self.taken += 1;
        if self.taken.is_multiple_of(MOST_PREEMPTED_EVERY)
            && let Some(candidate) = self.pop_most_preempted()
        {
            return Some(candidate);
        }
        self.pop_first()
    }

    /// Removes the lead with the most preemptions, the one that was found last.
    fn pop_most_preempted(&mut self) -> Option<Candidate> {
        loop {
            let key = *self.queue.keys().max_by_key(|key| key.by_preemptions())?;
            let candidate = self.queue.remove(&key)?;
            if candidate.cause == Cause::Stuck || !self.is_covered(&candidate.key) {
                return Some(candidate);
            }
        }
    }

    fn pop_first(&mut self) -> Option<Candidate> {
        while let Some((rank, candidate)) = self.queue.pop_first() {
            if candidate.cause != Cause::Stuck && self.is_covered(&candidate.key) {
                continue;
            }
            let class = self.class(&candidate);
            if class > rank.class {
                self.queue.insert(Rank { class, ..rank }, candidate);
                continue;
            }
            return Some(candidate);
        }
        None
    }

    /// Returns the leads that come next if no run changes that, at most `most`; of those that are
    /// chosen for their preemptions only the next one, whose run most often leads to the one after
    /// it.
    pub(crate) fn upcoming(&self, most: usize) -> Vec<&Candidate> {
        let preempted = self.queue.iter().max_by_key(|(key, _)| key.by_preemptions());
        let others = self.queue.iter().filter(|&(key, _)| preempted.is_none_or(|(k, _)| k != key));
        let next = preempted.into_iter().chain(others).map(|(_, candidate)| candidate);
        let is_open = |c: &&Candidate| c.cause == Cause::Stuck || !self.is_covered(&c.key);
        next.filter(is_open).take(most).collect()
    }

    /// Drops the leads that a run has covered.
    pub(crate) fn tidy(&mut self) {
        let queue = std::mem::take(&mut self.queue);
        let stays = |c: &Candidate| c.cause == Cause::Stuck || !self.is_covered(&c.key);
        let queue = queue.into_iter().filter(|(_, c)| stays(c)).collect();
        self.queue = queue;
    }

    /// Whether some run begins with all these histories.
    pub(crate) fn is_covered(&self, key: &CutKey) -> bool {
        let mut lists: Vec<&[u32]> = Vec::with_capacity(key.len());
        for (&thread, &history) in key {
            match self.runs.get(&(thread, history)) {
                Some(list) => lists.push(list),
                None => return false,
            }
        }
        lists.sort_by_key(|list| list.len());
        let Some((shortest, rest)) = lists.split_first() else { return true };
        shortest.iter().any(|run| rest.iter().all(|list| list.binary_search(run).is_ok()))
    }

    /// Adds the beginnings of a thread's history in a run.
    pub(crate) fn add_history(&mut self, run: usize, thread: u64, beginnings: &[u64]) {
        let mut add = |key: (u64, u64)| {
            let list = self.runs.entry(key).or_default();
            if list.last() != Some(&(run as u32)) {
                list.push(run as u32);
            }
        };
        for (i, &history) in beginnings.iter().enumerate() {
            add((thread, history));
            if i + 1 < beginnings.len() {
                add((hash_of((thread, "more")), history));
            }
        }
    }

    /// Forgets the runs and the keys, but not the leads.
    pub(crate) fn forget(&mut self) {
        self.runs.clear();
        self.known.clear();
    }
}
