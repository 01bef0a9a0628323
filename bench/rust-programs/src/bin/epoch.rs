//! `crossbeam_epoch`: a pointer that two threads replace; old values are freed later.

use std::{sync::atomic::Ordering, thread};

use crossbeam_epoch::{self as epoch, Atomic, Owned};

fn main() {
    let shared = Atomic::new(1);
    thread::scope(|scope| {
        for number in 2..4 {
            let shared = &shared;
            scope.spawn(move || {
                let guard = epoch::pin();
                let old = shared.swap(Owned::new(number), Ordering::AcqRel, &guard);
                assert!(unsafe { *old.deref() } > 0);
                unsafe { guard.defer_destroy(old) };
                let now = shared.load(Ordering::Acquire, &guard);
                assert!(unsafe { *now.deref() } > 1);
                drop(guard);
                epoch::pin().flush();
            });
        }
    });
    drop(unsafe { shared.into_owned() });
}
