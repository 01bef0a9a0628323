package foretell.rt;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * The baton: exactly one recorded thread runs between two hooks, and this decides which; a generator with a seed in
 * a recorded run, a schedule in a replayed one.
 *
 * A hook comes after its access: the thread that has made its step stops there, before whatever comes next.
 * A thread that cannot go on gives the baton away ({@link #block}) and is put back among those who can run by
 * whoever changes what it waits for. A thread that blocks in something that is not modelled loses the baton
 * ({@link Watchdog}); it is outside, and waits for the baton at the next gate (entry of a method, return
 * of a call, handler of an exception).
 *
 * Threads sleep in the monitor of their {@link ThreadState}, or of the object in whose `wait` they are: that monitor must be
 * free for others.
 */
final class Scheduler {
    /** Virtual duration of a step in nanoseconds; what a sleeper's time is measured in. */
    private static final long STEP_NS = 50;
    private static final long GROWTH_STEP = 256;
    private static final long MAX_GROWTH = 32;
    /** Exit status of a run that left its schedule. */
    private static final int DEPARTED = 125;
    /** Exit status of a run in which nobody can ever go on, as of a program that aborts. */
    private static final int ABORTED = 134;

    static final Object LOCK = new Object();
    /** Stands for nobody: there is no thread to be compared with. */
    static final ThreadState NOBODY = new ThreadState(null);

    /** Who has the baton. */
    static volatile ThreadState current = NOBODY;

    /** By thread; by number. */
    private static final Map<Thread, ThreadState> KNOWN = new IdentityHashMap<Thread, ThreadState>();
    static final ArrayList<ThreadState> all = new ArrayList<ThreadState>();
    static final ArrayList<ThreadState> runnable = new ArrayList<ThreadState>();
    static final ArrayList<ThreadState> blocked = new ArrayList<ThreadState>();
    static int outside;
    /** Hand-overs so far. */
    static long pulse;

    private static long random;
    private static long quantum;
    private static long decisions;
    private static long now;
    private static int nextIndex;
    /** Null when the run is not, or no longer, driven by one. */
    static Schedule schedule;

    private Scheduler() {
    }

    /** The calling thread is the first, and has the baton. */
    static void start(Options options, Schedule s) {
        synchronized (LOCK) {
            random = options.seed;
            quantum = options.quantum;
            schedule = s;
            ThreadState t = new ThreadState(Thread.currentThread());
            t.index = nextIndex++;
            KNOWN.put(t.thread, t);
            all.add(t);
            t.state = ThreadState.RUNNING;
            grant(t);
            current = t;
        }
    }

    /** SplitMix64. */
    private static long random() {
        random += 0x9e3779b97f4a7c15L;
        long z = random;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    private static int random(int n) {
        return (int) Long.remainderUnsigned(random(), n);
    }

    /** Says when the thread is asked again. */
    private static void grant(ThreadState t) {
        if (schedule != null) {
            boolean its = !schedule.over() && schedule.thread() == t.index;
            t.limit = its ? schedule.ordinal() + 1 : t.steps + 1;
            return;
        }
        decisions++;
        long growth = Math.min(1 + decisions / GROWTH_STEP, MAX_GROWTH);
        t.limit = t.steps + 1 + Long.remainderUnsigned(random(), Math.max(1, quantum * 2 * growth - 1));
    }

    // Steps.

    /** A step has run that was the last one of the thread's budget. */
    static void turn(ThreadState t, int kind, int site) {
        ThreadState next;
        synchronized (LOCK) {
            completed(t, kind, site);
            next = decide(t);
        }
        goOn(t, next);
    }

    /** The same where the baton cannot be given away: that is for the next gate. */
    static void turnLater(ThreadState t, int kind, int site) {
        synchronized (LOCK) {
            completed(t, kind, site);
            t.pending = true;
            t.limit = Long.MAX_VALUE;
        }
    }

    /** The turn that was put off. */
    static void turnNow(ThreadState t) {
        ThreadState next;
        synchronized (LOCK) {
            next = decide(t);
        }
        goOn(t, next);
    }

    /** A step has run after which the thread blocks in any case. */
    static void stepBeforeBlock(ThreadState t, int kind, int site) {
        if (++t.steps >= t.limit) {
            synchronized (LOCK) {
                completed(t, kind, site);
                grant(t);
            }
        }
    }

    private static void completed(ThreadState t, int kind, int site) {
        t.site = site;
        if (schedule == null) {
            return;
        }
        long ordinal = t.steps - 1;
        if (schedule.over() || schedule.thread() != t.index) {
            // It had nothing to do and went on to its end; what it does there is no step of the schedule.
            depart(t, describe(kind, ordinal, site));
        }
        if (ordinal < schedule.ordinal()) {
            return;
        }
        if (ordinal != schedule.ordinal() || !schedule.fits(kind, site)) {
            depart(t, describe(kind, ordinal, site));
        }
        schedule.at++;
        if (schedule.over()) {
            schedule = null;
        }
    }

    private static String describe(int kind, long ordinal, int site) {
        return Kind.NAMES[kind] + " number " + ordinal + " at " + Sites.text(site);
    }

    /** A step that may block is about to run: it must be the scheduled one, if it is at its place. */
    static void expect(ThreadState t, int kind, int site) {
        t.site = site;
        if (schedule == null) {
            return;
        }
        synchronized (LOCK) {
            if (schedule != null && schedule.thread() == t.index && t.steps == schedule.ordinal()
                && !schedule.fits(kind, site)) {
                depart(t, describe(kind, t.steps, site));
            }
        }
    }

    /** Whom the thread gives the baton to; null: it keeps it. */
    private static ThreadState decide(ThreadState t) {
        if (schedule != null) {
            if (schedule.thread() == t.index) {
                grant(t);
                return null;
            }
            return giveAway(t);
        }
        long before = t.steps;
        grant(t);
        now += (t.limit - before) * STEP_NS;
        expire();
        int n = runnable.size();
        return n > 0 && random(n + 1) < n ? giveAway(t) : null;
    }

    /** The thread stays among those who can run. */
    private static ThreadState giveAway(ThreadState t) {
        t.state = ThreadState.RUNNABLE;
        t.callSite = Hooks.callSite;
        ThreadState next = pass();
        runnable.add(t);
        return next;
    }

    private static void goOn(ThreadState t, ThreadState next) {
        if (next != null) {
            change(t, next);
        }
    }

    /** Another thread goes on in the place of this one, until this one has the baton again. */
    private static void change(ThreadState t, ThreadState next) {
        wake(next);
        sleep(t);
        // The others have made calls meanwhile.
        Hooks.callSite = t.callSite;
    }

    /** Lets another thread run, if one can. */
    static void giveWay(ThreadState t) {
        ThreadState next = null;
        synchronized (LOCK) {
            expire();
            if (schedule == null && !runnable.isEmpty()) {
                next = giveAway(t);
            }
        }
        goOn(t, next);
    }

    // Who runs.

    /** The baton goes to somebody else; NOBODY if nobody can have it for now. The caller wakes that thread. */
    static ThreadState pass() {
        if (schedule != null) {
            return hand(scheduled());
        }
        expire();
        if (runnable.isEmpty()) {
            current = NOBODY;
            return NOBODY;
        }
        int last = runnable.size() - 1;
        int at = random(last + 1);
        ThreadState next = runnable.get(at);
        runnable.set(at, runnable.get(last));
        runnable.remove(last);
        return hand(next);
    }

    private static ThreadState hand(ThreadState t) {
        if (t.state == ThreadState.OUTSIDE) {
            outside--;
        }
        t.state = ThreadState.RUNNING;
        current = t;
        pulse++;
        if (schedule != null) {
            grant(t);
        }
        return t;
    }

    /** The thread that the schedule wants, or the end of the run. */
    private static ThreadState scheduled() {
        int index = schedule.thread();
        ThreadState t = index < all.size() ? all.get(index) : null;
        if (t == null || t.state == ThreadState.STARTING) {
            depart(null, "thread " + index + " has not been started");
            return NOBODY;
        }
        if (t.state == ThreadState.BLOCKED) {
            boolean late = t.what == ThreadState.FOR_NOTIFY && schedule.kind() == Kind.TIMED_OUT
                || t.what != ThreadState.FOR_NOTIFY && t.realDeadline != ThreadState.NEVER;
            if (late) {
                ready(t, ThreadState.BY_TIME);
            } else {
                depart(null, situation(t));
            }
        }
        if (t.state == ThreadState.ENDED) {
            depart(null, "thread " + index + " has ended");
        }
        runnable.remove(t);
        return t;
    }

    /** Wakes a thread that has been given the baton. The lock is free. */
    static void wake(ThreadState t) {
        if (t == NOBODY) {
            return;
        }
        Object bed = t.bed;
        synchronized (bed) {
            bed.notifyAll();
        }
    }

    /** Waits for the baton. Interrupts are for the program, later. */
    private static void sleep(ThreadState t) {
        Object bed = t.bed;
        boolean interrupted = false;
        synchronized (bed) {
            while (current != t) {
                try {
                    bed.wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Hooks.interruptAgain(t);
        }
    }

    /**
     * Makes a blocked thread one that can run. One that sleeps in an object's monitor goes on when that is free: to wake it
     * takes the real monitor.
     */
    static void ready(ThreadState t, int wake) {
        if (t.state != ThreadState.BLOCKED) {
            return;
        }
        if (t.what != ThreadState.FOR_LOCK) {
            t.wake = wake;
        }
        t.virtualDeadline = ThreadState.NEVER;
        t.realDeadline = ThreadState.NEVER;
        Monitor m = t.bedMonitor;
        if (m != null && m.owner != null) {
            t.what = ThreadState.FOR_LOCK;
            t.object = m;
            t.owner = m.owner;
            return;
        }
        blocked.remove(t);
        t.state = ThreadState.RUNNABLE;
        runnable.add(t);
    }

    /** A thread has taken a monitor in which others sleep that were about to go on. */
    static void lockTaken(Monitor m) {
        synchronized (LOCK) {
            for (int i = runnable.size() - 1; i >= 0; i--) {
                ThreadState t = runnable.get(i);
                if (t.bedMonitor == m && m.owner != t) {
                    runnable.remove(i);
                    t.state = ThreadState.BLOCKED;
                    t.what = ThreadState.FOR_LOCK;
                    t.object = m;
                    t.owner = m.owner;
                    blocked.add(t);
                }
            }
        }
    }

    /** The same from a thread that need not have the baton. */
    static void readyFromOutside(ThreadState t, int wake) {
        ThreadState next = NOBODY;
        synchronized (LOCK) {
            ready(t, wake);
            if (current == NOBODY) {
                next = pass();
            }
        }
        wake(next);
    }

    private static void expire() {
        for (int i = blocked.size() - 1; i >= 0; i--) {
            ThreadState t = blocked.get(i);
            if (t.virtualDeadline <= now) {
                ready(t, ThreadState.BY_TIME);
            }
        }
    }

    /** The sleeper whose time is over first; null if nobody sleeps. */
    static ThreadState firstSleeper() {
        ThreadState first = null;
        for (ThreadState t : blocked) {
            if (t.virtualDeadline != ThreadState.NEVER
                && (first == null || t.virtualDeadline < first.virtualDeadline)) {
                first = t;
            }
        }
        return first;
    }

    /** Lets those go on whose time is long over although the others have run few steps. */
    static void impatient() {
        long real = System.nanoTime();
        for (int i = blocked.size() - 1; i >= 0; i--) {
            ThreadState t = blocked.get(i);
            if (t.realDeadline != ThreadState.NEVER && saturated(t.realDeadline, t.patience) <= real) {
                ready(t, ThreadState.BY_TIME);
            }
        }
    }

    /** Time jumps to the end of somebody's sleep. */
    static void sleepOver(ThreadState t) {
        now = Math.max(now, t.virtualDeadline);
        ready(t, ThreadState.BY_TIME);
    }

    // Blocking.

    /**
     * Gives the baton away until somebody wakes the thread. `bed`: the object whose monitor the thread leaves
     * meanwhile, or null; `nanos`: the time limit, or -1; `between`: this is between two steps. Says why it goes on.
     */
    static int block(ThreadState t, int what, Object object, Object bed, long nanos, int site, boolean between) {
        ThreadState next;
        synchronized (LOCK) {
            t.what = what;
            t.object = object;
            if (what == ThreadState.FOR_LOCK) {
                Monitor lock = (Monitor) object;
                t.owner = lock.owner;
                lock.waiting++;
            }
            t.site = site;
            t.wake = ThreadState.BY_EVENT;
            if (bed != null) {
                t.bed = bed;
                t.bedMonitor = Ids.monitor(bed);
                t.bedMonitor.sleepers++;
            }
            if (nanos >= 0) {
                long grain = nanos >= 10000000 ? 10000000 : 1000000;
                long rounded = (nanos + grain - 1) / grain * grain;
                t.virtualDeadline = saturated(now, rounded);
                t.realDeadline = saturated(System.nanoTime(), nanos);
                t.patience = saturated(rounded, 1000000000);
            }
            t.state = ThreadState.BLOCKED;
            t.callSite = Hooks.callSite;
            if (schedule != null && !between && schedule.thread() == t.index) {
                depart(t, situation(t));
            }
            blocked.add(t);
            next = pass();
        }
        change(t, next);
        if (bed != null) {
            t.bedMonitor.sleepers--;
            t.bedMonitor = null;
            t.bed = t;
        }
        if (what == ThreadState.FOR_LOCK) {
            ((Monitor) object).waiting--;
        }
        t.what = 0;
        t.object = null;
        t.owner = null;
        return t.wake;
    }

    private static long saturated(long a, long b) {
        long sum = a + b;
        return sum < a && b > 0 ? ThreadState.NEVER - 1 : sum;
    }

    /** Whoever waits for a lock may try again. */
    static void lockFree(Monitor lock) {
        if (lock.waiting == 0 && lock.sleepers == 0) {
            return;
        }
        synchronized (LOCK) {
            for (int i = 0; i < blocked.size();) {
                ThreadState t = blocked.get(i);
                if (t.what == ThreadState.FOR_LOCK && t.object == lock) {
                    ready(t, ThreadState.BY_EVENT);
                } else {
                    i++;
                }
            }
        }
    }

    // Threads.

    /** A thread is being started. */
    static void starting(Thread thread) {
        synchronized (LOCK) {
            if (!KNOWN.containsKey(thread)) {
                KNOWN.put(thread, new ThreadState(thread));
            }
        }
    }

    /** It was: it can run from now on. Null: it is none of ours. */
    static ThreadState started(ThreadState parent, Thread thread) {
        synchronized (LOCK) {
            ThreadState t = KNOWN.get(thread);
            if (t == null || t.state != ThreadState.STARTING) {
                return null;
            }
            int nth = parent.children++;
            t.index = schedule != null ? schedule.index(parent.index, nth) : nextIndex++;
            while (all.size() <= t.index) {
                all.add(null);
            }
            all.set(t.index, t);
            nextIndex = Math.max(nextIndex, all.size());
            t.state = ThreadState.RUNNABLE;
            grant(t);
            runnable.add(t);
            return t;
        }
    }

    static void unpark(ThreadState t) {
        ThreadState next = NOBODY;
        synchronized (LOCK) {
            if (t.state == ThreadState.BLOCKED && t.what == ThreadState.FOR_PERMIT) {
                ready(t, ThreadState.BY_EVENT);
                if (current == NOBODY) {
                    next = pass();
                }
            } else {
                t.permit = true;
            }
        }
        wake(next);
    }

    /** The waiter to be notified first. */
    static ThreadState preferred(ArrayList<ThreadState> waiters) {
        ThreadState best = waiters.get(0);
        synchronized (LOCK) {
            if (schedule == null) {
                return best;
            }
            for (ThreadState t : waiters) {
                if (schedule.wanted(t.index) < schedule.wanted(best.index)) {
                    best = t;
                }
            }
        }
        return best;
    }

    static ThreadState find(Thread thread) {
        synchronized (LOCK) {
            return KNOWN.get(thread);
        }
    }

    /** The calling thread waits for the baton. Null: it is none of the recorded ones. */
    static ThreadState gate() {
        ThreadState t;
        synchronized (LOCK) {
            t = KNOWN.get(Thread.currentThread());
            if (t == null || t.state == ThreadState.ENDED) {
                return null;
            }
            if (t.state == ThreadState.OUTSIDE) {
                if (current == NOBODY && schedule == null) {
                    hand(t);
                } else {
                    outside--;
                    t.state = ThreadState.RUNNABLE;
                    runnable.add(t);
                }
            }
        }
        sleep(t);
        if (t.callSite != 0) {
            Hooks.callSite = t.callSite;
        }
        return t;
    }

    /** The calling thread, which has the baton, has ended. */
    static void ended(ThreadState t) {
        ThreadState next;
        synchronized (LOCK) {
            for (int i = 0; i < blocked.size();) {
                ThreadState b = blocked.get(i);
                if (b.what == ThreadState.FOR_JOIN && b.object == t.thread) {
                    ready(b, ThreadState.BY_EVENT);
                } else {
                    i++;
                }
            }
            t.state = ThreadState.ENDED;
            next = pass();
        }
        wake(next);
    }

    // The end of a run.

    static String situation(ThreadState t) {
        String doing;
        switch (t.state) {
            case ThreadState.RUNNING: doing = "runs"; break;
            case ThreadState.RUNNABLE: doing = "can run"; break;
            case ThreadState.OUTSIDE: doing = "is in a call that is not modelled"; break;
            case ThreadState.BLOCKED: doing = waits(t); break;
            default: doing = "has ended";
        }
        String at = t.site > 0 ? " (" + Sites.text(t.site) + ")" : "";
        return "thread " + t.index + " " + doing + at;
    }

    private static String waits(ThreadState t) {
        switch (t.what) {
            case ThreadState.FOR_LOCK:
                return "waits for a lock" + (t.owner == null ? "" : ", held by thread " + t.owner.index);
            case ThreadState.FOR_NOTIFY: return "waits to be notified";
            case ThreadState.FOR_JOIN:
                ThreadState other = KNOWN.get(t.object);
                return "waits for the end of " + (other == null ? "a thread" : "thread " + other.index);
            case ThreadState.FOR_TIME: return "sleeps";
            default: return "is parked";
        }
    }

    /** Nobody can ever run again: says so and ends the program. The lock is held. */
    static void deadlock() {
        StringBuilder text = new StringBuilder();
        ArrayList<Integer> stuck = new ArrayList<Integer>();
        for (ThreadState t : all) {
            if (t != null && t.state == ThreadState.BLOCKED) {
                text.append(text.length() > 0 ? "; " : "").append(situation(t));
                if (t.what != ThreadState.FOR_JOIN) {
                    stuck.add(t.index);
                }
            }
        }
        System.err.println("foretell: deadlock: " + text);
        int[] threads = new int[stuck.size()];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = stuck.get(i);
        }
        Log.deadlock(threads);
        Runtime.getRuntime().halt(ABORTED);
    }

    /** The run is not that of the schedule: says so and ends it. */
    static void depart(ThreadState t, String got) {
        String who = t == null || got.startsWith("thread ") ? "" : "thread " + t.index + ": ";
        String message = "expected " + schedule.text() + "; got " + who + got;
        System.err.println("foretell: replay departed from the schedule at step " + schedule.at + ": " + message);
        Log.departure(schedule.at, message);
        Runtime.getRuntime().halt(DEPARTED);
    }
}
