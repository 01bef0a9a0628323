//! Creation, end, names of threads.

use crate::cancel;
use crate::entry::{enter, entries, leave, plain_entries};
use crate::init;
use crate::log::Stream;
use crate::modules::caller;
use crate::outside;
use crate::real::real;
use crate::recorder;
use crate::sched::{self, Deadline, Waiting, block, step};
use crate::sync::until;
use crate::sys;
use crate::thread::{State, Thread, Wake};
use foretell_rt_format::{Kind, Record, WaitingFor};
use libc::{pthread_t, timespec};
use std::ffi::{CStr, c_char, c_int, c_void};

/// The thread with this handle that has not been joined.
pub(crate) fn find(handle: pthread_t) -> *mut Thread {
    // SAFETY: the list is guarded by the lock.
    sched::LOCK.with(|| unsafe {
        let all = &sched::sched().threads;
        let mut newest_first = all.iter().rev().copied();
        newest_first
            .find(|&t| !t.is_null() && (*t).lifecycle.pthread == handle && !(*t).lifecycle.joined)
            .unwrap_or(std::ptr::null_mut())
    })
}

/// A new thread's state; `t` creates it.
unsafe fn prepare(t: *mut Thread, routine: usize, argument: usize, c11: bool) -> *mut Thread {
    // SAFETY: `t` is the calling thread.
    unsafe {
        let nth = (*t).lifecycle.children;
        let index = sched::LOCK.with(|| {
            let s = sched::sched();
            let fresh = (s.threads.len() as u32).max(s.replay.fresh_index());
            s.replay.index_of((*t).index, nth).unwrap_or(fresh)
        });
        let stream = if (*t).hot.parallel { Stream::new(index) } else { (*t).hot.stream };
        let child = Thread::new(index, stream);
        (*child).hot.parallel = (*t).hot.parallel;
        (*child).lifecycle.routine = routine;
        (*child).lifecycle.argument = argument;
        (*child).lifecycle.c11 = c11;
        (*child).frames.set_logged_depth(0);
        child
    }
}

unsafe extern "C-unwind" fn trampoline(p: *mut c_void) -> *mut c_void {
    let t: *mut Thread = p.cast();
    // SAFETY: the creator passes the new thread's state.
    unsafe {
        crate::tls::set(t);
        set_mask((*t).signals.initial_mask);
        if !(*t).hot.parallel {
            sched::wait_turn(t);
        } else {
            (*t).wait.state = State::Running;
        }
        init::begin_thread(t);
        leave(t);
        if (*t).lifecycle.c11 {
            let f: unsafe extern "C-unwind" fn(usize) -> c_int =
                std::mem::transmute((*t).lifecycle.routine);
            f((*t).lifecycle.argument) as isize as *mut c_void
        } else {
            let f: unsafe extern "C-unwind" fn(usize) -> *mut c_void =
                std::mem::transmute((*t).lifecycle.routine);
            f((*t).lifecycle.argument)
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

/// Sets the calling thread's mask of signals; the one before.
unsafe fn set_mask(mask: u64) -> u64 {
    let mut old = 0u64;
    let (new, old_at) = (&raw const mask as usize, &raw mut old as usize);
    // SAFETY: both are as long as the kernel's sets.
    unsafe {
        sys::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, new, old_at, 8, 0, 0]);
    }
    old
}

/// The mask that a thread with these attributes begins with.
unsafe fn first_mask(attr: *const libc::pthread_attr_t, parent: u64) -> u64 {
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

unsafe fn spawn(
    t: *mut Thread,
    handle: *mut pthread_t,
    attr: *const libc::pthread_attr_t,
    (routine, argument, c11): (usize, usize, bool),
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        crate::watchdog::start();
        let pc = caller(pc);
        step(t, Kind::Create, pc);
        let child = prepare(t, routine, argument, c11);
        let mut detached: c_int = 0;
        if !attr.is_null() {
            pthread_attr_getdetachstate(attr, &mut detached);
        }
        (*child).lifecycle.detached = detached == libc::PTHREAD_CREATE_DETACHED;
        sched::admit(child);
        let start: Start = trampoline;
        let argument: *mut c_void = child.cast();
        let mut made: pthread_t = 0;
        let out = &raw mut made;
        // Nobody knows the thread yet: a signal must not run a handler in it before it is known.
        let mask = set_mask(u64::MAX);
        (*child).signals.initial_mask = first_mask(attr, mask);
        let r = real!(pthread_create(out: *mut pthread_t, attr: *const libc::pthread_attr_t,
            start: Start, argument: *mut c_void) -> c_int);
        set_mask(mask);
        // The step is counted even when the creation fails; the reader sees a thread that
        // never begins.
        let (index, nth) = ((*child).index, (*t).lifecycle.children);
        (*t).lifecycle.children += 1;
        let (pc, routine) = (pc as u64, routine as u64);
        recorder::put(t, &Record::Create { thread: index, nth, pc, routine });
        if r != 0 {
            sched::dismiss(child);
            return r;
        }
        (*child).lifecycle.pthread = made;
        *handle = made;
        0
    }
}

unsafe extern "C-unwind" fn create(
    handle: *mut pthread_t,
    attr: *const libc::pthread_attr_t,
    routine: usize,
    argument: usize,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real!(pthread_create(handle: *mut pthread_t,
                attr: *const libc::pthread_attr_t, routine: usize, argument: usize) -> c_int);
        }
        let r = spawn(t, handle, attr, (routine, argument, false), pc);
        leave(t);
        r
    }
}

unsafe extern "C-unwind" fn thrd_create_fn(
    handle: *mut pthread_t,
    routine: usize,
    argument: usize,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return real!(thrd_create(handle: *mut pthread_t, routine: usize, argument: usize)
                -> c_int);
        }
        let r = spawn(t, handle, std::ptr::null(), (routine, argument, true), pc);
        leave(t);
        match r {
            0 => 0,
            libc::ENOMEM => 3,
            _ => 2,
        }
    }
}

/// Waits for the end of a thread; `limit`: not at all, until then, or for ever.
unsafe fn wait_end(
    t: *mut Thread,
    handle: pthread_t,
    pc: usize,
    limit: Option<Option<Deadline>>,
    real: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: `t` is the calling thread.
    unsafe {
        let target = find(handle);
        if target.is_null() || (*target).lifecycle.detached || target == t {
            return if target.is_null() {
                outside::call(t, "pthread_join", pc, real)
            } else {
                real()
            };
        }
        cancel::point(t);
        let immediate = limit.is_some_and(|l| l.is_none());
        if immediate && (*target).wait.state != State::Finished {
            return libc::EBUSY;
        }
        step(t, Kind::Join, pc);
        while !(*t).hot.parallel && (*target).wait.state != State::Finished {
            let w = Waiting {
                what: WaitingFor::Join,
                object: (*target).index as usize,
                pc,
                owner_at: 0,
                between: false,
            };
            match block(t, w, limit.flatten()) {
                Wake::Event => {}
                Wake::Time => {
                    (*t).hot.limit -= 1;
                    return libc::ETIMEDOUT;
                }
                Wake::Interrupt => {
                    crate::signal::deliver(t);
                    // Not a step when the thread ends here.
                    (*t).hot.limit -= 1;
                    cancel::point(t);
                    (*t).hot.limit += 1;
                }
            }
        }
        let r = real();
        let index = (*target).index;
        if r == 0 {
            (*target).lifecycle.joined = true;
        }
        recorder::put(t, &Record::Join { thread: index, pc: pc as u64 });
        r
    }
}

/// `native` is what the program called. In the model the thread has ended before it is joined;
/// the library may be a moment behind, which `pthread_join` waits for.
unsafe fn join_any(
    (handle, result): (pthread_t, usize),
    pc: usize,
    limit: Option<Option<Deadline>>,
    native: &dyn Fn() -> c_int,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return native();
        }
        let pc = caller(pc);
        let reap = || real!(pthread_join(handle: pthread_t, result: usize) -> c_int);
        let r = if (*t).hot.parallel {
            wait_end(t, handle, pc, None, native)
        } else {
            wait_end(t, handle, pc, limit, &reap)
        };
        leave(t);
        r
    }
}

unsafe extern "C-unwind" fn join(handle: pthread_t, result: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let native = || real!(pthread_join(handle: pthread_t, result: usize) -> c_int);
        join_any((handle, result), pc, None, &native)
    }
}

unsafe extern "C-unwind" fn tryjoin(handle: pthread_t, result: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let native = || real!(pthread_tryjoin_np(handle: pthread_t, result: usize) -> c_int);
        join_any((handle, result), pc, Some(None), &native)
    }
}

unsafe extern "C-unwind" fn timedjoin(
    handle: pthread_t,
    result: usize,
    at: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let native = || {
            real!(pthread_timedjoin_np(handle: pthread_t, result: usize, at: *const timespec)
                -> c_int)
        };
        let limit = if at.is_null() { None } else { until(libc::CLOCK_REALTIME, at) };
        join_any((handle, result), pc, limit.map(Some), &native)
    }
}

unsafe extern "C-unwind" fn clockjoin(
    handle: pthread_t,
    result: usize,
    clock: c_int,
    at: *const timespec,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let native = || {
            real!(pthread_clockjoin_np(handle: pthread_t, result: usize, clock: c_int,
                at: *const timespec) -> c_int)
        };
        let limit = if at.is_null() { None } else { until(clock, at) };
        join_any((handle, result), pc, limit.map(Some), &native)
    }
}

unsafe extern "C-unwind" fn thrd_join_fn(
    handle: pthread_t,
    result: *mut c_int,
    pc: usize,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let mut value: usize = 0;
        let r = join(handle, &raw mut value as usize, pc);
        if r == 0 && !result.is_null() {
            *result = (&raw const value).read_volatile() as c_int;
        }
        if r == 0 { 0 } else { 2 }
    }
}

unsafe fn detach_any(handle: pthread_t, real: &dyn Fn() -> c_int) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if !t.is_null() {
            let target = find(handle);
            if !target.is_null() {
                (*target).lifecycle.detached = true;
                recorder::put(t, &Record::Detach { thread: (*target).index });
            }
        }
        let r = real();
        if !t.is_null() {
            leave(t);
        }
        r
    }
}

unsafe extern "C-unwind" fn detach(handle: pthread_t) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { detach_any(handle, &|| real!(pthread_detach(handle: pthread_t) -> c_int)) }
}

unsafe extern "C-unwind" fn thrd_detach_fn(handle: pthread_t) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { detach_any(handle, &|| real!(thrd_detach(handle: pthread_t) -> c_int)) }
}

/// The end itself is seen by the destructor of our key; here the last access is completed.
unsafe fn complete() {
    // SAFETY: enter and leave match.
    unsafe {
        let t = enter();
        if !t.is_null() {
            leave(t);
        }
    }
}

unsafe extern "C-unwind" fn exit_thread(value: usize) {
    // SAFETY: as the program's own call; does not return.
    unsafe {
        complete();
        real!(pthread_exit(value: usize));
    }
}

unsafe extern "C-unwind" fn thrd_exit_fn(value: c_int) {
    // SAFETY: as the program's own call; does not return.
    unsafe {
        complete();
        real!(thrd_exit(value: c_int));
    }
}

unsafe extern "C-unwind" fn setname(handle: pthread_t, name: *const c_char) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if !t.is_null() {
            let target = find(handle);
            if !target.is_null() {
                let thread = (*target).index;
                let name = CStr::from_ptr(name).to_bytes();
                recorder::put(t, &Record::ThreadName { thread, name });
            }
            leave(t);
        }
        real!(pthread_setname_np(handle: pthread_t, name: *const c_char) -> c_int)
    }
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
}
