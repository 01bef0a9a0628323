package foretell.rt;

import java.util.Date;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Replacements for the methods of locks and conditions, as in {@link Synchronizers}. A lock and the
 * monitor of the same object are two locks.
 */
public final class Locks {
    /** Classes with their replaced methods, each a name and a descriptor. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.locks.Lock", "lock()V", "lockInterruptibly()V", "tryLock()Z",
            "tryLock(JLjava/util/concurrent/TimeUnit;)Z", "unlock()V",
            "newCondition()Ljava/util/concurrent/locks/Condition;"},
        {"java.util.concurrent.locks.ReadWriteLock", "readLock()Ljava/util/concurrent/locks/Lock;",
            "writeLock()Ljava/util/concurrent/locks/Lock;"},
        {"java.util.concurrent.locks.ReentrantReadWriteLock",
            "readLock()Ljava/util/concurrent/locks/ReentrantReadWriteLock$ReadLock;",
            "writeLock()Ljava/util/concurrent/locks/ReentrantReadWriteLock$WriteLock;"},
        {"java.util.concurrent.locks.Condition", "await()V",
            "await(JLjava/util/concurrent/TimeUnit;)Z",
            "awaitNanos(J)J", "awaitUninterruptibly()V", "awaitUntil(Ljava/util/Date;)Z",
            "signal()V",
            "signalAll()V"},
    };

    /** Lock of a condition; reader-writer lock of a view. */
    private static final WeakHashMap<Condition, Lock> LOCK_OF = new WeakHashMap<Condition, Lock>();
    private static final WeakHashMap<Lock, Object> PARENT = new WeakHashMap<Lock, Object>();

    private Locks() {
    }

    /**
     * Whether this runtime models a call of a lock's method. The method of a recorded subclass is
     * not: it calls that of its superclass.
     */
    private static boolean isOurs(Lock l, String method) {
        return (l instanceof ReentrantLock || l instanceof ReentrantReadWriteLock.ReadLock
            || l instanceof ReentrantReadWriteLock.WriteLock) && !Overrides.has(l, method);
    }

    /** Number of times that the calling thread holds a lock. */
    static int holds(Lock l) {
        if (l instanceof ReentrantLock) {
            return ((ReentrantLock) l).getHoldCount();
        }
        if (l instanceof ReentrantReadWriteLock.WriteLock) {
            return ((ReentrantReadWriteLock.WriteLock) l).getHoldCount();
        }
        synchronized (PARENT) {
            Object parent = PARENT.get(l);
            return parent instanceof ReentrantReadWriteLock
                ? ((ReentrantReadWriteLock) parent).getReadHoldCount() : 1;
        }
    }

    /** Number of a lock, which is not that of the object's monitor. */
    private static long lockId(Lock l) {
        Object parent;
        synchronized (PARENT) {
            parent = PARENT.get(l);
        }
        return ObjectIds.of(parent == null ? l : parent) | Log.LOCK_OBJECT;
    }

    private static boolean reads(Lock l) {
        return l instanceof ReentrantReadWriteLock.ReadLock;
    }

    private static int lockKind(Lock l) {
        return reads(l) ? Kind.READ_LOCK : Kind.LOCK;
    }

    /**
     * Records that a lock was taken: the first time only, but each time for a shared lock or a
     * downgrade.
     */
    static void locked(Lock l, boolean tried, int site) {
        ThreadState t = Synchronizers.waitedThread();
        if (t == null || holds(l) != 1) {
            return;
        }
        if (Log.on) {
            int tag = tried ? reads(l) ? Log.TRY_READ_LOCK : Log.TRY_LOCK
                : reads(l) ? Log.READ_LOCK : Log.LOCK;
            Log.event(t, tag, site, lockId(l));
        }
        Hooks.step(t, lockKind(l), site);
    }

    /**
     * Records a try that failed. A reader's try for the writer side fails in every order, so it is
     * no event.
     */
    static void failed(Lock l, int site) {
        ThreadState t = Synchronizers.waitedThread();
        if (t == null || !reads(l) && readHolds(l) > 0) {
            return;
        }
        if (Log.on) {
            Log.event(t, reads(l) ? Log.TRY_READ_FAILED : Log.TRY_FAILED, site, lockId(l));
        }
        Hooks.step(t, lockKind(l), site);
    }

    /** Number of times that the calling thread holds the reader side of a lock. */
    private static int readHolds(Lock l) {
        synchronized (PARENT) {
            Object parent = PARENT.get(l);
            return parent instanceof ReentrantReadWriteLock
                ? ((ReentrantReadWriteLock) parent).getReadHoldCount() : 0;
        }
    }

    static void expect(Lock l, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t != null && holds(l) == 0) {
            Replay.expect(t, lockKind(l), site);
            Replay.takes(t, lockId(l));
        }
    }

    public static void lock(Lock l, int site) {
        if (StampedViews.has(l)) {
            StampedViews.lock(l, site);
            return;
        }
        if (!isOurs(l, "lock/0")) {
            long token = Hidden.call(l, null, null, null, site);
            l.lock();
            Hidden.returned(null, l, null, null, null, token, site);
            Hooks.afterCall();
            return;
        }
        expect(l, site);
        l.lock();
        locked(l, false, site);
    }

    public static void lockInterruptibly(Lock l, int site) throws InterruptedException {
        if (StampedViews.has(l)) {
            StampedViews.lockInterruptibly(l, site);
            return;
        }
        if (!isOurs(l, "lockInterruptibly/0")) {
            long token = Hidden.call(l, null, null, null, site);
            l.lockInterruptibly();
            Hidden.returned(null, l, null, null, null, token, site);
            Hooks.afterCall();
            return;
        }
        expect(l, site);
        try {
            l.lockInterruptibly();
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
        locked(l, false, site);
    }

    public static boolean tryLock(Lock l, int site) {
        if (StampedViews.has(l)) {
            return StampedViews.tryLock(l, site);
        }
        if (!isOurs(l, "tryLock/0")) {
            long token = Hidden.call(l, null, null, null, site);
            boolean taken = l.tryLock();
            Hidden.returned(null, l, null, null, null, token, site);
            Hooks.afterCall();
            return taken;
        }
        boolean taken = l.tryLock();
        tried(l, taken, site);
        return taken;
    }

    public static boolean tryLock(Lock l, long time, TimeUnit unit, int site)
                                  throws InterruptedException {
        if (StampedViews.has(l)) {
            return StampedViews.tryLock(l, time, unit, site);
        }
        boolean taken;
        if (!isOurs(l, "tryLock/2")) {
            long token = Hidden.call(l, null, null, null, site);
            taken = l.tryLock(time, unit);
            Hidden.returned(null, l, null, null, null, token, site);
            Hooks.afterCall();
            return taken;
        }
        Synchronizers.recordingThread();
        try {
            taken = l.tryLock(time, unit);
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
        tried(l, taken, site);
        return taken;
    }

    private static void tried(Lock l, boolean taken, int site) {
        if (taken) {
            locked(l, true, site);
        } else {
            failed(l, site);
        }
    }

    public static void unlock(Lock l, int site) {
        if (StampedViews.has(l)) {
            StampedViews.unlock(l, site);
            return;
        }
        if (!isOurs(l, "unlock/0")) {
            long token = Hidden.call(l, null, null, null, site);
            l.unlock();
            Hidden.returned(null, l, null, null, null, token, site);
            Hooks.afterCall();
            return;
        }
        boolean last = holds(l) == 1;
        try {
            l.unlock();
        } catch (IllegalMonitorStateException e) {
            throw Stacks.withoutRuntimeFrames(e);
        }
        unlocked(l, last, site);
    }

    static void unlocked(Lock l, boolean last, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null || !last) {
            return;
        }
        if (Log.on) {
            Log.event(t, reads(l) ? Log.READ_UNLOCK : Log.UNLOCK, site, lockId(l));
        }
        Hooks.step(t, Kind.UNLOCK, site);
    }

    public static Lock readLock(ReadWriteLock l, int site) {
        long token = hasViews(l) ? 0 : Hidden.call(l, null, null, null, site);
        Lock view = view(l, l.readLock());
        Hidden.returned(view, l, null, null, null, token, site);
        return view;
    }

    public static Lock writeLock(ReadWriteLock l, int site) {
        long token = hasViews(l) ? 0 : Hidden.call(l, null, null, null, site);
        Lock view = view(l, l.writeLock());
        Hidden.returned(view, l, null, null, null, token, site);
        return view;
    }

    /** Whether the views of a lock are modelled. */
    private static boolean hasViews(ReadWriteLock l) {
        return l instanceof ReentrantReadWriteLock || StampedViews.has(l);
    }

    public static ReentrantReadWriteLock.ReadLock readLock(ReentrantReadWriteLock l, int site) {
        return view(l, l.readLock());
    }

    public static ReentrantReadWriteLock.WriteLock writeLock(ReentrantReadWriteLock l, int site) {
        return view(l, l.writeLock());
    }

    private static <L extends Lock> L view(Object parent, L view) {
        if (parent instanceof ReentrantReadWriteLock) {
            viewOf(view, parent);
        }
        return view;
    }

    /** Records the reader-writer lock of a view; its constructor calls this. */
    public static void viewOf(Object view, Object parent) {
        synchronized (PARENT) {
            PARENT.put((Lock) view, parent);
        }
    }

    // Conditions.

    public static Condition newCondition(Lock l, int site) {
        if (!isOurs(l, "newCondition/0")) {
            long token = Hidden.call(l, null, null, null, site);
            Condition c = l.newCondition();
            Hidden.returned(c, l, null, null, null, token, site);
            return c;
        }
        Condition c = l.newCondition();
        if (Hooks.recordedThread() != null) {
            synchronized (LOCK_OF) {
                LOCK_OF.put(c, l);
            }
        }
        return c;
    }

    private static Lock lockOf(Condition c) {
        synchronized (LOCK_OF) {
            return LOCK_OF.get(c);
        }
    }

    /** Records the start of a wait. Returns null if the wait is not recorded. */
    private static Monitor waits(Condition c, int site) {
        ThreadState t = Synchronizers.recordingThread();
        Lock l = t == null ? null : lockOf(c);
        if (l == null || holds(l) == 0) {
            return null;
        }
        if (Log.on) {
            Log.event(t, Log.WAIT, site, ObjectIds.of(c), lockId(l));
        }
        Monitor m = ObjectIds.monitor(c);
        m.waitSet.add(t);
        t.notified = false;
        Scheduler.stepBeforeBlocking(t, Kind.WAIT, site);
        return m;
    }

    /** Records the end of a wait, when the thread has the lock again. */
    private static void waited(Condition c, Monitor m, int site) {
        ThreadState t = Hooks.recordedThread();
        if (m == null || t == null) {
            // The condition of a lock that is not modelled.
            Hidden.call(c, null, null, null, site);
            return;
        }
        t.unexplainedWait = false;
        boolean notified = t.notified;
        if (!notified) {
            m.waitSet.remove(t);
        }
        if (Log.on) {
            Log.event(t, notified ? Log.WOKEN : Log.TIMED_OUT, site, ObjectIds.of(c),
                lockId(lockOf(c)));
        }
        Hooks.step(t, notified ? Kind.WOKEN : Kind.TIMED_OUT, site);
    }

    public static void await(Condition c, int site) throws InterruptedException {
        Monitor m = waits(c, site);
        try {
            c.await();
        } catch (InterruptedException e) {
            waited(c, m, site);
            throw Synchronizers.interrupted(e, site);
        }
        waited(c, m, site);
    }

    public static boolean await(Condition c, long time, TimeUnit unit, int site)
                                throws InterruptedException {
        Monitor m = waits(c, site);
        boolean inTime;
        try {
            inTime = c.await(time, unit);
        } catch (InterruptedException e) {
            waited(c, m, site);
            throw Synchronizers.interrupted(e, site);
        }
        waited(c, m, site);
        return inTime;
    }

    public static long awaitNanos(Condition c, long nanos, int site) throws InterruptedException {
        Monitor m = waits(c, site);
        long left;
        try {
            left = c.awaitNanos(nanos);
        } catch (InterruptedException e) {
            waited(c, m, site);
            throw Synchronizers.interrupted(e, site);
        }
        waited(c, m, site);
        return left;
    }

    public static void awaitUninterruptibly(Condition c, int site) {
        Monitor m = waits(c, site);
        c.awaitUninterruptibly();
        waited(c, m, site);
    }

    public static boolean awaitUntil(Condition c, Date deadline, int site)
                                     throws InterruptedException {
        Monitor m = waits(c, site);
        boolean inTime;
        try {
            inTime = c.awaitUntil(deadline);
        } catch (InterruptedException e) {
            waited(c, m, site);
            throw Synchronizers.interrupted(e, site);
        }
        waited(c, m, site);
        return inTime;
    }

    public static void signal(Condition c, int site) {
        c.signal();
        signalled(c, site, false);
    }

    public static void signalAll(Condition c, int site) {
        c.signalAll();
        signalled(c, site, true);
    }

    private static void signalled(Condition c, int site, boolean all) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        if (lockOf(c) == null) {
            Hidden.call(c, null, null, null, site);
            return;
        }
        // The real queue is in the order of arrival, as this one.
        Monitor m = ObjectIds.monitor(c);
        while (!m.waitSet.isEmpty()) {
            m.waitSet.remove(0).notified = true;
            if (!all) {
                break;
            }
        }
        if (Log.on) {
            Log.event(t, all ? Log.NOTIFY_ALL : Log.NOTIFY, site, ObjectIds.of(c));
        }
        Hooks.step(t, all ? Kind.BROADCAST : Kind.SIGNAL, site);
    }
}
