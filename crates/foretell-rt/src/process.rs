//! The process as a whole: fork, exec, exit, loading of libraries, mappings.

use crate::channels;
use crate::entry::{enter, entries, entries7, leave, plain_entries};
use crate::forks;
use crate::init;
use crate::log;
use crate::memory::put_alloc;
use crate::modules;
use crate::real::{find, real};
use crate::recorder;
use foretell_rt_format::{EndHow, Record};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::AtomicPtr;

/// Forks; `raw`: without the handlers that are to run.
fn forked(raw: bool, f: &dyn Fn() -> c_int) -> c_int {
    let Some(t) = enter() else { return f() };
    let pid = f();
    if pid == 0 {
        if raw {
            forks::in_raw_child();
        }
        return 0;
    }
    if raw {
        forks::in_raw_parent();
    }
    if pid > 0 {
        crate::unexplored::PROCESS.take();
        recorder::put(t, &Record::Forked { pid: pid as u32 });
    }
    leave(t);
    pid
}

/// `fork` and `vfork`: the real `vfork` lends the child the parent's stack, which no function that
/// returns can do.
extern "C-unwind" fn fork_fn() -> c_int {
    forked(false, &|| real!(fork() -> c_int))
}

extern "C-unwind" fn raw_fork_fn() -> c_int {
    forked(true, &|| real!(_Fork() -> c_int))
}

/// Records that the program replaces itself; the log ends here unless that fails.
fn replaces(path: *const c_char) {
    if let Some(t) = enter() {
        // SAFETY: the program's own path.
        let path = unsafe { (!path.is_null()).then(|| CStr::from_ptr(path).to_bytes()) };
        recorder::put(t, &Record::Exec { path: path.unwrap_or_default() });
        leave(t);
    }
}

macro_rules! exec_fns {
    ($($imp:ident = $name:ident ( $($more:ident),* );)*) => {$(
        extern "C-unwind" fn $imp(path: *const c_char, $($more: usize),*) -> c_int {
                replaces(path);
                real!($name(path: *const c_char, $($more: usize),*) -> c_int)
        }
    )*};
}
exec_fns! {
    execv_fn = execv(argv);
    execvp_fn = execvp(argv);
    execve_fn = execve(argv, env);
    execvpe_fn = execvpe(argv, env);
}

extern "C-unwind" fn fexecve_fn(fd: c_int, argv: usize, env: usize) -> c_int {
    replaces(std::ptr::null());
    real!(fexecve(fd: c_int, argv: usize, env: usize) -> c_int)
}

/// The `exec` functions with a list of arguments: the stub leaves the arguments in place and jumps
/// to the real function.
macro_rules! exec_lists {
    ($($name:ident = $lookup:ident;)*) => {$(
        unsafe extern "C" fn $lookup(path: *const c_char) -> *mut c_void {
            static CELL: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            const NAME: &CStr =
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
            replaces(path);
            find(&CELL, NAME)
        }

        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            std::arch::naked_asm!(
                "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                "call {f}",
                "mov r11, rax",
                "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                "jmp r11",
                f = sym $lookup,
            )
        }
    )*};
}
exec_lists! {
    execl = execl_real;
    execlp = execlp_real;
    execle = execle_real;
}

fn quick_end(status: c_int) {
    if let Some(t) = enter() {
        init::end_program(t, EndHow::QuickExit, status);
        leave(t);
    }
}

extern "C-unwind" fn exit_now(status: c_int) {
    quick_end(status);
    real!(_exit(status: c_int));
}

extern "C-unwind" fn quick_exit_fn(status: c_int) {
    quick_end(status);
    real!(quick_exit(status: c_int));
}

/// Records that the calling thread is about to abort the program.
fn aborts(pc: usize, [condition, location, function]: [&[u8]; 3]) {
    if let Some(t) = enter() {
        log::keep();
        recorder::put(t, &Record::Abort { pc: pc as u64, condition, location, function });
        leave(t);
    }
}

extern "C-unwind" fn abort_fn(pc: usize) {
    aborts(pc, [&[]; 3]);
    real!(abort());
}

/// `__assert_fail`, which `assert` calls.
extern "C-unwind" fn assert_fail_fn(
    condition: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    pc: usize,
) {
    // SAFETY: texts of the program.
    let text = |p: *const c_char| unsafe {
        if p.is_null() { &[][..] } else { CStr::from_ptr(p).to_bytes() }
    };
    let location = [text(file), b":", line.to_string().as_bytes()].concat();
    aborts(pc, [text(condition), &location, text(function)]);
    real!(__assert_fail(condition: *const c_char, file: *const c_char, line: u32,
        function: *const c_char));
}

/// Logs the modules that were loaded or unloaded.
pub(crate) fn after_loading() {
    if let Some(t) = enter() {
        modules::scan(&|record| recorder::put(t, record));
        leave(t);
    }
}

/// The call goes through a frame of this library: `RTLD_NEXT`-like searches relative to the
/// caller, and `$ORIGIN` of the caller, are those of the runtime.
extern "C-unwind" fn dlopen_fn(path: *const c_char, flags: c_int) -> *mut c_void {
    let handle = real!(dlopen(path: *const c_char, flags: c_int) -> *mut c_void);
    after_loading();
    handle
}

extern "C-unwind" fn dlclose_fn(handle: *mut c_void) -> c_int {
    if let Some(t) = enter() {
        leave(t);
    }
    let r = real!(dlclose(handle: *mut c_void) -> c_int);
    after_loading();
    r
}

/// Completes the last access before memory is unmapped.
extern "C-unwind" fn munmap_fn(addr: usize, len: usize, pc: usize) -> c_int {
    if let Some(t) = enter() {
        let (pc, addr, size) = (pc as u64, addr as u64, len as u64);
        recorder::put(t, &Record::Free { counted: false, pc, addr, size });
        leave(t);
    }
    real!(munmap(addr: usize, len: usize) -> c_int)
}

/// Locks nothing while the program is recorded: it would lock the whole mapping of
/// the elision words.
extern "C-unwind" fn mlockall_fn(flags: c_int, _: usize) -> c_int {
    let Some(t) = enter() else { return real!(mlockall(flags: c_int) -> c_int) };
    leave(t);
    0
}

/// Records memory that the program maps; `file` is the descriptor of a shared mapping.
fn mapped(
    (at, len): (usize, usize),
    file: Option<c_int>,
    pc: usize,
    f: &dyn Fn() -> usize,
) -> usize {
    let t = enter();
    let new = f();
    if let Some(t) = t {
        if new != usize::MAX && new != at {
            put_alloc(t, new as *mut c_void, len, pc);
            if let Some(fd) = file {
                channels::map(fd);
            }
        }
        leave(t);
    }
    new
}

macro_rules! map_fns {
    ($($imp:ident = $name:ident;)*) => {$(
        extern "C-unwind" fn $imp(
            at: usize, len: usize, prot: usize, flags: usize, fd: usize, from: usize, pc: usize,
        ) -> usize {
                let shared = (flags & libc::MAP_SHARED as usize != 0).then_some(fd as c_int);
                mapped((usize::MAX, len), shared, pc, &|| {
                    real!($name(at: usize, len: usize, prot: usize, flags: usize, fd: usize,
                        from: usize) -> usize)
                })
        }
    )*};
}
map_fns! {
    mmap_fn = mmap;
    mmap64_fn = mmap64;
}

/// Records memory that is moved as new at its new address.
extern "C-unwind" fn mremap_fn(
    old: usize,
    old_len: usize,
    len: usize,
    flags: usize,
    to: usize,
    pc: usize,
) -> usize {
    mapped(
        (old, len),
        None,
        pc,
        &|| real!(mremap(old: usize, old_len: usize, len: usize, flags: usize, to: usize) -> usize),
    )
}

extern "C-unwind" fn mprotect_fn(addr: usize, len: usize, prot: c_int) -> c_int {
    if let Some(t) = enter() {
        leave(t);
    }
    real!(mprotect(addr: usize, len: usize, prot: c_int) -> c_int)
}

entries! {
    abort => abort_fn, "rdi";
    __assert_fail => assert_fail_fn, "r8";
    munmap => munmap_fn, "rdx";
    mlockall => mlockall_fn, "rsi";
    mremap => mremap_fn, "r9";
}

entries7! {
    mmap => mmap_fn;
    mmap64 => mmap64_fn;
}

plain_entries! {
    fork => fork_fn;
    vfork => fork_fn;
    _Fork => raw_fork_fn;
    execv => execv_fn;
    execvp => execvp_fn;
    execve => execve_fn;
    execvpe => execvpe_fn;
    fexecve => fexecve_fn;
    _exit => exit_now;
    _Exit => exit_now;
    quick_exit => quick_exit_fn;
    dlopen => dlopen_fn;
    dlclose => dlclose_fn;
    mprotect => mprotect_fn;
}
