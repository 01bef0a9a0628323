//! Scopes of limits, and the unwinding to them.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::limit::{Limit, Reason};
use crate::memory;

/// Calls of [`check`] for one look at the clock. The clock costs some 30 ns.
const CALLS_PER_LOOK: u32 = 64;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Whether some loop or caller has seen the interrupt.
static SEEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CALLS_LEFT: Cell<u32> = const { Cell::new(CALLS_PER_LOOK) };
    static SCOPES: RefCell<Vec<Scope>> = const { RefCell::new(Vec::new()) };
    /// Number of shields around the current code.
    static SHIELDS: Cell<u32> = const { Cell::new(0) };
}

/// A limit whose work is under way.
struct Scope {
    deadline: Option<Instant>,
    /// Valid while the scope is on the stack: `within` borrows it.
    stop: Option<NonNull<AtomicBool>>,
    /// Net allocation of the thread at which the scope ends.
    memory: Option<i64>,
}

/// Payload of the unwinding.
struct Cancelled {
    reason: Reason,
    /// Index of the scope that ends; `None` is the innermost one.
    scope: Option<usize>,
}

/// Interrupts the process: every scope ends with [`Reason::Interrupt`] at the next [`check`].
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Whether the process has been interrupted.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Whether the process has been interrupted and some work has ended because of it.
pub fn interrupt_seen() -> bool {
    SEEN.load(Ordering::Relaxed)
}

/// [`interrupted`], for callers that end their work if so.
pub(crate) fn notice_interrupt() -> bool {
    let interrupted = interrupted();
    if interrupted {
        SEEN.store(true, Ordering::Relaxed);
    }
    interrupted
}

/// Does `work`, and ends it when the limit is reached.
///
/// An interrupt and the memory limit of the process end the innermost scope; its caller looks
/// whether it is to go on.
///
/// # Errors
/// The reason, if the work ended early.
pub fn within<T>(limit: &Limit<'_>, work: impl FnOnce() -> T) -> Result<T, Reason> {
    let index = SCOPES.with_borrow_mut(|scopes| {
        let memory = limit.memory.and_then(|bytes| i64::try_from(bytes).ok());
        scopes.push(Scope {
            deadline: limit.deadline,
            stop: limit.stop.map(NonNull::from),
            memory: memory.map(|bytes| memory::thread_net().saturating_add(bytes)),
        });
        scopes.len() - 1
    });
    let outcome = catch_unwind(AssertUnwindSafe(work));
    SCOPES.with_borrow_mut(|scopes| scopes.truncate(index));
    match outcome {
        Ok(value) => Ok(value),
        Err(payload) => match payload.downcast::<Cancelled>() {
            Ok(cancelled) if cancelled.scope.is_none_or(|scope| scope == index) => {
                Err(cancelled.reason)
            }
            Ok(outer) => resume_unwind(outer),
            Err(panic) => resume_unwind(panic),
        },
    }
}

/// Does `work` without regard to limits, of memory too: it is short, and needed after they are
/// reached.
pub fn shielded<T>(work: impl FnOnce() -> T) -> T {
    struct Shield;
    impl Drop for Shield {
        fn drop(&mut self) {
            SHIELDS.set(SHIELDS.get() - 1);
        }
    }
    SHIELDS.set(SHIELDS.get() + 1);
    let _shield = Shield;
    work()
}

/// Whether the current work is [`shielded`].
pub(crate) fn is_shielded() -> bool {
    SHIELDS.try_with(Cell::get).unwrap_or(0) > 0
}

/// Ends the work if a limit is reached, by unwinding to the scope of that limit. Every loop that
/// may run for long calls this at each turn.
#[inline]
pub fn check() {
    let left = CALLS_LEFT.get();
    if left == 0 {
        check_now();
    } else {
        CALLS_LEFT.set(left - 1);
    }
}

/// [`check`] with a look at the clock at every call, for turns of a loop that take long.
#[cold]
pub fn check_now() {
    CALLS_LEFT.set(CALLS_PER_LOOK);
    if SHIELDS.get() > 0 {
        return;
    }
    if let Some(cancelled) = reached() {
        // No message: this is no panic.
        resume_unwind(Box::new(cancelled));
    }
}

/// Returns the earliest deadline of the scopes of this thread, for work on other threads.
pub fn deadline() -> Option<Instant> {
    SCOPES.with_borrow(|scopes| scopes.iter().filter_map(|scope| scope.deadline).min())
}

fn reached() -> Option<Cancelled> {
    SCOPES.with_borrow(|scopes| {
        // Outside of all scopes there is nothing to unwind to.
        if scopes.is_empty() {
            return None;
        }
        if notice_interrupt() {
            return Some(Cancelled { reason: Reason::Interrupt, scope: None });
        }
        let now = scopes.iter().any(|scope| scope.deadline.is_some()).then(Instant::now);
        // The innermost of those that are reached: callers further out get what it has so far.
        for (index, scope) in scopes.iter().enumerate().rev() {
            // SAFETY: `within` holds the reference until it has removed the scope.
            let stop = scope.stop.map(|stop| unsafe { stop.as_ref() });
            let reason = if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                Reason::Interrupt
            } else if scope.deadline.zip(now).is_some_and(|(deadline, now)| now >= deadline) {
                Reason::Time
            } else if scope.memory.is_some_and(|most| memory::thread_net() > most) {
                Reason::Memory
            } else {
                continue;
            };
            return Some(Cancelled { reason, scope: Some(index) });
        }
        memory::is_short().then_some(Cancelled { reason: Reason::Memory, scope: None })
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn until_cancelled() {
        loop {
            check();
        }
    }

    fn after(millis: u64) -> Limit<'static> {
        Limit { deadline: Some(Instant::now() + Duration::from_millis(millis)), ..Limit::none() }
    }

    #[test]
    fn inner_limit_ends_only_the_inner_work() {
        let outer = within(&after(60_000), || within(&after(1), until_cancelled));
        assert_eq!(outer, Ok(Err(Reason::Time)));
    }

    #[test]
    fn outer_limit_ends_the_inner_work_too() {
        let mut went_on = false;
        let outer = within(&after(1), || {
            let _ = within(&after(60_000), until_cancelled);
            went_on = true;
        });
        assert_eq!(outer, Err(Reason::Time));
        assert!(!went_on);
    }

    #[test]
    fn caller_with_an_equal_deadline_gets_the_work_so_far() {
        let limit = after(1);
        let outer = within(&limit, || within(&limit, until_cancelled).map_or(7, |()| 0));
        assert_eq!(outer, Ok(7));
    }

    #[test]
    fn flag_ends_the_work() {
        let stop = AtomicBool::new(true);
        let limit = Limit { stop: Some(&stop), ..Limit::none() };
        assert_eq!(within(&limit, until_cancelled), Err(Reason::Interrupt));
    }

    #[test]
    fn shielded_work_goes_on() {
        let outcome = within(&after(0), || {
            shielded(|| (0..1_000).for_each(|_| check()));
            7
        });
        assert_eq!(outcome, Ok(7));
    }

    #[test]
    fn panics_pass_through() {
        let panic = catch_unwind(|| within(&Limit::none(), || std::panic::panic_any(5_u8)));
        assert_eq!(panic.err().and_then(|p| p.downcast().ok()), Some(Box::new(5_u8)));
    }

    #[test]
    fn deadline_is_that_of_the_earliest_scope() {
        let (near, far) = (after(50_000), after(90_000));
        let seen = within(&near, || within(&far, deadline));
        assert_eq!(seen, Ok(Ok(near.deadline)));
        assert_eq!(deadline(), None);
    }
}
