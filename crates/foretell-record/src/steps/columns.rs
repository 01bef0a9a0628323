//! The steps of the events in columns.

use foretell_rt_format::Step;
use rustc_hash::FxHashMap;

use super::What;

/// The kinds of steps that there are, and the columns: which kind each event is, threads, ordinals.
pub(super) fn encode(events: &[Option<Step>]) -> (Vec<What>, [Vec<u8>; 3]) {
    let mut whats = Numbers::default();
    let [mut kinds, mut threads, mut ordinals] = [const { Vec::new() }; 3];
    let mut before: FxHashMap<u32, u64> = FxHashMap::default();
    // The thread that runs, how many steps of it, and its last ordinal.
    let (mut thread, mut count, mut last) = (0, 0u64, 0u64);
    for event in events {
        let Some(step) = event else {
            kinds.push(0);
            continue;
        };
        put(&mut kinds, whats.number((step.kind, step.place)));
        if step.thread != thread || count == 0 {
            end_run(&mut threads, thread, count);
            before.insert(thread, last);
            (thread, count) = (step.thread, 0);
            last = before.get(&thread).copied().unwrap_or(0);
        }
        count += 1;
        let far = step.ordinal.wrapping_sub(last) as i64;
        put(&mut ordinals, ((far << 1) ^ (far >> 63)) as u64);
        last = step.ordinal;
    }
    end_run(&mut threads, thread, count);
    (whats.whats, [kinds, threads, ordinals])
}

/// Numbers kinds of steps, from 1.
#[derive(Default)]
struct Numbers {
    whats: Vec<What>,
    index: FxHashMap<What, u64>,
    /// The numbers that were asked for lately.
    recent: [u64; 32],
}

impl Numbers {
    #[inline]
    fn number(&mut self, what: What) -> u64 {
        let offset = what.1.map_or(0, |(_, offset)| offset);
        let recent = &mut self.recent[(offset ^ (offset >> 5)) as usize % 32];
        if recent.checked_sub(1).is_some_and(|i| self.whats[i as usize] == what) {
            return *recent;
        }
        *recent = *self.index.entry(what).or_insert_with(|| {
            self.whats.push(what);
            self.whats.len() as u64
        });
        *recent
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

/// The steps of so many events; `None` if that is not what the bytes are.
pub(super) fn decode(bytes: &[u8], events: usize, whats: &[What]) -> Option<Vec<Option<Step>>> {
    // Every event takes a byte: no more room is taken than the file may need.
    bytes.get(..events)?;
    let mut at = 0;
    let mut steps: Vec<Option<Step>> = Vec::with_capacity(events);
    for _ in 0..events {
        let number = get(bytes, &mut at)?;
        steps.push(match number.checked_sub(1) {
            None => None,
            Some(index) => {
                let &(kind, place) = whats.get(usize::try_from(index).ok()?)?;
                Some(Step { thread: 0, ordinal: 0, kind, place })
            }
        });
    }
    let mut left = 0u64;
    let mut thread = 0;
    for step in steps.iter_mut().flatten() {
        if left == 0 {
            left = get(bytes, &mut at).filter(|&n| n > 0)?;
            thread = u32::try_from(get(bytes, &mut at)?).ok()?;
        }
        step.thread = thread;
        left -= 1;
    }
    let mut last: FxHashMap<u32, u64> = FxHashMap::default();
    for step in steps.iter_mut().flatten() {
        let far = get(bytes, &mut at)?;
        let last = last.entry(step.thread).or_insert(0);
        *last = last.wrapping_add((far >> 1) ^ (far & 1).wrapping_neg());
        step.ordinal = *last;
    }
    (left == 0 && at == bytes.len()).then_some(steps)
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
