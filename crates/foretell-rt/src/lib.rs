//! The runtime linked into recorded programs.
//!
//! A program compiled with `-fsanitize=thread` calls `__tsan_*` around its accesses; this
//! library provides these functions, interposes the blocking, synchronising and memory functions
//! of the C library, and with both does three jobs: it serialises the program's threads (the
//! baton, see `sched`), writes what they do to a log (`foretell-rt-format`), and drives them
//! along a schedule (`sched::replay`). Every symbol it provides is listed in `table`.
//!
//! Without `FORETELL_LOG` in the environment everything is passed through.
//!
//! The static archive and the shared library are meant for C and C++ programs on Linux, x86-64,
//! glibc. Nothing in here panics on purpose; a panic would end the program, it cannot unwind
//! into C.

// Statics that several threads share are reached through raw pointers on purpose.
#![allow(clippy::deref_addrof)]

mod access;
mod adoption;
mod aggregate_copy;
mod annotations;
mod arena;
mod atomics;
mod blocking_call;
mod call_effects;
mod call_result;
mod calls;
mod cancel;
mod channels;
mod client_requests;
mod elision;
mod entry;
mod epoll_sets;
mod exit;
mod forks;
mod futex;
mod hidden_call;
mod init;
mod inside;
mod library_caches;
mod library_state;
mod lock;
mod log;
mod marks;
mod memory;
mod modules;
mod other_wakes;
mod paths;
mod printed_text;
mod process;
mod pthread;
mod random;
mod reader;
mod real;
mod recorder;
mod recording_state;
mod request_patches;
mod sched;
mod search;
mod signal;
mod signal_calls;
mod strings;
mod sync;
mod sys;
pub mod table;
mod thread;
mod time;
mod tls;
mod trail;
mod transfer;
mod unexplored;
mod watchdog;

#[global_allocator]
static ARENA: arena::Arena = arena::Arena::new();
