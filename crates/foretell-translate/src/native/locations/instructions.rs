//! Cache of instructions that access memory: nearly every event is a plain access, and its site
//! is looked up once.

use foretell_log::CallId;
use foretell_trace::SiteId;

const ENTRIES: usize = 1 << 10;

/// An instruction under a call stack.
#[derive(Clone, Copy)]
struct Instruction {
    /// [`Slot::key`](foretell_rt_format::Slot::key) of the access; 0 for an empty entry.
    key: u64,
    stack: CallId,
    /// Number of the step's kind and location.
    what: u32,
    site: SiteId,
}

/// Direct-mapped cache of instructions, by code address and call stack.
pub(super) struct Instructions(Box<[Instruction; ENTRIES]>);

impl Default for Instructions {
    fn default() -> Self {
        let empty = Instruction { key: 0, stack: 0, what: 0, site: SiteId(0) };
        Instructions(Box::new([empty; ENTRIES]))
    }
}

impl Instructions {
    #[inline]
    fn index(key: u64, stack: CallId) -> usize {
        (key ^ (key >> 10) ^ u64::from(stack).wrapping_mul(5)) as usize % ENTRIES
    }

    /// Returns the site of an access and the number of its step's kind and location.
    #[inline]
    pub(super) fn get(&self, key: u64, stack: CallId) -> Option<(SiteId, u32)> {
        let known = &self.0[Self::index(key, stack)];
        ((known.key, known.stack) == (key, stack)).then_some((known.site, known.what))
    }

    pub(super) fn set(&mut self, key: u64, stack: CallId, (site, what): (SiteId, u32)) {
        self.0[Self::index(key, stack)] = Instruction { key, stack, what, site };
    }
}
