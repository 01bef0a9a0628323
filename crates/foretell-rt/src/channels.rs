//! The channel that a descriptor belongs to.
//!
//! The kernel is asked every time: descriptors are duplicated, closed by library code and given out
//! again. A channel is identified by the kernel's object behind the descriptor:
//!
//! | object | identified by |
//! |---|---|
//! | pipe | its inode |
//! | file | its inode and its time of birth |
//! | `eventfd` | the kernel's own number, in `/proc`; where there is none, all are one channel |
//! | socket of a pair (see [`pair`]), receiving | its own inode |
//! | socket of a pair, sending | the peer's inode |
//! | connection within the process, or to an unknown peer | the two ports, or the path |
//! | connection of a local socket to another process | its inode |
//! | terminal, other device with state | all are one connection |
//!
//! Both directions of a connection are one channel: a peer that answers has read what was sent.
//!
//! A pseudo-terminal passes data from its one end to its other, and the kernel does not say which
//! two belong together. Timers, directories and the devices without state (`/dev/null`,
//! `/dev/zero`, random numbers) are no channels.

use crate::lock::Guarded;
use crate::sys;
use foretell_rt_format::channel::Channel;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::mem::zeroed;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The direction of a transfer through a descriptor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

/// Major number of `/dev/null` and its like.
const MEMORY_DEVICES: u32 = 1;

/// The peers of sockets that were made in pairs, by inode.
static PAIRS: Guarded<BTreeMap<u64, u64>> = Guarded::new(BTreeMap::new());

/// Notes that two sockets are connected to each other.
pub(crate) fn pair(a: c_int, b: c_int) {
    let (Some(a), Some(b)) = (status(a), status(b)) else { return };
    PAIRS.with(|pairs| {
        pairs.insert(a.st_ino, b.st_ino);
        pairs.insert(b.st_ino, a.st_ino);
    });
}

fn peer(inode: u64) -> Option<u64> {
    PAIRS.lock().get(&inode).copied()
}

/// Channels of files that are mapped and shared: stores to memory change them.
static MAPPED: Guarded<Vec<u64>> = Guarded::new(Vec::new());
static ANY_MAPPED: AtomicBool = AtomicBool::new(false);

/// Notes that the file of a descriptor is mapped.
pub(crate) fn map(fd: c_int) {
    if let Some(channel) = own_channel(fd) {
        ANY_MAPPED.store(true, Relaxed);
        MAPPED.with(|mapped| mapped.push(channel));
    }
}

/// Whether stores to memory may have changed what a channel gives.
pub(crate) fn is_mapped(channel: u64) -> bool {
    ANY_MAPPED.load(Relaxed) && MAPPED.lock().contains(&channel)
}

/// Returns the kernel's status of a descriptor.
pub(crate) fn status(fd: c_int) -> Option<libc::stat> {
    // SAFETY: all zeroes is a valid status; the kernel refuses a bad descriptor.
    unsafe {
        let mut status: libc::stat = zeroed();
        let (path, out) = (c"".as_ptr() as usize, &raw mut status as usize);
        let a = [fd as isize as usize, path, out, libc::AT_EMPTY_PATH as usize, 0, 0];
        (sys::call(libc::SYS_newfstatat, a) == 0).then_some(status)
    }
}

/// The channel of a descriptor.
pub(crate) fn channel(fd: c_int, way: Way) -> Option<u64> {
    let status = status(fd)?;
    match status.st_mode & libc::S_IFMT {
        libc::S_IFSOCK => socket(fd, status.st_ino, way),
        libc::S_IFCHR if libc::major(status.st_rdev) != MEMORY_DEVICES => {
            Some(Channel::Connection.number(&[u64::MAX, u64::MAX]))
        }
        _ => inner(fd, &status, way),
    }
}

/// The channel of a descriptor, if only this process sends to it, as far as that can be told
/// quickly: none for connections.
pub(crate) fn own_channel(fd: c_int) -> Option<u64> {
    inner(fd, &status(fd)?, Way::In)
}

fn inner(fd: c_int, status: &libc::stat, way: Way) -> Option<u64> {
    match status.st_mode & libc::S_IFMT {
        libc::S_IFIFO => Some(Channel::Pipe.number(&[status.st_dev, status.st_ino])),
        libc::S_IFREG => Some(file(fd, status)),
        libc::S_IFSOCK => paired(fd, status.st_ino, way),
        // An object without a type is one of the kernel's own.
        0 => event(fd),
        _ => None,
    }
}

/// The channel of the content of a file. Inodes are used again: the time of birth, where the file
/// system has one, tells files with one inode apart.
pub(crate) fn file(fd: c_int, status: &libc::stat) -> u64 {
    // SAFETY: all zeroes is a valid status; the kernel writes no more.
    let born = unsafe {
        let mut more: libc::statx = zeroed();
        let (path, out) = (c"".as_ptr() as usize, &raw mut more as usize);
        let (flags, mask) = (libc::AT_EMPTY_PATH as usize, libc::STATX_BTIME as usize);
        sys::call(libc::SYS_statx, [fd as isize as usize, path, flags, mask, out, 0]);
        more.stx_btime
    };
    let born = [born.tv_sec as u64, u64::from(born.tv_nsec)];
    Channel::File.number(&[status.st_dev, status.st_ino, born[0], born[1]])
}

/// The channel of a socket that was made with its peer.
fn paired(fd: c_int, inode: u64, way: Way) -> Option<u64> {
    let other = peer(inode)?;
    let stream = option(fd, libc::SO_TYPE) == Some(libc::SOCK_STREAM);
    let kind = if stream { Channel::Stream } else { Channel::Datagram };
    Some(kind.number(&[if way == Way::In { inode } else { other }]))
}

fn socket(fd: c_int, inode: u64, way: Way) -> Option<u64> {
    if let Some(channel) = paired(fd, inode, way) {
        return Some(channel);
    }
    let local = Address::of(fd, libc::SYS_getsockname);
    if option(fd, libc::SO_ACCEPTCONN) == Some(1) {
        return Some(local.channel(Channel::Listener));
    }
    let remote = Address::of(fd, libc::SYS_getpeername);
    let datagrams = option(fd, libc::SO_TYPE) == Some(libc::SOCK_DGRAM);
    match local.family() {
        libc::AF_UNIX if datagrams || from_here(fd) => {
            let named =
                if local.has_name() && (way == Way::In || !datagrams) { local } else { remote };
            Some(named.channel(Channel::Connection))
        }
        libc::AF_INET | libc::AF_INET6 if datagrams => {
            let to = if way == Way::In { local } else { remote };
            Some(to.channel(Channel::Connection))
        }
        libc::AF_INET | libc::AF_INET6 => {
            let (a, b) = (local.port(), remote.port());
            Some(Channel::Connection.number(&[a.min(b), a.max(b)]))
        }
        _ => Some(Channel::Connection.number(&[inode, u64::MAX])),
    }
}

/// Whether the other end of a local socket is (or was) this process.
fn from_here(fd: c_int) -> bool {
    // SAFETY: all zeroes is valid; the kernel writes at most the length.
    unsafe {
        let mut who: libc::ucred = zeroed();
        let mut len = size_of::<libc::ucred>() as u32;
        let (who_at, len_at) = (&raw mut who as usize, &raw mut len as usize);
        let (level, name) = (libc::SOL_SOCKET as usize, libc::SO_PEERCRED as usize);
        let r = sys::call(libc::SYS_getsockopt, [fd as usize, level, name, who_at, len_at, 0]);
        r == 0 && who.pid as isize == sys::call(libc::SYS_getpid, [0; 6])
    }
}

fn option(fd: c_int, name: c_int) -> Option<c_int> {
    let (mut value, mut len) = (0 as c_int, 4u32);
    let (value_at, len_at) = (&raw mut value as usize, &raw mut len as usize);
    let a = [fd as usize, libc::SOL_SOCKET as usize, name as usize, value_at, len_at, 0];
    // SAFETY: the kernel writes at most the length.
    (unsafe { sys::call(libc::SYS_getsockopt, a) } == 0).then_some(value)
}

/// The address of a socket. The port or the path identifies it: a socket that is bound to the
/// wildcard address is reached under each address.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    bytes: [u8; 128],
    len: usize,
}

impl Address {
    /// Returns the address that the program gives.
    pub(crate) unsafe fn given(at: usize, len: usize) -> Address {
        let mut address = Address { bytes: [0; 128], len: 0 };
        if at != 0 {
            address.len = len.min(128);
            // SAFETY: the program's own address.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    at as *const u8,
                    &raw mut address.bytes as _,
                    address.len,
                );
            }
        }
        address
    }

    /// Returns the address of a socket or of its peer; empty if there is none.
    fn of(fd: c_int, call: i64) -> Address {
        let mut address = Address { bytes: [0; 128], len: 0 };
        let mut len = 128u32;
        let (at, len_at) = (&raw mut address.bytes as usize, &raw mut len as usize);
        // SAFETY: the kernel writes at most the length.
        if unsafe { sys::call(call, [fd as usize, at, len_at, 0, 0, 0]) } == 0 {
            address.len = (len as usize).min(128);
        }
        address
    }

    fn family(&self) -> c_int {
        if self.len < 2 {
            0
        } else {
            c_int::from(u16::from_le_bytes([self.bytes[0], self.bytes[1]]))
        }
    }

    fn port(&self) -> u64 {
        if self.len < 4 { 0 } else { u64::from(u16::from_be_bytes([self.bytes[2], self.bytes[3]])) }
    }

    fn has_name(&self) -> bool {
        self.len > 2
    }

    /// The channel of this kind at this address.
    pub(crate) fn channel(&self, kind: Channel) -> u64 {
        if self.family() != libc::AF_UNIX {
            return kind.number(&[self.port()]);
        }
        // A path ends with a zero, an abstract name begins with one.
        let name = &self.bytes[2..self.len.max(2)];
        let end = name.iter().skip(1).position(|&b| b == 0).map_or(name.len(), |at| at + 1);
        let name = if name.first() == Some(&0) { name } else { &name[..end.min(name.len())] };
        let words: [u64; 17] = std::array::from_fn(|i| {
            name.iter().skip(8 * i).take(8).fold(0, |word, &b| word << 8 | u64::from(b))
        });
        kind.number(&words)
    }
}

/// The channel of an `eventfd`.
fn event(fd: c_int) -> Option<u64> {
    let mut path = *b"/proc/self/fdinfo/\0\0\0\0\0\0\0\0\0\0\0\0";
    let (mut digits, mut n, mut left) = ([0u8; 10], 0, fd.max(0));
    while n == 0 || left > 0 {
        digits[n] = b'0' + (left % 10) as u8;
        (n, left) = (n + 1, left / 10);
    }
    for i in 0..n {
        path[18 + i] = digits[n - 1 - i];
    }
    let text = sys::read_file(&path[..18 + n]);
    let field = |name: &[u8]| {
        let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(name))?;
        Some(line.iter().fold(0u64, |n, &b| n.wrapping_mul(31).wrapping_add(u64::from(b))))
    };
    field(b"eventfd-count:")?;
    Some(Channel::Event.number(&[field(b"eventfd-id:").unwrap_or(0)]))
}
