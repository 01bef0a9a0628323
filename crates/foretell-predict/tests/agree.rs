//! Prediction against brute force: the same findings on random traces of every family, none
//! missing, none extra, whatever filters are on, and whether or not the engine may do without
//! search. Every witness has passed the checker, or `predict` fails.
//!
//! Each family is compared on 20,000 traces in the models view and value, which takes minutes, and
//! on fewer in the symbolic model;
//! `FORETELL_SEEDS=500000 cargo test --release -p foretell-predict --test agree` is the long soak.

use foretell_brute::Findings;
use foretell_generate::{Family, Params, generate};
use foretell_predict::analyses::Candidate;
use foretell_predict::driver::{Options, predict};
use foretell_predict::engines::EngineOptions;
use foretell_predict::filters::Filters;
use foretell_trace::{Model, Trace};
use foretell_verify::Pattern;

/// The findings of `predict --all`, as brute force gives them.
fn predicted(
    trace: &Trace,
    model: Model,
    filters: Filters,
    search_only: bool,
) -> Result<Findings, String> {
    // Values are simplified in every second run.
    let engine_options = EngineOptions { simplify: !search_only, ..EngineOptions::default() };
    let options = Options {
        all: true,
        filters,
        jobs: 1,
        search_only,
        engine_options,
        unordered: false,
        ..Options::default()
    };
    let prediction = predict(trace, model, &options).map_err(|defects| format!("{defects:?}"))?;
    if let Some((candidate, reason)) = prediction.undecided.first() {
        return Err(format!("{candidate:?} is undecided: {reason}"));
    }
    let mut findings = Findings::default();
    for finding in prediction.findings {
        match (finding.pattern, finding.candidate) {
            (Pattern::Race { a, b }, _) => drop(findings.races.insert([a, b])),
            (Pattern::Atomicity { c, r, c2 }, _) => drop(findings.atomicity.insert([c, r, c2])),
            (Pattern::Serializability { begin, .. }, _) => {
                findings.serializability.insert(begin);
            }
            (Pattern::Transactions { begin, .. }, _) => drop(findings.transactions.insert(begin)),
            (Pattern::NondeterministicRead { read, .. }, _) => {
                findings.nondeterministic_reads.insert(read);
            }
            (Pattern::FinalValue { var, .. }, _) => drop(findings.final_values.insert(var)),
            (Pattern::Hang { blocked }, _) => drop(findings.hangs.insert(blocked)),
            (Pattern::Lifetime { free, used }, _) => drop(findings.lifetimes.insert([free, used])),
            (_, Candidate::Deadlock(acquires)) => drop(findings.deadlocks.insert(acquires)),
            (pattern, candidate) => return Err(format!("{candidate:?} became {pattern:?}")),
        }
    }
    Ok(findings)
}

fn seeds() -> u64 {
    std::env::var("FORETELL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(20_000)
}

fn agree(family: Family, seeds: std::ops::Range<u64>, filters: Filters) {
    agree_in(&[Model::View, Model::Value], family, seeds, filters);
}

fn agree_in(models: &[Model], family: Family, seeds: std::ops::Range<u64>, filters: Filters) {
    for seed in seeds {
        let trace = generate(family, &Params::small(family, seed));
        for &model in models {
            let Some(expected) = foretell_brute::findings_within(&trace, model, 200_000) else {
                continue;
            };
            // On traces this small most witnesses are found without search.
            for search_only in [false, true] {
                let actual = predicted(&trace, model, filters, search_only);
                let how = if search_only { "search only" } else { "as always" };
                assert_eq!(
                    actual.as_ref(),
                    Ok(&expected),
                    "{family} seed {seed} {model}, {how}\n{}",
                    show(&trace)
                );
            }
        }
    }
}

fn show(trace: &Trace) -> String {
    let mut text = Vec::new();
    foretell_trace::text::write(trace, &mut text).expect("a generated trace can be written");
    String::from_utf8_lossy(&text).into_owned()
}

macro_rules! families {
    ($($test:ident $family:ident;)*) => {$(
        #[test]
        fn $test() {
            agree(Family::$family, 0..seeds(), Filters::default());
            let few = seeds() / 40;
            let only = [
                Filters::NONE,
                Filters { locksets: true, ..Filters::NONE },
                Filters { histories: true, ..Filters::NONE },
                Filters { must_happen_before: true, ..Filters::NONE },
                Filters { static_check: true, ..Filters::NONE },
                Filters { reachability: true, ..Filters::NONE },
            ];
            for (i, filters) in only.into_iter().enumerate() {
                let start = 1_000_000 * (i as u64 + 1);
                agree(Family::$family, start..start + few, filters);
            }
        }
    )*};
}

families! {
    uniform Uniform;
    locks Locks;
    inversion Inversion;
    queue Queue;
    fork_join ForkJoin;
    blocks Blocks;
    lucky Lucky;
    mixed Mixed;
    readers_writers ReadersWriters;
    sync Sync;
    values Values;
    symbolic_without_symbols Symbolic;
    waiters Waiters;
    hidden Hidden;
    permits Permits;
}

/// The symbolic model on traces with registers, expressions and guards, with and without filters.
#[test]
fn symbolic_model() {
    let models = &[Model::Symbolic];
    agree_in(models, Family::Symbolic, 0..seeds() / 8, Filters::default());
    agree_in(models, Family::Symbolic, 1_000_000..1_000_000 + seeds() / 80, Filters::NONE);
}

/// Uses of hidden state are the only accesses that the symbolic model breaks.
#[test]
fn symbolic_model_with_hidden_state() {
    let models = &[Model::Symbolic];
    agree_in(models, Family::Hidden, 0..seeds() / 8, Filters::default());
    agree_in(models, Family::Hidden, 1_000_000..1_000_000 + seeds() / 80, Filters::NONE);
}

/// Where nothing depends on a value, no read of the symbolic model is ever broken, but for uses of
/// hidden state.
#[test]
fn symbolic_model_without_symbols() {
    for &family in Family::ALL.iter().filter(|&&f| f != Family::Scalable) {
        agree_in(&[Model::Symbolic], family, 0..seeds() / 80, Filters::default());
    }
}
