//! Random structured code: statements drawn by weight, sections that close what they open.
//!
//! Code drawn here can be run for millions of events without getting stuck: sections that take a
//! second lock are run by one thread at a time (`Do::Lucky`), and waits are never inside them.

use crate::program::{Coder, Do, Local, Rhs, Test};
use crate::rng::Rng;

/// Relative frequency of each kind of statement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weights {
    pub(crate) access: usize,
    pub(crate) atomic: usize,
    pub(crate) update: usize,
    pub(crate) section: usize,
    pub(crate) shared: usize,
    pub(crate) attempt: usize,
    /// A try for the reader side.
    pub(crate) attempt_shared: usize,
    /// A writer that takes the reader side too.
    pub(crate) downgrade: usize,
    /// A use of hidden state.
    pub(crate) hidden: usize,
    pub(crate) block: usize,
    pub(crate) wait: usize,
    pub(crate) notify: usize,
    pub(crate) semaphore: usize,
    pub(crate) barrier: usize,
    pub(crate) fence: usize,
}

/// Values that programs write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writes {
    /// Mostly values that were not written before.
    Distinct,
    /// 0 and 1, and what was read.
    Few,
    /// Functions of what was read.
    Computed,
}

/// Choices of a random program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) weights: Weights,
    pub(crate) writes: Writes,
    pub(crate) variables: usize,
    pub(crate) locks: usize,
    /// Percentage of accesses that write.
    pub(crate) writing: usize,
    /// Percentage of sections that may hold others.
    pub(crate) nesting: usize,
    /// Percentage of reads that a branch follows.
    pub(crate) branching: usize,
    /// Percentage of waits that may time out.
    pub(crate) timed: usize,
    /// Percentage of blocks and sections, at the end of a thread, that stay open.
    pub(crate) open: usize,
    /// Variables after the others that most atomic accesses use.
    pub(crate) flags: usize,
}

impl Style {
    pub(crate) fn new(weights: Weights, variables: usize, locks: usize) -> Style {
        Style {
            weights,
            writes: Writes::Distinct,
            variables,
            locks,
            writing: 50,
            nesting: 40,
            branching: 10,
            timed: 50,
            open: 5,
            flags: 0,
        }
    }
}

/// Draws statements into a coder.
pub(crate) struct Grammar<'a> {
    pub(crate) rng: &'a mut Rng,
    pub(crate) style: &'a Style,
    pub(crate) coder: &'a mut Coder,
    /// Locks held here, and whether shared.
    held: Vec<(usize, bool)>,
    /// Whether the sections held here may hold others.
    nests: bool,
}

/// The cheapest body of a section.
const BODY: usize = 1;

impl<'a> Grammar<'a> {
    pub(crate) fn new(rng: &'a mut Rng, style: &'a Style, coder: &'a mut Coder) -> Grammar<'a> {
        Grammar { rng, style, coder, held: Vec::new(), nests: true }
    }

    /// Statements worth about `budget` events.
    pub(crate) fn statements(&mut self, mut budget: usize) {
        while budget > 0 {
            budget = budget.saturating_sub(self.statement(budget));
        }
    }

    /// One statement; how many events it makes.
    fn statement(&mut self, budget: usize) -> usize {
        let w = self.style.weights;
        let free = self.held.is_empty();
        let may_lock = budget >= 2 + BODY && (free || self.nests && self.held.len() < 3);
        let only = |condition: bool, weight: usize| if condition { weight } else { 0 };
        let weights = [
            w.access,
            w.atomic,
            w.update,
            only(may_lock, w.section),
            only(may_lock, w.shared),
            only(may_lock, w.attempt),
            only(budget >= 2 + BODY, w.block),
            only(free && budget >= 4, w.wait),
            w.notify,
            w.semaphore,
            only(free && budget >= 2, w.barrier),
            only(may_lock, w.attempt_shared),
            only(free && budget >= 4 + BODY, w.downgrade),
            w.hidden,
            w.fence,
        ];
        match self.rng.weighted(&weights) {
            1 => self.access(true),
            2 => self.update(),
            3 => self.section(budget, false),
            4 => self.section(budget, true),
            5 => self.attempt(budget, false),
            6 => self.block(budget),
            7 => self.wait(budget),
            8 => self.notify(),
            9 => self.semaphore(),
            10 => self.barrier(),
            11 => self.attempt(budget, true),
            12 => self.downgrade(budget),
            13 => self.hidden(),
            14 => {
                self.coder.add(Do::Fence);
                1
            }
            _ => self.access(false),
        }
    }

    fn variable(&mut self) -> usize {
        self.rng.below(self.style.variables)
    }

    /// A variable to access: where there are flags, mostly one of them if the access is atomic.
    fn accessed(&mut self, atomic: bool) -> usize {
        let Style { variables, flags, .. } = *self.style;
        if flags > 0 && self.rng.chance(if atomic { 92 } else { 4 }) {
            return variables + self.rng.below(flags);
        }
        self.variable()
    }

    fn local(&mut self) -> Local {
        self.rng.below(3) as Local
    }

    fn rhs(&mut self) -> Rhs {
        let local = self.local();
        match self.style.writes {
            Writes::Distinct if self.rng.chance(80) => Rhs::Fresh,
            Writes::Distinct => Rhs::Const(self.rng.below(2) as i64),
            Writes::Few => match self.rng.below(4) {
                0 => Rhs::Mod(local, 2),
                _ => Rhs::Const(self.rng.below(2) as i64),
            },
            Writes::Computed => match self.rng.below(7) {
                0 => Rhs::Const(self.rng.below(3) as i64),
                1 | 2 => Rhs::Plus(local, 1),
                3 => Rhs::Sum(local, self.local()),
                4 => Rhs::Mod(local, 2),
                5 => Rhs::IfEq(local, self.rng.below(2) as i64, self.rng.below(3) as i64),
                _ => Rhs::Random(2),
            },
        }
    }

    fn access(&mut self, atomic: bool) -> usize {
        let var = self.accessed(atomic).into();
        if self.rng.chance(self.style.writing) {
            let value = self.rhs();
            self.coder.add(Do::Write { var, atomic, value });
            return 1;
        }
        let into = self.local();
        self.coder.add(Do::Read { var, atomic, into });
        if self.rng.chance(self.style.branching) { 1 + self.branch(into) } else { 1 }
    }

    fn branch(&mut self, local: Local) -> usize {
        let c = self.rng.below(3) as i64;
        let test = match self.rng.below(5) {
            0 => Test::Lt(local, c),
            1 => Test::Ge(local, c),
            2 => Test::Eq(local, c),
            3 => Test::Ne(local, c),
            _ => Test::SameAs(local, self.local()),
        };
        let branch = self.coder.leap(Do::Branch { test, otherwise: 0 });
        if self.rng.chance(70) {
            self.access(false);
        }
        self.coder.land(branch);
        2
    }

    fn update(&mut self) -> usize {
        let (var, into) = (self.accessed(true).into(), self.local());
        let value = match self.style.writes {
            Writes::Few => Rhs::IfEq(into, 0, 1),
            _ if self.rng.chance(60) => Rhs::Plus(into, 1),
            _ => self.rhs(),
        };
        self.coder.add(Do::Update { var, into, value });
        1
    }

    /// A lock to take: not one that is held shared, seldom one that is held already.
    fn lock_to_take(&mut self, shared: bool) -> Option<usize> {
        let lock = self.rng.below(self.style.locks);
        let next = (lock + 1) % self.style.locks;
        match self.held.iter().find(|h| h.0 == lock) {
            None => Some(lock),
            Some(&(_, held_shared)) if held_shared == shared && self.rng.chance(25) => Some(lock),
            Some(_) => (!self.held.iter().any(|h| h.0 == next)).then_some(next),
        }
    }

    fn section(&mut self, budget: usize, shared: bool) -> usize {
        let Some(lock) = self.lock_to_take(shared) else { return self.access(false) };
        let (take, give) = if shared {
            (Do::AcquireShared(lock.into()), Do::ReleaseShared(lock.into()))
        } else {
            (Do::Acquire(lock.into()), Do::Release(lock.into()))
        };
        let (outer, nests) = (self.held.is_empty(), self.nests);
        if outer {
            self.nests = self.rng.chance(self.style.nesting);
        }
        let lucky = outer && self.nests;
        if lucky {
            self.coder.add(Do::Lucky);
        }
        self.coder.add(take);
        self.held.push((lock, shared));
        let inside = if lucky && budget >= 5 && self.rng.chance(50) {
            self.section(budget - 2, shared)
        } else {
            self.body(budget - 2)
        };
        self.held.pop();
        // Cut off inside the section, if this is the end.
        let closes = budget > inside + 4 || !outer || !self.rng.chance(self.style.open);
        if closes {
            self.coder.add(give);
        }
        if lucky {
            self.coder.add(Do::Unlucky);
        }
        self.nests = nests;
        inside + 2
    }

    fn body(&mut self, budget: usize) -> usize {
        let inside = self.rng.between(BODY, budget.clamp(BODY, 6));
        self.statements(inside);
        inside
    }

    fn attempt(&mut self, budget: usize, shared: bool) -> usize {
        let Some(lock) = self.lock_to_take(shared) else { return self.access(false) };
        let object = lock.into();
        let (attempt, give) = if shared {
            (Do::TryShared { lock: object, otherwise: 0 }, Do::ReleaseShared(object))
        } else {
            (Do::Try { lock: object, otherwise: 0 }, Do::Release(object))
        };
        let attempt = self.coder.leap(attempt);
        let nests = std::mem::replace(&mut self.nests, false);
        self.held.push((lock, shared));
        let inside = self.body((budget - 2).min(3));
        self.held.pop();
        self.nests = nests;
        self.coder.add(give);
        self.coder.land(attempt);
        inside + 2
    }

    /// A writer's section in which the thread takes the reader side too; most give the writer side
    /// back first.
    fn downgrade(&mut self, budget: usize) -> usize {
        let lock = self.rng.below(self.style.locks);
        let (object, nests) = (lock.into(), std::mem::replace(&mut self.nests, false));
        self.held.push((lock, false));
        self.coder.add(Do::Acquire(object));
        let mut inside = 0;
        let steps = if self.rng.chance(75) {
            [Do::AcquireShared(object), Do::Release(object), Do::ReleaseShared(object)]
        } else {
            [Do::AcquireShared(object), Do::ReleaseShared(object), Do::Release(object)]
        };
        for step in steps {
            if self.rng.chance(50) && budget > 4 + inside {
                inside += self.access(false);
            }
            self.coder.add(step);
        }
        self.held.pop();
        self.nests = nests;
        inside + 4
    }

    fn hidden(&mut self) -> usize {
        let state = self.style.variables + self.rng.below(2);
        self.coder.add(Do::Hidden(state.into()));
        1
    }

    fn block(&mut self, budget: usize) -> usize {
        self.coder.add(Do::Begin);
        let inside = self.rng.between((BODY + 1).min(budget - 2), (budget - 2).min(8));
        self.statements(inside);
        if budget > inside + 4 || !self.rng.chance(self.style.open) {
            self.coder.add(Do::End);
        }
        inside + 2
    }

    fn wait(&mut self, budget: usize) -> usize {
        let lock = self.rng.below(self.style.locks);
        let deep = budget >= 6 && self.rng.chance(20);
        let timed = self.rng.chance(self.style.timed);
        let (cond, lock) = (self.rng.below(2).into(), lock.into());
        self.coder.add(Do::Acquire(lock));
        if deep {
            self.coder.add(Do::Acquire(lock));
        }
        if self.rng.chance(40) {
            self.access(false);
        }
        self.coder.add(Do::Wait { cond, lock, timed });
        if self.rng.chance(60) {
            self.access(false);
        }
        if deep {
            self.coder.add(Do::Release(lock));
        }
        self.coder.add(Do::Release(lock));
        if deep { 7 } else { 5 }
    }

    fn notify(&mut self) -> usize {
        let cond = self.rng.below(2).into();
        self.coder.add(if self.rng.chance(30) { Do::NotifyAll(cond) } else { Do::Notify(cond) });
        1
    }

    fn semaphore(&mut self) -> usize {
        let sem = self.rng.below(2).into();
        // More posts than downs: a run should not end for want of one.
        self.coder.add(if self.rng.chance(55) { Do::Post(sem) } else { Do::Down(sem) });
        1
    }

    fn barrier(&mut self) -> usize {
        let barrier = self.rng.below(2).into();
        self.coder.add(Do::Arrive(barrier));
        if self.rng.chance(50) {
            self.access(false);
        }
        self.coder.add(Do::Leave(barrier));
        2
    }
}
