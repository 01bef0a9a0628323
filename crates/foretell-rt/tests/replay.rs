//! Real programs driven along schedules.

mod common;

use common::{Program, Run, replay, schedule};
use foretell_rt_format::{AccessKind, DEPARTURE_STATUS, Entry, Kind, Record, Schedule, SyncKind};

/// A quantum with hardly a preemption.
const CALM: [(&str, &str); 1] = [("FORETELL_QUANTUM", "100000")];

/// The records of one thread, counted ones only.
fn of_thread<'a>(run: &'a Run, thread: u32) -> Vec<Entry<'a>> {
    run.entries().into_iter().filter(|e| e.thread == thread && e.record.counted()).collect()
}

#[test]
fn a_recorded_run_replays_as_itself() {
    for name in ["counter.c", "waiters.c", "inverted_locks.c", "check_then_use.c", "pipes.c"] {
        let program = Program::build(name);
        let recorded = program.record(&[("FORETELL_SEED", "5")], &[]);
        let all = recorded.entries();
        let replayed = replay(&program, &schedule(&recorded, &all), &[]);
        assert_eq!(replayed.stderr(), "", "{name}");
        assert_eq!(replayed.stdout(), recorded.stdout(), "{name}");
        assert_eq!(replayed.output.status, recorded.output.status, "{name}");
        let steps = |run: &Run| -> Vec<_> {
            run.entries()
                .iter()
                .filter(|e| e.record.counted())
                .map(|e| (e.thread, e.ordinal, e.record.kind(), e.record.pc()))
                .collect()
        };
        assert_eq!(steps(&replayed), steps(&recorded), "{name}");
        assert_eq!(replayed.count(|r| *r == Record::StepsDone), 1, "{name}");
    }
}

#[test]
fn schedule_clears_the_pointer_between_check_and_use() {
    let program = Program::build("check_then_use.c");
    let recorded = program.record(&CALM, &[]);
    let main = of_thread(&recorded, 0);
    let creations = main.iter().rposition(|e| e.record.kind() == Some(Kind::Create));
    let mut steps = main[..=creations.expect("threads")].to_vec();
    let user = of_thread(&recorded, 1);
    let clearer = of_thread(&recorded, 2);
    // Check, clear, read again, and use.
    steps.push(user[0].clone());
    steps.extend(clearer.iter().cloned());
    steps.extend(user[1..3].iter().cloned());
    let schedule = schedule(&recorded, &steps);
    for _ in 0..20 {
        let run = replay(&program, &schedule, &[]);
        assert_eq!(run.signal(), Some(libc::SIGSEGV), "{}", run.stderr());
        let crash = |r: &Record<'_>| matches!(r, Record::Crash { signal: 11, addr: 0, .. });
        assert_eq!(run.count(crash), 1);
        let fault = |r: &Record<'_>| matches!(r, Record::Wide { addr: 0, value: None, .. });
        assert_eq!(run.count(fault), 1);
    }
}

#[test]
fn schedule_deadlocks_inverted_locks() {
    let program = Program::build("inverted_locks.c");
    let recorded = program.record(&CALM, &[]);
    assert_eq!(recorded.stdout(), "2\n");
    let main = of_thread(&recorded, 0);
    let creations = main.iter().rposition(|e| e.record.kind() == Some(Kind::Create));
    let mut steps = main[..=creations.expect("threads")].to_vec();
    steps.push(of_thread(&recorded, 1)[0].clone());
    steps.push(of_thread(&recorded, 2)[0].clone());
    let schedule = schedule(&recorded, &steps);
    for _ in 0..20 {
        let run = replay(&program, &schedule, &[]);
        assert_eq!(run.signal(), Some(libc::SIGABRT));
        assert!(run.stderr().starts_with("foretell: deadlock: "), "{}", run.stderr());
        let deadlock = run.entries().into_iter().find_map(|e| match e.record {
            Record::Deadlock { threads } => Some(threads),
            _ => None,
        });
        let threads = deadlock.expect("a deadlock in the log");
        let held: Vec<_> = threads.iter().map(|b| (b.thread, b.owner)).collect();
        assert_eq!(held, [(0, None), (1, Some(2)), (2, Some(1))]);
    }
}

#[test]
fn the_schedule_chooses_the_woken_waiter_and_the_timeout() {
    let program = Program::build("waiters.c");
    let recorded = program.record_ok(&[]);
    let woken = |run: &Run| -> Vec<u32> {
        run.entries()
            .iter()
            .filter(|e| matches!(e.record, Record::Sync { kind: SyncKind::Woken, .. }))
            .map(|e| e.thread)
            .collect()
    };
    assert_eq!(woken(&recorded).len(), 2);
    let replayed = replay(&program, &schedule(&recorded, &recorded.entries()), &[]);
    assert_eq!(woken(&replayed), woken(&recorded));
    let timed_out = |r: &Record<'_>| matches!(r, Record::Sync { kind: SyncKind::TimedOut, .. });
    assert_eq!(replayed.count(timed_out), 1);
}

/// The waiting thread's step is due while it waits for the child, and the child waits for what the
/// other thread does between two of its steps.
#[test]
fn threads_run_ahead_of_one_that_waits_for_another_process() {
    let program = Program::build("elsewhere.c");
    let recorded = program.record(&CALM, &[]);
    assert_eq!(recorded.output.status.code(), Some(0));
    let main = of_thread(&recorded, 0);
    let creations = main.iter().rposition(|e| e.record.kind() == Some(Kind::Create));
    let mut steps = main[..=creations.expect("threads")].to_vec();
    let is_access = |e: &&Entry<'_>| matches!(e.record, Record::Access { .. });
    let accesses = |thread| -> Vec<Entry<'_>> {
        of_thread(&recorded, thread).iter().filter(is_access).cloned().collect()
    };
    let (first, waiting) = (accesses(1), accesses(2));
    steps.push(first[0].clone());
    steps.push(waiting.last().expect("an access").clone());
    steps.push(first.last().expect("an access").clone());
    let replayed = replay(&program, &schedule(&recorded, &steps), &[]);
    assert_eq!(replayed.output.status.code(), Some(0), "{}", replayed.stderr());
    assert_eq!(replayed.count(|r| *r == Record::StepsDone), 1);
    // The steps ran in the order of the schedule.
    let place = |thread: u32, ordinal: u64| {
        let entries = replayed.entries();
        entries
            .iter()
            .position(|e| e.thread == thread && e.ordinal == ordinal && e.record.counted())
    };
    let last = &steps[steps.len() - 3..];
    let places: Vec<_> = last.iter().map(|e| place(e.thread, e.ordinal)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
}

#[test]
fn departures_are_loud() {
    let program = Program::build("check_then_use.c");
    let recorded = program.record(&CALM, &[]);
    let good = schedule(&recorded, &recorded.entries());
    let departs = |change: &dyn Fn(&mut Schedule), words: &str| {
        let mut bad = good.clone();
        change(&mut bad);
        let run = replay(&program, &bad, &[]);
        assert_eq!(run.output.status.code(), Some(DEPARTURE_STATUS), "{words}: {}", run.stderr());
        assert!(run.stderr().contains("replay departed from the schedule"), "{}", run.stderr());
        assert!(run.stderr().contains(words), "{words}: {}", run.stderr());
        assert_eq!(run.count(|r| matches!(r, Record::Departure { .. })), 1);
    };
    departs(&|s| s.steps[0].step.kind = Kind::Atomic, "expected Atomic number 0 of thread 0");
    departs(
        &|s| s.steps[1].step.place = s.steps[1].step.place.map(|(m, o)| (m, o + 1)),
        "at step 1",
    );
    departs(&|s| s.steps[0].step.thread = 2, "has not been created");
    departs(&|s| s.steps.last_mut().expect("steps").step.ordinal += 50, "the end of the program");
    let mut text = good.to_string();
    text.push_str("nonsense\n");
    std::fs::write(program.path("schedule"), &text).expect("a file");
    let path = program.path("schedule").to_string_lossy().into_owned();
    let run =
        program.record(&[("FORETELL_MODE", "replay"), ("FORETELL_SCHEDULE", path.as_str())], &[]);
    assert_eq!(run.output.status.code(), Some(DEPARTURE_STATUS));
    assert!(run.stderr().contains("unusable, line"), "{}", run.stderr());
}

#[test]
fn a_read_is_not_a_write() {
    let program = Program::build("check_then_use.c");
    let recorded = program.record(&CALM, &[]);
    let user = of_thread(&recorded, 1);
    let kinds: Vec<_> = user
        .iter()
        .map(|e| matches!(e.record, Record::Access { kind: AccessKind::Read, .. }))
        .collect();
    assert_eq!(kinds, [true; 3]);
}
