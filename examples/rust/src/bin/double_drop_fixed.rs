//! `double_drop` with one step that takes the pointer.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

static VALUE: AtomicPtr<String> = AtomicPtr::new(std::ptr::null_mut());

fn close() {
    let value = VALUE.swap(std::ptr::null_mut(), Ordering::SeqCst);
    if !value.is_null() {
        // SAFETY: only one thread gets the pointer.
        drop(unsafe { Box::from_raw(value) });
    }
}

fn main() {
    VALUE.store(Box::into_raw(Box::new("text".to_owned())), Ordering::SeqCst);
    let threads = [thread::spawn(close), thread::spawn(close)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
