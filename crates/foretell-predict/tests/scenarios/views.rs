//! Views and values.

use foretell_trace::Model;

use super::{expect, expect_in};

/// The accesses of an opaque variable keep their order, so with all events T2 is last; with some
/// of them it need not be.
#[test]
fn opaque_variables_keep_their_order() {
    let opaque = "#! opaque o
         T1|w(y)|a
         T1|w(o)|o1
         T2|w(o)|o2
         T2|w(y)|b";
    expect(opaque, &["race a b"]);
    let plain = opaque.replace("#! opaque o", "");
    expect(&plain, &["race a b", "race o1 o2", "final o", "final y"]);
}

/// T1 and T2 write the same value: by value the read may as well see T1's, and T3 gets on without
/// T2.
#[test]
fn equal_values_preserve_a_read_by_value_only() {
    let text = "T1|w(x=1)|a
         T2|w(z=5)|d
         T2|w(x=1)|b
         T3|r(x=1)|rx
         T3|w(z=6)|e";
    let both = ["race a b", "race a rx", "race b rx", "nondeterministic rx"];
    expect_in(Model::View, text, &[&both[..], &["final x"]].concat());
    // The final value of x is the same, whichever thread wrote it.
    let by_value = [&both[..], &["race d e", "final z"]].concat();
    expect_in(Model::Value, text, &by_value);
}

/// By value a read is nondeterministic only if it can see another value.
#[test]
fn equal_value_of_another_thread_breaks_no_read() {
    let text = "#! init x=7
         T1|w(x=7)|a
         T2|r(x=7)|rx";
    expect_in(Model::View, text, &["race a rx", "nondeterministic rx"]);
    expect_in(Model::Value, text, &["race a rx"]);
}

/// Without T1's write the update is broken, and every read from it is, too: T3 gets to `p` only
/// after `q`.
#[test]
fn broken_update_breaks_its_readers() {
    expect(
        "T1|w(y=1)|q
         T1|aw(x=5)|a
         T2|au(x=5>6)|u
         T3|ar(x=6)|r
         T3|w(y=2)|p",
        &["nondeterministic u", "nondeterministic r"],
    );
}

/// An update that follows another one sees what that one wrote, or is broken.
#[test]
fn lost_update_breaks_the_later_thread() {
    expect(
        "T1|r(x)|r1
         T1|w(x)|w1
         T2|r(x)|r2
         T2|w(x)|w2",
        &["race w1 r2", "nondeterministic r2"],
    );
}

#[test]
fn final_values() {
    expect("T1|w(x)|a\nT1|w(x)|b\nT2|r(x)|r", &["race a r", "race b r", "nondeterministic r"]);
    // An equal value of another event counts only where values do not.
    expect_in(Model::View, "T1|w(x=1)|a\nT2|w(x=1)|b", &["race a b", "final x"]);
    expect_in(Model::Value, "T1|w(x=1)|a\nT2|w(x=1)|b", &["race a b"]);
    expect_in(Model::Value, "T1|w(x=1)|a\nT2|w(x=2)|b", &["race a b", "final x"]);
    // The last write is fixed by what its thread has read.
    expect(
        "T1|aw(x)|a
         T1|aw(f)|set
         T2|ar(f)|get
         T2|aw(x)|b",
        &["nondeterministic get"],
    );
}
