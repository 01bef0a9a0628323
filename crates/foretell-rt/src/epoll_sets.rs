//! The descriptors in each `epoll` set: `epoll_wait` returns the program's own data, not
//! descriptors.
//!
//! Sets are kept by the number of the `epoll` descriptor. A duplicate of an `epoll` descriptor has
//! an empty set as far as the runtime knows, and orders nothing.

use crate::channels;
use crate::lock::Guarded;
use foretell_rt_format::channel::looked;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// A descriptor in a set.
#[derive(Clone, Copy)]
struct Interest {
    fd: c_int,
    data: u64,
    events: u32,
    /// The descriptor's channel, if that is this process's own.
    own: Option<u64>,
}

/// The descriptors of each set, by the number of the `epoll` descriptor.
static SETS: Guarded<BTreeMap<c_int, Vec<Interest>>> = Guarded::new(BTreeMap::new());
/// Whether the program has used `epoll_ctl`.
static USED: AtomicBool = AtomicBool::new(false);

/// Applies a successful `epoll_ctl`.
pub(crate) fn change(epoll: c_int, op: c_int, fd: c_int, event: Option<libc::epoll_event>) {
    let own = event.and_then(|_| channels::own_channel(fd));
    USED.store(true, Relaxed);
    SETS.with(|watched| {
        let list = watched.entry(epoll).or_default();
        list.retain(|i| i.fd != fd);
        if let Some(event) = event.filter(|_| op != libc::EPOLL_CTL_DEL) {
            list.push(Interest { fd, data: event.u64, events: event.events, own });
        }
    });
}

/// Removes a descriptor that is about to be closed.
pub(crate) fn forget(fd: c_int) {
    if USED.load(Relaxed) {
        SETS.with(|watched| {
            watched.remove(&fd);
            watched.values_mut().for_each(|list| list.retain(|i| i.fd != fd));
        });
    }
}

const READABLE: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

/// Returns what a successful `epoll_wait` has seen, by channel. `whole`: there was room for more
/// events.
pub(crate) fn seen(epoll: c_int, events: &[libc::epoll_event], whole: bool) -> Vec<(u64, u64)> {
    let list = SETS.with(|watched| watched.get(&epoll).cloned()).unwrap_or_default();
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
