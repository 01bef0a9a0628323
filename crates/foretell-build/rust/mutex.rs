//! `std::sync::Mutex` as an inline mutex of pthreads, which the runtime schedules and records.

use crate::cell::UnsafeCell;

pub struct Mutex {
    // Inline, not in a lazily allocated box: the read of its address would order the first lockers.
    inner: UnsafeCell<libc::pthread_mutex_t>,
}

unsafe impl Send for Mutex {}
unsafe impl Sync for Mutex {}

impl Mutex {
    #[inline]
    pub const fn new() -> Self {
        Mutex { inner: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER) }
    }

    #[inline]
    pub(in crate::sys::sync) fn raw(&self) -> *mut libc::pthread_mutex_t {
        self.inner.get()
    }

    #[inline]
    #[cfg_attr(not(test), rustc_diagnostic_item = "sys_mutex_try_lock")]
    pub fn try_lock(&self) -> bool {
        unsafe { libc::pthread_mutex_trylock(self.raw()) == 0 }
    }

    #[inline]
    #[cfg_attr(not(test), rustc_diagnostic_item = "sys_mutex_lock")]
    pub fn lock(&self) {
        unsafe { libc::pthread_mutex_lock(self.raw()) };
    }

    #[inline]
    #[cfg_attr(not(test), rustc_diagnostic_item = "sys_mutex_unlock")]
    pub unsafe fn unlock(&self) {
        unsafe { libc::pthread_mutex_unlock(self.raw()) };
    }
}
