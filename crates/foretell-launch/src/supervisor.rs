//! A process between the caller and a recording, so that the recording survives a kill.
//!
//! The caller of `foretell record` knows one process, the supervisor, and may kill it (SIGKILL).
//! The reader of the log is therefore a child of it, in a process group of its own. When the
//! supervisor is gone the reader gets SIGTERM, which it passes to the program as any other; the
//! trace is saved though nobody waits for it.
//!
//! ```text
//! caller ── supervisor ── reader ── program
//!             group A      group B    group A
//! ```
//!
//! The program stays in the group of the supervisor, with the terminal.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicI32, Ordering::*};

use crate::signals::{self, FROM_TERMINAL};

/// Process group of the supervisor, in the reader; 0: there is no supervisor.
static GROUP: AtomicI32 = AtomicI32::new(0);
/// The reader, in the supervisor.
static READER: AtomicI32 = AtomicI32::new(0);

/// Returns the process group for programs, if it is not that of this process.
pub(crate) fn group() -> Option<i32> {
    Some(GROUP.load(Relaxed)).filter(|&group| group != 0)
}

/// Makes this process the supervisor of a new one, the reader. Returns `None` in the reader and, to
/// the supervisor, the exit status of the reader when that has ended.
///
/// # Errors
/// If there can be no further process.
///
/// # Safety
/// The calling process has one thread.
pub unsafe fn supervise() -> io::Result<Option<ExitStatus>> {
    // SAFETY: system calls with valid arguments; one thread, says the caller.
    unsafe {
        let (supervisor, group) = (libc::getpid(), libc::getpgrp());
        // The actions are set before there is a reader, so that no signal is lost.
        let actions = signals::SIGNALS.map(|n| (n, signals::set(n, pass_on)));
        match libc::fork() {
            -1 => {
                let error = io::Error::last_os_error();
                actions.iter().for_each(|(n, old)| signals::restore(*n, old));
                Err(error)
            }
            0 => {
                actions.iter().for_each(|(n, old)| signals::restore(*n, old));
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                if libc::getppid() != supervisor {
                    libc::raise(libc::SIGKILL);
                }
                if libc::setpgid(0, 0) == 0 {
                    GROUP.store(group, Relaxed);
                    // A process in the background may write to the terminal all the same.
                    libc::signal(libc::SIGTTOU, libc::SIG_IGN);
                }
                Ok(None)
            }
            reader => {
                READER.store(reader, Relaxed);
                let mut status = 0;
                while libc::waitpid(reader, &mut status, 0) < 0 {
                    if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                        return Err(io::Error::last_os_error());
                    }
                }
                Ok(Some(ExitStatus::from_raw(status)))
            }
        }
    }
}

/// The supervisor's handler: the reader gets the signal.
unsafe extern "C" fn pass_on(n: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel's argument; system calls.
    unsafe {
        let from_terminal = (*info).si_code == libc::SI_KERNEL;
        let mark = if from_terminal { FROM_TERMINAL } else { 0 };
        let value = libc::sigval { sival_ptr: mark as *mut libc::c_void };
        let reader = READER.load(Relaxed);
        if reader > 0 {
            libc::sigqueue(reader, n, value);
        } else {
            // Before the fork has returned: nothing runs yet.
            libc::signal(n, libc::SIG_DFL);
            libc::raise(n);
        }
    }
}
