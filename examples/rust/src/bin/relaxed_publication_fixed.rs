//! `relaxed_publication` with orders that publish the data.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

struct Message {
    text: UnsafeCell<u64>,
    ready: AtomicBool,
}

// SAFETY: `text` is read only after `ready` was seen, with acquire, and not written any more.
unsafe impl Sync for Message {}

static MESSAGE: Message = Message { text: UnsafeCell::new(0), ready: AtomicBool::new(false) };

fn main() {
    let writer = thread::spawn(|| {
        unsafe { *MESSAGE.text.get() = 42 };
        MESSAGE.ready.store(true, Ordering::Release);
    });
    while !MESSAGE.ready.load(Ordering::Acquire) {
        thread::yield_now();
    }
    assert_eq!(unsafe { *MESSAGE.text.get() }, 42);
    writer.join().unwrap();
}
