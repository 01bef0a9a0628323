//! `foretell convert`: formats, dialects, compression.

use std::io::Write;

use super::*;

fn convert(from: &Path, to: &Path) {
    foretell([Path::new("convert"), from, to]).quietly(0);
}

/// Trace text with one of each construct.
const EVERYTHING: &str = "\
#! sem s=1
#! barrier b=1
#! init x=7
#! opaque o
#! name T2=worker-2
T1|fork(T2)|main.c:1
T1|begin(outer)|main.c:2
T1|begin|main.c:3
T1|r(x=7)->%1|main.c:4
T1|guard((> %1 0))|
T1|w(x=8)<-(+ %1 1)|main.c:5
T1|au(x=8>9)|main.c:6
T1|ar(x=9)|
T1|aw(x=-3)|
T1|end|
T1|end(outer)|
T1|acq(l)|a place with spaces
T1|tryfail(m)|
T1|wait(c,l)|
T2|r(o)|
T2|acq(l)|
T2|notify(c)|
T2|notifyall(c)|
T2|rel(l)|
T1|woken(c,l)|
T1|rel(l)|
T2|racq(m)|
T2|rrel(m)|
T2|down(s)|
T2|post(s)|
T2|arrive(b)|
T2|leave(b)|
T2|w(y=#x0f)|
T1|join(T2)|
";

#[test]
fn text_to_binary_to_text_is_identical() {
    let files = Files::new();
    let mut sources = vec![files.add("everything.std", EVERYTHING)];
    for name in ["bank", "bank-symbolic", "check-then-use", "lock-inversion"] {
        sources.push(repository(&format!("examples/traces/{name}.std")));
    }
    for number in 1..=33 {
        sources.push(repository(&format!("tests/literature/Test{number}.std")));
    }
    for source in &sources {
        let [text, binary, again, packed] =
            ["a.std", "a.ft", "b.std", "b.ft"].map(|name| files.path(name));
        convert(source, &text);
        convert(&text, &binary);
        convert(&binary, &again);
        assert_eq!(read(&text), read(&again), "{}", source.display());
        convert(&again, &packed);
        assert!(fs::read(&binary).unwrap() == fs::read(&packed).unwrap(), "{}", source.display());
    }
}

#[test]
fn written_trace_equals_the_one_read() {
    let files = Files::new();
    let source = files.add("everything.std", EVERYTHING);
    let out = files.path("out.std");
    convert(&source, &out);
    let events = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.trim_end_matches('|').to_owned()).collect()
    };
    assert_eq!(events(&read(&out)), events(EVERYTHING));
}

#[test]
fn compressed_files_are_recognised_by_content_and_written_by_name() {
    let files = Files::new();
    let plain = repository("examples/traces/bank.std");
    let expected = files.path("expected.std");
    convert(&plain, &expected);
    for name in ["a.std.gz", "a.std.zst", "a.ft.gz", "a.ft.zst"] {
        let (packed, back) = (files.path(name), files.path("back.std"));
        convert(&plain, &packed);
        assert_ne!(fs::read(&packed).unwrap(), fs::read(&expected).unwrap(), "{name}");
        convert(&packed, &back);
        assert_eq!(read(&back), read(&expected), "{name}");
    }
    // Compressed by another program, without an extension.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(read(&plain).as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let zstd = zstd::encode_all(read(&plain).as_bytes(), 3).unwrap();
    for bytes in [gzip, zstd] {
        let (packed, back) = (files.add("packed", &bytes), files.path("back.std"));
        convert(&packed, &back);
        assert_eq!(read(&back), read(&expected));
        // Truncated in the middle.
        let cut = files.add("cut", &bytes[..bytes.len() / 2]);
        let line = foretell([Path::new("convert"), &cut, &back]).refused();
        assert!(line.starts_with(&format!("{}: ", text(&cut))), "{line}");
    }
}

#[test]
fn windows_line_ends_and_a_missing_last_one_change_nothing() {
    let files = Files::new();
    let plain = read(&repository("tests/literature/Test10.std"));
    let expected = files.path("expected.std");
    convert(&files.add("plain.std", &plain), &expected);
    let crlf = plain.replace('\n', "\r\n");
    for (name, contents) in [("crlf", crlf.as_str()), ("open", plain.trim_end())] {
        let out = files.path("out.std");
        convert(&files.add(name, contents), &out);
        assert_eq!(read(&out), read(&expected), "{name}");
    }
}

#[test]
fn standard_input_and_output_are_a_dash() {
    let plain = repository("examples/traces/bank.std");
    let out = foretell(["convert", text(&plain), "-"]).quietly(0);
    assert!(out.contains("clerk|r(balance=100)|bank.c:12\n"), "{out}");
    let input = fs::File::open(&plain).unwrap();
    let piped = command(["convert", "-", "-"]).stdin(input).output().unwrap();
    assert_eq!(Ran::from(piped).quietly(0), out);
}

#[test]
fn lenient_reading_repairs_with_a_note() {
    let files = Files::new();
    let source = files.add("bad.std", "T1|rel(l)|1\nT1|w(x)|2\nnonsense\nT1|r(x)|3\n");
    let out = files.path("good.std");
    let line = foretell([Path::new("convert"), &source, &out]).refused();
    assert!(line.starts_with(&format!("{}:1: ", text(&source))), "{line}");
    assert!(!out.exists());
    let ran = foretell(["convert", "--lenient", text(&source), text(&out)]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""));
    assert_eq!(read(&out), "T1|w(x)|2\nT1|r(x)|3\n");
    let notes: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(notes.len(), 2, "{}", ran.stderr);
    assert!(notes.iter().all(|note| note.starts_with(&format!("{}: ", text(&source)))));
    assert!(ran.stderr.contains("dropped 1 release of a lock that was not held"), "{}", ran.stderr);
    foretell([Path::new("convert"), &out, &files.path("again.ft")]).quietly(0);
}

#[test]
fn path_that_cannot_be_written_is_named() {
    let files = Files::new();
    let source = repository("examples/traces/bank.std");
    for out in [files.path("no/such/out.ft"), files.0.path().to_owned()] {
        let line = foretell([Path::new("convert"), &source, &out]).refused();
        assert!(line.starts_with(text(&out)), "{line}");
    }
}

#[test]
fn dialects_are_translated_with_a_note() {
    let files = Files::new();
    let source = files.add(
        "dialect.std",
        "T0|fork(1)|0\nT1|req(l)|1\nT1|acq(l)|1\nT1|rel(l)|2\nT1|wait(c)|3\nT1|req(l)|4\n\
         T2|acq(l)|5\nT2|notify(c)|6\nT2|rel(l)|7\nT1|acq(l)|8\nT1|rel(l)|9\nT0|join(1)|10\n",
    );
    let ran = foretell(["convert", text(&source), "-"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout,
        "T0|fork(T1)|0\nT1|acq(l)|1\nT1|wait(c,l)|3\nT2|acq(l)|5\nT2|notify(c)|6\nT2|rel(l)|7\n\
         T1|woken(c,l)|8\nT1|rel(l)|9\nT0|join(T1)|10\n"
    );
    assert_eq!(ran.stderr.lines().count(), 3, "{}", ran.stderr);
    for line in ran.stderr.lines() {
        assert!(line.starts_with(&format!("{}: ", text(&source))), "{line}");
    }
}
