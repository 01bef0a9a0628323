use super::*;
use foretell_trace::expr::{eval, print_with};

/// Returns a register of 32 bits with a value.
fn register(b: &mut TraceBuilder, bits: u64) -> Term {
    let thread = b.thread("T");
    let register = b.register(thread, "r");
    let value = b.values().intern(Value::Bits { width: 32, bits });
    b.note_register(register, Some(value));
    let expr = Some(b.exprs().intern(Expr::Reg(register)));
    Term { bits: Some(bits), expr, pins: None }
}

/// Returns the text of a term, whose expression must evaluate to its bits.
fn text(b: &TraceBuilder, term: &Term, of: u64) -> String {
    let exprs = b.trace().exprs();
    let Some(expr) = term.expr else { return format!("{:?}", term.bits) };
    let answer = eval(exprs, expr, |_| Some(Value::Bits { width: 32, bits: of }));
    let bits = match (answer.value(), answer.truth()) {
        (Some(Value::Bits { bits, .. }), _) => Some(bits),
        (_, truth) => truth.map(u64::from),
    };
    assert_eq!(bits, term.bits, "{}", print_with(exprs, expr, |_| "%r".to_owned()));
    print_with(exprs, expr, |_| "%r".to_owned())
}

/// For every operator and many values, the expression evaluates to the result of the machine.
#[test]
fn expressions_agree_with_the_machine() {
    use Binary::*;
    let samples = [0, 1, 2, 7, 31, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];
    let predicates = [
        Predicate::Eq,
        Predicate::Ne,
        Predicate::Ugt,
        Predicate::Uge,
        Predicate::Ult,
        Predicate::Ule,
        Predicate::Sgt,
        Predicate::Sge,
        Predicate::Slt,
        Predicate::Sle,
    ];
    for x in samples {
        for y in samples {
            let (mut b, mut terms) = (TraceBuilder::new(), Terms::default());
            let r = register(&mut b, x);
            let k = Term::constant(y);
            for op in [Add, Sub, Mul, Udiv, Sdiv, Urem, Srem, Shl, Lshr, Ashr, And, Or, Xor] {
                let sum = terms.binary(&mut b, op, 32, &r, &k);
                text(&b, &sum, x);
                assert!(sum.expr.is_some() || sum.pins.is_some());
                let narrow = terms.cast(&mut b, Cast::Trunc, 32, &sum, 8);
                text(&b, &narrow, x);
                for cast in [Cast::Zext, Cast::Sext] {
                    let wide = terms.cast(&mut b, cast, 8, &narrow, 32);
                    text(&b, &wide, x);
                    let more = terms.binary(&mut b, Add, 32, &wide, &k);
                    let back = terms.cast(&mut b, Cast::Trunc, 32, &more, 8);
                    text(&b, &back, x);
                    let bit = terms.cast(&mut b, Cast::Trunc, 32, &more, 1);
                    text(&b, &bit, x);
                }
                let twice = terms.binary(&mut b, op, 32, &sum, &k);
                text(&b, &twice, x);
                for predicate in predicates {
                    let truth = terms.compare(&mut b, predicate, 32, &twice, &k);
                    text(&b, &truth, x);
                    let number = terms.cast(&mut b, Cast::Zext, 1, &truth, 32);
                    let truth = terms.compare(&mut b, predicate, 32, &number, &k);
                    text(&b, &truth, x);
                    let chosen = terms.select(&mut b, &truth, &sum, &k, Some(32));
                    text(&b, &chosen, x);
                }
                for term in [&sum, &narrow, &twice] {
                    let width = if std::ptr::eq(term, &narrow) { 8 } else { 32 };
                    for &pin in terms.pinned(&mut b, term, width).iter().flat_map(|p| p.iter()) {
                        let value = |_| Some(Value::Bits { width: 32, bits: x });
                        assert_ne!(eval(b.trace().exprs(), pin, value).truth(), Some(false));
                    }
                }
            }
        }
    }
}

#[test]
fn expressions_stay_small() {
    let (mut b, mut terms) = (TraceBuilder::new(), Terms::default());
    let r = register(&mut b, 5);
    let (one, zero) = (Term::constant(1), Term::constant(0));
    let sum = terms.binary(&mut b, Binary::Add, 32, &r, &one);
    let sum = terms.binary(&mut b, Binary::Add, 32, &sum, &one);
    assert_eq!(text(&b, &sum, 5), "(bvadd %r #x00000002)");
    let same = terms.binary(&mut b, Binary::Or, 32, &r, &zero);
    assert_eq!(text(&b, &same, 5), "%r");
    let positive = terms.compare(&mut b, Predicate::Sgt, 32, &r, &zero);
    let number = terms.cast(&mut b, Cast::Zext, 1, &positive, 32);
    let truth = terms.compare(&mut b, Predicate::Ne, 32, &number, &zero);
    assert_eq!(text(&b, &truth, 5), "(bvsgt %r #x00000000)");
    let truth = terms.compare(&mut b, Predicate::Eq, 32, &number, &zero);
    assert_eq!(text(&b, &truth, 5), "(bvsle %r #x00000000)");
    let wide = terms.cast(&mut b, Cast::Sext, 32, &sum, 64);
    let pins = terms.pinned(&mut b, &wide, 64).expect("it depends on the register");
    assert_eq!(print_with(b.trace().exprs(), pins[0], |_| "%r".to_owned()), "(= %r #x00000005)");
    let unknown = terms.binary(&mut b, Binary::Add, 32, &r, &Term::default());
    assert!(unknown.bits.is_none() && unknown.pins.is_some());
}
