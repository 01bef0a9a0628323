//! Threads that create threads; a panic that is caught at the join.

use std::thread;
fn sum(v: &[u64]) -> u64 {
    if v.len() <= 2 {
        return v.iter().sum();
    }
    let (a, b) = v.split_at(v.len() / 2);
    thread::scope(|s| {
        let x = s.spawn(|| sum(a));
        let y = sum(b);
        x.join().unwrap() + y
    })
}
fn main() {
    let v: Vec<u64> = (0..16).collect();
    assert_eq!(sum(&v), 120);
    let r =
        thread::spawn(|| thread::spawn(|| thread::current().id()).join().unwrap()).join().unwrap();
    assert_ne!(r, thread::current().id());
    assert!(
        thread::scope(|s| s.spawn(|| -> u32 { std::panic::resume_unwind(Box::new(1)) }).join())
            .is_err()
    );
}
