package foretell.rt;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;

/**
 * Logical state of an object's monitor, or of a condition: owner, depth, waiters.
 *
 * A thread enters the real monitor only after it has entered this one. Only the holder of the baton
 * reads or writes it.
 */
final class Monitor {
    private static final long[] NO_VERSIONS = {};

    ThreadState owner;
    int depth;
    /** Number of threads that wait for the monitor. */
    int waiting;
    /** Number of threads that sleep in the real monitor. */
    int sleepers;
    /** Number of the semaphore that stands for the object in the trace, and its initial count. */
    int semaphore;
    int count;
    /**
     * Semaphores of the last submissions of a task, and of the last completion by
     * each thread: pairs of a thread and a semaphore.
     */
    int[] submissions;
    int[] completions;
    /** Number of submissions and of runs of the task, and the threads of the last ones. */
    int submitted;
    int begun;
    ThreadState submitter;
    ThreadState begunBy;
    /** Numbers of the keys of a map, and of the changes of each; number 0: the whole. */
    HashMap<Object, Integer> keys;
    private long[] versions = NO_VERSIONS;
    int itemSemaphore;
    int spaceSemaphore;
    /** Threads that wait to be notified, in the order of their arrival. */
    final ArrayList<ThreadState> waitSet = new ArrayList<ThreadState>(0);

    /** Returns the number of changes of a collection, or of one key of a map. */
    long version(int key) {
        return key < versions.length ? versions[key] : 0;
    }

    void setVersion(int key, long version) {
        if (key >= versions.length) {
            versions = Arrays.copyOf(versions, Math.max(key + 1, 2 * versions.length));
        }
        versions[key] = version;
    }

    /** Waits for a notification in the virtual machine, not in the scheduler. */
    static void realWait(Object o, long millis) throws InterruptedException {
        try {
            if (millis == 0) {
                o.wait();
            } else {
                o.wait(millis);
            }
        } catch (InterruptedException e) {
            throw Stacks.withoutRuntimeFrames(e);
        } catch (RuntimeException e) {
            throw Stacks.withoutRuntimeFrames(e);
        }
    }

    /** Notifies the threads that wait in the virtual machine. */
    static void realNotify(Object o) {
        try {
            // Recorded waiters check for the baton when they wake, so that waking all of them is
            // harmless.
            o.notifyAll();
        } catch (RuntimeException e) {
            throw Stacks.withoutRuntimeFrames(e);
        }
    }
}
