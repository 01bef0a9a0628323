//! `std::sync::Condvar` as an inline condition variable of pthreads.

use crate::cell::UnsafeCell;
use crate::sys::pal::time::{TIMESPEC_MAX, Timespec};
use crate::sys::sync::Mutex;
use crate::time::Duration;

unsafe extern "C" {
    fn pthread_cond_clockwait(
        condition: *mut libc::pthread_cond_t,
        mutex: *mut libc::pthread_mutex_t,
        clock: libc::clockid_t,
        until: *const libc::timespec,
    ) -> libc::c_int;
}

pub struct Condvar {
    inner: UnsafeCell<libc::pthread_cond_t>,
}

unsafe impl Send for Condvar {}
unsafe impl Sync for Condvar {}

impl Condvar {
    #[inline]
    pub const fn new() -> Self {
        Condvar { inner: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER) }
    }

    #[inline]
    pub fn notify_one(&self) {
        unsafe { libc::pthread_cond_signal(self.inner.get()) };
    }

    #[inline]
    pub fn notify_all(&self) {
        unsafe { libc::pthread_cond_broadcast(self.inner.get()) };
    }

    #[inline]
    pub unsafe fn wait(&self, mutex: &Mutex) {
        unsafe { libc::pthread_cond_wait(self.inner.get(), mutex.raw()) };
    }

    pub unsafe fn wait_timeout(&self, mutex: &Mutex, timeout: Duration) -> bool {
        let until = Timespec::now(libc::CLOCK_MONOTONIC)
            .checked_add_duration(&timeout)
            .and_then(|time| time.to_timespec())
            .unwrap_or(TIMESPEC_MAX);
        let (condition, mutex) = (self.inner.get(), mutex.raw());
        unsafe { pthread_cond_clockwait(condition, mutex, libc::CLOCK_MONOTONIC, &until) == 0 }
    }
}
