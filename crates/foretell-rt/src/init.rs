//! Start and end of recording in this process.
//!
//! The first hook may come before `environ` exists (gcc calls `__tsan_init` from
//! `.preinit_array`), so the configuration is read from `/proc/self/environ`, and the first hook
//! starts the runtime.

use crate::forks;
use crate::inside::{enter_started, leave};
use crate::lock::Guarded;
use crate::log::{self, HeaderFields, Stream};
use crate::reader;
use crate::recorder;
use crate::recording_state;
use crate::sched::{self, SCHED, replay, unmodelled};
use crate::sys::{self, say};
use crate::thread::{Baton, ThreadRef};
use foretell_rt_format::{EndHow, Record, env};
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};

static KEY: AtomicU32 = AtomicU32::new(0);
/// Seconds of the watchdog; 0: never.
pub(crate) static WATCHDOG_SECS: AtomicU64 = AtomicU64::new(10);
/// Seconds a scheduled thread may make no step.
pub(crate) static STALL_SECS: AtomicU64 = AtomicU64::new(10);
static CLEANED: AtomicU32 = AtomicU32::new(0);
/// Whether the children find the runtime's variables in their environment: they are recorded too.
static KEEPS_ENVIRON: AtomicBool = AtomicBool::new(false);

struct Config {
    log: Vec<u8>,
    more: Option<Vec<u8>>,
    mode: u32,
    seed: u64,
    quantum: u64,
    schedule: Option<Vec<u8>>,
    stop: bool,
    keep: bool,
    /// Replay: path of the child of a fork that the schedule is for.
    forked: Option<Vec<u8>>,
}

/// The configuration that this process was started with.
static CONFIG: Guarded<Option<Config>> = Guarded::new(None);

impl Config {
    fn header(&self) -> HeaderFields {
        HeaderFields { mode: self.mode, seed: self.seed, quantum: self.quantum }
    }
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
    reader::set(find(env::READER).unwrap_or(&log));
    let mode = match find(env::MODE) {
        None | Some(b"record") => 0,
        Some(b"parallel") => 1,
        Some(b"replay") => 2,
        Some(other) => {
            say!("{} is unknown: {}", env::MODE, String::from_utf8_lossy(other));
            return None;
        }
    };
    crate::unexplored::set_path(find(env::UNEXPLORED));
    let steps = number(env::EXIT_STEPS, foretell_rt_format::EXIT_STEPS);
    crate::exit::STEPS.store(steps, Relaxed);
    WATCHDOG_SECS.store(number(env::WATCHDOG_SECS, 10), Relaxed);
    STALL_SECS.store(number(env::STALL_SECS, 10), Relaxed);
    let more = find(env::MORE).filter(|_| mode != 2).map(<[u8]>::to_vec);
    KEEPS_ENVIRON.store(more.is_some(), Relaxed);
    Some(Config {
        log,
        more,
        mode,
        seed: number(env::SEED, 0),
        quantum: number(env::QUANTUM, 1000),
        schedule: find(env::SCHEDULE).map(<[u8]>::to_vec),
        stop: find(env::STOP) == Some(b"1"),
        keep: find(env::KEEP) == Some(b"1"),
        forked: find(env::FORKED).filter(|_| mode == 2).map(<[u8]>::to_vec),
    })
}

/// Starts the runtime, once.
#[cold]
#[inline(never)]
pub(crate) fn init() {
    if recording_state::begin() {
        let mut config_of_process = CONFIG.lock();
        *config_of_process = config();
        recording_state::started(config_of_process.as_ref().is_some_and(start));
    }
}

fn start(c: &Config) -> bool {
    if c.forked.is_some() {
        install();
        clean_environ();
        return false;
    }
    let fields = c.header();
    let mut created = log::create(&c.log, &fields);
    if let (Err(libc::EEXIST), Some(more)) = (created, &c.more) {
        let path = log_of_this_process(more);
        describe(&path);
        created = log::create(&path, &fields);
    }
    if let Err(errno) = created {
        // Taken: a process that the recorded one started; not an error. Gone: the recorder has
        // ended before this process started.
        let gone = errno == libc::ENOENT && c.more.is_some();
        if errno != libc::EEXIST && !gone {
            let path = String::from_utf8_lossy(&c.log);
            say!("cannot create the log {path} (error {errno}): the program is not recorded");
        }
        return false;
    }
    let t = begin(c, None);
    install();
    clean_environ();
    leave(t);
    true
}

/// Starts the runtime in the child of a fork; `on`: its parent is recorded; `thread`: the index
/// that the calling thread had there. Returns whether the child is recorded.
pub(crate) fn start_child(path: &[u8], on: bool, thread: Option<u32>) -> bool {
    let config = CONFIG.lock();
    let Some(c) = config.as_ref() else { return false };
    let replays = c.forked.as_deref() == Some(path);
    let log = match &c.more {
        _ if replays => c.log.clone(),
        Some(more) if on && c.mode == 0 => log_of_this_process(more),
        _ => return false,
    };
    sched::reset();
    log::begin_in_memory(&log, &c.header());
    crate::exit::reset();
    crate::watchdog::reset();
    crate::annotations::keep_only(thread);
    crate::hidden_call::reset();
    crate::sync::reset();
    let t = begin(c, Some(path));
    if replays {
        log::keep();
    }
    leave(t);
    true
}

/// Begins the log, with the calling thread, which is the only one, as the first; `child`: the path
/// of a child of a fork. Returns the thread, which is inside the runtime.
fn begin(c: &Config, child: Option<&[u8]>) -> Baton {
    if c.mode == 2 && !load_schedule(c) {
        sys::exit_group(foretell_rt_format::DEPARTURE_STATUS);
    }
    let t = ThreadRef::new(0, Stream::new(0));
    t.hot(|hot| hot.parallel = c.mode == 1);
    crate::tls::set(t.as_ptr());
    // SAFETY: this is the only thread.
    let t = unsafe { Baton::assume(t) };
    crate::elision::start(t, c.mode == 0 && !c.keep);
    sched::start(t, c.seed, c.quantum);
    make_key();
    match child {
        None => crate::modules::scan(&|record| recorder::put(t, record)),
        Some(path) => {
            crate::modules::scan(&|_| ());
            crate::modules::log_all(&|record| recorder::put(t, record));
            recorder::put(t, &Record::ChildOfFork { path });
        }
    }
    begin_thread(t);
    if child.is_some() {
        crate::sync::log_barriers(t);
    }
    t
}

/// Makes the key whose destructor sees the end of a thread, once.
fn make_key() {
    static MADE: AtomicBool = AtomicBool::new(false);
    if MADE.swap(true, Relaxed) {
        return;
    }
    let mut key = 0;
    // SAFETY: the destructor lives as long as the process.
    unsafe { libc::pthread_key_create(&mut key, Some(end_of_thread)) };
    KEY.store(key, Relaxed);
}

/// Installs the handlers of the process: for its end, forks and crashes.
fn install() {
    make_key();
    crate::hidden_call::start();
    // SAFETY: the exit handler lives as long as the process.
    unsafe { on_exit(at_exit, std::ptr::null_mut()) };
    forks::watch();
    crate::signal::install();
}

/// Returns a path for the log of this process that no earlier program of the process has.
fn log_of_this_process(directory: &[u8]) -> Vec<u8> {
    // SAFETY: asks for a number.
    let pid = unsafe { sys::call(libc::SYS_getpid, [0; 6]) };
    let start = sys::now_ns(libc::CLOCK_MONOTONIC);
    [directory, format!("/{start:020}.{pid}").as_bytes()].concat()
}

/// Writes the command line, the environment and the working directory of this process beside its
/// log: the process may be one of many below a test runner.
fn describe(log: &[u8]) {
    for (source, ending) in
        [(&b"/proc/self/cmdline"[..], &b".cmdline"[..]), (b"/proc/self/environ", b".environ")]
    {
        sys::write_file(&[log, ending].concat(), &sys::read_file(source));
    }
    sys::write_file(&[log, b".cwd"].concat(), &sys::working_directory());
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

/// Removes the runtime's variables from the environment, so that the program and its children see
/// the one that they would see without the runtime; not if the children are to be recorded.
fn clean_environ() {
    // SAFETY: no other thread exists yet; the array ends with null.
    unsafe {
        let mut from = environ;
        if KEEPS_ENVIRON.load(Relaxed)
            || recording_state::is_new()
            || from.is_null()
            || CLEANED.swap(1, Relaxed) != 0
        {
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
        if reader::is_distant() {
            crate::watchdog::start();
        }
        leave(t);
    } else if CONFIG.lock().as_ref().is_some_and(|c| c.forked.is_some()) {
        clean_environ();
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
    crate::modules::log_thread_locals(&|record| recorder::put(t, record));
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
    crate::other_wakes::note_handlers(t);
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
    crate::other_wakes::note_handlers(t);
    recorder::put(t, &Record::EndOfProgram { how, status });
}
