//! Limits that every long loop obeys: a deadline, an interrupt, and memory.
//!
//! A caller that wants work to end in time does it [`within`] a [`Limit`]. Loops that may run for
//! long call [`check`], which costs a decrement and every few dozen calls a look at the clock; when
//! a limit is reached, `check` unwinds the stack to the scope of that limit, which returns the
//! [`Reason`]. Code between the two needs no results or parameters for it, as with the
//! cancellation of queries in rust-analyzer. State that was being changed then is unfinished: the
//! caller of `within` drops it.
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! use foretell_limit::{Limit, Reason, check, within};
//!
//! let limit = Limit { deadline: Some(Instant::now() + Duration::from_millis(5)), ..Limit::none() };
//! let outcome = within(&limit, || {
//!     loop {
//!         check();
//!     }
//! });
//! assert_eq!(outcome, Err::<(), _>(Reason::Time));
//! ```
//!
//! Scopes nest, and each ends only the work that it limits: the time limit of a query inside the
//! budget of a run. A scope belongs to one thread; a caller that starts others passes
//! [`deadline`] on.
//!
//! A loop without a check sees no limit; [`apart`] does work that may have such loops on a thread
//! of its own, which can be left behind.
//!
//! Two limits hold for the whole process, and are set by the command line alone: [`interrupt`],
//! and [`limit_memory`], which needs the [`CountingAllocator`].

mod apart;
mod limit;
mod machine;
mod memory;
mod reader;
mod scope;

pub use apart::apart;
pub use limit::{Limit, Reason};
pub use machine::{available_memory, parse_size};
pub use memory::{CountingAllocator, in_use, limit_memory, memory_limit};
pub use reader::CheckedReader;
pub use scope::{
    check, check_now, deadline, interrupt, interrupt_seen, interrupted, shielded, within,
};
