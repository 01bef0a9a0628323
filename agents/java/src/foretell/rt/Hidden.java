package foretell.rt;

import java.io.PrintStream;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Hooks of calls whose code is not recorded. Such a call uses hidden state: that of its receiver,
 * of its arguments, of a class. The hook before the call writes which; it is a step of the thread,
 * and the thread keeps the baton until the call returns or blocks. The hook after the call writes a
 * second record if other threads or recorded code may have run meanwhile, and which objects the
 * result belongs to.
 */
public final class Hidden {
    /** Elements of an array of arguments that count as arguments. */
    private static final int MAX_ELEMENTS = 32;

    /** Output is not state of the program, unless the program has replaced the streams. */
    private static final PrintStream OUT = System.out;
    private static final PrintStream ERR = System.err;

    private static int methods;
    /** Objects of the call that is being recorded. Only the holder of the baton uses them. */
    private static final Object[] OBJECTS = new Object[4 + 3 * MAX_ELEMENTS];
    private static final int[] IDS = new int[OBJECTS.length];
    private static int count;
    /** Atomic objects whose values the call reads. */
    private static final Object[] ATOMICS = new Object[OBJECTS.length];
    private static int atomics;

    private Hidden() {
    }

    /** Adds a class that has been rewritten; its name is with dots. */
    public static void recorded(String name) {
        HiddenUse.recorded(name);
    }

    private static ThreadState recordingThread() {
        ThreadState t = Hooks.recordedThread();
        return t == null || t.unrecordedDepth != 0 ? null : t;
    }

    /** Hook before a call. Returns 0 if the call needs no hook when it returns. */
    public static long call(Object receiver, Object a, Object b, Object c, int site) {
        if (receiver == null) {
            return 0;
        }
        HiddenUse use = HiddenSites.use(receiver.getClass(), site);
        return use.none ? 0 : begin(use, receiver, a, b, c, site);
    }

    /** Hook before a call of a static method, or of a constructor, of a class. */
    public static long callOf(Class<?> owner, Object a, Object b, Object c, int site) {
        HiddenUse use = HiddenSites.use(owner, site);
        return use.none ? 0 : begin(use, null, a, b, c, site);
    }

    /** Hook before the text of an object becomes a part of a string. */
    public static void described(Object o, int site) {
        if (HiddenUse.counts(o, false)) {
            call(o, null, null, null, site);
        }
    }

    private static long begin(HiddenUse use, Object receiver, Object a, Object b, Object c,
                              int site) {
        ThreadState t = receiver != null && (receiver == OUT || receiver == ERR) ? null
            : recordingThread();
        if (t == null) {
            return 0;
        }
        collect(use, receiver, a, b, c, site);
        if (atomics > 0) {
            readAtomics(t, site);
        }
        if (count == 0 && use.state == 0) {
            return 0;
        }
        if (Log.on) {
            if (use.number == 0) {
                use.number = ++methods;
                Log.hiddenMethod(use.number, use.state, use.className, use.method);
            }
            if (use.anything) {
                t.unexplainedWait = true;
            }
            write(t, Log.HIDDEN_CALL, site, use.number);
        }
        forget();
        Hooks.stepLater(t, Kind.HIDDEN_CALL, site);
        return t.steps + t.waits;
    }

    /** Records that the call reads the values of atomic objects. */
    private static void readAtomics(ThreadState t, int site) {
        for (int i = 0; i < atomics; i++) {
            int id = Log.on ? ObjectIds.of(ATOMICS[i]) : 0;
            if (id > 0) {
                Log.atomic(t, Log.ATOMIC, Effect.READ, site, id, 0, Atomics.value(ATOMICS[i]), 0);
            }
            ATOMICS[i] = null;
            Hooks.stepLater(t, Kind.ATOMIC, site);
        }
    }

    /** Collects the objects whose state a call uses. */
    private static void collect(HiddenUse use, Object receiver, Object a, Object b, Object c,
                                int site) {
        HiddenSites.Call call = HiddenSites.call(site);
        count = 0;
        atomics = 0;
        if (use.receiver && receiver != null && !isRead(use, receiver)) {
            OBJECTS[count++] = receiver;
        }
        arguments(use, call, a, b, c);
        if (use.looksInside) {
            for (int i = 0; i < count; i++) {
                contents(OBJECTS[i], use);
            }
        }
    }

    private static void arguments(HiddenUse use, HiddenSites.Call call, Object a, Object b,
                                  Object c) {
        boolean[] element = call.element;
        if (call.packed) {
            Object[] all = (Object[]) a;
            for (int i = 0; i < all.length && i < MAX_ELEMENTS; i++) {
                argument(all[i], element[i], use);
            }
            return;
        }
        if (element.length > 0) {
            argument(a, element[0], use);
        }
        if (element.length > 1) {
            argument(b, element[1], use);
        }
        if (element.length > 2) {
            argument(c, element[2], use);
        }
    }

    /** Whether a call only reads the value of an atomic object, which the trace can tell. */
    private static boolean isRead(HiddenUse use, Object o) {
        if (use.looksInside && Atomics.hasValue(o) && atomics < ATOMICS.length) {
            ATOMICS[atomics++] = o;
            if (o.getClass() == AtomicReference.class) {
                argument(((AtomicReference<?>) o).get(), false, use);
            }
            return true;
        }
        return false;
    }

    /** Adds an argument; the elements of an array of objects count too. */
    private static void argument(Object o, boolean element, HiddenUse use) {
        boolean inside = use.looksInside;
        if (count == OBJECTS.length || !HiddenUse.counts(o, element && !inside)
            || isRead(use, o)) {
            return;
        }
        OBJECTS[count++] = o;
        if (o instanceof Object[]) {
            Object[] all = (Object[]) o;
            for (int i = 0; i < all.length && i < MAX_ELEMENTS && count < OBJECTS.length; i++) {
                if (HiddenUse.counts(all[i], !inside) && !isRead(use, all[i])) {
                    OBJECTS[count++] = all[i];
                }
            }
        }
    }

    /** Adds the elements of a collection that have state. */
    private static void contents(Object o, HiddenUse use) {
        if (!HiddenUse.isPlainCollection(o)) {
            return;
        }
        try {
            int most = MAX_ELEMENTS;
            if (o instanceof Map) {
                for (Map.Entry<?, ?> e : ((Map<?, ?>) o).entrySet()) {
                    if (most-- == 0) {
                        return;
                    }
                    argument(e.getKey(), true, use);
                    argument(e.getValue(), true, use);
                }
            } else {
                for (Object e : (Collection<?>) o) {
                    if (most-- == 0) {
                        return;
                    }
                    argument(e, true, use);
                }
            }
        } catch (RuntimeException e) {
            // The program has damaged the collection; the rest of it is not known.
            return;
        }
    }

    private static void write(ThreadState t, int tag, int site, long number) {
        int n = 0;
        for (int i = 0; i < count; i++) {
            int id = ObjectIds.of(OBJECTS[i]);
            if (id > 0) {
                IDS[n++] = id;
            }
        }
        Log.hidden(t, tag, site, number, IDS, n);
    }

    private static void forget() {
        Arrays.fill(OBJECTS, 0, count, null);
        Arrays.fill(ATOMICS, 0, atomics, null);
    }

    /** Hook after a call: `token` is the result of the hook before it. */
    public static void returned(Object result, Object receiver, Object a, Object b, Object c,
                                long token, int site) {
        if (token != 0 && Log.on) {
            end(HiddenSites.use(receiver.getClass(), site), result, receiver, a, b, c, token, site);
        }
    }

    /** Hook after a call of a static method, or of a constructor whose object is the result. */
    public static void returnedOf(Object result, Class<?> owner, Object a, Object b, Object c,
                                  long token, int site) {
        if (token != 0 && Log.on) {
            end(HiddenSites.use(owner, site), result, null, a, b, c, token, site);
        }
    }

    private static void end(HiddenUse use, Object result, Object receiver, Object a, Object b,
                            Object c, long token, int site) {
        ThreadState t = recordingThread();
        if (t == null) {
            return;
        }
        boolean again = t.steps + t.waits != token;
        boolean joins = result != null && !use.fresh && HiddenUse.counts(result, false)
            && (use.method.equals("<init>") || !ObjectIds.isKnown(result));
        if (!again && !joins) {
            return;
        }
        collect(use, receiver, a, b, c, site);
        if (again) {
            write(t, Log.HIDDEN_RETURN, site, use.number);
        }
        if (joins && count > 0) {
            write(t, Log.HIDDEN_JOIN, site, ObjectIds.of(result));
        }
        forget();
    }
}
