package foretell.rt;

import java.io.File;
import java.util.Map;

/**
 * Timer thread that ticks once a millisecond and handles what only time can tell: it takes the
 * baton from a thread in a blocking call that is not modelled, ends sleeps when no other thread can
 * run, reports a deadlock, and ends a replay that makes no progress.
 */
final class Watchdog extends Thread {
    /** Ticks without a step after which the running thread is examined. */
    private static final int IDLE_TICKS = 2;
    /** Ticks after which a thread is examined that seems to run but may be in a native call. */
    private static final int NATIVE_IDLE_TICKS = 20;
    /** Ticks without a runnable thread that mean a deadlock. */
    private static final int DEADLOCK_TICKS = 200;
    /** Ticks between two looks for the process that reads the log. */
    private static final int READER_TICKS = 500;

    /** The watchdog, which is not a thread of the program. */
    static Thread instance;

    private final long stallNanoseconds;
    private ThreadState lastHolder;
    private long lastSteps;
    private long lastBatonPasses;
    private int idleTicks;
    /** Time of the first of these ticks. */
    private long idleSince;
    private int noThreadTicks;
    /** Descriptor of the process that reads the log; null if it is not visible. */
    private final File reader;
    private int readerTicks;

    Watchdog(ThreadGroup group, long stallSeconds, String reader) {
        super(group, "foretell watchdog");
        setDaemon(true);
        stallNanoseconds = stallSeconds * 1_000_000_000;
        // A reader in another container, or of another user, is not visible.
        boolean visible = reader != null && new File(reader).exists();
        this.reader = visible ? new File(reader) : null;
    }

    /** Starts the watchdog without the hooks of Thread. */
    void begin() {
        instance = this;
        start();
    }

    @Override
    public void run() {
        while (true) {
            try {
                Thread.sleep(1);
                tick();
            } catch (InterruptedException e) {
                // The program interrupts all threads.
            } catch (OutOfMemoryError e) {
                // The program is out of memory; the next tick may succeed.
            }
        }
    }

    /** Ends the virtual machine when the process that reads the log has ended. */
    private void checkReader() {
        if (reader != null && ++readerTicks >= READER_TICKS) {
            readerTicks = 0;
            if (!reader.exists()) {
                Runtime.getRuntime().halt(128 + 9);
            }
        }
    }

    private void tick() {
        checkReader();
        ThreadState c = Scheduler.current;
        if (c == Scheduler.NO_THREAD) {
            idleTicks = 0;
            noThreadHasBaton();
            return;
        }
        noThreadTicks = 0;
        if (c != lastHolder || c.steps != lastSteps || Scheduler.batonPasses != lastBatonPasses) {
            lastHolder = c;
            lastSteps = c.steps;
            lastBatonPasses = Scheduler.batonPasses;
            idleTicks = 0;
            idleSince = System.nanoTime();
            return;
        }
        idleTicks++;
        boolean replaying;
        boolean othersWait;
        synchronized (Scheduler.LOCK) {
            replaying = Scheduler.schedule != null;
            if (!replaying) {
                Scheduler.expireRealTime();
            }
            othersWait = !Scheduler.runnable.isEmpty() || Scheduler.firstSleeper() != null;
        }
        if (replaying) {
            if (System.nanoTime() - idleSince > stallNanoseconds) {
                stalled(c);
            }
        } else if (othersWait && idleTicks >= IDLE_TICKS) {
            Thread.State state = c.thread.getState();
            boolean blocked = state != Thread.State.RUNNABLE && state != Thread.State.NEW;
            if (blocked || idleTicks % NATIVE_IDLE_TICKS == 0) {
                takeBaton(c);
            }
        }
    }

    private static void stalled(ThreadState c) {
        synchronized (Scheduler.LOCK) {
            if (Scheduler.schedule != null) {
                Replay.depart(null, Scheduler.waitReport(c) + " and makes no progress");
            }
        }
    }

    /**
     * Takes the baton from a thread in a blocking call. First no thread has the baton; then the
     * stack is examined. A thread that is not in the runtime at that time finds at its next hook
     * that the baton is gone.
     */
    private static void takeBaton(ThreadState c) {
        ThreadState next = Scheduler.NO_THREAD;
        synchronized (Scheduler.LOCK) {
            if (Scheduler.current != c || Scheduler.schedule != null) {
                return;
            }
            Scheduler.examined = c;
            Scheduler.current = Scheduler.NO_THREAD;
            if (isInBlockingCall(c.thread)) {
                c.state = ThreadState.BLOCKING_CALL;
                c.callSite = Hooks.callSite;
                Scheduler.inBlockingCall++;
                next = Scheduler.passBaton();
            } else {
                Scheduler.current = c;
            }
            Scheduler.examined = null;
        }
        Scheduler.wake(next);
    }

    /**
     * Whether native methods of a class may block: files, sockets, processes, and classes of the
     * program.
     */
    private static boolean mayBlock(String name) {
        return name.startsWith("java.net.") || name.startsWith("sun.nio.")
            || name.startsWith("java.io.FileInputStream")
            || name.startsWith("java.lang.Process") || name.startsWith("java.lang.UNIXProcess")
            || !(name.startsWith("java.") || name.startsWith("jdk.") || name.startsWith("sun."));
    }

    private static boolean isInBlockingCall(Thread thread) {
        Thread.State state = thread.getState();
        StackTraceElement[] stack = thread.getStackTrace();
        if (stack.length == 0) {
            return state != Thread.State.RUNNABLE && state != Thread.State.NEW;
        }
        if (state == Thread.State.RUNNABLE && !(stack[0].isNativeMethod()
            && mayBlock(stack[0].getClassName()))) {
            return false;
        }
        for (StackTraceElement frame : stack) {
            String name = frame.getClassName();
            if (name.startsWith("foretell.rt.")) {
                return name.equals("foretell.rt.Locks")
                    || name.equals("foretell.rt.Synchronizers")
                    || name.equals("foretell.rt.Permits") || name.equals("foretell.rt.Tasks");
            }
            boolean library = name.startsWith("java.") || name.startsWith("jdk.")
                || name.startsWith("sun.");
            if (!library) {
                return true;
            }
        }
        return true;
    }

    /** Handles a tick at which no thread has the baton. */
    private void noThreadHasBaton() {
        ThreadState next = Scheduler.NO_THREAD;
        synchronized (Scheduler.LOCK) {
            if (Scheduler.current != Scheduler.NO_THREAD) {
                return;
            }
            ThreadState first = Scheduler.firstSleeper();
            if (!Scheduler.runnable.isEmpty()) {
                next = Scheduler.passBaton();
            } else if (first != null) {
                noThreadTicks = 0;
                if (first.realDeadline <= System.nanoTime()) {
                    Scheduler.endSleep(first);
                    next = Scheduler.passBaton();
                }
            } else if (Scheduler.inBlockingCall == 0 && nonDaemonThreadBlocked()) {
                if (++noThreadTicks >= DEADLOCK_TICKS && allThreadsKnown()) {
                    Scheduler.deadlock();
                }
            } else {
                noThreadTicks = 0;
            }
        }
        Scheduler.wake(next);
    }

    /** Whether a thread that keeps the virtual machine alive is blocked. */
    private static boolean nonDaemonThreadBlocked() {
        for (ThreadState t : Scheduler.blocked) {
            if (!t.thread.isDaemon()) {
                return true;
            }
        }
        return false;
    }

    /** Whether the scheduler knows every thread that could wake a blocked one. */
    private static boolean allThreadsKnown() {
        for (Map.Entry<Thread, StackTraceElement[]> e : Thread.getAllStackTraces().entrySet()) {
            Thread thread = e.getKey();
            ThreadGroup group = thread.getThreadGroup();
            String type = thread.getClass().getName();
            boolean system = group == null || group.getParent() == null
                || thread.getName().equals("DestroyJavaVM")
                || type.startsWith("jdk.") || type.startsWith("sun.")
                || type.startsWith("java.lang.ref.");
            if (!system && Scheduler.find(thread) == null) {
                return false;
            }
        }
        return true;
    }
}
