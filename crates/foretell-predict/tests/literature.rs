//! The traces of the race-prediction literature: exactly the races and deadlocks that are known of
//! each.

mod common;

use std::path::Path;

use foretell_predict::driver::{Options, predict};
use foretell_trace::Model;

#[test]
fn literature_traces_have_exactly_the_known_races_and_deadlocks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/literature");
    let table = std::fs::read_to_string(folder.join("EXPECTED.tsv")).expect("the table");
    let mut lines = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = |name| header.iter().position(|&h| h == name).expect("the column");
    let (races, deadlocks) = (column("brute_race_pairs"), column("brute_deadlocks"));
    let mut checked = 0;
    for row in lines {
        let text = std::fs::read_to_string(folder.join(row[0])).expect("the trace");
        let trace = common::trace(&text);
        let options = Options { all: true, unordered: false, ..Options::default() };
        let prediction = predict(&trace, Model::View, &options).expect("no witness is refused");
        assert!(prediction.undecided.is_empty(), "{}", row[0]);
        let found = common::as_brute(&prediction.findings);
        assert_eq!(found.races.len().to_string(), row[races], "races of {}", row[0]);
        assert_eq!(found.deadlocks.len().to_string(), row[deadlocks], "deadlocks of {}", row[0]);
        checked += 1;
    }
    assert_eq!(checked, 33);
}
