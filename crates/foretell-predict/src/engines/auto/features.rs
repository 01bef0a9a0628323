//! Features of a query that are cheap to measure before it is decided; the choice of an engine
//! depends on.

use std::cell::OnceCell;

use foretell_model::Frontier;
use foretell_model::{Segment, TraceModel};
use foretell_trace::{ObjectKind, ThreadId};

use crate::query::{Goal, Query};

/// The shape of a query: what it asks of an interleaving. Shapes are not kinds of findings: races
/// and deadlocks have one shape, reads and last writes of nondeterminism two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum QueryShape {
    /// Events that are next at the same time: races and deadlocks.
    Next,
    /// Events that run in an order: atomicity.
    Order,
    /// A read that sees something else.
    Broken,
    /// A last write that is not the last.
    Overwritten,
    /// A path that leaves a block and comes back.
    Path,
    /// A cycle of transactions.
    Cycle,
}

impl QueryShape {
    /// Every shape.
    pub const ALL: [QueryShape; 6] = [
        QueryShape::Next,
        QueryShape::Order,
        QueryShape::Broken,
        QueryShape::Overwritten,
        QueryShape::Path,
        QueryShape::Cycle,
    ];

    /// Returns the shape of a query.
    pub fn of(query: &Query) -> QueryShape {
        match query.goal {
            Goal::Broken(_) => QueryShape::Broken,
            Goal::Overwritten(..) => QueryShape::Overwritten,
            Goal::Path(_) => QueryShape::Path,
            Goal::Cycle(_) => QueryShape::Cycle,
            _ if query.next.is_empty() => QueryShape::Order,
            _ => QueryShape::Next,
        }
    }
}

/// Something to measure of a query.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// Events that have run in every interleaving that the query asks for; for a block, the events
    /// of its segment.
    Segment,
    /// Threads among them.
    Threads,
    /// Critical sections among them of locks that several threads take.
    Locks,
    /// Coupling: reads among them that saw another thread's write.
    Coupling,
    /// Events of conditions, semaphores and barriers among them.
    Waits,
    /// Writes that may be challengers, or accesses of the block.
    Candidates,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Feature; 6] = [
        Feature::Segment,
        Feature::Threads,
        Feature::Locks,
        Feature::Coupling,
        Feature::Waits,
        Feature::Candidates,
    ];
}

/// Measures queries about one trace.
pub struct Survey<'s> {
    trace_model: &'s TraceModel<'s>,
    /// For each thread the places of what features count; made when first asked for.
    places: OnceCell<Places>,
}

#[derive(Default)]
struct Places {
    locks: Vec<Vec<u32>>,
    coupling: Vec<Vec<u32>>,
    waits: Vec<Vec<u32>>,
}

/// A stretch of every thread: from the first count to the second.
type Stretch = (Frontier, Frontier);

impl<'s> Survey<'s> {
    /// A survey that has measured nothing yet.
    pub fn new(trace_model: &'s TraceModel<'s>) -> Self {
        Self { trace_model, places: OnceCell::new() }
    }

    /// Measures a feature of a query.
    pub fn measure(&self, query: &Query, feature: Feature) -> u32 {
        if feature == Feature::Candidates {
            return self.candidates(query);
        }
        let (from, to) = self.stretch(query);
        let counts = from.iter().zip(&to);
        match feature {
            Feature::Segment => counts.map(|(f, t)| t.saturating_sub(*f)).sum(),
            Feature::Threads => counts.filter(|(f, t)| t > f).count() as u32,
            _ => {
                let places = self.places.get_or_init(|| Places::new(self.trace_model));
                let places = match feature {
                    Feature::Locks => &places.locks,
                    Feature::Coupling => &places.coupling,
                    _ => &places.waits,
                };
                let within = |list: &Vec<u32>, (f, t): (&u32, &u32)| {
                    let before = |n: &u32| list.partition_point(|p| p < n);
                    before(t).saturating_sub(before(f)) as u32
                };
                places.iter().zip(counts).map(|(list, ends)| within(list, ends)).sum()
            }
        }
    }

    /// The events that the query is about: all that must have run, or the segment of its block.
    fn stretch(&self, query: &Query) -> Stretch {
        let TraceModel { trace, chains, must_happen_before, .. } = self.trace_model;
        let everything = || (0..chains.thread_count()).map(ThreadId::from_index);
        let all = || everything().map(|t| chains.events(t).len() as u32).collect::<Frontier>();
        let nothing = vec![0; chains.thread_count()];
        match query.goal {
            Goal::Path(block) => {
                let segment = Segment::new(self.trace_model, block);
                (segment.upper, segment.lower)
            }
            Goal::Cycle(_) | Goal::Overwritten(..) => (nothing, all()),
            _ => {
                let next = self.trace_model.frontier_of_next(&query.next);
                let mut to = next.unwrap_or_else(|| nothing.clone());
                for &e in &query.run {
                    must_happen_before.include_run(&mut to, trace.thread(e), chains.position(e));
                }
                (nothing, to)
            }
        }
    }

    fn candidates(&self, query: &Query) -> u32 {
        let trace_model = self.trace_model;
        match query.goal {
            Goal::Broken(e) | Goal::Overwritten(e, _) => {
                let variable = trace_model.trace.variable(e);
                variable.map_or(0, |x| trace_model.reads_from.writes(x).len() as u32)
            }
            Goal::Path(block) | Goal::Cycle(block) => {
                trace_model.blocks.events(&trace_model.chains, block).len() as u32
            }
            _ => (query.next.len() + query.run.len()) as u32,
        }
    }
}

impl Places {
    fn new(trace_model: &TraceModel<'_>) -> Self {
        let TraceModel { trace, chains, reads_from, locks, .. } = trace_model;
        let lists = || vec![Vec::new(); chains.thread_count()];
        let mut places = Self { locks: lists(), coupling: lists(), waits: lists() };
        for e in trace.ids() {
            foretell_limit::check();
            let (thread, place) = (trace.thread(e), chains.position(e));
            let list = if trace.op(e).is_access() {
                // Uses of hidden state leave nothing to decide.
                let coupled = trace.op(e).reads()
                    && !trace_model.uses_hidden_state(e)
                    && reads_from.observed(e).is_some_and(|w| trace.thread(w) != thread);
                coupled.then_some(&mut places.coupling)
            } else if let Some(section) = locks.entered_at(e) {
                let threads = locks.of_lock_by_thread(locks.get(section).lock);
                (threads.len() > 1).then_some(&mut places.locks)
            } else {
                match trace.op(e).object_kind() {
                    ObjectKind::Condition | ObjectKind::Semaphore | ObjectKind::Barrier => {
                        Some(&mut places.waits)
                    }
                    _ => None,
                }
            };
            if let Some(list) = list {
                list[thread.index()].push(place);
            }
        }
        places
    }
}
