//! Segments and the static check rule nothing out that is there: with and without them the same
//! blocks are violated, in every engine's path.

mod common;

use foretell_generate::{Family, Params, generate};
use foretell_predict::analyses::Candidate;
use foretell_predict::driver::{Counts, Options, predict};
use foretell_predict::filters::Filters;
use foretell_trace::{FindingKind, Model, Trace};

const VARIANTS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

/// The violated blocks, and what became of the candidates.
fn violated(
    trace: &Trace,
    model: Model,
    (segments, static_check): (bool, bool),
    others: Filters,
) -> (Vec<Candidate>, Counts) {
    let options = Options {
        analyses: [FindingKind::Serializability].into(),
        all: true,
        segments,
        filters: Filters { static_check, ..others },
        jobs: 1,
        unordered: false,
        ..Options::default()
    };
    let prediction = predict(trace, model, &options).expect("no witness is refused");
    assert!(prediction.undecided.is_empty());
    let found = prediction.findings.into_iter().map(|f| f.candidate).collect();
    (found, prediction.counts[&FindingKind::Serializability])
}

#[test]
fn findings_are_the_same_without_segments_and_static_check() {
    let (mut blocks, mut found, mut dropped, mut dropped_whole) = (0, 0, 0, 0);
    for &family in Family::ALL.iter().filter(|&&f| f != Family::Scalable) {
        for seed in 0..60 {
            let small = Params::small(family, 40_000 + seed);
            let params = Params { events: 18 + (seed as usize % 4) * 8, ..small };
            let trace = generate(family, &params);
            for model in [Model::View, Model::Value] {
                let shown = || format!("{family} seed {seed} {model}\n{}", common::show(&trace));
                let (expected, counts) = violated(&trace, model, VARIANTS[3], Filters::NONE);
                blocks += counts.candidates;
                found += expected.len();
                for (i, variant) in VARIANTS.into_iter().enumerate() {
                    let (without, counts) = violated(&trace, model, variant, Filters::NONE);
                    assert_eq!(without, expected, "{variant:?} {}", shown());
                    dropped += if i == 0 { counts.static_check } else { 0 };
                    dropped_whole += if i == 2 { counts.static_check } else { 0 };
                    let (with, _) = violated(&trace, model, variant, Filters::default());
                    assert_eq!(with, expected, "{variant:?}, all filters, {}", shown());
                }
            }
        }
    }
    assert!(blocks > 1000 && found > 100, "{blocks} blocks, {found} violated");
    // "The TAS frequently makes this check succeed, whereas it would typically fail for the full
    // trace."
    assert!(dropped > dropped_whole && dropped_whole > 0, "{dropped} against {dropped_whole}");
}

/// Events above a segment may have to run in another order than the observed one: a search that
/// starts at the upper frontier, as the paper's does, finds T2's read of x broken and misses this
/// violation.
#[test]
fn above_the_segment_is_not_fixed() {
    let trace = common::trace(
        "T1|w(x)
         T2|r(x)
         T1|w(x)
         T1|begin
         T1|r(y)
         T1|r(y)
         T1|end
         T2|w(y)",
    );
    for variant in VARIANTS {
        let (found, _) = violated(&trace, Model::View, variant, Filters::default());
        assert_eq!(found.len(), 1, "{variant:?}");
    }
}
