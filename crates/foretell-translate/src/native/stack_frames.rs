//! Frames in which variables on stacks are used by threads that do not own the stack.
//!
//! The runtime logs the frames of a thread when the thread gives up the baton. An access by another
//! thread to its stack is therefore to a variable of one of the frames that were logged last. The
//! survey notes these frames, so that a variable has its name from its first access on.

use std::collections::BTreeMap;

use foretell_rt_format::{Entry, Record};
use rustc_hash::FxHashMap;

use super::names::Addressed;
use super::regions::{RegionId, RegionKind, Regions};
use crate::debug_info::{LoggedFrame, Place, Whole};
use crate::symbols::Symbols;

/// Most frames that are noted for an address.
const MOST_FRAMES: usize = 4;
/// Number of earlier accesses that may reach over an address.
const LOOK_BACK: usize = 8;

/// Frames by the region and first address of accesses.
#[derive(Default)]
pub(crate) struct StackFrames(BTreeMap<(RegionId, u64), Uses>);

/// Accesses at one address.
struct Uses {
    len: u64,
    /// The frames that held the address; none if some access was outside every logged frame.
    frames: Option<Vec<LoggedFrame>>,
}

impl StackFrames {
    /// Returns the name of the local variable of `thread` at an address, and the part of it; none
    /// if it is not known, or not the same variable each time.
    pub(super) fn local(
        &self,
        symbols: &mut Symbols,
        object: Addressed,
        thread: u32,
    ) -> Option<(String, Place)> {
        let Addressed { region, addr, whole } = object;
        let len = match whole {
            Whole::Bytes(len) => len,
            Whole::Object => 1,
        };
        let before = self.0.range((region, 0)..(region, addr)).rev().take(LOOK_BACK);
        let reaching = before.filter(|((_, start), uses)| start.saturating_add(uses.len) > addr);
        let inside = self.0.range((region, addr)..(region, addr.saturating_add(len)));
        let mut found = None;
        for (_, uses) in reaching.chain(inside) {
            for &frame in uses.frames.as_ref()? {
                let local = symbols.local(frame, addr, whole)?;
                if found.as_ref().is_some_and(|before| *before != local) {
                    return None;
                }
                found = Some(local);
            }
        }
        let (name, place) = found?;
        // Each thread that runs a function has its own variables.
        let name = if thread == 0 { name } else { format!("{name}@T{thread}") };
        Some((name, place))
    }
}

/// Frames of all threads while the log is surveyed.
#[derive(Default)]
pub(super) struct FrameSurvey {
    /// Frames of each thread, outermost first.
    live: FxHashMap<u32, Vec<LoggedFrame>>,
    /// Number of records of frames so far.
    version: u64,
    /// The last use, which often comes again.
    last: Option<(RegionId, u64, u64, u64)>,
    pub(super) found: StackFrames,
}

impl FrameSurvey {
    /// Takes the frames of a thread.
    pub(super) fn take(&mut self, entry: &Entry<'_>) {
        if let Record::Frames { keep, frames } = &entry.record {
            self.version += 1;
            let live = self.live.entry(entry.thread).or_default();
            live.truncate(usize::try_from(*keep).unwrap_or(usize::MAX));
            live.extend(frames.iter().map(|&[pc, sp, fp]| LoggedFrame { pc, sp, fp }));
        }
    }

    /// Notes the frame that an access is to, if another thread owns the stack.
    #[inline]
    pub(super) fn access(&mut self, regions: &Regions, region: RegionId, access: (u32, u64, u64)) {
        if let RegionKind::Stack { thread: owner } = regions.kind(region).0
            && owner != access.0
        {
            self.note(region, owner, (access.1, access.2));
        }
    }

    fn note(&mut self, region: RegionId, owner: u32, (addr, len): (u64, u64)) {
        let this = Some((region, addr, len, self.version));
        if self.last == this {
            return;
        }
        self.last = this;
        let live = self.live.get(&owner).map(Vec::as_slice).unwrap_or_default();
        // The stack grows downwards: the outermost frame that begins below has the address.
        let frame = live.iter().find(|frame| frame.sp <= addr).copied();
        let new = || Uses { len, frames: Some(Vec::new()) };
        let uses = self.found.0.entry((region, addr)).or_insert_with(new);
        uses.len = uses.len.max(len);
        match (frame, &mut uses.frames) {
            (Some(frame), Some(frames)) => {
                if frames.contains(&frame) {
                    return;
                }
                if frames.len() >= MOST_FRAMES {
                    uses.frames = None;
                } else {
                    frames.push(frame);
                }
            }
            _ => uses.frames = None,
        }
    }
}
