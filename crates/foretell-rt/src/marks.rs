//! Markers of atomic blocks, and the parts of the ThreadSanitizer interface that have no effect in
//! this runtime.

use crate::entry::{enter, entries, leave, plain_entries};
use crate::recorder;
use crate::sched::step;
use foretell_rt_format::{Kind, Record};
use std::ffi::{CStr, c_char};

extern "C" fn begin(label: *const c_char, pc: usize) {
    if let Some(t) = enter() {
        step(t, Kind::MarkBegin, pc);
        // SAFETY: the program's own label.
        let label =
            if label.is_null() { &[][..] } else { unsafe { CStr::from_ptr(label) }.to_bytes() };
        recorder::put(t, &Record::MarkBegin { pc: pc as u64, label });
        leave(t);
    }
}

extern "C" fn end(pc: usize) {
    if let Some(t) = enter() {
        step(t, Kind::MarkEnd, pc);
        recorder::put(t, &Record::MarkEnd { pc: pc as u64 });
        leave(t);
    }
}

extern "C" fn start() {
    crate::init::init();
    // A module that is being loaded calls this before its constructors run.
    if crate::modules::more_loaded() {
        crate::process::after_loading();
    }
}

extern "C" fn nothing() -> usize {
    0
}

entries! {
    foretell_atomic_begin => begin, "rsi";
    foretell_atomic_end => end, "rdi";
}

plain_entries! {
    __tsan_init => start;
    __tsan_get_current_fiber => nothing;
    __tsan_create_fiber => nothing;
    __tsan_destroy_fiber => nothing;
    __tsan_switch_to_fiber => nothing;
    __tsan_set_fiber_name => nothing;
    __tsan_external_register_tag => nothing;
    __tsan_external_register_header => nothing;
    __tsan_external_assign_tag => nothing;
    __tsan_external_read => nothing;
    __tsan_external_write => nothing;
    __tsan_mutex_create => nothing;
    __tsan_mutex_destroy => nothing;
    __tsan_mutex_pre_lock => nothing;
    __tsan_mutex_post_unlock => nothing;
    __tsan_mutex_pre_signal => nothing;
    __tsan_mutex_post_signal => nothing;
    __tsan_mutex_pre_divert => nothing;
    __tsan_mutex_post_divert => nothing;
    __tsan_on_thread_idle => nothing;
    __tsan_flush_memory => nothing;
    __tsan_testonly_barrier_init => nothing;
    __tsan_testonly_barrier_wait => nothing;
    AnnotateIgnoreSyncBegin => nothing;
    AnnotateIgnoreSyncEnd => nothing;
    AnnotateRWLockCreate => nothing;
    AnnotateRWLockCreateStatic => nothing;
    AnnotateRWLockDestroy => nothing;
    AnnotateThreadName => nothing;
    AnnotateNewMemory => nothing;
    AnnotateMemoryIsInitialized => nothing;
    AnnotateMemoryIsUninitialized => nothing;
    AnnotateFlushState => nothing;
    AnnotateEnableRaceDetection => nothing;
    AnnotateMutexIsNotPHB => nothing;
    AnnotateMutexIsUsedAsCondVar => nothing;
    AnnotatePCQCreate => nothing;
    AnnotatePCQDestroy => nothing;
    AnnotatePCQGet => nothing;
    AnnotatePCQPut => nothing;
    AnnotatePublishMemoryRange => nothing;
    AnnotateUnpublishMemoryRange => nothing;
    AnnotateCondVarSignal => nothing;
    AnnotateCondVarSignalAll => nothing;
    AnnotateCondVarWait => nothing;
    AnnotateExpectRace => nothing;
    AnnotateFlushExpectedRaces => nothing;
    AnnotateNoOp => nothing;
    AnnotateTraceMemory => nothing;
}
