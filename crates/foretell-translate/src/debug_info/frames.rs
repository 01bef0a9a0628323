//! Local variables: which variable of a function is at an address of its frame.

use gimli::{
    self, AttributeValue, BaseAddresses, CfaRule, EhFrame, Operation, UnitOffset, UnwindContext,
    UnwindSection,
};
use object::{Object, ObjectSection};

use super::{DebugInfo, Section, TypeId, Unit};

/// Registers of x86-64 in DWARF.
const RBP: gimli::Register = gimli::Register(6);
const RSP: gimli::Register = gimli::Register(7);

/// Frame of a function that a thread has entered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LoggedFrame {
    /// Code address in the function, after its prologue.
    pub(crate) pc: u64,
    /// Stack pointer at that address.
    pub(crate) sp: u64,
    /// Frame pointer at that address, if it is one.
    pub(crate) fp: u64,
}

/// Table of canonical frame addresses of a file.
pub(super) struct UnwindTable {
    frames: EhFrame<Section>,
    bases: BaseAddresses,
}

impl UnwindTable {
    pub(super) fn new<'d>(file: &impl Object<'d>, section: Section) -> Option<UnwindTable> {
        let address = |name| file.section_by_name(name).map(|s| s.address());
        let mut bases = BaseAddresses::default().set_eh_frame(address(".eh_frame")?);
        if let Some(text) = address(".text") {
            bases = bases.set_text(text);
        }
        Some(UnwindTable { frames: EhFrame::from(section), bases })
    }

    /// Returns the canonical frame address of a frame.
    fn frame_address(&self, frame: LoggedFrame) -> Option<u64> {
        let mut context = UnwindContext::new();
        let row = self.frames.unwind_info_for_address(
            &self.bases,
            &mut context,
            frame.pc,
            EhFrame::cie_from_offset,
        );
        match *row.ok()?.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                frame.register(register)?.checked_add_signed(offset)
            }
            CfaRule::Expression(_) => None,
        }
    }
}

impl LoggedFrame {
    fn register(self, register: gimli::Register) -> Option<u64> {
        match register {
            RBP if self.fp != 0 => Some(self.fp),
            RSP => Some(self.sp),
            _ => None,
        }
    }
}

/// A local variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) kind: TypeId,
    /// Offset of the address in the variable.
    pub(crate) offset: u64,
}

/// Search for the variables at an address.
struct Search<'i> {
    info: &'i DebugInfo,
    unit: &'i Unit,
    number: usize,
    frame_base: u64,
    frame_address: u64,
    addr: u64,
    /// The variables there.
    found: Vec<Local>,
}

impl DebugInfo {
    /// Returns the canonical frame address of a frame, whose code addresses are those of the file.
    fn frame_address(&self, frame: LoggedFrame) -> Option<u64> {
        self.unwind.as_ref()?.frame_address(frame)
    }

    /// Returns the type of the variable or parameter with this name in the function at `pc`, or of
    /// the unit's global, if all that have the name are of one type.
    pub(crate) fn type_of_local(&self, pc: u64, name: &str) -> Option<TypeId> {
        let function = self.index().function(pc)?;
        let unit = self.unit(function.unit)?;
        let mut tree = unit.entries_tree(Some(UnitOffset(function.offset))).ok()?;
        let mut kinds = Vec::new();
        self.types_named(&unit, tree.root().ok()?, (function.unit, name), &mut kinds, 0);
        if kinds.is_empty() {
            let mut tree = unit.entries_tree(None).ok()?;
            self.types_named(&unit, tree.root().ok()?, (function.unit, name), &mut kinds, 0);
        }
        kinds.dedup();
        if kinds.len() == 1 { kinds.pop() } else { None }
    }

    /// Adds the types of the variables with a name in a scope.
    fn types_named(
        &self,
        unit: &Unit,
        scope: gimli::EntriesTreeNode<'_, '_, '_, Section>,
        (number, name): (usize, &str),
        kinds: &mut Vec<TypeId>,
        depth: usize,
    ) {
        let mut children = scope.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let own = entry.attr(gimli::DW_AT_name).ok().flatten();
                    if own.and_then(|own| self.text(unit, &own)).as_deref() == Some(name) {
                        let variable = TypeId { unit: number, offset: entry.offset().0 };
                        kinds.extend(self.declared_type(variable));
                    }
                }
                gimli::DW_TAG_lexical_block if depth < super::MAX_NESTING => {
                    self.types_named(unit, child, (number, name), kinds, depth + 1);
                }
                _ => {}
            }
        }
    }

    /// Returns the local variable of a frame that has an address; none if there is none, or if
    /// variables of different scopes may have it.
    pub(crate) fn local(&self, frame: LoggedFrame, addr: u64) -> Option<Local> {
        let frame_address = self.frame_address(frame)?;
        let function = self.index().function(frame.pc)?;
        let unit = self.unit(function.unit)?;
        let mut tree = unit.entries_tree(Some(UnitOffset(function.offset))).ok()?;
        let root = tree.root().ok()?;
        let base = root.entry().attr_value(gimli::DW_AT_frame_base).ok()??;
        let AttributeValue::Exprloc(base) = base else { return None };
        let mut operations = base.operations(unit.encoding());
        let frame_base = match operations.next().ok()?? {
            Operation::CallFrameCFA => frame_address,
            Operation::Register { register } => frame.register(register)?,
            _ => return None,
        };
        let mut search = Search {
            info: self,
            unit: &unit,
            number: function.unit,
            frame_base,
            frame_address,
            addr,
            found: Vec::new(),
        };
        search.scope(root, 0);
        let mut found = search.found;
        found.dedup();
        if found.len() == 1 { found.pop() } else { None }
    }
}

impl Search<'_> {
    fn scope(&mut self, node: gimli::EntriesTreeNode<'_, '_, '_, Section>, depth: usize) {
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            match entry.tag() {
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => self.variable(entry),
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine
                    if depth < super::MAX_NESTING =>
                {
                    self.scope(child, depth + 1);
                }
                _ => {}
            }
        }
    }

    fn variable(&mut self, entry: &gimli::DebuggingInformationEntry<'_, '_, Section>) {
        let Ok(Some(location)) = entry.attr_value(gimli::DW_AT_location) else { return };
        let mut starts = Vec::new();
        if let AttributeValue::Exprloc(expression) = &location {
            starts.extend(self.start(expression.clone()));
        } else if let Ok(Some(mut list)) = self.info.dwarf.attr_locations(self.unit, location) {
            while let Ok(Some(part)) = list.next() {
                starts.extend(self.start(part.data));
            }
        }
        let variable = TypeId { unit: self.number, offset: entry.offset().0 };
        for start in starts {
            let Some(offset) = self.addr.checked_sub(start) else { continue };
            let Some(kind) = self.info.declared_type(variable) else { continue };
            let size = self.info.size_of(kind).unwrap_or(0);
            if offset < size
                && let Some(name) = self.name(variable)
            {
                self.found.push(Local { name, kind, offset });
            }
        }
    }

    /// Returns the address of a variable that is in the frame as a whole.
    fn start(&self, expression: gimli::Expression<Section>) -> Option<u64> {
        let mut operations = expression.operations(self.unit.encoding());
        let start = match operations.next().ok()?? {
            Operation::FrameOffset { offset } => self.frame_base.checked_add_signed(offset)?,
            Operation::CallFrameCFA => match operations.next().ok()?? {
                Operation::PlusConstant { value } => self.frame_address.checked_add(value)?,
                _ => return None,
            },
            _ => return None,
        };
        operations.next().ok()?.is_none().then_some(start)
    }

    /// Returns the name of a variable, or of the one of which it is an inlined instance.
    fn name(&self, variable: TypeId) -> Option<String> {
        let mut at = variable;
        for _ in 0..4 {
            let unit = self.info.unit(at.unit)?;
            let entry = unit.entry(UnitOffset(at.offset)).ok()?;
            if let Some(name) = entry.attr(gimli::DW_AT_name).ok()? {
                return self.info.text(&unit, &name);
            }
            let origin = entry.attr_value(gimli::DW_AT_abstract_origin).ok()??;
            at = self.info.type_of(at.unit, &origin)?;
        }
        None
    }
}
