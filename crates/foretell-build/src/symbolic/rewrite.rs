//! Puts hooks into the text of a module.
//!
//! The text has ThreadSanitizer's instrumentation already. The hooks tell the rebuild the path and
//! the values:
//!
//! | hook | position | arguments |
//! |---|---|---|
//! | `enter` | first in a function | hash of the module, address of the function |
//! | `argument` | after `enter`, for each number | index, value |
//! | `block` | first in every other block | |
//! | `load` | before a load (and its TSan hook) through a local pointer | address |
//! | `value` | after a load | address, value |
//! | `value` | after an `alloca` | address, size |
//! | `value` | after a `getelementptr` on a local pointer | address |
//! | `store` | before a store (and its TSan hook) | address, value |
//! | `call` | before a call | address of the function |
//! | `after` | after a call | result |
//! | `leave` | before a return | |
//!
//! Every hook takes three words, the site first. The plain text of the module goes into a section
//! of the object file: linkers concatenate it and archives keep it.
//!
//! | bytes of an entry in the section | content |
//! |---|---|
//! | 0–15 | [`MAGIC`] |
//! | 16–23 | hash of the plain text |
//! | 24–31 | length of the compressed text |
//! | 32– | plain text, Zstandard-compressed |

use std::fmt::Write as _;
use std::path::Path;

use super::ir::{self, Type};
use super::text::{self, Line};

/// Section with the plain texts of a program's modules.
pub const SECTION: &str = ".foretell.ir";
/// First bytes of an entry of the section.
pub const MAGIC: [u8; 16] = *b"foretell-ir/1\n\0\0";

/// Names of the hooks.
const HOOKS: [&str; 9] =
    ["enter", "argument", "block", "load", "value", "store", "call", "after", "leave"];

/// A module with hooks, and the entry for its section.
#[derive(Debug)]
pub struct Rewritten {
    /// Text of the module with hooks.
    pub module: String,
    /// Bytes of its entry in the section.
    pub entry: Vec<u8>,
}

/// Puts the hooks into a module, whose entry will be in the file `entry`.
///
/// # Errors
/// When the plain text cannot be compressed.
pub fn rewrite(module: &str, entry: &Path) -> std::io::Result<Rewritten> {
    let lines = text::lines(module);
    let plain = text::join(&lines);
    let hash = text::hash(&plain);
    let compressed = zstd::encode_all(plain.as_bytes(), 9)?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(hash.to_le_bytes());
    bytes.extend((compressed.len() as u64).to_le_bytes());
    bytes.extend(compressed);

    let mut hooks = Hooks::new(module.lines().count());
    let mut at = 0;
    while at < lines.len() {
        let end = lines[at..].iter().position(|l| l.text == "}").map_or(lines.len(), |n| at + n);
        hooks.function(at, &lines[at..end], hash);
        at = end + 1;
    }
    let mut out = hooks.into(module);
    for hook in HOOKS {
        let _ = writeln!(out, "declare void @__foretell_{hook}(i64, i64, i64)");
    }
    let path = entry.display().to_string().replace('\\', "\\5C").replace('"', "\\22");
    for line in [
        format!(".pushsection {SECTION},\\22\\22,@progbits"),
        format!(".incbin \\22{path}\\22"),
        ".popsection".to_owned(),
    ] {
        let _ = writeln!(out, "module asm \"{line}\"");
    }
    Ok(Rewritten { module: out, entry: bytes })
}

/// Hooks before and after the lines of a module.
struct Hooks {
    before: Vec<String>,
    after: Vec<String>,
    next: u32,
}

impl Hooks {
    fn new(lines: usize) -> Hooks {
        Hooks { before: vec![String::new(); lines], after: vec![String::new(); lines], next: 0 }
    }

    fn into(self, module: &str) -> String {
        let mut out = String::with_capacity(2 * module.len());
        for (i, line) in module.lines().enumerate() {
            out.push_str(&self.before[i]);
            out.push_str(line);
            out.push('\n');
            out.push_str(&self.after[i]);
        }
        out
    }

    /// Adds the conversion of a value to a word to `text`. Returns the name of the word.
    fn word(&mut self, text: &mut String, ty: Type, operand: &str, debug: &str) -> String {
        let (op, from) = match ty {
            Type::Int(64) => return operand.to_owned(),
            Type::Int(width) => ("zext", format!("i{width}")),
            Type::Pointer => ("ptrtoint", "ptr".to_owned()),
            Type::Void | Type::Other => return "0".to_owned(),
        };
        self.next += 1;
        let name = format!("%foretell.{}", self.next);
        let _ = writeln!(text, "  {name} = {op} {from} {operand} to i64{debug}");
        name
    }

    fn function(&mut self, first: usize, lines: &[Line], hash: u64) {
        let Some(head) = lines.first().and_then(|l| l.text.strip_prefix("define ")) else { return };
        let Some((_, name, parameters, after)) = ir::called(head) else { return };
        // The constructor that starts the runtime, and functions without a frame.
        if name.starts_with("tsan.") || after.contains(" naked ") {
            return;
        }
        // In a function with debug information every call needs a location.
        let debug = lines.iter().map(|l| &l.debug).find(|d| !d.is_empty());
        let any_debug = debug.cloned().unwrap_or_default();
        let mut opening = Some(self.opening(first, name, parameters, hash, &any_debug));
        let mut block = None;
        for (i, line) in lines.iter().enumerate().skip(1) {
            let site = first + i;
            if line.text.ends_with(':') {
                // `enter` stands for the first block.
                block = opening.is_none().then_some(site);
                continue;
            }
            let (_, text) = result(&line.text);
            if let Some(text) = opening.take() {
                self.before[line.from.0].push_str(&text);
                block = None;
            }
            if !text.starts_with("phi ")
                && let Some(site) = block.take()
            {
                let hook = call("block", site, "0", "0", &any_debug);
                self.before[line.from.0].push_str(&hook);
            }
            let debug = if line.debug.is_empty() { &any_debug } else { &line.debug };
            self.instruction(site, lines, i, debug);
        }
    }

    /// Returns the hooks at the start of a function: `enter` and its arguments.
    fn opening(
        &mut self,
        site: usize,
        name: &str,
        parameters: &str,
        hash: u64,
        debug: &str,
    ) -> String {
        let mut text = String::new();
        let function = format!("ptrtoint (ptr {} to i64)", global(name));
        text.push_str(&call("enter", site, &(hash as i64).to_string(), &function, debug));
        for (i, parameter) in ir::split(parameters).into_iter().enumerate() {
            let words = ir::words(parameter);
            let (Some(ty), Some(operand)) = (words.first(), words.last()) else { continue };
            let ty = Type::of(ty);
            if ty.width().is_some() && operand.starts_with('%') {
                let word = self.word(&mut text, ty, operand, debug);
                text.push_str(&call("argument", site, &i.to_string(), &word, debug));
            }
        }
        text
    }

    fn instruction(&mut self, site: usize, lines: &[Line], i: usize, debug: &str) {
        let line = &lines[i];
        let (to, text) = result(&line.text);
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let parts = ir::split(rest);
        match (word, to) {
            ("load" | "store", _) if rest.starts_with("atomic ") => {}
            ("load", Some(to)) => {
                let (Some(ty), Some(pointer)) = (parts.first(), parts.get(1)) else { return };
                let ty = Type::of(ir::words(ty).last().copied().unwrap_or_default());
                let Some(pointer) = ir::words(pointer).last().copied() else { return };
                if pointer.starts_with('%') {
                    let mut text = String::new();
                    let addr = self.word(&mut text, Type::Pointer, pointer, debug);
                    text.push_str(&call("load", site, &addr, "0", debug));
                    self.before[hooked(lines, i)].push_str(&text);
                }
                let mut text = String::new();
                let addr = self.word(&mut text, Type::Pointer, &operand(parts[1]), debug);
                let value = self.word(&mut text, ty, to, debug);
                text.push_str(&call("value", site, &addr, &value, debug));
                self.after[line.from.1].push_str(&text);
            }
            ("store", _) => {
                let (Some(value), Some(pointer)) = (parts.first(), parts.get(1)) else { return };
                let value = value.strip_prefix("volatile ").unwrap_or(value);
                let ty = Type::of(ir::words(value).first().copied().unwrap_or_default());
                let mut text = String::new();
                let addr = self.word(&mut text, Type::Pointer, &operand(pointer), debug);
                let value = self.word(&mut text, ty, &operand(value), debug);
                text.push_str(&call("store", site, &addr, &value, debug));
                self.before[hooked(lines, i)].push_str(&text);
            }
            ("alloca", Some(to)) => self.alloca(site, line, to, &parts, debug),
            // The address of a part of a global depends on its indices alone.
            ("getelementptr", Some(to))
                if parts.get(1).is_some_and(|base| operand(base).starts_with('%')) =>
            {
                let mut text = String::new();
                let addr = self.word(&mut text, Type::Pointer, to, debug);
                text.push_str(&call("value", site, &addr, "0", debug));
                self.after[line.from.1].push_str(&text);
            }
            ("ret", _) => {
                self.before[line.from.0].push_str(&call("leave", site, "0", "0", debug));
            }
            ("call" | "tail" | "notail", _) => self.call(site, line, to, text, debug),
            _ => {}
        }
    }

    fn alloca(&mut self, site: usize, line: &Line, to: &str, parts: &[&str], debug: &str) {
        let ty = parts.first().map_or("i8", |p| p.strip_prefix("inalloca ").unwrap_or(p));
        let mut text = String::new();
        let addr = self.word(&mut text, Type::Pointer, to, debug);
        let mut size = format!("ptrtoint (ptr getelementptr ({ty}, ptr null, i32 1) to i64)");
        let count = parts.get(1).filter(|p| p.starts_with('i'));
        if let Some((ty, operand)) = count.and_then(|p| p.split_once(' ')) {
            let count = self.word(&mut text, Type::of(ty), operand, debug);
            self.next += 1;
            let name = format!("%foretell.{}", self.next);
            let _ = writeln!(text, "  {name} = mul i64 {count}, {size}{debug}");
            size = name;
        }
        text.push_str(&call("value", site, &addr, &size, debug));
        self.after[line.from.1].push_str(&text);
    }

    fn call(&mut self, site: usize, line: &Line, to: Option<&str>, text: &str, debug: &str) {
        let rest = text.split_once("call ").map_or("", |(_, rest)| rest);
        let callee = match ir::called(rest) {
            Some((_, name, ..)) if ir::is_silent(name) => return,
            Some((_, name, ..)) if name.starts_with('%') => Some(name.to_owned()),
            Some((_, name, ..)) if name.starts_with("llvm.") => None,
            Some((_, name, ..)) => Some(global(name)),
            None => None,
        };
        let mut before = String::new();
        let callee = match callee {
            Some(callee) => self.word(&mut before, Type::Pointer, &callee, debug),
            None => "0".to_owned(),
        };
        before.push_str(&call("call", site, &callee, "0", debug));
        self.before[line.from.0].push_str(&before);
        let ty = ir::functions(&format!("define void @f() {{\n{}\n}}", line.text));
        let ty = ty.first().and_then(|f| f.body.get(1)).map_or(Type::Other, |inst| match inst {
            ir::Inst::Call(call) => call.ty,
            _ => Type::Other,
        });
        let mut after = String::new();
        let value = match to {
            Some(to) => self.word(&mut after, ty, to, debug),
            None => "0".to_owned(),
        };
        after.push_str(&call("after", site, &value, "0", debug));
        self.after[line.from.1].push_str(&after);
    }
}

/// Returns the line of the module before which a hook stands to come before TSan's hook.
fn hooked(lines: &[Line], i: usize) -> usize {
    let is_hook = |line: &Line| {
        let name = line.text.strip_prefix("call void @").and_then(|t| t.split('(').next());
        name.is_some_and(ir::is_access_hook)
    };
    let mut first = i;
    while first > 0 && is_hook(&lines[first - 1]) {
        first -= 1;
    }
    lines[first].from.0
}

/// Returns the name of a result, if there is one, and the instruction.
fn result(line: &str) -> (Option<&str>, &str) {
    match line.split_once(" = ") {
        Some((name, rest)) if name.starts_with('%') => (Some(name), rest),
        _ => (None, line),
    }
}

/// Returns the operand of `ptr @x`: all but the type, which is one word.
fn operand(typed: &str) -> String {
    let words = ir::words(typed);
    words.get(1..).unwrap_or_default().join(" ")
}

/// Returns the name of a global as the text writes it.
fn global(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-$._".contains(c));
    if plain { format!("@{name}") } else { format!("@\"{name}\"") }
}

/// Returns a call of a hook.
fn call(hook: &str, site: usize, a: &str, b: &str, debug: &str) -> String {
    format!("  call void @__foretell_{hook}(i64 {site}, i64 {a}, i64 {b}){debug}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_come_before_those_of_the_instrumentation() {
        let module = "define i32 @f(ptr noundef %0, double %1) {\n  \
            %3 = alloca i32, align 4\n  \
            call void @__tsan_read4(ptr %0)\n  \
            %4 = load i32, ptr %0, align 4\n  \
            br label %5\n\n\
            5:\n  \
            %6 = phi i32 [ %4, %2 ]\n  \
            call void @__tsan_write4(ptr @x)\n  \
            store i32 %6, ptr @x, align 4\n  \
            %7 = call i32 @g(i32 %6)\n  \
            ret i32 %7\n}\n";
        let out = rewrite(module, Path::new("/tmp/entry")).expect("in memory").module;
        let kept: Vec<&str> = out
            .lines()
            .filter(|l| l.starts_with(' ') && !l.contains(" to i64"))
            .map(str::trim)
            .map(|l| l.split('(').next().unwrap_or(l))
            .collect();
        assert_eq!(
            kept,
            [
                "call void @__foretell_argument",
                "%3 = alloca i32, align 4",
                "call void @__foretell_load",
                "call void @__tsan_read4",
                "%4 = load i32, ptr %0, align 4",
                "call void @__foretell_value",
                "br label %5",
                "%6 = phi i32 [ %4, %2 ]",
                "call void @__foretell_block",
                "call void @__foretell_store",
                "call void @__tsan_write4",
                "store i32 %6, ptr @x, align 4",
                "call void @__foretell_call",
                "%7 = call i32 @g",
                "call void @__foretell_after",
                "call void @__foretell_leave",
                "ret i32 %7",
            ]
        );
        assert!(
            out.contains("call void @__foretell_argument(i64 0, i64 0, i64 %foretell.1)"),
            "{out}"
        );
        assert!(out.contains("call void @__foretell_block(i64 5, i64 0, i64 0)"), "{out}");
        assert!(out.contains("module asm \".incbin \\22/tmp/entry\\22\""));
    }
}
