package foretell.rt;

import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.StampedLock;

/**
 * Replacements for the methods of a StampedLock that take and give back one of its sides, as in
 * {@link Locks}. The log has where an optimistic read begins and where it is validated, with or
 * without success. A read that fails and conversions use hidden state: a lock that has any keeps the
 * recorded order of its operations.
 */
public final class StampedLocks {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.locks.StampedLock", "writeLock()J", "writeLockInterruptibly()J",
            "readLock()J", "readLockInterruptibly()J", "tryWriteLock()J", "tryReadLock()J",
            "tryWriteLock(JLjava/util/concurrent/TimeUnit;)J",
            "tryReadLock(JLjava/util/concurrent/TimeUnit;)J", "unlockWrite(J)V", "unlockRead(J)V",
            "unlock(J)V", "tryConvertToWriteLock(J)J", "tryConvertToReadLock(J)J",
            "tryConvertToOptimisticRead(J)J", "tryOptimisticRead()J", "validate(J)Z"},
    };

    /** Bits of a stamp of the writer side, and of the reader side. */
    private static final long WRITER = 128;
    private static final long READER = 127;

    /** Number of times that each thread holds the reader side of each lock. */
    private static final Map<StampedLock, Map<ThreadState, Integer>> READERS =
        new WeakHashMap<StampedLock, Map<ThreadState, Integer>>();

    private StampedLocks() {
    }

    private static long id(StampedLock l) {
        return ObjectIds.of(l) | Log.LOCK_OBJECT;
    }

    /** Adds to the number of times that a thread holds the reader side. Returns the number. */
    private static int readers(StampedLock l, ThreadState t, int change) {
        Map<ThreadState, Integer> all = READERS.get(l);
        if (all == null) {
            all = new WeakHashMap<ThreadState, Integer>();
            READERS.put(l, all);
        }
        Integer times = all.get(t);
        int now = (times == null ? 0 : times) + change;
        all.put(t, now);
        return now;
    }

    static void expect(StampedLock l, int kind, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t != null) {
            Replay.expect(t, kind, site);
            Replay.takes(t, id(l));
        }
    }

    /** Records that a side of a lock was taken, or that a try for it failed. */
    static long taken(StampedLock l, boolean reads, boolean tried, long stamp, int site) {
        ThreadState t = Synchronizers.waitedThread();
        if (t == null || reads && stamp != 0 && readers(l, t, 1) > 1) {
            return stamp;
        }
        if (Log.on) {
            int tag = stamp == 0 ? reads ? Log.TRY_READ_FAILED : Log.TRY_FAILED
                : tried ? reads ? Log.TRY_READ_LOCK : Log.TRY_LOCK
                : reads ? Log.READ_LOCK : Log.LOCK;
            Log.event(t, tag, site, id(l));
        }
        Hooks.step(t, reads ? Kind.READ_LOCK : Kind.LOCK, site);
        return stamp;
    }

    static void released(StampedLock l, boolean reads, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null || reads && readers(l, t, -1) > 0) {
            return;
        }
        if (Log.on) {
            Log.event(t, reads ? Log.READ_UNLOCK : Log.UNLOCK, site, id(l));
        }
        Hooks.step(t, Kind.UNLOCK, site);
    }

    public static long writeLock(StampedLock l, int site) {
        expect(l, Kind.LOCK, site);
        return taken(l, false, false, l.writeLock(), site);
    }

    public static long writeLockInterruptibly(StampedLock l, int site)
                                              throws InterruptedException {
        expect(l, Kind.LOCK, site);
        try {
            return taken(l, false, false, l.writeLockInterruptibly(), site);
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
    }

    public static long readLock(StampedLock l, int site) {
        expect(l, Kind.READ_LOCK, site);
        return taken(l, true, false, l.readLock(), site);
    }

    public static long readLockInterruptibly(StampedLock l, int site)
                                             throws InterruptedException {
        expect(l, Kind.READ_LOCK, site);
        try {
            return taken(l, true, false, l.readLockInterruptibly(), site);
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
    }

    public static long tryWriteLock(StampedLock l, int site) {
        Synchronizers.recordingThread();
        return taken(l, false, true, l.tryWriteLock(), site);
    }

    public static long tryReadLock(StampedLock l, int site) {
        Synchronizers.recordingThread();
        return taken(l, true, true, l.tryReadLock(), site);
    }

    public static long tryWriteLock(StampedLock l, long time, TimeUnit unit, int site)
                                    throws InterruptedException {
        Synchronizers.recordingThread();
        try {
            return taken(l, false, true, l.tryWriteLock(time, unit), site);
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
    }

    public static long tryReadLock(StampedLock l, long time, TimeUnit unit, int site)
                                   throws InterruptedException {
        Synchronizers.recordingThread();
        try {
            return taken(l, true, true, l.tryReadLock(time, unit), site);
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
    }

    public static void unlockWrite(StampedLock l, long stamp, int site) {
        try {
            l.unlockWrite(stamp);
        } catch (IllegalMonitorStateException e) {
            throw Stacks.withoutRuntimeFrames(e);
        }
        released(l, false, site);
    }

    public static void unlockRead(StampedLock l, long stamp, int site) {
        try {
            l.unlockRead(stamp);
        } catch (IllegalMonitorStateException e) {
            throw Stacks.withoutRuntimeFrames(e);
        }
        released(l, true, site);
    }

    public static void unlock(StampedLock l, long stamp, int site) {
        try {
            l.unlock(stamp);
        } catch (IllegalMonitorStateException e) {
            throw Stacks.withoutRuntimeFrames(e);
        }
        released(l, (stamp & WRITER) == 0, site);
    }

    // Optimistic reads.

    public static long tryOptimisticRead(StampedLock l, int site) {
        long stamp = l.tryOptimisticRead();
        if (stamp == 0) {
            failed(l, Log.REFUSED, site);
        } else {
            optimistic(l, Log.OPTIMISTIC, Kind.READ_LOCK, site);
        }
        return stamp;
    }

    public static boolean validate(StampedLock l, long stamp, int site) {
        boolean valid = l.validate(stamp);
        if (!isHeld(stamp)) {
            validated(l, valid, site);
        } else if (!valid || !isReader(l)) {
            Hidden.call(l, null, null, null, site);
        }
        return valid;
    }

    /** Whether a stamp is that of a side that was taken. */
    private static boolean isHeld(long stamp) {
        return (stamp & (WRITER | READER)) != 0;
    }

    /** Whether the thread holds the reader side of a lock. */
    private static boolean isReader(StampedLock l) {
        ThreadState t = Synchronizers.recordingThread();
        return t != null && readers(l, t, 0) > 0;
    }

    private static void validated(StampedLock l, boolean valid, int site) {
        if (valid) {
            optimistic(l, Log.VALIDATED, Kind.UNLOCK, site);
        } else {
            failed(l, Log.INVALID, site);
        }
    }

    /** Records an optimistic read without a stamp, or a validation that failed. */
    private static void failed(StampedLock l, int tag, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t != null && Log.on) {
            Log.event(t, tag, site, id(l));
        }
        Hidden.call(l, null, null, null, site);
    }

    private static void optimistic(StampedLock l, int tag, int kind, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        if (Log.on) {
            Log.event(t, tag, site, id(l));
        }
        Hooks.step(t, kind, site);
    }

    // Conversions. The trace has no event that is both; hidden state keeps them together.

    private static long converted(StampedLock l, long from, long to, int site) {
        if (to == 0 && !isHeld(from)) {
            failed(l, Log.INVALID, site);
            return to;
        }
        Hidden.call(l, null, null, null, site);
        boolean same = (from & (WRITER | READER)) == (to & (WRITER | READER))
            || (from & READER) != 0 && (to & READER) != 0;
        if (to != 0 && !isHeld(from)) {
            validated(l, true, site);
        }
        if (to == 0 || same) {
            return to;
        }
        if ((from & WRITER) != 0) {
            released(l, false, site);
        } else if ((from & READER) != 0) {
            released(l, true, site);
        }
        if (isHeld(to)) {
            taken(l, (to & WRITER) == 0, true, to, site);
        } else {
            optimistic(l, Log.OPTIMISTIC, Kind.READ_LOCK, site);
        }
        return to;
    }

    public static long tryConvertToWriteLock(StampedLock l, long stamp, int site) {
        Synchronizers.recordingThread();
        return converted(l, stamp, l.tryConvertToWriteLock(stamp), site);
    }

    public static long tryConvertToReadLock(StampedLock l, long stamp, int site) {
        Synchronizers.recordingThread();
        return converted(l, stamp, l.tryConvertToReadLock(stamp), site);
    }

    public static long tryConvertToOptimisticRead(StampedLock l, long stamp, int site) {
        Synchronizers.recordingThread();
        return converted(l, stamp, l.tryConvertToOptimisticRead(stamp), site);
    }
}
