//! Plain accesses of calls that are not recorded: collections of `java.util` and string builders
//! that have no synchronisation of their own.
//!
//! The agent knows what the methods of such classes read and write. The trace has a variable for
//! the *structure* of a collection, with a version as its value, and one for each *part* that calls
//! write without changing the structure: an element of a list, the entry of a key. Accesses are
//! not atomic, so that two calls race as two accesses of a field do. A call that changes a
//! collection depends on what it finds: it reads the variable and then writes it.
//!
//! | use | structure | parts |
//! |---|---|---|
//! | `Read` | read | |
//! | `ReadAll` | read | read, all of them |
//! | `Write` | read and written | |
//! | `WriteAll` | read and written | read, all of them |
//! | `AtomicRead`, `AtomicUpdate` | read, or updated, atomically | |
//! | `ReadPart`, `WritePart` | | read, or read and written, one of them |
//!
//! Views and iterators have the variables of their collection; `WriteOwn` is about an iterator's
//! own position. Classes that lock a monitor in every method (`Vector`,
//! `Collections.synchronizedMap`) have the same accesses between an acquire and a release of it,
//! `Locked`. A collection with more than [`MAX_PARTS`] parts that are written keeps the recorded
//! order of the calls that use parts ([`hidden`](super::hidden)).

use foretell_trace::{EventKind, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::event_writer::EventWriter;
use super::log::Entry;
use super::objects::Objects;
use super::survey::Key;
use super::variables::readable_key;
use crate::names::UniqueNames;

/// Field number of the structure of a collection and, with an index, of its parts.
pub(super) const PLAIN: u32 = u32::MAX;
/// Field number of an iterator's own state.
pub(super) const OWN: u32 = u32::MAX - 1;

/// Largest number of parts that are variables.
const MAX_PARTS: usize = 32;

/// Access of a call to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// Not known: the call keeps its recorded order.
    Opaque,
    Read,
    ReadAll,
    Write,
    WriteAll,
    ReadPart,
    WritePart,
    WriteOwn,
    /// The monitor of the object is locked during the call.
    Locked,
    /// An atomic read of an object whose methods are atomic.
    AtomicRead,
    /// An atomic update of such an object.
    AtomicUpdate,
}

/// An object that a call uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ObjectUse {
    pub(crate) object: u32,
    pub(crate) how: How,
    pub(crate) part: u32,
}

impl ObjectUse {
    /// Returns the use with a code of the log.
    pub(super) fn parse(object: u32, code: u32) -> Option<ObjectUse> {
        let how = match code & 15 {
            0 => How::Opaque,
            1 => How::Read,
            2 => How::ReadAll,
            3 => How::Write,
            4 => How::WriteAll,
            6 => How::ReadPart,
            7 => How::WritePart,
            8 => How::WriteOwn,
            9 => How::Locked,
            10 => How::AtomicRead,
            11 => How::AtomicUpdate,
            _ => return None,
        };
        Some(ObjectUse { object, how, part: code >> 4 })
    }

    /// Whether the monitor of the object is locked during the call.
    pub(super) fn locks(self) -> bool {
        self.how == How::Locked
    }

    pub(super) fn is_opaque(self) -> bool {
        self.how == How::Opaque
    }

    pub(super) fn is_plain_read(self) -> bool {
        matches!(self.how, How::Read | How::ReadAll | How::ReadPart)
    }

    /// Whether the call uses parts.
    fn uses_parts(self) -> bool {
        matches!(self.how, How::ReadAll | How::WriteAll | How::ReadPart | How::WritePart)
    }

    /// Returns the variable that a call uses in any case, if its use is known.
    pub(super) fn key(self) -> Option<Key> {
        match self.how {
            How::Opaque | How::Locked => None,
            How::WriteOwn => Some((self.object, OWN, 0)),
            How::ReadPart | How::WritePart => Some((self.object, PLAIN, self.part)),
            _ => Some((self.object, PLAIN, 0)),
        }
    }
}

/// Use of a collection, or of an iterator's own state, in a run.
#[derive(Default)]
struct BaseUse {
    first: u32,
    shared: bool,
    written: bool,
    /// Parts that are written, in the order of their numbers.
    parts: Vec<u32>,
}

/// Collections that a run uses; made by the first pass.
#[derive(Default)]
pub(super) struct PlainSurvey {
    bases: FxHashMap<(u32, u32), BaseUse>,
    crowded: FxHashSet<u32>,
}

impl PlainSurvey {
    /// Notes a use.
    pub(super) fn take(&mut self, thread: u32, used: ObjectUse) {
        let Some((object, field, _)) = used.key() else { return };
        let new = BaseUse { first: thread, ..BaseUse::default() };
        let base = self.bases.entry((object, field)).or_insert(new);
        base.shared |= base.first != thread;
        match used.how {
            How::Write | How::WriteAll | How::WriteOwn | How::AtomicUpdate => base.written = true,
            How::WritePart if base.parts.len() <= MAX_PARTS => {
                if let Err(at) = base.parts.binary_search(&used.part) {
                    base.parts.insert(at, used.part);
                }
            }
            _ => {}
        }
    }

    /// Returns the collections whose parts are no variables.
    pub(super) fn finish(&mut self) -> Vec<u32> {
        let crowded = self.bases.iter().filter(|(_, b)| b.shared && b.parts.len() > MAX_PARTS);
        self.crowded = crowded.map(|(&(object, _), _)| object).collect();
        self.crowded.iter().copied().collect()
    }

    /// Whether a use keeps its recorded order.
    pub(super) fn is_ordered(&self, used: ObjectUse) -> bool {
        used.is_opaque() || used.uses_parts() && self.crowded.contains(&used.object)
    }

    /// Returns the variables that a use reads, and whether it writes the last of them.
    fn accesses(&self, used: ObjectUse) -> (Vec<Key>, bool) {
        let mut keys = Vec::new();
        let Some(key @ (object, field, index)) = used.key() else { return (keys, false) };
        let Some(base) = self.bases.get(&(object, field)).filter(|b| b.shared) else {
            return (keys, false);
        };
        let parts = if self.crowded.contains(&object) { &[][..] } else { &base.parts };
        if matches!(used.how, How::ReadAll | How::WriteAll) {
            keys.extend(parts.iter().map(|&part| (object, field, part)));
        }
        let is_used = if index == 0 { base.written } else { parts.contains(&index) };
        if is_used {
            keys.push(key);
        }
        let writes =
            matches!(used.how, How::Write | How::WriteAll | How::WritePart | How::WriteOwn);
        (keys, is_used && writes)
    }
}

/// Variables of collections so far, with their versions.
#[derive(Default)]
pub(super) struct PlainVariables {
    names: UniqueNames,
    by_key: FxHashMap<Key, (VarId, i64)>,
}

impl PlainVariables {
    /// Adds the accesses of a use. At the return of a call, which has looked again, they are
    /// reads and no step.
    pub(super) fn access(
        &mut self,
        out: &mut EventWriter<'_>,
        (survey, objects, texts): (&PlainSurvey, &mut Objects, &FxHashMap<(u32, u32), String>),
        entry: &Entry<'_>,
        (used, returns): (ObjectUse, bool),
    ) {
        let (keys, writes) = survey.accesses(used);
        let last = keys.len();
        for (n, key) in (1..).zip(keys) {
            let (var, version) = self.variable(out, (objects, texts), key);
            let value = Some(out.trace.value(*version));
            let atomic = matches!(used.how, How::AtomicRead | How::AtomicUpdate);
            let event = EventKind::Read { var, atomic, value, register: None };
            if used.how == How::AtomicUpdate && !returns {
                *version += 1;
                let new = Some(out.trace.value(*version));
                let (register, expr) = (None, None);
                out.push(entry, EventKind::Update { var, old: value, new, register, expr });
                continue;
            }
            if returns {
                out.push_marker(entry.thread, event, entry.record.site());
                out.trace.set_observed_last(entry.thread, true);
                continue;
            }
            out.push(entry, event);
            if writes && n == last {
                *version += 1;
                let value = Some(out.trace.value(*version));
                out.push(entry, EventKind::Write { var, atomic: false, value, expr: None });
            }
        }
    }

    fn variable(
        &mut self,
        out: &mut EventWriter<'_>,
        (objects, keys): (&mut Objects, &FxHashMap<(u32, u32), String>),
        key: Key,
    ) -> (VarId, &mut i64) {
        let names = &mut self.names;
        let (var, version) = self.by_key.entry(key).or_insert_with(|| {
            let (object, _, part) = key;
            let name = objects.name(object, out.tables);
            let name = match part.checked_sub(1) {
                Some(index) => match keys.get(&(object, part)) {
                    Some(key) => format!("{name}[{}]", readable_key(key)),
                    None => format!("{name}[{index}]"),
                },
                None => name,
            };
            let var = out.trace.builder.variable(&names.unique(name));
            let zero = out.trace.value(0);
            out.trace.builder.set_initial_value(var, zero);
            (var, 0)
        });
        (*var, version)
    }
}
