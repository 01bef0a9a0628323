//! What `epoll` descriptors watch: `epoll_wait` gives back the program's own data, not descriptors.
//!
//! Kept by the number of the `epoll` descriptor; one that is a duplicate of another watches nothing as far as we
//! know, and orders nothing.

use crate::channels;
use crate::lock::Lock;
use foretell_rt_format::channel::looked;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// A descriptor that is watched.
#[derive(Clone, Copy)]
struct Interest {
    fd: c_int,
    data: u64,
    events: u32,
    /// Its channel, if that is this process's own.
    own: Option<u64>,
}

static LOCK: Lock = Lock::new();
static mut WATCHED: BTreeMap<c_int, Vec<Interest>> = BTreeMap::new();
/// Somebody watches something.
static USED: AtomicBool = AtomicBool::new(false);

fn with<R>(f: impl FnOnce(&mut BTreeMap<c_int, Vec<Interest>>) -> R) -> R {
    // SAFETY: the lock is held.
    LOCK.with(|| f(unsafe { &mut *(&raw mut WATCHED) }))
}

/// A successful `epoll_ctl`.
pub(crate) fn change(epoll: c_int, op: c_int, fd: c_int, event: Option<libc::epoll_event>) {
    let own = event.and_then(|_| channels::own_channel(fd));
    USED.store(true, Relaxed);
    with(|watched| {
        let list = watched.entry(epoll).or_default();
        list.retain(|i| i.fd != fd);
        if let Some(event) = event.filter(|_| op != libc::EPOLL_CTL_DEL) {
            list.push(Interest { fd, data: event.u64, events: event.events, own });
        }
    });
}

/// The descriptor is about to be closed.
pub(crate) fn forget(fd: c_int) {
    if USED.load(Relaxed) {
        with(|watched| {
            watched.remove(&fd);
            watched.values_mut().for_each(|list| list.retain(|i| i.fd != fd));
        });
    }
}

const READABLE: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

/// What a successful `epoll_wait` has seen, by channel; `whole`: there was room for more events.
pub(crate) fn seen(epoll: c_int, events: &[libc::epoll_event], whole: bool) -> Vec<(u64, u64)> {
    let list = with(|watched| watched.get(&epoll).cloned()).unwrap_or_default();
    let mut out = Vec::new();
    for interest in &list {
        if interest.events & libc::EPOLLIN as u32 == 0 {
            continue;
        }
        let readable = |e: &&libc::epoll_event| e.u64 == interest.data && e.events & READABLE != 0;
        if events.iter().any(|e| readable(&e)) {
            let edge = interest.events & libc::EPOLLET as u32 != 0;
            let what = if edge { looked::NEW } else { looked::SOMETHING };
            let channel =
                interest.own.or_else(|| channels::channel(interest.fd, channels::Way::In));
            out.extend(channel.map(|channel| (channel, what)));
        } else if whole {
            out.extend(interest.own.map(|channel| (channel, looked::NOTHING)));
        }
    }
    out
}
