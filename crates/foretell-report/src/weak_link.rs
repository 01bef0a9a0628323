//! The synchronisation that an unordered race lacks: the store and the load between its two
//! accesses whose memory orders are too weak.
//!
//! In the witness of such a race the later thread usually waits for the earlier one all the same: it
//! reads a flag that the other has set. That pair would order the two accesses if the store
//! released and the load acquired; the remark says which of them does not.

use std::collections::BTreeMap;

use foretell_trace::{EventId, MemoryOrder, Op, Trace};

/// A store and a load that reads it, which could synchronise and do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WeakLink {
    /// The store.
    pub(crate) store: EventId,
    /// The load.
    pub(crate) load: EventId,
    store_releases: bool,
    load_acquires: bool,
}

/// Returns the weak link between two accesses in a schedule: the last one that leads from the
/// thread of the first access to that of the second, or into that of the second.
pub(crate) fn weak_link(
    trace: &Trace,
    schedule: &[EventId],
    accesses: [EventId; 2],
) -> Option<WeakLink> {
    let place = |e: EventId| schedule.iter().position(|&f| f == e);
    let (p, q) = (place(accesses[0])?, place(accesses[1])?);
    let (first, last) = (p.min(q), p.max(q));
    let (from, to) = (trace.thread(schedule[first]), trace.thread(schedule[last]));
    let mut last_write: BTreeMap<u32, usize> = BTreeMap::new();
    let (mut direct, mut indirect) = (None, None);
    for (i, &e) in schedule[..last].iter().enumerate() {
        let Some(x) = trace.variable(e) else { continue };
        let op = trace.op(e);
        if op.reads()
            && i > first
            && trace.thread(e) == to
            && let Some(&w) = last_write.get(&x.0)
            && w > first
            && trace.thread(schedule[w]) != to
            && let Some(link) = link(trace, schedule, (first, w), (i, last))
        {
            let slot = if trace.thread(schedule[w]) == from { &mut direct } else { &mut indirect };
            *slot = Some(link);
        }
        if op.writes() {
            last_write.insert(x.0, i);
        }
    }
    direct.or(indirect)
}

/// The link of the store and the load at two places, if it is weak.
fn link(
    trace: &Trace,
    schedule: &[EventId],
    (first, store): (usize, usize),
    (load, last): (usize, usize),
) -> Option<WeakLink> {
    let (w, r) = (schedule[store], schedule[load]);
    let is_atomic = |e: EventId| trace.op(e).is_atomic();
    if !is_atomic(w) && !is_atomic(r) {
        return None;
    }
    let fence = |range: &[EventId], e: EventId, is: fn(MemoryOrder) -> bool| {
        range.iter().any(|&f| {
            trace.op(f) == Op::Fence && trace.thread(f) == trace.thread(e) && is(trace.order(f))
        })
    };
    let store_releases = is_atomic(w)
        && (trace.order(w).releases() || fence(&schedule[first..store], w, MemoryOrder::releases));
    let load_acquires = is_atomic(r)
        && (trace.order(r).acquires() || fence(&schedule[load..last], r, MemoryOrder::acquires));
    let weak = !store_releases || !load_acquires;
    weak.then_some(WeakLink { store: w, load: r, store_releases, load_acquires })
}

impl WeakLink {
    /// Returns the remark: the access that is too weak, and what would order the two accesses.
    pub(crate) fn remark(&self, trace: &Trace) -> String {
        let name = trace.variable(self.store).map_or("?", |x| trace.variable_name(x));
        let (store, load) = (at(trace, self.store), at(trace, self.load));
        let (weak_store, weak_load) = (how(trace, self.store), how(trace, self.load));
        match (self.store_releases, self.load_acquires) {
            (false, false) => format!(
                "the store of `{name}`{store} is {weak_store}; release here and acquire{load} \
                 would order them"
            ),
            (false, true) => format!(
                "the store of `{name}`{store} is {weak_store}; release here would order them, \
                 the load{load} acquires"
            ),
            (true, _) => format!(
                "the load of `{name}`{load} is {weak_load}; acquire here would order them, \
                 the store{store} releases"
            ),
        }
    }

    /// Returns the remarks on the two locations.
    pub(crate) fn notes(&self, trace: &Trace) -> [(EventId, String); 2] {
        let store = match self.store_releases {
            true => "this store releases".to_owned(),
            false => format!("this store is {}: it would have to release", how(trace, self.store)),
        };
        let load = match self.load_acquires {
            true => "this load acquires".to_owned(),
            false => format!("this load is {}: it would have to acquire", how(trace, self.load)),
        };
        [(self.store, store), (self.load, load)]
    }
}

fn at(trace: &Trace, e: EventId) -> String {
    match trace.site(e) {
        Some(site) => format!(" at {}", trace.location(site)),
        None => format!(" in {} (event {})", trace.display_name(trace.thread(e)), e.0),
    }
}

/// How an access is too weak.
fn how(trace: &Trace, e: EventId) -> &'static str {
    if !trace.op(e).is_atomic() {
        return "not atomic";
    }
    match trace.order(e) {
        MemoryOrder::Relaxed => "relaxed",
        MemoryOrder::Acquire => "only an acquire",
        MemoryOrder::Release => "only a release",
        MemoryOrder::AcqRel | MemoryOrder::SeqCst => "in a sequence that another store starts",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remark(text: &str, accesses: [u32; 2]) -> Option<String> {
        let trace = foretell_trace::text::parse(text.as_bytes()).expect("a trace").trace;
        let schedule: Vec<EventId> = trace.ids().collect();
        weak_link(&trace, &schedule, accesses.map(EventId)).map(|link| link.remark(&trace))
    }

    #[test]
    fn the_access_that_is_too_weak_is_named() {
        let flag = |store: &str, load: &str| {
            let text =
                format!("A|w(d)|q.c:9\nA|{store}(f)|q.c:12\nB|{load}(f)|q.c:20\nB|r(d)|q.c:21");
            remark(&text, [0, 3])
        };
        let both = "the store of `f` at q.c:12 is relaxed; release here and acquire at q.c:20 \
                    would order them";
        assert_eq!(flag("aw.rlx", "ar.rlx").as_deref(), Some(both));
        let store = "the store of `f` at q.c:12 is relaxed; release here would order them, the \
                     load at q.c:20 acquires";
        assert_eq!(flag("aw.rlx", "ar.acq").as_deref(), Some(store));
        let load = "the load of `f` at q.c:20 is relaxed; acquire here would order them, the \
                    store at q.c:12 releases";
        assert_eq!(flag("aw", "ar.rlx").as_deref(), Some(load));
        assert_eq!(flag("aw", "ar"), None);
        assert!(flag("w", "ar").is_some_and(|text| text.contains("is not atomic")));
    }

    #[test]
    fn fences_count_where_they_stand() {
        let text = "A|w(d)\nA|fence.rel\nA|aw.rlx(f)\nB|ar.rlx(f)\nB|r(d)";
        assert!(remark(text, [0, 4]).is_some_and(|text| text.contains("the load of `f` in B")));
        let fenced = "A|w(d)\nA|aw.rlx(f)\nB|ar.rlx(f)\nB|fence.acq\nB|r(d)";
        assert!(remark(fenced, [0, 4]).is_some_and(|text| text.contains("release here would")));
    }

    #[test]
    fn the_link_may_lead_through_a_third_thread() {
        let text = "A|w(d)\nA|aw(f)\nC|ar(f)\nC|aw.rlx(g)\nB|ar(g)\nB|r(d)";
        assert!(remark(text, [0, 5]).is_some_and(|text| text.contains("store of `g`")));
    }
}
