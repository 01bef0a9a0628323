package foretell.rt;

/**
 * Calls that lock the receiver's monitor and, with it locked, that of an argument. The outer one is
 * taken before the call, as a step of its own, so that a replay can hold a thread between the two.
 */
final class NestedMonitors {
    private static final String SYNCHRONIZED = "java.util.Collections$Synchronized";

    private NestedMonitors() {
    }

    /** Whether a method uses the argument's locking methods with the receiver locked. */
    private static boolean isNested(Class<?> type, String method) {
        String name = type.getName();
        if (name.equals("java.lang.StringBuffer")) {
            return method.equals("append");
        }
        if (name.equals("java.util.Hashtable")) {
            return method.equals("equals");
        }
        // A vector copies the argument before it locks itself, and sets iterate over it, which
        // locks nothing.
        return name.startsWith(SYNCHRONIZED + "List") && method.equals("addAll")
            || name.startsWith(SYNCHRONIZED + "RandomAccessList") && method.equals("addAll")
            || name.equals(SYNCHRONIZED + "Map") && method.equals("putAll");
    }

    /** Takes the outer monitor of such a call. */
    static void enter(ThreadState t, HiddenUse use, Object receiver, Object argument, int site) {
        if (!use.locks || t.outerMonitor != null || !isNested(use.type, use.method)) {
            return;
        }
        Object outer = Plain.mutex(receiver);
        Object inner = Plain.mutex(argument);
        if (outer == null || inner == null || inner == outer
            || ObjectIds.monitor(outer).owner == t) {
            return;
        }
        Hooks.lock(outer, site);
        t.outerMonitor = outer;
        t.outerDepth = t.depth;
        t.outerSite = site;
    }

    /** Gives the outer monitor back when the call has returned, or has thrown an exception. */
    static void leave(ThreadState t) {
        if (t.depth == t.outerDepth) {
            Object outer = t.outerMonitor;
            t.outerMonitor = null;
            Hooks.unlock(outer, t.outerSite);
        }
    }
}
