package foretell.rt;

import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Replacements for methods by which a program finds out about threads, tasks and executors: whether
 * a thread is alive or interrupted, a task is done, an executor has terminated. The trace has a
 * variable for the state of such an object; a look reads it and a change writes it. So a thread
 * that has seen the end of a thread or a task follows it, and one that has not seen it goes on only
 * where that end is still to come.
 */
public final class Observations {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] METHODS = {
        {"java.lang.Thread", "isAlive()Z", "getState()Ljava/lang/Thread$State;",
            "isInterrupted()Z"},
        {"java.util.concurrent.Future", "isDone()Z", "isCancelled()Z", "cancel(Z)Z"},
        {"java.util.concurrent.CompletableFuture", "isCompletedExceptionally()Z",
            "getNow(Ljava/lang/Object;)Ljava/lang/Object;", "complete(Ljava/lang/Object;)Z",
            "completeExceptionally(Ljava/lang/Throwable;)Z"},
        {"java.util.concurrent.ForkJoinTask", "isCompletedNormally()Z",
            "isCompletedAbnormally()Z"},
        {"java.util.concurrent.ForkJoinPool",
            "invoke(Ljava/util/concurrent/ForkJoinTask;)Ljava/lang/Object;",
            "awaitQuiescence(JLjava/util/concurrent/TimeUnit;)Z"},
        {"java.util.concurrent.ExecutorService", "isTerminated()Z", "isShutdown()Z",
            "awaitTermination(JLjava/util/concurrent/TimeUnit;)Z", "close()V",
            "invokeAll(Ljava/util/Collection;)Ljava/util/List;",
            "invokeAll(Ljava/util/Collection;JLjava/util/concurrent/TimeUnit;)Ljava/util/List;"},
        {"java.util.concurrent.CompletionService", "take()Ljava/util/concurrent/Future;",
            "poll()Ljava/util/concurrent/Future;",
            "poll(JLjava/util/concurrent/TimeUnit;)Ljava/util/concurrent/Future;"},
    };
    public static final String[][] STATIC_METHODS = {
        {"java.lang.Thread", "interrupted()Z"},
        {"java.util.concurrent.ForkJoinTask",
            "invokeAll([Ljava/util/concurrent/ForkJoinTask;)V",
            "invokeAll(Ljava/util/Collection;)Ljava/util/Collection;"},
    };

    private Observations() {
    }

    /** Records a look at the state of an object. */
    private static void look(Object o, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t != null && Log.on) {
            Log.event(t, Log.LOOK, site, ObjectIds.of(o));
        }
    }

    /** Records a change of the state of an object by the holder of the baton. */
    static void changed(ThreadState t, Object o, int site) {
        if (Log.on && t.unrecordedDepth == 0) {
            Log.event(t, Log.CHANGE, site, ObjectIds.of(o));
        }
    }

    // Threads. The scheduler knows what a recorded thread does; the virtual machine sees also its
    // waits for the baton.

    public static boolean isAlive(Thread thread, int site) {
        ThreadState state = stateOf(thread);
        boolean alive = state == null ? thread.isAlive() : state.state != ThreadState.ENDED;
        look(thread, site);
        return alive;
    }

    private static ThreadState stateOf(Thread thread) {
        ThreadState t = Hooks.recordedThread() == null ? null : Scheduler.find(thread);
        return t == null || t.state == ThreadState.STARTING ? null : t;
    }

    public static Thread.State getState(Thread thread, int site) {
        ThreadState state = stateOf(thread);
        Thread.State real = state == null || state.state == ThreadState.BLOCKING_CALL
            ? thread.getState() : Scheduler.javaState(state);
        ThreadState t = Synchronizers.recordingThread();
        if (t != null && real != Thread.State.NEW && real != Thread.State.TERMINATED) {
            // The trace has no event of the other thread that has changed this.
            t.unexplainedWait = true;
        }
        look(thread, site);
        return real;
    }

    public static boolean isInterrupted(Thread thread, int site) {
        boolean interrupted = thread.isInterrupted();
        look(thread, site);
        return interrupted;
    }

    public static boolean interrupted(int site) {
        boolean interrupted = Thread.interrupted();
        Thread thread = Thread.currentThread();
        look(thread, site);
        ThreadState t = interrupted ? Synchronizers.recordingThread() : null;
        if (t != null) {
            Hooks.interruptSeen(t, site);
        }
        return interrupted;
    }

    // Tasks.

    public static boolean isDone(Future<?> task, int site) {
        return finished(task, task.isDone(), site);
    }

    public static boolean isCancelled(Future<?> task, int site) {
        return finished(task, task.isCancelled(), site);
    }

    public static boolean isCompletedNormally(ForkJoinTask<?> task, int site) {
        return finished(task, task.isCompletedNormally(), site);
    }

    public static boolean isCompletedAbnormally(ForkJoinTask<?> task, int site) {
        return finished(task, task.isCompletedAbnormally(), site);
    }

    public static boolean isCompletedExceptionally(CompletableFuture<?> task, int site) {
        return finished(task, task.isCompletedExceptionally(), site);
    }

    public static <T> T getNow(CompletableFuture<T> task, T other, int site) {
        try {
            return task.getNow(other);
        } finally {
            look(task, site);
        }
    }

    public static <T> boolean complete(CompletableFuture<T> task, T value, int site) {
        return !finished(task, !task.complete(value), site);
    }

    public static boolean completeExceptionally(CompletableFuture<?> task, Throwable e, int site) {
        return !finished(task, !task.completeExceptionally(e), site);
    }

    /** A task that cannot be cancelled, or not any more, is complete. */
    public static boolean cancel(Future<?> task, boolean interrupts, int site) {
        return !finished(task, !task.cancel(interrupts), site);
    }

    private static boolean finished(Object task, boolean finished, int site) {
        look(task, site);
        if (finished) {
            Tasks.completionSeen(task);
        }
        return finished;
    }

    public static <T> T invoke(ForkJoinPool pool, ForkJoinTask<T> task, int site) {
        T result = pool.invoke(task);
        Tasks.completionSeen(task);
        return result;
    }

    public static void invokeAll(ForkJoinTask<?>[] tasks, int site) {
        ForkJoinTask.invokeAll(tasks);
        for (ForkJoinTask<?> task : tasks) {
            Tasks.completionSeen(task);
        }
    }

    public static <T extends ForkJoinTask<?>> Collection<T> invokeAll(Collection<T> tasks,
                                                                      int site) {
        ForkJoinTask.invokeAll(tasks);
        for (T task : tasks) {
            Tasks.completionSeen(task);
        }
        return tasks;
    }

    public static <V> Future<V> take(CompletionService<V> s, int site)
                                     throws InterruptedException {
        Future<V> task;
        try {
            task = s.take();
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
        Tasks.completionSeen(task);
        return task;
    }

    public static <V> Future<V> poll(CompletionService<V> s, int site) {
        Future<V> task = s.poll();
        Tasks.completionSeen(task);
        return task;
    }

    public static <V> Future<V> poll(CompletionService<V> s, long time, TimeUnit unit, int site)
                                     throws InterruptedException {
        Future<V> task;
        try {
            task = s.poll(time, unit);
        } catch (InterruptedException e) {
            throw Synchronizers.interrupted(e, site);
        }
        Tasks.completionSeen(task);
        return task;
    }

    // Executors.

    public static boolean isTerminated(ExecutorService e, int site) {
        boolean terminated = e.isTerminated();
        look(e, site);
        return terminated && ended(e);
    }

    public static boolean isShutdown(ExecutorService e, int site) {
        boolean shutdown = e.isShutdown();
        look(e, site);
        return shutdown;
    }

    public static boolean awaitTermination(ExecutorService e, long time, TimeUnit unit, int site)
                                           throws InterruptedException {
        boolean terminated;
        try {
            terminated = e.awaitTermination(time, unit);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        return terminated && ended(e);
    }

    public static boolean awaitQuiescence(ForkJoinPool pool, long time, TimeUnit unit, int site) {
        boolean quiescent = pool.awaitQuiescence(time, unit);
        ThreadState t = quiescent ? Synchronizers.recordingThread() : null;
        if (t != null) {
            // The trace has the end of tasks, but not which of them the pool has run.
            t.unexplainedWait = true;
        }
        return quiescent;
    }

    /** Since Java 19 an executor can be closed, which waits for its end. */
    public static void close(ExecutorService e, int site) throws Exception {
        ((AutoCloseable) (Object) e).close();
        ended(e);
    }

    /** Records that the calling thread has seen the end of an executor's tasks. */
    private static boolean ended(ExecutorService e) {
        Tasks.completionSeen(executor(e));
        return true;
    }

    /** Returns the executor behind those that `Executors` makes around another. */
    private static Object executor(ExecutorService e) {
        Object inner = Tasks.wrapped(e);
        return inner == null ? e : inner;
    }

    public static <T> List<Future<T>> invokeAll(ExecutorService e,
        Collection<? extends java.util.concurrent.Callable<T>> tasks, int site)
        throws InterruptedException {
        try {
            return allSeen(e.invokeAll(tasks));
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
    }

    public static <T> List<Future<T>> invokeAll(ExecutorService e,
        Collection<? extends java.util.concurrent.Callable<T>> tasks, long time, TimeUnit unit,
        int site) throws InterruptedException {
        try {
            return allSeen(e.invokeAll(tasks, time, unit));
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
    }

    private static <T> List<Future<T>> allSeen(List<Future<T>> tasks) {
        for (Future<T> task : tasks) {
            Tasks.completionSeen(task);
        }
        return tasks;
    }
}
