//! Tests of the simplifications, of terms that must stay as they are, and of the counts.

use foretell_generate::Rng;
use foretell_trace::expr::{Answer, Evaluator, Expr, ExprOp, Sort};
use foretell_trace::{EventId, RegId, Trace, Value, text};

use super::*;

fn trace(text: &str) -> Trace {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    text::parse(lines.join("\n").as_bytes()).expect("the trace is well-formed").trace
}

fn symbolic(trace: &Trace, simplify: bool) -> Symbolic {
    Symbolic::new(&TraceModel::new(trace, Model::Symbolic), simplify)
}

/// Returns the guards, events and nodes that are left, and the events and nodes there were.
fn left(text: &str) -> (usize, [u64; 4]) {
    let trace = trace(text);
    let values = symbolic(&trace, true);
    let counts = values.counts();
    let all = [counts.kept_events, counts.events, counts.kept_nodes, counts.nodes];
    (values.guards().len(), all)
}

#[test]
fn load_of_the_only_visible_write_is_constant() {
    // T1 alone writes y, before it starts T2: both guards are settled.
    let text = "T1|w(y=3)
        T1|fork(T2)
        T2|r(y=3)->%a
        T2|guard((> (* %a 2) 5))
        T2|w(x=4)<-(+ %a 1)
        T2|r(x=4)->%b
        T2|guard((= %b 4))";
    assert_eq!(left(text), (0, [0, 6, 0, 11]));
}

#[test]
fn dead_registers_are_left_out() {
    // Nothing depends on %b and %c; the guard on %a stays, with the two writes that it can see.
    let text = "#! init x=0
        T1|r(x=0)->%a
        T1|guard((< %a 5))
        T1|r(y=0)->%b
        T1|w(z=1)<-(+ %b 1)
        T2|r(z=1)->%c
        T2|w(y=7)
        T2|w(x=3)";
    assert_eq!(left(text), (1, [3, 7, 3, 6]));
}

#[test]
fn unknown_values_stay_unknown() {
    // Whatever %a is, the conditions are unknown if it is, and it is if T2's write comes first.
    for guard in ["(= %a %a)", "(or true (= %a 1))", "(= (* 0 %a) 0)"] {
        let text = format!(
            "#! init x=1
             T1|r(x=1)->%a
             T1|guard({guard})
             T2|w(x)"
        );
        assert_eq!(left(&text).0, 1, "{guard}");
    }
    // Where it surely has a value, two of them are settled.
    for (guard, count) in [("(= %a %a)", 0), ("(or true (= %a 1))", 0), ("(= (* 0 %a) 0)", 1)] {
        let text = format!(
            "#! init x=1
             T1|r(x=1)->%a
             T1|guard({guard})
             T2|w(x=2)"
        );
        assert_eq!(left(&text).0, count, "{guard}");
    }
}

#[test]
fn small_integers_need_few_bits() {
    // x is counted up by three writes from 0, y is multiplied up, z stays where it is, u is
    // anything.
    let text = "#! init x=0
        #! init y=7
        #! init z=-4
        #! init u=9223372036854775807
        T1|r(x=0)->%a
        T1|w(x=1)<-(+ %a 1)
        T2|r(x=1)->%b
        T2|w(x=2)<-(+ %b 1)
        T3|r(x=2)->%c
        T3|w(x=3)<-(+ %c 1)
        T1|r(y=7)->%d
        T1|w(y=49)<-(* %d %d)
        T2|r(y=49)->%g
        T2|w(y=2401)<-(* %g %g)
        T2|r(z=-4)->%e
        T2|w(z=0)<-(ite (< %e 0) 0 3)
        T3|r(u=9223372036854775807)->%f
        T3|w(u=-9223372036854775808)<-(+ %f 1)";
    let trace = trace(text);
    let values = symbolic(&trace, true);
    let width = |name: &str| values.widths[trace.find_variable(name).unwrap().index()];
    assert_eq!(["z", "u"].map(width), [3, 64]);
    // Within the passes that there are writes for: a few steps up, and more than 40 bits of y.
    assert!((3..=5).contains(&width("x")), "{}", width("x"));
    assert!(width("y") > 40, "{}", width("y"));
    assert_eq!(symbolic(&trace, false).widths[0], 64);
}

#[test]
fn every_write_runs_once() {
    // Three times twice as much, and one more: at most (1 + 1) · 8, which six bits hold with the
    // sign.
    let text = "#! init x=1
        T1|r(x=1)->%a
        T1|w(x=2)<-(+ %a %a)
        T2|r(x=2)->%b
        T2|w(x=4)<-(+ %b %b)
        T2|r(x=4)->%c
        T2|w(x=8)<-(+ %c %c)
        T3|r(x=8)->%d
        T3|w(x=9)<-(+ %d 1)";
    assert_eq!(symbolic(&trace(text), true).widths, [6]);
}

#[test]
fn without_simplification_everything_stays() {
    let trace = trace("T1|w(y=3)\nT1|r(y=3)->%a\nT1|guard((= %a 3))");
    let values = symbolic(&trace, false);
    assert_eq!(values.guards().len(), 1);
    assert_eq!(values.counts().kept_nodes, values.counts().nodes);
}

/// Random expressions over three registers, one of which may be unknown, have the same value folded
/// and not.
#[test]
fn folding_keeps_every_value() {
    let mut rng = Rng::new(7);
    for _ in 0..3_000 {
        let mut exprs = foretell_trace::expr::Exprs::default();
        let root = random(&mut rng, &mut exprs, 4, Sort::Bool);
        let unknown = rng.below(3) == 0;
        let mut folded = Terms::new(true);
        let loads: Vec<TermId> = (0..3)
            .map(|i| {
                let kind = TermKind { sorts: vec![Sort::Int], sure: i != 2 || !unknown };
                folded.intern(Term::Load(EventId(i)), kind)
            })
            .collect();
        let mut ids: FxHashMap<ExprId, TermId> = FxHashMap::default();
        for (id, node) in exprs.iter() {
            let term = match node {
                Expr::Const(value) => folded.value(Some(*value)),
                Expr::Bool(truth) => folded.truth(*truth),
                Expr::Reg(r) => loads[r.index()],
                Expr::App(op, args) => {
                    let args: Vec<TermId> = args.iter().map(|a| ids[a]).collect();
                    folded.apply(*op, &args)
                }
            };
            ids.insert(id, term);
        }
        for _ in 0..4 {
            let mut values = [0; 3].map(|_| Some(Value::Int(rng.below(5) as i64 - 2)));
            if unknown {
                values[2] = None;
            }
            let expected = Evaluator::default().eval(&exprs, root, |r| values[r.index()]);
            let actual = eval_term(&folded, ids[&root], &values);
            let text = foretell_trace::expr::print_with(&exprs, root, |r| format!("%{}", r.0));
            assert_eq!(actual, expected, "{text} for {values:?}");
        }
    }
}

fn random(
    rng: &mut Rng,
    exprs: &mut foretell_trace::expr::Exprs,
    depth: u32,
    sort: Sort,
) -> ExprId {
    use ExprOp::*;
    let node = match (sort, depth == 0 || rng.below(5) == 0) {
        (Sort::Bool, true) => Expr::Bool(rng.below(2) == 0),
        (_, true) if rng.below(2) == 0 => Expr::Reg(RegId(rng.below(3) as u32)),
        (_, true) => Expr::Const(Value::Int(rng.below(4) as i64 - 1)),
        (Sort::Bool, false) => {
            let (op, arity, of) = match rng.below(8) {
                0 => (And, 2, Sort::Bool),
                1 => (Or, 3, Sort::Bool),
                2 => (Not, 1, Sort::Bool),
                3 => (Eq, 2, Sort::Int),
                4 => (Distinct, 2, Sort::Int),
                5 => (Lt, 2, Sort::Int),
                6 => (Ge, 2, Sort::Int),
                _ => (Eq, 2, Sort::Bool),
            };
            let args = (0..arity).map(|_| random(rng, exprs, depth - 1, of)).collect();
            Expr::App(op, args)
        }
        (_, false) => match rng.below(5) {
            0 => {
                let condition = random(rng, exprs, depth - 1, Sort::Bool);
                let branches = [0; 2].map(|_| random(rng, exprs, depth - 1, Sort::Int));
                Expr::App(Ite, [condition, branches[0], branches[1]].into())
            }
            n => {
                let op = [Add, Sub, Mul, Add][n - 1];
                let arity = 1 + rng.below(3);
                let args = (0..arity).map(|_| random(rng, exprs, depth - 1, Sort::Int)).collect();
                Expr::App(op, args)
            }
        },
    };
    exprs.intern(node)
}

/// The value of a term, by way of an expression that says the same.
fn eval_term(terms: &Terms, root: TermId, values: &[Option<Value>; 3]) -> Answer {
    let mut exprs = foretell_trace::expr::Exprs::default();
    let mut ids: FxHashMap<TermId, ExprId> = FxHashMap::default();
    for id in terms.parts([root], |_| true) {
        let node = match terms.get(id) {
            // A register that no event loads.
            Term::Unknown | Term::Observed(_) => Expr::Reg(RegId(9)),
            Term::Value(value) => Expr::Const(*value),
            Term::Truth(truth) => Expr::Bool(*truth),
            Term::Load(e) => Expr::Reg(RegId(e.0)),
            Term::Apply(op, args) => Expr::App(*op, args.iter().map(|a| ids[a]).collect()),
        };
        let expr = exprs.intern(node);
        ids.insert(id, expr);
    }
    let value = |r: RegId| values.get(r.index()).copied().flatten();
    Evaluator::default().eval(&exprs, ids[&root], value)
}
