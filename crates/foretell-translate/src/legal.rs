//! Repair of a translated trace that is not legal, with its steps.

use foretell_trace::legality::{self, Repair};
use foretell_trace::{EventId, SiteId, Trace};

use crate::steps::EventSteps;

/// Returns a legal trace and the repairs that made it legal. `steps` are the steps of its events.
pub(crate) fn legal(trace: Trace, steps: &mut EventSteps) -> (Trace, Vec<Repair>) {
    if legality::check(&trace).is_ok() {
        return (trace, Vec::new());
    }
    // The index of each event goes through the repair as its site, to find its step again.
    let mut numbered = trace.builder_with_names();
    for event in trace.events() {
        numbered.push_ordered(event.thread, event.kind, event.order, Some(SiteId(event.id.0)));
    }
    let (mended, repairs) = legality::repair(&numbered.build());
    let mut builder = mended.builder_with_names();
    let mut kept = EventSteps::default();
    for event in mended.events() {
        let Some(SiteId(index)) = event.site else { continue };
        let site = trace.site(EventId(index));
        builder.push_ordered(event.thread, event.kind, event.order, site);
        kept.push(steps.get(index as usize));
    }
    *steps = kept;
    (builder.build(), repairs)
}
