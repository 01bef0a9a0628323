package foretell.rt;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * Scheduler of the recorded threads. Exactly one thread, the holder of the baton, runs between two
 * hooks. A generator with a seed chooses it in a recorded run, a schedule in a replayed one.
 *
 * A hook comes after its access: a thread that has made its step stops there. A thread that cannot
 * continue gives the baton up ({@link #block}); the thread that ends the reason for the wait makes
 * it runnable again. A thread in a blocking call that is not modelled loses the baton ({@link
 * Watchdog}) and waits for it at its next gate: the entry of a method, the return of a call, the
 * handler of an exception.
 *
 * A thread sleeps in the monitor of its {@link ThreadState}, or in that of the object in whose
 * `wait` it is, which must be free for other threads.
 */
final class Scheduler {
    /** Virtual duration of a step in nanoseconds, by which time limits are measured. */
    private static final long STEP_NS = 50;
    private static final long GROWTH_STEP = 256;
    private static final long MAX_GROWTH = 32;
    /** Exit status of a deadlocked run, as of a program that aborts. */
    private static final int ABORTED = 134;

    static final Object LOCK = new Object();
    /** Holder of the baton when no thread has it. */
    static final ThreadState NO_THREAD = new ThreadState(null);

    /** Holder of the baton. */
    static volatile ThreadState current = NO_THREAD;
    /** Holder of the baton whose stack the watchdog examines; NO_THREAD has the baton meanwhile. */
    static volatile ThreadState examined;

    /** States by thread, and by number. */
    static final Map<Thread, ThreadState> BY_THREAD = new IdentityHashMap<Thread, ThreadState>();
    static final ArrayList<ThreadState> all = new ArrayList<ThreadState>();
    static final ArrayList<ThreadState> runnable = new ArrayList<ThreadState>();
    static final ArrayList<ThreadState> blocked = new ArrayList<ThreadState>();
    static int inBlockingCall;
    /** Number of times that the baton was passed. */
    static long batonPasses;

    private static long random;
    private static long quantum;
    /** Average number of steps of a turn after the schedule of a replay, and number of turns. */
    private static final long FINE_QUANTUM = 2;
    private static final int FINE_TURNS = 2000;
    /** Turns that are left. */
    private static int fineTurns;
    /**
     * Thread of the last step of a schedule, which the others go ahead of for some turns: so the
     * program's state changes between that step and what the thread does about it.
     */
    private static ThreadState held;
    private static long decisions;
    private static long virtualNow;
    private static int nextIndex;
    /** Schedule of a replay; null in a recorded run and after the last scheduled step. */
    static Schedule schedule;

    private Scheduler() {
    }

    /** Starts with the calling thread as holder of the baton. */
    static void start(Options options, Schedule s) {
        synchronized (LOCK) {
            random = options.seed;
            quantum = options.quantum;
            schedule = s;
            ThreadState t = new ThreadState(Thread.currentThread());
            t.index = nextIndex++;
            BY_THREAD.put(t.thread, t);
            all.add(t);
            t.state = ThreadState.RUNNING;
            setBudget(t);
            current = t;
            if (schedule != null) {
                Replay.goOn(null);
            }
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

    /** Sets the number of steps after which the scheduler decides again. */
    private static void setBudget(ThreadState t) {
        if (schedule != null) {
            boolean isNext = !schedule.isDone() && schedule.thread() == t.index;
            t.budgetEnd = t == Replay.ahead ? schedule.bound(t.index)
                : isNext ? schedule.stepsWhenDone() : t.steps + 1;
            return;
        }
        decisions++;
        long growth = Math.min(1 + decisions / GROWTH_STEP, MAX_GROWTH);
        long turn = quantum * growth;
        if (fineTurns > 0) {
            turn = Math.min(quantum, FINE_QUANTUM);
            if (--fineTurns == 0) {
                held = null;
            }
        }
        t.budgetEnd = t.steps + 1 + Long.remainderUnsigned(random(), Math.max(1, turn * 2 - 1));
    }

    // Steps.

    /** Handles a step that ends the thread's budget. */
    static void endBudget(ThreadState t, int kind, int site) {
        ThreadState next;
        synchronized (LOCK) {
            checkStep(t, kind, site);
            next = chooseNext(t);
        }
        switchIfOther(t, next);
    }

    /**
     * Handles a step that ends the budget where the baton cannot be given up; the next gate
     * decides.
     */
    static void endBudgetDeferred(ThreadState t, int kind, int site) {
        synchronized (LOCK) {
            checkStep(t, kind, site);
            if (schedule != null && schedule.thread() == t.index) {
                // The next step, too, may be one of the same call: a pool starts several threads.
                setBudget(t);
                return;
            }
            t.switchPending = true;
            t.budgetEnd = Long.MAX_VALUE;
        }
    }

    /**
     * Continues after a schedule with short turns, those of the thread of the last step last, so
     * that effects of a finding show.
     */
    static void continueFrom(ThreadState t) {
        fineTurns = FINE_TURNS;
        held = t;
    }

    /** Makes the decision that was deferred. */
    static void makeDeferredDecision(ThreadState t) {
        ThreadState next;
        synchronized (LOCK) {
            next = chooseNext(t);
        }
        switchIfOther(t, next);
    }

    /** Handles a step after which the thread blocks in any case. */
    static void stepBeforeBlocking(ThreadState t, int kind, int site) {
        if (++t.steps >= t.budgetEnd) {
            synchronized (LOCK) {
                checkStep(t, kind, site);
                setBudget(t);
            }
        }
    }

    private static void checkStep(ThreadState t, int kind, int site) {
        t.site = site;
        if (schedule != null) {
            Replay.check(t, kind, site);
        }
    }

    /** Returns the thread to switch to; null: the thread keeps the baton. */
    private static ThreadState chooseNext(ThreadState t) {
        if (schedule != null) {
            if (schedule.thread() == t.index) {
                setBudget(t);
                return null;
            }
            return releaseBaton(t);
        }
        long before = t.steps;
        setBudget(t);
        virtualNow += (t.budgetEnd - before) * STEP_NS;
        expireVirtualTime();
        int n = runnable.size();
        if (held != null) {
            boolean alone = n == 0 || n == 1 && runnable.get(0) == held;
            return alone ? null : releaseBaton(t);
        }
        return n > 0 && random(n + 1) < n ? releaseBaton(t) : null;
    }

    /** Gives up the baton; the thread stays runnable. */
    private static ThreadState releaseBaton(ThreadState t) {
        t.state = ThreadState.RUNNABLE;
        t.callSite = Hooks.callSite;
        ThreadState next = passBaton();
        if (next != t) {
            runnable.add(t);
        }
        return next;
    }

    private static void switchIfOther(ThreadState t, ThreadState next) {
        if (next != null) {
            switchTo(t, next);
        }
    }

    /** Wakes `next` and waits for the baton. */
    private static void switchTo(ThreadState t, ThreadState next) {
        wake(next);
        sleep(t);
        // Other threads have made calls meanwhile.
        Hooks.callSite = t.callSite;
    }

    /** Lets a different thread run, if one is runnable. */
    static void yieldBaton(ThreadState t) {
        ThreadState next = null;
        synchronized (LOCK) {
            expireVirtualTime();
            if (schedule == null && !runnable.isEmpty()) {
                next = releaseBaton(t);
            }
        }
        switchIfOther(t, next);
    }

    // Passing of the baton.

    /**
     * Passes the baton on and returns its holder, NO_THREAD if no thread is runnable. The caller
     * wakes that thread.
     */
    static ThreadState passBaton() {
        if (schedule != null) {
            return giveBaton(Replay.scheduled());
        }
        expireVirtualTime();
        if (runnable.isEmpty()) {
            current = NO_THREAD;
            return NO_THREAD;
        }
        int last = runnable.size() - 1;
        int at = random(last + 1);
        if (runnable.get(at) == held) {
            if (last == 0) {
                held = null;
            } else {
                at = (at + 1) % (last + 1);
            }
        }
        ThreadState next = runnable.get(at);
        runnable.set(at, runnable.get(last));
        runnable.remove(last);
        return giveBaton(next);
    }

    private static ThreadState giveBaton(ThreadState t) {
        if (t.state == ThreadState.BLOCKING_CALL) {
            inBlockingCall--;
        }
        t.state = ThreadState.RUNNING;
        t.isToBeWoken = t.sleepObject != t;
        current = t;
        batonPasses++;
        if (schedule != null) {
            setBudget(t);
        }
        return t;
    }

    /** Wakes the holder of the baton. The caller does not have the lock. */
    static void wake(ThreadState t) {
        if (t == NO_THREAD) {
            return;
        }
        Object sleepObject = t.sleepObject;
        synchronized (sleepObject) {
            t.isToBeWoken = false;
            sleepObject.notifyAll();
        }
    }

    /** Whether a thread that sleeps may go on. */
    private static boolean mayGoOn(ThreadState t) {
        // The watchdog gives the baton back before it ends its examination.
        boolean hasBaton = current == t || examined == t || current == t;
        // A notification of the program may come before that of the thread that passed the baton.
        // The latter must have the monitor first: it could not enter it any more.
        return hasBaton && !t.isToBeWoken;
    }

    /** Waits for the baton. The program sees interrupts later. */
    private static void sleep(ThreadState t) {
        Object sleepObject = t.sleepObject;
        boolean interrupted = false;
        synchronized (sleepObject) {
            while (!mayGoOn(t)) {
                try {
                    sleepObject.wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Hooks.restoreInterrupt(t);
        }
    }

    /**
     * Makes a blocked thread runnable. A thread that sleeps in an object's monitor must wait until
     * that is free, since waking it takes the real monitor.
     */
    static void ready(ThreadState t, int wakeReason) {
        if (t.state != ThreadState.BLOCKED) {
            return;
        }
        if (t.waitsFor != ThreadState.FOR_LOCK) {
            t.wakeReason = wakeReason;
        }
        t.virtualDeadline = ThreadState.NEVER;
        t.realDeadline = ThreadState.NEVER;
        Monitor m = t.sleepMonitor;
        if (m != null && m.owner != null) {
            t.waitsFor = ThreadState.FOR_LOCK;
            t.object = m;
            t.lockHolder = m.owner;
            return;
        }
        blocked.remove(t);
        t.state = ThreadState.RUNNABLE;
        runnable.add(t);
        if (schedule != null) {
            Replay.ready(t);
        }
    }

    /** Blocks the runnable threads that sleep in a monitor that was taken. */
    static void lockTaken(Monitor m) {
        synchronized (LOCK) {
            for (int i = runnable.size() - 1; i >= 0; i--) {
                ThreadState t = runnable.get(i);
                if (t.sleepMonitor == m && m.owner != t) {
                    runnable.remove(i);
                    t.state = ThreadState.BLOCKED;
                    t.waitsFor = ThreadState.FOR_LOCK;
                    t.object = m;
                    t.lockHolder = m.owner;
                    blocked.add(t);
                }
            }
        }
    }

    /** Makes a blocked thread runnable on behalf of a thread that may not have the baton. */
    static void readyWithoutBaton(ThreadState t, int wakeReason) {
        ThreadState next = NO_THREAD;
        synchronized (LOCK) {
            ready(t, wakeReason);
            if (current == NO_THREAD) {
                next = passBaton();
            }
        }
        wake(next);
    }

    private static void expireVirtualTime() {
        for (int i = blocked.size() - 1; i >= 0; i--) {
            ThreadState t = blocked.get(i);
            if (t.virtualDeadline <= virtualNow) {
                ready(t, ThreadState.BY_TIME);
            }
        }
    }

    /** Returns the sleeper with the first virtual deadline, or null. */
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

    /** Ends sleeps whose real time is long over although few steps have run. */
    static void expireRealTime() {
        long real = System.nanoTime();
        for (int i = blocked.size() - 1; i >= 0; i--) {
            ThreadState t = blocked.get(i);
            if (t.realDeadline != ThreadState.NEVER
                && saturatingAdd(t.realDeadline, t.realTimeSlack) <= real) {
                ready(t, ThreadState.BY_TIME);
            }
        }
    }

    /** Ends a sleep and moves virtual time to its end. */
    static void endSleep(ThreadState t) {
        virtualNow = Math.max(virtualNow, t.virtualDeadline);
        ready(t, ThreadState.BY_TIME);
    }

    // Blocking.

    /**
     * Gives up the baton until the thread is made runnable, and returns the reason. `sleepObject`:
     * the object whose monitor the thread leaves meanwhile, or null; `nanos`: the time limit, or
     * -1.
     */
    static int block(ThreadState t, int waitsFor, Object object, Object sleepObject, long nanos,
                     int site) {
        ThreadState next;
        synchronized (LOCK) {
            t.waitsFor = waitsFor;
            t.object = object;
            if (waitsFor == ThreadState.FOR_LOCK) {
                Monitor lock = (Monitor) object;
                t.lockHolder = lock.owner;
                lock.waiting++;
            }
            t.site = site;
            t.wakeReason = ThreadState.BY_EVENT;
            if (sleepObject != null) {
                t.sleepObject = sleepObject;
                t.sleepMonitor = ObjectIds.monitor(sleepObject);
                t.sleepMonitor.sleepers++;
            }
            if (nanos >= 0) {
                if (waitsFor != ThreadState.FOR_TIME) {
                    Log.otherWake();
                }
                long grain = nanos >= 10000000 ? 10000000 : 1000000;
                long rounded = (nanos + grain - 1) / grain * grain;
                t.virtualDeadline = saturatingAdd(virtualNow, rounded);
                t.realDeadline = saturatingAdd(System.nanoTime(), nanos);
                t.realTimeSlack = saturatingAdd(rounded, 1000000000);
            }
            t.state = ThreadState.BLOCKED;
            t.callSite = Hooks.callSite;
            blocked.add(t);
            if (schedule != null) {
                Replay.blocks(t);
            }
            next = passBaton();
        }
        switchTo(t, next);
        if (sleepObject != null) {
            t.sleepMonitor.sleepers--;
            t.sleepMonitor = null;
            t.sleepObject = t;
        }
        if (waitsFor == ThreadState.FOR_LOCK) {
            ((Monitor) object).waiting--;
        }
        t.waitsFor = 0;
        t.object = null;
        t.lockHolder = null;
        return t.wakeReason;
    }

    private static long saturatingAdd(long a, long b) {
        long sum = a + b;
        return sum < a && b > 0 ? ThreadState.NEVER - 1 : sum;
    }

    /** Makes the threads that wait for a lock runnable. */
    static void lockReleased(Monitor lock) {
        if (lock.waiting == 0 && lock.sleepers == 0) {
            return;
        }
        synchronized (LOCK) {
            for (int i = 0; i < blocked.size();) {
                ThreadState t = blocked.get(i);
                if (t.waitsFor == ThreadState.FOR_LOCK && t.object == lock) {
                    ready(t, ThreadState.BY_EVENT);
                } else {
                    i++;
                }
            }
        }
    }

    // Threads.

    /** Records that a thread is about to be started. */
    static void starting(Thread thread) {
        synchronized (LOCK) {
            if (!BY_THREAD.containsKey(thread)) {
                BY_THREAD.put(thread, new ThreadState(thread));
            }
        }
    }

    /** Makes a started thread runnable. Returns null if it is not recorded. */
    static ThreadState started(ThreadState parent, Thread thread) {
        synchronized (LOCK) {
            ThreadState t = BY_THREAD.get(thread);
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
            setBudget(t);
            runnable.add(t);
            return t;
        }
    }

    static void unpark(ThreadState t) {
        ThreadState next = NO_THREAD;
        synchronized (LOCK) {
            if (t.state == ThreadState.BLOCKED && t.waitsFor == ThreadState.FOR_PERMIT) {
                ready(t, ThreadState.BY_EVENT);
                if (current == NO_THREAD) {
                    next = passBaton();
                }
            } else {
                t.permit = true;
            }
        }
        wake(next);
    }

    /** Returns the waiter to notify next. */
    static ThreadState nextToNotify(ArrayList<ThreadState> waiters) {
        ThreadState best = waiters.get(0);
        synchronized (LOCK) {
            if (schedule == null) {
                return best;
            }
            for (ThreadState t : waiters) {
                if (schedule.wakePosition(t.index) < schedule.wakePosition(best.index)) {
                    best = t;
                }
            }
        }
        return best;
    }

    /** Returns the state of a thread as the program would see it without the scheduler. */
    static Thread.State javaState(ThreadState t) {
        synchronized (LOCK) {
            if (t.state == ThreadState.ENDED) {
                return Thread.State.TERMINATED;
            }
            if (t.state != ThreadState.BLOCKED) {
                return Thread.State.RUNNABLE;
            }
            if (t.waitsFor == ThreadState.FOR_LOCK) {
                return Thread.State.BLOCKED;
            }
            return t.realDeadline == ThreadState.NEVER ? Thread.State.WAITING
                : Thread.State.TIMED_WAITING;
        }
    }

    static ThreadState find(Thread thread) {
        synchronized (LOCK) {
            return BY_THREAD.get(thread);
        }
    }

    /** Waits for the baton. Returns null if the calling thread is not recorded. */
    static ThreadState gate() {
        ThreadState t;
        synchronized (LOCK) {
            t = BY_THREAD.get(Thread.currentThread());
            if (t == null || t.state == ThreadState.ENDED) {
                return null;
            }
            if (t.state == ThreadState.BLOCKING_CALL) {
                t.waits++;
                t.unexplainedWait = true;
                if (current == NO_THREAD && schedule == null) {
                    giveBaton(t);
                } else {
                    inBlockingCall--;
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

    /** Ends the calling thread, which has the baton. */
    static void ended(ThreadState t) {
        ThreadState next;
        synchronized (LOCK) {
            for (int i = 0; i < blocked.size();) {
                ThreadState b = blocked.get(i);
                if (b.waitsFor == ThreadState.FOR_JOIN && b.object == t.thread) {
                    ready(b, ThreadState.BY_EVENT);
                } else {
                    i++;
                }
            }
            t.state = ThreadState.ENDED;
            next = passBaton();
        }
        wake(next);
    }

    // The end of a run.

    static String waitReport(ThreadState t) {
        String doing;
        switch (t.state) {
            case ThreadState.RUNNING: doing = "runs"; break;
            case ThreadState.RUNNABLE: doing = "can run"; break;
            case ThreadState.BLOCKING_CALL: doing = "is in a call that is not modelled"; break;
            case ThreadState.BLOCKED: doing = blockedReason(t); break;
            default: doing = "has ended";
        }
        String at = t.site > 0 ? " (" + Sites.text(t.site) + ")" : "";
        return "thread " + t.index + " " + doing + at;
    }

    private static String blockedReason(ThreadState t) {
        switch (t.waitsFor) {
            case ThreadState.FOR_LOCK:
                return "waits for a lock" + (t.lockHolder == null ? ""
                    : ", held by thread " + t.lockHolder.index);
            case ThreadState.FOR_NOTIFY: return "waits to be notified";
            case ThreadState.FOR_JOIN:
                ThreadState other = BY_THREAD.get(t.object);
                return "waits for the end of " + (other == null ? "a thread" : "thread "
                    + other.index);
            case ThreadState.FOR_TIME: return "sleeps";
            default: return t.wantedLock() != 0 ? "waits for a lock" : "is parked";
        }
    }

    /** Returns what threads wait for: thread, whether it joins, lock or thread, for each. */
    static long[] waits(ArrayList<ThreadState> threads) {
        long[] waits = new long[threads.size() * 3];
        for (int i = 0; i < threads.size(); i++) {
            ThreadState t = threads.get(i);
            boolean joins = t.waitsFor == ThreadState.FOR_JOIN;
            ThreadState joined = joins ? BY_THREAD.get(t.object) : null;
            waits[i * 3] = t.index;
            waits[i * 3 + 1] = joins ? 1 : 0;
            waits[i * 3 + 2] = joined != null ? joined.index : t.wantedLock();
        }
        return waits;
    }

    /** Reports a deadlock and ends the program. The caller has the lock. */
    static void deadlock() {
        StringBuilder text = new StringBuilder();
        ArrayList<Integer> stuck = new ArrayList<Integer>();
        ArrayList<ThreadState> waiting = new ArrayList<ThreadState>();
        for (ThreadState t : all) {
            if (t != null && t.state == ThreadState.BLOCKED) {
                text.append(text.length() > 0 ? "; " : "").append(waitReport(t));
                waiting.add(t);
                if (t.waitsFor != ThreadState.FOR_JOIN) {
                    stuck.add(t.index);
                }
            }
        }
        System.err.println("foretell: deadlock: " + text);
        int[] threads = new int[stuck.size()];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = stuck.get(i);
        }
        if (schedule == null && Log.on) {
            Log.allBlocked(waits(waiting));
        }
        Log.deadlock(threads);
        Runtime.getRuntime().halt(ABORTED);
    }
}
