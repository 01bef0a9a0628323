package foretell.rt;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Objects that end with a call of `close`: classes of the platform by the table `hidden.txt`, whose
 * calls are hidden ones, and classes of the program by options, whose methods call the hooks here.
 */
public final class Resources {
    /** Methods that an object has after its end, too. */
    private static final Set<String> HARMLESS = new HashSet<String>(Arrays.asList("isOpen",
        "isClosed", "checkError", "toString", "hashCode", "equals", "finalize", "getClass"));

    private Resources() {
    }

    /** Whether a method of a resource, called after `close`, is a mistake. */
    public static boolean isUse(String method) {
        return !HARMLESS.contains(method) && !method.startsWith("<");
    }

    public static boolean isClose(String method, String desc) {
        return method.equals("close") && desc.equals("()V");
    }

    /** Hook at the beginning of a method of a resource. */
    public static void used(Object o, int site) {
        record(o, Log.RESOURCE_USED_STEP, site);
    }

    /** Hook at the end of `close`, if it returns. */
    public static void closed(Object o, int site) {
        record(o, Log.RESOURCE_CLOSED_STEP, site);
    }

    private static void record(Object o, int tag, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        if (Log.on) {
            Log.event(t, tag, site, ObjectIds.of(o));
        }
        Hooks.step(t, Kind.ATOMIC, site);
    }

    /** Writes that the hidden call that comes next is one of a resource. */
    static void beforeCall(ThreadState t, Object o, boolean closes, int site) {
        int id = ObjectIds.of(o);
        if (id > 0) {
            Log.event(t, closes ? Log.RESOURCE_CLOSED : Log.RESOURCE_USED, site, id);
        }
    }
}
