package foretell.rt;

/**
 * Lookups of operations that call a function of the program: `updateAndGet`, `compute`, …. The
 * function gets what the lookup found; so its events can only happen where the lookup finds the
 * same. The log has a look at the object before the first event of the function, and nothing if
 * the function has no events.
 */
final class Lookups {
    private Lookups() {
    }

    /** Begins a lookup, which {@link Log} writes before the thread's next record. */
    static void begin(ThreadState t, Object o, int site) {
        if (t.lookup != 0) {
            Log.settle(t);
        }
        t.lookup = ObjectIds.of(o);
        t.lookupSite = site;
    }

    /** Ends a lookup. */
    static void end(ThreadState t) {
        t.lookup = 0;
    }

    /** Begins a lookup of an atomic object. */
    static void begin(Object o, int site) {
        ThreadState t = Log.on ? Synchronizers.recordingThread() : null;
        if (t != null) {
            begin(t, o, site);
        }
    }

    /** Ends a lookup of an atomic object. */
    static void end() {
        ThreadState t = Log.on ? Synchronizers.recordingThread() : null;
        if (t != null) {
            t.lookup = 0;
        }
    }
}
