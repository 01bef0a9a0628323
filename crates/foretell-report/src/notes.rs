//! Remarks on the source locations of a finding.

use foretell_trace::{EventId, EventKind, FindingKind, Trace};

use crate::headline::role;
use crate::json::{Finding, Source as Writer};
use crate::lifetime;
use crate::weak_link::weak_link;
use crate::witness::fold;

/// Remark on the location of an event.
pub(crate) struct Note {
    pub(crate) event: EventId,
    pub(crate) text: String,
    /// Whether the event is the finding's own.
    pub(crate) main: bool,
}

/// Returns the remarks on the events of a finding and on those that explain it.
pub(crate) fn notes(finding: &Finding, schedule: &[EventId], trace: &Trace) -> Vec<Note> {
    let known = |e: &u32| (*e as usize) < trace.len();
    let mut notes: Vec<Note> = Vec::new();
    if finding.kind.ends_blocked() {
        let stuck: Vec<EventId> =
            finding.events.iter().copied().filter(known).map(EventId).collect();
        let wanted: Vec<_> = stuck.iter().filter_map(|&e| fold::lock(trace, e)).collect();
        for hold in fold::held_at_end(schedule, trace) {
            let of_stuck = stuck.iter().any(|&e| trace.thread(e) == hold.thread);
            if of_stuck && wanted.contains(&hold.lock) {
                let (name, lock) = (trace.display_name(hold.thread), trace.lock_name(hold.lock));
                let text = format!("{name} takes {lock}");
                notes.push(Note { event: schedule[hold.position], text, main: false });
            }
        }
    }
    if let Some(begin) = finding.block.map(|b| b.begin).filter(known).map(EventId) {
        let label = match trace.event(begin).kind {
            EventKind::Begin { label: Some(label) } => format!(" {}", trace.label_name(label)),
            _ => String::new(),
        };
        let name = trace.display_name(trace.thread(begin));
        let text = format!("{name}'s atomic block{label} begins");
        notes.push(Note { event: begin, text, main: false });
    }
    for event in finding.events.iter().copied().filter(known).map(EventId) {
        let text = match finding.kind {
            FindingKind::Observed => {
                format!("the last event of {}", trace.display_name(trace.thread(event)))
            }
            FindingKind::Lifetime => {
                let name = trace.display_name(trace.thread(event));
                format!("{name} {}", lifetime::act(trace, event).of_third_person().replace('`', ""))
            }
            _ => role(trace, event),
        };
        notes.push(Note { event, text, main: true });
    }
    if finding.is_unordered()
        && let &[a, b] = &finding.events[..]
        && let Some(link) = weak_link(trace, schedule, [EventId(a), EventId(b)])
    {
        let links = link.notes(trace).into_iter();
        notes.extend(links.map(|(event, text)| Note { event, text, main: false }));
    }
    let sources = [
        (finding.challenger, if finding.is_final_value() { "" } else { "seen instead" }),
        (finding.writer, "seen in the recorded run"),
    ];
    for (writer, when) in sources {
        if let Some(Writer::Event(e)) = writer
            && known(&e)
            && !finding.events.contains(&e)
        {
            let text = format!("{}, {when}", role(trace, EventId(e)));
            notes.push(Note { event: EventId(e), text, main: false });
        }
    }
    notes
}
