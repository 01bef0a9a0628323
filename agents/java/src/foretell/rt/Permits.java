package foretell.rt;

import java.util.concurrent.locks.LockSupport;

/**
 * Replacements for the methods of LockSupport. In the trace a permit is a semaphore of 0 or 1, with
 * a second semaphore for a permit that is not given.
 */
public final class Permits {
    /** Classes with their replaced static methods. */
    public static final String[][] STATIC_METHODS = {
        {"java.util.concurrent.locks.LockSupport", "park()V", "park(Ljava/lang/Object;)V",
            "parkNanos(J)V",
            "parkNanos(Ljava/lang/Object;J)V", "parkUntil(J)V", "parkUntil(Ljava/lang/Object;J)V",
            "unpark(Ljava/lang/Thread;)V"},
    };

    private Permits() {
    }

    public static void park(int site) {
        Synchronizers.recordingThread();
        LockSupport.park();
        parked(site);
    }

    public static void park(Object blocker, int site) {
        Synchronizers.recordingThread();
        LockSupport.park(blocker);
        parked(site);
    }

    public static void parkNanos(long nanos, int site) {
        Synchronizers.recordingThread();
        LockSupport.parkNanos(nanos);
        parked(site);
    }

    public static void parkNanos(Object blocker, long nanos, int site) {
        Synchronizers.recordingThread();
        LockSupport.parkNanos(blocker, nanos);
        parked(site);
    }

    public static void parkUntil(long deadline, int site) {
        Synchronizers.recordingThread();
        LockSupport.parkUntil(deadline);
        parked(site);
    }

    public static void parkUntil(Object blocker, long deadline, int site) {
        Synchronizers.recordingThread();
        LockSupport.parkUntil(blocker, deadline);
        parked(site);
    }

    private static void parked(int site) {
        ThreadState t = Hooks.recordedThread();
        if (t == null || t.unrecordedDepth != 0 || !t.permitInTrace) {
            return;
        }
        t.permitInTrace = false;
        t.unexplainedWait = false;
        if (Log.on) {
            Log.event(t, Log.PERMIT, site, t.permitSemaphore, t.freeSemaphore);
        }
        Hooks.step(t, Kind.DOWN, site);
    }

    public static void unpark(Thread thread, int site) {
        ThreadState t = Synchronizers.recordingThread();
        ThreadState target = t == null || thread == null ? null : Scheduler.find(thread);
        boolean given = target != null && target.index >= 0 && !target.permit
            && !target.permitInTrace;
        LockSupport.unpark(thread);
        if (!given) {
            return;
        }
        if (target.permitSemaphore == 0) {
            target.permitSemaphore = Semaphores.create("permit of T" + target.index, 0);
            target.freeSemaphore = Semaphores.create("no permit of T" + target.index, 1);
        }
        target.permitInTrace = true;
        if (Log.on) {
            Log.event(t, Log.PERMIT, site, target.freeSemaphore, target.permitSemaphore);
        }
        Hooks.step(t, Kind.DOWN, site);
    }

    // Hooks of LockSupport itself, whichever code calls it.

    /** Parks the calling thread. Returns false if it is not recorded. */
    public static boolean park(long nanos) {
        ThreadState t = Hooks.recordedThread();
        if (t == null) {
            return false;
        }
        if (t.permit) {
            t.permit = false;
            return true;
        }
        if (t.thread.isInterrupted()) {
            return true;
        }
        Scheduler.block(t, ThreadState.FOR_PERMIT, null, null, nanos, Hooks.callSite);
        t.permit = false;
        t.waits++;
        if (t.waitObject != null) {
            Hidden.waited(t, t.waitObject, Hooks.callSite);
        } else {
            t.unexplainedWait = true;
        }
        return true;
    }

    public static boolean parkNanos(long nanos) {
        return nanos > 0 && park(nanos);
    }

    public static boolean parkUntil(long deadline) {
        long millis = Math.max(0, deadline - System.currentTimeMillis());
        return park(millis > Long.MAX_VALUE / 1000000 ? Long.MAX_VALUE / 2 : millis * 1000000);
    }

    public static boolean unpark(Thread thread) {
        ThreadState target = thread == null ? null : Scheduler.find(thread);
        if (target == null || target.index < 0) {
            return false;
        }
        Scheduler.unpark(target);
        return true;
    }
}
