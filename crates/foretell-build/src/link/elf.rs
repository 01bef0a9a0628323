//! Symbols of ELF files for x86-64, and renaming of undefined ones.
//!
//! Only what a linker needs to know is read: the global symbols of an object (`.symtab`) or of a
//! shared library (`.dynsym`). Files of other machines have no symbols here.

const MACHINE_X86_64: u16 = 62;
const TYPE_OBJECT: u16 = 1;
const TYPE_SHARED: u16 = 3;
const SECTION_SYMBOLS: u32 = 2;
const SECTION_DYNAMIC: u32 = 6;
const SECTION_DYNAMIC_SYMBOLS: u32 = 11;
const HEADER_LEN: usize = 64;
const SECTION_LEN: usize = 64;
const SYMBOL_LEN: usize = 24;

/// Beginning of every ELF file.
pub(super) const MAGIC: &[u8] = b"\x7fELF";

/// Kind of an ELF file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Relocatable object.
    Object,
    /// Shared library.
    Shared,
}

/// Global symbol of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol<'a> {
    pub(super) name: &'a [u8],
    /// Offset of the symbol's entry in the file.
    entry: usize,
    pub(super) defined: bool,
    pub(super) weak: bool,
    /// Whether it is defined as a function, an indirect one included.
    pub(super) function: bool,
}

/// An ELF file and its global symbols.
pub(super) struct Elf<'a> {
    bytes: &'a [u8],
    pub(super) kind: Kind,
    pub(super) symbols: Vec<Symbol<'a>>,
    /// Name under which programs load a shared library.
    pub(super) soname: Option<&'a [u8]>,
    /// Offset of the section header of the symbols' names.
    names_header: usize,
    names: &'a [u8],
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    field(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<usize> {
    field(bytes, at).map(u64::from_le_bytes).and_then(|n| n.try_into().ok())
}

/// Returns the string that starts at an offset of a string table.
fn name_at(names: &[u8], at: usize) -> Option<&[u8]> {
    names.get(at..)?.split(|&b| b == 0).next()
}

impl<'a> Elf<'a> {
    /// Returns the symbols of an object or a shared library for x86-64; `None` for other files.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Elf<'a>> {
        // 64 bits, little endian.
        if !bytes.starts_with(MAGIC) || bytes.get(4..6) != Some(&[2, 1]) {
            return None;
        }
        if u16_at(bytes, 18)? != MACHINE_X86_64 {
            return None;
        }
        let (kind, wanted) = match u16_at(bytes, 16)? {
            TYPE_OBJECT => (Kind::Object, SECTION_SYMBOLS),
            TYPE_SHARED => (Kind::Shared, SECTION_DYNAMIC_SYMBOLS),
            _ => return None,
        };
        let (table, mut count) = (u64_at(bytes, 40)?, usize::from(u16_at(bytes, 60)?));
        if count == 0 && table != 0 {
            // More sections than the header can say: the first one has their number.
            count = u64_at(bytes, table.checked_add(32)?)?;
        }
        let header = |i: usize| table.checked_add(i.checked_mul(SECTION_LEN)?);
        let mut elf =
            Elf { bytes, kind, symbols: Vec::new(), soname: None, names_header: 0, names: &[] };
        for i in 0..count {
            let at = header(i)?;
            let kind = u32_at(bytes, at.checked_add(4)?)?;
            if kind == SECTION_DYNAMIC {
                let names = section(bytes, header(u32_at(bytes, at + 40)? as usize)?)?;
                elf.soname = soname(section(bytes, at)?, names);
            }
            if kind != wanted {
                continue;
            }
            let names_header = header(u32_at(bytes, at + 40)? as usize)?;
            elf.names_header = names_header;
            elf.names = section(bytes, names_header)?;
            let (start, symbols) = (u64_at(bytes, at + 24)?, section(bytes, at)?);
            elf.symbols = symbols
                .chunks_exact(SYMBOL_LEN)
                .enumerate()
                .filter_map(|(i, entry)| symbol(entry, elf.names, start + i * SYMBOL_LEN))
                .collect();
        }
        Some(elf)
    }

    /// Returns a copy of the object in which every undefined (or, with `defined`, every defined)
    /// symbol that `rename` gives a name for has that name.
    pub(super) fn renamed(
        &self,
        defined: bool,
        rename: impl Fn(&[u8]) -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let mut out = self.bytes.to_vec();
        // A new table of names at the end of the file takes the place of the old one.
        let start = out.len();
        out.extend(self.names);
        for symbol in self.symbols.iter().filter(|s| s.defined == defined) {
            let Some(name) = rename(symbol.name) else { continue };
            let offset = u32::try_from(out.len() - start).ok()?;
            out.get_mut(symbol.entry..symbol.entry + 4)?.copy_from_slice(&offset.to_le_bytes());
            out.extend(name);
            out.push(0);
        }
        let len = (out.len() - start) as u64;
        let header = out.get_mut(self.names_header..self.names_header + HEADER_LEN)?;
        header[24..32].copy_from_slice(&(start as u64).to_le_bytes());
        header[32..40].copy_from_slice(&len.to_le_bytes());
        Some(out)
    }
}

/// Returns the content of the section with this header.
fn section(bytes: &[u8], header: usize) -> Option<&[u8]> {
    let (start, len) =
        (u64_at(bytes, header.checked_add(24)?)?, u64_at(bytes, header.checked_add(32)?)?);
    bytes.get(start..start.checked_add(len)?)
}

/// Returns the soname from a dynamic section.
fn soname<'a>(dynamic: &[u8], names: &'a [u8]) -> Option<&'a [u8]> {
    const SONAME: usize = 14;
    let entry = dynamic.chunks_exact(16).find(|entry| u64_at(entry, 0) == Some(SONAME))?;
    name_at(names, u64_at(entry, 8)?)
}

fn symbol<'a>(entry: &[u8], names: &'a [u8], at: usize) -> Option<Symbol<'a>> {
    const LOCAL: u8 = 0;
    const WEAK: u8 = 2;
    const FUNCTION: u8 = 2;
    const INDIRECT_FUNCTION: u8 = 10;
    let (binding, kind) = (entry[4] >> 4, entry[4] & 15);
    if binding == LOCAL {
        return None;
    }
    let name = name_at(names, u32_at(entry, 0)? as usize)?;
    Some(Symbol {
        name,
        entry: at,
        defined: u16_at(entry, 6)? != 0,
        weak: binding == WEAK,
        function: kind == FUNCTION || kind == INDIRECT_FUNCTION,
    })
}
