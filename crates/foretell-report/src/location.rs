//! Source locations and call stacks.
//!
//! A location is free text in a trace; `file:line` and `file:line:column` are understood. The
//! recorder writes call stacks as frames `function file:line` (the function of the event, and the
//! line that called it), the last one a function alone; traces by hand may have frames that are
//! locations only. Both are read here.

use foretell_trace::{EventId, INSIDE, SiteId, Trace};

/// `file:line`, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Location<'a> {
    /// The file, as the trace writes it.
    pub(crate) file: &'a str,
    /// The line, from 1.
    pub(crate) line: u32,
}

impl<'a> Location<'a> {
    /// Parses a text that names a location.
    pub(crate) fn parse(text: &'a str) -> Option<Location<'a>> {
        let (file, number) = text.rsplit_once(':')?;
        let line: u32 = number.parse().ok()?;
        if file.is_empty() || line == 0 {
            return None;
        }
        // A column, if there is one, is not kept: `a.c:12:5`.
        if let Some((before, number)) = file.rsplit_once(':')
            && let Ok(line) = number.parse()
            && line > 0
            && !before.is_empty()
        {
            return Some(Location { file: before, line });
        }
        Some(Location { file, line })
    }
}

/// One function on a call stack, and where in it the thread is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Frame {
    /// The function, if it is known.
    pub(crate) function: Option<String>,
    /// The location, if it is known.
    pub(crate) location: Option<String>,
    /// Function or class of a library that the event is inside, for the innermost frame.
    pub(crate) inside: Option<String>,
}

impl Frame {
    fn new(function: &str, location: Option<String>) -> Frame {
        Frame { function: Some(function.to_owned()), location, inside: None }
    }
}

/// Returns the call stack of an event, innermost first; empty if its location is not known.
///
/// # Panics
/// If the trace has no such event.
pub(crate) fn stack(trace: &Trace, event: EventId) -> Vec<Frame> {
    trace.site(event).map(|site| stack_at(trace, site)).unwrap_or_default()
}

/// Returns the call stack of a site.
pub(crate) fn stack_at(trace: &Trace, site: SiteId) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut at = Some(trace.location(site).to_owned());
    let mut next = trace.site_node(site).caller;
    while let Some(caller) = next {
        let text = trace.location(caller);
        let function = match text.rsplit_once(' ') {
            Some((function, call)) if Location::parse(call).is_some() => {
                frames.push(Frame::new(function, at.take()));
                at = Some(call.to_owned());
                next = trace.site_node(caller).caller;
                continue;
            }
            _ => text,
        };
        if Location::parse(function).is_some() {
            let location = at.replace(function.to_owned());
            frames.push(Frame { location, ..Frame::default() });
        } else {
            frames.push(Frame::new(function, at.take()));
        }
        next = trace.site_node(caller).caller;
    }
    if at.is_some() {
        frames.push(Frame { location: at, ..Frame::default() });
    }
    if let Some(Frame { function: Some(function), location: Some(location), inside }) =
        frames.first_mut()
    {
        *inside = trace.meta().get(&format!("{INSIDE}{function} at {location}")).cloned();
    }
    frames
}

/// Returns the last part of a path.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use foretell_trace::{EventKind, TraceBuilder};

    use super::*;

    #[test]
    fn files_and_lines_are_told_apart() {
        let location = |text| Location::parse(text).map(|p| (p.file, p.line));
        assert_eq!(location("bank.c:41"), Some(("bank.c", 41)));
        assert_eq!(location("src/a b.c:41:7"), Some(("src/a b.c", 41)));
        assert_eq!(location("C:\\bank.c:4"), Some(("C:\\bank.c", 4)));
        for text in ["", "41", ":41", "bank.c", "bank.c:", "bank.c:0", "bank.c:x", "std::move"] {
            assert_eq!(location(text), None, "{text}");
        }
    }

    /// The stack of an event at `location` with these callers, innermost first.
    fn read(location: &str, callers: &[&str]) -> Vec<(Option<String>, Option<String>)> {
        let mut b = TraceBuilder::new();
        let mut site = None;
        for caller in callers.iter().rev() {
            site = Some(b.site(caller, site));
        }
        let (t, site) = (b.thread("T1"), b.site(location, site));
        let e = b.push(t, EventKind::Begin { label: None }, Some(site));
        let frames = stack(&b.build(), e);
        frames.into_iter().map(|f| (f.function, f.location)).collect()
    }

    #[test]
    fn frames_of_recorders_and_of_people() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            read("a.c:7", &["get(int, char) b.c:9", "main"]),
            [(some("get(int, char)"), some("a.c:7")), (some("main"), some("b.c:9"))]
        );
        assert_eq!(
            read("bank.c:41", &["teller.c:12", "main.c:3"]),
            [(None, some("bank.c:41")), (None, some("teller.c:12")), (None, some("main.c:3"))]
        );
        assert_eq!(read("a.c:7", &[]), [(None, some("a.c:7"))]);
        assert_eq!(
            read("a.c:7", &["f", "g b.c:1"]),
            [(some("f"), some("a.c:7")), (some("g"), None), (None, some("b.c:1"))]
        );
    }
}
