//! The values along a proposal: the guards that are false, and the value that each access saw.

use foretell_model::TraceModel;
use foretell_trace::expr::{Answer, Evaluator};
use foretell_trace::{EventId, EventKind, ExprId, Op, Value};
use rustc_hash::FxHashMap;

use crate::simplify::{initial, known};

/// Values that an access saw and wrote.
#[derive(Clone, Copy)]
pub(crate) struct Saw {
    /// The write it saw; `None` is the initial value.
    pub(crate) writer: Option<EventId>,
    /// The value before it.
    pub(crate) before: Option<Value>,
    /// The value after it.
    pub(crate) after: Option<Value>,
}

/// The values along an interleaving.
#[derive(Default)]
pub(crate) struct Values {
    /// Guards that are false or unknown.
    pub(crate) false_guards: Vec<EventId>,
    /// The accesses that were asked about and ran.
    pub(crate) saw: FxHashMap<EventId, Saw>,
    /// By variable: its last write and its value in the end.
    pub(crate) memory: FxHashMap<u32, (Option<EventId>, Option<Value>)>,
}

/// Computes the values along `schedule`, as if every guard held; `wanted` are the accesses to tell
/// about.
pub(crate) fn evaluate(
    trace_model: &TraceModel<'_>,
    schedule: impl Iterator<Item = EventId>,
    wanted: impl Fn(EventId) -> bool,
) -> Values {
    let trace = trace_model.trace;
    let mut values = Values::default();
    let mut run = Evaluation {
        trace_model,
        registers: vec![None; trace.register_count()],
        evaluator: Evaluator::default(),
    };
    for e in schedule {
        foretell_limit::check();
        let Some(x) = trace.variable(e) else {
            for x in trace.accessed_variables(e) {
                values.memory.insert(x.0, (Some(e), None));
            }
            if trace.op(e) == Op::Free && wanted(e) {
                values.saw.insert(e, Saw { writer: None, before: None, after: None });
            }
            if let EventKind::Guard { expr } = trace.event(e).kind
                && run.eval(expr).truth() != Some(true)
            {
                values.false_guards.push(e);
            }
            continue;
        };
        let cell = values.memory.entry(x.0).or_insert_with(|| (None, initial(trace_model, x)));
        let (writer, before) = *cell;
        let after = run.access(e, writer, before);
        if trace.op(e).writes() {
            *cell = (Some(e), after);
        }
        if wanted(e) {
            values.saw.insert(e, Saw { writer, before, after });
        }
    }
    values
}

struct Evaluation<'a> {
    trace_model: &'a TraceModel<'a>,
    registers: Vec<Option<Value>>,
    evaluator: Evaluator,
}

impl Evaluation<'_> {
    fn eval(&mut self, expr: ExprId) -> Answer {
        let registers = &self.registers;
        let value = |r: foretell_trace::RegId| registers.get(r.index()).copied().flatten();
        self.evaluator.eval(self.trace_model.trace.exprs(), expr, value)
    }

    /// The value that an access leaves.
    fn access(
        &mut self,
        e: EventId,
        writer: Option<EventId>,
        before: Option<Value>,
    ) -> Option<Value> {
        let kind = self.trace_model.trace.event(e).kind;
        if let EventKind::Read { register: Some(r), .. }
        | EventKind::Update { register: Some(r), .. } = kind
            && let Some(register) = self.registers.get_mut(r.index())
        {
            *register = before;
        }
        match kind {
            EventKind::Write { value, expr, .. } => match expr {
                Some(expr) => self.eval(expr).value(),
                None => known(self.trace_model, value),
            },
            EventKind::Update { old, new, expr, .. } => match (expr, old) {
                (Some(expr), _) => self.eval(expr).value(),
                (None, Some(_)) if before.is_some() && before == known(self.trace_model, old) => {
                    known(self.trace_model, new)
                }
                (None, None) if writer == self.trace_model.reads_from.observed(e) => {
                    known(self.trace_model, new)
                }
                _ => None,
            },
            _ => before,
        }
    }
}
