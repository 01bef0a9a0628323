//! Publication by release and acquire, by fences and by a pointer; counters.

use std::cell::UnsafeCell;
use std::sync::{
    Arc,
    atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence},
};
use std::thread;
struct Cell(UnsafeCell<u64>);
unsafe impl Sync for Cell {}
static DATA: Cell = Cell(UnsafeCell::new(0));
static READY: AtomicUsize = AtomicUsize::new(0);
static FENCED: Cell = Cell(UnsafeCell::new(0));
static FLAG: AtomicUsize = AtomicUsize::new(0);
fn main() {
    let p: Arc<AtomicPtr<u64>> = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
    let q = p.clone();
    let n = Arc::new(AtomicU64::new(0));
    let m = n.clone();
    let t = thread::spawn(move || {
        unsafe { *DATA.0.get() = 5 };
        READY.store(1, Ordering::Release);
        unsafe { *FENCED.0.get() = 6 };
        fence(Ordering::Release);
        FLAG.store(1, Ordering::Relaxed);
        q.store(Box::into_raw(Box::new(9)), Ordering::Release);
        for _ in 0..10 {
            m.fetch_add(1, Ordering::Relaxed);
        }
    });
    if READY.load(Ordering::Acquire) == 1 {
        assert_eq!(unsafe { *DATA.0.get() }, 5);
    }
    if FLAG.load(Ordering::Relaxed) == 1 {
        fence(Ordering::Acquire);
        assert_eq!(unsafe { *FENCED.0.get() }, 6);
    }
    loop {
        let x = p.load(Ordering::Acquire);
        if !x.is_null() {
            assert_eq!(unsafe { *x }, 9);
            drop(unsafe { Box::from_raw(x) });
            break;
        }
        thread::yield_now();
    }
    let _ = n.fetch_update(Ordering::AcqRel, Ordering::Acquire, |x| Some(x + 1));
    t.join().unwrap();
    assert_eq!(n.load(Ordering::SeqCst), 11);
}
