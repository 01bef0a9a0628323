//! Elision gaps: accesses without records, and the order of later accesses after them.
//!
//! The runtime elides accesses to words that one thread, or several that only read, use very
//! often (`foretell_ownership::elision`). When another thread uses such a word, and there may have
//! been writes, the accesses before and after are on different variables of the trace, the second
//! with the value that the word has then.
//!
//! - If create and join order the elided accesses before the next one, no more is needed.
//! - If not, no other thread may use the word earlier than it did. A thread that has elided an
//!   access makes an *elision point* before it lets other threads go on, and at the latest when it
//!   matters: it posts a semaphore of its own. A thread that uses the new variable for the first
//!   time passes the semaphores of all threads that may have elided an access: a `down` and a
//!   `post` of each that it has not passed before.
//! - With many threads that is too much. A thread that has passed more than
//!   [`MOST_PASSED_SINGLY`] semaphores for a gap posts a *relay*, a semaphore that stands for all
//!   of them and for the relays before it; threads that come later pass the relay. They are ordered
//!   after the thread that posted it too. The number of events is linear in that of elision points
//!   and accesses.
//!
//! So no schedule has an access to the word among the elided ones, and each elided access sees the
//! value that it saw: an interleaving that is feasible in the trace is feasible in the program.
//! Findings with an elided access are missed, and findings that need a thread to run before the
//! gap that it is ordered after.

use foretell_log::LastStep;
use foretell_trace::{EventKind, SemId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::access_cache::WordAccess;
use super::{Context, EventWriter, Memory};
use crate::native::regions::RegionId;

/// State of a word after an elision gap.
#[derive(Clone, Copy)]
pub(super) struct WordAfterGap {
    /// The gap that comes before all later accesses, unless create and join order it.
    pub(super) gap: Option<u32>,
    /// Content of the word.
    pub(super) value: Option<u64>,
}

/// Elision points that a thread passes one by one for a gap.
const MOST_PASSED_SINGLY: usize = 8;

/// Semaphores that a thread passes to be ordered after a gap.
#[derive(Default)]
struct Gates {
    /// Threads with elided accesses, and the semaphores of their elision points.
    points: Vec<(u32, SemId)>,
    /// Number of the first relays that stand for more of them.
    relays: u32,
}

/// The elision gaps of a run so far.
pub(super) struct ElisionGaps {
    gates: Vec<Gates>,
    /// Whether more gates of the last gap may follow.
    open: bool,
    /// Semaphore of the last elision point of each thread.
    semaphores: FxHashMap<u32, SemId>,
    /// Number of elision points of each thread.
    points: FxHashMap<u32, u64>,
    /// Elision points that another thread waits for: the thread and the number of the point.
    awaited: FxHashSet<(u32, u64)>,
    words: FxHashMap<(RegionId, u64), WordAfterGap>,
    /// Threads that are ordered after a gap, with the gap.
    passed: FxHashSet<(u32, u32)>,
    /// Threads that have passed an elision point, with its semaphore.
    passed_points: FxHashSet<(u32, SemId)>,
    /// The relays. Each stands for those before it too.
    relays: Vec<SemId>,
    /// Elision points that relays stand for.
    relayed: FxHashSet<SemId>,
    /// For each thread the number of the first relays that it is ordered after.
    passed_relays: FxHashMap<u32, u32>,
}

impl ElisionGaps {
    pub(super) fn new(awaited: FxHashSet<(u32, u64)>) -> ElisionGaps {
        ElisionGaps {
            gates: Vec::new(),
            open: false,
            semaphores: FxHashMap::default(),
            points: FxHashMap::default(),
            awaited,
            words: FxHashMap::default(),
            passed: FxHashSet::default(),
            passed_points: FxHashSet::default(),
            relays: Vec::new(),
            relayed: FxHashSet::default(),
            passed_relays: FxHashMap::default(),
        }
    }

    /// Returns the state of the word at an address after its last gap, if it has one.
    pub(super) fn word(&self, region: RegionId, addr: u64) -> Option<WordAfterGap> {
        self.words.get(&(region, addr / 8)).copied()
    }

    /// Whether a thread is ordered after a gap.
    pub(super) fn is_after(&self, thread: u32, gap: u32) -> bool {
        self.passed.contains(&(thread, gap))
    }

    fn point(&mut self, out: &mut EventWriter, at: &Context<'_>, last: Option<LastStep>) {
        let points = self.points.entry(at.thread).or_default();
        let number = std::mem::replace(points, *points + 1);
        // No thread waits for most of them.
        if !self.awaited.contains(&(at.thread, number)) {
            return;
        }
        let name = format!("T{} so far {}", at.thread, number + 1);
        let sem = out.trace.builder.semaphore(&name);
        self.semaphores.insert(at.thread, sem);
        // A replay has to come as far.
        let last = last.map(|LastStep { ordinal, kind, pc }| (ordinal, Some(kind), pc));
        let (ordinal, kind, pc) = last.unwrap_or((at.ordinal, None, None));
        out.push(&at.with_step(ordinal, kind, pc), EventKind::Post { sem });
    }

    fn after_elision_point(&mut self, out: &mut EventWriter, at: &Context<'_>, thread: u32) {
        if !std::mem::replace(&mut self.open, true) {
            self.gates.push(Gates::default());
        }
        let Some(&sem) = self.semaphores.get(&thread) else { return };
        let Some(gates) = self.gates.last_mut() else { return };
        if self.relayed.contains(&sem) {
            gates.relays = self.relays.len() as u32;
            self.pass_relays(out, at, self.relays.len() as u32);
            return;
        }
        gates.points.push((thread, sem));
        let many = gates.points.len() > MOST_PASSED_SINGLY;
        self.pass_point(out, at, (thread, sem));
        if many {
            self.add_relay(out, at);
        }
    }

    /// Adds a relay for the elision points of the last gap, which the thread has passed.
    fn add_relay(&mut self, out: &mut EventWriter, at: &Context<'_>) {
        self.pass_relays(out, at, self.relays.len() as u32);
        let name = format!("all so far {}", self.relays.len() + 1);
        let sem = out.trace.builder.semaphore(&name);
        self.relays.push(sem);
        let relays = self.relays.len() as u32;
        if let Some(gates) = self.gates.last_mut() {
            self.relayed.extend(gates.points.drain(..).map(|(_, sem)| sem));
            gates.relays = relays;
        }
        self.passed_relays.insert(at.thread, relays);
        out.push_marker(at, EventKind::Post { sem }, None);
    }

    /// Orders a thread after the elision point of another.
    fn pass_point(&mut self, out: &mut EventWriter, at: &Context<'_>, (thread, sem): (u32, SemId)) {
        if thread != at.thread && self.passed_points.insert((at.thread, sem)) {
            pass(out, at, sem);
        }
    }

    /// Orders a thread after the first relays.
    fn pass_relays(&mut self, out: &mut EventWriter, at: &Context<'_>, relays: u32) {
        let passed = self.passed_relays.entry(at.thread).or_default();
        if *passed < relays {
            *passed = relays;
            pass(out, at, self.relays[relays as usize - 1]);
        }
    }

    /// Begins the gap of a word. Returns its number, unless create and join order it.
    fn begin(&mut self, at: &Context<'_>, ordered: bool) -> Option<u32> {
        if !ordered && !std::mem::take(&mut self.open) && self.gates.is_empty() {
            self.gates.push(Gates::default());
        }
        let last = (self.gates.len() as u32).checked_sub(1);
        let gap = last.filter(|_| !ordered);
        self.passed.extend(gap.map(|gap| (at.thread, gap)));
        gap
    }

    fn order_after(&mut self, out: &mut EventWriter, at: &Context<'_>, gap: u32) {
        if !self.passed.insert((at.thread, gap)) {
            return;
        }
        let Some(gates) = self.gates.get(gap as usize) else { return };
        let relays = gates.relays;
        for point in gates.points.clone() {
            self.pass_point(out, at, point);
        }
        self.pass_relays(out, at, relays);
    }
}

/// Orders a thread after a semaphore's first post, and leaves the semaphore to other threads.
fn pass(out: &mut EventWriter, at: &Context<'_>, sem: SemId) {
    out.push_marker(at, EventKind::Down { sem }, None);
    out.push_marker(at, EventKind::Post { sem }, None);
}

impl Memory {
    /// Adds an elision point, after the thread's elided accesses so far.
    pub(in crate::native) fn elision_point(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        last: Option<LastStep>,
    ) {
        self.gaps.point(out, at, last);
    }

    /// Orders the events that follow after the last elision point of `thread`.
    pub(in crate::native) fn after_elision_point(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        thread: u32,
    ) {
        self.gaps.after_elision_point(out, at, thread);
    }

    /// Notes elided accesses to a word. `renews`: later accesses are on new variables.
    pub(in crate::native) fn begin_gap(
        &mut self,
        at: &Context<'_>,
        (ordered, renews): (bool, bool),
        word: u64,
        value: Option<u64>,
    ) {
        let gap = self.gaps.begin(at, ordered);
        let region = self.regions.of(word);
        self.gaps.words.insert((region, word / 8), WordAfterGap { gap, value });
        if let Some(page) = self.cells.page(region, word) {
            self.variables.cache.forget(WordAccess { region, page, addr: word, len: 8 });
        }
        let mut found = std::mem::take(&mut self.found);
        self.cells.shared(&mut self.regions, word, 8, &mut found);
        for cell in &found {
            if renews {
                self.variables.renew(cell);
            } else if let Some(variable) = self.variables.existing(cell) {
                variable.gap = gap.or(variable.gap);
            }
        }
        self.found = found;
    }

    /// Orders an access to a variable after the variable's elision gap.
    #[inline]
    pub(super) fn order_after_gap(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        variable: u32,
    ) {
        if let Some(gap) = self.variables.get(variable).and_then(|v| v.gap) {
            self.gaps.order_after(out, at, gap);
        }
    }
}
