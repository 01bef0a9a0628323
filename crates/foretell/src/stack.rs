//! Where an event is, with the calls that led there.

use foretell_report::text::{describe_event, printable};
use foretell_trace::{EventId, Trace};

/// `T1 reads x at bank.c:41 in withdraw, called at bank.c:77 in main`.
pub(crate) fn describe(trace: &Trace, event: EventId) -> String {
    let decoded = trace.event(event);
    let mut text =
        format!("{}: {}", trace.display_name(decoded.thread), describe_event(trace, event));
    let Some(site) = decoded.site else { return printable(&text) };
    text += &format!(" at {}", trace.place(site));
    let mut next = trace.site_node(site).caller;
    while let Some(site) = next {
        // A frame is a function and the place that it was called from, see the recorder.
        match trace.place(site).rsplit_once(' ') {
            Some((function, call)) => text += &format!(" in {function}, called at {call}"),
            None => text += &format!(" in {}", trace.place(site)),
        }
        next = trace.site_node(site).caller;
    }
    printable(&text)
}
