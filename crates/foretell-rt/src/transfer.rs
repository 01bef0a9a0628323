//! Records of calls that pass data from thread to thread through the kernel.
//!
//! Every such call is one step ([`SyncKind::SystemCall`]), whatever the descriptor is: a program
//! has the same steps when its output goes to a pipe and when it goes to a file. The effect of the
//! call on a channel is in the log where it happened, and that must be right in one direction: data
//! that is received was sent before. A sender holds the baton from the call to the record, so that
//! no thread comes back from a receiving call in between; where the sender has to give the baton
//! away, it records before the call what it is going to send. (In parallel recording it always
//! does.)

use crate::access::range;
use crate::blocking_call;
use crate::calls::ready;
use crate::channels::{self, Address, Way};
use crate::entry::{enter, leave};
use crate::epoll_sets;
use crate::recorder;
use crate::sched::{held_step, step};
use crate::signal;
use crate::sync::put_after_others;
use crate::sys;
use crate::thread::Baton;
use foretell_rt_format::channel::{Channel, looked, received, sent};
use foretell_rt_format::{AccessKind, Kind, MAX_RANGE_DATA, Record, SyncKind};
use std::ffi::c_int;

/// The data that a call passes on.
pub(crate) enum Transfer {
    /// Nothing.
    Nothing,
    /// Bytes go out.
    Out { fd: c_int, bytes: usize },
    /// Bytes go out to an address.
    OutTo { fd: c_int, bytes: usize, address: Address },
    /// A connection is made to an address.
    Connect { address: Address },
    /// At most `bytes` bytes come in.
    In { fd: c_int, bytes: usize },
    /// Data is looked at and stays in the channel (`MSG_PEEK`).
    Peek { fd: c_int },
    /// A connection comes in.
    Accept { fd: c_int },
    /// Descriptors are polled (`poll`).
    Poll { fds: usize, n: usize },
    /// Descriptors are polled (`select`); `asked` is the set as it was before the call.
    Select { n: usize, asked: Option<libc::fd_set>, set: usize },
    /// Descriptors are polled (`epoll_wait`).
    Epoll { fd: c_int, events: usize, n: usize },
    /// A signal comes in; `at` is the address of its number, if the call does not return it.
    SignalIn { at: usize },
    /// A descriptor is closed that no other thread can notice.
    Leave,
    /// Data goes out of one channel into another.
    Through { from: c_int, to: c_int },
    /// Data comes in through a stream of the C library, which may have more in its buffer.
    Stream { file: usize },
    /// A stream is opened.
    Open,
}

impl Transfer {
    /// Returns the transfer of a receiving call with these flags.
    pub(crate) fn incoming(fd: c_int, bytes: usize, flags: c_int) -> Transfer {
        if flags & libc::MSG_PEEK != 0 { Transfer::Peek { fd } } else { Transfer::In { fd, bytes } }
    }

    /// Returns the transfer of a sending call, to the address at `to` if that is not 0.
    pub(crate) fn outgoing(fd: c_int, bytes: usize, to: usize, len: usize) -> Transfer {
        if to == 0 {
            return Transfer::Out { fd, bytes };
        }
        // SAFETY: the program's own address.
        Transfer::OutTo { fd, bytes, address: unsafe { Address::given(to, len) } }
    }

    /// Returns the transfer of `select`, which writes to its set.
    ///
    /// # Safety
    /// `set` is 0, or the address of the program's own set.
    pub(crate) unsafe fn select(n: usize, set: usize) -> Transfer {
        // SAFETY: all zeroes is the empty set.
        let mut asked: libc::fd_set = unsafe { std::mem::zeroed() };
        if set != 0 {
            let bytes = n.min(libc::FD_SETSIZE).div_ceil(64) * 8;
            let to = (&raw mut asked).cast::<u8>();
            // SAFETY: the program's own set has so many words.
            unsafe { std::ptr::copy_nonoverlapping(set as *const u8, to, bytes) };
        }
        Transfer::Select { n, asked: (set != 0).then_some(asked), set }
    }

    /// The channel that data goes out to.
    fn target(&self) -> Option<Option<u64>> {
        Some(match self {
            Transfer::Out { fd, .. } => channels::channel(*fd, Way::Out),
            Transfer::OutTo { fd, address, .. } => match channels::channel(*fd, Way::Out) {
                Some(own) if Channel::of(own) != Some(Channel::Connection) => Some(own),
                _ => Some(address.channel(Channel::Connection)),
            },
            Transfer::Connect { address } => Some(address.channel(Channel::Listener)),
            Transfer::Through { to, .. } => channels::channel(*to, Way::Out),
            _ => return None,
        })
    }

    /// Whether the call waits until a thread makes room for the data.
    fn waits_for_room(&self) -> bool {
        match *self {
            Transfer::Out { fd, .. } | Transfer::OutTo { fd, .. } => !ready(fd, libc::POLLOUT),
            _ => false,
        }
    }

    fn bytes(&self) -> usize {
        match *self {
            Transfer::Out { bytes, .. } | Transfer::OutTo { bytes, .. } => bytes,
            _ => 0,
        }
    }
}

fn put(t: Baton, kind: SyncKind, pc: usize, object: u64, other: u64) {
    recorder::put(t, &Record::Sync { kind, pc: pc as u64, object, other });
}

/// Counts and records the step that every such call is.
pub(crate) fn call_step(t: Baton, pc: usize) {
    step(t, Kind::SystemCall, pc);
    put(t, SyncKind::SystemCall, pc, 0, 0);
}

/// Records that data was sent through a channel, or is about to be.
pub(crate) fn sends(t: Baton, pc: usize, channel: u64, bytes: usize) {
    put(t, SyncKind::Sent, pc, channel, bytes as u64);
}

/// Records that data may go out through a channel from now on, whose bytes are not counted.
pub(crate) fn sends_uncounted(t: Baton, pc: usize, channel: u64) {
    put(t, SyncKind::Unsure, pc, channel, 0);
    put(t, SyncKind::Sent, pc, channel, 0);
}

/// Records that a thread has seen all that was sent through a channel, and that nothing more was
/// there.
pub(crate) fn observe(t: Baton, pc: usize, channel: u64) {
    put(t, SyncKind::Unsure, pc, channel, 0);
    put(t, SyncKind::Looked, pc, channel, looked::NEW);
    put(t, SyncKind::Looked, pc, channel, looked::NOTHING);
}

/// The effect of a call on the program's memory.
pub(crate) struct Effect {
    pub(crate) t: Baton,
    pub(crate) pc: usize,
    /// The moment at which its ranges are recorded.
    when: When,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the call: the content is not read (the kernel may refuse the address).
    Before,
    /// After the call, and no other thread may run before the next record.
    Held,
    After,
}

impl Effect {
    pub(crate) fn writes(&self, addr: usize, n: usize) {
        self.range(AccessKind::Write, addr, n)
    }

    pub(crate) fn reads(&self, addr: usize, n: usize) {
        self.range(AccessKind::Read, addr, n)
    }

    /// Records a line that was read, and the addresses of its buffer and of the buffer's size.
    ///
    /// # Safety
    /// The addresses are those of a call of `getline`.
    pub(crate) unsafe fn line(&self, line: usize, room: usize, n: usize) {
        self.writes(line, 8);
        self.writes(room, 8);
        // SAFETY: promised by the caller.
        self.writes(unsafe { *(line as *const usize) }, n + 1);
    }

    /// Records the first `total` bytes of the parts.
    pub(crate) fn of_parts(&self, kind: AccessKind, parts: &[libc::iovec], mut total: usize) {
        for part in parts {
            let n = part.iov_len.min(total);
            total -= n;
            self.range(kind, part.iov_base as usize, n);
        }
    }

    fn range(&self, kind: AccessKind, addr: usize, len: usize) {
        let Effect { t, pc, when } = *self;
        if when == When::After || len == 0 {
            // SAFETY: the call has used the range.
            return unsafe { range(t, kind, addr, len, pc, None) };
        }
        let step_kind = if kind == AccessKind::Read { Kind::ReadRange } else { Kind::WriteRange };
        let known = if when == When::Held && len <= MAX_RANGE_DATA { len } else { 0 };
        if when == When::Held {
            held_step(t, step_kind, pc)
        } else {
            step(t, step_kind, pc)
        };
        crate::elision::access(t, addr, len, kind == AccessKind::Write);
        // SAFETY: what the call has used can be read.
        let data = unsafe { std::slice::from_raw_parts(addr as *const u8, known) };
        let (pc, addr, len) = (pc as u64, addr as u64, len as u64);
        recorder::put(t, &Record::Range { kind, pc, addr, len, data });
    }
}

/// One call, and how it is made.
pub(crate) struct Call<'a> {
    pub(crate) t: Baton,
    pub(crate) name: &'static str,
    pub(crate) pc: usize,
    pub(crate) transfer: Transfer,
    /// Whether the call will not block.
    pub(crate) at_once: &'a dyn Fn() -> bool,
    pub(crate) real: &'a dyn Fn() -> isize,
    /// The effect on memory when the call returns more than zero.
    pub(crate) effect: &'a dyn Fn(&Effect, usize),
}

impl Call<'_> {
    /// Makes the call and records what it did. `errno` is the call's own.
    pub(crate) fn perform(self) -> isize {
        match self.transfer {
            Transfer::Nothing => self.no_transfer(),
            Transfer::Stream { file } => self.stream(file),
            Transfer::Open => self.make_outside(),
            Transfer::Out { .. }
            | Transfer::OutTo { .. }
            | Transfer::Connect { .. }
            | Transfer::Through { .. } => self.send(),
            _ => self.receive(),
        }
    }

    /// Returns the result of a call that passes data on. The upper half of the register is
    /// undefined for an `int`; Linux passes on less than 2³¹ bytes at a time, so the lower half is
    /// enough.
    fn result(r: isize) -> isize {
        r as i32 as isize
    }

    fn make(&self) -> isize {
        if (self.at_once)() {
            (self.real)()
        } else {
            blocking_call::call(self.t, self.name, self.pc, self.real)
        }
    }

    /// Makes a call in which the library may allocate memory: outside of the runtime, if the call
    /// does not block, so that the memory is recorded.
    fn make_outside(&self) -> isize {
        if !(self.at_once)() {
            return blocking_call::call(self.t, self.name, self.pc, self.real);
        }
        leave(self.t);
        let r = (self.real)();
        // The thread keeps the baton, and is recorded as before.
        let _ = enter();
        r
    }

    fn affect(&self, when: When, n: isize) {
        if n > 0 {
            let errno = sys::errno();
            (self.effect)(&Effect { t: self.t, pc: self.pc, when }, n as usize);
            sys::set_errno(errno);
        }
    }

    fn no_transfer(&self) -> isize {
        let r = self.make();
        self.affect(When::After, r);
        r
    }

    /// Makes a call that reads from a stream, and records what the thread has seen of the stream's
    /// channel. A reader of a pipe or a socket that got what it asked for does not depend on what
    /// comes later; a file may be written anywhere.
    fn stream(&self, file: usize) -> isize {
        let (t, pc) = (self.t, self.pc);
        if !t.parallel() {
            call_step(t, pc);
        }
        let r = self.make_outside();
        let errno = sys::errno();
        if t.parallel() {
            call_step(t, pc);
        }
        // SAFETY: the program's own stream.
        let (fd, ended) = unsafe {
            let file = file as *mut libc::FILE;
            (libc::fileno(file), libc::feof(file) != 0 || libc::ferror(file) != 0)
        };
        if fd >= 0
            && let Some(channel) = channels::channel(fd, Way::In)
        {
            if ended || Channel::of(channel) == Some(Channel::File) {
                observe(t, pc, channel);
            } else {
                put(t, SyncKind::Unsure, pc, channel, 0);
                put(t, SyncKind::Looked, pc, channel, looked::NEW);
            }
        }
        sys::set_errno(errno);
        self.affect(When::After, r);
        r
    }

    fn send(&self) -> isize {
        let (t, pc) = (self.t, self.pc);
        call_step(t, pc);
        let target = self.transfer.target().flatten();
        let say = |kind, other| {
            if let Some(channel) = target {
                put(t, kind, pc, channel, other);
            }
        };
        if t.parallel() || !(self.at_once)() {
            let bytes = self.transfer.bytes();
            if !t.parallel() {
                self.affect(When::Before, bytes as isize);
            }
            let waits = self.transfer.waits_for_room();
            say(SyncKind::Sent, bytes as u64 | sent::WAITED);
            let r = Self::result(blocking_call::call(t, self.name, pc, self.real));
            if r != bytes as isize {
                say(SyncKind::Unsure, 0);
            }
            if waits {
                put_after_others(t);
            }
            if t.parallel() {
                self.affect(When::After, r);
            }
            self.passed_through(r);
            return r;
        }
        let r = Self::result((self.real)());
        self.affect(When::Held, r);
        if r >= 0 {
            say(SyncKind::Sent, r as u64);
        }
        self.passed_through(r);
        r
    }

    /// Records the data that came in before it went out.
    fn passed_through(&self, r: isize) {
        if let Transfer::Through { from, .. } = self.transfer
            && r >= 0
            && let Some(channel) = channels::channel(from, Way::In)
        {
            put(self.t, SyncKind::Received, self.pc, channel, r as u64);
        }
    }

    fn receive(&self) -> isize {
        let parallel = self.t.parallel();
        if !parallel {
            call_step(self.t, self.pc);
        }
        let r = Self::result(self.make());
        let errno = sys::errno();
        if parallel {
            call_step(self.t, self.pc);
        }
        self.observed(r, errno);
        sys::set_errno(errno);
        self.affect(When::After, r);
        r
    }

    /// Records what a receiving call has seen.
    fn observed(&self, r: isize, errno: c_int) {
        let say = |kind, channel: Option<u64>, other| {
            if let Some(channel) = channel {
                put(self.t, kind, self.pc, channel, other);
            }
        };
        match self.transfer {
            Transfer::In { fd, .. } | Transfer::Peek { fd } if r < 0 && errno == libc::EAGAIN => {
                say(SyncKind::Looked, channels::own_channel(fd), looked::NOTHING);
            }
            Transfer::In { .. } | Transfer::Peek { .. } if r < 0 => {}
            Transfer::In { fd, bytes } => {
                let short = if (r as usize) < bytes { received::SHORT } else { 0 };
                let channel = channels::channel(fd, Way::In);
                let mapped = channel.is_some_and(channels::is_mapped);
                let mapped = if mapped { received::MAPPED } else { 0 };
                say(SyncKind::Received, channel, r as u64 | short | mapped);
            }
            Transfer::Peek { fd } => {
                say(SyncKind::Looked, channels::channel(fd, Way::In), looked::SOMETHING);
            }
            Transfer::Accept { fd } if r >= 0 => {
                say(SyncKind::Received, channels::channel(fd, Way::In), 0);
            }
            // SAFETY: the program's own lists and sets.
            Transfer::Poll { fds, n } if r >= 0 && n > 0 => unsafe {
                for p in std::slice::from_raw_parts(fds as *const libc::pollfd, n) {
                    let asked = p.events & (libc::POLLIN | libc::POLLRDNORM) != 0;
                    let ready =
                        p.revents & !(libc::POLLOUT | libc::POLLWRNORM | libc::POLLNVAL) != 0;
                    self.looked_at(p.fd, asked, ready);
                }
            },
            // SAFETY: as above.
            Transfer::Select { n, asked: Some(ref asked), set } if r >= 0 => unsafe {
                for fd in 0..n.min(libc::FD_SETSIZE) as c_int {
                    if libc::FD_ISSET(fd, asked) {
                        self.looked_at(fd, true, libc::FD_ISSET(fd, set as *const libc::fd_set));
                    }
                }
            },
            // SAFETY: the call has written so many events.
            Transfer::Epoll { fd, events, n } if r >= 0 => unsafe {
                let events = events as *const libc::epoll_event;
                let events: Vec<_> =
                    (0..r as usize).map(|i| events.add(i).read_unaligned()).collect();
                for (channel, what) in epoll_sets::seen(fd, &events, events.len() < n) {
                    say(SyncKind::Looked, Some(channel), what);
                }
            },
            // SAFETY: the call has written the number.
            Transfer::SignalIn { at } => unsafe {
                let n = if at == 0 { r as c_int } else { *(at as *const c_int) };
                if (at != 0 && r == 0) || (at == 0 && r > 0) {
                    signal::put_received(self.t, n);
                }
            },
            _ => {}
        }
    }

    /// Records that one of several descriptors was polled.
    fn looked_at(&self, fd: c_int, asked: bool, ready: bool) {
        let (channel, what) = if ready {
            (channels::channel(fd, Way::In), looked::SOMETHING)
        } else if asked {
            (channels::own_channel(fd), looked::NOTHING)
        } else {
            return;
        };
        if let Some(channel) = channel {
            put(self.t, SyncKind::Looked, self.pc, channel, what);
        }
    }
}
