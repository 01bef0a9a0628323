//! `parking_lot::Condvar` and `Once`.

use std::{sync::Arc, thread, time::Duration};

use parking_lot::{Condvar, Mutex, Once};

static ONCE: Once = Once::new();

fn main() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let pair = pair.clone();
            thread::spawn(move || {
                ONCE.call_once(|| *pair.0.lock() += 1);
                let mut count = pair.0.lock();
                while *count < 2 {
                    pair.1.wait(&mut count);
                }
                *count += 1;
                pair.1.notify_all();
            })
        })
        .collect();
    ONCE.call_once(|| *pair.0.lock() += 1);
    *pair.0.lock() += 1;
    pair.1.notify_one();
    pair.1.notify_all();
    let mut count = pair.0.lock();
    while *count < 4 {
        pair.1.wait_for(&mut count, Duration::from_secs(100));
    }
    drop(count);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
