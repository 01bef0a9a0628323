//! The steps of the events, in few bytes each, in memory and in columns.

use std::fmt;

use foretell_rt_format::{Kind, Step};
use rustc_hash::FxHashMap;

/// Kind and place of a step.
pub(super) type What = (Kind, Option<(u32, u64)>);

/// For each event of a trace its step, if it is one.
#[derive(Clone, Default)]
pub struct EventSteps {
    /// The kinds of steps that there are.
    whats: Vec<What>,
    index: FxHashMap<What, u32>,
    /// Numbers in `whats`, from 1, that were asked for lately.
    recent: [u32; 32],
    events: Vec<EventStep>,
}

#[derive(Clone, Copy)]
struct EventStep {
    ordinal: u64,
    thread: u32,
    /// Number of its kind; 0: no step.
    what: u32,
}

impl EventSteps {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The step of an event; none if the event is none, or there is no such event.
    pub fn get(&self, event: usize) -> Option<Step> {
        self.step(self.events.get(event)?)
    }

    fn step(&self, event: &EventStep) -> Option<Step> {
        let &(kind, place) = self.whats.get((event.what as usize).checked_sub(1)?)?;
        Some(Step { thread: event.thread, ordinal: event.ordinal, kind, place })
    }

    /// The steps of all events.
    pub fn iter(&self) -> impl Iterator<Item = Option<Step>> + '_ {
        self.events.iter().map(|event| self.step(event))
    }

    /// Adds the step of the next event.
    #[inline]
    pub fn push(&mut self, step: Option<Step>) {
        let event = match step {
            Some(Step { thread, ordinal, kind, place }) => {
                EventStep { thread, ordinal, what: self.number((kind, place)) }
            }
            None => EventStep { thread: 0, ordinal: 0, what: 0 },
        };
        self.events.push(event);
    }

    #[inline]
    fn number(&mut self, what: What) -> u32 {
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

    /// The kinds of steps, and the columns: which kind each event is, threads, ordinals.
    pub(super) fn columns(&self) -> (&[What], [Vec<u8>; 3]) {
        let [mut kinds, mut threads, mut ordinals] = [const { Vec::new() }; 3];
        let mut before: FxHashMap<u32, u64> = FxHashMap::default();
        // The thread that runs, how many steps of it, and its last ordinal.
        let (mut thread, mut count, mut last) = (0, 0u64, 0u64);
        for event in &self.events {
            put(&mut kinds, u64::from(event.what));
            if event.what == 0 {
                continue;
            }
            if event.thread != thread || count == 0 {
                end_run(&mut threads, thread, count);
                before.insert(thread, last);
                (thread, count) = (event.thread, 0);
                last = before.get(&thread).copied().unwrap_or(0);
            }
            count += 1;
            let far = event.ordinal.wrapping_sub(last) as i64;
            put(&mut ordinals, ((far << 1) ^ (far >> 63)) as u64);
            last = event.ordinal;
        }
        end_run(&mut threads, thread, count);
        (&self.whats, [kinds, threads, ordinals])
    }

    /// The steps of so many events; `None` if that is not what the bytes are.
    pub(super) fn of_columns(bytes: &[u8], events: usize, whats: Vec<What>) -> Option<EventSteps> {
        // Every event takes a byte: no more room is taken than the file may need.
        bytes.get(..events)?;
        let mut at = 0;
        let mut steps = Vec::with_capacity(events);
        for _ in 0..events {
            let what = u32::try_from(get(bytes, &mut at)?).ok()?;
            if what as usize > whats.len() {
                return None;
            }
            steps.push(EventStep { thread: 0, ordinal: 0, what });
        }
        let (mut left, mut thread) = (0u64, 0);
        for step in steps.iter_mut().filter(|step| step.what != 0) {
            if left == 0 {
                left = get(bytes, &mut at).filter(|&n| n > 0)?;
                thread = u32::try_from(get(bytes, &mut at)?).ok()?;
            }
            step.thread = thread;
            left -= 1;
        }
        let mut last: FxHashMap<u32, u64> = FxHashMap::default();
        for step in steps.iter_mut().filter(|step| step.what != 0) {
            let far = get(bytes, &mut at)?;
            let last = last.entry(step.thread).or_insert(0);
            *last = last.wrapping_add((far >> 1) ^ (far & 1).wrapping_neg());
            step.ordinal = *last;
        }
        let index = whats.iter().copied().zip(1..).collect();
        let steps = EventSteps { whats, index, recent: [0; 32], events: steps };
        (left == 0 && at == bytes.len()).then_some(steps)
    }
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

fn end_run(threads: &mut Vec<u8>, thread: u32, count: u64) {
    if count > 0 {
        put(threads, count);
        put(threads, u64::from(thread));
    }
}

#[inline]
fn put(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

#[inline]
fn get(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let (mut v, mut shift) = (0u64, 0);
    loop {
        let &b = bytes.get(*at)?;
        *at += 1;
        v |= u64::from(b & 0x7f).checked_shl(shift)?;
        if b < 0x80 {
            return Some(v);
        }
        shift += 7;
    }
}
