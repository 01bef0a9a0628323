//! Ownership of memory: which thread may access a word, and which accesses may therefore be left
//! out of the log and of the trace.
//!
//! Nearly all accesses of most programs are to memory that one thread alone uses, or that threads
//! pass on when they are created and joined. No such access takes part in a race, reads another
//! value in another interleaving, or lies between two accesses of a block of another thread. The
//! runtime does not log the later ones of them (*elision*), and the filter of the log does not keep
//! them for the trace (*skipping*). Both ask the same question of every word of eight bytes, and
//! this crate answers it once:
//!
//! | module | contents |
//! |---|---|
//! | `epoch` | [`Epoch`], a part of a thread between two creations, and sets of epochs |
//! | `clock` | [`ForkJoinClock`]: which epochs are over for a thread, by create and join alone |
//! | `word` | [`WordState`] and its one transition function, [`WordState::access`] |
//! | [`elision`] | policy of the runtime: accesses that need no record; a word in 32 bits |
//! | [`transfer`] | policy of the filter: words that were transferred; a word in 16 + 16 bits |
//!
//! The state machine is that of Eraser (Savage et al., 1997: virgin, exclusive, shared-read,
//! shared-modified) with two departures: an access that create and join order after all earlier
//! ones *transfers* the word to its thread instead of sharing it, as the happens-before detectors
//! do it for every edge (FastTrack; Flanagan and Freund, 2009), and a shared word has no lock set:
//! the analyses look at all of its accesses.
//!
//! The crate has no dependencies, because the runtime is linked into the recorded program. Its
//! hooks compare packed words and do not decode them: see [`elision::ElisionWord`].

mod clock;
pub mod elision;
mod epoch;
pub mod transfer;
mod word;

/// Number of words that no thread has accessed and that freeing a block counts as written, at most:
/// a use after that is a use of shared memory. Large blocks that nothing touched cost no more.
pub const FREED_FRESH_WORDS: usize = 512;

pub use clock::{Accessor, AtLimit, ForkJoinClock};
pub use epoch::{BitSet, ByteSet, Epoch, EpochSet};
pub use word::{Meeting, WordState};
