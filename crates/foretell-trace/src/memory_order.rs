//! Memory orders of atomic accesses and fences.
//!
//! Feasibility does not look at them: interleavings are sequentially consistent. Happens-before of
//! one interleaving does (semantics section 3b).

/// Memory order of an atomic access or a fence. The discriminants are part of the binary format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum MemoryOrder {
    /// Sequentially consistent: the order where none is written.
    #[default]
    SeqCst = 0,
    /// Relaxed: indivisible, and orders nothing else.
    Relaxed = 1,
    /// Acquire.
    Acquire = 2,
    /// Release.
    Release = 3,
    /// Acquire and release.
    AcqRel = 4,
}

impl MemoryOrder {
    /// Every order, by discriminant.
    pub const ALL: [MemoryOrder; 5] = [
        MemoryOrder::SeqCst,
        MemoryOrder::Relaxed,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcqRel,
    ];

    /// The order with this discriminant, if there is one.
    #[inline]
    pub fn from_u8(byte: u8) -> Option<MemoryOrder> {
        MemoryOrder::ALL.get(usize::from(byte)).copied()
    }

    /// The word for the order in trace text.
    pub fn keyword(self) -> &'static str {
        match self {
            MemoryOrder::SeqCst => "sc",
            MemoryOrder::Relaxed => "rlx",
            MemoryOrder::Acquire => "acq",
            MemoryOrder::Release => "rel",
            MemoryOrder::AcqRel => "acqrel",
        }
    }

    /// The order with this word in trace text, if there is one.
    pub(crate) fn from_keyword(word: &str) -> Option<MemoryOrder> {
        MemoryOrder::ALL.into_iter().find(|order| order.keyword() == word)
    }

    /// Whether a load or fence of this order acquires.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, MemoryOrder::SeqCst | MemoryOrder::Acquire | MemoryOrder::AcqRel)
    }

    /// Whether a store or fence of this order releases.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, MemoryOrder::SeqCst | MemoryOrder::Release | MemoryOrder::AcqRel)
    }
}
