//! Races that memory orders leave open (semantics section 3b), against brute force and against a
//! vector-clock detector on the recorded run.
//!
//! `FORETELL_SEEDS=20000 cargo test --release -p foretell-predict --test unordered` is the long
//! soak.

#[path = "common/fasttrack.rs"]
mod fasttrack;

use std::collections::BTreeSet;

use foretell_brute::Findings;
use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::driver::{Options, predict};
use foretell_predict::engines::EngineKind;
use foretell_predict::filters::Filters;
use foretell_trace::{EventId, FindingKind, Model, Trace};
use foretell_verify::Pattern;

type Pairs = BTreeSet<[EventId; 2]>;

fn seeds() -> u64 {
    std::env::var("FORETELL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1_500)
}

fn options(filters: Filters, search_only: bool) -> Options<'static> {
    let analyses = [FindingKind::Race].into_iter().collect();
    Options { analyses, all: true, filters, jobs: 1, search_only, ..Options::default() }
}

/// The races of both forms; every witness has passed the checker.
fn predicted(trace: &Trace, model: Model, options: &Options<'_>) -> Result<Findings, String> {
    let prediction = predict(trace, model, options).map_err(|defects| format!("{defects:?}"))?;
    if let Some((candidate, reason)) = prediction.undecided.first() {
        return Err(format!("{candidate:?} is undecided: {reason}"));
    }
    let mut findings = Findings::default();
    for finding in prediction.findings {
        match finding.pattern {
            Pattern::Race { a, b } => findings.races.insert([a, b]),
            Pattern::Unordered { a, b } => findings.unordered_races.insert([a, b]),
            pattern => return Err(format!("{pattern:?}")),
        };
    }
    Ok(findings)
}

fn show(trace: &Trace) -> String {
    let mut text = Vec::new();
    foretell_trace::text::write(trace, &mut text).expect("a generated trace can be written");
    String::from_utf8_lossy(&text).into_owned()
}

/// Compares with brute force; returns the number of races of the second form.
fn agree(family: Family, seeds: std::ops::Range<u64>, filters: Filters) -> usize {
    let mut unordered = 0;
    for seed in seeds {
        let trace = generate(family, &Params::small(family, seed));
        for model in [Model::View, Model::Value] {
            let expected = foretell_brute::races_of_both_forms(&trace, model, 60_000);
            let Some(expected) = expected else { continue };
            for search_only in [false, true] {
                let actual = predicted(&trace, model, &options(filters, search_only));
                let (text, how) = (show(&trace), if search_only { "search" } else { "always" });
                assert_eq!(actual.as_ref(), Ok(&expected), "{family} {seed} {model} {how}\n{text}");
            }
            unordered += expected.unordered_races.len();
        }
    }
    unordered
}

#[test]
fn brute_force_agrees_on_flags_of_every_order() {
    let found = agree(Family::Orders, 0..seeds(), Filters::default());
    assert!(found as u64 > seeds() / 4, "only {found} races that memory orders leave open");
    let few = seeds() / 10;
    agree(Family::Orders, 1_000_000..1_000_000 + few, Filters::NONE);
    let locksets = Filters { locksets: true, ..Filters::NONE };
    agree(Family::Orders, 2_000_000..2_000_000 + few, locksets);
    let order = Filters { must_happen_before: true, ..Filters::NONE };
    agree(Family::Orders, 3_000_000..3_000_000 + few, order);
}

/// Traces without weak orders: what is left are variables that plain and atomic accesses share, and
/// barriers that change their threads.
#[test]
fn brute_force_agrees_on_all_families() {
    let few = seeds() / 30;
    for &family in Family::ALL.iter().filter(|f| **f != Family::Orders) {
        agree(family, 0..few, Filters::default());
    }
}

/// Where synchronisation is strong, the second form adds nothing, as brute force says too.
#[test]
fn strong_synchronisation_leaves_nothing_open() {
    let mut strong = 0;
    for &family in Family::ALL {
        for seed in 0..seeds() / 30 {
            let trace = generate(family, &Params::small(family, seed));
            if TraceModel::new(&trace, Model::View).may_leave_open() {
                continue;
            }
            let expected = foretell_brute::races_of_both_forms(&trace, Model::View, 60_000);
            let Some(expected) = expected else { continue };
            assert_eq!(expected.unordered_races, Pairs::new(), "{family} {seed}");
            strong += 1;
        }
    }
    assert!(strong > seeds() / 10, "only {strong} traces");
}

/// The detector reports a pair only if happens-before of the recorded run leaves it open, and
/// whatever it reports is predicted, as a race of one form or the other.
#[test]
fn whatever_a_vector_clock_detector_reports_is_predicted() {
    let mut reports = 0;
    for seed in 0..seeds() {
        let small = Params::small(Family::Orders, seed);
        let params = Params { events: 60, threads: 4, variables: 3, ..small };
        let trace = generate(Family::Orders, &params);
        let reported: Pairs = fasttrack::races(&trace, true);
        let found = predicted(&trace, Model::View, &options(Filters::default(), false));
        let found = found.expect("a prediction");
        let all: Pairs = found.races.union(&found.unordered_races).copied().collect();
        let missing: Vec<_> = reported.difference(&all).collect();
        assert!(missing.is_empty(), "{seed}: {missing:?} missing\n{}", show(&trace));
        reports += reported.len();
        // Without the rule on plain reads there are more reports, but none where nothing is found.
        let plain = fasttrack::races(&trace, false);
        assert!(plain.is_superset(&reported) && (plain.is_empty() || !all.is_empty()));
    }
    assert!(reports as u64 > seeds() * 2, "only {reports} reports");
}

/// Groups of source locations show a race of the second form where they have none of the first.
#[test]
fn groups_have_a_finding_of_either_form() {
    for seed in 0..seeds() / 5 {
        let trace = generate(Family::Orders, &Params::small(Family::Orders, seed));
        let all = predicted(&trace, Model::Value, &options(Filters::default(), false));
        let all = all.expect("a prediction");
        let grouped = Options { all: false, ..options(Filters::default(), false) };
        let grouped = predicted(&trace, Model::Value, &grouped).expect("a prediction");
        let locations = |pairs: &Pairs| -> BTreeSet<[Option<&str>; 2]> {
            let at = |e: EventId| trace.site(e).map(|site| trace.location(site));
            let sorted = |[a, b]: [Option<_>; 2]| if a < b { [a, b] } else { [b, a] };
            pairs.iter().map(|&[a, b]| sorted([at(a), at(b)])).collect()
        };
        let first = locations(&all.races);
        assert_eq!(locations(&grouped.races), first, "{seed}");
        let second: BTreeSet<_> =
            locations(&all.unordered_races).difference(&first).copied().collect();
        assert_eq!(locations(&grouped.unordered_races), second, "{seed}\n{}", show(&trace));
    }
}

fn parse(text: &str) -> Trace {
    foretell_trace::text::parse(text.as_bytes()).expect("a trace").trace
}

#[test]
fn a_relaxed_flag_and_its_release_acquire_twin() {
    let trace = |store: &str, load: &str| {
        parse(&format!("A|w(d=42)\nA|{store}(f=1)\nB|{load}(f=1)\nB|r(d=42)"))
    };
    let found = |trace: &Trace| {
        predicted(trace, Model::Value, &options(Filters::default(), false)).expect("a prediction")
    };
    let race = Pairs::from([[EventId(0), EventId(3)]]);
    let relaxed = found(&trace("aw.rlx", "ar.rlx"));
    assert_eq!((relaxed.races, relaxed.unordered_races), (Pairs::new(), race));
    assert_eq!(found(&trace("aw.rel", "ar.acq")), Findings::default());
}

/// The order of the recorded run is one that a lock made by chance.
#[test]
fn another_interleaving_leaves_open_what_a_lock_ordered_in_the_recorded_run() {
    let trace = parse(
        "A|w(d=1)\nA|acq(l)\nA|rel(l)\nB|acq(l)\nB|rel(l)\nA|aw.rlx(f=1)\nB|ar.rlx(f=1)\nB|r(d=1)",
    );
    assert_eq!(fasttrack::races(&trace, true), Pairs::new());
    let found = predicted(&trace, Model::View, &options(Filters::default(), false));
    let race = Pairs::from([[EventId(0), EventId(7)]]);
    assert_eq!(found.expect("a prediction").unordered_races, race);
}

/// Engines that know nothing of memory orders report the recorded run and say so of the rest.
#[test]
fn other_engines_say_that_they_do_not_decide() {
    let recorded = parse("A|w(d)\nA|aw.rlx(f)\nB|ar.rlx(f)\nB|r(d)");
    let other =
        parse("A|w(d)\nA|acq(l)\nA|rel(l)\nB|acq(l)\nB|rel(l)\nA|aw.rlx(f)\nB|ar.rlx(f)\nB|r(d)");
    let options = Options { engine: EngineKind::Dpor, ..options(Filters::default(), false) };
    let found = predict(&recorded, Model::View, &options).expect("a prediction");
    assert_eq!((found.findings.len(), found.undecided.len()), (1, 0));
    let found = predict(&other, Model::View, &options).expect("a prediction");
    assert!(found.findings.is_empty());
    assert!(found.undecided.iter().any(|(_, reason)| reason.starts_with("not by this engine")));
}
