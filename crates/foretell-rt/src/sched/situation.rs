//! Who waits for what: for reports, and for the end of a program in which nobody can run.

use super::Sched;
use crate::log;
use crate::sys::{self, say};
use crate::thread::State;
use foretell_rt_format::{Blocked, Record, WaitingFor};
use std::ptr::null_mut;

/// Who waits for what, for reports.
pub(crate) unsafe fn situation(s: &Sched) -> Vec<Blocked> {
    // SAFETY: the lock is held.
    s.living()
        .map(|t| unsafe {
            let what = match (*t).wait.state {
                State::Blocked | State::Outside => (*t).wait.what,
                _ => WaitingFor::Runnable,
            };
            Blocked {
                thread: (*t).index,
                what,
                object: (*t).wait.object as u64,
                owner: owner(s, what, (*t).wait.object, (*t).wait.owner_at),
                pc: (*t).wait.pc as u64,
            }
        })
        .collect()
}

/// The thread that owns a mutex or the writer side of a reader-writer lock.
unsafe fn owner(s: &Sched, what: WaitingFor, object: usize, owner_at: usize) -> Option<u32> {
    if owner_at == 0 || !matches!(what, WaitingFor::Lock | WaitingFor::ReadLock) {
        return None;
    }
    // SAFETY: somebody is waiting for the object, so it is there.
    let tid = unsafe { *((object + owner_at) as *const u32) };
    s.living()
        .map(|t| unsafe { ((*t).lifecycle.tid, (*t).index) })
        .find(|&(id, _)| id == tid)
        .map(|p| p.1)
}

/// A line for people: what a thread waits for.
pub(crate) unsafe fn describe(s: &Sched, b: &Blocked) -> String {
    let name = |i: u32| format!("thread {i}");
    let held = b.owner.map_or(String::new(), |o| format!(", held by {}", name(o)));
    let object = b.object;
    let doing = match b.what {
        WaitingFor::Runnable if s.current == b.thread => format!("runs{}", in_system_call(s, b)),
        WaitingFor::Runnable => "can run".to_owned(),
        WaitingFor::Lock => format!("waits for the lock at {object:#x}{held}"),
        WaitingFor::ReadLock => format!("waits to read-lock {object:#x}{held}"),
        WaitingFor::Condition => format!("waits for the condition at {object:#x}"),
        WaitingFor::Semaphore => format!("waits for the semaphore at {object:#x}"),
        WaitingFor::Barrier => format!("waits at the barrier at {object:#x}"),
        WaitingFor::Join => format!("waits for the end of {}", name(object as u32)),
        WaitingFor::Once => format!("waits for the initialisation of {object:#x}"),
        WaitingFor::Futex => format!("waits for the futex at {object:#x}"),
        WaitingFor::Sleep => "sleeps".to_owned(),
        WaitingFor::Call => {
            let t = s.get(b.thread);
            // SAFETY: threads live as long as the process.
            let call = if t.is_null() { "" } else { unsafe { (*t).wait.call } };
            format!("is in {call}()")
        }
    };
    format!("{} {doing} ({})", name(b.thread), crate::modules::place(b.pc as usize))
}

/// The system call that a thread with the baton is in, unknown to the scheduler.
fn in_system_call(s: &Sched, b: &Blocked) -> String {
    let t = s.get(b.thread);
    if t.is_null() {
        return String::new();
    }
    // SAFETY: threads live as long as the process.
    let path = format!("/proc/self/task/{}/syscall", unsafe { (*t).lifecycle.tid });
    let content = sys::read_file(path.as_bytes());
    let number = content.split(|b| *b == b' ').next().map(String::from_utf8_lossy);
    match number.and_then(|n| n.parse::<u32>().ok()) {
        Some(number) => format!(", in system call {number}"),
        None => String::new(),
    }
}

/// Nobody can ever run again: says so and ends the program as `abort` would.
pub(super) unsafe fn deadlock(s: &mut Sched) -> ! {
    // SAFETY: the lock is held; the calling thread held the baton.
    unsafe {
        let threads = situation(s);
        let lines: Vec<String> = threads.iter().map(|b| describe(s, b)).collect();
        say!("deadlock: {}", lines.join("; "));
        let stream = s.living().next().map_or(null_mut(), |t| (*t).hot.stream);
        if !stream.is_null() {
            log::put(stream, &Record::Deadlock { threads });
        }
    }
    sys::die_by(libc::SIGABRT)
}
