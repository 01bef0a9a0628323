//! The flag is set without the lock: the notification may come between the look and the wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);
static LOCK: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

fn main() {
    let worker = thread::spawn(|| {
        let mut guard = LOCK.lock().unwrap();
        while !READY.load(Ordering::SeqCst) {
            guard = CHANGED.wait(guard).unwrap();
        }
    });
    READY.store(true, Ordering::SeqCst);
    CHANGED.notify_one();
    worker.join().unwrap();
}
