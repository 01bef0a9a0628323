//! Choice graphs, the algorithm of "Efficient Predictive Analysis for Detecting Nondeterminism
//! in Multi-Threaded Programs" (Sinha, Malik, Gupta): is there an interleaving in which a read sees
//! another write?
//!
//! For a read r of the write w, every other write c of the variable is a *challenger*, and the
//! *witnesses* are the orders c → r → w, w → c → r, and c → r without w. For each one a graph of
//! what must come before what is built (`order_graph`); a cycle refutes the witness. If there is
//! none, the sections of locks that may come in either order are ordered one way or the other
//! (`choices`) until some choice graph is acyclic too, or all are cyclic, which refutes the witness
//! as well. A read all of whose witnesses are refuted is deterministic. For the others the exact
//! engine has the last word: an acyclic graph still allows a third write between a writer and its
//! reader.
//!
//! *Incrementally*, as in the paper's optimization: everything that does not depend on the witness
//! is in the vector clocks of must-happen-before; what depends on the read alone is added once for
//! the read, what depends on the challenger once for its three witnesses. In a thread, every
//! challenger after the first one that needs the read is refuted without a look.
//!
//! Departures, each of them where the published algorithm would be wrong (`docs/engines.md`):
//! - Interleavings end anywhere. A read couple orders what comes *after* the read, and sections
//!   that are still open at the end are treated as such.
//! - Which notification wakes which waiter is not fixed, so waits and notifications are no edges.
//! - A broken read ends its thread: in c → r → w it keeps its locks.
//! - An update that is broken breaks every read of it, so a read's own writer may be the
//!   challenger.
//! - Challengers in the model `value` are the writes of another value.
//!
//! Other queries than those about reads and final values go to the exact engine. Semaphores,
//! barriers, conditions, failed try-locks and opaque variables are not in the graphs: they refute
//! nothing here.

mod choices;
mod order_graph;

use foretell_model::TraceModel;
use foretell_trace::{EventId, Model, VarId};

use self::order_graph::{Base, Cyclic, OrderGraph};
use super::order::OrderEngine;
use super::writers::FinalWrites;
use crate::engine::{Effort, Engine};
use crate::graph_counts::GraphCounts;
use crate::query::{Goal, Limit, Query, Verdict};

/// Decides queries about nondeterminism with choice graphs first and the order engine last.
pub struct GraphEngine<'s> {
    base: Base<'s>,
    exact: OrderEngine<'s>,
    counts: GraphCounts,
    /// Whether to stop at the first witness of a read that is left, and count no further.
    quick: bool,
    decided_by_graphs: bool,
}

/// The order of challenger, read and writer that a witness graph is built for. Unlike the form of a
/// finding ([`NondeterminismForm`](foretell_trace::NondeterminismForm)), which a checked schedule
/// has, it is a supposition; a last write that is overwritten counts as
/// [`WitnessOrder::AfterWriter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WitnessOrder {
    /// c → r → w.
    BeforeWriter,
    /// w → c → r.
    AfterWriter,
    /// c → r, and w does not run.
    WriterAbsent,
}

/// Verdict of the graphs on a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WitnessClass {
    /// The witness order graph is cyclic: impossible.
    Cyclic,
    /// It is acyclic and no choice matters.
    WithoutChoice,
    /// Some choice graph is acyclic, or there were too many.
    WithChoice,
    /// Every choice graph is cyclic: impossible.
    AllCyclic,
}

impl WitnessClass {
    /// Whether no interleaving shows the witness.
    pub fn refuted(self) -> bool {
        matches!(self, WitnessClass::Cyclic | WitnessClass::AllCyclic)
    }
}

/// A witness: a challenger (`None`: the initial value) and an order.
pub type Witness = (Option<EventId>, WitnessOrder);

impl<'s> GraphEngine<'s> {
    /// An engine that knows nothing yet.
    pub fn new(trace_model: &'s TraceModel<'s>) -> Self {
        Self {
            base: Base::new(trace_model),
            exact: OrderEngine::new(trace_model),
            counts: GraphCounts::default(),
            quick: false,
            decided_by_graphs: false,
        }
    }

    /// An engine that looks at no more witnesses than it needs: one that is left settles a read, as
    /// far as the graphs can. The verdicts are the same, the counts are not.
    pub fn quick(trace_model: &'s TraceModel<'s>) -> Self {
        Self { quick: true, ..Self::new(trace_model) }
    }

    /// Whether the graphs alone say that a query is impossible.
    pub fn refutes(&mut self, query: &Query, limit: &Limit<'_>) -> bool {
        let refuted = self.left(query, limit) == Some(false);
        self.counts.refuted += u64::from(refuted);
        refuted
    }

    /// Whether a query has a witness left; `None` if graphs do not say.
    fn left(&mut self, query: &Query, limit: &Limit<'_>) -> Option<bool> {
        match query.goal {
            // There every read is preserved, whatever it sees.
            _ if self.base.trace_model.model == Model::Symbolic => None,
            _ if !query.next.is_empty() || !query.order.is_empty() => None,
            Goal::Broken(read) if query.run == [read] => self.witnesses_of(read, limit, |_, _| {}),
            Goal::Overwritten(write, x) if query.run.is_empty() => {
                self.final_value(write, x, limit)
            }
            _ => None,
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> GraphCounts {
        self.counts
    }

    /// Reports the class of every witness of a read; `None` if a limit was reached. Witnesses
    /// that are refuted in bulk are only counted.
    pub fn witnesses_of(
        &mut self,
        read: EventId,
        limit: &Limit<'_>,
        see: impl FnMut(Witness, WitnessClass),
    ) -> Option<bool> {
        let mut witnesses =
            Witnesses { counts: &mut self.counts, see, quick: self.quick, left: false };
        witnesses.of_read(&self.base, read, limit)?;
        Some(witnesses.left)
    }

    /// Whether a final value has a witness left; `None` if a limit was reached.
    fn final_value(&mut self, write: EventId, x: VarId, limit: &Limit<'_>) -> Option<bool> {
        let trace_model = self.base.trace_model;
        let mut all = OrderGraph::new(&self.base);
        all.run_everything();
        let all = all.saturate().map(|()| all);
        let quick = self.quick;
        let mut witnesses =
            Witnesses { counts: &mut self.counts, see: |_, _| {}, quick, left: false };
        let FinalWrites { differing, equal } = FinalWrites::besides(trace_model, write, x);
        // The last write of a thread comes after all its other writes.
        for last in differing {
            if limit.reached().is_some() {
                return None;
            }
            let graph = all.clone().and_then(|mut graph| {
                for &other in equal.iter().chain([&write]) {
                    foretell_limit::check();
                    graph.edge(other, last)?;
                }
                graph.saturate().map(|()| graph)
            });
            // The other two orders do not exist: everything runs before the end.
            witnesses.cyclic(2);
            witnesses.class((Some(last), WitnessOrder::AfterWriter), graph);
        }
        Some(witnesses.left)
    }
}

/// Counts the witnesses of one query.
struct Witnesses<'c, F> {
    counts: &'c mut GraphCounts,
    see: F,
    quick: bool,
    /// Whether a witness was not refuted.
    left: bool,
}

impl<F: FnMut(Witness, WitnessClass)> Witnesses<'_, F> {
    /// Witnesses that nothing has to be built for.
    fn cyclic(&mut self, n: u64) {
        self.counts.witnesses += n;
        self.counts.cyclic += n;
    }

    /// Goes on with a witness whose order graph is acyclic.
    fn class(&mut self, witness: Witness, graph: Result<OrderGraph<'_>, Cyclic>) {
        if self.quick && self.left {
            return;
        }
        self.counts.witnesses += 1;
        let Ok(graph) = graph else {
            self.counts.cyclic += 1;
            (self.see)(witness, WitnessClass::Cyclic);
            return;
        };
        let explored = choices::explore(&graph);
        let class = match (explored.choices, explored.impossible) {
            (0, _) => {
                self.counts.without_choice += 1;
                WitnessClass::WithoutChoice
            }
            (choices, impossible) => {
                self.counts.with_choice += 1;
                if !explored.given_up {
                    let graphs = 1u64 << choices.min(63);
                    self.counts.possible = self.counts.possible.saturating_add(graphs);
                }
                self.counts.explored += explored.graphs;
                self.counts.all_cyclic += u64::from(impossible);
                self.counts.left_open += u64::from(explored.given_up);
                if impossible { WitnessClass::AllCyclic } else { WitnessClass::WithChoice }
            }
        };
        self.left |= !class.refuted();
        (self.see)(witness, class);
    }

    fn of_read(&mut self, base: &Base<'_>, read: EventId, limit: &Limit<'_>) -> Option<()> {
        let trace_model = base.trace_model;
        let TraceModel { trace, chains, reads_from, must_happen_before, .. } = trace_model;
        let x = trace.variable(read)?;
        let (own, position) = (trace.thread(read), chains.position(read));
        let writer = reads_from.observed(read);
        let graph = graph_of_read(base, read);
        for (thread, list) in reads_from.accesses_by_thread(x) {
            let writes = list.iter().copied().filter(|&c| trace.op(c).writes() && c != read);
            // From here on every write needs the read.
            let mut too_late = false;
            for c in writes {
                foretell_limit::check();
                let preserves = reads_from.preserves(trace, read, Some(c));
                let broken_update = preserves && trace.op(c).reads() && *thread != own;
                too_late |= must_happen_before.needs(chains, trace, c, own) > position;
                match &graph {
                    _ if preserves && !broken_update => {}
                    Ok(graph) if !too_late && preserves => self.of_update(graph, read, c),
                    Ok(graph) if !too_late => self.of_challenger(graph, read, writer, c),
                    _ => self.cyclic(if preserves { 1 } else { 3 }),
                }
                if self.quick && self.left {
                    return Some(());
                }
                if limit.reached().is_some() {
                    return None;
                }
            }
        }
        if let Some(w) = writer.filter(|_| !reads_from.preserves(trace, read, None)) {
            // Nothing comes before the initial value.
            self.cyclic(1);
            match graph {
                Ok(graph) => self.without_writer(graph, None, read, w),
                Err(Cyclic) => self.cyclic(2),
            }
        }
        Some(())
    }

    /// The three witnesses of a challenger.
    fn of_challenger(
        &mut self,
        graph: &OrderGraph<'_>,
        read: EventId,
        writer: Option<EventId>,
        c: EventId,
    ) {
        let mut graph = graph.clone();
        if before(&mut graph, c, read).is_err() {
            self.cyclic(3);
            return;
        }
        let Some(w) = writer else {
            self.cyclic(2);
            self.class((Some(c), WitnessOrder::AfterWriter), Ok(graph));
            return;
        };
        let mut after = graph.clone();
        let after = after.run(w).and_then(|()| before(&mut after, w, c)).map(|()| after);
        self.class((Some(c), WitnessOrder::AfterWriter), after);
        self.without_writer(graph, Some(c), read, w);
    }

    /// The two witnesses in which the writer has not run when the read does.
    fn without_writer(
        &mut self,
        graph: OrderGraph<'_>,
        c: Option<EventId>,
        read: EventId,
        w: EventId,
    ) {
        if graph.runs(w) {
            self.cyclic(2);
            return;
        }
        let mut absent = graph.clone();
        let absent = absent.leave_out(w).and_then(|()| absent.saturate()).map(|()| absent);
        self.class((c, WitnessOrder::WriterAbsent), absent);
        let mut later = graph;
        let later = later.run(w).and_then(|()| before(&mut later, read, w)).map(|()| later);
        self.class((c, WitnessOrder::BeforeWriter), later);
    }

    /// An update that would preserve the read, unless it is broken itself.
    fn of_update(&mut self, graph: &OrderGraph<'_>, read: EventId, update: EventId) {
        let mut graph = graph.clone();
        let graph = graph
            .run(update)
            .and_then(|()| graph.cut_after(update))
            .and_then(|()| before(&mut graph, update, read))
            .map(|()| graph);
        self.class((Some(update), WitnessOrder::AfterWriter), graph);
    }
}

/// The graph of a read that runs and is broken.
fn graph_of_read<'b>(base: &'b Base<'b>, read: EventId) -> Result<OrderGraph<'b>, Cyclic> {
    let mut graph = OrderGraph::new(base);
    graph.cut_after(read)?;
    graph.run(read)?;
    graph.saturate()?;
    Ok(graph)
}

/// One event of a witness before another one that runs.
fn before(graph: &mut OrderGraph<'_>, a: EventId, b: EventId) -> Result<(), Cyclic> {
    graph.edge(a, b)?;
    graph.saturate()
}

impl Engine for GraphEngine<'_> {
    fn name(&self) -> &'static str {
        "graph"
    }

    fn decided_by(&self) -> &'static str {
        if self.decided_by_graphs { self.name() } else { self.exact.name() }
    }

    fn decide(&mut self, query: &Query, limit: &Limit<'_>) -> Verdict {
        let left = self.left(query, limit);
        self.decided_by_graphs = left.is_some();
        if left == Some(false) {
            self.counts.refuted += 1;
            return Verdict::Impossible;
        }
        let verdict = self.exact.decide(query, limit);
        if left.is_some() {
            self.counts.confirmed += u64::from(matches!(verdict, Verdict::Witness(_)));
            self.counts.unconfirmed += u64::from(verdict == Verdict::Impossible);
        }
        verdict
    }

    fn effort(&self) -> Effort {
        let mut effort = self.exact.effort();
        effort.graphs.add(&self.counts);
        effort
    }
}
