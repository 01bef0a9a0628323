//! `moka`: a cache that two threads use.

use std::thread;

use moka::sync::Cache;

fn main() {
    let cache = Cache::new(2);
    thread::scope(|scope| {
        for number in 0..2 {
            let cache = &cache;
            scope.spawn(move || {
                cache.insert(number, vec![number]);
                assert_eq!(cache.get_with(9, || vec![9]), [9]);
                cache.invalidate(&number);
            });
        }
    });
    cache.run_pending_tasks();
    assert!(cache.entry_count() <= 2);
}
