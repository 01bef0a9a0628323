//! `shared_cell` with an atomic counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

struct Counter(AtomicU64);

impl Counter {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn main() {
    let counter = Arc::new(Counter(AtomicU64::new(0)));
    let threads = [(); 2].map(|()| {
        let counter = Arc::clone(&counter);
        thread::spawn(move || counter.add())
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(counter.0.load(Ordering::Relaxed), 2);
}
