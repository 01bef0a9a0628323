//! Calls of the system that may block: the baton is handed over and taken back.

use crate::recorder;
use crate::sched;
use crate::thread::Thread;
use foretell_rt_format::Record;

/// Takes the baton back, also when the call is left by a cancellation.
struct Back(*mut Thread);

impl Drop for Back {
    fn drop(&mut self) {
        // SAFETY: the calling thread's own.
        unsafe {
            sched::come_back(self.0);
            crate::entry::leave(self.0);
        }
    }
}

/// Performs `f` without the baton. While a schedule is replayed, too: what ends the call may be what another
/// thread does in its next steps.
pub(crate) unsafe fn call<R>(
    t: *mut Thread,
    name: &'static str,
    pc: usize,
    f: &dyn Fn() -> R,
) -> R {
    // SAFETY: `t` is the calling thread and holds the baton.
    unsafe {
        if (*t).hot.parallel {
            return f();
        }
        recorder::put(t, &Record::Call { pc: pc as u64, name: name.as_bytes() });
        sched::go_outside(t, name, pc);
        let back = Back(t);
        let r = f();
        let errno = *libc::__errno_location();
        drop(back);
        (*t).hot.busy = 1;
        recorder::put(t, &Record::Return);
        *libc::__errno_location() = errno;
        r
    }
}
