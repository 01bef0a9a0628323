//! Types of variables.

use std::path::PathBuf;
use std::rc::Rc;

use gimli::{self, AttributeValue, Operation, Reader, UnitOffset};

use super::index::RustLibrary;
use super::{DebugInfo, Section, TypeId, Unit};
use crate::rust_types::is_counted;

/// Entry of a unit.
type Entry<'u, 'a> = gimli::DebuggingInformationEntry<'u, 'a, Section>;

/// Type of a variable, as far as names and values need it.
#[derive(Debug)]
pub(super) enum Type {
    Scalar { size: u64, format: Option<String> },
    Aggregate(Aggregate),
    Array { element: TypeId, element_size: u64, count: Option<u64> },
    Unknown,
}

/// A structure, class or union.
#[derive(Debug)]
pub(super) struct Aggregate {
    pub(super) size: u64,
    pub(super) members: Vec<Member>,
    /// Library of Rust that it belongs to, if it does.
    pub(super) rust_library: Option<RustLibrary>,
}

/// Member of an aggregate, or one of its base classes.
#[derive(Debug)]
pub(super) struct Member {
    /// Name; none for a base class and for an anonymous structure or union.
    pub(super) name: Option<String>,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) target: TypeId,
    pub(super) is_bit_field: bool,
    /// Format of its values, if its type does not say it: the variants behind a discriminant.
    pub(super) format: Option<String>,
}

impl DebugInfo {
    /// Returns a type without the typedefs and qualifiers around it.
    pub(super) fn parsed_type(&self, id: TypeId) -> Rc<Type> {
        if let Some(known) = self.types.borrow().get(&id) {
            return known.clone();
        }
        // Types that refer to themselves end at the placeholder.
        self.types.borrow_mut().insert(id, Rc::new(Type::Unknown));
        let parsed = self.parse(id).unwrap_or_else(|| Rc::new(Type::Unknown));
        self.types.borrow_mut().insert(id, parsed.clone());
        parsed
    }

    /// Returns the size of a type, if it is known.
    pub(crate) fn size_of(&self, id: TypeId) -> Option<u64> {
        match &*self.parsed_type(id) {
            Type::Scalar { size, .. } => Some(*size),
            Type::Aggregate(aggregate) => Some(aggregate.size),
            Type::Array { element_size, count, .. } => {
                count.map(|n| n.saturating_mul(*element_size))
            }
            Type::Unknown => None,
        }
    }

    /// Returns the name of a type, without namespaces; that of an array is `[T]`.
    pub(crate) fn name_of_type(&self, id: TypeId) -> Option<String> {
        let unit = self.unit(id.unit)?;
        let entry = unit.entry(UnitOffset(id.offset)).ok()?;
        if entry.tag() == gimli::DW_TAG_array_type {
            let element = self.type_of(id.unit, &entry.attr_value(gimli::DW_AT_type).ok()??)?;
            return Some(format!("[{}]", self.name_of_type(element)?));
        }
        let name = entry.attr(gimli::DW_AT_name).ok()??;
        self.text(&unit, &name)
    }

    /// Returns the path of the file and the line in which a type is defined.
    pub(crate) fn definition_of(&self, id: TypeId) -> Option<(String, u32)> {
        let unit = self.unit(id.unit)?;
        let entry = unit.entry(UnitOffset(id.offset)).ok()?;
        let line = entry.attr_value(gimli::DW_AT_decl_line).ok()??.udata_value()?;
        let number = match entry.attr_value(gimli::DW_AT_decl_file).ok()?? {
            AttributeValue::FileIndex(number) => number,
            value => value.udata_value()?,
        };
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(number)?;
        let text = |value| self.dwarf.attr_string(&unit, value).ok();
        let mut path = PathBuf::new();
        if let Some(directory) = &unit.comp_dir {
            path.push(&*directory.to_string_lossy().ok()?);
        }
        // The first directory is that of the compilation.
        if file.directory_index() != 0 {
            path.push(&*text(file.directory(header)?)?.to_string_lossy().ok()?);
        }
        path.push(&*text(file.path_name())?.to_string_lossy().ok()?);
        Some((path.to_str()?.to_owned(), line.try_into().ok()?))
    }

    /// Returns the library of Rust that a type belongs to, if it does.
    fn rust_library(&self, id: TypeId) -> Option<RustLibrary> {
        self.index().rust_library.get(&id).copied()
    }

    /// Whether a type, or what it counts the references of, is one that Rust's library has for
    /// threads and locks.
    pub(crate) fn is_synchronisation(&self, id: TypeId) -> bool {
        if self.rust_library(id) != Some(RustLibrary::Synchronisation) {
            return false;
        }
        match &*self.parsed_type(id) {
            Type::Aggregate(aggregate) => {
                let value = aggregate.members.iter().find(|m| m.name.as_deref() == Some("data"));
                let is_counted = self.name_of_type(id).is_some_and(|name| is_counted(&name));
                value.filter(|_| is_counted).is_none_or(|m| self.is_synchronisation(m.target))
            }
            _ => true,
        }
    }

    /// Returns the type that a pointer type points to.
    pub(crate) fn pointee(&self, id: TypeId) -> Option<TypeId> {
        let mut id = id;
        for _ in 0..super::MAX_NESTING {
            let unit = self.unit(id.unit)?;
            let entry = unit.entry(UnitOffset(id.offset)).ok()?;
            let target = entry.attr_value(gimli::DW_AT_type).ok()?;
            let target = target.and_then(|t| self.type_of(id.unit, &t))?;
            if entry.tag() == gimli::DW_TAG_pointer_type {
                return Some(target);
            }
            id = target;
        }
        None
    }

    fn parse(&self, id: TypeId) -> Option<Rc<Type>> {
        let unit = self.unit(id.unit)?;
        let entry = unit.entry(UnitOffset(id.offset)).ok()?;
        let attribute = |name| entry.attr_value(name).ok().flatten();
        let target = attribute(gimli::DW_AT_type).and_then(|t| self.type_of(id.unit, &t));
        let size = attribute(gimli::DW_AT_byte_size).and_then(|size| size.udata_value());
        Some(match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => return Some(self.parsed_type(target?)),
            gimli::DW_TAG_base_type => {
                let encoding = match attribute(gimli::DW_AT_encoding) {
                    Some(AttributeValue::Encoding(encoding)) => Some(encoding),
                    _ => None,
                };
                Rc::new(Type::Scalar { size: size?, format: base_format(encoding, size?) })
            }
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type
            | gimli::DW_TAG_unspecified_type => {
                let size = size.unwrap_or(u64::from(unit.encoding().address_size));
                Rc::new(Type::Scalar { size, format: Some("pointer".to_owned()) })
            }
            gimli::DW_TAG_enumeration_type => {
                let format = self.enumerators(&unit, id);
                Rc::new(Type::Scalar { size: size?, format })
            }
            gimli::DW_TAG_array_type => self.array(&unit, id, target?)?,
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                match size {
                    Some(size) if self.rust_library(id) == Some(RustLibrary::Libc) => {
                        Rc::new(Type::Scalar { size, format: None })
                    }
                    Some(size) => Rc::new(Type::Aggregate(self.aggregate(&unit, id, size)?)),
                    None => {
                        // The definition is in another unit.
                        let name = entry.attr(gimli::DW_AT_name).ok()??;
                        let name = self.text(&unit, &name)?;
                        let named =
                            self.index().types.get(&name).filter(|named| named.len() == 1)?;
                        return Some(self.parsed_type(named[0]));
                    }
                }
            }
            _ => return None,
        })
    }

    /// Returns the format `enum A=0 B=1` of an enumeration.
    fn enumerators(&self, unit: &Unit, id: TypeId) -> Option<String> {
        /// Enumerations with more constants show numbers.
        const MOST: usize = 200;
        let mut tree = unit.entries_tree(Some(UnitOffset(id.offset))).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut format = "enum".to_owned();
        let mut count = 0;
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let name = entry.attr(gimli::DW_AT_name).ok()??;
            let value = entry.attr(gimli::DW_AT_const_value).ok()??;
            let value = value.sdata_value().or_else(|| value.udata_value().map(|v| v as i64))?;
            format.push_str(&format!(" {}={value}", self.text(unit, &name)?));
            count += 1;
        }
        (1..=MOST).contains(&count).then_some(format)
    }

    fn array(&self, unit: &Unit, id: TypeId, element: TypeId) -> Option<Rc<Type>> {
        let mut tree = unit.entries_tree(Some(UnitOffset(id.offset))).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut counts = Vec::new();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_subrange_type {
                continue;
            }
            let number = |name| {
                let value: Option<AttributeValue<Section>> = entry.attr_value(name).ok().flatten();
                value.and_then(|value| value.udata_value())
            };
            let bound = number(gimli::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
            counts.push(number(gimli::DW_AT_count).or(bound));
        }
        let element_size = self.size_of(element).filter(|&size| size > 0)?;
        // An element of the first dimension is an array of the others.
        let inner = counts.get(1..).unwrap_or_default().iter().copied();
        let element_size = inner.clone().try_fold(element_size, |size, n| size.checked_mul(n?))?;
        if counts.len() > 1 {
            return Some(Rc::new(self.rows(element, element_size, &counts)?));
        }
        let count = counts.first().copied().flatten();
        Some(Rc::new(Type::Array { element, element_size, count }))
    }

    /// Returns an array of several dimensions. Its rows have no entry of their own; they get a
    /// number beyond every entry of the unit.
    fn rows(&self, element: TypeId, row_size: u64, counts: &[Option<u64>]) -> Option<Type> {
        let (&count, inner) = counts.split_first()?;
        let own_size = self.size_of(element)?;
        let sizes = inner.get(1..).unwrap_or_default().iter().copied();
        let inner_size = sizes.clone().try_fold(own_size, |size, n| size.checked_mul(n?))?;
        let inner_type = match inner {
            [count] => Type::Array { element, element_size: own_size, count: *count },
            _ => self.rows(element, inner_size, inner)?,
        };
        let mut types = self.types.borrow_mut();
        let row = TypeId { unit: usize::MAX, offset: types.len() };
        types.insert(row, Rc::new(inner_type));
        Some(Type::Array { element: row, element_size: row_size, count })
    }

    fn aggregate(&self, unit: &Unit, id: TypeId, size: u64) -> Option<Aggregate> {
        let mut members = Vec::new();
        let mut tree = unit.entries_tree(Some(UnitOffset(id.offset))).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            match child.entry().tag() {
                gimli::DW_TAG_variant_part => {
                    self.variants(unit, (id.unit, size), child, &mut members);
                }
                _ => members.extend(self.member_of(unit, (id.unit, size), child.entry())),
            }
        }
        Some(Aggregate { size, members, rust_library: self.rust_library(id) })
    }

    /// Returns the member or base class that an entry of an aggregate of `size` bytes describes.
    fn member_of(
        &self,
        unit: &Unit,
        (number, size): (usize, u64),
        entry: &Entry<'_, '_>,
    ) -> Option<Member> {
        let is_base = entry.tag() == gimli::DW_TAG_inheritance;
        let attribute = |name| entry.attr_value(name).ok().flatten();
        // Static members are variables of their own.
        if !is_base && entry.tag() != gimli::DW_TAG_member
            || attribute(gimli::DW_AT_external).is_some()
            || attribute(gimli::DW_AT_declaration).is_some()
        {
            return None;
        }
        let target = self.type_of(number, &attribute(gimli::DW_AT_type)?)?;
        let start = match attribute(gimli::DW_AT_data_member_location) {
            None => 0,
            Some(AttributeValue::Exprloc(expression)) => {
                // A virtual base has a longer expression.
                let mut operations = expression.operations(unit.encoding());
                match (operations.next(), operations.next()) {
                    (Ok(Some(Operation::PlusConstant { value })), Ok(None)) => value,
                    _ => return None,
                }
            }
            Some(value) => value.udata_value()?,
        };
        let number = |name| attribute(name).and_then(|value| value.udata_value());
        let bits = number(gimli::DW_AT_bit_size);
        let own_size = self.size_of(target);
        let (offset, member_size) = match (bits, number(gimli::DW_AT_data_bit_offset)) {
            (Some(bits), Some(first)) => {
                let first = start.saturating_mul(8).saturating_add(first);
                (first / 8, (first % 8 + bits).div_ceil(8))
            }
            // DWARF 3: the storage unit of the field.
            (Some(_), None) => (start, number(gimli::DW_AT_byte_size).or(own_size)?),
            (None, _) => (start, own_size.unwrap_or(size.saturating_sub(start))),
        };
        let name = entry.attr(gimli::DW_AT_name).ok().flatten();
        let name = name.and_then(|name| self.text(unit, &name)).filter(|_| !is_base);
        let name = name.map(|name| match tuple_field(&name) {
            Some(field) if is_rust(unit) => field.to_owned(),
            _ => name,
        });
        let is_bit_field = bits.is_some();
        Some(Member { name, offset, size: member_size, target, is_bit_field, format: None })
    }

    /// Adds the discriminant and the variants of an enumeration of Rust as members.
    fn variants(
        &self,
        unit: &Unit,
        (number, size): (usize, u64),
        part: gimli::EntriesTreeNode<'_, '_, '_, Section>,
        members: &mut Vec<Member>,
    ) {
        let mut discriminant = None;
        let mut format = "enum".to_owned();
        let mut children = part.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_member {
                discriminant = self.member_of(unit, (number, size), entry);
                continue;
            }
            let value = entry.attr(gimli::DW_AT_discr_value).ok().flatten();
            let value = value.and_then(|value| {
                value.sdata_value().or_else(|| value.udata_value().map(|v| v as i64))
            });
            let mut variant = child.children();
            while let Ok(Some(child)) = variant.next() {
                let member = self.member_of(unit, (number, size), child.entry());
                if let Some((name, value)) =
                    member.as_ref().and_then(|m| m.name.as_ref()).zip(value)
                {
                    format.push_str(&format!(" {name}={value}"));
                }
                // A variant without fields is the discriminant alone.
                members.extend(member.filter(|m| !self.is_empty(m.target)));
            }
        }
        if let Some(discriminant) = discriminant {
            let name = Some("discriminant".to_owned());
            let format = format.contains('=').then_some(format);
            members.push(Member { name, format, ..discriminant });
        }
    }

    fn is_empty(&self, id: TypeId) -> bool {
        matches!(&*self.parsed_type(id), Type::Aggregate(aggregate) if aggregate.members.is_empty())
    }
}

/// Whether a unit was compiled from Rust.
pub(super) fn is_rust(unit: &Unit) -> bool {
    let language = || {
        let mut tree = unit.entries_tree(None).ok()?;
        let root = tree.root().ok()?;
        root.entry().attr_value(gimli::DW_AT_language).ok()?
    };
    language() == Some(AttributeValue::Language(gimli::DW_LANG_Rust))
}

/// Returns the number of a field of a tuple, which debug information calls `__0`.
fn tuple_field(name: &str) -> Option<&str> {
    let number = name.strip_prefix("__")?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(number)
}

/// Returns the format of a base type's values; none: signed integers.
fn base_format(encoding: Option<gimli::DwAte>, size: u64) -> Option<String> {
    let format = match encoding? {
        gimli::DW_ATE_boolean => "bool".to_owned(),
        gimli::DW_ATE_signed_char | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF
            if size == 1 =>
        {
            "char".to_owned()
        }
        gimli::DW_ATE_float if size == 4 => "float".to_owned(),
        gimli::DW_ATE_float if size == 8 => "double".to_owned(),
        gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF => {
            format!("unsigned {size}")
        }
        _ => return None,
    };
    Some(format)
}
