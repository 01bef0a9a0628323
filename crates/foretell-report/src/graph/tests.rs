use foretell_trace::{EventKind, TraceBuilder};
use foretell_verify::Pattern;

use super::*;
use crate::json::{self, TraceInfo};

fn graphs(trace: &Trace, pattern: &Pattern, schedule: &[u32]) -> Graphs {
    let schedule: Vec<EventId> = schedule.iter().map(|&e| EventId(e)).collect();
    let mut file = Findings::new(TraceInfo::new("t", trace, Model::View));
    file.findings.push(json::finding(pattern, &schedule, "order", trace));
    file.renumber();
    let mut graphs = Graphs::new();
    graphs.add(&file, trace);
    graphs
}

/// Two threads that take two locks in opposite order, one called `<b>`.
fn inversion() -> Graphs {
    let mut b = TraceBuilder::new();
    let locks = ["a\"", "<b>"].map(|name| b.lock(name));
    for (thread, [first, second]) in [("T1", locks), ("T2", [locks[1], locks[0]])] {
        let thread = b.thread(thread);
        b.push(thread, EventKind::Acquire { lock: first }, None);
        b.push(thread, EventKind::Acquire { lock: second }, None);
        b.push(thread, EventKind::Release { lock: second }, None);
        b.push(thread, EventKind::Release { lock: first }, None);
    }
    let acquires = vec![EventId(1), EventId(5)];
    graphs(&b.build(), &Pattern::Deadlock { acquires }, &[0, 4])
}

#[test]
fn a_deadlock_is_a_circle_of_waits() {
    let graphs = inversion();
    let waits: Vec<(usize, usize)> = graphs.0[0]
        .edges
        .iter()
        .filter(|(_, _, edge)| *edge == Edge::Waits)
        .map(|&(a, b, _)| (a, b))
        .collect();
    assert_eq!(waits, [(2, 1), (3, 0)]);
}

#[test]
fn conflicts_stand_for_the_reads_between_the_same_steps() {
    let mut b = TraceBuilder::new();
    let (t1, t2, var) = (b.thread("T1"), b.thread("T2"), b.variable("x"));
    let write = EventKind::Write { var, atomic: false, value: None, expr: None };
    b.push(t1, write, None);
    b.push(t2, EventKind::Read { var, atomic: false, value: None, register: None }, None);
    let trace = b.build();
    let graphs = graphs(&trace, &Pattern::Race { a: EventId(0), b: EventId(1) }, &[0, 1]);
    assert_eq!(graphs.0[0].edges, [(0, 1, Edge::Conflict)]);
}

#[test]
fn opaque_variables_have_no_conflict_edges() {
    let mut b = TraceBuilder::new();
    let (t1, t2, var) = (b.thread("T1"), b.thread("T2"), b.variable("x"));
    b.set_opaque(var);
    b.push(t1, EventKind::Write { var, atomic: false, value: None, expr: None }, None);
    b.push(t2, EventKind::Read { var, atomic: false, value: None, register: None }, None);
    let trace = b.build();
    let graphs = graphs(&trace, &Pattern::Race { a: EventId(0), b: EventId(1) }, &[0, 1]);
    assert_eq!(graphs.0[0].edges, [(0, 1, Edge::ReadsFrom)]);
}

#[test]
fn names_cannot_break_out() {
    let (mut dot, mut svg) = (Vec::new(), Vec::new());
    inversion().write_dot(&mut dot).unwrap();
    inversion().write_svg(&mut svg).unwrap();
    let (dot, svg) = (String::from_utf8(dot).unwrap(), String::from_utf8(svg).unwrap());
    assert!(dot.contains("acq(a\\\")"), "{dot}");
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    assert!(svg.contains("acq(&lt;b&gt;)") && !svg.contains("<b>"), "{svg}");
}
