//! The choice of an engine for each query, from features that are cheap to measure ([`features`]).
//!
//! The SMT-versus-DPOR paper ends with the observation that neither search is always better, and
//! that segment size and coupling tell which is. Here the rule ([`rule`]) comes from our own
//! measurements: `bench/selection` asks every engine the same queries, looks for the rule that
//! would have taken the least time, and writes it down; `docs/engines.md` has the numbers.
//!
//! The explicit engine gets a small budget of states. Where that is not enough, and where it says
//! nothing, the order engine decides: the verdicts are always exact.

pub mod features;
pub mod rule;

use std::sync::Arc;

use foretell_model::TraceModel;
use foretell_trace::Model;

use self::features::{Feature, QueryShape, Survey};
use self::rule::{Choice, DPOR_NODES, LARGEST_SEGMENT, Rule};
use super::dpor::{DporEngine, DporOptions};
use super::graph::GraphEngine;
use super::order::OrderEngine;
use crate::engine::{Effort, Engine};
use crate::query::{Goal, Limit, Query, Verdict};
use crate::simplify::Symbolic;

/// In longer traces nothing is chosen: what measuring a query takes grows with the trace, and
/// nothing that long was measured.
const LARGEST_TRACE: usize = 100_000;

/// Decides each query with the engine that is expected to be the fastest.
pub(crate) struct AutoEngine<'s> {
    survey: Survey<'s>,
    order: OrderEngine<'s>,
    dpor: DporEngine<'s>,
    graph: GraphEngine<'s>,
    /// Whether the order engine has to decide everything.
    order_only: bool,
    decided_by: &'static str,
}

impl<'s> AutoEngine<'s> {
    /// Returns an engine with shared `values` of the symbolic model; `value_model` is the trace in
    /// the value model.
    pub(crate) fn with_values(
        trace_model: &'s TraceModel<'s>,
        values: Option<Arc<Symbolic>>,
        value_model: Option<&'s TraceModel<'s>>,
    ) -> Self {
        let mut order = OrderEngine::with_values(trace_model, values);
        if let Some(value_model) = value_model {
            order = order.with_value_engine(value_model);
        }
        let options = DporOptions { nodes: DPOR_NODES, ..DporOptions::default() };
        Self {
            survey: Survey::new(trace_model),
            order,
            dpor: DporEngine::new(trace_model, options),
            graph: GraphEngine::quick(trace_model),
            order_only: trace_model.model == Model::Symbolic
                || trace_model.trace.len() > LARGEST_TRACE,
            decided_by: "order",
        }
    }

    /// The engine that the rule names for a query.
    fn choose(&self, query: &Query) -> Choice {
        if self.order_only || matches!(query.goal, Goal::Unordered(..) | Goal::Stuck(_)) {
            return Choice::Order;
        }
        let shape = QueryShape::of(query);
        let Some(mut rule) = rule::RULES.iter().find(|r| r.0 == shape).map(|r| &r.1) else {
            return Choice::Order;
        };
        if self.survey.measure(query, Feature::Segment) > LARGEST_SEGMENT {
            return Choice::Order;
        }
        loop {
            match rule {
                Rule::Always(choice) => return *choice,
                Rule::Split { feature, at_most, then, otherwise } => {
                    let small = self.survey.measure(query, *feature) <= *at_most;
                    rule = if small { then } else { otherwise };
                }
            }
        }
    }
}

impl Engine for AutoEngine<'_> {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn decided_by(&self) -> &'static str {
        self.decided_by
    }

    fn decide(&mut self, query: &Query, limit: &Limit<'_>) -> Verdict {
        match self.choose(query) {
            Choice::Order => {}
            Choice::Dpor => {
                let verdict = self.dpor.decide(query, limit);
                if !matches!(verdict, Verdict::Undecided(_)) || limit.reached().is_some() {
                    self.decided_by = self.dpor.name();
                    return verdict;
                }
            }
            Choice::Graph => {
                if self.graph.refutes(query, limit) {
                    self.decided_by = self.graph.name();
                    return Verdict::Impossible;
                }
            }
        }
        self.decided_by = self.order.name();
        self.order.decide(query, limit)
    }

    fn effort(&self) -> Effort {
        let mut effort = self.order.effort();
        effort.add(&self.graph.effort());
        // Queries that the explicit engine gave up are decided by the order engine.
        let dpor = self.dpor.effort();
        effort.add(&Effort { time_outs: 0, memory_outs: 0, ..dpor });
        effort
    }
}
