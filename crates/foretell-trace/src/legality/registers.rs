//! Registers of symbolic traces: the guards and expressions of a trace must agree with its own
//! values.
//!
//! Only recorded values count: a register loaded by a read without a value is unknown, and what
//! depends on it is not checked.

use super::rule::Rule;
use crate::expr::{Answer, Evaluator};
use crate::{ExprId, RegId, Trace, ValueId};

/// Values of the registers.
pub(super) struct Registers<'t> {
    /// Where values and expressions are; none: nothing is checked.
    trace: Option<&'t Trace>,
    held: Vec<Option<ValueId>>,
    evaluator: Evaluator,
}

impl<'t> Registers<'t> {
    pub(super) fn new(trace: &'t Trace) -> Registers<'t> {
        let held = vec![None; trace.register_count()];
        Registers { trace: Some(trace), held, evaluator: Evaluator::default() }
    }

    /// Registers of which nothing is known, whatever is loaded.
    pub(super) fn unknown() -> Registers<'t> {
        Registers { trace: None, held: Vec::new(), evaluator: Evaluator::default() }
    }

    /// A read went to a register.
    #[inline]
    pub(super) fn load(&mut self, register: Option<RegId>, value: Option<ValueId>) {
        if let Some(held) = register.and_then(|r| self.held.get_mut(r.index())) {
            *held = value;
        }
    }

    fn evaluate(&mut self, expr: ExprId) -> Answer {
        let Some(trace) = self.trace else { return Answer::Unknown };
        let (held, values) = (&self.held, trace.values());
        self.evaluator.eval(trace.exprs(), expr, |register| {
            held.get(register.index()).copied().flatten().and_then(|id| values.get(id))
        })
    }

    /// A guard that passed must not be false.
    pub(super) fn guard(&mut self, expr: ExprId) -> Result<(), Rule> {
        match self.evaluate(expr) {
            Answer::Truth(false) => Err(Rule::GuardFalse { expr }),
            _ => Ok(()),
        }
    }

    /// A value written must be that of its expression.
    #[inline]
    pub(super) fn write(
        &mut self,
        expr: Option<ExprId>,
        written: Option<ValueId>,
    ) -> Result<(), Rule> {
        match (expr, written) {
            (Some(expr), Some(written)) => self.compare(expr, written),
            _ => Ok(()),
        }
    }

    fn compare(&mut self, expr: ExprId, written: ValueId) -> Result<(), Rule> {
        let recorded = self.trace.and_then(|trace| trace.values().get(written));
        match self.evaluate(expr) {
            Answer::Value(computed) if Some(computed) != recorded => {
                Err(Rule::WrongExpression { expr, written, computed })
            }
            _ => Ok(()),
        }
    }
}
