//! Progress of a replayed Java run along its schedule, according to its log.
//!
//! The agent's hooks come after the accesses, and its log has them as long as the schedule lasts.
//! Two accesses that the schedule *reaches* run directly after one another: both threads have made
//! every step before them when the first one runs.

use std::path::Path;

use foretell_rt_format::SyncKind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::log::Log;
use super::mutex_semaphores::MutexSemaphores;
use super::plain::{OWN, PLAIN};
use super::record::{Blocked, Record};
use super::resources::{ClosedResources, LIFE, life};
use super::survey::{ATOMIC, Access, ELEMENT, Fields, Key};
use super::tables::Tables;
use crate::Error;

/// A variable of a run: a field of an object, an element of an array, the value of an atomic
/// object.
#[derive(Clone, Debug)]
pub struct Variable {
    keys: Vec<Key>,
    /// Name in words: `Box.value of object 7`.
    pub name: String,
}

impl Variable {
    /// Whether two steps that touch these variables touch a common one.
    pub fn overlaps(&self, other: &Variable) -> bool {
        self.keys.iter().any(|key| other.keys.contains(key))
    }
}

/// A thread that waits in a step, when all threads do that have to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The thread, and what it waits for.
    pub blocked: Blocked,
    /// Threads that hold the lock.
    pub holders: Vec<u32>,
}

/// Progress of a run along its schedule.
#[derive(Default, Debug)]
pub struct Progress {
    /// Steps that ran, of those that were asked for, by thread and ordinal, with their variables.
    pub steps: FxHashMap<(u32, u64), Option<Variable>>,
    /// Whether every step of the schedule ran.
    pub steps_done: bool,
    /// Threads that waited, once all did that had to.
    pub all_blocked: Option<Vec<Waiting>>,
    /// Message about the first use of a resource that another thread had closed.
    pub use_after_close: Option<String>,
}

impl Progress {
    /// Reads the progress of a run from the file of its log; `wanted` are steps to look for, by
    /// thread and ordinal.
    ///
    /// # Errors
    /// When the file, or that of the tables beside it, is not valid.
    pub fn load(path: &Path, wanted: &[(u32, u64)]) -> Result<Progress, Error> {
        let bytes = std::fs::read(path).map_err(Error::file(path))?;
        let log =
            Log::parse(&bytes).map_err(|source| Error::Log { path: path.to_path_buf(), source })?;
        let tables = Tables::load(&path.with_extension("tables"))?;
        Ok(Progress::of(&log, &tables, wanted))
    }

    fn of(log: &Log<'_>, tables: &Tables, wanted: &[(u32, u64)]) -> Progress {
        let wanted: FxHashSet<(u32, u64)> = wanted.iter().copied().collect();
        let mut progress = Progress::default();
        let mut fields = Fields::default();
        let mut held: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut mutexes = MutexSemaphores::default();
        log.entries().for_each(|entry| mutexes.take(&entry));
        let mut closed = ClosedResources::default();
        // Resource of the next hidden call of each thread.
        let mut resources: FxHashMap<u32, u32> = FxHashMap::default();
        for entry in log.entries() {
            let step = (entry.thread, entry.ordinal);
            let told = closed.take(&entry, tables);
            progress.use_after_close = progress.use_after_close.or(told);
            if let Record::Resource { is_step: false, object, .. } = entry.record {
                resources.insert(entry.thread, object);
            }
            let is_step = entry.record.kind().is_some();
            let resource = if is_step { resources.remove(&entry.thread) } else { None };
            if is_step && wanted.contains(&step) {
                let mut keys = touched(&entry.record, &mut fields, tables);
                keys.extend(resource.map(life));
                let name = keys.last().map(|&key| name(key, &fields));
                progress.steps.insert(step, name.map(|name| Variable { keys, name }));
            }
            let ranges = Access::of_range(&entry.record);
            let before = (entry.thread, entry.ordinal.saturating_sub(1));
            if let Some(touched) = progress.steps.get_mut(&before).filter(|_| !ranges.is_empty()) {
                let keys: Vec<Key> = ranges.iter().map(|access| access.key).collect();
                let named = name(keys[0], &fields);
                let variable = touched.get_or_insert(Variable { keys: Vec::new(), name: named });
                variable.keys.extend(keys);
            }
            match entry.record {
                Record::Handle { number, class, field } => {
                    fields.handle(number, class, field, tables);
                }
                Record::Sync { kind, object, other, .. } => {
                    let of_semaphore = mutexes.lock_of(kind, object);
                    if let Some((lock, acquires)) =
                        of_semaphore.or_else(|| lock_of(kind, object, other))
                    {
                        let times = held.entry((lock, entry.thread)).or_default();
                        *times = if acquires { *times + 1 } else { times.saturating_sub(1) };
                    }
                }
                Record::StepsDone => progress.steps_done = true,
                Record::AllBlocked { threads } => {
                    let holders = |lock: u32| {
                        let held = held.iter().filter(|&(&(l, _), &times)| l == lock && times > 0);
                        held.map(|(&(_, thread), _)| thread).collect()
                    };
                    let waiting = threads.iter().map(|&blocked| Waiting {
                        blocked,
                        holders: if blocked.joins { Vec::new() } else { holders(blocked.object) },
                    });
                    progress.all_blocked = Some(waiting.collect());
                }
                _ => {}
            }
        }
        progress
    }
}

/// Returns the lock that an operation takes or gives back, and whether it takes it.
pub(super) fn lock_of(kind: SyncKind, object: u32, other: u64) -> Option<(u32, bool)> {
    let other = u32::try_from(other).ok();
    match kind {
        SyncKind::Lock | SyncKind::ReadLock => Some((object, true)),
        SyncKind::Unlock | SyncKind::ReadUnlock => Some((object, false)),
        SyncKind::Wait => Some((other?, false)),
        SyncKind::Woken | SyncKind::TimedOut => Some((other?, true)),
        _ => None,
    }
}

/// Returns the variables that a record touches.
fn touched(record: &Record<'_>, fields: &mut Fields, tables: &Tables) -> Vec<Key> {
    match record {
        Record::Hidden { uses, .. } => uses.iter().filter_map(|used| used.key()).collect(),
        Record::Resource { object, .. } => vec![life(*object)],
        record => Access::of(record, fields, tables).into_iter().map(|a| a.key).collect(),
    }
}

fn name(key: Key, fields: &Fields) -> String {
    match key {
        (object, ELEMENT, index) => format!("element {index} of object {object}"),
        (object, ATOMIC | PLAIN | OWN | LIFE, 0) => format!("object {object}"),
        (object, ATOMIC | PLAIN, index) => format!("element {} of object {object}", index - 1),
        (object, field, _) => {
            let (class, field) = fields.name(field);
            match object {
                0 => format!("{class}.{field}"),
                _ => format!("{class}.{field} of object {object}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_their_variables_and_waits_their_holders() {
        let tables = Tables::parse(
            "C\t1\tp/Box\tjava/lang/Object\tBox.java\nF\t1\tvalue\t0\n\
             S\t1\t1\t0\t1\t12\tp/Box\tvalue\n",
        );
        // T1 writes the field of objects 7 and 8, and takes lock 3; T2 waits for the lock.
        let records = [1, 1, 8, 1, 7, 0, 8, 1, 8, 0, 11, 1, 3, 81, 1, 2, 0, 3, 80];
        let bytes = [&b"FTJAVA2\n"[..], &[3, 5], &records].concat();
        let log = Log::parse(&bytes).unwrap();
        let progress = Progress::of(&log, &tables, &[(1, 0), (1, 1), (1, 9)]);
        let names = |step| progress.steps[&step].as_ref().map(|v| v.name.as_str());
        assert_eq!(names((1, 0)), Some("Box.value of object 7"));
        let variable = |step| progress.steps[&step].as_ref().unwrap();
        assert!(!variable((1, 0)).overlaps(variable((1, 1))));
        assert!(progress.steps_done && progress.steps.len() == 2);
        let blocked = Blocked { thread: 2, joins: false, object: 3 };
        assert_eq!(progress.all_blocked, Some(vec![Waiting { blocked, holders: vec![1] }]));
    }
}
