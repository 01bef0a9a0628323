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
        if (handle == null || !Log.on || Hooks.recordedThread() == null) {
            return;
        }
        Monitor m = ObjectIds.monitor(handle);
        if (m.semaphore == 0) {
            m.semaphore = ++last;
            Log.handle(last, owner.getName(), name);
        }
    }

    /** `base`: the object, the array, or null; `index`: of an element, or -1. */
    private static void event(int effect, Object handle, Object base, int index, long old, long now, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        if (Log.on) {
            int id = ObjectIds.of(base);
            if (index >= 0) {
                // Plain accesses to the element are of the same variable.
                if (id > 0) {
                    Log.atomic(t, Log.ELEMENT, effect, site, id, index, old, now);
                }
            } else {
                field(t, effect, handle, id, old, now, site);
            }
        }
        Hooks.step(t, Kind.ATOMIC, site);
    }

    private static void field(ThreadState t, int effect, Object handle, int id, long old, long now, int site) {
        int number = ObjectIds.monitor(handle).semaphore;
        if (number > 0 && id >= 0) {
            Log.atomic(t, Log.HANDLED, effect, site, id, number, old, now);
        } else {
            // A handle that nobody has seen made: an access to something of its own.
            Log.atomic(t, Log.ATOMIC, effect, site, ObjectIds.of(handle), Math.max(id, 0), old, now);
        }
    }

    public static void read(Object handle, Object base, int index, long value, int site) {
        event(Effect.READ, handle, base, index, value, 0, site);
    }

    public static void wrote(Object handle, Object base, int index, long value, int site) {
        event(Effect.WRITE, handle, base, index, 0, value, site);
    }

    public static void updated(Object handle, Object base, int index, long old, long now, int site) {
        event(Effect.UPDATE, handle, base, index, old, now, site);
    }

    /** Compared and exchanged; what has not changed was attempted in vain, or exchanged for the same. */
    public static void exchanged(Object handle, Object base, int index, long old, long now, int site) {
        event(old == now ? Effect.FAILED_UPDATE : Effect.UPDATE, handle, base, index, old, now, site);
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
