//! Channels: unbounded, bounded, rendezvous; a time limit.

use std::sync::mpsc;
use std::{thread, time::Duration};
fn main() {
    let (tx, rx) = mpsc::channel();
    let hs: Vec<_> = (0..3)
        .map(|i| {
            let tx = tx.clone();
            thread::spawn(move || {
                for j in 0..5 {
                    tx.send(Box::new(i * 10 + j)).unwrap();
                }
            })
        })
        .collect();
    drop(tx);
    let mut got: Vec<i32> = rx.iter().map(|b| *b).collect();
    got.sort();
    assert_eq!(got.len(), 15);
    for h in hs {
        h.join().unwrap();
    }
    let (tx, rx) = mpsc::sync_channel(1);
    let t = thread::spawn(move || {
        for j in 0..4 {
            tx.send(vec![j]).unwrap();
        }
    });
    let mut sum = 0;
    while let Ok(v) = rx.recv_timeout(Duration::from_secs(5)) {
        sum += v[0];
    }
    assert_eq!(sum, 6);
    t.join().unwrap();
    let (tx, rx) = mpsc::sync_channel(0);
    let t = thread::spawn(move || {
        tx.send(String::from("x")).unwrap();
    });
    assert_eq!(rx.recv().unwrap(), "x");
    t.join().unwrap();
}
