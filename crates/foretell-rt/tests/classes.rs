//! One program for each class of the table: it checks its own results, recorded and not, and the
//! log holds what it did.

#[path = "../src/table.rs"]
#[allow(unreachable_pub)]
mod table;

mod common;

use common::{Program, Run};
use foretell_rt_format::{AtomicKind, EndHow, Record, SyncKind};
use std::collections::BTreeSet;
use table::Class;

/// Where each class is exercised.
fn program_of(class: Class) -> &'static str {
    match class {
        Class::Access | Class::Function | Class::Atomic | Class::Block => "atomics.c",
        Class::Annotation => "annotations.c",
        Class::Allocation | Class::Memory => "memory.c",
        Class::Mutex | Class::Spin => "mutexes.c",
        Class::RwLock => "rwlocks.c",
        Class::Condition => "conditions.c",
        Class::Semaphore | Class::Barrier => "semaphores.c",
        Class::Once => "once.cc",
        Class::Thread => "threads.c",
        Class::Time | Class::Call => "calls.c",
        Class::Signal => "signals.c",
        Class::Process => "processes.c",
    }
}

#[test]
fn every_class_has_a_program() {
    for (class, names) in table::SYMBOLS {
        assert!(!names.is_empty());
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/").to_owned() + program_of(*class);
        assert!(std::path::Path::new(&path).exists(), "{path}");
    }
}

/// Records under several seeds; the last run. Every counted record of a run is legal where it
/// stands: checked for locks, conditions, joins.
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

/// Nobody takes what another holds.
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
    assert_eq!(sync(&run, SyncKind::TryReadFailed), 3 + 1);
    assert_eq!(sync(&run, SyncKind::TryFailed), 3 + 1);
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

#[test]
fn calls() {
    let run = record("calls.c");
    let names: BTreeSet<String> = run
        .entries()
        .iter()
        .filter_map(|e| match e.record {
            Record::Call { name, .. } => Some(String::from_utf8_lossy(name).into_owned()),
            _ => None,
        })
        .collect();
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

/// What the C++ library does on behalf of the program counts for the program's own lines.
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
    let run = program.record_ok(&[]);
    assert_eq!(run.stdout(), "from the child\nfrom itself\n");
    assert_eq!(run.count(|r| matches!(r, Record::Forked { .. })), 3);
    assert_eq!(run.count(|r| matches!(r, Record::Exec { .. })), 1);
    let libm =
        |r: &Record<'_>| matches!(r, Record::Module { path, .. } if path.ends_with(b"libm.so.6"));
    assert_eq!(run.count(libm), 1);
    assert_eq!(run.count(|r| matches!(r, Record::ModuleGone { .. })), 1);
}

/// Instrumented code that comes later is recorded too, and its module is in the log.
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
fn every_end_is_the_programs_own_and_is_in_the_log() {
    let program = Program::build("ends.c");
    for (how, end) in [
        ("r", Some((EndHow::Exit, 3))),
        ("e", Some((EndHow::Exit, 4))),
        ("_", Some((EndHow::QuickExit, 5))),
        ("q", Some((EndHow::QuickExit, 6))),
        ("p", Some((EndHow::Exit, 0))),
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
        assert_eq!(crashes, usize::from("saAfo".contains(how)), "{how}");
        assert!(run.count(|r| matches!(r, Record::ThreadEnd)) >= 1, "{how}");
    }
}

#[test]
fn a_thread_that_locks_twice_is_a_deadlock() {
    let program = Program::build("selfdeadlock.c");
    let run = program.record(&[], &[]);
    assert_eq!(run.signal(), Some(libc::SIGABRT));
    assert!(run.stderr().contains("deadlock: thread 0 waits for the lock at"), "{}", run.stderr());
    assert!(run.stderr().contains("held by thread 0"), "{}", run.stderr());
    assert_eq!(run.count(|r| matches!(r, Record::Deadlock { .. })), 1);
}

/// Without the baton: the same programs, with places instead of one order.
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
fn no_room_for_the_log() {
    let program = Program::build("counter.c");
    // The limit on file sizes is met like a full disk is.
    let log = program.path("small");
    let script = format!("ulimit -f 1000; trap '' XFSZ; exec {}", program.exe().display());
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .env("FORETELL_LOG", &log)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"200\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("recording stopped"));
    let bytes = std::fs::read(&log).expect("a log");
    let parsed = foretell_rt_format::Log::parse(&bytes).expect("a log");
    assert_eq!(parsed.header.stopped, foretell_rt_format::StopReason::NoSpace);
}
