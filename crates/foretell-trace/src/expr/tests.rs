//! Parsing, printing and evaluation together.

use proptest::prelude::*;

use super::*;
use crate::{EventKind, ThreadId, TraceBuilder};

/// A trace whose thread T1 has an integer register `%i`, an 8-bit one `%b` and a 3-bit one `%c`.
fn builder() -> (TraceBuilder, ThreadId) {
    let mut b = TraceBuilder::new();
    let (t, var) = (b.thread("T1"), b.variable("x"));
    for (name, value) in [
        ("i", Value::Int(7)),
        ("b", Value::Bits { width: 8, bits: 5 }),
        ("c", Value::Bits { width: 3, bits: 5 }),
    ] {
        let value = Some(b.values().intern(value));
        let register = Some(b.register(t, name));
        b.push(t, EventKind::Read { var, atomic: false, value, register }, None);
    }
    (b, t)
}

/// The answer of a text, with `%i` = 7, `%b` = #x05, `%c` = #b101 and everything else unknown.
fn answer(text: &str) -> Answer {
    let (mut b, t) = builder();
    let id = parse(text, t, &mut b).unwrap_or_else(|e| panic!("{text}: {e}"));
    let trace = b.build();
    eval(trace.exprs(), id, |r| match trace.register_name(r) {
        "i" => Some(Value::Int(7)),
        "b" => Some(Value::Bits { width: 8, bits: 5 }),
        "c" => Some(Value::Bits { width: 3, bits: 5 }),
        _ => None,
    })
}

fn refusal(text: &str) -> String {
    let (mut b, t) = builder();
    parse(text, t, &mut b).expect_err(text)
}

#[track_caller]
fn int(text: &str, expected: i64) {
    assert_eq!(answer(text), Answer::Value(Value::Int(expected)), "{text}");
}

#[track_caller]
fn bits(text: &str, width: u8, bits: u64) {
    assert_eq!(answer(text), Answer::Value(Value::Bits { width, bits }), "{text}");
}

#[track_caller]
fn truth(text: &str, expected: bool) {
    assert_eq!(answer(text), Answer::Truth(expected), "{text}");
}

#[test]
fn integers_wrap_at_64_bits() {
    int("(+ 9223372036854775807 1)", i64::MIN);
    int("(- -9223372036854775808 1)", i64::MAX);
    int("(- -9223372036854775808)", i64::MIN);
    int("(* 4611686018427387904 2)", i64::MIN);
    int("(div -9223372036854775808 -1)", i64::MIN);
    int("(mod -9223372036854775808 -1)", 0);
    int("(+ 1 2 3 %i)", 13);
    int("(- 10 1 2)", 7);
    int("(- %i)", -7);
    int("(* 2 3 4)", 24);
    int("  ( +\t%i 1 )  ", 8);
}

#[test]
fn division_is_that_of_smt_lib() {
    for (x, y, quotient, remainder) in
        [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -3, 1), (-7, -2, 4, 1), (7, 0, 0, 7), (-7, 0, 0, -7)]
    {
        int(&format!("(div {x} {y})"), quotient);
        int(&format!("(mod {x} {y})"), remainder);
    }
    int("(div 100 7 2)", 7);
    int("(mod -5 -9223372036854775808)", i64::MAX - 4);
}

#[test]
fn comparisons_chain_and_distinct_is_pairwise() {
    truth("(< 1 2 3)", true);
    truth("(< 1 3 2)", false);
    truth("(>= 3 3 1)", true);
    truth("(> 3 3 1)", false);
    truth("(<= 1 1 0)", false);
    truth("(= 1 1 2)", false);
    truth("(= #x05 %b #b00000101)", true);
    truth("(distinct 1 2 1)", false);
    truth("(distinct 1 2 3)", true);
    truth("(distinct true false true)", false);
    truth("(and true (or false true) (not false))", true);
    truth("(= (< 1 2) true)", true);
}

#[test]
fn bit_vectors_wrap_and_divide_as_in_smt_lib() {
    bits("(bvadd #xff #x02)", 8, 1);
    bits("(bvsub #x00 #x01)", 8, 0xff);
    bits("(bvmul #x10 #x11)", 8, 0x10);
    bits("(bvneg #x80)", 8, 0x80);
    bits("(bvnot %c)", 3, 0b010);
    bits("(bvudiv %b #x00)", 8, 0xff);
    bits("(bvurem %b #x00)", 8, 5);
    bits("(bvsdiv #x05 #x00)", 8, 0xff);
    bits("(bvsdiv #xfb #x00)", 8, 1);
    bits("(bvsdiv #x80 #xff)", 8, 0x80);
    bits("(bvsdiv #x8000000000000000 #xffffffffffffffff)", 64, 1 << 63);
    bits("(bvshl #x01 #x08)", 8, 0);
    bits("(bvlshr #x80 #x07)", 8, 1);
    bits("(bvashr #x80 #xff)", 8, 0xff);
    bits("(bvadd #x01 #x02 #x03)", 8, 6);
    bits("(concat %c %b)", 11, 0b101_0000_0101);
    bits("(concat #xffffffff #x00000001)", 64, 0xffff_ffff_0000_0001);
    bits("((_ extract 2 1) %b)", 2, 0b10);
    bits("((_ zero_extend 5) %c)", 8, 5);
    bits("((_ sign_extend 5) %c)", 8, 0b1111_1101);
    bits("(_ bv5 8)", 8, 5);
    truth("(bvult #xff #x01)", false);
    truth("(bvslt #xff #x01)", true);
    truth("(bvsge %c #b000)", false);
    truth("(bvuge %c #b000)", true);
}

/// SMT-LIB defines the signed operators by the unsigned ones; check all of three bits by the
/// definition.
#[test]
fn signed_division_follows_its_definition() {
    let udiv = |x: u64, y: u64| x.checked_div(y).unwrap_or(7);
    let urem = |x: u64, y: u64| x.checked_rem(y).unwrap_or(x);
    let neg = |x: u64| x.wrapping_neg() & 7;
    let abs = |x: u64| if x & 4 != 0 { neg(x) } else { x };
    for x in 0..8u64 {
        for y in 0..8u64 {
            let (nx, ny) = (x & 4 != 0, y & 4 != 0);
            let q = udiv(abs(x), abs(y));
            let r = urem(abs(x), abs(y));
            let srem = if nx { neg(r) } else { r };
            let smod = match (nx, ny) {
                _ if r == 0 => 0,
                (false, false) => r,
                (true, false) => (neg(r) + y) & 7,
                (false, true) => (r + y) & 7,
                (true, true) => neg(r),
            };
            bits(&format!("(bvsdiv #b{x:03b} #b{y:03b})"), 3, if nx != ny { neg(q) } else { q });
            bits(&format!("(bvsrem #b{x:03b} #b{y:03b})"), 3, srem);
            bits(&format!("(bvsmod #b{x:03b} #b{y:03b})"), 3, smod);
        }
    }
}

#[test]
fn unknown_spreads_except_through_the_branch_not_taken() {
    assert_eq!(answer("(+ %u 1)"), Answer::Unknown);
    assert_eq!(answer("(and false (> %u 0))"), Answer::Unknown);
    assert_eq!(answer("(ite (> %u 0) 1 1)"), Answer::Unknown);
    int("(ite (> %i 0) 1 %u)", 1);
    int("(ite (> %i 9) %u 2)", 2);
    assert_eq!(answer("(ite (> %i 9) 2 %u)"), Answer::Unknown);
}

#[test]
fn a_register_that_changes_its_sort_is_unknown_where_it_does_not_fit() {
    let (mut b, t) = builder();
    let id = parse("(> %i 0)", t, &mut b).unwrap();
    let fits = eval(b.trace().exprs(), id, |_| Some(Value::Bits { width: 8, bits: 1 }));
    assert_eq!(fits, Answer::Unknown);
}

#[test]
fn ill_sorted_and_ill_formed_text_is_refused_with_a_reason() {
    for (text, reason) in [
        ("(+ %i %b)", "`+` wants Int here, not (_ BitVec 8)"),
        ("(bvadd %b %c)", "`bvadd` wants (_ BitVec 8) here, not (_ BitVec 3)"),
        ("(bvadd 1 2)", "`bvadd` wants a bit-vector, not Int"),
        ("(= 1 #x01)", "`=` wants Int here, not (_ BitVec 8)"),
        ("(ite 1 2 3)", "`ite` wants Bool here, not Int"),
        ("(ite true 2 false)", "`ite` wants Int here, not Bool"),
        ("(not true false)", "`not` takes 1 argument(s), not 2"),
        ("(< 1)", "`<` takes 2 or more argument(s), not 1"),
        ("((_ extract 8 0) %b)", "`(_ extract 8 0)` does not fit 8 bits"),
        ("((_ extract 0 1) %b)", "`(_ extract 0 1)` does not fit 8 bits"),
        ("((_ zero_extend 57) %b)", "`(_ zero_extend 57)` gives 65 bits; 64 is the most"),
        ("((_ zero_extend 65) %b)", "`65` is no index between 0 and 64"),
        ("(_ extract 1 0)", "`(_ extract 1 0)` needs an argument"),
        ("(_ bv256 8)", "`bv256` is no constant of 8 bits"),
        ("(frob 1)", "there is no operator `frob`"),
        ("", "the expression ends too early"),
        ("(+ 1", "the expression ends too early"),
        ("(", "the expression ends after `(`"),
        (")", "`)` without `(`"),
        ("()", "`()` is no expression"),
        ("1 2", "`2` after the end of the expression"),
        ("(+ 1 2))", "`)` after the end of the expression"),
        ("%", "`%` is no name of a register"),
        ("9223372036854775808", "`9223372036854775808` does not fit a 64-bit integer"),
        ("#x", "`#x` is no bit-vector of 1 to 64 bits"),
        ("#x+1", "`#x+1` is no bit-vector of 1 to 64 bits"),
        ("#x00000000000000000", "`#x00000000000000000` is no bit-vector of 1 to 64 bits"),
        ("+1", "`+1` is no constant and no register (registers start with %)"),
    ] {
        assert_eq!(refusal(text), reason, "{text}");
    }
    let (mut b, t) = builder();
    assert!(parse_guard("(+ 1 2)", t, &mut b).is_err());
    assert!(parse_guard("(> 1 2)", t, &mut b).is_ok());
    assert!(parse_value("(> 1 2)", t, &mut b).is_err());
    assert!(parse_value("%b", t, &mut b).is_ok());
}

#[test]
fn nesting_is_bounded_and_no_depth_overflows_the_stack() {
    let nested = |n: usize| format!("{}1{}", "(- ".repeat(n), ")".repeat(n));
    let (mut b, t) = builder();
    assert!(parse(&nested(MAX_DEPTH), t, &mut b).is_ok());
    let too_deep = format!("the expression is nested more than {MAX_DEPTH} deep");
    assert_eq!(refusal(&nested(MAX_DEPTH + 1)), too_deep);
    assert_eq!(refusal(&"(- ".repeat(1_000_000)), too_deep);
    // A chain that parsing nests counts as what it becomes.
    assert_eq!(refusal(&format!("(bvadd {})", "%b ".repeat(MAX_DEPTH + 2))), too_deep);

    // Not from a parser: a million deep, and printed and evaluated all the same.
    let mut id = b.exprs().intern(Expr::Const(Value::Int(0)));
    for _ in 0..1_000_000 {
        id = b.exprs().intern(Expr::App(ExprOp::Sub, [id].into()));
    }
    assert_eq!(eval(b.trace().exprs(), id, |_| None), Answer::Value(Value::Int(0)));
    assert_eq!(print(b.trace(), id).len(), 4_000_001);
}

#[test]
fn a_shared_graph_is_evaluated_in_linear_time() {
    let (mut b, _) = builder();
    let mut id = b.exprs().intern(Expr::Const(Value::Int(1)));
    for _ in 0..1000 {
        id = b.exprs().intern(Expr::App(ExprOp::Add, [id, id].into()));
    }
    // 2¹⁰⁰⁰ wraps to 0; as a tree this would never end.
    assert_eq!(eval(b.trace().exprs(), id, |_| None), Answer::Value(Value::Int(0)));
}

#[test]
fn a_table_that_no_parser_made_is_harmless() {
    let (mut b, t) = builder();
    let nowhere = ExprId(u32::MAX);
    assert_eq!(eval(b.trace().exprs(), nowhere, |_| None), Answer::Unknown);
    assert_eq!(print(b.trace(), nowhere), "?");
    let own = ExprId::from_index(b.trace().exprs().len());
    let id = b.exprs().intern(Expr::App(ExprOp::Not, [own].into()));
    assert_eq!(id, own);
    assert_eq!(eval(b.trace().exprs(), id, |_| None), Answer::Unknown);
    assert_eq!(print(b.trace(), id), "(not ?)");
    let wide = b.exprs().intern(Expr::Const(Value::Bits { width: 99, bits: 0 }));
    assert_eq!(eval(b.trace().exprs(), wide, |_| None), Answer::Unknown);
    let good = parse("(not (< %i 0))", t, &mut b).unwrap();
    let sorts = sorts(b.trace());
    assert_eq!(sorts[id.index()], None);
    assert_eq!(sorts[good.index()], Some(Sort::Bool));
}

#[test]
fn the_register_of_an_update_can_be_known_before_its_expression() {
    let mut b = TraceBuilder::new();
    let t = b.thread("T1");
    let old = b.values().intern(Value::Bits { width: 8, bits: 1 });
    let register = b.register(t, "1");
    b.note_register(register, Some(old));
    assert!(parse_value("(bvadd %1 #x01)", t, &mut b).is_ok());
    let later = b.values().intern(Value::Int(1));
    b.note_register(register, Some(later));
    assert_eq!(b.trace().register_sort(register), Sort::Bits(8));
}

/// Text of an expression of a given sort.
fn text_of(sort: Sort, depth: u32) -> BoxedStrategy<String> {
    let leaf = match sort {
        Sort::Int => {
            prop_oneof![any::<i64>().prop_map(|i| i.to_string()), Just("%i".to_owned())].boxed()
        }
        Sort::Bits(3) => {
            prop_oneof![(0..8u64).prop_map(|x| format!("#b{x:03b}")), Just("%c".to_owned())].boxed()
        }
        Sort::Bits(_) => {
            prop_oneof![any::<u8>().prop_map(|x| format!("#x{x:02x}")), Just("%b".to_owned())]
                .boxed()
        }
        Sort::Bool => any::<bool>().prop_map(|t| t.to_string()).boxed(),
    };
    if depth == 0 {
        return leaf;
    }
    let of = move |sort| text_of(sort, depth - 1);
    let several = move |sort| prop::collection::vec(of(sort), 2..4).prop_map(|v| v.join(" "));
    let ite =
        (of(Sort::Bool), of(sort), of(sort)).prop_map(|(c, a, b)| format!("(ite {c} {a} {b})"));
    let app = |ops: &'static [&'static str], args: BoxedStrategy<String>| {
        (prop::sample::select(ops), args).prop_map(|(op, args)| format!("({op} {args})"))
    };
    match sort {
        Sort::Int => prop_oneof![
            leaf,
            ite,
            app(&["+", "-", "*", "div"], several(Sort::Int).boxed()),
            app(&["-", "+"], of(Sort::Int)),
            (of(Sort::Int), of(Sort::Int)).prop_map(|(a, b)| format!("(mod {a} {b})")),
        ]
        .boxed(),
        Sort::Bool => prop_oneof![
            leaf,
            ite,
            app(&["<", "<=", ">", ">=", "=", "distinct"], several(Sort::Int).boxed()),
            app(&["and", "or", "=", "distinct"], several(Sort::Bool).boxed()),
            app(&["not"], of(Sort::Bool)),
            (
                prop::sample::select(
                    &["bvult", "bvule", "bvugt", "bvuge", "bvslt", "bvsle", "bvsgt", "bvsge"][..]
                ),
                of(Sort::Bits(8)),
                of(Sort::Bits(8))
            )
                .prop_map(|(op, a, b)| format!("({op} {a} {b})")),
        ]
        .boxed(),
        Sort::Bits(3) => prop_oneof![
            leaf,
            ite,
            app(&["bvnot", "bvneg"], of(Sort::Bits(3))),
            app(&["(_ extract 4 2)"], of(Sort::Bits(8))),
        ]
        .boxed(),
        Sort::Bits(_) => prop_oneof![
            leaf,
            ite,
            app(&["bvadd", "bvmul", "bvand", "bvor", "bvxor"], several(Sort::Bits(8)).boxed()),
            (
                prop::sample::select(
                    &[
                        "bvsub", "bvudiv", "bvurem", "bvsdiv", "bvsrem", "bvsmod", "bvshl",
                        "bvlshr", "bvashr"
                    ][..]
                ),
                of(Sort::Bits(8)),
                of(Sort::Bits(8))
            )
                .prop_map(|(op, a, b)| format!("({op} {a} {b})")),
            app(&["(_ zero_extend 5)", "(_ sign_extend 5)"], of(Sort::Bits(3))),
            app(
                &["(_ extract 8 1)"],
                (of(Sort::Bits(3)), of(Sort::Bits(8)))
                    .prop_map(|(a, b)| format!("(concat {a} {b})"))
                    .boxed()
            ),
        ]
        .boxed(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn print_then_parse_gives_the_same_expression(
        text in prop_oneof![text_of(Sort::Int, 3), text_of(Sort::Bool, 3), text_of(Sort::Bits(8), 3)]
    ) {
        let (mut b, t) = builder();
        let id = parse(&text, t, &mut b).map_err(TestCaseError::fail)?;
        let printed = print(b.trace(), id);
        prop_assert_eq!(parse(&printed, t, &mut b), Ok(id));
        let sort = sorts(b.trace())[id.index()];
        let trace = b.build();
        let mut evaluator = Evaluator::default();
        for i in [0, 7, -1] {
            let answer = evaluator.eval(trace.exprs(), id, |r| Some(match trace.register_sort(r) {
                Sort::Bits(width) => Value::Bits { width, bits: i as u64 },
                _ => Value::Int(i),
            }));
            // Well-sorted, nothing unknown: the answer is of the expression's own sort.
            prop_assert_eq!(match answer {
                Answer::Value(v) => Some(Sort::of(v)),
                Answer::Truth(_) => Some(Sort::Bool),
                Answer::Unknown => None,
            }, sort);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[()_#xb%a-z0-9 <=+*-]{0,40}") {
        let (mut b, t) = builder();
        let _ = parse(&text, t, &mut b);
    }
}
