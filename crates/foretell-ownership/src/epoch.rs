//! Epochs, and sets of them.

/// Number of epochs that a [`ByteSet`], and a word of [`crate::elision`], tells apart.
pub const EPOCHS: usize = 1 << 12;

/// An epoch of a thread: its steps between two creations of threads, see [`crate::ForkJoinClock`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Epoch(u16);

impl Epoch {
    /// No epoch. As the epoch of a write: there was none. As the epoch of a thread: the clock has
    /// run out of numbers, and the thread is not told apart from others like it.
    pub const NONE: Epoch = Epoch(0);

    /// Returns the epoch with a number; 0 is [`Epoch::NONE`].
    #[inline(always)]
    pub const fn from_number(number: u16) -> Epoch {
        Epoch(number)
    }

    /// Returns the number of the epoch.
    #[inline(always)]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Whether this is [`Epoch::NONE`].
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// A set of epochs. [`Epoch::NONE`] is in every set and is never removed: nothing has to be over
/// where nothing happened.
pub trait EpochSet: Clone + Default {
    /// Whether an epoch is in the set.
    fn contains(&self, epoch: Epoch) -> bool;
    /// Adds an epoch.
    fn insert(&mut self, epoch: Epoch);
    /// Removes an epoch other than [`Epoch::NONE`].
    fn remove(&mut self, epoch: Epoch);
    /// Adds all epochs of another set.
    fn extend(&mut self, other: &Self);
    /// Whether every epoch up to and including `last` is in the set, and no other.
    fn is_all_up_to(&self, last: Epoch) -> bool;
}

/// A growable set with a bit for each epoch, for clocks with many epochs.
#[derive(Clone, Debug)]
pub struct BitSet(Vec<u64>);

impl Default for BitSet {
    fn default() -> Self {
        BitSet(vec![1])
    }
}

impl EpochSet for BitSet {
    #[inline(always)]
    fn contains(&self, epoch: Epoch) -> bool {
        let word = self.0.get(usize::from(epoch.0 / 64)).copied().unwrap_or(0);
        word >> (epoch.0 % 64) & 1 != 0
    }

    fn insert(&mut self, epoch: Epoch) {
        let at = usize::from(epoch.0 / 64);
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (epoch.0 % 64);
    }

    fn remove(&mut self, epoch: Epoch) {
        if let Some(word) = self.0.get_mut(usize::from(epoch.0 / 64)) {
            *word &= !(1 << (epoch.0 % 64));
        }
    }

    fn extend(&mut self, other: &BitSet) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    fn is_all_up_to(&self, last: Epoch) -> bool {
        let len: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        len == u32::from(last.0) + 1
    }
}

/// A set with a byte for each of [`EPOCHS`] epochs, at an address that does not change: the hooks
/// of the runtime index it with bits of a packed word.
#[derive(Clone, Debug)]
pub struct ByteSet(Box<[u8; EPOCHS]>);

impl ByteSet {
    /// Returns the bytes; that of an epoch in the set is not 0.
    pub fn as_bytes(&self) -> &[u8; EPOCHS] {
        &self.0
    }
}

impl Default for ByteSet {
    fn default() -> Self {
        let mut bytes = Box::new([0; EPOCHS]);
        bytes[0] = 1;
        ByteSet(bytes)
    }
}

impl EpochSet for ByteSet {
    #[inline(always)]
    fn contains(&self, epoch: Epoch) -> bool {
        self.0[usize::from(epoch.0) % EPOCHS] != 0
    }

    fn insert(&mut self, epoch: Epoch) {
        self.0[usize::from(epoch.0) % EPOCHS] = 1;
    }

    fn remove(&mut self, epoch: Epoch) {
        self.0[usize::from(epoch.0) % EPOCHS] = 0;
    }

    fn extend(&mut self, other: &ByteSet) {
        self.0.iter_mut().zip(other.0.iter()).for_each(|(mine, theirs)| *mine |= theirs);
    }

    fn is_all_up_to(&self, last: Epoch) -> bool {
        self.0[..=usize::from(last.0) % EPOCHS].iter().all(|&byte| byte != 0)
    }
}
