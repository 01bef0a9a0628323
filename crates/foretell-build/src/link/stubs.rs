//! The object with the stubs of a link.
//!
//! A stub has the hidden symbol `NAME.foretell`, which the recorded objects call in place of
//! `NAME`. It loads the address of the function's descriptor into `r11`, the only register that a
//! call may change, and jumps to the common code, which jumps to the runtime's
//! `__foretell_hidden_call`; that notes the call and jumps to the function. Stack and return
//! address stay as they are, so the function sees its caller. Where there is no runtime (a shared
//! library in a program that is not recorded), the common code jumps to the function.
//!
//! The stub of a lock function ([`super::locks`]) jumps to `__foretell_lock_call` in the same way,
//! which calls the function itself.
//!
//! Descriptor, 64 bytes; `foretell-rt/src/hidden_call.rs` and `lock_call.rs` read it:
//!
//! | offset | content |
//! |---|---|
//! | 0 | address of the function |
//! | 8 | its name |
//! | 16 | name of its library |
//! | 24 | addresses of the standard streams of C++, or 0 |
//! | 32 | class, see [`Class::word`], or operation, see [`LockFunction::word`] |
//! | 36 | three words of the runtime |
//! | 48 | addresses of two further functions of a lock; four effects, see [`Effect::word`]; or 0 |

use super::effects::Effect;
use super::functions::Class;
use super::locks::LockFunction;

/// Suffix of a stub's symbol.
const SUFFIX: &[u8] = b".foretell";
/// Hook of the runtime.
const HOOK: &[u8] = b"__foretell_hidden_call";
/// Hook of the runtime for lock functions.
const LOCK_HOOK: &[u8] = b"__foretell_lock_call";
/// The standard streams of C++ behind [`Class::Stream`].
const STREAMS: [&[u8]; 3] = [b"_ZSt4cout", b"_ZSt4cerr", b"_ZSt4clog"];
const DESCRIPTOR_LEN: usize = 64;
const STUB_LEN: usize = 16;
const COMMON_LEN: usize = 32;

/// A function that gets a stub.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stub {
    pub(super) name: Vec<u8>,
    pub(super) library: Vec<u8>,
    pub(super) class: Class,
    /// Operation of a lock function.
    pub(super) lock: Option<LockFunction>,
    /// Whether the recorded objects refer to it weakly.
    pub(super) weak: bool,
}

/// Returns the name of a function's stub.
pub(super) fn stub_name(function: &[u8]) -> Vec<u8> {
    [function, SUFFIX].concat()
}

// Relocations.
const ABSOLUTE: u32 = 1;
const RELATIVE: u32 = 2;
const GOT_RELATIVE: u32 = 9;

// Indices of the local symbols, which stand for sections.
const TEXT_SYMBOL: u32 = 1;
const DATA_SYMBOL: u32 = 2;
const NAMES_SYMBOL: u32 = 3;
const LOCAL_SYMBOLS: u32 = 4;

// Indices of the sections.
const TEXT: u16 = 1;
const DATA: u16 = 3;
const NAMES: u16 = 5;
const FRAMES: u16 = 6;
const SYMBOLS: u16 = 8;
const SYMBOL_NAMES: u16 = 9;
const SECTION_NAMES: u16 = 10;
const SECTIONS: u16 = 12;

/// Parts of the object.
#[derive(Default)]
struct Parts {
    text: Vec<u8>,
    text_relocations: Vec<u8>,
    data: Vec<u8>,
    data_relocations: Vec<u8>,
    names: Vec<u8>,
    symbols: Vec<u8>,
    symbol_names: Vec<u8>,
}

fn relocation(out: &mut Vec<u8>, offset: usize, symbol: u32, kind: u32, addend: i64) {
    out.extend((offset as u64).to_le_bytes());
    out.extend((u64::from(symbol) << 32 | u64::from(kind)).to_le_bytes());
    out.extend(addend.to_le_bytes());
}

/// Binding and visibility of a symbol of the object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Binding {
    Section,
    Hidden,
    Undefined,
    Weak,
}

impl Parts {
    /// Adds a symbol and returns its index.
    fn symbol(&mut self, name: &[u8], binding: Binding, section: u16, value: usize) -> u32 {
        let index = (self.symbols.len() / 24) as u32;
        let name_at = if name.is_empty() { 0 } else { self.symbol_names.len() as u32 };
        let (info, other, size) = match binding {
            Binding::Section => (3, 0, 0),
            Binding::Hidden => (1 << 4 | 2, 2, STUB_LEN),
            Binding::Undefined => (1 << 4, 0, 0),
            Binding::Weak => (2 << 4, 0, 0),
        };
        self.symbols.extend(name_at.to_le_bytes());
        self.symbols.extend([info, other]);
        self.symbols.extend(section.to_le_bytes());
        self.symbols.extend((value as u64).to_le_bytes());
        self.symbols.extend((size as u64).to_le_bytes());
        if !name.is_empty() {
            self.symbol_names.extend(name);
            self.symbol_names.push(0);
        }
        index
    }

    /// Adds a string and returns its offset.
    fn string(&mut self, text: &[u8]) -> i64 {
        let at = self.names.len();
        self.names.extend(text);
        self.names.push(0);
        at as i64
    }

    /// Adds the code that all stubs with this hook share.
    fn common_code(&mut self, hook: u32) {
        let at = self.text.len();
        // cmp qword ptr [rip + hook@GOTPCREL], 0
        self.text.extend([0x48, 0x83, 0x3d, 0, 0, 0, 0, 0]);
        relocation(&mut self.text_relocations, at + 3, hook, GOT_RELATIVE, -5);
        // je to the jump after the next
        self.text.extend([0x74, 6]);
        // jmp qword ptr [rip + hook@GOTPCREL]
        self.text.extend([0xff, 0x25, 0, 0, 0, 0]);
        relocation(&mut self.text_relocations, at + 12, hook, GOT_RELATIVE, -4);
        // jmp qword ptr [r11]
        self.text.extend([0x41, 0xff, 0x23]);
        self.text.resize(at + COMMON_LEN, 0xcc);
    }

    /// Adds the addresses of the standard streams and returns their offset in the data.
    fn streams(&mut self) -> i64 {
        let at = self.data.len();
        for name in STREAMS {
            let symbol = self.symbol(name, Binding::Weak, 0, 0);
            relocation(&mut self.data_relocations, self.data.len(), symbol, ABSOLUTE, 0);
            self.data.extend([0; 8]);
        }
        at as i64
    }

    /// Returns the symbol of a function that is not among those with stubs before this one.
    fn other(&mut self, name: &[u8]) -> u32 {
        self.symbol(name, Binding::Weak, 0, 0)
    }

    fn stub(&mut self, stub: &Stub, streams: i64) {
        let others = stub.lock.as_ref().map(|lock| lock.others.clone()).unwrap_or_default();
        let others = others.map(|name| name.map(|name| self.other(&name)));
        let (code, descriptor) = (self.text.len(), self.data.len());
        self.symbol(&stub_name(&stub.name), Binding::Hidden, TEXT, code);
        let binding = if stub.weak { Binding::Weak } else { Binding::Undefined };
        let function = self.symbol(&stub.name, binding, 0, 0);
        // lea r11, [rip + descriptor]
        self.text.extend([0x4c, 0x8d, 0x1d, 0, 0, 0, 0]);
        let addend = descriptor as i64 - 4;
        relocation(&mut self.text_relocations, code + 3, DATA_SYMBOL, RELATIVE, addend);
        // jmp to the common code
        self.text.push(0xe9);
        let common = if stub.lock.is_some() { COMMON_LEN as i32 } else { 0 };
        self.text.extend((common - (code as i32 + 12)).to_le_bytes());
        self.text.resize(code + STUB_LEN, 0xcc);

        let (name, library) = (self.string(&stub.name), self.string(&stub.library));
        let relocations = &mut self.data_relocations;
        relocation(relocations, descriptor, function, ABSOLUTE, 0);
        relocation(relocations, descriptor + 8, NAMES_SYMBOL, ABSOLUTE, name);
        relocation(relocations, descriptor + 16, NAMES_SYMBOL, ABSOLUTE, library);
        if stub.class == Class::Stream {
            relocation(relocations, descriptor + 24, DATA_SYMBOL, ABSOLUTE, streams);
        }
        for (at, symbol) in [48, 56].into_iter().zip(others) {
            if let Some(symbol) = symbol {
                relocation(relocations, descriptor + at, symbol, ABSOLUTE, 0);
            }
        }
        self.data.resize(descriptor + 32, 0);
        let word = stub.lock.as_ref().map_or_else(|| stub.class.word(), LockFunction::word);
        self.data.extend(word.to_le_bytes());
        if let Class::Modelled(effects) = stub.class {
            self.data.resize(descriptor + 48, 0);
            let words = effects.map(|effect| effect.map_or(0, Effect::word));
            self.data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        self.data.resize(descriptor + DESCRIPTOR_LEN, 0);
    }
}

/// Returns the object with the stubs of these functions.
pub(super) fn object(stubs: &[Stub]) -> Vec<u8> {
    let mut parts = Parts { symbol_names: vec![0], ..Parts::default() };
    parts.symbols.extend([0; 24]);
    for section in [TEXT, DATA, NAMES] {
        parts.symbol(b"", Binding::Section, section, 0);
    }
    for hook in [HOOK, LOCK_HOOK] {
        let hook = parts.symbol(hook, Binding::Weak, 0, 0);
        parts.common_code(hook);
    }
    let streams = if stubs.iter().any(|s| s.class == Class::Stream) { parts.streams() } else { 0 };
    stubs.iter().for_each(|stub| parts.stub(stub, streams));
    parts.file()
}

/// Type, flags, link, info, alignment and entry size of a section.
struct Header(u32, u64, u32, u32, u64, u64);

impl Parts {
    fn file(self) -> Vec<u8> {
        const PROGRAM: u32 = 1;
        const SYMBOL_TABLE: u32 = 2;
        const STRINGS: u32 = 3;
        const RELOCATIONS: u32 = 4;
        const WRITE: u64 = 1;
        const ALLOCATE: u64 = 2;
        const EXECUTE: u64 = 4;
        const INFO: u64 = 0x40;
        let (frames, frame_relocations) = unwind_frames(self.text.len());
        let relocations = |of: u16| Header(RELOCATIONS, INFO, SYMBOLS.into(), of.into(), 8, 24);
        let sections: [(&str, Header, Vec<u8>); 11] = [
            (".text", Header(PROGRAM, ALLOCATE | EXECUTE, 0, 0, 16, 0), self.text),
            (".rela.text", relocations(TEXT), self.text_relocations),
            (".data", Header(PROGRAM, ALLOCATE | WRITE, 0, 0, 8, 0), self.data),
            (".rela.data", relocations(DATA), self.data_relocations),
            (".rodata", Header(PROGRAM, ALLOCATE, 0, 0, 1, 0), self.names),
            (".eh_frame", Header(PROGRAM, ALLOCATE, 0, 0, 8, 0), frames),
            (".rela.eh_frame", relocations(FRAMES), frame_relocations),
            (
                ".symtab",
                Header(SYMBOL_TABLE, 0, SYMBOL_NAMES.into(), LOCAL_SYMBOLS, 8, 24),
                self.symbols,
            ),
            (".strtab", Header(STRINGS, 0, 0, 0, 1, 0), self.symbol_names),
            (".shstrtab", Header(STRINGS, 0, 0, 0, 1, 0), Vec::new()),
            (".note.GNU-stack", Header(PROGRAM, 0, 0, 0, 1, 0), Vec::new()),
        ];
        let mut names = vec![0];
        let name_offsets: Vec<u32> = sections
            .iter()
            .map(|(name, ..)| {
                let at = names.len() as u32;
                names.extend(name.as_bytes());
                names.push(0);
                at
            })
            .collect();
        let mut out = vec![0; 64];
        let mut headers = vec![0; 64];
        for (i, (_, header, content)) in sections.iter().enumerate() {
            let content = if i + 1 == SECTION_NAMES.into() { &names } else { content };
            out.resize(out.len().next_multiple_of(16), 0);
            let Header(kind, flags, link, info, alignment, entry) = *header;
            headers.extend(name_offsets[i].to_le_bytes());
            headers.extend(kind.to_le_bytes());
            headers.extend(flags.to_le_bytes());
            headers.extend(0u64.to_le_bytes());
            headers.extend((out.len() as u64).to_le_bytes());
            headers.extend((content.len() as u64).to_le_bytes());
            headers.extend(link.to_le_bytes());
            headers.extend(info.to_le_bytes());
            headers.extend(alignment.to_le_bytes());
            headers.extend(entry.to_le_bytes());
            out.extend(content);
        }
        out.resize(out.len().next_multiple_of(16), 0);
        let table = out.len() as u64;
        out.extend(headers);
        // 64 bits, little endian, version 1; relocatable, x86-64, version 1.
        out[..24].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0\x01\0\0\0");
        out[40..48].copy_from_slice(&table.to_le_bytes());
        for (at, value) in [(52, 64), (58, 64), (60, SECTIONS), (62, SECTION_NAMES)] {
            out[at..at + 2].copy_from_slice(&u16::to_le_bytes(value));
        }
        out
    }
}

/// Returns the unwind information of the text and its relocations: the stack is as at a function's
/// first instruction everywhere.
fn unwind_frames(text_len: usize) -> (Vec<u8>, Vec<u8>) {
    let mut out = Vec::new();
    // Common entry: length, 0, version, "zR", alignment factors 1 and -8, return address in
    // register 16, addresses as relative four bytes; the frame is at rsp + 8, the return address at
    // its end.
    out.extend(20u32.to_le_bytes());
    out.extend([0, 0, 0, 0, 1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b]);
    out.extend([0x0c, 7, 8, 0x90, 1, 0, 0]);
    // Entry of the text: length, distance to the common entry, start, length, no further data.
    out.extend(16u32.to_le_bytes());
    out.extend((out.len() as u32).to_le_bytes());
    let mut relocations = Vec::new();
    relocation(&mut relocations, out.len(), TEXT_SYMBOL, RELATIVE, 0);
    out.extend([0; 4]);
    out.extend((text_len as u32).to_le_bytes());
    out.extend([0; 4]);
    (out, relocations)
}
