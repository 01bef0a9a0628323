//! Types of variables.

use std::rc::Rc;

use gimli::{self, AttributeValue, Operation, UnitOffset};

use super::{DebugInfo, Section, TypeId, Unit};

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

    /// Returns the name of a type, without namespaces.
    pub(crate) fn name_of_type(&self, id: TypeId) -> Option<String> {
        let unit = self.unit(id.unit)?;
        let entry = unit.entry(UnitOffset(id.offset)).ok()?;
        let name = entry.attr(gimli::DW_AT_name).ok()??;
        self.text(&unit, &name)
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
            let entry = child.entry();
            let is_base = entry.tag() == gimli::DW_TAG_inheritance;
            let attribute = |name| entry.attr_value(name).ok().flatten();
            // Static members are variables of their own.
            if !is_base && entry.tag() != gimli::DW_TAG_member
                || attribute(gimli::DW_AT_external).is_some()
                || attribute(gimli::DW_AT_declaration).is_some()
            {
                continue;
            }
            let Some(target) = attribute(gimli::DW_AT_type) else { continue };
            let Some(target) = self.type_of(id.unit, &target) else { continue };
            let start = match attribute(gimli::DW_AT_data_member_location) {
                None => Some(0),
                Some(AttributeValue::Exprloc(expression)) => {
                    // A virtual base has a longer expression.
                    let mut operations = expression.operations(unit.encoding());
                    match (operations.next(), operations.next()) {
                        (Ok(Some(Operation::PlusConstant { value })), Ok(None)) => Some(value),
                        _ => None,
                    }
                }
                Some(value) => value.udata_value(),
            };
            let Some(start) = start else { continue };
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
            let is_bit_field = bits.is_some();
            members.push(Member { name, offset, size: member_size, target, is_bit_field });
        }
        Some(Aggregate { size, members })
    }
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
