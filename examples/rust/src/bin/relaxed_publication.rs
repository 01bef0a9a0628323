//! A flag that is stored relaxed publishes data through `unsafe`: undefined behaviour.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

struct Message {
    text: UnsafeCell<u64>,
    ready: AtomicBool,
}

// SAFETY: wrong, because the order of `ready` is too weak.
unsafe impl Sync for Message {}

static MESSAGE: Message = Message { text: UnsafeCell::new(0), ready: AtomicBool::new(false) };

fn main() {
    let writer = thread::spawn(|| {
        unsafe { *MESSAGE.text.get() = 42 };
        MESSAGE.ready.store(true, Ordering::Relaxed);
    });
    while !MESSAGE.ready.load(Ordering::Relaxed) {
        thread::yield_now();
    }
    assert_eq!(unsafe { *MESSAGE.text.get() }, 42);
    writer.join().unwrap();
}
