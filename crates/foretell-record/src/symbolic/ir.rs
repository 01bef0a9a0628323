//! Instructions of LLVM IR, as far as the rebuild understands them.
//!
//! Opaque pointers, unoptimised C (clang 16 and later). What is not understood is [`Inst::Other`] with the values
//! that it uses: its result is taken as it was, under the condition that these values are.

use rustc_hash::FxHashMap;

/// A type, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Type {
    /// An integer of 1 to 64 bits.
    Int(u8),
    Pointer,
    Void,
    /// Floats, vectors, aggregates, wide integers.
    Other,
}

impl Type {
    pub(super) fn of(text: &str) -> Type {
        match text {
            "ptr" => Type::Pointer,
            "void" => Type::Void,
            _ => text
                .strip_prefix('i')
                .and_then(|bits| bits.parse().ok())
                .filter(|bits| (1..=64).contains(bits))
                .map_or(Type::Other, Type::Int),
        }
    }

    /// Bits of an integer or a pointer.
    pub(crate) fn width(self) -> Option<u8> {
        match self {
            Type::Int(width) => Some(width),
            Type::Pointer => Some(64),
            Type::Void | Type::Other => None,
        }
    }
}

/// A local value of a function, by number.
pub(crate) type Local = u32;

/// What an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    Local(Local),
    /// A constant.
    Bits(u64),
    /// A constant that is not known here: the address of a global, say.
    Constant,
}

/// What is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Callee {
    Function(String),
    Pointer(Operand),
    Assembly,
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Inst {
    /// A label, or the head of a function.
    Label,
    Load {
        to: Local,
        ty: Type,
        pointer: Operand,
    },
    Store {
        ty: Type,
        value: Operand,
        pointer: Operand,
    },
    Alloca {
        to: Local,
    },
    /// The address of a part; `indices` that are not constants.
    Part {
        to: Local,
        base: Operand,
        indices: Vec<Operand>,
    },
    Binary {
        to: Local,
        op: Binary,
        width: u8,
        a: Operand,
        b: Operand,
    },
    Compare {
        to: Local,
        predicate: Predicate,
        width: u8,
        a: Operand,
        b: Operand,
    },
    Cast {
        to: Local,
        op: Cast,
        from: u8,
        a: Operand,
        into: u8,
    },
    Select {
        to: Local,
        condition: Operand,
        yes: Operand,
        no: Operand,
        ty: Type,
    },
    Phi {
        to: Local,
        incoming: Vec<(Operand, String)>,
    },
    Insert {
        to: Local,
        of: Operand,
        value: Operand,
        at: u32,
    },
    Extract {
        to: Local,
        of: Operand,
        at: u32,
    },
    Branch {
        target: String,
    },
    Decide {
        condition: Operand,
        yes: String,
        no: String,
    },
    Switch {
        width: u8,
        value: Operand,
        default: String,
        cases: Vec<(u64, String)>,
    },
    Return {
        value: Option<Operand>,
    },
    Call(Call),
    Other {
        to: Option<Local>,
        uses: Vec<Local>,
    },
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Call {
    pub(crate) to: Option<Local>,
    pub(crate) ty: Type,
    pub(crate) callee: Callee,
    pub(crate) arguments: Vec<(Type, Operand)>,
    /// A structure is passed by value in memory: the machine copies it.
    pub(crate) copies: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Udiv,
    Sdiv,
    Urem,
    Srem,
    Shl,
    Lshr,
    Ashr,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Predicate {
    Eq,
    Ne,
    Ugt,
    Uge,
    Ult,
    Ule,
    Sgt,
    Sge,
    Slt,
    Sle,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cast {
    Trunc,
    Zext,
    Sext,
    /// Between pointers and integers of the same width.
    Same,
}

/// A function.
#[derive(Debug)]
pub(crate) struct Function {
    #[cfg(test)]
    pub(crate) name: String,
    /// The site of its head, and of the line after its last.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// Types and numbers of its parameters.
    pub(crate) parameters: Vec<(Type, Local)>,
    /// Takes any number of arguments, or structures by value: its own code does not show where they come from.
    pub(crate) reads_frame: bool,
    /// The sites of its labels.
    pub(crate) labels: FxHashMap<String, usize>,
    /// Its lines, from its head on.
    pub(crate) body: Vec<Inst>,
    /// Locals that nobody else can have the address of.
    pub(crate) hidden: Vec<bool>,
}

impl Function {
    /// The instruction at a site, if it is in this function.
    pub(crate) fn at(&self, site: usize) -> Option<&Inst> {
        self.body.get(site.checked_sub(self.first)?)
    }
}

/// The functions of a plain text.
pub(crate) fn functions(text: &str) -> Vec<Function> {
    let mut out = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let end = lines[at..].iter().position(|l| *l == "}").map_or(lines.len(), |n| at + n);
        out.extend(function(at, &lines[at..end]));
        at = end + 1;
    }
    out
}

fn function(first: usize, lines: &[&str]) -> Option<Function> {
    let head = lines.first()?.strip_prefix("define ")?;
    let (_, _name, list, _) = called(head)?;
    let mut names = Names::default();
    let mut parameters = Vec::new();
    let mut reads_frame = false;
    for item in split(list) {
        if item == "..." {
            reads_frame = true;
            continue;
        }
        reads_frame |= item.contains("byval(") || item.contains("inalloca(");
        let words = words(item);
        let ty = words.first().map_or(Type::Other, |w| Type::of(w));
        parameters.push((ty, names.local(words.last()?.strip_prefix('%')?)));
    }
    let mut body = vec![Inst::Label];
    let mut labels = FxHashMap::default();
    for (i, line) in lines.iter().enumerate().skip(1) {
        match line.strip_suffix(':') {
            Some(label) => {
                labels.insert(label.trim_matches('"').to_owned(), first + i);
                body.push(Inst::Label);
            }
            None => body.push(instruction(line, &mut names)),
        }
    }
    let hidden = hidden(&body, names.count());
    let end = first + lines.len();
    Some(Function {
        #[cfg(test)]
        name: _name.to_owned(),
        first,
        end,
        parameters,
        reads_frame,
        labels,
        body,
        hidden,
    })
}

/// Which locals are places on the stack whose address goes nowhere but into loads and stores.
fn hidden(body: &[Inst], count: usize) -> Vec<bool> {
    let mut hidden = vec![false; count];
    for inst in body {
        if let Inst::Alloca { to } = inst {
            hidden[*to as usize] = true;
        }
    }
    let mut seen = |operand: &Operand| {
        if let Operand::Local(local) = operand {
            hidden[*local as usize] = false;
        }
    };
    for inst in body {
        match inst {
            Inst::Load { .. } | Inst::Label | Inst::Alloca { .. } | Inst::Branch { .. } => {}
            Inst::Store { value, .. } => seen(value),
            Inst::Part { base, indices, .. } => {
                seen(base);
                indices.iter().for_each(&mut seen);
            }
            Inst::Binary { a, b, .. } | Inst::Compare { a, b, .. } => {
                seen(a);
                seen(b);
            }
            Inst::Cast { a, .. } | Inst::Extract { of: a, .. } => seen(a),
            Inst::Insert { of, value, .. } => {
                seen(of);
                seen(value);
            }
            Inst::Select { condition, yes, no, .. } => {
                [condition, yes, no].into_iter().for_each(&mut seen)
            }
            Inst::Phi { incoming, .. } => incoming.iter().for_each(|(o, _)| seen(o)),
            Inst::Decide { condition, .. } => seen(condition),
            Inst::Switch { value, .. } => seen(value),
            Inst::Return { value } => value.iter().for_each(&mut seen),
            Inst::Call(call) => {
                if !matches!(&call.callee, Callee::Function(name) if is_access_hook(name)) {
                    call.arguments.iter().for_each(|(_, o)| seen(o));
                }
                if let Callee::Pointer(o) = &call.callee {
                    seen(o);
                }
            }
            Inst::Other { uses, .. } => uses.iter().for_each(|u| seen(&Operand::Local(*u))),
        }
    }
    hidden
}

/// Whether a function tells the runtime of an access that comes next.
pub(crate) fn is_access_hook(name: &str) -> bool {
    name.strip_prefix("__tsan_").is_some_and(|rest| {
        let rest = rest.strip_prefix("unaligned_").unwrap_or(rest);
        let rest = rest.strip_prefix("volatile_").unwrap_or(rest);
        rest.starts_with("read") || rest.starts_with("write")
    })
}

/// Whether a call of this function says nothing to the rebuild: hooks of the instrumentation, and what the compiler
/// makes something else of. Copies of memory do.
pub(crate) fn is_silent(name: &str) -> bool {
    is_access_hook(name)
        || name.starts_with("__tsan_func_")
        || name == "__tsan_init"
        || (name.starts_with("llvm.") && !name.starts_with("llvm.mem"))
}

/// The numbers of local names.
#[derive(Default)]
struct Names(FxHashMap<String, Local>);

impl Names {
    fn local(&mut self, name: &str) -> Local {
        let next = self.0.len() as Local;
        *self.0.entry(name.trim_matches('"').to_owned()).or_insert(next)
    }

    fn count(&self) -> usize {
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

/// Reads an instruction.
fn instruction(line: &str, names: &mut Names) -> Inst {
    let (to, rest) = match line.split_once(" = ") {
        Some((name, rest)) if name.starts_with('%') => (Some(names.local(&name[1..])), rest),
        _ => (None, line),
    };
    known(to, rest, names).unwrap_or_else(|| Inst::Other { to, uses: locals(rest, names) })
}

/// The locals that a text names. Labels are among them, and mean nothing there.
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
        // The instrumentation has put calls in the place of these, and left the loads there for nobody.
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

/// `i32 %5` and its like.
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

/// The two operands of `i32 %1, 2`.
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
    // What is before the name: attributes, the type of the result, perhaps that of the function.
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

/// The pieces of `i32 @f(i32 %0, ...) #0`: what is before the name, the name (a local one with its `%`), what is in
/// the parentheses, what is after them.
pub(super) fn called(text: &str) -> Option<(&str, &str, &str, &str)> {
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

/// Where the parenthesis at `open` is closed.
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

/// Cuts at separators that are in no brackets.
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

/// The items of a list.
pub(super) fn split(text: &str) -> Vec<&str> {
    cut(text, |b| b == b',')
}

/// The words of a text; what is in brackets is one.
pub(super) fn words(text: &str) -> Vec<&str> {
    cut(text, |b| b.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(lines: &str) -> Vec<Inst> {
        let text = format!("define dso_local i32 @f(i32 noundef %0, ptr %1) #0 {{\n{lines}\n}}\n");
        functions(&text).remove(0).body
    }

    #[test]
    fn heads_of_functions() {
        let text = "define internal noundef ptr @\"a b\"(i32 noundef %0, i8 zeroext %1, ...) #0 {\nret ptr null\n}\n\
                    define void @g(ptr byval(%struct.s) align 8 %x) {\nentry:\nret void\n}\n";
        let functions = functions(text);
        assert_eq!(
            (functions[0].name.as_str(), functions[0].first, functions[0].end),
            ("a b", 0, 2)
        );
        assert_eq!(functions[0].parameters, [(Type::Int(32), 0), (Type::Int(8), 1)]);
        assert!(functions[0].reads_frame && functions[1].reads_frame);
        assert_eq!(functions[1].labels["entry"], 4);
        assert_eq!(functions[1].body.len(), 3);
    }

    #[test]
    fn instructions_are_read() {
        let body = body(
            "%3 = load volatile i32, ptr @x, align 4\n\
             store i8 -1, ptr %1, align 1\n\
             %4 = getelementptr inbounds %struct.s, ptr %1, i32 0, i32 2, i64 %3\n\
             %5 = add nsw i32 %3, -1\n\
             %6 = icmp sgt i32 %5, 0\n\
             %7 = zext i1 %6 to i32\n\
             br i1 %6, label %8, label %9\n\
             switch i32 %7, label %9 [ i32 1, label %8 i32 -2, label %9 ]\n\
             %8 = phi i1 [ false, %0 ], [ %6, %8 ]\n\
             %9 = fadd double %5, 1.0\n\
             ret i32 %7",
        );
        use Operand::{Bits, Constant, Local};
        assert_eq!(body[1], Inst::Load { to: 2, ty: Type::Int(32), pointer: Constant });
        assert_eq!(body[2], Inst::Store { ty: Type::Int(8), value: Bits(255), pointer: Local(1) });
        assert_eq!(body[3], Inst::Part { to: 3, base: Local(1), indices: vec![Local(2)] });
        let add =
            Inst::Binary { to: 4, op: Binary::Add, width: 32, a: Local(2), b: Bits(0xffff_ffff) };
        assert_eq!(body[4], add);
        assert!(matches!(body[5], Inst::Compare { predicate: Predicate::Sgt, width: 32, .. }));
        assert!(matches!(body[6], Inst::Cast { op: Cast::Zext, from: 1, into: 32, .. }));
        assert!(matches!(&body[7], Inst::Decide { yes, no, .. } if yes == "8" && no == "9"));
        let Inst::Switch { cases, default, .. } = &body[8] else { panic!("{:?}", body[8]) };
        assert_eq!((cases.len(), cases[1].0, default.as_str()), (2, 0xffff_fffe, "9"));
        let Inst::Phi { incoming, .. } = &body[9] else { panic!("{:?}", body[9]) };
        assert_eq!(incoming[0], (Bits(0), "0".to_owned()));
        let Inst::Other { to: Some(_), uses } = &body[10] else { panic!("{:?}", body[10]) };
        assert_eq!(uses, &[4]);
        assert!(matches!(body[11], Inst::Return { value: Some(Local(_)) }));
    }

    #[test]
    fn calls_are_read() {
        let body = body(
            "%3 = call i32 (ptr, ...) @printf(ptr noundef @.str, i32 noundef %0) #7\n\
             %4 = call noalias ptr @malloc(i64 noundef 48) #9\n\
             call void %4(i32 noundef signext 3)\n\
             %5 = call { i64, i64 } @pair(ptr byval(%struct.s) align 8 %1)\n\
             call void asm sideeffect \"mfence (%0)\", \"r,~{memory}\"(i32 %0)",
        );
        let call = |i: usize| match &body[i] {
            Inst::Call(call) => call,
            other => panic!("{other:?}"),
        };
        assert_eq!(call(1).callee, Callee::Function("printf".to_owned()));
        assert_eq!((call(1).ty, call(1).arguments[1].0), (Type::Int(32), Type::Int(32)));
        assert_eq!((call(2).ty, call(2).arguments[0].1), (Type::Pointer, Operand::Bits(48)));
        assert!(matches!(call(3).callee, Callee::Pointer(Operand::Local(_))));
        assert_eq!((call(3).ty, call(3).arguments[0].1), (Type::Void, Operand::Bits(3)));
        assert!(call(4).copies && call(4).ty == Type::Other);
        assert_eq!(call(5).callee, Callee::Assembly);
    }

    #[test]
    fn what_stays_on_the_stack_is_hidden() {
        let text = "define void @f() {\n%1 = alloca i32\n%2 = alloca i32\n%3 = alloca ptr\n\
                    store i32 1, ptr %1\ncall void @__tsan_write4(ptr %1)\nstore ptr %2, ptr %3\nret void\n}\n";
        let function = functions(text).remove(0);
        assert_eq!(function.hidden, [true, false, true]);
    }
}
