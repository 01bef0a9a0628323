//! Parking, with and without a time limit.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::{thread, time::Duration};
fn main() {
    let flag = Arc::new(AtomicBool::new(false));
    let f = flag.clone();
    let mut data = Box::new(0);
    let t = thread::spawn(move || {
        while !f.load(Ordering::Acquire) {
            thread::park();
        }
        thread::park_timeout(Duration::from_millis(1));
        42
    });
    *data += 1;
    flag.store(true, Ordering::Release);
    t.thread().unpark();
    assert_eq!(t.join().unwrap() + *data, 43);
}
