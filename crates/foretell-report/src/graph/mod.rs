//! The conflict graph of a finding, as DOT and as SVG.
//!
//! Nodes are the decisive steps of the witness (`witness::fold`). Edges are program order;
//! conflicts between the finding's own accesses, earlier to later in the witness; the write that a
//! read sees; the release that an acquire comes after; and for a deadlock the wait of a thread for
//! the step that took the lock.

mod dot;
mod svg;

use std::io::{self, Write};

use foretell_trace::{EventId, Model, ThreadId, Trace, conflict};

use crate::headline::headline;
use crate::json::{Finding, Findings};
use crate::source::Sources;
use crate::text::printable;
use crate::witness::event::describe;
use crate::witness::fold::{self, Row};
use crate::witness::relations::{Relations, steps};
use crate::witness::values::Observed;

/// One step that is shown.
struct Node {
    thread: ThreadId,
    /// Number in the schedule, from 1.
    step: usize,
    text: String,
    location: String,
    /// Whether it is the finding's own.
    main: bool,
    /// Whether the thread never gets past it.
    blocked: bool,
}

/// Meaning of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Edge {
    /// Program order.
    Order,
    Conflict,
    ReadsFrom,
    HandOver,
    /// A thread waits for a lock that a thread holds.
    Waits,
}

/// The graph of one finding.
struct Graph {
    title: String,
    id: String,
    threads: Vec<(ThreadId, String)>,
    nodes: Vec<Node>,
    edges: Vec<(usize, usize, Edge)>,
}

/// Graphs under construction.
#[derive(Default)]
pub struct Graphs(Vec<Graph>);

impl std::fmt::Debug for Graphs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} graphs", self.0.len())
    }
}

impl Graphs {
    /// Returns an empty collection.
    pub fn new() -> Self {
        Graphs::default()
    }

    /// Adds a graph for each finding of a file.
    pub fn add(&mut self, file: &Findings, trace: &Trace) {
        let graphs = file.findings.iter().map(|f| Graph::new(f, trace, file.trace.model));
        self.0.extend(graphs);
    }

    /// Writes the graphs in the language of Graphviz.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_dot(&self, out: &mut dyn Write) -> io::Result<()> {
        dot::write(out, &self.0)
    }

    /// Writes the graphs as a picture.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_svg(&self, out: &mut dyn Write) -> io::Result<()> {
        svg::write(out, &self.0)
    }
}

impl Graph {
    fn new(finding: &Finding, trace: &Trace, model: Model) -> Self {
        let (steps, count) = steps(finding, trace);
        let schedule = &steps[..count];
        let pattern: Vec<EventId> = finding
            .events
            .iter()
            .filter(|&&e| (e as usize) < trace.len())
            .map(|&e| EventId(e))
            .collect();
        let rows = fold::folded(finding, &pattern, schedule, trace);
        let shown = rows.into_iter().filter_map(|row| match row {
            Row::Event(position) => Some(position),
            Row::Folded(_) => None,
        });
        let positions: Vec<usize> = shown.chain(count..steps.len()).collect();
        let values = Observed::new(trace, model).values(trace, &steps);
        let nodes: Vec<Node> = positions
            .iter()
            .map(|&position| {
                let e = steps[position];
                let (read, written) = values[position];
                let site = trace.site(e);
                Node {
                    thread: trace.thread(e),
                    step: position + 1,
                    text: printable(&describe(trace, e, read, written)),
                    location: site.map(|s| printable(trace.location(s))).unwrap_or_default(),
                    main: pattern.contains(&e),
                    blocked: position >= count,
                }
            })
            .collect();
        let mut threads: Vec<ThreadId> = nodes.iter().map(|n| n.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        let threads = threads.into_iter().map(|t| (t, printable(trace.display_name(t)))).collect();
        let edges = edges(finding, trace, &steps, count, &positions, &nodes);
        let title = printable(&headline(finding, Some(trace), &Sources::none()));
        Graph { title, id: finding.id.clone(), threads, nodes, edges }
    }
}

fn edges(
    finding: &Finding,
    trace: &Trace,
    steps: &[EventId],
    count: usize,
    positions: &[usize],
    nodes: &[Node],
) -> Vec<(usize, usize, Edge)> {
    let relations = Relations::new(trace, &steps[..count]);
    let node_at = |position: usize| positions.binary_search(&position).ok();
    let mut edges = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let before = nodes[..i].iter().rposition(|other| other.thread == node.thread);
        edges.extend(before.map(|before| (before, i, Edge::Order)));
        if node.blocked {
            continue;
        }
        let from = relations.reads_from[positions[i]].and_then(node_at);
        edges.extend(
            from.filter(|&f| nodes[f].thread != node.thread).map(|f| (f, i, Edge::ReadsFrom)),
        );
        let hand = relations.hand_over[positions[i]].and_then(node_at);
        edges.extend(hand.map(|hand| (hand, i, Edge::HandOver)));
    }
    let main: Vec<usize> = (0..nodes.len()).filter(|&i| nodes[i].main).collect();
    for (k, &a) in main.iter().enumerate() {
        for &b in &main[k + 1..] {
            if conflict(trace, steps[positions[a]], steps[positions[b]]) {
                edges.retain(|&(x, y, kind)| (x, y, kind) != (a, b, Edge::ReadsFrom));
                edges.push((a, b, Edge::Conflict));
            }
        }
    }
    if finding.kind.ends_blocked() {
        let holds = fold::held_at_end(&steps[..count], trace);
        for (i, node) in nodes.iter().enumerate().filter(|(_, node)| node.blocked) {
            let wanted = fold::lock(trace, steps[positions[i]]);
            let held = holds.iter().filter(|h| Some(h.lock) == wanted && h.thread != node.thread);
            edges.extend(
                held.filter_map(|h| node_at(h.position)).map(|held| (i, held, Edge::Waits)),
            );
        }
    }
    edges
}

#[cfg(test)]
mod tests;
