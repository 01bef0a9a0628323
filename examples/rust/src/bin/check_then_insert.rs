//! Two calls of a concurrent map where one is needed: a user is registered twice.

use dashmap::DashMap;
use std::sync::Arc;
use std::thread;

fn register(users: &DashMap<&str, usize>, name: &'static str, id: usize) -> bool {
    if users.contains_key(name) {
        return false;
    }
    users.insert(name, id);
    true
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
