//! Resources: objects that end with a call of `close`.
//!
//! | in the run | in the trace |
//! |---|---|
//! | resource that a thread closes and another one uses | a block, with a condition in it |
//! | first `close` that returns | `free` of the block |
//! | other call | notification of the condition, which no thread waits for |
//!
//! A notification is an operation on the block and nothing else: it is always enabled, changes
//! nothing and is no access of a race. A call of a class of the platform is also a use of hidden
//! state ([`hidden`](super::hidden)), whose events come after that of the resource; `close` is in
//! no order there with the calls before it.
//!
//! `close` may be called twice: only the first is an event. A resource that the closing thread uses
//! afterwards can be opened again, and has no block.

use foretell_trace::{CondId, EventKind, MemBlockId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::event_writer::EventWriter;
use super::log::Entry;
use super::objects::Objects;
use super::record::Record;
use super::survey::Key;
use super::tables::Tables;
use crate::names::UniqueNames;

/// Field number of the life of a resource.
pub(super) const LIFE: u32 = u32::MAX - 2;

/// Returns the variable that stands for the life of a resource.
pub(super) fn life(object: u32) -> Key {
    (object, LIFE, 0)
}

/// Threads that use and close a resource.
#[derive(Default)]
struct Users {
    first: Option<u32>,
    several: bool,
    closer: Option<u32>,
    reopened: bool,
}

impl Users {
    /// Whether a thread closes the resource, once, and another one uses it.
    fn has_block(&self) -> bool {
        let other = self.several || self.first != self.closer;
        self.closer.is_some() && self.first.is_some() && other && !self.reopened
    }
}

/// Resources of a run; made by the first pass.
#[derive(Default)]
pub(super) struct ResourceSurvey {
    users: FxHashMap<u32, Users>,
}

impl ResourceSurvey {
    /// Notes a record.
    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        let Record::Resource { closes, object, .. } = entry.record else { return };
        let users = self.users.entry(object).or_default();
        if closes {
            users.closer.get_or_insert(entry.thread);
            return;
        }
        users.reopened |= users.closer == Some(entry.thread);
        users.several |= users.first.is_some_and(|first| first != entry.thread);
        users.first.get_or_insert(entry.thread);
    }
}

impl ResourceSurvey {
    /// Whether a resource has a block in the trace.
    pub(super) fn has_block(&self, object: u32) -> bool {
        self.users.get(&object).is_some_and(Users::has_block)
    }
}

/// Resources of a run so far.
#[derive(Default)]
pub(super) struct Resources {
    names: UniqueNames,
    blocks: FxHashMap<u32, (MemBlockId, CondId)>,
    closed: FxHashSet<u32>,
    /// Use or end of a resource in the next hidden call of each thread.
    pending: FxHashMap<u32, (bool, u32)>,
}

impl Resources {
    /// Adds the event of a record, or notes that it is in the next hidden call.
    pub(super) fn take(
        &mut self,
        out: &mut EventWriter<'_>,
        (survey, objects): (&ResourceSurvey, &mut Objects),
        entry: &Entry<'_>,
    ) {
        let Record::Resource { closes, is_step, object, .. } = entry.record else { return };
        if is_step {
            self.event(out, (survey, objects), entry, (closes, object));
        } else {
            self.pending.insert(entry.thread, (closes, object));
        }
    }

    /// Adds the event of the resource that a hidden call is about, if there is one. Returns whether
    /// it is the end of the resource.
    pub(super) fn hidden_call(
        &mut self,
        out: &mut EventWriter<'_>,
        survey: (&ResourceSurvey, &mut Objects),
        entry: &Entry<'_>,
    ) -> bool {
        match self.pending.remove(&entry.thread) {
            Some(what) => self.event(out, survey, entry, what),
            None => false,
        }
    }

    /// Adds an event. Returns whether it is the end of the resource.
    fn event(
        &mut self,
        out: &mut EventWriter<'_>,
        (survey, objects): (&ResourceSurvey, &mut Objects),
        entry: &Entry<'_>,
        (closes, object): (bool, u32),
    ) -> bool {
        if !survey.has_block(object) {
            return false;
        }
        let Resources { names, blocks, closed, .. } = self;
        let &mut (block, cond) = blocks.entry(object).or_insert_with(|| {
            let name = names.unique(objects.name(object, out.tables));
            let builder = &mut out.trace.builder;
            let block = builder.mem_block(&name);
            let cond = builder.condition(&format!("use of {name}"));
            builder.set_condition_part(cond, block);
            (block, cond)
        });
        if !closes {
            out.push(entry, EventKind::NotifyAll { cond });
            return false;
        }
        let ends = closed.insert(object);
        if ends {
            out.push(entry, EventKind::Free { block });
        }
        ends
    }
}

/// Resources that a replayed run has closed so far.
#[derive(Default)]
pub(super) struct ClosedResources {
    /// Thread and location of the first `close` of each resource.
    closed: FxHashMap<u32, (u32, u32)>,
}

impl ClosedResources {
    /// Takes a record. Returns a message if it is a use of a resource that another thread has
    /// closed.
    pub(super) fn take(&mut self, entry: &Entry<'_>, tables: &Tables) -> Option<String> {
        let Record::Resource { closes, site, object, .. } = entry.record else { return None };
        if closes {
            self.closed.entry(object).or_insert((entry.thread, site));
            return None;
        }
        let &(_, end) = self.closed.get(&object).filter(|(thread, _)| *thread != entry.thread)?;
        let line = |site| tables.source_line(site).unwrap_or_else(|| "?".to_owned());
        Some(format!("use after close at {} (closed at {})", line(site), line(end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the resource has a block; an item is a thread and whether it closes.
    fn has_block(calls: &[(u32, bool)]) -> bool {
        let mut survey = ResourceSurvey::default();
        for &(thread, closes) in calls {
            let record = Record::Resource { closes, is_step: true, site: 0, object: 7 };
            survey.take(&Entry { thread, ordinal: 0, record });
        }
        survey.has_block(7)
    }

    #[test]
    fn use_after_the_close_of_another_thread_is_told() {
        let tables = Tables::parse(
            "C\t1\tp/Box\tjava/lang/Object\tBox.java\nS\t1\t1\t0\t1\t12\t\t\n\
             S\t2\t1\t1\t1\t15\t\t\n",
        );
        let mut closed = ClosedResources::default();
        let mut take = |thread, closes, site| {
            let record = Record::Resource { closes, is_step: false, site, object: 7 };
            closed.take(&Entry { thread, ordinal: 0, record }, &tables)
        };
        assert_eq!([take(1, false, 2), take(0, true, 1), take(0, false, 2)], [None, None, None]);
        let told = "use after close at Box.java:15 (closed at Box.java:12)";
        assert_eq!(take(1, false, 2).as_deref(), Some(told));
    }

    #[test]
    fn only_resources_that_another_thread_closes_have_blocks() {
        assert!(has_block(&[(1, false), (0, true)]));
        assert!(has_block(&[(0, false), (1, false), (0, true), (0, true)]));
        assert!(has_block(&[(0, true), (1, false)]));
        assert!(!has_block(&[(1, false), (0, false)]));
        assert!(!has_block(&[(1, false), (1, true), (0, true)]));
        assert!(!has_block(&[(1, true), (0, true)]));
        assert!(!has_block(&[(1, false), (0, true), (0, false)]));
    }
}
