//! Debug information of a file (DWARF 4 and 5): the variables and types behind addresses.
//!
//! The sections are read when the first variable of the file needs a name, and indexed in one pass
//! over the entries: variables with a fixed address, functions, and types by name. Types are parsed
//! when a variable of them appears. Split and compressed-by-`dwz` debug information, and type units
//! (`-fdebug-types-section`), are not read: their variables keep the names that the symbol table
//! gives.

mod frames;
mod generics;
mod index;
mod path;
mod types;

use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::rc::Rc;

use gimli::{
    self, Attribute, AttributeValue, EndianRcSlice, LittleEndian, Reader, UnitHeader, UnitOffset,
};
use object::{Object, ObjectSection, ReadCache};
use rustc_hash::FxHashMap;

pub(crate) use frames::LoggedFrame;
use frames::UnwindTable;
pub(crate) use generics::TypeParameter;
use index::Index;
pub(crate) use path::{Place, Whole};
use types::Type;

/// Bytes of a section.
type Section = EndianRcSlice<LittleEndian>;
type Dwarf = gimli::Dwarf<Section>;
type Unit = gimli::Unit<Section>;

/// Deepest nesting of types that is followed; a damaged file may have a cycle.
const MAX_NESTING: usize = 64;

/// Types by names of template parameters.
type NamedTypes = Vec<(String, TypeId)>;

/// A type, by its unit and the position of its entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TypeId {
    unit: usize,
    offset: usize,
}

/// Debug information of one file.
pub(crate) struct DebugInfo {
    dwarf: Dwarf,
    /// Start of each unit in the section, and its header, by start.
    headers: Vec<(usize, UnitHeader<Section>)>,
    units: RefCell<FxHashMap<usize, Option<Rc<Unit>>>>,
    types: RefCell<FxHashMap<TypeId, Rc<Type>>>,
    /// Names and types of the template parameters at code addresses, innermost first.
    template_arguments: RefCell<FxHashMap<u64, Rc<NamedTypes>>>,
    index: OnceCell<Index>,
    unwind: Option<UnwindTable>,
}

impl DebugInfo {
    /// Reads the debug information of a file, if it has any.
    pub(crate) fn read(path: &str) -> Option<DebugInfo> {
        let cache = ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        if !file.is_little_endian() || file.section_by_name(".debug_info").is_none() {
            return None;
        }
        let section = |name: &str| -> Section {
            let data = file.section_by_name(name).and_then(|s| s.uncompressed_data().ok());
            EndianRcSlice::new(Rc::from(data.as_deref().unwrap_or_default()), LittleEndian)
        };
        let dwarf = Dwarf::load(|id| Ok::<_, gimli::Error>(section(id.name()))).ok()?;
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let gimli::UnitSectionOffset::DebugInfoOffset(start) = header.offset() {
                headers.push((start.0, header));
            }
        }
        let unwind = UnwindTable::new(&file, section(".eh_frame"));
        Some(DebugInfo {
            dwarf,
            headers,
            units: RefCell::default(),
            types: RefCell::default(),
            template_arguments: RefCell::default(),
            index: OnceCell::new(),
            unwind,
        })
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self))
    }

    /// Returns a unit by its number.
    fn unit(&self, number: usize) -> Option<Rc<Unit>> {
        if let Some(known) = self.units.borrow().get(&number) {
            return known.clone();
        }
        let header = self.headers.get(number).map(|(_, header)| header.clone());
        let unit = header.and_then(|header| self.dwarf.unit(header).ok()).map(Rc::new);
        self.units.borrow_mut().insert(number, unit.clone());
        unit
    }

    /// Returns the type that an attribute refers to.
    fn type_of(&self, unit: usize, value: &AttributeValue<Section>) -> Option<TypeId> {
        match *value {
            AttributeValue::UnitRef(offset) => Some(TypeId { unit, offset: offset.0 }),
            AttributeValue::DebugInfoRef(at) => {
                let unit = self.headers.partition_point(|h| h.0 <= at.0).checked_sub(1)?;
                Some(TypeId { unit, offset: at.0 - self.headers[unit].0 })
            }
            _ => None,
        }
    }

    /// Returns the text of an attribute.
    fn text(&self, unit: &Unit, attribute: &Attribute<Section>) -> Option<String> {
        let text = self.dwarf.attr_string(unit, attribute.value()).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    /// Returns the type of the variable that starts at an address of the file.
    pub(crate) fn type_of_global(&self, start: u64) -> Option<TypeId> {
        self.type_at(&self.index().globals, start)
    }

    /// Returns the type of the thread-local variable that starts at an offset of the file's block.
    pub(crate) fn type_of_thread_local(&self, start: u64) -> Option<TypeId> {
        self.type_at(&self.index().thread_locals, start)
    }

    /// Returns the type of the variable at `start`.
    fn type_at(&self, variables: &[(u64, TypeId)], start: u64) -> Option<TypeId> {
        let found = variables.binary_search_by_key(&start, |&(start, _)| start).ok()?;
        self.declared_type(variables[found].1)
    }

    /// Returns the type with this qualified name. Where units have different ones, that of the
    /// function at `pc` counts.
    pub(crate) fn type_named(&self, name: &str, pc: u64) -> Option<TypeId> {
        let index = self.index();
        let named = index.types.get(name)?;
        let here = index.unit_of(pc);
        match named.iter().find(|t| Some(t.unit) == here) {
            Some(&own) => Some(own),
            None => named.first().copied().filter(|_| named.len() == 1 || is_qualified(name)),
        }
    }

    /// Returns the type of the variable whose entry is given, or of the entry that it completes.
    fn declared_type(&self, variable: TypeId) -> Option<TypeId> {
        let unit = self.unit(variable.unit)?;
        let entry = unit.entry(UnitOffset(variable.offset)).ok()?;
        if let Some(value) = entry.attr_value(gimli::DW_AT_type).ok()? {
            return self.type_of(variable.unit, &value);
        }
        for refers in [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin] {
            if let Some(value) = entry.attr_value(refers).ok()? {
                let other = self.type_of(variable.unit, &value)?;
                let unit = self.unit(other.unit)?;
                let entry = unit.entry(UnitOffset(other.offset)).ok()?;
                let value = entry.attr_value(gimli::DW_AT_type).ok()??;
                return self.type_of(other.unit, &value);
            }
        }
        None
    }
}

/// Whether a name is in a C++ namespace or class: such types are the same in every unit.
fn is_qualified(name: &str) -> bool {
    name.contains("::")
}
