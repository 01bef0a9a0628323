//! Atomicity, serializability and transactions.

use foretell_predict::driver::{Options, predict};
use foretell_trace::Model;

use super::{common, expect, names};

/// The five patterns that no serial order explains, and the three that one does.
#[test]
fn patterns_of_three_accesses() {
    for (pattern, found) in [
        (["r", "w", "r"], true),
        (["w", "w", "r"], true),
        (["w", "r", "w"], true),
        (["r", "w", "w"], true),
        (["w", "w", "w"], true),
        (["r", "r", "r"], false),
        (["r", "r", "w"], false),
        (["w", "r", "r"], false),
    ] {
        let [c, r, c2] = pattern;
        let text = format!("T1|begin|b\nT1|{c}(x)|c\nT1|{c2}(x)|c2\nT1|end\nT2|{r}(x)|r");
        let trace = common::trace(&text);
        let options = Options { all: true, unordered: false, ..Options::default() };
        let prediction = predict(&trace, Model::View, &options).expect("no refusal");
        let named = names(&trace, &common::as_brute(&prediction.findings));
        assert_eq!(named.contains("atomicity c r c2"), found, "{pattern:?}");
        assert_eq!(named.contains("serializability b"), found, "{pattern:?}");
        assert_eq!(named.contains("transactions b"), found, "{pattern:?}");
    }
}

/// A lock around each access does not make two of them atomic, one around both does.
#[test]
fn check_then_act() {
    let scenario = expect(
        "T1|begin|block
         T1|acq(l)|acq1
         T1|r(x)|check
         T1|rel(l)|rel1
         T1|acq(l)|acq1b
         T1|w(x)|act
         T1|rel(l)|rel1b
         T1|end|end
         T2|acq(l)|acq2
         T2|w(x)|other
         T2|rel(l)|rel2",
        &[
            "atomicity check other act",
            "serializability block",
            "transactions block",
            "nondeterministic check",
            "final x",
        ],
    );
    assert_eq!(
        scenario.witness("atomicity check other act"),
        ["block", "acq1", "check", "rel1", "acq2", "other", "rel2", "acq1b", "act"]
    );
    expect(
        "T1|begin|block
         T1|acq(l)
         T1|r(x)|check
         T1|w(x)|act
         T1|rel(l)
         T1|end
         T2|acq(l)
         T2|w(x)|other
         T2|rel(l)",
        &["nondeterministic check"],
    );
}

/// Each block by itself looks serializable: no path leaves it and comes back. Together they are
/// not.
#[test]
fn found_by_transactions_only() {
    let scenario = expect(
        "T1|begin|A
         T1|r(x)|r1
         T2|begin|B
         T2|r(y)|r2
         T1|w(y)|w1
         T1|end
         T2|w(x)|w2
         T2|end",
        &[
            "transactions A",
            "transactions B",
            "race r1 w2",
            "race r2 w1",
            "nondeterministic r1",
            "nondeterministic r2",
        ],
    );
    assert_eq!(scenario.witness("transactions A").len(), 6);
}

/// The path leaves the block with x, goes on with z from T2 to T3, and comes back with y.
#[test]
fn path_over_three_threads() {
    let scenario = expect(
        "T1|begin|A
         T1|w(x)|s
         T1|r(y)|t
         T1|end|end
         T2|r(x)|u1
         T2|w(z)|u2
         T3|r(z)|u3
         T3|w(y)|u4",
        &[
            "serializability A",
            "transactions A",
            "race s u1",
            "race u2 u3",
            "race t u4",
            "nondeterministic t",
            "nondeterministic u1",
            "nondeterministic u3",
        ],
    );
    assert_eq!(scenario.witness("serializability A"), ["A", "s", "u1", "u2", "u3", "u4", "t"]);
}

/// Three threads, two variables: T2 passes x on in y, T3 answers in x.
#[test]
fn path_over_two_variables() {
    expect(
        "T1|begin|A
         T1|aw(x)|s
         T2|ar(x)|u1
         T2|aw(y)|u2
         T3|ar(y)|u3
         T3|aw(x)|u4
         T1|aw(x)|t
         T1|end",
        &[
            "nondeterministic u1",
            "nondeterministic u3",
            "atomicity s u1 t",
            "atomicity s u4 t",
            "serializability A",
            "transactions A",
            "final x",
        ],
    );
    // If T2 saw the second write, it is after the block whenever it goes on.
    expect(
        "T1|begin|A
         T1|aw(x)|s
         T1|aw(x)|t
         T1|end
         T2|ar(x)|u1
         T2|aw(y)|u2
         T3|ar(y)|u3
         T3|aw(x)|u4",
        &[
            "nondeterministic u1",
            "nondeterministic u3",
            "atomicity s u1 t",
            "serializability A",
            "transactions A",
        ],
    );
}

/// Every block is asked about for serializability, the outermost for transactions; a block that is
/// open at the end is a block.
#[test]
fn nested_and_open_blocks() {
    expect(
        "T1|begin|A
         T1|w(x)|c
         T1|begin|B
         T1|w(x)|d
         T1|w(x)|e
         T1|end
         T2|w(x)|r",
        &[
            "atomicity c r d",
            "atomicity c r e",
            "atomicity d r e",
            "serializability A",
            "serializability B",
            "transactions A",
            "race c r",
            "race d r",
            "race e r",
            "final x",
        ],
    );
}

/// A block without accesses is on no cycle, and the block's own later accesses are not inside it.
#[test]
fn blocks_end_where_they_end() {
    expect(
        "T1|begin|A
         T1|end
         T1|begin|B
         T1|aw(x)|c
         T1|end
         T1|aw(x)|d
         T2|aw(x)|r",
        &["final x"],
    );
}
