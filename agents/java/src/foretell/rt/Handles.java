package foretell.rt;

import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/**
 * Fields and elements by way of handles and updaters. What a handle stands for is noted when it is made; its accesses are then
 * those of the field. The methods of a handle have any types: the rewritten class calls them itself and says here what
 * came of it. A handle is an object here, since Java 8 has none.
 */
public final class Handles {
    /** What the rewriter goes by, see {@link Juc#METHODS}. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.atomic.AtomicIntegerFieldUpdater", "get(Ljava/lang/Object;)I",
            "set(Ljava/lang/Object;I)V", "lazySet(Ljava/lang/Object;I)V", "getAndSet(Ljava/lang/Object;I)I",
            "compareAndSet(Ljava/lang/Object;II)Z", "weakCompareAndSet(Ljava/lang/Object;II)Z",
            "getAndIncrement(Ljava/lang/Object;)I", "getAndDecrement(Ljava/lang/Object;)I",
            "incrementAndGet(Ljava/lang/Object;)I", "decrementAndGet(Ljava/lang/Object;)I",
            "getAndAdd(Ljava/lang/Object;I)I", "addAndGet(Ljava/lang/Object;I)I"},
        {"java.util.concurrent.atomic.AtomicLongFieldUpdater", "get(Ljava/lang/Object;)J",
            "set(Ljava/lang/Object;J)V", "lazySet(Ljava/lang/Object;J)V", "getAndSet(Ljava/lang/Object;J)J",
            "compareAndSet(Ljava/lang/Object;JJ)Z", "weakCompareAndSet(Ljava/lang/Object;JJ)Z",
            "getAndIncrement(Ljava/lang/Object;)J", "getAndDecrement(Ljava/lang/Object;)J",
            "incrementAndGet(Ljava/lang/Object;)J", "decrementAndGet(Ljava/lang/Object;)J",
            "getAndAdd(Ljava/lang/Object;J)J", "addAndGet(Ljava/lang/Object;J)J"},
        {"java.util.concurrent.atomic.AtomicReferenceFieldUpdater", "get(Ljava/lang/Object;)Ljava/lang/Object;",
            "set(Ljava/lang/Object;Ljava/lang/Object;)V", "lazySet(Ljava/lang/Object;Ljava/lang/Object;)V",
            "getAndSet(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
            "compareAndSet(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)Z",
            "weakCompareAndSet(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)Z"},
    };

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

    // AtomicIntegerFieldUpdater.

    public static <T> int get(AtomicIntegerFieldUpdater<T> u, T o, int site) {
        int v = u.get(o);
        read(u, o, -1, v, site);
        return v;
    }

    public static <T> void set(AtomicIntegerFieldUpdater<T> u, T o, int v, int site) {
        u.set(o, v);
        wrote(u, o, -1, v, site);
    }

    public static <T> void lazySet(AtomicIntegerFieldUpdater<T> u, T o, int v, int site) {
        u.lazySet(o, v);
        wrote(u, o, -1, v, site);
    }

    public static <T> int getAndSet(AtomicIntegerFieldUpdater<T> u, T o, int v, int site) {
        int old = u.getAndSet(o, v);
        updated(u, o, -1, old, v, site);
        return old;
    }

    public static <T> boolean compareAndSet(AtomicIntegerFieldUpdater<T> u, T o, int expected, int v, int site) {
        int old = u.get(o);
        boolean done = u.compareAndSet(o, expected, v);
        updated(u, o, -1, old, done ? v : old, site);
        return done;
    }

    public static <T> boolean weakCompareAndSet(AtomicIntegerFieldUpdater<T> u, T o, int expected, int v, int site) {
        int old = u.get(o);
        boolean done = u.compareAndSet(o, expected, v);
        updated(u, o, -1, old, done ? v : old, site);
        return done;
    }

    private static <T> int add(AtomicIntegerFieldUpdater<T> u, T o, int d, int site, boolean after) {
        int old = u.getAndAdd(o, d);
        updated(u, o, -1, old, old + d, site);
        return after ? (int) (old + d) : old;
    }

    public static <T> int getAndIncrement(AtomicIntegerFieldUpdater<T> u, T o, int site) {
        return add(u, o, 1, site, false);
    }

    public static <T> int getAndDecrement(AtomicIntegerFieldUpdater<T> u, T o, int site) {
        return add(u, o, -1, site, false);
    }

    public static <T> int incrementAndGet(AtomicIntegerFieldUpdater<T> u, T o, int site) {
        return add(u, o, 1, site, true);
    }

    public static <T> int decrementAndGet(AtomicIntegerFieldUpdater<T> u, T o, int site) {
        return add(u, o, -1, site, true);
    }

    public static <T> int getAndAdd(AtomicIntegerFieldUpdater<T> u, T o, int d, int site) {
        return add(u, o, d, site, false);
    }

    public static <T> int addAndGet(AtomicIntegerFieldUpdater<T> u, T o, int d, int site) {
        return add(u, o, d, site, true);
    }

    // AtomicLongFieldUpdater.

    public static <T> long get(AtomicLongFieldUpdater<T> u, T o, int site) {
        long v = u.get(o);
        read(u, o, -1, v, site);
        return v;
    }

    public static <T> void set(AtomicLongFieldUpdater<T> u, T o, long v, int site) {
        u.set(o, v);
        wrote(u, o, -1, v, site);
    }

    public static <T> void lazySet(AtomicLongFieldUpdater<T> u, T o, long v, int site) {
        u.lazySet(o, v);
        wrote(u, o, -1, v, site);
    }

    public static <T> long getAndSet(AtomicLongFieldUpdater<T> u, T o, long v, int site) {
        long old = u.getAndSet(o, v);
        updated(u, o, -1, old, v, site);
        return old;
    }

    public static <T> boolean compareAndSet(AtomicLongFieldUpdater<T> u, T o, long expected, long v, int site) {
        long old = u.get(o);
        boolean done = u.compareAndSet(o, expected, v);
        updated(u, o, -1, old, done ? v : old, site);
        return done;
    }

    public static <T> boolean weakCompareAndSet(AtomicLongFieldUpdater<T> u, T o, long expected, long v, int site) {
        long old = u.get(o);
        boolean done = u.compareAndSet(o, expected, v);
        updated(u, o, -1, old, done ? v : old, site);
        return done;
    }

    private static <T> long add(AtomicLongFieldUpdater<T> u, T o, long d, int site, boolean after) {
        long old = u.getAndAdd(o, d);
        updated(u, o, -1, old, old + d, site);
        return after ? (long) (old + d) : old;
    }

    public static <T> long getAndIncrement(AtomicLongFieldUpdater<T> u, T o, int site) {
        return add(u, o, 1, site, false);
    }

    public static <T> long getAndDecrement(AtomicLongFieldUpdater<T> u, T o, int site) {
        return add(u, o, -1, site, false);
    }

    public static <T> long incrementAndGet(AtomicLongFieldUpdater<T> u, T o, int site) {
        return add(u, o, 1, site, true);
    }

    public static <T> long decrementAndGet(AtomicLongFieldUpdater<T> u, T o, int site) {
        return add(u, o, -1, site, true);
    }

    public static <T> long getAndAdd(AtomicLongFieldUpdater<T> u, T o, long d, int site) {
        return add(u, o, d, site, false);
    }

    public static <T> long addAndGet(AtomicLongFieldUpdater<T> u, T o, long d, int site) {
        return add(u, o, d, site, true);
    }

    // AtomicReferenceFieldUpdater.

    public static <T, V> V get(AtomicReferenceFieldUpdater<T, V> u, T o, int site) {
        V v = u.get(o);
        read(u, o, -1, value(v), site);
        return v;
    }

    public static <T, V> void set(AtomicReferenceFieldUpdater<T, V> u, T o, V v, int site) {
        u.set(o, v);
        wrote(u, o, -1, value(v), site);
    }

    public static <T, V> void lazySet(AtomicReferenceFieldUpdater<T, V> u, T o, V v, int site) {
        u.lazySet(o, v);
        wrote(u, o, -1, value(v), site);
    }

    public static <T, V> V getAndSet(AtomicReferenceFieldUpdater<T, V> u, T o, V v, int site) {
        V old = u.getAndSet(o, v);
        updated(u, o, -1, value(old), value(v), site);
        return old;
    }

    public static <T, V> boolean compareAndSet(AtomicReferenceFieldUpdater<T, V> u, T o, V expected, V v, int site) {
        V old = u.get(o);
        boolean done = u.compareAndSet(o, expected, v);
        updated(u, o, -1, value(old), done ? value(v) : value(old), site);
        return done;
    }

    public static <T, V> boolean weakCompareAndSet(AtomicReferenceFieldUpdater<T, V> u, T o, V expected, V v, int site) {
        V old = u.get(o);
        boolean done = u.compareAndSet(o, expected, v);
        updated(u, o, -1, value(old), done ? value(v) : value(old), site);
        return done;
    }
}
