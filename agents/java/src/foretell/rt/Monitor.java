package foretell.rt;

import java.util.ArrayList;

/**
 * The logical state of an object's monitor, or of a condition: who owns it, how deep, who waits in it.
 *
 * A thread enters the real monitor only after it has entered this one. Read and written with the baton alone.
 */
final class Monitor {
    ThreadState owner;
    int depth;
    /** Threads that wait for it. */
    int waiting;
    /** Threads that sleep in the real monitor. */
    int sleepers;
    /** The number of the semaphore that the object is in the trace, and the count it started with. */
    int semaphore;
    int count;
    /** Semaphores of the submissions of a task that nobody has seen, and of its completions. */
    int[] submissions;
    int[] completions;
    /** How often a collection was changed. */
    long version;
    int itemSemaphore;
    int spaceSemaphore;
    /** Those who wait to be notified, first come first. */
    final ArrayList<ThreadState> waitSet = new ArrayList<ThreadState>(0);
}
