//! Random traces of every family, small enough to list their sequences.

use foretell_generate::{Family, Params, generate};
use foretell_trace::{EventKind, Trace, legality};

/// A legal trace of at most `events` events. Every second one lacks some of its values.
pub(crate) fn small_trace(family: Family, seed: u64, events: usize) -> Trace {
    let small = Params::small(family, seed);
    let events = events - (seed % 3) as usize;
    let trace = generate(family, &Params { events, threads: small.threads.min(3), ..small });
    let trace = if seed.is_multiple_of(2) { trace } else { without_some_values(&trace, seed) };
    legality::check(&trace).expect("a legal trace");
    trace
}

/// Returns the trace without the values of about a quarter of its accesses.
fn without_some_values(trace: &Trace, seed: u64) -> Trace {
    let mut b = trace.builder_with_names();
    for event in trace.events() {
        let mut kind = event.kind;
        let dice = seed.wrapping_add(u64::from(event.id.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (first, second) = (dice >> 62 == 0, dice >> 60 & 3 == 0);
        match &mut kind {
            EventKind::Read { value, .. } | EventKind::Write { value, .. } if first => {
                *value = None;
            }
            EventKind::Update { old, new, .. } => {
                *old = old.filter(|_| !first);
                *new = new.filter(|_| !second);
            }
            _ => {}
        }
        b.push(event.thread, kind, event.site);
    }
    b.build()
}

/// Its events, to be shown when a test fails.
pub(crate) fn show(trace: &Trace) -> String {
    trace.events().map(|e| format!("{} {:?} {:?}\n", e.id.0, e.thread, e.kind)).collect()
}
