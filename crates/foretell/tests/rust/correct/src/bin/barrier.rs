//! Barriers of scoped threads.

use std::sync::{
    Barrier,
    atomic::{AtomicUsize, Ordering},
};
use std::thread;
fn main() {
    let b = Barrier::new(3);
    let mut data = [0usize; 3];
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        for (i, d) in data.iter_mut().enumerate() {
            let (b, n) = (&b, &n);
            s.spawn(move || {
                *d = i + 1;
                n.fetch_add(1, Ordering::Relaxed);
                b.wait();
                assert_eq!(n.load(Ordering::Relaxed), 3);
                b.wait();
                *d += 1;
            });
        }
    });
    assert_eq!(data.iter().sum::<usize>(), 9);
}
