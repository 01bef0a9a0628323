//! Blocking calls: the baton is handed over for the call and taken back after it.

use crate::recorder;
use crate::sched;
use crate::sys::{errno, set_errno};
use crate::thread::{Baton, ThreadRef};
use foretell_rt_format::Record;

/// Takes the baton back, also when the call is left by a cancellation.
struct TakeBack(ThreadRef);

impl Drop for TakeBack {
    fn drop(&mut self) {
        sched::leave_blocking_call(self.0).set_inside(false);
    }
}

/// Performs `f` without the baton. While a schedule is replayed, too: what ends the call may be
/// what another thread does in its next steps.
pub(crate) fn call<R>(t: Baton, name: &'static str, pc: usize, f: &dyn Fn() -> R) -> R {
    if t.parallel() {
        return f();
    }
    crate::exit::before_call(t, pc);
    recorder::put(t, &Record::Call { pc: pc as u64, name: name.as_bytes() });
    sched::enter_blocking_call(t, name, pc);
    let take_back = TakeBack(*t);
    let r = f();
    let saved = errno();
    drop(take_back);
    t.set_inside(true);
    recorder::put(t, &Record::Return);
    set_errno(saved);
    r
}
