//! Every symbol of the table is called by a test program, and the call reaches the runtime: the
//! dynamic linker, which binds a function when it is first called, reports it.

#[path = "../src/table.rs"]
#[allow(unreachable_pub)]
mod table;

mod common;

use common::Program;
use std::collections::BTreeSet;
use std::path::Path;

/// The programs, each with the arguments of its runs.
const RUNS: &[(&str, &[&[&str]])] = &[
    ("annotations.c", &[&[]]),
    ("atomics.c", &[&[]]),
    ("blocking.c", &[&[]]),
    ("calls.c", &[&[]]),
    ("channels.c", &[&[]]),
    ("conditions.c", &[&[]]),
    ("ends.c", &[&["_"], &["q"], &["E"], &["e"], &["b"], &["B"]]),
    ("hooks.c", &[&[]]),
    ("memory.c", &[&[]]),
    ("mutexes.c", &[&[]]),
    ("once.cc", &[&[]]),
    (
        "processes.c",
        &[
            &[],
            &["execv", "x"],
            &["execvp", "x"],
            &["execve", "x"],
            &["execvpe", "x"],
            &["fexecve", "x"],
            &["execl", "x"],
            &["execlp", "x"],
            &["execle", "x"],
        ],
    ),
    ("rwlocks.c", &[&[]]),
    ("semaphores.c", &[&[]]),
    ("signals.c", &[&[]]),
    ("threads.c", &[&[]]),
    ("unmodelled.c", &[&[]]),
];

/// The symbols that the program at `exe` found in the runtime, from what the dynamic linker wrote.
fn bound(directory: &Path, exe: &Path, into: &mut BTreeSet<String>) {
    let from = format!("binding file {} [0] to ", exe.display());
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("a file").path();
        if !path.to_string_lossy().contains("bindings.") {
            continue;
        }
        let bytes = std::fs::read(path).expect("what it wrote");
        for line in String::from_utf8_lossy(&bytes).lines() {
            let Some((_, to)) = line.split_once(&from) else { continue };
            let Some((library, symbol)) = to.split_once(": normal symbol `") else { continue };
            if library.contains("libforetell_rt.so") {
                into.extend(symbol.split('\'').next().map(str::to_owned));
            }
        }
    }
}

#[test]
fn every_symbol_is_called() {
    let mut called = BTreeSet::new();
    for (name, runs) in RUNS {
        let program = Program::build_with(name, &["--param", "tsan-distinguish-volatile=1"]);
        let bindings = program.path("bindings").to_string_lossy().into_owned();
        for arguments in *runs {
            let variables = [("LD_DEBUG", "bindings"), ("LD_DEBUG_OUTPUT", bindings.as_str())];
            let run = program.record(&variables, arguments);
            assert_eq!(run.signal(), None, "{name} {arguments:?}");
        }
        bound(program.path("").as_path(), program.exe(), &mut called);
    }
    let listed = table::SYMBOLS.iter().flat_map(|(_, names)| *names);
    let missing: Vec<_> = listed.filter(|name| !called.contains(**name)).collect();
    assert!(missing.is_empty(), "no test program calls {missing:?}");
}
