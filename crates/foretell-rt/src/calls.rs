//! System calls that may block.
//!
//! A call that would not block right now (the descriptor is ready) is made with the baton: most
//! programs write their output in this way, and the order stays the seed's. A call that may block
//! is made without the baton. The memory that a call reads or writes is recorded after it, and so
//! is the data that it passes on to other threads through the kernel (see `transfer`).

use crate::call_effects::is_stream_buffer;
use crate::channels::{self, Address};
use crate::entry::{checked, enter, entries, entries7, leave, plain_entries};
use crate::epoll_sets;
use crate::real::real;
use crate::sys;
use crate::transfer::{self, Call, Transfer};
use foretell_rt_format::AccessKind;
use libc::{POLLIN, POLLOUT};
use std::ffi::c_int;

const fn int(x: usize) -> c_int {
    x as c_int
}

/// Whether a descriptor is ready for these events, so that a call will not block.
pub(crate) fn ready(fd: c_int, events: i16) -> bool {
    let mut p = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: one descriptor, no waiting.
    unsafe { sys::call(libc::SYS_poll, [&raw mut p as usize, 1, 0, 0, 0, 0]) != 0 }
}

/// Whether one of several descriptors is ready.
unsafe fn ready_any(fds: usize, n: usize) -> bool {
    // SAFETY: the program's own list.
    unsafe { sys::call(libc::SYS_poll, [fds, n, 0, 0, 0, 0]) != 0 }
}

/// The type of the file at a path, or (without one) of a descriptor; 0 when there is none.
fn file_type(fd: c_int, path: usize) -> libc::mode_t {
    // SAFETY: the kernel refuses a bad path; all zeroes is a valid status.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        let (path, flags) =
            if path == 0 { (c"".as_ptr() as usize, libc::AT_EMPTY_PATH) } else { (path, 0) };
        let out = &raw mut status as usize;
        let r = sys::call(
            libc::SYS_newfstatat,
            [fd as isize as usize, path, out, flags as usize, 0, 0],
        );
        if r == 0 { status.st_mode & libc::S_IFMT } else { 0 }
    }
}

/// Whether reading a descriptor never blocks: files and the like.
pub(crate) fn settled(fd: c_int) -> bool {
    !matches!(file_type(fd, 0), libc::S_IFIFO | libc::S_IFSOCK | libc::S_IFCHR)
}

/// Whether `n` bytes can be written without blocking. A pipe or a socket that is ready may have
/// room for a part only.
fn room_for(fd: c_int, n: usize) -> bool {
    ready(fd, POLLOUT)
        && (n <= libc::PIPE_BUF || !matches!(file_type(fd, 0), libc::S_IFIFO | libc::S_IFSOCK))
}

/// Whether `open` cannot block on a peer (FIFO).
fn opens_at_once(directory: c_int, path: usize, flags: usize) -> bool {
    int(flags) & libc::O_NONBLOCK != 0 || file_type(directory, path) != libc::S_IFIFO
}

/// Whether a message can be received without blocking.
fn arrived(fd: usize, flags: usize) -> bool {
    int(flags) & libc::MSG_WAITALL == 0 && ready(int(fd), POLLIN)
}

/// Returns the transfer of a close: the reader at the other end learns that no more data comes.
fn leaves(fd: c_int) -> Transfer {
    // SAFETY: asks for flags.
    let flags =
        unsafe { sys::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) };
    let writes = flags >= 0 && flags as c_int & libc::O_ACCMODE != libc::O_RDONLY;
    if writes && matches!(file_type(fd, 0), libc::S_IFIFO | libc::S_IFSOCK) {
        Transfer::Out { fd, bytes: 0 }
    } else {
        Transfer::Leave
    }
}

unsafe fn parts<'a>(iov: usize, n: usize) -> &'a [libc::iovec] {
    // SAFETY: the program's own list; a bad one the kernel refuses.
    unsafe { std::slice::from_raw_parts(iov as *const libc::iovec, n.min(1024)) }
}

unsafe fn total(iov: usize, n: usize) -> usize {
    // SAFETY: as above.
    unsafe { parts(iov, n).iter().map(|v| v.iov_len).sum() }
}

unsafe fn message<'a>(msg: usize) -> &'a libc::msghdr {
    // SAFETY: the program's own message.
    unsafe { &*(msg as *const libc::msghdr) }
}

unsafe fn file_fd(file: usize) -> c_int {
    // SAFETY: the program's own stream.
    unsafe { libc::fileno(file as *mut libc::FILE) }
}

unsafe extern "C" {
    static stdin: *mut libc::FILE;
}

/// `blocking! { implementation = function(arguments) if ready, via transfer, then effect; }`
///
/// Functions that may block. The effect on memory is recorded when they return more than zero.
macro_rules! blocking {
    ($($imp:ident = $name:ident ( $($arg:ident),* ) if $at_once:expr
       $(, via $transfer:expr)? $(, then |$e:ident, $n:ident| $effect:expr)?;)*) => {$(
        // Some of the expressions read the program's memory.
        #[allow(unused_unsafe)]
        unsafe extern "C-unwind" fn $imp($($arg: usize,)* pc: usize) -> isize {
            // SAFETY: as the program's own call. Results of `int` are extended by the caller.
            unsafe {
                let real = || real!($name($($arg: usize),*) -> isize);
                let Some(t) = enter() else { return real() };
                if is_stream_buffer(t, pc) {
                    // The output of the stream is recorded, and does not wait.
                    let r = real();
                    leave(t);
                    return r;
                }
                let transfer = [$($transfer)?].into_iter().next().unwrap_or(Transfer::Nothing);
                let at_once = || $at_once;
                let effect = |_e: &transfer::Effect, _n: usize| {
                    $(let ($e, $n) = (_e, _n); $effect)?
                };
                let call = Call {
                    t, name: stringify!($name), pc, transfer,
                    at_once: &at_once, real: &real, effect: &effect,
                };
                let r = call.perform();
                leave(t);
                r
            }
        }
    )*};
}

use AccessKind::{Read, Write};

blocking! {
    read_fn = read(fd, buf, n) if ready(int(fd), POLLIN),
        via Transfer::In { fd: int(fd), bytes: n }, then |e, r| e.writes(buf, r);
    recv_fn = recv(fd, buf, n, flags) if arrived(fd, flags),
        via Transfer::incoming(int(fd), n, int(flags)), then |e, r| e.writes(buf, r);
    recvfrom_fn = recvfrom(fd, buf, n, flags, from, len) if arrived(fd, flags),
        via Transfer::incoming(int(fd), n, int(flags)),
        then |e, r| e.writes(buf, r);
    pread_fn = pread(fd, buf, n, at) if ready(int(fd), POLLIN),
        via Transfer::In { fd: int(fd), bytes: n }, then |e, r| e.writes(buf, r);
    pread64_fn = pread64(fd, buf, n, at) if ready(int(fd), POLLIN),
        via Transfer::In { fd: int(fd), bytes: n }, then |e, r| e.writes(buf, r);
    readv_fn = readv(fd, iov, n) if ready(int(fd), POLLIN),
        via Transfer::In { fd: int(fd), bytes: total(iov, n) },
        then |e, r| e.of_parts(Write, parts(iov, n), r);
    preadv_fn = preadv(fd, iov, n, at) if ready(int(fd), POLLIN),
        via Transfer::In { fd: int(fd), bytes: total(iov, n) },
        then |e, r| e.of_parts(Write, parts(iov, n), r);
    preadv64_fn = preadv64(fd, iov, n, at) if ready(int(fd), POLLIN),
        via Transfer::In { fd: int(fd), bytes: total(iov, n) },
        then |e, r| e.of_parts(Write, parts(iov, n), r);
    recvmsg_fn = recvmsg(fd, msg, flags) if arrived(fd, flags),
        via Transfer::incoming(int(fd), usize::MAX, int(flags)),
        then |e, r| e.of_parts(Write, parts(message(msg).msg_iov as usize,
            message(msg).msg_iovlen), r);
    recvmmsg_fn = recvmmsg(fd, msgs, n, flags, timeout) if false,
        via Transfer::incoming(int(fd), usize::MAX, int(flags));
    write_fn = write(fd, buf, n) if room_for(int(fd), n),
        via Transfer::Out { fd: int(fd), bytes: n }, then |e, r| e.reads(buf, r);
    send_fn = send(fd, buf, n, flags) if room_for(int(fd), n),
        via Transfer::Out { fd: int(fd), bytes: n }, then |e, r| e.reads(buf, r);
    sendto_fn = sendto(fd, buf, n, flags, to, len) if room_for(int(fd), n),
        via Transfer::outgoing(int(fd), n, to, len),
        then |e, r| e.reads(buf, r);
    pwrite_fn = pwrite(fd, buf, n, at) if room_for(int(fd), n),
        via Transfer::Out { fd: int(fd), bytes: n }, then |e, r| e.reads(buf, r);
    pwrite64_fn = pwrite64(fd, buf, n, at) if room_for(int(fd), n),
        via Transfer::Out { fd: int(fd), bytes: n }, then |e, r| e.reads(buf, r);
    writev_fn = writev(fd, iov, n) if room_for(int(fd), total(iov, n)),
        via Transfer::Out { fd: int(fd), bytes: total(iov, n) },
        then |e, r| e.of_parts(Read, parts(iov, n), r);
    pwritev_fn = pwritev(fd, iov, n, at) if room_for(int(fd), total(iov, n)),
        via Transfer::Out { fd: int(fd), bytes: total(iov, n) },
        then |e, r| e.of_parts(Read, parts(iov, n), r);
    pwritev64_fn = pwritev64(fd, iov, n, at) if room_for(int(fd), total(iov, n)),
        via Transfer::Out { fd: int(fd), bytes: total(iov, n) },
        then |e, r| e.of_parts(Read, parts(iov, n), r);
    sendmsg_fn = sendmsg(fd, msg, flags)
        if room_for(int(fd), total(message(msg).msg_iov as usize, message(msg).msg_iovlen)),
        via Transfer::outgoing(int(fd),
            total(message(msg).msg_iov as usize, message(msg).msg_iovlen),
            message(msg).msg_name as usize, message(msg).msg_namelen as usize),
        then |e, r| e.of_parts(Read, parts(message(msg).msg_iov as usize,
            message(msg).msg_iovlen), r);
    sendmmsg_fn = sendmmsg(fd, msgs, n, flags) if false,
        via Transfer::Out { fd: int(fd), bytes: 0 };
    sendfile_fn = sendfile(out, from, at, n) if room_for(int(out), n),
        via Transfer::Through { from: int(from), to: int(out) };
    sendfile64_fn = sendfile64(out, from, at, n) if room_for(int(out), n),
        via Transfer::Through { from: int(from), to: int(out) };
    splice_fn = splice(from, from_at, to, to_at, n, flags) if false,
        via Transfer::Through { from: int(from), to: int(to) };
    accept_fn = accept(fd, addr, len) if ready(int(fd), POLLIN),
        via Transfer::Accept { fd: int(fd) };
    accept4_fn = accept4(fd, addr, len, flags) if ready(int(fd), POLLIN),
        via Transfer::Accept { fd: int(fd) };
    connect_fn = connect(fd, addr, len) if false,
        via Transfer::Connect { address: Address::given(addr, len) };
    open_fn = open(path, flags, mode) if opens_at_once(libc::AT_FDCWD, path, flags);
    open64_fn = open64(path, flags, mode) if opens_at_once(libc::AT_FDCWD, path, flags);
    openat_fn = openat(dir, path, flags, mode) if opens_at_once(int(dir), path, flags);
    openat64_fn = openat64(dir, path, flags, mode) if opens_at_once(int(dir), path, flags);
    fopen_fn = fopen(path, mode) if opens_at_once(libc::AT_FDCWD, path, 0), via Transfer::Open;
    fopen64_fn = fopen64(path, mode) if opens_at_once(libc::AT_FDCWD, path, 0),
        via Transfer::Open;
    poll_fn = poll(fds, n, timeout) if int(timeout) == 0 || ready_any(fds, n),
        via Transfer::Poll { fds, n };
    ppoll_fn = ppoll(fds, n, timeout, mask) if mask == 0 && ready_any(fds, n),
        via Transfer::Poll { fds, n };
    select_fn = select(n, r, w, e, timeout) if false,
        via Transfer::select(n, r);
    pselect_fn = pselect(n, r, w, e, timeout, mask) if false,
        via Transfer::select(n, r);
    epoll_wait_fn = epoll_wait(fd, events, n, timeout) if int(timeout) == 0
        || ready(int(fd), POLLIN),
        via Transfer::Epoll { fd: int(fd), events, n };
    epoll_pwait_fn = epoll_pwait(fd, events, n, timeout, mask) if int(timeout) == 0,
        via Transfer::Epoll { fd: int(fd), events, n };
    epoll_pwait2_fn = epoll_pwait2(fd, events, n, timeout, mask) if false,
        via Transfer::Epoll { fd: int(fd), events, n };
    wait_fn = wait(status) if false;
    waitpid_fn = waitpid(pid, status, options) if int(options) & libc::WNOHANG != 0;
    wait3_fn = wait3(status, options, usage) if int(options) & libc::WNOHANG != 0;
    wait4_fn = wait4(pid, status, options, usage) if int(options) & libc::WNOHANG != 0;
    waitid_fn = waitid(kind, id, info, options) if int(options) & libc::WNOHANG != 0;
    pause_fn = pause() if false;
    sigwait_fn = sigwait(set, sig) if false,
        via Transfer::SignalIn { at: sig };
    sigsuspend_fn = sigsuspend(set) if false;
    sigwaitinfo_fn = sigwaitinfo(set, info) if false,
        via Transfer::SignalIn { at: 0 };
    sigtimedwait_fn = sigtimedwait(set, info, timeout) if false,
        via Transfer::SignalIn { at: 0 };
    system_fn = system(command) if false;
    pclose_fn = pclose(file) if false;
    flock_fn = flock(fd, op) if int(op) & libc::LOCK_NB != 0;
    lockf_fn = lockf(fd, op, len) if int(op) != libc::F_LOCK;
    fcntl_fn = fcntl(fd, op, arg) if !matches!(int(op), libc::F_SETLKW | libc::F_OFD_SETLKW);
    fcntl64_fn = fcntl64(fd, op, arg) if !matches!(int(op), libc::F_SETLKW | libc::F_OFD_SETLKW);
    semop_fn = semop(id, ops, n) if false;
    semtimedop_fn = semtimedop(id, ops, n, timeout) if false;
    msgrcv_fn = msgrcv(id, msg, n, kind, flags) if int(flags) & libc::IPC_NOWAIT != 0;
    msgsnd_fn = msgsnd(id, msg, n, flags) if int(flags) & libc::IPC_NOWAIT != 0;
    mq_receive_fn = mq_receive(q, msg, n, prio) if ready(int(q), POLLIN),
        via Transfer::In { fd: int(q), bytes: n },
        then |e, r| e.writes(msg, r);
    mq_send_fn = mq_send(q, msg, n, prio) if ready(int(q), POLLOUT),
        via Transfer::Out { fd: int(q), bytes: n };
    mq_timedreceive_fn = mq_timedreceive(q, msg, n, prio, at) if ready(int(q), POLLIN),
        via Transfer::In { fd: int(q), bytes: n },
        then |e, r| e.writes(msg, r);
    mq_timedsend_fn = mq_timedsend(q, msg, n, prio, at) if ready(int(q), POLLOUT),
        via Transfer::Out { fd: int(q), bytes: n };
    getaddrinfo_fn = getaddrinfo(node, service, hints, out) if false;
    tcdrain_fn = tcdrain(fd) if false;
    fsync_fn = fsync(fd) if true;
    fdatasync_fn = fdatasync(fd) if true;
    eventfd_write_fn = eventfd_write(fd, value) if ready(int(fd), POLLOUT),
        via Transfer::Out { fd: int(fd), bytes: 0 };
    shutdown_fn = shutdown(fd, how) if true, via Transfer::Out { fd: int(fd), bytes: 0 };
    close_fn = close(fd) if { epoll_sets::forget(int(fd)); true }, via leaves(int(fd));
    fgets_fn = fgets(buf, n, file) if settled(file_fd(file)), via Transfer::Stream { file },
        then |e, r| e.writes(r, crate::strings::whole(r, n));
    fgetc_fn = fgetc(file) if settled(file_fd(file)), via Transfer::Stream { file };
    getc_fn = getc(file) if settled(file_fd(file)), via Transfer::Stream { file };
    getchar_fn = getchar() if settled(0), via Transfer::Stream { file: stdin as usize };
    fread_fn = fread(buf, size, n, file) if settled(file_fd(file)), via Transfer::Stream { file },
        then |e, r| e.writes(buf, r.saturating_mul(size));
    getline_fn = getline(line, n, file) if settled(file_fd(file)), via Transfer::Stream { file },
        then |e, r| e.line(line, n, r);
    getdelim_fn = getdelim(line, n, delim, file) if settled(file_fd(file)), via Transfer::Stream { file },
        then |e, r| e.line(line, n, r);
}

// The functions that the compiler calls instead when it checks the sizes of buffers.
checked! {
    read_chk = __read_chk(fd, buf, n, room; pc) if n <= room => read_fn(fd, buf, n, pc);
    pread_chk = __pread_chk(fd, buf, n, at, room; pc) if n <= room => pread_fn(fd, buf, n, at, pc);
    pread64_chk = __pread64_chk(fd, buf, n, at, room; pc) if n <= room
        => pread64_fn(fd, buf, n, at, pc);
    recv_chk = __recv_chk(fd, buf, n, room, flags; pc) if n <= room
        => recv_fn(fd, buf, n, flags, pc);
    recvfrom_chk = __recvfrom_chk(fd, buf, n, room, flags, from, len; pc) if n <= room
        => recvfrom_fn(fd, buf, n, flags, from, len, pc);
    fgets_chk = __fgets_chk(buf, room, n, file; pc) if n <= room => fgets_fn(buf, n, file, pc);
    fread_chk = __fread_chk(buf, room, size, n, file; pc) if size.saturating_mul(n) <= room
        => fread_fn(buf, size, n, file, pc);
    poll_chk = __poll_chk(fds, n, timeout, room; pc) if n.saturating_mul(8) <= room
        => poll_fn(fds, n, timeout, pc);
    ppoll_chk = __ppoll_chk(fds, n, timeout, mask, room; pc) if n.saturating_mul(8) <= room
        => ppoll_fn(fds, n, timeout, mask, pc);
}

/// Functions whose work the C library does; the runtime notes the result.
unsafe extern "C-unwind" fn eventfd_read_fn(fd: usize, value: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe { if read_fn(fd, value, 8, pc) == 8 { 0 } else { -1 } }
}

/// Notes the peers of sockets that are made in pairs.
unsafe extern "C-unwind" fn socketpair_fn(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    pair: *mut c_int,
) -> c_int {
    // SAFETY: as the program's own call, which has written both descriptors if it succeeds.
    unsafe {
        let r = real!(socketpair(domain: c_int, kind: c_int, protocol: c_int, pair: *mut c_int) -> c_int);
        if r == 0 && crate::tls::current().is_some() {
            channels::pair(*pair, *pair.add(1));
        }
        r
    }
}

unsafe extern "C-unwind" fn epoll_ctl_fn(
    epoll: c_int,
    op: c_int,
    fd: c_int,
    event: *mut libc::epoll_event,
) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let r = real!(epoll_ctl(epoll: c_int, op: c_int, fd: c_int, event: *mut libc::epoll_event)
            -> c_int);
        if r == 0 && crate::tls::current().is_some() {
            let event = (!event.is_null()).then(|| event.read_unaligned());
            epoll_sets::change(epoll, op, fd, event);
        }
        r
    }
}

entries! {
    eventfd_read => eventfd_read_fn, "rdx";
    eventfd_write => eventfd_write_fn, "rdx";
    shutdown => shutdown_fn, "rdx";
    close => close_fn, "rsi";
    read => read_fn, "rcx";
    recv => recv_fn, "r8";
    pread => pread_fn, "r8";
    pread64 => pread64_fn, "r8";
    readv => readv_fn, "rcx";
    preadv => preadv_fn, "r8";
    preadv64 => preadv64_fn, "r8";
    recvmsg => recvmsg_fn, "rcx";
    recvmmsg => recvmmsg_fn, "r9";
    write => write_fn, "rcx";
    send => send_fn, "r8";
    pwrite => pwrite_fn, "r8";
    pwrite64 => pwrite64_fn, "r8";
    writev => writev_fn, "rcx";
    pwritev => pwritev_fn, "r8";
    pwritev64 => pwritev64_fn, "r8";
    sendmsg => sendmsg_fn, "rcx";
    sendmmsg => sendmmsg_fn, "r8";
    sendfile => sendfile_fn, "r8";
    sendfile64 => sendfile64_fn, "r8";
    accept => accept_fn, "rcx";
    accept4 => accept4_fn, "r8";
    connect => connect_fn, "rcx";
    open => open_fn, "rcx";
    open64 => open64_fn, "rcx";
    openat => openat_fn, "r8";
    openat64 => openat64_fn, "r8";
    fopen => fopen_fn, "rdx";
    fopen64 => fopen64_fn, "rdx";
    poll => poll_fn, "rcx";
    ppoll => ppoll_fn, "r8";
    select => select_fn, "r9";
    epoll_wait => epoll_wait_fn, "r8";
    epoll_pwait => epoll_pwait_fn, "r9";
    epoll_pwait2 => epoll_pwait2_fn, "r9";
    wait => wait_fn, "rsi";
    waitpid => waitpid_fn, "rcx";
    wait3 => wait3_fn, "rcx";
    wait4 => wait4_fn, "r8";
    waitid => waitid_fn, "r8";
    pause => pause_fn, "rdi";
    sigwait => sigwait_fn, "rdx";
    sigsuspend => sigsuspend_fn, "rsi";
    sigwaitinfo => sigwaitinfo_fn, "rdx";
    sigtimedwait => sigtimedwait_fn, "rcx";
    system => system_fn, "rsi";
    pclose => pclose_fn, "rsi";
    flock => flock_fn, "rdx";
    lockf => lockf_fn, "rcx";
    fcntl => fcntl_fn, "rcx";
    fcntl64 => fcntl64_fn, "rcx";
    semop => semop_fn, "rcx";
    semtimedop => semtimedop_fn, "r8";
    msgrcv => msgrcv_fn, "r9";
    msgsnd => msgsnd_fn, "r8";
    mq_receive => mq_receive_fn, "r8";
    mq_send => mq_send_fn, "r8";
    mq_timedreceive => mq_timedreceive_fn, "r9";
    mq_timedsend => mq_timedsend_fn, "r9";
    getaddrinfo => getaddrinfo_fn, "r8";
    tcdrain => tcdrain_fn, "rsi";
    fsync => fsync_fn, "rsi";
    fdatasync => fdatasync_fn, "rsi";
    fgets => fgets_fn, "rcx";
    fgetc => fgetc_fn, "rsi";
    getc => getc_fn, "rsi";
    getchar => getchar_fn, "rdi";
    fread => fread_fn, "r8";
    getline => getline_fn, "rcx";
    getdelim => getdelim_fn, "r8";
    __read_chk => read_chk, "r8";
    __pread_chk => pread_chk, "r9";
    __pread64_chk => pread64_chk, "r9";
    __recv_chk => recv_chk, "r9";
    __fgets_chk => fgets_chk, "r8";
    __fread_chk => fread_chk, "r9";
    __poll_chk => poll_chk, "r8";
    __ppoll_chk => ppoll_chk, "r9";
}

entries7! {
    recvfrom => recvfrom_fn;
    sendto => sendto_fn;
    pselect => pselect_fn;
    splice => splice_fn;
}

/// A function with seven arguments, without a code location.
unsafe extern "C-unwind" fn recvfrom_chk_plain(
    fd: usize,
    buf: usize,
    n: usize,
    room: usize,
    flags: usize,
    from: usize,
    len: usize,
) -> isize {
    recvfrom_chk(fd, buf, n, room, flags, from, len, 0)
}

plain_entries! {
    __recvfrom_chk => recvfrom_chk_plain;
    socketpair => socketpair_fn;
    epoll_ctl => epoll_ctl_fn;
}
