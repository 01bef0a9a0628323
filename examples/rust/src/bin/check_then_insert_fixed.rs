//! `check_then_insert` with one call that looks and inserts.

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use std::sync::Arc;
use std::thread;

fn register(users: &DashMap<&'static str, usize>, name: &'static str, id: usize) -> bool {
    match users.entry(name) {
        Entry::Occupied(_) => false,
        Entry::Vacant(entry) => {
            entry.insert(id);
            true
        }
    }
}

fn main() {
    let users = Arc::new(DashMap::with_shard_amount(2));
    let threads = [1, 2].map(|id| {
        let users = Arc::clone(&users);
        thread::spawn(move || register(&users, "ann", id))
    });
    let registered = threads.map(|thread| thread.join().unwrap());
    assert_eq!(registered.iter().filter(|new| **new).count(), 1);
}
