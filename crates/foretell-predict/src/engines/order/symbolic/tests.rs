//! Every operator as a circuit against its evaluation, with inputs that the circuit does not know.

use foretell_order::{Answer as Solved, Limit, Lit, Solver};
use foretell_trace::expr::{Answer, Expr, ExprOp, Sort, eval, result_sort};
use foretell_trace::{TraceBuilder, Value};

use super::circuit::{Circuit, Gates};
use super::words::{Word, width};

/// A number from a few kinds: small, near the ends, anything.
fn number(dice: &mut u64, width: usize) -> u64 {
    let mut roll = || {
        *dice =
            dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *dice >> 33
    };
    let any = roll() << 33 ^ roll() << 11 ^ roll();
    let number = match roll() % 5 {
        0 => any % 4,
        1 => (any % 4).wrapping_neg(),
        2 => 1 << (width - 1),
        3 => any % 70,
        _ => any,
    };
    number & (u64::MAX >> (64 - width))
}

fn value(sort: Sort, number: u64) -> Value {
    match sort {
        Sort::Int => Value::Int(number as i64),
        _ => Value::Bits { width: width(sort) as u8, bits: number },
    }
}

fn expected(op: ExprOp, sort: Sort, numbers: &[u64]) -> u64 {
    let mut builder = TraceBuilder::new();
    let mut args = Vec::new();
    for &n in numbers {
        let node =
            if sort == Sort::Bool { Expr::Bool(n == 1) } else { Expr::Const(value(sort, n)) };
        args.push(builder.exprs().intern(node));
    }
    let root = builder.exprs().intern(Expr::App(op, args.into()));
    let trace = builder.build();
    match eval(trace.exprs(), root, |_| None) {
        Answer::Value(Value::Int(i)) => i as u64,
        Answer::Value(Value::Bits { bits, .. }) => bits,
        Answer::Truth(t) => u64::from(t),
        Answer::Unknown => panic!("{op:?} of {numbers:?} is unknown"),
    }
}

/// Fixes a word to a number.
fn fixed(word: &Word, number: u64) -> impl Iterator<Item = Lit> + '_ {
    word.iter().enumerate().map(move |(i, &bit)| if number >> i & 1 == 1 { bit } else { !bit })
}

/// The number that a word stands for: an integer's highest bit is that of all above it.
fn read(word: &Word, sort: Sort, mut bit: impl FnMut(Lit) -> bool) -> u64 {
    let length = if sort == Sort::Int { 64 } else { word.len() };
    (0..length).map(|i| u64::from(bit(word[i.min(word.len() - 1)])) << i).sum()
}

/// Inputs of so many bits; of an integer that may be fewer than 64.
fn check(op: ExprOp, sort: Sort, bits: usize, arity: usize, dice: &mut u64) {
    let Ok(result_sort) = result_sort(op, &vec![sort; arity]) else { return };
    let (mut solver, mut gates) = (Solver::new(), Gates::default());
    let words: Vec<Word> =
        (0..arity).map(|_| (0..bits).map(|_| solver.new_var()).collect()).collect();
    let args: Vec<&Word> = words.iter().collect();
    let result = Circuit { solver: &mut solver, gates: &mut gates }.apply(op, &args);
    let extended = |number: u64| match sort {
        Sort::Int => ((number << (64 - bits)) as i64 >> (64 - bits)) as u64,
        _ => number,
    };
    for _ in 0..8 {
        let numbers: Vec<u64> = (0..arity).map(|_| number(dice, bits)).collect();
        let mut inputs = Vec::new();
        for (word, &n) in words.iter().zip(&numbers) {
            inputs.extend(fixed(word, n));
        }
        let numbers: Vec<u64> = numbers.into_iter().map(extended).collect();
        assert_eq!(solver.solve(&inputs, &Limit::none()), Solved::Sat, "{op:?} {numbers:?}");
        let got = read(&result, result_sort, |b| solver.value(b));
        assert_eq!(expected(op, sort, &numbers), got, "{op:?} on {sort} of {numbers:x?}");
    }
    // Constants fold to the same.
    let numbers: Vec<u64> = (0..arity).map(|_| extended(number(dice, bits))).collect();
    let mut circuit = Circuit { solver: &mut solver, gates: &mut gates };
    let yes = circuit.yes();
    let constants: Vec<Word> = numbers
        .iter()
        .map(|n| (0..bits).map(|i| circuit.constant(n >> i & 1 == 1)).collect())
        .collect();
    let args: Vec<&Word> = constants.iter().collect();
    let result = circuit.apply(op, &args);
    assert!(result.iter().all(|&b| b == yes || b == !yes), "{op:?} leaves gates of constants");
    let got = read(&result, result_sort, |b| b == yes);
    assert_eq!(expected(op, sort, &numbers), got, "{op:?} on {sort} of constants {numbers:x?}");
}

#[test]
fn operators_are_as_evaluated() {
    use ExprOp::*;
    let operators = [
        Add,
        Sub,
        Mul,
        Div,
        Mod,
        Lt,
        Le,
        Gt,
        Ge,
        Eq,
        Distinct,
        And,
        Or,
        Not,
        BvAdd,
        BvSub,
        BvMul,
        BvNeg,
        BvUdiv,
        BvUrem,
        BvSdiv,
        BvSrem,
        BvSmod,
        BvAnd,
        BvOr,
        BvXor,
        BvNot,
        BvShl,
        BvLshr,
        BvAshr,
        BvUlt,
        BvUle,
        BvUgt,
        BvUge,
        BvSlt,
        BvSle,
        BvSgt,
        BvSge,
        Concat,
        Extract(3, 1),
        Extract(0, 0),
        ZeroExtend(3),
        SignExtend(5),
    ];
    let sorts =
        [Sort::Int, Sort::Bool, Sort::Bits(1), Sort::Bits(4), Sort::Bits(7), Sort::Bits(32)];
    let mut dice = 1;
    for op in operators {
        for sort in sorts {
            for arity in 1..=3 {
                check(op, sort, width(sort), arity, &mut dice);
                if sort == Sort::Int {
                    check(op, sort, 6, arity, &mut dice);
                    check(op, sort, 33, arity, &mut dice);
                }
            }
        }
    }
}
