package foretell.rt;

/**
 * Replacements for the fences of a VarHandle. `loadLoadFence` and `storeStoreFence` order less than
 * an acquire and a release; the trace has the stronger ones.
 */
public final class Fences {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] STATIC_METHODS = {
        {"java.lang.invoke.VarHandle", "fullFence()V", "acquireFence()V", "releaseFence()V",
            "loadLoadFence()V", "storeStoreFence()V"},
    };

    /** Accesses to it order threads that are not recorded. */
    private static volatile int fence;

    private Fences() {
    }

    private static void fence(int order, int site) {
        fence = fence + 1;
        ThreadState t = Synchronizers.recordingThread();
        if (t != null && Log.on) {
            Log.event(t, Log.FENCE, site, order);
        }
    }

    public static void fullFence(int site) {
        fence(AccessModes.VOLATILE, site);
    }

    public static void acquireFence(int site) {
        fence(AccessModes.ACQUIRE, site);
    }

    public static void releaseFence(int site) {
        fence(AccessModes.RELEASE, site);
    }

    public static void loadLoadFence(int site) {
        fence(AccessModes.ACQUIRE, site);
    }

    public static void storeStoreFence(int site) {
        fence(AccessModes.RELEASE, site);
    }
}
