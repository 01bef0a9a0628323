package foretell.rt;

import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** Views of a StampedLock as other locks: they take and give back its sides. */
public final class StampedViews {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.locks.StampedLock", "asReadLock()Ljava/util/concurrent/locks/Lock;",
            "asWriteLock()Ljava/util/concurrent/locks/Lock;",
            "asReadWriteLock()Ljava/util/concurrent/locks/ReadWriteLock;"},
    };

    /** Lock of which an object is a view, and whether it is one of the reader side. */
    private static final class View {
        final StampedLock lock;
        final boolean reads;

        View(StampedLock lock, boolean reads) {
            this.lock = lock;
            this.reads = reads;
        }
    }

    private static final Map<Object, View> VIEWS = new WeakHashMap<Object, View>();

    private StampedViews() {
    }

    private static <V> V add(StampedLock l, V view, boolean reads) {
        synchronized (VIEWS) {
            if (!VIEWS.containsKey(view)) {
                VIEWS.put(view, new View(l, reads));
            }
        }
        return view;
    }

    private static View view(Object lock) {
        synchronized (VIEWS) {
            return VIEWS.get(lock);
        }
    }

    /** Whether an object is a known view of a StampedLock. */
    static boolean has(Object lock) {
        return !VIEWS.isEmpty() && view(lock) != null;
    }

    public static Lock asReadLock(StampedLock l, int site) {
        return add(l, l.asReadLock(), true);
    }

    public static Lock asWriteLock(StampedLock l, int site) {
        return add(l, l.asWriteLock(), false);
    }

    public static ReadWriteLock asReadWriteLock(StampedLock l, int site) {
        add(l, l.asReadLock(), true);
        add(l, l.asWriteLock(), false);
        return add(l, l.asReadWriteLock(), false);
    }

    static void lock(Lock l, int site) {
        View v = view(l);
        StampedLocks.expect(v.lock, v.reads ? Kind.READ_LOCK : Kind.LOCK, site);
        l.lock();
        StampedLocks.taken(v.lock, v.reads, false, 1, site);
    }

    static void lockInterruptibly(Lock l, int site) throws InterruptedException {
        View v = view(l);
        StampedLocks.expect(v.lock, v.reads ? Kind.READ_LOCK : Kind.LOCK, site);
        try {
            l.lockInterruptibly();
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
        StampedLocks.taken(v.lock, v.reads, false, 1, site);
    }

    static boolean tryLock(Lock l, int site) {
        View v = view(l);
        boolean taken = l.tryLock();
        StampedLocks.taken(v.lock, v.reads, true, taken ? 1 : 0, site);
        return taken;
    }

    static boolean tryLock(Lock l, long time, TimeUnit unit, int site)
                           throws InterruptedException {
        View v = view(l);
        Synchronizers.recordingThread();
        try {
            boolean taken = l.tryLock(time, unit);
            StampedLocks.taken(v.lock, v.reads, true, taken ? 1 : 0, site);
            return taken;
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
    }

    static void unlock(Lock l, int site) {
        View v = view(l);
        try {
            l.unlock();
        } catch (IllegalMonitorStateException e) {
            throw Stacks.withoutRuntimeFrames(e);
        }
        StampedLocks.released(v.lock, v.reads, site);
    }
}
