//! Text to expressions: SMT-LIB prefix form, sort-checked.

use crate::expr::sort::result_sort;
use crate::expr::{Expr, ExprOp, Sort};
use crate::{ExprId, ThreadId, TraceBuilder, Value};

/// The deepest nesting of an expression that is read. Deeper ones are refused, so that nothing that
/// walks an expression can run out of stack.
pub(crate) const MAX_DEPTH: usize = 1000;

/// Reads an expression over the registers of `thread` (`%name`) and adds it to the trace.
///
/// A register has the sort of the value first put in it, so far as the trace has been built; see
/// [`TraceBuilder::note_register`].
pub fn parse(text: &str, thread: ThreadId, builder: &mut TraceBuilder) -> Result<ExprId, String> {
    parse_term(text, thread, builder).map(|term| term.id)
}

/// Reads the condition of a guard: an expression of sort Bool.
pub(crate) fn parse_guard(
    text: &str,
    thread: ThreadId,
    builder: &mut TraceBuilder,
) -> Result<ExprId, String> {
    match parse_term(text, thread, builder)? {
        Term { id, sort: Sort::Bool, .. } => Ok(id),
        Term { sort, .. } => {
            Err(format!("a guard is a condition, not {sort}: compare it to something"))
        }
    }
}

/// Reads a value to be written: an integer or a bit-vector.
pub(crate) fn parse_value(
    text: &str,
    thread: ThreadId,
    builder: &mut TraceBuilder,
) -> Result<ExprId, String> {
    match parse_term(text, thread, builder)? {
        Term { sort: Sort::Bool, .. } => {
            Err("a condition is no value: write (ite … 1 0)".to_owned())
        }
        Term { id, .. } => Ok(id),
    }
}

/// Part of an expression that has been read.
#[derive(Clone, Copy)]
struct Term {
    id: ExprId,
    sort: Sort,
    depth: usize,
}

fn parse_term(text: &str, thread: ThreadId, builder: &mut TraceBuilder) -> Result<Term, String> {
    let mut tokens = Tokens { rest: text };
    // Applications that are still open, outermost first.
    let mut open: Vec<(ExprOp, Vec<Term>)> = Vec::new();
    loop {
        let term = match tokens.next().ok_or("the expression ends too early")? {
            "(" => match open_paren(&mut tokens)? {
                Opened::Constant(value) => constant(value, builder),
                Opened::Operator(op) => {
                    if open.len() >= MAX_DEPTH {
                        return Err(too_deep());
                    }
                    open.push((op, Vec::new()));
                    continue;
                }
            },
            ")" => match open.pop() {
                None => return Err("`)` without `(`".to_owned()),
                Some((op, args)) => apply(op, &args, builder)?,
            },
            word => atom(word, thread, builder)?,
        };
        match open.last_mut() {
            Some((_, args)) => args.push(term),
            None => {
                return match tokens.next() {
                    None => Ok(term),
                    Some(more) => Err(format!("`{more}` after the end of the expression")),
                };
            }
        }
    }
}

fn too_deep() -> String {
    format!("the expression is nested more than {MAX_DEPTH} deep")
}

/// Tokens after an opening parenthesis.
enum Opened {
    Operator(ExprOp),
    Constant(Value),
}

/// Reads what follows a `(`: an operator, an indexed operator `(_ extract 7 0)`, or the rest of an
/// indexed constant `_ bv5 8)`.
fn open_paren(tokens: &mut Tokens<'_>) -> Result<Opened, String> {
    match tokens.next().ok_or("the expression ends after `(`")? {
        ")" => Err("`()` is no expression".to_owned()),
        "(" => match tokens.next() {
            Some("_") => indexed(tokens).and_then(|opened| match opened {
                Opened::Operator(_) => Ok(opened),
                Opened::Constant(_) => Err("a constant is no operator".to_owned()),
            }),
            _ => Err("an operator must follow `(`".to_owned()),
        },
        "_" => indexed(tokens).and_then(|opened| match opened {
            Opened::Constant(_) => Ok(opened),
            Opened::Operator(op) => Err(format!("`{}` needs an argument", op.name())),
        }),
        name => match ExprOp::plain(name) {
            Some(op) => Ok(Opened::Operator(op)),
            None => Err(format!("there is no operator `{name}`")),
        },
    }
}

/// Reads `name index … )`, what follows `(_`.
fn indexed(tokens: &mut Tokens<'_>) -> Result<Opened, String> {
    let name = tokens.next().unwrap_or_default();
    let mut indices = Vec::new();
    loop {
        match tokens.next().ok_or("the expression ends inside `(_`")? {
            ")" => break,
            word => indices.push(index(word)?),
        }
        if indices.len() > 2 {
            break;
        }
    }
    match (name, indices.as_slice()) {
        ("extract", &[high, low]) => Ok(Opened::Operator(ExprOp::Extract(high, low))),
        ("zero_extend", &[n]) => Ok(Opened::Operator(ExprOp::ZeroExtend(n))),
        ("sign_extend", &[n]) => Ok(Opened::Operator(ExprOp::SignExtend(n))),
        (_, &[width @ 1..=64]) if name.starts_with("bv") => {
            let bits = decimal(&name[2..])
                .filter(|bits| width == 64 || bits >> width == 0)
                .ok_or_else(|| format!("`{name}` is no constant of {width} bits"))?;
            Ok(Opened::Constant(Value::Bits { width, bits }))
        }
        _ => Err(format!(
            "`(_ {name} …)` is not known: (_ extract i j), (_ zero_extend n), (_ sign_extend n), (_ bvX n)"
        )),
    }
}

fn index(word: &str) -> Result<u8, String> {
    decimal(word)
        .and_then(|n| u8::try_from(n).ok())
        .filter(|&n| n <= 64)
        .ok_or_else(|| format!("`{word}` is no index between 0 and 64"))
}

/// Digits and nothing else.
fn decimal(word: &str) -> Option<u64> {
    word.bytes().all(|b| b.is_ascii_digit()).then(|| word.parse().ok()).flatten()
}

/// Reads a constant, a truth value or a register.
fn atom(word: &str, thread: ThreadId, builder: &mut TraceBuilder) -> Result<Term, String> {
    if let Some(name) = word.strip_prefix('%') {
        if name.is_empty() || name.contains(['|', ',', '=']) {
            return Err(format!("`{word}` is no name of a register"));
        }
        let register = builder.register(thread, name);
        let sort = builder.trace().register_sort(register);
        return Ok(Term { id: builder.exprs().intern(Expr::Reg(register)), sort, depth: 0 });
    }
    if word == "true" || word == "false" {
        let id = builder.exprs().intern(Expr::Bool(word == "true"));
        return Ok(Term { id, sort: Sort::Bool, depth: 0 });
    }
    literal(word).map(|value| constant(value, builder))
}

fn constant(value: Value, builder: &mut TraceBuilder) -> Term {
    Term { id: builder.exprs().intern(Expr::Const(value)), sort: Sort::of(value), depth: 0 }
}

/// Reads an integer or a `#x…`, `#b…` bit-vector.
fn literal(word: &str) -> Result<Value, String> {
    let (digits, base, bits_each) = if let Some(hex) = word.strip_prefix("#x") {
        (hex, 16, 4)
    } else if let Some(binary) = word.strip_prefix("#b") {
        (binary, 2, 1)
    } else {
        let digits = word.strip_prefix('-').unwrap_or(word);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!(
                "`{word}` is no constant and no register (registers start with %)"
            ));
        }
        return word
            .parse()
            .map(Value::Int)
            .map_err(|_| format!("`{word}` does not fit a 64-bit integer"));
    };
    let width = digits.len().saturating_mul(bits_each);
    if !(1..=64).contains(&width) || !digits.chars().all(|c| c.is_digit(base)) {
        return Err(format!("`{word}` is no bit-vector of 1 to 64 bits"));
    }
    let bits = u64::from_str_radix(digits, base).map_err(|e| format!("`{word}`: {e}"))?;
    Ok(Value::Bits { width: width as u8, bits })
}

/// The application of an operator, with chains that are nested two by two (see [`ExprOp`]) nested.
fn apply(op: ExprOp, args: &[Term], builder: &mut TraceBuilder) -> Result<Term, String> {
    use ExprOp::*;
    let left_associative = matches!(op, Div | BvAdd | BvMul | BvAnd | BvOr | BvXor | Concat);
    if let (true, [first, second, rest @ ..]) = (left_associative, args) {
        let start = node(op, &[*first, *second], builder)?;
        return rest.iter().try_fold(start, |left, right| node(op, &[left, *right], builder));
    }
    node(op, args, builder)
}

fn node(op: ExprOp, args: &[Term], builder: &mut TraceBuilder) -> Result<Term, String> {
    let sorts: Vec<Sort> = args.iter().map(|a| a.sort).collect();
    let sort = result_sort(op, &sorts)?;
    let depth = 1 + args.iter().map(|a| a.depth).max().unwrap_or(0);
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    let id = builder.exprs().intern(Expr::App(op, args.iter().map(|a| a.id).collect()));
    Ok(Term { id, sort, depth })
}

/// Parentheses and the words between them.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.trim_start();
        let first = text.chars().next()?;
        let end = match first {
            '(' | ')' => 1,
            _ => {
                text.find(|c: char| c == '(' || c == ')' || c.is_whitespace()).unwrap_or(text.len())
            }
        };
        let (token, rest) = text.split_at(end);
        self.rest = rest;
        Some(token)
    }
}
