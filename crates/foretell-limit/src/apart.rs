//! Work on a thread of its own, which its caller can leave behind.
//!
//! A loop without a [`check`](crate::check) sees no limit. Work that is done [`apart`] cannot hold
//! up its caller for that reason: when it does not end in time, or asks for memory that is not
//! there, the caller goes on without it, and reports what it has.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::limit::{Limit, Reason};
use crate::memory;
use crate::scope::{deadline, notice_interrupt, within};

/// Stack of the thread. Some searches recurse once for each thread of a trace.
const STACK: usize = 64 << 20;

/// Time between two looks at the work.
const PERIOD: Duration = Duration::from_millis(20);

/// Time that the work has to see a limit that is reached.
const PATIENCE: Duration = Duration::from_millis(700);

/// Does `work` on another thread within the limit, and meanwhile calls `meanwhile` on this one, a
/// few dozen times a second.
///
/// Work that does not end soon after the limit is left behind: its thread goes on until the
/// process ends, or stands still from when it asks for memory that is not there.
///
/// # Errors
/// The reason, if the work ended early or was left behind.
pub fn apart<T: Send + 'static>(
    limit: &Limit<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    mut meanwhile: impl FnMut(),
) -> Result<T, Reason> {
    let deadline = [limit.deadline, deadline()].into_iter().flatten().min();
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = channel();
    let memory = limit.memory;
    let work = Arc::new(Mutex::new(Some(work)));
    let (theirs, stopped) = (Arc::clone(&work), Arc::clone(&stop));
    let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
        let Some(work) = taken(&theirs) else { return };
        let limit = Limit { deadline, stop: Some(&stopped), memory };
        let outcome = catch_unwind(AssertUnwindSafe(|| within(&limit, work)));
        let _ = sender.send(outcome);
    });
    if thread.is_err() {
        // No thread could be had: do it on this one.
        return taken(&work).map_or(Err(Reason::Memory), |work| within(limit, work));
    }
    let keeper = memory::Keeper::new();
    let mut asked: Option<(Instant, Reason)> = None;
    loop {
        match receiver.recv_timeout(PERIOD) {
            Ok(outcome) => {
                keeper.done();
                return outcome.unwrap_or_else(|panic| resume_unwind(panic));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Reason::Interrupt),
            Err(RecvTimeoutError::Timeout) => {}
        }
        meanwhile();
        if memory::is_exhausted() {
            return Err(Reason::Memory);
        }
        let now = Instant::now();
        let flag = limit.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        if flag {
            stop.store(true, Ordering::Relaxed);
        }
        let reason = if flag || notice_interrupt() {
            Some(Reason::Interrupt)
        } else {
            deadline.is_some_and(|deadline| now >= deadline).then_some(Reason::Time)
        };
        match (asked, reason) {
            (Some((since, reason)), _) if now >= since + PATIENCE => return Err(reason),
            (None, Some(reason)) => asked = Some((now, reason)),
            _ => {}
        }
    }
}

fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(millis: u64) -> Limit<'static> {
        Limit { deadline: Some(Instant::now() + Duration::from_millis(millis)), ..Limit::none() }
    }

    #[test]
    fn result_and_panic_are_passed_on() {
        assert_eq!(apart(&Limit::none(), || 7, || {}), Ok(7));
        let panic = catch_unwind(|| apart(&Limit::none(), || std::panic::panic_any(5_u8), || {}));
        assert_eq!(panic.err().and_then(|p| p.downcast().ok()), Some(Box::new(5_u8)));
    }

    #[test]
    fn work_that_checks_is_ended() {
        let work = || -> () {
            loop {
                crate::check();
            }
        };
        assert_eq!(apart(&after(1), work, || {}), Err(Reason::Time));
        let mut calls = 0;
        let stop = AtomicBool::new(false);
        let limit = Limit { stop: Some(&stop), ..Limit::none() };
        let ended = apart(&limit, work, || {
            calls += 1;
            stop.store(calls == 3, Ordering::Relaxed);
        });
        assert_eq!(ended, Err(Reason::Interrupt));
    }

    #[test]
    fn work_that_does_not_check_is_left_behind() {
        let work = || thread::sleep(Duration::from_secs(3600));
        assert_eq!(apart(&after(1), work, || {}), Err(Reason::Time));
    }
}
