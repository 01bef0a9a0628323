//! Shared code of the benchmarks that compare engines: processor time, and an engine's answers to a
//! list of queries.

use std::time::{Duration, Instant};

use foretell_predict::analyses::Candidate;
use foretell_predict::engine::Engine;
use foretell_predict::query::{Limit, Verdict};

/// Processor time that this process and those it has started and seen end have taken, in seconds.
fn processor_time() -> f64 {
    let of = |who| {
        // SAFETY: zeros are a valid `rusage`, and the call writes nothing else.
        let usage = unsafe {
            let mut usage = std::mem::zeroed::<libc::rusage>();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}

/// The answers and the processor time they took, with that of making and ending the engine.
pub(crate) fn run<'s>(
    engine: impl FnOnce() -> Box<dyn Engine + 's>,
    queries: &[Candidate],
    patience: Duration,
) -> (Vec<Option<bool>>, f64) {
    let before = processor_time();
    let mut engine = engine();
    let limit = Limit { deadline: Some(Instant::now() + patience), stop: None };
    let answers = queries.iter().map(|candidate| match engine.decide(&candidate.query(), &limit) {
        Verdict::Witness(_) => Some(true),
        Verdict::Impossible => Some(false),
        Verdict::Undecided(reason) => {
            if reason != "time limit" {
                eprintln!("{}: {reason}", engine.name());
            }
            None
        }
    });
    let answers = answers.collect();
    // A solver's time counts once its process has ended.
    drop(engine);
    (answers, processor_time() - before)
}
