//! Notes for an exploration: things that the program did and that no exploration follows.
//!
//! | file | the program has |
//! |---|---|
//! | `PATH.output` | written to its standard output or error from more than one thread |
//! | `PATH.tried` | tried a semaphore, or waited for one with a time limit |
//! | `PATH.process` | created a process |
//! | `PATH.thread` | a thread that the runtime did not see being created, such as that of a timer |
//! | `PATH.shared` | used an object that it shares with other processes |
//! | `PATH.signal` | handled a signal, which may come at other times |
//! | `PATH.futex` | waited for a futex by itself, or with `std::atomic::wait` |
//! | `PATH.last` | asked which thread of a barrier is told that it is the last one |
//!
//! The files are empty; `PATH` is [`env::UNEXPLORED`](foretell_rt_format::env::UNEXPLORED).

use crate::lock::Guarded;
use crate::sys;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Beginning of the paths; empty: nothing is noted.
static PATH: Guarded<Vec<u8>> = Guarded::new(Vec::new());
/// The thread that wrote output first, plus one; 0: none did; [`SEVERAL`].
static WRITER: AtomicU32 = AtomicU32::new(0);

/// Something that the program did, and that is noted once.
pub(crate) struct Note {
    noted: AtomicBool,
    /// Ending of the file's name, with a zero.
    ending: &'static [u8],
}

/// A semaphore that was tried, or waited for with a time limit.
pub(crate) static TRIED: Note = Note::new(b".tried\0");
/// A new process.
pub(crate) static PROCESS: Note = Note::new(b".process\0");
/// A thread that the runtime did not see being created.
pub(crate) static THREAD: Note = Note::new(b".thread\0");
/// An object that is shared with other processes.
pub(crate) static SHARED: Note = Note::new(b".shared\0");
/// A handler of a signal that has run.
pub(crate) static SIGNAL: Note = Note::new(b".signal\0");
/// A wait for a futex: whether a wake-up comes too early is no observation.
pub(crate) static FUTEX: Note = Note::new(b".futex\0");
/// A result of `pthread_barrier_wait` that was used: any thread may be told that it is the last.
pub(crate) static LAST: Note = Note::new(b".last\0");

impl Note {
    const fn new(ending: &'static [u8]) -> Note {
        Note { noted: AtomicBool::new(false), ending }
    }

    /// Takes the note.
    pub(crate) fn take(&self) {
        if !self.noted.swap(true, Relaxed) {
            create(self.ending);
        }
    }
}

/// More than one thread wrote output.
const SEVERAL: u32 = u32::MAX;

/// Sets the beginning of the paths.
pub(crate) fn set_path(path: Option<&[u8]>) {
    *PATH.lock() = path.unwrap_or_default().to_vec();
}

/// Takes note that a thread writes output.
pub(crate) fn writes_output(thread: u32) {
    let own = thread + 1;
    let before = WRITER.compare_exchange(0, own, Relaxed, Relaxed);
    if before.is_err_and(|first| first != own) && WRITER.swap(SEVERAL, Relaxed) != SEVERAL {
        create(b".output\0");
    }
}

/// Creates an empty file.
fn create(ending: &[u8]) {
    let mut path = PATH.lock().clone();
    if path.is_empty() {
        return;
    }
    path.extend_from_slice(ending);
    let flags = (libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: system calls; the path ends with zero.
    unsafe {
        let at = libc::AT_FDCWD as isize as usize;
        let fd = sys::call(libc::SYS_openat, [at, path.as_ptr() as usize, flags, 0o600, 0, 0]);
        if fd >= 0 {
            sys::call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]);
        }
    }
}
