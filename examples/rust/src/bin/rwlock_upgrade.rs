//! A reader becomes a writer, and does not look again: two threads both open the connection.

use std::sync::{Arc, RwLock};
use std::thread;

#[derive(Default)]
struct Pool {
    connection: Option<usize>,
    opened: usize,
}

fn connection(pool: &RwLock<Pool>) -> usize {
    let found = pool.read().unwrap().connection;
    found.unwrap_or_else(|| {
        let mut pool = pool.write().unwrap();
        pool.opened += 1;
        *pool.connection.insert(7)
    })
}

fn main() {
    let pool = Arc::new(RwLock::new(Pool::default()));
    let threads = [(); 2].map(|()| {
        let pool = Arc::clone(&pool);
        thread::spawn(move || connection(&pool))
    });
    threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 7));
    assert_eq!(pool.read().unwrap().opened, 1);
}
