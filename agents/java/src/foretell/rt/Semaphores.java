package foretell.rt;

/** Numbers of the semaphores by which the trace orders interrupts, permits and tasks. */
final class Semaphores {
    private static int last;

    private Semaphores() {
    }

    /** Creates a semaphore with this count. */
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
