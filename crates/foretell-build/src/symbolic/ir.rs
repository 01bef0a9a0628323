//! Instructions of LLVM IR that the rebuild understands.
//!
//! The text has opaque pointers and comes from unoptimised C (clang 16 and later). Any other
//! instruction is [`Inst::Other`] with the values that it uses: its result is the recorded one,
//! under the condition that these values are the recorded ones.

#![expect(missing_docs, reason = "instructions and operands have LLVM's own names")]

mod parse;

use rustc_hash::FxHashMap;

use parse::{Names, instruction};
pub(crate) use parse::{called, split, words};

/// Type of a value.
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

    /// Returns the number of bits of an integer or a pointer.
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

/// Operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    Local(Local),
    /// A constant.
    Bits(u64),
    /// A constant with an unknown value, such as the address of a global.
    Constant,
}

/// Target of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Callee {
    Function(String),
    Pointer(Operand),
    Assembly,
}

/// An instruction.
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
    /// The address of a part (`getelementptr`); `indices` are those that are not constants.
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
    /// Whether a structure is passed by value in memory, which the call copies.
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
    /// Site of its head.
    pub first: usize,
    /// Site after its last line.
    pub end: usize,
    /// Types and locals of its parameters.
    pub parameters: Vec<(Type, Local)>,
    /// Whether it takes any number of arguments, or structures by value: its own code does not show
    /// their origin.
    pub reads_frame: bool,
    /// Sites of its labels.
    pub labels: FxHashMap<String, usize>,
    /// Its instructions, one for each site from its head on.
    pub body: Vec<Inst>,
    /// Whether each local is a stack slot whose address does not escape.
    pub hidden: Vec<bool>,
}

impl Function {
    /// Returns the instruction at a site, if it is in this function.
    pub fn at(&self, site: usize) -> Option<&Inst> {
        self.body.get(site.checked_sub(self.first)?)
    }
}

/// Returns the functions of a plain text.
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

/// Returns for each local whether it is a stack slot whose address only loads and stores use.
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

/// Whether a function is a TSan hook for the access that follows.
pub(crate) fn is_access_hook(name: &str) -> bool {
    name.strip_prefix("__tsan_").is_some_and(|rest| {
        let rest = rest.strip_prefix("unaligned_").unwrap_or(rest);
        let rest = rest.strip_prefix("volatile_").unwrap_or(rest);
        rest.starts_with("read") || rest.starts_with("write")
    })
}

/// Whether a call of this function has no meaning for the rebuild: a hook of the instrumentation,
/// or an intrinsic without code. Copies of memory have one.
pub fn is_silent(name: &str) -> bool {
    is_access_hook(name)
        || name.starts_with("__tsan_func_")
        || name == "__tsan_init"
        || (name.starts_with("llvm.") && !name.starts_with("llvm.mem"))
}

#[cfg(test)]
mod tests;
