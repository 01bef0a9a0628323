//! Traces that cannot be read: every command gives the reason in the same line.

use super::*;

/// Returns the message of `stats` after the file's name; other commands give the same message.
#[track_caller]
fn refused(path: &Path) -> String {
    let line = foretell([Path::new("stats"), path]).refused();
    let out = path.with_extension("out");
    assert_eq!(foretell([Path::new("convert"), path, &out]).refused(), line);
    let findings = repository("examples/traces/bank.json");
    assert_eq!(foretell([Path::new("verify"), path, &findings]).refused(), line);
    assert!(!out.exists());
    line.strip_prefix(text(path)).unwrap_or_else(|| panic!("no file name: {line}")).to_owned()
}

#[test]
fn missing_files_and_directories_are_named() {
    let files = Files::new();
    let message = refused(&files.path("nothing.std"));
    assert!(message.starts_with(": No such file or directory"), "{message}");
    let message = refused(files.0.path());
    assert!(message.contains("is a directory"), "{message}");
}

#[test]
fn malformed_line_is_named() {
    let files = Files::new();
    for (contents, place) in [
        ("T1|w(x)|1\nT1|r(x|2\n", ":2: "),
        ("T1|w(x)|1\n\n# note\nT1|frob(x)|2\n", ":4: "),
        ("T1 w(x)\n", ":1: "),
        ("#! sem s=many\nT1|post(s)|\n", ":1: "),
        ("T1|w(x=notanumber)|1\n", ":1: "),
        ("T1|guard((> %1))|\n", ":1: "),
        ("T1|w()|\n", ":1: "),
        ("|w(x)|\n", ":1: "),
    ] {
        let message = refused(&files.add("bad.std", contents));
        assert!(message.starts_with(place) && message.len() > place.len(), "{contents}: {message}");
    }
}

#[test]
fn illegal_event_is_named_with_its_line_and_rule() {
    let files = Files::new();
    for (contents, place, rule) in [
        ("T1|acq(l)|1\nT2|acq(l)|2\n", ":2: ", "l"),
        ("# note\n\nT1|rel(l)|1\n", ":3: ", "own"),
        ("T1|w(x)|1\nT2|fork(T1)|2\n", ":1: ", "T1"),
        ("T1|fork(T2)|\nT1|join(T2)|\nT2|w(x)|1\n", ":2: ", "T2"),
        ("T1|w(x=1)|\nT1|r(x=2)|\n", ":2: ", "2"),
        ("T1|down(s)|\n", ":1: ", "s"),
        ("T1|arrive(b)|\n", ":1: ", "b"),
        ("T1|end|\n", ":1: ", "block"),
        ("T1|acq(l)|\nT1|wait(c,l)|\nT1|w(x)|\n", ":3: ", "wait"),
        ("T1|acq(l)|\nT1|wait(c,l)|\nT1|woken(c,l)|\n", ":3: ", "not"),
    ] {
        let message = refused(&files.add("illegal.std", contents));
        assert!(message.starts_with(place), "{contents}: {message}");
        assert!(message.contains(rule), "{contents}: {message}");
    }
}

#[test]
fn first_problem_in_the_file_is_reported() {
    let files = Files::new();
    let message = refused(&files.add("two.std", "T1|rel(l)|1\nnonsense\n"));
    assert!(message.starts_with(":1: "), "{message}");
    let message = refused(&files.add("two.std", "nonsense\nT1|rel(l)|1\n"));
    assert!(message.starts_with(":1: "), "{message}");
}

#[test]
fn damage_to_a_binary_file_is_reported() {
    let files = Files::new();
    let whole = files.path("whole.ft");
    let source = repository("examples/traces/bank.std");
    foretell([Path::new("convert"), &source, &whole]).quietly(0);
    let bytes = fs::read(&whole).unwrap();
    let mut damaged = bytes.clone();
    let middle = bytes.len() / 2;
    damaged[middle] ^= 0x10;
    let message = refused(&files.add("damaged.ft", &damaged));
    assert!(message.starts_with(": "), "{message}");
    let message = refused(&files.add("head.ft", &bytes[..6]));
    assert!(message.starts_with(':'), "{message}");
}

#[test]
fn truncated_recording_is_read_to_its_end() {
    let files = Files::new();
    let whole = files.path("whole.ft");
    foretell([Path::new("convert"), &repository("examples/traces/bank.std"), &whole]).quietly(0);
    let bytes = fs::read(&whole).unwrap();
    let cut = files.add("cut.ft", &bytes[..bytes.len() - 3]);
    let ran = foretell([Path::new("stats"), &cut]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("cut off"), "{}", ran.stderr);
}
