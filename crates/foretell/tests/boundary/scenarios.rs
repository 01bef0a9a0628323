//! Scenarios of Java at the boundary of what is recorded, each with its twin.

use crate::commands::{Rule::*, Twin::*};
use crate::java::Scenario;

/// Makes a test of the correct scenario and one of its twin for each line.
macro_rules! scenarios {
    ($($name:ident: $class:literal $scenario:literal $answer:literal $twin:expr;)*) => {
        mod correct {
            use super::*;
            $(#[test]
            fn $name() {
                Scenario { class: $class, name: $scenario }.is_correct($answer);
            })*
        }
        mod twin {
            use super::*;
            $(#[test]
            fn $name() {
                Scenario { class: $class, name: $scenario }.has_twin($twin);
            })*
        }
    };
}

scenarios! {
    linked_list: "Containers" "linkedList" "6" Found("race");
    array_list: "Containers" "arrayList" "6" Found("race");
    array_deque: "Containers" "arrayDeque" "6" Found("race");
    hash_map: "Containers" "hashMap" "6" Found("race");
    tree_map: "Containers" "treeMap" "6" Found("race");
    hash_set: "Containers" "hashSet" "6" Found("race");
    linked_hash_map: "Containers" "linkedHashMap" "6" Found("race");
    priority_queue: "Containers" "priorityQueue" "6" Found("race");
    vector: "Containers" "vector" "6" Found("race");
    hashtable: "Containers" "hashtable" "42" Found("race");
    identity_hash_map: "Containers" "identityHashMap" "42" Found("race");
    enum_map: "Containers" "enumMap" "42" Found("race");
    bit_set: "Containers" "bitSet" "42" Found("race");
    string_builder: "Containers" "stringBuilder" "42" Found("race");
    string_buffer: "Containers" "stringBuffer" "42" Found("race");
    sub_list: "Containers" "subList" "42" Found("race");
    key_set_view: "Containers" "keySetView" "42" Found("race");
    stream: "Containers" "stream" "42" Found("race");
    synchronized_list: "Containers" "synchronizedList" "6" Found("race");
    synchronized_map: "Containers" "synchronizedMap" "42" Found("race");
    optional_in_field: "Containers" "optionalInField" "42" Found("race");
    array_as_list: "Containers" "arrayAsList" "42" Found("race");
    concurrent_hash_map: "Shared" "concurrentHashMap" "42" Found("race");
    compute_if_absent: "Shared" "computeIfAbsent" "42" Found("race");
    linked_blocking_queue: "Shared" "linkedBlockingQueue" "6" Found("race");
    array_blocking_queue: "Shared" "arrayBlockingQueue" "6" Found("race");
    concurrent_linked_queue: "Shared" "concurrentLinkedQueue" "6" Found("race");
    concurrent_linked_deque: "Shared" "concurrentLinkedDeque" "6" Found("race");
    copy_on_write_array_list: "Shared" "copyOnWriteArrayList" "6" Found("race");
    copy_on_write_array_set: "Shared" "copyOnWriteArraySet" "42" Found("race");
    skip_list_map: "Shared" "skipListMap" "6" Found("race");
    skip_list_set: "Shared" "skipListSet" "42" Found("race");
    priority_blocking_queue: "Shared" "priorityBlockingQueue" "42" Found("race");
    synchronous_queue: "Shared" "synchronousQueue" "6" Lost(UnknownWait);
    linked_transfer_queue: "Shared" "linkedTransferQueue" "6" Found("race");
    linked_blocking_deque: "Shared" "linkedBlockingDeque" "6" Found("race");
    delay_queue: "Shared" "delayQueue" "42" Found("race");
    exchanger: "Shared" "exchanger" "42" Lost(UnknownWait);
    phaser: "Shared" "phaser" "42" Lost(UnknownWait);
    count_down_latch: "Shared" "countDownLatch" "42" Found("race");
    barrier_action: "Shared" "barrierAction" "42" Found("race");
    semaphore: "Shared" "semaphore" "42" Found("race");
    long_adder: "Shared" "longAdder" "42" Found("race");
    long_accumulator: "Shared" "longAccumulator" "42" Found("race");
    atomic_reference_array: "Shared" "atomicReferenceArray" "42" Found("race");
    atomic_boolean: "Shared" "atomicBoolean" "42" Found("race");
    markable_reference: "Shared" "markableReference" "42" Found("race");
    field_updater: "Shared" "fieldUpdater" "42" Found("race");
    merge_by_reference: "Shared" "mergeByReference" "42" Found("race");
    submit_and_get: "Running" "submitAndGet" "42" Found("race");
    invoke_all: "Running" "invokeAll" "42" Lost(UnknownWait);
    await_termination: "Running" "awaitTermination" "42" Found("race");
    is_terminated: "Running" "isTerminated" "42" Found("race");
    is_done: "Running" "isDone" "42" Found("race");
    completable_future: "Running" "completableFuture" "42" Lost(UnknownWait);
    complete: "Running" "complete" "42" Found("race");
    then_accept: "Running" "thenAccept" "42" Lost(UnknownWait);
    fork_join: "Running" "forkJoin" "2016" Lost(UnknownWait);
    parallel_stream: "Running" "parallelStream" "496" Lost(UnknownWait);
    scheduled: "Running" "scheduled" "42" Found("race");
    timer: "Running" "timer" "42" Lost(UnknownWait);
    completion_service: "Running" "completionService" "42" Found("race");
    future_task: "Running" "futureTask" "42" Found("race");
    is_alive: "Running" "isAlive" "42" Found("race");
    get_state: "Running" "getState" "42" Found("race");
    is_interrupted: "Running" "isInterrupted" "42" Found("race");
    interrupted_wait: "Running" "interruptedWait" "42" Found("race");
    timed_join: "Running" "timedJoin" "42" Found("race");
    uncaught: "Running" "uncaught" "42" Found("race");
    reentrant_lock: "Locking" "reentrantLock" "6" Found("race");
    subclass: "Locking" "subclass" "6" Found("race");
    write_lock: "Locking" "writeLock" "6" Found("race");
    stamped_lock: "Locking" "stampedLock" "2" Found("race");
    stamped_as_lock: "Locking" "stampedAsLock" "6" Found("race");
    try_lock: "Locking" "tryLock" "2" Found("deadlock");
    downgrade: "Locking" "downgrade" "42" Found("race");
    condition: "Locking" "condition" "42" Found("race");
    park: "Locking" "park" "42" Found("race");
    wait_notify: "Locking" "waitNotify" "42" Found("race");
    monitor_of_lock: "Locking" "monitorOfLock" "2" Found("deadlock");
    wrapped: "Locking" "wrapped" "6" Found("race");
    own_spin_lock: "Locking" "ownSpinLock" "6" Found("race");
    piped_stream: "Platform" "pipedStream" "42" Found("race");
    buffered_reader: "Platform" "bufferedReader" "42" Found("race");
    print_stream: "Platform" "printStream" "6" Found("race");
    byte_array_stream: "Platform" "byteArrayStream" "42" Found("race");
    system_property: "Platform" "systemProperty" "42" Found("race");
    file_appears: "Platform" "fileAppears" "42" Found("race");
    class_initialiser: "Platform" "classInitialiser" "42" Found("race");
    thread_local: "Platform" "threadLocal" "42" Found("race");
    weak_reference: "Platform" "weakReference" "42" Found("race");
    supplier_chain: "Platform" "supplierChain" "6" Found("race");
    string_joiner: "Platform" "stringJoiner" "42" Found("race");
    scanner: "Platform" "scanner" "42" Found("race");
    process: "Platform" "process" "42" Lost(UnknownWait);
    observer: "Platform" "observer" "42" Lost(UnknownWait);
}
