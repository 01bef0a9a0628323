//! The programs of the set, each with the expectation for its twin.

use crate::commands::{Rule::*, Twin::*};
use crate::workshop::Program;

/// Makes a test of the correct program and one of its twin for each line.
macro_rules! programs {
    ($($name:ident: $source:literal [$($option:literal)*] $twin:expr;)*) => {
        mod correct {
            use super::*;
            $(#[test]
            fn $name() {
                Program { source: $source, options: &[$($option),*] }.is_correct();
            })*
        }
        mod twin {
            use super::*;
            $(#[test]
            fn $name() {
                Program { source: $source, options: &[$($option),*] }.has_twin($twin);
            })*
        }
    };
}

programs! {
    tsearch: "c/tsearch.c" [] Lost(Provenance);
    hsearch: "c/hsearch.c" [] Found("race");
    lsearch: "c/lsearch.c" [] Found("race");
    qsort: "c/qsort.c" [] Lost(HiddenState);
    bsearch: "c/bsearch.c" [] Found("race");
    pipe_write_fgets: "c/pipe_stdio.c" ["-DWRITER=1" "-DREADER=1"] Found("race");
    pipe_write_getline: "c/pipe_stdio.c" ["-DWRITER=1" "-DREADER=2"] Found("race");
    pipe_write_fscanf: "c/pipe_stdio.c" ["-DWRITER=1" "-DREADER=3"] Found("race");
    pipe_write_fread: "c/pipe_stdio.c" ["-DWRITER=1" "-DREADER=4"] Found("race");
    pipe_dprintf_getline: "c/pipe_stdio.c" ["-DWRITER=2" "-DREADER=2"] Found("race");
    pipe_dprintf_fscanf: "c/pipe_stdio.c" ["-DWRITER=2" "-DREADER=3"] Found("race");
    pipe_fprintf_fgets: "c/pipe_stdio.c" ["-DWRITER=3" "-DREADER=1"] Lost(HiddenState);
    pipe_fprintf_getline: "c/pipe_stdio.c" ["-DWRITER=3" "-DREADER=2"] Lost(HiddenState);
    pipe_fprintf_fscanf: "c/pipe_stdio.c" ["-DWRITER=3" "-DREADER=3"] Lost(HiddenState);
    pipe_fwrite_fgets: "c/pipe_stdio.c" ["-DWRITER=4" "-DREADER=1"] Lost(HiddenState);
    pipe_fwrite_fread: "c/pipe_stdio.c" ["-DWRITER=4" "-DREADER=4"] Lost(HiddenState);
    socket_stdio: "c/socket_stdio.c" [] Found("race");
    timerfd: "c/timerfd.c" [] Found("race");
    inotify: "c/inotify.c" [] Found("race");
    eventfd_library: "c/eventfd_library.c" [] Found("race");
    aio: "c/aio.c" [] Lost(UnknownWait);
    splice: "c/splice.c" [] Found("race");
    tee: "c/splice.c" ["-DTEE"] Found("race");
    sendfile: "c/sendfile.c" [] Found("race");
    fork_wait: "c/fork_wait.c" [] Found("race");
    popen: "c/popen.c" [] Lost(HiddenState);
    record_lock: "c/file_lock.c" ["-DLOCK=1"] Lost(HiddenState);
    flock: "c/file_lock.c" ["-DLOCK=2"] Lost(HiddenState);
    lockf: "c/lockf.c" [] Found("race");
    posix_mq: "c/posix_mq.c" [] Found("race");
    sysv_messages: "c/sysv.c" ["-DOBJECT=1"] Found("race");
    sysv_semaphore: "c/sysv.c" ["-DOBJECT=2"] Found("race");
    mapped_twice: "c/mapped_twice.c" ["-DMAP=1"] Found("race");
    sysv_memory: "c/mapped_twice.c" ["-DMAP=2"] Found("race");
    shared_with_child: "c/shared_with_child.c" [] Lost(UnknownWait);
    signalfd: "c/signalfd.c" [] Found("race");
    timer_thread: "c/timer_thread.c" [] Lost(UnknownWait);
    timer_thread_input: "c/timer_thread_input.c" [] Lost(UnknownWait);
    mq_notify: "c/mq_notify.c" [] Lost(UnknownWait);
    robust_mutex: "c/robust_mutex.c" [] Lost(UnknownWait);
    process_shared_mutex: "c/pshared.c" ["-DOBJECT=1"] Lost(UnknownWait);
    process_shared_semaphore: "c/pshared.c" ["-DOBJECT=2"] Found("race");
    process_shared_rwlock: "c/pshared.c" ["-DOBJECT=3"] Lost(UnknownWait);
    process_shared_barrier: "c/pshared.c" ["-DOBJECT=4"] Lost(UnknownWait);
    process_shared_mutex_and_child: "c/pshared.c" ["-DOBJECT=5"] Lost(UnknownWait);
    flockfile: "c/flockfile.c" [] Found("race");
    flockfile_waits: "c/flockfile_waits.c" [] Found("race");
    glib_condition: "c/glib.c" ["glib" "-DOBJECT=1"] Found("race");
    glib_rwlock: "c/glib.c" ["glib" "-DOBJECT=2"] Found("race");
    glib_async_queue: "c/glib.c" ["glib" "-DOBJECT=3"] Found("race");
    glib_hash_table: "c/glib.c" ["glib" "-DOBJECT=4"] Found("race");
    glib_thread_pool: "c/glib.c" ["glib" "-DOBJECT=5"] Lost(UnknownWait);
    glib_once: "c/glib.c" ["glib" "-DOBJECT=6"] Found("race");
    glib_mutex: "c/glib.c" ["glib" "-DOBJECT=7"] Found("race");
    glib_queue: "c/glib.c" ["glib" "-DOBJECT=8"] Found("race");
    asm_spin: "c/asm_spin.c" [] Found("race");
    asm_spin_busy: "c/asm_spin.c" ["-DBUSY"] Lost(UnknownWait);
    asm_flag: "c/asm_flag.c" [] Found("race");
    asm_flag_busy: "c/asm_flag.c" ["-DBUSY"] Lost(UnknownWait);
    futex: "c/futex.c" ["-DASM=0"] Found("race");
    futex_asm: "c/futex.c" ["-DASM=1"] Found("race");
    object_lock: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=1"] Found("race");
    object_spin_lock: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=2"] Found("race");
    object_queue: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=3"] Lost(Provenance);
    object_own_queue: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=4"] Found("race");
    object_semaphore: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=5"] Found("race");
    object_read: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=6"] Found("race");
    object_callback: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=7"] Found("race");
    object_registered: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=8"] Found("race");
    object_threads: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=9"] Found("race");
    object_polled_word: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=10"] Found("race");
    object_buffers: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=11"] Found("race");
    object_round_trip: "c/uses_hidden.c" ["hidden.o" "-DOBJECT=12"] Found("race");
    archive_lock: "c/uses_hidden.c" ["hidden.a" "-DOBJECT=1"] Found("race");
    archive_queue: "c/uses_hidden.c" ["hidden.a" "-DOBJECT=3"] Lost(Provenance);
    archive_semaphore: "c/uses_hidden.c" ["hidden.a" "-DOBJECT=5"] Found("race");
    library_lock: "c/uses_hidden.c" ["hidden.so" "-DOBJECT=1"] Found("race");
    library_queue: "c/uses_hidden.c" ["hidden.so" "-DOBJECT=3"] Lost(Provenance);
    library_semaphore: "c/uses_hidden.c" ["hidden.so" "-DOBJECT=5"] Found("race");
    library_threads: "c/uses_hidden.c" ["hidden.so" "-DOBJECT=9"] Found("race");
    clang_lock: "c/uses_hidden.c" ["clang" "hidden.so" "-DOBJECT=1"] Found("race");
    clang_queue: "c/uses_hidden.c" ["clang" "hidden.so" "-DOBJECT=3"] Lost(Provenance);
    clang_buffers: "c/uses_hidden.c" ["clang" "hidden.so" "-DOBJECT=11"] Found("race");
    dlopen: "c/dlopen.c" ["loads hidden.so"] Found("race");
    omp_critical: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=1"] Lost(UnknownWait);
    omp_barrier: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=2"] Lost(UnknownWait);
    omp_reduction: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=3"] Lost(UnknownWait);
    omp_tasks: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=4"] Lost(UnknownWait);
    omp_ordered: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=5"] Lost(UnknownWait);
    omp_single_sections: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=6"] Lost(UnknownWait);
    omp_locks: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=7"] Lost(UnknownWait);
    omp_atomic: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=8"] Lost(UnknownWait);
    omp_taskwait: "c/omp.c" ["-fopenmp" "-DCONSTRUCT=9"] Lost(UnknownWait);
    clang_omp_critical: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=1"] Lost(UnknownWait);
    clang_omp_barrier: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=2"] Lost(UnknownWait);
    clang_omp_reduction: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=3"] Lost(UnknownWait);
    clang_omp_tasks: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=4"] Lost(UnknownWait);
    clang_omp_ordered: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=5"] Lost(UnknownWait);
    clang_omp_single_sections: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=6"] Lost(UnknownWait);
    clang_omp_locks: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=7"] Lost(UnknownWait);
    clang_omp_atomic: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=8"] Lost(UnknownWait);
    clang_omp_taskwait: "c/omp.c" ["clang" "-fopenmp" "-DCONSTRUCT=9"] Lost(UnknownWait);
    environment: "c/environment.c" ["-DSTATE=1"] Found("race");
    localtime: "c/environment.c" ["-DSTATE=2"] Found("race");
    strtok: "c/environment.c" ["-DSTATE=3"] Found("race");
    rand: "c/environment.c" ["-DSTATE=4"] Found("race");
    setlocale: "c/environment.c" ["-DSTATE=5"] Found("race");
    getpwnam: "c/environment.c" ["-DSTATE=6"] Found("race");
    strerror: "c/environment.c" ["-DSTATE=7"] Found("race");
    atexit: "c/atexit.c" [] Found("race");
    once: "c/once.c" [] Found("race");
    keys: "c/keys.c" [] Found("race");
    cancel: "c/cancel.c" [] Found("race");
    c11_threads: "c/c11_threads.c" [] Found("race");
    realloc: "c/realloc.c" [] Found("race");
    arena: "c/arena.c" [] Found("race");
    nftw: "c/directory_walk.c" ["-DWALK=1"] Lost(HiddenState);
    scandir: "c/directory_walk.c" ["-DWALK=2"] Lost(HiddenState);
    file_appears: "c/file_appears.c" [] Found("race");
    stdio_shared: "c/stdio_shared.c" [] Found("race");
    named_semaphore: "c/named_semaphore.c" [] Found("race");
    memstream: "c/memstream.c" [] Found("race");
    lock_order: "c/lock_order.c" [] Found("deadlock");
    gated_locks: "c/gated_locks.c" ["hidden.o"] Found("deadlock");
    block_in_hidden_lock: "c/block_in_hidden_lock.c" ["hidden.o"] Found("atomicity");
    string_box: "cpp/string_box.cpp" [] Found("race");
    string_box_optimised: "cpp/string_box.cpp" ["-O2"] Found("race");
    clang_string_box: "cpp/string_box.cpp" ["clang"] Found("race");
    vector: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=1"] Found("race");
    deque: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=2"] Found("race");
    list: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=3"] Lost(Provenance);
    map: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=4"] Found("race");
    set: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=5"] Found("race");
    unordered_map: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=6"] Found("race");
    queue_of_strings: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=7"] Found("race");
    priority_queue: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=8"] Found("race");
    multimap: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=9"] Found("race");
    forward_list: "cpp/containers.cpp" ["-std=c++17" "-DCONTAINER=10"] Found("race");
    map_optimised: "cpp/containers.cpp" ["-std=c++17" "-O2" "-DCONTAINER=4"] Found("race");
    shared_ptr: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=1"] Found("race");
    weak_ptr: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=2"] Found("race");
    function: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=3"] Found("race");
    optional: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=4"] Found("race");
    variant: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=5"] Found("race");
    any: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=6"] Found("race");
    unique_ptr: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=7"] Found("race");
    exception_ptr: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=8"] Found("race");
    string_view: "cpp/holders.cpp" ["-std=c++17" "-DHOLDER=9"] Found("race");
    promise: "cpp/futures.cpp" ["-std=c++17" "-DRESULT=1"] Found("race");
    packaged_task: "cpp/futures.cpp" ["-std=c++17" "-DRESULT=2"] Found("race");
    std_async: "cpp/futures.cpp" ["-std=c++17" "-DRESULT=3"] Found("race");
    promise_at_exit: "cpp/futures.cpp" ["-std=c++17" "-DRESULT=4"] Found("race");
    shared_future: "cpp/futures.cpp" ["-std=c++17" "-DRESULT=5"] Found("race");
    broken_promise: "cpp/futures.cpp" ["-std=c++17" "-DRESULT=6"] Found("race");
    promise_exception: "cpp/futures.cpp" ["-std=c++17" "-DRESULT=7"] Found("race");
    condition_variable_any: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=1"] Found("race");
    shared_mutex: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=2"] Found("race");
    call_once: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=3"] Found("race");
    latch: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=4"] Found("race");
    barrier: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=5"] Found("race");
    counting_semaphore: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=6"] Found("race");
    jthread: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=7"] Found("race");
    atomic_wait: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=8"] Found("race");
    timed_mutex: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=9"] Found("race");
    recursive_mutex: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=10"] Found("race");
    shared_timed_mutex: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=11"] Found("race");
    atomic_flag_wait: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=12"] Found("race");
    stop_callback: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=13"] Found("race");
    binary_semaphore: "cpp/sync.cpp" ["-std=c++20" "-DOBJECT=14"] Found("race");
    cout: "cpp/streams.cpp" ["-std=c++17" "-DSTREAM=1"] Found("race");
    stringstream: "cpp/streams.cpp" ["-std=c++17" "-DSTREAM=2"] Found("race");
    getline: "cpp/streams.cpp" ["-std=c++17" "-DSTREAM=3"] Found("race");
    fstream: "cpp/streams.cpp" ["-std=c++17" "-DSTREAM=4"] Found("race");
    ostringstream: "cpp/streams.cpp" ["-std=c++17" "-DSTREAM=5"] Found("race");
    destructor: "cpp/destructor.cpp" ["-std=c++17"] Found("race");
    destructor_queue: "cpp/destructor_queue.cpp" ["-std=c++17"] Found("race");
    magic_static: "cpp/magic_static.cpp" ["-std=c++17"] Found("race");
    atomic_shared_ptr: "cpp/atomic_shared_ptr.cpp" ["-std=c++17"] Found("race");
    thread_local_objects: "cpp/thread_local_objects.cpp" ["-std=c++17"] Found("race");
    memory_pool: "cpp/memory_pool.cpp" ["-std=c++17"] Found("race");
    cpp_hidden_queue: "cpp/hidden_queue.cpp" ["-std=c++17" "hidden.o"] Lost(Provenance);
}
