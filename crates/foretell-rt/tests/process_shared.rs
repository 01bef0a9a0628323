//! Synchronisation objects that a recorded parent shares with its forked child, which is not
//! recorded: each is left to the C library, and the parent waits for it without the baton.

mod common;

use common::Program;
use foretell_rt_format::Record;

/// Records the parent with one kind of object, and expects the plain program's output and status.
/// `call` is the library function that the parent waits in.
fn check(kind: &str, call: Option<&str>) {
    let program = Program::build("process_shared.c");
    let native = program.native(&[kind]);
    assert_eq!(native.status.code(), Some(0), "{kind}");
    for seed in ["1", "2", "3"] {
        let run = program.record(&[("FORETELL_SEED", seed)], &[kind]);
        assert_eq!(run.stdout(), String::from_utf8_lossy(&native.stdout), "{}", run.stderr());
        assert_eq!(run.output.status, native.status, "{kind}");
        // The child says that it is not recorded, the parent says nothing.
        let lines: Vec<String> = run.stderr().lines().map(str::to_owned).collect();
        assert!(lines.len() == 1 && lines[0].ends_with("is not recorded"), "{lines:?}");
        if let Some(call) = call {
            assert!(run.calls().contains(call), "{kind}: {:?}", run.calls());
        }
        assert_eq!(run.count(|r| matches!(r, Record::Deadlock { .. } | Record::Stuck { .. })), 0);
    }
}

#[test]
fn mutex() {
    check("mutex", Some("pthread_mutex_lock"));
    check("timed-mutex", Some("pthread_mutex_timedlock"));
}

#[test]
fn rwlock_held_by_a_writer() {
    check("rwlock-read", Some("pthread_rwlock_rdlock"));
    check("rwlock-write", Some("pthread_rwlock_wrlock"));
    check("rwlock-timed", Some("pthread_rwlock_timed"));
}

#[test]
fn rwlock_held_by_a_reader() {
    check("rwlock-reader", Some("pthread_rwlock_wrlock"));
}

#[test]
fn spin_lock() {
    check("spin", Some("pthread_spin_lock"));
}

/// The parent has never seen the lock being initialised.
#[test]
fn spin_lock_initialised_by_the_child() {
    check("spin-elsewhere", Some("pthread_spin_lock"));
}

#[test]
fn condition_notified_by_the_child() {
    check("condition", Some("pthread_cond_wait"));
    check("condition-timed", Some("pthread_cond_wait"));
}

#[test]
fn condition_notified_by_the_parent() {
    check("condition-notify", None);
}

/// The condition is the parent's own, the mutex is shared: the scheduler serves the wait, the
/// library the mutex.
#[test]
fn private_condition_with_a_shared_mutex() {
    check("condition-private", Some("pthread_mutex_lock"));
}

#[test]
fn barrier() {
    check("barrier", Some("pthread_barrier_wait"));
}

#[test]
fn semaphore() {
    check("semaphore", Some("sem_wait"));
    check("semaphore-timed", Some("sem_timedwait"));
    check("semaphore-post", None);
}

#[test]
fn semaphore_of_sem_open() {
    check("semaphore-named", Some("sem_wait"));
}
