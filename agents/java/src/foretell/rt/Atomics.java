package foretell.rt;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BinaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;
import java.util.function.UnaryOperator;

/**
 * Replacements for the methods of java.util.concurrent.atomic, with the receiver first and the site
 * last. An operation is one step with the value before and the value after; a failed
 * compare-and-set is a failed update. A function of the program is called outside the step, as the
 * real methods do.
 */
public final class Atomics {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.atomic.AtomicInteger", "get()I", "set(I)V", "lazySet(I)V",
            "getAndSet(I)I",
            "compareAndSet(II)Z", "weakCompareAndSet(II)Z", "getAndIncrement()I",
            "getAndDecrement()I",
            "incrementAndGet()I", "decrementAndGet()I", "getAndAdd(I)I", "addAndGet(I)I",
            "getAndUpdate(Ljava/util/function/IntUnaryOperator;)I",
            "updateAndGet(Ljava/util/function/IntUnaryOperator;)I",
            "getAndAccumulate(ILjava/util/function/IntBinaryOperator;)I",
            "accumulateAndGet(ILjava/util/function/IntBinaryOperator;)I", "intValue()I",
            "longValue()J"},
        {"java.util.concurrent.atomic.AtomicLong", "get()J", "set(J)V", "lazySet(J)V",
            "getAndSet(J)J",
            "compareAndSet(JJ)Z", "weakCompareAndSet(JJ)Z", "getAndIncrement()J",
            "getAndDecrement()J",
            "incrementAndGet()J", "decrementAndGet()J", "getAndAdd(J)J", "addAndGet(J)J",
            "getAndUpdate(Ljava/util/function/LongUnaryOperator;)J",
            "updateAndGet(Ljava/util/function/LongUnaryOperator;)J",
            "getAndAccumulate(JLjava/util/function/LongBinaryOperator;)J",
            "accumulateAndGet(JLjava/util/function/LongBinaryOperator;)J", "intValue()I",
            "longValue()J"},
        {"java.util.concurrent.atomic.AtomicBoolean", "get()Z", "set(Z)V", "lazySet(Z)V",
            "getAndSet(Z)Z",
            "compareAndSet(ZZ)Z", "weakCompareAndSet(ZZ)Z"},
        {"java.util.concurrent.atomic.AtomicReference", "get()Ljava/lang/Object;",
            "set(Ljava/lang/Object;)V",
            "lazySet(Ljava/lang/Object;)V", "getAndSet(Ljava/lang/Object;)Ljava/lang/Object;",
            "compareAndSet(Ljava/lang/Object;Ljava/lang/Object;)Z",
            "weakCompareAndSet(Ljava/lang/Object;Ljava/lang/Object;)Z",
            "getAndUpdate(Ljava/util/function/UnaryOperator;)Ljava/lang/Object;",
            "updateAndGet(Ljava/util/function/UnaryOperator;)Ljava/lang/Object;",
            "getAndAccumulate(Ljava/lang/Object;Ljava/util/function/BinaryOperator;)Ljava/lang/Object;",
            "accumulateAndGet(Ljava/lang/Object;Ljava/util/function/BinaryOperator;)Ljava/lang/Object;"},
    };

    private Atomics() {
    }

    /** Whether an object is an atomic value of the platform. */
    static boolean hasValue(Object o) {
        Class<?> type = o.getClass();
        return type == AtomicInteger.class || type == AtomicLong.class
            || type == AtomicBoolean.class || type == AtomicReference.class;
    }

    /** Returns the value of such an object as the log has it. */
    static long value(Object o) {
        if (o instanceof AtomicReference) {
            return Hooks.reference(((AtomicReference<?>) o).get());
        }
        return o instanceof AtomicBoolean ? ((AtomicBoolean) o).get() ? 1 : 0
            : ((Number) o).longValue();
    }

    static void event(int effect, Object o, int index, long old, long now, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        if (Log.on) {
            int id = ObjectIds.of(o);
            if (id > 0) {
                int mode = AccessModes.at(site);
                if (mode != AccessModes.VOLATILE) {
                    mode = ofReference(o, index, effect, site);
                }
                Log.atomic(t, Log.ATOMIC, effect, mode, site, id, index, old, now);
            }
        }
        Hooks.step(t, Kind.ATOMIC, site);
    }

    /** Returns the mode of an access that may be one of a reference. */
    private static int ofReference(Object o, int index, int effect, int site) {
        if (o instanceof AtomicReference) {
            return AccessModes.at(site, effect, ((AtomicReference<?>) o).get());
        }
        return o instanceof AtomicReferenceArray
            ? AccessModes.at(site, effect, ((AtomicReferenceArray<?>) o).get(index - 1))
            : AccessModes.at(site);
    }

    static void read(Object o, int index, long value, int site) {
        event(Effect.READ, o, index, value, 0, site);
    }

    static void wrote(Object o, int index, long value, int site) {
        event(Effect.WRITE, o, index, 0, value, site);
    }

    static void updated(Object o, int index, long old, long now, int site) {
        event(Effect.UPDATE, o, index, old, now, site);
    }

    /** Records an update, or a failed one. */
    static void updatedOrFailed(boolean done, Object o, int index, long old, long now,
                                        int site) {
        event(done ? Effect.UPDATE : Effect.FAILED_UPDATE, o, index, old, now, site);
    }

    // AtomicInteger.

    public static int get(AtomicInteger a, int site) {
        int v = a.get();
        read(a, 0, v, site);
        return v;
    }

    public static void set(AtomicInteger a, int v, int site) {
        a.set(v);
        wrote(a, 0, v, site);
    }

    public static void lazySet(AtomicInteger a, int v, int site) {
        a.lazySet(v);
        wrote(a, 0, v, site);
    }

    public static int getAndSet(AtomicInteger a, int v, int site) {
        int old = a.getAndSet(v);
        updated(a, 0, old, v, site);
        return old;
    }

    public static boolean compareAndSet(AtomicInteger a, int expected, int v, int site) {
        int old = a.get();
        boolean done = a.compareAndSet(expected, v);
        updatedOrFailed(done, a, 0, old, v, site);
        return done;
    }

    public static int getAndIncrement(AtomicInteger a, int site) {
        return add(a, 1, site, false);
    }

    public static int getAndDecrement(AtomicInteger a, int site) {
        return add(a, -1, site, false);
    }

    public static int incrementAndGet(AtomicInteger a, int site) {
        return add(a, 1, site, true);
    }

    public static int decrementAndGet(AtomicInteger a, int site) {
        return add(a, -1, site, true);
    }

    public static int getAndAdd(AtomicInteger a, int d, int site) {
        return add(a, d, site, false);
    }

    public static int addAndGet(AtomicInteger a, int d, int site) {
        return add(a, d, site, true);
    }

    private static int add(AtomicInteger a, int d, int site, boolean after) {
        int old = a.getAndAdd(d);
        updated(a, 0, old, old + d, site);
        return after ? (int) (old + d) : old;
    }

    public static int getAndUpdate(AtomicInteger a, IntUnaryOperator f, int site) {
        while (true) {
            int old = a.get();
            Lookups.begin(a, site);
            int now = f.applyAsInt(old);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, old, now, site);
                return old;
            }
        }
    }

    public static int updateAndGet(AtomicInteger a, IntUnaryOperator f, int site) {
        while (true) {
            int old = a.get();
            Lookups.begin(a, site);
            int now = f.applyAsInt(old);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, old, now, site);
                return now;
            }
        }
    }

    public static int getAndAccumulate(AtomicInteger a, int x, IntBinaryOperator f, int site) {
        while (true) {
            int old = a.get();
            Lookups.begin(a, site);
            int now = f.applyAsInt(old, x);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, old, now, site);
                return old;
            }
        }
    }

    public static int accumulateAndGet(AtomicInteger a, int x, IntBinaryOperator f, int site) {
        while (true) {
            int old = a.get();
            Lookups.begin(a, site);
            int now = f.applyAsInt(old, x);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, old, now, site);
                return now;
            }
        }
    }

    // AtomicLong.

    public static long get(AtomicLong a, int site) {
        long v = a.get();
        read(a, 0, v, site);
        return v;
    }

    public static void set(AtomicLong a, long v, int site) {
        a.set(v);
        wrote(a, 0, v, site);
    }

    public static void lazySet(AtomicLong a, long v, int site) {
        a.lazySet(v);
        wrote(a, 0, v, site);
    }

    public static long getAndSet(AtomicLong a, long v, int site) {
        long old = a.getAndSet(v);
        updated(a, 0, old, v, site);
        return old;
    }

    public static boolean compareAndSet(AtomicLong a, long expected, long v, int site) {
        long old = a.get();
        boolean done = a.compareAndSet(expected, v);
        updatedOrFailed(done, a, 0, old, v, site);
        return done;
    }

    public static long getAndIncrement(AtomicLong a, int site) {
        return add(a, 1, site, false);
    }

    public static long getAndDecrement(AtomicLong a, int site) {
        return add(a, -1, site, false);
    }

    public static long incrementAndGet(AtomicLong a, int site) {
        return add(a, 1, site, true);
    }

    public static long decrementAndGet(AtomicLong a, int site) {
        return add(a, -1, site, true);
    }

    public static long getAndAdd(AtomicLong a, long d, int site) {
        return add(a, d, site, false);
    }

    public static long addAndGet(AtomicLong a, long d, int site) {
        return add(a, d, site, true);
    }

    private static long add(AtomicLong a, long d, int site, boolean after) {
        long old = a.getAndAdd(d);
        updated(a, 0, old, old + d, site);
        return after ? (long) (old + d) : old;
    }

    public static long getAndUpdate(AtomicLong a, LongUnaryOperator f, int site) {
        while (true) {
            long old = a.get();
            Lookups.begin(a, site);
            long now = f.applyAsLong(old);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, old, now, site);
                return old;
            }
        }
    }

    public static long updateAndGet(AtomicLong a, LongUnaryOperator f, int site) {
        while (true) {
            long old = a.get();
            Lookups.begin(a, site);
            long now = f.applyAsLong(old);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, old, now, site);
                return now;
            }
        }
    }

    public static long getAndAccumulate(AtomicLong a, long x, LongBinaryOperator f, int site) {
        while (true) {
            long old = a.get();
            Lookups.begin(a, site);
            long now = f.applyAsLong(old, x);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, old, now, site);
                return old;
            }
        }
    }

    public static long accumulateAndGet(AtomicLong a, long x, LongBinaryOperator f, int site) {
        while (true) {
            long old = a.get();
            Lookups.begin(a, site);
            long now = f.applyAsLong(old, x);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, old, now, site);
                return now;
            }
        }
    }

    // AtomicBoolean.

    public static boolean get(AtomicBoolean a, int site) {
        boolean v = a.get();
        read(a, 0, v ? 1 : 0, site);
        return v;
    }

    public static void set(AtomicBoolean a, boolean v, int site) {
        a.set(v);
        wrote(a, 0, v ? 1 : 0, site);
    }

    public static void lazySet(AtomicBoolean a, boolean v, int site) {
        a.lazySet(v);
        wrote(a, 0, v ? 1 : 0, site);
    }

    public static boolean getAndSet(AtomicBoolean a, boolean v, int site) {
        boolean old = a.getAndSet(v);
        updated(a, 0, old ? 1 : 0, v ? 1 : 0, site);
        return old;
    }

    public static boolean compareAndSet(AtomicBoolean a, boolean expected, boolean v, int site) {
        boolean old = a.get();
        boolean done = a.compareAndSet(expected, v);
        updatedOrFailed(done, a, 0, old ? 1 : 0, v ? 1 : 0, site);
        return done;
    }

    // AtomicReference.

    public static <V> V get(AtomicReference<V> a, int site) {
        V v = a.get();
        read(a, 0, Hooks.reference(v), site);
        return v;
    }

    public static <V> void set(AtomicReference<V> a, V v, int site) {
        a.set(v);
        wrote(a, 0, Hooks.reference(v), site);
    }

    public static <V> void lazySet(AtomicReference<V> a, V v, int site) {
        a.lazySet(v);
        wrote(a, 0, Hooks.reference(v), site);
    }

    public static <V> V getAndSet(AtomicReference<V> a, V v, int site) {
        V old = a.getAndSet(v);
        updated(a, 0, Hooks.reference(old), Hooks.reference(v), site);
        return old;
    }

    public static <V> boolean compareAndSet(AtomicReference<V> a, V expected, V v, int site) {
        V old = a.get();
        boolean done = a.compareAndSet(expected, v);
        updatedOrFailed(done, a, 0, Hooks.reference(old), Hooks.reference(v), site);
        return done;
    }

    public static <V> V getAndUpdate(AtomicReference<V> a, UnaryOperator<V> f, int site) {
        while (true) {
            V old = a.get();
            Lookups.begin(a, site);
            V now = f.apply(old);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, Hooks.reference(old), Hooks.reference(now), site);
                return old;
            }
        }
    }

    public static <V> V updateAndGet(AtomicReference<V> a, UnaryOperator<V> f, int site) {
        while (true) {
            V old = a.get();
            Lookups.begin(a, site);
            V now = f.apply(old);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, Hooks.reference(old), Hooks.reference(now), site);
                return now;
            }
        }
    }

    public static <V> V getAndAccumulate(AtomicReference<V> a, V x, BinaryOperator<V> f, int site) {
        while (true) {
            V old = a.get();
            Lookups.begin(a, site);
            V now = f.apply(old, x);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, Hooks.reference(old), Hooks.reference(now), site);
                return old;
            }
        }
    }

    public static <V> V accumulateAndGet(AtomicReference<V> a, V x, BinaryOperator<V> f, int site) {
        while (true) {
            V old = a.get();
            Lookups.begin(a, site);
            V now = f.apply(old, x);
            Lookups.end();
            if (a.compareAndSet(old, now)) {
                updated(a, 0, Hooks.reference(old), Hooks.reference(now), site);
                return now;
            }
        }
    }

    // Compare-and-exchange.

    public static int compareAndExchange(AtomicInteger a, int expected, int v,
                                         int site) {
        while (true) {
            int old = a.get();
            if (old != expected) {
                event(Effect.FAILED_UPDATE, a, 0, old, 0, site);
                return old;
            }
            if (a.compareAndSet(expected, v)) {
                updated(a, 0, old, v, site);
                return old;
            }
        }
    }

    public static long compareAndExchange(AtomicLong a, long expected, long v,
                                         int site) {
        while (true) {
            long old = a.get();
            if (old != expected) {
                event(Effect.FAILED_UPDATE, a, 0, old, 0, site);
                return old;
            }
            if (a.compareAndSet(expected, v)) {
                updated(a, 0, old, v, site);
                return old;
            }
        }
    }

    public static boolean compareAndExchange(AtomicBoolean a, boolean expected, boolean v,
                                         int site) {
        while (true) {
            boolean old = a.get();
            if (old != expected) {
                event(Effect.FAILED_UPDATE, a, 0, old ? 1 : 0, 0, site);
                return old;
            }
            if (a.compareAndSet(expected, v)) {
                updated(a, 0, old ? 1 : 0, v ? 1 : 0, site);
                return old;
            }
        }
    }

    public static <V> V compareAndExchange(AtomicReference<V> a, V expected, V v,
                                         int site) {
        while (true) {
            V old = a.get();
            if (old != expected) {
                event(Effect.FAILED_UPDATE, a, 0, Hooks.reference(old), 0, site);
                return old;
            }
            if (a.compareAndSet(expected, v)) {
                updated(a, 0, Hooks.reference(old), Hooks.reference(v), site);
                return old;
            }
        }
    }

    // As numbers.

    public static int intValue(AtomicInteger a, int site) {
        return (int) get(a, site);
    }

    public static long longValue(AtomicInteger a, int site) {
        return (long) get(a, site);
    }

    public static int intValue(AtomicLong a, int site) {
        return (int) get(a, site);
    }

    public static long longValue(AtomicLong a, int site) {
        return (long) get(a, site);
    }
}
