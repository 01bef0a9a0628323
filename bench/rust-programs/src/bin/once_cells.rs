//! `once_cell`: cells that two threads initialise.

use std::thread;

use once_cell::{race::OnceBox, sync::Lazy, sync::OnceCell};

static TABLE: Lazy<Vec<u32>> = Lazy::new(|| vec![1, 2]);

fn main() {
    let cell = OnceCell::new();
    let boxed = OnceBox::new();
    thread::scope(|scope| {
        for number in 0..2 {
            let (cell, boxed) = (&cell, &boxed);
            scope.spawn(move || {
                assert!(*cell.get_or_init(|| number) < 2);
                assert!(*boxed.get_or_init(|| Box::new(number)) < 2);
                assert_eq!(TABLE.len(), 2);
            });
        }
    });
    assert!(*cell.get().unwrap() < 2);
}
