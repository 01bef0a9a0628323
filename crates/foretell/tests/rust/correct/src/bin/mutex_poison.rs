//! A mutex that is poisoned and mended.

use std::sync::{Arc, Mutex};
use std::thread;
fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let m = Arc::new(Mutex::new(vec![1, 2, 3]));
    let m2 = Arc::clone(&m);
    let t = thread::spawn(move || {
        let mut g = m2.lock().unwrap_or_else(|e| e.into_inner());
        g.push(4);
        panic!("poison");
    });
    let u = {
        let m = Arc::clone(&m);
        thread::spawn(move || match m.lock() {
            Ok(mut g) => g.push(9),
            Err(e) => {
                m.clear_poison();
                e.into_inner().push(8)
            }
        })
    };
    assert!(t.join().is_err());
    u.join().unwrap();
    let g = m.lock().unwrap_or_else(|e| e.into_inner());
    assert_eq!(g.len(), 5);
    if let Ok(mut g) = Arc::new(Mutex::new(1)).try_lock() {
        *g += 1;
    }
}
