//! Transfers in opposite directions take the same two locks in opposite orders: a deadlock.

use std::sync::Mutex;
use std::thread;

fn transfer(from: &Mutex<i64>, to: &Mutex<i64>, amount: i64) {
    let mut from = from.lock().unwrap();
    let mut to = to.lock().unwrap();
    *from -= amount;
    *to += amount;
}

fn main() {
    let (a, b) = (Mutex::new(50), Mutex::new(50));
    thread::scope(|scope| {
        scope.spawn(|| transfer(&a, &b, 10));
        scope.spawn(|| transfer(&b, &a, 20));
    });
    assert_eq!(*a.lock().unwrap() + *b.lock().unwrap(), 100);
}
