//! Accesses without records: whoever uses the word after them comes after them.
//!
//! The runtime passes over accesses to words that one thread, or several that only read, use very often
//! (`foretell_ownership::elision`). When somebody else uses such a word, and there may have been writes, the accesses before
//! and those after are on different variables of the trace, the second with the value that is there then.
//! - If create and join order what was passed over before what comes now, that is all.
//! - If not, the others must not use the word earlier than they did. A thread that has passed something over *leaves it
//!   behind* before it lets others go on, and at the latest when it matters: it posts a semaphore of its own. Who uses the new
//!   variable for the first time passes the semaphores of all that may have passed over something (takes one and puts it back).
//!
//! So no schedule has an access to the word among those that are missing, and each of them sees what it saw: what is
//! feasible in the trace is feasible in the program. What is missed are findings with the missing accesses, and those that
//! need a thread to be before what it is put after.

use foretell_trace::{EventKind, SemId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::known::Spot;
use super::{At, Translation};
use crate::regions::RegionId;
use foretell_log::LastStep;

/// A word after something was done to it without records.
#[derive(Clone, Copy)]
pub(super) struct First {
    /// The gap that comes before all that is done to it.
    pub(super) gap: Option<u32>,
    /// What is in it.
    pub(super) value: Option<u64>,
}

/// The gaps so far.
#[derive(Default)]
pub(super) struct Gaps {
    /// What has to be passed, by number of the gap: the threads that have left something behind, and what they posted.
    gates: Vec<Vec<(u32, SemId)>>,
    /// The last gap is still being described.
    open: bool,
    /// The last semaphore of each thread that left something behind, and how often it did.
    left: FxHashMap<u32, SemId>,
    leaves: FxHashMap<u32, u64>,
    /// What is known of new variables in a word.
    words: FxHashMap<(RegionId, u64), First>,
    /// Who has passed which gap.
    passed: FxHashSet<(u32, u32)>,
}

impl Gaps {
    /// What is known of a new variable.
    pub(super) fn of(&self, region: RegionId, addr: u64) -> Option<First> {
        self.words.get(&(region, addr / 8)).copied()
    }

    /// Whether what a thread does is after a gap.
    pub(super) fn is_after(&self, thread: u32, gap: u32) -> bool {
        self.passed.contains(&(thread, gap))
    }
}

impl Translation<'_> {
    /// A thread leaves behind what it has done so far.
    pub(super) fn leave_behind(&mut self, at: &At<'_>, last: Option<LastStep>) {
        let leaves = self.gaps.leaves.entry(at.thread).or_default();
        let number = std::mem::replace(leaves, *leaves + 1);
        // Most of them nobody asks for.
        if !self.survey.left_behind.contains(&(at.thread, number)) {
            return;
        }
        let sem = self.builder.semaphore(&format!("T{} so far {}", at.thread, number + 1));
        self.gaps.left.insert(at.thread, sem);
        // A replay has to come as far.
        let last = last.map(|LastStep { ordinal, kind, pc }| (ordinal, Some(kind), pc));
        let (ordinal, kind, pc) = last.unwrap_or((at.ordinal, None, None));
        let At { thread, stack, calls, .. } = *at;
        self.push(&At { thread, ordinal, pc, kind, stack, calls }, EventKind::Post { sem });
    }

    /// What follows in a thread comes after what another one has left behind.
    pub(super) fn gather(&mut self, at: &At<'_>, thread: u32) {
        if !std::mem::replace(&mut self.gaps.open, true) {
            self.gaps.gates.push(Vec::new());
        }
        let Some(&sem) = self.gaps.left.get(&thread) else { return };
        if let Some(gates) = self.gaps.gates.last_mut() {
            gates.push((thread, sem));
        }
        self.pass(at, (thread, sem));
    }

    fn pass(&mut self, at: &At<'_>, (thread, sem): (u32, SemId)) {
        if thread != at.thread {
            self.push_marker(at, EventKind::Down { sem }, None);
            self.push_marker(at, EventKind::Post { sem }, None);
        }
    }

    /// Accesses to a word have no records. `renews`: whoever uses it from now on uses something new.
    pub(super) fn forget(
        &mut self,
        at: &At<'_>,
        ordered: bool,
        renews: bool,
        word: u64,
        value: Option<u64>,
    ) {
        if !ordered && !std::mem::take(&mut self.gaps.open) && self.gaps.gates.is_empty() {
            self.gaps.gates.push(Vec::new());
        }
        let last = (self.gaps.gates.len() as u32).checked_sub(1);
        let gap = last.filter(|_| !ordered);
        self.gaps.passed.extend(gap.map(|gap| (at.thread, gap)));
        let region = self.regions.of(word);
        self.gaps.words.insert((region, word / 8), First { gap, value });
        if let Some(page) = self.survey.cells.page(region, word) {
            self.known.forget(Spot { region, page, addr: word, len: 8 });
        }
        let mut found = std::mem::take(&mut self.found);
        self.survey.cells.shared(&mut self.regions, word, 8, &mut found);
        for cell in &found {
            if renews {
                self.variable_of.remove(cell);
            } else if let Some(&variable) = self.variable_of.get(cell)
                && let Some(variable) = self.variables.get_mut(variable as usize)
            {
                variable.gap = gap.or(variable.gap);
            }
        }
        self.found = found;
    }

    /// What comes before all accesses to a variable comes before this one.
    #[inline]
    pub(super) fn come_after(&mut self, at: &At<'_>, variable: u32) {
        let Some(gap) = self.variables.get(variable as usize).and_then(|v| v.gap) else { return };
        if self.gaps.passed.insert((at.thread, gap)) {
            for gate in self.gaps.gates.get(gap as usize).cloned().unwrap_or_default() {
                self.pass(at, gate);
            }
        }
    }
}
