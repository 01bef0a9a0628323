//! Index of the debug information of a file.

use gimli::{self, Abbreviation, Attribute, AttributeValue, EntriesRaw, Operation};
use rustc_hash::FxHashMap;

use super::types::is_rust;
use super::{DebugInfo, Section, TypeId, Unit};

/// Entries of a file by address and by name.
#[derive(Default)]
pub(super) struct Index {
    /// Address and entry of every variable with a fixed address, by address.
    pub(super) globals: Vec<(u64, TypeId)>,
    /// Offset and entry of every thread-local variable in the file's block, by offset.
    pub(super) thread_locals: Vec<(u64, TypeId)>,
    /// Start, end and entry of every piece of code of a function, by start.
    functions: Vec<(u64, u64, TypeId)>,
    /// Definitions of types by qualified name.
    pub(super) types: FxHashMap<String, Vec<TypeId>>,
    /// Types of Rust's libraries.
    pub(super) rust_library: FxHashMap<TypeId, RustLibrary>,
}

/// Part of Rust's libraries that a type belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RustLibrary {
    /// Objects of the C library, whose members have no meaning.
    Libc,
    /// Threads, locks and counters.
    Synchronisation,
    /// The rest of the standard library, with the hash tables in it.
    Other,
}

/// Attributes of one entry that the index uses.
#[derive(Default)]
struct Attributes {
    name: Option<Attribute<Section>>,
    location: Option<AttributeValue<Section>>,
    low: Option<u64>,
    high: Option<AttributeValue<Section>>,
    ranges: Option<AttributeValue<Section>>,
    declaration: bool,
}

impl Index {
    pub(super) fn of(info: &DebugInfo) -> Index {
        let mut index = Index::default();
        for number in 0..info.headers.len() {
            let header = info.headers[number].1.clone();
            // A damaged unit gives what was read of it.
            if let Ok(unit) = info.dwarf.unit(header) {
                let _ = index.add(info, number, &unit);
            }
        }
        for variables in [&mut index.globals, &mut index.thread_locals] {
            variables.sort_unstable_by_key(|&(start, entry)| (start, entry.unit, entry.offset));
            variables.dedup_by_key(|g| g.0);
        }
        index.functions.sort_unstable_by_key(|&(start, end, _)| (start, end));
        index
    }

    /// Returns the entry of the function whose code has this address.
    pub(super) fn function(&self, pc: u64) -> Option<TypeId> {
        let after = self.functions.partition_point(|&(start, _, _)| start <= pc);
        let (_, end, entry) = *self.functions.get(after.checked_sub(1)?)?;
        (pc < end).then_some(entry)
    }

    /// Returns the entry of the function whose code has this address, if no other begins there.
    pub(super) fn only_function(&self, pc: u64) -> Option<TypeId> {
        let found = self.function(pc)?;
        let after = self.functions.partition_point(|&(start, _, _)| start <= pc);
        let start = self.functions[after - 1].0;
        let before = after.checked_sub(2).map(|before| self.functions[before].0);
        (before != Some(start)).then_some(found)
    }

    /// Returns the unit whose code has this address.
    pub(super) fn unit_of(&self, pc: u64) -> Option<usize> {
        self.function(pc).map(|entry| entry.unit)
    }

    fn add(&mut self, info: &DebugInfo, number: usize, unit: &Unit) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        let is_rust = is_rust(unit);
        // Names of the namespaces and types around an entry, by depth.
        let mut scopes: Vec<String> = Vec::new();
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset().0, entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            let tag = abbreviation.tag();
            let wanted = matches!(
                tag,
                gimli::DW_TAG_variable
                    | gimli::DW_TAG_subprogram
                    | gimli::DW_TAG_namespace
                    | gimli::DW_TAG_structure_type
                    | gimli::DW_TAG_class_type
                    | gimli::DW_TAG_union_type
                    | gimli::DW_TAG_typedef
                    | gimli::DW_TAG_enumeration_type
                    | gimli::DW_TAG_base_type
            );
            let depth = usize::try_from(depth).unwrap_or(0);
            scopes.resize(depth, String::new());
            if !wanted {
                entries.skip_attributes(abbreviation.attributes())?;
                scopes.push(scopes.last().cloned().unwrap_or_default());
                continue;
            }
            let attributes = Attributes::read(info, unit, &mut entries, abbreviation)?;
            let entry = TypeId { unit: number, offset };
            let outer = scopes.last().cloned().unwrap_or_default();
            match tag {
                gimli::DW_TAG_variable => {
                    match attributes.location.and_then(|l| FixedPlace::of(info, unit, l)) {
                        Some(FixedPlace::Global(address)) => self.globals.push((address, entry)),
                        Some(FixedPlace::ThreadLocal(offset)) => {
                            self.thread_locals.push((offset, entry));
                        }
                        None => {}
                    }
                    scopes.push(outer);
                }
                gimli::DW_TAG_subprogram => {
                    attributes.ranges(info, unit, |start, end| {
                        self.functions.push((start, end, entry));
                    })?;
                    scopes.push(outer);
                }
                _ => {
                    let name = attributes.name.and_then(|name| info.text(unit, &name));
                    let full = match (&name, outer.is_empty()) {
                        (Some(name), true) => name.clone(),
                        (Some(name), false) => format!("{outer}::{name}"),
                        (None, _) => outer,
                    };
                    if is_rust && let Some(library) = RustLibrary::of(&full) {
                        self.rust_library.insert(entry, library);
                    }
                    let named = name.is_some() && tag != gimli::DW_TAG_namespace;
                    if named && !attributes.declaration {
                        self.types.entry(full.clone()).or_default().push(entry);
                    }
                    scopes.push(full);
                }
            }
        }
        Ok(())
    }
}

impl Attributes {
    fn read(
        info: &DebugInfo,
        unit: &Unit,
        entries: &mut EntriesRaw<'_, '_, Section>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<Attributes> {
        let mut found = Attributes::default();
        for &specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(specification)?;
            match attribute.name() {
                gimli::DW_AT_name => found.name = Some(attribute),
                gimli::DW_AT_location => found.location = Some(attribute.value()),
                gimli::DW_AT_low_pc => {
                    found.low = info.dwarf.attr_address(unit, attribute.value())?;
                }
                gimli::DW_AT_high_pc => found.high = Some(attribute.value()),
                gimli::DW_AT_ranges => found.ranges = Some(attribute.value()),
                gimli::DW_AT_declaration => found.declaration = true,
                _ => {}
            }
        }
        Ok(found)
    }

    /// Gives the pieces of code of the entry.
    fn ranges(
        self,
        info: &DebugInfo,
        unit: &Unit,
        mut each: impl FnMut(u64, u64),
    ) -> gimli::Result<()> {
        if let Some(ranges) = self.ranges {
            if let Some(mut ranges) = info.dwarf.attr_ranges(unit, ranges)? {
                while let Some(range) = ranges.next()? {
                    each(range.begin, range.end);
                }
            }
        } else if let (Some(low), Some(high)) = (self.low, self.high) {
            let end = match high {
                AttributeValue::Udata(size) => low.checked_add(size),
                other => info.dwarf.attr_address(unit, other)?,
            };
            if let Some(end) = end.filter(|&end| end > low) {
                each(low, end);
            }
        }
        Ok(())
    }
}

impl RustLibrary {
    /// Returns the library of a type of Rust with this qualified name.
    fn of(name: &str) -> Option<RustLibrary> {
        let path = name.split_once('<').map_or(name, |(path, _)| path);
        let (root, rest) = path.split_once("::")?;
        match root {
            "libc" => Some(RustLibrary::Libc),
            "alloc" | "core" | "std" => {
                let module = rest.split_once("::").map_or("", |(module, _)| module);
                let is_synchronisation = match root {
                    "alloc" => ["rc", "sync"].contains(&module),
                    "std" => ["sync", "sys", "thread"].contains(&module),
                    _ => false,
                };
                Some(match is_synchronisation {
                    true => RustLibrary::Synchronisation,
                    false => RustLibrary::Other,
                })
            }
            "hashbrown" => Some(RustLibrary::Other),
            _ => None,
        }
    }
}

/// Location of a variable that is the same in the whole run.
enum FixedPlace {
    /// Address in the file.
    Global(u64),
    /// Offset in the file's block of thread-local variables.
    ThreadLocal(u64),
}

impl FixedPlace {
    /// Returns the place that a location consists of.
    fn of(info: &DebugInfo, unit: &Unit, value: AttributeValue<Section>) -> Option<FixedPlace> {
        let AttributeValue::Exprloc(expression) = value else { return None };
        let mut operations = expression.operations(unit.encoding());
        let address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => info.dwarf.address(unit, index).ok()?,
            Operation::UnsignedConstant { value } => value,
            Operation::ConstantIndex { index } => info.dwarf.address(unit, index).ok()?,
            _ => return None,
        };
        match operations.next().ok()? {
            None => Some(FixedPlace::Global(address)),
            Some(Operation::TLS) if operations.next().ok()?.is_none() => {
                Some(FixedPlace::ThreadLocal(address))
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_rust_belong_to_libraries() {
        use RustLibrary::*;
        for (name, library) in [
            ("alloc::sync::ArcInner<app::Bank>", Some(Synchronisation)),
            ("alloc::vec::Vec<app::Job, alloc::alloc::Global>", Some(Other)),
            ("core::cell::UnsafeCell<u8>", Some(Other)),
            ("libc::unix::pthread_mutex_t", Some(Libc)),
            ("app::sync::Queue", None),
            ("Queue", None),
        ] {
            assert_eq!(RustLibrary::of(name), library, "{name}");
        }
    }
}
