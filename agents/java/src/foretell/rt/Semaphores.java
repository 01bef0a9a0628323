package foretell.rt;

/** Numbers for the semaphores by which the trace orders what is no semaphore: interrupts, permits, tasks. */
final class Semaphores {
    private static int last;

    private Semaphores() {
    }

    /** A new one with this count. */
    static int create(String name, long count) {
        int n = ++last;
        if (Log.on) {
            Log.semaphore(n, name, count);
        }
        return n;
    }

    static int interruptOf(ThreadState t) {
        if (t.interruptSemaphore == 0) {
            t.interruptSemaphore = create("interrupt of T" + t.index, 0);
        }
        return t.interruptSemaphore;
    }
}
