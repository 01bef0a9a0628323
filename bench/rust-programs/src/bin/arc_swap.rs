//! `ArcSwap`: loads and stores of two threads.

use std::{sync::Arc, thread};

use arc_swap::ArcSwap;

fn main() {
    let shared = Arc::new(ArcSwap::from_pointee(vec![0]));
    let threads: Vec<_> = (0..2)
        .map(|index| {
            let shared = shared.clone();
            thread::spawn(move || {
                assert!(!shared.load().is_empty());
                shared.store(Arc::new(vec![index, index]));
                shared.rcu(|old| old.iter().map(|number| number + 1).collect::<Vec<_>>());
                assert_eq!(shared.load_full().len(), 2);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(shared.load().len(), 2);
}
