//! Objects that hidden state belongs to.
//!
//! | address | object |
//! |---|---|
//! | in a heap block, or in a stack | the block, or the whole stack |
//! | in writable data of a module | the symbol that holds it, or all data without a symbol |
//! | in code or read-only data of a module | none |
//! | elsewhere (mappings, thread-local storage) | the aligned piece of [`PIECE`] bytes |
//!
//! A block is one allocation: memory that is allocated again is another object.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use object::{Object as _, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind, elf};
use rustc_hash::FxHashMap;

use crate::file_cache::FileCache;
use crate::native::regions::{RegionId, RegionKind, Regions};

/// Bytes of a piece of memory in no known object.
const PIECE: u64 = 1 << 21;
/// First address that no program has.
const END_OF_MEMORY: u64 = 1 << 47;
/// First address that a program may have.
const START_OF_MEMORY: u64 = 1 << 12;

/// An object with hidden state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(in crate::native) enum Object {
    /// A heap block or a stack.
    Region(RegionId),
    /// The global with this address in a file.
    Global { file: u32, start: u64 },
    /// Data of a file that is in no symbol.
    Data { file: u32 },
    /// A piece of memory in no other object, by its number.
    Piece(u64),
    /// The own state of a library.
    Library(u32),
    /// State that passes through the kernel.
    Kernel,
}

/// A mapped module.
#[derive(Clone, Copy)]
struct Module {
    end: u64,
    bias: u64,
    file: u32,
}

/// Writable data of a file.
struct WritableData {
    /// Start and end of the writable sections, by start.
    sections: Vec<(u64, u64)>,
    /// Start and end of the data symbols, by start.
    symbols: Vec<(u64, u64)>,
}

thread_local! {
    static DATA: RefCell<FileCache<Option<WritableData>>> = RefCell::default();
}

/// A file that modules are mapped from.
struct File {
    path: String,
    /// None if the file cannot be read. Read at the first use.
    data: Option<Rc<Option<WritableData>>>,
}

/// The objects of a run.
#[derive(Default)]
pub(in crate::native) struct Objects {
    modules: BTreeMap<u64, Module>,
    files: Vec<File>,
    by_path: FxHashMap<String, u32>,
}

impl Objects {
    /// Forgets the mapped modules: the next pass over the run maps them again.
    pub(super) fn restart(&mut self) {
        self.modules.clear();
    }

    /// Adds a module that is mapped.
    pub(super) fn add_module(&mut self, start: u64, end: u64, bias: u64, path: &[u8]) {
        let path = String::from_utf8_lossy(path).into_owned();
        let next = self.files.len() as u32;
        let file = *self.by_path.entry(path.clone()).or_insert(next);
        if file == next {
            self.files.push(File { path, data: None });
        }
        self.modules.insert(start, Module { end, bias, file });
    }

    /// Removes the module that was mapped at `start`.
    pub(super) fn remove_module(&mut self, start: u64) {
        self.modules.remove(&start);
    }

    /// Returns the object that holds an address, if it has state.
    pub(super) fn of(&mut self, regions: &mut Regions, addr: u64) -> Option<Object> {
        if !(START_OF_MEMORY..END_OF_MEMORY).contains(&addr) {
            return None;
        }
        let region = regions.of(addr);
        match regions.kind(region).0 {
            RegionKind::Heap { .. } | RegionKind::Stack { .. } => Some(Object::Region(region)),
            RegionKind::Module => self.global(addr),
            RegionKind::Elsewhere => Some(Object::Piece(addr / PIECE)),
        }
    }

    fn global(&mut self, addr: u64) -> Option<Object> {
        let module = self.modules.range(..=addr).next_back().map(|(_, module)| *module);
        let Module { bias, file, .. } = module.filter(|module| addr < module.end)?;
        let File { path, data } = self.files.get_mut(file as usize)?;
        let at = addr.wrapping_sub(bias);
        let data = data.get_or_insert_with(|| {
            DATA.with_borrow_mut(|known| known.get(path, || WritableData::read(path)))
        });
        match &**data {
            None => Some(Object::Data { file }),
            Some(data) if !holds(&data.sections, at) => None,
            Some(data) => Some(match span(&data.symbols, at) {
                Some((start, _)) => Object::Global { file, start },
                None => Object::Data { file },
            }),
        }
    }

    /// Returns the address at which an object's memory begins now, if it has one.
    pub(super) fn address(&self, regions: &Regions, object: Object) -> Option<u64> {
        match object {
            Object::Region(region) => Some(regions.kind(region).1),
            Object::Global { file, start } => {
                let module = self.modules.values().find(|module| module.file == file)?;
                Some(start.wrapping_add(module.bias))
            }
            Object::Piece(number) => Some(number * PIECE),
            Object::Data { .. } | Object::Library(_) | Object::Kernel => None,
        }
    }

    /// Returns the file name of a file, without its directories.
    pub(super) fn file_name(&self, file: u32) -> &str {
        let path = self.files.get(file as usize).map_or("?", |file| file.path.as_str());
        path.rsplit('/').next().unwrap_or(path)
    }
}

/// Sections that are writable in the file, and not when the program runs.
const RELOCATED: [&str; 7] =
    [".data.rel.ro", ".dynamic", ".got", ".init_array", ".fini_array", ".preinit_array", ".ctors"];

impl WritableData {
    fn read(path: &str) -> Option<WritableData> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let mut sections: Vec<(u64, u64)> = file
            .sections()
            .filter(|section| match section.flags() {
                SectionFlags::Elf { sh_flags } => {
                    let flags = u64::from(elf::SHF_WRITE | elf::SHF_ALLOC);
                    sh_flags & flags == flags && sh_flags & u64::from(elf::SHF_TLS) == 0
                }
                _ => false,
            })
            .filter(|section| {
                let name = section.name().unwrap_or_default();
                !RELOCATED.iter().any(|relocated| name.starts_with(relocated))
            })
            .map(|section| (section.address(), section.address().saturating_add(section.size())))
            .collect();
        // A file without a table of sections tells nothing of its data.
        file.sections().next()?;
        let mut symbols: Vec<(u64, u64)> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0)
            .map(|symbol| (symbol.address(), symbol.address().saturating_add(symbol.size())))
            .collect();
        sections.sort_unstable();
        symbols.sort_unstable();
        // Of symbols at one address the largest counts.
        symbols.reverse();
        symbols.dedup_by_key(|symbol| symbol.0);
        symbols.reverse();
        Some(WritableData { sections, symbols })
    }
}

/// Returns the last span that begins at or before an address, if it holds the address.
fn span(spans: &[(u64, u64)], at: u64) -> Option<(u64, u64)> {
    let before = spans.partition_point(|&(start, _)| start <= at).checked_sub(1)?;
    spans.get(before).copied().filter(|&(_, end)| at < end)
}

fn holds(spans: &[(u64, u64)], at: u64) -> bool {
    span(spans, at).is_some()
}

#[cfg(test)]
mod tests {
    use foretell_rt_format::Record;

    use super::*;

    #[test]
    fn address_belongs_to_a_block_a_stack_or_a_piece() {
        let (mut objects, mut regions) = (Objects::default(), Regions::new());
        let alloc = Record::Alloc { pc: 1, addr: 0x10000, size: 64 };
        regions.apply(0, &alloc);
        let first = objects.of(&mut regions, 0x10010);
        assert_eq!(first, objects.of(&mut regions, 0x1003f));
        assert!(matches!(first, Some(Object::Region(_))));
        regions.apply(0, &alloc);
        assert_ne!(first, objects.of(&mut regions, 0x10010), "another allocation");
        regions.apply(2, &Record::ThreadBegin { tid: 1, stack_start: 0x20000, stack_end: 0x30000 });
        assert_eq!(objects.of(&mut regions, 0x20008), objects.of(&mut regions, 0x2fff8));
        assert_eq!(objects.of(&mut regions, 8), None);
        assert_eq!(objects.of(&mut regions, u64::MAX), None);
        assert_eq!(
            objects.of(&mut regions, 0x7f00_0000_1234),
            Some(Object::Piece(0x7f00_0000_1234 / PIECE))
        );
    }

    /// Symbols of the running test: a global is one object, code and constants are none.
    #[test]
    fn global_is_one_object_and_constants_are_none() {
        static mut GLOBAL: [u64; 4] = [1; 4];
        static CONSTANT: &str = "text";
        let exe = std::env::current_exe().expect("the test's own file");
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the test's own memory");
        let name = exe.to_str().expect("a name");
        let bounds = |line: &str| {
            let (start, rest) = line.split_once('-')?;
            let end = rest.split_once(' ')?.0;
            Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
        };
        let mapped: Vec<_> =
            maps.lines().filter(|line| line.ends_with(name)).filter_map(bounds).collect();
        let (start, end) = (mapped[0].0, mapped[mapped.len() - 1].1);
        let (mut objects, mut regions) = (Objects::default(), Regions::new());
        let path = name.as_bytes();
        objects.add_module(start, end, start, path);
        regions.apply(0, &Record::Module { bias: start, start, end, path, build_id: &[] });
        let global = &raw const GLOBAL as u64;
        let object = objects.of(&mut regions, global);
        assert!(matches!(object, Some(Object::Global { .. })), "{object:?}");
        assert_eq!(object, objects.of(&mut regions, global + 24));
        assert_eq!(objects.of(&mut regions, CONSTANT.as_ptr() as u64), None);
        assert_eq!(objects.of(&mut regions, holds as fn(&[_], _) -> _ as usize as u64), None);
        assert_eq!(objects.address(&regions, object.expect("an object")), Some(global));
    }
}
