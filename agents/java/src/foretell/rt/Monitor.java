package foretell.rt;

import java.util.ArrayList;

/**
 * Logical state of an object's monitor, or of a condition: owner, depth, waiters.
 *
 * A thread enters the real monitor only after it has entered this one. Only the holder of the baton
 * reads or writes it.
 */
final class Monitor {
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
    /** Number of changes of a collection. */
    long version;
    int itemSemaphore;
    int spaceSemaphore;
    /** Threads that wait to be notified, in the order of their arrival. */
    final ArrayList<ThreadState> waitSet = new ArrayList<ThreadState>(0);

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
