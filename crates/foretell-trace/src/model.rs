//! The predictive models: which other interleavings of a trace count as possible.

use std::fmt;
use std::str::FromStr;

use crate::{EventKind, Trace};

/// When a read that was moved still tells us what its thread does next. Each model admits more
/// interleavings than the one before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Model {
    /// The read must see the same write as in the trace.
    View,
    /// The read must see the same value as in the trace.
    Value,
    /// The read may see any value; guards and expressions say what follows from it.
    Symbolic,
}

impl Model {
    /// The most permissive model for which the trace has what it needs.
    pub fn auto(trace: &Trace) -> Model {
        let mut model = Model::View;
        for e in trace.ids() {
            foretell_limit::check();
            match trace.event(e).kind {
                EventKind::Guard { .. }
                | EventKind::Read { register: Some(_), .. }
                | EventKind::Write { expr: Some(_), .. }
                | EventKind::Update { register: Some(_), .. }
                | EventKind::Update { expr: Some(_), .. } => return Model::Symbolic,
                EventKind::Read { value: Some(_), .. }
                | EventKind::Write { value: Some(_), .. }
                | EventKind::Update { old: Some(_), .. }
                | EventKind::Update { new: Some(_), .. } => model = Model::Value,
                _ => {}
            }
        }
        model
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Model::View => "view",
            Model::Value => "value",
            Model::Symbolic => "symbolic",
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Model {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        [Model::View, Model::Value, Model::Symbolic]
            .into_iter()
            .find(|m| m.name() == name)
            .ok_or_else(|| format!("no model is called `{name}` (view, value, symbolic)"))
    }
}
