//! Source locations, functions and globals by address.
//!
//! Debug information is read from the files that the program ran from. A file that has changed
//! since gives wrong lines, a missing one gives `file+0x…`. Source locations are `name:line`, with
//! as many directories in front as are needed to tell two files of the same name apart.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use rustc_hash::FxHashMap;

use crate::allocated_type::{Allocated, allocated};
use crate::debug_info::{DebugInfo, LoggedFrame, Place, TypeId, TypeParameter, Whole};
use crate::file_cache::FileCache;
use crate::function_names::{closure_at, library_name, plain, readable};
use crate::rust_types::short_type;

/// Meaning of a code address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    /// Source location: `file:line`, or `module+0x…` where that is not known.
    pub location: String,
    /// Whether `location` is a line of source.
    pub known: bool,
    /// Whether the location is in a system header, in Rust's standard library or in a package of a
    /// registry, which is not where a bug is looked for.
    pub system: bool,
    /// Functions around the address, innermost (an inlined one) first: the name, and for all but
    /// the last the location of the call in the next.
    pub functions: Vec<(String, String)>,
    /// Outermost function of a library that is inlined at the address, if there is one, by its
    /// short name.
    pub(crate) library: Option<String>,
    /// Number of functions inlined at the address that `functions` leaves out.
    skipped: usize,
    /// Path and line of `location`, if known.
    path: Option<(String, u32)>,
}

impl Code {
    /// Returns the name of the innermost function, if known.
    pub fn function(&self) -> Option<&str> {
        self.functions.first().map(|(name, _)| name.as_str())
    }

    /// Returns the short name of the function of a library that the address is in.
    pub(crate) fn library_function(&self) -> Option<String> {
        let (name, _) = self.functions.last()?;
        Some(library_name(name, self.path.as_ref().is_some_and(|(path, _)| is_rust(path))))
    }
}

/// A mapped module.
struct Module {
    path: String,
    bias: u64,
    end: u64,
    /// Number of the file in [`Symbols::files`].
    file: usize,
}

/// Debug information and symbols of a file.
struct File {
    path: String,
    /// Debug information, if the file has any; read at the first use.
    loader: OnceCell<Rc<Option<Loader>>>,
    /// Globals and thread-local variables; read at the first use.
    variables: OnceCell<Rc<Variables>>,
    /// Debug information of variables and types; read at the first use.
    debug_info: OnceCell<Rc<Option<DebugInfo>>>,
}

impl File {
    fn variables(&self) -> &Variables {
        let read = || Variables::read(&self.path);
        let known = || VARIABLES.with_borrow_mut(|known| known.get(&self.path, read));
        self.variables.get_or_init(known)
    }

    fn debug_info(&self) -> Option<&DebugInfo> {
        let read = || DebugInfo::read(&self.path);
        let known = || DEBUG_INFO.with_borrow_mut(|known| known.get(&self.path, read));
        self.debug_info.get_or_init(known).as_ref().as_ref()
    }
}

/// Variables of a file's symbol table.
#[derive(Default)]
struct Variables {
    globals: SymbolRanges,
    /// By the offset in the file's block of them.
    thread_locals: SymbolRanges,
}

/// Start, size and name of variables, by start.
type SymbolRanges = Vec<(u64, u64, String)>;

thread_local! {
    static LOADERS: RefCell<FileCache<Option<Loader>>> = RefCell::default();
    static VARIABLES: RefCell<FileCache<Variables>> = RefCell::default();
    static DEBUG_INFO: RefCell<FileCache<Option<DebugInfo>>> = RefCell::default();
    static SOURCES: RefCell<FileCache<Vec<String>>> = RefCell::default();
}

/// Modules of a run, and the meaning of their addresses.
#[derive(Default)]
pub struct Symbols {
    modules: BTreeMap<u64, Module>,
    files: Vec<File>,
    codes: FxHashMap<u64, Rc<Code>>,
    /// Paths by the short names of files.
    short_names: FxHashMap<String, String>,
}

impl Symbols {
    /// Adds a module that is mapped at `start`.
    pub fn add(&mut self, start: u64, end: u64, bias: u64, path: &[u8]) {
        let path = String::from_utf8_lossy(path).into_owned();
        let file = match self.files.iter().position(|f| f.path == path) {
            Some(file) => file,
            None => {
                self.files.push(File {
                    path: path.clone(),
                    loader: OnceCell::new(),
                    variables: OnceCell::new(),
                    debug_info: OnceCell::new(),
                });
                self.files.len() - 1
            }
        };
        self.modules.insert(start, Module { path, bias, end, file });
        self.codes.clear();
    }

    /// Removes the module that was mapped at `start`.
    pub fn remove(&mut self, start: u64) {
        self.modules.remove(&start);
        self.codes.clear();
    }

    fn module(&self, addr: u64) -> Option<&Module> {
        self.modules.range(..=addr).next_back().map(|(_, m)| m).filter(|m| addr < m.end)
    }

    /// Returns the number of the file that an address is in, and the address in that file.
    pub(crate) fn file_offset(&self, addr: u64) -> Option<(u32, u64)> {
        self.module(addr).map(|m| (m.file as u32, addr.wrapping_sub(m.bias)))
    }

    /// Returns the paths of all files, by number.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.files.iter().map(|f| f.path.clone()).collect()
    }

    /// Returns the meaning of a return address: that of the instruction before it.
    pub fn code(&mut self, pc: u64) -> Rc<Code> {
        self.exact(pc.wrapping_sub(1))
    }

    /// Returns the meaning of the address of an instruction.
    pub fn exact(&mut self, pc: u64) -> Rc<Code> {
        if let Some(code) = self.codes.get(&pc) {
            return code.clone();
        }
        let code = Rc::new(self.explain(pc));
        self.codes.insert(pc, code.clone());
        code
    }

    /// Whether two return addresses are in one function, as far as symbols tell; those in one
    /// module without symbols are.
    pub(crate) fn are_in_one_function(&mut self, a: u64, b: u64) -> bool {
        let file = |addr| self.file_offset(addr).map(|(file, _)| file);
        if file(a) != file(b) {
            return false;
        }
        let (a, b) = (self.code(a), self.code(b));
        a.functions.last().map(|f| &f.0) == b.functions.last().map(|f| &f.0)
    }

    /// Returns `text` with each `file+0x…` replaced by its source location.
    pub fn with_locations(&mut self, text: &str) -> String {
        let words = text.split(' ').map(|word| {
            let bare = word.trim_end_matches([';', ',', '.', ':']);
            let location = bare.split_once("+0x").and_then(|(name, hex)| {
                let offset = u64::from_str_radix(hex, 16).ok()?;
                let mut modules = self.modules.values();
                let module = modules.find(|m| m.path.rsplit('/').next() == Some(name))?;
                let code = self.code(module.bias.wrapping_add(offset));
                code.known.then(|| code.location.clone())
            });
            match location {
                Some(location) => format!("{location}{}", &word[bare.len()..]),
                None => word.to_owned(),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    fn explain(&mut self, pc: u64) -> Code {
        let Some(module) = self.module(pc) else {
            return Code {
                location: "?".to_owned(),
                known: false,
                system: false,
                functions: Vec::new(),
                library: None,
                skipped: 0,
                path: None,
            };
        };
        let at = pc.wrapping_sub(module.bias);
        let short = module.path.rsplit('/').next().unwrap_or("?");
        let unknown = format!("{short}+{at:#x}");
        let mut frames: Vec<Frame> = Vec::new();
        let file_number = module.file;
        let file = &self.files[file_number];
        let loader = file.loader.get_or_init(|| {
            let read = || Loader::new(Path::new(&file.path)).ok();
            LOADERS.with_borrow_mut(|loaders| loaders.get(&file.path, read))
        });
        if let Some(loader) = &**loader {
            if let Ok(mut found) = loader.find_frames(at) {
                while let Ok(Some(frame)) = found.next() {
                    let name = frame.function.and_then(|f| f.demangle().ok().map(|n| plain(&n)));
                    let line = frame.location.and_then(|l| Some((l.file?.to_owned(), l.line?)));
                    frames.push((name, line));
                }
            }
            if frames.iter().all(|(name, _)| name.is_none())
                && let Some(name) = loader.find_symbol(at)
            {
                let name = readable(name);
                match frames.last_mut() {
                    Some(last) => last.0 = Some(name),
                    None => frames.push((Some(name), None)),
                }
            }
        }
        if frames.iter().any(|(_, line)| line.as_ref().is_some_and(|(path, _)| is_rust(path))) {
            self.place_closures(&mut frames, file_number, at);
        }
        // Code inlined from system headers has the location of its use.
        let mut library = None;
        let inlined = frames.len();
        while frames.len() > 1 && is_system(&frames[0]) {
            let (name, line) = frames.remove(0);
            let is_rust = line.is_some_and(|(path, _)| is_rust(&path));
            library = name.map(|name| library_name(&name, is_rust));
        }
        let skipped = inlined - frames.len();
        let system = frames.first().is_some_and(is_system);
        let locations: Vec<Option<String>> = frames
            .iter()
            .map(|(_, line)| line.as_ref().map(|(file, line)| self.location(file, *line)))
            .collect();
        let location = locations.first().cloned().flatten();
        let path = frames.first().and_then(|(_, line)| line.clone());
        let functions = frames
            .into_iter()
            .enumerate()
            .filter_map(|(i, (name, _))| {
                let call = locations.get(i + 1).cloned().flatten().unwrap_or_default();
                Some((name?, call))
            })
            .collect();
        let known = location.is_some();
        let location = location.unwrap_or(unknown);
        Code { known, location, system, functions, library, skipped, path }
    }

    /// Gives the closures of Rust among the frames at an address of a file their places.
    fn place_closures(&mut self, frames: &mut [Frame], file: usize, at: u64) {
        let Some(info) = self.files[file].debug_info() else { return };
        let lines = info.declaration_lines(at);
        for ((name, place), line) in frames.iter_mut().zip(lines) {
            if let (Some(name), Some((path, _)), Some(line)) = (name, place, line) {
                let location = self.location(path, line as u32);
                *name = closure_at(std::mem::take(name), &location);
            }
        }
    }

    /// Returns the types for which the functions of Rust around a return address were instantiated,
    /// those of the innermost function first.
    pub(crate) fn type_parameters(&self, pc: u64) -> Vec<(usize, TypeParameter)> {
        let Some(module) = self.module(pc) else { return Vec::new() };
        let Some(info) = self.files[module.file].debug_info() else { return Vec::new() };
        let types = info.type_parameters(pc.wrapping_sub(module.bias).wrapping_sub(1));
        types.into_iter().map(|kind| (module.file, kind)).collect()
    }

    /// Returns the type of an allocation of `size` bytes: the first of the types of the functions
    /// around it, innermost first, that has the size, or else whose values fill it.
    pub(crate) fn instantiated_type(
        &self,
        types: &[(usize, TypeParameter)],
        size: u64,
    ) -> Option<AllocatedType> {
        let size_of = |&(file, parameter): &(usize, TypeParameter)| {
            self.files.get(file)?.debug_info()?.size_of(parameter.kind).filter(|&own| own > 0)
        };
        let one = types.iter().find(|kind| size_of(kind) == Some(size));
        let fills = |kind: &&(usize, TypeParameter)| {
            kind.1.is_of_vector && size_of(kind).is_some_and(|own| size.is_multiple_of(own))
        };
        let &(file, TypeParameter { kind, .. }) = one.or_else(|| types.iter().find(fills))?;
        let info = self.files.get(file)?.debug_info()?;
        let name = info.name_of_type(kind).map(|name| short_type(&name));
        let name = name.filter(|name| !name.is_empty());
        let is_internal = info.is_synchronisation(kind);
        let many = one.is_none();
        Some(AllocatedType { file, kind, start: 0, many, name, definition: None, is_internal })
    }

    /// Returns `file:line` with the shortest name that is this file's alone.
    fn location(&mut self, file: &str, line: u32) -> String {
        let parts: Vec<&str> = file.split('/').filter(|p| !p.is_empty()).collect();
        for n in 1..=parts.len() {
            let short = parts[parts.len() - n..].join("/");
            let owner = self.short_names.entry(short.clone()).or_insert_with(|| file.to_owned());
            if owner == file {
                return format!("{short}:{line}");
            }
        }
        format!("{file}:{line}")
    }

    /// Whether an address is in the virtual table of a class.
    pub(crate) fn is_vtable(&mut self, addr: u64) -> bool {
        let global = self.global(addr);
        global.is_some_and(|(name, _)| {
            name.starts_with("vtable for ") || name.starts_with("construction vtable for ")
        })
    }

    /// Returns the name of the global that holds an address, and the part of it that is there.
    pub(crate) fn global_part(&mut self, addr: u64, whole: Whole) -> Option<(String, Place)> {
        let (name, offset) = self.global(addr)?;
        let module = self.module(addr)?;
        let start = addr.wrapping_sub(module.bias).wrapping_sub(offset);
        let known = self.files[module.file].debug_info().and_then(|info| {
            let kind = info.type_of_global(start)?;
            Some(info.place(kind, false, offset, whole))
        });
        let mut place = known.unwrap_or_else(|| Place::at(offset));
        place.is_internal |= ["std::sys::", "std::thread::", "std::rt::", "std::panicking::"]
            .iter()
            .any(|module| name.starts_with(module));
        Some((name, place))
    }

    /// Returns the type of an allocation of `size` bytes by the call that returns to `pc`, if it is
    /// known.
    pub(crate) fn allocated_type(&mut self, pc: u64, size: u64) -> Option<AllocatedType> {
        let code = self.code(pc);
        let (path, line) = code.path.as_ref()?;
        let module = self.module(pc)?;
        let file = &self.files[module.file];
        let lines = SOURCES.with_borrow_mut(|sources| sources.get(path, || read_lines(path)));
        if !is_older(path, &file.path) {
            return None;
        }
        let allocated = allocated(lines.get((*line as usize).checked_sub(1)?)?)?;
        let (info, at) = (file.debug_info()?, pc.wrapping_sub(module.bias).wrapping_sub(1));
        let scope = code.functions.last().map_or("", |(name, _)| name.as_str());
        let kind = match &allocated {
            Allocated::Object(name)
            | Allocated::Objects(name)
            | Allocated::Array(name)
            | Allocated::Shared(name) => info
                .template_argument(at, code.skipped, name)
                .or_else(|| type_in_scope(info, scope, name, at))?,
            Allocated::Pointee(variable) => info.pointee(info.type_of_local(at, variable)?)?,
        };
        let own = info.size_of(kind).filter(|&own| own > 0)?;
        let many = size > own && size.is_multiple_of(own);
        let (start, many) = match &allocated {
            Allocated::Object(_) => (size == own).then_some((0, false))?,
            Allocated::Objects(_) | Allocated::Pointee(_) => {
                (size == own || many).then_some((0, many))?
            }
            Allocated::Array(_) if size.is_multiple_of(own) => (0, true),
            // The number of elements is in front, for their destructors.
            Allocated::Array(_) => (size % own == 8 % own).then_some((8, true))?,
            Allocated::Shared(_) => {
                let counters = size.checked_sub(own)?;
                (16..24).contains(&counters).then_some((16, false))?
            }
        };
        let name = info.name_of_type(kind).filter(|name| !name.is_empty());
        let (file, definition) = (module.file, info.definition_of(kind));
        let definition = definition.filter(|_| code.system);
        let definition = definition.map(|(path, line)| self.location(&path, line));
        let is_internal = false;
        Some(AllocatedType { file, kind, start, many, name, definition, is_internal })
    }

    /// Returns the part of an allocation at `offset`.
    pub(crate) fn allocated_part(&self, kind: &AllocatedType, offset: u64, whole: Whole) -> Place {
        let info = self.files.get(kind.file).and_then(File::debug_info);
        let mut place = match (info, offset.checked_sub(kind.start)) {
            (Some(info), Some(offset)) => info.place(kind.kind, kind.many, offset, whole),
            _ => Place::at(offset),
        };
        place.is_internal |= kind.is_internal;
        place
    }

    /// Returns the name of the local variable at `addr` in a frame, `function::variable`, and the
    /// part of it that is there.
    pub(crate) fn local(
        &mut self,
        frame: LoggedFrame,
        addr: u64,
        whole: Whole,
    ) -> Option<(String, Place)> {
        let function = self.code(frame.pc).functions.last()?.0.clone();
        let module = self.module(frame.pc)?;
        let info = self.files[module.file].debug_info()?;
        let in_file = LoggedFrame { pc: frame.pc.wrapping_sub(module.bias), ..frame };
        let local = info.local(in_file, addr)?;
        let place = info.place(local.kind, false, local.offset, whole);
        Some((format!("{function}::{}", local.name), place))
    }

    /// Returns the name of the global that holds an address, and the offset in it.
    pub fn global(&mut self, addr: u64) -> Option<(String, u64)> {
        let module = self.module(addr)?;
        let at = addr.wrapping_sub(module.bias);
        let short = module.path.rsplit('/').next().unwrap_or("?").to_owned();
        let globals = &self.files[module.file].variables().globals;
        Some(variable_at(globals, at).unwrap_or((short, at)))
    }

    /// Returns the name of the thread-local variable at an offset of the block of the module that
    /// is mapped at `module`, and the part of it that is there.
    pub(crate) fn thread_local_part(
        &self,
        module: u64,
        offset: u64,
        whole: Whole,
    ) -> Option<(String, Place)> {
        let file = &self.files[self.modules.get(&module)?.file];
        let (name, inside) = variable_at(&file.variables().thread_locals, offset)?;
        let known = file.debug_info().and_then(|info| {
            let kind = info.type_of_thread_local(offset - inside)?;
            Some(info.place(kind, false, inside, whole))
        });
        Some((name, known.unwrap_or_else(|| Place::at(inside))))
    }
}

/// Type of an allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AllocatedType {
    /// Number of the file whose debug information has the type.
    file: usize,
    kind: TypeId,
    /// Offset of the first object in the allocation.
    start: u64,
    /// Whether it is an array.
    many: bool,
    /// Name of the type.
    pub(crate) name: Option<String>,
    /// Where the type is defined, if a system header allocates.
    pub(crate) definition: Option<String>,
    /// Whether the type is one that Rust's library has for threads and locks.
    is_internal: bool,
}

/// Returns the type that `name` means in a function.
fn type_in_scope(info: &DebugInfo, function: &str, name: &str, pc: u64) -> Option<TypeId> {
    let mut scope = function;
    loop {
        let outer = scope.rfind("::").map_or("", |at| &scope[..at]);
        let full = if outer.is_empty() { name.to_owned() } else { format!("{outer}::{name}") };
        if let Some(kind) = info.type_named(&full, pc) {
            return Some(kind);
        }
        if outer.is_empty() {
            return None;
        }
        scope = outer;
    }
}

/// Returns the lines of a source file.
fn read_lines(path: &str) -> Vec<String> {
    let text = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect()
}

/// Whether a source file has not changed since a program was built.
fn is_older(source: &str, program: &str) -> bool {
    let changed = |path: &str| std::fs::metadata(path).and_then(|m| m.modified());
    matches!((changed(source), changed(program)), (Ok(source), Ok(program)) if source <= program)
}

/// A function and a line in it, each where known.
type Frame = (Option<String>, Option<(String, u32)>);

/// Parts of the paths of Rust's standard library and of packages that cargo fetched.
const RUST_LIBRARIES: [&str; 3] =
    ["/rustlib/src/rust/library/", "/registry/src/", "/git/checkouts/"];

fn is_rust(path: &str) -> bool {
    path.ends_with(".rs")
}

fn is_system((name, line): &Frame) -> bool {
    let Some((file, _)) = line else {
        // Rust's standard library has no line numbers of its own.
        return name.as_ref().is_some_and(|name| is_in_rust_library(name));
    };
    let file = without_parents(file);
    ["/usr/include/", "/usr/lib/", "/rustc/"].iter().any(|d| file.starts_with(d))
        || is_rust(&file) && RUST_LIBRARIES.iter().any(|d| file.contains(d))
        || file.ends_with("/foretell.h")
        // GoogleTest, of which projects have copies.
        || file.contains("/include/gtest/")
        // Headers that the compiler driver puts before those of the C++ library.
        || file.contains("/foretell/include/bits/")
}

/// Whether a function without line numbers is one of Rust's standard library, by its name.
fn is_in_rust_library(function: &str) -> bool {
    let path = function.trim_start_matches(['<', '&', '*']);
    let path = ["dyn ", "mut ", "const "].iter().fold(path, |p, word| p.trim_start_matches(word));
    ["alloc::", "core::", "std::", "__rust", "__rdl_"].iter().any(|root| path.starts_with(root))
}

/// Returns a path without the parts that a `..` after them takes back: clang names the headers of
/// C++ by way of its own directory.
fn without_parents(path: &str) -> Cow<'_, str> {
    if !path.contains("/../") {
        return path.into();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            ".." if parts.last().is_some_and(|last| !last.is_empty() && *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/").into()
}

/// Returns the name of the variable that holds an address, and the offset in it.
fn variable_at(variables: &SymbolRanges, at: u64) -> Option<(String, u64)> {
    let found = variables.partition_point(|&(start, _, _)| start <= at).checked_sub(1)?;
    let (start, size, name) = &variables[found];
    (at - start < (*size).max(1)).then(|| (name.clone(), at - start))
}

impl Variables {
    /// Returns the data symbols of a file.
    fn read(path: &str) -> Variables {
        let Ok(bytes) = std::fs::read(path) else { return Variables::default() };
        let Ok(file) = object::File::parse(&*bytes) else { return Variables::default() };
        let of_kind = |kind: SymbolKind| {
            let mut symbols: SymbolRanges = file
                .symbols()
                .chain(file.dynamic_symbols())
                .filter(|s| s.kind() == kind && s.size() > 0)
                .filter_map(|s| Some((s.address(), s.size(), readable(s.name().ok()?))))
                .collect();
            symbols.sort();
            symbols.dedup_by_key(|symbol| symbol.0);
            symbols
        };
        Variables { globals: of_kind(SymbolKind::Data), thread_locals: of_kind(SymbolKind::Tls) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_have_different_locations() {
        let mut s = Symbols::default();
        assert_eq!(s.location("/src/a/util.c", 3), "util.c:3");
        assert_eq!(s.location("/src/b/util.c", 4), "b/util.c:4");
        assert_eq!(s.location("/src/a/util.c", 5), "util.c:5");
    }

    #[test]
    fn headers_of_clang_are_system_headers() {
        let frame = |file: &str| (None, Some((file.to_owned(), 1)));
        assert!(is_system(&frame(
            "/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/string"
        )));
        assert!(is_system(&frame("/home/u/.cache/foretell/include/bits/stl_tree.h")));
        assert!(!is_system(&frame("/usr/include/../../src/a.c")));
        assert_eq!(without_parents("../a/../../b/./c"), "../../b/./c");
    }

    #[test]
    fn address_outside_every_module_is_unknown() {
        let mut s = Symbols::default();
        assert_eq!(s.code(77).location, "?");
        s.add(0x1000, 0x2000, 0x1000, b"/nonexistent/program");
        assert_eq!(s.code(0x1235).location, "program+0x234");
        assert_eq!(s.file_offset(0x1234), Some((0, 0x234)));
        assert_eq!(s.global(0x1234), Some(("program".to_owned(), 0x234)));
        let text = "got Read at program+0x234; other+0x1 +0xg";
        assert_eq!(s.with_locations(text), text);
    }
}
