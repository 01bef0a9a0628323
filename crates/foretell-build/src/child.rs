//! Processes that end with this one.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use foretell_limit::{Limit, deadline};

/// Longest time between two looks at the command.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Runs a command to its end. It gets SIGTERM when a limit of the caller is reached, and if this
/// process is killed meanwhile: a compiler then removes its own temporary files.
///
/// # Errors
/// When it cannot be started.
pub fn status(command: &mut Command) -> io::Result<ExitStatus> {
    let parent = std::process::id();
    // SAFETY: system calls only.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            if libc::getppid() as u32 != parent {
                // This process has ended before the call.
                libc::raise(libc::SIGTERM);
            }
            Ok(())
        })
    };
    let limit = Limit { deadline: deadline(), ..Limit::none() };
    let mut child = command.spawn()?;
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if limit.reached().is_some() {
            // SAFETY: the child has not been waited for: the number is its own.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
