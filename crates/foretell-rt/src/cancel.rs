//! Cancellation: the C library keeps the requests, the modelled waits look at them.

use crate::entry::{enter, leave, plain_entries};
use crate::real::real;
use crate::sched;
use crate::thread::Thread;
use std::ffi::c_int;

/// A cancellation point: does not return when there is a request.
pub(crate) unsafe fn point(t: *mut Thread) {
    // SAFETY: the unwinding starts outside the runtime.
    unsafe {
        leave(t);
        real!(pthread_testcancel());
        (*t).hot.busy = 1;
    }
}

unsafe extern "C-unwind" fn cancel(thread: libc::pthread_t) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let r = real!(pthread_cancel(thread: libc::pthread_t) -> c_int);
        let t = enter();
        if !t.is_null() {
            if !(*t).hot.parallel {
                let target = crate::pthread::find(thread);
                if !target.is_null() {
                    sched::interrupt(target);
                }
            }
            leave(t);
        }
        r
    }
}

plain_entries! {
    pthread_cancel => cancel;
}
