package foretell.rt;

/**
 * Fields and elements by way of handles and updaters. What a handle stands for is noted when it is made; its accesses are then
 * those of the field. The methods of a handle have any types: the rewritten class calls them itself and says here what
 * came of it; those of an updater likewise. A handle is an object here, since Java 8 has none.
 */
public final class Handles {
    private static int last;

    private Handles() {
    }

    /** A handle or an updater was made for a field. */
    public static void field(Object handle, Class<?> owner, String name) {
        if (handle == null || !Log.on || Hooks.mine() == null) {
            return;
        }
        Monitor m = Ids.monitor(handle);
        if (m.semaphore == 0) {
            m.semaphore = ++last;
            Log.handle(last, owner.getName(), name);
        }
    }

    private static void event(int tag, Object handle, Object o, long old, long now, int site) {
        ThreadState t = Juc.recording();
        if (t == null) {
            return;
        }
        if (Log.on) {
            int number = Ids.monitor(handle).semaphore;
            int id = Ids.of(o);
            if (number > 0 && id >= 0) {
                Log.atomic(t, tag, site, id, number, old, now);
            } else {
                // A handle that nobody has seen made: an access to something of its own.
                Log.atomic(t, tag - Log.HANDLE_READ + Log.ATOMIC_READ, site, Ids.of(handle), Math.max(id, 0), old, now);
            }
        }
        Hooks.step(t, Kind.ATOMIC, site);
    }

    /** An element of an array; plain accesses to it are of the same variable. */
    private static void element(int tag, Object array, int index, long old, long now, int site) {
        ThreadState t = Juc.recording();
        if (t == null) {
            return;
        }
        int id = Log.on ? Ids.of(array) : -1;
        if (id > 0) {
            Log.elementAtomic(t, tag, site, id, index, old, now);
        }
        Hooks.step(t, Kind.ATOMIC, site);
    }

    /** `base`: the object, the array, or null; `index`: of an element, or -1. */
    public static void read(Object handle, Object base, int index, long value, int site) {
        if (index >= 0) {
            element(Log.HANDLE_READ, base, index, value, 0, site);
        } else {
            event(Log.HANDLE_READ, handle, base, value, 0, site);
        }
    }

    public static void wrote(Object handle, Object base, int index, long value, int site) {
        if (index >= 0) {
            element(Log.HANDLE_WRITE, base, index, 0, value, site);
        } else {
            event(Log.HANDLE_WRITE, handle, base, 0, value, site);
        }
    }

    /** An update; one that changes nothing is a read. */
    public static void updated(Object handle, Object base, int index, long old, long now, int site) {
        if (old == now) {
            read(handle, base, index, old, site);
        } else if (index >= 0) {
            element(Log.HANDLE_UPDATE, base, index, old, now, site);
        } else {
            event(Log.HANDLE_UPDATE, handle, base, old, now, site);
        }
    }

    public static long value(Object o) {
        return Hooks.reference(o);
    }

    public static long value(double d) {
        return Double.doubleToRawLongBits(d);
    }

    public static long value(float f) {
        return Float.floatToRawIntBits(f);
    }
}
