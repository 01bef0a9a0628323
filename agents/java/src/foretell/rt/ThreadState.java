package foretell.rt;

/** A thread as the scheduler knows it. The scheduler's lock guards what others look at. */
final class ThreadState {
    /** Waits to be started, or its start failed. */
    static final int STARTING = 0;
    /** Has the baton. */
    static final int RUNNING = 1;
    static final int RUNNABLE = 2;
    static final int BLOCKED = 3;
    /** Blocked in something that is not modelled; comes back by itself. */
    static final int BLOCKING_CALL = 4;
    static final int ENDED = 5;

    /** What a blocked thread waits for. */
    static final int FOR_LOCK = 1;
    static final int FOR_NOTIFY = 2;
    static final int FOR_JOIN = 3;
    static final int FOR_TIME = 4;
    static final int FOR_PERMIT = 5;

    /** Why it goes on. */
    static final int BY_EVENT = 0;
    static final int BY_TIME = 1;
    static final int BY_INTERRUPT = 2;

    static final long NEVER = Long.MAX_VALUE;

    final Thread thread;
    /** As in the trace: T0 is the first. */
    int index = -1;
    int children;

    /** Steps that have run; and at how many the scheduler is asked. */
    long steps;
    long budgetEnd;
    /** The scheduler is to be asked at the next gate. */
    boolean switchPending;
    /** Greater than 0: in a class initialiser or a class loader, where nothing is recorded. */
    int unrecordedDepth;

    int state = STARTING;
    int waitsFor;
    Object object;
    ThreadState lockHolder;
    int site;
    int wakeReason;
    boolean notified;
    /** Whose monitor this thread sleeps in while it has not the baton. */
    volatile Object sleepObject = this;
    /** The logical side of that monitor, if it is an object's. */
    Monitor sleepMonitor;
    long virtualDeadline = NEVER;
    long realDeadline = NEVER;
    long realTimeSlack;

    /** The permit of LockSupport, and whether the trace knows it. */
    boolean permit;
    boolean permitInTrace;
    int permitSemaphore;
    int freeSemaphore;
    /** In a call that blocks between two steps: that of a condition or a barrier. */
    boolean blocksBetweenSteps;
    /** Interrupts in the trace that nobody has seen yet. */
    int interrupts;
    int interruptSemaphore;
    /** The runtime itself sets the flag of interrupts again. */
    boolean restoringInterrupt;

    /** The stack: its node, how many calls deeper than the deepest node it is, the node last written. */
    int node;
    int framesOverLimit;
    int loggedNode;
    int depth;
    /** The place of the call that it is making. */
    int callSite;

    ThreadState(Thread thread) {
        this.thread = thread;
    }

    boolean is(Thread other) {
        return thread == other;
    }
}
