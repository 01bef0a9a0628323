//! The engines, one directory or file each, and the choice between them.

pub mod order;
pub mod smt;

use std::fmt;
use std::str::FromStr;

use foretell_model::Structure;

use self::order::OrderEngine;
use self::smt::SmtOptions;
use crate::engine::Engine;

/// Which engine decides the queries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum EngineKind {
    /// The order solver.
    #[default]
    Order,
}

impl EngineKind {
    /// Every engine, the default one first.
    pub const ALL: [EngineKind; 1] = [EngineKind::Order];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Order => "order",
        }
    }

    /// Whether the engine can run here; if not, one line that says what is missing and how to get it.
    pub fn available(self) -> Result<(), String> {
        match self {
            EngineKind::Order => Ok(()),
        }
    }

    /// A new engine for the queries about one trace.
    pub fn engine<'s>(
        self,
        structure: &'s Structure<'s>,
        _options: &SmtOptions,
    ) -> Box<dyn Engine + 's> {
        match self {
            EngineKind::Order => Box::new(OrderEngine::new(structure)),
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        EngineKind::ALL.into_iter().find(|e| e.name() == name).ok_or_else(|| {
            let names = EngineKind::ALL.map(EngineKind::name).join(", ");
            format!("no engine is called `{name}` ({names})")
        })
    }
}
