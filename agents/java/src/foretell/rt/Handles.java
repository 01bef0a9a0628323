package foretell.rt;

/**
 * Hooks for accesses through handles and field updaters.
 *
 * The field of a handle is recorded when the handle is created; its accesses are then accesses of
 * the field. The methods of a handle are signature-polymorphic, so that the rewritten class calls
 * them itself and reports the effect here; those of an updater likewise. Parameters have type
 * Object, since Java 8 has no VarHandle.
 */
public final class Handles {
    private static int last;
    /** Last reference that became a value of an access; whether there was one. */
    private static Object reference;
    private static boolean isReference;

    private Handles() {
    }

    /** Records the field of a new handle or updater. */
    public static void field(Object handle, Class<?> owner, String name) {
        if (handle == null || !Log.on || Hooks.recordedThread() == null) {
            return;
        }
        Monitor m = ObjectIds.monitor(handle);
        if (m.semaphore == 0) {
            m.semaphore = number(owner, name);
        }
    }

    /** Returns a number for a field, which the log names. */
    static int number(Class<?> owner, String name) {
        Log.handle(++last, owner.getName(), name);
        return last;
    }

    /**
     * Records an access. `base`: the object, the array, or null; `index`: that of an element, or
     * -1.
     */
    private static void event(int effect, Object handle, Object base, int index, long old,
                              long now, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        int mode = isReference ? AccessModes.at(site, effect, reference) : AccessModes.at(site);
        forgetReference();
        if (Log.on) {
            int id = ObjectIds.of(base);
            if (index >= 0) {
                // Plain accesses of the element name the same variable.
                if (id > 0) {
                    Log.atomic(t, Log.ELEMENT, effect, mode, site, id, index, old, now);
                }
            } else {
                field(t, effect, mode, handle, id, old, now, site);
            }
        }
        Hooks.step(t, Kind.ATOMIC, site);
    }

    private static void forgetReference() {
        reference = null;
        isReference = false;
    }

    private static void field(ThreadState t, int effect, int mode, Object handle, int id, long old,
                              long now, int site) {
        int number = ObjectIds.monitor(handle).semaphore;
        if (number > 0 && id >= 0) {
            Log.atomic(t, Log.HANDLED, effect, mode, site, id, number, old, now);
        } else {
            // The creation of the handle was not recorded: it may be any field. A thread that
            // reads what was written here finds a value that nothing explains.
            t.unexplainedWait = true;
            Log.settle(t);
        }
    }

    public static void read(Object handle, Object base, int index, long value, int site) {
        event(Effect.READ, handle, base, index, value, 0, site);
    }

    public static void wrote(Object handle, Object base, int index, long value, int site) {
        event(Effect.WRITE, handle, base, index, 0, value, site);
    }

    /** Records an access in plain mode. */
    private static void plain(int tag, int elementTag, int kind, Object handle, Object base,
                              int index, long value, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        forgetReference();
        if (Log.on) {
            int id = ObjectIds.of(base);
            int number = index >= 0 ? 0 : ObjectIds.monitor(handle).semaphore;
            if (index >= 0) {
                if (id > 0) {
                    Log.element(t, elementTag, site, id, index, value);
                }
            } else if (number > 0 && id >= 0) {
                Log.element(t, tag, site, id, number, value);
            } else {
                t.unexplainedWait = true;
                Log.settle(t);
            }
        }
        Hooks.step(t, kind, site);
    }

    public static void readPlain(Object handle, Object base, int index, long value, int site) {
        plain(Log.HANDLED_READ, Log.ARRAY_READ, Kind.READ, handle, base, index, value, site);
    }

    public static void wrotePlain(Object handle, Object base, int index, long value, int site) {
        plain(Log.HANDLED_WRITE, Log.ARRAY_WRITE, Kind.WRITE, handle, base, index, value, site);
    }

    public static void updated(Object handle, Object base, int index, long old, long now,
                               int site) {
        event(Effect.UPDATE, handle, base, index, old, now, site);
    }

    /**
     * Records a compare-and-exchange. If the value has not changed, it failed, or exchanged the
     * value for an equal one.
     */
    public static void exchanged(Object handle, Object base, int index, long old, long now,
                                 int site) {
        event(old == now ? Effect.FAILED_UPDATE : Effect.UPDATE, handle, base, index, old, now,
            site);
    }

    public static long value(Object o) {
        if (Hooks.recordedThread() != null) {
            reference = o;
            isReference = true;
        }
        return Hooks.reference(o);
    }

    public static long value(double d) {
        return Double.doubleToRawLongBits(d);
    }

    public static long value(float f) {
        return Float.floatToRawIntBits(f);
    }
}
