//! Programs whose source has many ways to hand data over; a macro selects one. Each is correct.

use crate::workshop::Program;

/// Makes a test for each way of a source.
macro_rules! ways {
    ($($module:ident: $source:literal $macro:literal $options:tt {
        $($way:ident = $n:literal)*
    })*) => {$(
        mod $module {
            use super::*;
            $(#[test]
            fn $way() {
                let options: &[&'static str] = &$options;
                let way = concat!("-D", $macro, "=", $n);
                let options: Vec<_> = options.iter().copied().chain([way]).collect();
                Program { source: $source, options: options.leak() }.is_correct();
            })*
        }
    )*};
}

ways! {
    hand_made_locks: "c/hand_made_locks.c" "LOCK" [] {
        ticket_lock = 1
        mcs = 2
        clh = 3
        peterson = 4
        dekker = 5
        test_and_set_with_fences = 6
        futex_mutex = 7
        lamports_bakery = 8
        bit_lock_with_fetch_or = 9
        sync_builtins = 10
        futex_mutex_with_waiters = 11
        array_lock = 12
        turn_taking = 13
        lock_of_two_bytes = 14
        spin_then_yield_with_relaxed_loads = 15
    }
    lock_free: "c/lock_free.c" "WAY" ["-latomic"] {
        treiber_stack = 1
        ring_of_one_producer_and_one_consumer = 2
        lamports_queue = 3
        release_and_consume = 4
        seqlock = 5
        double_checked_locking = 6
        reference_count_with_fence = 7
        hazard_pointer = 8
        queue_of_michael_and_scott = 9
        mailbox_by_exchange = 10
        generation_counter = 11
        fences_on_relaxed_flags = 12
        epochs = 13
        wide_compare_and_exchange = 14
    }
    kernel_ways: "c/kernel_ways.c" "WAY" ["-lutil"] {
        descriptor_in_a_message = 1
        epoll = 2
        poll = 3
        ppoll = 4
        select = 5
        fifo = 6
        pwritev_and_preadv = 7
        vmsplice = 8
        copy_file_range = 9
        datagrams = 10
        tcp = 11
        pseudo_terminal = 12
        system_calls_by_hand = 13
        pread_of_a_growing_file = 14
        memfd = 15
        eventfd_as_a_semaphore = 16
        pidfd_of_a_child = 17
        writev_and_readv = 18
        recvmmsg = 19
        packets_of_a_pipe = 20
        abstract_socket = 21
        epoll_of_an_eventfd_with_edges = 22
        full_pipe = 23
        shutdown = 24
        pselect = 25
        fionread = 26
        fsync_and_stat = 27
        rename = 28
        directory_appears = 29
        unlink = 30
        exclusive_creation = 31
        shared_offset_of_lseek = 32
        truncation = 33
    }
    signals: "c/signals.c" "WAY" [] {
        sigwait = 1
        value_of_sigqueue = 2
        handler_by_pthread_kill = 3
        handler_on_its_own_stack = 4
        alarm = 5
        interval_timer = 6
        sigsuspend = 7
        sigtimedwait = 8
        pipe_written_by_a_handler = 9
        sigchld = 10
        timer_with_a_signal = 11
        sigio_of_a_pipe = 12
        pause = 13
        nested_handlers = 14
        sigwaitinfo = 15
        pthread_sigqueue = 16
    }
    control: "c/control.c" "WAY" [] {
        longjmp_out_of_a_section = 1
        coroutines = 2
        coroutine_that_another_thread_resumes = 3
        cleanup_handler = 4
        cancelled_wait = 5
        destructors_of_keys = 6
        serial_thread_of_a_barrier = 7
        nested_once = 8
        c11_condition = 9
        tss_destructor = 10
        detached_thread = 11
        pthread_exit_of_main = 12
        recursive_mutex = 13
        error_checking_mutex = 14
        priority_inheritance = 15
        trylock_loop = 16
        timed_join = 17
        tryjoin = 18
        rwlock_by_tries = 19
        spin_lock = 20
        adaptive_mutex = 21
        timed_lock = 22
        thread_attributes_and_a_stack_of_its_own = 23
        chain_of_creation = 24
        exit_handlers = 25
        locks_in_both_orders_by_try = 26
        atfork = 27
    }
    library_state: "c/library_state.c" "STATE" [] {
        strtok_r = 1
        twalk = 2
        lfind = 3
        hsearch_r = 4
        putenv = 5
        regex = 6
        glob = 7
        iconv = 8
        getdelim = 9
        fmemopen = 10
        ungetc = 11
        setvbuf = 12
        tmpfile = 13
        open_memstream = 14
        obstack = 15
        argz = 16
        qsort_r = 17
        random_r = 18
        wide_stream = 19
        insque = 20
        freopen = 21
        fscanf = 22
        getopt = 25
        nl_langinfo = 26
        ftw = 27
        vsnprintf = 28
        asprintf = 29
        strdup_and_strsep = 30
        getaddrinfo = 31
        envz = 32
        fopencookie = 33
        wordexp = 34
    }
    compression: "c/library_state.c" "STATE" ["-lz", "-lbz2"] {
        zlib = 23
        bz2 = 24
    }
    processes: "c/processes.c" "WAY" ["-lrt"] {
        posix_spawn = 1
        vfork = 2
        pipes_to_and_from_a_child = 3
        waitid = 4
        system = 5
        pclose = 6
        semaphore_in_shared_memory = 9
        system_v_semaphore = 10
        posix_queue = 11
        named_semaphore = 12
        condition_in_shared_memory = 13
        robust_shared_mutex = 14
        rwlock_in_shared_memory = 15
        child_that_stops = 16
        timed_queue = 17
    }
    glib_objects: "c/glib_objects.c" "OBJECT" ["glib"] {
        main_loop_with_an_idle_source = 1
        recursive_mutex = 2
        bit_lock = 3
        array_of_pointers = 4
        timeout_source = 5
        timed_pop = 6
        private_data = 7
        string = 8
        list_under_a_lock = 9
        condition_with_a_deadline = 10
        once_init = 11
        tree = 12
        unlock_by_cleanup = 13
        source_attached_to_the_main_context = 14
        thread_join_value = 15
        atomic_reference_box = 16
    }
    omp_constructs: "c/omp_constructs.c" "CONSTRUCT" ["-fopenmp"] {
        dependences_of_tasks = 1
        taskgroup = 2
        lastprivate = 3
        copyprivate = 4
        nested_lock = 5
        dynamic_schedule = 6
        threadprivate = 7
        doacross = 8
        nested_regions = 9
        flag_with_atomics = 10
        taskloop = 11
        master_and_barrier = 12
        named_criticals = 13
        array_reduction = 14
        capture = 15
        sections_and_firstprivate = 16
        user_reduction = 17
        for_nowait_on_the_same_schedule = 18
        heap_in_tasks = 19
        pthread_beside_openmp = 20
    }
    standard_objects: "cpp/standard_objects.cpp" "WAY" ["-std=c++17"] {
        regex = 1
        stringstream = 2
        filesystem = 3
        locale = 4
        memory_resource = 5
        node_of_a_map = 6
        list_spliced = 7
        vector_of_bool = 8
        wide_string = 10
        deque_of_strings = 14
        nested_map = 16
        array_of_functions = 19
        random_engine = 21
        chrono_formatting = 22
        ifstream = 23
        ostringstream_moved = 24
        exceptions_by_nested = 25
        type_index_map = 26
        string_view_keys = 28
        enable_shared_from_this = 30
        vector_of_vectors = 32
    }
    ordering: "cpp/ordering.cpp" "WAY" ["-std=c++20"] {
        lock = 1
        scoped_lock = 2
        try_lock_of_two = 3
        wait_with_a_stop_token = 4
        latch_polled = 5
        completion_of_a_barrier = 6
        future_polled = 8
        call_once_with_an_exception = 9
        atomic_of_a_shared_ptr = 12
        notify_all_at_thread_exit = 13
        osyncstream = 14
        recursive_timed_mutex = 15
        try_acquire_for = 16
        thread_local_destructor = 17
        coroutine = 18
        exception_from_a_thread = 19
        arrive_and_drop = 22
        set_value_at_thread_exit = 24
        atomic_wait_of_many = 26
        static_local = 27
        thread_moved = 30
        atomic_flag_lock = 31
        lock_in_both_orders = 32
    }
}

/// The library stores the status of the future after the thread's last recorded step.
#[test]
fn wait_that_the_library_ends_at_thread_exit() {
    let options = &["-std=c++20", "-DWAY=24"];
    Program { source: "cpp/ordering.cpp", options }.has_no_predicted_race();
}
