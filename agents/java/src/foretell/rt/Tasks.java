package foretell.rt;

import java.util.Arrays;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ForkJoinTask;

/**
 * Hooks for tasks of executors, futures and completable futures, called from the platform's
 * classes. Events before the submission of a task precede its run; events before its completion
 * precede those of a thread that has seen the completion. The trace has semaphores of its own for
 * this order; they are not steps of the program.
 */
public final class Tasks {
    private static final int MAX_SUBMISSIONS = 64;
    /** Stands for the queues of all ForkJoinPools. */
    private static final Object QUEUES = new Object();
    private static final long[] MOVED = new long[2];
    /** Executors behind those that `Executors` makes around them. */
    private static final Map<Object, Object> WRAPPED = new WeakHashMap<Object, Object>();

    /** Classes of the platform whose tasks bring all of their work with them. */
    private static final String[] BRINGING = {"java.util.concurrent.FutureTask",
        "java.util.concurrent.ThreadPoolExecutor", "java.util.concurrent.ScheduledThreadPool",
        "java.util.concurrent.Executor", "java.util.concurrent.CompletableFuture",
        "java.util.concurrent.ForkJoin", "java.util.concurrent.CountedCompleter",
        "java.util.concurrent.ThreadPerTask", "java.util.concurrent.ConcurrentHashMap",
        "java.util.stream.", "java.util.Arrays"};
    private static final ClassValue<Boolean> BRINGS_WORK = new ClassValue<Boolean>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            for (String name : BRINGING) {
                if (type.getName().startsWith(name)) {
                    return true;
                }
            }
            // Others are signals that there is work, as in SubmissionPublisher.
            return type.getClassLoader() != null;
        }
    };

    private Tasks() {
    }

    /** Records the executor behind another. */
    public static void wraps(Object wrapper, Object executor) {
        synchronized (WRAPPED) {
            WRAPPED.put(wrapper, executor);
        }
    }

    /** Returns the executor behind another, or null. */
    static Object wrapped(Object wrapper) {
        synchronized (WRAPPED) {
            return WRAPPED.get(wrapper);
        }
    }

    private static Monitor of(Object task) {
        return task == null ? null : ObjectIds.monitor(task);
    }

    private static int[] append(int[] list, int number) {
        int[] longer = list == null ? new int[1] : Arrays.copyOf(list, list.length + 1);
        longer[longer.length - 1] = number;
        return longer;
    }

    private static ThreadState recordingThread() {
        ThreadState t = Log.on ? Hooks.recordedThread() : null;
        return t == null || t.unrecordedDepth != 0 ? null : t;
    }

    /**
     * Records that a task is submitted. It is a step, unless the task is one of a ForkJoinPool or a
     * stage, so that a replay makes it before it waits for the thread that runs the task.
     */
    public static void submitted(Object task) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(task);
        if (m == null) {
            return;
        }
        int semaphore = Semaphores.create("task", 0);
        m.submitted++;
        if (m.submissions != null && m.submissions.length > MAX_SUBMISSIONS) {
            follow(t, m.submissions);
            m.submissions = null;
        }
        boolean isStep = !(task instanceof ForkJoinTask);
        if (isStep) {
            Log.event(t, Log.POST, Hooks.callSite, semaphore, 1);
        } else {
            Log.event(t, Log.ORDER_POST, Hooks.callSite, semaphore);
        }
        if (m.submissions != null && m.submitter == t) {
            // The submission before comes first in the thread.
            m.submissions[m.submissions.length - 1] = semaphore;
        } else {
            m.submissions = append(m.submissions, semaphore);
        }
        m.submitter = t;
        if (isStep) {
            Hooks.stepLater(t, Kind.POST, Hooks.callSite);
        }
        moved(t, task);
    }

    /**
     * Records that a task enters or leaves the queues of a ForkJoinPool. Which task a worker steals
     * depends on what is there: the submissions and the starts keep their recorded order.
     */
    private static void moved(ThreadState t, Object task) {
        if (!(task instanceof ForkJoinTask)
            || task.getClass().getName().startsWith("java.util.concurrent.CompletableFuture")) {
            // Stages are tasks by their class, but most of them are in no queue.
            return;
        }
        // The start of a worker is a step after which the thread may have to stop.
        Hooks.afterCall();
        MOVED[0] = ObjectIds.of(QUEUES);
        MOVED[1] = Plain.OPAQUE;
        Log.hidden(t, Log.HIDDEN_CALL, 0, 0, MOVED, 2);
        Hooks.step(t, Kind.HIDDEN_CALL, 0);
    }

    /** Orders a thread after posts, which stay. */
    private static void follow(ThreadState t, int[] semaphores) {
        for (int semaphore : semaphores) {
            Log.event(t, Log.ORDER_DOWN_POST, 0, semaphore);
        }
    }

    /** Records that a task begins to run. */
    public static void begins(Object task) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(task);
        if (m == null) {
            return;
        }
        t.runsTasks = true;
        // Not so where the task runs again, or its submission is not known, or its work comes from
        // elsewhere.
        boolean explained = (m.begun < m.submitted || m.begunBy == t)
            && BRINGS_WORK.get(task.getClass());
        m.begun++;
        m.begunBy = t;
        t.unexplainedWait = !explained;
        if (m.submissions != null) {
            follow(t, m.submissions);
        }
        moved(t, task);
        // Other workers get a chance to take the next task.
        Scheduler.yieldBaton(t);
    }

    /**
     * Records that a stage begins to run, in the thread that has completed its source or in a task
     * of its own.
     */
    public static void fires(Object stage) {
        ThreadState t = recordingThread();
        if (t == null) {
            return;
        }
        if (t.depth > 0 || t.runsTasks || t.index == 0 || Entries.runsStage(t)) {
            begins(stage);
            return;
        }
        // The platform has completed the source, for a reason that the trace does not have.
        t.unexplainedWait = true;
        Monitor m = of(stage);
        if (m != null && m.submissions != null) {
            follow(t, m.submissions);
        }
    }

    /**
     * Records that a stage is added to a future. It is a step whether the future is complete or not,
     * so that a replay makes it before it runs the thread that completes the future.
     */
    public static void dependentAdded(Object future) {
        ThreadState t = recordingThread();
        if (t != null) {
            Log.event(t, Log.POST, Hooks.callSite, Semaphores.create("stage", 0), 1);
            Hooks.stepLater(t, Kind.POST, Hooks.callSite);
        }
    }

    /** Records that a task is about to complete. */
    public static void completes(Object task) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(task);
        if (m == null) {
            return;
        }
        int semaphore = Semaphores.create("completion", 0);
        Log.event(t, Log.ORDER_POST, 0, semaphore);
        Observations.changed(t, task, 0);
        for (int i = 0; m.completions != null && i < m.completions.length; i += 2) {
            if (m.completions[i] == t.index) {
                m.completions[i + 1] = semaphore;
                return;
            }
        }
        m.completions = append(append(m.completions, t.index), semaphore);
    }

    /** Records that the calling thread sees the completion of a task. */
    public static void completionSeen(Object task) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(task);
        if (m == null || m.completions == null) {
            return;
        }
        t.unexplainedWait = false;
        for (int i = 0; i < m.completions.length; i += 2) {
            if (m.completions[i] != t.index) {
                Log.event(t, Log.ORDER_DOWN_POST, Hooks.callSite, m.completions[i + 1]);
            }
        }
    }

    /**
     * Records that the calling thread sees a completable future with this result, null if it is not
     * complete.
     */
    public static void resultSeen(Object future, Object result) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(future);
        if (m != null && m.completions == null) {
            // Complete, and the trace does not have the completion.
            t.unexplainedWait |= result != null;
        } else {
            completionSeen(future);
        }
    }

    /**
     * Records that a part of a task is complete: the thread that completes the last part has seen
     * the completion of the rest.
     */
    public static void partCompleted(Object task) {
        completionSeen(task);
        completes(task);
    }

    /** Runs a task of an executor. */
    public static void run(Runnable task) {
        begins(task);
        task.run();
    }
}
