//! Programs that make no progress are reported, blocking calls hand the baton over in a replay, and
//! a full disk stops only the recording.

mod common;

use common::{Program, replay, schedule};
use foretell_rt_format::{DEPARTURE_STATUS, Kind, Log, Record, StopReason};
use std::process::Command;

/// The watchdog names the thread that has the baton, its system call, and the threads that wait.
#[test]
fn the_watchdog_reports_a_stuck_thread() {
    let program = Program::build("stuck.c");
    let variables = [("FORETELL_WATCHDOG_SECS", "1"), ("FORETELL_QUANTUM", "100000")];
    let run = program.record(&variables, &[]);
    assert_eq!((run.stdout().as_str(), run.output.status.code()), ("ok\n", Some(0)));
    let line = run.stderr();
    assert_eq!(line.lines().count(), 1, "{line}");
    let (start, rest) =
        line.split_once(": thread 0 waits for the end of thread 1 (program+0x").unwrap();
    assert_eq!(start, "foretell: nothing moved for 1 s");
    let (_, place) = rest.split_once("; thread 1 runs, in system call 35 (program+0x").unwrap();
    assert!(place.ends_with(")\n"), "{line}");
}

/// A replayed thread in a blocking call lets the thread run that ends the call.
#[test]
fn blocking_calls_hand_the_baton_over_in_a_replay() {
    let program = Program::build("pipes.c");
    for seed in ["1", "2", "3"] {
        let recorded = program.record(&[("FORETELL_SEED", seed)], &[]);
        assert_eq!(recorded.stdout(), "4\n");
        let replayed = replay(&program, &schedule(&recorded, &recorded.entries()), &[]);
        assert_eq!((replayed.stderr().as_str(), replayed.stdout().as_str()), ("", "4\n"));
        assert_eq!(replayed.count(|r| *r == Record::StepsDone), 1);
    }
}

/// A schedule that wants an answer before the question has been asked.
#[test]
fn a_replay_without_progress_departs() {
    let program = Program::build("pipes.c");
    let recorded = program.record(&[], &[]);
    let of = |thread: u32| {
        recorded.entries().into_iter().filter(move |e| e.thread == thread && e.record.counted())
    };
    let mut steps: Vec<_> = of(0).collect();
    let created = steps.iter().position(|e| e.record.kind() == Some(Kind::Create));
    steps.truncate(created.expect("a thread") + 1);
    steps.extend(of(1).take(4));
    let run = replay(&program, &schedule(&recorded, &steps), &[("FORETELL_STALL_SECS", "1")]);
    assert_eq!(run.output.status.code(), Some(DEPARTURE_STATUS));
    let said = run.stderr();
    assert!(said.contains("no progress: ") && said.contains("thread 1 is in read() ("), "{said}");
}

/// A disk that is really full, in a mount name space of its own.
#[test]
fn a_full_disk_stops_recording() {
    let program = Program::build("many.c");
    let native = program.native(&[]);
    let (disk, kept) = (program.path("disk"), program.path("kept"));
    std::fs::create_dir(&disk).expect("a directory");
    let script = "mount -t tmpfs -o size=9m none \"$1\" || exit 99\n\
                  FORETELL_LOG=$1/log \"$3\"; status=$?; cp \"$1/log\" \"$2\"; exit $status";
    let run = |options: &str| {
        let mut command = Command::new("unshare");
        command.args([options, "bash", "-c", script, "bash"]).args([&disk, &kept]);
        command.env("LD_LIBRARY_PATH", common::library_dir());
        command.arg(program.exe()).output().expect("unshare")
    };
    // As root, or in a user name space.
    let mut output = run("-m");
    if output.status.code() != native.status.code() {
        output = run("-rm");
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), native.status.code(), "{said}");
    assert_eq!(output.stdout, native.stdout);
    assert_eq!(
        said,
        "foretell: recording stopped: no space left for the log; the program goes on\n"
    );
    let bytes = std::fs::read(&kept).expect("the log");
    let log = Log::parse(&bytes).expect("a log");
    assert_eq!(log.header.stopped, StopReason::NoSpace);
    let events = log.events().map_while(Result::ok).filter(|e| e.record.counted()).count();
    assert!(events > 100_000, "{events} events up to that point");
}
