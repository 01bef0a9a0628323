//! The Java programs of the race-witness paper (table 3), which the nondeterminism and
//! serializability papers use as well: monitors with wait and notify, `synchronized` methods, and
//! fields that some method forgets to protect.

use super::build::{Build, add, locked, read, wait_while, write};
use crate::program::{Do, Object, Rhs, Test};

/// Figure 1 of the race-witness paper: `a.add(b)` in one thread, `b.add(a)` in another; `get` is
/// not synchronized.
pub(super) fn example(b: &mut Build) {
    values(b, false);
}

/// Figure 1 with a synchronized `get`.
pub(super) fn example_fixed(b: &mut Build) {
    values(b, true);
}

fn values(b: &mut Build, synchronized: bool) {
    let x = b.variables(2);
    let monitor = b.locks(2);
    for &x in &x {
        write(b.main(), x, Rhs::Const(1));
    }
    b.fork_all();
    for t in 1..b.threads.len() {
        let (own, other) = ((t - 1) % 2, t % 2);
        locked(&mut b.threads[t], monitor[own], |c| {
            read(c, x[own], 0);
            if synchronized {
                locked(c, monitor[other], |c| read(c, x[other], 1));
            } else {
                read(c, x[other], 1);
            }
            write(c, x[own], Rhs::Sum(0, 1));
        });
    }
}

/// Two tasks, each of which looks at the other one's event count without its monitor.
pub(super) fn remote_agent(b: &mut Build) {
    let count = b.variables(2);
    let monitor = b.locks(2);
    let cond = [b.condition(), b.condition()];
    b.fork_all();
    for t in 1..b.threads.len() {
        let (own, other) = ((t - 1) % 2, t % 2);
        let c = &mut b.threads[t];
        locked(c, monitor[own], |c| {
            add(c, count[own], 1);
            c.add(Do::NotifyAll(cond[own]));
        });
        read(c, count[other], 1);
    }
    b.join_all();
}

/// A pool of one connection: clients wait for it, use it without a lock, and give it back.
pub(super) fn pool(b: &mut Build) {
    let (free, connection) = (b.variable(), b.variable());
    let (monitor, cond) = (b.lock(), b.condition());
    write(b.main(), free, Rhs::Const(1));
    b.fork_all();
    for t in 1..b.threads.len() {
        let c = &mut b.threads[t];
        locked(c, monitor, |c| {
            wait_while(c, (cond, monitor), free, Test::Eq(0, 0));
            write(c, free, Rhs::Plus(0, -1));
        });
        add(c, connection, 1);
        c.add(Do::Begin);
        locked(c, monitor, |c| {
            add(c, free, 1);
            c.add(Do::Notify(cond));
        });
        c.add(Do::End);
    }
    b.blocks(monitor);
    b.join_all();
}

/// Workers with a monitor each and some that they share.
pub(super) fn liveness(b: &mut Build) {
    let workers = b.workers();
    let (own, shared) = (b.locks(workers), b.locks(3));
    let (state, total) = (b.variables(workers), b.variables(3));
    b.fork_all();
    for w in 0..workers {
        let c = &mut b.threads[w + 1];
        locked(c, own[w], |c| add(c, state[w], 1));
        locked(c, shared[w % 3], |c| add(c, total[w % 3], 1));
    }
    b.races();
    b.blocks(shared[0]);
    b.join_all();
}

/// Accounts with a lock each. The main thread waits for each worker to be ready before it starts
/// the next one. A worker sets its own account under its lock and pays into the next one without:
/// one race for each account but the first.
pub(super) fn account(b: &mut Build) {
    let workers = b.workers();
    let (account, ready, total) = (b.variables(workers), b.variables(workers), b.variable());
    let (guard, monitor, bank) = (b.locks(workers), b.locks(workers), b.lock());
    let cond: Vec<Object> = (0..workers).map(|_| b.condition()).collect();
    for &account in &account {
        write(b.main(), account, Rhs::Const(100));
    }
    for w in 0..workers {
        let main = b.main();
        main.add(Do::Fork(w + 1));
        locked(main, monitor[w], |c| {
            wait_while(c, (cond[w], monitor[w]), ready[w], Test::Eq(0, 0));
        });
        let c = &mut b.threads[w + 1];
        locked(c, monitor[w], |c| {
            write(c, ready[w], Rhs::Const(1));
            c.add(Do::Notify(cond[w]));
        });
        locked(c, guard[w], |c| write(c, account[w], Rhs::Fresh));
        locked(c, bank, |c| add(c, total, 1));
        if let Some(&next) = account.get(w + 1) {
            write(c, next, Rhs::Fresh);
        }
    }
    b.blocks(bank);
    b.join_all();
    for &account in &account {
        read(b.main(), account, 0);
    }
}

/// A counter that is incremented under a lock of the class and, inside it, one of the object.
pub(super) fn sync_bench(b: &mut Build) {
    let locks = b.locks(2);
    let counter = b.variable();
    b.fork_all();
    for t in 1..b.threads.len() {
        locked(&mut b.threads[t], locks[0], |c| {
            locked(c, locks[1], |c| add(c, counter, 1));
        });
    }
    b.races();
    b.blocks(locks[0]);
    b.join_all();
}

/// A barrier: the last thread starts the next phase and wakes the waiting ones.
pub(super) fn barrier_bench(b: &mut Build) {
    let (count, phase) = (b.variable(), b.variable());
    let (lock, cond) = (b.lock(), b.condition());
    let wanted = b.shape.wait_notifies.unwrap_or(b.workers());
    let parties = b.workers().min(wanted).max(1);
    let phases = (wanted / parties).max(1) as i64;
    b.fork_all();
    for k in 1..=phases {
        for t in 1..=parties {
            locked(&mut b.threads[t], lock, |c| {
                add(c, count, 1);
                let others = parties as i64 - 1;
                let early = c.leap(Do::Branch { test: Test::Eq(0, others), otherwise: 0 });
                write(c, count, Rhs::Const(0));
                add(c, phase, 1);
                c.add(Do::NotifyAll(cond));
                let done = c.leap(Do::Jump(0));
                c.land(early);
                wait_while(c, (cond, lock), phase, Test::Lt(0, k));
                c.land(done);
            });
        }
    }
    b.races();
    b.blocks(lock);
    b.join_all();
}

/// Philosophers whose forks are monitors: the lower one first, so that none starves.
pub(super) fn philosophers(b: &mut Build) {
    let n = b.workers();
    let (taken, plates) = (b.variables(n), b.variables(n));
    let monitor = b.locks(n);
    let cond: Vec<Object> = (0..n).map(|_| b.condition()).collect();
    let meals = (b.shape.lock_events.unwrap_or(0) / (8 * n)).max(1);
    b.fork_all();
    for (w, plate) in plates.into_iter().enumerate() {
        let mut forks = vec![w.min((w + 1) % n), w.max((w + 1) % n)];
        forks.dedup();
        let c = &mut b.threads[w + 1];
        for _ in 0..meals {
            for &f in &forks {
                locked(c, monitor[f], |c| {
                    wait_while(c, (cond[f], monitor[f]), taken[f], Test::Ne(0, 0));
                    write(c, taken[f], Rhs::Const(1));
                });
            }
            add(c, plate, 1);
            for &f in &forks {
                locked(c, monitor[f], |c| {
                    write(c, taken[f], Rhs::Const(0));
                    c.add(Do::Notify(cond[f]));
                });
            }
        }
    }
    b.races();
    b.blocks(monitor[0]);
    b.join_all();
}

/// A pool of workers that take tasks from a queue; each task has a lock and a result.
pub(super) fn crawler(b: &mut Build) {
    let workers = b.workers();
    let (queue, result) = (b.variable(), b.variables(workers));
    let (pool, task) = (b.lock(), b.locks(workers));
    write(b.main(), queue, Rhs::Const(workers as i64));
    b.fork_all();
    for w in 0..workers {
        let c = &mut b.threads[w + 1];
        locked(c, pool, |c| add(c, queue, -1));
        locked(c, task[w], |c| write(c, result[w], Rhs::Fresh));
        locked(c, task[(w + 1) % workers], |c| read(c, result[(w + 1) % workers], 0));
    }
    b.races();
    b.blocks(pool);
    b.join_all();
}

/// Files: the lock of an inode, and inside it that of a block.
pub(super) fn file_system(b: &mut Build) {
    const FILES: usize = 4;
    let (inode, block) = (b.locks(FILES), b.locks(FILES));
    let (size, data) = (b.variables(FILES), b.variables(FILES));
    b.fork_all();
    for t in 1..b.threads.len() {
        for i in 0..FILES {
            let (file, place) = ((t + i) % FILES, (t + i / 2) % FILES);
            locked(&mut b.threads[t], inode[file], |c| {
                read(c, size[file], 1);
                locked(c, block[place], |c| add(c, data[place], 1));
                write(c, size[file], Rhs::Plus(1, 1));
            });
        }
    }
    b.races();
    b.blocks(inode[0]);
    b.join_all();
}

/// Lifts that claim calls at floors, each floor with its monitor.
pub(super) fn elevator(b: &mut Build) {
    const FLOORS: usize = 10;
    let floor = b.locks(FLOORS);
    let call = b.variables(FLOORS);
    for &call in &call {
        write(b.main(), call, Rhs::Const(1));
    }
    b.fork_all();
    for t in 1..b.threads.len() {
        for i in 0..FLOORS {
            let f = (t * 3 + i) % FLOORS;
            locked(&mut b.threads[t], floor[f], |c| {
                read(c, call[f], 0);
                let taken = c.leap(Do::Branch { test: Test::Eq(0, 1), otherwise: 0 });
                write(c, call[f], Rhs::Const(0));
                c.land(taken);
            });
        }
    }
    b.races();
    b.blocks(floor[0]);
    b.join_all();
}

/// Tours from a queue under a lock, the shortest one under another.
pub(super) fn tsp(b: &mut Build) {
    let (queue, shortest) = (b.variable(), b.variable());
    let locks = b.locks(2);
    write(b.main(), queue, Rhs::Const(100));
    write(b.main(), shortest, Rhs::Const(1_000));
    b.fork_all();
    for t in 1..b.threads.len() {
        let c = &mut b.threads[t];
        locked(c, locks[0], |c| add(c, queue, -1));
        locked(c, locks[1], |c| add(c, shortest, -1));
    }
    b.races();
    b.blocks(locks[1]);
    b.join_all();
}
