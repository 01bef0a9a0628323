//! Variables of a native trace: shared cells of memory, and what is known of their contents.

use foretell_trace::{INTERNAL, LockId, TraceBuilder, VALUE_FORMAT, ValueId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::access_cache::AccessCache;
use super::elision_gaps::ElisionGaps;
use super::{Access, EventWriter};
use crate::debug_info::Whole;
use crate::failed_rmw;
use crate::native::benign;
use crate::native::cells::{Cell, words};
use crate::native::context::Part;
use crate::native::hidden::Object;
use crate::native::names::{Addressed, MemoryNames};
use crate::native::regions::{RegionId, Regions};

/// Content of a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Never written; the value that was read, if one was.
    Initial(Option<i64>),
    Known(i64),
    Unknown,
}

/// A variable of the trace.
pub(super) struct Variable {
    pub(super) id: VarId,
    pub(super) addr: u64,
    pub(super) len: u64,
    pub(super) content: Content,
    pub(super) opaque: bool,
    /// The value used last, with its identifier in the trace.
    pub(super) value: Option<(i64, ValueId)>,
    /// The elision gap before all accesses to the variable; see [`super::elision_gaps`].
    pub(super) gap: Option<u32>,
    /// The object whose hidden state accesses to the variable use.
    pub(super) hidden: Option<Object>,
    /// The lock around failed updates of the variable, if it has any.
    pub(super) failed_update_lock: Option<LockId>,
    /// Whether its accesses are atomic because of an annotation.
    pub(super) benign: bool,
}

impl Variable {
    /// Notes a read of `seen`. Returns false if no write explains it and the variable becomes
    /// opaque.
    #[inline]
    fn explains(&mut self, seen: i64) -> bool {
        let explained = match self.content {
            Content::Initial(first) => {
                self.content = Content::Initial(Some(first.unwrap_or(seen)));
                first.is_none_or(|first| first == seen)
            }
            Content::Known(value) => value == seen,
            Content::Unknown => true,
        };
        let opaque_before = self.opaque;
        self.opaque |= !explained;
        explained || opaque_before
    }

    /// Notes a plain access. Returns false if the variable becomes opaque.
    #[inline]
    pub(super) fn apply_plain(&mut self, writes: bool, value: i64) -> bool {
        if writes {
            self.content = Content::Known(value);
            return true;
        }
        self.explains(value)
    }
}

/// The variables of a trace so far.
pub(super) struct Variables {
    list: Vec<Variable>,
    by_cell: FxHashMap<Cell, u32>,
    pub(super) cache: AccessCache,
    names: MemoryNames,
    /// Bytes with failed updates.
    failed_updates: FxHashSet<(RegionId, u64)>,
    /// Words that code which is not recorded writes.
    hidden_words: FxHashMap<(RegionId, u64), Object>,
    /// Bytes on which races are meant to be.
    benign: benign::Bytes,
}

impl Variables {
    pub(super) fn new(
        failed_updates: FxHashSet<(RegionId, u64)>,
        hidden_words: FxHashMap<(RegionId, u64), Object>,
        benign: benign::Bytes,
    ) -> Variables {
        Variables {
            list: Vec::new(),
            by_cell: FxHashMap::default(),
            cache: AccessCache::default(),
            names: MemoryNames::default(),
            failed_updates,
            hidden_words,
            benign,
        }
    }

    pub(super) fn get(&self, index: u32) -> Option<&Variable> {
        self.list.get(index as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Variable> {
        self.list.get_mut(index as usize)
    }

    /// Returns the index of a cell's variable, which is new if the cell has none.
    pub(super) fn of_cell(
        &mut self,
        out: &mut EventWriter,
        regions: &Regions,
        gaps: &ElisionGaps,
        cell: Cell,
    ) -> u32 {
        if let Some(&variable) = self.by_cell.get(&cell) {
            return variable;
        }
        let Cell { region, addr, len } = cell;
        let object = Addressed { region, addr, whole: Whole::Bytes(len) };
        let base = self.names.base(regions, &mut out.locations, object);
        let builder = &mut out.trace.builder;
        let (id, name) = self.names.names.unique_in(base.name, |name| {
            let before = builder.trace().variable_count();
            (builder.variable(name).0, builder.trace().variable_count() > before)
        });
        let id = VarId(id);
        if base.is_internal {
            out.trace.builder.set_meta(&format!("{INTERNAL}{name}"), "rust");
        }
        if let Some(format) = base.format {
            out.trace.builder.set_meta(&format!("{VALUE_FORMAT}{name}"), &format);
        }
        let after = gaps.word(region, addr);
        let part = Part { at: (addr % 8) as usize, len: len as usize };
        let initial = after.and_then(|after| part.of(&after.value?.to_le_bytes()));
        if let Some(value) = initial {
            let value = out.trace.value(value);
            out.trace.builder.set_initial_value(id, value);
        }
        let failed = self.failed_updates.contains(&(region, addr));
        let failed_update_lock = failed.then(|| failed_rmw::lock(&mut out.trace.builder, &name));
        let benign = !self.benign.is_empty()
            && (addr..addr.saturating_add(len)).any(|byte| self.benign.contains(&(region, byte)));
        let hidden = match self.hidden_words.is_empty() {
            true => None,
            false => words(addr, len).find_map(|word| self.hidden_words.get(&(region, word.0))),
        };
        let hidden = hidden.copied();
        let variable = self.list.len() as u32;
        self.list.push(Variable {
            id,
            addr,
            len,
            content: Content::Initial(initial),
            opaque: false,
            value: None,
            gap: after.and_then(|after| after.gap),
            hidden,
            failed_update_lock,
            benign,
        });
        self.by_cell.insert(cell, variable);
        variable
    }

    /// Detaches a cell from its variable: the next access to the cell makes a new one.
    pub(super) fn renew(&mut self, cell: &Cell) {
        self.by_cell.remove(cell);
    }

    /// Returns the variable of a cell, if it has one.
    pub(super) fn existing(&mut self, cell: &Cell) -> Option<&mut Variable> {
        let &index = self.by_cell.get(cell)?;
        self.get_mut(index)
    }

    /// Notes an access to a variable. The variable becomes opaque if no write explains the value
    /// that was read.
    #[inline]
    pub(super) fn apply(
        &mut self,
        builder: &mut TraceBuilder,
        variable: u32,
        access: Access,
    ) -> VarId {
        let Some(variable) = self.get_mut(variable) else { return VarId(0) };
        if let Some(seen) = access.old.filter(|_| access.action.reads())
            && !variable.explains(seen)
        {
            builder.set_opaque(variable.id);
        }
        if access.action.writes() {
            variable.content = access.new.map_or(Content::Unknown, Content::Known);
        }
        variable.id
    }
}
