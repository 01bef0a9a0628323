//! Choice of the functions that get stubs, from the inputs of a link.
//!
//! An object is *recorded* if it refers to a symbol `__tsan_*`. A function gets a stub if a
//! recorded object refers to it, the definition that the linker takes is not in a recorded object,
//! and neither the runtime nor the table exempts it. The scan follows the linker: the members of an
//! archive count if the link needs them, a strong definition goes before a weak one, and of several
//! the first one counts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::archive::{Archive, is_archive};
use super::command::{Command, Input};
use super::elf::{Elf, Kind};
use super::functions::{Class, Functions};
use super::locks::Locks;
use super::stubs::{Stub, stub_name};

/// Symbols that the runtime provides.
#[path = "../../../foretell-rt/src/table.rs"]
#[allow(unreachable_pub, dead_code)]
mod runtime_symbols;

/// Functions with stubs, and the inputs that must call them.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) stubs: Vec<Stub>,
    /// Index of an input, and its new content.
    pub(super) rewritten: Vec<(usize, Vec<u8>)>,
}

/// Content of an input.
enum Content<'a> {
    Object(Elf<'a>),
    Archive(Archive<'a>),
    Shared(Elf<'a>),
}

/// A definition of a symbol outside the objects that are linked in any case.
#[derive(Clone, Copy)]
enum Elsewhere {
    Member { input: usize, member: usize },
    Shared { input: usize, function: bool },
}

/// A definition in an object of the link.
#[derive(Clone, Copy)]
struct Definition {
    weak: bool,
    recorded: bool,
    function: bool,
    input: usize,
}

/// Objects of the link, and their symbols.
#[derive(Default)]
struct Linked<'a> {
    definitions: HashMap<&'a [u8], Definition>,
    /// Symbols that are referred to and not weakly, in the order of their appearance.
    undefined: Vec<&'a [u8]>,
    seen: HashSet<&'a [u8]>,
    /// Functions that recorded objects refer to; whether all of the references are weak.
    wanted: BTreeMap<&'a [u8], bool>,
}

/// Whether an object or a library refers to hooks.
fn is_recorded(elf: &Elf<'_>) -> bool {
    elf.symbols.iter().any(|s| !s.defined && s.name.starts_with(b"__tsan_"))
}

/// Whether an input is compiled from Rust: crates that are not instrumented, which unwind and make
/// backtraces, have no state that orders threads.
fn is_rust(input: &Input) -> bool {
    let name = input.path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(b".rlib") || name.ends_with(b".rcgu.o")
}

impl<'a> Linked<'a> {
    /// Adds an object of an input; `rust` if it is one of Rust.
    fn add(&mut self, elf: &Elf<'a>, input: usize, rust: bool) {
        let recorded = rust || is_recorded(elf);
        for symbol in &elf.symbols {
            let name = symbol.name;
            if symbol.defined {
                let (weak, function) = (symbol.weak, symbol.function);
                let new = Definition { weak, recorded, function, input };
                let old = self.definitions.entry(name).or_insert(new);
                if old.weak && !weak {
                    *old = new;
                }
                continue;
            }
            if !symbol.weak && self.seen.insert(name) {
                self.undefined.push(name);
            }
            if recorded {
                *self.wanted.entry(name).or_insert(true) &= symbol.weak;
            }
        }
    }
}

/// Returns the functions that get stubs, and the inputs rewritten to call them. `runtime` is the
/// archive of the runtime.
pub(super) fn plan(command: &Command, runtime: Option<&Path>, locks: &Locks) -> Plan {
    let files: Vec<Vec<u8>> = command.inputs.iter().map(|input| read(input, runtime)).collect();
    let contents: Vec<Option<Content<'_>>> =
        command.inputs.iter().zip(&files).map(|(input, bytes)| content(input, bytes)).collect();
    let elsewhere = definitions_elsewhere(&contents);
    let mut linked = Linked::default();
    // Members of archives that are linked.
    let mut taken: HashMap<(usize, usize), Elf<'_>> = HashMap::new();
    for (i, content) in contents.iter().enumerate() {
        match content {
            Some(Content::Object(elf)) => linked.add(elf, i, is_rust(&command.inputs[i])),
            Some(Content::Archive(archive)) if command.inputs[i].whole => {
                for (m, member) in archive.members.iter().enumerate() {
                    if let Some(elf) = Elf::parse(member.bytes()) {
                        linked.add(&elf, i, is_rust(&command.inputs[i]));
                        taken.insert((i, m), elf);
                    }
                }
            }
            _ => {}
        }
    }
    linked.undefined.extend(command.undefined.iter().map(Vec::as_slice));
    let mut next = 0;
    while let Some(&name) = linked.undefined.get(next) {
        next += 1;
        if linked.definitions.contains_key(name) {
            continue;
        }
        let Some(&Elsewhere::Member { input, member }) = elsewhere.get(name) else { continue };
        let Some(Content::Archive(archive)) = &contents[input] else { continue };
        if taken.contains_key(&(input, member)) {
            continue;
        }
        if let Some(elf) = archive.members.get(member).and_then(|m| Elf::parse(m.bytes())) {
            linked.add(&elf, input, is_rust(&command.inputs[input]));
            taken.insert((input, member), elf);
        }
    }
    let stubs = stubs(command, &contents, &elsewhere, &linked, locks);
    let mut rewritten = rewrite(&stubs, command, &contents, &taken);
    rewritten.extend(runtime.and_then(|runtime| without_own(command, runtime, &linked)));
    Plan { stubs, rewritten }
}

/// Static parts of the compilers' and the C library's own.
const SYSTEM_ARCHIVES: [&[u8]; 5] =
    [b"libc_nonshared.a", b"libgcc.a", b"libgcc_eh.a", b"libstdc++.a", b"libpthread.a"];

/// Returns the runtime's archive, by the index of its input, without the functions that the program
/// defines itself: it calls its own `send`, not the C library's, so nothing is to be interposed.
fn without_own(command: &Command, runtime: &Path, linked: &Linked<'_>) -> Option<(usize, Vec<u8>)> {
    let interposed = |class: &runtime_symbols::Class| {
        use runtime_symbols::Class::{Access, Atomic, Block, Function, Hidden, Path};
        !matches!(class, Access | Function | Atomic | Block | Path | Hidden)
    };
    let own: HashSet<&[u8]> = runtime_symbols::SYMBOLS
        .iter()
        .filter(|(class, _)| interposed(class))
        .flat_map(|(_, names)| *names)
        .map(|name| name.as_bytes())
        .filter(|name| {
            linked.definitions.get(name).is_some_and(|definition| {
                let file = file_name(&command.inputs[definition.input].path);
                !definition.weak && !SYSTEM_ARCHIVES.contains(&file.as_slice())
            })
        })
        .collect();
    if own.is_empty() {
        return None;
    }
    let is_runtime = |input: &Input| input.path.canonicalize().ok().as_deref() == Some(runtime);
    let index = command.inputs.iter().position(is_runtime)?;
    let bytes = std::fs::read(runtime).ok()?;
    let archive = Archive::parse(runtime, &bytes)?;
    let rename =
        |name: &[u8]| own.contains(name).then(|| [b"__foretell_unused_".as_slice(), name].concat());
    let members: Vec<Option<Vec<u8>>> = archive
        .members
        .iter()
        .map(|member| {
            let elf = Elf::parse(member.bytes())?;
            let defines = elf.symbols.iter().any(|s| s.defined && own.contains(s.name));
            if defines { elf.renamed(true, rename) } else { None }
        })
        .collect();
    let contents: Vec<&[u8]> = archive
        .members
        .iter()
        .zip(&members)
        .map(|(old, new)| new.as_deref().unwrap_or(old.bytes()))
        .collect();
    Some((index, archive.with(&contents)))
}

/// Returns the bytes of an input; none for the runtime and for a file that cannot be read.
fn read(input: &Input, runtime: Option<&Path>) -> Vec<u8> {
    let is_runtime = runtime.is_some() && input.path.canonicalize().ok().as_deref() == runtime;
    if is_runtime { Vec::new() } else { std::fs::read(&input.path).unwrap_or_default() }
}

fn content<'a>(input: &Input, bytes: &'a [u8]) -> Option<Content<'a>> {
    if is_archive(bytes) {
        return Archive::parse(&input.path, bytes).map(Content::Archive);
    }
    let elf = Elf::parse(bytes)?;
    Some(match elf.kind {
        Kind::Object => Content::Object(elf),
        Kind::Shared => Content::Shared(elf),
    })
}

/// Returns the first definition of each symbol in archives and shared libraries.
fn definitions_elsewhere<'a>(contents: &'a [Option<Content<'a>>]) -> HashMap<&'a [u8], Elsewhere> {
    let mut out = HashMap::new();
    for (input, content) in contents.iter().enumerate() {
        match content {
            Some(Content::Archive(archive)) => {
                for &(name, member) in &archive.index {
                    out.entry(name).or_insert(Elsewhere::Member { input, member });
                }
            }
            Some(Content::Shared(elf)) => {
                for symbol in elf.symbols.iter().filter(|s| s.defined) {
                    let function = symbol.function;
                    out.entry(symbol.name).or_insert(Elsewhere::Shared { input, function });
                }
            }
            _ => {}
        }
    }
    out
}

fn stubs(
    command: &Command,
    contents: &[Option<Content<'_>>],
    elsewhere: &HashMap<&[u8], Elsewhere>,
    linked: &Linked<'_>,
    locks: &Locks,
) -> Vec<Stub> {
    let provided: HashSet<&[u8]> = runtime_symbols::SYMBOLS
        .iter()
        .flat_map(|(_, names)| *names)
        .map(|name| name.as_bytes())
        .collect();
    let table = Functions::table();
    // Whether a shared library is linked, whatever the weak references are.
    let certain: HashSet<usize> = linked
        .undefined
        .iter()
        .filter(|name| !linked.definitions.contains_key(*name))
        .filter_map(|name| match elsewhere.get(*name) {
            Some(&Elsewhere::Shared { input, .. }) => Some(input),
            _ => None,
        })
        .collect();
    let lock_of = |name: &[u8]| locks.get(name, |called| linked.wanted.contains_key(called));
    let mut out = Vec::new();
    for (&name, &weak) in &linked.wanted {
        if command.own_symbols.iter().any(|own| own == name) || name.contains(&b'@') {
            continue;
        }
        let (input, library) = match (linked.definitions.get(name), elsewhere.get(name)) {
            (Some(definition), _) => {
                let recorded = definition.recorded && lock_of(name).is_none();
                if recorded || !definition.function {
                    continue;
                }
                (definition.input, file_name(&command.inputs[definition.input].path))
            }
            (None, Some(&Elsewhere::Shared { input, function })) => {
                let Some(Content::Shared(elf)) = &contents[input] else { continue };
                if !function || is_recorded(elf) {
                    continue;
                }
                let soname = elf.soname.map(<[u8]>::to_vec);
                (input, soname.unwrap_or_else(|| file_name(&command.inputs[input].path)))
            }
            _ => continue,
        };
        let lock = lock_of(name).cloned();
        let named = if lock.is_some() {
            Class::Arguments(0)
        } else if provided.contains(name) {
            // Of what the runtime provides, the table lists the functions that it models in part.
            table.exact(name).unwrap_or(Class::Exempt)
        } else {
            table.class(name, &library).unwrap_or(Class::Library)
        };
        let optional = weak && command.inputs[input].as_needed && !certain.contains(&input);
        if named != Class::Exempt && !optional {
            out.push(Stub { name: name.to_vec(), library, class: named, lock, weak });
        }
    }
    out
}

fn file_name(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.file_name().unwrap_or_default().as_bytes().to_vec()
}

/// Returns the inputs with recorded objects that call functions with stubs, rewritten.
fn rewrite(
    stubs: &[Stub],
    command: &Command,
    contents: &[Option<Content<'_>>],
    taken: &HashMap<(usize, usize), Elf<'_>>,
) -> Vec<(usize, Vec<u8>)> {
    let names: HashSet<&[u8]> = stubs.iter().map(|stub| stub.name.as_slice()).collect();
    let calls = |elf: &Elf<'_>| {
        is_recorded(elf) && elf.symbols.iter().any(|s| !s.defined && names.contains(s.name))
    };
    let rewritten = |elf: &Elf<'_>| {
        let rename = |name: &[u8]| names.contains(name).then(|| stub_name(name));
        if calls(elf) { elf.renamed(false, rename) } else { None }
    };
    let mut out = Vec::new();
    for (i, content) in contents.iter().enumerate() {
        if command.inputs[i].words.is_none() {
            continue;
        }
        match content {
            Some(Content::Object(elf)) => out.extend(rewritten(elf).map(|bytes| (i, bytes))),
            Some(Content::Archive(archive)) => {
                let members: Vec<Option<Vec<u8>>> = (0..archive.members.len())
                    .map(|m| taken.get(&(i, m)).and_then(&rewritten))
                    .collect();
                if members.iter().any(Option::is_some) {
                    let contents: Vec<&[u8]> = archive
                        .members
                        .iter()
                        .zip(&members)
                        .map(|(old, new)| new.as_deref().unwrap_or(old.bytes()))
                        .collect();
                    out.push((i, archive.with(&contents)));
                }
            }
            _ => {}
        }
    }
    out
}

/// Returns the path of an input's new content in `directory`: its name is kept, because linker
/// scripts and options match names.
pub(super) fn rewritten_path(directory: &Path, index: usize, input: &Input) -> PathBuf {
    directory.join(index.to_string()).join(input.path.file_name().unwrap_or_default())
}
