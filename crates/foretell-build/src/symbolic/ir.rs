//! Instructions of LLVM IR, as far as the rebuild understands them.
//!
//! Opaque pointers, unoptimised C (clang 16 and later). What is not understood is [`Inst::Other`] with the values
//! that it uses: its result is taken as it was, under the condition that these values are.

#![expect(missing_docs, reason = "instructions and operands have LLVM's own names")]

mod parse;

use rustc_hash::FxHashMap;

use parse::{Names, instruction};
pub use parse::{called, split, words};

/// A type, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
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
    pub fn width(self) -> Option<u8> {
        match self {
            Type::Int(width) => Some(width),
            Type::Pointer => Some(64),
            Type::Void | Type::Other => None,
        }
    }
}

/// A local value of a function, by number.
pub type Local = u32;

/// What an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    Local(Local),
    /// A constant.
    Bits(u64),
    /// A constant that is not known here: the address of a global, say.
    Constant,
}

/// What is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Callee {
    Function(String),
    Pointer(Operand),
    Assembly,
}

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inst {
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
pub struct Call {
    pub to: Option<Local>,
    pub ty: Type,
    pub callee: Callee,
    pub arguments: Vec<(Type, Operand)>,
    /// A structure is passed by value in memory: the machine copies it.
    pub copies: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
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
pub enum Predicate {
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
pub enum Cast {
    Trunc,
    Zext,
    Sext,
    /// Between pointers and integers of the same width.
    Same,
}

/// A function.
#[derive(Debug)]
pub struct Function {
    pub name: String,
    /// The site of its head, and of the line after its last.
    pub first: usize,
    pub end: usize,
    /// Types and numbers of its parameters.
    pub parameters: Vec<(Type, Local)>,
    /// Takes any number of arguments, or structures by value: its own code does not show where they come from.
    pub reads_frame: bool,
    /// The sites of its labels.
    pub labels: FxHashMap<String, usize>,
    /// Its lines, from its head on.
    pub body: Vec<Inst>,
    /// Locals that nobody else can have the address of.
    pub hidden: Vec<bool>,
}

impl Function {
    /// The instruction at a site, if it is in this function.
    pub fn at(&self, site: usize) -> Option<&Inst> {
        self.body.get(site.checked_sub(self.first)?)
    }
}

/// The functions of a plain text.
pub fn functions(text: &str) -> Vec<Function> {
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
    let (_, name, list, _) = called(head)?;
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
        name: name.to_owned(),
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
pub fn is_access_hook(name: &str) -> bool {
    name.strip_prefix("__tsan_").is_some_and(|rest| {
        let rest = rest.strip_prefix("unaligned_").unwrap_or(rest);
        let rest = rest.strip_prefix("volatile_").unwrap_or(rest);
        rest.starts_with("read") || rest.starts_with("write")
    })
}

/// Whether a call of this function says nothing to the rebuild: hooks of the instrumentation, and what the compiler
/// makes something else of. Copies of memory do.
pub fn is_silent(name: &str) -> bool {
    is_access_hook(name)
        || name.starts_with("__tsan_func_")
        || name == "__tsan_init"
        || (name.starts_with("llvm.") && !name.starts_with("llvm.mem"))
}

#[cfg(test)]
mod tests;
