//! `parking_lot::Mutex`: plain, tried, with a time limit, fair, and recursive.

use std::{sync::Arc, thread, time::Duration};

use parking_lot::{Mutex, MutexGuard, ReentrantMutex};

fn main() {
    let count = Arc::new(Mutex::new(0));
    let tried = Arc::new(Mutex::new(0));
    let nested = Arc::new(ReentrantMutex::new(std::cell::Cell::new(0)));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (count, tried, nested) = (count.clone(), tried.clone(), nested.clone());
            thread::spawn(move || {
                *count.lock() += 1;
                let guard = count.lock();
                MutexGuard::unlock_fair(guard);
                if let Some(mut guard) = count.try_lock_for(Duration::from_secs(100)) {
                    *guard += 1;
                }
                if let Some(mut guard) = tried.try_lock() {
                    *guard += 1;
                }
                let outer = nested.lock();
                let inner = nested.lock();
                inner.set(inner.get() + 1);
                drop(outer);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*count.lock(), 6);
    assert!((1..=3).contains(&*tried.lock()));
    assert_eq!(nested.lock().get(), 3);
}
