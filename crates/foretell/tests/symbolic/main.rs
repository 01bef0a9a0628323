//! Symbolic recording with the real command: C programs built with `foretell cc --symbolic`, and
//! predictions from their traces. The checker must accept the recorded order of every trace: every
//! guard is true, and every expression has the written value.

mod examples;
mod language;
mod random;
mod refusals;
mod workshop;
