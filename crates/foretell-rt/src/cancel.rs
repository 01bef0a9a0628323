//! Cancellation: the C library keeps the requests, the modelled waits look at them.

use crate::entry::{enter, leave, plain_entries};
use crate::real::real;
use crate::sched;
use crate::thread::Baton;
use std::ffi::c_int;

/// A cancellation point: does not return when there is a request.
pub(crate) fn point(t: Baton) {
    leave(t);
    real!(pthread_testcancel());
    t.set_inside(true);
}

extern "C-unwind" fn cancel(thread: libc::pthread_t) -> c_int {
    let r = real!(pthread_cancel(thread: libc::pthread_t) -> c_int);
    if let Some(t) = enter() {
        crate::other_wakes::note(t);
        if !t.parallel()
            && let Some(target) = sched::find_unjoined(thread)
        {
            sched::interrupt(target);
        }
        leave(t);
    }
    r
}

plain_entries! {
    pthread_cancel => cancel;
}
