//! Progress of an interleaving towards a path or a cycle, in the words at the end of a state's
//! core.
//!
//! *Path.* Which threads have been reached from the block (then everything they do from now on is),
//! and on which variables something that was reached has read or written.
//!
//! *Cycle.* The transactions that are still open, and the block that is asked about, each with a
//! row: the threads it reaches, the variables that what it reaches has read or written, those that
//! it has itself, and whether it reaches the block. A step into a transaction adds what that one
//! reaches to all that reach it; a transaction that is over has no more steps into it, so its row
//! can go. What it reaches is in the rows of those that reach it.

use super::dependence::StepClass;
use super::parts::Part;
use super::program::{Aim, Program};
use super::state::SearchState;

/// Number of words that a goal needs.
pub(super) fn size(program: &Program<'_>) -> usize {
    match program.aim {
        Aim::Reach | Aim::Overwritten { .. } => 0,
        Aim::Broken { .. } => 1,
        Aim::Path { .. } => 1 + Sizes::of(program).path(),
        Aim::Cycle { .. } => 1 + (program.threads.len() + 1) * Sizes::of(program).row(),
    }
}

/// The words of a set of threads and of a set of variables.
#[derive(Clone, Copy)]
struct Sizes {
    threads: usize,
    variables: usize,
}

impl Sizes {
    fn of(program: &Program<'_>) -> Self {
        let words = |n: usize| n.div_ceil(32);
        Self { threads: words(program.threads.len()), variables: words(program.goal_variables) }
    }

    /// Threads reached, variables read or written there, variables written there.
    fn path(self) -> usize {
        self.threads + 2 * self.variables
    }

    /// Flags, then as in a path, then the same variables for the transaction itself.
    fn row(self) -> usize {
        1 + self.threads + 4 * self.variables
    }
}

fn has(words: &[u32], i: usize) -> bool {
    words[i / 32] >> (i % 32) & 1 != 0
}

fn set(words: &mut [u32], i: usize) {
    words[i / 32] |= 1 << (i % 32);
}

/// Notes an access that has just run. `at` is where the goal's words start; word 0 says whether it
/// is reached.
pub(super) fn access(
    program: &Program<'_>,
    state: &mut SearchState,
    at: usize,
    t: usize,
    access: (usize, bool),
    part: Part,
) {
    let reached = match program.aim {
        Aim::Path { thread, .. } => path(program, state, at + 1, (t, thread), access),
        Aim::Cycle { thread } => {
            let sizes = Sizes::of(program);
            Rows { sizes, words: &mut state.core[at + 1..] }.access(t, access, part, thread)
        }
        _ => false,
    };
    if reached {
        state.core[at] = 1;
    }
}

/// A step of a path; whether it comes back to the block.
fn path(
    program: &Program<'_>,
    state: &mut SearchState,
    at: usize,
    (t, own): (usize, usize),
    (x, writes): (usize, bool),
) -> bool {
    let sizes = Sizes::of(program);
    let inside = state.position(own);
    let words = &mut state.core[at..at + sizes.path()];
    let (threads, variables) = words.split_at_mut(sizes.threads);
    let (any, written) = variables.split_at_mut(sizes.variables);
    let by_conflict = has(written, x) || writes && has(any, x);
    if t == own {
        return by_conflict;
    }
    let (first, first_write) = program.inside[x];
    let from_block = inside > first_write || writes && inside > first;
    if by_conflict || from_block || has(threads, t) {
        set(threads, t);
        set(any, x);
        if writes {
            set(written, x);
        }
    }
    false
}

/// Bits of a row's first word.
const OPEN: u32 = 1;
const REACHES_BLOCK: u32 = 2;

/// The rows of a cycle: 0 for the block, 1 + t for the open transaction of thread t.
struct Rows<'w> {
    sizes: Sizes,
    words: &'w mut [u32],
}

/// The sets of a row.
#[derive(Clone, Copy)]
enum Set {
    Threads,
    Any,
    Written,
    OwnAny,
    OwnWritten,
}

impl Rows<'_> {
    fn start(&self, row: usize) -> usize {
        row * self.sizes.row()
    }

    fn range(&self, row: usize, set: Set) -> std::ops::Range<usize> {
        let threads = self.start(row) + 1;
        let variables = threads + self.sizes.threads;
        let n = self.sizes.variables;
        match set {
            Set::Threads => threads..variables,
            Set::Any => variables..variables + n,
            Set::Written => variables + n..variables + 2 * n,
            Set::OwnAny => variables + 2 * n..variables + 3 * n,
            Set::OwnWritten => variables + 3 * n..variables + 4 * n,
        }
    }

    fn has(&self, row: usize, set: Set, i: usize) -> bool {
        has(&self.words[self.range(row, set)], i)
    }

    fn insert(&mut self, row: usize, which: Set, i: usize) {
        let range = self.range(row, which);
        set(&mut self.words[range], i);
    }

    fn is_open(&self, row: usize) -> bool {
        self.words[self.start(row)] & OPEN != 0
    }

    fn clear(&mut self, row: usize) {
        let start = self.start(row);
        self.words[start..start + self.sizes.row()].fill(0);
    }

    fn count(&self) -> usize {
        self.words.len() / self.sizes.row()
    }

    /// Adds set `from` of row `source` to set `to` of row `target`.
    fn union(&mut self, target: usize, to: Set, source: usize, from: Set) {
        let (to, from) = (self.range(target, to), self.range(source, from));
        for (to, from) in to.zip(from) {
            self.words[to] |= self.words[from];
        }
    }

    /// An access of thread `t`; whether a cycle through the block, of thread `own`, is closed.
    fn access(&mut self, t: usize, (x, writes): (usize, bool), part: Part, own: usize) -> bool {
        let row = if part.inside { 0 } else { 1 + t };
        if part.first {
            self.clear(row);
            let start = self.start(row);
            self.words[start] = OPEN;
        }
        let meets = |this: &Self, r: usize, any: Set, written: Set| {
            this.has(r, written, x) || writes && this.has(r, any, x)
        };
        for r in 0..self.count() {
            // Over program order, from a transaction that it reaches, or from itself. A transaction
            // that reaches itself is among what it reaches, in whatever order that came about.
            let leads = self.has(r, Set::Threads, t)
                || meets(self, r, Set::Any, Set::Written)
                || r != row && meets(self, r, Set::OwnAny, Set::OwnWritten);
            if leads && self.is_open(r) {
                self.reach(r, row, t, part.inside);
            }
        }
        self.insert(row, Set::OwnAny, x);
        if writes {
            self.insert(row, Set::OwnWritten, x);
        }
        for r in 0..self.count() {
            if self.is_open(r) && self.has(r, Set::Threads, t) {
                self.insert(r, Set::Any, x);
                if writes {
                    self.insert(r, Set::Written, x);
                }
            }
        }
        let block = self.start(0);
        let reached = self.words[block] & REACHES_BLOCK != 0;
        if part.last {
            if part.inside {
                // Program order leads on to what the thread does after the block.
                self.insert(0, Set::Threads, own);
            } else {
                self.clear(row);
            }
        }
        reached
    }

    /// Row `r` reaches the transaction of row `to`, of thread `t`, and all that it reaches.
    fn reach(&mut self, r: usize, to: usize, t: usize, block: bool) {
        self.insert(r, Set::Threads, t);
        self.union(r, Set::Threads, to, Set::Threads);
        self.union(r, Set::Any, to, Set::Any);
        self.union(r, Set::Written, to, Set::Written);
        self.union(r, Set::Any, to, Set::OwnAny);
        self.union(r, Set::Written, to, Set::OwnWritten);
        let (start, other) = (self.start(r), self.start(to));
        self.words[start] |= self.words[other] & REACHES_BLOCK;
        if block {
            self.words[start] |= REACHES_BLOCK;
        }
    }
}

/// Forgets what no access to come can tell.
pub(super) fn forget(program: &Program<'_>, state: &mut SearchState, at: usize) {
    if state.core.get(at).is_some_and(|&reached| reached != 0) {
        state.core[at + 1..].fill(0);
        return;
    }
    let sizes = Sizes::of(program);
    // Where the first set of threads is, how many rows there are, how wide, with how many sets of
    // variables.
    let (first, rows, width, sets) = match program.aim {
        Aim::Path { .. } => (at + 1, 1, sizes.path(), 2),
        Aim::Cycle { .. } => (at + 2, program.threads.len() + 1, sizes.row(), 4),
        _ => return,
    };
    for t in 0..program.threads.len() {
        let done = state.is_cut(t) || state.position(t) as usize >= program.threads[t].steps.len();
        if done {
            for row in 0..rows {
                state.core[first + row * width + t / 32] &= !(1 << (t % 32));
            }
            if rows > 1 {
                // Nothing leads into the open transaction of this thread any more.
                let start = at + 1 + (t + 1) * width;
                state.core[start..start + width].fill(0);
            }
        }
    }
    for x in 0..program.goal_variables {
        if program.classes.is_alive(state, StepClass::Part(x)) {
            continue;
        }
        for (row, kind) in (0..rows).flat_map(|row| (0..sets).map(move |kind| (row, kind))) {
            let start = first + row * width + sizes.threads + kind * sizes.variables;
            state.core[start + x / 32] &= !(1 << (x % 32));
        }
    }
}
