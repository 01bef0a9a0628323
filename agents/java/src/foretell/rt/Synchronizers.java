package foretell.rt;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Lock;

/**
 * Replacements for the methods of semaphores, latches and barriers, with the receiver first and
 * the site last. Each makes the real call, which blocks in LockSupport and so gives up the baton,
 * and then records the effect. {@link #METHODS} tells the rewriter which methods are replaced.
 */
public final class Synchronizers {
    /** Classes with their replaced methods, each a name and a descriptor. */
    public static final String[][] METHODS = {
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
        {"java.util.concurrent.TimeUnit", "sleep(J)V", "timedWait(Ljava/lang/Object;J)V"},
    };

    private Synchronizers() {
    }

    /** Returns the calling thread, or null if its actions are not recorded. */
    static ThreadState recordingThread() {
        ThreadState t = Hooks.recordedThread();
        if (t == null || t.unrecordedDepth != 0) {
            return null;
        }
        if (t.unexplainedWait && Log.on) {
            Log.settle(t);
        }
        return t;
    }

    /**
     * Returns the calling thread after an operation that may have waited, or null. The trace has
     * the operation, so that the wait needs no other explanation.
     */
    static ThreadState waitedThread() {
        ThreadState t = Hooks.recordedThread();
        if (t == null || t.unrecordedDepth != 0) {
            return null;
        }
        t.unexplainedWait = false;
        return t;
    }

    /**
     * Records an operation that has found nothing: in another order it would succeed, so that the
     * operations on the object keep their order.
     */
    private static void foundNothing(Object o, int site) {
        waitedThread();
        Hidden.call(o, null, null, null, site);
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

    private static void down(int number, int n, boolean tried, int site) {
        ThreadState t = waitedThread();
        if (t == null || n == 0) {
            return;
        }
        if (Log.on) {
            Log.event(t, tried ? Log.TRY_DOWN : Log.DOWN, site, number, n);
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
        Replay.takes(t, ObjectIds.of(s) | Log.LOCK_OBJECT);
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
        down(number, n, false, site);
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
        down(number, n, false, site);
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
            down(number, n, true, site);
        } else {
            foundNothing(s, site);
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
            down(number, n, true, site);
        } else {
            foundNothing(s, site);
        }
        return taken;
    }

    public static int drainPermits(Semaphore s, int site) {
        int number = before(s, site);
        int n = s.drainPermits();
        // In another order it would get another number of permits.
        foundNothing(s, site);
        down(number, n, true, site);
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
        ThreadState t = waitedThread();
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
        if (m != null) {
            Log.otherWake();
        }
        boolean open;
        try {
            open = l.await(time, unit);
        } catch (InterruptedException e) {
            throw interrupted(e, site);
        }
        if (open) {
            passed(m, site);
        } else {
            foundNothing(l, site);
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

    /**
     * Orders the other threads after the barrier's action, if it has one: the last thread has run
     * it, and has left the barrier before.
     */
    private static void left(CyclicBarrier b, ThreadState arrived, boolean last, int site) {
        ThreadState t = Hooks.recordedThread();
        if (arrived == null || t == null) {
            return;
        }
        t.unexplainedWait = false;
        if (Log.on) {
            Monitor m = ObjectIds.monitor(b);
            if (last && t.barrier == null) {
                m.itemSemaphore = Semaphores.create("action of @" + ObjectIds.of(b), 0);
                Log.event(t, Log.POST, site, m.itemSemaphore, 1);
            } else if (!last && m.itemSemaphore != 0) {
                Log.event(t, Log.ORDER_DOWN_POST, site, m.itemSemaphore);
            }
        }
        if (t.barrier != null) {
            t.barrier = null;
            leave(t, b, site);
        } else if (last) {
            // A step, because only the return of the call lets the other threads go on.
            Hooks.step(t, Kind.POST, site);
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
            throw Stacks.withoutRuntimeFrames(e);
        }
    }

    public static int await(CyclicBarrier b, long time, TimeUnit unit, int site)
        throws InterruptedException, BrokenBarrierException, TimeoutException {
        ThreadState t = arrive(b, site);
        if (t != null) {
            Log.otherWake();
        }
        try {
            int order = b.await(time, unit);
            left(b, t, order == 0, site);
            return order;
        } catch (InterruptedException e) {
            arrivedInVain(b, t);
            throw interrupted(e, site);
        } catch (BrokenBarrierException e) {
            arrivedInVain(b, t);
            throw Stacks.withoutRuntimeFrames(e);
        } catch (TimeoutException e) {
            arrivedInVain(b, t);
            throw Stacks.withoutRuntimeFrames(e);
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

    public static void timedWait(TimeUnit unit, Object o, long time, int site)
        throws InterruptedException {
        if (time > 0) {
            Hooks.await(o, Math.max(1, unit.toMillis(time)), site);
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
            t.superCount = Locks.holds((Lock) o);
            if (method.startsWith("lock")) {
                Locks.expect((Lock) o, site);
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
        ThreadState t = waitedThread();
        if (t == null) {
            return;
        }
        if (o instanceof Lock) {
            Lock l = (Lock) o;
            if (method.equals("unlock")) {
                Locks.unlocked(l, t.superCount == 1, site);
            } else if (result != 0) {
                Locks.locked(l, method.equals("tryLock"), site);
            } else {
                Locks.failed(l, site);
            }
        } else if (o instanceof Semaphore) {
            if (method.equals("release")) {
                post(t.superSemaphore, t.superCount, site);
            } else if (result != 0) {
                down(t.superSemaphore, t.superCount, method.startsWith("try"), site);
            } else {
                foundNothing(o, site);
            }
        } else if (o instanceof CountDownLatch) {
            Monitor m = latch((CountDownLatch) o);
            if (method.equals("countDown")) {
                post(m.semaphore, 1, site);
            } else if (result != 0) {
                passed(m, site);
            } else {
                foundNothing(o, site);
            }
        } else if (o instanceof CyclicBarrier) {
            left((CyclicBarrier) o, t.superArrived ? t : null, result == 0, site);
        }
    }

    static InterruptedException interrupted(InterruptedException e, int site) {
        ThreadState t = Hooks.recordedThread();
        if (t != null) {
            // Unless the trace has the interrupt, it does not explain the wait.
            t.unexplainedWait &= t.interrupts == 0;
            Hooks.interruptSeen(t, site);
        }
        return Stacks.withoutRuntimeFrames(e);
    }
}
