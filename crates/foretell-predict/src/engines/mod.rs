//! The engines, one directory or file each, and the choice between them.

pub mod auto;
mod bounds;
pub mod dpor;
pub mod graph;
pub mod order;
pub mod smt;
pub(crate) mod writers;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use foretell_model::TraceModel;

use self::auto::AutoEngine;
use self::dpor::{DporEngine, DporOptions};
use self::graph::GraphEngine;
use self::order::OrderEngine;
use self::smt::{SmtEngine, SmtOptions, SmtSolver};
use crate::engine::Engine;
use crate::query::{Limit, Query, Verdict};
use crate::simplify::Symbolic;

/// Settings that only some engines have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineOptions {
    /// Of the external SMT solvers.
    pub smt: SmtOptions,
    /// Of the explicit engine.
    pub dpor: DporOptions,
    /// Symbolic model: whether values are simplified first (`simplify`). The verdicts are
    /// the same.
    pub simplify: bool,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { smt: SmtOptions::default(), dpor: DporOptions::default(), simplify: true }
    }
}

/// Which engine decides the queries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum EngineKind {
    /// The one of the next three that is expected to be the fastest, for each query.
    Auto,
    /// The order solver.
    #[default]
    Order,
    /// Explicit search with partial-order reduction.
    Dpor,
    /// Choice graphs for nondeterminism, the order solver for the rest.
    Graph,
    /// Z3, an external SMT solver.
    Z3,
    /// cvc5, an external SMT solver.
    Cvc5,
    /// Yices, an external SMT solver.
    Yices,
}

impl EngineKind {
    /// Every engine.
    pub const ALL: [EngineKind; 7] = [
        EngineKind::Auto,
        EngineKind::Order,
        EngineKind::Dpor,
        EngineKind::Graph,
        EngineKind::Z3,
        EngineKind::Cvc5,
        EngineKind::Yices,
    ];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Auto => "auto",
            EngineKind::Order => "order",
            EngineKind::Graph => "graph",
            EngineKind::Dpor => "dpor",
            EngineKind::Z3 | EngineKind::Cvc5 | EngineKind::Yices => {
                self.smt_solver().map_or("smt", SmtSolver::name)
            }
        }
    }

    /// The external solver of the engine, if it is one.
    pub fn smt_solver(self) -> Option<SmtSolver> {
        match self {
            EngineKind::Auto | EngineKind::Order | EngineKind::Graph | EngineKind::Dpor => None,
            EngineKind::Z3 => Some(SmtSolver::Z3),
            EngineKind::Cvc5 => Some(SmtSolver::Cvc5),
            EngineKind::Yices => Some(SmtSolver::Yices),
        }
    }

    /// Whether the engine can run here; if not, one line that says what is missing and how to get
    /// it.
    pub fn available(self) -> Result<(), String> {
        self.smt_solver().map_or(Ok(()), |solver| solver.find().map(drop))
    }

    /// A new engine for the queries about one trace.
    pub fn engine<'s>(
        self,
        trace_model: &'s TraceModel<'s>,
        options: &EngineOptions,
    ) -> Box<dyn Engine + 's> {
        let values = Symbolic::of_model(trace_model, options.simplify);
        self.engine_with(trace_model, options, values, None)
    }

    /// Returns an engine with shared `values` of the symbolic model; `value_model` is the trace in
    /// the value model.
    pub(crate) fn engine_with<'s>(
        self,
        trace_model: &'s TraceModel<'s>,
        options: &EngineOptions,
        values: Option<Arc<Symbolic>>,
        value_model: Option<&'s TraceModel<'s>>,
    ) -> Box<dyn Engine + 's> {
        if frees_variables(trace_model) {
            match self {
                EngineKind::Auto | EngineKind::Order | EngineKind::Graph => {
                    return EngineKind::Order.engine_without_frees(
                        trace_model,
                        options,
                        values,
                        value_model,
                    );
                }
                _ => return Box::new(Unable { name: self.name() }),
            }
        }
        self.engine_without_frees(trace_model, options, values, value_model)
    }

    fn engine_without_frees<'s>(
        self,
        trace_model: &'s TraceModel<'s>,
        options: &EngineOptions,
        values: Option<Arc<Symbolic>>,
        value_model: Option<&'s TraceModel<'s>>,
    ) -> Box<dyn Engine + 's> {
        match self.smt_solver() {
            Some(solver) => {
                Box::new(SmtEngine::with_values(trace_model, solver, options.smt.clone(), values))
            }
            None if self == EngineKind::Auto => {
                Box::new(AutoEngine::with_values(trace_model, values, value_model))
            }
            None if self == EngineKind::Dpor => {
                Box::new(DporEngine::new(trace_model, options.dpor))
            }
            None if self == EngineKind::Graph => Box::new(GraphEngine::new(trace_model)),
            None => {
                let engine = OrderEngine::with_values(trace_model, values);
                Box::new(match value_model {
                    Some(value_model) => engine.with_value_engine(value_model),
                    None => engine,
                })
            }
        }
    }
}

/// Whether some event of the trace frees a block with variables.
fn frees_variables(trace_model: &TraceModel<'_>) -> bool {
    let trace = trace_model.trace;
    trace.mem_block_count() > 0
        && trace
            .ids()
            .any(|e| trace.freed_block(e).is_some_and(|b| !trace.variables_in(b).is_empty()))
}

/// Engine for a trace that the chosen engine does not serve: it decides nothing.
struct Unable {
    name: &'static str,
}

impl Engine for Unable {
    fn name(&self) -> &'static str {
        self.name
    }

    fn decide(&mut self, _: &Query, _: &Limit<'_>) -> Verdict {
        let reason = "the engine does not serve traces that free memory; use `--engine order`";
        Verdict::Undecided(reason.to_owned())
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
