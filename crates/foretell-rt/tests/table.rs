//! The exported symbols are those of the table, no more and no less.

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
