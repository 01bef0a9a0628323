package foretell.rt;

/**
 * Hooks that rewritten classes call. The hook of an access comes after it, with object, value and
 * site. Its thread has the baton: {@link #enter} and {@link #afterCall} wait for it.
 */
public final class Hooks {
    /** Site of the call that is being made. */
    public static int callSite;

    private Hooks() {
    }

    /** Returns the calling thread once it has the baton; null: it is not recorded. */
    static ThreadState recordedThread() {
        ThreadState t = Scheduler.current;
        return t.thread == Thread.currentThread() ? t : Scheduler.gate();
    }

    static void step(ThreadState t, int kind, int site) {
        if (++t.steps >= t.budgetEnd) {
            Scheduler.endBudget(t, kind, site);
        }
    }

    static void stepLater(ThreadState t, int kind, int site) {
        if (++t.steps >= t.budgetEnd) {
            Scheduler.endBudgetDeferred(t, kind, site);
        }
    }

    // Fields. The object is null for a static field.

    private static void access(int tag, int kind, Object o, long value, int site) {
        ThreadState t = Scheduler.current;
        if (t.thread != Thread.currentThread()) {
            t = Scheduler.gate();
            if (t == null) {
                return;
            }
        }
        if (t.unrecordedDepth != 0) {
            initialValue(t, kind, o, value, site);
            return;
        }
        if (Log.on) {
            int id = o instanceof RecordedObject ? ((RecordedObject) o).foretellId : 0;
            if (id == 0) {
                id = ObjectIds.of(o);
            }
            if (id >= 0) {
                Log.access(t, tag, site, id, value);
            }
        }
        if (++t.steps >= t.budgetEnd) {
            Scheduler.endBudget(t, kind, site);
        }
    }

    /** Records what a class initialiser writes. */
    private static void initialValue(ThreadState t, int kind, Object o, long value, int site) {
        int id = kind == Kind.READ || !Log.on ? -1 : ObjectIds.of(o);
        if (id >= 0) {
            Log.access(t, Log.INITIAL, site, id, value);
        }
    }

    public static void read(Object o, int value, int site) {
        access(Log.READ, Kind.READ, o, value, site);
    }

    public static void read(Object o, long value, int site) {
        access(Log.READ, Kind.READ, o, value, site);
    }

    public static void read(Object o, float value, int site) {
        access(Log.READ, Kind.READ, o, Float.floatToRawIntBits(value), site);
    }

    public static void read(Object o, double value, int site) {
        access(Log.READ, Kind.READ, o, Double.doubleToRawLongBits(value), site);
    }

    public static void read(Object o, Object value, int site) {
        access(Log.READ, Kind.READ, o, reference(value), site);
    }

    public static void write(Object o, int value, int site) {
        access(Log.WRITE, Kind.WRITE, o, value, site);
    }

    public static void write(Object o, long value, int site) {
        access(Log.WRITE, Kind.WRITE, o, value, site);
    }

    public static void write(Object o, float value, int site) {
        access(Log.WRITE, Kind.WRITE, o, Float.floatToRawIntBits(value), site);
    }

    public static void write(Object o, double value, int site) {
        access(Log.WRITE, Kind.WRITE, o, Double.doubleToRawLongBits(value), site);
    }

    public static void write(Object o, Object value, int site) {
        access(Log.WRITE, Kind.WRITE, o, reference(value), site);
    }

    public static void readStatic(int value, int site) {
        access(Log.READ, Kind.READ, null, value, site);
    }

    public static void readStatic(long value, int site) {
        access(Log.READ, Kind.READ, null, value, site);
    }

    public static void readStatic(float value, int site) {
        access(Log.READ, Kind.READ, null, Float.floatToRawIntBits(value), site);
    }

    public static void readStatic(double value, int site) {
        access(Log.READ, Kind.READ, null, Double.doubleToRawLongBits(value), site);
    }

    public static void readStatic(Object value, int site) {
        access(Log.READ, Kind.READ, null, reference(value), site);
    }

    public static void writeStatic(int value, int site) {
        access(Log.WRITE, Kind.WRITE, null, value, site);
    }

    public static void writeStatic(long value, int site) {
        access(Log.WRITE, Kind.WRITE, null, value, site);
    }

    public static void writeStatic(float value, int site) {
        access(Log.WRITE, Kind.WRITE, null, Float.floatToRawIntBits(value), site);
    }

    public static void writeStatic(double value, int site) {
        access(Log.WRITE, Kind.WRITE, null, Double.doubleToRawLongBits(value), site);
    }

    public static void writeStatic(Object value, int site) {
        access(Log.WRITE, Kind.WRITE, null, reference(value), site);
    }

    /** Returns the value of a reference: the number of its object. */
    static long reference(Object o) {
        if (!Log.on) {
            return 0;
        }
        // Only the holder of the baton numbers objects; a thread that is not recorded needs no
        // number.
        return recordedThread() == null ? 0 : ObjectIds.of(o);
    }

    // Arrays.

    private static void element(int tag, int kind, Object array, int index, long value, int site) {
        ThreadState t = recordedThread();
        if (t == null) {
            return;
        }
        boolean initial = t.unrecordedDepth != 0;
        if (initial && kind == Kind.READ) {
            return;
        }
        if (Log.on) {
            int id = ObjectIds.of(array);
            if (id >= 0) {
                Log.element(t, initial ? Log.INITIAL_ELEMENT : tag, site, id, index, value);
            }
        }
        if (!initial) {
            step(t, kind, site);
        }
    }

    public static void load(Object array, int index, int value, int site) {
        element(Log.ARRAY_READ, Kind.READ, array, index, value, site);
    }

    public static void load(Object array, int index, long value, int site) {
        element(Log.ARRAY_READ, Kind.READ, array, index, value, site);
    }

    public static void load(Object array, int index, float value, int site) {
        element(Log.ARRAY_READ, Kind.READ, array, index, Float.floatToRawIntBits(value), site);
    }

    public static void load(Object array, int index, double value, int site) {
        element(Log.ARRAY_READ, Kind.READ, array, index, Double.doubleToRawLongBits(value), site);
    }

    public static void load(Object array, int index, Object value, int site) {
        element(Log.ARRAY_READ, Kind.READ, array, index, reference(value), site);
    }

    public static void store(int value, Object array, int index, int site) {
        element(Log.ARRAY_WRITE, Kind.WRITE, array, index, value, site);
    }

    public static void store(long value, Object array, int index, int site) {
        element(Log.ARRAY_WRITE, Kind.WRITE, array, index, value, site);
    }

    public static void store(float value, Object array, int index, int site) {
        element(Log.ARRAY_WRITE, Kind.WRITE, array, index, Float.floatToRawIntBits(value), site);
    }

    public static void store(double value, Object array, int index, int site) {
        element(Log.ARRAY_WRITE, Kind.WRITE, array, index, Double.doubleToRawLongBits(value), site);
    }

    public static void store(Object value, Object array, int index, int site) {
        element(Log.ARRAY_WRITE, Kind.WRITE, array, index, reference(value), site);
    }

    /** Records where an object was allocated. */
    public static void allocated(Object o, int site) {
        if (!Log.on) {
            return;
        }
        ThreadState t = recordedThread();
        if (t == null) {
            return;
        }
        int id = ObjectIds.of(o);
        if (id > 0) {
            Log.allocated(t, id, site);
        }
        if (o instanceof Object[]) {
            allocatedParts(t, (Object[]) o, id, site);
        }
    }

    /** Records the arrays in a new array of several dimensions, which are new, too. */
    private static void allocatedParts(ThreadState t, Object[] parts, int id, int site) {
        for (int i = 0; i < parts.length && parts[i] != null; i++) {
            allocated(parts[i], site);
            if (id > 0) {
                Log.element(t, Log.INITIAL_ELEMENT, site, id, i, ObjectIds.of(parts[i]));
            }
        }
    }

    /** Makes the copy of an object by `Object.clone` an object of its own. */
    public static void cloned(Object copy) {
        if (copy instanceof RecordedObject) {
            ((RecordedObject) copy).foretellId = 0;
            ((RecordedObject) copy).foretellMonitor = null;
        }
    }

    // Methods.

    public static void enter(int method) {
        int from = callSite;
        ThreadState t = recordedThread();
        if (t != null && Log.on) {
            if (t.depth == 0 || t.unexplainedWait) {
                Entries.enter(t);
            }
            Stacks.enter(t, method, from);
        }
    }

    public static void leave() {
        ThreadState t = Scheduler.current;
        if (t.thread == Thread.currentThread() && Log.on) {
            Stacks.leave(t);
        }
    }

    /** Waits for the baton after a call has returned. */
    public static void afterCall() {
        ThreadState t = Scheduler.current;
        if (t.thread != Thread.currentThread() || t.switchPending) {
            regainBaton();
        }
    }

    /** Waits for the baton after a handler has caught an exception, which has ended calls. */
    public static void caught() {
        afterCall();
        ThreadState t = Scheduler.current;
        if (t.thread == Thread.currentThread()) {
            t.waitObject = null;
            if (t.outerMonitor != null) {
                NestedMonitors.leave(t);
            }
        }
    }

    private static void regainBaton() {
        ThreadState t = recordedThread();
        if (t != null && t.switchPending) {
            t.switchPending = false;
            Scheduler.makeDeferredDecision(t);
        }
    }

    /**
     * Pauses recording for a class initialiser, whose writes are initial values, or a class loader.
     */
    public static void pauseRecording() {
        ThreadState t = recordedThread();
        if (t != null) {
            t.unrecordedDepth++;
        }
    }

    public static void resumeRecording() {
        ThreadState t = recordedThread();
        if (t != null && t.unrecordedDepth > 0) {
            t.unrecordedDepth--;
        }
    }

    public static void beginBlock(int method) {
        ThreadState t = recordedThread();
        if (t != null && t.unrecordedDepth == 0 && Log.on) {
            Log.event(t, Log.BLOCK_BEGIN, method);
        }
    }

    public static void endBlock() {
        ThreadState t = recordedThread();
        if (t != null && t.unrecordedDepth == 0 && Log.on) {
            Log.event(t, Log.BLOCK_END);
        }
    }

    // Monitors.

    /** Enters the logical monitor; the caller enters the real one next. */
    public static void lock(Object o, int site) {
        if (o == null) {
            return;
        }
        ThreadState t = recordedThread();
        Monitor m = t == null ? null : ObjectIds.monitor(o);
        if (m == null) {
            return;
        }
        if (m.owner == t) {
            m.depth++;
            return;
        }
        if (t.unrecordedDepth == 0) {
            Replay.expect(t, Kind.LOCK, site, o);
            if (m.owner != null) {
                Replay.takes(t, ObjectIds.of(o));
            }
        }
        acquire(t, m, null, site);
        m.depth = 1;
        if (t.unrecordedDepth == 0) {
            if (Log.on) {
                Log.event(t, Log.LOCK, site, ObjectIds.of(o));
            }
            step(t, Kind.LOCK, site);
        }
    }

    private static void acquire(ThreadState t, Monitor m, Object sleepObject, int site) {
        while (m.owner != null) {
            Scheduler.block(t, ThreadState.FOR_LOCK, m, sleepObject, -1, site);
        }
        m.owner = t;
        if (m.sleepers > 0) {
            Scheduler.lockTaken(m);
        }
    }

    /** Leaves the logical monitor; the caller has left the real one. */
    public static void unlock(Object o, int site) {
        ThreadState t = recordedThread();
        Monitor m = t == null ? null : ObjectIds.monitor(o);
        if (m == null || m.owner != t || --m.depth > 0) {
            return;
        }
        m.owner = null;
        Scheduler.lockReleased(m);
        if (t.unrecordedDepth == 0) {
            if (Log.on) {
                Log.event(t, Log.UNLOCK, site, ObjectIds.of(o));
            }
            step(t, Kind.UNLOCK, site);
        }
    }

    public static void await(Object o, int site) throws InterruptedException {
        await(o, 0, site);
    }

    public static void await(Object o, long millis, int nanos, int site)
                             throws InterruptedException {
        if (nanos < 0 || nanos > 999999) {
            o.wait(millis, nanos);
            return;
        }
        await(o, nanos > 0 && millis < Long.MAX_VALUE ? millis + 1 : millis, site);
    }

    public static void await(Object o, long millis, int site) throws InterruptedException {
        ThreadState t = recordedThread();
        Monitor m = t == null ? null : ObjectIds.monitor(o);
        if (m == null || m.owner != t || millis < 0) {
            Monitor.realWait(o, millis);
            return;
        }
        if (Thread.interrupted()) {
            interruptSeen(t, site);
            throw Stacks.withoutRuntimeFrames(new InterruptedException());
        }
        int depth = m.depth;
        boolean recorded = t.unrecordedDepth == 0;
        if (recorded && Log.on) {
            int id = ObjectIds.of(o);
            Log.event(t, Log.WAIT, site, id, id);
        }
        m.owner = null;
        m.waitSet.add(t);
        t.notified = false;
        Scheduler.lockReleased(m);
        if (recorded) {
            Scheduler.stepBeforeBlocking(t, Kind.WAIT, site);
        }
        long limit = millis == 0 ? -1 : millis > Long.MAX_VALUE / 1000000 ? Long.MAX_VALUE / 2
            : millis * 1000000;
        int why = Scheduler.block(t, ThreadState.FOR_NOTIFY, m, o, limit, site);
        if (recorded) {
            Replay.expect(t, t.notified ? Kind.WOKEN : Kind.TIMED_OUT, site, o);
        }
        acquire(t, m, o, site);
        m.depth = depth;
        boolean notified = t.notified;
        if (!notified) {
            m.waitSet.remove(t);
        }
        if (recorded) {
            if (Log.on) {
                int id = ObjectIds.of(o);
                Log.event(t, notified ? Log.WOKEN : Log.TIMED_OUT, site, id, id);
            }
            step(t, notified ? Kind.WOKEN : Kind.TIMED_OUT, site);
        }
        if (why == ThreadState.BY_INTERRUPT && !notified && Thread.interrupted()) {
            interruptSeen(t, site);
            throw Stacks.withoutRuntimeFrames(new InterruptedException());
        }
    }

    public static void signal(Object o, int site) {
        Monitor.realNotify(o);
        signal(o, site, 1, Log.NOTIFY, Kind.SIGNAL);
    }

    public static void signalAll(Object o, int site) {
        Monitor.realNotify(o);
        signal(o, site, Integer.MAX_VALUE, Log.NOTIFY_ALL, Kind.BROADCAST);
    }

    private static void signal(Object o, int site, int most, int tag, int kind) {
        ThreadState t = o == null ? null : recordedThread();
        Monitor m = t == null ? null : ObjectIds.monitor(o);
        if (m == null || m.owner != t) {
            return;
        }
        notify(m, most);
        if (t.unrecordedDepth == 0) {
            if (Log.on) {
                Log.event(t, tag, site, ObjectIds.of(o));
            }
            step(t, kind, site);
        }
    }

    /** Wakes up to `most` waiters in the order of their arrival, or in that of the schedule. */
    static void notify(Monitor m, int most) {
        while (most-- > 0 && !m.waitSet.isEmpty()) {
            ThreadState w = Scheduler.nextToNotify(m.waitSet);
            m.waitSet.remove(w);
            w.notified = true;
            synchronized (Scheduler.LOCK) {
                Scheduler.ready(w, ThreadState.BY_EVENT);
            }
        }
    }

    // Threads, called from java.lang.Thread.

    public static void starting(Thread thread) {
        if (thread != Watchdog.instance && thread.getState() == Thread.State.NEW
            && recordedThread() != null) {
            Scheduler.starting(thread);
        }
    }

    public static void started(Thread thread) {
        ThreadState t = recordedThread();
        if (t == null) {
            return;
        }
        int nth = t.children;
        ThreadState child = Scheduler.started(t, thread);
        if (child == null) {
            return;
        }
        if (Log.on) {
            Log.event(t, Log.FORK, callSite, child.index, nth);
            // A virtual thread may have no name.
            if (!thread.getName().isEmpty()) {
                Log.threadName(child.index, thread.getName());
            }
            Observations.changed(t, thread, callSite);
            if (thread.isDaemon()) {
                Log.otherWake();
            }
        }
        stepLater(t, Kind.CREATE, callSite);
    }

    public static void ended(Thread thread) {
        ThreadState t = Thread.currentThread() == thread ? recordedThread() : null;
        if (t == null) {
            return;
        }
        t.unexplainedWait = false;
        if (Log.on) {
            Observations.changed(t, thread, 0);
            Log.event(t, Log.END);
        }
        // The end of a thread notifies the waiters in its own monitor.
        Monitor m = ObjectIds.monitor(thread);
        if (m != null) {
            notify(m, Integer.MAX_VALUE);
        }
        Scheduler.ended(t);
    }

    public static void uncaught(Thread thread, Throwable e) {
        ThreadState t = Thread.currentThread() == thread ? recordedThread() : null;
        if (t != null && e != null && !(e instanceof ThreadDeath) && !isHandled(thread)) {
            Log.uncaught(t, e);
        }
    }

    /** Whether a handler of the program's own takes the exceptions that a thread does not catch. */
    private static boolean isHandled(Thread thread) {
        Thread.UncaughtExceptionHandler handler = thread.getUncaughtExceptionHandler();
        return handler != null && handler.getClass() != ThreadGroup.class
            || Thread.getDefaultUncaughtExceptionHandler() != null;
    }

    /**
     * Waits for the end of a thread. Returns false if the real join is to be made as well, which
     * returns at once if the thread has ended.
     */
    public static boolean join(Thread thread, long millis) throws InterruptedException {
        ThreadState t = recordedThread();
        if (t == null || millis < 0) {
            return false;
        }
        ThreadState other = Scheduler.find(thread);
        if (other == null || other.index < 0) {
            return false;
        }
        int site = callSite;
        if (Thread.interrupted()) {
            interruptSeen(t, site);
            throw Stacks.withoutRuntimeFrames(new InterruptedException());
        }
        if (millis == 0 && t.unrecordedDepth == 0) {
            Replay.expect(t, Kind.JOIN, site);
        } else if (millis > 0) {
            Log.otherWake();
        }
        long limit = millis == 0 ? -1 : millis > Long.MAX_VALUE / 1000000 ? Long.MAX_VALUE / 2
            : millis * 1000000;
        while (other.state != ThreadState.ENDED) {
            int why = Scheduler.block(t, ThreadState.FOR_JOIN, thread, thread, limit, site);
            if (why == ThreadState.BY_INTERRUPT && Thread.interrupted()) {
                interruptSeen(t, site);
                throw Stacks.withoutRuntimeFrames(new InterruptedException());
            }
            if (why == ThreadState.BY_TIME) {
                return true;
            }
        }
        if (t.unrecordedDepth == 0) {
            if (Log.on) {
                Log.event(t, Log.JOIN, site, other.index);
            }
            stepLater(t, Kind.JOIN, site);
        }
        return false;
    }

    // Time and interrupts.

    public static void sleep(long millis, int site) throws InterruptedException {
        sleep(millis, 0, site);
    }

    public static void sleep(long millis, int nanos, int site) throws InterruptedException {
        ThreadState t = recordedThread();
        if (t == null || millis < 0 || nanos < 0 || nanos > 999999 || t.unrecordedDepth != 0) {
            try {
                Thread.sleep(millis, nanos);
            } catch (RuntimeException e) {
                throw Stacks.withoutRuntimeFrames(e);
            } catch (InterruptedException e) {
                throw Stacks.withoutRuntimeFrames(e);
            }
            return;
        }
        if (Thread.interrupted()) {
            interruptSeen(t, site);
            throw Stacks.withoutRuntimeFrames(new InterruptedException());
        }
        if (Scheduler.schedule != null) {
            return;
        }
        long limit = millis > Long.MAX_VALUE / 2000000 ? Long.MAX_VALUE / 2
            : millis * 1000000 + nanos;
        int why = Scheduler.block(t, ThreadState.FOR_TIME, null, null, limit, site);
        if (why == ThreadState.BY_INTERRUPT && Thread.interrupted()) {
            interruptSeen(t, site);
            throw Stacks.withoutRuntimeFrames(new InterruptedException());
        }
    }

    public static void yield(int site) {
        ThreadState t = recordedThread();
        if (t != null && t.unrecordedDepth == 0) {
            Scheduler.yieldBaton(t);
        }
    }

    /** Records that a thread was interrupted. */
    public static void interrupted(Thread thread) {
        ThreadState target = Scheduler.find(thread);
        if (target == null || target.index < 0) {
            return;
        }
        ThreadState t = recordedThread();
        if (target == t && t.restoringInterrupt) {
            return;
        }
        if (t != null && t.unrecordedDepth == 0 && target != t) {
            target.interrupts++;
            Observations.changed(t, thread, callSite);
            if (Log.on) {
                Log.event(t, Log.POST, callSite, Semaphores.interruptOf(target), 1);
            }
            stepLater(t, Kind.POST, callSite);
        }
        if (target != t && target.state == ThreadState.BLOCKED
            && target.waitsFor != ThreadState.FOR_LOCK) {
            Scheduler.readyWithoutBaton(target, ThreadState.BY_INTERRUPT);
        }
    }

    /** Records that the thread has seen its interruption. */
    static void interruptSeen(ThreadState t, int site) {
        if (t.interrupts == 0 || t.unrecordedDepth != 0) {
            return;
        }
        t.interrupts = 0;
        if (Log.on) {
            Log.event(t, Log.DOWN, site, Semaphores.interruptOf(t), 1);
        }
        step(t, Kind.DOWN, site);
    }

    /** Sets the interrupt flag again that a wait of the runtime has cleared. */
    static void restoreInterrupt(ThreadState t) {
        t.restoringInterrupt = true;
        t.thread.interrupt();
        t.restoringInterrupt = false;
    }

    /** Removes the runtime's frames from the stack of an exception that a wrapper lets through. */
    public static Throwable passed(Throwable e) {
        return Stacks.withoutRuntimeFrames(e);
    }
}
