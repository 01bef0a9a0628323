//! Atomic blocks of a run.
//!
//! They have three sources: markers in the source (`include/foretell.h`), calls of functions whose
//! name matches a pattern, and, as in the papers, the outermost lock scopes without a wait. An
//! outermost scope lasts from the acquire before which its thread held no lock to the release after
//! which it holds none.

use foretell_rt_format::{Entry, Record, SyncKind};
use rustc_hash::FxHashSet;
/// Pattern for the whole of a name: `*` is any text, `?` any one character, everything else stands
/// for itself.
pub use wildmatch::WildMatch as Glob;

/// Atomic parts of a program: sources of atomic blocks, and volatile accesses.
#[derive(Clone, PartialEq, Debug)]
pub struct Blocks {
    /// Whether markers in the source are blocks.
    pub markers: bool,
    /// Whether outermost lock scopes without a wait are blocks.
    pub locks: bool,
    /// Patterns of functions whose calls are blocks.
    pub functions: Vec<Glob>,
    /// Whether each access to a volatile object of C and C++ is atomic: it races with no other
    /// atomic access. If not, it is a plain access.
    pub atomic_volatile: bool,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks { markers: true, locks: true, functions: Vec::new(), atomic_volatile: false }
    }
}

impl Blocks {
    /// Whether calls of a function are blocks.
    pub(crate) fn function(&self, name: &str) -> bool {
        self.functions.iter().any(|glob| glob.matches(name))
    }
}

/// Returns the item of a thread, which is the default at first.
fn of_thread<T: Clone + Default>(all: &mut Vec<T>, thread: u32) -> &mut T {
    let i = thread as usize;
    if all.len() <= i {
        all.resize(i + 1, T::default());
    }
    &mut all[i]
}

/// Number of locks that each thread holds.
#[derive(Default)]
struct Depths(Vec<u32>);

/// Effect of an operation on the outermost lock scope of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    Opens,
    Closes,
    Same,
}

impl Depths {
    fn step(&mut self, thread: u32, kind: SyncKind) -> Scope {
        let depth = of_thread(&mut self.0, thread);
        match kind {
            SyncKind::Lock | SyncKind::ReadLock => {
                *depth += 1;
                if *depth == 1 { Scope::Opens } else { Scope::Same }
            }
            SyncKind::Unlock | SyncKind::ReadUnlock if *depth > 0 => {
                *depth -= 1;
                if *depth == 0 { Scope::Closes } else { Scope::Same }
            }
            _ => Scope::Same,
        }
    }
}

/// Lock scopes that are blocks: for each thread the ordinals of the acquires that open them,
/// ascending, and the number of those that are done.
#[derive(Default, Debug)]
pub(crate) struct Scopes(Vec<(Vec<u64>, usize)>);

impl Scopes {
    /// Whether the acquire with this ordinal opens one; called with ascending ordinals of each
    /// thread.
    fn opens(&mut self, thread: u32, ordinal: u64) -> bool {
        let Some((opening, behind)) = self.0.get_mut(thread as usize) else { return false };
        while opening.get(*behind).is_some_and(|&o| o < ordinal) {
            *behind += 1;
        }
        opening.get(*behind) == Some(&ordinal)
    }
}

/// Lock scopes that become blocks, while the events are written.
pub(crate) struct BlockScopes {
    depths: Depths,
    scopes: Scopes,
    /// Threads in a lock scope that is a block.
    inside: FxHashSet<u32>,
}

impl BlockScopes {
    pub(crate) fn new(scopes: Scopes) -> BlockScopes {
        BlockScopes { depths: Depths::default(), scopes, inside: FxHashSet::default() }
    }

    /// Takes an operation of a thread; returns whether a block begins before it, or ends after it.
    pub(crate) fn step(&mut self, thread: u32, ordinal: u64, kind: SyncKind) -> Scope {
        match self.depths.step(thread, kind) {
            Scope::Opens if self.scopes.opens(thread, ordinal) => {
                self.inside.insert(thread);
                Scope::Opens
            }
            Scope::Closes if self.inside.remove(&thread) => Scope::Closes,
            _ => Scope::Same,
        }
    }
}

/// Finds the lock scopes that are blocks.
#[derive(Default)]
pub(crate) struct ScopeFinder {
    depths: Depths,
    /// For each thread the ordinal of the acquire that opened its scope, and whether the scope has
    /// a wait.
    open: Vec<Option<(u64, bool)>>,
    scopes: Scopes,
}

impl ScopeFinder {
    pub(crate) fn take(&mut self, entry: &Entry<'_>) {
        let Record::Sync { kind, .. } = entry.record else { return };
        if kind == SyncKind::Wait
            && let Some((_, waits)) = of_thread(&mut self.open, entry.thread)
        {
            *waits = true;
        }
        match self.depths.step(entry.thread, kind) {
            Scope::Opens => {
                *of_thread(&mut self.open, entry.thread) = Some((entry.ordinal, false));
            }
            Scope::Closes => self.close(entry.thread),
            Scope::Same => {}
        }
    }

    fn close(&mut self, thread: u32) {
        if let Some((ordinal, false)) = of_thread(&mut self.open, thread).take() {
            of_thread(&mut self.scopes.0, thread).0.push(ordinal);
        }
    }

    /// Returns the scopes. The end of the run closes the open ones.
    pub(crate) fn finish(mut self) -> Scopes {
        (0..self.open.len() as u32).for_each(|thread| self.close(thread));
        self.scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glob_matches_the_whole_name() {
        let m = |p: &str, n: &str| Glob::new(p).matches(n);
        assert!(m("bank_*", "bank_move") && m("*", "") && m("a?c", "abc") && m("*b*d", "abcbd"));
        assert!(!m("bank_*", "bank") && !m("a?c", "ac") && !m("*b", "abc") && !m("", "a"));
    }

    #[test]
    fn outermost_scopes_without_a_wait_are_blocks() {
        let sync = |thread, ordinal, kind| Entry {
            thread,
            ordinal,
            record: Record::Sync { kind, pc: 0, object: 1, other: 2 },
        };
        let mut f = ScopeFinder::default();
        use SyncKind::*;
        for (ordinal, kind) in [Lock, ReadLock, Unlock, ReadUnlock, Lock, Wait, Woken, Unlock, Lock]
            .into_iter()
            .enumerate()
        {
            f.take(&sync(1, ordinal as u64, kind));
        }
        let mut scopes = f.finish();
        let opening: Vec<u64> = (0..10).filter(|&o| scopes.opens(1, o)).collect();
        assert_eq!((opening, scopes.opens(2, 0)), (vec![0, 8], false));
    }
}
