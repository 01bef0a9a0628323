//! Creation, end, names of threads.

use crate::blocking_call;
use crate::cancel;
use crate::entry::{enter, entries, leave, plain_entries};
use crate::init;
use crate::log::Stream;
use crate::modules::caller;
use crate::real::real;
use crate::recorder;
use crate::sched::{self, Deadline, SCHED, Waiting, block, find_unjoined, step};
use crate::sync::until;
use crate::sys;
use crate::thread::{Baton, State, ThreadRef, Wake};
use foretell_rt_format::{Kind, Record, WaitingFor};
use libc::{pthread_t, timespec};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Returns the state of a new thread; `t` creates it.
fn prepare(t: Baton, routine: usize, argument: usize, c11: bool) -> ThreadRef {
    let nth = t.lifecycle().children.get();
    let index = SCHED.with(|s| s.reserve(t.index(), nth));
    let stream = if t.parallel() { Stream::new(index) } else { t.stream() };
    let child = ThreadRef::new(index, stream);
    child.hot(|hot| hot.parallel = t.parallel());
    let lifecycle = child.lifecycle();
    lifecycle.routine.set(routine);
    lifecycle.argument.set(argument);
    lifecycle.c11.set(c11);
    child
}

unsafe extern "C-unwind" fn trampoline(p: *mut c_void) -> *mut c_void {
    // SAFETY: the creator passes the new thread's state.
    let Some(t) = (unsafe { ThreadRef::from_ptr(p.cast()) }) else { return p };
    crate::tls::set(t.as_ptr());
    set_mask(t.signals().initial_mask.get());
    let t = if t.parallel() {
        t.wait().state.set(State::Running);
        // SAFETY: the calling thread records in parallel.
        unsafe { Baton::assume(t) }
    } else {
        sched::wait_turn(t)
    };
    init::begin_thread(t);
    leave(t);
    let (routine, argument) = (t.lifecycle().routine.get(), t.lifecycle().argument.get());
    // SAFETY: the program's own routine, of the kind that the creating function takes.
    unsafe {
        if t.lifecycle().c11.get() {
            let f: unsafe extern "C-unwind" fn(usize) -> c_int = std::mem::transmute(routine);
            f(argument) as isize as *mut c_void
        } else {
            let f: unsafe extern "C-unwind" fn(usize) -> *mut c_void = std::mem::transmute(routine);
            f(argument)
        }
    }
}

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attr: *const libc::pthread_attr_t, state: *mut c_int) -> c_int;
    fn pthread_attr_getsigmask_np(
        attr: *const libc::pthread_attr_t,
        mask: *mut libc::sigset_t,
    ) -> c_int;
}

/// Sets the calling thread's signal mask. Returns the mask before.
fn set_mask(mask: u64) -> u64 {
    let mut old = 0u64;
    let (new, old_at) = (&raw const mask as usize, &raw mut old as usize);
    let a = [libc::SIG_SETMASK as usize, new, old_at, 8, 0, 0];
    // SAFETY: both are as long as the kernel's sets.
    unsafe { sys::call(libc::SYS_rt_sigprocmask, a) };
    old
}

/// Returns the signal mask that a thread with these attributes begins with.
fn first_mask(attr: *const libc::pthread_attr_t, parent: u64) -> u64 {
    // SAFETY: all zeroes is a valid set, and the first word of one is the kernel's.
    unsafe {
        let mut own: libc::sigset_t = std::mem::zeroed();
        if attr.is_null() || pthread_attr_getsigmask_np(attr, &mut own) != 0 {
            return parent;
        }
        (&raw const own).cast::<u64>().read()
    }
}

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

fn spawn(
    t: Baton,
    handle: *mut pthread_t,
    attr: *const libc::pthread_attr_t,
    (routine, argument, c11): (usize, usize, bool),
    pc: usize,
) -> c_int {
    crate::log::keep();
    crate::watchdog::start();
    let pc = caller(pc);
    step(t, Kind::Create, pc);
    let child = prepare(t, routine, argument, c11);
    let mut detached: c_int = 0;
    if !attr.is_null() {
        // SAFETY: the program's own attributes.
        unsafe { pthread_attr_getdetachstate(attr, &mut detached) };
    }
    child.lifecycle().detached.set(detached == libc::PTHREAD_CREATE_DETACHED);
    sched::admit(child);
    let start: Start = trampoline;
    let argument: *mut c_void = child.as_ptr().cast();
    let mut made: pthread_t = 0;
    let out = &raw mut made;
    // A signal must not run a handler in the thread before the thread is known.
    let mask = set_mask(u64::MAX);
    child.signals().initial_mask.set(first_mask(attr, mask));
    let r = real!(pthread_create(out: *mut pthread_t, attr: *const libc::pthread_attr_t,
            start: Start, argument: *mut c_void) -> c_int);
    set_mask(mask);
    // The step is counted even when the creation fails; the reader sees a thread that
    // never begins.
    let (index, nth) = (child.index(), t.lifecycle().children.get());
    t.lifecycle().children.set(nth + 1);
    let (pc, routine) = (pc as u64, routine as u64);
    recorder::put(t, &Record::Create { thread: index, nth, pc, routine });
    if r != 0 {
        sched::dismiss(child);
        return r;
    }
    child.lifecycle().pthread.set(made);
    // SAFETY: the program's own variable.
    unsafe { *handle = made };
    0
}

extern "C-unwind" fn create(
    handle: *mut pthread_t,
    attr: *const libc::pthread_attr_t,
    routine: usize,
    argument: usize,
    pc: usize,
) -> c_int {
    let Some(t) = enter() else {
        return real!(pthread_create(handle: *mut pthread_t,
                attr: *const libc::pthread_attr_t, routine: usize, argument: usize) -> c_int);
    };
    let r = spawn(t, handle, attr, (routine, argument, false), pc);
    leave(t);
    r
}

extern "C-unwind" fn thrd_create_fn(
    handle: *mut pthread_t,
    routine: usize,
    argument: usize,
    pc: usize,
) -> c_int {
    let Some(t) = enter() else {
        return real!(thrd_create(handle: *mut pthread_t, routine: usize, argument: usize)
                -> c_int);
    };
    let r = spawn(t, handle, std::ptr::null(), (routine, argument, true), pc);
    leave(t);
    match r {
        0 => 0,
        libc::ENOMEM => 3,
        _ => 2,
    }
}

/// Waits for the end of a thread; `limit`: not at all, until then, or for ever.
fn wait_end(
    t: Baton,
    handle: pthread_t,
    pc: usize,
    limit: Option<Option<Deadline>>,
    real: &dyn Fn() -> c_int,
) -> c_int {
    let Some(target) = find_unjoined(handle) else {
        return blocking_call::call(t, "pthread_join", pc, real);
    };
    if target.lifecycle().detached.get() || target == *t {
        return real();
    }
    cancel::point(t);
    if limit.is_some() {
        crate::other_wakes::note(t);
    }
    let immediate = limit.is_some_and(|l| l.is_none());
    if immediate && target.wait().state.get() != State::Finished {
        return libc::EBUSY;
    }
    step(t, Kind::Join, pc);
    while !t.parallel() && target.wait().state.get() != State::Finished {
        let w = Waiting {
            what: WaitingFor::Join,
            object: target.index() as usize,
            pc,
            owner_at: 0,
            between: false,
        };
        match block(t, w, limit.flatten()) {
            Wake::Event => {}
            Wake::Time => {
                t.hot(|hot| hot.limit -= 1);
                return libc::ETIMEDOUT;
            }
            Wake::Interrupt => {
                crate::signal::deliver(t);
                // Not a step when the thread ends here.
                t.hot(|hot| hot.limit -= 1);
                cancel::point(t);
                t.hot(|hot| hot.limit += 1);
            }
        }
    }
    let r = real();
    let index = target.index();
    if r == 0 {
        target.lifecycle().joined.set(true);
    }
    recorder::put(t, &Record::Join { thread: index, pc: pc as u64 });
    r
}

/// Joins a thread. `native` is the function that the program called. In the model the thread has
/// ended before it is joined; the library may be a moment behind, which `pthread_join` waits for.
fn join_any(
    (handle, result): (pthread_t, usize),
    pc: usize,
    limit: Option<Option<Deadline>>,
    native: &dyn Fn() -> c_int,
) -> c_int {
    let Some(t) = enter() else { return native() };
    let pc = caller(pc);
    let reap = || real!(pthread_join(handle: pthread_t, result: usize) -> c_int);
    let r = if t.parallel() {
        wait_end(t, handle, pc, None, native)
    } else {
        wait_end(t, handle, pc, limit, &reap)
    };
    leave(t);
    r
}

extern "C-unwind" fn join(handle: pthread_t, result: usize, pc: usize) -> c_int {
    let native = || real!(pthread_join(handle: pthread_t, result: usize) -> c_int);
    join_any((handle, result), pc, None, &native)
}

extern "C-unwind" fn tryjoin(handle: pthread_t, result: usize, pc: usize) -> c_int {
    let native = || real!(pthread_tryjoin_np(handle: pthread_t, result: usize) -> c_int);
    join_any((handle, result), pc, Some(None), &native)
}

extern "C-unwind" fn timedjoin(
    handle: pthread_t,
    result: usize,
    at: *const timespec,
    pc: usize,
) -> c_int {
    let native = || {
        real!(pthread_timedjoin_np(handle: pthread_t, result: usize, at: *const timespec)
                -> c_int)
    };
    let limit = if at.is_null() { None } else { until(libc::CLOCK_REALTIME, at) };
    join_any((handle, result), pc, limit.map(Some), &native)
}

extern "C-unwind" fn clockjoin(
    handle: pthread_t,
    result: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    let native = || {
        real!(pthread_clockjoin_np(handle: pthread_t, result: usize, clock: c_int,
                at: *const timespec) -> c_int)
    };
    let limit = if at.is_null() { None } else { until(clock, at) };
    join_any((handle, result), pc, limit.map(Some), &native)
}

extern "C-unwind" fn thrd_join_fn(handle: pthread_t, result: *mut c_int, pc: usize) -> c_int {
    let mut value: usize = 0;
    let r = join(handle, &raw mut value as usize, pc);
    if r == 0 && !result.is_null() {
        // SAFETY: the program's own variable; the join has written the value.
        unsafe { *result = (&raw const value).read_volatile() as c_int };
    }
    if r == 0 { 0 } else { 2 }
}

fn detach_any(handle: pthread_t, real: &dyn Fn() -> c_int) -> c_int {
    let Some(t) = enter() else { return real() };
    if let Some(target) = find_unjoined(handle) {
        target.lifecycle().detached.set(true);
        recorder::put(t, &Record::Detach { thread: target.index() });
    }
    let r = real();
    leave(t);
    r
}

extern "C-unwind" fn detach(handle: pthread_t) -> c_int {
    detach_any(handle, &|| real!(pthread_detach(handle: pthread_t) -> c_int))
}

extern "C-unwind" fn thrd_detach_fn(handle: pthread_t) -> c_int {
    detach_any(handle, &|| real!(thrd_detach(handle: pthread_t) -> c_int))
}

/// Completes the last access; the destructor of the runtime's key sees the end itself.
fn complete() {
    if let Some(t) = enter() {
        leave(t);
    }
}

extern "C-unwind" fn exit_thread(value: usize) {
    complete();
    real!(pthread_exit(value: usize));
}

extern "C-unwind" fn thrd_exit_fn(value: c_int) {
    complete();
    real!(thrd_exit(value: c_int));
}

extern "C-unwind" fn setname(handle: pthread_t, name: *const c_char) -> c_int {
    if let Some(t) = enter() {
        if let Some(target) = find_unjoined(handle) {
            let thread = target.index();
            // SAFETY: the program's own string.
            let name = unsafe { CStr::from_ptr(name) }.to_bytes();
            recorder::put(t, &Record::ThreadName { thread, name });
        }
        leave(t);
    }
    real!(pthread_setname_np(handle: pthread_t, name: *const c_char) -> c_int)
}

/// Number of ids that were given to threads of Rust's standard library.
static RUST_IDS: AtomicU64 = AtomicU64::new(0);

/// Returns a new id for a thread of Rust's standard library, whose own counter would order the
/// threads that create others.
extern "C" fn rust_thread_id() -> u64 {
    RUST_IDS.fetch_add(1, Relaxed) + 1
}

entries! {
    pthread_create => create, "r8";
    pthread_join => join, "rdx";
    pthread_tryjoin_np => tryjoin, "rdx";
    pthread_timedjoin_np => timedjoin, "rcx";
    pthread_clockjoin_np => clockjoin, "r8";
    thrd_create => thrd_create_fn, "rcx";
    thrd_join => thrd_join_fn, "rdx";
}

plain_entries! {
    pthread_detach => detach;
    pthread_exit => exit_thread;
    pthread_setname_np => setname;
    thrd_detach => thrd_detach_fn;
    thrd_exit => thrd_exit_fn;
    __foretell_thread_id => rust_thread_id;
}
