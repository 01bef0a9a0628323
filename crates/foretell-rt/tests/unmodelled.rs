//! Threads that wait in code that is not recorded, and threads that the runtime did not see being
//! created: the program runs to its end, and what the waits order stays ordered.

mod common;

use common::{Program, Run, replay, schedule};
use foretell_rt_format::{Record, SyncKind};

/// Records a wait of one kind with several seeds, and expects the plain program's output and status,
/// and no report.
fn record(kind: &str) -> Vec<Run> {
    let program = Program::build("unmodelled.c");
    let native = program.native(&[kind]);
    let one = |seed: &&str| {
        let run = program.record(&[("FORETELL_SEED", seed)], &[kind]);
        assert_eq!(run.stderr(), "", "{kind}");
        assert_eq!(run.stdout(), String::from_utf8_lossy(&native.stdout), "{kind}");
        assert_eq!(run.output.status, native.status, "{kind}");
        run
    };
    ["1", "2", "3"].iter().map(one).collect()
}

fn after_others(run: &Run) -> usize {
    run.count(|r| *r == Record::AfterOthers)
}

#[test]
fn futex_of_another_library() {
    for run in record("futex") {
        assert!(after_others(&run) >= 100, "{}", after_others(&run));
    }
}

#[test]
fn busy_loop_without_hooks() {
    for run in record("spin") {
        assert!(after_others(&run) >= 10, "{}", after_others(&run));
    }
}

/// The program checks that none of its sleeps is interrupted.
#[test]
fn many_short_sleeps() {
    for run in record("naps") {
        assert!(after_others(&run) >= 1);
    }
}

#[test]
fn spin_lock_with_hooks_of_calls_only() {
    record("calls");
}

#[test]
fn handler_ends_a_wait() {
    for run in record("signal") {
        assert_eq!(run.count(|r| matches!(r, Record::Signal { starts: true, .. })), 1);
    }
}

/// The threads of timers are recorded from their first hook to their end, and no deadlock is
/// declared while the thread waits that they wake.
#[test]
fn threads_of_timers_are_adopted() {
    for run in record("timers") {
        assert_eq!(run.count(|r| matches!(r, Record::ThreadBegin { .. })), 4);
        assert_eq!(run.count(|r| matches!(r, Record::Create { .. })), 0);
        assert!(after_others(&run) >= 3);
        let posts = run.entries();
        let posts = posts.iter().filter(|e| {
            matches!(e.record, Record::Sync { kind: SyncKind::Post, .. }) && e.thread > 0
        });
        assert_eq!(posts.count(), 3);
    }
}

/// The first thread ends before the timer's thread exists.
#[test]
fn program_lives_as_long_as_threads_that_are_not_known() {
    record("last");
}

/// The end of the owner is a release, and the next owner, which is told of it, comes after it.
#[test]
fn robust_mutexes_are_released_by_the_end_of_their_owner() {
    for run in record("robust") {
        let entries = run.entries();
        let lock = |kind: SyncKind| {
            entries
                .iter()
                .filter(move |e| matches!(e.record, Record::Sync { kind: k, .. } if k == kind))
        };
        let ends = lock(SyncKind::Unlock).filter(|e| e.thread > 0).count();
        assert_eq!(ends, 2);
        assert_eq!(lock(SyncKind::Woken).count(), 1);
        // Twice for each end: the owner's and the next one's; once for the failed lock, and for
        // each lock in between.
        assert!(after_others(&run) >= 5, "{}", after_others(&run));
    }
}

#[test]
fn locks_of_streams() {
    for run in record("flockfile") {
        let locks = run.count(|r| matches!(r, Record::Sync { kind: SyncKind::Lock, .. }));
        assert_eq!(locks, 2 + 400);
    }
}

/// A run with waits that are not modelled replays as itself.
#[test]
fn waits_are_replayed() {
    let program = Program::build("unmodelled.c");
    let recorded = program.record(&[], &[]);
    let replayed = replay(&program, &schedule(&recorded, &recorded.entries()), &[]);
    assert_eq!((replayed.stderr().as_str(), replayed.stdout()), ("", recorded.stdout()));
    assert_eq!(replayed.count(|r| *r == Record::StepsDone), 1);
}
