//! Parses the text of an instruction.

use rustc_hash::FxHashMap;

use super::{Binary, Call, Callee, Cast, Inst, Local, Operand, Predicate, Type};

/// Numbers of local names.
#[derive(Default)]
pub(super) struct Names(FxHashMap<String, Local>);

impl Names {
    pub(super) fn local(&mut self, name: &str) -> Local {
        let next = self.0.len() as Local;
        *self.0.entry(name.trim_matches('"').to_owned()).or_insert(next)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    fn operand(&mut self, text: &str, width: Option<u8>) -> Operand {
        if let Some(name) = text.strip_prefix('%') {
            return Operand::Local(self.local(name));
        }
        let bits = match text {
            "true" => Some(1),
            "false" | "null" | "zeroinitializer" => Some(0),
            _ => text.parse::<i64>().ok().map(|v| v as u64).or_else(|| text.parse::<u64>().ok()),
        };
        match (bits, width) {
            (Some(bits), Some(width)) => {
                Operand::Bits(bits & (u64::MAX >> (64 - u32::from(width))))
            }
            _ => Operand::Constant,
        }
    }
}

/// Returns the instruction on a line.
pub(super) fn instruction(line: &str, names: &mut Names) -> Inst {
    let (to, rest) = match line.split_once(" = ") {
        Some((name, rest)) if name.starts_with('%') => (Some(names.local(&name[1..])), rest),
        _ => (None, line),
    };
    known(to, rest, names).unwrap_or_else(|| Inst::Other { to, uses: locals(rest, names) })
}

/// Returns the locals that a text names. Labels are among them, and have no value.
fn locals(text: &str, names: &mut Names) -> Vec<Local> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        if end > 0 {
            out.push(names.local(&rest[..end]));
        }
    }
    out
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-$._".contains(c)
}

fn known(to: Option<Local>, text: &str, names: &mut Names) -> Option<Inst> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        // The instrumentation has replaced these by calls, and left unused loads.
        "load" | "store" if rest.starts_with("atomic ") => {
            Some(Inst::Other { to, uses: Vec::new() })
        }
        "load" | "store" | "alloca" | "getelementptr" => memory(word, to, rest, names),
        "br" | "switch" | "ret" => flow(word, rest, names),
        "call" | "tail" | "notail" => call(to, rest.strip_prefix("call ").unwrap_or(rest), names),
        "icmp" => compare(to?, rest, names),
        "select" => {
            let parts = split(rest);
            let [condition, yes, no] = parts[..] else { return None };
            let (Type::Int(1), condition) = typed(condition, names)? else { return None };
            let ((ty, yes), (_, no)) = (typed(yes, names)?, typed(no, names)?);
            Some(Inst::Select { to: to?, condition, yes, no, ty })
        }
        "phi" => {
            let (ty, list) = rest.split_once(' ')?;
            let width = Type::of(ty).width();
            let mut incoming = Vec::new();
            for pair in split(list) {
                let pair = pair.strip_prefix('[')?.strip_suffix(']')?;
                let (value, label) = pair.split_once(',')?;
                let label = label.trim().strip_prefix('%')?.trim_matches('"').to_owned();
                incoming.push((names.operand(value.trim(), width), label));
            }
            Some(Inst::Phi { to: to?, incoming })
        }
        "freeze" => {
            let (ty, a) = typed(rest, names)?;
            let width = ty.width()?;
            Some(Inst::Cast { to: to?, op: Cast::Same, from: width, a, into: width })
        }
        "insertvalue" | "extractvalue" => {
            let parts = split(rest);
            let at = parts.last()?.parse().ok()?;
            let of = names.operand(words(parts.first()?).last()?, None);
            match (word, &parts[..]) {
                ("insertvalue", [_, value, _]) => {
                    let value = typed(value, names)?.1;
                    Some(Inst::Insert { to: to?, of, value, at })
                }
                ("extractvalue", [_, _]) => Some(Inst::Extract { to: to?, of, at }),
                _ => None,
            }
        }
        _ => cast(to, word, rest, names).or_else(|| binary(to, word, rest, names)),
    }
}

/// Returns a typed operand: `i32 %5`.
fn typed(text: &str, names: &mut Names) -> Option<(Type, Operand)> {
    let words = words(text);
    let ty = Type::of(words.first()?);
    let last = if words.len() > 1 { words.last()? } else { return None };
    Some((ty, names.operand(last, ty.width())))
}

fn memory(word: &str, to: Option<Local>, rest: &str, names: &mut Names) -> Option<Inst> {
    let parts = split(rest);
    match word {
        "alloca" => Some(Inst::Alloca { to: to? }),
        "load" => {
            let ty =
                words(parts.first()?).iter().rfind(|w| **w != "volatile").map(|w| Type::of(w))?;
            let (Type::Pointer, pointer) = typed(parts.get(1)?, names)? else { return None };
            Some(Inst::Load { to: to?, ty, pointer })
        }
        "store" => {
            let value = parts.first()?;
            let (ty, value) = typed(value.strip_prefix("volatile ").unwrap_or(value), names)?;
            let (Type::Pointer, pointer) = typed(parts.get(1)?, names)? else { return None };
            Some(Inst::Store { ty, value, pointer })
        }
        _ => {
            let (Type::Pointer, base) = typed(parts.get(1)?, names)? else { return None };
            let mut indices = Vec::new();
            for index in parts.get(2..)? {
                let (_, index) = typed(index, names)?;
                if let Operand::Local(_) = index {
                    indices.push(index);
                }
            }
            Some(Inst::Part { to: to?, base, indices })
        }
    }
}

fn flow(word: &str, rest: &str, names: &mut Names) -> Option<Inst> {
    let label = |text: &str| {
        let name = text.trim().strip_prefix("label %")?;
        Some(name.trim_matches('"').to_owned())
    };
    match word {
        "ret" if rest == "void" => Some(Inst::Return { value: None }),
        "ret" => Some(Inst::Return { value: Some(typed(rest, names)?.1) }),
        "br" => match split(rest)[..] {
            [target] => Some(Inst::Branch { target: label(target)? }),
            [condition, yes, no] => {
                let condition = typed(condition, names)?.1;
                Some(Inst::Decide { condition, yes: label(yes)?, no: label(no)? })
            }
            _ => None,
        },
        _ => {
            let (head, list) = rest.split_once('[')?;
            let (value, default) = head.split_once(',')?;
            let (ty, value) = typed(value, names)?;
            let mut cases = Vec::new();
            let list = list.trim().strip_suffix(']')?;
            // `i32 1, label %48 i32 2, label %51`: pairs without a comma between them.
            let mut words = list.split_whitespace();
            while let (Some(_), Some(constant)) = (words.next(), words.next()) {
                let constant = names.operand(constant.trim_end_matches(','), ty.width());
                let (Operand::Bits(bits), Some("label")) = (constant, words.next()) else {
                    return None;
                };
                let target = words.next()?.strip_prefix('%')?.trim_matches('"').to_owned();
                cases.push((bits, target));
            }
            Some(Inst::Switch { width: ty.width()?, value, default: label(default)?, cases })
        }
    }
}

fn compare(to: Local, rest: &str, names: &mut Names) -> Option<Inst> {
    let rest = rest.strip_prefix("samesign ").unwrap_or(rest);
    let (predicate, rest) = rest.split_once(' ')?;
    let predicate = match predicate {
        "eq" => Predicate::Eq,
        "ne" => Predicate::Ne,
        "ugt" => Predicate::Ugt,
        "uge" => Predicate::Uge,
        "ult" => Predicate::Ult,
        "ule" => Predicate::Ule,
        "sgt" => Predicate::Sgt,
        "sge" => Predicate::Sge,
        "slt" => Predicate::Slt,
        "sle" => Predicate::Sle,
        _ => return None,
    };
    let (a, b) = pair(rest)?;
    let (ty, a) = typed(a, names)?;
    let width = ty.width()?;
    Some(Inst::Compare { to, predicate, width, a, b: names.operand(b, Some(width)) })
}

/// Returns the two operands of `i32 %1, 2`.
fn pair(text: &str) -> Option<(&str, &str)> {
    match split(text)[..] {
        [a, b] => Some((a, b)),
        _ => None,
    }
}

fn cast(to: Option<Local>, word: &str, rest: &str, names: &mut Names) -> Option<Inst> {
    let op = match word {
        "trunc" => Cast::Trunc,
        "zext" => Cast::Zext,
        "sext" => Cast::Sext,
        "ptrtoint" | "inttoptr" | "bitcast" => Cast::Same,
        _ => return None,
    };
    let (a, into) = rest.rsplit_once(" to ")?;
    let (from, a) = typed(a, names)?;
    let (from, into) = (from.width()?, Type::of(into).width()?);
    let op = match (op, from.cmp(&into)) {
        (Cast::Same, std::cmp::Ordering::Less) => Cast::Zext,
        (Cast::Same, std::cmp::Ordering::Greater) => Cast::Trunc,
        _ => op,
    };
    Some(Inst::Cast { to: to?, op, from, a, into })
}

fn binary(to: Option<Local>, word: &str, rest: &str, names: &mut Names) -> Option<Inst> {
    let op = match word {
        "add" => Binary::Add,
        "sub" => Binary::Sub,
        "mul" => Binary::Mul,
        "udiv" => Binary::Udiv,
        "sdiv" => Binary::Sdiv,
        "urem" => Binary::Urem,
        "srem" => Binary::Srem,
        "shl" => Binary::Shl,
        "lshr" => Binary::Lshr,
        "ashr" => Binary::Ashr,
        "and" => Binary::And,
        "or" => Binary::Or,
        "xor" => Binary::Xor,
        _ => return None,
    };
    let (a, b) = pair(rest)?;
    let words = words(a);
    let [.., ty, a] = words[..] else { return None };
    let width = Type::of(ty).width()?;
    let (a, b) = (names.operand(a, Some(width)), names.operand(b, Some(width)));
    Some(Inst::Binary { to: to?, op, width, a, b })
}

fn call(to: Option<Local>, rest: &str, names: &mut Names) -> Option<Inst> {
    let (before, name, list, _) = match called(rest) {
        Some(found) => found,
        None if rest.contains(" asm ") => {
            let uses = locals(rest, names);
            let arguments = uses.into_iter().map(|u| (Type::Other, Operand::Local(u))).collect();
            let ty = words(rest).first().map_or(Type::Other, |w| Type::of(w));
            let callee = Callee::Assembly;
            return Some(Inst::Call(Call { to, ty, callee, arguments, copies: false }));
        }
        None => return None,
    };
    // Before the name: attributes, the result type, perhaps the function type.
    let before: Vec<&str> = words(before);
    let result = before.iter().rfind(|w| !w.starts_with('('));
    let ty = result.map_or(Type::Other, |w| Type::of(w));
    let mut arguments = Vec::new();
    for item in split(list) {
        let words = words(item);
        let ty = words.first().map_or(Type::Other, |w| Type::of(w));
        arguments.push((ty, names.operand(words.last()?, ty.width())));
    }
    let copies = list.contains("byval(");
    let callee = match name.strip_prefix('%') {
        Some(local) => Callee::Pointer(Operand::Local(names.local(local))),
        None => Callee::Function(name.to_owned()),
    };
    Some(Inst::Call(Call { to, ty, callee, arguments, copies }))
}

/// Returns the pieces of `i32 @f(i32 %0, ...) #0`: the text before the name, the name (a local one
/// with its `%`), the text in the parentheses, the text after them.
pub(crate) fn called(text: &str) -> Option<(&str, &str, &str, &str)> {
    let bytes = text.as_bytes();
    let mut depth = 0i32;
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b'@' | b'%' if depth == 0 => {
                let start = i + 1;
                let mut end = start;
                if bytes.get(start) == Some(&b'"') {
                    end += 2 + text[start + 1..].find('"')?;
                } else {
                    end += text[start..].find(|c| !is_name(c)).unwrap_or(text.len() - start);
                }
                if bytes.get(end) == Some(&b'(') {
                    let close = matching(bytes, end)?;
                    let name = if bytes[i] == b'%' {
                        &text[i..end]
                    } else {
                        text[start..end].trim_matches('"')
                    };
                    return Some((&text[..i], name, &text[end + 1..close], &text[close + 1..]));
                }
                i = end.max(i + 1);
                continue;
            }
            b'"' => i += 1 + text[i + 1..].find('"')?,
            _ => {}
        }
        i += 1;
    }
    None
}

/// Returns the index of the parenthesis that closes the one at `open`.
fn matching(bytes: &[u8], open: usize) -> Option<usize> {
    let (mut depth, mut quoted) = (0, false);
    for (i, b) in bytes.iter().enumerate().skip(open) {
        match b {
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits at separators outside of brackets.
fn cut(text: &str, at: impl Fn(u8) -> bool) -> Vec<&str> {
    let (mut out, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0i32, false);
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b if depth == 0 && at(b) => {
                out.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].trim());
    out.retain(|piece| !piece.is_empty());
    out
}

/// Returns the items of a list.
pub(crate) fn split(text: &str) -> Vec<&str> {
    cut(text, |b| b == b',')
}

/// Returns the words of a text; a bracketed text is one word.
pub(crate) fn words(text: &str) -> Vec<&str> {
    cut(text, |b| b.is_ascii_whitespace())
}
