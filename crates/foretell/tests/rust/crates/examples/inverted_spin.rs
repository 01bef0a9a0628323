//! Two locks of `spin`, taken in both orders.

use std::{sync::Arc, thread};

use spin::Mutex;

fn main() {
    let first = Arc::new(Mutex::new(0));
    let second = Arc::new(Mutex::new(0));
    let thread = thread::spawn({
        let (first, second) = (first.clone(), second.clone());
        move || {
            let first = first.lock();
            *second.lock() += *first;
        }
    });
    {
        let second = second.lock();
        *first.lock() += *second;
    }
    thread.join().unwrap();
}
