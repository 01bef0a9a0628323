//! The shared library: its symbols are exactly those of the table, and its fast paths make no
//! calls.

#[path = "../src/table.rs"]
#[allow(unreachable_pub)]
mod table;

mod common;

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn exported_symbols_are_the_table() {
    let library = common::library_dir().join("libforetell_rt.so");
    let nm = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().expect("nm");
    let text = String::from_utf8(nm.stdout).expect("names");
    let exported: BTreeSet<&str> =
        text.lines().filter_map(|l| l.split_whitespace().nth(2)).collect();
    let mut listed = BTreeSet::new();
    for name in table::SYMBOLS.iter().flat_map(|(_, names)| *names) {
        assert!(listed.insert(*name), "{name} is listed twice");
    }
    let unlisted: Vec<_> = exported.difference(&listed).collect();
    let missing: Vec<_> = listed.difference(&exported).collect();
    assert!(
        unlisted.is_empty() && missing.is_empty(),
        "not in the table: {unlisted:?}; not exported: {missing:?}"
    );
}

/// A signal that comes in a fast path is recognised by its code address: a helper that the compiler
/// left out of line would be taken for the program, and the handler's records would land in the
/// middle of another record.
#[test]
fn fast_paths_call_nothing_but_slow_paths() {
    let library = common::library_dir().join("libforetell_rt.so");
    let objdump = Command::new("objdump")
        .args(["-d", "-C", "--no-show-raw-insn", "-j", "foretell_hot"])
        .arg(library)
        .output()
        .expect("objdump");
    let text = String::from_utf8(objdump.stdout).expect("text");
    let hooks: BTreeSet<&str> = text
        .lines()
        .filter_map(|l| l.split_once(" <")?.1.strip_suffix(">:"))
        .filter(|name| !name.starts_with("__st"))
        .collect();
    assert!(hooks.len() >= 18, "{hooks:?}");
    for line in text.lines() {
        let Some((_, instruction)) = line.split_once(":\t") else { continue };
        let mut words = instruction.split_whitespace();
        let leaves = match words.next() {
            Some(goes) if goes.starts_with("call") || goes.starts_with('j') => {
                // The start of another one, or the distance from a start.
                let within = |hook: &&str| {
                    [">", "+0x"].iter().any(|end| instruction.contains(&format!("<{hook}{end}")))
                };
                !hooks.iter().any(within)
            }
            _ => false,
        };
        assert!(!leaves || instruction.contains("_slow"), "{line}");
    }
}
