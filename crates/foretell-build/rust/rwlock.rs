//! `std::sync::RwLock` as an inline reader-writer lock of pthreads.

use crate::cell::UnsafeCell;

unsafe extern "C" {
    // As the functions of pthreads, but readers wait while a writer waits, and a thread that waits
    // for its own lock waits for ever.
    fn __foretell_rwlock_read(lock: *mut libc::pthread_rwlock_t) -> libc::c_int;
    fn __foretell_rwlock_write(lock: *mut libc::pthread_rwlock_t) -> libc::c_int;
    // The writer becomes a reader, and no other writer comes between.
    fn __foretell_rwlock_downgrade(lock: *mut libc::pthread_rwlock_t) -> libc::c_int;
}

pub struct RwLock {
    inner: UnsafeCell<libc::pthread_rwlock_t>,
}

unsafe impl Send for RwLock {}
unsafe impl Sync for RwLock {}

impl RwLock {
    #[inline]
    pub const fn new() -> Self {
        RwLock { inner: UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER) }
    }

    #[inline]
    pub fn try_read(&self) -> bool {
        unsafe { libc::pthread_rwlock_tryrdlock(self.inner.get()) == 0 }
    }

    #[inline]
    pub fn read(&self) {
        unsafe { __foretell_rwlock_read(self.inner.get()) };
    }

    #[inline]
    pub unsafe fn read_unlock(&self) {
        unsafe { libc::pthread_rwlock_unlock(self.inner.get()) };
    }

    #[inline]
    pub fn try_write(&self) -> bool {
        unsafe { libc::pthread_rwlock_trywrlock(self.inner.get()) == 0 }
    }

    #[inline]
    pub fn write(&self) {
        unsafe { __foretell_rwlock_write(self.inner.get()) };
    }

    #[inline]
    pub unsafe fn write_unlock(&self) {
        unsafe { libc::pthread_rwlock_unlock(self.inner.get()) };
    }

    #[inline]
    pub unsafe fn downgrade(&self) {
        unsafe { __foretell_rwlock_downgrade(self.inner.get()) };
    }
}
