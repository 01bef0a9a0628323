//! Symbolic recording with the real command: C programs built with `foretell cc --symbolic`, and what the models make of their
//! traces. Wherever a trace is made, its own order must be one that the checker accepts: every guard true, every
//! expression what was written.

mod examples;
mod language;
mod random;
mod refusals;
mod workshop;
