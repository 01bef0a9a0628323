//! Conditions with and without a time limit.

use std::sync::{Arc, Condvar, Mutex};
use std::{thread, time::Duration};
fn main() {
    let p = Arc::new((Mutex::new(0), Condvar::new()));
    let q = p.clone();
    let t = thread::spawn(move || {
        let (m, c) = &*q;
        for _ in 0..3 {
            *m.lock().unwrap() += 1;
            c.notify_all();
        }
    });
    let (m, c) = &*p;
    let mut g = m.lock().unwrap();
    while *g < 2 {
        g = c.wait(g).unwrap();
    }
    let (g, _) = c.wait_timeout_while(g, Duration::from_millis(50), |n| *n < 3).unwrap();
    drop(g);
    t.join().unwrap();
    let g = m.lock().unwrap();
    let (g, r) = c.wait_timeout(g, Duration::from_millis(5)).unwrap();
    assert!(r.timed_out());
    assert_eq!(*g, 3);
}
