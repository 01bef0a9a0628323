//! Constants, sorts and operators of a trace's expressions as SMT-LIB text.
//!
//! Integers are bit-vectors of 64 bits. The meaning of each operator is that of
//! [`foretell_trace::expr::eval`].

use foretell_trace::Value;
use foretell_trace::expr::{ExprOp, Sort};

/// A sort; integers are bit-vectors.
pub(super) fn sort(sort: Sort) -> String {
    match sort {
        Sort::Int => "(_ BitVec 64)".to_owned(),
        Sort::Bits(width) => format!("(_ BitVec {width})"),
        Sort::Bool => "Bool".to_owned(),
    }
}

/// A constant.
pub(super) fn constant(value: Value) -> String {
    match value {
        Value::Int(i) => format!("#x{i:016x}"),
        Value::Bits { width, bits } => {
            let width = usize::from(width);
            let bits = bits & (u64::MAX >> (64 - width.clamp(1, 64)));
            format!("#b{bits:0width$b}")
        }
    }
}

/// The negation of a truth.
pub(super) fn not(truth: &str) -> String {
    match truth {
        "true" => "false".to_owned(),
        "false" => "true".to_owned(),
        truth => format!("(not {truth})"),
    }
}

/// The conjunction of truths.
pub(super) fn all(truths: impl IntoIterator<Item = String>) -> String {
    junction("and", "true", "false", truths)
}

/// The disjunction of truths.
pub(super) fn any(truths: impl IntoIterator<Item = String>) -> String {
    junction("or", "false", "true", truths)
}

fn junction(
    op: &str,
    neutral: &str,
    decisive: &str,
    truths: impl IntoIterator<Item = String>,
) -> String {
    let mut rest: Vec<String> = Vec::new();
    for truth in truths {
        if truth == decisive {
            return truth;
        }
        if truth != neutral && !rest.contains(&truth) {
            rest.push(truth);
        }
    }
    match &mut rest[..] {
        [] => neutral.to_owned(),
        [only] => std::mem::take(only),
        _ => format!("({op} {})", rest.join(" ")),
    }
}

/// An operator other than `ite` on arguments of the right sorts.
pub(super) fn apply(op: ExprOp, args: &[&str]) -> String {
    use ExprOp::*;
    match op {
        Add => fold("bvadd", args),
        Mul => fold("bvmul", args),
        Sub if args.len() == 1 => format!("(bvneg {})", args[0]),
        Sub => fold("bvsub", args),
        Div => euclid(args, &quotient()),
        Mod => euclid(args, &remainder()),
        Lt => chain("bvslt", args),
        Le => chain("bvsle", args),
        Gt => chain("bvsgt", args),
        Ge => chain("bvsge", args),
        And | Or if args.len() == 1 => args[0].to_owned(),
        _ => format!("({} {})", op.name(), args.join(" ")),
    }
}

fn fold(op: &str, args: &[&str]) -> String {
    let Some((first, rest)) = args.split_first() else { return "false".to_owned() };
    rest.iter().fold((*first).to_owned(), |sum, arg| format!("({op} {sum} {arg})"))
}

fn chain(op: &str, args: &[&str]) -> String {
    all(args.windows(2).map(|w| format!("({op} {} {})", w[0], w[1])))
}

const ZERO: &str = "#x0000000000000000";
const ONE: &str = "#x0000000000000001";

/// Division whose remainder is never negative, from the left, each step bound to a name.
fn euclid(args: &[&str], step: &str) -> String {
    let Some((first, rest)) = args.split_first() else { return "false".to_owned() };
    rest.iter().fold((*first).to_owned(), |x, y| {
        format!("(let ((?x {x}) (?y {y})) (let ((?r (bvsrem ?x ?y))) {step}))")
    })
}

/// Of `?x` by `?y`, with the remainder `?r` of signed division; by zero it is zero.
fn quotient() -> String {
    let q = "(bvsdiv ?x ?y)";
    let (up, down) = (format!("(bvadd {q} {ONE})"), format!("(bvsub {q} {ONE})"));
    format!(
        "(ite (= ?y {ZERO}) {ZERO} (ite (bvsge ?r {ZERO}) {q} (ite (bvslt ?y {ZERO}) {up} {down})))"
    )
}

/// By zero it is `?x`.
fn remainder() -> String {
    let (less, more) = ("(bvsub ?r ?y)", "(bvadd ?r ?y)");
    format!(
        "(ite (= ?y {ZERO}) ?x (ite (bvsge ?r {ZERO}) ?r (ite (bvslt ?y {ZERO}) {less} {more})))"
    )
}
