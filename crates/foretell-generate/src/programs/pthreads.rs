//! The C and C++ programs: the thread manager of the nondeterminism and serializability papers, and
//! the examples of the symbolic atomicity paper (table 1).

use super::build::{Build, add, locked, read, wait_while, write};
use crate::program::{Do, Object, Rhs, Test};

/// Workers that say that they are there and wait for tasks on one monitor; the main thread waits
/// for all of them and then adds tasks.
pub(super) fn thread_manager(b: &mut Build) {
    let workers = b.workers();
    let rounds = (8 / workers).max(1);
    let (there, tasks, done) = (b.variable(), b.variable(), b.variables(workers));
    let (monitor, own) = (b.lock(), b.locks(workers));
    let (started, added) = (b.condition(), b.condition());
    b.fork_all();
    let main = b.main();
    locked(main, monitor, |c| {
        wait_while(c, (started, monitor), there, Test::Lt(0, workers as i64));
    });
    for _ in 0..rounds * workers {
        locked(main, monitor, |c| {
            add(c, tasks, 1);
            c.add(Do::Notify(added));
        });
    }
    for w in 0..workers {
        let c = &mut b.threads[w + 1];
        locked(c, monitor, |c| {
            add(c, there, 1);
            c.add(Do::Notify(started));
        });
        for _ in 0..rounds {
            locked(c, monitor, |c| {
                wait_while(c, (added, monitor), tasks, Test::Eq(0, 0));
                write(c, tasks, Rhs::Plus(0, -1));
            });
            locked(c, own[w], |c| add(c, done[w], 1));
        }
    }
    b.races();
    b.blocks(monitor);
    b.join_all();
}

/// A block sets a length and uses it; another thread sets it in between.
pub(super) fn atom1(b: &mut Build) {
    set_and_use(b, 1, false);
}

/// [`atom1`] with a lock around the block.
pub(super) fn atom1_fixed(b: &mut Build) {
    set_and_use(b, 1, true);
}

/// A block reopens a log and reads its state; another thread writes 33 entries.
pub(super) fn atom2(b: &mut Build) {
    set_and_use(b, 33, false);
}

/// [`atom2`] with a lock around the block.
pub(super) fn atom2_fixed(b: &mut Build) {
    set_and_use(b, 33, true);
}

fn set_and_use(b: &mut Build, entries: usize, fixed: bool) {
    let (x, lock) = (b.variable(), b.lock());
    b.fork_all();
    let c = &mut b.threads[1];
    c.add(Do::Begin);
    if fixed {
        c.add(Do::Acquire(lock));
    }
    write(c, x, Rhs::Const(0));
    read(c, x, 0);
    if fixed {
        c.add(Do::Release(lock));
    }
    c.add(Do::End);
    let other = &mut b.threads[2 % b.shape.threads];
    for _ in 0..entries {
        locked(other, lock, |c| write(c, x, Rhs::Fresh));
    }
    b.join_all();
}

/// Marks of a transfer that a fix protects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fix {
    None,
    Source,
    Both,
}

/// Transfers in a ring: each worker's account is the next one's source and its own target.
pub(super) fn bank_av(b: &mut Build) {
    bank(b, Fix::None);
}

/// The bank with the source of a transfer kept locked.
pub(super) fn bank_sav(b: &mut Build) {
    bank(b, Fix::Source);
}

/// The bank with both accounts of a transfer kept locked.
pub(super) fn bank_nav(b: &mut Build) {
    bank(b, Fix::Both);
}

/// Each worker's block marks the target and the source of a transfer, moves the money under both
/// balances' locks, and takes the marks away. Each account is the source of one block and the
/// target of another, and each of the two can set its mark between the other one's: four violations
/// in a block.
fn bank(b: &mut Build, fix: Fix) {
    let n = b.workers();
    let (balance, mark) = (b.variables(n), b.variables(n));
    let (money, guard) = (b.locks(n), b.locks(n));
    for &balance in &balance {
        write(b.main(), balance, Rhs::Const(100));
    }
    b.fork_all();
    for w in 0..n {
        let (from, to) = (w, (w + 1) % n);
        let (low, high) = (from.min(to), from.max(to));
        let c = &mut b.threads[w + 1];
        let set = |c: &mut crate::program::Coder, value: i64| match fix {
            Fix::Source => locked(c, guard[to], |c| write(c, mark[to], Rhs::Const(value))),
            _ => write(c, mark[to], Rhs::Const(value)),
        };
        let held: Vec<Object> = match fix {
            Fix::None => vec![],
            Fix::Source => vec![guard[from]],
            Fix::Both => vec![guard[low], guard[high]],
        };
        let take = |c: &mut crate::program::Coder| {
            for &lock in &held {
                c.add(Do::Acquire(lock));
            }
        };
        let free = |c: &mut crate::program::Coder| {
            for &lock in held.iter().rev() {
                c.add(Do::Release(lock));
            }
        };
        c.add(Do::Begin);
        if fix == Fix::Both {
            take(c);
        }
        set(c, w as i64 + 1);
        if fix != Fix::Both {
            take(c);
        }
        write(c, mark[from], Rhs::Const(w as i64 + 1));
        locked(c, money[low], |c| {
            locked(c, money[high], |c| {
                add(c, balance[from], -10);
                add(c, balance[to], 10);
            });
        });
        write(c, mark[from], Rhs::Const(0));
        if fix != Fix::Both {
            free(c);
        }
        set(c, 0);
        if fix == Fix::Both {
            free(c);
        }
        c.add(Do::End);
    }
    b.join_all();
    for &balance in &balance {
        read(b.main(), balance, 0);
    }
}
