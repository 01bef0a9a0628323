package foretell.rt;

import java.io.PrintStream;
import java.lang.reflect.Field;
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

    /** First argument of a call that may use one element of a list. */
    public static int index;

    private static int methods;
    /** Objects of the call that is being recorded. Only the holder of the baton uses them. */
    private static final Object[] OBJECTS = new Object[4 + 3 * MAX_ELEMENTS];
    /** Use of each object, and the part that is used: see {@link Plain}. */
    private static final int[] USES = new int[OBJECTS.length];
    private static final int[] PARTS = new int[OBJECTS.length];
    private static final long[] IDS = new long[2 * OBJECTS.length];
    private static final long[] WAITED = new long[2];
    /** Object of waits that other records explain. */
    private static final Object MODELLED = new Object();
    private static int count;
    /** Whether an object counts that the call does not touch. */
    private static boolean views;
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
        return !use.none ? begin(use, receiver, a, b, c, site)
            : use.explainsWaits ? beginModelled() : 0;
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

    /** Begins a call whose waits need no record. */
    private static long beginModelled() {
        ThreadState t = recordingThread();
        if (t == null) {
            return 0;
        }
        t.waitObject = MODELLED;
        return FieldReflection.RECORDED;
    }

    private static long begin(HiddenUse use, Object receiver, Object a, Object b, Object c,
                              int site) {
        ThreadState t = recordingThread();
        if (t == null) {
            return 0;
        }
        if (use.anything && FieldReflection.isKnown(receiver, a, use.method)) {
            return FieldReflection.before(t, (Field) receiver, a, use.method, site);
        }
        if (use.anything && HiddenUse.callsRecorded(receiver, a)) {
            return 0;
        }
        NestedMonitors.enter(t, use, receiver, a, site);
        if (use.locks || use.plainArgument == Plain.READ_ALL) {
            awaitMonitors(t, use, receiver, a, b, site);
        }
        collect(t, use, receiver, a, b, c, site);
        if (receiver != null && (receiver == OUT || receiver == ERR)) {
            return printed(t, site);
        }
        if (atomics > 0) {
            readAtomics(t, site);
        }
        if (count == 0 && use.state == 0) {
            // A call that touches nothing may return a view.
            return views ? Math.max(1, t.steps + t.waits) : 0;
        }
        if (Log.on) {
            if (use.number == 0) {
                use.number = ++methods;
                Log.hiddenMethod(use.number, use.state, use.className, use.method);
            }
            if (use.anything) {
                t.unexplainedWait = true;
            }
            if (use.usesResource || use.closesResource) {
                Resources.beforeCall(t, receiver, use.closesResource, site);
            }
            write(t, Log.HIDDEN_CALL, site, use.number);
        }
        forget();
        t.waitObject = use.explainsWaits ? receiver : null;
        Hooks.stepLater(t, Kind.HIDDEN_CALL, site);
        return Math.max(1, t.steps + t.waits);
    }

    /** Waits until the monitors are free that a call locks. */
    private static void awaitMonitors(ThreadState t, HiddenUse use, Object receiver, Object a,
                                      Object b, int site) {
        Object own = use.locks ? Plain.mutex(receiver) : null;
        boolean reads = use.plainArgument == Plain.READ_ALL;
        Object first = reads ? Plain.mutex(a) : null;
        Object second = reads ? Plain.mutex(b) : null;
        if (own == null && first == null && second == null) {
            return;
        }
        Replay.expect(t, Kind.HIDDEN_CALL, site);
        while (waits(t, own, site) || waits(t, first, site) || waits(t, second, site)) {
            t.site = site;
        }
    }

    /** Whether a thread had to wait for a monitor. */
    private static boolean waits(ThreadState t, Object mutex, int site) {
        Monitor m = mutex == null ? null : ObjectIds.monitor(mutex);
        if (m == null || m.owner == null || m.owner == t) {
            return false;
        }
        Replay.takes(t, ObjectIds.of(mutex));
        Scheduler.block(t, ThreadState.FOR_LOCK, m, null, -1, site);
        return true;
    }

    /** Adds the monitor that calls of an object's methods lock, unless the thread has it. */
    private static void addMonitor(ThreadState t, Object o) {
        Object mutex = Plain.mutex(o);
        Monitor m = mutex == null ? null : ObjectIds.monitor(mutex);
        if (m != null && m.owner != t) {
            add(mutex, Plain.LOCKED, 0);
        }
    }

    /** Records that output has read collections; the rest of its arguments does not matter. */
    private static long printed(ThreadState t, int site) {
        Unexplored.printed(t);
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (USES[i] != Plain.OPAQUE && (USES[i] != Plain.LOCKED || kept > 0)) {
                OBJECTS[kept] = OBJECTS[i];
                PARTS[kept] = PARTS[i];
                USES[kept++] = USES[i];
            }
        }
        Arrays.fill(OBJECTS, kept, count, null);
        Arrays.fill(ATOMICS, 0, atomics, null);
        atomics = 0;
        count = kept;
        if (count == 0) {
            return 0;
        }
        if (Log.on) {
            write(t, Log.HIDDEN_CALL, site, 0);
        }
        forget();
        Hooks.stepLater(t, Kind.HIDDEN_CALL, site);
        return 0;
    }

    /** Records that the call reads the values of atomic objects. */
    private static void readAtomics(ThreadState t, int site) {
        for (int i = 0; i < atomics; i++) {
            int id = Log.on ? ObjectIds.of(ATOMICS[i]) : 0;
            if (id > 0) {
                Log.atomic(t, Log.ATOMIC, Effect.READ, AccessModes.VOLATILE, site, id, 0,
                    Atomics.value(ATOMICS[i]), 0);
            }
            ATOMICS[i] = null;
            Hooks.stepLater(t, Kind.ATOMIC, site);
        }
    }

    /** Collects the objects whose state a call uses. */
    private static void collect(ThreadState t, HiddenUse use, Object receiver, Object a, Object b,
                                Object c, int site) {
        HiddenSites.Call call = HiddenSites.call(site);
        clear();
        if (use.receiver && receiver != null && !isRead(use, receiver)) {
            boolean plain = use.plainReceiver != Plain.OPAQUE && !ObjectIds.isImpure(receiver);
            if (plain && use.locks && Plain.mutex(receiver) == null) {
                plain = false;
            }
            if (plain) {
                plainReceiver(t, use, receiver, a);
                if (use.locks) {
                    addMonitor(t, receiver);
                }
            } else {
                add(receiver, Plain.OPAQUE, 0);
            }
        }
        arguments(use, call, a, b, c);
        if (use.looksInside) {
            if (receiver != null && use.plainReceiver == Plain.READ_ALL) {
                contents(receiver, use);
            }
            int direct = count;
            for (int i = 0; i < direct; i++) {
                if (OBJECTS[i] != receiver) {
                    contents(OBJECTS[i], use);
                }
            }
        }
    }

    private static void clear() {
        count = 0;
        atomics = 0;
        views = false;
    }

    private static void add(Object o, int use, int part) {
        if (use == Plain.NONE) {
            views = true;
        } else if (count < OBJECTS.length) {
            OBJECTS[count] = o;
            PARTS[count] = part;
            USES[count++] = use;
        }
    }

    /** Collects the objects that the result of a call may be a view of. */
    private static void sources(HiddenUse use, Object receiver, Object a, Object b, Object c,
                                int site) {
        count = 0;
        if (use.receiver && receiver != null) {
            add(receiver, Plain.OPAQUE, 0);
            if (use.plainReceiver != Plain.OPAQUE) {
                return;
            }
        }
        HiddenSites.Call call = HiddenSites.call(site);
        Object[] all = call.packed ? (Object[]) a : new Object[] {a, b, c};
        for (int i = 0; i < call.element.length && i < MAX_ELEMENTS; i++) {
            if (!HiddenUse.counts(all[i], call.element[i] && !use.looksInside)) {
                continue;
            }
            add(all[i], Plain.OPAQUE, 0);
            if (all[i] instanceof Object[]) {
                Object[] elements = (Object[]) all[i];
                for (int j = 0; j < elements.length && j < MAX_ELEMENTS; j++) {
                    if (HiddenUse.counts(elements[j], !use.looksInside)) {
                        add(elements[j], Plain.OPAQUE, 0);
                    }
                }
            }
        }
    }

    /** Adds the accesses of a call to its receiver, which has plain accesses. */
    private static void plainReceiver(ThreadState t, HiddenUse use, Object o, Object key) {
        int access = use.plainReceiver;
        if (use.indexed && o instanceof java.util.ArrayList) {
            add(o, access == Plain.READ_ALL ? Plain.READ_PART : Plain.WRITE_PART, index + 1);
            access = Plain.READ;
        } else if (use.polls && Plain.isEmpty(o)) {
            access = Plain.READ;
        } else if (use.keyed && Plain.isBase(o)) {
            access = keyed(t, use, o, key);
        } else if (Plain.isIterator(o)) {
            boolean moves = use.method.equals("next") || use.method.equals("previous")
                || access == Plain.WRITE_ALL;
            add(o, moves ? Plain.WRITE_OWN : Plain.NONE, 0);
        }
        add(o, access, 0);
    }

    /** Adds the access to the entry of a key, and returns that to the structure. */
    private static int keyed(ThreadState t, HiddenUse use, Object o, Object key) {
        int access = use.plainReceiver;
        if (o instanceof Map) {
            if (Plain.isAccessOrdered(o)) {
                return access == Plain.READ_ALL && use.method.equals("containsKey") ? access
                    : Plain.WRITE;
            }
            int part = Plain.part(t, o, key);
            boolean present = contains(t, o, key);
            boolean reads = access == Plain.READ_ALL || present && (use.method.equals("putIfAbsent")
                || use.method.equals("computeIfAbsent"));
            if (part == 0) {
                return reads || !present && use.method.equals("remove") ? Plain.READ_ALL
                    : Plain.WRITE_ALL;
            }
            if (reads) {
                add(o, Plain.READ_PART, part);
                return Plain.READ;
            }
            if (present && use.method.equals("put")) {
                add(o, Plain.WRITE_PART, part);
                return Plain.READ;
            }
            if (use.method.equals("remove")) {
                add(o, present ? Plain.READ_PART : Plain.NONE, part);
                return present ? Plain.WRITE : Plain.READ;
            }
            return Plain.WRITE;
        }
        // A set stays as it is if it has, or does not have, the element.
        if (o instanceof java.util.Set && !(o instanceof java.util.EnumSet)
            || use.method.equals("remove") && key != null) {
            boolean adds = use.method.equals("add");
            if ((adds || use.method.equals("remove")) && contains(t, o, key) == adds) {
                return Plain.READ;
            }
        }
        return access;
    }

    /** Whether a collection has a key, whose methods may let other threads run. */
    private static boolean contains(ThreadState t, Object o, Object key) {
        boolean found = Plain.contains(t, o, key);
        clear();
        return found;
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
        if (Plain.is(o)) {
            boolean stored = element && !inside && use.stores;
            int read = Plain.isAtomic(o) && use.plainArgument == Plain.READ_ALL ? Plain.ATOMIC_READ
                : use.plainArgument;
            add(o, stored ? Plain.NONE : read, 0);
            if (!stored && use.plainArgument == Plain.READ_ALL) {
                addMonitor(Scheduler.current, o);
            }
            return;
        }
        add(o, Plain.OPAQUE, 0);
        if (o instanceof Object[]) {
            Object[] all = (Object[]) o;
            for (int i = 0; i < all.length && i < MAX_ELEMENTS && count < OBJECTS.length; i++) {
                if (HiddenUse.counts(all[i], !inside) && !isRead(use, all[i])) {
                    boolean plain = Plain.is(all[i]) && !Plain.isAtomic(all[i]);
                    add(all[i], plain ? use.plainElements : Plain.OPAQUE, 0);
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
                    content(e.getKey(), use);
                    content(e.getValue(), use);
                }
            } else {
                for (Object e : (Collection<?>) o) {
                    if (most-- == 0) {
                        return;
                    }
                    content(e, use);
                }
            }
        } catch (RuntimeException e) {
            // The program has damaged the collection; the rest of it is not known.
            return;
        }
    }

    private static void content(Object o, HiddenUse use) {
        if (Plain.is(o) && !Plain.isAtomic(o)) {
            add(o, use.plainElements, 0);
        } else {
            argument(o, true, use);
        }
    }

    /** Writes a call with the objects that it uses; plain accesses are those of the base. */
    private static void write(ThreadState t, int tag, int site, long number) {
        int n = 0;
        for (int i = 0; i < count; i++) {
            boolean own = USES[i] == Plain.OPAQUE || USES[i] == Plain.WRITE_OWN
                || USES[i] == Plain.LOCKED;
            int id = own ? ObjectIds.of(OBJECTS[i]) : ObjectIds.base(OBJECTS[i]);
            if (id > 0) {
                IDS[n++] = id;
                IDS[n++] = USES[i] | (long) PARTS[i] << 4;
            }
        }
        Log.hidden(t, tag, site, number, IDS, n);
    }

    /** Writes that the result of a call shares the state of the objects that the call uses. */
    private static void join(ThreadState t, int site, Object result) {
        int n = 0;
        int base = 0;
        boolean pure = true;
        for (int i = 0; i < count; i++) {
            int id = ObjectIds.of(OBJECTS[i]);
            if (id <= 0) {
                continue;
            }
            IDS[n++] = id;
            if (!Plain.is(OBJECTS[i])) {
                pure = false;
            } else {
                int of = ObjectIds.base(OBJECTS[i]);
                // A view that locks nothing itself may call methods that do.
                pure &= (base == 0 || base == of) && !Plain.isAtomic(OBJECTS[i]) && (Plain.mutex(OBJECTS[i]) == null
                    || Plain.isIterator(result) || Plain.isSynchronized(result.getClass()));
                base = of;
            }
        }
        if (n == 0) {
            return;
        }
        if (Plain.is(result.getClass())) {
            ObjectIds.setBase(result, pure ? base : 0);
            if (Plain.isIterator(result) && Plain.isSynchronized(result.getClass())) {
                ObjectIds.setCollection(result, OBJECTS[0]);
            }
        }
        Log.hiddenJoin(t, site, ObjectIds.of(result), IDS, n);
    }

    private static void forget() {
        Arrays.fill(OBJECTS, 0, count, null);
        Arrays.fill(ATOMICS, 0, atomics, null);
    }

    /** Records that a thread has waited in a call, for another use of an object. */
    static void waited(ThreadState t, Object o, int site) {
        if (o != MODELLED && Log.on && t.unrecordedDepth == 0) {
            WAITED[0] = ObjectIds.of(o);
            WAITED[1] = Plain.OPAQUE;
            Log.hidden(t, Log.HIDDEN_RETURN, site, 0, WAITED, 2);
        }
    }

    /** Hook after a call: `token` is the result of the hook before it. */
    public static void returned(Object result, Object receiver, Object a, Object b, Object c,
                                long token, int site) {
        if (token != 0 && (Log.on || token < 0)) {
            end(HiddenSites.use(receiver.getClass(), site), result, receiver, a, b, c, token, site);
        }
        ThreadState t = token == 0 ? Scheduler.NO_THREAD : Scheduler.current;
        if (t.outerMonitor != null && t.thread == Thread.currentThread()) {
            NestedMonitors.leave(t);
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
        t.waitObject = null;
        if (token == FieldReflection.WRITES) {
            FieldReflection.wrote(t, (Field) receiver, a, site);
        }
        if (token < 0) {
            return;
        }
        boolean again = Math.max(1, t.steps + t.waits) != token;
        boolean joins = result != null && !use.fresh && HiddenUse.counts(result, false)
            && (use.method.equals("<init>") || !ObjectIds.isKnown(result))
            && !(use.plainReceiver != Plain.OPAQUE && Plain.is(result) && Plain.isBase(result));
        if (!again && !joins) {
            return;
        }
        collect(t, use, receiver, a, b, c, site);
        if (again) {
            write(t, Log.HIDDEN_RETURN, site, use.number);
        }
        if (joins) {
            // A view touches nothing when it is made.
            sources(use, receiver, a, b, c, site);
            join(t, site, result);
        }
        forget();
    }
}
