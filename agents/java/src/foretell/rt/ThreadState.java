package foretell.rt;

/** Scheduling state of a thread. The scheduler's lock guards the fields that other threads read. */
final class ThreadState {
    /** Not started yet, or its start failed. */
    static final int STARTING = 0;
    /** Has the baton. */
    static final int RUNNING = 1;
    static final int RUNNABLE = 2;
    static final int BLOCKED = 3;
    /** In a blocking call that is not modelled; it returns by itself. */
    static final int BLOCKING_CALL = 4;
    static final int ENDED = 5;

    /** Reasons for which a thread is blocked. */
    static final int FOR_LOCK = 1;
    static final int FOR_NOTIFY = 2;
    static final int FOR_JOIN = 3;
    static final int FOR_TIME = 4;
    static final int FOR_PERMIT = 5;

    /** Reasons for which a blocked thread continues. */
    static final int BY_EVENT = 0;
    static final int BY_TIME = 1;
    static final int BY_INTERRUPT = 2;

    static final long NEVER = Long.MAX_VALUE;

    final Thread thread;
    /** Number in the trace; the first thread is T0. */
    int index = -1;
    int children;

    /** Number of steps that have run, and the number at which the scheduler decides next. */
    long steps;
    long budgetEnd;
    /** Whether the scheduler decides at the next hook that can give up the baton. */
    boolean switchPending;
    /** Nesting depth of class initialisers and class loaders, in which nothing is recorded. */
    int unrecordedDepth;

    int state = STARTING;
    int waitsFor;
    Object object;
    ThreadState lockHolder;
    /** Number of the lock that the thread takes in a step of a replay, and the step. */
    long lock;
    long lockStep = -1;
    int site;
    int wakeReason;
    boolean notified;
    /** Object in whose monitor the thread sleeps while it does not have the baton. */
    volatile Object sleepObject = this;
    /** Whether the thread has the baton and sleeps in the monitor of an object, to be woken there. */
    volatile boolean isToBeWoken;
    /** Logical state of that monitor, if the object is one of the program. */
    Monitor sleepMonitor;
    long virtualDeadline = NEVER;
    long realDeadline = NEVER;
    long realTimeSlack;

    /** Permit of LockSupport, and whether the trace has its post. */
    boolean permit;
    boolean permitInTrace;
    int permitSemaphore;
    int freeSemaphore;
    /** Barrier at which the thread has arrived and that it has not left, and the site. */
    Object barrier;
    int barrierSite;
    /** State of a call of a superclass's method: holds or permits, the semaphore, the arrival. */
    int superCount;
    int superSemaphore;
    boolean superArrived;
    /** Interrupts that the trace has and the thread has not seen yet. */
    int interrupts;
    int interruptSemaphore;
    /** Whether the runtime itself sets the interrupt flag again. */
    boolean restoringInterrupt;

    /** Last position in the log at which the thread may write a record; -1: it is not the writer. */
    int lastPosition = -1;

    /** Number of waits that are not modelled, and whether the trace does not explain the last. */
    long waits;
    boolean unexplainedWait;
    /** Object whose use by another thread ends the waits of the call that is being made, or null. */
    Object waitObject;
    /** Monitor that a call has locked before it locks another one; depth and site of the call. */
    Object outerMonitor;
    int outerDepth;
    int outerSite;
    /** Object of the lookup that the log has before the next record; 0: none. Its site. */
    int lookup;
    int lookupSite;
    /** Whether recorded code has run in the thread, and whether it runs tasks that are modelled. */
    boolean entered;
    boolean runsTasks;

    /**
     * Stack: its node, the number of frames below the deepest node, the node that was last written.
     */
    int node;
    int framesOverLimit;
    int loggedNode;
    int depth;
    /** Site of the call that the thread is making. */
    int callSite;

    ThreadState(Thread thread) {
        this.thread = thread;
    }

    /** Returns the number of the lock that the next step takes; 0: none that is known. */
    long wantedLock() {
        return lockStep == steps ? lock : 0;
    }

    boolean is(Thread other) {
        return thread == other;
    }
}
