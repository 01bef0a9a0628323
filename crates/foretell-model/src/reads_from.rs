//! Reads-from: the write that each read saw, and the other writes that would preserve its view.
//!
//! The trace-segmentation paper couples a read with the last write before it; the race-witness
//! paper with every write of the same value. [`ReadsFrom::preserves`] is the one place where the
//! models `view` and `value` differ.
//!
//! A use of hidden state, an update of an opaque variable, is preserved by the write before it in
//! the trace alone, in every model.

use std::sync::OnceLock;

use foretell_trace::{EventId, Model, Op, ThreadId, Trace, ValueId, VarId};
use rustc_hash::FxHashMap;

use crate::locks::push_by_key;

const INITIAL: u32 = u32::MAX;

/// The place of a thread in the lists of a variable.
type AccessIndex = FxHashMap<(VarId, ThreadId), u32>;

/// The accesses of each variable and what its reads may see.
#[derive(Debug)]
pub struct ReadsFrom {
    model: Model,
    /// The write that each reading event saw; `INITIAL` for the initial value and for every
    /// event that reads nothing.
    seen: Vec<u32>,
    writes: Vec<Vec<EventId>>,
    accesses: Vec<Vec<EventId>>,
    /// For each variable, each thread that accesses it and its accesses in order.
    by_thread: Vec<Vec<(ThreadId, Vec<EventId>)>>,
    /// For each variable, each thread that writes it and its writes in order.
    writes_by_thread: Vec<Vec<(ThreadId, Vec<EventId>)>>,
    initial: Vec<Option<ValueId>>,
    /// For each variable, whether all its accesses are updates.
    only_updates: Vec<bool>,
    /// The writes of each variable and value, once they were asked for.
    by_value: OnceLock<FxHashMap<(VarId, ValueId), Vec<EventId>>>,
}

/// Whether an event is a use of hidden state: an update of an opaque variable.
#[inline]
pub(crate) fn uses_hidden_state(trace: &Trace, e: EventId) -> bool {
    trace.op(e) == Op::AtomicUpdate && trace.variable(e).is_some_and(|x| trace.is_opaque(x))
}

impl ReadsFrom {
    /// Finds the write of every read of a trace.
    pub(crate) fn new(trace: &Trace, model: Model) -> Self {
        let variables = trace.variable_count();
        let mut reads_from = Self {
            model,
            seen: vec![INITIAL; trace.len()],
            writes: vec![Vec::new(); variables],
            accesses: vec![Vec::new(); variables],
            by_thread: vec![Vec::new(); variables],
            writes_by_thread: vec![Vec::new(); variables],
            initial: (0..variables)
                .map(|v| trace.declared_initial_value(VarId::from_index(v)))
                .collect(),
            only_updates: vec![true; variables],
            by_value: OnceLock::new(),
        };
        let mut index = AccessIndex::default();
        let mut write_index = index.clone();
        for e in trace.ids() {
            foretell_limit::check();
            for x in trace.accessed_variables(e) {
                reads_from.add(trace, e, x, &mut index, &mut write_index);
            }
        }
        reads_from
    }

    /// Adds the access of an event to a variable: the only one, but for a `free`.
    #[inline]
    fn add(
        &mut self,
        trace: &Trace,
        e: EventId,
        x: VarId,
        index: &mut AccessIndex,
        write_index: &mut AccessIndex,
    ) {
        let (op, thread) = (trace.op(e), trace.thread(e));
        if op.reads() {
            match self.writes[x.index()].last() {
                Some(w) => self.seen[e.index()] = w.0,
                None => {
                    let initial = &mut self.initial[x.index()];
                    *initial = initial.or(trace.read_value(e));
                }
            }
        }
        if op.writes() {
            self.writes[x.index()].push(e);
            let lists = &mut self.writes_by_thread[x.index()];
            push_by_key(lists, write_index.entry((x, thread)), thread, e);
        }
        self.only_updates[x.index()] &= op == Op::AtomicUpdate;
        self.accesses[x.index()].push(e);
        let lists = &mut self.by_thread[x.index()];
        push_by_key(lists, index.entry((x, thread)), thread, e);
    }

    /// The write that a read saw in the trace; `None` is the initial value.
    #[inline]
    pub fn observed(&self, read: EventId) -> Option<EventId> {
        let w = self.seen[read.index()];
        (w != INITIAL).then_some(EventId(w))
    }

    /// Whether a read that sees `writer` (`None`: the initial value; an update only if it is not
    /// broken) has its view preserved.
    #[inline]
    pub fn preserves(&self, trace: &Trace, read: EventId, writer: Option<EventId>) -> bool {
        if writer == self.observed(read) {
            return true;
        }
        if uses_hidden_state(trace, read) {
            return false;
        }
        match self.model {
            Model::View => return false,
            Model::Symbolic => return true,
            Model::Value => {}
        }
        let Some(value) = trace.read_value(read) else { return false };
        match writer {
            Some(w) => trace.written_value(w) == Some(value),
            None => {
                let x = trace.variable(read).expect("a read has a variable");
                self.initial[x.index()] == Some(value)
            }
        }
    }

    /// Whether a read is bound to values, or to writes. In the symbolic model it is to neither.
    pub(crate) fn binds(&self) -> bool {
        self.model != Model::Symbolic
    }

    /// The writes of a variable, updates included, in observed order.
    #[inline]
    pub fn writes(&self, x: VarId) -> &[EventId] {
        &self.writes[x.index()]
    }

    /// The writes of a variable that wrote a value, in observed order.
    pub fn writes_of_value(&self, trace: &Trace, x: VarId, value: ValueId) -> &[EventId] {
        let by_value = self.by_value.get_or_init(|| {
            let mut map: FxHashMap<(VarId, ValueId), Vec<EventId>> = FxHashMap::default();
            for (x, writes) in self.writes.iter().enumerate() {
                for &w in writes {
                    if let Some(value) = trace.written_value(w) {
                        map.entry((VarId::from_index(x), value)).or_default().push(w);
                    }
                }
            }
            map
        });
        by_value.get(&(x, value)).map_or(&[], Vec::as_slice)
    }

    /// The accesses of a variable in observed order.
    #[inline]
    pub fn accesses(&self, x: VarId) -> &[EventId] {
        &self.accesses[x.index()]
    }

    /// The threads that access a variable, each with its accesses in order.
    #[inline]
    pub fn accesses_by_thread(&self, x: VarId) -> &[(ThreadId, Vec<EventId>)] {
        &self.by_thread[x.index()]
    }

    /// The threads that write a variable, each with its writes in order.
    #[inline]
    pub fn writes_by_thread(&self, x: VarId) -> &[(ThreadId, Vec<EventId>)] {
        &self.writes_by_thread[x.index()]
    }

    /// The last write of the read's own thread before it: it hides the earlier ones and the initial
    /// value.
    pub fn own_write(&self, trace: &Trace, read: EventId) -> Option<EventId> {
        let x = trace.variable(read)?;
        let lists = self.writes_by_thread(x);
        let (_, writes) = lists.iter().find(|(t, _)| *t == trace.thread(read))?;
        writes[..writes.partition_point(|&w| w < read)].last().copied()
    }

    /// The threads with accesses that conflict with `e`, if they are of another thread, each with
    /// these accesses in order: for a write all accesses of its variable, for a read the writes.
    #[inline]
    pub fn conflicting_by_thread(
        &self,
        trace: &Trace,
        e: EventId,
        x: VarId,
    ) -> &[(ThreadId, Vec<EventId>)] {
        let lists = if trace.op(e).writes() { &self.by_thread } else { &self.writes_by_thread };
        &lists[x.index()]
    }

    /// Whether all accesses of a variable are updates. If it is opaque too, they run in observed
    /// order, each only after the one before it.
    #[inline]
    pub fn has_only_updates(&self, x: VarId) -> bool {
        self.only_updates[x.index()]
    }

    /// The initial value of a variable, if it is known.
    pub fn initial(&self, x: VarId) -> Option<ValueId> {
        self.initial[x.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ids, trace};

    /// Returns the writers that preserve a read, the initial value first.
    fn preserving(trace: &Trace, reads_from: &ReadsFrom, read: u32) -> Vec<Option<u32>> {
        let x = trace.variable(EventId(read)).expect("a variable");
        let writers = std::iter::once(None).chain(reads_from.writes(x).iter().copied().map(Some));
        writers
            .filter(|&w| reads_from.preserves(trace, EventId(read), w))
            .map(|w| w.map(|w| w.0))
            .collect()
    }

    #[test]
    fn read_is_coupled_with_the_last_write() {
        let trace = trace(
            "T1|r(x)
             T1|w(x)
             T2|au(x)
             T1|r(x)
             T2|w(y)",
        );
        let reads_from = ReadsFrom::new(&trace, Model::View);
        assert_eq!(reads_from.observed(EventId(0)), None);
        assert_eq!(reads_from.observed(EventId(2)), Some(EventId(1)));
        assert_eq!(reads_from.observed(EventId(3)), Some(EventId(2)), "an update writes");
        assert_eq!(preserving(&trace, &reads_from, 0), [None]);
        assert_eq!(preserving(&trace, &reads_from, 3), [Some(2)]);
        let x = trace.find_variable("x").expect("a variable");
        assert_eq!(reads_from.writes(x), ids([1, 2]));
        assert_eq!(reads_from.accesses(x), ids([0, 1, 2, 3]));
        let by_thread: Vec<_> =
            reads_from.accesses_by_thread(x).iter().map(|(_, l)| &l[..]).collect();
        assert_eq!(by_thread, [&ids([0, 1, 3])[..], &ids([2])]);
    }

    #[test]
    fn equal_values_preserve_by_value_only() {
        let trace = trace(
            "#! init x=1
             T1|w(x=1)
             T2|w(x=2)
             T2|au(x=2>1)
             T3|w(x)
             T3|w(x=1)
             T1|r(x=1)
             T1|r(x)",
        );
        let view = ReadsFrom::new(&trace, Model::View);
        assert_eq!(preserving(&trace, &view, 5), [Some(4)]);
        let value = ReadsFrom::new(&trace, Model::Value);
        assert_eq!(preserving(&trace, &value, 5), [None, Some(0), Some(2), Some(4)]);
        assert_eq!(preserving(&trace, &value, 6), [Some(4)], "a read without a value");
    }

    /// Equal values do not help a use of hidden state.
    #[test]
    fn hidden_state_is_preserved_by_the_write_before_it() {
        let trace = trace(
            "#! opaque h
             #! init h=0
             T1|au(h=0>0)
             T2|au(h=0>0)
             T1|r(h=0)
             T1|au(n=0>0)",
        );
        for model in [Model::View, Model::Value, Model::Symbolic] {
            let reads_from = ReadsFrom::new(&trace, model);
            assert_eq!(preserving(&trace, &reads_from, 0), [None]);
            assert_eq!(preserving(&trace, &reads_from, 1), [Some(0)]);
            let only_updates =
                |name| reads_from.has_only_updates(trace.find_variable(name).expect("a variable"));
            assert_eq!([only_updates("h"), only_updates("n")], [false, true]);
        }
    }

    /// The first read that has a value and comes before every write gives the initial value.
    #[test]
    fn initial_values() {
        let trace = trace(
            "T1|r(x)
             T1|r(x=3)
             T1|w(x=4)
             T1|r(x=4)
             T1|w(y=5)
             T1|r(y=5)
             T1|au(z=6>7)
             T1|r(z=7)",
        );
        let reads_from = ReadsFrom::new(&trace, Model::Value);
        let initial = |name| reads_from.initial(trace.find_variable(name).expect("a variable"));
        assert_eq!(initial("x"), trace.read_value(EventId(1)));
        assert_eq!(initial("y"), None);
        assert_eq!(initial("z"), trace.read_value(EventId(6)));
        assert!(reads_from.preserves(&trace, EventId(1), None));
        assert!(!reads_from.preserves(&trace, EventId(3), None));
        assert!(!reads_from.preserves(&trace, EventId(5), None), "unknown equals nothing");
    }
}
