//! Hundreds of damaged files: the binary reads them or gives the reason in one line; it never
//! panics.

use foretell_generate::Rng;

use super::*;

/// Returns a random range of at most `longest` bytes.
fn range(rng: &mut Rng, bytes: &[u8], longest: usize) -> std::ops::Range<usize> {
    let start = rng.below(bytes.len());
    start..(start + rng.below(longest)).min(bytes.len())
}

/// Pieces of trace text, valid and invalid.
const PIECES: &[&str] = &[
    "|",
    "(",
    ")",
    "=",
    ">",
    "->%1",
    "<-(+ %1 1)",
    "\n",
    "\r",
    "#! ",
    "#! init x=",
    "#! barrier b=0\n",
    "T1|acq(l)|\n",
    "T2|rel(l)|\n",
    "T9|join(T1)|\n",
    "T1|fork(T1)|\n",
    "T1|end|\n",
    "wait(c,l)",
    "woken(c,l)",
    "-9223372036854775808",
    "99999999999999999999",
    "#xfffffffffffffffff",
    "\u{0}",
    "\u{feff}",
    "é",
    "((((((((",
    "guard(",
    "%",
];

fn damage(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(3) {
        match rng.below(6) {
            0 if !bytes.is_empty() => {
                let at = rng.below(bytes.len());
                bytes[at] ^= 1 << rng.below(8);
            }
            1 => drop(bytes.drain(range(rng, bytes, 20))),
            2 => {
                let copy = bytes[range(rng, bytes, 60)].to_vec();
                let at = rng.below(bytes.len());
                bytes.splice(at..at, copy);
            }
            3 => bytes.truncate(bytes.len() - rng.below(bytes.len().min(40))),
            _ => {
                let piece = PIECES[rng.below(PIECES.len())];
                let at = rng.below(bytes.len());
                bytes.splice(at..at, piece.bytes());
            }
        }
    }
}

/// Returns well-formed files to damage: text of several kinds, binary, compressed.
fn sources(files: &Files) -> Vec<Vec<u8>> {
    let mut sources: Vec<Vec<u8>> =
        ["examples/traces/bank.std", "examples/traces/bank-symbolic.std"]
            .into_iter()
            .chain(["tests/literature/Test16.std"])
            .map(|name| fs::read(repository(name)).unwrap())
            .collect();
    for name in ["a.std", "a.ft", "a.ft.zst", "a.std.gz"] {
        let out = files.path(name);
        foretell(["generate", "mixed", "--events", "60", "-o", text(&out)]).quietly(0);
        sources.push(fs::read(&out).unwrap());
    }
    sources
}

/// Asserts that the binary ended without a panic. Returns whether it could read the file.
#[track_caller]
fn ended_well(ran: Ran, what: &str) -> bool {
    assert!(ran.status == 0 || ran.status == 2, "{what}: status {}: {}", ran.status, ran.stderr);
    if ran.status == 2 {
        ran.refused();
        return false;
    }
    true
}

#[test]
fn damaged_traces_are_read_or_rejected() {
    let files = Files::new();
    let mut rng = Rng::new(0x5eed_f07e);
    let (mut readable, mut refused) = (0, 0);
    for (number, source) in sources(&files).into_iter().enumerate() {
        for round in 0..40 {
            let mut bytes = source.clone();
            damage(&mut bytes, &mut rng);
            let what = format!("source {number}, round {round}");
            let (path, out) = (files.add("damaged", &bytes), files.path("out.ft"));
            if ended_well(foretell(["convert", text(&path), text(&out)]), &what) {
                readable += 1;
                foretell(["stats", text(&out)]).quietly(0);
            } else {
                refused += 1;
                let lenient = foretell(["convert", "--lenient", text(&path), text(&out)]);
                if ended_well(lenient, &what) {
                    // A repaired trace is legal.
                    foretell(["stats", text(&out)]).quietly(0);
                }
            }
        }
    }
    assert!(readable > 20 && refused > 100, "{readable} readable, {refused} refused");
}

#[test]
fn damaged_findings_are_checked_or_rejected() {
    let files = Files::new();
    let trace = repository("examples/traces/bank.std");
    let source = fs::read(repository("examples/traces/bank.json")).unwrap();
    let mut rng = Rng::new(0xf1d1);
    for round in 0..100 {
        let mut bytes = source.clone();
        damage(&mut bytes, &mut rng);
        let path = files.add("damaged.json", &bytes);
        for command in [&["verify", text(&trace), text(&path)][..], &["merge", text(&path)]] {
            let ran = foretell(command);
            if ran.status != 1 {
                ended_well(ran, &format!("round {round}"));
            }
        }
    }
}
