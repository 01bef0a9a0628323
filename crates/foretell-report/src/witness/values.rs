//! Values that reads saw in the trace, and those that they see in a witness.

use std::collections::HashMap;

use foretell_trace::expr::Evaluator;
use foretell_trace::{EventId, EventKind, Model, Trace, Value, ValueId, VarId};

use super::event::{Shown, condition};
use crate::json::{Finding, StepValues};

/// The initial values that a trace tells: declared ones, and those that a read before every write
/// saw.
#[derive(Debug)]
pub(crate) struct Observed {
    initial: Vec<Option<ValueId>>,
    /// Whether what is written follows from what was read (symbolic model).
    computed: bool,
}

impl Observed {
    pub(crate) fn new(trace: &Trace, model: Model) -> Self {
        let count = trace.variable_count();
        let mut initial: Vec<_> =
            (0..count as u32).map(|v| trace.declared_initial_value(VarId(v))).collect();
        let mut written = vec![false; count];
        for e in trace.ids() {
            let Some(var) = trace.variable(e) else { continue };
            let v = var.index();
            if !written[v] && initial[v].is_none() {
                initial[v] = trace.read_value(e);
            }
            written[v] |= trace.op(e).writes();
        }
        Observed { initial, computed: model == Model::Symbolic }
    }

    /// The initial value of a variable, if it is known.
    pub(crate) fn initial(&self, var: VarId) -> Option<ValueId> {
        self.initial.get(var.index()).copied().flatten()
    }

    /// For each event of `schedule` the values to show: what was read, and what was written. Where
    /// it is not known what a read sees, none is shown.
    pub(crate) fn values(&self, trace: &Trace, schedule: &[EventId]) -> Vec<(Shown, Shown)> {
        if self.computed {
            return self.computed_values(trace, schedule);
        }
        let value = |id: Option<ValueId>| id.and_then(|id| trace.values().get(id));
        let mut current: HashMap<VarId, Option<Value>> = HashMap::new();
        let mut values = Vec::with_capacity(schedule.len());
        for &e in schedule {
            let Some(var) = trace.variable(e) else {
                values.push((Shown::Nothing, Shown::Nothing));
                continue;
            };
            let now = *current.entry(var).or_insert_with(|| value(self.initial(var)));
            let read = match (now, value(trace.read_value(e))) {
                // Code that is not recorded writes it too: the last write does not tell what a read
                // sees.
                (_, was) if trace.is_opaque(var) => Shown::Recorded(was),
                (Some(now), Some(was)) if now != was => Shown::Other { now, was },
                (None, Some(_)) => Shown::Nothing,
                (_, was) => Shown::Recorded(was),
            };
            let mut written = Shown::Recorded(value(trace.written_value(e)));
            if trace.op(e).writes() {
                // The value that an update writes follows from the value it saw.
                if !matches!(read, Shown::Recorded(_)) {
                    written = Shown::Nothing;
                }
                let new = if written == Shown::Nothing { None } else { trace.written_value(e) };
                current.insert(var, value(new));
            }
            values.push((read, written));
        }
        values
    }

    /// Returns the values to show where written values are computed from the values read.
    fn computed_values(&self, trace: &Trace, schedule: &[EventId]) -> Vec<(Shown, Shown)> {
        let shown = |now: Option<Value>, was: Option<ValueId>| match (
            now,
            was.and_then(|id| trace.values().get(id)),
        ) {
            (None, _) => Shown::Nothing,
            (Some(now), Some(was)) if now != was => Shown::Other { now, was },
            (now, _) => Shown::Recorded(now),
        };
        let along = Along::new(self, trace).run(schedule);
        let each = schedule.iter().zip(along).map(|(&e, (read, written))| {
            let op = trace.op(e);
            let read = if op.reads() { shown(read, trace.read_value(e)) } else { Shown::Nothing };
            (read, shown(written, trace.written_value(e)))
        });
        each.collect()
    }
}

/// Adds the values along the schedule to the witness of a finding. They are those of the symbolic
/// model, where a written value follows from the values that were read: in the other models every
/// value is in the trace.
pub fn add_values(finding: &mut Finding, trace: &Trace) {
    let witness = &mut finding.witness;
    if witness.schedule.iter().all(|&e| (e as usize) < trace.len()) {
        let schedule: Vec<EventId> = witness.schedule.iter().map(|&e| EventId(e)).collect();
        witness.values = step_values(trace, &schedule);
    }
}

/// The values along a schedule in the symbolic model, for a findings file.
pub(crate) fn step_values(trace: &Trace, schedule: &[EventId]) -> Vec<StepValues> {
    let observed = Observed::new(trace, Model::Symbolic);
    let along = Along::new(&observed, trace).run(schedule);
    let text = |value: Option<Value>| value.map(|v| v.to_string());
    let each = schedule.iter().zip(along).map(|(&e, (read, written))| {
        let guard = match trace.event(e).kind {
            EventKind::Guard { expr } => Some(condition(trace, expr)),
            _ => None,
        };
        let read = if trace.op(e).reads() { text(read) } else { None };
        StepValues { read, written: text(written), guard }
    });
    each.collect()
}

/// Computes values along a schedule (semantics sections 2 and 6, symbolic model).
struct Along<'a> {
    trace: &'a Trace,
    /// By variable: its value, and the event that wrote it last.
    memory: Vec<(Option<Value>, Option<EventId>)>,
    registers: Vec<Option<Value>>,
    evaluator: Evaluator,
    /// The write that each update without an expression and an old value saw in the trace.
    saw: HashMap<EventId, Option<EventId>>,
}

impl<'a> Along<'a> {
    fn new(observed: &Observed, trace: &'a Trace) -> Self {
        let initial = |v: &Option<ValueId>| v.and_then(|id| trace.values().get(id));
        let mut last: HashMap<VarId, EventId> = HashMap::new();
        let mut saw = HashMap::new();
        for e in trace.ids() {
            let Some(var) = trace.variable(e) else { continue };
            if let EventKind::Update { old: None, expr: None, .. } = trace.event(e).kind {
                saw.insert(e, last.get(&var).copied());
            }
            if trace.op(e).writes() {
                last.insert(var, e);
            }
        }
        Along {
            trace,
            memory: observed.initial.iter().map(|v| (initial(v), None)).collect(),
            registers: vec![None; trace.register_count()],
            evaluator: Evaluator::default(),
            saw,
        }
    }

    /// Returns for each event the value of its variable before it, and the value it writes.
    fn run(mut self, schedule: &[EventId]) -> Vec<(Option<Value>, Option<Value>)> {
        schedule.iter().map(|&e| self.step(e)).collect()
    }

    fn step(&mut self, e: EventId) -> (Option<Value>, Option<Value>) {
        let trace = self.trace;
        let Some(var) = trace.variable(e) else { return (None, None) };
        let known = |id: Option<ValueId>| id.and_then(|id| trace.values().get(id));
        let (mut found, writer) = self.memory.get(var.index()).copied().unwrap_or_default();
        if trace.is_opaque(var) {
            // Code that is not recorded writes it too: only the recorded value was seen.
            found = known(trace.read_value(e));
        }
        let kind = trace.event(e).kind;
        if let EventKind::Read { register: Some(r), .. }
        | EventKind::Update { register: Some(r), .. } = kind
            && let Some(register) = self.registers.get_mut(r.index())
        {
            *register = found;
        }
        let written = match kind {
            EventKind::Write { expr: Some(expr), .. }
            | EventKind::Update { expr: Some(expr), .. } => {
                let registers = &self.registers;
                let value = |r: foretell_trace::RegId| registers.get(r.index()).copied().flatten();
                self.evaluator.eval(trace.exprs(), expr, value).value()
            }
            EventKind::Write { value, .. } => known(value),
            EventKind::Update { old, new, .. } => {
                let as_in_trace = match old {
                    Some(_) => found.is_some() && found == known(old),
                    None => self.saw.get(&e) == Some(&writer),
                };
                known(new).filter(|_| as_in_trace)
            }
            _ => return (found, None),
        };
        if let Some(cell) = self.memory.get_mut(var.index()) {
            *cell = (written, Some(e));
        }
        (found, written)
    }
}
