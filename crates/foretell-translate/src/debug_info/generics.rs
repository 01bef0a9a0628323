//! Functions around a code address: the types that functions of Rust and templates of C++ were
//! instantiated for, and where functions of Rust are declared.

use std::rc::Rc;

use gimli::{self, EntriesTreeNode, UnitOffset};

use super::types::is_rust;
use super::{DebugInfo, MAX_NESTING, NamedTypes, Section, TypeId, Unit};

/// Type for which a generic function was instantiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TypeParameter {
    pub(crate) kind: TypeId,
    /// Whether the function belongs to one of the library's types that hold many values.
    pub(crate) is_of_vector: bool,
}

/// Modules of the types that hold many values, as they are in mangled names.
const VECTOR_MODULES: [&str; 4] = ["7raw_vec", "3vec", "9vec_deque", "5slice"];

/// Most entries that describe one function.
const MOST_DECLARATIONS: usize = 4;

impl DebugInfo {
    /// Returns the type parameters of the functions of Rust around a code address, those of the
    /// innermost inlined function first.
    pub(crate) fn type_parameters(&self, pc: u64) -> Vec<TypeParameter> {
        let around = self.functions_around(pc).into_iter();
        let parameters = around.flat_map(|function| {
            let is_of_vector = self.is_of_vector(function);
            let types = self.parameters_of(function).into_iter();
            types.map(move |kind| TypeParameter { kind, is_of_vector })
        });
        parameters.collect()
    }

    /// Whether a function belongs to one of the library's types that hold many values.
    fn is_of_vector(&self, function: TypeId) -> bool {
        let linkage_name = |entry: TypeId| {
            let unit = self.unit(entry.unit)?;
            let entry = unit.entry(UnitOffset(entry.offset)).ok()?;
            self.text(&unit, &entry.attr(gimli::DW_AT_linkage_name).ok()??)
        };
        let name = self.with_declarations(function).find_map(linkage_name);
        name.is_some_and(|name| VECTOR_MODULES.iter().any(|module| name.contains(module)))
    }

    /// Returns the entries of the functions of Rust around a code address, innermost first.
    fn functions_around(&self, pc: u64) -> Vec<TypeId> {
        let function = self.index().function(pc);
        let unit = function.and_then(|function| self.unit(function.unit));
        match function.filter(|_| unit.is_some_and(|unit| is_rust(&unit))) {
            Some(function) => self.inlined_in(function, pc),
            None => Vec::new(),
        }
    }

    /// Returns the entries of the functions that are inlined in one at a code address, innermost
    /// first, and of the function itself.
    fn inlined_in(&self, function: TypeId, pc: u64) -> Vec<TypeId> {
        let found = || {
            let unit = self.unit(function.unit)?;
            let mut tree = unit.entries_tree(Some(UnitOffset(function.offset))).ok()?;
            let mut around = vec![function];
            self.add_inlined((&unit, function.unit), tree.root().ok()?, pc, &mut around, 0);
            around.reverse();
            Some(around)
        };
        found().unwrap_or_default()
    }

    /// Adds the functions that are inlined at a code address, outermost first.
    fn add_inlined(
        &self,
        (unit, number): (&Unit, usize),
        scope: EntriesTreeNode<'_, '_, '_, Section>,
        pc: u64,
        found: &mut Vec<TypeId>,
        depth: usize,
    ) {
        let mut children = scope.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let is_inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
            if !is_inlined && entry.tag() != gimli::DW_TAG_lexical_block || depth > MAX_NESTING {
                continue;
            }
            let mut holds = false;
            if let Ok(mut ranges) = self.dwarf.die_ranges(unit, entry) {
                while let Ok(Some(range)) = ranges.next() {
                    holds |= range.begin <= pc && pc < range.end;
                }
            }
            if !holds {
                continue;
            }
            if is_inlined {
                let origin = entry.attr_value(gimli::DW_AT_abstract_origin).ok().flatten();
                found.extend(origin.and_then(|origin| self.type_of(number, &origin)));
            }
            return self.add_inlined((unit, number), child, pc, found, depth + 1);
        }
    }

    /// Returns the type parameters of a function, in their order.
    fn parameters_of(&self, function: TypeId) -> Vec<TypeId> {
        let own = |entry: TypeId| {
            let unit = self.unit(entry.unit)?;
            let mut tree = unit.entries_tree(Some(UnitOffset(entry.offset))).ok()?;
            let mut children = tree.root().ok()?.children();
            let mut found = Vec::new();
            while let Ok(Some(child)) = children.next() {
                if child.entry().tag() == gimli::DW_TAG_template_type_parameter {
                    let kind = child.entry().attr_value(gimli::DW_AT_type).ok().flatten();
                    found.extend(kind.and_then(|kind| self.type_of(entry.unit, &kind)));
                }
            }
            (!found.is_empty()).then_some(found)
        };
        self.with_declarations(function).find_map(own).unwrap_or_default()
    }

    /// Returns the type that `name` stands for as a parameter of a template of C++: of the function
    /// at a code address, or of a class around it. `skipped` is the number of functions inlined
    /// there that do not count.
    pub(crate) fn template_argument(&self, pc: u64, skipped: usize, name: &str) -> Option<TypeId> {
        let known = self.template_arguments.borrow().get(&pc).cloned();
        let arguments = known.unwrap_or_else(|| {
            let found = Rc::new(self.template_arguments_at(pc, skipped));
            self.template_arguments.borrow_mut().insert(pc, found.clone());
            found
        });
        arguments.iter().find(|(parameter, _)| parameter == name).map(|&(_, kind)| kind)
    }

    /// Returns the names and types of the template parameters at a code address, innermost first.
    fn template_arguments_at(&self, pc: u64, skipped: usize) -> NamedTypes {
        // A linker may have merged instances with the same code.
        let Some(function) = self.index().only_function(pc) else { return Vec::new() };
        let around = self.inlined_in(function, pc);
        let Some(&function) = around.get(skipped) else { return Vec::new() };
        let entries = self.with_declarations(function).flat_map(|entry| self.with_scopes(entry));
        entries.flat_map(|entry| self.template_parameters(entry)).collect()
    }

    /// Returns the names and types of an entry's own template parameters.
    fn template_parameters(&self, entry: TypeId) -> NamedTypes {
        let mut found = Vec::new();
        let Some(unit) = self.unit(entry.unit) else { return found };
        let Ok(mut tree) = unit.entries_tree(Some(UnitOffset(entry.offset))) else { return found };
        let Ok(root) = tree.root() else { return found };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let child = child.entry();
            if child.tag() == gimli::DW_TAG_template_type_parameter {
                let attribute = |name| child.attr(name).ok().flatten();
                let name = attribute(gimli::DW_AT_name).and_then(|name| self.text(&unit, &name));
                let kind = attribute(gimli::DW_AT_type)
                    .and_then(|kind| self.type_of(entry.unit, &kind.value()));
                found.extend(name.zip(kind));
            }
        }
        found
    }

    /// Returns an entry and those that it is in, innermost first.
    fn with_scopes(&self, entry: TypeId) -> Vec<TypeId> {
        let mut scopes = Vec::new();
        let Some(unit) = self.unit(entry.unit) else { return scopes };
        let mut scope = None;
        while scopes.last() != Some(&entry) {
            let Ok(mut tree) = unit.entries_tree(scope) else { break };
            let Ok(root) = tree.root() else { break };
            // An entry is in the last of its scope's that begins before it.
            let mut inner = None;
            let mut children = root.children();
            while let Ok(Some(child)) = children.next() {
                let offset = child.entry().offset();
                if offset.0 > entry.offset {
                    break;
                }
                inner = Some(offset);
            }
            let Some(inner) = inner else { break };
            scopes.push(TypeId { unit: entry.unit, offset: inner.0 });
            scope = Some(inner);
        }
        scopes.reverse();
        scopes
    }

    /// Returns the line at which each function of Rust around a code address is declared, that of
    /// the innermost first.
    pub(crate) fn declaration_lines(&self, pc: u64) -> Vec<Option<u64>> {
        let own = |entry: TypeId| {
            let unit = self.unit(entry.unit)?;
            let entry = unit.entry(UnitOffset(entry.offset)).ok()?;
            entry.attr_value(gimli::DW_AT_decl_line).ok()??.udata_value()
        };
        let around = self.functions_around(pc).into_iter();
        around.map(|function| self.with_declarations(function).find_map(own)).collect()
    }

    /// Returns the entry of a function and those that it completes.
    fn with_declarations(&self, function: TypeId) -> impl Iterator<Item = TypeId> {
        let declaration = |&at: &TypeId| {
            let unit = self.unit(at.unit)?;
            let entry = unit.entry(UnitOffset(at.offset)).ok()?;
            let refers = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
            let other = refers.iter().find_map(|&name| entry.attr_value(name).ok().flatten())?;
            self.type_of(at.unit, &other)
        };
        // A damaged file may have a cycle.
        std::iter::successors(Some(function), declaration).take(MOST_DECLARATIONS)
    }
}
