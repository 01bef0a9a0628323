//! Races that memory orders leave open: the search that shares states against the definition read
//! literally, sequence by sequence.

use std::collections::BTreeSet;

use foretell_brute::{races_of_both_forms, unordered_by_sequences};
use foretell_generate::{Family, Params, generate};
use foretell_trace::{EventId, Model};

#[test]
fn states_lose_nothing_of_happens_before() {
    let mut found = 0;
    for seed in 0..600 {
        let small = Params::small(Family::Orders, seed);
        let params = Params { events: 9, threads: small.threads.min(3), ..small };
        let trace = generate(Family::Orders, &params);
        for model in [Model::View, Model::Value] {
            let Some(races) = races_of_both_forms(&trace, model, 100_000) else { continue };
            let by_states: BTreeSet<[EventId; 2]> =
                races.unordered_races.union(&races.races).copied().collect();
            let by_sequences = unordered_by_sequences(&trace, model);
            let both: BTreeSet<_> = by_sequences.union(&races.races).copied().collect();
            assert_eq!(by_states, both, "{seed} {model}\n{trace:?}");
            found += races.unordered_races.len();
        }
    }
    assert!(found > 30, "only {found} races that memory orders leave open");
}
