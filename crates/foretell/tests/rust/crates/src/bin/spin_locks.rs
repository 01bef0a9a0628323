//! Locks of `spin`: mutexes, readers and writers, one-time initialisation, barrier.

use std::{sync::Arc, thread};

use spin::{Barrier, Lazy, Mutex, Once, RwLock};

static TABLE: Lazy<Vec<u32>> = Lazy::new(|| vec![1, 2, 3]);
static ONCE: Once<String> = Once::new();

fn main() {
    let count = Arc::new(Mutex::new(0));
    let shared = Arc::new(RwLock::new(vec![0]));
    let barrier = Arc::new(Barrier::new(2));
    let threads: Vec<_> = (0..2)
        .map(|index| {
            let (count, shared, barrier) = (count.clone(), shared.clone(), barrier.clone());
            thread::spawn(move || {
                *count.lock() += TABLE[index];
                if let Some(mut guard) = count.try_lock() {
                    *guard += 0;
                }
                shared.write().push(ONCE.call_once(|| "text".to_owned()).len());
                barrier.wait();
                assert_eq!(shared.read().len(), 3);
                let guard = shared.upgradeable_read();
                let mut guard = guard.upgrade();
                guard[0] += 1;
                assert!(guard.downgrade()[0] > 0);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((*count.lock(), shared.read()[0]), (3, 2));
}
