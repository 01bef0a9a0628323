//! Rewriting of LLVM IR for symbolic recording.
//!
//! `foretell cc --symbolic` compiles with clang to textual LLVM IR, instrumented by
//! ThreadSanitizer's pass, and inserts hooks into the text ([`rewrite`]). The text itself goes
//! into a section of the object file, where the translation finds it again ([`ir`], [`text`]).

pub(crate) mod build;
pub mod ir;
pub mod rewrite;
pub mod text;
