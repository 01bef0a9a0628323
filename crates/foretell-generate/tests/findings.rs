//! Small traces are worth analysing: a good share of every family's has something to find, and
//! each family what it is made for.

use foretell_brute::{Findings, findings_within};
use foretell_generate::{Family, Params, generate};
use foretell_trace::{Model, Trace};

const TRACES: usize = 30;

fn traces(family: Family) -> impl Iterator<Item = Trace> {
    (0..TRACES as u64).map(move |seed| generate(family, &Params::small(family, seed)))
}

/// Number of the family's first traces that have findings that pass the test.
fn count(family: Family, test: impl Fn(&Findings) -> bool) -> usize {
    let found = traces(family).filter_map(|t| findings_within(&t, Model::auto(&t), 100_000));
    found.filter(|f| test(f)).count()
}

#[test]
fn every_family_has_something_to_find() {
    for &family in Family::ALL {
        let found = count(family, |f| *f != Findings::default());
        let wanted = if family == Family::Scalable { TRACES / 10 } else { TRACES / 2 };
        assert!(found >= wanted, "{family}: {found} of {TRACES}");
    }
}

#[test]
fn families_show_what_they_are_made_for() {
    assert!(count(Family::Inversion, |f| !f.deadlocks.is_empty()) >= 4);
    assert!(count(Family::Blocks, |f| !f.atomicity.is_empty()) >= 4);
    assert!(count(Family::Blocks, |f| !f.transactions.is_empty()) >= 4);
    assert!(count(Family::Queue, |f| !f.nondeterministic_reads.is_empty()) >= 10);
    assert!(count(Family::Sync, |f| !f.races.is_empty()) >= 10);
}

#[test]
fn values_and_expressions_make_a_difference() {
    for family in [Family::Values, Family::Symbolic] {
        let differ = traces(family).filter(|t| {
            findings_within(t, Model::View, 100_000) != findings_within(t, Model::auto(t), 100_000)
        });
        assert!(differ.count() >= TRACES / 4, "{family}");
    }
}
