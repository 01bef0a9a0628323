//! Steps of the events of a trace, in columns of a few bytes each.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use foretell_rt_format::{Kind, Step};
use foretell_varint as varint;
use rustc_hash::FxHashMap;

/// Kind and location of a step.
pub(crate) type What = (Kind, Option<(u32, u64)>);

/// Step of each event of a trace, if it is one.
///
/// The steps are in the columns of the file, a byte or two for each event. The first request for a
/// single step unpacks all of them.
#[derive(Clone, Default)]
pub struct EventSteps {
    /// Kinds and locations of the steps.
    whats: Vec<What>,
    index: FxHashMap<What, u32>,
    /// Cache of numbers in `whats`, from 1.
    recent: [u32; 32],
    columns: Columns,
    /// Unpacked steps, after the first request for one.
    steps: OnceLock<Vec<EventStep>>,
}

#[derive(Clone, Copy)]
struct EventStep {
    ordinal: u64,
    thread: u32,
    /// Number of its kind and location; 0: no step.
    what: u32,
}

impl EventSteps {
    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.columns.events
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the step of an event; `None` if the event is no step, or does not exist.
    pub fn get(&self, event: usize) -> Option<Step> {
        self.step(self.steps().get(event)?)
    }

    fn step(&self, event: &EventStep) -> Option<Step> {
        let &(kind, place) = self.whats.get((event.what as usize).checked_sub(1)?)?;
        Some(Step { thread: event.thread, ordinal: event.ordinal, kind, place })
    }

    fn steps(&self) -> &[EventStep] {
        self.steps.get_or_init(|| {
            let bytes = self.columns.parts().concat();
            let steps = steps_in(&bytes, self.columns.events, self.whats.len());
            steps.expect("columns are valid").0
        })
    }

    /// Returns the steps of all events.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<Step>> + '_ {
        self.steps().iter().map(|event| self.step(event))
    }

    /// Adds the step of the next event.
    #[inline]
    pub(crate) fn push(&mut self, step: Option<Step>) {
        match step {
            Some(Step { thread, ordinal, kind, place }) => {
                let what = self.number((kind, place));
                self.push_known(thread, ordinal, what);
            }
            None => {
                self.steps.take();
                self.columns.push_none();
            }
        }
    }

    /// Adds the step of the next event, whose kind and location have this number.
    #[inline]
    pub(crate) fn push_known(&mut self, thread: u32, ordinal: u64, what: u32) {
        if self.steps.get().is_some() {
            self.steps.take();
        }
        self.columns.push(thread, ordinal, what);
    }

    /// Returns the number of a step's kind and location.
    #[inline]
    pub(crate) fn number(&mut self, what: What) -> u32 {
        let offset = what.1.map_or(0, |(_, offset)| offset);
        let recent = &mut self.recent[(offset ^ (offset >> 5)) as usize % 32];
        if recent.checked_sub(1).is_some_and(|i| self.whats[i as usize] == what) {
            return *recent;
        }
        *recent = *self.index.entry(what).or_insert_with(|| {
            self.whats.push(what);
            self.whats.len() as u32
        });
        *recent
    }

    /// Returns the kinds of steps, and the columns: kinds, threads, ordinals.
    pub(super) fn columns(&self) -> (&[What], [Cow<'_, [u8]>; 3]) {
        (&self.whats, self.columns.parts())
    }

    /// Returns the steps of `events` events from their columns; `None` if the bytes are not valid.
    pub(super) fn of_columns(bytes: &[u8], events: usize, whats: Vec<What>) -> Option<EventSteps> {
        let (steps, [threads, ordinals]) = steps_in(bytes, events, whats.len())?;
        let columns = Columns {
            events,
            kinds: bytes[..threads].to_vec(),
            threads: bytes[threads..ordinals].to_vec(),
            ordinals: bytes[ordinals..].to_vec(),
            running: None,
            last: steps.iter().filter(|s| s.what != 0).map(|s| (s.thread, s.ordinal)).collect(),
        };
        let index = whats.iter().copied().zip(1..).collect();
        Some(EventSteps { whats, index, recent: [0; 32], columns, steps: steps.into() })
    }
}

/// Columns of the file.
#[derive(Clone, Default)]
struct Columns {
    events: usize,
    kinds: Vec<u8>,
    /// Without `running`.
    threads: Vec<u8>,
    ordinals: Vec<u8>,
    running: Option<Run>,
    /// Last ordinal of each thread before the current run.
    last: FxHashMap<u32, u64>,
}

/// A run of steps of one thread.
#[derive(Clone, Copy)]
struct Run {
    thread: u32,
    count: u64,
    /// Last ordinal.
    last: u64,
}

impl Columns {
    fn push_none(&mut self) {
        varint::push(&mut self.kinds, 0);
        self.events += 1;
    }

    #[inline]
    fn push(&mut self, thread: u32, ordinal: u64, what: u32) {
        varint::push(&mut self.kinds, u64::from(what));
        self.events += 1;
        let run = match &mut self.running {
            Some(run) if run.thread == thread => run,
            _ => self.switch(thread),
        };
        run.count += 1;
        let far = ordinal.wrapping_sub(run.last) as i64;
        run.last = ordinal;
        varint::push(&mut self.ordinals, varint::zigzag(far));
    }

    fn switch(&mut self, thread: u32) -> &mut Run {
        if let Some(run) = self.running.take() {
            end_run(&mut self.threads, run);
            self.last.insert(run.thread, run.last);
        }
        let last = self.last.get(&thread).copied().unwrap_or(0);
        self.running.insert(Run { thread, count: 0, last })
    }

    /// Returns the columns: kinds, threads, ordinals.
    fn parts(&self) -> [Cow<'_, [u8]>; 3] {
        let mut threads = Cow::from(&self.threads);
        if let Some(run) = self.running {
            end_run(threads.to_mut(), run);
        }
        [Cow::from(&self.kinds), threads, Cow::from(&self.ordinals)]
    }
}

/// Returns the steps in three consecutive columns, and the offsets of the second and the third.
fn steps_in(bytes: &[u8], events: usize, whats: usize) -> Option<(Vec<EventStep>, [usize; 2])> {
    // Every event takes at least a byte, which bounds the allocation.
    bytes.get(..events)?;
    let mut at = 0;
    let mut steps = Vec::with_capacity(events);
    for _ in 0..events {
        let what = u32::try_from(varint::read(bytes, &mut at).ok()?).ok()?;
        if what as usize > whats {
            return None;
        }
        steps.push(EventStep { thread: 0, ordinal: 0, what });
    }
    let threads = at;
    let (mut left, mut thread) = (0u64, 0);
    for step in steps.iter_mut().filter(|step| step.what != 0) {
        if left == 0 {
            left = varint::read(bytes, &mut at).ok().filter(|&n| n > 0)?;
            thread = u32::try_from(varint::read(bytes, &mut at).ok()?).ok()?;
        }
        step.thread = thread;
        left -= 1;
    }
    let ordinals = at;
    let mut last: FxHashMap<u32, u64> = FxHashMap::default();
    for step in steps.iter_mut().filter(|step| step.what != 0) {
        let far = varint::unzigzag(varint::read(bytes, &mut at).ok()?);
        let last = last.entry(step.thread).or_insert(0);
        *last = last.wrapping_add_signed(far);
        step.ordinal = *last;
    }
    (left == 0 && at == bytes.len()).then_some((steps, [threads, ordinals]))
}

impl FromIterator<Option<Step>> for EventSteps {
    fn from_iter<I: IntoIterator<Item = Option<Step>>>(steps: I) -> Self {
        let mut all = EventSteps::default();
        steps.into_iter().for_each(|step| all.push(step));
        all
    }
}

impl PartialEq for EventSteps {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for EventSteps {}

impl fmt::Debug for EventSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

fn end_run(threads: &mut Vec<u8>, run: Run) {
    varint::push(threads, run.count);
    varint::push(threads, u64::from(run.thread));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps() -> Vec<Option<Step>> {
        let step = |i: u32| Step {
            thread: i / 3 % 4,
            ordinal: u64::from(i) << (i % 50),
            kind: if i.is_multiple_of(2) { Kind::Read } else { Kind::Write },
            place: (!i.is_multiple_of(7)).then_some((0, u64::from(i % 200))),
        };
        (0..1000).map(|i| (i % 11 != 0).then(|| step(i))).collect()
    }

    #[test]
    fn parsed_columns_can_be_extended() {
        let steps = steps();
        let first: EventSteps = steps[..500].iter().copied().collect();
        let (whats, columns) = first.columns();
        let whats = whats.to_vec();
        let mut read = EventSteps::of_columns(&columns.concat(), 500, whats).unwrap();
        assert!(read == first && read.columns().1 == columns);
        for (i, &step) in steps.iter().enumerate().skip(500) {
            read.push(step);
            assert_eq!((read.len(), read.get(i)), (i + 1, step));
        }
        assert!(read.iter().eq(steps));
    }
}
