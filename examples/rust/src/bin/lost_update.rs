//! Two lock scopes where one is needed: a withdrawal is lost.

use std::sync::{Arc, Mutex};
use std::thread;

fn main() {
    let balance = Arc::new(Mutex::new(100));
    let withdraw = |amount: i32| {
        let balance = Arc::clone(&balance);
        thread::spawn(move || {
            let seen = *balance.lock().unwrap();
            *balance.lock().unwrap() = seen - amount;
        })
    };
    let threads = [withdraw(10), withdraw(20)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*balance.lock().unwrap(), 70);
}
