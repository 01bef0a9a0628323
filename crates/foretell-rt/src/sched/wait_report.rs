//! Reports of what each thread waits for, and the end of a program in which no thread can run.

use super::{Sched, unmodelled};
use crate::sys::{self, say};
use crate::thread::{State, ThreadRef};
use foretell_rt_format::{Blocked, Record, WaitingFor};

/// Returns what each thread waits for.
pub(crate) fn wait_report(s: &Sched) -> Vec<Blocked> {
    let report = |t: ThreadRef| {
        let wait = t.wait();
        let what = match wait.state.get() {
            State::Blocked | State::Outside => wait.what.get(),
            _ => WaitingFor::Runnable,
        };
        let object = wait.object.get();
        Blocked {
            thread: t.index(),
            what,
            object: object as u64,
            owner: owner(s, what, object, wait.owner_at.get()),
            pc: wait.pc.get() as u64,
        }
    };
    s.living().map(report).collect()
}

/// The thread that owns a mutex or the writer side of a reader-writer lock.
fn owner(s: &Sched, what: WaitingFor, object: usize, owner_at: usize) -> Option<u32> {
    if owner_at == 0 || !matches!(what, WaitingFor::Lock | WaitingFor::ReadLock) {
        return None;
    }
    // SAFETY: a thread waits for the object, so it is there.
    let tid = unsafe { *((object + owner_at) as *const u32) };
    s.living().find(|t| t.lifecycle().tid.get() == tid).map(|t| t.index())
}

/// Returns a line that says what a thread does or waits for.
pub(crate) fn describe(s: &Sched, b: &Blocked) -> String {
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
        WaitingFor::Call => match s.get(b.thread).map_or("", |t| t.wait().call.get()) {
            unmodelled::CALL => {
                format!("waits in {}{}", unmodelled::CALL, in_system_call(s, b))
            }
            call => format!("is in {call}()"),
        },
    };
    format!("{} {doing} ({})", name(b.thread), crate::modules::location(b.pc as usize))
}

/// The system call that a thread is in, unknown to the scheduler.
fn in_system_call(s: &Sched, b: &Blocked) -> String {
    let Some(t) = s.get(b.thread) else { return String::new() };
    let path = format!("/proc/self/task/{}/syscall", t.lifecycle().tid.get());
    let content = sys::read_file(path.as_bytes());
    let number = content.split(|b| *b == b' ').next().map(String::from_utf8_lossy);
    match number.and_then(|n| n.parse::<u32>().ok()) {
        Some(number) => format!(", in system call {number}"),
        None => String::new(),
    }
}

/// Reports that no thread can ever run again, and ends the program as `abort` would.
pub(super) fn deadlock(s: &mut Sched) -> ! {
    let threads = wait_report(s);
    let lines: Vec<String> = threads.iter().map(|b| describe(s, b)).collect();
    say!("deadlock: {}", lines.join("; "));
    s.put_last(&Record::Deadlock { threads });
    sys::die_by(libc::SIGABRT)
}
