//! Two locks of `parking_lot`, taken in both orders.

use std::{sync::Arc, thread};

use parking_lot::{Mutex, RwLock};

fn main() {
    let first = Arc::new(Mutex::new(0));
    let second = Arc::new(RwLock::new(0));
    let (f, s) = (first.clone(), second.clone());
    let thread = thread::spawn(move || {
        let mut first = f.lock();
        *first += *s.read();
    });
    thread.join().unwrap();
    let thread = thread::spawn({
        let (f, s) = (first.clone(), second.clone());
        move || {
            let first = f.lock();
            *s.write() += *first;
        }
    });
    {
        let second = second.read();
        *first.lock() += *second;
    }
    thread.join().unwrap();
}
