//! Translates the log of a native program.
//!
//! Two passes over the records. The first ([`survey`]) finds which memory is shared, where
//! accesses split it into cells, and which lock scopes are blocks. The second ([`translation`])
//! writes the events. The records are those of a whole log, or those that the log filter left
//! over while the program ran: the trace is the same. Properties of the trace:
//!
//! - Freeing memory is one event, which counts as a write of every shared variable in it: a use
//!   after free is a race, and where locks order the two, a lifetime violation. So is the use of a
//!   destroyed lock or condition ([`lifetimes`]).
//! - It says which threads had ended, unless a wait may end for reasons not in the trace
//!   ([`ended`]).
//! - A read whose value no recorded write explains makes its variable opaque.
//! - A thread whose last event observes a value ends with a `post` of a semaphore of its own:
//!   without it the thread could be joined after that last read saw another value. So does a
//!   thread without events, which could be joined before it is created.
//! - Communication through the kernel (pipes, sockets, signals, files) is reads and writes of
//!   variables of its own ([`channels`]).
//! - A compare-and-exchange that failed is a read in a section of a lock
//!   ([`failed_rmw`](crate::failed_rmw)).
//! - Elided accesses to a variable come before all of its events
//!   ([`elision_gaps`](memory)).
//! - A failed try to take a semaphore is a read of a variable of its own, the semaphore's count
//!   ([`semaphore_counts`](sync)).
//!
//! The result is always legal: events that are not (a log recorded in parallel mode may be out of
//! order) are dropped, and the notes of the translation say so.

mod benign;
mod cells;
mod channels;
mod context;
mod ended;
mod event_writer;
mod failure;
mod held_before;
mod hidden;
mod lifetimes;
mod locations;
mod memory;
mod names;
mod opaque;
pub(crate) mod regions;
mod stack_frames;
mod survey;
mod sync;
#[cfg(test)]
pub(crate) mod tests;
mod thread_locals;
mod translation;

use foretell_log::{Calls, LoggedRecord, Sink, Source, WholeLog};
use foretell_rt_format::{Header, Log, Record};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::symbolic::Rebuild;
use crate::{Blocks, Translated};
use context::kind_of;
pub use failure::signal_name;
use survey::Survey;
use translation::Translation;

/// Translates a log.
pub fn translate(log: &Log<'_>, blocks: &Blocks) -> Translated {
    translate_from(&WholeLog::new(log), &log.header, Calls::default(), blocks)
}

/// Translates the log of a program that was built for symbolic recording to a symbolic trace.
/// Returns `None` for a program that was not.
pub fn translate_symbolic(log: &Log<'_>, blocks: &Blocks) -> Option<Translated> {
    let rebuild = Some(Box::default());
    let t = translate_with(&WholeLog::new(log), &log.header, Calls::default(), blocks, rebuild);
    t.symbolic.is_some().then_some(t)
}

/// Translates the records of a run; `calls` knows their stacks.
pub fn translate_from<'a>(
    source: &dyn Source<'a>,
    header: &Header,
    calls: Calls,
    blocks: &Blocks,
) -> Translated {
    translate_with(source, header, calls, blocks, None)
}

fn translate_with<'a>(
    source: &dyn Source<'a>,
    header: &Header,
    mut calls: Calls,
    blocks: &Blocks,
    symbolic: Option<Box<Rebuild>>,
) -> Translated {
    let mut survey = Survey::of(source, &mut calls, blocks);
    if header.mode == PARALLEL {
        survey.hidden.forget_orders();
    }
    // A trace that may not be legal, or whose values are filled in later, is not packed.
    let packed = symbolic.is_none() && header.mode != PARALLEL;
    let mut translation = Translation::new(survey, blocks, symbolic, packed);
    if header.mode == PARALLEL {
        let created = FxHashSet::from_iter([0]);
        let early = FxHashMap::default();
        let mut in_order = CreationOrder { translation: &mut translation, created, early };
        source.for_each(&mut calls, &mut in_order);
    } else {
        source.for_each(&mut calls, &mut translation);
    }
    translation.finish(header, source)
}

/// Mode of a log that was recorded in parallel.
const PARALLEL: u32 = 1;

/// Delays the records of a thread until the record of its creation, which may come later in a log
/// recorded in parallel.
struct CreationOrder<'t, 'b, 'a> {
    translation: &'t mut Translation<'b>,
    created: FxHashSet<u32>,
    early: FxHashMap<u32, Vec<LoggedRecord<'a>>>,
}

impl<'a> Sink<'a> for CreationOrder<'_, '_, 'a> {
    fn record(&mut self, calls: &Calls, logged: &LoggedRecord<'a>) -> bool {
        if !self.created.contains(&logged.entry.thread) {
            self.early.entry(logged.entry.thread).or_default().push(logged.clone());
            return true;
        }
        if !self.translation.record(calls, logged) {
            return false;
        }
        if let Record::Create { thread, .. } = logged.entry.record {
            self.created.insert(thread);
            let early = self.early.remove(&thread);
            return early.iter().flatten().all(|logged| self.translation.record(calls, logged));
        }
        true
    }
}
