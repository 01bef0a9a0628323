//! Adoption of threads that the runtime did not see being created: those of `SIGEV_THREAD`, and of
//! libraries that create threads past the interposed functions.
//!
//! Such a thread is recorded from its first hook or interposed function on. It waits for the baton
//! like a thread that comes back from a wait that is not modelled, and its end becomes known in the
//! same way as that of other threads. A replay knows it by its ordinal among the adopted threads.

use crate::elision;
use crate::init;
use crate::recorder;
use crate::recording_state;
use crate::sched::{self, SCHED, leave_blocking_call};
use crate::thread::ThreadRef;
use crate::tls;
use foretell_rt_format::{ADOPTED, Record};

/// Makes the calling thread, which the runtime does not know, a recorded one. `None`: it is to stay
/// unrecorded.
pub(crate) fn adopt() -> Option<ThreadRef> {
    if !recording_state::is_on() || tls::is_unrecorded() {
        return None;
    }
    let t = SCHED.with(|s| {
        let first = s.get(0).filter(|t| !t.parallel())?;
        let nth = s.adopted;
        s.adopted += 1;
        let index = s.reserve(ADOPTED, nth);
        let t = ThreadRef::new(index, first.stream());
        sched::admit_outside(s, t);
        Some(t)
    })?;
    crate::log::keep();
    crate::unexplored::THREAD.take();
    crate::watchdog::start();
    // From here on the thread is inside the runtime.
    tls::set(t.as_ptr());
    let baton = leave_blocking_call(t);
    elision::adopt(baton);
    init::begin_thread(baton);
    recorder::put(baton, &Record::AfterOthers);
    baton.set_inside(false);
    Some(t)
}
