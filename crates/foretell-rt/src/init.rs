//! Start and end of recording in this process.
//!
//! The first hook may come before `environ` exists (gcc calls `__tsan_init` from
//! `.preinit_array`), so the configuration is read from `/proc/self/environ`, and the first hook
//! starts the runtime.

use crate::forks;
use crate::inside::{enter_started, leave};
use crate::log::{self, HeaderFields, Stream};
use crate::recorder;
use crate::recording_state;
use crate::sched::{self, SCHED, replay, unmodelled};
use crate::sys::{self, say};
use crate::thread::{Baton, ThreadRef};
use foretell_rt_format::{EndHow, Record, env};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

static KEY: AtomicU32 = AtomicU32::new(0);
/// Seconds of the watchdog; 0: never.
pub(crate) static WATCHDOG_SECS: AtomicU64 = AtomicU64::new(10);
/// Seconds a scheduled thread may make no step.
pub(crate) static STALL_SECS: AtomicU64 = AtomicU64::new(10);
static CLEANED: AtomicU32 = AtomicU32::new(0);

struct Config {
    log: Vec<u8>,
    mode: u32,
    seed: u64,
    quantum: u64,
    schedule: Option<Vec<u8>>,
    stop: bool,
    keep: bool,
}

/// Returns the configuration, if the environment has one.
fn config() -> Option<Config> {
    let variables = sys::read_file(b"/proc/self/environ");
    let find = |name: &str| {
        variables.split(|&b| b == 0).find_map(|v| {
            let rest = v.strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=")
        })
    };
    let number = |name: &str, default: u64| match find(name) {
        None => default,
        Some(v) => std::str::from_utf8(v).ok().and_then(|v| v.parse().ok()).unwrap_or_else(|| {
            say!("{name} is not a number: {}", String::from_utf8_lossy(v));
            default
        }),
    };
    let log = find(env::LOG)?.to_vec();
    let mode = match find(env::MODE) {
        None | Some(b"record") => 0,
        Some(b"parallel") => 1,
        Some(b"replay") => 2,
        Some(other) => {
            say!("{} is unknown: {}", env::MODE, String::from_utf8_lossy(other));
            return None;
        }
    };
    WATCHDOG_SECS.store(number(env::WATCHDOG_SECS, 10), Relaxed);
    STALL_SECS.store(number(env::STALL_SECS, 10), Relaxed);
    Some(Config {
        log,
        mode,
        seed: number(env::SEED, 0),
        quantum: number(env::QUANTUM, 1000),
        schedule: find(env::SCHEDULE).map(<[u8]>::to_vec),
        stop: find(env::STOP) == Some(b"1"),
        keep: find(env::KEEP) == Some(b"1"),
    })
}

/// Starts the runtime, once.
#[cold]
#[inline(never)]
pub(crate) fn init() {
    if recording_state::begin() {
        recording_state::started(config().is_some_and(|c| start(&c)));
    }
}

fn start(c: &Config) -> bool {
    let fields = HeaderFields { mode: c.mode, seed: c.seed, quantum: c.quantum };
    if let Err(errno) = log::create(&c.log, &fields) {
        // Taken: a process that the recorded one started; not an error.
        if errno != libc::EEXIST {
            let path = String::from_utf8_lossy(&c.log);
            say!("cannot create the log {path} (error {errno}): the program is not recorded");
        }
        return false;
    }
    if c.mode == 2 && !load_schedule(c) {
        sys::exit_group(foretell_rt_format::DEPARTURE_STATUS);
    }
    let t = ThreadRef::new(0, Stream::new(0));
    t.hot(|hot| hot.parallel = c.mode == 1);
    crate::tls::set(t.as_ptr());
    // SAFETY: this is the only thread.
    let t = unsafe { Baton::assume(t) };
    crate::hidden_call::start();
    crate::elision::start(t, c.mode == 0 && !c.keep);
    sched::start(t, c.seed, c.quantum);
    crate::modules::scan(&|record| recorder::put(t, record));
    let mut key = 0;
    // SAFETY: the destructor and the exit handler live as long as the process.
    unsafe { libc::pthread_key_create(&mut key, Some(end_of_thread)) };
    KEY.store(key, Relaxed);
    begin_thread(t);
    // SAFETY: as above.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
    forks::watch();
    crate::signal::install();
    clean_environ();
    leave(t);
    true
}

fn load_schedule(c: &Config) -> bool {
    let path = c.schedule.clone().unwrap_or_default();
    let text = sys::read_file(&path);
    let name = String::from_utf8_lossy(&path);
    match String::from_utf8(text).map_err(|_| ()) {
        Err(()) => say!("the schedule {name} is not text"),
        Ok(text) => match text.parse() {
            Err(e) => say!("the schedule {name} is unusable, {e}"),
            Ok(schedule) => {
                SCHED.lock().replay.follow(schedule, c.stop);
                return true;
            }
        },
    }
    false
}

unsafe extern "C" {
    fn on_exit(f: unsafe extern "C" fn(c_int, *mut c_void), arg: *mut c_void) -> c_int;
    static mut environ: *mut *mut c_char;
}

/// Removes the runtime's variables from the environment: the program and its children see the
/// environment that they would see without the runtime.
fn clean_environ() {
    // SAFETY: no other thread exists yet; the array ends with null.
    unsafe {
        let mut from = environ;
        if recording_state::is_new() || from.is_null() || CLEANED.swap(1, Relaxed) != 0 {
            return;
        }
        let mut to = from;
        while !(*from).is_null() {
            let name = std::ffi::CStr::from_ptr(*from).to_bytes();
            if !name.starts_with(b"FORETELL_") {
                *to = *from;
                to = to.add(1);
            }
            from = from.add(1);
        }
        *to = std::ptr::null_mut();
    }
}

/// Runs when the library is loaded, for programs whose first hook comes late.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

extern "C" fn constructor() {
    init();
    if let Some(t) = enter_started() {
        clean_environ();
        leave(t);
    }
}

/// Writes the first record of the calling thread, and arranges that its end becomes known.
pub(crate) fn begin_thread(t: Baton) {
    let lifecycle = t.lifecycle();
    lifecycle.tid.set(sys::gettid());
    lifecycle.destructor_rounds.set(4); // PTHREAD_DESTRUCTOR_ITERATIONS
    // SAFETY: the key was made at the start; the state lives as long as the process.
    unsafe {
        lifecycle.pthread.set(libc::pthread_self());
        libc::pthread_setspecific(KEY.load(Relaxed), t.as_ptr().cast());
    }
    crate::signal::alternate_stack();
    let (start, end) = stack_bounds();
    let (stack_start, stack_end) = (start as u64, end as u64);
    recorder::put(t, &Record::ThreadBegin { tid: lifecycle.tid.get(), stack_start, stack_end });
}

/// Returns the bounds of the calling thread's stack.
fn stack_bounds() -> (usize, usize) {
    // SAFETY: the attributes are initialised by the call before they are used.
    unsafe {
        let mut attr = std::mem::zeroed::<libc::pthread_attr_t>();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attr) != 0 {
            return (0, 0);
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attr, &mut start, &mut size);
        libc::pthread_attr_destroy(&mut attr);
        (start as usize, start as usize + size)
    }
}

/// Destructor of the runtime's thread-local key: in its last round every other destructor has run.
unsafe extern "C" fn end_of_thread(p: *mut c_void) {
    let Some(t) = crate::tls::current().filter(|t| t.as_ptr() == p.cast()) else { return };
    let (t, _) = unmodelled::hold(t);
    let rounds = &t.lifecycle().destructor_rounds;
    rounds.set(rounds.get() - 1);
    if rounds.get() > 0 {
        // SAFETY: the key was made at the start.
        unsafe { libc::pthread_setspecific(KEY.load(Relaxed), p) };
        return;
    }
    t.set_inside(true);
    recorder::flush(t);
    crate::sync::release_orphans(t);
    recorder::put(t, &Record::ThreadEnd);
    if !sched::finish(t) {
        // The last thread: the C library would end the program now, but for the watchdog.
        leave(t);
        // SAFETY: as the C library would.
        unsafe { libc::exit(0) };
    }
    crate::signal::drop_alternate_stack();
    sched::retire(t);
}

/// The last exit handler: registered first, it runs after the program's own.
unsafe extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    if let Some(t) = enter_started() {
        end_program(t, EndHow::Exit, status);
        leave(t);
    }
}

/// Writes that the program ends by itself.
pub(crate) fn end_program(t: Baton, how: EndHow, status: c_int) {
    if !t.parallel() {
        let mut s = SCHED.lock();
        if s.replay.active {
            if !s.replay.at_end() {
                replay::depart(&mut s, Some(*t), "the end of the program");
            }
            replay::over(&mut s);
        }
    }
    crate::elision::finish(t);
    recorder::put(t, &Record::EndOfProgram { how, status });
}
