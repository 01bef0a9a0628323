//! Writes a benchmark program: the code of its threads, and the ordinary work that fills it up.

use super::Shape;
use crate::program::{Coder, Do, Instr, Object, Rhs, Test};

/// Ordinary work to add: private objects, accesses to them, sections and blocks around those, and
/// notifications without a waiter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Filling {
    variables: usize,
    accesses: usize,
    locks: usize,
    sections: usize,
    conditions: usize,
    notifies: usize,
    blocks: usize,
}

impl Filling {
    /// Counts that a measured trace lacks.
    pub(super) fn new(shape: &Shape, bare: &Shape) -> Filling {
        let missing = |wanted: Option<usize>, there: Option<usize>| {
            wanted.unwrap_or(0).saturating_sub(there.unwrap_or(0))
        };
        let mut filling = Filling {
            variables: missing(shape.variables, bare.variables),
            locks: missing(shape.locks, bare.locks),
            sections: missing(shape.lock_events, bare.lock_events) / 2,
            conditions: missing(shape.conditions, bare.conditions),
            notifies: missing(shape.wait_notifies, bare.wait_notifies),
            blocks: missing(shape.blocks, bare.blocks),
            accesses: missing(shape.accesses, bare.accesses),
        };
        filling.locks = filling.locks.min(filling.sections);
        if shape.accesses.is_none() {
            let others = 2 * filling.sections + 2 * filling.blocks + filling.notifies;
            filling.accesses = missing(shape.events, bare.events).saturating_sub(others);
        }
        filling
    }
}

/// The threads of a program; the first one is the main thread.
pub(super) struct Build {
    pub(super) threads: Vec<Coder>,
    pub(super) shape: Shape,
    variables: usize,
    /// Variables of ordinary work among them.
    objects: usize,
    locks: usize,
    conditions: usize,
}

/// Lines of the main thread, of what all other threads run, and of ordinary work.
const MAIN: u32 = 1;
const WORKER: u32 = 1_000;
const WORK: u32 = 100_000;

impl Build {
    pub(super) fn new(shape: &Shape, filling: &Filling) -> Build {
        let threads = shape.threads.max(2);
        let mut build = Build {
            threads: (0..threads).map(|_| Coder::at(WORK)).collect(),
            shape: Shape { threads, ..*shape },
            variables: 0,
            objects: 0,
            locks: 0,
            conditions: 0,
        };
        build.work(filling);
        for (t, coder) in build.threads.iter_mut().enumerate() {
            coder.move_to(if t == 0 { MAIN } else { WORKER });
        }
        build
    }

    /// Number of threads that the main thread forks.
    pub(super) fn workers(&self) -> usize {
        self.shape.threads - 1
    }

    pub(super) fn variable(&mut self) -> Object {
        self.variables += 1;
        Object::from(self.variables - 1)
    }

    pub(super) fn lock(&mut self) -> Object {
        self.locks += 1;
        Object::from(self.locks - 1)
    }

    pub(super) fn condition(&mut self) -> Object {
        self.conditions += 1;
        Object::from(self.conditions - 1)
    }

    pub(super) fn variables(&mut self, n: usize) -> Vec<Object> {
        (0..n).map(|_| self.variable()).collect()
    }

    pub(super) fn locks(&mut self, n: usize) -> Vec<Object> {
        (0..n).map(|_| self.lock()).collect()
    }

    pub(super) fn main(&mut self) -> &mut Coder {
        &mut self.threads[0]
    }

    pub(super) fn fork_all(&mut self) {
        for t in 1..self.threads.len() {
            self.main().add(Do::Fork(t));
        }
    }

    pub(super) fn join_all(&mut self) {
        for t in 1..self.threads.len() {
            self.main().add(Do::Join(t));
        }
    }

    pub(super) fn finish(self) -> Vec<Vec<Instr>> {
        self.threads.into_iter().map(Coder::finish).collect()
    }

    /// Two different threads for the `i`-th thing that two threads do: workers, or the only worker
    /// and the main thread.
    fn pair(&self, i: usize) -> (usize, usize) {
        let workers = self.workers();
        if workers == 1 { (1, 0) } else { (1 + i % workers, 1 + (i + 1) % workers) }
    }

    /// As many races as are asked for: one for each of as many variables, or, where the table has
    /// fewer variables than races, one for each reader of a variable. The main thread has forked
    /// all others.
    pub(super) fn races(&mut self) {
        let races = self.shape.races;
        let own = self.variables - self.objects;
        let variables = self.shape.variables.map_or(races, |n| n.saturating_sub(own + 2));
        let readers = races.div_ceil(variables.max(1)).min(self.workers().saturating_sub(1));
        if readers < 2 {
            for i in 0..races {
                let x = self.variable();
                let (a, b) = self.pair(i);
                for t in [a, b] {
                    write(&mut self.threads[t], x, Rhs::Fresh);
                }
            }
            return;
        }
        let workers = self.workers();
        let mut left = races;
        while left > 0 {
            let x = self.variable();
            write(&mut self.threads[1 + left % workers], x, Rhs::Fresh);
            for i in 1..=readers.min(left) {
                read(&mut self.threads[1 + (left + i) % workers], x, 0);
            }
            left -= readers.min(left);
        }
    }

    /// As many blocks as are asked for that set something in two steps while another thread sets it
    /// as well: with a section for each step, so that they are not atomic, or with one for both, so
    /// that they are.
    pub(super) fn blocks(&mut self, lock: Object) {
        let violations = self.shape.violations;
        for i in 0..violations + self.shape.guarded {
            let x = self.variable();
            let (a, b) = self.pair(i);
            let coder = &mut self.threads[a];
            coder.add(Do::Begin);
            if i < violations {
                for _ in 0..2 {
                    locked(coder, lock, |c| write(c, x, Rhs::Fresh));
                }
            } else {
                locked(coder, lock, |c| {
                    write(c, x, Rhs::Fresh);
                    write(c, x, Rhs::Fresh);
                });
            }
            coder.add(Do::End);
            locked(&mut self.threads[b], lock, |c| write(c, x, Rhs::Fresh));
        }
    }

    /// Ordinary work: objects that the main thread makes and one worker uses.
    fn work(&mut self, filling: &Filling) {
        let workers = self.workers();
        let none = filling.variables == 0 && filling.accesses > 0;
        let objects = self.variables(filling.variables + usize::from(none));
        self.objects = objects.len();
        let locks = self.locks(filling.locks);
        let conditions: Vec<Object> = (0..filling.conditions).map(|_| self.condition()).collect();
        let made = objects.len().min(filling.accesses);
        for &x in &objects[..made] {
            write(self.main(), x, Rhs::Const(1));
        }
        let share = |n: usize, w: usize| n / workers + usize::from(w < n % workers);
        // A thread without an object has no accesses.
        let users = objects.len().clamp(1, workers);
        let mut sections = 0;
        for w in 0..workers {
            let own: Vec<Object> = objects.iter().copied().skip(w).step_by(workers).collect();
            let accesses = filling.accesses - made;
            let accesses = accesses / users + usize::from(w < accesses % users);
            let work = Work {
                objects: own,
                accesses: if w < users { accesses } else { 0 },
                locks: if locks.is_empty() { vec![Object::from(0)] } else { locks.clone() },
                first_lock: sections,
                sections: share(filling.sections, w),
                blocks: share(filling.blocks, w),
            };
            sections += work.sections;
            work.write(&mut self.threads[w + 1]);
        }
        for i in 0..filling.notifies {
            let condition = conditions.get(i % conditions.len().max(1)).copied();
            let coder = &mut self.threads[1 + i % workers];
            coder.move_to(WORK + 1);
            coder.add(Do::Notify(condition.unwrap_or(Object::from(0))));
        }
    }
}

/// The ordinary work of one worker.
struct Work {
    objects: Vec<Object>,
    accesses: usize,
    locks: Vec<Object>,
    first_lock: usize,
    sections: usize,
    blocks: usize,
}

impl Work {
    fn write(&self, coder: &mut Coder) {
        let parts = self.sections.max(self.blocks).max(1);
        let mut done = 0;
        for part in 0..parts {
            coder.move_to(WORK);
            let until = self.accesses * (part + 1) / parts;
            if part < self.blocks {
                coder.add(Do::Begin);
            }
            let lock = self.locks[(self.first_lock + part) % self.locks.len()];
            if part < self.sections {
                coder.add(Do::Acquire(lock));
            }
            while done < until {
                let x = self.objects[done / 3 % self.objects.len()];
                if done % 3 == 2 {
                    write(coder, x, Rhs::Plus(0, 1))
                } else {
                    read(coder, x, 0)
                }
                done += 1;
            }
            if part < self.sections {
                coder.add(Do::Release(lock));
            }
            if part < self.blocks {
                coder.add(Do::End);
            }
        }
    }
}

pub(super) fn read(coder: &mut Coder, var: Object, into: u8) {
    coder.add(Do::Read { var, atomic: false, into });
}

pub(super) fn write(coder: &mut Coder, var: Object, value: Rhs) {
    coder.add(Do::Write { var, atomic: false, value });
}

/// Adds something to a variable.
pub(super) fn add(coder: &mut Coder, var: Object, n: i64) {
    read(coder, var, 0);
    write(coder, var, Rhs::Plus(0, n));
}

pub(super) fn locked(coder: &mut Coder, lock: Object, body: impl FnOnce(&mut Coder)) {
    coder.add(Do::Acquire(lock));
    body(coder);
    coder.add(Do::Release(lock));
}

/// Inside a section of `lock`: waits as long as the test holds for the variable, which ends up in
/// local 0.
pub(super) fn wait_while(
    coder: &mut Coder,
    (cond, lock): (Object, Object),
    var: Object,
    test: Test,
) {
    let again = coder.here();
    read(coder, var, 0);
    let done = coder.leap(Do::Branch { test, otherwise: 0 });
    coder.add(Do::Wait { cond, lock, timed: false });
    coder.add(Do::Jump(again));
    coder.land(done);
}
