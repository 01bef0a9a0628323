//! Readers and writers, tries, and a writer that becomes a reader.

use std::sync::{Arc, RwLock, RwLockWriteGuard};
use std::thread;
fn main() {
    let l = Arc::new(RwLock::new((0u64, 0u64)));
    let hs: Vec<_> = (0..4)
        .map(|i| {
            let l = l.clone();
            thread::spawn(move || {
                for _ in 0..3 {
                    if i % 2 == 0 {
                        let mut g = l.write().unwrap();
                        g.0 += 1;
                        g.1 += 1;
                        let r = RwLockWriteGuard::downgrade(g);
                        assert_eq!(r.0, r.1);
                    } else {
                        let g = l.read().unwrap();
                        assert_eq!(g.0, g.1);
                        drop(g);
                        if let Ok(g) = l.try_read() {
                            assert_eq!(g.0, g.1);
                        }
                        if let Ok(mut g) = l.try_write() {
                            g.0 += 1;
                            g.1 += 1;
                        }
                    }
                }
            })
        })
        .collect();
    for h in hs {
        h.join().unwrap();
    }
    let g = l.read().unwrap();
    assert!(g.0 >= 6 && g.0 == g.1);
}
