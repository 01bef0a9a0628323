//! `inverted_locks` with one order of the locks: that of their addresses.

use std::sync::Mutex;
use std::thread;

fn transfer(from: &Mutex<i64>, to: &Mutex<i64>, amount: i64) {
    let (first, second, sign) = match std::ptr::from_ref(from) < std::ptr::from_ref(to) {
        true => (from, to, 1),
        false => (to, from, -1),
    };
    let mut first = first.lock().unwrap();
    let mut second = second.lock().unwrap();
    *first -= sign * amount;
    *second += sign * amount;
}

fn main() {
    let (a, b) = (Mutex::new(50), Mutex::new(50));
    thread::scope(|scope| {
        scope.spawn(|| transfer(&a, &b, 10));
        scope.spawn(|| transfer(&b, &a, 20));
    });
    assert_eq!(*a.lock().unwrap() + *b.lock().unwrap(), 100);
}
