//! Choice graphs (section III.B of the nondeterminism paper): what is left open between the
//! sections of a lock, as far as it matters for a witness.
//!
//! Two sections that exclude each other and that G' does not order are a *choice*. It matters if
//! one of its two edges lies on a path from the head of one of the witness's edges to the tail of
//! one: no other choice can close a cycle, because without the witness's edges everything goes
//! forward in the observed order. The paper finds those paths in its lock abstraction graph, where
//! a section is one vertex and a choice an undirected edge. Here the same is a pair of thresholds
//! for each thread: the first place that can be reached from a head, and the last one from which a
//! tail can be reached. A section is not merged into one vertex, so fewer choices count.
//!
//! Choice graphs are looked at one after the other, the observed order of each pair first, and a
//! cycle cuts off all graphs that share the choices made so far. If none is left, the witness is
//! impossible, whatever the set of choices was: one of the two orders of each pair holds in
//! every interleaving that shows the witness.

use foretell_model::{SectionId, TraceModel};

use super::order_graph::{OrderGraph, excludes};

/// More choices than this, and the witness is left to the exact engine.
const MOST_CHOICES: usize = 24;
/// More graphs than this, and the witness is left to the exact engine.
const MOST_GRAPHS: u64 = 256;

/// Outcome of the choice graphs of a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Explored {
    /// Largest number of choices that matter in one graph.
    pub(crate) choices: usize,
    /// Number of graphs that were built.
    pub(crate) graphs: u64,
    /// Whether every choice graph is cyclic.
    pub(crate) impossible: bool,
    /// Whether there were too many of something.
    pub(crate) given_up: bool,
}

/// Looks for an acyclic choice graph.
pub(crate) fn explore(graph: &OrderGraph<'_>) -> Explored {
    let mut explored = Explored::default();
    match choices(graph) {
        None => {
            explored.choices = MOST_CHOICES;
            explored.given_up = true;
        }
        Some(choices) if choices.is_empty() => {}
        Some(choices) => explored.impossible = !search(graph, &choices, 0, &mut explored),
    }
    explored
}

/// Whether some graph with these choices is acyclic, or the search was given up. `made` choices
/// have been made before.
fn search(
    graph: &OrderGraph<'_>,
    choices: &[(SectionId, SectionId)],
    made: usize,
    explored: &mut Explored,
) -> bool {
    let locks = &graph.base.trace_model.locks;
    let Some((&(first, second), rest)) = choices.split_first() else {
        return leaf(graph, made, explored);
    };
    explored.choices = explored.choices.max(made + choices.len());
    for (earlier, later) in [(first, second), (second, first)] {
        if explored.graphs >= MOST_GRAPHS {
            explored.given_up = true;
            return true;
        }
        let mut chosen = graph.clone();
        let ordered = chosen.order_sections(locks.get(earlier), locks.get(later));
        match ordered.and_then(|new| if new { chosen.saturate() } else { Ok(()) }) {
            Ok(()) => {
                if search(&chosen, rest, made + 1, explored) {
                    return true;
                }
            }
            Err(_) => explored.graphs += 1,
        }
    }
    false
}

/// All choices are made, and there is no cycle. Sections that had to be left may have brought
/// others into the graph, and with them new choices.
fn leaf(graph: &OrderGraph<'_>, made: usize, explored: &mut Explored) -> bool {
    match choices(graph) {
        Some(more) if !more.is_empty() => search(graph, &more, made, explored),
        found => {
            explored.given_up |= found.is_none();
            explored.graphs += 1;
            true
        }
    }
}

/// The choices that matter, the sections of each in observed order; `None` if they are too many.
fn choices(graph: &OrderGraph<'_>) -> Option<Vec<(SectionId, SectionId)>> {
    let TraceModel { chains, locks, .. } = graph.base.trace_model;
    let (mut up, mut down) = graph.ends();
    widen(graph, &mut up, &mut down);
    let mut choices = Vec::new();
    for &lock in &graph.base.contended {
        let threads = locks.of_lock_by_thread(lock);
        for (own, list) in threads {
            let t = own.index();
            // From the first section that ends where a head can be reached from.
            let from = list.partition_point(|&s| exit_before(graph, s, up[t]));
            let entered = |s: &&SectionId| graph.runs(locks.get(**s).enter);
            for &s in list[from..].iter().take_while(entered) {
                foretell_limit::check();
                let section = locks.get(s);
                let Some(exit) = section.exit.filter(|_| !graph.stays_open(section)) else { break };
                let (before, after) = (graph.down(exit), graph.up(section.enter));
                for (other, list) in threads.iter().filter(|(other, _)| other != own) {
                    let o = other.index();
                    // Sections that are entered before this one ends are ordered before it.
                    let enters = |s: &SectionId| chains.position(locks.get(*s).enter);
                    let from = list.partition_point(|s| enters(s) < before[o]);
                    let reaching = |s: &&SectionId| enters(s) < down[o].min(graph.frontier[o]);
                    for &later in list[from..].iter().take_while(reaching) {
                        foretell_limit::check();
                        let other = locks.get(later);
                        // Sections that end after this one begins are ordered after it.
                        if graph.stays_open(other) || !exit_before(graph, later, after[o]) {
                            break;
                        }
                        let pair = (s.min(later), s.max(later));
                        if excludes(section, other) && !choices.contains(&pair) {
                            choices.push(pair);
                        }
                    }
                }
                if choices.len() > MOST_CHOICES {
                    return None;
                }
            }
        }
    }
    Some(choices)
}

/// Whether a section is left before this place in its thread.
fn exit_before(graph: &OrderGraph<'_>, s: SectionId, place: u32) -> bool {
    let TraceModel { chains, locks, .. } = graph.base.trace_model;
    locks.get(s).exit.is_some_and(|x| chains.position(x) < place)
}

/// Lets what is reached from a head, and what reaches a tail, go on through the sections of a lock
/// that are not ordered the other way round, wherever in the trace they are.
fn widen(graph: &OrderGraph<'_>, up: &mut [u32], down: &mut [u32]) {
    let TraceModel { chains, locks, .. } = graph.base.trace_model;
    let mut grew = true;
    while grew {
        grew = false;
        for &lock in &graph.base.contended {
            let threads = locks.of_lock_by_thread(lock);
            for (own, list) in threads {
                foretell_limit::check();
                let t = own.index();
                // The first section that is left where a head can be reached from.
                let first = list.partition_point(|&s| exit_before(graph, s, up[t]));
                let exit = list.get(first).and_then(|&s| locks.get(s).exit);
                if let Some(before) = exit.map(|exit| graph.down(exit)) {
                    for (other, list) in threads.iter().filter(|(other, _)| other != own) {
                        foretell_limit::check();
                        let o = other.index();
                        let enters = |s: &SectionId| chains.position(locks.get(*s).enter);
                        let next = list.partition_point(|s| enters(s) < before[o]);
                        let Some(&next) = list.get(next).filter(|s| enters(s) < up[o]) else {
                            continue;
                        };
                        for (mine, theirs) in up.iter_mut().zip(graph.up(locks.get(next).enter)) {
                            *mine = (*mine).min(theirs);
                        }
                        grew = true;
                    }
                }
                // The last section that is entered where a tail can be reached.
                let end = list.partition_point(|&s| chains.position(locks.get(s).enter) < down[t]);
                let Some(&last) = list[..end].last() else { continue };
                let after = graph.up(locks.get(last).enter);
                for (other, list) in threads.iter().filter(|(other, _)| other != own) {
                    let o = other.index();
                    let end = list.partition_point(|&s| exit_before(graph, s, after[o]));
                    let exit = list[..end].last().and_then(|&s| locks.get(s).exit);
                    let Some(exit) = exit.filter(|&x| chains.position(x) >= down[o]) else {
                        continue;
                    };
                    for (mine, theirs) in down.iter_mut().zip(graph.down(exit)) {
                        *mine = (*mine).max(theirs);
                    }
                    grew = true;
                }
            }
        }
    }
}
