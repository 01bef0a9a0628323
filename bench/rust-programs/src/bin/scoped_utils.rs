//! `crossbeam_utils`: scoped threads, a wait group, a parker, cache-padded counters.

use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_utils::{CachePadded, sync::Parker, sync::ShardedLock, sync::WaitGroup, thread};

fn main() {
    let count = CachePadded::new(AtomicU32::new(0));
    let shared = ShardedLock::new(vec![0]);
    let group = WaitGroup::new();
    let parker = Parker::new();
    thread::scope(|scope| {
        for number in 1..3 {
            let (count, shared) = (&count, &shared);
            let (group, unparker) = (group.clone(), parker.unparker().clone());
            scope.spawn(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
                shared.write().unwrap().push(number);
                unparker.unpark();
                drop(group);
            });
        }
        parker.park();
        group.wait();
        assert_eq!(shared.read().unwrap().len(), 3);
    })
    .unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2);
}
