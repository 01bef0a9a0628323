//! Java programs: the agent that records them, its log, and the trace that comes of it.
//!
//! The agent (`agents/java`) is embedded in this crate when it was built on a machine with a JDK and ASM; `java` is
//! started with it. It writes two files: the log of what the threads did ([`log`]), and tables of classes, methods and places
//! ([`tables`]). Schedules, steps and verdicts are those of native programs, with a class in the place of a module
//! and the number of a place in its class in the place of a code address.

pub(crate) mod agent;
pub(crate) mod end;
pub(crate) mod log;
mod names;
mod survey;
pub(crate) mod tables;
pub(crate) mod translate;
