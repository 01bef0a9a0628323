//! Which writes an access can see, by must-happen-before.

use foretell_model::TraceModel;
use foretell_trace::{EventId, ThreadId, VarId};

/// The writes of each variable, by thread.
#[derive(Debug)]
pub(super) struct Writes {
    by_variable: Vec<Vec<(ThreadId, Vec<EventId>)>>,
}

impl Writes {
    pub(super) fn new(trace_model: &TraceModel<'_>) -> Self {
        let TraceModel { trace, reads_from, .. } = trace_model;
        let mut by_variable = Vec::with_capacity(trace.variable_count());
        for x in (0..trace.variable_count()).map(VarId::from_index) {
            let mut threads = Vec::new();
            for (thread, accesses) in reads_from.accesses_by_thread(x) {
                foretell_limit::check();
                let writes: Vec<EventId> =
                    accesses.iter().copied().filter(|&e| trace.op(e).writes()).collect();
                if !writes.is_empty() {
                    threads.push((*thread, writes));
                }
            }
            by_variable.push(threads);
        }
        Self { by_variable }
    }

    /// The writes (`None`: the initial value) that an access can see. A write is hidden where
    /// another one always comes between the two.
    pub(super) fn visible(&self, trace_model: &TraceModel<'_>, e: EventId) -> Vec<Option<EventId>> {
        let (open, hiding) = self.around(trace_model, e, usize::MAX);
        let mut visible: Vec<Option<EventId>> = open.into_iter().map(Some).collect();
        visible.extend(unhidden(trace_model, &hiding).map(Some));
        if hiding.is_empty() {
            visible.push(None);
        }
        visible
    }

    /// The one write (or the initial value) that an access can see, if it is only one.
    pub(super) fn sole(&self, trace_model: &TraceModel<'_>, e: EventId) -> Option<Option<EventId>> {
        let (open, hiding) = self.around(trace_model, e, 1);
        if !open.is_empty() {
            return None;
        }
        let mut last = unhidden(trace_model, &hiding);
        let first = last.next();
        last.next().is_none().then_some(first)
    }

    /// Whether some write always comes before an access.
    pub(super) fn hides_initial(&self, trace_model: &TraceModel<'_>, e: EventId) -> bool {
        !self.around(trace_model, e, 0).1.is_empty()
    }

    /// The writes that may come before or after the access (of each thread, `most` of them), and of
    /// each thread the last that always comes before it.
    fn around(
        &self,
        trace_model: &TraceModel<'_>,
        e: EventId,
        most: usize,
    ) -> (Vec<EventId>, Vec<EventId>) {
        let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
        let (mut open, mut hiding) = (Vec::new(), Vec::new());
        let Some(x) = trace.variable(e) else { return (open, hiding) };
        for (thread, writes) in &self.by_variable[x.index()] {
            foretell_limit::check();
            let before = must_happen_before.needs(chains, trace, e, *thread);
            let first = writes.partition_point(|&w| chains.position(w) < before);
            hiding.extend(writes[..first].last());
            if *thread == trace.thread(e) || most == 0 {
                continue;
            }
            let after =
                must_happen_before.first_after(chains, trace, e, *thread).unwrap_or(u32::MAX);
            let possible = writes[first..].iter().take(most);
            open.extend(possible.take_while(|&&w| chains.position(w) < after));
        }
        (open, hiding)
    }
}

/// Those of some writes that always come before an access which none of the others hides.
fn unhidden<'a>(
    trace_model: &'a TraceModel<'_>,
    writes: &'a [EventId],
) -> impl Iterator<Item = EventId> + 'a {
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    let hidden = move |w: EventId| {
        writes.iter().any(|&v| v != w && must_happen_before.ordered_before(chains, trace, w, v))
    };
    writes.iter().copied().filter(move |&w| !hidden(w))
}
