//! `lost_update` with one lock scope.

use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let balance = Arc::new(Mutex::new(100));
    let withdraw = |amount: i32| {
        let balance = Arc::clone(&balance);
        thread::spawn(move || *balance.lock().unwrap() -= amount)
    };
    let threads = [withdraw(10), withdraw(20)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*balance.lock().unwrap(), 70);
}
