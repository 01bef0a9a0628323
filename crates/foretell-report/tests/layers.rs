//! The modules of the crate are in layers: see the crate's documentation.

use std::fs;
use std::path::{Path, PathBuf};

/// Modules in an order in which each uses only those before it.
const ORDER: [&str; 24] = [
    "hang",
    "lifetime",
    "json",
    "soundness",
    "observed",
    "location",
    "span",
    "source",
    "witness",
    "identity",
    "baseline",
    "suppress",
    "replay",
    "cause",
    "weak_link",
    "headline",
    "notes",
    "kept_by_order",
    "text",
    "explain",
    "html",
    "sarif",
    "perfetto",
    "junit",
];
/// Modules that may stand last: nothing uses them.
const LAST: &str = "graph";

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the directory is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.file_name().is_some_and(|name| name != "tests.rs") {
            found.push(path);
        }
    }
}

fn rank(module: &str) -> Option<usize> {
    if module == LAST { Some(ORDER.len()) } else { ORDER.iter().position(|&name| name == module) }
}

/// Returns the modules that a line `use crate::…;` names.
fn used(line: &str) -> Vec<String> {
    let Some(rest) = line.trim_start().strip_prefix("use crate::") else { return Vec::new() };
    let word = |text: &str| {
        text.split(|c: char| c != '_' && !c.is_alphanumeric()).next().map(str::to_owned)
    };
    match rest.strip_prefix('{') {
        Some(list) => {
            list.split(',').filter_map(|part| word(part.trim())).filter(|w| !w.is_empty()).collect()
        }
        None => word(rest).into_iter().collect(),
    }
}

#[test]
fn modules_use_only_lower_layers() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&src, &mut found);
    let mut checked = 0;
    for path in found {
        let inside = path.strip_prefix(&src).expect("a file of the crate");
        let first = inside.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
        let module = first.strip_suffix(".rs").unwrap_or(first);
        if module == "lib" {
            continue;
        }
        let own = rank(module).unwrap_or_else(|| panic!("{module} is in no layer"));
        let text = fs::read_to_string(&path).expect("a readable file");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for name in code.lines().flat_map(used).filter(|name| name != module) {
            let other = rank(&name).unwrap_or_else(|| panic!("{name} is in no layer"));
            assert!(other < own, "{}: {module} uses {name}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} uses were found");
}
