//! The process as a whole: fork, exec, exit, loading of libraries, mappings.

use crate::entry::{enter, entries, leave, plain_entries};
use crate::init;
use crate::modules;
use crate::real::real;
use crate::thread;
use foretell_rt_format::{EndHow, Record};
use std::ffi::{CStr, c_char, c_int, c_void};

/// The child is not recorded: its hooks do nothing.
unsafe fn forked(f: &dyn Fn() -> c_int) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if t.is_null() {
            return f();
        }
        let pid = f();
        if pid == 0 {
            init::off();
            return 0;
        }
        if pid > 0 {
            thread::put(t, &Record::Forked { pid: pid as u32 });
        }
        leave(t);
        pid
    }
}

/// `vfork` lends the child the parent's stack, which no function that returns can do: both fork.
unsafe extern "C-unwind" fn fork_fn() -> c_int {
    // SAFETY: as the program's own call.
    unsafe { forked(&|| real!(fork() -> c_int)) }
}

unsafe extern "C-unwind" fn raw_fork_fn() -> c_int {
    // SAFETY: as the program's own call.
    unsafe { forked(&|| real!(_Fork() -> c_int)) }
}

/// Says that the program replaces itself; the log ends here unless that fails.
unsafe fn replaces(path: *const c_char) {
    // SAFETY: the program's own path.
    unsafe {
        let t = enter();
        if !t.is_null() {
            let path = if path.is_null() { &[][..] } else { CStr::from_ptr(path).to_bytes() };
            thread::put(t, &Record::Exec { path });
            leave(t);
        }
    }
}

macro_rules! exec_fns {
    ($($imp:ident = $name:ident ( $($more:ident),* );)*) => {$(
        unsafe extern "C-unwind" fn $imp(path: *const c_char, $($more: usize),*) -> c_int {
            // SAFETY: as the program's own call.
            unsafe {
                replaces(path);
                real!($name(path: *const c_char, $($more: usize),*) -> c_int)
            }
        }
    )*};
}
exec_fns! {
    execv_fn = execv(argv);
    execvp_fn = execvp(argv);
    execve_fn = execve(argv, env);
    execvpe_fn = execvpe(argv, env);
}

unsafe fn quick_end(status: c_int) {
    // SAFETY: enter gives the calling thread.
    unsafe {
        let t = enter();
        if !t.is_null() {
            init::ends(t, EndHow::QuickExit, status);
            leave(t);
        }
    }
}

unsafe extern "C-unwind" fn exit_now(status: c_int) {
    // SAFETY: as the program's own call.
    unsafe {
        quick_end(status);
        real!(_exit(status: c_int));
    }
}

unsafe extern "C-unwind" fn quick_exit_fn(status: c_int) {
    // SAFETY: as the program's own call.
    unsafe {
        quick_end(status);
        real!(quick_exit(status: c_int));
    }
}

/// Logs what came and went after a library was loaded or unloaded.
unsafe fn after_loading() {
    // SAFETY: enter gives the calling thread.
    unsafe {
        let t = enter();
        if !t.is_null() {
            modules::scan(t);
            leave(t);
        }
    }
}

/// The call goes through a frame of this library: `RTLD_NEXT`-like searches relative to the
/// caller, and `$ORIGIN` of the caller, are those of the runtime.
unsafe extern "C-unwind" fn dlopen_fn(path: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: as the program's own call.
    unsafe {
        let handle = real!(dlopen(path: *const c_char, flags: c_int) -> *mut c_void);
        after_loading();
        handle
    }
}

unsafe extern "C-unwind" fn dlclose_fn(handle: *mut c_void) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if !t.is_null() {
            leave(t);
        }
        let r = real!(dlclose(handle: *mut c_void) -> c_int);
        after_loading();
        r
    }
}

/// Before memory goes away the last access to it is completed.
unsafe extern "C-unwind" fn munmap_fn(addr: usize, len: usize, pc: usize) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if !t.is_null() {
            let (pc, addr, size) = (pc as u64, addr as u64, len as u64);
            thread::put(t, &Record::Free { counted: false, pc, addr, size });
            leave(t);
        }
        real!(munmap(addr: usize, len: usize) -> c_int)
    }
}

unsafe extern "C-unwind" fn mprotect_fn(addr: usize, len: usize, prot: c_int) -> c_int {
    // SAFETY: as the program's own call.
    unsafe {
        let t = enter();
        if !t.is_null() {
            leave(t);
        }
        real!(mprotect(addr: usize, len: usize, prot: c_int) -> c_int)
    }
}

entries! {
    munmap => munmap_fn, "rdx";
}

plain_entries! {
    fork => fork_fn;
    vfork => fork_fn;
    _Fork => raw_fork_fn;
    execv => execv_fn;
    execvp => execvp_fn;
    execve => execve_fn;
    execvpe => execvpe_fn;
    _exit => exit_now;
    _Exit => exit_now;
    quick_exit => quick_exit_fn;
    dlopen => dlopen_fn;
    dlclose => dlclose_fn;
    mprotect => mprotect_fn;
}
