package foretell.rt;

import java.util.Date;
import java.util.WeakHashMap;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Replacements for the methods of locks, conditions, semaphores, latches and barriers, with the
 * receiver first and the site last. Each makes the real call, which blocks in LockSupport and so
 * gives up the baton, and then records the effect. {@link #METHODS} tells the rewriter which
 * methods are replaced.
 */
public final class Synchronizers {
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
        {"java.util.concurrent.Semaphore", "acquire()V", "acquire(I)V", "acquireUninterruptibly()V",
            "acquireUninterruptibly(I)V", "tryAcquire()Z", "tryAcquire(I)Z",
            "tryAcquire(JLjava/util/concurrent/TimeUnit;)Z",
            "tryAcquire(IJLjava/util/concurrent/TimeUnit;)Z",
            "release()V", "release(I)V", "drainPermits()I"},
        {"java.util.concurrent.CountDownLatch", "await()V",
            "await(JLjava/util/concurrent/TimeUnit;)Z",
            "countDown()V"},
        {"java.util.concurrent.CyclicBarrier", "await()I",
            "await(JLjava/util/concurrent/TimeUnit;)I"},
        {"java.util.concurrent.TimeUnit", "sleep(J)V"},
    };

    /** Lock of a condition; reader-writer lock of a view. */
    private static final WeakHashMap<Condition, Lock> LOCK_OF = new WeakHashMap<Condition, Lock>();
    private static final WeakHashMap<Lock, Object> PARENT = new WeakHashMap<Lock, Object>();

    private Synchronizers() {
    }

    /** Returns the calling thread, or null if its actions are not recorded. */
    static ThreadState recordingThread() {
        ThreadState t = Hooks.recordedThread();
        if (t == null || t.unrecordedDepth != 0) {
            return null;
        }
        // The trace has the operation for which the thread has waited.
        t.unexplainedWait = false;
        return t;
    }

    // Locks.

    /**
     * Whether this runtime models a call of a lock's method. The method of a recorded subclass is
     * not: it calls that of its superclass.
     */
    private static boolean isOurs(Lock l, String method) {
        return (l instanceof ReentrantLock || l instanceof ReentrantReadWriteLock.ReadLock
            || l instanceof ReentrantReadWriteLock.WriteLock) && !Overrides.has(l, method);
    }

    /** Number of times that the calling thread holds a lock. */
    private static int holds(Lock l) {
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
    private static void locked(Lock l, boolean tried, int site) {
        ThreadState t = recordingThread();
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
    private static void failed(Lock l, int site) {
        ThreadState t = recordingThread();
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

    private static void expect(Lock l, int site) {
        ThreadState t = recordingThread();
        if (t != null && holds(l) == 0) {
            Replay.expect(t, lockKind(l), site);
            if (Scheduler.schedule != null) {
                Replay.takes(t, lockId(l));
            }
        }
    }

    public static void lock(Lock l, int site) {
        if (!isOurs(l, "lock/0")) {
            l.lock();
            Hooks.afterCall();
            return;
        }
        expect(l, site);
        l.lock();
        locked(l, false, site);
    }

    public static void lockInterruptibly(Lock l, int site) throws InterruptedException {
        if (!isOurs(l, "lockInterruptibly/0")) {
            l.lockInterruptibly();
            Hooks.afterCall();
            return;
        }
        expect(l, site);
        try {
            l.lockInterruptibly();
        } catch (InterruptedException e) {
            throw interrupted(e, site);
        }
        locked(l, false, site);
    }

    public static boolean tryLock(Lock l, int site) {
        boolean taken = l.tryLock();
        tried(l, "tryLock/0", taken, site);
        return taken;
    }

    public static boolean tryLock(Lock l, long time, TimeUnit unit, int site)
                                  throws InterruptedException {
        boolean taken;
        try {
            taken = l.tryLock(time, unit);
        } catch (InterruptedException e) {
            throw interrupted(e, site);
        }
        tried(l, "tryLock/2", taken, site);
        return taken;
    }

    private static void tried(Lock l, String method, boolean taken, int site) {
        if (!isOurs(l, method)) {
            Hooks.afterCall();
        } else if (taken) {
            locked(l, true, site);
        } else {
            failed(l, site);
        }
    }

    public static void unlock(Lock l, int site) {
        if (!isOurs(l, "unlock/0")) {
            l.unlock();
            Hooks.afterCall();
            return;
        }
        boolean last = holds(l) == 1;
        try {
            l.unlock();
        } catch (IllegalMonitorStateException e) {
            throw Hooks.withoutRuntimeFrames(e);
        }
        unlocked(l, last, site);
    }

    private static void unlocked(Lock l, boolean last, int site) {
        ThreadState t = recordingThread();
        if (t == null || !last) {
            return;
        }
        if (Log.on) {
            Log.event(t, reads(l) ? Log.READ_UNLOCK : Log.UNLOCK, site, lockId(l));
        }
        Hooks.step(t, Kind.UNLOCK, site);
    }

    public static Lock readLock(ReadWriteLock l, int site) {
        return view(l, l.readLock());
    }

    public static Lock writeLock(ReadWriteLock l, int site) {
        return view(l, l.writeLock());
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
        Condition c = l.newCondition();
        if (isOurs(l, "") && Hooks.recordedThread() != null) {
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
        ThreadState t = recordingThread();
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
            throw interrupted(e, site);
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
            throw interrupted(e, site);
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
            throw interrupted(e, site);
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
            throw interrupted(e, site);
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
        ThreadState t = recordingThread();
        if (t == null || lockOf(c) == null) {
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

    // Semaphores and latches.

    /** Returns the number of the semaphore that stands for an object in the trace. */
    private static int semaphore(Object o, long count) {
        Monitor m = ObjectIds.monitor(o);
        if (m.semaphore == 0) {
            m.semaphore = Semaphores.create("@" + ObjectIds.of(o), count);
        }
        return m.semaphore;
    }

    private static void down(Semaphore s, int number, int n, int site) {
        ThreadState t = recordingThread();
        if (t == null || n == 0) {
            return;
        }
        if (Log.on) {
            Log.event(t, Log.DOWN, site, number, n);
        }
        Hooks.step(t, Kind.DOWN, site);
    }

    private static int before(Semaphore s, int site) {
        ThreadState t = recordingThread();
        return t == null ? 0 : semaphore(s, s.availablePermits());
    }

    private static int beforeBlocking(Semaphore s, int site) {
        ThreadState t = recordingThread();
        if (t == null) {
            return 0;
        }
        Replay.expect(t, Kind.DOWN, site);
        return semaphore(s, s.availablePermits());
    }

    public static void acquire(Semaphore s, int site) throws InterruptedException {
        if (Overrides.has(s, "acquire/0")) {
            s.acquire();
            Hooks.afterCall();
            return;
        }
        acquire(s, 1, site);
    }

    public static void acquire(Semaphore s, int n, int site) throws InterruptedException {
        if (Overrides.has(s, "acquire/1")) {
            s.acquire(n);
            Hooks.afterCall();
            return;
        }
        int number = beforeBlocking(s, site);
        try {
            s.acquire(n);
        } catch (InterruptedException e) {
            throw interrupted(e, site);
        }
        down(s, number, n, site);
    }

    public static void acquireUninterruptibly(Semaphore s, int site) {
        if (Overrides.has(s, "acquireUninterruptibly/0")) {
            s.acquireUninterruptibly();
            Hooks.afterCall();
            return;
        }
        acquireUninterruptibly(s, 1, site);
    }

    public static void acquireUninterruptibly(Semaphore s, int n, int site) {
        if (Overrides.has(s, "acquireUninterruptibly/1")) {
            s.acquireUninterruptibly(n);
            Hooks.afterCall();
            return;
        }
        int number = beforeBlocking(s, site);
        s.acquireUninterruptibly(n);
        down(s, number, n, site);
    }

    public static boolean tryAcquire(Semaphore s, int site) {
        if (Overrides.has(s, "tryAcquire/0")) {
            boolean taken = s.tryAcquire();
            Hooks.afterCall();
            return taken;
        }
        return tryAcquire(s, 1, site);
    }

    public static boolean tryAcquire(Semaphore s, int n, int site) {
        if (Overrides.has(s, "tryAcquire/1")) {
            boolean taken = s.tryAcquire(n);
            Hooks.afterCall();
            return taken;
        }
        int number = before(s, site);
        boolean taken = s.tryAcquire(n);
        if (taken) {
            down(s, number, n, site);
        }
        return taken;
    }

    public static boolean tryAcquire(Semaphore s, long time, TimeUnit unit, int site)
                                     throws InterruptedException {
        return tryAcquire(s, 1, time, unit, site);
    }

    public static boolean tryAcquire(Semaphore s, int n, long time, TimeUnit unit, int site)
        throws InterruptedException {
        int number = before(s, site);
        boolean taken;
        try {
            taken = s.tryAcquire(n, time, unit);
        } catch (InterruptedException e) {
            throw interrupted(e, site);
        }
        if (taken) {
            down(s, number, n, site);
        }
        return taken;
    }

    public static int drainPermits(Semaphore s, int site) {
        int number = before(s, site);
        int n = s.drainPermits();
        down(s, number, n, site);
        return n;
    }

    public static void release(Semaphore s, int site) {
        if (Overrides.has(s, "release/0")) {
            s.release();
            Hooks.afterCall();
            return;
        }
        release(s, 1, site);
    }

    public static void release(Semaphore s, int n, int site) {
        if (Overrides.has(s, "release/1")) {
            s.release(n);
            Hooks.afterCall();
            return;
        }
        int number = before(s, site);
        s.release(n);
        post(number, n, site);
    }

    private static void post(int number, int n, int site) {
        ThreadState t = recordingThread();
        if (t == null || n <= 0) {
            return;
        }
        if (Log.on) {
            Log.event(t, Log.POST, site, number, n);
        }
        Hooks.step(t, Kind.POST, site);
    }

    /**
     * A latch is a semaphore at 0: each count is a post; a thread that passes takes all of them and
     * gives them back.
     */
    public static void countDown(CountDownLatch l, int site) {
        if (Overrides.has(l, "countDown/0")) {
            l.countDown();
            Hooks.afterCall();
            return;
        }
        Monitor m = recordingThread() == null ? null : latch(l);
        l.countDown();
        if (m != null) {
            post(m.semaphore, 1, site);
        }
    }

    private static Monitor latch(CountDownLatch l) {
        Monitor m = ObjectIds.monitor(l);
        if (m.semaphore == 0) {
            m.count = (int) l.getCount();
            semaphore(l, 0);
        }
        return m;
    }

    private static void passed(Monitor m, int site) {
        ThreadState t = recordingThread();
        if (t == null || m == null || m.count == 0) {
            return;
        }
        if (Log.on) {
            Log.event(t, Log.LATCH, site, m.semaphore, m.count);
        }
        Hooks.step(t, Kind.DOWN, site);
    }

    public static void await(CountDownLatch l, int site) throws InterruptedException {
        if (Overrides.has(l, "await/0")) {
            l.await();
            Hooks.afterCall();
            return;
        }
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : latch(l);
        if (t != null && m.count > 0) {
            Replay.expect(t, Kind.DOWN, site);
        }
        try {
            l.await();
        } catch (InterruptedException e) {
            throw interrupted(e, site);
        }
        passed(m, site);
    }

    public static boolean await(CountDownLatch l, long time, TimeUnit unit, int site)
                                throws InterruptedException {
        Monitor m = recordingThread() == null ? null : latch(l);
        boolean open;
        try {
            open = l.await(time, unit);
        } catch (InterruptedException e) {
            throw interrupted(e, site);
        }
        if (open) {
            passed(m, site);
        }
        return open;
    }

    // Barriers.

    /** Records an arrival. Returns null if it is not recorded. */
    private static ThreadState arrive(CyclicBarrier b, int site) {
        ThreadState t = recordingThread();
        if (t == null) {
            return null;
        }
        Monitor m = ObjectIds.monitor(b);
        int id = ObjectIds.of(b);
        if (b.isBroken()) {
            m.semaphore = 0;
            return null;
        }
        if (m.semaphore == 0) {
            // The first generation, or the first one after a generation that was broken.
            m.semaphore = -1;
            if (Log.on) {
                Log.pair(Log.BARRIER, id, b.getParties());
            }
        }
        if (Log.on) {
            Log.event(t, Log.ARRIVE, site, id);
        }
        Scheduler.stepBeforeBlocking(t, Kind.ARRIVE, site);
        t.barrier = b;
        t.barrierSite = site;
        return t;
    }

    /**
     * Runs the action of a barrier, in the last thread that has arrived. The thread leaves the
     * barrier before: so the action follows all arrivals.
     */
    public static void runAction(Runnable action) {
        ThreadState t = recordingThread();
        if (t != null && t.barrier != null) {
            leave(t, (CyclicBarrier) t.barrier, t.barrierSite);
            t.barrier = null;
        }
        action.run();
    }

    private static void leave(ThreadState t, CyclicBarrier b, int site) {
        t.unexplainedWait = false;
        if (Log.on) {
            Log.event(t, Log.LEAVE, site, ObjectIds.of(b));
        }
        Hooks.step(t, Kind.LEAVE, site);
    }

    /** Orders the other threads after the barrier's action, which the last thread has run. */
    private static void left(CyclicBarrier b, ThreadState arrived, boolean last, int site) {
        ThreadState t = Hooks.recordedThread();
        if (arrived == null || t == null) {
            return;
        }
        t.unexplainedWait = false;
        if (Log.on) {
            Monitor m = ObjectIds.monitor(b);
            if (last) {
                m.itemSemaphore = Semaphores.create("action of @" + ObjectIds.of(b), 0);
                Log.event(t, Log.ORDER_POST, site, m.itemSemaphore);
            } else if (m.itemSemaphore != 0) {
                Log.event(t, Log.ORDER_DOWN_POST, site, m.itemSemaphore);
            }
        }
        if (t.barrier != null) {
            t.barrier = null;
            leave(t, b, site);
        }
    }

    public static int await(CyclicBarrier b, int site)
                            throws InterruptedException, BrokenBarrierException {
        if (Overrides.has(b, "await/0")) {
            int order = b.await();
            Hooks.afterCall();
            return order;
        }
        ThreadState t = arrive(b, site);
        try {
            int order = b.await();
            left(b, t, order == 0, site);
            return order;
        } catch (InterruptedException e) {
            arrivedInVain(b, t);
            throw interrupted(e, site);
        } catch (BrokenBarrierException e) {
            arrivedInVain(b, t);
            throw Hooks.withoutRuntimeFrames(e);
        }
    }

    public static int await(CyclicBarrier b, long time, TimeUnit unit, int site)
        throws InterruptedException, BrokenBarrierException, TimeoutException {
        ThreadState t = arrive(b, site);
        try {
            int order = b.await(time, unit);
            left(b, t, order == 0, site);
            return order;
        } catch (InterruptedException e) {
            arrivedInVain(b, t);
            throw interrupted(e, site);
        } catch (BrokenBarrierException e) {
            arrivedInVain(b, t);
            throw Hooks.withoutRuntimeFrames(e);
        } catch (TimeoutException e) {
            arrivedInVain(b, t);
            throw Hooks.withoutRuntimeFrames(e);
        }
    }

    /** Ends the wait at a barrier that is broken: later arrivals are at a new one. */
    private static void arrivedInVain(CyclicBarrier b, ThreadState t) {
        if (t != null) {
            t.barrier = null;
            ObjectIds.monitor(b).semaphore = 0;
        }
    }

    public static void sleep(TimeUnit unit, long time, int site) throws InterruptedException {
        if (time > 0) {
            Hooks.sleep(unit.toMillis(time), site);
        }
    }

    // Calls of a superclass's methods from a recorded subclass, which no static method can make.

    /** Hook before such a call; `n` is the number of permits. */
    public static void beforeSuper(Object o, int n, String method, int site) {
        ThreadState t = recordingThread();
        if (t == null) {
            return;
        }
        if (o instanceof Lock) {
            t.superCount = holds((Lock) o);
            if (method.startsWith("lock")) {
                expect((Lock) o, site);
            }
        } else if (o instanceof Semaphore) {
            t.superCount = n;
            t.superSemaphore = method.startsWith("acquire") ? beforeBlocking((Semaphore) o, site)
                : before((Semaphore) o, site);
        } else if (o instanceof CountDownLatch) {
            latch((CountDownLatch) o);
        } else if (o instanceof CyclicBarrier) {
            t.superArrived = arrive((CyclicBarrier) o, site) != null;
        }
    }

    /** Hook after such a call; `result` is its result, 1 if it has none. */
    public static void afterSuper(int result, Object o, String method, int site) {
        ThreadState t = recordingThread();
        if (t == null) {
            return;
        }
        if (o instanceof Lock) {
            Lock l = (Lock) o;
            if (method.equals("unlock")) {
                unlocked(l, t.superCount == 1, site);
            } else if (result != 0) {
                locked(l, method.equals("tryLock"), site);
            } else {
                failed(l, site);
            }
        } else if (o instanceof Semaphore) {
            if (method.equals("release")) {
                post(t.superSemaphore, t.superCount, site);
            } else if (result != 0) {
                down((Semaphore) o, t.superSemaphore, t.superCount, site);
            }
        } else if (o instanceof CountDownLatch) {
            Monitor m = latch((CountDownLatch) o);
            if (method.equals("countDown")) {
                post(m.semaphore, 1, site);
            } else if (result != 0) {
                passed(m, site);
            }
        } else if (o instanceof CyclicBarrier) {
            left((CyclicBarrier) o, t.superArrived ? t : null, result == 0, site);
        }
    }

    static InterruptedException interrupted(InterruptedException e, int site) {
        ThreadState t = recordingThread();
        if (t != null) {
            Hooks.interruptSeen(t, site);
        }
        return Hooks.withoutRuntimeFrames(e);
    }
}
