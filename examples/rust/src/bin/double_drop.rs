//! Two owners of a raw pointer both see that it is there, and both drop the value.

use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

static VALUE: AtomicPtr<String> = AtomicPtr::new(std::ptr::null_mut());

fn close() {
    let value = VALUE.load(Ordering::SeqCst);
    if !value.is_null() {
        VALUE.store(std::ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: wrong, because another thread may have seen the pointer, too.
        drop(unsafe { Box::from_raw(value) });
    }
}

fn main() {
    VALUE.store(Box::into_raw(Box::new("text".to_owned())), Ordering::SeqCst);
    let threads = [thread::spawn(close), thread::spawn(close)];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
