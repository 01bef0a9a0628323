//! The variables of a trace: cells of memory, and what is known of their content.

use foretell_trace::{LockId, ValueId, VarId};

use super::{Part, Translation};
use crate::attempts::{self, Action};
use crate::cells::Cell;

/// What is known of a variable's content.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Never written; what was read, if it was.
    Initial(Option<i64>),
    Known(i64),
    Unknown,
}

pub(super) struct Variable {
    pub(super) id: VarId,
    /// Address and length.
    pub(super) place: (u64, u64),
    pub(super) content: Content,
    pub(super) opaque: bool,
    /// The last value that was asked for, with its identifier.
    pub(super) value: Option<(i64, ValueId)>,
    /// What comes before all accesses to it, see [`super::gaps`].
    pub(super) gap: Option<u32>,
    /// The lock of its attempts, if somebody tried to exchange it in vain.
    pub(super) attempts: Option<LockId>,
}

impl Variable {
    /// Somebody saw this value. False if it makes the variable opaque: nobody wrote it.
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

    /// A plain access. False if it makes the variable opaque.
    #[inline]
    pub(super) fn plain(&mut self, writes: bool, value: i64) -> bool {
        if writes {
            self.content = Content::Known(value);
            return true;
        }
        self.explains(value)
    }
}

impl Translation<'_> {
    /// The variable of a cell, by its index.
    pub(super) fn variable_of(&mut self, cell: Cell) -> u32 {
        if let Some(&variable) = self.variable_of.get(&cell) {
            return variable;
        }
        let Cell { region, addr, len } = cell;
        let Translation { variable_names: names, regions, symbols, builder, .. } = self;
        let base = names.base(regions, symbols, region, addr);
        let (id, name) = names.free(base, |name| {
            let before = builder.trace().variable_count();
            (builder.variable(name).0, builder.trace().variable_count() > before)
        });
        let id = VarId(id);
        let first = self.gaps.of(region, addr);
        let part = Part { at: (addr % 8) as usize, len: len as usize };
        let initial = first.and_then(|first| part.of(&first.value?.to_le_bytes()));
        if let Some(value) = initial {
            let value = self.value(value);
            self.builder.set_initial_value(id, value);
        }
        let content = Content::Initial(initial);
        let variable = self.variables.len() as u32;
        let attempted = self.survey.attempted.contains(&(region, addr));
        let attempts = attempted.then(|| attempts::lock(&mut self.builder, &name));
        let place = (addr, len);
        let (opaque, value) = (false, None);
        let gap = first.and_then(|first| first.gap);
        self.variables.push(Variable { id, place, content, opaque, value, gap, attempts });
        self.variable_of.insert(cell, variable);
        variable
    }

    /// A variable after an access; opaque if that saw what nobody wrote.
    #[inline]
    pub(super) fn variable(
        &mut self,
        variable: u32,
        action: Action,
        old: Option<i64>,
        new: Option<i64>,
    ) -> VarId {
        let Some(variable) = self.variables.get_mut(variable as usize) else { return VarId(0) };
        if let Some(seen) = old.filter(|_| action.reads())
            && !variable.explains(seen)
        {
            self.builder.set_opaque(variable.id);
        }
        if action.writes() {
            variable.content = new.map_or(Content::Unknown, Content::Known);
        }
        variable.id
    }
}
