//! `parking_lot::RwLock`: readers, writers, upgradable reads, downgrades.

use std::{sync::Arc, thread};

use parking_lot::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};

fn main() {
    let shared = Arc::new(RwLock::new(vec![0]));
    let threads: Vec<_> = (0..3)
        .map(|index| {
            let shared = shared.clone();
            thread::spawn(move || match index {
                0 => {
                    let mut guard = shared.write();
                    guard.push(1);
                    let guard = RwLockWriteGuard::downgrade(guard);
                    assert!(guard.contains(&1));
                }
                1 => {
                    let guard = shared.upgradable_read();
                    let length = guard.len();
                    let mut guard = RwLockUpgradableReadGuard::upgrade(guard);
                    assert_eq!(guard.len(), length);
                    guard.push(2);
                }
                _ => {
                    let first = shared.read();
                    assert!(first[0] == 0);
                    drop(first);
                    if let Some(guard) = shared.try_read() {
                        assert!(!guard.is_empty());
                    }
                    if let Some(mut guard) = shared.try_write() {
                        guard.push(3);
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(shared.read().len() >= 3);
}
