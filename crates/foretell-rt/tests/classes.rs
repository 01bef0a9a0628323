//! One program for each class of the table: it checks its own results, recorded and not, and the
//! log holds what it did. (That every single symbol is called is tested in `exercised`.)

mod common;

use common::{Program, Run};
use foretell_rt_format::channel::{Channel, received, sent};
use foretell_rt_format::{AccessKind, AtomicKind, EndHow, Record, SyncKind};
use std::collections::BTreeSet;

/// Records under several seeds and returns the last run. Checks that the records of locks,
/// conditions and joins are legal where they stand.
fn record(name: &str) -> Run {
    // Volatile objects have hooks of their own when gcc is asked for them.
    let program = Program::build_with(name, &["--param", "tsan-distinguish-volatile=1"]);
    for seed in ["1", "2", "3"] {
        let run = program.record(&[("FORETELL_SEED", seed), ("FORETELL_QUANTUM", "7")], &[]);
        assert_eq!(run.stderr(), "", "{name} seed {seed}");
        assert_eq!(run.stdout(), "ok\n", "{name} seed {seed}");
        assert_eq!(run.output.status.code(), Some(0), "{name} seed {seed}");
        legal(&run);
    }
    let native = program.native(&[]);
    assert_eq!(String::from_utf8_lossy(&native.stdout), "ok\n", "{name} not recorded");
    program.record_ok(&[])
}

/// Checks that no thread takes a lock that another thread holds.
fn legal(run: &Run) {
    let mut writers = std::collections::HashMap::new();
    for e in run.entries() {
        let Record::Sync { kind, object, other, .. } = e.record else { continue };
        match kind {
            SyncKind::Lock => {
                let holder = writers.entry(object).or_insert((e.thread, 0));
                assert_eq!(holder.0, e.thread, "{e:?}");
                holder.1 += 1;
            }
            SyncKind::Unlock => {
                if let Some(holder) = writers.get_mut(&object) {
                    holder.1 -= 1;
                    if holder.1 == 0 {
                        writers.remove(&object);
                    }
                }
            }
            SyncKind::Wait => assert_eq!(writers.remove(&other), Some((e.thread, 1)), "{e:?}"),
            SyncKind::Woken | SyncKind::TimedOut => {
                assert_eq!(writers.insert(other, (e.thread, 1)), None, "{e:?}");
            }
            _ => {}
        }
    }
}

fn sync(run: &Run, wanted: SyncKind) -> usize {
    run.count(|r| matches!(r, Record::Sync { kind, .. } if *kind == wanted))
}

#[test]
fn mutexes() {
    let run = record("mutexes.c");
    assert_eq!(sync(&run, SyncKind::TryFailed), 4 + 3 + 1);
    assert!(sync(&run, SyncKind::Lock) > 450);
}

#[test]
fn rwlocks() {
    let run = record("rwlocks.c");
    assert_eq!(sync(&run, SyncKind::TryReadFailed), 2 * 3 + 1);
    assert_eq!(sync(&run, SyncKind::TryFailed), 2 * (3 + 1));
    assert_eq!(sync(&run, SyncKind::ReadLock), sync(&run, SyncKind::ReadUnlock));
    assert_eq!(sync(&run, SyncKind::Lock), sync(&run, SyncKind::Unlock));
}

#[test]
fn conditions() {
    let run = record("conditions.c");
    assert_eq!(sync(&run, SyncKind::TimedOut), 4);
    let (waits, woken) = (sync(&run, SyncKind::Wait), sync(&run, SyncKind::Woken));
    assert_eq!(waits, woken + 4);
    assert_eq!(sync(&run, SyncKind::Signal), 31);
    assert_eq!(sync(&run, SyncKind::Broadcast), 3);
}

#[test]
fn semaphores_and_barriers() {
    let run = record("semaphores.c");
    assert_eq!(sync(&run, SyncKind::SemInit), 2);
    assert_eq!(sync(&run, SyncKind::Post), 20);
    assert_eq!(sync(&run, SyncKind::Down), 21);
    assert_eq!(sync(&run, SyncKind::DownFailed), 3);
    assert_eq!(sync(&run, SyncKind::Arrive), 24);
    assert_eq!(sync(&run, SyncKind::Leave), 24);
}

#[test]
fn one_time_initialisation() {
    let run = record("once.cc");
    let atomic = |wanted: AtomicKind| {
        run.count(|r| matches!(r, Record::Atomic { kind, .. } if *kind == wanted))
    };
    assert!(atomic(AtomicKind::Store) >= 3, "the ends of the initialisations");
    assert!(atomic(AtomicKind::Load) >= 9, "everybody who found it done");
}

#[test]
fn threads() {
    let run = record("threads.c");
    assert_eq!(run.count(|r| matches!(r, Record::Create { .. })), 1009);
    assert_eq!(run.count(|r| matches!(r, Record::Detach { .. })), 2);
    let named = |r: &Record<'_>| matches!(r, Record::ThreadName { thread: 1, name: b"leaver" });
    assert_eq!(run.count(named), 1);
    let ends = run.count(|r| matches!(r, Record::ThreadEnd));
    assert!(ends >= 1007, "{ends}");
}

/// Bytes that come out of a channel went in before.
#[test]
fn channels() {
    let run = record("channels.c");
    let mut level: std::collections::HashMap<u64, i64> = std::collections::HashMap::new();
    let mut kinds = BTreeSet::new();
    for e in run.entries() {
        let Record::Sync { kind, object, other, .. } = e.record else { continue };
        let Some(channel) = Channel::of(object) else { continue };
        let level = level.entry(object).or_insert(0);
        match kind {
            SyncKind::Sent => *level += (other & !sent::WAITED) as i64,
            SyncKind::Received => {
                *level -= (other & !received::FLAGS) as i64;
                assert!(*level >= 0 || !channel.counts_bytes(), "{e:?}");
            }
            SyncKind::Looked => {}
            _ => continue,
        }
        kinds.insert((channel.name(), kind.name()));
    }
    for channel in ["Pipe", "Stream", "Event", "Signal"] {
        for kind in ["Sent", "Received"] {
            assert!(kinds.contains(&(channel, kind)), "{channel} {kind} in {kinds:?}");
        }
    }
    assert!(kinds.contains(&("Pipe", "Looked")) && kinds.contains(&("Stream", "Looked")));
}

/// Each hook by itself, in the order of the program: kind, size, location.
#[test]
fn hooks() {
    let run = record("hooks.c");
    let entries = run.entries();
    let at = |label: &str| {
        let begins = |r: &Record<'_>| matches!(r, Record::MarkBegin { label: l, .. } if *l == label.as_bytes());
        entries.iter().position(|e| begins(&e.record)).expect("a mark")
    };
    let (read, write) = (AccessKind::Read, AccessKind::Write);
    let sizes = |from: u32, kind| (from..5).map(move |log2| (kind, 1u64 << log2));
    let both = |from: u32| (from..5).flat_map(move |n| [(read, 1 << n), (write, 1 << n)]);
    let mut expected: Vec<(AccessKind, u64)> = Vec::new();
    for _ in 0..2 {
        expected.extend(sizes(0, read).chain(sizes(0, write))); // by return address, by `_pc`
    }
    expected.extend(sizes(1, read).chain(sizes(1, write)).chain(both(0)).chain(both(1)));
    let volatile = expected.len()..expected.len() + 18;
    expected.extend(sizes(0, read).chain(sizes(0, write)));
    expected.extend(sizes(1, read).chain(sizes(1, write)));
    // A pointer to a table of virtual functions is read, and stored as it is: no write.
    expected.extend([(read, 8), (read, 8), (read, 24), (write, 24), (read, 24), (write, 24)]);
    expected.extend([(write, 16), (read, 16), (write, 16), (read, 8), (write, 8)]);
    let mut given = 0;
    let found: Vec<_> = entries[at("accesses")..at("atomics")]
        .iter()
        .filter_map(|e| {
            given += usize::from(e.record.pc() == Some(0x1234));
            match e.record {
                Record::Access { kind, size, .. } | Record::Wide { kind, size, .. } => {
                    Some((kind, u64::from(size), false))
                }
                Record::Range { kind, len, .. } => Some((kind, len, false)),
                Record::Atomic { kind: AtomicKind::VolatileLoad, size, .. } => {
                    Some((read, u64::from(size), true))
                }
                Record::Atomic { kind: AtomicKind::VolatileStore, size, .. } => {
                    Some((write, u64::from(size), true))
                }
                _ => None,
            }
        })
        .collect();
    let expected: Vec<_> =
        (0..).zip(expected).map(|(i, (kind, size))| (kind, size, volatile.contains(&i))).collect();
    assert_eq!(found, expected);
    assert_eq!(given, 12, "the code locations that were given");
    for size in [1, 2, 4, 8, 16] {
        let atomic = |wanted: AtomicKind| {
            let is = |r: &Record<'_>| matches!(r, Record::Atomic { kind, size: s, .. } if *kind == wanted && *s == size);
            entries[at("atomics")..].iter().filter(|e| is(&e.record)).count()
        };
        assert_eq!((atomic(AtomicKind::Load), atomic(AtomicKind::Store)), (1, 1), "{size}");
        assert_eq!((atomic(AtomicKind::Update), atomic(AtomicKind::FailedUpdate)), (9, 3));
    }
    let trail: Vec<_> = entries
        .iter()
        .filter_map(|e| match e.record {
            Record::Trail { kind, site, a, b, .. } => Some((kind as u64, site, a, b)),
            _ => None,
        })
        .collect();
    let expected: Vec<_> = (0..9u64).map(|n| (n, n, 10 + n, n.wrapping_neg())).collect();
    assert_eq!(trail, expected, "the path, in order");
}

/// Every call that can block did, and the baton was handed over.
#[test]
fn blocking_calls() {
    let run = record("blocking.c");
    let handed_over: BTreeSet<String> = run.calls();
    let expected = [
        "epoll_pwait2",
        "fcntl",
        "fcntl64",
        "fgetc",
        "fgets",
        "flock",
        "fopen",
        "fopen64",
        "fread",
        "getaddrinfo",
        "getc",
        "getchar",
        "getdelim",
        "getline",
        "lockf",
        "mq_receive",
        "mq_send",
        "mq_timedreceive",
        "mq_timedsend",
        "msgrcv",
        "msgsnd",
        "open",
        "open64",
        "openat",
        "openat64",
        "poll",
        "ppoll",
        "read",
        "readv",
        "recv",
        "recvfrom",
        "recvmmsg",
        "recvmsg",
        "semop",
        "semtimedop",
        "sendfile",
        "sendfile64",
        "sendmmsg",
        "sigsuspend",
        "sigtimedwait",
        "sigwait",
        "sigwaitinfo",
        "splice",
        "tcdrain",
        "wait",
        "wait3",
        "wait4",
        "waitid",
        "waitpid",
        "write",
        "writev",
    ];
    let missing: Vec<_> = expected.iter().filter(|name| !handed_over.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?} among {handed_over:?}");
}

#[test]
fn calls() {
    let run = record("calls.c");
    let names = run.calls();
    assert!(names.contains("read") && names.contains("system"), "{names:?}");
}

#[test]
fn memory() {
    let run = record("memory.c");
    assert!(run.count(|r| matches!(r, Record::Alloc { size: 40, .. })) >= 2);
    assert!(run.count(|r| matches!(r, Record::Free { .. })) >= 8);
    let copied = |r: &Record<'_>| matches!(r, Record::Range { data: b"three", .. });
    assert!(run.count(|r| matches!(r, Record::Range { .. })) > 40);
    assert_eq!(run.count(copied), 0);
}

#[test]
fn accesses_and_atomics() {
    let run = record("atomics.c");
    for wanted in 0..6 {
        let n = run.count(|r| matches!(r, Record::Atomic { kind, .. } if *kind as u8 == wanted));
        assert!(n > 0, "{:?}", AtomicKind::from_u8(wanted));
    }
    for wanted in [1, 2, 4, 8] {
        assert!(run.count(|r| matches!(r, Record::Access { size, .. } if *size == wanted)) > 0);
    }
    assert!(run.count(|r| matches!(r, Record::Wide { size: 16, value: Some([9, 7]), .. })) > 0);
    assert_eq!(run.count(|r| matches!(r, Record::MarkBegin { label: b"count", .. })), 1);
    assert_eq!(run.count(|r| matches!(r, Record::MarkEnd { .. })), 1);
}

#[test]
fn signals() {
    let run = record("signals.c");
    let handled = |r: &Record<'_>| matches!(r, Record::Signal { starts: true, .. });
    assert!(run.count(handled) >= 9);
    assert_eq!(run.count(|r| matches!(r, Record::Crash { signal: 11, .. })), 1);
}

#[test]
fn signals_that_come_as_a_wait_begins() {
    let run = record("single_signals.c");
    assert_eq!(run.count(|r| matches!(r, Record::Signal { starts: true, .. })), 2000);
}

/// Steps inside the C++ library count for the program's own lines.
#[test]
fn the_cpp_library() {
    let run = record("standard.cc");
    let (start, end) = run
        .entries()
        .iter()
        .find_map(|e| match e.record {
            Record::Module { start, end, path, .. } if path.ends_with(b"program") => {
                Some((start, end))
            }
            _ => None,
        })
        .expect("the program itself");
    let mut seen = 0;
    for e in run.entries() {
        let of_program = match e.record {
            Record::Create { pc, .. } | Record::Join { pc, .. } => (start..end).contains(&pc),
            Record::Sync { kind: SyncKind::Wait | SyncKind::Broadcast, pc, .. } => {
                (start..end).contains(&pc)
            }
            _ => continue,
        };
        assert!(of_program, "{e:?}");
        seen += 1;
    }
    assert!(seen >= 9, "{seen}");
}

#[test]
fn annotations() {
    record("annotations.c");
}

#[test]
fn processes() {
    let program = Program::build("processes.c");
    let run = program.record(&[], &[]);
    assert_eq!(run.stdout(), "from the child\nfrom itself\n");
    assert_eq!(run.output.status.code(), Some(0));
    // The first child says that it is not recorded, on one line.
    let forked = run.entries().iter().find_map(|e| match e.record {
        Record::Forked { pid } => Some(pid),
        _ => None,
    });
    let forked = forked.expect("a fork in the log");
    let notice = format!("foretell: process {forked}, a child of fork, is not recorded\n");
    assert_eq!(run.stderr(), notice);
    assert_eq!(run.count(|r| matches!(r, Record::Forked { .. })), 3);
    assert_eq!(run.count(|r| matches!(r, Record::Exec { .. })), 1);
    let libm =
        |r: &Record<'_>| matches!(r, Record::Module { path, .. } if path.ends_with(b"libm.so.6"));
    assert_eq!(run.count(libm), 1);
    assert_eq!(run.count(|r| matches!(r, Record::ModuleGone { .. })), 1);
}

/// A program that replaces itself by `exec` ends its log there, whatever function it uses.
#[test]
fn exec() {
    let program = Program::build("processes.c");
    for how in ["execv", "execvp", "execve", "execvpe", "fexecve", "execl", "execlp", "execle"] {
        let run = program.record(&[], &[how, "after"]);
        assert_eq!((run.stdout().as_str(), run.stderr().as_str()), ("after\n", ""), "{how}");
        assert_eq!(run.output.status.code(), Some(0), "{how}");
        let last = run.entries().last().map(|e| matches!(e.record, Record::Exec { .. }));
        assert_eq!(last, Some(true), "{how}");
    }
}

/// Instrumented code that is loaded later is recorded too, and its module is in the log.
#[test]
fn a_library_loaded_at_run_time() {
    let program = Program::build("loads.c");
    let library = program.path("plugin.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/plugin.c");
    let compiler = |args: &[&str]| {
        let status = std::process::Command::new("gcc").args(args).status();
        assert!(status.expect("a compiler").success());
    };
    let object = program.path("plugin.o").to_string_lossy().into_owned();
    let path = library.to_string_lossy().into_owned();
    compiler(&["-g", "-O0", "-fsanitize=thread", "-fPIC", "-c", source, "-o", &object]);
    compiler(&["-shared", &object, "-o", &path]);
    let run = program.record_ok(&[&path]);
    let (start, end) = run
        .entries()
        .iter()
        .find_map(|e| match e.record {
            Record::Module { start, end, path, .. } if path.ends_with(b"plugin.so") => {
                Some((start, end))
            }
            _ => None,
        })
        .expect("its module");
    let inside =
        |r: &Record<'_>| matches!(r, Record::Access { pc, .. } if (start..end).contains(pc));
    assert_eq!(run.count(inside), 200);
}

#[test]
fn every_end_of_a_program_is_in_the_log() {
    let program = Program::build("ends.c");
    for (how, end) in [
        ("r", Some((EndHow::Exit, 3))),
        ("e", Some((EndHow::Exit, 4))),
        ("_", Some((EndHow::QuickExit, 5))),
        ("q", Some((EndHow::QuickExit, 6))),
        ("E", Some((EndHow::QuickExit, 7))),
        ("p", Some((EndHow::Exit, 0))),
        ("b", Some((EndHow::QuickExit, 8))),
        ("B", Some((EndHow::QuickExit, 8))),
        ("s", None),
        ("a", None),
        ("A", None),
        ("f", None),
        ("o", None),
        ("k", None),
        ("t", None),
    ] {
        let native = program.native(&[how]);
        let run = program.record(&[], &[how]);
        assert_eq!(run.output.status, native.status, "{how}");
        assert_eq!(run.output.stdout, native.stdout, "{how}");
        assert_eq!(run.output.stderr, native.stderr, "{how}");
        let ends = run.count(
            |r| matches!(r, Record::EndOfProgram { how, status } if Some((*how, *status)) == end),
        );
        assert_eq!(ends, usize::from(end.is_some()), "{how}");
        let crashes = run.count(|r| matches!(r, Record::Crash { .. }));
        assert_eq!(crashes, usize::from("saAfobB".contains(how)), "{how}");
        assert!(run.count(|r| matches!(r, Record::ThreadEnd)) >= 1, "{how}");
    }
}

#[test]
fn locking_a_held_mutex_again_is_a_deadlock() {
    let program = Program::build("selfdeadlock.c");
    let run = program.record(&[], &[]);
    assert_eq!(run.signal(), Some(libc::SIGABRT));
    assert!(run.stderr().contains("deadlock: thread 0 waits for the lock at"), "{}", run.stderr());
    assert!(run.stderr().contains("held by thread 0"), "{}", run.stderr());
    assert_eq!(run.count(|r| matches!(r, Record::Deadlock { .. })), 1);
}

/// Recording without the baton: sequence numbers instead of one order.
#[test]
fn parallel_recording() {
    for name in ["counter.c", "mutexes.c", "rwlocks.c", "conditions.c", "semaphores.c"] {
        let program = Program::build(name);
        let run = program.record(&[("FORETELL_MODE", "parallel")], &[]);
        let native = program.native(&[]);
        assert_eq!(run.output, native, "{name}");
        assert_eq!(run.count(|r| matches!(r, Record::EndOfProgram { .. })), 1, "{name}");
        if name != "conditions.c" {
            legal(&run);
        }
    }
}

/// A full disk stops the recording, not the program.
#[test]
fn log_over_the_file_size_limit_stops_recording() {
    let program = Program::build("counter.c");
    // A file that reaches the size limit is treated like a full disk.
    let log = program.path("small");
    let script = format!("ulimit -f 1000; trap '' XFSZ; exec {}", program.exe().display());
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .env("FORETELL_LOG", &log)
        .env("LD_LIBRARY_PATH", common::library_dir())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"200\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("recording stopped"));
    let bytes = std::fs::read(&log).expect("a log");
    let parsed = foretell_rt_format::Log::parse(&bytes).expect("a log");
    assert_eq!(parsed.header.stopped, foretell_rt_format::StopReason::NoSpace);
}
