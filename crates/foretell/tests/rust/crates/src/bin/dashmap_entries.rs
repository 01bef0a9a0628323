//! `DashMap`: insertions, entries, removals and iteration by several threads.

use std::{sync::Arc, thread};

use dashmap::DashMap;

fn main() {
    let map = Arc::new(DashMap::with_shard_amount(2));
    let threads: Vec<_> = (0..2)
        .map(|index| {
            let map = map.clone();
            thread::spawn(move || {
                map.insert(index, vec![index]);
                map.entry(9).or_insert_with(Vec::new).push(index);
                assert!(map.get(&index).is_some_and(|value| value[0] == index));
                assert!(map.remove(&index).is_some());
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(map.iter().map(|entry| entry.value().len()).sum::<usize>(), 2);
}
