//! `Once`, `OnceLock`, `LazyLock`, thread-local variables.

use std::sync::{LazyLock, Once, OnceLock};
use std::thread;
static A: Once = Once::new();
static B: OnceLock<Vec<i32>> = OnceLock::new();
static C: LazyLock<String> = LazyLock::new(|| "abc".repeat(3));
static mut X: i32 = 0;
thread_local! { static T: std::cell::RefCell<Vec<i32>> = const { std::cell::RefCell::new(Vec::new()) }; }
fn main() {
    let hs: Vec<_> = (0..3)
        .map(|i| {
            thread::spawn(move || {
                A.call_once(|| unsafe { X = 7 });
                assert_eq!(unsafe { X }, 7);
                assert_eq!(B.get_or_init(|| vec![1, 2])[1], 2);
                assert_eq!(C.len(), 9);
                T.with_borrow_mut(|t| t.push(i));
                T.with_borrow(|t| assert_eq!(t.len(), 1));
            })
        })
        .collect();
    for h in hs {
        h.join().unwrap();
    }
}
