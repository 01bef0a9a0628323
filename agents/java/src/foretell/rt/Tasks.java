package foretell.rt;

import java.util.Arrays;

/**
 * Tasks of executors, futures and completable futures, called from the platform's own classes: what was done before a task was
 * handed over comes before it runs, and what came before its completion comes before whatever somebody does who has
 * seen it. In the trace these are semaphores that nobody else uses; they are no steps of the program.
 */
public final class Tasks {
    private Tasks() {
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
        return Log.on ? Synchronizers.recordingThread() : null;
    }

    /** A task is given to others. */
    public static void submitted(Object task) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(task);
        if (m == null) {
            return;
        }
        int semaphore = Semaphores.create("task", 0);
        Log.event(t, Log.ORDER_POST, Hooks.callSite, semaphore);
        m.submissions = append(m.submissions, semaphore);
    }

    /** It begins to run. */
    public static void begins(Object task) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(task);
        if (m == null || m.submissions == null) {
            return;
        }
        int[] submissions = m.submissions;
        m.submissions = null;
        for (int semaphore : submissions) {
            Log.event(t, Log.ORDER_DOWN, 0, semaphore);
        }
    }

    /** It is about to be complete. */
    public static void completes(Object task) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(task);
        if (m == null) {
            return;
        }
        int semaphore = Semaphores.create("completion", 0);
        Log.event(t, Log.ORDER_POST, 0, semaphore);
        m.completions = append(m.completions, semaphore);
    }

    /** Somebody sees that it is complete. */
    public static void completionSeen(Object task) {
        ThreadState t = recordingThread();
        Monitor m = t == null ? null : of(task);
        if (m == null || m.completions == null) {
            return;
        }
        for (int semaphore : m.completions) {
            Log.event(t, Log.ORDER_DOWN_POST, Hooks.callSite, semaphore);
        }
    }

    /** One of several parts of a task is done: whoever does the last one has seen the others. */
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
