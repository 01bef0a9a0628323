package foretell.rt;

import java.util.ArrayList;

/**
 * Driving the program along the {@link Schedule} of {@link Scheduler#schedule}.
 *
 * While the schedule lasts, the thread of its next step has the baton and runs up to that step. If
 * it waits, for the end of a thread that the schedule says nothing about, or for a lock, another
 * thread runs *ahead*. The first difference ends the run. The callers have the scheduler's lock.
 */
final class Replay {
    /** Exit status of a run that left its schedule. */
    private static final int DEPARTED = 125;

    /** Thread that runs while the thread of the next scheduled step waits. */
    static ThreadState ahead;

    private Replay() {
    }

    /** Checks a step that has run. */
    static void check(ThreadState t, int kind, int site) {
        if (t == ahead) {
            return;
        }
        long ordinal = t.steps - 1;
        Schedule s = Scheduler.schedule;
        if (s.thread() != t.index) {
            depart(t, describe(kind, ordinal, site) + " (another thread is due)");
        }
        if (t.steps < s.stepsWhenDone()) {
            return;
        }
        if (s.isToRun()) {
            departIfOther(t, kind, ordinal, site);
            s.next++;
        } else if (ordinal >= s.ordinal()) {
            depart(t, "no wait in " + describe(kind, ordinal, site));
        }
        goOn(t);
    }

    /** Departs unless a step is the scheduled one. */
    private static void departIfOther(ThreadState t, int kind, long ordinal, int site) {
        String difference = Scheduler.schedule.difference(kind, ordinal, site);
        if (difference != null) {
            depart(t, describe(kind, ordinal, site) + " (" + difference + ")");
        }
    }

    private static String describe(int kind, long ordinal, int site) {
        return Kind.NAMES[kind] + " number " + ordinal + " at " + Sites.text(site);
    }

    /**
     * Passes over what is done in the schedule, and ends it after the last step, which `last` has
     * made.
     */
    static void goOn(ThreadState last) {
        Schedule s = Scheduler.schedule;
        s.passReached();
        if (s.isDone()) {
            Scheduler.schedule = null;
            ahead = null;
            Scheduler.continueFrom(last);
            Log.stepsDone();
        }
    }

    /** Returns the number of steps that a thread has made; -1 if it has not been started. */
    static long stepsOf(int index) {
        ThreadState t = index < Scheduler.all.size() ? Scheduler.all.get(index) : null;
        return t == null || t.state == ThreadState.STARTING ? -1 : t.steps;
    }

    /**
     * Checks a step that may block before it runs: at the scheduled ordinal it must be the
     * scheduled step.
     */
    static void expect(ThreadState t, int kind, int site) {
        t.site = site;
        if (Scheduler.schedule == null) {
            return;
        }
        synchronized (Scheduler.LOCK) {
            Schedule s = Scheduler.schedule;
            if (s != null && s.thread() == t.index && t.steps == s.ordinal()) {
                departIfOther(t, kind, t.steps, site);
            }
        }
    }

    /** Checks a step that takes the monitor of an object. */
    static void expect(ThreadState t, int kind, int site, Object o) {
        expect(t, kind, site);
        if (Scheduler.schedule != null) {
            takes(t, ObjectIds.of(o));
        }
    }

    /** Takes note of the lock that the next step of a thread takes. */
    static void takes(ThreadState t, long lock) {
        t.lock = lock;
        t.lockStep = t.steps;
    }

    /**
     * Returns the thread of the next scheduled step, or one that runs ahead because that thread
     * waits; ends the run if neither can run.
     */
    static ThreadState scheduled() {
        ahead = null;
        int index = Scheduler.schedule.thread();
        ThreadState t = stepsOf(index) < 0 ? null : Scheduler.all.get(index);
        if (t != null && t.waitsFor == ThreadState.FOR_NOTIFY
            && Scheduler.schedule.kind() == Kind.TIMED_OUT) {
            Scheduler.ready(t, ThreadState.BY_TIME);
        }
        if (t == null || t.state == ThreadState.BLOCKED) {
            ahead = aheadOf(t);
            if (ahead != null) {
                Scheduler.runnable.remove(ahead);
                return ahead;
            }
            if (t == null) {
                depart(null, "thread " + index + " has not been started");
                return Scheduler.NO_THREAD;
            }
            if (t.waitsFor != ThreadState.FOR_NOTIFY && t.realDeadline != ThreadState.NEVER) {
                Scheduler.ready(t, ThreadState.BY_TIME);
            }
            if (t.state == ThreadState.BLOCKED) {
                depart(null, Scheduler.waitReport(t));
            }
        }
        if (t.state == ThreadState.ENDED) {
            depart(null, "thread " + index + " has ended");
        }
        Scheduler.runnable.remove(t);
        return t;
    }

    /**
     * Returns a thread that can run ahead of one that waits or has not been started, up to its own
     * next step in the schedule, or its first recorded one that is not; null if there is none. A
     * thread that has made all its steps comes last: what ends the wait may be no step, such as the
     * submission of a task, and the thread makes at most one step too many.
     */
    private static ThreadState aheadOf(ThreadState due) {
        ThreadState wanted = due == null ? null : due.waitsFor == ThreadState.FOR_JOIN
            ? Scheduler.BY_THREAD.get(due.object) : due.lockHolder;
        ThreadState found = null;
        ThreadState done = null;
        for (ThreadState t : Scheduler.all) {
            if (t == null || t.state != ThreadState.RUNNABLE) {
                continue;
            }
            if ((found == null || t == wanted) && t.steps < Scheduler.schedule.bound(t.index)) {
                found = t;
            }
            if ((done == null || t == wanted) && !Scheduler.schedule.names(t.index)) {
                done = t;
            }
        }
        return found != null ? found : done;
    }

    /** Writes that all threads wait that have to, or departs. */
    private static void allBlocked() {
        ArrayList<ThreadState> waiting = new ArrayList<ThreadState>();
        for (int index : Scheduler.schedule.toBlock()) {
            ThreadState t = Scheduler.all.get(index);
            if (t.state != ThreadState.BLOCKED) {
                depart(null, Scheduler.waitReport(t) + ", and no longer waits");
            }
            waiting.add(t);
        }
        Log.allBlocked(Scheduler.waits(waiting));
    }

    /** Takes note that a thread blocks, in a step in which it may have to. */
    static void blocks(ThreadState t) {
        Schedule s = Scheduler.schedule;
        if (s.isToBlock(t)) {
            if (s.next + 1 == s.length()) {
                allBlocked();
            }
            s.next++;
            goOn(t);
        }
    }

    /** Ends the run ahead of a thread that can run again. */
    static void ready(ThreadState t) {
        if (ahead != null && Scheduler.schedule.thread() == t.index) {
            ahead.budgetEnd = Math.min(ahead.budgetEnd, ahead.steps + 1);
        }
    }

    /** Reports that the run has left its schedule, and ends it. */
    static void depart(ThreadState t, String got) {
        Schedule s = Scheduler.schedule;
        String subject = t == null || got.startsWith("thread ") ? "" : "thread " + t.index + ": ";
        String message = "expected " + s.description() + "; got " + subject + got;
        System.err.println("foretell: replay departed from the schedule at step " + s.next + ": "
            + message);
        Log.departure(s.next, message);
        Runtime.getRuntime().halt(DEPARTED);
    }
}
