//! Client requests of Valgrind are calls of the runtime, in the program and in libraries, and
//! change no register.

mod common;

use common::{Program, Run};
use foretell_rt_format::{Record, SyncKind};
use std::path::Path;

/// Builds the library that the program loads. Returns its path.
fn build_library(compiler: &str, program: &Program) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/requesting_plugin.c");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (object, library) = (text(&program.path("plugin.o")), text(&program.path("plugin.so")));
    let run = |args: &[&str]| {
        let status = std::process::Command::new(compiler).args(args).status();
        assert!(status.expect("a compiler").success());
    };
    run(&["-g", "-O2", "-fsanitize=thread", "-fPIC", "-c", &text(&source), "-o", &object]);
    run(&["-shared", &object, "-o", &library]);
    library
}

/// Returns the synchronisation in the code of a module.
fn inside(run: &Run, module: &[u8]) -> Vec<SyncKind> {
    let entries = run.entries();
    let find = |e: &foretell_rt_format::Entry<'_>| match e.record {
        Record::Module { start, end, path, .. } if path.ends_with(module) => Some(start..end),
        _ => None,
    };
    let range = entries.iter().find_map(find).expect("its module");
    let kinds = entries.iter().filter_map(|e| match e.record {
        Record::Sync { kind, pc, .. } if range.contains(&pc) => Some(kind),
        _ => None,
    });
    kinds.filter(|kind| *kind != SyncKind::SystemCall).collect()
}

#[test]
fn requests_are_seen_and_keep_registers() {
    use SyncKind::{Lock, Looked, Sent, Unlock};
    for compiler in ["gcc", "clang"] {
        let options = ["-O2", "-mno-red-zone"];
        let program = Program::build_by(compiler, "client_requests.c", &options);
        let library = build_library(compiler, &program);
        let run = program.record_ok(&[&library]);
        // With AVX every request is made twice; a lock that is held is not taken again.
        let mut kinds = inside(&run, b"/program");
        kinds.dedup();
        assert_eq!(kinds, [Lock, Unlock, Sent, Looked], "{compiler}");
        assert_eq!(inside(&run, b"/plugin.so"), [Sent, Looked], "{compiler}");
    }
}
