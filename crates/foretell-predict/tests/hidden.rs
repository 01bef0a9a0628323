//! Hidden state: what its uses order is no finding.

mod common;

use foretell_predict::driver::{Options, predict};
use foretell_trace::{EventId, Model};

/// A use that is next to another one is no race, and what comes before one use is ordered before
/// what comes after the next.
#[test]
fn uses_of_hidden_state_order_what_is_around_them() {
    let trace = common::trace(
        "#! opaque h
         T1|w(x)
         T1|au(h=0>1)
         T1|w(y)
         T2|au(h=1>2)
         T2|w(x)
         T2|w(y)",
    );
    for model in [Model::View, Model::Value, Model::Symbolic] {
        let options = Options { all: true, ..Options::default() };
        let found = predict(&trace, model, &options).expect("no witness is refused");
        let races = common::as_brute(&found.findings).races;
        assert_eq!(races, [[EventId(2), EventId(5)]].into(), "{model}");
    }
}
