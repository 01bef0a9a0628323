//! Dense 32-bit identifiers, one type for each kind of thing that a trace names.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The identifier as an index into a table with one row for each of its kind.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The identifier of row `index`.
            ///
            /// # Panics
            /// If `index` does not fit 32 bits; every table that hands out identifiers is bounded
            /// well below that.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 rows in a table"))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

ids! {
    /// An event: its index in the trace, from 0.
    EventId;
    /// A thread.
    ThreadId;
    /// A shared variable.
    VarId;
    /// A mutex or reader-writer lock.
    LockId;
    /// A condition variable.
    CondId;
    /// A counting semaphore.
    SemId;
    /// A barrier.
    BarrierId;
    /// A memory block or object with a life: allocated and freed.
    MemBlockId;
    /// The label of an atomic block.
    LabelId;
    /// A place in the source with the calls that led there; see [`Site`](crate::Site).
    SiteId;
    /// A symbolic expression.
    ExprId;
    /// A register of a symbolic trace, local to one thread.
    RegId;
    /// A value; equal identifiers of one trace are equal values. See [`Values`](crate::Values).
    ValueId;
}
