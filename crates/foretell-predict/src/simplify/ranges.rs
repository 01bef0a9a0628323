//! Ranges of the integers in a variable, so that engines need no more bits for them.
//!
//! Every write of the trace runs once at most, so what is in a variable was computed in at most as
//! many steps as there are writes that compute something. From the initial values and constants,
//! each pass over the terms makes one more step; when nothing changes any more, or after as many
//! passes as there are such writes, the ranges hold everything.
//!
//! Passes let a write run again and again, so a sum that doubles does so in each of them. The
//! second bound counts each write once: if nothing is larger than M, a write leaves at most a·M +
//! c, so with all of them nothing gets larger than the largest constant and the sum of the c, times
//! the product of the a. Of the two the smaller one counts.

use foretell_model::TraceModel;
use foretell_trace::expr::ExprOp;
use foretell_trace::{Value, VarId};

use super::initial;
use super::term::{Term, TermId, Terms};

/// Steps that finding the ranges may take.
const MOST_STEPS: usize = 50_000_000;

/// The least and the greatest integer; none if `.0 > .1`.
type Range = (i64, i64);

const NOTHING: Range = (i64::MAX, i64::MIN);
const EVERYTHING: Range = (i64::MIN, i64::MAX);

fn union(a: Range, b: Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

fn is_empty(range: Range) -> bool {
    range.0 > range.1
}

/// The range of some results; what does not fit wraps, and can then be anything.
fn spanning(results: impl IntoIterator<Item = i128>) -> Range {
    let mut range = NOTHING;
    for result in results {
        match i64::try_from(result) {
            Ok(result) => range = union(range, (result, result)),
            Err(_) => return EVERYTHING,
        }
    }
    range
}

/// For each variable how many bits its integers need, in two's complement.
pub(super) fn widths(trace_model: &TraceModel<'_>, terms: &Terms, after: &[TermId]) -> Vec<u8> {
    let trace = trace_model.trace;
    let mut variables: Vec<Range> = (0..trace.variable_count())
        .map(|x| match initial(trace_model, VarId::from_index(x)) {
            Some(Value::Int(i)) => (i, i),
            _ => NOTHING,
        })
        .collect();
    let writes: Vec<(VarId, TermId)> = trace
        .ids()
        .filter(|&e| trace.op(e).writes())
        .filter_map(|e| Some((trace.variable(e)?, after[e.index()])))
        .collect();
    let variables_at_first = variables.clone();
    let computes = |id: &TermId| !matches!(terms.get(*id), Term::Value(_) | Term::Unknown);
    let enough = writes.iter().filter(|(_, id)| computes(id)).count() + 2;
    let most = enough.min(MOST_STEPS / terms.iter().count().max(1));
    let mut ranges: Vec<Range> = Vec::new();
    let mut settled = false;
    for _ in 0..most {
        ranges.clear();
        for term in terms.iter() {
            foretell_limit::check();
            let range = of_term(trace_model, term, &ranges, &variables);
            ranges.push(range);
        }
        settled = true;
        for &(x, id) in &writes {
            foretell_limit::check();
            let (old, new) = (variables[x.index()], ranges[id.number() as usize]);
            variables[x.index()] = union(old, new);
            settled &= variables[x.index()] == old;
        }
        if settled {
            break;
        }
    }
    let once = bound(terms, &variables_at_first, &writes).map_or(64, |most| width((-most, most)));
    if !settled && most < enough {
        return vec![once; variables.len()];
    }
    variables.into_iter().map(|range| width(range).min(once)).collect()
}

/// No value is larger than this, or smaller than its negative, if each write runs once.
fn bound(terms: &Terms, initial: &[Range], writes: &[(VarId, TermId)]) -> Option<i64> {
    let mut slopes: Vec<Option<Slope>> = Vec::new();
    for term in terms.iter() {
        foretell_limit::check();
        let slope = of_slope(term, &slopes);
        slopes.push(slope);
    }
    let magnitude = |i: i64| i128::from(i).abs();
    let known = initial.iter().filter(|&&range| !is_empty(range));
    let mut start = known.map(|r| magnitude(r.0).max(magnitude(r.1))).max().unwrap_or(0);
    let (mut sum, mut product) = (0i128, 1i128);
    for (_, id) in writes {
        foretell_limit::check();
        match slopes[id.number() as usize]? {
            Slope { factor: 0, offset } => start = start.max(offset),
            Slope { factor, offset } => {
                product = product.checked_mul(factor)?;
                sum = sum.checked_add(offset)?;
            }
        }
    }
    let most = start.checked_add(sum)?.checked_mul(product)?;
    i64::try_from(most).ok()
}

/// If no load is larger than M, a term is not larger than `factor`·M + `offset`.
#[derive(Clone, Copy)]
struct Slope {
    factor: i128,
    offset: i128,
}

/// `None`: it may be anything.
fn of_slope(term: &Term, slopes: &[Option<Slope>]) -> Option<Slope> {
    let constant = |offset| Some(Slope { factor: 0, offset });
    let Term::Apply(op, args) = term else {
        return match term {
            Term::Load(_) => Some(Slope { factor: 1, offset: 0 }),
            Term::Value(Value::Int(i)) => constant(i128::from(*i).abs()),
            _ => constant(0),
        };
    };
    let larger = |a: Slope, b: Slope| Slope {
        factor: a.factor.max(b.factor),
        offset: a.offset.max(b.offset),
    };
    let of = |a: &TermId| slopes[a.number() as usize];
    match op {
        ExprOp::Add | ExprOp::Sub => {
            args.iter().map(of).try_fold(Slope { factor: 0, offset: 0 }, |a, b| {
                let (factor, offset) = (a.factor.checked_add(b?.factor)?, b?.offset);
                Some(Slope { factor, offset: a.offset.checked_add(offset)? })
            })
        }
        ExprOp::Ite => args[1..]
            .iter()
            .map(of)
            .try_fold(Slope { factor: 0, offset: 0 }, |a, b| Some(larger(a, b?))),
        ExprOp::Mod => {
            args.iter().map(of).try_fold(Slope { factor: 0, offset: 0 }, |a, b| Some(larger(a, b?)))
        }
        ExprOp::Div => {
            let divided = of(args.first()?)?;
            Some(Slope { offset: divided.offset.checked_add(1)?, ..divided })
        }
        ExprOp::Mul => None,
        // Truths and bit-vectors.
        _ => constant(0),
    }
}

/// The bits that the integers of a range need.
fn width(range: Range) -> u8 {
    if is_empty(range) {
        return 1;
    }
    let bits = |i: i64| 65 - (if i < 0 { !i } else { i }).leading_zeros() as u8;
    bits(range.0).max(bits(range.1))
}

fn of_term(
    trace_model: &TraceModel<'_>,
    term: &Term,
    ranges: &[Range],
    variables: &[Range],
) -> Range {
    match term {
        Term::Value(Value::Int(i)) => (*i, *i),
        Term::Load(e) => match trace_model.trace.variable(*e) {
            Some(x) => variables[x.index()],
            None => NOTHING,
        },
        Term::Apply(op, args) => {
            let args: Vec<Range> = args.iter().map(|a| ranges[a.number() as usize]).collect();
            of_application(*op, &args)
        }
        _ => NOTHING,
    }
}

fn of_application(op: ExprOp, args: &[Range]) -> Range {
    if op == ExprOp::Ite {
        return args.iter().skip(1).fold(NOTHING, |a, &b| union(a, b));
    }
    if args.iter().any(|&a| is_empty(a)) {
        return NOTHING;
    }
    let fold = |step: fn(Range, Range) -> Range| {
        let (first, rest) = args.split_first().map_or((NOTHING, args), |(f, rest)| (*f, rest));
        rest.iter().fold(first, |a, &b| step(a, b))
    };
    match op {
        ExprOp::Add => fold(|a, b| corners(a, b, |x, y| x + y)),
        ExprOp::Sub if args.len() == 1 => corners((0, 0), args[0], |x, y| x - y),
        ExprOp::Sub => fold(|a, b| corners(a, b, |x, y| x - y)),
        ExprOp::Mul => fold(|a, b| corners(a, b, |x, y| x * y)),
        // No quotient is larger than what is divided, and one more where that is negative.
        ExprOp::Div => fold(|a, _| {
            let most = i128::from(a.0).abs().max(i128::from(a.1).abs()) + 1;
            spanning([-most, most])
        }),
        // No remainder is larger than the divisor; by zero, it is what is divided.
        ExprOp::Mod => fold(|a, b| {
            let most = i128::from(b.0).abs().max(i128::from(b.1).abs());
            union(a, spanning([0, most]))
        }),
        _ => NOTHING,
    }
}

/// The range of a function that is monotonic in each argument.
fn corners(a: Range, b: Range, f: fn(i128, i128) -> i128) -> Range {
    let sides = |r: Range| [i128::from(r.0), i128::from(r.1)];
    spanning(sides(a).into_iter().flat_map(|x| sides(b).map(|y| f(x, y))))
}
