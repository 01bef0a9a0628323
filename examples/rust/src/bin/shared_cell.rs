//! A counter in an `UnsafeCell` that two threads change: a data race, and undefined behaviour.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::thread;

struct Counter(UnsafeCell<u64>);

// SAFETY: wrong, because `add` may be called by two threads at once.
unsafe impl Sync for Counter {}

impl Counter {
    fn add(&self) {
        unsafe { *self.0.get() += 1 };
    }
}

fn main() {
    let counter = Arc::new(Counter(UnsafeCell::new(0)));
    let threads = [(); 2].map(|()| {
        let counter = Arc::clone(&counter);
        thread::spawn(move || counter.add())
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(unsafe { *counter.0.get() }, 2);
}
