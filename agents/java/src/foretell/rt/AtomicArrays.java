package foretell.rt;

import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BinaryOperator;
import java.util.function.IntBinaryOperator;
import java.util.function.IntUnaryOperator;
import java.util.function.LongBinaryOperator;
import java.util.function.LongUnaryOperator;
import java.util.function.UnaryOperator;

/**
 * Replacements for the methods of the arrays of java.util.concurrent.atomic; see {@link Atomics}.
 */
public final class AtomicArrays {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.atomic.AtomicIntegerArray", "get(I)I", "set(II)V", "lazySet(II)V",
            "getAndSet(II)I", "compareAndSet(III)Z", "weakCompareAndSet(III)Z",
            "getAndIncrement(I)I",
            "getAndDecrement(I)I", "incrementAndGet(I)I", "decrementAndGet(I)I", "getAndAdd(II)I",
            "addAndGet(II)I", "getAndUpdate(ILjava/util/function/IntUnaryOperator;)I",
            "updateAndGet(ILjava/util/function/IntUnaryOperator;)I",
            "getAndAccumulate(IILjava/util/function/IntBinaryOperator;)I",
            "accumulateAndGet(IILjava/util/function/IntBinaryOperator;)I"},
        {"java.util.concurrent.atomic.AtomicLongArray", "get(I)J", "set(IJ)V", "lazySet(IJ)V",
            "getAndSet(IJ)J",
            "compareAndSet(IJJ)Z", "weakCompareAndSet(IJJ)Z", "getAndIncrement(I)J",
            "getAndDecrement(I)J",
            "incrementAndGet(I)J", "decrementAndGet(I)J", "getAndAdd(IJ)J", "addAndGet(IJ)J",
            "getAndUpdate(ILjava/util/function/LongUnaryOperator;)J",
            "updateAndGet(ILjava/util/function/LongUnaryOperator;)J",
            "getAndAccumulate(IJLjava/util/function/LongBinaryOperator;)J",
            "accumulateAndGet(IJLjava/util/function/LongBinaryOperator;)J"},
        {"java.util.concurrent.atomic.AtomicReferenceArray", "get(I)Ljava/lang/Object;",
            "set(ILjava/lang/Object;)V", "lazySet(ILjava/lang/Object;)V",
            "getAndSet(ILjava/lang/Object;)Ljava/lang/Object;",
            "compareAndSet(ILjava/lang/Object;Ljava/lang/Object;)Z",
            "weakCompareAndSet(ILjava/lang/Object;Ljava/lang/Object;)Z",
            "getAndUpdate(ILjava/util/function/UnaryOperator;)Ljava/lang/Object;",
            "updateAndGet(ILjava/util/function/UnaryOperator;)Ljava/lang/Object;",
            "getAndAccumulate(ILjava/lang/Object;Ljava/util/function/BinaryOperator;)Ljava/lang/Object;",
            "accumulateAndGet(ILjava/lang/Object;Ljava/util/function/BinaryOperator;)Ljava/lang/Object;"},
    };

    private AtomicArrays() {
    }

    // AtomicIntegerArray.

    public static int get(AtomicIntegerArray a, int i, int site) {
        int v = a.get(i);
        Atomics.read(a, i + 1, v, site);
        return v;
    }

    public static void set(AtomicIntegerArray a, int i, int v, int site) {
        a.set(i, v);
        Atomics.wrote(a, i + 1, v, site);
    }

    public static void lazySet(AtomicIntegerArray a, int i, int v, int site) {
        a.lazySet(i, v);
        Atomics.wrote(a, i + 1, v, site);
    }

    public static int getAndSet(AtomicIntegerArray a, int i, int v, int site) {
        int old = a.getAndSet(i, v);
        Atomics.updated(a, i + 1, old, v, site);
        return old;
    }

    public static boolean compareAndSet(AtomicIntegerArray a, int i, int expected, int v,
                                        int site) {
        int old = a.get(i);
        boolean done = a.compareAndSet(i, expected, v);
        Atomics.updatedOrFailed(done, a, i + 1, old, v, site);
        return done;
    }

    public static int getAndIncrement(AtomicIntegerArray a, int i, int site) {
        return add(a, i, 1, site, false);
    }

    public static int getAndDecrement(AtomicIntegerArray a, int i, int site) {
        return add(a, i, -1, site, false);
    }

    public static int incrementAndGet(AtomicIntegerArray a, int i, int site) {
        return add(a, i, 1, site, true);
    }

    public static int decrementAndGet(AtomicIntegerArray a, int i, int site) {
        return add(a, i, -1, site, true);
    }

    public static int getAndAdd(AtomicIntegerArray a, int i, int d, int site) {
        return add(a, i, d, site, false);
    }

    public static int addAndGet(AtomicIntegerArray a, int i, int d, int site) {
        return add(a, i, d, site, true);
    }

    private static int add(AtomicIntegerArray a, int i, int d, int site, boolean after) {
        int old = a.getAndAdd(i, d);
        Atomics.updated(a, i + 1, old, old + d, site);
        return after ? (int) (old + d) : old;
    }

    public static int getAndUpdate(AtomicIntegerArray a, int i, IntUnaryOperator f, int site) {
        while (true) {
            int old = a.get(i);
            Lookups.begin(a, site);
            int now = f.applyAsInt(old);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, old, now, site);
                return old;
            }
        }
    }

    public static int updateAndGet(AtomicIntegerArray a, int i, IntUnaryOperator f, int site) {
        while (true) {
            int old = a.get(i);
            Lookups.begin(a, site);
            int now = f.applyAsInt(old);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, old, now, site);
                return now;
            }
        }
    }

    public static int getAndAccumulate(AtomicIntegerArray a, int i, int x, IntBinaryOperator f,
                                       int site) {
        while (true) {
            int old = a.get(i);
            Lookups.begin(a, site);
            int now = f.applyAsInt(old, x);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, old, now, site);
                return old;
            }
        }
    }

    public static int accumulateAndGet(AtomicIntegerArray a, int i, int x, IntBinaryOperator f,
                                       int site) {
        while (true) {
            int old = a.get(i);
            Lookups.begin(a, site);
            int now = f.applyAsInt(old, x);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, old, now, site);
                return now;
            }
        }
    }

    // AtomicLongArray.

    public static long get(AtomicLongArray a, int i, int site) {
        long v = a.get(i);
        Atomics.read(a, i + 1, v, site);
        return v;
    }

    public static void set(AtomicLongArray a, int i, long v, int site) {
        a.set(i, v);
        Atomics.wrote(a, i + 1, v, site);
    }

    public static void lazySet(AtomicLongArray a, int i, long v, int site) {
        a.lazySet(i, v);
        Atomics.wrote(a, i + 1, v, site);
    }

    public static long getAndSet(AtomicLongArray a, int i, long v, int site) {
        long old = a.getAndSet(i, v);
        Atomics.updated(a, i + 1, old, v, site);
        return old;
    }

    public static boolean compareAndSet(AtomicLongArray a, int i, long expected, long v, int site) {
        long old = a.get(i);
        boolean done = a.compareAndSet(i, expected, v);
        Atomics.updatedOrFailed(done, a, i + 1, old, v, site);
        return done;
    }

    public static long getAndIncrement(AtomicLongArray a, int i, int site) {
        return add(a, i, 1, site, false);
    }

    public static long getAndDecrement(AtomicLongArray a, int i, int site) {
        return add(a, i, -1, site, false);
    }

    public static long incrementAndGet(AtomicLongArray a, int i, int site) {
        return add(a, i, 1, site, true);
    }

    public static long decrementAndGet(AtomicLongArray a, int i, int site) {
        return add(a, i, -1, site, true);
    }

    public static long getAndAdd(AtomicLongArray a, int i, long d, int site) {
        return add(a, i, d, site, false);
    }

    public static long addAndGet(AtomicLongArray a, int i, long d, int site) {
        return add(a, i, d, site, true);
    }

    private static long add(AtomicLongArray a, int i, long d, int site, boolean after) {
        long old = a.getAndAdd(i, d);
        Atomics.updated(a, i + 1, old, old + d, site);
        return after ? (long) (old + d) : old;
    }

    public static long getAndUpdate(AtomicLongArray a, int i, LongUnaryOperator f, int site) {
        while (true) {
            long old = a.get(i);
            Lookups.begin(a, site);
            long now = f.applyAsLong(old);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, old, now, site);
                return old;
            }
        }
    }

    public static long updateAndGet(AtomicLongArray a, int i, LongUnaryOperator f, int site) {
        while (true) {
            long old = a.get(i);
            Lookups.begin(a, site);
            long now = f.applyAsLong(old);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, old, now, site);
                return now;
            }
        }
    }

    public static long getAndAccumulate(AtomicLongArray a, int i, long x, LongBinaryOperator f,
                                        int site) {
        while (true) {
            long old = a.get(i);
            Lookups.begin(a, site);
            long now = f.applyAsLong(old, x);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, old, now, site);
                return old;
            }
        }
    }

    public static long accumulateAndGet(AtomicLongArray a, int i, long x, LongBinaryOperator f,
                                        int site) {
        while (true) {
            long old = a.get(i);
            Lookups.begin(a, site);
            long now = f.applyAsLong(old, x);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, old, now, site);
                return now;
            }
        }
    }

    // AtomicReferenceArray.

    public static <V> V get(AtomicReferenceArray<V> a, int i, int site) {
        V v = a.get(i);
        Atomics.read(a, i + 1, Hooks.reference(v), site);
        return v;
    }

    public static <V> void set(AtomicReferenceArray<V> a, int i, V v, int site) {
        a.set(i, v);
        Atomics.wrote(a, i + 1, Hooks.reference(v), site);
    }

    public static <V> void lazySet(AtomicReferenceArray<V> a, int i, V v, int site) {
        a.lazySet(i, v);
        Atomics.wrote(a, i + 1, Hooks.reference(v), site);
    }

    public static <V> V getAndSet(AtomicReferenceArray<V> a, int i, V v, int site) {
        V old = a.getAndSet(i, v);
        Atomics.updated(a, i + 1, Hooks.reference(old), Hooks.reference(v), site);
        return old;
    }

    public static <V> boolean compareAndSet(AtomicReferenceArray<V> a, int i, V expected, V v,
                                            int site) {
        V old = a.get(i);
        boolean done = a.compareAndSet(i, expected, v);
        Atomics.updatedOrFailed(done, a, i + 1, Hooks.reference(old), Hooks.reference(v), site);
        return done;
    }

    public static <V> V getAndUpdate(AtomicReferenceArray<V> a, int i, UnaryOperator<V> f,
                                     int site) {
        while (true) {
            V old = a.get(i);
            Lookups.begin(a, site);
            V now = f.apply(old);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, Hooks.reference(old), Hooks.reference(now), site);
                return old;
            }
        }
    }

    public static <V> V updateAndGet(AtomicReferenceArray<V> a, int i, UnaryOperator<V> f,
                                     int site) {
        while (true) {
            V old = a.get(i);
            Lookups.begin(a, site);
            V now = f.apply(old);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, Hooks.reference(old), Hooks.reference(now), site);
                return now;
            }
        }
    }

    public static <V> V getAndAccumulate(AtomicReferenceArray<V> a, int i, V x, BinaryOperator<V> f, int site) {
        while (true) {
            V old = a.get(i);
            Lookups.begin(a, site);
            V now = f.apply(old, x);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, Hooks.reference(old), Hooks.reference(now), site);
                return old;
            }
        }
    }

    public static <V> V accumulateAndGet(AtomicReferenceArray<V> a, int i, V x, BinaryOperator<V> f, int site) {
        while (true) {
            V old = a.get(i);
            Lookups.begin(a, site);
            V now = f.apply(old, x);
            Lookups.end();
            if (a.compareAndSet(i, old, now)) {
                Atomics.updated(a, i + 1, Hooks.reference(old), Hooks.reference(now), site);
                return now;
            }
        }
    }

    // Compare-and-exchange.

    public static int compareAndExchange(AtomicIntegerArray a, int i, int expected, int v,
                                         int site) {
        while (true) {
            int old = a.get(i);
            if (old != expected) {
                Atomics.event(Effect.FAILED_UPDATE, a, i + 1, old, 0, site);
                return old;
            }
            if (a.compareAndSet(i, expected, v)) {
                Atomics.updated(a, i + 1, old, v, site);
                return old;
            }
        }
    }

    public static long compareAndExchange(AtomicLongArray a, int i, long expected, long v,
                                         int site) {
        while (true) {
            long old = a.get(i);
            if (old != expected) {
                Atomics.event(Effect.FAILED_UPDATE, a, i + 1, old, 0, site);
                return old;
            }
            if (a.compareAndSet(i, expected, v)) {
                Atomics.updated(a, i + 1, old, v, site);
                return old;
            }
        }
    }

    public static <V> V compareAndExchange(AtomicReferenceArray<V> a, int i, V expected, V v,
                                         int site) {
        while (true) {
            V old = a.get(i);
            if (old != expected) {
                Atomics.event(Effect.FAILED_UPDATE, a, i + 1, Hooks.reference(old), 0, site);
                return old;
            }
            if (a.compareAndSet(i, expected, v)) {
                Atomics.updated(a, i + 1, Hooks.reference(old), Hooks.reference(v), site);
                return old;
            }
        }
    }
}
