//! Programs recorded as a whole: the log is right, and the program behaves as without recording.

mod common;

use common::Program;
use foretell_rt_format::{AccessKind, Record, SyncKind};
use std::collections::HashMap;

#[test]
fn two_threads_count() {
    let program = Program::build("counter.c");
    let run = program.record_ok(&[]);
    assert_eq!(run.count(|r| matches!(r, Record::Create { .. })), 2);
    assert_eq!(run.count(|r| matches!(r, Record::Join { .. })), 2);
    assert_eq!(run.count(|r| matches!(r, Record::Sync { kind: SyncKind::Lock, .. })), 200);
    assert_eq!(run.count(|r| matches!(r, Record::Sync { kind: SyncKind::Unlock, .. })), 200);
    assert_eq!(run.count(|r| matches!(r, Record::EndOfProgram { status: 0, .. })), 1);
    let threads: Vec<u32> = run.entries().iter().map(|e| e.thread).collect();
    let switches = threads.windows(2).filter(|w| w[0] != w[1]).count();
    assert!(switches > 20, "{switches} switches");
}

/// The order in the log is the order of execution: every read sees the last write.
#[test]
fn reads_see_the_last_write() {
    let program = Program::build("counter.c");
    for seed in ["1", "2", "3"] {
        let run = program.record(&[("FORETELL_SEED", seed), ("FORETELL_QUANTUM", "3")], &[]);
        let mut memory = HashMap::new();
        for e in run.entries() {
            if let Record::Access { kind, size: 4, addr, value, .. } = e.record {
                match kind {
                    AccessKind::Write => {
                        memory.insert(addr, value);
                    }
                    AccessKind::Read => {
                        assert_eq!(*memory.entry(addr).or_insert(value), value);
                    }
                }
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_log() {
    let program = Program::build("counter.c");
    let shown = |seed: &str| {
        let run = program.record(&[("FORETELL_SEED", seed)], &[]);
        let kept = |r: &Record<'_>| !matches!(r, Record::ThreadBegin { .. });
        let lines: Vec<String> =
            run.entries().iter().filter(|e| kept(&e.record)).map(|e| format!("{e:?}")).collect();
        lines
    };
    let first = shown("7");
    for _ in 0..4 {
        assert_eq!(shown("7"), first);
    }
    assert_ne!(shown("8"), first);
}
