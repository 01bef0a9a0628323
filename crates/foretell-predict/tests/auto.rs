//! The choice of an engine for each query changes no finding: the same as brute force on random
//! traces of every family, whatever the rule says, and what is chosen depends on the query alone.

mod common;

use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::{Candidate, candidates};
use foretell_predict::driver::{Options, predict};
use foretell_predict::engines::EngineKind;
use foretell_predict::engines::auto::features::{Feature, QueryShape, Survey};
use foretell_predict::engines::auto::rule::{Choice, RULES, Rule};
use foretell_trace::{EventId, FindingKind, Model};

fn seeds() -> u64 {
    std::env::var("FORETELL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(150)
}

#[test]
fn findings_are_those_of_brute_force() {
    let options = Options {
        all: true,
        jobs: 1,
        engine: EngineKind::Auto,
        unordered: false,
        ..Options::default()
    };
    let families = Family::ALL.iter().copied().filter(|&f| f != Family::Scalable);
    let mut engines = std::collections::BTreeSet::new();
    for (family, seed) in families.flat_map(|f| (0..seeds()).map(move |seed| (f, seed))) {
        let trace = generate(family, &Params::small(family, 5_000_000 + seed));
        for model in [Model::View, Model::Value] {
            let Some(expected) = foretell_brute::findings_within(&trace, model, 100_000) else {
                continue;
            };
            let prediction = predict(&trace, model, &options).expect("no witness is refused");
            let shown = || format!("{family} seed {seed} {model}\n{}", common::show(&trace));
            assert!(prediction.undecided.is_empty(), "{}", shown());
            assert_eq!(common::as_brute(&prediction.findings), expected, "{}", shown());
            engines.extend(prediction.findings.iter().map(|f| f.engine));
        }
    }
    assert!(engines.len() > 1, "only {engines:?} was ever chosen");
}

/// Choice graphs know nothing of other queries than those about reads and final values.
#[test]
fn rules_make_sense() {
    for (kind, rule) in RULES {
        let mut choices = Vec::new();
        let mut rules = vec![rule];
        while let Some(rule) = rules.pop() {
            match rule {
                Rule::Always(choice) => choices.push(*choice),
                Rule::Split { then, otherwise, .. } => rules.extend([then, otherwise]),
            }
        }
        let graphs = matches!(kind, QueryShape::Broken | QueryShape::Overwritten);
        assert!(graphs || !choices.contains(&Choice::Graph), "{kind:?}");
        assert_eq!(RULES.iter().filter(|(other, _)| other == kind).count(), 1, "{kind:?}");
    }
}

#[test]
fn features_are_what_they_say() {
    let trace = common::trace(
        "T1|acq(l)
         T1|w(x)
         T1|rel(l)
         T2|acq(l)
         T2|r(x)
         T2|notify(c)
         T2|r(y)
         T2|rel(l)
         T3|w(y)",
    );
    let trace_model = TraceModel::new(&trace, Model::View);
    let survey = Survey::new(&trace_model);
    let all = candidates(&trace_model, FindingKind::Nondeterminism);
    let mut queries = all.iter().map(Candidate::query);
    let query = queries.find(|q| q.run == [EventId(6)]).expect("the read of y");
    let measured = Feature::ALL.map(|f| survey.measure(&query, f));
    // T1's whole section and T2 up to the read; two sections; one read of another thread's write;
    // the notify; one write of y.
    assert_eq!(measured, [7, 2, 2, 1, 1, 1]);
    assert_eq!(QueryShape::of(&query), QueryShape::Broken);
}
