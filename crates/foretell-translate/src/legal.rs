//! Making a translated trace legal, and keeping its steps in line with what is left.

use foretell_trace::legality::{self, Repair};
use foretell_trace::{EventId, SiteId, Trace};

use crate::steps::EventSteps;

/// Makes a trace legal if it is not; the steps are those of its events.
pub(crate) fn legal(trace: Trace, steps: &mut EventSteps) -> (Trace, Vec<Repair>) {
    if legality::check(&trace).is_ok() {
        return (trace, Vec::new());
    }
    // Events go through the repair with their index in the place of the site, to be known again.
    let mut numbered = trace.builder_with_names();
    for event in trace.events() {
        numbered.push(event.thread, event.kind, Some(SiteId(event.id.0)));
    }
    let (mended, repairs) = legality::repair(&numbered.build());
    let mut builder = mended.builder_with_names();
    let mut kept = EventSteps::default();
    for event in mended.events() {
        let Some(SiteId(index)) = event.site else { continue };
        let site = trace.site(EventId(index));
        builder.push(event.thread, event.kind, site);
        kept.push(steps.get(index as usize));
    }
    *steps = kept;
    (builder.build(), repairs)
}
