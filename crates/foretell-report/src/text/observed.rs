//! What reads saw in the trace, and what they see in a witness.

use std::collections::HashMap;

use foretell_trace::{EventId, Trace, ValueId, VarId};

use super::event::Shown;

/// The initial values that a trace tells: declared ones, and those that a read before every write
/// saw.
#[derive(Debug)]
pub(crate) struct Observed {
    initial: Vec<Option<ValueId>>,
}

impl Observed {
    pub(crate) fn new(trace: &Trace) -> Self {
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
        Observed { initial }
    }

    /// The initial value of a variable, if it is known.
    pub(crate) fn initial(&self, var: VarId) -> Option<ValueId> {
        self.initial.get(var.index()).copied().flatten()
    }

    /// For each event of `schedule` the values to show: what was read, and what was written. Where
    /// it is not known what a read sees, none is shown.
    pub(crate) fn values(&self, trace: &Trace, schedule: &[EventId]) -> Vec<(Shown, Shown)> {
        let mut current: HashMap<VarId, Option<ValueId>> = HashMap::new();
        let mut values = Vec::with_capacity(schedule.len());
        for &e in schedule {
            let Some(var) = trace.variable(e) else {
                values.push((Shown::Nothing, Shown::Nothing));
                continue;
            };
            let now = *current.entry(var).or_insert_with(|| self.initial[var.index()]);
            let read = match (now, trace.read_value(e)) {
                (Some(now), Some(was)) if now != was => Shown::Other { now, was },
                (None, Some(_)) => Shown::Nothing,
                (_, was) => Shown::Recorded(was),
            };
            let mut written = Shown::Recorded(trace.written_value(e));
            if trace.op(e).writes() {
                // What an update writes follows from what it saw.
                if !matches!(read, Shown::Recorded(_)) {
                    written = Shown::Nothing;
                }
                let new = if written == Shown::Nothing { None } else { trace.written_value(e) };
                current.insert(var, new);
            }
            values.push((read, written));
        }
        values
    }
}
