//! The hooks that each compiler emits are in the table, and work.

#[path = "../src/table.rs"]
#[allow(unreachable_pub)]
mod table;

mod common;

use common::Program;
use std::collections::BTreeSet;
use std::process::Command;

const VOLATILE: [&str; 2] = ["-mllvm", "-tsan-distinguish-volatile=1"];
const READS_BEFORE_WRITES: [&str; 2] = ["-mllvm", "-tsan-instrument-read-before-write=1"];
const COMPOUND: [&str; 2] = ["-mllvm", "-tsan-compound-read-before-write=1"];

/// The hooks that a program calls.
fn hooks(program: &Program) -> BTreeSet<String> {
    let nm = Command::new("nm").arg("-u").arg(program.path("program.o")).output().expect("nm");
    let text = String::from_utf8_lossy(&nm.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.split_whitespace().last());
    names.filter(|name| name.starts_with("__tsan_")).map(str::to_owned).collect()
}

/// Builds the program at every level, compares the hooks with the table, and records it. Returns
/// all hooks.
fn emits(compiler: &str, options: &[&str]) -> BTreeSet<String> {
    let listed: BTreeSet<&str> =
        table::SYMBOLS.iter().flat_map(|(_, names)| *names).copied().collect();
    let mut all = BTreeSet::new();
    for level in ["-O0", "-O1", "-O2"] {
        let options = [&[level, "-fbuiltin", "-mcx16"], options].concat();
        let program = Program::build_by(compiler, "rich.cc", &options);
        let found = hooks(&program);
        let unknown: Vec<_> = found.iter().filter(|n| !listed.contains(n.as_str())).collect();
        assert!(unknown.is_empty(), "{compiler} {level}: {unknown:?}");
        let run = program.record_ok(&[]);
        assert_eq!(run.stdout(), "ok\n", "{compiler} {level}");
        all.extend(found);
    }
    all
}

fn assert_among(found: &BTreeSet<String>, wanted: &[&str]) {
    let missing: Vec<_> = wanted.iter().filter(|name| !found.contains(**name)).collect();
    assert!(missing.is_empty(), "the program is not rich enough: {missing:?}");
}

#[test]
fn gcc() {
    let found = emits("g++", &["--param", "tsan-distinguish-volatile=1"]);
    let wanted = ["__tsan_read_range", "__tsan_volatile_read16", "__tsan_vptr_update"];
    assert_among(&found, &wanted);
    assert!(found.len() > 60, "{}", found.len());
}

/// Checks all hooks of clang, in its two ways to instrument the read of `x++`.
fn clang(compiler: &str) {
    let mut found = emits(compiler, &[VOLATILE, READS_BEFORE_WRITES].concat());
    found.extend(emits(compiler, &COMPOUND));
    let wanted = [
        "__tsan_atomic128_compare_exchange_val",
        "__tsan_read_write8",
        "__tsan_unaligned_read_write4",
        "__tsan_unaligned_volatile_write16",
        "__tsan_vptr_read",
    ];
    assert_among(&found, &wanted);
    assert!(found.len() > 90, "{}", found.len());
}

#[test]
fn clang_as_installed() {
    clang("clang++");
}

#[test]
fn clang_16() {
    clang("clang++-16");
}

#[test]
fn clang_19() {
    clang("clang++-19");
}
