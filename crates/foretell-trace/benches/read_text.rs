//! Speed of reading and writing trace text:
//! `cargo bench -p foretell-trace --bench read_text -- [EVENTS] [std|values|symbolic]`.
//!
//! Prints events and megabytes per second of one core's time, the best of five runs, for texts with
//! the lines that recorders write most: short STD lines, lines with values and file names, and
//! symbolic ones.

use std::fmt::Write;
use std::time::Instant;

use foretell_trace::text;

/// A linear congruential generator: the same texts every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    /// Some of them much more often than others, as programs use variables and lines.
    fn skewed(&mut self, bound: u64) -> u64 {
        let bound = self.below(bound) + 1;
        let bound = self.below(bound) + 1;
        self.below(bound)
    }
}

/// `T1|acq(L1)|1000` and so on, as in the STD files of the literature.
fn std_text(events: usize, random: &mut Random) -> String {
    let mut text = String::new();
    let mut thread = 0;
    for i in 0..events {
        if random.below(8) == 0 {
            thread = random.below(16);
        }
        let location = random.skewed(5000);
        let _ = match i % 4 {
            0 => writeln!(text, "T{thread}|acq(L{})|{location}", random.skewed(200)),
            1 => writeln!(text, "T{thread}|r(V{})|{location}", random.skewed(20_000)),
            2 => writeln!(text, "T{thread}|w(V{})|{location}", random.skewed(20_000)),
            _ => writeln!(text, "T{thread}|rel(L{})|{location}", random.skewed(200)),
        };
    }
    text
}

/// `T3|w(V42=7)|foo.c:12`: values, and locations in files.
fn value_text(events: usize, random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..events {
        let (thread, var, value) = (random.below(16), random.skewed(20_000), random.below(1000));
        let word = ["r", "w", "ar", "aw"][random.below(4) as usize];
        let (file, line) = (random.skewed(20), random.skewed(300));
        let _ = writeln!(text, "T{thread}|{word}(V{var}={value})|src/module{file}.c:{line}");
    }
    text
}

/// Registers, expressions and guards.
fn symbolic_text(events: usize, random: &mut Random) -> String {
    let mut text = String::new();
    for i in 0..events {
        let (thread, var, value) = (random.below(16), random.skewed(2000), random.below(1000));
        let _ = match i % 3 {
            0 => writeln!(text, "T{thread}|r(V{var}={value})->%1|a.c:{value}"),
            1 => writeln!(text, "T{thread}|w(V{var}={value})<-(+ %1 1)|a.c:{value}"),
            _ => writeln!(text, "T{thread}|guard((> %1 0))|a.c:{value}"),
        };
    }
    text
}

/// The time this thread has been running, where the system says: others on the machine do not
/// count then.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    stat.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

fn best_of_five<R>(mut run: impl FnMut() -> R) -> f64 {
    let once = |_| {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        let result = run();
        let seconds = match (cpu, cpu_seconds()) {
            (Some(before), Some(after)) if after > before => after - before,
            _ => start.elapsed().as_secs_f64(),
        };
        drop(result);
        seconds
    };
    (0..5).map(once).fold(f64::INFINITY, f64::min)
}

fn report(what: &str, events: usize, bytes: usize, seconds: f64) {
    let (events, bytes) = (events as f64 / seconds / 1e6, bytes as f64 / seconds / 1e6);
    println!("{what:<16} {events:>7.2} M events/s {bytes:>8.1} MB/s");
}

fn texts_named(argument: &str) -> bool {
    ["std", "values", "symbolic"].contains(&argument)
}

fn main() {
    let events = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(1_000_000);
    let mut random = Random(1);
    let texts = [
        ("std", std_text(events, &mut random)),
        ("values", value_text(events, &mut random)),
        ("symbolic", symbolic_text(events, &mut random)),
    ];
    for (name, input) in texts {
        if std::env::args().any(|a| texts_named(&a) && a != name) {
            continue;
        }
        let read = || text::parse(input.as_bytes()).expect("the text is well-formed");
        let trace = read().trace;
        report(&format!("read {name}"), trace.len(), input.len(), best_of_five(read));
        let write = || {
            let mut out = Vec::with_capacity(input.len() * 2);
            text::write(&trace, &mut out).expect("a vector takes everything");
            out
        };
        report(&format!("write {name}"), trace.len(), write().len(), best_of_five(write));
    }
}
