//! `lost_notification` with the flag under the lock.

use std::sync::{Condvar, Mutex};
use std::thread;

static READY: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();

fn main() {
    let worker = thread::spawn(|| {
        let mut ready = READY.lock().unwrap();
        while !*ready {
            ready = CHANGED.wait(ready).unwrap();
        }
    });
    *READY.lock().unwrap() = true;
    CHANGED.notify_one();
    worker.join().unwrap();
}
